"""Requests of this process to stores, as `DESCRIBE INDEXTABLES STORAGE STATS` shows them."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from indextables.storage.retrying import BYTES_FETCHED, REQUESTS
from indextables.table.inspect.this_process import DRIVER, answer, host

STORAGE_STATS: Final = pa.schema(
    [
        ("executor_id", pa.string()),
        ("host", pa.string()),
        ("bytes_fetched", pa.int64()),
        ("requests", pa.int64()),
    ]
)
"""Columns of `describe_storage_stats`."""


def describe_storage_stats() -> pa.Table:
    """Bytes of objects that stores sent since the process began, and the requests for them, failed ones and writes included."""
    return answer(STORAGE_STATS, [(DRIVER, host(), BYTES_FETCHED.total, REQUESTS.total)])


__all__ = ["describe_storage_stats"]
