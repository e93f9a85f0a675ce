"""Metrics of every verb, the page that lists them, the example that serves them, and statements about requests and files."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from indextables import AddAction, Table, inspect, metrics
from indextables.core.errors import PredicateError, QueryError, VersionNotFound
from indextables.core.metrics import METRICS
from indextables.log.actions import ProtocolAction
from indextables.log.commit import commit
from indextables.log.conflicts import Change
from indextables.table.open_log import open_log
from indextables.table.write.drop_table import drop_table
from openmetrics import families
from table.inspect.inspect_support import SCHEMA, a_table, figures, only, rows
from tables import handle_of

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    METRICS.reset()
    yield
    METRICS.reset()


def sums(verb: str) -> dict[str, float]:
    """The sums of a verb's figures without its duration, which must be there."""
    prefix = f"indextables.{verb}."
    found = {
        name.removeprefix(prefix): series["sum"]
        for name, series in METRICS.snapshot().items()
        if name.startswith(prefix)
    }
    assert found.pop("duration_ms") > 0
    return found


def calls(verb: str) -> float:
    return METRICS.snapshot()[f"indextables.{verb}.duration_ms"]["count"]


def test_writes(tmp_path: Path) -> None:
    table = a_table(tmp_path / "t", splits=2)
    size = sum(table.files()["size"].to_pylist())
    assert sums("append") == {"rows": 100.0, "bytes": size, "files_added": 2.0, "files_removed": 0.0}
    table.overwrite(rows(0, 7, "d1"), where="day = 'd1'")
    added = table.files("day = 'd1'")["size"].to_pylist()
    assert sums("overwrite") == {"rows": 7.0, "bytes": sum(added), "files_added": 1.0, "files_removed": 1.0}
    assert sums("commit") == {"attempts": 3.0}
    assert (calls("append"), calls("overwrite"), calls("commit")) == (2, 1, 3)


def test_questions(tmp_path: Path) -> None:
    table = a_table(tmp_path / "t")
    assert table.search("full", limit=7).num_rows == 7
    assert table.count(query="full") == 200
    assert table.aggregate(by=["day"]).num_rows == 2
    assert table.scan(where="id < 60").read_all().num_rows == 60
    assert table.scan(limit=5).read_all().num_rows == 5
    assert sums("search") == {"rows": 7.0}
    assert sums("count") == {}
    assert sums("aggregate") == {"groups": 2.0}
    assert sums("scan") == {"rows": 65.0}
    assert [calls(verb) for verb in ("search", "count", "aggregate", "scan")] == [1, 1, 1, 2]


def test_a_scan_that_is_left_early_counts_the_rows_that_were_read(tmp_path: Path) -> None:
    table = a_table(tmp_path / "t", splits=3)
    reader = table.scan()
    first = reader.read_next_batch()
    assert "indextables.scan.rows" not in METRICS.snapshot()
    del reader
    assert sums("scan") == {"rows": first.num_rows}


def test_opening_and_refreshing(tmp_path: Path) -> None:
    table = Table.open(a_table(tmp_path / "t").url)
    table.refresh()
    table.refresh()
    assert (calls("open"), calls("refresh")) == (1, 2)


def test_failures(tmp_path: Path) -> None:
    table = a_table(tmp_path / "t", splits=1)
    with pytest.raises(QueryError):
        table.search("nothing:x")
    with pytest.raises(PredicateError):
        table.count("nothing = 1")
    assert sums("search") == sums("count") == {"failures": 1.0}


def test_conflicts(tmp_path: Path) -> None:
    table = a_table(tmp_path / "t", splits=1)
    others = [Table.open(table.url) for _ in range(4)]

    def write(number: int) -> None:
        for each in range(6):
            others[number].commit_files([AddAction(f"day=d0/f{number}-{each}", {"day": "d0"}, size=1)])

    METRICS.reset()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    history = table.refresh().history().to_pylist()[:24]
    attempts = sum(int(dict(row["metrics"])["numAttempts"]) for row in history)
    found = METRICS.snapshot()
    assert found["indextables.commit.attempts"]["sum"] == attempts
    assert found.get("indextables.commit.conflicts", {"sum": 0.0})["sum"] == attempts - 24


def test_upkeep(tmp_path: Path) -> None:
    from indextables.log.cleanup import clean_up

    table = a_table(tmp_path / "t", splits=3)
    table.checkpoint()
    table.checkpoint()
    assert sums("checkpoint") == {"written": 1.0}
    clean_up(handle_of(table))
    assert sums("cleanup") == {"objects_deleted": 0.0}


def upgraded(table: Table) -> None:
    """A table of an older protocol gets the newest one."""
    older = ProtocolAction(4, 4, ("bundleSplits",), ("bundleSplits",))
    commit(handle_of(table), Change(protocol=older), operation="WRITE")
    assert table.refresh().upgrade_protocol().written


async def anext_of(table: Table) -> pa.RecordBatch:
    """The first rows of a stream."""
    stream = table.follow_async(since=0)
    try:
        return await anext(stream)
    finally:
        await stream.aclose()


VERBS: dict[str, Callable[[Table, Path], Any]] = {
    "create": lambda _, place: Table.create(place / "new", SCHEMA),
    "open": lambda table, _: Table.open(table.url),
    "refresh": lambda table, _: table.refresh(),
    "append": lambda table, _: table.append(rows(0, 7, "d0")),
    "overwrite": lambda table, _: table.overwrite(rows(0, 7, "d1"), where="day = 'd1'"),
    "commit_files": lambda table, _: table.commit_files(properties={"team": "blue"}),
    "upgrade_protocol": lambda table, _: upgraded(table),
    "search": lambda table, _: table.search("full"),
    "count": lambda table, _: table.count("id < 60"),
    "aggregate": lambda table, _: table.aggregate(by=["day"]),
    "scan": lambda table, _: table.scan().read_all(),
    "explain": lambda table, _: table.explain("full"),
    "files": lambda table, _: table.files("day = 'd1'"),
    "component_sizes": lambda table, _: table.component_sizes(),
    "history": lambda table, _: table.history(),
    "changes": lambda table, _: table.changes(0),
    "changes_rows": lambda table, _: table.changes_rows(0).read_all(),
    "follow": lambda table, _: next(table.follow(since=0)),
    "follow_async": lambda table, _: asyncio.run(anext_of(table)),
    "partitions": lambda table, _: table.partitions(),
    "describe": lambda table, _: table.describe(),
    "state": lambda table, _: table.state(),
    "log": lambda table, _: table.log(),
    "log_actions": lambda table, _: table.log_actions(),
    "skips": lambda table, _: table.skips(),
    "prewarm": lambda table, _: table.prewarm(),
    "merge_splits": lambda table, _: table.merge_splits(),
    "checkpoint": lambda table, _: table.checkpoint(),
    "purge": lambda table, _: table.purge(dry_run=True),
    "fsck": lambda table, _: table.fsck(),
    "repair": lambda table, place: Table.repair(table.url, place / "repaired"),
    "clone": lambda table, place: table.clone(place / "copy"),
    "optimize": lambda table, _: table.optimize(),
    "restore": lambda table, _: table.restore(version=2),
    "drop_partitions": lambda table, _: table.drop_partitions("day = 'd0'"),
    "truncate_time_travel": lambda table, _: table.truncate_time_travel(),
    "drop": lambda table, _: drop_table(open_log(table.url)),
}
"""How each verb is called, in an order in which each of them has something to do."""
SERIES = {"merge_splits": "merge", "follow_async": "follow"}
"""Verbs whose figures have another name."""


def everything(place: Path) -> Iterator[str]:
    """Every verb once, and one that fails. After each verb its name."""
    table = a_table(place / "t", splits=4, **{"checkpoint.enabled": True, "checkpoint.interval": 3})
    with pytest.raises(QueryError):
        table.search("nothing:x")
    METRICS.observe("indextables.commit.conflicts", 1)  # races of two writers are in another test
    Table.open(table.url, options={"transaction.cache.enabled": False}).files("day = 'd1'")
    for verb, call in VERBS.items():
        call(table, place)
        yield verb


def test_every_verb_has_figures(tmp_path: Path) -> None:
    """A new method of `Table` fails here until it has a line in `VERBS`, leaves a duration and stands on the page."""
    public = {name for name in dir(Table) if not name.startswith("_") and callable(getattr(Table, name))}
    assert VERBS.keys() - {"drop"} == public
    METRICS.reset()
    before: dict[str, dict[str, float]] = {}
    for verb in everything(tmp_path):
        after, name = METRICS.snapshot(), f"indextables.{SERIES.get(verb, verb)}.duration_ms"
        assert after[name]["count"] > before.get(name, {"count": 0.0})["count"], verb
        before = after


def test_the_page_lists_every_verb_as_a_section_of_the_profiler() -> None:
    page = (ROOT / "docs" / "reference" / "inspecting.md").read_text()
    (listed,) = re.findall(r"^\| `verb` \| (.*): whole calls \|$", page, re.MULTILINE)
    assert set(listed.split(", ")) == {SERIES.get(verb, verb) for verb in VERBS} | {"commit", "cleanup"}


def test_figures_of_upkeep(tmp_path: Path) -> None:
    table = a_table(tmp_path / "t", splits=3)
    before = table.version
    table.drop_partitions("day = 'd0'")
    assert sums("drop_partitions") == {"files_removed": 2.0}
    table.restore(version=before)
    assert sums("restore") == {"files_added": 2.0, "files_removed": 0.0}
    (tmp_path / "t" / "splits").mkdir()
    orphan = tmp_path / "t" / "splits" / "split-1.split"
    orphan.write_bytes(b"12345")
    os.utime(orphan, (0, 0))
    table.purge()
    assert sums("purge") == {"splits_deleted": 1.0, "bytes_deleted": 5.0}
    table.fsck()
    assert sums("fsck") == {"findings": 0.0}
    assert not table.upgrade_protocol().written
    assert sums("upgrade_protocol") == {"written": 0.0}
    with pytest.raises(VersionNotFound):
        table.restore(version=99)
    assert sums("restore")["failures"] == 1.0


def test_the_page_lists_every_metric_and_the_text_is_valid(tmp_path: Path) -> None:
    assert list(everything(tmp_path)) == list(VERBS)
    page = (ROOT / "docs" / "reference" / "inspecting.md").read_text()
    listed = set(re.findall(r"^\| `(indextables\.[a-z_.]+)` \|", page, re.MULTILINE))
    seen = {name for name in METRICS.snapshot() if not name.endswith(".failures")} | METRICS.counters().keys()
    assert seen <= listed, seen - listed
    assert listed <= seen, listed - seen
    found = families(metrics.openmetrics())
    assert {name for name, family in found.items() if family.kind == "counter"} == {
        name.replace(".", "_") for name in METRICS.counters()
    }
    assert found["indextables_append_rows"].samples == {"_count": 5.0, "_sum": 207.0}


def test_storage_stats(tmp_path: Path) -> None:
    table = a_table(tmp_path / "t", splits=1)
    before = only(inspect.describe_storage_stats())
    assert list(before) == ["executor_id", "host", "bytes_fetched", "requests"]
    assert before["executor_id"] == "driver"
    handle_of(table).log.store.get("_transaction_log/00000000000000000000.json")
    after = only(inspect.describe_storage_stats())
    size = (tmp_path / "t" / "_transaction_log" / "00000000000000000000.json").stat().st_size
    assert after["requests"] - before["requests"] == 1
    assert after["bytes_fetched"] - before["bytes_fetched"] == size


def test_data_skipping_stats(tmp_path: Path) -> None:
    table = a_table(tmp_path / "t")
    inspect.flush_data_skipping()
    zeros = figures(inspect.describe_data_skipping())
    assert set(zeros.values()) == {0.0}
    table.files("day = 'd1'")
    table.count("day = 'd1' AND id < 60")
    table.files()
    expected = {
        "questions": 2.0,
        "files_considered": 8.0,
        "files_pruned_by_partition": 4.0,
        "files_pruned_by_bounds": 1.0,
        "files_pruned_by_block_bounds": 0.0,
        "files_pruned_by_manifest": 0.0,
        "files_pruned": 5.0,
        "files_kept": 3.0,
        "pruned_share": 0.625,
    }
    assert figures(inspect.describe_data_skipping()) == expected
    assert figures(inspect.flush_data_skipping()) == expected
    assert figures(inspect.describe_data_skipping()) == zeros


def test_the_data_skipping_cache_is_forgotten_and_filled_again(tmp_path: Path) -> None:
    a_table(tmp_path / "t").checkpoint()
    inspect.invalidate_log_cache()
    table = Table.open(tmp_path / "t")
    inspect.invalidate_data_skipping_cache()
    table.files("day = 'd1'")
    found = figures(inspect.invalidate_data_skipping_cache())
    assert (found["answers_cleared"], found["manifests_cleared"]) == (1.0, 1.0)
    again = figures(inspect.invalidate_data_skipping_cache())
    assert (again["answers_cleared"], again["manifests_cleared"]) == (0.0, 0.0)
    assert table.files("day = 'd1'").num_rows == 2
    assert figures(inspect.invalidate_data_skipping_cache())["answers_cleared"] == 1.0


class TestExample:
    @pytest.fixture
    def example(self) -> Any:
        spec = importlib.util.spec_from_file_location("serve_metrics", ROOT / "examples" / "serve_metrics.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def test_it_serves_the_metrics_of_this_process(self, example: Any, tmp_path: Path) -> None:
        table = Table.create(tmp_path / "t", SCHEMA)
        table.append(rows(0, 3, "d"))
        server = example.serve(0)
        try:
            place = f"http://127.0.0.1:{server.server_port}"
            with urllib.request.urlopen(f"{place}/metrics", timeout=30) as answer:
                assert answer.headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
                found = families(answer.read().decode())
            assert found["indextables_append_rows"].samples == {"_count": 1.0, "_sum": 3.0}
            with pytest.raises(urllib.error.HTTPError, match="404"):
                urllib.request.urlopen(f"{place}/", timeout=30)
            assert server.server_address[0] == "127.0.0.1", "nobody else can ask"
        finally:
            server.shutdown()
            server.server_close()

    def test_it_runs_as_a_program(self) -> None:
        command = [sys.executable, "-W", "error", str(ROOT / "examples" / "serve_metrics.py"), "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
            try:
                assert program.stdout is not None
                place = program.stdout.readline().strip()
                with urllib.request.urlopen(place, timeout=30) as answer:
                    families(answer.read().decode())
                program.send_signal(signal.SIGINT)
                _, errors = program.communicate(timeout=60)
                assert (program.returncode, errors) == (0, "")
            finally:
                program.kill()


def test_all_answers_have_the_columns_of_their_statements() -> None:
    expected = {
        inspect.describe_disk_cache: "executor_id, host, enabled, total_bytes, max_bytes, usage_percent, splits_cached, "
        "components_cached",
        inspect.describe_storage_stats: "executor_id, host, bytes_fetched, requests",
        inspect.describe_data_skipping: "metric, value",
        inspect.flush_data_skipping: "metric, value",
        inspect.invalidate_data_skipping_cache: "metric, value",
        inspect.describe_environment: "host, role, property_type, property_name, property_value",
        inspect.describe_merge_jobs: "job_id, table_path, status, total_groups, completed_groups, total_batches, "
        "completed_batches, progress_pct, duration_ms, error_message",
        inspect.describe_prewarm_jobs: "executor_id, host, job_id, table_path, status, total_splits, completed_splits, "
        "progress_pct, duration_ms, error_message",
        inspect.wait_for_prewarm: "executor_id, host, job_id, table_path, status, total_splits, splits_prewarmed, "
        "duration_ms, error_message",
        inspect.flush_disk_cache: "cache_type, status, cleared_entries, message",
        inspect.flush_searcher_cache: "cache_type, status, cleared_entries, message",
        inspect.invalidate_log_cache: "table_path, result, cache_hits_before, cache_misses_before, hit_rate_before",
        inspect.enable_profiler: "status, host_count, message",
        inspect.disable_profiler: "status, host_count, message",
        inspect.describe_profiler: "section, category, calls, total_ms, avg_us, min_us, max_us",
        inspect.reset_profiler: "status, host_count, message",
        inspect.describe_profiler_cache: "cache, hits, misses, hit_rate",
        inspect.reset_profiler_cache: "status, host_count, message",
    }
    for function, columns in expected.items():
        answer: pa.Table = function()
        assert ", ".join(answer.column_names) == columns, function.__name__
    named = {function.__name__ for function in expected} | {"Job", "prewarm_answer"}
    assert named == set(inspect.__all__)
