"""Tables of files with statistics, for tests of pruning."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

MAP = pa.map_(pa.string(), pa.string())
FILES = pa.schema(
    [
        ("path", pa.string()),
        ("partitionValues", MAP),
        ("minValues", MAP),
        ("maxValues", MAP),
        ("stats", pa.string()),
        ("numRecords", pa.int64()),
    ]
)


def files_table(entries: list[dict[str, Any]]) -> pa.Table:
    """A snapshot's files. Maps are given as dicts."""
    columns = {
        name: [list(v.items()) if isinstance(v := entry.get(name), dict) else v for entry in entries]
        for name in FILES.names
    }
    return pa.table(columns, FILES)
