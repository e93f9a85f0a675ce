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

from indextables.core import options as opt
from indextables.core.errors import CommitOutcomeUnknown, IndexTablesError, StorageError
from indextables.log.commit import Committed, commit, is_refusal
from indextables.log.conflicts import Change
from indextables.log.snapshot import Snapshot
from indextables.log.table_log import TableLog
from indextables.split.bundle.upload import upload

logger = logging.getLogger("indextables")

DEFAULT_PARTITION: Final = "__HIVE_DEFAULT_PARTITION__"
SPLITS: Final = "splits/split-"
"""What follows the partition's directory in the name of every split."""
_ESCAPED: Final = frozenset(map(chr, range(0x20))) | frozenset("\"#%'*/:=?\\\x7f{[]^")
_LONGEST: Final = 200
"""Bytes of a directory's name. A longer one ends in a hash: file systems end at 255."""


class Uploads:
    """Uploads of one write. Safe to use from many threads."""

    def __init__(self, log: TableLog, keys: Iterable[str] = (), began: float | None = None, mark: str = "") -> None:
        """`keys` and `began` are those of uploads that other processes made for this write. `mark` is in all new names."""
        self._log = log
        self._mark = mark
        self._keys = list(keys)
        self._began = began
        self._lock = threading.Lock()

    @property
    def keys(self) -> tuple[str, ...]:
        """Every name that was uploaded, or may have been."""
        with self._lock:
            return tuple(self._keys)

    @property
    def began(self) -> float | None:
        """When the first upload began (`Clock.boot`), None before."""
        return self._began

    def put(self, path: Path, directory: str) -> str:
        """Upload a file under a new name in a directory of the table. Returns its key, raises StorageError."""
        options = self._log.options
        attempts = options[opt.STORAGE_RETRY_MAX_ATTEMPTS]
        for attempt in range(attempts):
            key = self._new_key(directory)
            try:
                upload(self._log.store, key, path)
            except StorageError as error:
                if attempt + 1 == attempts or is_refusal(error):
                    raise
                logger.info("upload of %s: %s; trying another name", key, error)
                longest = options[opt.STORAGE_RETRY_MAX_DELAY_MS]
                delay = min(longest, options[opt.STORAGE_RETRY_BASE_DELAY_MS] * 2**attempt)
                self._log.clock.sleep(delay * self._log.clock.jitter() / 1000)
            else:
                return key
        raise AssertionError("the last attempt returns or raises")

    def discard(self, keep: Collection[str] = ()) -> None:
        """Delete what was uploaded, or may have been, but for what is kept. Best effort: what stays is an orphan."""
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
            logger.warning("table %s: %s is an orphan now, purge removes it: %s", self._log.url, key, reason)

    def _new_key(self, directory: str) -> str:
        key = f"{directory}{SPLITS}{self._mark}{self._log.clock.uuid()}.split"
        with self._lock:
            self._keys.append(key)
            if self._began is None:
                self._began = self._log.clock.boot()
        return key


def commit_uploads(
    log: TableLog, snapshot: Snapshot, change: Change, uploads: Uploads, *, operation: str, parameters: dict[str, Any]
) -> Committed:
    """Commit what was uploaded. An error that says for certain that nothing was committed takes the uploads back."""
    try:
        return commit(log, snapshot, change, operation=operation, parameters=parameters, uploads_began=uploads.began)
    except CommitOutcomeUnknown:
        raise
    except IndexTablesError:
        if not snapshot.state_committed:  # taking a table over has no read-back: nobody can tell there
            uploads.discard()
        raise


def partition_directory(values: Mapping[str, str | None]) -> str:
    """The directory of a partition, `day=2024-01-31/host=a%2Fb/`, escaped as Hive does; "" without partition columns."""
    return "".join(f"{_component(column, value)}/" for column, value in values.items())


def _component(column: str, value: str | None) -> str:
    name = f"{_escaped(column)}={_escaped(value) if value else DEFAULT_PARTITION}"
    if len(name.encode()) <= _LONGEST:
        return name
    short = name.encode()[: _LONGEST - 17].decode(errors="ignore")
    return f"{short}-{xxhash.xxh3_64_hexdigest(name.encode())}"


def _escaped(text: str) -> str:
    return "".join(f"%{ord(letter):02X}" if letter in _ESCAPED else letter for letter in text)
