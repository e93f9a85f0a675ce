"""The smallest and largest partition values of a manifest, by the column's type, and the order of files in compaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.arrow_values import distinct_codes, numpy_of, scalar_of
from indextables.core.values import column_from_text, is_text
from indextables.log.avro.shared_columns import integers
from indextables.log.state.model import Bounds

Numbers = npt.NDArray[np.int64]

_WORTH_A_VIEW = 64
"""Rows that a view must hold on average to be cheaper than copying them."""


def partition_texts(files: pa.Table, column: str) -> pa.Array:
    """A partition column's values as they stand in the log; absent is null."""
    found = [_last_entries(chunk, column) for chunk in files.column("partitionValues").chunks]
    return pa.concat_arrays(found) if found else pa.nulls(0, pa.string())


def _last_entries(maps: pa.MapArray, key: str) -> pa.Array:
    """The last value under a key in every map. Arrow's own map_lookup takes five times as long."""
    offsets = numpy_of(maps.offsets).astype(np.int64)
    first, last = int(offsets[0]), int(offsets[-1])
    keys, items = maps.keys.slice(first, last - first), maps.items.slice(first, last - first)
    here = pc.equal(keys, scalar_of(key, keys.type))
    if last - first == len(maps) and (np.diff(offsets) == 1).all() and pc.all(here, min_count=0).as_py():
        return items.cast(pa.string())
    entries = np.flatnonzero(numpy_of(here))
    owners = np.searchsorted(offsets - first, entries, side="right") - 1
    places = np.full(len(maps), -1, np.int64)
    places[owners] = entries  # of two equal keys the last stays
    absent = places < 0
    if maps.null_count:
        absent |= numpy_of(maps.is_null())
    return items.take(integers(places, absent)).cast(pa.string())


def partition_bounds(files: pa.Table, schema: pa.Schema, columns: Sequence[str]) -> Bounds | None:
    """Bounds of each partition column.

    A column gets none (`None, None`) where a file has no value, or one that is not of the column's type: such a manifest
    must be read whatever is asked for.
    """
    if not columns:
        return None
    bounds: dict[str, tuple[str | None, str | None]] = {}
    for column in columns:
        texts = partition_texts(files, column).unique()
        kind = type_of(schema, column)
        values = texts if is_text(kind) else column_from_text(texts, kind)
        if not len(texts) or values.null_count:
            bounds[column] = (None, None)
            continue
        order = pc.array_sort_indices(values)
        bounds[column] = (texts[order[0].as_py()].as_py(), texts[order[-1].as_py()].as_py())
    return bounds


def partition_order(files: pa.Table, schema: pa.Schema, columns: Sequence[str]) -> tuple[pa.Table, Numbers]:
    """The files sorted by typed partition values, and where each new partition begins."""
    if not columns or not files.num_rows:
        return files, np.zeros(1 if files.num_rows else 0, np.int64)
    codes, most = np.zeros(files.num_rows, np.int64), 1
    for column in columns:
        encoded = partition_texts(files, column).dictionary_encode(null_encoding="encode")
        ranks = _ranks(encoded.dictionary, type_of(schema, column))
        if most * len(ranks) >= 1 << 62:
            codes = distinct_codes(codes)[1]
            most = int(codes.max()) + 1
        codes, most = codes * len(ranks) + ranks[numpy_of(encoded.indices)], most * len(ranks)
    order = np.argsort(_narrow(codes), kind="stable")
    codes = codes[order]
    starts = np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]]))
    return _in_order(files, order), starts


def _ranks(texts: pa.Array, kind: pa.DataType) -> Numbers:
    """The place of each of some different texts among them: by value, then by text, what has neither last."""
    typed = texts if is_text(kind) else column_from_text(texts, kind)
    table = pa.table({"value": typed, "text": texts})
    order = numpy_of(pc.sort_indices(table, sort_keys=[("value", "ascending"), ("text", "ascending")]))
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return ranks


def _narrow(codes: Numbers) -> npt.NDArray[Any]:
    """In as few bytes as they need: numpy sorts 16-bit numbers by radix."""
    return codes.astype(np.uint16) if int(codes.max()) < 1 << 16 else codes


def _in_order(files: pa.Table, order: Numbers) -> pa.Table:
    """The rows in an order. Where that leaves most of them beside their neighbours, as the order of a sorted table with a few
    new files does, the rows stay where they are, and the table is put together from views of them.
    """
    borders = np.flatnonzero(np.diff(order) != 1) + 1
    if (len(borders) + 1) * _WORTH_A_VIEW > len(order):
        return files.take(integers(order))
    begins = np.concatenate([[0], borders]).tolist()
    ends = [*borders.tolist(), len(order)]
    return pa.concat_tables([files.slice(int(order[b]), e - b) for b, e in zip(begins, ends, strict=True)])


def type_of(schema: pa.Schema, column: str) -> pa.DataType:
    """A partition column's type; where another writer's schema lacks it, its values are only texts."""
    return schema.field(column).type if column in schema.names else pa.string()
