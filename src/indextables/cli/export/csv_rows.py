"""Rows as lines of CSV that `import` reads back: null is an empty cell, an empty text is `""`, and what is nested is JSON.

A column becomes texts as a whole, and lines are joined by Arrow: no row is handled by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from indextables.cli.errors import UsageError
from indextables.cli.render.values import json_values

_kinds = pa.types


@dataclass(frozen=True)
class CsvRows:
    """How cells are separated, and how a missing value is written."""

    delimiter: str = ","
    null: str = ""
    """The text of a null. A value that is the same text stands in quotes."""

    def header(self, schema: pa.Schema) -> bytes:
        """The names of the columns, as the first line."""
        names = pa.array(schema.names, pa.string())
        return (self.delimiter.join(self._quoted(names).to_pylist()) + "\n").encode()

    def lines(self, batch: pa.RecordBatch) -> bytes:
        """Rows, a line each. Raises UsageError for a null that would be a blank line."""
        if batch.num_columns == 1 and not self.null and batch.column(0).null_count:
            name = batch.schema.names[0]
            raise UsageError(
                f"column {name} has nulls, which are blank lines where it is the only column, and blank lines are no rows: "
                "give --null NA (and to import too), or export more columns, or another format"
            )
        cells = [self._cells(column) for column in batch.columns]
        lines = pc.binary_join_element_wise(*cells, self.delimiter) if len(cells) > 1 else cells[0]
        return "".join(f"{line}\n" for line in lines.to_pylist()).encode()

    def _cells(self, column: pa.Array) -> pa.Array:
        arrow = column.type
        if _kinds.is_string(arrow):
            texts = self._quoted(column)
        elif _kinds.is_integer(arrow) or _kinds.is_boolean(arrow):
            texts = column.cast(pa.string())
        else:
            texts = self._quoted(pa.array([_text(value) for value in json_values(column)], pa.string()))
        return texts.fill_null(self.null)

    def _quoted(self, texts: pa.Array) -> pa.Array:
        """Texts in quotes, where they would be taken for something else without."""
        special = "[" + "".join(f"\\x{ord(mark):02x}" for mark in f'"\r\n{self.delimiter}') + "]"
        needed = pc.or_(pc.match_substring_regex(texts, special), pc.equal(texts, self.null))
        needed = pc.or_(needed, pc.match_substring_regex(texts, r"^\s*$"))
        inside = pc.replace_substring(texts, '"', '""')
        return pc.if_else(needed, pc.binary_join_element_wise('"', inside, '"', ""), texts)


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else msgspec.json.encode(value).decode()
