"""Data skipping: which files of a snapshot may hold rows that match a predicate.

    partition values (exact)  →  minValues / maxValues of the files left  →  `stats` where those say nothing

Only the columns that the predicate names are touched, and everything runs over whole columns: 100,000 files take a
fraction of a second. What is not known keeps its file: an absent entry, a text that cannot be read, a bound that
contradicts the other one. **No row that matches may ever be skipped**, whoever wrote the statistics, so these are read
with more caution than our own would need:

- A string maximum is a prefix bound, because others cut it without rounding up (`prefix_maximum`).
- String bounds end before the first character at or above U+E000. Below it the orders by code point and by UTF-16 unit
  agree, and the log does not say in which of the two a file's minimum was found.
- Timestamps count by the whole second: others order variable fractions as text, or cut them off.
- A decimal of exactly 32 characters may have lost digits to a writer that cuts every long text, so it is not used.
- Where one bound is in a form that we cannot read, the other is not used either: who knows how they were ordered.
- Minima and maxima say nothing about NaN.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.arrow_values import TRUE_SCALAR, ZERO_SCALAR, array_of, array_of_numbers, numpy_of, scalar_of
from indextables.core.predicate import (
    Column,
    ColumnBounds,
    Comparison,
    IsNotNull,
    IsNull,
    Leaf,
    Predicate,
    Search,
    VectorBounds,
    VectorValues,
    columns_of,
    leaves_of,
    may_match_table,
    prefix_maximum,
)
from indextables.core.values import column_from_text, from_text, has_text_form, is_text
from indextables.log.avro.shared_columns import integers
from indextables.log.pruning.few_files import MOST_FILES, prune_few
from indextables.log.pruning.skipping_counts import Skipped

_CUT_LENGTH: Final = 32
"""Characters at which other writers cut bounds: a text of exactly this length may be cut."""
_FIRST_BYTE_OF_E000: Final = 0xEE
"""The first byte in UTF-8 of U+E000. Bounds are not used from there on: Java orders such characters in another way."""
_EXACT_IN_DOUBLES: Final = 2**53
"""Whole numbers below this are exact as doubles."""


def prune_files(files: pa.Table, predicate: Predicate, schema: pa.Schema, partition_columns: Sequence[str]) -> pa.Table:
    """The files that may hold a matching row, in their order: see `pruned`, which also says what ruled out the others."""
    return pruned(files, predicate, schema, partition_columns)[0]


def pruned(
    files: pa.Table, predicate: Predicate, schema: pa.Schema, partition_columns: Sequence[str]
) -> tuple[pa.Table, Skipped]:
    """The files that may hold a matching row, in their order, and how many of the others were ruled out by what.

    `files` has the log's columns `partitionValues`, `minValues` and `maxValues` (maps), `stats` (JSON) and `numRecords`;
    those that are missing say nothing.
    """
    partitions = {name.lower() for name in partition_columns}
    wanted = {column.name: column for column in columns_of(predicate) if _is_known(column, schema)}
    if files.num_rows <= MOST_FILES:

        def known(column: Column) -> VectorBounds | VectorValues:
            is_partition = column.name.lower() in partitions
            return (
                _partition_values(files, column) if is_partition else _bounds(files, [column], predicate)[column.name]
            )

        named = {name for name in wanted if name.lower() in partitions}
        few = prune_few(files, predicate, list(wanted.values()), known, named)
        if few is not None:
            return few
    before = files.num_rows
    values = {name: _partition_values(files, column) for name, column in wanted.items() if name.lower() in partitions}
    if values:
        keep = may_match_table(predicate, values, length=files.num_rows)
        if not pc.all(keep, min_count=0).as_py():
            files = files.filter(keep)
            values = {
                name: VectorValues(column.values.filter(keep), column.known.filter(keep))
                for name, column in values.items()
            }
    rest = [column for name, column in wanted.items() if name not in values]
    by_partition = before - files.num_rows
    if values and not rest:
        return files, Skipped(by_partition)
    bounds: dict[str, VectorBounds | VectorValues] = {**values, **_bounds(files, rest, predicate)}
    keep = may_match_table(predicate, bounds, length=files.num_rows)
    kept = files if pc.all(keep, min_count=0).as_py() else files.filter(keep)
    return kept, Skipped(by_partition, files.num_rows - kept.num_rows)


def column_bounds(
    files: pa.Table, column: Column, schema: pa.Schema, partition_columns: Sequence[str]
) -> VectorBounds | VectorValues:
    """What the log says about one column of the files: values of a partition column, else minima, maxima and nulls.

    A string maximum is bytes above every text that the file can hold. Nothing is known about NaN.
    """
    if not _is_known(column, schema):
        return VectorBounds()
    if column.name.lower() in {name.lower() for name in partition_columns}:
        return _partition_values(files, column)
    return _bounds(files, [column], IsNull(column))[column.name]


def manifest_bounds(
    bounds: Mapping[str, tuple[str | None, str | None]] | None, schema: pa.Schema, *, typed: bool
) -> dict[str, ColumnBounds]:
    """A manifest's partition bounds for `may_match`, from the texts of each column's minimum and maximum.

    `typed`: the item says `boundsOrder = "typed"`. Without it the bounds were found by comparing texts, or doubles where
    both texts were numbers. That order fits integers, decimals of up to 15 digits, dates and booleans; the bounds of
    other columns are not used. Nothing is known about nulls and NaNs, which bounds leave out.
    """
    found: dict[str, ColumnBounds] = {}
    for name, texts in (bounds or {}).items():
        column = _schema_field(name, schema)
        if column is None or not (typed or _ordered_alike(column.type)):
            continue
        low, high = (from_text(text, column.type) for text in texts)
        if typed or (_exact_as_double(low) and _exact_as_double(high)):
            found[column.name] = ColumnBounds(min=low, max=high)
    return found


def _is_known(column: Column, schema: pa.Schema) -> bool:
    """Whether bounds can be found by the column's name: it is the table's, and no other is spelt alike."""
    alike = [field for field in schema if field.name.lower() == column.name.lower()]
    return not column.nested and len(alike) == 1 and alike[0].name == column.name and alike[0].type == column.type


def _schema_field(name: str, schema: pa.Schema) -> pa.Field | None:
    exact = [field for field in schema if field.name == name]
    found = exact or [field for field in schema if field.name.lower() == name.lower()]
    return found[0] if len(found) == 1 else None


def _ordered_alike(arrow_type: pa.DataType) -> bool:
    kinds = pa.types
    return bool(
        kinds.is_integer(arrow_type)
        or kinds.is_decimal(arrow_type)
        or kinds.is_date32(arrow_type)
        or kinds.is_boolean(arrow_type)
    )


def _exact_as_double(value: Any) -> bool:
    if isinstance(value, Decimal):
        return len(value.as_tuple().digits) <= 15
    return not isinstance(value, int) or abs(value) < _EXACT_IN_DOUBLES


def _partition_values(files: pa.Table, column: Column) -> VectorValues:
    """The column's value in each file. Absent is null; an empty text is null, too, unless the column is a string."""
    texts = _entries(files, "partitionValues", column.name)
    if not is_text(column.type):
        texts = pc.if_else(pc.equal(pc.binary_length(texts), ZERO_SCALAR), scalar_of(None, pa.string()), texts)
    values = column_from_text(texts, column.type)
    return VectorValues(values, pc.or_(pc.is_null(texts), pc.is_valid(values)))


def _bounds(files: pa.Table, columns: Sequence[Column], predicate: Predicate) -> dict[str, VectorBounds]:
    about_nulls = {
        leaf.column.name for leaf in leaves_of(predicate) if leaf.column is not None and _asks_for_nulls(leaf)
    }
    texts = {c.name: (_entries(files, "minValues", c.name), _entries(files, "maxValues", c.name)) for c in columns}
    missing = {name: pc.or_(pc.is_null(low), pc.is_null(high)) for name, (low, high) in texts.items()}
    missing |= {name: pa.repeat(TRUE_SCALAR, files.num_rows) for name in about_nulls & missing.keys()}
    missing = {name: mask for name, mask in missing.items() if pc.any(mask).as_py()}
    stats = _Stats(files, functools.reduce(pc.or_, missing.values()), missing) if missing else None
    found: dict[str, VectorBounds] = {}
    for column in columns:
        low, high = texts[column.name]
        has_nulls = all_null = None
        if stats is not None and column.name in missing:
            has_nulls, all_null = stats.nulls(column.name)
            other_low, other_high = stats.bounds(column.name)
            low, high = pc.coalesce(low, other_low), pc.coalesce(high, other_high)
        low, high = _typed_bounds(low, high, column.type)
        found[column.name] = VectorBounds(min=low, max=high, has_nulls=has_nulls, all_null=all_null)
    return found


def _asks_for_nulls(leaf: Leaf | Search) -> bool:
    return isinstance(leaf, IsNull | IsNotNull) or (isinstance(leaf, Comparison) and leaf.op == "<=>")


def _typed_bounds(low: pa.Array, high: pa.Array, arrow_type: pa.DataType) -> tuple[Any, Any]:
    if not has_text_form(arrow_type):
        return None, None
    if is_text(arrow_type):
        return _before_e000(low), prefix_maximum(_before_e000(high))
    if pa.types.is_decimal(arrow_type) and arrow_type.precision + 2 >= _CUT_LENGTH:
        low, high = _unless_cut(low), _unless_cut(high)
    minimum = column_from_text(low, arrow_type, bound="lower")
    maximum = column_from_text(high, arrow_type, bound="upper")
    strange = pc.or_(_unread(low, minimum), _unread(high, maximum))
    if pc.any(strange).as_py():
        nothing = scalar_of(None, arrow_type)
        minimum, maximum = pc.if_else(strange, nothing, minimum), pc.if_else(strange, nothing, maximum)
    return minimum, maximum


def _unread(texts: pa.Array, values: pa.Array) -> pa.BooleanArray:
    return pc.and_(pc.is_valid(texts), pc.is_null(values))


def _before_e000(texts: pa.Array) -> pa.Array:
    """The texts up to their first character at or above U+E000: its first byte is EE or more, as no other byte is."""
    data = texts.buffers()[2]
    if data is None or not (np.frombuffer(data, np.uint8) >= _FIRST_BYTE_OF_E000).any():
        return texts
    return pc.replace_substring_regex(texts, r"(?s)[\x{E000}-\x{10FFFF}].*\z", "")


def _unless_cut(texts: pa.Array) -> pa.Array:
    return pc.if_else(
        pc.equal(pc.binary_length(texts), scalar_of(_CUT_LENGTH, pa.int64())), scalar_of(None, pa.string()), texts
    )


def _entries(files: pa.Table, map_column: str, name: str) -> pa.Array:
    """The texts of a key in a map column: by the exact name, else by another spelling of its letters."""
    index = files.schema.get_field_index(map_column)
    if index < 0 or not pa.types.is_map(files.schema.field(index).type):
        return pa.nulls(files.num_rows, pa.string())
    maps = files.column(index)
    found = _lookup(maps, name)
    if found.null_count:
        keys = {key for chunk in maps.chunks for key in pc.unique(chunk.keys).to_pylist()}
        for key in sorted(keys - {name}):
            if key.lower() == name.lower():
                found = pc.coalesce(found, _lookup(maps, key))
    return found


def _lookup(maps: pa.ChunkedArray, key: str) -> pa.Array:
    """The first value under a key in every map. Arrow's own map_lookup takes five times as long."""
    found = [_lookup_chunk(chunk, key) for chunk in maps.chunks]
    return pa.concat_arrays(found) if found else pa.nulls(0, pa.string())


def _lookup_chunk(maps: pa.MapArray, key: str) -> pa.Array:
    if not len(maps):
        return pa.nulls(0, pa.string())
    offsets = numpy_of(maps.offsets)
    keys = maps.keys.slice(offsets[0], offsets[-1] - offsets[0])
    entries = np.flatnonzero(numpy_of(pc.equal(keys, scalar_of(key, keys.type)))) + offsets[0]
    owners = np.searchsorted(offsets, entries, side="right") - 1
    places = np.full(len(maps), -1, np.int64)
    places[owners[::-1]] = entries[::-1]  # of two equal keys the first stays
    absent = places < 0
    if maps.null_count:
        absent |= numpy_of(maps.is_null())
    return maps.items.take(integers(places, absent)).cast(pa.string())


class _Json(msgspec.Struct, rename="camel"):
    """What `stats` may hold. Everything is optional, and of any shape."""

    num_records: Any = None
    null_count: Any = None
    min_values: Any = None
    max_values: Any = None


_DECODER: Final = msgspec.json.Decoder(_Json, float_hook=str)  # floats stay the text that was written


class _Stats:
    """The `stats` of some files, for the columns that the maps leave something to be said about."""

    def __init__(self, files: pa.Table, needed: pa.BooleanArray, names: Iterable[str]) -> None:
        self._num_records = _column(files, "numRecords", pa.int64())
        stats = _column(files, "stats", pa.string())
        mask = numpy_of(pc.and_(needed, pc.is_valid(stats)))
        rows = np.flatnonzero(mask)
        places = np.zeros(len(mask), np.int64)
        places[rows] = np.arange(len(rows))
        self._index = array_of_numbers(places, ~mask)
        self._records: list[int | None] = []
        self._columns: dict[str, list[tuple[str | None, str | None, int | None]]] = {name: [] for name in names}
        for text in stats.take(array_of_numbers(rows)).to_pylist():
            self._take(_decoded(text))

    def _take(self, stats: _Json) -> None:
        self._records.append(_count(stats.num_records))
        for name, facts in self._columns.items():
            nulls = _count(_member(stats.null_count, name))
            if stats.min_values is None and stats.max_values is None:
                facts.append((None, None, nulls))
            else:
                low, high = _member(stats.min_values, name), _member(stats.max_values, name)
                facts.append((_text(low), _text(high), nulls))

    def bounds(self, name: str) -> tuple[pa.Array, pa.Array]:
        """The minima and maxima of one column, as texts."""
        facts = self._columns[name]
        low, high = [fact[0] for fact in facts], [fact[1] for fact in facts]
        return self._spread(low, pa.string()), self._spread(high, pa.string())

    def nulls(self, name: str) -> tuple[pa.Array, pa.Array]:
        """Whether the column has nulls, and whether it has nothing else."""
        nulls = self._spread([fact[2] for fact in self._columns[name]], pa.int64())
        inside = self._spread(self._records, pa.int64())
        records = pc.coalesce(self._num_records, inside)
        agreed = pc.fill_null(pc.equal(records, inside), TRUE_SCALAR)
        all_null = pc.and_(agreed, pc.and_(pc.equal(nulls, records), pc.greater(records, ZERO_SCALAR)))
        return pc.greater(nulls, ZERO_SCALAR), all_null

    def _spread(self, values: Sequence[Any], arrow_type: pa.DataType) -> pa.Array:
        if not values:
            return pa.nulls(len(self._index), arrow_type)
        return array_of(values, arrow_type).take(self._index)


def _column(files: pa.Table, name: str, arrow_type: pa.DataType) -> pa.Array:
    if files.schema.get_field_index(name) < 0:
        return pa.nulls(files.num_rows, arrow_type)
    return files.column(name).combine_chunks().cast(arrow_type)


def _decoded(text: str) -> _Json:
    try:
        return _DECODER.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return _Json()  # not JSON, or not an object: says nothing


def _member(mapping: Any, name: str) -> Any:
    if not isinstance(mapping, dict):
        return None
    if name in mapping:
        return mapping[name]
    return next((value for key, value in mapping.items() if key.lower() == name.lower()), None)


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int) else None


def _count(value: Any) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and 0 <= value < 2**63 else None
