"""Keys, buckets and metrics as values: frozen, hashable, picklable, so that tasks elsewhere can be given them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import pyarrow as pa

from indextables.core.predicate import Column, Predicate

Function: TypeAlias = Literal["count", "distinct", "sum", "avg", "min", "max"]


@dataclass(frozen=True, slots=True)
class Steps:
    """Buckets of equal width over whole numbers; dates are days, timestamps microseconds. A bucket is its first number."""

    width: int
    origin: int = 0


@dataclass(frozen=True, slots=True)
class FloatSteps:
    """Buckets of equal width over doubles, from 0. NaN and the infinities are buckets of their own."""

    width: float


@dataclass(frozen=True, slots=True)
class Calendar:
    """Buckets that are not equally long. A bucket is its first moment, in UTC."""

    unit: Literal["month", "quarter", "year"]


@dataclass(frozen=True, slots=True)
class Ranges:
    """Buckets between edges: below the first, from each edge to the next, and from the last one on."""

    edges: tuple[Predicate, ...]
    """`column >= edge`, ascending."""
    labels: tuple[str, ...]


Bucket: TypeAlias = Steps | FloatSteps | Calendar | Ranges


@dataclass(frozen=True, slots=True)
class Key:
    """Rows with the same value, or in the same bucket, are a group. Null is a group, and so is NaN; -0.0 is 0.0."""

    name: str
    column: Column
    type: pa.DataType
    bucket: Bucket | None = None


@dataclass(frozen=True, slots=True)
class Metric:
    """A number about each group. A metric without a column counts rows; nulls of a column do not take part."""

    name: str
    function: Function
    type: pa.DataType
    column: Column | None = None


@dataclass(frozen=True, slots=True)
class Aggregate:
    """The groups, and what is wanted of each."""

    keys: tuple[Key, ...]
    metrics: tuple[Metric, ...]

    @property
    def schema(self) -> pa.Schema:
        """What comes out."""
        parts: list[Key | Metric] = [*self.keys, *self.metrics]
        return pa.schema([pa.field(part.name, part.type) for part in parts])

    @property
    def columns(self) -> list[str]:
        """The top-level columns that have to be read."""
        used = [key.column for key in self.keys] + [
            metric.column for metric in self.metrics if metric.column is not None
        ]
        return list(dict.fromkeys(column.name for column in used))
