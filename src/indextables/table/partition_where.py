"""`where` of the verbs that work on whole partitions."""

from __future__ import annotations

from typing import Any

from indextables.core.errors import PredicateError
from indextables.core.predicate import Predicate, columns_of, parse_predicate
from indextables.log.snapshot import Snapshot


def over_partitions(where: Any, snapshot: Snapshot, verb: str, done: str) -> Predicate:
    """Parse SQL over partition columns. `verb` and `done` name what is asked for: overwrite, replaced.

    Raises PredicateError for any other column.
    """
    if not isinstance(where, str):
        raise PredicateError(f"where is SQL text, such as \"day = '2024-01-31'\", not {type(where).__name__}")
    predicate = parse_predicate(where, snapshot.schema)
    partitions = tuple(snapshot.metadata.partition_columns)
    others = sorted({column.name for column in columns_of(predicate)} - set(partitions))
    if others:
        raise PredicateError(
            f"{verb}(where={where!r}) asks for {', '.join(others)}, but only whole partitions are {done}, selected by "
            f"their partition columns ({', '.join(partitions) or 'this table has none'}); a split may hold other rows too",
            columns=others,
        )
    return predicate
