"""Arrow batches as the JSON documents that Tantivy is fed with.

Tantivy takes one document per call, and of the ways to make one, a line of JSON is the cheapest: whole columns become texts and
are joined by Arrow, so that Python touches a row once, to hand its line over. What makes that exact:

- A null, an empty array and a value that the index cannot hold leave their key out; `Feed.inexact` collects the columns of the
  latter.
- Strings are escaped, but only in columns that have something to escape.
- Tantivy's JSON parser is off by a bit for one double in five. A double is therefore written as a whole number below 2^64 and a
  power of ten up to 22: both are exact, so that what is left is one division, and that is rounded correctly. One double in a
  thousand has no such form; its row is not a line but a dict, which becomes a document by way of Python's own floats.
- Nested values are made into Python objects column by column and encoded one by one. They hold what a path can be asked for:
  numbers, booleans, strings; dates and timestamps as days and microseconds; decimals as strings. Nulls and types that are not
  indexed are left out, as are maps whose keys have no text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.errors import SchemaError
from indextables.split.index.doc_mapping import LONGEST_TERM, ROW, SOURCE, DocMapping, FieldMapping, normalised_ip

Line: TypeAlias = str | dict[str, Any]
"""A document: JSON, or a dict where JSON would not be exact."""

_CHUNK_ROWS: Final = 8_192
"""Rows that become JSON together, at most."""
_CHUNK_BYTES: Final = 64_000_000
"""Bytes of rows that become JSON together, about: larger batches are halved."""
_DEEPEST: Final = 100
"""Levels of a JSON value that are indexed, at most."""
_SLACK: Final = 100
"""Bytes of a term beside path and word: its type, and what a stemmer may add."""
_TEXT: Final = pa.large_string()
_WITH_OFFSET: Final = re.compile(r"\d{4}-\d\d-\d\d[\x00-\x7f](\d\d):(\d\d):\d\d(?:\.\d+)?([+-])(\d\d):(\d\d)", re.ASCII)
"""An RFC 3339 time, as Tantivy reads them, that is not in UTC."""
_POWERS: Final = np.array([float(f"1e{exponent}") for exponent in range(23)])


class Feed:
    """Documents for the rows of one split, numbered from 0 in the order they come."""

    def __init__(self, mapping: DocMapping, *, source: int) -> None:
        self.source = source
        """The number of the rows' source."""
        self.rows = 0
        self.inexact: set[str] = set()
        self._mapping = mapping
        self._longest_path = LONGEST_TERM - mapping.max_token_length - _SLACK
        self._start = f'{{"{SOURCE}":{source},"{ROW}":'

    def lines(self, batch: pa.RecordBatch) -> Iterator[Line]:
        """The documents of the next rows."""
        for chunk in _chunks(batch):
            yield from self._chunk(chunk)
            self.rows += chunk.num_rows

    def _chunk(self, batch: pa.RecordBatch) -> list[Line]:
        numbers = pc.cast(pa.array(np.arange(self.rows, self.rows + batch.num_rows)), _TEXT)
        parts: list[Any] = [_text(self._start), numbers]
        exact: dict[int, dict[str, Any]] = {}
        for field in self._mapping.fields:
            column = _Column(field, batch.column(field.column), self._longest_path)
            parts += column.parts()
            if column.inexact:
                self.inexact.add(field.column)
            for row, value in column.exact.items():
                exact.setdefault(row, {})[field.name] = value
        joined = pc.binary_join_element_wise(
            *parts, _text("}"), _text(""), null_handling="replace", null_replacement=""
        )
        try:
            lines: list[Any] = joined.to_pylist()
        except UnicodeDecodeError:
            raise _not_unicode(batch) from None
        for row, values in exact.items():
            lines[row] = {**msgspec.json.decode(lines[row]), **values}
        return lines


class _Column:
    """A column of a chunk, on its way into JSON lines."""

    def __init__(self, field: FieldMapping, array: pa.Array, longest_path: int) -> None:
        self.field = field
        self.longest_path = longest_path
        self.array = array
        self.inexact = False
        self.exact: dict[int, Any] = {}

    def parts(self) -> list[Any]:
        """What the lines say about the column: arrays and scalars to join, null where a row has no value."""
        texts = self._many() if self.field.many and self.field.kind != "json" else self._texts(self.array)
        if texts.null_count == len(texts):
            return []
        parts = [_text(f',"{self.field.name}":'), texts]
        if texts.null_count == 0:
            return parts
        return [pc.binary_join_element_wise(*parts, _text(""), null_handling="emit_null")]

    def _many(self) -> pa.Array:
        """Arrays of the values that are there, null where none is."""
        values = pc.list_flatten(self.array)
        parents = pc.list_parent_indices(self.array).to_numpy(zero_copy_only=False)
        texts = self._texts(values)
        if self.exact:
            self._exact_lists(texts, values, parents)
        kept = pc.is_valid(texts).to_numpy(zero_copy_only=False)
        counts = np.bincount(parents[kept], minlength=len(self.array))
        offsets = np.concatenate([[0], np.cumsum(counts)])
        lists = pa.LargeListArray.from_arrays(pa.array(offsets), texts.drop_null())
        joined = pc.binary_join_element_wise(_text("["), pc.binary_join(lists, _text(",")), _text("]"), _text(""))
        return pc.if_else(pa.array(counts > 0), joined, pa.scalar(None, _TEXT))

    def _exact_lists(self, texts: pa.Array, values: pa.Array, parents: np.ndarray) -> None:
        """Rows with a double that has no exact text are given as Python lists as a whole."""
        rows = {int(parents[place]) for place in self.exact}
        lists: dict[int, list[float]] = {row: [] for row in rows}
        for place in np.flatnonzero(np.isin(parents, list(rows))):
            if texts[place].is_valid or int(place) in self.exact:
                lists[int(parents[place])].append(values[place].as_py() + 0.0)
        self.exact = lists

    def _texts(self, values: pa.Array) -> pa.Array:
        """JSON texts of the values, null where there is nothing to index."""
        match self.field.kind:
            case "string":
                return _quoted(self._short(values))
            case "text":
                return _quoted(values)
            case "i64":
                return pc.cast(_number(values), _TEXT)
            case "bool":
                return pc.cast(pc.cast(values, pa.int8()), _TEXT)
            case "f64":
                return self._floats(values)
            case "ip":
                return self._addresses(values)
            case "json":
                return self._objects(values)

    def _short(self, values: pa.Array) -> pa.Array:
        fits = pc.less_equal(pc.binary_length(values), LONGEST_TERM)
        if pc.all(fits, min_count=0).as_py():
            return values
        self.inexact = True
        return pc.if_else(fits, values, pa.scalar(None, values.type))

    def _floats(self, values: pa.Array) -> pa.Array:
        with np.errstate(invalid="ignore"):  # a NaN that signals is a NaN
            numbers = pc.fill_null(pc.cast(values, pa.float64()), np.nan).to_numpy(zero_copy_only=False) + 0.0
        finite = np.isfinite(numbers)
        self.inexact = int(finite.sum()) < len(values) - values.null_count
        texts, done = _float_texts(np.where(finite, numbers, 0.0))
        self.exact = {int(place): float(numbers[place]) for place in np.flatnonzero(finite & ~done)}
        return pc.if_else(pa.array(finite & done), texts, pa.scalar(None, _TEXT))

    def _addresses(self, values: pa.Array) -> pa.Array:
        encoded = values.dictionary_encode()
        known = [normalised_ip(text) for text in encoded.dictionary.to_pylist()]
        texts = pa.array([None if text is None else f'"{text}"' for text in known], _TEXT).take(encoded.indices)
        self.inexact = texts.null_count > values.null_count
        return texts

    def _objects(self, values: pa.Array) -> pa.Array:
        objects = _Objects(self.longest_path)
        found: list[Any]
        if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
            found = [None if text is None else objects.parse(text) for text in values.to_pylist()]
        elif self.field.many and pa.types.is_string(values.type.value_type):
            found = [_present(objects.parse(text) for text in texts or ()) for texts in values.to_pylist()]
        else:
            found = objects.of(values)
        if self.field.many:
            found = [_present(items or ()) or None for items in found]
        texts: list[str | None] = []
        for row, value in enumerate(found):
            objects.rounded = False
            clean = None if value is None else objects.clean(value, 0, 0)
            texts.append(None if clean is None else _ENCODE(clean).decode())
            if objects.rounded:
                self.exact[row] = clean
        self.inexact = objects.inexact
        return pa.array(texts, _TEXT)


class _Objects:
    """Nested values as Python objects that JSON can hold."""

    def __init__(self, longest_path: int) -> None:
        self.longest_path = longest_path
        """Bytes. Path and word are one term."""
        self.inexact = False
        """Something was left out that is not null."""
        self.rounded = False
        """There is a double that Tantivy's parser might get wrong."""

    def of(self, array: pa.Array) -> list[Any]:
        """The values of a nested array, None for null and for what is not indexed."""
        arrow = array.type
        if pa.types.is_map(arrow):
            return self._maps(array)
        if pa.types.is_struct(arrow):
            columns = [(arrow.field(number).name, self.of(part)) for number, part in enumerate(array.flatten())]
            valid = pc.is_valid(array).to_pylist()
            return [
                {name: values[row] for name, values in columns if values[row] is not None} if valid[row] else None
                for row in range(len(array))
            ]
        if pa.types.is_list(arrow) or pa.types.is_large_list(arrow) or pa.types.is_fixed_size_list(arrow):
            items = iter(self.of(pc.list_flatten(array)))
            lengths = pc.list_value_length(array).to_pylist()
            return [None if length is None else [next(items) for _ in range(length)] for length in lengths]
        return _leaves(array)

    def _maps(self, array: pa.MapArray) -> list[Any]:
        pairs = array.cast(pa.list_(pa.struct([array.type.key_field, array.type.item_field])))
        flat = pc.list_flatten(pairs)
        keys = _keys(flat.field(0))
        if keys is None:
            return [None] * len(array)
        entries = zip(keys, self.of(flat.field(1)), strict=True)
        lengths = pc.list_value_length(pairs).to_pylist()
        return [None if length is None else dict(next(entries) for _ in range(length)) for length in lengths]

    def parse(self, text: str) -> dict[str, Any] | None:
        """The object of a text that should be JSON."""
        try:
            value = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
            value = None
        if isinstance(value, dict):
            return value
        self.inexact = True
        return None

    def clean(self, value: Any, depth: int, path: int) -> Any:
        """The value without nulls and without what the index cannot hold; None when nothing is left of it."""
        match value:
            case dict():
                if depth < _DEEPEST:
                    return {
                        key: part
                        for key, item in value.items()
                        if self._reachable(key, path)
                        and (part := self.clean(item, depth + 1, path + len(key.encode()) + 1)) is not None
                    }
            case list():
                if depth < _DEEPEST:
                    return _present(self.clean(item, depth + 1, path) for item in value)
            case str():
                return indexed_text(value)
            case float():
                return self._float(value)
            case int() if not -(2**63) <= value < 2**64:
                return self._large(value)
            case _:
                return value
        self.inexact = True
        return None

    def _reachable(self, key: str, path: int) -> bool:
        if "\0" not in key and "\1" not in key and path + len(key.encode()) <= self.longest_path:
            return True
        self.inexact = True
        return False

    def _float(self, value: float) -> float | None:
        if value - value != 0:
            self.inexact = True
            return None
        self.rounded |= not (value == 0 or (1e-7 < abs(value) < 9e14 and float(f"{value:.15g}") == value))
        return value + 0.0

    def _large(self, value: int) -> float | None:
        try:
            return self._float(float(value))
        except OverflowError:
            self.inexact = True
            return None


def indexed_text(text: str) -> str:
    """A text inside JSON as Tantivy is given it.

    Tantivy's JSON reader panics on an RFC 3339 time that lies before year 0 or after year 9999 in UTC. A blank in front makes
    the text no time, and leaves its words as they are.
    """
    return f" {text}" if _has_no_moment(text) else text


def _has_no_moment(text: str) -> bool:
    """Whether a text is an RFC 3339 time that lies before year 0 or after year 9999 in UTC."""
    if not text.startswith(("0000-01-01", "9999-12-31")):
        return False
    match = _WITH_OFFSET.fullmatch(text)
    if match is None:
        return False
    hour, minute, offset_hours, offset_minutes = map(int, match.group(1, 2, 4, 5))
    local, offset = hour * 60 + minute, offset_hours * 60 + offset_minutes
    if text[0] == "0":
        return match[3] == "+" and local < offset
    return match[3] == "-" and local + offset >= 24 * 60


def _chunks(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Pieces of the batch that are cheap to join, and small enough for the largest values."""
    for start in range(0, batch.num_rows, _CHUNK_ROWS):
        pieces = [batch.slice(start, _CHUNK_ROWS)]
        while pieces:
            piece = pieces.pop()
            half = piece.num_rows // 2
            if half and piece.nbytes > _CHUNK_BYTES:
                pieces += [piece.slice(half), piece.slice(0, half)]
            else:
                yield piece


def _quoted(values: pa.Array) -> pa.Array:
    """Strings as JSON strings."""
    texts = pc.cast(values, _TEXT)
    for byte in _specials(_bytes_of(texts)):
        texts = pc.replace_substring(texts, chr(byte), _ESCAPES[byte])
    return pc.binary_join_element_wise(_text('"'), texts, _text('"'), _text(""), null_handling="emit_null")


def _bytes_of(texts: pa.LargeStringArray) -> np.ndarray:
    """The bytes of all the values. Those of nulls may be among them."""
    _, offsets, data = texts.buffers()
    if not len(texts) or data is None:
        return np.empty(0, np.uint8)
    places = np.frombuffer(offsets, np.int64)
    return np.frombuffer(data, np.uint8)[places[texts.offset] : places[texts.offset + len(texts)]]


def _specials(used: np.ndarray) -> list[int]:
    """The characters among these bytes that a JSON string must escape, the backslash first."""
    found = [byte for byte in (ord("\\"), ord('"')) if (used == byte).any()]
    if used.size and used.min() < 32:
        found += [byte for byte in range(32) if (used == byte).any()]
    return found


def _number(values: pa.Array) -> pa.Array:
    if pa.types.is_date32(values.type):
        return pc.cast(values, pa.int32())
    return pc.cast(values, pa.int64()) if pa.types.is_timestamp(values.type) else values


def _float_texts(numbers: np.ndarray) -> tuple[pa.Array, np.ndarray]:
    """Texts of finite doubles that every parser reads exactly, and where there is one."""
    size = np.abs(numbers)
    digits = np.floor(np.log10(size, out=np.zeros_like(size), where=size > 0)).astype(np.int64)
    whole = np.zeros_like(size)
    power = np.zeros_like(digits)
    done = size == 0
    for wanted in (15, 17, 18, 16, 19):
        left = np.flatnonzero(~done)
        if not left.size:
            break
        shift = wanted - digits[left]
        scale = _POWERS[np.minimum(np.abs(shift), 22)]
        value = size[left]
        with np.errstate(over="ignore"):
            scaled = np.rint(np.where(shift >= 0, value * scale, value / scale))
            back = np.where(shift >= 0, scaled / scale, scaled * scale)
        good = (np.abs(shift) <= 22) & (scaled < 2.0**64) & (back == value)
        whole[left[good]] = scaled[good]
        power[left[good]] = -shift[good]
        done[left[good]] = True
    sign = pc.if_else(pa.array(numbers < 0), _text("-"), _text(""))
    mantissa = pc.cast(pa.array(whole.astype(np.uint64)), _TEXT)
    return pc.binary_join_element_wise(sign, mantissa, _text("e"), pc.cast(pa.array(power), _TEXT), _text("")), done


def _leaves(array: pa.Array) -> list[Any]:
    arrow = array.type
    if pa.types.is_date32(arrow) or (pa.types.is_timestamp(arrow) and arrow.unit == "us"):
        array = _number(array)
    elif pa.types.is_decimal(arrow):
        array = pc.cast(array, pa.string())
    elif not any(test(arrow) for test in _LEAVES):
        return [None] * len(array)
    values: list[Any] = array.to_pylist()
    return values


def _keys(array: pa.Array) -> list[str] | None:
    """The texts of a map's keys. None: keys of this type have none."""
    if pa.types.is_nested(array.type) or pa.types.is_binary(array.type):
        return None
    try:
        keys: list[str] = pc.cast(array, pa.string()).to_pylist()
    except pa.ArrowNotImplementedError:
        return None
    return keys


def _present(values: Iterator[Any] | Sequence[Any]) -> list[Any]:
    return [value for value in values if value is not None]


def _not_unicode(batch: pa.RecordBatch) -> SchemaError:
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            column.validate(full=True)
        except pa.ArrowInvalid:
            return SchemaError(f"column {name} holds bytes that are not valid UTF-8", column=name)
    return SchemaError("a string column holds bytes that are not valid UTF-8")


def _text(text: str) -> pa.Scalar:
    return pa.scalar(text, _TEXT)


_ENCODE: Callable[[Any], bytes] = msgspec.json.Encoder().encode
_ESCAPES: Final = {byte: f"\\u{byte:04x}" for byte in range(32)} | {ord("\\"): "\\\\", ord('"'): '\\"'}
_LEAVES: Final = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_float32,
    pa.types.is_float64,
)
