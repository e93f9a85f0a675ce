"""Whether an index that is not open is worth opening for a predicate.

Opening an index may mean a download as large as the rows. So an index is opened only if the index probably finds few rows: for
values of a column, prefixes of texts, nulls where nulls are rare, and ranges that are narrow against the bounds of their column.
The answer is a guess about speed: with the index or without, the same rows are found.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

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
    Search,
)
from indextables.split.index.doc_mapping import DocMapping
from indextables.split.plan.costs import Costs
from indextables.split.plan.footer_facts import FooterFacts
from indextables.split.plan.order_keys import whole_key


def index_covers(mapping: DocMapping, predicate: Predicate) -> bool:
    """Whether the index has columns by which it may tell the rows apart for which a folded predicate is true."""
    match predicate:
        case And():
            return any(index_covers(mapping, child) for child in predicate.children)
        case Or():
            return all(index_covers(mapping, child) for child in predicate.children)
        case Not():
            return index_covers(mapping, predicate.child)
        case Constant() | Search():
            return False
        case _:
            field = mapping.field(predicate.column.name)
            return field is not None and (field.indexed or field.fast)


def index_finds_few(predicate: Predicate, mapping: DocMapping, facts: FooterFacts, costs: Costs) -> bool:
    """Whether the index probably finds at most `costs.most_share` of the rows for a folded predicate."""
    return _Guess(mapping, facts, facts.bounds_of(predicate), costs.most_share).few(predicate)


@dataclass(frozen=True, slots=True)
class _Guess:
    """A guess about one predicate, from the mapping of the index and the footer."""

    mapping: DocMapping
    facts: FooterFacts
    bounds: Mapping[str, ColumnBounds]
    most_share: float

    def few(self, predicate: Predicate) -> bool:
        """Whether the index probably finds few rows for the predicate, or for a part of it that all rows must match."""
        match predicate:
            case And():
                spans: dict[Column, list[Comparison]] = {}
                for child in predicate.children:
                    if isinstance(child, Comparison):
                        spans.setdefault(child.column, []).append(child)
                others = [child for child in predicate.children if not isinstance(child, Comparison)]
                return any(map(self._is_narrow, spans.values())) or any(map(self.few, others))
            case Or():
                return all(map(self.few, predicate.children))
            case Comparison():
                return self._is_narrow([predicate])
            case In():
                return index_covers(self.mapping, predicate)
            case Like():
                parts = predicate.parts()
                words = (field := self.mapping.field(predicate.column.name)) is not None and field.kind == "text"
                return index_covers(self.mapping, predicate) and (words or not parts or isinstance(parts[0], str))
            case IsNull() | IsNotNull():
                nulls, rows = self.facts.null_count(predicate.column), self.facts.rows
                if nulls is None or not index_covers(self.mapping, predicate):
                    return False
                return (nulls if isinstance(predicate, IsNull) else rows - nulls) <= rows * self.most_share
            case Not() | Constant() | Search():
                return False
            case _:
                assert_never(predicate)

    def _is_narrow(self, span: Sequence[Comparison]) -> bool:
        """Whether comparisons of one column leave few rows, if its values are spread evenly between its bounds."""
        if not index_covers(self.mapping, span[0]):
            return False
        if any(comparison.op in {"=", "<=>"} for comparison in span):
            return True
        column = span[0].column
        bounds = self.bounds.get(column.name)
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
        return end - begin <= (high - low) * self.most_share


def _number(value: Any) -> float | None:
    """The value as a double for comparing widths: days, microseconds or the number; None for a text or an infinity."""
    if isinstance(value, dt.date):
        return float(whole_key(value))
    if isinstance(value, int | float) and math.isfinite(value):
        return float(value)
    return None
