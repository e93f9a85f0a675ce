"""Whether an index that is not open yet is worth opening for a predicate.

Opening may mean a download of a size like that of the rows, so the index is only asked where it can be expected to leave few
rows: for values of a column, beginnings of texts, nulls where they are rare, and ranges that are narrow against the bounds of
their column. It is a guess about speed: either way finds the same rows.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from typing import Any

from indextables.core.predicate import (
    And,
    Column,
    ColumnBounds,
    Comparison,
    Constant,
    In,
    IsNotNull,
    IsNull,
    Like,
    Not,
    Or,
    Predicate,
)
from indextables.split.bundle.footer import Footer
from indextables.split.index.doc_mapping import DocMapping
from indextables.split.plan.order_keys import whole_key
from indextables.split.plan.predicate_plan import MOST_SHARE


def knows(mapping: DocMapping, predicate: Predicate) -> bool:
    """Whether the index may tell rows apart for which a folded predicate is true."""
    match predicate:
        case And():
            return any(knows(mapping, child) for child in predicate.children)
        case Or():
            return all(knows(mapping, child) for child in predicate.children)
        case Not():
            return knows(mapping, predicate.child)
        case Constant():
            return False
        case _:
            field = mapping.field(predicate.column.name)
            return field is not None and (field.indexed or field.fast)


def narrows(predicate: Predicate, mapping: DocMapping, facts: Mapping[str, ColumnBounds], footer: Footer) -> bool:
    """Whether the index probably finds few rows for a folded predicate."""
    match predicate:
        case And():
            spans: dict[Column, list[Comparison]] = {}
            for child in predicate.children:
                if isinstance(child, Comparison):
                    spans.setdefault(child.column, []).append(child)
            rest = [child for child in predicate.children if not isinstance(child, Comparison)]
            return any(_narrow_span(column, span, mapping, facts) for column, span in spans.items()) or any(
                narrows(child, mapping, facts, footer) for child in rest
            )
        case Or():
            return all(narrows(child, mapping, facts, footer) for child in predicate.children)
        case Comparison():
            return _narrow_span(predicate.column, [predicate], mapping, facts)
        case In():
            return knows(mapping, predicate)
        case Like():
            parts = predicate.parts()
            words = (field := mapping.field(predicate.column.name)) is not None and field.kind == "text"
            return knows(mapping, predicate) and (words or not parts or isinstance(parts[0], str))
        case IsNull() | IsNotNull():
            nulls = footer.null_counts.get(predicate.column.name)
            if nulls is None or predicate.column.nested or not knows(mapping, predicate):
                return False
            return (nulls if isinstance(predicate, IsNull) else footer.rows - nulls) <= footer.rows * MOST_SHARE
        case _:
            return False


def _narrow_span(
    column: Column, span: Sequence[Comparison], mapping: DocMapping, facts: Mapping[str, ColumnBounds]
) -> bool:
    if not knows(mapping, span[0]):
        return False
    if any(comparison.op in {"=", "<=>"} for comparison in span):
        return True
    bounds = facts.get(column.name)
    low, high = (None, None) if bounds is None or column.nested else (_number(bounds.min), _number(bounds.max))
    if low is None or high is None or not low < high:
        return False
    begin, end = low, high
    for comparison in span:
        at = _number(comparison.value.value)
        if at is None:
            return False
        if comparison.op in {"<", "<="}:
            end = min(end, at)
        elif comparison.op in {">", ">="}:
            begin = max(begin, at)
    return end - begin <= (high - low) * MOST_SHARE


def _number(value: Any) -> float | None:
    if isinstance(value, dt.date):
        return float(whole_key(value))
    if isinstance(value, int | float) and math.isfinite(value):
        return float(value)
    return None
