"""Questions at the same time: each has its share of the processors, and the answers are those of one after the other."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

from indextables import Table
from indextables.core.errors import AccessDenied
from indextables.storage.store import Store
from indextables.storage.testing.counting import Counting
from indextables.table.read import parallelism
from tables import handle_of, on_store, store_of

SCHEMA = pa.schema([("id", pa.int64()), ("text", pa.string())])
WORDS = ["one", "two", "three", "four", "five"]


@pytest.fixture
def table(tmp_path: Path) -> Table:
    found = Table.create(tmp_path / "t", SCHEMA, options={"spark.indextables.indexing.typemap.text": "text"})
    for first in range(0, 600, 100):
        numbers = range(first, first + 100)
        found.append(pa.table({"id": numbers, "text": [" ".join(WORDS[: 1 + n % 5]) for n in numbers]}, SCHEMA))
    return found


def test_processors_are_shared(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(6)), raising=False)
    assert parallelism.reading_threads(handle_of(table)) == 6
    meeting = threading.Barrier(3)

    def ask() -> tuple[int, int]:
        with parallelism.ActiveQuery():
            meeting.wait(30)
            shared = parallelism.reading_threads(handle_of(table))
            with parallelism.ActiveQuery():
                meeting.wait(30)
            nested = parallelism.reading_threads(handle_of(table))
            meeting.wait(30)
        return shared, nested

    with ThreadPoolExecutor(3) as pool:
        assert [each.result(30) for each in [pool.submit(ask) for _ in range(3)]] == [(2, 2)] * 3
    assert parallelism.reading_threads(handle_of(table)) == 6
    assert not parallelism.ACTIVE_QUERIES.value


def test_more_questions_than_processors_have_a_thread_each(table: Table) -> None:
    questions = (os.cpu_count() or 1) + 1
    meeting = threading.Barrier(questions)

    def ask() -> int:
        with parallelism.ActiveQuery():
            meeting.wait(30)
            threads = parallelism.reading_threads(handle_of(table))
            meeting.wait(30)
        return threads

    with ThreadPoolExecutor(questions) as pool:
        assert [each.result(30) for each in [pool.submit(ask) for _ in range(questions)]] == [1] * questions


@pytest.mark.parametrize("patience", [0.0, 1.0])
def test_answers_are_the_same_from_many_threads(table: Table, patience: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallelism, "SERIAL_BUDGET_S", patience)

    def ask(word: str) -> tuple[list[int], int, int]:
        best = table.search(f"text:{word}", columns=["id"], limit=15).column("id").to_pylist()
        grouped = table.aggregate(query=f"text:{word}").column("n").to_pylist()
        return best, table.count(query=f"text:{word} AND text:one"), grouped[0]

    expected = {word: ask(word) for word in WORDS}
    assert [expected[word][1:] for word in WORDS] == [(600 - 120 * n, 600 - 120 * n) for n in range(5)]
    with ThreadPoolExecutor(8) as pool:
        for word, found in zip(WORDS * 8, pool.map(ask, WORDS * 8), strict=True):
            assert found == expected[word]
    assert not parallelism.ACTIVE_QUERIES.value


class OneSplit(Counting):
    """A slow store that gives the first split that is asked for, and fails for all others, in the caller's thread last.

    A request takes 20 ms, so that a question calls other threads after its first split.
    """

    def __init__(self, store: Store) -> None:
        super().__init__(store, latency_seconds=0.02)
        self.caller = threading.get_ident()
        self.given: str | None = None
        self.other_asked = threading.Event()
        self.answering: list[set[int]] = []
        """The threads that were answering a question when a request failed."""

    def get_range(self, key: str, start: int, end: int) -> bytes:
        self._check(key)
        return super().get_range(key, start, end)

    def get_ranges(self, key: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        self._check(key)
        return super().get_ranges(key, ranges)

    def _check(self, key: str) -> None:
        self.given = self.given or key
        if key != self.given:
            if threading.get_ident() != self.caller:
                self.other_asked.set()
            assert self.other_asked.wait(30), "another thread reads splits"
            self.answering.append(set(parallelism.ACTIVE_QUERIES.value))
            raise AccessDenied("broken", key=key)


ASKED: dict[str, Callable[[Table], object]] = {
    "search": lambda table: table.search("text:one"),
    "count": lambda table: table.count(query="text:one AND text:two"),
}


@pytest.mark.parametrize("asked", ASKED)
def test_a_question_that_fails_leaves_nothing_behind(table: Table, asked: str) -> None:
    store = OneSplit(store_of(table))
    with pytest.raises(AccessDenied, match="broken"):
        ASKED[asked](on_store(table, store))
    assert not parallelism.ACTIVE_QUERIES.value
    assert store.answering[0] == {store.caller}, "the question counts while its splits are read"
