"""`Table.explain`: a query in words."""

from __future__ import annotations

from indextables.log.snapshot import Snapshot
from indextables.split.query.explain import explain
from indextables.table.read.request import bound_query


def explain_query(query: str, snapshot: Snapshot) -> str:
    """What the query asks of the table. Raises QueryError."""
    return explain(bound_query(query, snapshot), query)
