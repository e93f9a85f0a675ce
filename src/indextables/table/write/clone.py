"""`Table.clone`: a full copy of a version at another place, in any store: a table of its own, with an id of its own.

    plan ──▶ split ──▶ local disk ──checksums──▶ the new place ──▶ version 0: the table exists ──▶ version 1: all of its rows

Splits are copied byte for byte, several at a time, and never held in memory. Nothing names the copies before version 1 does, so
whatever ends the work earlier takes them back. A process that is killed leaves files that belong to no table. There are no
shallow copies, whose splits would stay at the source: a purge of the source cannot know who else names its splits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from indextables.core import options as opt
from indextables.core.errors import (
    CommitError,
    CommitOutcomeUnknown,
    IndexTablesError,
    ObjectNotFound,
    OptionError,
    SplitError,
    StorageError,
)
from indextables.core.metrics import METRICS
from indextables.log.actions import SCHEMA_KEY, Actions, AddAction
from indextables.log.codec import encode_actions
from indextables.log.conflicts import Change
from indextables.log.create_log import check_no_table, create_log
from indextables.log.file_entries import rows_to_adds, with_doc_mappings
from indextables.log.snapshot import Snapshot
from indextables.log.table_log import TableLog
from indextables.split.bundle.bundle_reader import read_footer, verify_bundle
from indextables.storage.error_translation import translate
from indextables.storage.local import LocalStore
from indextables.storage.object_keys import inside_root
from indextables.table.build.directories import Directories
from indextables.table.build.job_group import JobGroup, scratch
from indextables.table.build.uploads import Uploads, commit_uploads, partition_directory
from indextables.table.handle import TableHandle
from indextables.table.progress import ProgressCounter, Watcher
from indextables.table.write.after_commit import after_commit

OPERATION: Final = "CLONE"
_COPIES: Final = 4
"""Splits that are copied at a time: enough to keep a line busy, few enough for the local disk that holds all of them at once."""
_STEP: Final = 8 << 20
"""Bytes of a split that are fetched in one request, and held in memory by each copy."""


@METRICS.measured("clone")
def clone(source: TableHandle, log: TableLog, progress: Watcher | None = None) -> TableHandle:
    """Copy the version of a handle to the place of another log, which holds no table.

    Raises TableExists, OptionError, ForeignTable, SplitError where a split is missing or damaged, StorageError and CommitError.
    """
    source.require_bundles("cloning")
    _check_apart(source.url, log.url)
    check_no_table(log)
    files = with_doc_mappings(source.files(), source.snapshot.registry)
    adds = [msgspec.structs.replace(add, data_change=True, doc_mapping_ref=None) for add in rows_to_adds(files)]
    _check_one_commit(log, adds)
    uploads, made = Uploads(log), Directories(log)
    try:
        copies = _copied(source, uploads, log, adds, progress)
        created = TableHandle(log, _created(source, log))
    except BaseException:
        keys = uploads.keys
        uploads.discard()
        made.remove(keys)
        raise
    return _filled(source, created, uploads, copies) if copies else created


def _created(source: TableHandle, log: TableLog) -> Snapshot:
    """Version 0 of the copy: the schema, the partition columns and the properties of the source, and a new id."""
    metadata = source.snapshot.metadata
    properties = {key: value for key, value in metadata.configuration.items() if not key.startswith(SCHEMA_KEY)}
    return create_log(
        log,
        schema_string=metadata.schema_string,
        partition_columns=metadata.partition_columns,
        configuration=properties,
        name=metadata.name,
        description=metadata.description,
    )


def _filled(source: TableHandle, created: TableHandle, uploads: Uploads, copies: list[AddAction]) -> TableHandle:
    """Version 1 of the copy: all files in one commit, so that nobody sees a part of the rows."""
    parameters = {"source": source.url, "version": source.version, "tableId": source.table_id}
    try:
        done = commit_uploads(created, Change(adds=tuple(copies)), uploads, operation=OPERATION, parameters=parameters)
    except CommitOutcomeUnknown:
        raise
    except IndexTablesError as error:
        raise type(error)(
            f"{error.message}; the table {created.url} was made, and is empty", **error.details
        ) from error
    return after_commit(created.moved(done.snapshot))


def _check_apart(source: str, target: str) -> None:
    """Raise OptionError if one table would lie inside of the other: a purge of the outer one takes the inner one's files."""
    if f"{target}/".startswith(f"{source}/") or f"{source}/".startswith(f"{target}/"):
        raise OptionError(f"{target} and the table {source} lie one inside of the other: clone to a place beside it")


def _check_one_commit(log: TableLog, adds: list[AddAction]) -> None:
    """Raise CommitError before the first byte is copied, if the list of files is too long for a version file."""
    size, limit = len(encode_actions(Actions(adds=tuple(adds)))), log.settings.version_file_bytes
    if size > limit:
        raise CommitError(
            f"a clone of {len(adds)} files needs a version file of {size} bytes, "
            f"{opt.TRANSACTION_MAX_VERSION_FILE_BYTES.key} allows {limit}: merge splits first, or raise the limit",
            url=log.url,
        )


def _copied(
    source: TableHandle, uploads: Uploads, log: TableLog, adds: list[AddAction], progress: Watcher | None
) -> list[AddAction]:
    """Copy all splits. Their entries with the new names, in the same order."""
    counter = ProgressCounter(progress, rows_total=sum(add.num_records or 0 for add in adds))
    jobs = JobGroup(log.workers, _COPIES)
    with scratch("clone") as directory:
        copy = _Copy(source, uploads, log, jobs, directory, counter)
        return jobs.together([partial(copy.of, add) for add in adds])


@dataclass(frozen=True)
class _Copy:
    """How splits of one table get to another place."""

    source: TableHandle
    uploads: Uploads
    log: TableLog
    """The log of the new table."""
    jobs: JobGroup
    directory: Path
    counter: ProgressCounter

    def of(self, add: AddAction) -> AddAction:
        """Copy one split, and compare every checksum on the way. The entry of the copy."""
        self.jobs.check()
        path = self.directory / f"{self.log.clock.uuid()}.split"
        try:
            self._fetch(add, path)
            local = LocalStore(self.directory)
            verify_bundle(local, path.name, read_footer(local, path.name, size=add.size))
            values = {name: add.partition_values.get(name) for name in self.source.partition_columns}
            key = self.uploads.put(path, partition_directory(values))
        finally:
            path.unlink(missing_ok=True)
        size = self.log.store.head(key).size
        if size != add.size:
            raise StorageError(
                f"{self.log.url}/{key} has {size} bytes, the split that was copied has {add.size}; clone again"
            )
        rows = add.num_records or 0
        self.counter.add(rows_read=rows, rows_written=rows, splits=1, size=size)
        return msgspec.structs.replace(add, path=key)

    def _fetch(self, add: AddAction, path: Path) -> None:
        key = inside_root(self.source.url, add.path) or add.path
        try:
            with path.open("xb") as file:
                for start in range(0, add.size, _STEP):
                    self.jobs.check()
                    file.write(self.source.log.store.get_range(key, start, min(start + _STEP, add.size)))
        except OSError as error:
            raise translate(error, str(path.parent), path.name, "put") from error
        except ObjectNotFound as error:
            raise SplitError(
                f"table {self.source.url}: version {self.source.version} cannot be cloned: {add.path} is gone from the store; "
                "clone a later version",
                split=add.path,
            ) from error


__all__ = ["OPERATION", "clone"]
