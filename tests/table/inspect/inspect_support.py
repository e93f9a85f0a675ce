"""Small tables with text, partitions and several splits, and a cache of the test's own."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa

from indextables import Table

SCHEMA = pa.schema([("day", pa.string()), ("id", pa.int64()), ("message", pa.string())])
OPTIONS = {"indexing.typemap.message": "text", "checkpoint.enabled": False}


def rows(first: int, count: int, day: str) -> pa.Table:
    numbers = range(first, first + count)
    messages = [f"disk {number} is full of word{number % 7}" for number in numbers]
    return pa.table({"day": [day] * count, "id": list(numbers), "message": messages}, schema=SCHEMA)


def a_table(place: Path | str | None = None, splits: int = 4, rows_each: int = 50, **options: Any) -> Table:
    """A table with one split an append, in two partitions by turns; in memory if no place is given."""
    url = f"memory://{uuid.uuid4().hex}/t" if place is None else str(place)
    table = Table.create(url, SCHEMA, partition_by=["day"], options=OPTIONS | options)
    for number in range(splits):
        table.append(rows(number * rows_each, rows_each, f"d{number % 2}"))
    return table


def only(answer: pa.Table) -> dict[str, Any]:
    """The one row of an answer."""
    (row,) = answer.to_pylist()
    found: dict[str, Any] = row
    return found


def figures(answer: pa.Table) -> dict[str, Any]:
    """An answer of two columns as a dict."""
    first, second = answer.columns
    return dict(zip(first.to_pylist(), second.to_pylist(), strict=True))
