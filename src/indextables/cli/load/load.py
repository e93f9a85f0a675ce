"""All files of one import together, whatever their format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import pyarrow as pa

from indextables.cli.errors import InputError, UsageError
from indextables.cli.load.columns import Guessed
from indextables.cli.load.csv_file import CsvFiles
from indextables.cli.load.formats import Format
from indextables.cli.load.json_file import JsonFiles
from indextables.cli.load.log_file import LogFiles
from indextables.cli.load.parquet_file import ParquetFiles
from indextables.cli.load.sources import Source, Told
from indextables.core.errors import SchemaError
from indextables.core.schema_text import Declared


class Reader(Protocol):
    """Reads files of one format."""

    def look(self, sources: Sequence[Source], declared: Declared | None, told: Told) -> Guessed:
        """Read everything once, and say what it is."""

    def batches(self, sources: Sequence[Source], schema: pa.Schema, told: Told) -> Iterator[pa.RecordBatch]:
        """The rows in the types of a table's columns."""


_READERS: Final[dict[Format, Callable[[], Reader]]] = {
    Format.JSON: JsonFiles,
    Format.PARQUET: ParquetFiles,
    Format.LOG: LogFiles,
}
"""What reads files of a format that takes no options."""


def reader_of(kind: Format, delimiter: str | None, nulls: Sequence[str]) -> Reader:
    """What reads files of a format. Only CSV takes options."""
    if kind not in (Format.CSV, Format.TSV):
        if delimiter is not None or nulls:
            raise UsageError(f"--delimiter and --null are for CSV, and the files are {kind}")
        return _READERS[kind]()
    return CsvFiles(delimiter_of(kind, delimiter), tuple(nulls))


def delimiter_of(kind: Format, delimiter: str | None) -> str:
    """The mark between two cells: what was typed, or what the format has. Raises UsageError."""
    mark = delimiter if delimiter is not None else "," if kind is Format.CSV else "\t"
    mark = "\t" if mark in ("\\t", "tab") else mark
    if len(mark) != 1 or not mark.isascii() or mark in '"\r\n':
        raise UsageError(f"--delimiter is {delimiter!r}, but must be one ASCII character, such as ';' or tab")
    return mark


@dataclass
class Load:
    """The files, and how to read them."""

    sources: Sequence[Source]
    reader: Reader
    rows: int = field(default=0, init=False)
    """Rows handed out so far."""

    @property
    def size(self) -> int:
        """Bytes of all files, 0 where nobody knows."""
        return sum(source.size for source in self.sources)

    def look(self, declared: Declared | None, told: Told) -> Guessed:
        """A schema for a new table, from every row."""
        guessed = self.reader.look(self.sources, declared, told)
        names = ", ".join(source.name for source in self.sources[:3])
        if not len(guessed.schema):
            raise InputError(f"{names}: there is nothing to guess a schema from, give one with --schema")
        if not guessed.rows and declared is None:
            raise InputError(f"{names}: there are no rows to guess types from, give them with --schema")
        return guessed

    def batches(self, schema: pa.Schema, told: Told) -> Iterator[pa.RecordBatch]:
        """The rows of all files. What the table does not take is an InputError with the name of the file."""
        for source in self.sources:
            first = self.rows
            for batch in self.reader.batches([source], schema, told):
                try:
                    self.rows += batch.num_rows
                    yield from _checked(batch, schema)
                except SchemaError as error:
                    if isinstance(error, InputError):
                        raise
                    rows = f"rows {self.rows - first - batch.num_rows + 1} to {self.rows - first}"
                    raise InputError(f"{source.name}, {rows}: {error.message}", file=source.name) from error


def _checked(batch: pa.RecordBatch, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The batch as the table takes it, checked here, where it is known which file it is from."""
    from indextables.table.loading import rows_in

    yield from rows_in(batch, schema)
