"""What the tests of purge share: a table in memory whose splits are a few bytes, and a purge of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from indextables.log.open_snapshot import open_log
from indextables.log.snapshot import LogAtVersion, Snapshot
from indextables.log.table_log import TableLog
from indextables.table.maintain.purge import Purged, purge, purge_ages
from log.support import DAY, MemoryStore, make_log, new_table
from state.support import committed

RETENTION = {"logRetention.duration": 30 * 86_400_000}
SHORT = {"purge.retentionCheckEnabled": False}


def split(name: object) -> str:
    return f"splits/split-{name}.split"


def upload(store: Any, *names: object) -> list[str]:
    """Splits in the store, which no version names yet."""
    keys = [split(name) for name in names]
    for key in keys:
        store.put(key, b"0123456789")
    return keys


def add(log: TableLog, snapshot: Snapshot, *names: object, removes: Iterable[object] = ()) -> Snapshot:
    """Upload splits and commit them."""
    return committed(log, snapshot, upload(log.store, *names), [split(name) for name in removes])


def old_table(
    versions: int = 2, orphans: int = 3, *, days: float = 60, options: Mapping[str, Any] | None = None
) -> MemoryStore:
    """A table with a split in each version, `s1` and on, and orphans, `o1` and on, all of them so many days old."""
    store = MemoryStore()
    log = make_log(store, options)
    snapshot = new_table(log)
    for number in range(1, versions + 1):
        snapshot = add(log, snapshot, f"s{number}")
    upload(store, *(f"o{number}" for number in range(1, orphans + 1)))
    store.clock.advance(days * DAY)
    return store


def purged(
    store: Any,
    options: Mapping[str, Any] | None = None,
    older_than: Any = None,
    log_retention: Any = None,
    **arguments: Any,
) -> Purged:
    """Purge the table as a process does that knows nothing."""
    log = make_log(store, RETENTION | dict(options or {}))
    ages = purge_ages(log.options, older_than, log_retention)
    return purge(LogAtVersion(log, open_log(log)), ages, **arguments)


def splits(store: MemoryStore) -> set[str]:
    """The splits in the store, by name."""
    return {key.removeprefix("splits/split-").removesuffix(".split") for key in store.objects if key.endswith(".split")}
