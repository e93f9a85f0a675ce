"""May a file (or a manifest) hold a row that matches? From minima, maxima and null counts, never wrong in one direction.

**Unknown keeps.** A column without bounds, a bound that could not be read, a field inside a struct, a search: the leaf
may be true. With NOT pushed down to the leaves (`push_down_not`) that one bit per leaf is the whole of Kleene's logic: a
conjunction may be true if all its parts may, a disjunction if one of them may. Partition values are known exactly, so
there a leaf that is false or null is known not to be true.

**Strings** are compared as UTF-8 bytes. A maximum in the log may have been cut by its writer without rounding up, so it
stands for every text that begins with it: `prefix_maximum` appends the byte FF, which is above every byte of UTF-8,
and from then on it is an ordinary upper bound.

**NaN.** Minima and maxima leave NaN out, and Spark takes NaN as equal to itself and greater than every number. So a file
with a maximum of 5 may hold rows with `x > 10`, `x >= 10`, `x <> 5` or `NOT x <= 10`: those of NaN. For these the bounds
of a float column say nothing, unless it is known that there is no NaN. `x = 10`, `x < 3`, `x <= 3` and `IN` without NaN
are false for NaN and use the bounds freely. The same facts help inside an AND: in `x > 10 AND x < 20` the second part
rules NaN out for every row that matches the whole, so the first may use the maximum after all.

**Contradictions** (a minimum above its maximum) come from writers that order values in another way. Then neither is
used. One bound without the other is used for what it is worth.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeGuard, assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.arrow_values import (
    FALSE_SCALAR,
    TRUE_SCALAR,
    ZERO_FLOAT_SCALAR,
    array_of,
    array_of_numbers,
    numpy_of,
    scalar_of,
)
from indextables.core.predicate.ast import (
    And,
    Column,
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
    Wildcard,
    columns_of,
    push_down_not,
)
from indextables.core.predicate.coerce import is_comparable
from indextables.core.predicate.evaluate import evaluate_leaf, normalized
from indextables.core.values import is_text

_ABOVE_UTF8: Final = b"\xff"
_ABOVE: Final = (scalar_of(_ABOVE_UTF8, pa.binary()), scalar_of(b"", pa.binary()))
"""The byte above all bytes of UTF-8, and nothing between it and a text."""
_NO_BYTES: Final = scalar_of(0, pa.int32())
"""The length of an empty text."""
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class ColumnBounds:
    """What is known about one column of one file or manifest, in Python values. None is unknown.

    `max_is_prefix`: the maximum is a text that may have been cut. `has_nan` is about the column's NaNs, which `min` and
    `max` leave out.
    """

    min: Any = None
    max: Any = None
    has_nulls: bool | None = None
    all_null: bool | None = None
    has_nan: bool | None = None
    max_is_prefix: bool = False


@dataclass(frozen=True, slots=True)
class VectorBounds:
    """What is known about one column of many files: an array for each bound, null for a file whose bound is unknown.

    None in place of an array: the bound is unknown for all files.

    A string column's maxima are strings if they are exact, binary if they come from `prefix_maximum`.
    """

    min: Any = None
    max: Any = None
    has_nulls: Any = None
    all_null: Any = None
    has_nan: Any = None


@dataclass(frozen=True, slots=True)
class VectorValues:
    """A column that has one value per file, as partition columns do. `known` is false where it could not be read."""

    values: Any
    known: Any = None


def may_match(predicate: Predicate, bounds: Mapping[str, ColumnBounds]) -> bool:
    """Whether rows within these bounds, keyed by the column's exact name, may match."""
    columns = {
        column.name: _one(bounds[column.name], column.type)
        for column in columns_of(predicate)
        if not column.nested and column.name in bounds
    }
    return bool(may_match_table(predicate, columns, length=1)[0].as_py())


def may_match_table(
    predicate: Predicate, columns: Mapping[str, VectorBounds | VectorValues], *, length: int
) -> pa.BooleanArray:
    """For each of `length` files whether it may hold a matching row. Never null. Columns are keyed by exact name."""
    return _Files(columns, length).may(push_down_not(predicate), frozenset())


def prefix_maximum(texts: pa.Array) -> pa.BinaryArray:
    """Upper bounds for texts of which each stands for everything that begins with it.

    A last character that is `?` (what is left of a cut surrogate pair) or U+FFFD is dropped first; an empty text is no
    bound.
    """
    if pc.any(pc.or_(pc.ends_with(texts, "?"), pc.ends_with(texts, "\ufffd"))).as_py():
        texts = pc.replace_substring_regex(texts, r"[?\x{FFFD}]\z", "")
    known = pc.greater(pc.binary_length(texts), _NO_BYTES)
    kept = pc.if_else(known, texts.cast(pa.binary()), scalar_of(None, pa.binary()))
    return pc.binary_join_element_wise(kept, *_ABOVE)


def _one(bounds: ColumnBounds, arrow_type: pa.DataType) -> VectorBounds:
    low, high = bounds.min, bounds.max
    cut = bounds.max_is_prefix
    if isinstance(low, str):
        low = _SURROGATE.split(low, maxsplit=1)[0]
    if isinstance(high, str):
        whole = _SURROGATE.split(high, maxsplit=1)[0]
        cut, high = cut or whole != high, whole
    maximum = array_of([high], arrow_type)
    return VectorBounds(
        min=array_of([low], arrow_type),
        max=prefix_maximum(maximum.cast(pa.string())) if cut and is_text(arrow_type) else maximum,
        has_nulls=array_of([bounds.has_nulls], pa.bool_()),
        all_null=array_of([bounds.all_null], pa.bool_()),
        has_nan=array_of([bounds.has_nan], pa.bool_()),
    )


class _Files:
    """The columns of many files, and what a predicate without inner NOTs may be for each of them."""

    def __init__(self, columns: Mapping[str, VectorBounds | VectorValues], length: int) -> None:
        self._columns = columns
        self._length = length
        self._ranges: dict[str, _Range] = {}

    def may(self, predicate: Predicate, no_nan: frozenset[Column]) -> pa.BooleanArray:
        match predicate:
            case And():
                no_nan |= {leaf.column for leaf in predicate.children if _rules_nan_out(leaf)}
                parts = (self.may(child, no_nan) for child in predicate.children)
                return functools.reduce(pc.and_, parts, self._all(True))
            case Or():
                parts = (self.may(child, no_nan) for child in predicate.children)
                return functools.reduce(pc.or_, parts, self._all(False))
            case Constant():
                return self._all(predicate.value is True)
            case Search() | Not(child=Search()):
                return self._all(True)
            case Not():
                assert isinstance(predicate.child, Comparison | In | Like), "push_down_not was applied"
                return self._leaf(predicate.child, True, no_nan)
            case Comparison() | In() | Like() | IsNull() | IsNotNull():
                return self._leaf(predicate, False, no_nan)
            case _:
                assert_never(predicate)

    def _all(self, value: bool) -> pa.BooleanArray:
        return pa.repeat(TRUE_SCALAR if value else FALSE_SCALAR, self._length)

    def _leaf(self, leaf: Leaf, negated: bool, no_nan: frozenset[Column]) -> pa.BooleanArray:
        column = leaf.column
        source = None if column.nested else self._columns.get(column.name)
        if source is None:
            return self._all(True)
        if isinstance(source, VectorValues):
            answer = evaluate_leaf(leaf, normalized(source.values, column.type))
            answer = pc.fill_null(pc.invert(answer) if negated else answer, FALSE_SCALAR)
            return answer if source.known is None else pc.or_(answer, pc.invert(source.known))
        if column.name not in self._ranges:
            self._ranges[column.name] = _Range.of(source, column, self._length)
        answer = self._ranges[column.name].may(leaf, negated, column in no_nan)
        return self._all(answer) if isinstance(answer, bool) else answer


def _rules_nan_out(predicate: Predicate) -> TypeGuard[Leaf]:
    """Whether NaN in the leaf's column makes the leaf false."""
    match predicate:
        case Comparison(op="=" | "<=>" | "<="):
            return not predicate.value.is_nan
        case Comparison(op="<"):
            return True
        case Comparison(op="<>"):
            return predicate.value.is_nan
        case In():
            return not any(value.is_nan for value in predicate.values)
        case IsNull():
            return True
        case _:
            return False


@dataclass(frozen=True, slots=True)
class _Range:
    """Bounds of a column, ready to be compared: contradictions and NaNs are gone, strings are bytes.

    The answers are boolean arrays without nulls, or one bool where all files are alike.
    """

    low: Any
    high: Any
    has_values: Any
    may_be_null: Any
    may_be_nan: Any

    @classmethod
    def of(cls, bounds: VectorBounds, column: Column, length: int) -> _Range:
        low, high = (_comparable(side, column.type, length) for side in (bounds.min, bounds.max))
        wrong = pc.fill_null(pc.greater(low, high), FALSE_SCALAR)
        if pc.any(wrong).as_py():
            nothing = scalar_of(None, low.type)
            low, high = pc.if_else(wrong, nothing, low), pc.if_else(wrong, nothing, high)
        floating = pa.types.is_floating(column.type)
        return cls(
            low=low,
            high=high,
            has_values=True if bounds.all_null is None else pc.invert(pc.fill_null(bounds.all_null, FALSE_SCALAR)),
            may_be_null=True if bounds.has_nulls is None else pc.fill_null(bounds.has_nulls, TRUE_SCALAR),
            may_be_nan=floating
            if bounds.has_nan is None or not floating
            else pc.fill_null(bounds.has_nan, TRUE_SCALAR),
        )

    def may(self, leaf: Leaf, negated: bool, no_nan: bool) -> Any:
        match leaf:
            case IsNull():
                return self.may_be_null
            case IsNotNull():
                return self.has_values
            case Comparison(op="<=>") if negated:
                differs = _or(self._other_than(leaf.value), _and(not leaf.value.is_nan and not no_nan, self.may_be_nan))
                return _or(self.may_be_null, differs)
            case Comparison():
                answer = self._compare(leaf, False if no_nan else self.may_be_nan)
            case In():
                answer = self._in(leaf, negated, False if no_nan else self.may_be_nan)
            case Like():
                answer = self._like(leaf, negated)
            case _:
                assert_never(leaf)
        return _and(self.has_values, answer)

    def _compare(self, leaf: Comparison, nan: Any) -> Any:
        if leaf.value.is_nan:
            return nan if leaf.op in {"=", "<=>", ">="} else leaf.op != ">"
        value = self._scalar(leaf.value)
        match leaf.op:
            case "=" | "<=>":
                return _and(_perhaps(pc.less_equal(self.low, value)), _perhaps(pc.greater_equal(self.high, value)))
            case "<":
                return _perhaps(pc.less(self.low, value))
            case "<=":
                return _perhaps(pc.less_equal(self.low, value))
            case ">":
                return _or(nan, _perhaps(pc.greater(self.high, value)))
            case ">=":
                return _or(nan, _perhaps(pc.greater_equal(self.high, value)))
            case "<>":
                return _or(nan, self._other_than(leaf.value))
            case _:
                assert_never(leaf.op)

    def _other_than(self, literal: Literal) -> Any:
        """Whether a value other than the literal, and other than NaN, is possible."""
        if literal.is_nan:
            return True
        value = self._scalar(literal)
        return pc.invert(_surely(pc.and_(pc.equal(self.low, value), pc.equal(self.high, value))))

    def _in(self, leaf: In, negated: bool, nan: Any) -> Any:
        literals = [literal for literal in leaf.values if not literal.is_nan]
        nan_listed = len(literals) < len(leaf.values)
        if not negated:
            return _or(nan_listed and nan, self._one_within(literals) if literals else False)
        if leaf.has_null:
            return False
        low, values = self.low, self._array(literals)
        if pa.types.is_floating(low.type):
            low, values = (
                pc.add(low, ZERO_FLOAT_SCALAR),
                pc.add(values, ZERO_FLOAT_SCALAR),
            )  # is_in tells the two zeros apart
        all_listed = pc.and_(pc.equal(self.low, self.high), pc.is_in(low, value_set=values))
        return _or(_and(not nan_listed, nan), pc.invert(_surely(all_listed)))

    def _one_within(self, literals: list[Literal]) -> pa.BooleanArray:
        """Whether one of the literals lies between the bounds: the first that is not below the minimum decides."""
        listed = self._array(literals)
        listed = listed.take(pc.sort_indices(listed))
        values = _numpy(listed)
        low, high = _numpy(pc.fill_null(self.low, listed[0])), _numpy(pc.fill_null(self.high, listed[-1]))
        index = np.searchsorted(values, low, side="left")
        candidates = values[np.minimum(index, len(values) - 1)]
        return array_of_numbers((index < len(values)) & (candidates <= high))

    def _like(self, leaf: Like, negated: bool) -> Any:
        parts = leaf.parts()
        start = parts[0] if parts and isinstance(parts[0], str) else ""
        if all(isinstance(part, str) for part in parts):
            exact = Comparison("<>" if negated else "=", leaf.column, Literal(start, leaf.column.type))
            return self._compare(exact, False)
        begin = start.encode()
        if negated:
            if parts != (start, Wildcard.ANY):
                return True
            return pc.invert(_surely(pc.and_(pc.starts_with(self.low, begin), pc.starts_with(self.high, begin))))
        end = scalar_of(begin + _ABOVE_UTF8, self.low.type)
        begins = scalar_of(begin, self.high.type)
        return _and(_perhaps(pc.less_equal(self.low, end)), _perhaps(pc.greater_equal(self.high, begins)))

    def _scalar(self, literal: Literal) -> Any:
        return scalar_of(_key(literal.value), self.low.type)

    def _array(self, literals: list[Literal]) -> Any:
        return array_of([_key(literal.value) for literal in literals], self.low.type)


def _key(value: Any) -> Any:
    """A literal as `_comparable` has the bounds."""
    if isinstance(value, str):
        return value.encode()
    return int(value) if isinstance(value, bool) else value


def _comparable(side: Any, arrow_type: pa.DataType, length: int) -> Any:
    """Bounds as arrays that Arrow orders as Spark does."""
    target: pa.DataType
    if not is_comparable(arrow_type):
        return pa.nulls(length, pa.int8())
    if is_text(arrow_type):
        target = pa.binary()
    elif pa.types.is_boolean(arrow_type):
        target = pa.uint8()
    elif pa.types.is_floating(arrow_type):
        target = pa.float64()
    else:
        target = arrow_type
    if side is None:
        return pa.nulls(length, target)
    if isinstance(side, pa.ChunkedArray):
        side = side.combine_chunks()
    if side.type != target:
        side = (side.cast(pa.string()) if is_text(side.type) else side).cast(target)
    return pc.if_else(pc.is_nan(side), scalar_of(None, target), side) if pa.types.is_floating(target) else side


def _numpy(array: pa.Array) -> np.ndarray[Any, Any]:
    return numpy_of(array)


def _perhaps(answer: Any) -> Any:
    return pc.fill_null(answer, TRUE_SCALAR)


def _surely(answer: Any) -> Any:
    return pc.fill_null(answer, FALSE_SCALAR)


def _and(a: Any, b: Any) -> Any:
    """Conjunction of arrays and single bools."""
    if isinstance(a, bool):
        return b if a else False
    if isinstance(b, bool):
        return a if b else False
    return pc.and_(a, b)


def _or(a: Any, b: Any) -> Any:
    """Disjunction of arrays and single bools."""
    if isinstance(a, bool):
        return True if a else b
    if isinstance(b, bool):
        return True if b else a
    return pc.or_(a, b)
