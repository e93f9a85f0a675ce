"""Parquet: its types are known, and only its texts are looked at, for those that people wrote."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from indextables.cli.errors import InputError
from indextables.cli.load.columns import Columns, Guessed, check_names, misfit_error
from indextables.cli.load.sources import Source, Told
from indextables.cli.load.texts import Misfit, TextGuess, read_texts
from indextables.core.schema_text import Declared

_ROWS: Final = 1 << 15
"""Rows of a batch."""


@dataclass(frozen=True)
class ParquetFiles:
    """Reads Parquet files, a few thousand rows at a time."""

    def look(self, sources: Sequence[Source], declared: Declared | None, told: Told) -> Guessed:
        """Read everything once, and say what it is. Values of declared columns must fit."""
        columns = Columns(pa.schema([]) if declared is None else declared.schema, guessed=True)
        fields: dict[str, pa.Field] = {}
        guesses: dict[str, TextGuess] = {}
        rows = 0
        for source in sources:
            for first, batch in _batches(source, told):
                rows += batch.num_rows
                for field, values in zip(batch.schema, batch.columns, strict=True):
                    asked = columns.find(field.name, source.name)
                    known = fields.setdefault(field.name, asked or field.remove_metadata().with_nullable(True))
                    if asked is not None:
                        _converted(values, asked, source, first)
                    elif not known.type.equals(field.type):
                        raise InputError(
                            f"{source.name}: column {field.name} is {field.type}, and {known.type} in a file before it: say "
                            f"what it is with --schema, or import them apart",
                            file=source.name,
                        )
                    if asked is None and _is_text(field.type):
                        guesses.setdefault(field.name, TextGuess(())).add(values.cast(pa.string()))
        check_names(fields, "the files together" if len(sources) > 1 else sources[0].name)
        text = [name for name, guess in guesses.items() if guess.prose]
        rest = [] if declared is None else [f for f in declared.schema if f.name.lower() not in map(str.lower, fields)]
        return Guessed(pa.schema([*fields.values(), *rest]), (*(declared.text if declared else ()), *text), rows)

    def batches(self, sources: Sequence[Source], schema: pa.Schema, told: Told) -> Iterator[pa.RecordBatch]:
        """The rows; types that are not the table's are left to the table, which says which of them it takes."""
        columns = Columns(schema)
        for source in sources:
            for first, batch in _batches(source, told):
                if not batch.num_rows:
                    continue
                arrays = []
                for name, values in zip(batch.schema.names, batch.columns, strict=True):
                    field = columns.find(name, source.name)
                    assert field is not None
                    arrays.append(_converted(values, field, source, first))
                yield pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)


def _batches(source: Source, told: Told) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Batches, the row that each begins with; an empty one first, so that a file without rows has columns too."""
    import pyarrow.parquet as pq

    row = 1
    with source.seekable() as file:
        try:
            reader = pq.ParquetFile(file)
            yield row, _empty(reader)
            for batch in reader.iter_batches(batch_size=_ROWS):
                yield row, batch
                row += batch.num_rows
                told(source.size * batch.num_rows // reader.metadata.num_rows)
        except (pa.ArrowException, OSError) as error:
            text = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise InputError(
                f"{source.name} is not a Parquet file that can be read ({text})", file=source.name
            ) from error


def _empty(reader: Any) -> pa.RecordBatch:
    schema = reader.schema_arrow
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)


def _is_text(arrow: pa.DataType) -> bool:
    if pa.types.is_dictionary(arrow):
        arrow = arrow.value_type
    return bool(pa.types.is_string(arrow) or pa.types.is_large_string(arrow) or pa.types.is_string_view(arrow))


def _converted(values: pa.Array, field: pa.Field, source: Source, first: int) -> pa.Array:
    """Texts are read as what the column is; all else is the table's to judge."""
    if not _is_text(values.type) or pa.types.is_string(field.type) or pa.types.is_nested(field.type):
        return values
    try:
        return read_texts(values.cast(pa.string()), field.type)
    except Misfit as misfit:
        raise misfit_error(f"{source.name}, row {first + misfit.index}", field, misfit) from None
