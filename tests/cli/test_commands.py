"""Every command, in every form of output, at every version."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import typer

from cli.support import HEADER, log_rows, ok, run, write_csv
from indextables import Table, __version__
from indextables.cli.app import app
from indextables.cli.errors import CONFLICT, NOT_FOUND, NOTHING_FOUND, OK, USAGE


def test_search(logs: Path) -> None:
    rows = ok("search", logs, "timeout", "--json").rows
    assert len(rows) == 10
    assert list(rows[0]) == [*HEADER, "_score"]
    assert all("timeout" in row["message"] for row in rows)
    assert [row["_score"] for row in rows] == sorted((row["_score"] for row in rows), reverse=True)
    few = ok("search", logs, "timeout", "-n", 2, "-c", "host,ms", "-c", "message", "-w", "ms > 500").cells
    assert few[0] == ["host", "ms", "message", "_score"]
    assert len(few) == 3
    assert all(int(cells[1]) > 500 for cells in few[1:])


def test_search_with_snippets(logs: Path) -> None:
    (row,) = ok("search", logs, "refused", "-n", 1, "-c", "host", "--snippets", "message", "--json").rows
    assert list(row) == ["host", "_score", "_snippets"]
    snippet = row["_snippets"]["message"]
    (mark,) = snippet["highlights"]
    assert snippet["text"][mark["start"] : mark["end"]] == "refused"


def test_scan(logs: Path) -> None:
    rows = ok("scan", logs, "--json").rows
    assert len(rows) == 500
    assert rows[0] == {**dict(zip(HEADER, log_rows(1)[0], strict=True)), "status": 503, "ms": 0}
    some = ok("scan", logs, "-q", "timeout", "-w", "host = 'node-0'", "-c", "host", "--no-header").out
    expected = [row for row in log_rows(500) if row[3] == "node-0" and "timeout" in row[-1]]
    assert some == "node-0\n" * len(expected)
    assert ok("scan", logs, "-n", 3, "--no-header").out.count("\n") == 3


def test_count(logs: Path) -> None:
    assert ok("count", logs).out == "500\n"
    assert ok("count", logs, "-q", "timeout", "--json").json == {"count": 100}
    assert ok("count", logs, "-w", "ms < 0").out == "0\n"


def test_aggregate(logs: Path) -> None:
    rows = log_rows(500)
    levels = {level: sum(row[2] == level for row in rows) for level in ("ERROR", "INFO")}
    assert ok("aggregate", logs, "-b", "level").cells == [["level", "n"], *([k, str(v)] for k, v in levels.items())]
    arguments = ("-b", "host", "-b", "hour=date_histogram(ts, '1 hour')", "-m", "rows=count", "-m", "max(ms)", "--json")
    found = ok("aggregate", logs, *arguments, "-q", "timeout", "-w", "level = 'ERROR'").rows
    assert list(found[0]) == ["host", "hour", "rows", "max(ms)"]
    chosen = [row for row in rows if "timeout" in row[-1] and row[2] == "ERROR"]
    keys = sorted({(row[3], row[0][:13] + ":00:00Z") for row in chosen})
    assert [(row["host"], row["hour"]) for row in found] == keys
    assert sum(row["rows"] for row in found) == len(chosen)
    assert max(row["max(ms)"] for row in found) == max(int(row[5]) for row in chosen)
    assert ok("aggregate", logs, "-m", "count", "--json").rows == [{"count": 500}]
    assert run("aggregate", logs, "-b", "level", "-b", "level").code == USAGE


def test_describe(logs: Path) -> None:
    facts = ok("describe", logs, "--json").json
    assert (facts["version"], facts["rows"], facts["files"], facts["partitionBy"]) == (2, 500, 2, [])
    assert facts["url"] == str(logs)
    assert {"name": "message", "type": "string", "nullable": True, "index": "words"} in facts["columns"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", facts["committed"])
    lines = ok("describe", logs).cells
    assert ["rows", "500"] in lines
    assert ["columns", "ms", "long", "true", "values"] in lines


def test_explain(logs: Path) -> None:
    facts = ok("explain", logs, "--query", "message:timeout", "--json").json
    assert facts["query"] == "message has the word timeout"
    assert (facts["files"], facts["filesRuledOutByTheLog"]) == (2, 0)
    assert facts["accesses"] == [{"access": "a search of the index", "files": 2, "rows": 500}]
    everything = ok("explain", logs, "--json").json["accesses"]
    assert [(way["files"], way["rows"], way["access"][:8]) for way in everything] == [(2, 500, "all rows")]
    nothing = ok("explain", logs, "--where", "ms < -1000000", "--json").json
    assert (nothing["filesRuledOutByTheLog"], nothing["accesses"]) == (2, [])
    assert run("explain", logs, "--query", "nosuch:x").code == run("count", logs, "--query", "nosuch:x").code != OK


def test_history(logs: Path) -> None:
    rows = ok("history", logs, "--json").rows
    assert [(row["version"], row["operation"]) for row in rows] == [(2, "WRITE"), (1, "WRITE"), (0, "CREATE TABLE")]
    assert rows[0]["metrics"]["numAddedRecords"] == "100"
    assert [cells[0] for cells in ok("history", logs, "-n", 1).cells] == ["version", "2"]


def test_files(logs: Path) -> None:
    rows = ok("files", logs, "--json").rows
    assert [row["numRecords"] for row in rows] == [400, 100]
    assert rows[0]["partitionValues"] == {}
    assert "docMappingJson" not in rows[0]
    assert ok("files", logs, "-w", "ms > 99999").out.count("\n") == 1


def test_changes(logs: Path) -> None:
    rows = ok("changes", logs, "--since", 0, "--json").rows
    assert [(row["change"], row["version"], row["rows"]) for row in rows] == [("added", 1, 400), ("added", 2, 100)]
    assert len(ok("changes", logs, "--since", 1, "--json").rows) == 1
    assert ok("changes", logs, "--since", 2, "--json").out == ""
    moment = ok("history", logs, "--json").rows[1]["timestamp"]
    assert [row["version"] for row in ok("changes", logs, "--since", moment, "--json").rows] == [2]
    assert run("changes", logs, "--since", "2000-01-01T00:00:00Z").code == NOT_FOUND
    assert run("changes", logs, "--since", 9).code == NOT_FOUND
    assert ok("changes", logs, "--since", -1, "--json").rows == rows
    refused = run("changes", logs, "--since", -2)
    assert refused.code == USAGE
    assert "since is -2, but must be a version, 0 or more, or -1 for all rows" in refused.err
    assert run("changes", logs, "--since", "yesterday").code == USAGE


def test_changed_rows(logs: Path) -> None:
    rows = ok("changes", logs, "--since", 0, "--rows", "--json").rows
    assert [row["_commit_version"] for row in rows] == [1] * 400 + [2] * 100
    assert {row["_change_type"] for row in rows} == {"insert"}
    first = ok("changes", logs, "--since", 0, "--until", 1, "--rows", "--json").rows
    assert first == rows[:400]
    moment = first[0]["_commit_timestamp"]
    assert ok("changes", logs, "--since", moment, "--rows", "--json").rows == rows[400:]
    some = ("-w", "level = 'ERROR'", "-q", "message:timeout", "-c", "level,ms")
    found = ok("changes", logs, "--since", 0, "--rows", *some, "--json").rows
    assert found == [
        {name: row[name] for name in ("level", "ms", "_change_type", "_commit_version", "_commit_timestamp")}
        for row in rows
        if row["level"] == "ERROR" and "timeout" in row["message"].split()
    ]
    assert 0 < len(found) < 500
    assert ok("changes", logs, "--since", 1, "--rows", "--version", 1, "--json").out == ""
    header = ok("changes", logs, "--since", 1, "--rows", "-c", "ms").cells[0]
    assert header == ["ms", "_change_type", "_commit_version", "_commit_timestamp"]
    assert run("changes", logs, "--since", 9, "--rows").code == NOT_FOUND
    assert run("changes", logs, "--since", 1, "--until", 0, "--rows").code == USAGE
    assert run("changes", logs, "--since", 0, "--rows", "-q", "(").code == USAGE


@pytest.mark.parametrize("option", [("--until", 1), ("--columns", "ms"), ("--where", "ms = 1"), ("--query", "timeout")])
def test_options_of_changed_rows_are_not_ignored(logs: Path, option: tuple[str, object]) -> None:
    refused = run("changes", logs, "--since", 0, *option)
    assert (refused.code, refused.out) == (USAGE, "")
    assert f"{option[0]} is about rows" in refused.err
    assert "add --rows" in refused.err


def test_time_travel(logs: Path) -> None:
    assert ok("count", logs, "--version", 1).out == "400\n"
    moment = ok("history", logs, "--json").rows[1]["timestamp"]
    assert ok("count", logs, "--timestamp", moment).out == "400\n"
    assert ok("scan", logs, "--version", 1, "-c", "ms", "--no-header").out.count("\n") == 400
    assert ok("describe", logs, "--version", 0, "--json").json["rows"] == 0
    assert len(ok("history", logs, "--version", 1, "--json").rows) == 2
    assert len(ok("files", logs, "--version", 1, "--json").rows) == 1
    assert ok("aggregate", logs, "--version", 1, "--json").rows == [{"n": 400}]
    assert len(ok("search", logs, "timeout", "-n", 500, "--version", 1, "--json").rows) == 80
    assert run("count", logs, "--version", 7).code == NOT_FOUND
    assert run("count", logs, "--version", 1, "--timestamp", moment).code == USAGE
    assert run("count", logs, "--timestamp", "noon").code == USAGE


def test_create(t: str) -> None:
    made = ok("create", t, "-s", "day date, n long not null, message text", "-p", "day", "--json").json
    assert made["created"] is True
    assert [column["index"] for column in made["columns"]] == ["partition", "values", "words"]
    assert made["columns"][1]["nullable"] is False
    again = run("create", t, "-s", "n long")
    assert again.code == CONFLICT
    assert ok("create", t, "-s", "n long", "--if-missing", "--json").json["created"] is False
    assert run("create", t, "-s", "n string", "--if-missing").code == USAGE
    assert Table.open(t).partition_columns == ("day",)


def test_merge_and_checkpoint(t: str, tmp_path: Path) -> None:
    rows = log_rows(60)
    for number in range(3):
        ok("import", t, write_csv(tmp_path / "a.csv", rows[number * 20 : number * 20 + 20]))
    merged = ok("merge", t, "--json").json
    assert (merged["sources"], merged["results"], merged["rows"], merged["skipped"]) == (3, 1, 60, 0)
    assert ok("merge", t, "-o", "table").out == "nothing to merge\n"
    assert ok("checkpoint", t, "--json").json["status"] == "no_action"  # merging left a compact state
    ok("import", t, write_csv(tmp_path / "a.csv", rows[:1]))
    written = ok("checkpoint", t, "--json").json
    assert (written["status"], written["num_files"]) == ("success", 2)
    assert ok("checkpoint", t, "-o", "table").out == (
        f"version {written['checkpoint_version']} has a compact state already; nothing was written\n"
    )
    assert ok("count", t, "-q", "timeout").out == f"{12 + ('timeout' in str(rows[0]))}\n"
    assert ok("merge", t, "--max-sources", 2, "-o", "table").out == "2 files became 1, version 6\n"
    assert run("merge", t, "-w", "ms > 5").code == USAGE
    assert run("merge", t, "--max-sources", 1).code == USAGE
    assert run("merge", t, "--target-size", "huge").code == USAGE


def test_nothing_found_is_an_exit_code(logs: Path) -> None:
    for arguments in (("search", logs, "zebra"), ("scan", logs, "-q", "zebra"), ("scan", logs, "-w", "ms < 0")):
        result = run(*arguments, "--json")
        assert (result.code, result.out, result.err) == (NOTHING_FOUND, "", "")
    for arguments in (("aggregate", logs, "-b", "level", "-q", "zebra"), ("count", logs, "-q", "zebra")):
        assert run(*arguments).code == OK


def test_columns_whose_names_have_commas(t: str) -> None:
    lines = json.dumps({"a,b": 1, "c": 2, "d`e": 3}).encode() + b"\n"
    ok("import", t, "-", "-f", "jsonl", stdin=lines)
    assert ok("scan", t, "-c", "`a,b`,c", "--json").rows == [{"a,b": 1, "c": 2}]
    assert ok("scan", t, "-c", "c, `d``e`", "--json").rows == [{"c": 2, "d`e": 3}]


@pytest.mark.parametrize("command", ["create", "import", "search", "scan", "count", "aggregate", "explain", "describe"])
def test_help_has_examples(command: str) -> None:
    result = ok(command, "--help")
    assert "Examples:" in result.out
    assert f"$ indextables {command}" in result.out or "| indextables" in result.out


def test_what_commands_share() -> None:
    """Every command takes these; those that read take a version, and those with rows may leave the header out."""
    commands = typer.main.get_command(app).commands
    options = {name: {option for one in command.params for option in one.opts} for name, command in commands.items()}
    assert options.pop("sql") >= {"--table", "--option", "--output", "--json", "--no-header"}, (
        "its tables are in the text"
    )
    for name in ("cache", "stats", "profiler", "jobs", "environment"):
        assert options.pop(name) >= {"--option", "--output", "--json", "--no-header"}, "these are about no table"
    assert all({"table", "--option", "--output", "--json"} <= taken for taken in options.values())
    changing = {
        "checkpoint",
        "merge",
        "prewarm",
        "purge",
        "repair",
        "truncate-time-travel",
        "drop-partitions",
        "upgrade",
    }
    newest = {"tail", "ls", "optimize", "fsck", "verify", "state", "log", "components", "set", "unset"}
    facts = {"create", "import", "drop"}
    assert {
        name for name, taken in options.items() if not {"--version", "--timestamp"} & taken
    } == changing | newest | facts
    facts |= {"count", "describe", "explain", "export"}
    assert {name for name, taken in options.items() if "--no-header" not in taken} == facts


def test_the_program() -> None:
    assert ok("--version").out == f"indextables {__version__}\n"
    assert "Exit codes" in ok("--help").out
    nothing = run()
    assert (nothing.code, "Usage: indextables" in nothing.out) == (USAGE, True)


def test_completion(logs: Path) -> None:
    def complete(line: str) -> list[str]:
        words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
        result = run(_INDEXTABLES_COMPLETE="complete_bash", **words)
        return result.out.split()

    assert "import" in complete("indextables im")
    assert complete(f"indextables scan {logs} --columns m") == ["ms", "message"]
    assert complete(f"indextables scan {logs} --columns ms,le") == ["ms,level"]
    assert complete(f"indextables aggregate {logs} --by ho") == ["host"]
    assert complete(f"indextables scan {logs}-not --columns m") == []
