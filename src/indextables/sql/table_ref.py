"""How a statement names a table: by a path, or by a name that the caller's resolver knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class TablePath:
    """A table by its directory or URL: `'s3://bucket/logs'`."""

    url: str

    def __str__(self) -> str:
        return f"'{self.url}'"


@dataclass(frozen=True)
class TableName:
    """A table by a name, such as `logs` or `catalog.schema.logs`."""

    parts: tuple[str, ...]

    def __str__(self) -> str:
        return ".".join(self.parts)


TableRef: TypeAlias = TablePath | TableName
