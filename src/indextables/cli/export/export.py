"""One export: rows of a table at a version, written to a file or to the files of a directory, all or none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from indextables.cli.answers import Facts
from indextables.cli.errors import UsageError
from indextables.cli.export.csv_rows import CsvRows
from indextables.cli.export.place import Place, find_place
from indextables.cli.export.writers import writing
from indextables.cli.load.formats import Format
from indextables.cli.targets import Target
from indextables.core.schema_text import schema_text

if TYPE_CHECKING:
    from indextables.cli.render.progress import Stage
    from indextables.table import Table

ROWS_PER_FILE: Final = 1_000_000
"""Rows of each file of a directory, unless the caller says how many: some hundred megabytes of logs."""
_SLICE: Final = 16_384
"""Rows that are written at once: between two of them Ctrl-C is noticed."""


@dataclass(frozen=True)
class Export:
    """Which rows to export, and how."""

    file: str
    format: Format | None = None
    columns: list[str] | None = None
    where: str | None = None
    query: str | None = None
    limit: int | None = None
    replace: bool = False
    delimiter: str | None = None
    null: str = ""
    rows_per_file: int = ROWS_PER_FILE


def export(target: Target, wanted: Export, stage: Stage) -> Facts:
    """Write the rows of a table to files. The answer has the schema as `--schema` of `import` takes it."""
    place = find_place(wanted.file, wanted.format, replace=wanted.replace)
    csv_rows = _csv_rows(place, wanted)
    table = target.open()
    reader = table.scan(wanted.columns, where=wanted.where, query=wanted.query, limit=wanted.limit)
    schema = pa.schema([field.remove_metadata() for field in reader.schema])
    batches = (batch.replace_schema_metadata(None).cast(schema) for batch in reader)
    with stage.counted("exporting", _total(table, wanted)) as told, place.filled() as path:
        files, rows = _written(place, path, schema, _slices(batches, told), csv_rows, wanted.rows_per_file)
        size = sum(file.stat().st_size for file in files)
    values = {
        "url": table.url,
        "version": table.version,
        "file": str(place.path),
        "format": place.format.value,
        "files": len(files),
        "rows": rows,
        "bytes": size,
        "schema": schema_text(reader.schema, _text_columns(table)),
    }
    counted = f"{rows:,} row{'' if rows == 1 else 's'}"
    return Facts(
        values, {}, f"{counted} of {table.url}, version {table.version}, exported to {place.path}, {size:,} bytes"
    )


def _csv_rows(place: Place, wanted: Export) -> CsvRows:
    if place.format not in (Format.CSV, Format.TSV):
        if wanted.delimiter is not None or wanted.null:
            raise UsageError(f"--delimiter and --null are for CSV, and the file is {place.format}")
        return CsvRows()
    from indextables.cli.load.load import delimiter_of

    if set(wanted.null) & set('"\r\n'):
        raise UsageError(f"--null is {wanted.null!r}, but must have no quotes and no line breaks")
    return CsvRows(delimiter_of(place.format, wanted.delimiter), wanted.null)


def _written(
    place: Place,
    path: Path,
    schema: pa.Schema,
    batches: Iterator[pa.RecordBatch],
    csv_rows: CsvRows,
    rows_per_file: int,
) -> tuple[list[Path], int]:
    """The files that were written, and how many rows are in them."""
    files: list[Path] = []
    rows = 0
    held: pa.RecordBatch | None = next(batches, None)
    while held is not None or not files:
        files.append(path / place.part_name(len(files)) if place.is_directory else path)
        room = rows_per_file if place.is_directory else None
        with writing(files[-1], schema, place.format, place.packing, csv_rows) as writer:
            while held is not None and room != 0:
                part = held if room is None else held.slice(0, room)
                writer.write(part)
                rows += part.num_rows
                room = None if room is None else room - part.num_rows
                held = held.slice(part.num_rows) if part.num_rows < held.num_rows else next(batches, None)
    return files, rows


def _slices(batches: Iterable[pa.RecordBatch], told: Callable[[int], None]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for start in range(0, batch.num_rows, _SLICE):
            part = batch.slice(start, _SLICE)
            yield part
            told(part.num_rows)


def _total(table: Table, wanted: Export) -> int | None:
    """How many rows there will be, where the log knows it."""
    if wanted.where is not None or wanted.query is not None:
        return None
    rows = table.count()
    return rows if wanted.limit is None else min(rows, wanted.limit)


def _text_columns(table: Table) -> set[str]:
    from indextables.table.loading import columns_of

    return {column.name for column in columns_of(table) if column.index == "words"}
