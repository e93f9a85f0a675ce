"""A predicate as a query of a split's index and a residual for the rows that the query finds.

    predicate ── fold ──▶ no constants, no NOT above AND and OR ──▶ one RowSet per column ──▶ IndexPlan(query, residual)

A plan never loses a row: the rows that its query finds and for which its residual is true are exactly the rows for which the
predicate is true. So three-valued logic needs no care here beyond one step: with NOT pushed down to the leaves, a predicate is
true exactly if AND, OR and "this leaf is true" say so, and an index that finds those rows for each leaf finds them for the whole.

Leaves about the same column are put together first: `a <= x AND x < b` is one range and not two, `x = 1 OR x = 2` one list, and
`x IS NOT NULL`, which Spark adds to every filter, is dropped where another part says it anyway.

Above a quarter of the rows (`Costs.most_share`) a scan is faster than reading rows by number. `rows_worth_taking` decides with as
little searching as possible: terms are counted while planning, and the bounds of a column say something about ranges.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

import pyarrow as pa
import tantivy

from indextables.core.predicate import (
    FALSE,
    TRUE,
    And,
    Column,
    ColumnBounds,
    Comparison,
    Constant,
    In,
    IsNotNull,
    IsNull,
    Leaf,
    Like,
    Literal,
    Not,
    Or,
    Predicate,
    Search,
    all_of,
    any_of,
    evaluate,
    push_down_not,
)
from indextables.split.bundle.footer import Source
from indextables.split.bundle.native_errors import translated
from indextables.split.index.row_numbers import RowNumberArray, count_of, few_rows_of
from indextables.split.plan.column_queries import Leaves
from indextables.split.plan.index_view import IndexView
from indextables.split.plan.row_sets import EMPTY_SET, RowSet, intersection, union


@dataclass(frozen=True, slots=True)
class IndexPlan:
    """A query of the index for a predicate, and the residual to evaluate on the rows that the query finds."""

    query: tantivy.Query | None
    """A query that finds every row for which the predicate is true, and perhaps others. None stands for every row."""
    residual: Predicate
    """The predicate that must be true of a row that the query finds; TRUE if there is none."""
    at_most: int
    """The query finds at most this number of rows."""
    share: float
    """The share of all rows that the query probably finds, 0 to 1."""

    @property
    def exact(self) -> bool:
        """Whether the query finds exactly the rows for which the predicate is true."""
        return self.residual == TRUE


def plan_predicate(
    predicate: Predicate, view: IndexView, constants: Mapping[str, pa.Scalar] | None = None
) -> IndexPlan:
    """Plan a predicate for the index of one split.

    `constants` are the columns that have one value in all rows of the split and are in neither its rows nor its index:
    partition columns, and (null) those that the table got later. The residual does not mention them.
    """
    folded = fold(predicate, constants or {})
    with translated(view.split, "planning a search of its index"):
        row_set, residual = _Planner(view).plan(folded)
    return IndexPlan(row_set.query, residual, row_set.at_most, row_set.share)


def rows_worth_taking(plan: IndexPlan, view: IndexView, sources: Sequence[Source]) -> RowNumberArray | None:
    """The rows that the plan's query finds, if reading them by number is faster than a scan; else None.

    The limit is `Costs.most_share` of the rows. The index is searched only as far as that is needed to decide.
    """
    costs = view.costs
    most = max(costs.few_rows, int(view.rows * costs.most_share))
    if plan.query is None or (plan.at_most > most and plan.share > costs.hopeless_times * costs.most_share):
        return None
    doubtful = plan.at_most > most and plan.share > costs.count_first_times * costs.most_share
    if doubtful and count_of(view.searcher, plan.query, split=view.split) > most:
        return None
    return few_rows_of(view.searcher, plan.query, sources, min(most, plan.at_most), split=view.split)


def fold(predicate: Predicate, constants: Mapping[str, Any]) -> Predicate:
    """A predicate that is true for the same rows, without the constant columns; where it is not true it may be null or false.

    NOT is left only above `IN`, `LIKE`, `<=>` and searches, conjunctions and disjunctions are flat.
    """
    return _folded(push_down_not(predicate), constants)


def narrowed_lists(predicate: Predicate, facts: Mapping[str, ColumnBounds]) -> Predicate:
    """A folded predicate that is true for the same rows, its lists without the values that lie outside of a column's bounds.

    NaN is in no bounds, and lists under a NOT stay as they are: they may be true where a value is missing.
    """
    match predicate:
        case And():
            parts = [narrowed_lists(child, facts) for child in predicate.children]
            return FALSE if FALSE in parts else all_of(part for part in parts if part != TRUE)
        case Or():
            parts = [narrowed_lists(child, facts) for child in predicate.children]
            return TRUE if TRUE in parts else any_of(part for part in parts if part != FALSE)
        case In() if not predicate.column.nested and (known := facts.get(predicate.column.name)) is not None:
            low, high = known.min, known.max
            if low is None or high is None:
                return predicate
            inside = tuple(each for each in predicate.values if each.is_nan or low <= each.value <= high)
            if len(inside) == len(predicate.values):
                return predicate
            return In(predicate.column, inside) if inside else FALSE
    return predicate


def _folded(predicate: Predicate, constants: Mapping[str, Any]) -> Predicate:
    match predicate:
        case And():
            parts = [_folded(child, constants) for child in predicate.children]
            return FALSE if FALSE in parts else all_of(part for part in parts if part != TRUE)
        case Or():
            parts = [_folded(child, constants) for child in predicate.children]
            return TRUE if TRUE in parts else any_of(part for part in parts if part != FALSE)
        case Constant():
            return TRUE if predicate.value else FALSE
        case Not():
            leaf = predicate.child
            if isinstance(leaf, Search):
                return predicate
            assert isinstance(leaf, Comparison | In | Like), "push_down_not was applied"
            return _constant(predicate, leaf.column, constants)
        case Comparison() | In() | Like() | IsNull() | IsNotNull():
            return _constant(predicate, predicate.column, constants)
        case Search():
            return predicate
        case _:
            assert_never(predicate)


def _constant(predicate: Predicate, column: Column, constants: Mapping[str, Any]) -> Predicate:
    if column.name not in constants:
        return predicate
    value = constants[column.name]
    row = pa.table({column.name: pa.repeat(value, 1)})
    return TRUE if evaluate(predicate, row)[0].as_py() else FALSE


class _Planner:
    def __init__(self, view: IndexView) -> None:
        self._leaves = Leaves(view)
        self._rows = view.rows
        self._most_scans = view.costs.most_scans

    def plan(self, predicate: Predicate) -> tuple[RowSet, Predicate]:
        """The row set of a folded predicate, and the residual."""
        match predicate:
            case And():
                return self._conjunction(predicate.children)
            case Or():
                return self._disjunction(predicate)
            case Constant():
                return RowSet(None, True, self._rows) if predicate.value else EMPTY_SET, TRUE
            case _:
                row_set = self._leaf(predicate)
                return row_set, TRUE if row_set.exact else predicate

    def _conjunction(self, children: Iterable[Predicate]) -> tuple[RowSet, Predicate]:
        parts = [self.plan(part) if isinstance(part, Or) else self._grouped(part) for part in conjuncts(children)]
        row_set = intersection((part for part, _ in parts), self._rows)
        return row_set, TRUE if row_set.exact else all_of(residual for _, residual in parts if residual != TRUE)

    def _grouped(self, part: Predicate) -> tuple[RowSet, Predicate]:
        if isinstance(part, And):
            comparisons = [child for child in part.children if isinstance(child, Comparison)]
            row_set = self._leaves.span(comparisons[0].column, comparisons)
        else:
            row_set = self._leaf(part)
        return row_set, TRUE if row_set.exact else part

    def _disjunction(self, predicate: Or) -> tuple[RowSet, Predicate]:
        row_set = union((self.plan(part)[0] for part in disjuncts(predicate.children)), self._rows)
        if row_set.ranges > self._most_scans:
            row_set = RowSet(None, False, self._rows)
        return row_set, TRUE if row_set.exact else predicate

    def _leaf(self, predicate: Predicate) -> RowSet:
        leaves = self._leaves
        match predicate:
            case Comparison(op="<>"):
                return leaves.others(predicate.column, [predicate.value])
            case Comparison():
                return leaves.span(predicate.column, [_equal(predicate)])
            case In():
                return leaves.members(predicate.column, predicate.values)
            case Like():
                return leaves.like(predicate)
            case IsNull():
                return leaves.is_null(predicate.column)
            case IsNotNull():
                return leaves.not_null(predicate.column)
            case Not(child=Comparison() as leaf):
                return leaves.distinct_from(leaf.column, leaf.value)
            case Not(child=In() as leaf):
                if leaf.has_null:
                    return EMPTY_SET
                return leaves.others(leaf.column, leaf.values)
            case Not(child=Like() as leaf):
                return leaves.unlike(leaf)
            case And() | Or() | Not() | Constant() | Search():
                raise AssertionError(f"not a leaf of a folded predicate: {predicate}")


def conjuncts(children: Iterable[Predicate]) -> list[Predicate]:
    """An equal conjunction with fewer parts: one AND of comparisons, and one list of unwanted values, per column."""
    spans: dict[Column, list[Predicate]] = {}
    unwanted: dict[Column, list[Literal]] = {}
    rest: list[Predicate] = []
    for child in children:
        match child:
            case Comparison(op="<>"):
                unwanted.setdefault(child.column, []).append(child.value)
            case Not(child=In(has_null=False) as leaf):
                unwanted.setdefault(leaf.column, []).extend(leaf.values)
            case Comparison():
                spans.setdefault(child.column, []).append(_equal(child))
            case _:
                rest.append(child)
    present = {column for child in rest if (column := _needs_value(child)) is not None} | spans.keys() | unwanted.keys()
    return [
        *(And(tuple(parts)) if len(parts) > 1 else parts[0] for parts in spans.values()),
        *(_unlisted(column, values) for column, values in unwanted.items()),
        *(child for child in rest if not (isinstance(child, IsNotNull) and child.column in present)),
    ]


def disjuncts(children: Iterable[Predicate]) -> list[Predicate]:
    """An equal disjunction with one list of wanted values per column."""
    wanted: dict[Column, list[Literal]] = {}
    rest: list[Predicate] = []
    for child in children:
        match child:
            case Comparison(op="=" | "<=>"):
                wanted.setdefault(child.column, []).append(child.value)
            case In():
                wanted.setdefault(child.column, []).extend(child.values)
            case _:
                rest.append(child)
    return [*(In(column, tuple(dict.fromkeys(values))) for column, values in wanted.items()), *rest]


def _needs_value(predicate: Predicate) -> Column | None:
    """The column that has a value in every row for which this is true, `IS NOT NULL` itself left out."""
    leaf: Predicate | Leaf = predicate.child if isinstance(predicate, Not) else predicate
    return leaf.column if isinstance(leaf, In | Like) else None


def _equal(comparison: Comparison) -> Comparison:
    """`<=>` with a value that is not null is true where `=` is."""
    return Comparison("=", comparison.column, comparison.value) if comparison.op == "<=>" else comparison


def _unlisted(column: Column, values: list[Literal]) -> Predicate:
    distinct = tuple(dict.fromkeys(values))
    return Comparison("<>", column, distinct[0]) if len(distinct) == 1 else Not(In(column, distinct))
