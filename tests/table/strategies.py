"""Tables of every type for property tests, what may be done to them, and a plain Arrow table beside each that says what
must come out.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import strategies as st

import predicate_data as data
from indextables.core.predicate import TRUE, And, Column, Not, Or, Predicate, compare, evaluate, like, to_sql
from split.bundle_support import exact

_NESTED: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "tags": (pa.list_(pa.field("element", pa.string())), st.lists(st.none() | st.text(max_size=3), max_size=3)),
    "pairs": (
        pa.map_(pa.string(), pa.int64()),
        st.dictionaries(st.text(max_size=2), st.none() | st.integers(-5, 5), max_size=2).map(lambda d: list(d.items())),
    ),
    "inner": (
        pa.struct([("x", pa.int64()), ("y", pa.string()), ("z", pa.list_(pa.field("element", pa.float64())))]),
        st.fixed_dictionaries(
            {
                "x": st.none() | st.integers(-(2**63), 2**63 - 1),
                "y": st.none() | st.text(max_size=3),
                "z": st.none() | st.lists(st.floats(), max_size=2),
            }
        ),
    ),
}
LONG = ["", "x", "x" * 65_529, "x" * 65_530, "x" * 65_531, "x" * 70_000, "é" * 32_766, "中" * 30_000]
"""Around the longest term that an index holds: 65,530 bytes."""

_MORE: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "short": (pa.int16(), st.integers(-(2**15), 2**15 - 1) | st.integers(-2, 2)),
    "whole": (pa.int32(), st.integers(-(2**31), 2**31 - 1) | st.integers(-2, 2)),
    "long": (pa.string(), st.sampled_from(LONG)),
    **_NESTED,
}
SCHEMA = pa.schema([*data.SCHEMA, *((name, kind) for name, (kind, _) in _MORE.items())])

_FEW: dict[str, list[Any]] = {
    "tiny": [-128, 0, 7],
    "score": [-0.0, 0.0, math.nan, math.inf, 0.1],
    "flag": [True, False],
    "text": ["", "a/b", "a", "é=%"],
    "day": [-1, 19_000, 2_932_896],
    "at": [-1, 0, 253402300799999999],
    "price": [Decimal("0.00"), Decimal("-0.01"), Decimal("999.99")],
}
"""Values of partition columns: few, so that rows meet in a partition."""

PARTITIONS: list[tuple[str, ...]] = [(), (), ("day",), ("text", "flag"), ("tiny",), ("score",), ("at", "price")]


@st.composite
def tables(draw: st.DrawFn, partition_by: tuple[str, ...], **size: int) -> tuple[pa.Table, list[dict[str, Any]]]:
    """A table of a few rows, and the same as plain values."""
    fields: dict[str, st.SearchStrategy[Any]] = {name: data.VALUES[name] for name in data.SCHEMA.names}
    fields |= {name: values for name, (_, values) in _MORE.items()}
    fields |= {name: st.sampled_from(_FEW[name]) for name in partition_by}
    rows = draw(st.lists(st.fixed_dictionaries({n: st.none() | v | v for n, v in fields.items()}), **size))
    table = data.to_table(rows)
    for name, (kind, _) in _MORE.items():
        table = table.append_column(SCHEMA.field(name), pa.array([row[name] for row in rows], kind))
    return table.cast(SCHEMA), rows


def more_leaves() -> st.SearchStrategy[Predicate]:
    """About the columns that `predicate_data` does not know."""
    long = Column(("long",), pa.string())
    numbers = st.sampled_from([Column(("short",), pa.int16()), Column(("whole",), pa.int32())])
    ops = st.sampled_from(data.OPS)
    return (
        st.builds(compare, st.just(long), ops, st.sampled_from(LONG))
        | st.sampled_from(["x%", "%x", "é%", "", "x" * 65_530 + "%"]).map(lambda pattern: like(long, pattern))
        | st.builds(compare, numbers, ops, st.integers(-2, 2) | st.sampled_from([2**15, -(2**31), 2**40]))
    )


def predicates(rows: list[dict[str, Any]]) -> st.SearchStrategy[Predicate]:
    known = data.predicates(data.SCHEMA.names, [{name: row[name] for name in data.SCHEMA.names} for row in rows])
    leaf = more_leaves()
    pairs = st.tuples(known, leaf)
    return known | known | leaf | leaf.map(Not) | pairs.map(And) | pairs.map(Or)


def partition_predicates(partition_by: tuple[str, ...], rows: list[dict[str, Any]]) -> st.SearchStrategy[Predicate]:
    if not partition_by:
        return st.just(TRUE)
    return data.predicates(list(partition_by), [{name: row[name] for name in partition_by} for row in rows])


@dataclass(frozen=True)
class Step:
    """Something that is done to a table."""

    verb: str
    data: pa.Table | None = None
    where: Predicate | None = None
    limits: tuple[Any, ...] = ()

    def __repr__(self) -> str:
        where = None if self.where is None else to_sql(self.where)
        return (
            f"Step({self.verb!r}, {None if self.data is None else self.data.num_rows} rows, {where!r}, {self.limits})"
        )


def brute_force(table: pa.Table, predicate: Predicate) -> pa.Table:
    return table.filter(pc.fill_null(evaluate(predicate, table), False))


def without(table: pa.Table, predicate: Predicate) -> pa.Table:
    return table.filter(pc.invert(pc.fill_null(evaluate(predicate, table), False)))


def applied(model: pa.Table, step: Step) -> pa.Table:
    """What the rows are after a step."""
    if step.verb == "append":
        return pa.concat_tables([model, step.data])
    if step.verb == "overwrite":
        kept = model.slice(0, 0) if step.where is None else without(model, step.where)
        return pa.concat_tables([kept, step.data])
    return model


@st.composite
def steps(draw: st.DrawFn, partition_by: tuple[str, ...], seen: list[dict[str, Any]]) -> Step:
    """The next step; the rows that it brings are added to `seen`, so that predicates can ask for them."""
    verb = draw(st.sampled_from(["append", "append", "append", "overwrite", "replace", "merge", "merge", "checkpoint"]))
    if verb == "merge":
        where = draw(st.none() | partition_predicates(partition_by, seen))
        limits = draw(st.sampled_from([(None, None, 1000), ("64kb", 1, 2), (40_000, 2, 3), (None, None, 2)]))
        return Step("merge", where=where, limits=limits)
    if verb == "checkpoint":
        return Step("checkpoint")
    table, rows = draw(tables(partition_by, max_size=5))
    seen += rows
    if verb == "replace":
        where = draw(partition_predicates(partition_by, seen))
        return Step("overwrite", brute_force(table, where), where)
    return Step(verb, table)


def bits(table: pa.Table) -> list[str]:
    """Each row as a text that is the same for the same bits."""
    if not table.num_columns:
        return [""] * table.num_rows
    return list(map(repr, zip(*(exact(column) for column in table.columns), strict=True)))


def same_rows(found: pa.Table, expected: pa.Table) -> bool:
    """In any order, but bit by bit."""
    return found.schema.equals(expected.schema, check_metadata=True) and Counter(bits(found)) == Counter(bits(expected))
