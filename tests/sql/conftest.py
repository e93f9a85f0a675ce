"""Tables that statements are about."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pytest

from indextables import Table

SCHEMA = pa.schema([("day", pa.date32()), ("id", pa.int64()), ("message", pa.string())])


def rows(day: int, count: int = 20) -> pa.Table:
    numbers = list(range(day * 1000, day * 1000 + count))
    messages = [f"disk {number} is full" for number in numbers]
    return pa.table([[dt.date(2026, 1, day)] * count, numbers, messages], schema=SCHEMA)


@pytest.fixture
def logs(tmp_path: Path) -> Table:
    """Two partitions, the first with two splits; four versions."""
    options = {
        "spark.indextables.indexing.typemap.message": "text",
        "spark.indextables.cache.disk.directory": str(tmp_path / "cache"),
    }
    table = Table.create(tmp_path / "logs", SCHEMA, partition_by=["day"], options=options)
    table.append(rows(1))
    table.append(rows(1, 5))
    table.append(rows(2))
    return table
