"""`Table`: what callers of this package use. Each method is one verb, done by a module of its own."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from indextables.core.errors import OptionError, TableExists, TableNotFound
from indextables.core.metrics import METRICS
from indextables.log.actions import AddAction
from indextables.log.history import open_at
from indextables.table.arguments import Moment
from indextables.table.changes.table_feed import Feed
from indextables.table.handle import TableHandle
from indextables.table.open_log import open_log
from indextables.table.open_table import open_older, open_table
from indextables.table.progress import Watcher
from indextables.table.stream.follow_methods import Following
from indextables.table.table_questions import Questions
from indextables.table.upkeep import Upkeep
from indextables.table.write.commit_files import Txn, commit_files
from indextables.table.write.create import create_table
from indextables.table.write.result import WRITTEN, Commit

if TYPE_CHECKING:
    from indextables.table.write.drop_partitions import DroppedPartitions
    from indextables.table.write.restore import Restored

if TYPE_CHECKING:
    from indextables.table.maintain.repair import Repaired


class Table(Questions, Feed, Following, Upkeep):
    """A table at one version. `refresh` moves it to the newest; commits move it to what they wrote."""

    @classmethod
    def create(
        cls,
        url: str | os.PathLike[str],
        schema: pa.Schema | str,
        partition_by: Sequence[str] = (),
        options: Mapping[str, Any] | None = None,
        if_exists: Literal["error", "open"] = "error",
    ) -> Table:
        """Create a table. `schema` is Arrow, Spark's JSON, or text such as `"ts timestamp, id long not null, message text"`.

        A column of type `text` is a string that is indexed word by word. With `if_exists="open"` an existing table is opened
        as it is.

        Raises TableExists, SchemaError, OptionError.
        """
        if if_exists not in ("error", "open"):
            raise OptionError(f"if_exists is {if_exists!r}, but must be 'error' or 'open'")
        log = open_log(url, options)
        try:
            return cls(TableHandle(log, create_table(log, schema, partition_by)))
        except TableExists as exists:
            if if_exists == "error":
                raise
            there = exists
        try:
            return cls(TableHandle(log, open_at(log)))
        except TableNotFound:
            raise there from None  # what is there is no table yet, or no more

    @classmethod
    @METRICS.measured("open")
    def open(
        cls,
        url: str | os.PathLike[str],
        version: int | None = None,
        timestamp: Moment | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Table:
        """Open the newest version, an older one, or the one that was in force at a time (text: ISO 8601, UTC by default).

        Raises TableNotFound, VersionNotFound.
        """
        handle = open_table(url, version, timestamp, options)
        return cls(handle, travelled=version is not None or timestamp is not None)

    @staticmethod
    def repair(
        source_log: str | os.PathLike[str],
        target_log: str | os.PathLike[str] | None = None,
        options: Mapping[str, Any] | None = None,
        progress: Watcher | None = None,
    ) -> Repaired:
        """Write a new log from what can be read of a damaged one, or from the splits alone where the log is gone.

        `source_log` is a table, or the `_transaction_log` of one. `target_log` is an empty directory; without it, the new log
        lies beside the old one as `_transaction_log_repaired_<time>`. Nothing is changed or deleted: the answer's message says
        what could not be known, and which moves put the new log in place. The table has another id afterwards, so that every
        reader and writer that knew the old log notices. Raises TableNotFound, TableExists, StorageError, UnsupportedProtocol.
        """
        from indextables.table.maintain.repair import repair

        return repair(source_log, target_log, options, progress)

    def commit_files(
        self,
        adds: Iterable[AddAction] = (),
        removes: Iterable[str] = (),
        properties: Mapping[str, Any] | None = None,
        txn: Txn | None = None,
        operation: str = "WRITE",
        data_change: bool = True,
        if_version: int | None = None,
        check_files: bool = False,
        uploaded_hours_ago: float | None = None,
    ) -> Commit:
        """Commit data files that are in place already, under names that are new: the low-level verb, for engines.

        `removes` are paths of live files. Feeds, streams and `tail` tell a live file that is added again, with other
        statistics, as new rows unless `removes` has it, too, or `data_change` is False, which says that rows were only
        rearranged. `properties` are set, or dropped where the value is None. `txn` is `(app, batch)` of an exactly-once writer:
        a batch that is in the table already is not written again. `if_version` is as for `append`. A purge may take a file for
        an orphan that was uploaded a safety age ago: `uploaded_hours_ago` says when the first upload began, and `check_files`
        asks the store for every file of `adds`. Then a missing file is CommitError, and one older than half the safety age
        UploadTooOld: copy it to a new name. Raises also MetadataChanged, FilesChanged, TooManyConflicts, CommitOutcomeUnknown.
        """
        done = commit_files(
            self._newest(),
            adds=adds,
            removes=removes,
            properties=properties,
            txn=txn,
            operation=operation,
            data_change=data_change,
            if_version=if_version,
            check_files=check_files,
            uploaded_hours_ago=uploaded_hours_ago,
        )
        return self._moved_to(done)

    @METRICS.measured("append", **WRITTEN)
    def append(self, data: Any, progress: Watcher | None = None, if_version: int | None = None) -> Commit:
        """Add rows: an Arrow table, a batch, a reader, an iterable of batches, or anything with `__arrow_c_stream__`.

        Columns are found by name, missing ones are null, and values are cast only where nothing is lost. Without rows
        nothing is written. `if_version` is the version that the rows were computed from: FilesChanged if rows came or went since.
        Raises SchemaError, OptionError, ForeignTable, StorageError and what `commit_files` raises; all but
        CommitOutcomeUnknown leave neither rows nor files behind.
        """
        from indextables.table.write.append import append

        return self._moved_to(append(self._newest(), data, progress, if_version), rows=True)

    @METRICS.measured("overwrite", **WRITTEN)
    def overwrite(
        self,
        data: Any,
        where: str | None = None,
        if_changed: Literal["error", "replace"] | None = None,
        if_version: int | None = None,
        progress: Watcher | None = None,
    ) -> Commit:
        """Put rows in place of all that are there when it commits, or with `where` (SQL) of those in the partitions it selects.

        `where` asks for partition columns only, and must be true for each new row: PredicateError otherwise. Rows that others
        changed there since this table was opened or refreshed are FilesChanged, unless `if_changed="replace"`. Without `where`
        they are replaced, unless `if_changed="error"`. `if_version` names the version to compare with. Raises what `append`
        raises.
        """
        from indextables.table.write.overwrite import overwrite

        done = overwrite(self._newest(), data, where, if_changed, if_version, progress)
        return self._moved_to(done, rows=True)

    def restore(self, version: int | None = None, timestamp: Moment | None = None) -> Restored:
        """Make the rows of an older version, or of the one in force at a time, the newest rows. Later versions stay in history.

        The columns and how they are indexed go back too; other properties stay. Raises VersionNotFound, SplitError where a file
        of that version is gone, SchemaError, and what `commit_files` raises.
        """
        from indextables.table.write.restore import restore

        before = self._newest("restore")
        result = restore(before, version, timestamp)
        self._move(before, result.handle)
        return result.restored

    def drop_partitions(self, where: str) -> DroppedPartitions:
        """Take out all rows of the partitions that `where` (SQL over partition columns) selects, by the log alone.

        Older versions still have the rows. Raises PredicateError, and what `commit_files` raises.
        """
        from indextables.table.write.drop_partitions import drop_selected

        before = self._newest("drop partitions")
        result = drop_selected(before, where)
        self._move(before, result.handle)
        return result.dropped

    def clone(
        self,
        url: str | os.PathLike[str],
        version: int | None = None,
        options: Mapping[str, Any] | None = None,
        progress: Watcher | None = None,
    ) -> Table:
        """Copy this version, or an older one, to a place that holds no table. The copy is a table of its own, with a new id.

        Splits are copied byte for byte and compared with their checksums; the copy has one version of them and no older history.
        Without `options` those of this table hold there too. Raises TableExists, VersionNotFound, SplitError, StorageError; what
        ends a clone before its last two requests leaves no table at the new place.
        """
        from indextables.table.write.clone import clone

        handle = self._handle if version is None else open_older(self._handle, version)
        log = open_log(url, handle.options if options is None else options)
        return Table(clone(handle, log, progress))

    def upgrade_protocol(self) -> Commit:
        """Raise the protocol of a table that an older writer made to the one that this release writes.

        Nothing is written where the table has it already (`written` is False). Older readers cannot open the table afterwards.
        Raises UnsupportedProtocol, ForeignTable and what `commit_files` raises.
        """
        from indextables.table.write.upgrade_protocol import upgrade_protocol

        return self._moved_to(upgrade_protocol(self._newest()))


def table_at(handle: TableHandle) -> Table:
    """The table that a handle is about, for callers who hold a `Table`."""
    return Table(handle)


__all__ = ["Table", "table_at"]
