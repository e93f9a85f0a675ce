"""Questions at the same time: each has its share of the processors, and the answers are those of one after the other."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

from indextables import Table
from indextables.table.read import count, parallelism, search
from tables import handle_of

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


def test_more_questions_than_processors_have_a_thread_each(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallelism.ACTIVE_QUERIES, "value", set(range(100)))
    assert parallelism.reading_threads(handle_of(table)) == 1


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


def test_a_question_that_fails_leaves_nothing_behind(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **_more: object) -> None:
        assert {threading.get_ident()} == parallelism.ACTIVE_QUERIES.value
        raise RuntimeError("broken")

    monkeypatch.setattr(parallelism, "SERIAL_BUDGET_S", -1.0)  # other threads are called after the first split
    monkeypatch.setattr(parallelism, "HANDOVER_COST_S", 0.0)
    monkeypatch.setattr(search, "in_order", fail)
    monkeypatch.setattr(count, "in_order", fail)
    for ask in (lambda: table.search("text:one"), lambda: table.count(query="text:one AND text:two")):
        with pytest.raises(RuntimeError, match="broken"):
            ask()
        assert not parallelism.ACTIVE_QUERIES.value
