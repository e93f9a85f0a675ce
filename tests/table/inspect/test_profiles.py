"""The profiler's statements: what is timed by which question, caches, and that nothing is timed while it is off."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from forked import in_child
from indextables import Table, inspect
from indextables.core.profiler import PROFILER
from indextables.split import open_splits
from split.reader_support import EVERY_INDEX, costs_of
from table.inspect.inspect_support import a_table, only


@pytest.fixture(autouse=True)
def fresh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, temporary_files_in: Callable[[Path], None]
) -> Iterator[None]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    temporary_files_in(tmp_path)
    open_splits.close_all()
    inspect.reset_profiler()
    with costs_of(EVERY_INDEX):
        yield
    inspect.disable_profiler()
    inspect.reset_profiler()


def calls(table: pa.Table | None = None) -> dict[tuple[str, str], int]:
    found = inspect.describe_profiler() if table is None else table
    return {(row["category"], row["section"]): row["calls"] for row in found.to_pylist()}


def profiled(question: Callable[[], Any]) -> dict[tuple[str, str], int]:
    """How often each section was entered by a question."""
    inspect.reset_profiler()
    inspect.enable_profiler()
    question()
    inspect.disable_profiler()
    return calls()


def test_it_is_switched() -> None:
    answers = [
        inspect.enable_profiler(),
        inspect.enable_profiler(),
        inspect.reset_profiler(),
        inspect.disable_profiler(),
        inspect.disable_profiler(),
    ]
    assert {tuple(each.column_names) for each in answers} == {("status", "host_count", "message")}
    assert [only(each)["status"] for each in answers] == ["success", "no_action", "no_action", "success", "no_action"]
    assert {only(each)["host_count"] for each in answers} == {1}


def test_nothing_is_timed_while_it_is_off(tmp_path: Path) -> None:
    table = a_table(tmp_path / "t")
    table.search("full")
    table.merge_splits()
    assert inspect.describe_profiler().num_rows == 0


def test_the_sections_of_a_search(tmp_path: Path) -> None:
    table = a_table(tmp_path / "t")
    cold = profiled(lambda: table.search("full", limit=3, where="day = 'd1'"))
    assert cold["verb", "search"] == cold["plan", "parse"] == cold["plan", "prune"] == 1
    assert cold["plan", "choose access"] == cold["query", "query index"] == 2, "one for each split that is left"
    assert cold["open", "open index"] == cold["open", "open footer"] == 2
    assert cold["cache", "cache disk fill"] == cold["store", "get ranges"] == 2
    assert cold["rows", "read rows"] >= 1
    warm = profiled(lambda: table.search("full", limit=3, where="day = 'd1'"))
    assert warm["query", "query index"] == 2
    assert not {category for category, _ in warm} & {"open", "cache", "store"}


@pytest.mark.parametrize(
    ("question", "sections"),
    [
        (lambda table: table.count(query="full"), {("verb", "count"), ("query", "query index")}),
        (lambda table: table.scan(where="id >= 0").read_all(), {("verb", "scan"), ("rows", "scan rows")}),
        (lambda table: table.scan(query="word3").read_all(), {("verb", "scan"), ("query", "query index")}),
        (
            lambda table: table.aggregate(by=["day"], query="full"),
            {("verb", "aggregate"), ("aggregate", "aggregate in index")},
        ),
        (
            lambda table: table.aggregate(by=["message"], metrics={"s": "sum(id)"}),
            {("verb", "aggregate"), ("aggregate", "aggregate rows"), ("rows", "scan rows")},
        ),
        (lambda table: table.merge_splits(), {("verb", "merge"), ("verb", "commit"), ("store", "create")}),
        (lambda table: table.checkpoint(), {("verb", "checkpoint"), ("state", "state write")}),
        (lambda table: Table.open(table.url).refresh(), {("verb", "open"), ("verb", "refresh"), ("store", "head")}),
        (lambda table: table.append(table.scan(limit=1).read_all()), {("verb", "append"), ("verb", "commit")}),
    ],
)
def test_the_sections_of_other_verbs(tmp_path: Path, question: Callable[[Table], Any], sections: set[Any]) -> None:
    table = a_table(tmp_path / "t")
    assert profiled(lambda: question(table)).keys() >= sections


def test_times_fit_together(tmp_path: Path) -> None:
    table = a_table(tmp_path / "t")
    profiled(lambda: [table.search("full") for _ in range(5)])
    found = inspect.describe_profiler()
    assert found.column_names == ["section", "category", "calls", "total_ms", "avg_us", "min_us", "max_us"]
    for row in found.to_pylist():
        assert 0 < row["min_us"] <= row["avg_us"] * 1.0001 <= row["max_us"] * 1.0002
        assert row["avg_us"] * row["calls"] / 1000 == pytest.approx(row["total_ms"])
    times = found["total_ms"].to_pylist()
    assert times == sorted(times, reverse=True)


def test_answers_are_the_same_and_threads_are_counted(tmp_path: Path) -> None:
    table, together = a_table(tmp_path / "t"), threading.Barrier(4)
    expected = table.search("full", limit=20)
    table.search("full", limit=20)
    inspect.enable_profiler()

    def work(_: int) -> bool:
        together.wait()
        return all(table.search("full", limit=20).equals(expected) for _ in range(10))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))
    inspect.disable_profiler()
    assert calls()["verb", "search"] == 40
    assert calls()["query", "query index"] == 160


def test_it_is_disabled_in_the_middle_of_questions(tmp_path: Path) -> None:
    table, done = a_table(tmp_path / "t"), threading.Event()

    def switch() -> None:
        while not done.is_set():
            inspect.enable_profiler()
            inspect.disable_profiler()
            inspect.reset_profiler()

    with ThreadPoolExecutor(1) as pool:
        switching = pool.submit(switch)
        try:
            for _ in range(30):
                assert table.search("full", limit=5).num_rows == 5
                assert table.scan(where="id < 60").read_all().num_rows == 60
        finally:
            done.set()
        switching.result(30)


@pytest.mark.own_process
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_profiles_its_own_questions(tmp_path: Path) -> None:
    table = a_table(tmp_path / "t")
    inspect.enable_profiler()
    table.count("id < 60")

    def child() -> str:
        before = inspect.describe_profiler().num_rows
        table.count("id < 60")
        return f"{PROFILER.enabled} {before} {calls()['verb', 'count']}"

    assert in_child(child, seconds=60) == "True 0 1"
    assert calls()["verb", "count"] == 1


class TestCaches:
    def test_questions_to_caches(self, tmp_path: Path) -> None:
        table = a_table(tmp_path / "t")
        only(inspect.reset_profiler_cache())
        table.search("full")
        table.search("full")
        rows = {row["cache"]: row for row in inspect.describe_profiler_cache().to_pylist()}
        assert rows.keys() >= {"disk cache", "open indexes", "footers", "log snapshots", "manifests", "blocks of rows"}
        assert (rows["disk cache"]["hits"], rows["disk cache"]["misses"]) == (0, 4)
        assert (rows["open indexes"]["hits"], rows["open indexes"]["misses"]) == (4, 4)
        assert rows["open indexes"]["hit_rate"] == 0.5
        assert rows["log checkpoints"]["hit_rate"] is None, "nobody asked"

    def test_a_reset_counts_from_nothing(self, tmp_path: Path) -> None:
        a_table(tmp_path / "t").search("full")
        assert only(inspect.reset_profiler_cache())["status"] == "success"
        found = inspect.describe_profiler_cache()
        assert found.column_names == ["cache", "hits", "misses", "hit_rate"]
        assert set(found["hits"].to_pylist()) == set(found["misses"].to_pylist()) == {0}
        assert only(inspect.reset_profiler_cache())["status"] == "no_action"
