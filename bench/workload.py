"""The files that every subject describes: the same facts, as rich in each format.

A file has a path, a size, a time, one partition value, a row count, and the bounds of three columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("value", pa.float64()),
        pa.field("level", pa.string()),
        pa.field("date", pa.string()),
    ]
)
PARTITION = "date"
ROWS_PER_FILE = 1_000
_FIRST_MOMENT = 1_767_225_600_000


@dataclass(frozen=True)
class Facts:
    """What is known of the data file with this number."""

    number: int

    @property
    def date(self) -> str:
        return f"2026-{self.number // 28 % 12 + 1:02d}-{self.number % 28 + 1:02d}"

    @property
    def path(self) -> str:
        return f"date={self.date}/part-{self.number:08d}-3f2a9c1e7b5d4c60.split"

    @property
    def size(self) -> int:
        return 10_000_000 + self.number

    @property
    def modified_ms(self) -> int:
        return _FIRST_MOMENT + self.number

    @property
    def low(self) -> tuple[int, float, str]:
        return self.number * ROWS_PER_FILE, self.number % 100 + 0.25, "DEBUG"

    @property
    def high(self) -> tuple[int, float, str]:
        return self.number * ROWS_PER_FILE + ROWS_PER_FILE - 1, self.number % 100 + 99.75, "WARNING"


def facts(first: int, count: int) -> list[Facts]:
    """`count` files, numbered from `first`."""
    return [Facts(number) for number in range(first, first + count)]
