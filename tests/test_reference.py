"""The reference pages' examples run."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path
from typing import Any

import pyarrow as pa

from indextables import Table

PAGES = Path(__file__).parent.parent / "docs" / "reference"


def test_the_aggregate_on_its_page() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", (PAGES / "aggregates.md").read_text(), re.DOTALL)
    columns = {
        "ts": pa.array([dt.datetime(2026, 1, 1, hour, 30, tzinfo=dt.UTC) for hour in (1, 1, 2, 2)]),
        "level": ["ERROR", "ERROR", "ERROR", "WARN"],
        "service": ["api", "api", "api", "db"],
        "user": ["a", "b", "a", "c"],
        "ms": [5, 7, 9, 11],
        "message": ["timeout", "a timeout", "timeout, no retry", "timeout"],
    }
    rows = pa.table(columns).cast(
        pa.schema([*pa.table(columns).schema]).set(0, pa.field("ts", pa.timestamp("us", "UTC")))
    )
    logs = Table.create(
        "memory://reference/aggregates", rows.schema, options={"spark.indextables.indexing.typemap.message": "text"}
    )
    logs.append(rows)
    names: dict[str, Any] = {"logs": logs}
    exec(example, names)
    assert names["errors"].to_pylist() == [
        {
            "level": "ERROR",
            "date_histogram(ts, '1 hour')": dt.datetime(2026, 1, 1, 1, tzinfo=dt.UTC),
            "n": 2,
            "slowest": 7,
            "users": 2,
        }
    ]
