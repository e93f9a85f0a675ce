"""What the footer of a split settles about a predicate, before any row or index is looked at."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from indextables.core.predicate import FALSE, TRUE, And, Column, ColumnBounds, Predicate, all_of, columns_of
from indextables.core.values import from_text, has_text_form
from indextables.split.bundle.footer import Footer
from indextables.split.plan.bounds_check import always_true, may_hold
from indextables.split.plan.predicate_plan import fold, narrowed_lists


class Known:
    """The facts of one split, in the types of its columns. They are worked out when they are first asked for, and kept."""

    def __init__(self, footer: Footer) -> None:
        self._footer = footer
        self._columns: dict[str, ColumnBounds] = {}

    def left(self, predicate: Predicate, missing: Mapping[str, pa.Scalar]) -> Predicate:
        """What the rows have to be asked for of a folded predicate. `missing` are the columns that the split lacks."""
        left = fold(predicate, missing)
        facts = self.about(left)
        left = narrowed_lists(left, facts)
        if left == FALSE or not may_hold(left, facts):
            return FALSE
        parts = left.children if isinstance(left, And) else (left,)
        rest = [part for part in parts if not always_true(part, facts)]
        return all_of(rest) if rest else TRUE

    def about(self, predicate: Predicate) -> dict[str, ColumnBounds]:
        """The facts of the columns that it names."""
        return {column.name: self._facts(column) for column in columns_of(predicate) if not column.nested}

    def _facts(self, column: Column) -> ColumnBounds:
        facts = self._columns.get(column.name)
        if facts is None:
            facts = self._columns[column.name] = self._read(column)
        return facts

    def _read(self, column: Column) -> ColumnBounds:
        """What the footer says about a column. Its texts are in our own form, and maxima are rounded up where they are cut."""
        footer, name, kind = self._footer, column.name, column.type
        low, high = (
            from_text(texts.get(name), kind) if has_text_form(kind) else None
            for texts in (footer.min_values, footer.max_values)
        )
        nulls = footer.null_counts.get(name)
        if nulls is None:
            return ColumnBounds(low, high)
        return ColumnBounds(low, high, has_nulls=nulls > 0, all_null=nulls == footer.rows)
