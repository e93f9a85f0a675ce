"""Live files as one Arrow table, and the set of them that grows version by version.

A snapshot's files are a `pyarrow.Table` with the columns of a `FileEntry`. Turning actions into columns costs time in
proportion to what is turned, so a commit must not do it: `FileSet` keeps the versions applied since the last table and
folds them in when somebody asks. An append to a table of a million files then touches none of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, count
from operator import attrgetter
from typing import Any, cast

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.arrow_values import array_of, empty_table, scalar_of
from indextables.log.actions import Actions, AddAction

IntArray = npt.NDArray[np.int64]

_TEXT_MAP = pa.map_(pa.string(), pa.string())
_TEXT_LIST = pa.list_(pa.string())

FILE_SCHEMA = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("partitionValues", _TEXT_MAP, nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("modificationTime", pa.int64(), nullable=False),
        pa.field("dataChange", pa.bool_(), nullable=False),
        pa.field("stats", pa.string()),
        pa.field("minValues", _TEXT_MAP),
        pa.field("maxValues", _TEXT_MAP),
        pa.field("numRecords", pa.int64()),
        pa.field("footerStartOffset", pa.int64()),
        pa.field("footerEndOffset", pa.int64()),
        pa.field("hasFooterOffsets", pa.bool_(), nullable=False),
        pa.field("splitTags", _TEXT_LIST),
        pa.field("numMergeOps", pa.int32()),
        pa.field("docMappingRef", pa.string()),
        pa.field("uncompressedSizeBytes", pa.int64()),
        pa.field("addedAtVersion", pa.int64(), nullable=False),
        pa.field("addedAtTimestamp", pa.int64(), nullable=False),
        pa.field("companionSourceFiles", _TEXT_LIST),
        pa.field("companionDeltaVersion", pa.int64()),
        pa.field("companionFastFieldMode", pa.string()),
        pa.field("docMappingJson", pa.string()),
        pa.field("timeRangeStart", pa.string()),
        pa.field("timeRangeEnd", pa.string()),
        pa.field("tags", _TEXT_MAP),
        pa.field("deleteOpstamp", pa.int64()),
        pa.field("hotcacheStartOffset", pa.int64()),
        pa.field("hotcacheLength", pa.int64()),
    ]
)
"""The columns of a live file, by their names on disk."""

NO_FILES = empty_table(FILE_SCHEMA)

_ATTRIBUTE = {field.encode_name: field.name for field in msgspec.structs.fields(AddAction)}
_ADDS_AT_A_TIME = 256
"""Actions that become Arrow rows together, so that few Python objects live at a time."""
_REMOVED = -1
"""The place of a path that a later version removed."""
_path_of = attrgetter("path")


Version = tuple[int, int, Actions]
"""A version's number, timestamp and actions."""


def files_table(
    adds: Sequence[AddAction], versions: Sequence[int] | IntArray, timestamps: Sequence[int] | IntArray
) -> pa.Table:
    """Actions as rows, in order."""
    if not adds:
        return NO_FILES
    values = _by_field(adds)
    columns: list[pa.Array] = []
    for field in FILE_SCHEMA:
        if field.name == "addedAtVersion":
            columns.append(_integers(versions))
        elif field.name == "addedAtTimestamp":
            columns.append(_integers(timestamps))
        else:
            columns.append(_column(values[field.name], field.type))
    return pa.Table.from_arrays(columns, schema=FILE_SCHEMA)


def _integers(values: Sequence[int] | IntArray) -> pa.Array:
    """Without `pa.array`, which imports all of numpy.ma when it meets the first numpy array of a process."""
    numbers = np.ascontiguousarray(values, np.int64)
    return pa.Array.from_buffers(pa.int64(), len(numbers), [None, pa.py_buffer(numbers)])


def _by_field(adds: Sequence[AddAction]) -> dict[str, list[Any]]:
    """The values of each field. A few actions at a time, so that they are still in the processor's cache for the next field."""
    values: list[list[Any]] = [[None] * len(adds) for _ in _ATTRIBUTE]
    for start in range(0, len(adds), _ADDS_AT_A_TIME):
        part = slice(start, min(start + _ADDS_AT_A_TIME, len(adds)))
        rows = map(msgspec.structs.astuple, adds[part])
        for column, some in zip(values, zip(*rows, strict=True), strict=True):
            column[part] = some
    return dict(zip(_ATTRIBUTE, values, strict=True))


def _column(values: list[Any], kind: pa.DataType) -> pa.Array:
    if values[0] is None and values.count(None) == len(values):
        return pa.nulls(len(values), kind)
    return _map_column(values) if pa.types.is_map(kind) else array_of(values, kind)


def _map_column(values: list[dict[str, str | None] | None]) -> pa.Array:
    """Maps column-wise: flattened keys and values with offsets. Python's own conversion takes three times as long."""
    missing = [value is None for value in values] if None in values else None
    maps = cast("list[dict[str, str | None]]", values if missing is None else [value or {} for value in values])
    offsets = np.zeros(len(maps) + 1, np.int32)
    np.cumsum(np.fromiter(map(len, maps), np.int32, len(maps)), out=offsets[1:])
    keys = array_of(list(chain.from_iterable(maps)), pa.string())
    items = array_of(list(chain.from_iterable(map(dict.values, maps))), pa.string())
    ends = pa.Array.from_buffers(pa.int32(), len(offsets), [None, pa.py_buffer(offsets)])
    array = pa.MapArray.from_arrays(ends, keys, items)
    return array if missing is None else pc.if_else(array_of(missing, pa.bool_()), scalar_of(None, _TEXT_MAP), array)


def rows_to_adds(table: pa.Table) -> list[AddAction]:
    """Rows of `FILE_SCHEMA` as add actions: for rewriting entries, too slow for planning."""
    names = [name for name in table.column_names if name in _ATTRIBUTE]
    adds = []
    for row in table.select(names).to_pylist():
        values = {_ATTRIBUTE[name]: _plain(value, name) for name, value in row.items() if value is not None}
        adds.append(AddAction(**values))
    return adds


def _plain(value: Any, name: str) -> Any:
    kind = FILE_SCHEMA.field(name).type
    if pa.types.is_map(kind):
        return dict(value)
    return tuple(value) if pa.types.is_list(kind) else value


def fold(base: pa.Table, versions: Iterable[tuple[int, int, Actions]]) -> pa.Table:
    """Last action per path wins; inside one version removes apply before adds. A path is never live twice."""
    adds: list[AddAction] = []
    latest: dict[str, int] = {}  # of each path: where its last action stands in `adds`, or that it was removed
    counts, numbers, times = [], [], []
    for version, timestamp, actions in versions:
        for remove in actions.removes:
            latest[remove.path] = _REMOVED
        latest.update(zip(map(_path_of, actions.adds), count(len(adds))))
        adds.extend(actions.adds)
        counts.append(len(actions.adds))
        numbers.append(version)
        times.append(timestamp)
    if base.num_rows:
        touched = pc.is_in(base.column("path"), value_set=array_of(list(latest), pa.string()))
        if pc.any(touched).as_py():
            base = base.filter(pc.invert(touched))
    live = np.fromiter(latest.values(), np.int64, len(latest))
    live = np.sort(live[live != _REMOVED])
    if not len(live):
        return base
    if len(live) < len(adds):
        adds = [adds[index] for index in live]
    fresh = files_table(adds, np.repeat(numbers, counts)[live], np.repeat(times, counts)[live])
    return _compact(pa.concat_tables([base, fresh])) if base.num_rows else fresh


def _compact(table: pa.Table) -> pa.Table:
    """Join the small chunks at the end, so that a table grown by many commits does not become a list of crumbs."""
    chunks = [len(chunk) for chunk in table.column(0).chunks]
    if len(chunks) < 64:
        return table
    keep = next((i for i, size in enumerate(chunks) if size < 65_536), len(chunks))
    rows = sum(chunks[:keep])
    return pa.concat_tables([table.slice(0, rows), table.slice(rows).combine_chunks()])


def paths_in(table: pa.Table, paths: Sequence[str]) -> set[str]:
    """Which of `paths` are live."""
    if not paths or not table.num_rows:
        return set()
    wanted = array_of(paths, pa.string())
    column = table.column("path")
    return set(column.filter(pc.is_in(column, value_set=wanted)).to_pylist())


def with_doc_mappings(table: pa.Table, registry: Mapping[str, str]) -> pa.Table:
    """Fill `docMappingJson` from the registry, where a file only has the hash.

    The column becomes dictionary-encoded: a million files of one wide schema share one copy of its text.
    """
    index = table.schema.get_field_index("docMappingJson")
    refs = table.column("docMappingRef")
    inline = table.column(index)
    texts: list[str] = list(registry.values())
    numbers = pc.index_in(refs, value_set=array_of(list(registry), pa.string()))
    if inline.null_count < len(inline):
        extra = pc.unique(inline.drop_null())
        own = pc.add(pc.index_in(inline, value_set=extra), scalar_of(len(texts), pa.int32()))
        numbers = pc.coalesce(own, numbers)
        texts += extra.to_pylist()
    if pa.types.is_null(numbers.type):
        numbers = numbers.cast(pa.int32())
    dictionary = array_of(texts, pa.string())
    chunks = [pa.DictionaryArray.from_arrays(chunk.cast(pa.int32()), dictionary) for chunk in numbers.chunks]
    kind = pa.dictionary(pa.int32(), pa.string())
    return table.set_column(index, pa.field("docMappingJson", kind), pa.chunked_array(chunks, kind))
