"""JSON lines: one object a line. Fields that a line lacks are null; a field that nobody expected is an error."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import msgspec
import pyarrow as pa

from indextables.cli.errors import InputError
from indextables.cli.load.columns import Columns, Guessed, check_names, misfit_error, together
from indextables.cli.load.json_guess import WORDS, JsonGuess, Mixed
from indextables.cli.load.json_values import column
from indextables.cli.load.sources import Source, Told
from indextables.cli.load.texts import Misfit
from indextables.cli.render.screen import sentence
from indextables.cli.schema_text import Declared

_CHUNK: Final = 4 << 20
"""Bytes of lines that become one batch."""
_KINDS: Final = {**WORDS, Decimal: "a number", type(None): "null"}

Line = tuple[int, dict[str, Any]]


@dataclass(frozen=True)
class JsonFiles:
    """Reads files with an object a line."""

    def look(self, sources: Sequence[Source], declared: Declared | None, told: Told) -> Guessed:
        """Read everything once, and say what it is. Values of declared columns must fit."""
        schema = pa.schema([]) if declared is None else declared.schema
        columns = Columns(schema, guessed=True)
        guesses: dict[str, JsonGuess] = {}
        rows = 0
        for source in sources:
            for numbers, objects in _chunks(source, told, exact=_keeps_digits(schema)):
                rows += len(objects)
                for name in _names(objects):
                    guess = guesses.setdefault(name, JsonGuess(name))
                    values = [row.get(name) for row in objects]
                    field = columns.find(name, source.name)
                    if field is None:
                        guess.add(values, numbers)
                    else:
                        _converted(values, field, source, numbers)
        check_names(guesses, "the files together" if len(sources) > 1 else sources[0].name)
        try:
            return together(declared, dict(guesses), rows)
        except Mixed as mixed:
            (first, here), (second, there) = mixed.first, mixed.second
            top = mixed.path.split(".")[0]
            name = sources[0].name if len(sources) == 1 else "the files"
            raise InputError(
                f"{name}: {mixed.path} is {first} in line {here} and {second} in "
                f"line {there}: say what it is, such as --schema '{top} string'",
                column=mixed.path,
            ) from None

    def batches(self, sources: Sequence[Source], schema: pa.Schema, told: Told) -> Iterator[pa.RecordBatch]:
        """The rows in the types of a table's columns."""
        columns = Columns(schema)
        for source in sources:
            for numbers, objects in _chunks(source, told, exact=_keeps_digits(schema)):
                places: dict[str, str] = {}
                for name in _names(objects):
                    line = next(n for n, row in zip(numbers, objects, strict=True) if name in row)
                    field = columns.find(name, f"{source.name}, line {line},")
                    assert field is not None
                    if field.name in places:
                        raise InputError(f"{source.name} has {places[field.name]} and {name}, which are one column")
                    places[field.name] = name
                arrays = [
                    _converted([row.get(places[field.name]) for row in objects], field, source, numbers)
                    if field.name in places
                    else pa.nulls(len(objects), field.type)
                    for field in schema
                ]
                if objects:
                    yield pa.RecordBatch.from_arrays(arrays, schema=pa.schema([f.with_nullable(True) for f in schema]))


def _chunks(source: Source, told: Told, *, exact: bool) -> Iterator[tuple[list[int], list[dict[str, Any]]]]:
    """Objects and the lines they stand in, a few megabytes at a time. `exact` keeps all digits of fractions."""
    decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(float_hook=Decimal if exact else None)
    number = 0
    with source.open(told) as stream:
        while lines := stream.readlines(_CHUNK):
            numbers, objects = [], []
            for line in lines:
                number += 1
                if number == 1 and line.startswith(b"\xef\xbb\xbf"):
                    line = line[3:]  # noqa: PLW2901 - a byte order mark is no part of the line
                if line.isspace() or not line:
                    continue
                try:
                    value = decoder.decode(line)
                except UnicodeDecodeError as error:
                    raise InputError(f"{source.name}, line {number}: not UTF-8", file=source.name) from error
                except (msgspec.DecodeError, RecursionError) as error:
                    raise InputError(f"{source.name}, line {number}: {_why(error)}", file=source.name) from error
                if type(value) is not dict:
                    raise InputError(
                        f"{source.name}, line {number}: {_KINDS[type(value)]}, but JSON lines have an object in each line",
                        file=source.name,
                    )
                numbers.append(number)
                objects.append(value)
            yield numbers, objects


def _why(error: Exception) -> str:
    return f"not a JSON object in one line ({sentence(str(error))})"


def _names(objects: Sequence[dict[str, Any]]) -> dict[str, None]:
    names: dict[str, None] = {}
    for row in objects:
        if not row.keys() <= names.keys():
            names.update(dict.fromkeys(row))
    return names


def _converted(values: Sequence[Any], field: pa.Field, source: Source, numbers: Sequence[int]) -> pa.Array:
    try:
        return column(values, field.type)
    except Misfit as misfit:
        raise misfit_error(f"{source.name}, line {numbers[misfit.index]}", field, misfit) from None


def _keeps_digits(schema: pa.Schema) -> bool:
    """Whether a column shows fractions as they were written."""
    return any("decimal" in str(field.type) or "string" in str(field.type) for field in schema)
