"""`Snapshot`: everything a reader or writer needs to know of a table at one version, and the fold that makes it.

A snapshot never changes. Applying a version gives the next one; refreshing gives the newest. It knows when it was last known
to be the newest (`checked`), against which version 0 (`anchor`), and whether a version is missing behind it (`gap`).

A snapshot is a value and reaches no store. `LogAtVersion` is a snapshot with the log that it came from: the verbs of this
package that go on from a version (refresh, commit, checkpoint, clean up, look back) take one.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import pyarrow as pa

from indextables.core import options as opt
from indextables.core.errors import OptionError, TableReplaced
from indextables.core.predicate import Predicate
from indextables.core.runtime.cached_property import cached_property
from indextables.core.types import spark_json_to_arrow
from indextables.log.actions import (
    LEGACY_PROTOCOL,
    Actions,
    MetadataAction,
    ProtocolAction,
    SkipAction,
    TxnAction,
    registered_schemas,
)
from indextables.log.file_entries import NO_FILES
from indextables.log.file_set import FileSet
from indextables.log.protocol import has_feature
from indextables.log.table_log import TableLog

logger = logging.getLogger("indextables")

HOUR_MS = 3_600_000
"""Milliseconds of an hour."""
_OF_METADATA = ("schema", "safety_age_seconds")
"""Facts that hold for every version with the same metadata. A snapshot passes them on to those that are made of it."""
_OF_PROTOCOL = ("registers_mappings",)
"""Facts that hold for every version with the same protocol."""


@dataclass(frozen=True)
class Snapshot:
    """A table at one version."""

    url: str
    version: int
    timestamp: int
    """Of the version: milliseconds since 1970, strictly growing with the version."""
    protocol: ProtocolAction
    metadata: MetadataAction
    file_set: FileSet
    transactions: Mapping[str, TxnAction]
    skips: tuple[SkipAction, ...]
    registry: Mapping[str, str]
    """Doc mappings by their hash: all that the log registered, not only the newest metadata's."""
    base: int | None = None
    """The state or checkpoint that this was replayed from."""
    floor: int = 0
    """Time travel does not go below this version."""
    gap: int | None = None
    """The first missing version, where versions of this table lie above it."""
    anchor: str | None = None
    """ETag of version 0; None where there is no version 0 (other implementations delete it)."""
    tip: tuple[int, str | None] | None = None
    """A version and the ETag of its file, as this was last seen."""
    state_committed: bool = False
    """The newest state has no version file of its number: another implementation commits states, and we only read."""
    checked: float = 0.0
    """When the request was sent that showed this to be the newest version (`Clock.boot`)."""

    @property
    def table_id(self) -> str:
        """The table's identity, from version 0."""
        return self.metadata.id

    @property
    def files(self) -> pa.Table:
        """The live files, with the columns of `FILE_SCHEMA`."""
        return self.file_set.table()

    def select_files(self, where: Predicate | None) -> pa.Table:
        """The live files, without those that cannot hold a row for which `where` is true."""
        if where is None:
            return self.files
        return self.file_set.matching(where, self.schema, tuple(self.metadata.partition_columns))

    @cached_property
    def schema(self) -> pa.Schema:
        """The table's schema."""
        return spark_json_to_arrow(self.metadata.schema_string)

    @cached_property
    def registers_mappings(self) -> bool:
        """True if writers put doc mappings into the metadata, and their hashes into the files' entries."""
        return has_feature(self.protocol, "schemaDeduplication")

    @cached_property
    def safety_age_seconds(self) -> float:
        """How long what is new is left alone by clean-up: the same for every client of the table."""
        return self._hours(opt.SAFETY_AGE_HOURS) * 3600.0

    def latest_txn(self, app_id: str) -> TxnAction | None:
        """The newest batch of an exactly-once writer, unless it is so old that the table has forgotten it."""
        txn = self.transactions.get(app_id)
        if txn is None or txn.last_updated is None:
            return txn
        kept_ms = self._hours(opt.TXN_RETENTION_HOURS) * HOUR_MS
        return txn if txn.last_updated >= self.timestamp - kept_ms else None

    def _hours(self, option: opt.Option[float]) -> float:
        """A table property in hours. One that cannot be read, which no writer of ours leaves, counts as not set."""
        try:
            return opt.table_value(self.metadata.configuration, option)
        except OptionError as error:
            logger.warning("table %s: %s; using %s hours", self.url, error, option.default)
            return option.default

    def with_checked(self, checked: float) -> Snapshot:
        """A copy of the snapshot that was seen to be the newest at `checked`."""
        return self.changed(checked=checked)

    def changed(self, **values: Any) -> Snapshot:
        """A copy of the snapshot with other values, and with the facts that follow from what stays the same."""
        copy = replace(self, **values)
        names = [
            *(_OF_METADATA if copy.metadata is self.metadata else ()),
            *(_OF_PROTOCOL if copy.protocol is self.protocol else ()),
        ]
        copy.__dict__.update({name: self.__dict__[name] for name in names if name in self.__dict__})
        return copy

    def __getstate__(self) -> dict[str, Any]:
        facts = (*_OF_METADATA, *_OF_PROTOCOL)
        return {key: value for key, value in self.__dict__.items() if key not in facts}


@dataclass(frozen=True, eq=False)
class LogAtVersion:
    """A table's log, and a snapshot of the table that came from this log."""

    log: TableLog
    snapshot: Snapshot


def first_snapshot(url: str, version: int, timestamp: int, actions: Actions) -> Snapshot:
    """A snapshot from version 0, or from a checkpoint, which says everything that the versions below it said."""
    metadata = actions.metadata
    if metadata is None:
        raise ValueError("a table begins with its metadata")
    info = actions.commit_info
    start = Snapshot(
        url=url,
        version=version,
        timestamp=timestamp,
        protocol=LEGACY_PROTOCOL,
        metadata=metadata,
        file_set=FileSet(NO_FILES),
        transactions={},
        skips=(),
        registry={},
        floor=(info.time_travel_floor or 0) if info else 0,
    )
    return _fold(start, version, timestamp, actions)


def apply_version(snapshot: Snapshot, version: int, timestamp: int, actions: Actions) -> Snapshot:
    """The snapshot after one more version. One that was written for another table counts as empty."""
    info = actions.commit_info
    if info is not None and info.table_id not in (None, snapshot.table_id):
        return snapshot.changed(version=version)
    return _fold(snapshot, version, max(timestamp, snapshot.timestamp + 1), actions)


def check_same_table(before: Snapshot, after: Snapshot) -> None:
    """Raise TableReplaced if a URL that held the table of `before` holds another table now."""
    if after.table_id != before.table_id:
        raise TableReplaced(
            f"table {before.url} was dropped and created again since it was opened; open it anew", url=before.url
        )


def _fold(snapshot: Snapshot, version: int, timestamp: int, actions: Actions) -> Snapshot:
    changes: dict[str, Any] = {
        "version": version,
        "timestamp": timestamp,
        "file_set": snapshot.file_set.after(version, timestamp, actions),
    }
    if actions.protocol is not None:
        changes["protocol"] = actions.protocol
    if actions.metadata is not None:
        changes["metadata"] = _same_identity(snapshot, actions.metadata)
        changes["registry"] = {**snapshot.registry, **registered_schemas(actions.metadata.configuration)}
    if actions.txns:
        stamped = (
            txn if txn.last_updated is not None else TxnAction(txn.app_id, txn.version, timestamp)
            for txn in actions.txns
        )
        changes["transactions"] = {**snapshot.transactions, **{txn.app_id: txn for txn in stamped}}
    if actions.skips:
        changes["skips"] = snapshot.skips + actions.skips
    info = actions.commit_info
    if info is not None and info.time_travel_floor is not None:
        changes["floor"] = max(snapshot.floor, info.time_travel_floor)
    return snapshot.changed(**changes)


def _same_identity(snapshot: Snapshot, metadata: MetadataAction) -> MetadataAction:
    """Metadata may change everything but the table's identity, which is version 0's."""
    return metadata if metadata.id == snapshot.table_id else msgspec.structs.replace(metadata, id=snapshot.table_id)
