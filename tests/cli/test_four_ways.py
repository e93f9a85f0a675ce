"""Every statement by the method of `Table`, by `indextables.sql`, by `indextables sql` and by its own command: one answer.

`tests/spark/test_statements.py` compares `indextables.sql` with `spark.sql`. A statement that changes its table runs on a copy of
the same table for each way.
"""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
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

MOVES = {
    "duration_ms",
    "bytes_after",
    "size_mb_deleted",
    "cache_hits_before",
    "cache_misses_before",
    "hit_rate_before",
    "id",
}
"""Facts that differ from run to run."""
Method = Callable[[Table], Any]


@dataclass(frozen=True)
class Ways:
    """A statement about the table `t`, the same as a method, and as a command where there is one of its own."""

    statement: str
    method: Method
    command: tuple[str, ...] = ()
    shared: int = 1
    """Facts with the same name that the method and the command have at least in common with the statement's row."""


OF_TABLES = [
    Ways(
        "MERGE SPLITS {t} TARGET SIZE 100M",
        lambda t: t.merge_splits("100M"),
        ("merge", "{t}", "--target-size", "100M"),
        5,
    ),
    Ways("PURGE INDEXTABLES {t} DRY RUN", lambda t: t.purge(dry_run=True), ("purge", "{t}", "--dry-run"), 9),
    Ways("PURGE INDEXTABLES {t}", lambda t: t.purge(), ("purge", "{t}"), 9),
    Ways(
        "DROP INDEXTABLES PARTITIONS FROM {t} WHERE day = 'a'",
        lambda t: t.drop_partitions("day = 'a'"),
        ("drop-partitions", "{t}", "--where", "day = 'a'"),
        3,
    ),
    Ways("CHECKPOINT INDEXTABLES {t}", lambda t: t.checkpoint(), ("checkpoint", "{t}"), 0),
    Ways("COMPACT INDEXTABLES {t}", lambda t: t.checkpoint(), ("checkpoint", "{t}"), 0),
    Ways(
        "TRUNCATE INDEXTABLES TIME TRAVEL {t}",
        lambda t: t.truncate_time_travel(),
        ("truncate-time-travel", "{t}"),
        3,
    ),
    Ways("OPTIMIZE INDEXTABLES {t}", lambda t: t.optimize().table(), ("optimize", "{t}"), 6),
    Ways("FSCK INDEXTABLES {t}", lambda t: t.fsck(), ("fsck", "{t}"), 4),
    Ways(
        "RESTORE INDEXTABLES {t} TO VERSION 2", lambda t: t.restore(version=2), ("restore", "{t}", "--version", "2"), 5
    ),
    Ways(
        "ALTER INDEXTABLES {t} SET PROPERTIES ('owner' = 'ops')",
        lambda t: t.commit_files(properties={"owner": "ops"}, operation="SET PROPERTIES"),
        ("set", "{t}", "owner=ops"),
    ),
    Ways(
        "ALTER INDEXTABLES {t} UNSET PROPERTIES (team)",
        lambda t: t.commit_files(properties={"team": None}, operation="UNSET PROPERTIES"),
        ("unset", "{t}", "team"),
    ),
    Ways("ALTER INDEXTABLES {t} UPGRADE PROTOCOL", lambda t: t.upgrade_protocol(), shared=0),
    Ways(
        "CLONE INDEXTABLES {t} TO '{t}-copy'",
        lambda t: {"version": t.clone(f"{t.url}-copy").version},
        ("clone", "{t}", "{t}-copy"),
        1,
    ),
    Ways(
        "REPAIR INDEXTABLES TRANSACTION LOG '{t}/_transaction_log' AT LOCATION '{t}-log/_transaction_log'",
        lambda t: Table.repair(t.url, f"{t.url}-log/_transaction_log"),
        ("repair", "{t}", "--to", "{t}-log/_transaction_log"),
        3,
    ),
    Ways("DESCRIBE INDEXTABLES STATE {t}", lambda t: t.state(), ("state", "{t}"), 2),
    Ways("DESCRIBE INDEXTABLES TRANSACTION LOG {t}", lambda t: t.log_actions(), ("log", "{t}"), 40),
    Ways("DESCRIBE INDEXTABLES HISTORY {t} LIMIT 2", lambda t: t.history(2), ("history", "{t}", "--limit", "2"), 8),
    Ways("DESCRIBE INDEXTABLES PARTITIONS {t}", lambda t: t.partitions(), ("partitions", "{t}"), 7),
    Ways("DESCRIBE INDEXTABLES COMPONENT SIZES {t}", lambda t: t.component_sizes(), ("components", "{t}"), 6),
    Ways("PREWARM INDEXTABLES CACHE {t}", lambda t: {"splits_prewarmed": t.prewarm().splits}, ("prewarm", "{t}"), 0),
]
OF_PROCESS = [
    Ways(
        "INVALIDATE INDEXTABLES TRANSACTION LOG CACHE FOR {t}", lambda t: inspect.invalidate_log_cache(t.url), shared=2
    ),
    Ways("DESCRIBE INDEXTABLES DISK CACHE", lambda _: inspect.describe_disk_cache(), ("cache",), 6),
    Ways("DESCRIBE INDEXTABLES STORAGE STATS", lambda _: inspect.describe_storage_stats(), shared=2),
    Ways("DESCRIBE INDEXTABLES DATA SKIPPING STATS", lambda _: inspect.describe_data_skipping(), shared=1),
    Ways("DESCRIBE INDEXTABLES ENVIRONMENT", lambda _: inspect.describe_environment(), ("environment",), 4),
    Ways("DESCRIBE INDEXTABLES MERGE JOBS", lambda _: inspect.describe_merge_jobs(), shared=1),
    Ways("DESCRIBE INDEXTABLES PREWARM JOBS", lambda _: inspect.describe_prewarm_jobs(), shared=1),
    Ways("WAIT FOR INDEXTABLES PREWARM JOBS TIMEOUT 1", lambda _: inspect.wait_for_prewarm(timeout=1), shared=1),
    Ways("ENABLE INDEXTABLES PROFILER", lambda _: inspect.enable_profiler(), shared=2),
    Ways("DISABLE INDEXTABLES PROFILER", lambda _: inspect.disable_profiler(), shared=2),
    Ways("DESCRIBE INDEXTABLES PROFILER", lambda _: inspect.describe_profiler(), shared=2),
    Ways("DESCRIBE INDEXTABLES PROFILER CACHE", lambda _: inspect.describe_profiler_cache(), shared=1),
    Ways("RESET INDEXTABLES PROFILER", lambda _: inspect.reset_profiler(), shared=2),
    Ways("RESET INDEXTABLES PROFILER CACHE", lambda _: inspect.reset_profiler_cache(), shared=2),
    Ways("FLUSH INDEXTABLES DISK CACHE", lambda _: inspect.flush_disk_cache(), ("cache", "--flush"), 2),
    Ways("FLUSH INDEXTABLES SEARCHER CACHE", lambda _: inspect.flush_searcher_cache(), shared=2),
    Ways("FLUSH INDEXTABLES DATA SKIPPING STATS", lambda _: inspect.flush_data_skipping(), shared=1),
    Ways("INVALIDATE INDEXTABLES DATA SKIPPING CACHE", lambda _: inspect.invalidate_data_skipping_cache(), shared=1),
]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of four versions, with small splits to merge and a property."""
    place = tmp_path_factory.mktemp("ways") / "template"
    table = Table.create(place, "id long, message text, day string", partition_by=["day"])
    for number, day in enumerate("aab"):
        table.append(pa.table({"id": [number, -number], "message": ["disk full", "fan"], "day": [day] * 2}))
    table.commit_files(properties={"team": "red"})
    return place


def as_rows(answer: Any) -> list[dict[str, Any]]:
    """The rows of a table, or the fields of a value as one row, as JSON has them."""
    if isinstance(answer, dict):
        return [answer]
    if isinstance(answer, pa.Table):
        columns = [json_values(column) for column in answer.combine_chunks().columns]
        return [dict(zip(answer.column_names, row, strict=True)) for row in zip(*columns, strict=True)]
    return [{name: value for name, value in dataclasses.asdict(answer).items() if name != "table"}]


def steady(name: str, value: Any, place: str) -> Any:
    """A value without what differs from run to run and from copy to copy."""
    if name == "skipped":
        return len(value) if isinstance(value, dict) else value
    if isinstance(value, float):
        return f"{value:g}"
    text = json.dumps(value, default=list).replace(place, "t")
    if name in ("message", "value", "metrics", "before", "after", "property_value"):
        return re.sub(r"[0-9.]+", "#", text)
    return re.sub(r"split-[0-9a-f-]{30,}", "split", text)


def compare(expected: list[dict[str, Any]], got: list[dict[str, Any]], places: tuple[str, str], shared: int) -> None:
    """Rows with the same facts under the same names; at least `shared` of the names are in both."""
    assert len(got) == len(expected)
    for one, other in zip(expected, got, strict=True):
        common = {name for name in one.keys() & other.keys() if name not in MOVES}
        assert len(common) >= min(shared, len(one)), (one, other)
        for name in sorted(common):
            assert steady(name, other[name], places[1]) == steady(name, one[name], places[0]), name


def snake(row: Mapping[str, Any]) -> dict[str, Any]:
    return {re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower(): value for name, value in row.items()}


@pytest.mark.filterwarnings("ignore::indextables.core.errors.LogWarning")  # a repair says how logs are swapped
@pytest.mark.parametrize("ways", [*OF_TABLES, *OF_PROCESS], ids=lambda ways: ways.statement)
def test_all_ways_give_one_answer(ways: Ways, template: Path, tmp_path: Path) -> None:
    places = [str(tmp_path / name) for name in ("sql", "method", "typed", "own")]
    for place in places:
        shutil.copytree(template, place)
    by_sql, by_method, by_line, by_command = places
    named = ways.statement.replace("{t}-", "{p}-").replace("'{t}/", "'{p}/")
    answer = indextables.sql(named.format(t=f"'{by_sql}'", p=by_sql))
    expected = as_rows(answer)
    line = ok("sql", named.format(t=f"'{by_line}'", p=by_line), "--json")
    moves = ways in OF_PROCESS
    if moves:  # figures of this process: the names in the rows are compared, and one run more changes the numbers
        assert [list(row) for row in line.rows] in ([], [answer.column_names] * len(line.rows))
    else:
        assert [list(row) for row in line.rows] == [answer.column_names] * answer.num_rows
        compare(expected, line.rows, (by_sql, by_line), len(answer.column_names) - len(MOVES))
    done = ways.method(Table.open(by_method))
    if isinstance(done, pa.Table):
        assert set(answer.column_names) <= set(done.column_names) or moves
    if not moves:
        compare(expected, as_rows(done), (by_sql, by_method), ways.shared)
    if ways.command:
        command = [word.format(t=by_command) for word in ways.command]
        found = [snake(row) for row in ok(*command, "--json").rows]
        if moves:
            assert all(set(row) == set(answer.column_names) for row in found)
        else:
            compare(expected, found, (by_sql, by_command), ways.shared)
    versions = {Table.open(place).version for place in places[: 4 if ways.command else 3]}
    assert len(versions) == 1, "every way changes the table, or none"


def test_every_statement_is_compared() -> None:
    known = {type(parse_statement(ways.statement.replace("{t}", "t"))) for ways in [*OF_TABLES, *OF_PROCESS]}
    assert known == set(get_args(Command))
