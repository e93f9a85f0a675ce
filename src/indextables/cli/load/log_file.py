"""Lines of text, as programs log them: a row a line, with the name of its file and its number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from indextables.cli.errors import InputError
from indextables.cli.load.columns import Columns, Guessed, misfit_error
from indextables.cli.load.json_values import column
from indextables.cli.load.sources import Source, Told
from indextables.cli.load.texts import Misfit
from indextables.core.schema_text import Declared

_CHUNK: Final = 4 << 20
"""Bytes of lines that become one batch."""
MESSAGE: Final = "message"
"""The column that holds the line."""
_LINES: Final = pa.schema([("file", pa.string()), ("line", pa.int64()), (MESSAGE, pa.string())])
"""The columns of a new table: a message is found again in the file that it came from."""


@dataclass(frozen=True)
class LogFiles:
    """Reads files of lines. Blank lines are left out and counted; a line that is not UTF-8 is an error."""

    def look(self, sources: Sequence[Source], declared: Declared | None, told: Told) -> Guessed:
        """Read everything once, and say what it is. What was declared of the three columns must fit."""
        known = {} if declared is None else {field.name.lower(): field for field in declared.schema}
        fields = [known.pop(field.name, field) for field in _LINES]
        rows = 0
        for source in sources:
            for batch in _batches(source, pa.schema(fields), told):
                rows += batch.num_rows
        words = [] if declared is None else list(declared.text)
        if declared is None or MESSAGE not in map(str.lower, declared.schema.names):
            words.append(MESSAGE)
        return Guessed(pa.schema([*fields, *known.values()]), tuple(words), rows)

    def batches(self, sources: Sequence[Source], schema: pa.Schema, told: Told) -> Iterator[pa.RecordBatch]:
        """The rows for a table that has a column `message`; `file` and `line` are filled where the table has them."""
        columns = Columns(schema)
        for source in sources:
            columns.find(MESSAGE, source.name)
            fields = [field for field in schema if field.name.lower() in _LINES.names]
            yield from _batches(source, pa.schema([field.with_nullable(True) for field in fields]), told)


def _batches(source: Source, schema: pa.Schema, told: Told) -> Iterator[pa.RecordBatch]:
    number = 0
    with source.open(told) as stream:
        while lines := stream.readlines(_CHUNK):
            texts, numbers = [], []
            for line in lines:
                number += 1
                try:
                    text = line.rstrip(b"\r\n").decode("utf-8-sig" if number == 1 else "utf-8")
                except UnicodeDecodeError as error:
                    what = "not UTF-8: convert it first (iconv -c -t utf-8)"
                    raise InputError(f"{source.name}, line {number}: {what}", file=source.name) from error
                if text and not text.isspace():
                    texts.append(text)
                    numbers.append(number)
            values: dict[str, Sequence[object]] = {
                "file": [source.name] * len(texts),
                "line": numbers,
                MESSAGE: texts,
            }
            arrays = [_converted(values[field.name.lower()], field, source, numbers) for field in schema]
            if texts:
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _converted(values: Sequence[object], field: pa.Field, source: Source, numbers: Sequence[int]) -> pa.Array:
    try:
        return column(values, field.type)
    except Misfit as misfit:
        raise misfit_error(f"{source.name}, line {numbers[misfit.index]}", field, misfit) from None


__all__ = ["MESSAGE", "LogFiles"]
