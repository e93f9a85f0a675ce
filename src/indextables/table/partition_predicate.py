"""`where` of the verbs that work on whole partitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from indextables.core.errors import PredicateError
from indextables.core.predicate import Column, Predicate, all_of, any_of, columns_of, compare, has_search, member
from indextables.core.values import from_text
from indextables.log.snapshot import Snapshot
from indextables.table.arguments import parse_where


def over_partitions(where: Any, snapshot: Snapshot, verb: str, done: str) -> Predicate:
    """Parse SQL over partition columns. `verb` and `done` name what is asked for: overwrite, replaced.

    Raises PredicateError for any other column.
    """
    columns = tuple(snapshot.metadata.partition_columns)
    return partition_predicate(where, snapshot.schema, columns, f"{verb}(where={where!r})", done)


def partition_predicate(where: Any, schema: pa.Schema, columns: Sequence[str], request: str, done: str) -> Predicate:
    """Parse SQL over the partition columns of a table that need not exist yet. `request` is the caller's wording."""
    predicate = parse_where(where, schema, example="day = '2024-01-31'")
    if has_search(predicate):
        raise PredicateError(
            f"{request} has a search, but only whole partitions are {done}, selected by comparing their partition columns "
            f"({', '.join(columns) or 'this table has none'}); find rows with scan(where=…) instead"
        )
    others = sorted({column.name for column in columns_of(predicate)} - set(columns))
    if others:
        raise PredicateError(
            f"{request} asks for {', '.join(others)}, but only whole partitions are {done}, selected by "
            f"their partition columns ({', '.join(columns) or 'this table has none'}); a split may hold other rows too",
            columns=others,
        )
    return predicate


def partitions_of(texts: Iterable[Mapping[str, str | None]], snapshot: Snapshot) -> Predicate:
    """The predicate that is true in exactly these partitions, given by their values as the log has them."""
    columns = [Column((name,), snapshot.schema.field(name).type) for name in snapshot.metadata.partition_columns]
    *outer, last = columns
    groups: dict[tuple[Any, ...], dict[Any, None]] = {}
    for values in texts:
        typed = [_typed(values.get(column.name), column) for column in columns]
        groups.setdefault(tuple(typed[:-1]), {})[typed[-1]] = None
    return any_of(
        all_of(
            [*(compare(column, "<=>", value) for column, value in zip(outer, key, strict=True)), _one_of(last, found)]
        )
        for key, found in groups.items()
    )


def _one_of(column: Column, values: Iterable[Any]) -> Predicate:
    known = [value for value in values if value is not None]
    null = [compare(column, "<=>", None)] if None in values else []
    return any_of([*null, *([member(column, known)] if known else [])])


def _typed(text: str | None, column: Column) -> Any:
    return None if text is None else from_text(text, column.type)
