"""Every error a caller can meet, in one tree.

    IndexTablesError
    ├── OptionError                 a spark.indextables.* key or value that is not valid
    ├── SchemaError                 a schema, a partition column or a value that does not fit it
    ├── PredicateError              a `where` text that cannot be parsed or does not fit the schema
    ├── StatementError              a statement such as PURGE INDEXTABLES that cannot be read, with the position of the slip
    ├── QueryError                  a search text that cannot be read, or asks for what the table does not have
    ├── StorageError                the object store said no
    │   ├── ObjectNotFound
    │   ├── ObjectExists            a put-if-absent found something (maybe our own write: read it back)
    │   ├── AccessDenied            credentials missing, refused or not sufficient
    │   ├── StoreUnavailable        time-outs, resets, 5xx: the outcome of a write is unknown (retryable)
    │   ├── StoreMisconfigured      unknown scheme, unknown option, missing bucket, a store that cannot do what is needed
    │   └── InvalidKey              a key the store cannot hold, or that leaves the table's root
    ├── LogError                    what is in _transaction_log cannot be used
    │   ├── TableNotFound
    │   ├── TableExists
    │   ├── VersionNotFound         a version, or a time, that the log does not reach (any more)
    │   ├── CorruptLog              a log object that cannot be decoded, with its name
    │   ├── VersionGap              a version is missing: readers warn, writers refuse
    │   ├── UnsupportedProtocol     the table needs a newer reader or writer
    │   ├── UnsafePath              a data path that leaves the table's root
    │   ├── LogReadTimeout          the log took longer to read than checkpoint.read.timeoutSeconds
    │   ├── ForeignTable            another implementation's table, and a verb that would not be safe on it
    │   ├── ChangesGone             changes() reaches back further than the version files do
    │   └── RowsRemoved             a commit removed or replaced rows, and a stream gives new ones only
    ├── SplitError                  a split that cannot be read, with its name and what is wrong
    │   └── CorruptSplit            its bytes are not the ones that were written
    ├── WorkCancelled               the caller does not want the answer any more
    └── CommitError                 a commit that did not happen, unless the name says otherwise
        ├── MetadataChanged         schema, partitioning or a property was changed by someone else
        ├── FilesChanged            a file to be removed is not live any more
        ├── TableReplaced           the table was dropped and created again under this handle
        ├── TooManyConflicts        lost every race that transaction.retry.maxAttempts allows (retryable)
        ├── UploadTooOld            the commit's files are so old that clean-up may soon take them for orphans
        └── CommitOutcomeUnknown    nobody can tell yet whether it happened: nothing it names may be deleted

Messages are one sentence that names the thing, the value and the way out. Errors survive pickling, because Spark moves
them between processes, and carry their facts as attributes (`error.details`), so that callers need not parse text.

`LogWarning` is the one warning: something is wrong with a log, and reading went on.
"""

from __future__ import annotations

from typing import Any, ClassVar


class LogWarning(UserWarning):
    """Something is wrong with a log, and reading went on."""


class IndexTablesError(Exception):
    """The root. `details` holds the facts of the message, also readable as attributes."""

    retryable: ClassVar[bool] = False

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.details = details

    def __getattr__(self, name: str) -> Any:
        details = self.__dict__.get("details", {})
        if name in details:
            return details[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.message, self.details)


def _rebuild(kind: type[IndexTablesError], message: str, details: dict[str, Any]) -> IndexTablesError:
    return kind(message, **details)


class OptionError(IndexTablesError, ValueError):
    """A spark.indextables.* key that does not exist or a value that does not fit it."""


class SchemaError(IndexTablesError, ValueError):
    """A schema that cannot be a table's schema, or a value that does not fit its column."""


class PredicateError(IndexTablesError, ValueError):
    """A `where` that cannot be parsed, or names a column or a type that the table does not have."""


class StatementError(IndexTablesError, ValueError):
    """A statement that cannot be read, or that this release does not have. `position` says where, counted from 1."""


class QueryError(IndexTablesError, ValueError):
    """A search text that cannot be read, or asks for a field or a type that the table does not have. `position` says where."""


class StorageError(IndexTablesError):
    """The object store refused or failed."""


class ObjectNotFound(StorageError):
    """No object has this key."""


class ObjectExists(StorageError):
    """Put-if-absent was refused. It may have met our own write, so the key is read back before this is believed."""


class AccessDenied(StorageError):
    """The credentials are missing, refused or not sufficient."""


class StoreUnavailable(StorageError):
    """A time-out, a reset or a server error. A read can be repeated; whether a write happened is unknown."""

    retryable = True


class StoreMisconfigured(StorageError):
    """The URL or the options do not lead to a store that can hold a table."""


class InvalidKey(StorageError):
    """A key that the store cannot hold, or that leaves the root it must stay in."""


class LogError(IndexTablesError):
    """What lies in the transaction log cannot be used."""


class TableNotFound(LogError):
    """There is no table at this URL."""


class TableExists(LogError):
    """There is a table at this URL already."""


class VersionNotFound(LogError):
    """The log does not reach this version or this time (any more)."""


class CorruptLog(LogError):
    """A log object that cannot be decoded. The message has its name."""


class VersionGap(LogError):
    """A version in the middle of the log is missing, so nothing may be written after it."""


class UnsupportedProtocol(LogError):
    """The table asks for a protocol version or a feature that this release does not have."""


class UnsafePath(LogError):
    """A data path that leaves the table's root or points into its log."""


class LogReadTimeout(LogError):
    """Reading the log took longer than checkpoint.read.timeoutSeconds."""

    retryable = True


class ForeignTable(LogError):
    """The table was written by another implementation, in a way that makes this verb unsafe."""


class ChangesGone(LogError):
    """The version files or data files that the changes would be read from are gone."""


class RowsRemoved(LogError):
    """A commit removed or replaced rows, which a stream of new rows cannot take back. `version` is the commit's."""


class SplitError(IndexTablesError):
    """A split that cannot be read. The message has its name and says what is wrong."""


class CorruptSplit(SplitError):
    """The bytes of a split are not the ones that were written: a checksum, a length or an offset does not fit."""


class WorkCancelled(IndexTablesError):
    """The caller cancelled the question before its answer was complete."""


class CommitError(IndexTablesError):
    """The commit did not happen, and it is certain that it never will (CommitOutcomeUnknown excepted)."""


class MetadataChanged(CommitError):
    """Somebody else changed the schema, the partitioning or a property that this commit depends on."""


class FilesChanged(CommitError):
    """A file that this commit removes is not live any more."""


class TableReplaced(CommitError):
    """The table was dropped, and perhaps created again, since this handle was opened."""


class TooManyConflicts(CommitError):
    """Other writers won every attempt."""

    retryable = True


class UploadTooOld(CommitError):
    """The first upload of this commit began so long ago that its files may soon look like orphans."""


class CommitOutcomeUnknown(CommitError):
    """The store did not say whether the commit happened. What it names must not be deleted."""
