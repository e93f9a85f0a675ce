"""`indextables sql`: statements as text, from files and at a prompt."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest

import indextables
from cli.support import environment, ok, run
from indextables import Table
from indextables.cli.render.plain import json_lines
from indextables.cli.sql import sql_prompt
from indextables.cli.sql.sql_prompt import completions, help_text, history_file, one_line, prompt
from indextables.cli.sql.sql_text import pointed
from indextables.cli.stop import STOP


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Table:
    """A table in the directory that commands run in, under the name `logs`."""
    monkeypatch.chdir(tmp_path)
    made = Table.create(tmp_path / "logs", "id long, message text")
    made.append(pa.table({"id": [1, 2], "message": ["disk full", "timeout"]}))
    return made


def test_an_answer_is_printed_like_any_other(table: Table) -> None:
    statement = "DESCRIBE INDEXTABLES STATE logs"
    expected = table.state().to_pylist()
    assert ok("sql", statement, "--json").rows == expected
    assert ok("sql", statement).cells == [["property", "value"], *([row["property"], row["value"]] for row in expected)]
    assert ok("sql", statement, "--no-header").cells[0][0] == "format"
    shown = ok("sql", statement, terminal=True).out
    assert all(row["property"] in shown for row in expected)


@pytest.mark.parametrize(
    "statement",
    [
        "DESCRIBE INDEXTABLES STATE logs",
        "DESCRIBE INDEXTABLES TRANSACTION LOG logs INCLUDE ALL",
        "DESCRIBE INDEXTABLES HISTORY logs",
        "DESCRIBE INDEXTABLES PARTITIONS logs",
        "DESCRIBE INDEXTABLES COMPONENT SIZES logs",
        "DESCRIBE INDEXTABLES DATA SKIPPING STATS",
        "DESCRIBE INDEXTABLES DISK CACHE",
        "DESCRIBE INDEXTABLES MERGE JOBS",
        "CHECKPOINT INDEXTABLES logs; CHECKPOINT INDEXTABLES logs",
        "TRUNCATE INDEXTABLES TIME TRAVEL logs DRY RUN",
        "ALTER INDEXTABLES logs UPGRADE PROTOCOL",
        "ALTER INDEXTABLES logs UNSET PROPERTIES (nothing)",
        "FSCK INDEXTABLES logs",
    ],
)
def test_the_answer_is_the_same_in_python_and_on_the_command_line(table: Table, statement: str) -> None:
    by_command = ok("sql", statement, "--json").rows
    in_python = indextables.sql(statement, logs="logs")
    text = "".join(piece for batch in in_python.to_batches() for piece in json_lines(batch))
    shown = [json.loads(line) for line in text.splitlines()]
    assert by_command[len(by_command) - len(shown) :] == shown
    assert all(list(row) == in_python.column_names for row in by_command[-1:] if shown)


def test_names_are_directories_or_given(table: Table, tmp_path: Path) -> None:
    by_name = ok("sql", "DESC HISTORY logs", "--json").rows
    assert [row["version"] for row in by_name] == [1, 0]
    assert ok("sql", f"DESC HISTORY '{tmp_path}/logs'", "--json").rows == by_name
    assert ok("sql", "DESC HISTORY events", "--table", f"events={table.url}", "--json").rows == by_name
    assert ok("sql", "DESC HISTORY a.b", "-t", "a.b=logs", "--json").rows == by_name
    missing = run("sql", "DESC HISTORY events", "--json")
    assert (missing.code, missing.error["type"]) == (3, "TableNotFound")
    wrong = run("sql", "DESC HISTORY events", "--table", "events", "--json")
    assert (wrong.code, wrong.error["type"]) == (2, "UsageError")


def test_several_statements_print_several_answers(table: Table) -> None:
    text = "ALTER INDEXTABLES logs SET PROPERTIES (owner = 'me'); DESC HISTORY logs LIMIT 1"
    rows = ok("sql", text, "--json").rows
    assert (rows[0]["status"], rows[1]["operation"]) == ("success", "SET PROPERTIES")


def test_statements_of_a_file_and_of_standard_input(table: Table, tmp_path: Path) -> None:
    text = "/* the newest */\nDESC HISTORY logs LIMIT 1; -- only\n"
    (tmp_path / "a.sql").write_text(text)
    expected = ok("sql", text, "--json").out
    assert ok("sql", "--file", "a.sql", "--json").out == expected
    assert ok("sql", "-f", "-", "--json", stdin=text.encode()).out == expected
    assert ok("sql", "--json", stdin=text.encode()).out == expected
    assert run("sql", "-f", "missing.sql").code == 5
    (tmp_path / "b.sql").write_bytes(b"\xff")
    assert "not UTF-8" in run("sql", "-f", "b.sql").err
    assert run("sql", text, "-f", "a.sql").code == 2


def test_a_slip_is_one_line_and_nothing_runs(table: Table) -> None:
    result = run("sql", "ALTER INDEXTABLES logs SET PROPERTIES (a = 1); PURGE INDEXTABLES logs OLDER 7 DAYS")
    assert (result.code, result.out) == (2, "")
    assert result.err == "error: 7 at position 77 of the statement is not expected: expected THAN\n"
    assert table.refresh().version == 1
    as_json = run("sql", "PURGE INDEXTABLES", "--json")
    assert (as_json.error["type"], as_json.error["position"]) == ("StatementError", 18)
    assert run("sql", "SELECT 1").code == 2
    assert run("sql", "").code == 2


def test_people_see_where_the_slip_is(table: Table) -> None:
    result = run("sql", "CHECKPOINT INDEXTABLES logs;\nPURGE INDEXTABLES logs OLDER 7 DAYS", terminal=True)
    lines = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", result.err).splitlines()
    assert lines[0].startswith("error: 7 at position 59")
    assert lines[1] == "  PURGE INDEXTABLES logs OLDER 7 DAYS"
    assert lines[2].index("^") == lines[1].index("7")


def test_people_see_which_column_is_unknown(table: Table) -> None:
    text = "DESC HISTORY logs LIMIT 1;\nDESCRIBE INDEXTABLES COMPONENT SIZES logs WHERE id = 1 AND mesage = 'x'"
    result = run("sql", text, terminal=True)
    lines = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", result.err).splitlines()[-3:]
    assert result.code == 2
    assert f"unknown column mesage at position {text.index('mesage') + 1} of the statement" in lines[0]
    assert lines[2].index("^") == lines[1].index("mesage")


@pytest.mark.parametrize("position", [1, 60, 150, 301])
def test_a_caret_points_into_long_lines(position: int) -> None:
    text = "".join(chr(97 + number % 26) for number in range(300))
    line, caret = pointed(text, position)
    assert len(line) <= 104
    assert line[caret.index("^") :][:1] == text[position - 1 : position]


def test_the_first_statement_that_fails_ends_it(table: Table) -> None:
    result = run("sql", "DESC HISTORY logs LIMIT 1; DESC HISTORY nowhere; DESC HISTORY logs LIMIT 1", "--json")
    assert result.code == 3
    assert len(result.out.splitlines()) == 1


def test_options_reach_the_table(table: Table) -> None:
    assert run("sql", "DESC HISTORY logs", "--option", "no.such.option=1").code == 2
    found = ok("sql", "DESCRIBE INDEXTABLES ENVIRONMENT", "--option", "checkpoint.interval=77", "--json").rows
    values = {row["property_name"]: row["property_value"] for row in found}
    assert values["spark.indextables.checkpoint.interval"] == "77"


def test_completions(table: Table, tmp_path: Path) -> None:
    assert completions("", "pur") == ["PURGE "]
    assert completions("PURGE INDEXTABLES logs ", "") == ["DRY ", "OLDER ", "TRANSACTION "]
    assert completions("PURGE INDEXTABLES '", "lo") == ["logs/"]
    (tmp_path / "a.txt").touch()
    assert completions('PURGE INDEXTABLES "', "a") == ['a.txt"']
    assert completions("PURGE INDEXTABLES ", "lo") == []


def test_help_shows_every_statement() -> None:
    assert "  MERGE SPLITS t [WHERE p]" in help_text()
    assert "DELETE" not in help_text()


def typed(lines: list[str]) -> tuple[int, list[str]]:
    """The exit code of a prompt that is given these lines, and the texts that it ran."""
    ran: list[str] = []
    waiting = iter(lines)

    def answer(_prompt: str) -> str:
        try:
            return next(waiting)
        except StopIteration:
            raise EOFError from None

    return prompt(lambda text: ran.append(text) or len(ran), answer), ran


def test_a_prompt_runs_what_ends_with_a_semicolon_or_an_empty_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    code, ran = typed(["help", "", "CHECKPOINT", "INDEXTABLES a;", "DESC HISTORY b", "", "never run"])
    assert ran == ["CHECKPOINT\nINDEXTABLES a;", "DESC HISTORY b\n"]
    assert code == 2
    assert "MERGE SPLITS t" in capsys.readouterr().err
    assert history_file() == tmp_path / "state" / "indextables" / "sql_history"
    kept = history_file().read_text()
    assert "CHECKPOINT INDEXTABLES a;" in kept
    assert typed(["exit", "CHECKPOINT INDEXTABLES a;"]) == (0, [])


def test_a_prompt_that_waits_is_left_at_once_also_after_a_statement_that_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    STOP.begin()
    patient: list[bool] = []
    waiting = iter(["PURGE INDEXTABLES a;", "exit"])

    def read(_prompt: str) -> str:
        patient.append(STOP.patient)
        return next(waiting)

    def run(_text: str) -> int:
        STOP.patient = True
        return 0

    assert prompt(run, read) == 0
    assert patient == [False, False]


def test_a_semicolon_inside_quotes_or_a_comment_ends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    lines = ["DROP INDEXTABLES PARTITIONS FROM a WHERE m = 'one;", "two';", "/* first;", "*/ FSCK INDEXTABLES a;"]
    assert typed(lines)[1] == ["\n".join(lines[:2]), "\n".join(lines[2:])]


def test_a_home_that_cannot_be_written_keeps_no_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "state").write_text("a file")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert typed(["FSCK INDEXTABLES a;"])[1] == ["FSCK INDEXTABLES a;"]


def test_the_history_of_a_home_without_a_directory_for_states(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert sql_prompt.history_file() == tmp_path / ".local" / "state" / "indextables" / "sql_history"


@pytest.mark.slow
def test_a_prompt_on_a_terminal(table: Table, tmp_path: Path) -> None:
    screen, terminal = pty.openpty()
    with environment(XDG_STATE_HOME=str(tmp_path / "state"), TERM="xterm"):
        process = subprocess.Popen(
            [sys.executable, "-m", "indextables.cli", "sql", "--json"],
            stdin=terminal,
            stdout=subprocess.PIPE,
            stderr=terminal,
            cwd=tmp_path,
        )
    os.close(terminal)
    os.write(screen, b"DESC HISTORY logs\nLIMIT 1;\nPURGE INDEXTABLES;\nexit\n")
    out, _ = process.communicate(timeout=60)
    lines = [line for line in out.decode().splitlines() if line.startswith("{")]
    assert json.loads(lines[0])["version"] == 1
    assert process.returncode == 2
    os.close(screen)


@pytest.mark.slow
def test_ctrl_c_at_a_prompt_gives_the_terminal_back(table: Table, tmp_path: Path) -> None:
    import termios

    screen, terminal = pty.openpty()
    before = termios.tcgetattr(terminal)
    with environment(XDG_STATE_HOME=str(tmp_path / "state"), TERM="xterm"):
        process = subprocess.Popen(
            [sys.executable, "-m", "indextables.cli", "sql"],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            cwd=tmp_path,
            start_new_session=True,
        )
    seen = b""
    until = time.monotonic() + 30
    while b"indextables> " not in seen and time.monotonic() < until:
        if select.select([screen], [], [], 0.2)[0]:
            seen += os.read(screen, 4096)
    assert b"indextables> " in seen
    process.send_signal(2)
    assert process.wait(30) == 130
    assert termios.tcgetattr(terminal)[3] == before[3]
    os.close(terminal)
    os.close(screen)


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("DESCRIBE HISTORY -- my table\nlogs;", "DESCRIBE HISTORY  logs;"),
        ('DESCRIBE HISTORY "a--b";', 'DESCRIBE HISTORY "a--b";'),
        ("DESCRIBE HISTORY `a--b`\nLIMIT 1;", "DESCRIBE HISTORY `a--b` LIMIT 1;"),
    ],
)
def test_a_statement_as_a_line_of_the_history(typed: str, kept: str) -> None:
    assert one_line(typed) == kept
