"""The splits that one write puts into the store, and what becomes of them when it fails.

A name is never used twice: after a failed upload another one is taken, because the first request may still land. Every name
is written down before the first byte is sent, so that all of them can be taken back when the commit certainly did not
happen. When nobody can tell whether it did, they stay.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import xxhash

from indextables.core.errors import CommitOutcomeUnknown, IndexTablesError, ObjectNotFound, StorageError
from indextables.log.commit import Committed, commit
from indextables.log.conflicts import Change
from indextables.log.put_once import put_under_new_name
from indextables.log.table_log import TableLog
from indextables.split.bundle.upload import upload
from indextables.table.handle import TableHandle

logger = logging.getLogger("indextables")

DEFAULT_PARTITION: Final = "__HIVE_DEFAULT_PARTITION__"
SPLITS: Final = "splits/split-"
"""What follows the partition's directory in the name of every split."""
SPLIT_SUFFIX: Final = ".split"
"""What the names of data files end with."""
_ESCAPED: Final = frozenset(map(chr, range(0x20))) | frozenset("\"#%'*/:=?\\\x7f{[]^")
_LONGEST: Final = 200
"""Bytes of a directory's name. A longer one ends in a hash: file systems end at 255."""


class Uploads:
    """Uploads of one write. Safe to use from many threads."""

    def __init__(self, log: TableLog, keys: Iterable[str] = (), began: float | None = None, prefix: str = "") -> None:
        """`keys` and `began` are those of uploads that other processes made for this write. All new names begin with `prefix`."""
        self._log = log
        self._prefix = prefix
        self._keys = list(keys)
        self._names: list[str] = []
        self._began = began
        self._lock = threading.Lock()

    @property
    def keys(self) -> tuple[str, ...]:
        """Every name that was uploaded, or may have been."""
        with self._lock:
            return tuple(self._keys)

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that this process gave to an upload, those of discarded uploads included."""
        with self._lock:
            return tuple(self._names)

    @property
    def began(self) -> float | None:
        """When the first upload began (`Clock.boot`), None before."""
        return self._began

    def put(self, path: Path, directory: str) -> str:
        """Upload a file under a new name in a directory of the table. Returns its key, raises StorageError."""
        settings = self._log.settings
        return put_under_new_name(
            lambda: self._new_key(directory),
            lambda key: upload(self._log.store, key, path),
            clock=self._log.clock,
            attempts=settings.upload_attempts,
            back_off=settings.upload_back_off,
        )

    def discard(self, keep: Collection[str] = ()) -> None:
        """Delete every object that was uploaded, or may have been, except those in `keep`.

        Best effort: an object that cannot be deleted is an orphan, and the log of this process names it.
        """
        kept = set(keep)
        with self._lock:
            stray = [key for key in self._keys if key not in kept]
            self._keys = [key for key in self._keys if key in kept]
        if not stray:
            return
        try:
            failed = self._log.store.delete(stray)
        except StorageError as error:
            failed = dict.fromkeys(stray, error)
        for key, reason in failed.items():
            if self._is_absent(
                key
            ):  # a refused upload wrote nothing, and a disk that refuses writes refuses deletes too
                continue
            logger.warning("table %s: %s is an orphan now, purge removes it: %s", self._log.url, key, reason)

    def _is_absent(self, key: str) -> bool:
        """True if the store certainly has no such object."""
        try:
            self._log.store.head(key)
        except ObjectNotFound:
            return True
        except StorageError:
            return False
        return False

    def _new_key(self, directory: str) -> str:
        key = f"{directory}{SPLITS}{self._prefix}{self._log.clock.uuid()}{SPLIT_SUFFIX}"
        with self._lock:
            self._keys.append(key)
            self._names.append(key)
            if self._began is None:
                self._began = self._log.clock.boot()
        return key


def commit_uploads(
    handle: TableHandle, change: Change, uploads: Uploads, *, operation: str, parameters: dict[str, Any]
) -> Committed:
    """Commit what was uploaded. An error that says for certain that nothing was committed takes the uploads back."""
    try:
        return commit(handle, change, operation=operation, parameters=parameters, uploads_began=uploads.began)
    except CommitOutcomeUnknown:
        raise
    except IndexTablesError:
        if not handle.snapshot.state_committed:  # taking a table over has no read-back: nobody can tell there
            uploads.discard()
        raise


def partition_directory(values: Mapping[str, str | None]) -> str:
    """The directory of a partition, `day=2024-01-31/host=a%2Fb/`, escaped as Hive does; "" without partition columns."""
    return "".join(f"{_component(column, value)}/" for column, value in values.items())


def partition_name(column: str) -> str:
    """How the names of a partition column's directories begin, `day=`."""
    return f"{_escaped(column)}="


def _component(column: str, value: str | None) -> str:
    name = f"{partition_name(column)}{_escaped(value) if value else DEFAULT_PARTITION}"
    if len(name.encode()) <= _LONGEST:
        return name
    short = name.encode()[: _LONGEST - 17].decode(errors="ignore")
    return f"{short}-{xxhash.xxh3_64_hexdigest(name.encode())}"


def _escaped(text: str) -> str:
    return "".join(f"%{ord(letter):02X}" if letter in _ESCAPED else letter for letter in text)
