"""`FooterFacts`: what the footer of a split says about a predicate, before a row or the index is read."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from indextables.core.predicate import FALSE, TRUE, And, Column, ColumnBounds, Predicate, all_of, columns_of
from indextables.core.values import from_text, has_text_form
from indextables.split.bundle.footer import Footer
from indextables.split.plan.bounds_check import always_true, may_hold
from indextables.split.plan.predicate_plan import fold, narrowed_lists


class FooterFacts:
    """The bounds and null counts of one split, in the types of its columns. Each column is converted once, when first needed."""

    def __init__(self, footer: Footer, missing: Mapping[str, pa.Scalar]) -> None:
        """`missing` are the columns of the table that the split lacks, each with its null."""
        self._footer = footer
        self._missing = missing
        self._columns: dict[str, ColumnBounds] = {}

    @property
    def rows(self) -> int:
        """The number of rows of the split."""
        return self._footer.rows

    def null_count(self, column: Column) -> int | None:
        """The number of rows without a value of the column, where the footer has the number."""
        return None if column.nested else self._footer.null_counts.get(column.name)

    def remaining_predicate(self, predicate: Predicate) -> Predicate:
        """The part of a folded predicate that has to be evaluated on rows: TRUE if every row matches, FALSE if none does."""
        remaining = fold(predicate, self._missing)
        bounds = self.bounds_of(remaining)
        remaining = narrowed_lists(remaining, bounds)
        if remaining == FALSE or not may_hold(remaining, bounds):
            return FALSE
        parts = remaining.children if isinstance(remaining, And) else (remaining,)
        undecided = [part for part in parts if not always_true(part, bounds)]
        return all_of(undecided) if undecided else TRUE

    def bounds_of(self, predicate: Predicate) -> dict[str, ColumnBounds]:
        """The bounds of the columns that the predicate names, by their names."""
        return {column.name: self._bounds(column) for column in columns_of(predicate) if not column.nested}

    def _bounds(self, column: Column) -> ColumnBounds:
        bounds = self._columns.get(column.name)
        if bounds is None:
            bounds = self._columns[column.name] = self._converted(column)
        return bounds

    def _converted(self, column: Column) -> ColumnBounds:
        """The bounds of one column. Their texts are in our own form, and a maximum that was cut is rounded up."""
        footer, name, kind = self._footer, column.name, column.type
        low, high = (
            from_text(texts.get(name), kind) if has_text_form(kind) else None
            for texts in (footer.min_values, footer.max_values)
        )
        nulls = footer.null_counts.get(name)
        if nulls is None:
            return ColumnBounds(low, high)
        return ColumnBounds(low, high, has_nulls=nulls > 0, all_null=nulls == footer.rows)
