"""A search leaf of a condition (`message INDEXQUERY 'disk full'`) → a bound query, or an error that says where in the filter."""

from __future__ import annotations

import pyarrow as pa

from indextables.core.errors import PredicateError, QueryError
from indextables.core.predicate import Column, Search
from indextables.split.index.doc_mapping import DocMapping
from indextables.split.query.bind import DefaultField, bind_query
from indextables.split.query.bound import Bound
from indextables.split.query.parse import parse_query


def bind_search(search: Search, schema: pa.Schema, mapping: DocMapping) -> Bound:
    """The rows that the text of a search finds. That the column may be null is for the caller to mind.

    Raises QueryError for the text, PredicateError for an operator that does not fit the column.
    """
    column = search.column
    default = None if column is None else DefaultField.of(column)
    if column is not None:
        _check_operator(search, column, mapping)
    try:
        node = parse_query(search.text, None if default is None else default.name)
        return bind_query(node, search.text, schema, mapping, default)
    except QueryError as error:
        name = "INDEXQUERYALL" if column is None else f"{column} {search.operator}"
        details = {"field": None if column is None else str(column), **error.details}
        raise QueryError(
            f"{name}{_place(search)}: {error.message}", **details, filter_position=search.position
        ) from None


def _check_operator(search: Search, column: Column, mapping: DocMapping) -> None:
    """Raise PredicateError for an operator that is meant for another kind of column."""
    field = None if column.nested else mapping.field(column.name)
    kind = None if field is None else field.kind
    match search.operator, kind:
        case "TEXTSEARCH", "json":
            what = f"searches the words of a text column, and {column} is JSON: write INDEXQUERY '{column}.key:word'"
        case "TEXTSEARCH", _ if kind != "text":
            what = f"searches words, and {column} is not cut into words: use FIELDMATCH, or index the column as text"
        case "FIELDMATCH", "text":
            what = f"compares whole values, and {column} is indexed as text, cut into words: use TEXTSEARCH"
        case "FIELDMATCH", "json":
            what = f"compares whole values, and {column} is JSON: write INDEXQUERY '{column}.key:value'"
        case _:
            return
    raise PredicateError(f"{search.operator}{_place(search)} {what}", column=str(column), position=search.position)


def _place(search: Search) -> str:
    return f" (its text at position {search.position} of the filter)" if search.position else ""


__all__ = ["bind_search"]
