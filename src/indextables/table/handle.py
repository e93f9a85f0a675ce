"""`TableHandle`: which table, and at which version. Every verb of this package takes one.

    open_table ──▶ TableHandle(log, snapshot) ──▶ verb ──▶ answer
                       │ .files(where)      the live files of the version
                       │ .moved(snapshot)   the same table at another version
                       └ .without_files()   what travels to another process

A handle also keeps facts that every question asks for and that never change within a version: the whole list of files, whether
the splits are ours, the mapping and the queries that were bound to it, the plan of a write. So a warm verb computes none again.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import pyarrow as pa

from indextables.core.arrow_values import empty_table
from indextables.core.options import Options
from indextables.core.predicate import Predicate
from indextables.core.runtime.cached_property import cached_property
from indextables.core.runtime.process_state import Lru, ProcessLocal
from indextables.log.bound_limits import StatsLimits
from indextables.log.file_entries import FILE_SCHEMA
from indextables.log.file_set import FileSet
from indextables.log.protocol import check_writable
from indextables.log.refresh import refresh
from indextables.log.snapshot import LogAtVersion, Snapshot
from indextables.log.snapshot_files import read_files
from indextables.split.index.doc_mapping import DocMapping
from indextables.table.format_gate import foreign_table, holds_bundles
from indextables.table.open_log import process_log
from indextables.table.table_mapping import TableFacts, facts_of, table_mapping
from indextables.table.write_plan import WritePlan, plan_write

_OF_METADATA: Final = ("schema", "facts", "mapping_for_writing", "stats_limits", "write_plan")
"""Facts that hold for every version with the same metadata. A handle passes them on when it moves."""
_MOST_RECEIVED: Final = 32
"""At most so many handles that other processes sent are kept: those of the reads that a worker takes part in."""
_MOST_KEPT_BYTES: Final = 1 << 20
"""Bytes of a pickled snapshot up to which the handle is kept. A head has some kilobytes, a list of files may have gigabytes."""
_Sent: TypeAlias = tuple[str, tuple[tuple[str, str], ...], bytes]
"""What travels of a handle: the URL, the options as text, and the pickled snapshot."""


@dataclass(frozen=True, eq=False)
class TableHandle(LogAtVersion):
    """A table at one version: the log under its URL, and the snapshot that the log gave. A handle pickles as a recipe.

    The verbs of the log take a handle as it is.

    The version, the schema and the files of a handle never change, so threads may share one. Only where the snapshot reads its
    files from may change: see `files`.
    """

    @cached_property
    def url(self) -> str:
        """Where the table lies."""
        return self.log.url

    @property
    def options(self) -> Options:
        """The options that the caller opened the table with."""
        return self.log.options

    @property
    def version(self) -> int:
        """The version of the snapshot."""
        return self.snapshot.version

    @property
    def table_id(self) -> str:
        """The table's identity: another table at the same place has another one."""
        return self.snapshot.table_id

    @cached_property
    def schema(self) -> pa.Schema:
        """The table's schema, partition columns included."""
        return self.snapshot.schema

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """The columns that files are partitioned by, in order."""
        return tuple(self.snapshot.metadata.partition_columns)

    @cached_property
    def facts(self) -> TableFacts:
        """What follows from the table's metadata: the mapping, and queries that were bound to it."""
        return facts_of(self.snapshot)

    @cached_property
    def mapping_for_writing(self) -> DocMapping:
        """The mapping of new splits. Raises OptionError where the caller's options contradict the table's."""
        return table_mapping(self.snapshot, self.options)

    @cached_property
    def stats_limits(self) -> StatsLimits:
        """Which columns of new splits get minima and maxima, and how long these may be."""
        return StatsLimits(self.schema, self.partition_columns, self.options)

    @cached_property
    def write_plan(self) -> WritePlan:
        """What a write of rows must know. Raises OptionError where the caller's options contradict the table's."""
        return plan_write(self.log, self.snapshot.metadata, self.mapping_for_writing, self.stats_limits)

    def require_matching_options(self) -> None:
        """Raise OptionError where the caller's options ask for another mapping than the table has."""
        _ = self.mapping_for_writing

    @cached_property
    def is_local(self) -> bool:
        """True if the table lies on a disk of this machine, where reading is not waiting."""
        return self.log.is_local

    @property
    def is_state_due(self) -> bool:
        """True if a commit that made this version writes a state after it: every `checkpoint.interval` versions."""
        every = self.log.settings.checkpoint_every
        return every is not None and self.version > 0 and self.version % every == 0

    @cached_property
    def holds_bundles(self) -> bool:
        """True if the table's splits are of our format."""
        return holds_bundles(self.snapshot.protocol)

    def require_bundles(self, doing: str) -> None:
        """Raise ForeignTable unless the table's splits are ours. `doing` completes "… rows": reading, writing."""
        if not self.holds_bundles:
            raise foreign_table(self.url, doing)

    def require_writable(self, doing: str) -> None:
        """Raise ForeignTable or UnsupportedProtocol unless this release can write rows of the table. `doing` as above."""
        self.require_bundles(doing)
        check_writable(self.url, self.snapshot.protocol)

    def files(self, where: Predicate | None = None) -> pa.Table:
        """The live files, without those that cannot hold a row for which `where` is true.

        A state's manifests are read here, long after the table was opened. Where a manifest is gone or damaged, the same
        version is opened again from other objects, and this handle keeps that snapshot, so that the next question need not open
        it once more.
        """
        return self._all_files if where is None else self._read_files(where)

    @cached_property
    def _all_files(self) -> pa.Table:
        return self._read_files(None)

    def _read_files(self, where: Predicate | None) -> pa.Table:
        snapshot, files = read_files(self, where)
        if snapshot is not self.snapshot:
            object.__setattr__(self, "snapshot", snapshot)  # the same version, read from other objects
        return files

    def moved(self, to: Snapshot) -> TableHandle:
        """A handle of this table at the version of another snapshot."""
        if to is self.snapshot:
            return self
        handle = TableHandle(self.log, to)
        names = [*(_OF_METADATA if to.metadata is self.snapshot.metadata else ()), "is_local", "url"]
        if to.protocol is self.snapshot.protocol:
            names.append("holds_bundles")
        handle.__dict__.update({name: self.__dict__[name] for name in names if name in self.__dict__})
        return handle

    def refreshed(self) -> TableHandle:
        """The table at its newest version. Raises TableReplaced where another table lies at the URL now."""
        return self.moved(refresh(self))

    def without_files(self) -> TableHandle:
        """The version, its schema and its properties, without its files: what tasks in other processes need."""
        return TableHandle(self.log, without_files(self.snapshot))

    def __reduce__(self) -> tuple[Any, ...]:
        """The URL, the options and the snapshot travel. A process opens the log once, and keeps the handle for the next task."""
        options = tuple(sorted(self.log.options.explicit().items()))
        return _received, (self.log.url, options, pickle.dumps(self.snapshot, pickle.HIGHEST_PROTOCOL))


def without_files(snapshot: Snapshot) -> Snapshot:
    """The snapshot with an empty list of files, and without transactions, skip records and registered mappings.

    When the snapshot was last seen to be the newest one is left out too, so that the same version is the same value.
    """
    nothing = FileSet(empty_table(FILE_SCHEMA))
    return replace(snapshot, file_set=nothing, transactions={}, skips=(), registry={}, checked=0.0, tip=None)


_RECEIVED: Final[ProcessLocal[Lru[_Sent, TableHandle]]] = ProcessLocal(lambda: Lru(_MOST_RECEIVED))
"""Handles that other processes sent, by exactly what they sent: the next task of the same read finds all facts computed."""


def _received(url: str, options: tuple[tuple[str, str], ...], snapshot: bytes) -> TableHandle:
    sent = (url, options, snapshot)
    handle = _RECEIVED.value.get(sent)
    if handle is None:
        handle = TableHandle(process_log(url, Options(dict(options))), pickle.loads(snapshot))  # noqa: S301 - our own
        if len(snapshot) <= _MOST_KEPT_BYTES:
            _RECEIVED.value.put(sent, handle)
    return handle
