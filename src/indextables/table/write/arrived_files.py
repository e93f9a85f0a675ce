"""Are the files there that a commit adds, and young enough? Asked by `Table.commit_files(…, check_files=True)`.

    head every file ──▶ one is missing: nothing is committed
                    └─▶ the oldest is more than half a safety age old, and not in the table: nothing is committed

A purge takes a file that nothing names and that is a safety age old for an orphan. The commit of such a file can come between
the look at the log and the delete, and the table would name a file that is gone. A file that the table has already is no
orphan: it may be added again at any age, and the commit then needs it to be live.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from indextables.core.errors import CommitError, OptionError, UploadTooOld
from indextables.log.actions import AddAction
from indextables.log.cleanup import store_time
from indextables.log.file_entries import paths_in
from indextables.table.handle import TableHandle

_HEADS_AT_A_TIME: Final = 1000
"""Files that are asked for together: enough to keep all connections busy, few enough to end soon if one is missing."""
_HOUR: Final = 3600.0
"""Seconds of an hour."""


@dataclass(frozen=True)
class Arrived:
    """What is known of files that are in place."""

    began: float | None
    """When the first of them began to be uploaded (`Clock.boot`), without those of `live`."""
    live: tuple[str, ...] = ()
    """Old files that the table has already: they may be added again while they are live."""


NOTHING_SAID: Final = Arrived(None)
"""The caller says nothing of the files: they are taken as they are."""


def vouched_for(handle: TableHandle, hours_ago: float) -> Arrived:
    """What the caller says of the files: they are there, and the first upload began so many hours ago."""
    if isinstance(hours_ago, bool) or not isinstance(hours_ago, int | float) or not hours_ago >= 0:
        raise OptionError(f"uploaded_hours_ago is a number of hours from 0 on, not {hours_ago!r}")
    return Arrived(handle.log.clock.boot() - hours_ago * _HOUR)


def arrived(handle: TableHandle, adds: Sequence[AddAction]) -> Arrived:
    """What the store says of the files. Raises CommitError where one is missing, UploadTooOld where one is too old."""
    if not adds:
        return Arrived(None)
    boot = handle.log.clock.boot()
    ages = _ages(handle, adds)
    limit = handle.snapshot.safety_age_seconds / 2
    old = {path: age for path, age in ages.items() if age > limit}
    live = paths_in(handle.refreshed().files(), list(old)) if old else set()
    for path, age in old.items():
        if path not in live:
            raise UploadTooOld(
                f"table {handle.url}: {path} was written {age / _HOUR:.1f} hours ago, more than half the safety age of "
                f"{2 * limit / _HOUR:g} hours, and a purge may be taking it for an orphan; copy it to a new name and commit that",
                url=handle.url,
            )
    oldest = max((age for path, age in ages.items() if path not in live), default=None)
    return Arrived(None if oldest is None else boot - oldest, tuple(sorted(live)))


def _ages(handle: TableHandle, adds: Sequence[AddAction]) -> dict[str, float]:
    """The seconds since each file was written, by the store's clock."""
    log = handle.log
    written: dict[str, int] = {}
    for start in range(0, len(adds), _HEADS_AT_A_TIME):
        some = adds[start : start + _HEADS_AT_A_TIME]
        found = log.side_by_side([partial(log.head, add.path) for add in some])
        for add, meta in zip(some, found, strict=True):
            if meta is None:
                raise CommitError(
                    f"table {handle.url}: {add.path} cannot be committed, because there is no such file; upload it first",
                    url=handle.url,
                )
            written[add.path] = meta.last_modified_ms
    now = store_time(log)
    return {path: max(0, now - moment) / 1000 for path, moment in written.items()}
