"""A state's live files, read when somebody looks, and only the manifests that may matter.

Opening a table of a million files reads its state, a few kilobytes; the manifests follow when files are asked for. A question
about one partition reads the manifests whose bounds let it in and no others.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from indextables.core.errors import CorruptLog
from indextables.core.metrics import METRICS
from indextables.core.predicate import Predicate, may_match
from indextables.log.avro.manifest import read_manifest
from indextables.log.files import FILE_SCHEMA
from indextables.log.skipping import manifest_bounds
from indextables.log.state.model import ManifestItem, State, manifest_key
from indextables.log.tablelog import TableLog, check_paths


class StateFiles:
    """The files of one state. Keeps the whole table once it was asked for."""

    def __init__(self, log: TableLog, state: State, known: pa.Table | None = None) -> None:
        self._log = log
        self._state = state
        self._table = known

    @property
    def state(self) -> State:
        """The state whose files these are."""
        return self._state

    def table(self) -> pa.Table:
        """All live files."""
        if self._table is None:
            self._table = self._read(self._state.manifests, FILE_SCHEMA.names)
        return self._table

    def matching(self, where: Predicate, schema: pa.Schema) -> pa.Table:
        """Live files of the manifests that may hold what `where` asks for."""
        if self._table is not None:
            return self._table
        return self._read([item for item in self._state.manifests if may_hold(item, where, schema)], FILE_SCHEMA.names)

    def columns(self, names: Sequence[str]) -> pa.Table:
        """Some columns of all live files."""
        if self._table is not None:
            return self._table.select(names)
        return self._read(self._state.manifests, names)

    def __reduce__(self) -> tuple[Any, ...]:
        return StateFiles, (self._log, self._state)

    def _read(self, items: Sequence[ManifestItem], names: Sequence[str]) -> pa.Table:
        with METRICS.timed("indextables.state.read.duration_ms"):
            found = self._read_now(items, names)
        METRICS.observe("indextables.state.read.manifest_count", len(items))
        METRICS.observe("indextables.state.read.file_count", found.num_rows)
        return found

    def _read_now(self, items: Sequence[ManifestItem], names: Sequence[str]) -> pa.Table:
        wanted = list(dict.fromkeys(["path", *names]))
        log = self._log
        tables = log.side_by_side([partial(load_manifest, log, self._state.version, item, wanted) for item in items])
        schema = pa.schema([FILE_SCHEMA.field(name) for name in wanted])
        found = pa.concat_tables([schema.empty_table(), *tables])
        if self._state.tombstones:
            dead = pa.array(sorted(self._state.tombstones), pa.string())
            found = found.filter(pc.invert(pc.is_in(found.column("path"), value_set=dead)))
        return _last_of_each_path(found).select(names)


def may_hold(item: ManifestItem, where: Predicate, schema: pa.Schema) -> bool:
    """Whether a manifest's bounds let the predicate in."""
    return may_match(where, manifest_bounds(item.bounds, schema, typed=item.typed))


def load_manifest(log: TableLog, version: int, item: ManifestItem, columns: Sequence[str]) -> pa.Table:
    """A manifest's entries. Its length, its checksum and the number of its entries must be what the state says."""
    key = manifest_key(item.path, version)
    name = f"{log.url}/{key}"
    data = log.store.get(key).data
    if item.length is not None and item.length != len(data):
        raise CorruptLog(f"{name} has {len(data)} bytes, state {version} says {item.length}", object=name)
    if item.checksum is not None and item.checksum != checksum(data):
        raise CorruptLog(f"{name} is damaged: its checksum is {checksum(data)}, not {item.checksum}", object=name)
    table = read_manifest(name, data, columns)
    if table.num_rows != item.num_entries:
        raise CorruptLog(f"{name} has {table.num_rows} entries, state {version} says {item.num_entries}", object=name)
    check_paths(log.url, table.column("path").to_pylist(), name)
    return table


def checksum(data: bytes) -> str:
    """A manifest's checksum as states carry it."""
    return f"xxh3:{xxhash.xxh3_64_hexdigest(data)}"


def _last_of_each_path(files: pa.Table) -> pa.Table:
    """A path that was added again while it was live has two entries: the last one counts."""
    if pc.count_distinct(files.column("path")).as_py() == files.num_rows:
        return files
    numbered = files.select(["path"]).append_column("row", pa.array(np.arange(files.num_rows)))
    last = numbered.group_by("path").aggregate([("row", "max")]).column("row_max")
    return files.take(pa.array(np.sort(last.to_numpy())))
