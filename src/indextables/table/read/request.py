"""Queries as the verbs need them: checked against the table, and what they say about its files."""

from __future__ import annotations

from typing import Final

from indextables.core.predicate import TRUE, Predicate, all_of
from indextables.log.actions import MetadataAction
from indextables.log.snapshot import Snapshot
from indextables.split.query.bind import Bound, bind_query, implied
from indextables.split.query.parse import parse_query
from indextables.table.table_mapping import mapping_of

_MOST_KNOWN: Final = 256
_KNOWN: Final[dict[tuple[str, int], tuple[MetadataAction, Bound]]] = {}


def bound_query(text: str, snapshot: Snapshot) -> Bound:
    """A query of this table. Raises QueryError, with the position of what is wrong.

    Remembered, because the same questions come again and again, and for a count this is half of the work.
    """
    mark = (text, id(snapshot.metadata))
    known = _KNOWN.get(mark)
    if known is not None and known[0] is snapshot.metadata:
        return known[1]
    bound = bind_query(parse_query(text), text, snapshot.schema, mapping_of(snapshot))
    if len(_KNOWN) >= _MOST_KNOWN:
        _KNOWN.clear()
    _KNOWN[mark] = snapshot.metadata, bound
    return bound


def narrowed(where: Predicate | None, query: Bound | None) -> Predicate | None:
    """What is true for every row that is asked for: files are pruned by it."""
    parts = [part for part in (where, None if query is None else implied(query)) if part not in (None, TRUE)]
    return all_of(part for part in parts if part is not None) if parts else where
