"""Queries as the verbs need them: checked against the table, and what they say about its files."""

from __future__ import annotations

from indextables.core.predicate import TRUE, Predicate, all_of
from indextables.log.snapshot import Snapshot
from indextables.split.query.bind import Bound, bind_query, implied
from indextables.split.query.parse import parse_query
from indextables.table.indexing import mapping_of


def bound_query(text: str, snapshot: Snapshot) -> Bound:
    """A query of this table. Raises QueryError, with the position of what is wrong."""
    return bind_query(parse_query(text), text, snapshot.schema, mapping_of(snapshot))


def narrowed(where: Predicate | None, query: Bound | None) -> Predicate | None:
    """What is true for every row that is asked for: files are pruned by it."""
    parts = [part for part in (where, None if query is None else implied(query)) if part not in (None, TRUE)]
    return all_of(part for part in parts if part is not None) if parts else where
