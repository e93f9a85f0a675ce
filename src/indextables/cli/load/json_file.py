"""JSON lines: one object a line, or an array of objects. Fields that an object lacks are null.

A field that nobody expected is an error. A file whose first mark is `[` is an array; its objects may take several lines each.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import msgspec
import pyarrow as pa

from indextables.cli.errors import InputError
from indextables.cli.load.columns import Columns, Guessed, check_names, misfit_error, together
from indextables.cli.load.json_array import NoArray, array_elements
from indextables.cli.load.json_guess import WORDS, JsonGuess, Mixed
from indextables.cli.load.json_values import column
from indextables.cli.load.sources import Source, Told
from indextables.cli.load.texts import Misfit
from indextables.cli.render.screen import sentence
from indextables.core.schema_text import Declared

_CHUNK: Final = 4 << 20
"""Bytes of lines that become one batch."""
_FIRST: Final = 4096
"""Bytes at the beginning of a file in which its first mark is looked for."""
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
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
        rows, last = 0, 0
        begins: list[int] = []
        for source in sources:
            begins.append(last)  # lines are counted through all files, so that a place says which file it is in
            for numbers, objects in _chunks(source, told, exact=_keeps_digits(schema)):
                rows += len(objects)
                last = begins[-1] + (numbers[-1] if numbers else 0)
                for name in _names(objects):
                    guess = guesses.setdefault(name, JsonGuess(name))
                    values = [row.get(name) for row in objects]
                    field = columns.find(name, source.name)
                    if field is None:
                        guess.add(values, [begins[-1] + number for number in numbers] if begins[-1] else numbers)
                    else:
                        _converted(values, field, source, numbers)
        check_names(guesses, "the files together" if len(sources) > 1 else sources[0].name)
        try:
            return together(declared, dict(guesses), rows)
        except Mixed as mixed:
            (first, here), (second, there) = mixed.first, mixed.second
            one = f"{sources[0].name}: " if len(sources) == 1 else ""
            raise InputError(
                f"{one}{mixed.path} is {first} in {_place(here, sources, begins)} and {second} in "
                f"{_place(there, sources, begins)}: say what it is, such as --schema '{mixed.path.split('.')[0]} string'",
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


def _place(line: int, sources: Sequence[Source], begins: Sequence[int]) -> str:
    """The line that a line of all files together is, and its file where there are several."""
    if len(sources) == 1:
        return f"line {line}"
    number = max(n for n, begin in enumerate(begins) if begin < line)
    return f"{sources[number].name}, line {line - begins[number]}"


def _chunks(source: Source, told: Told, *, exact: bool) -> Iterator[tuple[list[int], list[dict[str, Any]]]]:
    """Objects and the lines they begin in, a few megabytes at a time. `exact` keeps all digits of fractions."""
    decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(float_hook=Decimal if exact else None)
    with source.open(told) as stream:
        is_array = stream.peek(_FIRST)[:_FIRST].removeprefix(_BYTE_ORDER_MARK).lstrip()[:1] == b"["
        for texts in _elements(stream, source) if is_array else _lines(stream):
            numbers, objects = [], []
            for number, text in texts:
                objects.append(_object(decoder, text, f"{source.name}, line {number}", source, is_array=is_array))
                numbers.append(number)
            yield numbers, objects


def _lines(stream: io.BufferedReader) -> Iterator[list[tuple[int, bytes]]]:
    """The lines that are not blank, with their numbers."""
    number = 0
    while lines := stream.readlines(_CHUNK):
        if number == 0:
            lines[0] = lines[0].removeprefix(_BYTE_ORDER_MARK)
        yield [(place, line) for place, line in enumerate(lines, number + 1) if line and not line.isspace()]
        number += len(lines)


def _elements(stream: io.BufferedReader, source: Source) -> Iterator[list[tuple[int, bytes]]]:
    """The elements of an array, with the numbers of the lines they begin in."""
    if stream.peek(3)[:3] == _BYTE_ORDER_MARK:
        stream.read(3)
    part: list[tuple[int, bytes]] = []
    size = 0
    try:
        for number, text in array_elements(stream):
            part.append((number, text))
            size += len(text)
            if size >= _CHUNK:
                yield part
                part, size = [], 0
    except NoArray as wrong:
        what = f"not a JSON array of objects ({wrong.what})"
        raise InputError(f"{source.name}, line {wrong.line}: {what}", file=source.name) from None
    yield part


def _object(
    decoder: msgspec.json.Decoder[Any], text: bytes, where: str, source: Source, *, is_array: bool
) -> dict[str, Any]:
    try:
        value = decoder.decode(text)
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: not UTF-8", file=source.name) from error
    except (msgspec.DecodeError, RecursionError) as error:
        what = "not a JSON object" if is_array else "not a JSON object in one line"
        raise InputError(f"{where}: {what} ({sentence(str(error))})", file=source.name) from error
    if type(value) is not dict:
        wanted = "a JSON array has an object in each place" if is_array else "JSON lines have an object in each line"
        raise InputError(f"{where}: {_KINDS[type(value)]}, but {wanted}", file=source.name)
    return value


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
