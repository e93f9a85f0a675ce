"""Which process answers: its name among the processes of an engine, its machine, and answers as tables."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa

from indextables.core.arrow_values import array_of

DRIVER: Final = "driver"
"""The name of a process that no engine gave a name: the one that the caller's own program runs in."""


def host() -> str:
    """The name of this machine."""
    return socket.gethostname()


def answer(schema: pa.Schema, rows: Sequence[Sequence[Any]]) -> pa.Table:
    """A table of these rows, whose values come in the order of the schema."""
    columns = [array_of([row[place] for row in rows], field.type) for place, field in enumerate(schema)]
    return pa.table(columns, schema=schema)


def percent(part: float, whole: float) -> float:
    """How many hundredths of the whole a part is; 0 where there is no whole."""
    return 100.0 * part / whole if whole else 0.0


def hit_rate(hits: int, misses: int) -> float | None:
    """The share of questions that a cache could answer, from 0 to 1; None where nobody asked."""
    return hits / (hits + misses) if hits + misses else None
