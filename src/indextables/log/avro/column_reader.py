"""Avro records → Arrow, one field of thousands of records at a time.

    positions   ▼ record 0      ▼ record 1      ▼ record 2          all fields are read in their order; numpy holds one
                path│values│…   path│values│…   path│values│…       position in each record and moves all of them on

Where a record ends is known only once it was read, so Avro is read one record after the other. Our manifests note in their
header how long each record is (`record_lengths.py`), so this reader knows where all records of a block begin. Two things come for
free: fields behind the last wanted one are not read, and neither are the records that a sieve drops once their partition values
are known.

The lengths are a hint, not a promise: in the end every position must be where the next record begins. Records that do not fit
are `Irregular`, and another reader reads the manifest. Records that a sieve dropped are not looked at any more. In files whose
checksum was compared, nothing behind the last wanted field is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from indextables.log.avro.encode_columns import RECORD_FIELD
from indextables.log.avro.record_lengths import TOP_BITS, Bytes, Irregular, Numbers, Sieve, signed, squeezed
from indextables.log.avro.shared_columns import all_null, integers

_LONGEST_VARINT = 10
"""Bytes of a 64-bit number in Avro, at most: seven bits a byte."""
_ONE = np.uint64(1)


class ColumnReader:
    """Reads some fields of blocks of records.

    `early` are fields that the sieve can judge by. It gets them as soon as they are read, and only the rows that it keeps
    are read on. `checked` says that the file is known to be as it was written: then nothing is read behind the last field
    that is wanted. Otherwise all fields are passed through, to see that they end where the lengths say.
    """

    def __init__(
        self,
        fields: Sequence[dict[str, Any]],
        wanted: pa.Schema,
        early: Sequence[str] = (),
        sieve: Sieve | None = None,
        *,
        checked: bool = False,
    ) -> None:
        names = [field["name"] for field in fields]
        self._last = max(names.index(name) for name in wanted.names if name in names) if checked else len(fields) - 1
        self._fields = list(fields)[: self._last + 1]
        self._whole = self._last == len(fields) - 1
        self._wanted = wanted
        self._sieve = sieve
        self._early = [name for name in early if name in wanted.names and name in names]
        self._judged_at = max((names.index(name) for name in self._early), default=self._last)

    def read(self, block: bytes, lengths: Numbers) -> dict[str, pa.Array]:
        """The columns of one block, by name: none where the sieve keeps no row. Fields that the file does not have are left
        to the caller.
        """
        ends = np.cumsum(lengths)
        if not len(ends) or int(ends[-1]) != len(block) or int(lengths.min()) < 0:
            raise Irregular("the lengths do not fit the block")
        rows = _Rows(np.frombuffer(block, np.uint8), ends - lengths)
        columns: dict[str, pa.Array] = {}
        if RECORD_FIELD.name in self._wanted.names:
            offsets = pa.py_buffer(np.concatenate([[0], ends]))
            columns[RECORD_FIELD.name] = pa.Array.from_buffers(
                RECORD_FIELD.type, len(ends), [None, offsets, pa.py_buffer(block)]
            )
        try:
            ends = self._read_fields(rows, columns, ends)
        except (IndexError, ValueError, OverflowError, pa.ArrowException) as error:
            raise Irregular(str(error)) from error
        if not (rows.at == ends if self._whole else rows.at <= ends).all():
            raise Irregular("the lengths do not fit the records")
        return columns if len(ends) else {}

    def _read_fields(self, rows: _Rows, columns: dict[str, pa.Array], ends: Numbers) -> Numbers:
        number = 0
        while number <= self._last:
            skipped = self._nulls(rows, columns, number)
            number += skipped
            if not skipped:
                field = self._fields[number]
                name = field["name"]
                kind = self._wanted.field(name).type if name in self._wanted.names else None
                column = rows.read(field["type"], kind)
                if column is not None:
                    columns[name] = column
                number += 1
            if self._sieve is not None and number - max(skipped, 1) <= self._judged_at < number:
                ends = self._judge(rows, columns, ends)
                if not len(ends):
                    break
        return ends

    def _nulls(self, rows: _Rows, columns: dict[str, pa.Array], number: int) -> int:
        """The number of optional fields from field `number` on that are null in every row. A null field takes one byte."""
        until = number
        while until <= self._last and isinstance(self._fields[until]["type"], list):
            until += 1
        count = rows.nulls(until - number)
        for field in self._fields[number : number + count]:
            if field["name"] in self._wanted.names:
                columns[field["name"]] = all_null(len(rows.at), self._wanted.field(field["name"]).type)
        return count

    def _judge(self, rows: _Rows, columns: dict[str, pa.Array], ends: Numbers) -> Numbers:
        """Go on with the rows that the sieve keeps."""
        assert self._sieve is not None
        chosen = self._sieve(pa.table({name: columns[name] for name in self._early}))
        if chosen is None:
            return ends
        for name, column in columns.items():
            columns[name] = column.take(integers(chosen))
        rows.at = rows.at[chosen]
        remaining: Numbers = ends[chosen]
        return remaining


class _Rows:
    """A position in each of some records."""

    def __init__(self, data: Bytes, at: Numbers) -> None:
        self.data = data
        self.at = at

    def nulls(self, most: int) -> int:
        """Pass over as many of the next `most` optional fields as are null in every row."""
        if not most or self.data.take(self.at).max():
            return 0
        branches = _windows(self.data, most, self.at)
        count = most if not branches.max() else int((branches.max(axis=0) > 0).argmax())
        self.at = self.at + count
        return count

    def read(self, schema: Any, kind: pa.DataType | None) -> pa.Array | None:
        """The next field of all rows, as an array of the type, or nothing where no type is wanted."""
        match schema:
            case [_, inner]:
                return self._optional(inner, kind)
            case "long" | "int":
                numbers = self._longs()
                return None if kind is None else _array(kind, _fitting(numbers, kind))
            case "boolean":
                flags = self._step()
                return None if kind is None else _flags(flags)
            case "string":
                lengths, starts = self.spans()
                return None if kind is None else texts_at(self.data, starts, lengths)
            case {"type": "map"}:
                return self._items(kind, per_item=2)
            case _:
                return self._items(kind, per_item=1)

    def _optional(self, schema: Any, kind: pa.DataType | None) -> pa.Array | None:
        branches = self._step()
        if branches.all():
            if int(branches.max()) != 2 or int(branches.min()) != 2:
                raise Irregular("a union has another branch")
            return self.read(schema, kind)
        there = branches == 2
        if (branches[~there] != 0).any():
            raise Irregular("a union has another branch")
        some = _Rows(self.data, self.at[there])
        found = some.read(schema, kind) if len(some.at) else all_null(0, kind or pa.int64())
        at = self.at.copy()
        at[there] = some.at
        self.at = at
        if kind is None or found is None:
            return None
        if not len(found):
            return all_null(len(at), kind)
        places = np.cumsum(there) - 1
        return found.take(_array(pa.int64(), places, there))

    def _items(self, kind: pa.DataType | None, per_item: int) -> pa.Array | None:
        """Maps (two texts an item) and lists (one): a count, the items, and a 0; or only the 0."""
        counts = self._sizes()
        most = int(counts.max())
        if int(counts.sum()) > len(self.data):
            raise Irregular("a count is too large")
        offsets = _offsets(counts)
        same_count = int(counts.min()) == most
        if same_count and per_item == 2 and kind is not None:
            begin = self.at
            found = self._maps_of_same_keys(kind, most, offsets)
            if found is not None:
                return found
            self.at = begin
        starts = np.empty((per_item, int(offsets[-1])), np.int64)
        lengths = np.empty_like(starts)
        if same_count:
            for number in range(most):
                for part in range(per_item):
                    lengths[part, number::most], starts[part, number::most] = self.spans()
        else:
            for number in range(most):
                self._item(counts > number, offsets[:-1] + number, starts, lengths)
        self._end(counts > 0)
        if kind is None:
            return None
        texts = [texts_at(self.data, starts[part], lengths[part], most) for part in range(per_item)]
        ends = _array(pa.int32(), offsets.astype(np.int32))
        if per_item == 2:
            return pa.MapArray.from_arrays(ends, *texts, type=kind)
        return pa.ListArray.from_arrays(ends, *texts, type=kind)

    def _maps_of_same_keys(self, kind: pa.DataType, per_map: int, offsets: Numbers) -> pa.Array | None:
        """Maps of `per_map` items, where the first, second … key is the same in all rows, as it is in most tables; None where
        one is not. Keys are then compared, and not copied row by row.
        """
        keys: list[bytes] = []
        starts = np.empty(int(offsets[-1]), np.int64)
        lengths = np.empty_like(starts)
        for number in range(per_map):
            key = self._same_text()
            if key is None:
                return None
            keys.append(key)
            lengths[number::per_map], starts[number::per_map] = self.spans()
        if per_map:
            self._end(np.ones(len(self.at), np.bool_))
        texts = texts_at(self.data, starts, lengths, per_map)
        ends = _array(pa.int32(), offsets.astype(np.int32))
        return pa.MapArray.from_arrays(ends, _repeated(tuple(keys), len(self.at)), texts, type=kind)

    def _same_text(self) -> bytes | None:
        """The text that comes next, if it is short and the same in all rows; positions move behind it. None if it is not."""
        first = int(self.at[0])
        length = int(self.data[first])
        width = 1 + (length >> 1)
        if length & 0x81 or int(self.at.max()) + width > len(self.data):
            return None
        rows = _windows(self.data, width, self.at)
        if not (rows == rows[0]).all():
            return None
        self.at = self.at + width
        return rows[0, 1:].tobytes()

    def _item(self, active: npt.NDArray[np.bool_], places: Numbers, starts: Numbers, lengths: Numbers) -> None:
        """Read the next item of the list in every row whose list has another item."""
        rows = _Rows(self.data, self.at[active])
        for part in range(len(starts)):
            lengths[part][places[active]], starts[part][places[active]] = rows.spans()
        at = self.at.copy()
        at[active] = rows.at
        self.at = at

    def _end(self, some: npt.NDArray[np.bool_]) -> None:
        """The 0 behind the items."""
        everyone = bool(some.all())
        if self.data.take(self.at if everyone else self.at[some]).any():
            raise Irregular("a map or list of several blocks")
        self.at = self.at + (1 if everyone else some)

    def spans(self) -> tuple[Numbers, Numbers]:
        """Lengths and places of texts; positions move behind them."""
        lengths = self._sizes()
        starts = self.at
        self.at = starts + lengths
        if len(self.at) and int(self.at.max()) > len(self.data):
            raise Irregular("a text is cut off")
        return lengths, starts

    def _sizes(self) -> Numbers:
        """Numbers that cannot be negative, nor larger than all there is."""
        byte = self.data.take(self.at)
        bits = int(np.bitwise_or.reduce(byte))
        if not bits & 0x81:  # one byte each, and none of them odd: odd is negative
            self.at = self.at + 1
            return (byte >> 1).astype(np.int64)
        sizes = self._longs()
        if int(sizes.min()) < 0 or int(sizes.max()) > len(self.data):
            raise Irregular("a length is negative or too large")
        return sizes

    def _longs(self) -> Numbers:
        """Zig-zag varints."""
        if int(self.at.max()) > len(self.data) - 8:
            return self._longs_by_byte()
        words = np.ndarray((len(self.data) - 7,), np.dtype("<u8"), self.data, strides=(1,))[self.at].astype(np.uint64)
        stops = ~words & TOP_BITS
        if not stops.all():
            return self._longs_by_byte()
        last = stops & (~stops + _ONE)  # the top bit of the last byte
        self.at = self.at + (np.bitwise_count(last - _ONE) // 8 + 1)
        return signed(squeezed(words & (last - _ONE) & ~TOP_BITS))

    def _longs_by_byte(self) -> Numbers:
        """Numbers read byte by byte: for numbers of more than eight bytes, and for numbers at the end of the block."""
        byte = self._step()
        value = (byte & np.uint8(0x7F)).astype(np.uint64)
        for number in range(1, _LONGEST_VARINT):
            rows = np.flatnonzero(byte >= 0x80)
            if not len(rows):
                break
            there = self.data.take(self.at[rows])
            if number == _LONGEST_VARINT - 1 and int(there.max()) > 1:
                raise Irregular("a number is too large")  # of its seven bits, one is left
            value[rows] |= (there & np.uint8(0x7F)).astype(np.uint64) << np.uint64(7 * number)
            self.at[rows] += 1
            byte = np.zeros(len(value), np.uint8)
            byte[rows] = there
        if (byte >= 0x80).any():
            raise Irregular("a number is too long")
        return signed(value)

    def _step(self) -> Bytes:
        """The next byte of every row."""
        found = self.data.take(self.at)
        self.at = self.at + 1
        return found


@lru_cache(maxsize=32)
def _repeated(texts: tuple[bytes, ...], times: int) -> pa.Array:
    """An array of `texts`, repeated `times` times. Blocks of one table mostly have as many rows and the same keys."""
    lengths = np.tile(np.array([len(text) for text in texts], np.int64), times)
    buffers = [None, pa.py_buffer(_offsets(lengths).astype(np.int32)), pa.py_buffer(b"".join(texts) * times)]
    array = pa.Array.from_buffers(pa.string(), len(texts) * times, buffers)
    array.validate(full=True)
    return array


def _windows(data: Bytes, width: int, at: Numbers) -> Bytes:
    """The `width` bytes from each position on, one row each."""
    if not width:
        return np.empty((len(at), 0), np.uint8)
    if len(data) < width:
        raise Irregular("it is cut off")
    views = np.ndarray((len(data) - width + 1,), np.dtype((np.void, width)), data, strides=(1,))
    rows: Bytes = views[at].view(np.uint8).reshape(len(at), width)
    return rows


def texts_at(data: Bytes, starts: Numbers, lengths: Numbers, period: int = 1) -> pa.Array:
    """The texts at these places, copied together. Often all have one length, or every first, second … of `period` has."""
    offsets = _offsets(lengths)
    if int(offsets[-1]) >= 1 << 31:
        raise Irregular("too much text for one array")
    widths = lengths[:period]
    rows = len(lengths) // max(period, 1)
    if rows * period == len(lengths) and (lengths.reshape(rows, period) == widths).all():
        copied = _of_widths(data, starts, widths.tolist(), rows)
    else:
        places = np.repeat(starts - offsets[:-1], lengths)
        places += np.arange(len(places))
        copied = data.take(places)
    buffers = [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(copied)]
    texts = pa.Array.from_buffers(pa.string(), len(lengths), buffers)
    if copied.size and int(copied.max()) >= 0x80:
        texts.validate(full=True)
    return texts


def _of_widths(data: Bytes, starts: Numbers, widths: list[int], rows: int) -> Bytes:
    if len(widths) == 1:
        return _windows(data, widths[0], starts)
    copied = np.empty((rows, sum(widths)), np.uint8)
    left = 0
    for number, width in enumerate(widths):
        copied[:, left : left + width] = _windows(data, width, starts[number :: len(widths)])
        left += width
    return copied


def _offsets(lengths: Numbers) -> Numbers:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def _fitting(numbers: Numbers, kind: pa.DataType) -> npt.NDArray[Any]:
    if pa.types.is_int64(kind):
        return numbers
    narrow = numbers.astype(kind.to_pandas_dtype())
    if not np.array_equal(narrow, numbers):
        raise Irregular(f"a number is too large for {kind}")
    return narrow


def _flags(values: Bytes) -> pa.Array:
    bits = np.packbits(values != 0, bitorder="little")
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, pa.py_buffer(bits)])


def _array(kind: pa.DataType, values: npt.NDArray[Any], there: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    valid = None if there is None else pa.py_buffer(np.packbits(there, bitorder="little"))
    return pa.Array.from_buffers(kind, len(values), [valid, pa.py_buffer(np.ascontiguousarray(values))])
