"""The groups of the rows that an index query finds, from the index alone.

Tantivy adds up in doubles, counts at most 65,000 buckets, and knows nothing about rows without a value. So it is asked where
that makes no difference: whole numbers so small that no sum of them is rounded, and columns without nulls as keys. Strings have
no fast fields; a column with few different values is asked for each of them, and so are ranges. In all other cases the answer
is None, and the rows are read.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import tantivy

from indextables.core.aggregate import Aggregate, Key, Metric, Ranges, Steps
from indextables.core.arrow_values import array_of
from indextables.core.errors import CorruptSplit
from indextables.core.predicate import TRUE, Column, IsNotNull, IsNull, Not, Predicate, all_of, compare
from indextables.core.values import from_text
from indextables.split.aggregate.exact_inputs import LOW_BITS, from_whole
from indextables.split.aggregate.partial import NO_KEY, ROWS, Partial, has_extra, key_names, slots
from indextables.split.bundle.native_errors import translated
from indextables.split.index.doc_mapping import FieldMapping
from indextables.split.index.row_numbers import count_of
from indextables.split.plan.index_view import IndexView
from indextables.split.plan.order_keys import whole_key
from indextables.split.plan.predicate_plan import plan_predicate
from indextables.split.plan.row_sets import EMPTY_SET, RowSet, intersection

_MOST_QUESTIONS: Final = 64
"""Searches for the groups of one split. For more groups reading the rows is faster."""
_MOST_BUCKETS: Final = 60_000
"""Buckets of one search. Tantivy counts at most 65,000, gaps included."""
_FROM_STATISTICS: Final = frozenset({"count", "sum", "avg", "min", "max"})
"""Metrics that Tantivy's `stats` of a fast field give. Any other metric is taken from the rows."""
_EXACT: Final = 1 << 53
"""Whole numbers up to this size are exact as doubles, in which Tantivy adds up."""
_LEAST_MARGIN: Final = 1 << 52
"""Above it, a quotient of two doubles may be rounded up to the next whole number."""


@dataclass(frozen=True)
class _Listed:
    """A key with few groups: the value of each, and the rows that have it."""

    choices: Sequence[tuple[Any, RowSet]]


@dataclass(frozen=True)
class _Counted:
    """A key over a fast field of whole numbers, which Tantivy puts into buckets: at most so many, gaps included."""

    field: str
    steps: Steps | None
    buckets: int

    def request(self, inner: dict[str, Any]) -> dict[str, Any]:
        """What Tantivy is asked for, with what is wanted of each bucket."""
        parts: dict[str, Any] = {"aggs": inner} if inner else {}
        if self.steps is None:
            return {"terms": {"field": self.field, "size": _MOST_BUCKETS}, **parts}
        width, offset = float(self.steps.width), float(self.steps.origin % self.steps.width)
        return {
            "histogram": {"field": self.field, "interval": width, "offset": offset, "min_doc_count": 1},
            **parts,
        }


@dataclass(frozen=True)
class _Wanted:
    """What Tantivy is asked for about a metric: the statistics of a field, or nothing, where all rows have a value, or none."""

    field: str = ""
    present: bool = True


Group = tuple[tuple[Any, ...], dict[str, Any]]
"""The values of its keys, and what belongs into the main table."""


def from_index(
    aggregate: Aggregate, view: IndexView, answer: RowSet, constants: Mapping[str, pa.Scalar]
) -> Partial | None:
    """The groups of the rows that an exact answer finds, or None where the rows have to be read."""
    wanted = [_wanted(metric, view, constants) for metric in aggregate.metrics]
    if None in wanted:
        return None
    if not any(part.field for part in wanted if part is not None):
        counted_terms = _counted_terms(
            aggregate, view, answer, constants, [part for part in wanted if part is not None]
        )
        if counted_terms is not None:
            return counted_terms
    keys = [_key(key, view, constants) for key in aggregate.keys]
    if None in keys:
        return None
    listed = [key for key in keys if isinstance(key, _Listed)]
    counted = [key for key in keys if isinstance(key, _Counted)]
    if math.prod(len(key.choices) for key in listed) > _MOST_QUESTIONS:
        return None
    if math.prod(key.buckets for key in counted) > _MOST_BUCKETS:
        return None
    question = _Question(aggregate.metrics, [part for part in wanted if part is not None], counted, view)
    groups: list[Group] = []
    for chosen in itertools.product(*(key.choices for key in listed)):
        found = intersection([answer, *(part for _, part in chosen)], view.rows)
        for numbers, facts in question.ask(found):
            own, theirs = (value for value, _ in chosen), iter(numbers)
            values = tuple(next(own if isinstance(key, _Listed) else theirs) for key in keys)
            groups.append((values, facts))
    return _partial(aggregate, groups)


def _counted_terms(
    aggregate: Aggregate,
    view: IndexView,
    answer: RowSet,
    constants: Mapping[str, pa.Scalar],
    wanted: Sequence[_Wanted],
) -> Partial | None:
    """The groups by one string column with few values, of which only the rows are counted: one question for all of them."""
    free = [key for key in aggregate.keys if key.column.name not in constants]
    if len(free) != 1 or any(key.bucket is not None or pa.types.is_floating(key.type) for key in aggregate.keys):
        return None
    mapped = None if free[0].column.nested else view.mapping.field(free[0].column.name)
    if mapped is None or mapped.many or mapped.kind != "string" or view.terms(mapped) is None or answer is EMPTY_SET:
        return None
    with translated(view.split, "aggregating in its index"):
        found = view.searcher.terms_with_prefix(mapped.name, "", filter_query=answer.query)
    counts: list[tuple[str | None, int]] = [(term, count) for term, count in found if count]
    if view.null_counts.get(mapped.column) != 0:
        missing = count_of(view.searcher, answer.query, split=view.split) - sum(count for _, count in counts)
        counts += [(None, missing)] if missing else []
    question = _Question(aggregate.metrics, wanted, (), view)
    groups = [
        (
            tuple(term if key is free[0] else constants[key.column.name].as_py() for key in aggregate.keys),
            question.facts(count, {}),
        )
        for term, count in counts
    ]
    return _partial(aggregate, groups)


def from_log(aggregate: Aggregate, rows: int, constants: Mapping[str, pa.Scalar]) -> Partial | None:
    """All rows of a split, if only their number matters; None where the rows have to be read."""
    keys = [key.column for key in aggregate.keys if key.bucket is None and not pa.types.is_floating(key.column.type)]
    if len(keys) < len(aggregate.keys) or any(column.name not in constants for column in keys):
        return None
    if any(metric.column is not None for metric in aggregate.metrics):
        return None
    group = tuple(constants[column.name].as_py() for column in keys)
    return _partial(aggregate, [(group, {ROWS: rows})] if rows else [])


def _key(key: Key, view: IndexView, constants: Mapping[str, pa.Scalar]) -> _Listed | _Counted | None:
    column = key.column
    if column.nested or pa.types.is_floating(column.type):
        return None
    if column.name in constants:
        everything = RowSet(None, True, view.rows)
        return _Listed([(constants[column.name].as_py(), everything)]) if key.bucket is None else None
    mapped = view.mapping.field(column.name)
    if mapped is None or mapped.many:
        return None
    if isinstance(key.bucket, Ranges):
        return _ranges(key, key.bucket, view)
    if mapped.kind == "string" and key.bucket is None:
        return _terms(key, mapped, view)
    whole = mapped.kind in {"i64", "bool"} and mapped.fast and view.null_counts.get(mapped.column) == 0
    bounds = _bounds(key.column, view) if whole else None
    if bounds is None or max(map(abs, bounds)) >= _LEAST_MARGIN:
        return None
    if key.bucket is not None and not isinstance(key.bucket, Steps):
        return None
    width = key.bucket.width if key.bucket else 1
    return _Counted(mapped.name, key.bucket, (bounds[1] - bounds[0]) // width + 2)


def _terms(key: Key, mapped: FieldMapping, view: IndexView) -> _Listed | None:
    terms = view.terms(mapped)
    if terms is None or len(terms) > _MOST_QUESTIONS:
        return None
    return _planned(key, [(term, compare(key.column, "=", term)) for term, _ in terms], view)


def _ranges(key: Key, ranges: Ranges, view: IndexView) -> _Listed | None:
    if len(ranges.labels) > _MOST_QUESTIONS:
        return None
    above: list[Predicate] = [TRUE, *ranges.edges]
    below: list[Predicate] = [*map(Not, ranges.edges), IsNotNull(key.column)]
    return _planned(key, list(enumerate(map(all_of, zip(above, below, strict=True)))), view)


def _planned(key: Key, choices: list[tuple[Any, Predicate]], view: IndexView) -> _Listed | None:
    """Each value with the rows that have it, and null, if the index knows them all exactly."""
    if view.null_counts.get(key.column.name) != 0:
        choices.append((None, IsNull(key.column)))
    found = []
    for value, predicate in choices:
        plan = plan_predicate(predicate, view)
        if not plan.exact:
            return None
        found.append((value, RowSet(plan.query, True, plan.at_most)))
    return _Listed(found)


def _bounds(column: Column, view: IndexView) -> tuple[int, int] | None:
    """The least and the greatest whole number of a column, or numbers beyond them."""
    texts = view.bounds.get(column.name)
    low, high = (from_text(text, column.type) for text in texts) if texts else (None, None)
    return None if low is None or high is None else (whole_key(low), whole_key(high))


def _wanted(metric: Metric, view: IndexView, constants: Mapping[str, pa.Scalar]) -> _Wanted | None:
    """None where the rows have to be read."""
    column = metric.column
    if column is None:
        return _Wanted()
    if column.nested or has_extra(metric) or metric.function not in _FROM_STATISTICS:
        return None
    if column.name in constants:
        return _Wanted(present=constants[column.name].is_valid) if metric.function == "count" else None
    nulls = view.null_counts.get(column.name)
    if metric.function == "count" and nulls in (0, view.rows):
        return _Wanted(present=nulls == 0)
    mapped = view.mapping.field(column.name)
    if mapped is None or mapped.many or mapped.kind != "i64" or not mapped.fast:
        return None
    added = metric.function in {"sum", "avg"}
    bounds = _bounds(column, view)
    if bounds is None or max(map(abs, bounds)) * (view.rows if added else 1) >= _EXACT:
        return None
    return _Wanted(mapped.name)


@dataclass(frozen=True)
class _Question:
    """What is asked about the rows of each answer."""

    metrics: Sequence[Metric]
    wanted: Sequence[_Wanted]
    counted: Sequence[_Counted]
    view: IndexView

    def ask(self, answer: RowSet) -> Iterator[Group]:
        """The groups within an answer, by the numbers of the counted keys."""
        request: dict[str, Any] = {
            f"m{number}": {"stats": {"field": part.field}} for number, part in enumerate(self.wanted) if part.field
        }
        for key in reversed(self.counted):
            request = {"k": key.request(request)}
        found: Any = {}
        if request and answer is not EMPTY_SET:
            query = answer.query if answer.query is not None else tantivy.Query.all_query()
            with translated(self.view.split, "aggregating in its index"):
                found = self.view.searcher.aggregate(query, request)
        if self.counted:
            yield from self._groups(found["k"] if found else {"buckets": []}, len(self.counted))
            return
        rows = count_of(self.view.searcher, answer.query, split=self.view.split)
        if rows:
            yield (), self.facts(rows, found)

    def _groups(self, found: Any, depth: int) -> Iterator[Group]:
        if found.get("sum_other_doc_count"):
            raise CorruptSplit(f"{self.view.split} is damaged: a column has more values than its bounds allow")
        for bucket in found["buckets"]:
            number = int(bucket["key"])
            if depth == 1:
                yield (number,), self.facts(bucket["doc_count"], bucket)
            else:
                inner = self._groups(bucket["k"], depth - 1)
                yield from (((number, *numbers), facts) for numbers, facts in inner)

    def facts(self, rows: int, found: Mapping[str, Any]) -> dict[str, Any]:
        """A row of the main table, without its keys."""
        made: dict[str, Any] = {ROWS: rows}
        for number, (metric, part) in enumerate(zip(self.metrics, self.wanted, strict=True)):
            if not part.field:
                made[f"{number}count"] = rows if part.present else 0
                continue
            stats = found[f"m{number}"]
            made[f"{number}count"] = int(stats["count"])
            if metric.function in {"min", "max"}:
                value = stats[metric.function]
                made[f"{number}{metric.function}"] = None if value is None else int(value)
            else:
                total = int(stats["sum"] or 0)
                made[f"{number}high"], made[f"{number}low"] = total >> LOW_BITS, total & ((1 << LOW_BITS) - 1)
        return made


def _partial(aggregate: Aggregate, groups: Sequence[Group]) -> Partial:
    columns: dict[str, Any] = {}
    for number, (name, key) in enumerate(zip(key_names(aggregate), aggregate.keys, strict=False)):
        kind = pa.int32() if isinstance(key.bucket, Ranges) else key.type
        columns[name] = _typed([values[number] for values, _ in groups], kind)
    if not aggregate.keys:
        columns[NO_KEY] = pa.nulls(len(groups), pa.int8())
    for slot in slots(aggregate):
        columns[slot.name] = _typed([facts[slot.name] for _, facts in groups], slot.type)
    return Partial(pa.table(columns), ())


def _typed(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Values of their type, or whole numbers that stand for dates, moments and booleans."""
    if all(value is None for value in values):
        return pa.nulls(len(values), kind)  # Arrow makes no decimal of few digits out of 64-bit numbers
    if any(value is not None and type(value) is not int for value in values):
        return array_of(values, kind)
    missing = np.array([value is None for value in values], np.bool_)
    return from_whole(np.array([value or 0 for value in values], np.int64), missing, kind)
