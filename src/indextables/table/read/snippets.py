"""Snippets: of a row's texts, the parts that show best why the row was found.

A snippet is made of the text alone, without an index, so that any row that was read can have one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa

from indextables.core.arrow_values import array_of
from indextables.core.predicate import And, Or, Predicate, Search, push_down_not
from indextables.split.query.bound import Bound, Group
from indextables.split.query.snippet import Highlighter
from indextables.table.handle import TableHandle
from indextables.table.read.request import ReadRequest, bound_query, check_snippet_columns

SNIPPET: Final = pa.struct(
    [("text", pa.string()), ("highlights", pa.list_(pa.struct([("start", pa.int32()), ("end", pa.int32())])))]
)
"""The type of a snippet: a part of a text, and the characters of the words in this part."""


class Snippets:
    """Makes the snippets of some text columns, for the words of one query."""

    def __init__(self, handle: TableHandle, query: Bound, names: Sequence[str]) -> None:
        mapping = handle.facts.mapping
        self._highlighters = {}
        for name in check_snippet_columns(names, handle):
            field = mapping.field(name)
            assert field is not None
            self._highlighters[name] = Highlighter(query, field, mapping.max_token_length)

    def of(self, name: str, texts: pa.Array | pa.ChunkedArray) -> pa.Array:
        """The snippets of a column's texts, null for a null."""
        made = [self._highlighters[name].snippet(text) for text in texts.to_pylist()]
        rows = [
            None
            if snippet is None
            else {
                "text": snippet.text,
                "highlights": [{"start": start, "end": end} for start, end in snippet.highlights],
            }
            for snippet in made
        ]
        return array_of(rows, SNIPPET)


def wanted_words(handle: TableHandle, request: ReadRequest) -> Bound:
    """All that a request looks for in texts: its query, and the searches in `where` but those under NOT. Raises QueryError."""
    from indextables.split.query.bind_search import bind_search

    asked = [] if request.query is None else [bound_query(handle, request.query).bound]
    searches = () if request.where is None else _searches(push_down_not(request.where))
    mapping = handle.facts.mapping
    return Group(should=(*asked, *(bind_search(search, handle.schema, mapping) for search in searches)))


def _searches(where: Predicate) -> Iterator[Search]:
    if isinstance(where, Search):
        yield where
    elif isinstance(where, And | Or):
        for child in where.children:
            yield from _searches(child)
