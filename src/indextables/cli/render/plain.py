"""Answers for programs: JSON lines, and tab-separated lines as PostgreSQL's COPY has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec
import pyarrow as pa

from indextables.cli.render.values import json_values

NULL: Final = "\\N"
_ESCAPES: Final = str.maketrans(
    {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\b": "\\b", "\f": "\\f", "\v": "\\v"}
)
_ROWS: Final = 4096
"""Rows that are written at once."""


def json_lines(batch: pa.RecordBatch) -> Iterator[str]:
    """Rows as objects, some at a time."""
    encode = msgspec.json.encode
    for rows in _rows(batch):
        yield "".join(f"{encode(dict(zip(batch.schema.names, row, strict=True))).decode()}\n" for row in rows)


def tsv_lines(batch: pa.RecordBatch) -> Iterator[str]:
    """Rows as lines, some at a time."""
    for rows in _rows(batch):
        yield "".join(tsv_line(row) for row in rows)


def _rows(batch: pa.RecordBatch) -> Iterator[list[tuple[Any, ...]]]:
    for start in range(0, batch.num_rows, _ROWS):
        part = batch.slice(start, _ROWS)
        yield list(zip(*(json_values(column) for column in part.columns), strict=True)) or [()] * part.num_rows


def tsv_line(values: Any) -> str:
    """Cells with tabs between them; what would break a line is escaped with a backslash."""
    return "\t".join(NULL if value is None else plain_text(value).translate(_ESCAPES) for value in values) + "\n"


def plain_text(value: Any) -> str:
    """A text as it is, everything else as JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
