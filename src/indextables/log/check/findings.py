"""`Finding`: one thing that is wrong with a table, and findings as an Arrow table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

import pyarrow as pa

from indextables.core.arrow_values import array_of

Severity = Literal["error", "warning"]
"""An `error` loses rows, doubles rows, or stops readers or writers of the newest version. Everything else is a `warning`."""

FINDINGS_SCHEMA: Final = pa.schema(
    [pa.field(name, pa.string(), nullable=False) for name in ("severity", "kind", "path", "message")]
)
"""The columns of the answer of a check."""

REPAIR: Final = "Table.repair writes a new log from what can be read, or put the object back from a backup"
"""The way out of damage that cannot be repaired in place."""


@dataclass(frozen=True, order=True)
class Finding:
    """A fault that a check found in a table: how bad it is, which object has it, and what to do."""

    severity: Severity
    kind: str
    """What is wrong, in one word that programs can compare, such as `split_missing`."""
    path: str
    """The object that the finding is about, relative to the table."""
    message: str
    """What is wrong and what to do, in a sentence."""


def error(kind: str, path: str, message: str) -> Finding:
    """A finding that loses rows, doubles rows, or stops readers or writers."""
    return Finding("error", kind, path, message)


def warning(kind: str, path: str, message: str) -> Finding:
    """A finding that no reader or writer of the newest version suffers from."""
    return Finding("warning", kind, path, message)


def findings_table(findings: Iterable[Finding]) -> pa.Table:
    """The findings as rows: errors first, then by path."""
    rows = sorted(set(findings), key=lambda found: (found.severity, found.path, found.kind, found.message))
    columns = [[getattr(found, name) for found in rows] for name in FINDINGS_SCHEMA.names]
    return pa.table([array_of(column, pa.string()) for column in columns], schema=FINDINGS_SCHEMA)
