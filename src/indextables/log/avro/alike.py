"""Avro records → Arrow, all records of one layout at a time.

Most files of a table are described alike: the same fields are null, maps have the same keys, texts are as long as their
neighbours. The records of such files differ only in the bytes of their values. So one record of each length is read byte by
byte, which gives a layout: where its values lie, and which bits say so (lengths, counts, keys, branches, the bits by which
numbers go on). Every other record of that length is compared with it: where it agrees in those bits, its values lie in the same
places, and a column is a slice of a matrix of bytes. Those that differ get layouts of their own.

That takes less time than reading in step (`lockstep.py`) or than a native reader where there are few layouts, and more where
there are many: then the block is `Irregular`, and read by other means. Nothing is believed: records that agree in all bits
that a reader goes by are read alike by any reader.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from indextables.core.errors import CorruptLog
from indextables.log.avro.encode_columns import RECORD_FIELD
from indextables.log.avro.layout import Layout, Place, Span, layout_of
from indextables.log.avro.record_lengths import TOP_BITS, Bytes, Irregular, Numbers, Sieve, signed, squeezed
from indextables.log.avro.shared_columns import integers, nothing

_RECORDS_PER_LAYOUT = 400
"""Fewer records to a layout than this are read as fast by other means: to find a layout takes as long as to read a hundred."""
_SOME_LAYOUTS = 8
_SAMPLE = 64
_HIGH = np.uint8(0x80)
_WORD = 8
_LONG = 1 << 16
"""Bytes of a record that is too long to be compared with others."""


_Some = tuple[Numbers, int, npt.NDArray[Any]]
"""Texts of one width, or one for all: where they go, their width, and they themselves."""


@dataclass
class _Group:
    """Records of one layout: which rows they are, their bytes, and where any of them differs from the layout's example."""

    rows: Numbers
    data: Bytes
    layout: Layout
    varying: bytes
    plain: bool
    """Whether all its texts are ASCII."""

    @classmethod
    def of(cls, rows: Numbers, data: Bytes, layout: Layout, varying: Bytes) -> _Group:
        high = (varying | layout.example) & layout.texts & _HIGH
        return cls(rows, data, layout, varying.tobytes(), plain=not high.any())

    def kept(self, places: Numbers) -> _Group:
        """Without the rows whose new place is negative."""
        there = places[self.rows]
        chosen = there >= 0
        return _Group(there[chosen], self.data[chosen], self.layout, self.varying, self.plain)

    def slices(self, begin: int, end: int) -> npt.NDArray[Any]:
        """The bytes between two columns, as one value of each record, or of all where they are the same in all."""
        kind = np.dtype((np.void, end - begin))
        if self.varying.count(0, begin, end) == end - begin:
            return np.frombuffer(self.layout.example, kind, 1, begin)
        return np.ndarray((len(self.rows),), kind, self.data, begin, (self.data.shape[1],))

    def texts(self, places: Numbers, begin: int, end: int) -> list[_Some]:
        """The texts between two columns, which belong into these places."""
        return [(places, end - begin, self.slices(begin, end))] if end > begin else []

    def words(self, begin: int, end: int) -> npt.NDArray[np.uint64]:
        """Up to eight bytes of each record, or of all, as a number."""
        width = end - begin
        slices = self.slices(begin, end)
        padded = np.zeros((len(slices), _WORD), np.uint8)
        padded[:, :width] = np.ascontiguousarray(slices).view(np.uint8).reshape(-1, width)
        return padded.view(np.dtype("<u8"))[:, 0]


def promising(lengths: Numbers) -> bool:
    """Whether records may be of few layouts, by their lengths alone."""
    if not len(lengths) or not 0 <= int(lengths.min()) <= int(lengths.max()) < _LONG:
        return False
    return int(np.count_nonzero(np.bincount(lengths))) <= _most_layouts(len(lengths))


def _most_layouts(records: int) -> int:
    return max(_SOME_LAYOUTS, records // _RECORDS_PER_LAYOUT)


class Alike:
    """Reads some fields of blocks of records; see `Lockstep` for `early` and `sieve`."""

    def __init__(
        self, fields: Sequence[dict[str, Any]], wanted: pa.Schema, early: Sequence[str] = (), sieve: Sieve | None = None
    ) -> None:
        self._fields = list(fields)
        self._names = [field["name"] for field in fields]
        self._wanted = wanted
        self._early = [name for name in early if name in wanted.names and name in self._names]
        self._sieve = sieve
        self._layouts: dict[int, list[Layout]] = {}

    def read(self, block: Any, lengths: Numbers) -> dict[str, pa.Array]:
        """The columns of some records, by name: none where the sieve keeps no row."""
        ends = np.cumsum(lengths)
        if not len(ends) or int(ends[-1]) != len(block) or not promising(lengths):
            raise Irregular("the lengths do not fit the block")
        try:
            return self._read(block, ends - lengths, lengths)
        except (CorruptLog, IndexError, ValueError, OverflowError, pa.ArrowException) as error:
            raise Irregular(str(error)) from error

    def _read(self, block: Any, starts: Numbers, lengths: Numbers) -> dict[str, pa.Array]:
        groups = list(self._groups(block, starts, lengths))
        columns: dict[str, pa.Array] = {}
        if RECORD_FIELD.name in self._wanted.names:
            offsets = pa.py_buffer(np.append(starts, len(block)))
            columns[RECORD_FIELD.name] = pa.Array.from_buffers(
                RECORD_FIELD.type, len(starts), [None, offsets, pa.py_buffer(block)]
            )
        rows = len(starts)
        if self._sieve is not None:
            for name in self._early:
                columns[name] = self._column(groups, name, rows)
            chosen = self._sieve(pa.table({name: columns[name] for name in self._early}))
            if chosen is not None:
                places = np.full(rows, -1)
                places[chosen] = np.arange(len(chosen))
                rows = len(chosen)
                columns = {
                    name: column.take(integers(chosen)) for name, column in columns.items() if name not in self._early
                }
                groups = [kept for group in groups if len((kept := group.kept(places)).rows)]
        if not rows:
            return {}
        for name in self._wanted.names:
            if name in self._names and name not in columns:
                columns[name] = self._column(groups, name, rows)
        return columns

    def _groups(self, block: Any, starts: Numbers, lengths: Numbers) -> Iterator[_Group]:
        """The records by their layouts."""
        most = _most_layouts(len(starts))
        order = np.argsort(lengths.astype(np.uint16), kind="stable")
        borders = np.flatnonzero(np.diff(lengths[order])) + 1
        data = _in_order(block, starts, order)
        runs: list[tuple[Numbers, Bytes]] = []
        begin = 0
        for rows in np.split(order, borders):
            width = int(lengths[rows[0]])
            runs.append((rows, data[begin : begin + len(rows) * width].reshape(len(rows), width)))
            begin += len(rows) * width
        self._try_some(runs, len(starts) // _SAMPLE)
        seen = 0
        for rows, records in runs:
            for group in self._alike(rows, records):
                seen += 1
                if seen > most:
                    raise Irregular(f"{seen} layouts among {len(starts)} records")
                yield group

    def _try_some(self, runs: list[tuple[Numbers, Bytes]], step: int) -> None:
        """See by every so many-th record whether there are few layouts, before all are compared with many."""
        seen = 0
        for rows, records in runs if step > 1 else ():
            if len(rows) < step:
                continue
            for _ in self._alike(rows[::step], records[::step]):
                seen += 1
                if seen > _SAMPLE // 2:
                    raise Irregular(f"{seen} layouts among some {_SAMPLE} records")

    def _alike(self, rows: Numbers, records: Bytes) -> Iterator[_Group]:
        """Records of one length by their layouts: those that were met before, and then new ones."""
        width = records.shape[1]
        known = self._layouts.setdefault(width, [])
        number = 0
        while len(rows):
            fresh = number == len(known)
            layout = layout_of(records[0].copy(), self._fields, self._wanted.names) if fresh else known[number]
            if fresh:
                known.append(layout)
            number += 1
            some, every = np.bitwise_or.reduce(records, axis=0), np.bitwise_and.reduce(records, axis=0)
            varying = (some ^ every) | (every ^ layout.example)
            columns = np.flatnonzero(varying & layout.mask)
            if not len(columns):
                yield _Group.of(rows, records, layout, varying)
                return
            others = ((records[:, columns] ^ layout.example[columns]) & layout.mask[columns]).any(axis=1)
            these = ~others
            if these.any():
                chosen = records[these]
                varying = np.bitwise_or.reduce(chosen ^ layout.example, axis=0)
                yield _Group.of(rows[these], chosen, layout, varying)
                rows, records = rows[others], records[others]

    def _column(self, groups: list[_Group], name: str, rows: int) -> pa.Array:
        """One field of all records."""
        kind = self._wanted.field(name).type
        found = [(group, group.layout.places[name]) for group in groups]
        some = [(group, place) for group, place in found if place is not None]
        if not some:
            return nothing(rows, kind)
        valid = None
        if len(some) < len(found):
            there = np.zeros(rows, np.bool_)
            for group, _ in some:
                there[group.rows] = True
            valid = pa.py_buffer(np.packbits(there, bitorder="little"))
        if pa.types.is_map(kind) or pa.types.is_list(kind):
            return _items(some, rows, kind, valid)
        if pa.types.is_string(kind):
            sizes = np.zeros(rows, np.int64)
            texts: list[_Some] = []
            for group, place in some:
                begin, end = place.spans[0]
                sizes[group.rows] = end - begin
                texts += group.texts(group.rows, begin, end)
            return _texts(texts, sizes, valid, plain=_plain(some))
        return _values(some, rows, kind, valid)


def _in_order(block: Any, starts: Numbers, order: Numbers) -> Bytes:
    """The bytes of the records in another order."""
    offsets = np.append(starts, len(block))
    records = pa.Array.from_buffers(pa.large_binary(), len(starts), [None, pa.py_buffer(offsets), pa.py_buffer(block)])
    return np.frombuffer(records.take(integers(order)).buffers()[2], np.uint8)


def room(count: int, kind: npt.DTypeLike) -> npt.NDArray[Any]:
    """An array in Arrow's memory, which is kept for the next one when it is given back. The system's is not, and to get new
    pages from the system can cost more than to fill them.
    """
    return np.frombuffer(pa.allocate_buffer(count * np.dtype(kind).itemsize), kind)


def _values(some: list[tuple[_Group, Place]], rows: int, kind: pa.DataType, valid: pa.Buffer | None) -> pa.Array:
    """Numbers and truth values."""
    packed = np.zeros(rows, np.uint64)
    spans = [place.spans[0] for _, place in some]
    wide = max(end - begin for begin, end in spans) > _WORD
    for (group, _), span in zip(some, spans, strict=True):
        packed[group.rows] = _wide_numbers(group, span) if wide else group.words(*span)
    if pa.types.is_boolean(kind):
        return pa.Array.from_buffers(kind, rows, [valid, pa.py_buffer(np.packbits(packed != 0, bitorder="little"))])
    values = signed(packed if wide else squeezed(packed & ~TOP_BITS))
    narrow = values if pa.types.is_int64(kind) else values.astype(kind.to_pandas_dtype())
    if narrow is not values and not np.array_equal(narrow, values):
        raise Irregular(f"a number is too large for {kind}")
    return pa.Array.from_buffers(kind, rows, [valid, pa.py_buffer(narrow)])


def _wide_numbers(group: _Group, span: Span) -> npt.NDArray[np.uint64]:
    """Numbers of any width, byte by byte."""
    columns = group.data[:, slice(*span)]
    value = np.zeros(len(columns), np.uint64)
    for number in range(columns.shape[1]):
        value |= (columns[:, number] & np.uint8(0x7F)).astype(np.uint64) << np.uint64(7 * number)
    return value


def _texts(some: list[_Some], sizes: Numbers, valid: pa.Buffer | None = None, *, plain: bool = True) -> pa.Array:
    """Texts of these sizes, each of `some`, which may be several in a row, put into its place."""
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    total = int(offsets[-1])
    if total >= 1 << 31:
        raise Irregular("too much text for one array")
    data = room(total, np.uint8)
    for places, width, texts in some:
        target = np.ndarray((total - width + 1,), texts.dtype, data, strides=(1,))
        target[offsets[places]] = texts
    buffers = [valid, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data)]
    texts = pa.Array.from_buffers(pa.string(), len(sizes), buffers)
    if not plain:
        texts.validate(full=True)
    return texts


def _items(some: list[tuple[_Group, Place]], rows: int, kind: pa.DataType, valid: pa.Buffer | None) -> pa.Array:
    """Maps and lists."""
    counts = np.zeros(rows, np.int64)
    for group, place in some:
        counts[group.rows] = len(place.spans)
    offsets = np.zeros(rows + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    sizes = np.zeros(int(offsets[-1]), np.int64)
    items: list[_Some] = []
    for group, place in some:
        first = offsets[group.rows]
        for number, (begin, end) in enumerate(place.spans):
            places = first + number if number else first
            sizes[places] = end - begin
            items += group.texts(places, begin, end)
    child = _texts(items, sizes, plain=_plain(some))
    if pa.types.is_map(kind):
        keys = _keys(some, offsets)
        child = pa.StructArray.from_arrays([keys, child], fields=[kind.key_field, kind.item_field])
    ends = pa.py_buffer(offsets.astype(np.int32))
    return pa.Array.from_buffers(kind, rows, [valid, ends], children=[child])


def _keys(some: list[tuple[_Group, Place]], offsets: Numbers) -> pa.Array:
    """The keys of maps, which are the same in all records of a layout, and mostly in all."""
    total, keys = int(offsets[-1]), some[0][1].keys
    widths = [len(key) for key in keys]
    if keys and total == len(keys) * (len(offsets) - 1) and all(place.keys == keys for _, place in some):
        ends = np.zeros(total + 1, np.int32)
        np.cumsum(np.tile(widths, len(offsets) - 1), out=ends[1:])
        data = np.frombuffer(b"".join(keys) * (len(offsets) - 1), np.uint8)
        found = pa.Array.from_buffers(pa.string(), total, [None, pa.py_buffer(ends), pa.py_buffer(data)])
    else:
        sizes = np.zeros(total, np.int64)
        texts: list[_Some] = []
        for group, place in some:
            first = offsets[group.rows]
            for number, key in enumerate(place.keys):
                sizes[first + number] = len(key)
            joined = b"".join(place.keys)
            if joined:
                texts.append((first, len(joined), np.frombuffer(joined, np.dtype((np.void, len(joined))))))
        found = _texts(texts, sizes)
    if not all(key.isascii() for _, place in some for key in place.keys):
        found.validate(full=True)
    return found


def _plain(some: list[tuple[_Group, Place]]) -> bool:
    """Whether all texts are ASCII, for what can be said of a whole group."""
    return all(group.plain for group, _ in some)
