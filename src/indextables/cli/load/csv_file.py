"""CSV, and its sister with tabs.

The header is read here, the rows by Arrow, as texts; what they become is decided in `texts`. Three things that readers of CSV
get wrong quietly are errors: a row with too many or too few cells, a byte that is not UTF-8, and a quote that is never closed,
which would swallow all rows after it. For the last one a row of our own is put behind the file: if it does not come out again, a
quote is open.
"""

from __future__ import annotations

import csv
import io
import re
import secrets
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.csv as arrow_csv

from indextables.cli.errors import InputError
from indextables.cli.load.columns import Columns, Guessed, check_names, misfit_error, together
from indextables.cli.load.json_values import column as json_column
from indextables.cli.load.sources import Source, Told
from indextables.cli.load.texts import Misfit, TextGuess, read_texts
from indextables.core.schema_text import Declared

_BLOCK: Final = 8 << 20
"""Bytes that Arrow reads at once. A row must fit into one block."""
_LONGEST_HEADER: Final = 1 << 20
"""Bytes of the first line that are looked at."""
_PATIENCE: Final = 0.5
"""Seconds that a given-up file waits for Arrow's thread, which asks for no more bytes where it has read far ahead."""
_ROW: Final = re.compile(r"Row #(\d+): ")
_COLUMN: Final = re.compile(r"In CSV column #(\d+): ")
_WIDTH: Final = re.compile(r"Expected (\d+) columns, got (\d+)")
_OTHER_DELIMITERS: Final = {";": "';'", "\t": "a tab", "|": "'|'", ",": "','"}


@dataclass(frozen=True)
class CsvFiles:
    """Reads files with cells between delimiters, and a header."""

    delimiter: str = ","
    nulls: tuple[str, ...] = ()
    """Texts that stand for no value, beside an empty cell."""

    def look(self, sources: Sequence[Source], declared: Declared | None, told: Told) -> Guessed:
        """Read everything once, and say what it is. Values of declared columns must fit."""
        columns = Columns(pa.schema([]) if declared is None else declared.schema, guessed=True)
        guesses: dict[str, TextGuess] = {}
        rows = 0
        for source in sources:
            for first, batch in self._texts(source, told):
                rows += batch.num_rows
                for name, texts in zip(batch.schema.names, batch.columns, strict=True):
                    guess = guesses.setdefault(name, TextGuess())
                    field = columns.find(name, source.name)
                    if field is None:
                        guess.add(texts)
                    else:
                        _converted(texts, field, source, first)
        check_names(guesses, "the files together" if len(sources) > 1 else sources[0].name)
        return together(declared, dict(guesses), rows)

    def batches(self, sources: Sequence[Source], schema: pa.Schema, told: Told) -> Iterator[pa.RecordBatch]:
        """The rows in the types of a table's columns."""
        columns = Columns(schema)
        for source in sources:
            for first, batch in self._texts(source, told):
                fields = [columns.find(name, source.name) for name in batch.schema.names]
                arrays = [
                    _converted(texts, field, source, first)
                    for texts, field in zip(batch.columns, fields, strict=True)
                    if field is not None
                ]
                if batch.num_rows:
                    yield pa.RecordBatch.from_arrays(
                        arrays, schema=pa.schema([f.with_nullable(True) for f in fields if f])
                    )

    def _texts(self, source: Source, told: Told) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Batches of texts, and the row that each begins with; the header is row 1."""
        with source.open(told) as stream:
            names = self._header(stream, source)
            if not names:
                return
            mark = f"end-{secrets.token_hex(16)}"
            end = (mark + self.delimiter * (len(names) - 1) + "\n").encode()
            held: pa.RecordBatch | None = None
            row = 2
            ended = _WithEnd(stream, end)
            try:
                for batch in self._open(ended, names):
                    if held is not None and held.num_rows:
                        yield row, held
                        row += held.num_rows
                    held = batch if held is None or batch.num_rows else held
            except pa.ArrowInvalid as error:
                raise _translated(error, source, names) from error
            finally:
                ended.give_up()
            if held is None or not held.num_rows or held.column(0)[-1].as_py() != mark:
                last = row + (held.num_rows - 1 if held is not None else 0)
                raise InputError(f"{source.name}: a quote is opened in row {last} and never closed", file=source.name)
            yield row, held.slice(0, held.num_rows - 1)

    def _open(self, stream: Any, names: list[str]) -> Any:
        return arrow_csv.open_csv(
            stream,
            read_options=arrow_csv.ReadOptions(use_threads=False, block_size=_BLOCK, column_names=names),
            parse_options=arrow_csv.ParseOptions(
                delimiter=self.delimiter,
                newlines_in_values=True,
                ignore_empty_lines=True,
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                null_values=["", *self.nulls],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )

    def _header(self, stream: io.BufferedReader, source: Source) -> list[str]:
        if stream.peek(2)[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise InputError(f"{source.name} is UTF-16: convert it to UTF-8 first (iconv -f utf-16)", file=source.name)
        try:
            rows = csv.reader(_lines(stream), delimiter=self.delimiter, strict=True)
            names = next((row for row in rows if row), [])
        except UnicodeDecodeError as error:
            raise InputError(f"{source.name}, row 1: the header is not UTF-8", file=source.name) from error
        except csv.Error as error:
            if "new-line" in str(error):
                what = "its lines end with carriage returns only: convert them first (tr '\\r' '\\n')"
                raise InputError(f"{source.name}, row 1: {what}", file=source.name) from error
            raise InputError(f"{source.name}, row 1: the header cannot be read ({error})", file=source.name) from error
        check_names(names, source.name)
        others = [word for mark, word in _OTHER_DELIMITERS.items() if mark != self.delimiter and mark in "".join(names)]
        if len(names) == 1 and others:
            raise InputError(
                f"{source.name} has one column, {names[0]!r}, and seems to have {others[0]} between cells: give --delimiter",
                file=source.name,
            )
        return names


def _lines(stream: io.BufferedReader) -> Iterator[str]:
    first = True
    while line := stream.readline(_LONGEST_HEADER):
        yield line.decode("utf-8-sig" if first else "utf-8")
        first = False


class _WithEnd(io.RawIOBase):
    """A stream with a last row of our own behind it, on a line by itself.

    Arrow reads ahead in a thread. A thread that asks Python for bytes while the program ends would abort the program, so a
    stream that is given up ends, and waits until the thread has noticed.
    """

    def __init__(self, stream: io.BufferedReader, end: bytes) -> None:
        self._stream = stream
        self._end: bytes | None = end
        self._newline = True
        self._given_up = False
        self._over = threading.Event()

    def give_up(self) -> None:
        """End the stream now. Returns when nobody reads the stream any more."""
        self._given_up = True
        self._over.wait(_PATIENCE)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = b"" if self._given_up else self._stream.read(size)
        if data:
            self._newline = data[-1:] in (b"\n", b"\r")
            return data
        end, self._end = b"" if self._given_up else self._end or b"", None
        if not end:
            self._over.set()
        return end if self._newline or not end else b"\n" + end


def _converted(texts: pa.Array, field: pa.Field, source: Source, first: int) -> pa.Array:
    try:
        if pa.types.is_nested(field.type):
            return json_column(_parsed(texts), field.type)
        return read_texts(texts, field.type)
    except Misfit as misfit:
        raise misfit_error(f"{source.name}, row {first + misfit.index}", field, misfit) from None


def _parsed(texts: pa.Array) -> list[Any]:
    """Cells that hold lists and objects have them as JSON."""
    values = []
    for index, text in enumerate(texts.to_pylist()):
        try:
            values.append(None if text is None else msgspec.json.decode(text))
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise Misfit(index, text, "JSON") from None
    return values


def _translated(error: pa.ArrowInvalid, source: Source, names: Sequence[str]) -> InputError:
    text = str(error)
    row, column, width = _ROW.search(text), _COLUMN.search(text), _WIDTH.search(text)
    where = f"{source.name}, row {int(row[1]) + 1}" if row else source.name
    if column:
        where += f", column {names[int(column[1])]}"
    if width:
        what = f"{width[2]} cell{'' if width[2] == '1' else 's'}, but the header has {width[1]}"
    elif "UTF8" in text:
        what = "not UTF-8"
    elif "straddl" in text:
        what = f"a row is longer than {_BLOCK >> 20} MB"
    else:
        what = text.splitlines()[0]
    return InputError(f"{where}: {what}", file=source.name)
