"""Every statement by the method of `Table`, by `indextables.sql`, by `indextables sql` and by its own command: one answer.

All names and all values are compared, but for those that no two runs have in common (`UNSTEADY`), and no answer may be empty. A
statement that changes its table runs on a copy of the same table for each way. `tests/spark/test_statements.py` compares
`indextables.sql` with `spark.sql`.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
import pytest

import indextables
from cli.support import ok
from indextables import Table, inspect
from indextables.cli.render.values import json_values
from indextables.sql.commands import Command
from indextables.sql.grammar import parse_statement

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "statements.md"
UNSTEADY = {
    "duration_ms",
    "bytes_after",
    "total_size_bytes",
    "cache_hits_before",
    "cache_misses_before",
    "hit_rate_before",
}
"""Facts that differ from run to run: times, the bytes of files that were written, and what was asked of caches before."""
ONLY_IN_COMMAND = {"purge": ["paths"], "repair": ["message"]}
"""Columns of a command beside those of its statement, as the page of the command line says."""
Method = Callable[[Any], Any]


@dataclass(frozen=True)
class Ways:
    """A statement about the table `t`, the same as a method, and as a command of its own."""

    statement: str
    method: Method
    """What does the same with a table, or in this process with the place of one."""
    command: tuple[str, ...]
    documented: str = ""
    """The row of the page that names facts of the statement that the method's value has not."""
    before: Callable[[str], Any] = lambda _: None
    """Brings this process to the state that each way begins with, by questions to the table at a place."""


OF_TABLES = [
    Ways(
        "MERGE SPLITS {t} TARGET SIZE 100M MAX SOURCE SPLITS PER MERGE 2",
        lambda t: t.merge_splits("100M", max_source_splits_per_merge=2),
        ("merge", "{t}", "--target-size", "100M", "--max-sources", "2"),
        "MERGE SPLITS",
    ),
    Ways("PURGE INDEXTABLES {t} DRY RUN", lambda t: t.purge(dry_run=True), ("purge", "{t}", "--dry-run"), "PURGE"),
    Ways(
        "PURGE INDEXTABLES {t} OLDER THAN 9 DAYS",
        lambda t: t.purge(older_than="9d"),
        ("purge", "{t}", "--older-than", "9d"),
        "PURGE",
    ),
    Ways(
        "DROP INDEXTABLES PARTITIONS FROM {t} WHERE day = 'a'",
        lambda t: t.drop_partitions("day = 'a'"),
        ("drop-partitions", "{t}", "--where", "day = 'a'"),
        "DROP PARTITIONS",
    ),
    Ways("CHECKPOINT INDEXTABLES {t}", lambda t: t.checkpoint(), ("checkpoint", "{t}"), "CHECKPOINT"),
    Ways("COMPACT INDEXTABLES {t}", lambda t: t.checkpoint(), ("checkpoint", "{t}"), "COMPACT"),
    Ways(
        "TRUNCATE INDEXTABLES TIME TRAVEL {t}",
        lambda t: t.truncate_time_travel(),
        ("truncate-time-travel", "{t}"),
        "TRUNCATE TIME TRAVEL",
    ),
    Ways("OPTIMIZE INDEXTABLES {t}", lambda t: t.optimize().table(), ("optimize", "{t}")),
    Ways("FSCK INDEXTABLES {t}", lambda t: t.fsck(), ("fsck", "{t}")),
    Ways(
        "RESTORE INDEXTABLES {t} TO VERSION 2",
        lambda t: t.restore(version=2),
        ("restore", "{t}", "--version", "2"),
        "RESTORE",
    ),
    Ways(
        "ALTER INDEXTABLES {t} SET PROPERTIES ('owner' = 'ops')",
        lambda t: t.commit_files(properties={"owner": "ops"}, operation="SET PROPERTIES"),
        ("set", "{t}", "owner=ops"),
        "SET PROPERTIES",
    ),
    Ways(
        "ALTER INDEXTABLES {t} UNSET PROPERTIES (team)",
        lambda t: t.commit_files(properties={"team": None}, operation="UNSET PROPERTIES"),
        ("unset", "{t}", "team"),
        "UNSET PROPERTIES",
    ),
    Ways(
        "ALTER INDEXTABLES {t} UPGRADE PROTOCOL", lambda t: t.upgrade_protocol(), ("upgrade", "{t}"), "UPGRADE PROTOCOL"
    ),
    Ways(
        "CLONE INDEXTABLES {t} TO '{p}-copy'", lambda t: t.clone(f"{t.url}-copy"), ("clone", "{t}", "{p}-copy"), "CLONE"
    ),
    Ways(
        "REPAIR INDEXTABLES TRANSACTION LOG '{p}/_transaction_log' AT LOCATION '{p}-log/_transaction_log'",
        lambda t: Table.repair(t.url, f"{t.url}-log/_transaction_log"),
        ("repair", "{t}", "--to", "{p}-log/_transaction_log"),
    ),
    Ways("DESCRIBE INDEXTABLES STATE {t}", lambda t: t.state(), ("state", "{t}")),
    Ways("DESCRIBE INDEXTABLES TRANSACTION LOG {t}", lambda t: t.log_actions(), ("log", "{t}")),
    Ways("DESCRIBE INDEXTABLES HISTORY {t} LIMIT 2", lambda t: t.history(2), ("history", "{t}", "--limit", "2")),
    Ways("DESCRIBE INDEXTABLES PARTITIONS {t}", lambda t: t.partitions(), ("partitions", "{t}")),
    Ways("DESCRIBE INDEXTABLES COMPONENT SIZES {t}", lambda t: t.component_sizes(), ("components", "{t}")),
    Ways(
        "PREWARM INDEXTABLES CACHE {t} FOR SEGMENTS (TERM, POSITIONS) ON FIELDS (message) WITH PERWORKER PARALLELISM OF 2",
        lambda t: t.prewarm(segments=["TERM", "POSITIONS"], fields=["message"], parallelism=2),
        ("prewarm", "{t}", "--segments", "term,positions", "--fields", "message", "--parallelism", "2"),
        "PREWARM",
    ),
]


def busy(place: str) -> None:
    """The profiler has the sections of one search, and caches were asked."""
    inspect.reset_profiler()
    inspect.reset_profiler_cache()
    inspect.flush_searcher_cache()
    inspect.enable_profiler()
    Table.open(place).search("disk")


def skipped(place: str) -> None:
    """One condition ruled files out."""
    inspect.invalidate_data_skipping_cache()
    inspect.flush_data_skipping()
    assert Table.open(place).count("id = 3") == 1


def warm(place: str) -> None:
    """The cache on disk holds one table, and the index of its files is open."""
    inspect.flush_searcher_cache()
    inspect.flush_disk_cache()
    Table.open(place).prewarm()


OF_PROCESS = [
    Ways(
        "INVALIDATE INDEXTABLES TRANSACTION LOG CACHE FOR {t}",
        lambda place: inspect.invalidate_log_cache(place),
        ("cache", "invalidate-log", "{t}"),
    ),
    Ways("DESCRIBE INDEXTABLES DISK CACHE", lambda _: inspect.describe_disk_cache(), ("cache",)),
    Ways("DESCRIBE INDEXTABLES STORAGE STATS", lambda _: inspect.describe_storage_stats(), ("stats", "storage")),
    Ways("DESCRIBE INDEXTABLES DATA SKIPPING STATS", lambda _: inspect.describe_data_skipping(), ("stats", "skipping")),
    Ways("DESCRIBE INDEXTABLES ENVIRONMENT", lambda _: inspect.describe_environment(), ("environment",)),
    Ways("DESCRIBE INDEXTABLES MERGE JOBS", lambda _: inspect.describe_merge_jobs(), ("jobs", "merge")),
    Ways("DESCRIBE INDEXTABLES PREWARM JOBS", lambda _: inspect.describe_prewarm_jobs(), ("jobs", "prewarm")),
    Ways(
        "WAIT FOR INDEXTABLES PREWARM JOBS TIMEOUT 9",
        lambda _: inspect.wait_for_prewarm(timeout=9),
        ("jobs", "wait", "--timeout", "9"),
    ),
    Ways(
        "ENABLE INDEXTABLES PROFILER",
        lambda _: inspect.enable_profiler(),
        ("profiler", "on"),
        before=lambda _: inspect.disable_profiler(),
    ),
    Ways("DISABLE INDEXTABLES PROFILER", lambda _: inspect.disable_profiler(), ("profiler", "off"), before=busy),
    Ways("DESCRIBE INDEXTABLES PROFILER", lambda _: inspect.describe_profiler(), ("profiler",)),
    Ways("DESCRIBE INDEXTABLES PROFILER CACHE", lambda _: inspect.describe_profiler_cache(), ("profiler", "caches")),
    Ways("RESET INDEXTABLES PROFILER", lambda _: inspect.reset_profiler(), ("profiler", "reset"), before=busy),
    Ways(
        "RESET INDEXTABLES PROFILER CACHE",
        lambda _: inspect.reset_profiler_cache(),
        ("profiler", "reset-caches"),
        before=busy,
    ),
    Ways(
        "FLUSH INDEXTABLES DISK CACHE",
        lambda _: inspect.flush_disk_cache(),
        ("cache", "flush"),
        before=warm,
    ),
    Ways(
        "FLUSH INDEXTABLES SEARCHER CACHE",
        lambda _: inspect.flush_searcher_cache(),
        ("cache", "flush-searcher"),
        before=busy,
    ),
    Ways(
        "FLUSH INDEXTABLES DATA SKIPPING STATS",
        lambda _: inspect.flush_data_skipping(),
        ("stats", "reset-skipping"),
        before=skipped,
    ),
    Ways(
        "INVALIDATE INDEXTABLES DATA SKIPPING CACHE",
        lambda _: inspect.invalidate_data_skipping_cache(),
        ("cache", "invalidate-skipping"),
        before=skipped,
    ),
]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of five versions, with small splits to merge, a property, and a data file that no version names."""
    place = tmp_path_factory.mktemp("ways") / "template"
    table = Table.create(place, "id long, message text, day string", partition_by=["day"])
    for number, day in enumerate("aaab"):
        table.append(pa.table({"id": [number, -number], "message": ["disk full", "fan"], "day": [day] * 2}))
    table.commit_files(properties={"team": "red"})
    orphan = place / "splits" / "split-old.split"
    orphan.parent.mkdir()
    orphan.write_bytes(b"nobody names it")
    old = time.time() - 30 * 86400
    os.utime(orphan, (old, old))
    return place


@pytest.fixture
def figures(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This process has merged, prewarmed, skipped files and timed searches, with a cache on disk of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    shutil.copytree(template, tmp_path / "worked")
    table = Table.open(tmp_path / "worked")
    inspect.enable_profiler()
    table.prewarm(wait=False)
    inspect.wait_for_prewarm(timeout=60)
    table.search("disk")
    assert table.count("id = 3") == 1
    table.merge_splits("100M")
    yield
    inspect.disable_profiler()
    inspect.reset_profiler()


def as_rows(answer: Any) -> list[dict[str, Any]]:
    """The rows of a table, or the fields and properties of a value as one row, as JSON has them."""
    if isinstance(answer, pa.Table):
        columns = [json_values(column) for column in answer.combine_chunks().columns]
        return [dict(zip(answer.column_names, row, strict=True)) for row in zip(*columns, strict=True)]
    fields = [field.name for field in dataclasses.fields(answer)] if dataclasses.is_dataclass(answer) else ["version"]
    fields += [name for name, value in vars(type(answer)).items() if isinstance(value, property)]
    return [{name: getattr(answer, name) for name in fields}]


def steady(name: str, value: Any, place: str) -> Any:
    """A value without what differs from copy to copy: its place, new names of files, times in sentences."""
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, tuple):
        value = ",".join(value) or None
    text = json.dumps(value, default=str).replace(place, "t")
    return re.sub(r"(?:split-)?[0-9a-f]{8}-?[0-9a-f-]{20,}|[0-9]{8}T[0-9]{6}|\b\d+ bytes", "#", text)


def compare(expected: list[dict[str, Any]], got: list[dict[str, Any]], places: tuple[str, str]) -> None:
    """Rows with the same facts: every name of the statement, and the same value under it."""
    assert len(got) == len(expected)
    for one, other in zip(expected, got, strict=True):
        for name in one:
            if name not in UNSTEADY:
                assert steady(name, other[name], places[1]) == steady(name, one[name], places[0]), name


def not_returned() -> dict[str, set[str]]:
    """Facts that the values of methods do not have, by statement, as the page lists them."""
    section = PAGE.read_text("utf-8").partition("## What methods return")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([A-Z ]+)` \| [^|]+ \| ([^|]+) \|$", section, re.MULTILINE)
    return {name: set(re.findall(r"`(\w+)`", re.split(r"[:.]", facts)[0])) for name, facts in rows}


@pytest.mark.filterwarnings("ignore::indextables.core.errors.LogWarning")  # a repair says how logs are swapped
@pytest.mark.parametrize("ways", [*OF_TABLES, *OF_PROCESS], ids=lambda ways: ways.statement)
def test_all_ways_give_one_answer(ways: Ways, template: Path, tmp_path: Path, figures: None) -> None:
    places = [str(tmp_path / name) for name in ("sql", "api", "txt", "cmd")]
    by_sql, by_method, by_line, by_command = places
    for place in places:
        shutil.copytree(template, place)
    ways.before(by_sql)
    answer = indextables.sql(ways.statement.format(t=f"'{by_sql}'", p=by_sql))
    expected = as_rows(answer)
    assert expected, "an empty answer proves nothing"
    ways.before(by_line)
    line = ok("sql", ways.statement.format(t=f"'{by_line}'", p=by_line), "--json").rows
    assert all(list(row) == answer.column_names for row in line)
    compare(expected, line, (by_sql, by_line))
    ways.before(by_command)
    found = ok(*(word.format(t=by_command, p=by_command) for word in ways.command), "--json").rows
    more = ONLY_IN_COMMAND.get(ways.command[0], [])
    assert all(list(row) == [*answer.column_names, *more] for row in found)
    compare(expected, found, (by_sql, by_command))
    ways.before(by_method)
    check_method(ways, answer, expected, (by_sql, by_method))
    versions = {Table.open(place).version for place in places}
    assert len(versions) == 1, "every way changes the table, or none"


def check_method(ways: Ways, answer: pa.Table, expected: list[dict[str, Any]], places: tuple[str, str]) -> None:
    """The method's value has every fact of the row, but for those that the page names, and no other lacks."""
    done = ways.method(places[1] if ways in OF_PROCESS else Table.open(places[1]))
    returned = as_rows(done)
    if isinstance(done, pa.Table):
        assert done.column_names == answer.column_names
    assert all(row.keys() == returned[0].keys() for row in returned)
    lacks = set(answer.column_names) - returned[0].keys()
    assert lacks == not_returned().get(ways.documented, set())
    if ways.documented == "MERGE SPLITS":
        returned[0]["skipped"] = len(returned[0]["skipped"])
    kept = [{name: value for name, value in row.items() if name not in lacks} for row in expected]
    compare(kept, returned, places)


def test_every_statement_is_compared() -> None:
    every = [*OF_TABLES, *OF_PROCESS]
    known = {type(parse_statement(ways.statement.replace("{t}", "t"))) for ways in every}
    assert known == set(get_args(Command))
    text = PAGE.read_text("utf-8")
    for ways in every:
        name = " ".join(takewhile(lambda word: not word.startswith(("{", "-")), ways.command))
        assert f"`indextables {name}`" in text
    assert not_returned().keys() == {ways.documented for ways in every if ways.documented}
