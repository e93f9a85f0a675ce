"""How well a table answers a filter that a planner would like to hand over: exactly, inexactly or not at all.

A planner translates its own expressions into `FilterAnswer`s, leaf by leaf, and combines them here with AND, OR and NOT.

What a limit may do. A limit counts rows after all filters. With filters that are all EXACT, the limit may be handed over with
them: the first n rows that the table returns are rows of the answer. With one filter that is INEXACT or UNSUPPORTED, the
planner still drops rows afterwards, so n rows of the table may be fewer than n rows of the answer: the limit must stay with the
planner. The same holds for orders with a limit, for counts and for groups. A filter that comes after a limit in the query must
never be handed over.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from indextables.core.predicate import Column, Not, Predicate, all_of, any_of, columns_of


class Exactness(enum.Enum):
    """What a planner has to do itself after the table applied a filter."""

    EXACT = "exact"
    """The table returns exactly the rows for which the filter is true. The planner need not look at them again."""
    INEXACT = "inexact"
    """The table leaves out some rows for which the filter is not true, and no others. The planner applies the filter again."""
    UNSUPPORTED = "unsupported"
    """The table does not look at the filter. The planner applies it."""


@dataclass(frozen=True)
class FilterAnswer:
    """A filter as the table answers it."""

    exactness: Exactness
    predicate: Predicate | None
    """What the table applies: true for every row for which the filter is true. None where the filter is UNSUPPORTED."""


UNSUPPORTED: Final = FilterAnswer(Exactness.UNSUPPORTED, None)


def answer_filter(schema: pa.Schema, predicate: Predicate) -> FilterAnswer:
    """The answer of a table of this schema to a predicate of ours: EXACT where its columns exist with the same types."""
    known = all(_type_of(column, schema) == column.type for column in columns_of(predicate))
    return FilterAnswer(Exactness.EXACT, predicate) if known else UNSUPPORTED


def all_true(parts: Iterable[FilterAnswer]) -> FilterAnswer:
    """The answer to an AND. Parts that are not supported are left out, which makes the whole INEXACT."""
    answers = list(parts)
    supported = [part.predicate for part in answers if part.predicate is not None]
    if not supported:
        return UNSUPPORTED
    return FilterAnswer(_least_exact(answers), all_of(supported))


def any_true(parts: Iterable[FilterAnswer]) -> FilterAnswer:
    """The answer to an OR. Any row may be true for a part that is not supported, so that one makes the whole UNSUPPORTED."""
    answers = list(parts)
    supported = [part.predicate for part in answers if part.predicate is not None]
    if len(supported) < len(answers) or not supported:
        return UNSUPPORTED
    return FilterAnswer(_least_exact(answers), any_of(supported))


def not_true(part: FilterAnswer) -> FilterAnswer:
    """The answer to a NOT, in three-valued logic. Only an EXACT filter has one: rows that an INEXACT one keeps may be false."""
    if part.exactness is not Exactness.EXACT or part.predicate is None:
        return UNSUPPORTED
    return FilterAnswer(Exactness.EXACT, Not(part.predicate))


def _least_exact(parts: Sequence[FilterAnswer]) -> Exactness:
    exact = all(part.exactness is Exactness.EXACT for part in parts)
    return Exactness.EXACT if exact else Exactness.INEXACT


def _type_of(column: Column, schema: pa.Schema) -> pa.DataType | None:
    """The type that the schema has for a column or a field inside a struct; None where it has none."""
    fields, kind = list(schema), None
    for name in column.path:
        field = next((field for field in fields if field.name == name), None)
        if field is None:
            return None
        kind = field.type
        fields = list(kind.fields) if pa.types.is_struct(kind) else []
    return kind
