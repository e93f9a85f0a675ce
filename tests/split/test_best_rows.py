"""The best rows of a split: rows of equal score come in the order of rows, however many segments the index has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from indextables.split import open_splits
from indextables.split.index.doc_mapping import plan_mapping
from indextables.split.index.searcher import Searcher
from indextables.split.query import rank
from indextables.split.query.bind import bind_query
from indextables.split.query.bound import Bound
from indextables.split.query.match import Match
from indextables.split.query.parse import parse_query
from indextables.split.reader import SplitReader
from split.merge_support import WORDS, merged_of, opened_split, sizes, split_of, target_of

SCHEMA = pa.schema([("id", pa.int64()), ("text", pa.string())])
MAPPING = plan_mapping(SCHEMA, (), WORDS)


@pytest.fixture(autouse=True)
def fresh() -> None:
    open_splits.close_all()


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many hits each search of an index asked for."""
    asked: list[int] = []
    search = rank._search

    def counted(match: Any, query: Any, limit: int) -> Any:
        asked.append(limit)
        return search(match, query, limit)

    monkeypatch.setattr(rank, "_search", counted)
    return asked


def rows(count: int, first: int) -> pa.Table:
    """Every third row has the word twice, so that there are two scores and many rows of each."""
    texts = ["disk disk" if number % 3 == 0 else "disk full" for number in range(first, first + count)]
    return pa.table([range(first, first + count), texts], SCHEMA)


def merged(directory: Path, counts: Sequence[int], indexed: int) -> SplitReader:
    starts = np.cumsum([0, *counts]).tolist()
    sources = [split_of(directory, rows(*each), WORDS) for each in zip(counts, starts, strict=False)]
    target = target_of(SCHEMA, WORDS, part_sizes=sizes(indexed=indexed))
    return opened_split(merged_of(directory / "out", sources, target), SCHEMA)


def query(text: str) -> Bound:
    return bind_query(parse_query(text), text, SCHEMA, MAPPING)


@pytest.mark.parametrize("limit", [1, 5, 14, 15, 16, 40, 100])
@pytest.mark.parametrize(
    ("counts", "indexed", "searches"),
    [([40], 0, 1), ([20, 12, 8], 0, 1), ([5] * 8, 100, 1), ([3, 4, 5, 6, 7, 8, 4, 3], 0, None)],
)
def test_rows_of_equal_score_come_in_their_order(
    tmp_path: Path, limits: list[int], counts: list[int], indexed: int, searches: int | None, limit: int
) -> None:
    """The last kind of split was merged natively, which mixes the rows of its sources: there more hits are asked for."""
    split = merged(tmp_path, counts, indexed)
    scores, numbers = split.hits(None, query("text:disk"), limit).arrays()
    twice = list(range(0, 40, 3))
    expected = [*twice, *(number for number in range(40) if number % 3)][:limit]
    assert numbers.tolist() == expected
    assert (np.diff(scores) <= 0).all()
    if searches is not None:
        assert limits == [min(limit, 40)], (
            "the index knows the order, one search for as many hits as are wanted is enough"
        )


def test_an_index_that_does_not_say_its_order_is_asked_for_more_hits(tmp_path: Path, limits: list[int]) -> None:
    split = merged(tmp_path, [20, 20], 0)
    assert split.footer.in_row_order
    view = split.parts.open_index()
    object.__setattr__(view, "in_row_order", False)
    assert split.hits(None, query("text:full"), 3).arrays()[1].tolist() == [1, 2, 4]
    assert limits == [3, 12, 40]


@pytest.mark.parametrize(
    ("text", "found", "most"),
    [
        ("text:full", 26, 26),
        ("text:disk", 40, 40),
        ("text:full text:nothing", 26, 26),
        ("+text:disk +text:full", 26, 26),
        ('text:"disk full"', 26, 26),
        ('text:"disk disk"', 14, 40),
        ("text:disk -text:full", 14, 40),
        ("text:nothing", 0, 1),
        ("text:d*", 40, 40),
    ],
)
def test_a_search_takes_memory_for_the_rows_of_its_rarest_word(
    tmp_path: Path, text: str, found: int, most: int
) -> None:
    """Memory for all rows of a large split comes from the system each time, which takes longer than finding a rare word."""
    split = merged(tmp_path, [40], 0)
    searcher = _Counting(split.parts.open_index().searcher)
    bound = query(text)
    view = replace(split.parts.open_index(), searcher=searcher)
    rows = Match(view, split.parts.sources, {}, split.parts.take).rows(bound)
    assert len(rows) == found
    assert searcher.limits == [most]


class _Counting:
    """A searcher that notes for how many hits it is asked."""

    def __init__(self, inner: Searcher) -> None:
        self._inner = inner
        self.limits: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def search(self, *arguments: Any, limit: int, **named: Any) -> Any:
        self.limits.append(limit)
        return self._inner.search(*arguments, limit=limit, **named)
