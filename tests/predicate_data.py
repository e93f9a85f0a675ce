"""Rows and predicates of every type for property tests, and a row-by-row model of what a predicate means.

A row holds plain Python values; dates and timestamps are integers (days, microseconds since 1970), so that it can hold
all that Arrow can, years beyond 9999 included.
"""

from __future__ import annotations

import datetime as dt
import math
import re
import struct
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from indextables.core.predicate import (
    FALSE,
    NULL,
    TRUE,
    And,
    Column,
    Comparison,
    Constant,
    In,
    IsNotNull,
    IsNull,
    Like,
    Not,
    Or,
    Predicate,
    Wildcard,
    compare,
    like,
    member,
)
from indextables.core.values import EXACT

SCHEMA = pa.schema(
    [
        ("tiny", pa.int8()),
        ("id", pa.int64()),
        ("ratio", pa.float32()),
        ("score", pa.float64()),
        ("flag", pa.bool_()),
        ("text", pa.string()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("local", pa.timestamp("us")),
        ("price", pa.decimal128(5, 2)),
        ("big", pa.decimal128(38, 10)),
        ("raw", pa.binary()),
    ]
)
OPS = ("=", "<>", "<", "<=", ">", ">=", "<=>")
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - UTC, and faster without a zone


def _single(value: float) -> float:
    return struct.unpack("f", struct.pack("f", value))[0]


_LETTERS = ["a", "b", "?", "%", "_", "\\", "'", "\n", "é", "中", "\ud7ff", "\ue000", "\uffff", "😀", "😁", "\U0010ffff"]
_TEXTS = st.lists(st.sampled_from(_LETTERS), max_size=6).map("".join) | st.sampled_from(
    ["", "a" * 40, "a" * 31 + "😀", "a" * 32 + "b", "b" * 40, "\U0010ffff" * 40]
)
_DOUBLES = st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.1, 1.5, math.inf, -math.inf, math.nan, 1e300, 5e-324]) | st.floats()
_MICROS = (
    st.integers(-(2**63), 2**63 - 1)
    | st.integers(-2_000_000, 2_000_000)
    | st.sampled_from([0, 1, 999_999, 1_000_000, -62135596800000000, 253402300799999999])
)
_DECIMALS = {
    "price": st.integers(-99999, 99999).map(lambda n: Decimal(n).scaleb(-2, EXACT)),
    "big": st.integers(-(10**38) + 1, 10**38 - 1).map(lambda n: Decimal(n).scaleb(-10, EXACT))
    | st.integers(-300, 300).map(lambda n: Decimal(n).scaleb(-10, EXACT)),
}
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "tiny": st.integers(-128, 127) | st.integers(-3, 3),
    "id": st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3),
    "ratio": _DOUBLES.filter(lambda v: not abs(v) > 3e38 or math.isinf(v)).map(_single),
    "score": _DOUBLES,
    "flag": st.booleans(),
    "text": _TEXTS,
    "day": st.integers(-(2**31), 2**31 - 1) | st.integers(-3, 3),
    "at": _MICROS,
    "local": _MICROS,
    **_DECIMALS,
    "raw": st.binary(max_size=3),
}
_DATES = st.dates() | st.integers(-3, 3).map(lambda n: dt.date(1970, 1, 1) + dt.timedelta(days=n))
_DATETIMES = st.datetimes() | st.integers(-2_000_000, 2_000_000).map(lambda n: _EPOCH + dt.timedelta(microseconds=n))
_NUMBERS = (
    st.integers(-3, 3)
    | st.integers(-(2**70), 2**70)
    | st.sampled_from([Decimal("1.5"), Decimal("-0.5"), Decimal("1e30"), Decimal("127.5"), Decimal("-1e-12")])
    | st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-1000, max_value=1000)
)
LITERALS: dict[str, st.SearchStrategy[Any]] = {
    "tiny": _NUMBERS | VALUES["tiny"],
    "id": _NUMBERS | VALUES["id"],
    "ratio": _NUMBERS | _DOUBLES,
    "score": _NUMBERS | _DOUBLES,
    "flag": st.booleans(),
    "text": _TEXTS,
    "day": _DATES | _DATETIMES,
    "at": _DATETIMES.map(lambda v: v.replace(tzinfo=dt.UTC)) | _DATES,
    "local": _DATETIMES | _DATES,
    "price": _NUMBERS | VALUES["price"],
    "big": _NUMBERS | VALUES["big"],
    "raw": st.binary(max_size=3),
}


POOLS: dict[str, list[Any]] = {
    "tiny": [-128, -1, 0, 1, 2, 127],
    "id": [-(2**63), -1, 0, 1, 2, 2**53, 2**53 + 1, 2**63 - 1],
    "ratio": [_single(v) for v in (-1.0, -0.0, 0.0, 0.1, 1.0, math.inf, -math.inf, math.nan)],
    "score": [-1.0, -0.0, 0.0, 0.1, 1.0, math.inf, -math.inf, math.nan],
    "flag": [False, True],
    "text": [
        "",
        "?",
        "a",
        "ab",
        "abc",
        "ab?",
        "ab😀",
        "ab😀c",
        "ac",
        "b",
        "\uffff",
        "\ue000a",
        "😀",
        "中",
        "a" * 33,
        "\U0010ffff",
    ],
    "day": [-(2**31), -1, 0, 1, 19_000, 2**31 - 1],
    "at": [-(2**63), -1, 0, 1, 1_000, 1_001, 999_999, 1_000_000, 1_700_000_000_500_000, 2**63 - 1],
    "local": [-(2**63), -1, 0, 1, 1_000, 1_001, 999_999, 1_000_000, 1_700_000_000_500_000, 2**63 - 1],
    "price": [Decimal(v) for v in ("-999.99", "-0.01", "0.00", "1.00", "1.01", "999.99")],
    "big": [Decimal(v) for v in ("-1.0000000000", "0.0000000000", "0.0000000001", "9" * 21 + ".0000000000")]
    + [Decimal("9" * 28 + ".9999999999"), Decimal("1" + "0" * 27 + ".0000000001")],
}
"""A few values per column that lie close together or at an end, to be combined exhaustively."""


def column(name: str) -> Column:
    return Column((name,), SCHEMA.field(name).type)


def rows(names: list[str] | None = None, **size: int) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Lists of rows; about one value in five is null."""
    fields = {name: st.none() | VALUES[name] | VALUES[name] for name in names or SCHEMA.names}
    return st.lists(st.fixed_dictionaries(fields), **size)


def to_table(data: list[dict[str, Any]], names: list[str] | None = None) -> pa.Table:
    columns = {}
    for name in names or SCHEMA.names:
        arrow_type = SCHEMA.field(name).type
        plain = {"day": pa.int32(), "at": pa.int64(), "local": pa.int64()}.get(name, arrow_type)
        columns[name] = pa.array([row[name] for row in data], plain).cast(arrow_type)
    return pa.table(columns, SCHEMA if names is None else pa.schema([SCHEMA.field(name) for name in names]))


_PATTERNS = st.lists(st.sampled_from(["a", "b", "%", "_", "\\\\", "\\%", "\\_", "é", "😀", ".", "*"]), max_size=5).map(
    "".join
)


def seen_literals(data: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """The values of the rows as literals, where they can be, so that predicates hit them."""
    seen: dict[str, list[Any]] = {}
    for row in data:
        for name, value in row.items():
            if value is None:
                continue
            try:
                if name == "day":
                    value = dt.date(1970, 1, 1) + dt.timedelta(days=value)
                elif name in {"at", "local"}:
                    value = _EPOCH + dt.timedelta(microseconds=value)
            except OverflowError:
                continue
            seen.setdefault(name, []).append(value)
    return seen


@st.composite
def leaves(draw: st.DrawFn, names: list[str], seen: dict[str, list[Any]]) -> Predicate:
    name = draw(st.sampled_from(names))
    target = column(name)
    literals = st.sampled_from(seen[name]) | LITERALS[name] if name in seen else LITERALS[name]
    kind = draw(st.sampled_from(["compare"] * 5 + ["in"] * 2 + ["null", "not null", "like", "prefix"]))
    if kind == "in":
        return member(target, draw(st.lists(st.none() | literals | literals, min_size=1, max_size=4)))
    if kind == "null":
        return IsNull(target)
    if kind == "not null":
        return IsNotNull(target)
    if kind in {"like", "prefix"} and name == "text":
        return like(target, draw(_PATTERNS) if kind == "like" else draw(st.sampled_from(["a", "b", "é", "😀"])) + "%")
    return compare(target, draw(st.sampled_from(OPS)), draw(literals))


def predicates(
    names: list[str] | None = None, data: list[dict[str, Any]] | None = None
) -> st.SearchStrategy[Predicate]:
    """Predicates over some columns. With `data`, half of their literals are values of these rows."""
    leaf = leaves(names or SCHEMA.names, seen_literals(data or []))
    base = leaf | st.sampled_from([TRUE, FALSE, NULL])

    def extend(children: st.SearchStrategy[Predicate]) -> st.SearchStrategy[Predicate]:
        several = st.lists(children, min_size=2, max_size=3).map(tuple)
        return children.map(Not) | several.map(And) | several.map(Or)

    return leaf | st.recursive(base, extend, max_leaves=6)


def meaning(predicate: Predicate, row: dict[str, Any]) -> bool | None:
    """What the predicate is for one row: the plainest reading of Spark's rules."""
    match predicate:
        case Constant():
            return predicate.value
        case Not():
            inner = meaning(predicate.child, row)
            return None if inner is None else not inner
        case And() | Or():
            decisive = isinstance(predicate, Or)
            parts = [meaning(child, row) for child in predicate.children]
            return decisive if decisive in parts else None if None in parts else not decisive
        case IsNull():
            return row[predicate.column.name] is None
        case IsNotNull():
            return row[predicate.column.name] is not None
        case Comparison():
            value = row[predicate.column.name]
            if value is None:
                return False if predicate.op == "<=>" else None
            return holds(value, predicate.op, predicate.value.value)
        case In():
            value = row[predicate.column.name]
            if value is None:
                return None
            if any(holds(value, "=", literal.value) for literal in predicate.values):
                return True
            return None if predicate.has_null else False
        case Like():
            value = row[predicate.column.name]
            if value is None:
                return None
            pattern = "".join(
                (".*" if part is Wildcard.ANY else ".") if isinstance(part, Wildcard) else re.escape(part)
                for part in predicate.parts()
            )
            return re.fullmatch(pattern, value, re.DOTALL) is not None
    raise AssertionError(predicate)


def holds(value: Any, op: str, literal: Any) -> bool:
    left, right = _ordered(value), _ordered(literal)
    match op:
        case "=" | "<=>":
            return left == right
        case "<>":
            return left != right
        case "<":
            return left < right
        case "<=":
            return left <= right
        case ">":
            return left > right
        case ">=":
            return left >= right
    raise AssertionError(op)


def _ordered(value: Any) -> Any:
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    if isinstance(value, dt.datetime):
        return (value.replace(tzinfo=None) - _EPOCH) // dt.timedelta(microseconds=1)
    if isinstance(value, dt.date):
        return (value - dt.date(1970, 1, 1)).days
    return value.encode() if isinstance(value, str) else value
