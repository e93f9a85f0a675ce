"""A state's live files, read when somebody looks, and only the manifests that may matter.

Opening a table of a million files reads its state, a few kilobytes; the manifests follow when files are asked for. A question
about one partition reads the manifests whose bounds let it in and no others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from indextables.core.errors import CorruptLog
from indextables.core.metrics import METRICS
from indextables.core.predicate import Predicate, may_match
from indextables.log.avro.avro_file import read_container
from indextables.log.avro.manifest import read_entries, read_records
from indextables.log.avro.record_lengths import Numbers
from indextables.log.avro.shared_columns import integers
from indextables.log.file_entries import FILE_SCHEMA
from indextables.log.pruning.file_pruning import manifest_bounds, prune_files
from indextables.log.state.model import ManifestItem, State, manifest_key
from indextables.log.state.tombstone_filter import Dead, may_repeat
from indextables.log.table_log import TableLog, check_path_column

Where = Callable[[pa.Table], pa.Table]
"""Files → those of them that may matter."""


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

    def matching(self, where: Predicate, schema: pa.Schema, partition_columns: Sequence[str] = ()) -> pa.Table:
        """Live files that may hold what `where` asks for, from the manifests that may."""
        if self._table is not None:
            return self._table
        items = [item for item in self._state.manifests if item.may_repeat or may_hold(item, where, schema)]
        return self._read(items, FILE_SCHEMA.names, lambda files: prune_files(files, where, schema, partition_columns))

    def columns(self, names: Sequence[str]) -> pa.Table:
        """Some columns of all live files."""
        if self._table is not None:
            return self._table.select(names)
        return self._read(self._state.manifests, names)

    def __reduce__(self) -> tuple[Any, ...]:
        return StateFiles, (self._log, self._state)

    def _read(self, items: Sequence[ManifestItem], names: Sequence[str], where: Where | None = None) -> pa.Table:
        with METRICS.timed("indextables.state.read.duration_ms"):
            found = self._read_now(items, names, where)
        METRICS.observe("indextables.state.read.manifest_count", len(items))
        METRICS.observe("indextables.state.read.file_count", found.num_rows)
        return found

    def _read_now(self, items: Sequence[ManifestItem], names: Sequence[str], where: Where | None) -> pa.Table:
        wanted = list(dict.fromkeys(["path", "addedAtVersion", *names]))
        log, version = self._log, self._state.version
        ours = all(item.typed for item in items)
        load = partial(load_manifest, log, version, columns=wanted, dead=Dead(self._state.tombstones))
        tables = log.side_by_side(
            [partial(load, item=item, where=where if ours and not item.may_repeat else None) for item in items]
        )
        schema = pa.schema([FILE_SCHEMA.field(name) for name in wanted])
        found = pa.concat_tables([schema.empty_table(), *tables])
        if not ours or any(item.may_repeat for item in items):
            found = last_of_each_path(found)
        return found.select(names)


def may_hold(item: ManifestItem, where: Predicate, schema: pa.Schema) -> bool:
    """Whether a manifest's bounds let the predicate in."""
    return may_match(where, manifest_bounds(item.bounds, schema, typed=item.typed))


def load_manifest(
    log: TableLog,
    version: int,
    item: ManifestItem,
    columns: Sequence[str],
    *,
    dead: Dead | None = None,
    where: Where | None = None,
    records: bool = False,
) -> pa.Table:
    """A manifest's entries: all, or those that are not dead and that `where` lets through; with their records, if asked for.

    Its length, its checksum and the number of its entries must be what the state says, and every path inside the table.
    """
    key = manifest_key(item.path, version)
    name = f"{log.url}/{key}"
    data = log.store.get(key).data
    if item.length is not None and item.length != len(data):
        raise CorruptLog(f"{name} has {len(data)} bytes, state {version} says {item.length}", object=name)
    if item.checksum is not None and item.checksum != checksum(data):
        raise CorruptLog(f"{name} is damaged: its checksum is {checksum(data)}, not {item.checksum}", object=name)
    container = read_container(name, data)
    if container.count != item.num_entries:
        raise CorruptLog(f"{name} has {container.count} entries, state {version} says {item.num_entries}", object=name)

    def check(entries: pa.Table) -> Numbers | None:
        check_path_column(log.url, entries.column("path"), name)
        return _kept(entries, dead, where)

    checked = item.checksum is not None
    if records:
        return read_records(container, data, columns, check, checked=checked)
    return read_entries(container, data, columns, check, selective=where is not None, checked=checked)


def _kept(entries: pa.Table, dead: Dead | None, where: Where | None) -> Numbers | None:
    """The rows to keep; None where that is all of them."""
    rows = np.arange(entries.num_rows)
    if dead:
        gone = dead.rows(entries.column("path"))
        rows = np.delete(rows, gone) if len(gone) else rows
    if where is not None:
        numbered = entries.append_column("row", integers(np.arange(entries.num_rows)))
        found = where(numbered).column("row").to_numpy()
        rows = found if len(rows) == entries.num_rows else np.intersect1d(rows, found, assume_unique=True)
    return None if len(rows) == entries.num_rows else rows


def checksum(data: bytes) -> str:
    """A manifest's checksum as states carry it."""
    return f"xxh3:{xxhash.xxh3_64_hexdigest(data)}"


def last_of_each_path(files: pa.Table) -> pa.Table:
    """A path that was added again while it was live has two entries: the later one counts, and of two equal ones the last."""
    if not may_repeat(files.column("path")):
        return files
    numbered = files.select(["path", "addedAtVersion"]).append_column("row", integers(np.arange(files.num_rows)))
    order = pc.sort_indices(numbered, sort_keys=[("addedAtVersion", "ascending"), ("row", "ascending")])
    ranked = numbered.take(order).append_column("rank", integers(np.arange(files.num_rows)))
    last = ranked.group_by("path").aggregate([("rank", "max")]).column("rank_max")
    return files.take(integers(np.sort(ranked.column("row").take(last).to_numpy())))
