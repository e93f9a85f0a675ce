"""Objects deleted in batches, several batches at a time, each after a look at version 0.

    keys ──▶ batches of 1,000 ──▶ head version 0 ──▶ delete ──▶ what failed, once more
                                     │ another one than before: the table was replaced, and nothing more is deleted

A batch is a call that pickles, so that the tasks of an engine can make it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from indextables.core import options as opt
from indextables.core.clock import BackOff
from indextables.core.errors import StorageError
from indextables.log.log_paths import version_key
from indextables.log.snapshot import LogAtVersion
from indextables.log.table_log import TableLog
from indextables.table.progress import ProgressCounter

_BATCH: Final = 1_000
"""Objects of a delete call: S3 takes at most 1,000."""
_AUTO_PARALLELISM: Final = 8
"""Delete calls at the same time where nobody set a number: a store answers 1,000 deletes in about a second."""
_ROUND: Final = 4
"""Batches between two reports of progress, for each call that runs at the same time."""


@dataclass
class Deleted:
    """What became of objects that should be deleted."""

    keys: list[str] = field(default_factory=list)
    """The keys of the objects that are gone."""
    bytes: int = 0
    failed: dict[str, StorageError] = field(default_factory=dict)
    replaced: bool = False
    """True if version 0 was another one than before, so that the rest was left alone."""


def delete_objects(at: LogAtVersion, keys: Sequence[str], sizes: Sequence[int], progress: ProgressCounter) -> Deleted:
    """Delete objects of the table, and report how far that has come.

    A delete that fails is tried again (`purge.deleteRetries`), and is no error: the object is left for the next purge.
    """
    log = at.log
    parallelism = log.options[opt.PURGE_PARALLELISM] or _AUTO_PARALLELISM
    done = Deleted()
    for start in range(0, len(keys), _BATCH * _ROUND * parallelism):
        end = min(len(keys), start + _BATCH * _ROUND * parallelism)
        starts = range(start, end, _BATCH)
        calls = [partial(delete_batch, log, at.snapshot.anchor, tuple(keys[each : each + _BATCH])) for each in starts]
        for first, part in zip(starts, log.workers.together(calls, limit=parallelism), strict=True):
            size = _size(part, keys[first : first + _BATCH], sizes[first : first + _BATCH])
            done.keys += part.keys
            done.bytes += size
            done.failed |= part.failed
            done.replaced = done.replaced or part.replaced
            progress.add(splits=len(part.keys), size=size)
        if done.replaced:
            break
    return done


def delete_batch(log: TableLog, anchor: str | None, keys: Sequence[str]) -> Deleted:
    """Delete some objects of the table whose version 0 has the ETag `anchor`. What a store refuses is part of the answer."""
    done = Deleted()
    left = keys
    refused: dict[str, StorageError] = {}
    back_off = BackOff(log.options[opt.STORAGE_RETRY_BASE_DELAY_MS], log.options[opt.STORAGE_RETRY_MAX_DELAY_MS])
    for attempt in range(1 + log.options[opt.PURGE_DELETE_RETRIES]):
        if attempt:
            back_off.wait(log.clock, attempt - 1)
        failed = _delete_once(log, anchor, left)
        if failed is None:
            done.replaced = True
            break
        done.keys += [key for key in left if key not in failed]
        done.failed = refused | failed
        refused |= {key: error for key, error in failed.items() if not error.retryable}
        left = [key for key, error in failed.items() if error.retryable]
        if not left:
            break
    return done


def _delete_once(log: TableLog, anchor: str | None, keys: Sequence[str]) -> dict[str, StorageError] | None:
    """The keys that could not be deleted, with the reasons; None where the table was replaced."""
    try:
        zero = log.head(version_key(0))
        if (zero.etag if zero else None) != anchor:
            return None
        return log.store.delete(keys)
    except StorageError as error:
        return dict.fromkeys(keys, error)


def _size(part: Deleted, keys: Sequence[str], sizes: Sequence[int]) -> int:
    """The bytes of the objects that are gone."""
    if len(part.keys) == len(keys):
        return int(sum(sizes))
    gone = set(part.keys)
    return sum(int(size) for key, size in zip(keys, sizes, strict=True) if key in gone)
