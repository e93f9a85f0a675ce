"""The rows that an index query finds: their number, and their numbers.

A hit is a document; its fast fields `_row` and `_source` say which row it was indexed for. An index that was never merged has
one source, and Tantivy returns the hits ordered by `_row`, with the number itself. After a merge the rows of several splits lie
one after another, each with its own numbers, and `_source` tells them apart.

Nothing is cut off: the limit of a search is the number of documents (never 0, which Tantivy answers with a panic). Row numbers
are checked before anybody sees them, because Vortex ends the process when it is asked for a row past the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt
import tantivy

from indextables.core.errors import CorruptSplit
from indextables.split.bundle.footer import Source
from indextables.split.bundle.native_errors import translated
from indextables.split.index.doc_mapping import ROW, SOURCE
from indextables.split.index.searcher import Searcher

RowNumberArray: TypeAlias = npt.NDArray[np.int64]
"""Numbers of rows within a split, from 0."""

_CHECKED_DOCUMENTS: Final = 16_384
"""Documents of an index whose rows are looked at to see whether all come in order. That takes 0.2 µs for each of them."""


def count_of(searcher: Searcher, query: tantivy.Query | None, *, split: str) -> int:
    """How many rows the query finds. None finds all."""
    if query is None:
        return int(searcher.num_docs)
    with translated(split, "counting in its index"):
        found: Any = searcher.search(tantivy.Query.const_score_query(query, 1.0), limit=1, count=True)
        return int(found.count)


def rows_of(
    searcher: Searcher,
    query: tantivy.Query | None,
    sources: Sequence[Source],
    *,
    split: str,
    at_most: int | None = None,
) -> RowNumberArray:
    """The numbers of all rows that the query finds, ascending. None finds all.

    `sources` are the split's, as its footer has them; none stand for a single one. `at_most` is how many rows the query finds at
    most, None where nobody knows: Tantivy takes memory for so many before it searches. The bound is about speed only: if the
    query finds more rows, it is asked again.
    """
    rows = None if at_most is None else few_rows_of(searcher, query, sources, at_most, split=split)
    if rows is None:
        rows = few_rows_of(searcher, query, sources, searcher.num_docs, split=split)
    assert rows is not None, "no query finds more documents than there are"
    return rows


def few_rows_of(
    searcher: Searcher, query: tantivy.Query | None, sources: Sequence[Source], most: int, *, split: str
) -> RowNumberArray | None:
    """The numbers of the rows that the query finds, ascending; None where these are more than `most` rows.

    One search counts the rows and lists them. It takes hardly longer than counting alone.
    """
    rows = sum(source.rows for source in sources) if sources else searcher.num_docs
    if rows != searcher.num_docs:
        _corrupt(split, f"its sources have {rows} rows, its index has {searcher.num_docs}")
    if query is None or rows == 0:
        return np.arange(rows, dtype=np.int64) if rows <= most else None
    with translated(split, "searching its index"):
        limit = max(1, min(most, rows))
        found: Any = searcher.search(query, limit=limit, count=True, order_by_field=ROW, order=tantivy.Order.Asc)
        if found.count > most:
            return None
        hits = found.hits if found.count else []
        if len(hits) != found.count:
            _corrupt(split, f"its index counts {found.count} hits and names {len(hits)}")
        numbers = _whole((hit[0] for hit in hits), len(hits), ROW, split)
        if len(sources) <= 1:
            return _checked(numbers, rows, split)
        named = _whole(searcher.fast_field_values(SOURCE, [hit[1] for hit in hits]), len(hits), SOURCE, split)
    return _checked(np.sort(_placed(numbers, named, sources, split)), rows, split)


def numbers_of(
    searcher: Searcher, documents: Sequence[tantivy.DocAddress], sources: Sequence[Source], *, split: str
) -> RowNumberArray:
    """The numbers of the rows that documents were indexed for, in the order of the documents."""
    rows = sum(source.rows for source in sources) if sources else searcher.num_docs
    if not documents:
        return np.zeros(0, np.int64)
    with translated(split, "searching its index"):
        numbers = _whole(searcher.fast_field_values(ROW, list(documents)), len(documents), ROW, split)
        if len(sources) > 1:
            named = _whole(searcher.fast_field_values(SOURCE, list(documents)), len(documents), SOURCE, split)
            numbers = _placed(numbers, named, sources, split)
    _checked(np.sort(numbers), rows, split)
    return numbers


def segments_in_row_order(
    searcher: Searcher, sizes: Sequence[int], sources: Sequence[Source], *, split: str
) -> tuple[list[int], bool]:
    """The places of segments in the order of their first rows; and whether documents, in that order, come as the rows do.

    `sizes` are the numbers of documents of the segments. What an index writer, or a merge, puts into a segment is one or more
    runs of rows that follow each other; a run begins where a source begins, or where the writer's heap was full. So a row out
    of order moves whole runs, and it is enough to look at the ends of each source and of each segment and at every so many
    documents between. With at most 16,384 documents all of them are looked at.
    """
    filled = [place for place, size in enumerate(sizes) if size]
    first = numbers_of(searcher, [tantivy.DocAddress(place, 0) for place in filled], sources, split=split)
    order = [filled[place] for place in np.argsort(first, kind="stable").tolist()]
    starts = np.cumsum([0, *(sizes[place] for place in order)])
    rows = int(starts[-1])
    step = max(1, rows // _CHECKED_DOCUMENTS)
    ends = [end for source in sources for end in (source.first_row, source.first_row + source.rows - 1)]
    ends += [*starts[:-1].tolist(), *(starts[1:] - 1).tolist()]
    wanted = np.array(sorted({*range(0, rows, step), *(end for end in ends if 0 <= end < rows)}), np.int64)
    owners = np.searchsorted(starts, wanted, side="right") - 1
    documents = [
        tantivy.DocAddress(order[owner], document)
        for owner, document in zip(owners.tolist(), (wanted - starts[owners]).tolist(), strict=True)
    ]
    found = numbers_of(searcher, documents, sources, split=split)
    order += [place for place, size in enumerate(sizes) if not size]
    return order, bool(np.array_equal(found, wanted))


def _whole(values: Any, length: int, field: str, split: str) -> RowNumberArray:
    try:
        return np.fromiter(values, np.int64, length)
    except (TypeError, ValueError, OverflowError):
        _corrupt(split, f"its index has a document without a usable {field}")


def _placed(numbers: RowNumberArray, named: RowNumberArray, sources: Sequence[Source], split: str) -> RowNumberArray:
    """Numbers within the named sources as numbers within the split."""
    ordered = sorted(sources, key=lambda source: source.source)
    ids, first, rows = (
        np.array([getattr(source, name) for source in ordered], np.int64) for name in ("source", "first_row", "rows")
    )
    places = np.minimum(np.searchsorted(ids, named), len(ids) - 1)
    if np.any(ids[places] != named) or np.any(ids[1:] == ids[:-1]):
        _corrupt(split, "its index has rows of a source that its footer does not name, or names twice")
    if np.any(numbers < 0) or np.any(numbers >= rows[places]):
        _corrupt(split, "its index names a row that its source does not have")
    placed: RowNumberArray = numbers + first[places]
    return placed


def _checked(numbers: RowNumberArray, rows: int, split: str) -> RowNumberArray:
    if len(numbers) and (numbers[0] < 0 or numbers[-1] >= rows or (numbers[1:] <= numbers[:-1]).any()):
        _corrupt(split, f"its index names a row twice, or one that is not among its {rows} rows")
    return numbers


def _corrupt(split: str, what: str) -> NoReturn:
    raise CorruptSplit(f"{split} is damaged: {what}", split=split)
