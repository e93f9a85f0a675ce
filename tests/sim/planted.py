"""Bugs put into the code from outside, one at a time, to show that the simulation finds them.

Each is a rule of the protocol left out. `kinds` are the violations it must show up as: a bug that is found for another reason
is a bug of the simulation. The first twelve are those that a log like this one is most likely to have; the others are further
rules that the code follows, left out one at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any
from unittest import mock

import indextables.log.cleanup as cleanup_module
import indextables.log.commit as commit_module
import indextables.log.create_log as create_module
import indextables.log.open_snapshot as open_module
import indextables.log.put_once as put_once_module
import indextables.log.refresh as refresh_module
import indextables.log.snapshot as snapshot_module
from indextables.core import options as opt
from indextables.core.errors import StorageError
from indextables.log.actions import Actions
from indextables.log.conflicts import Change, Decision
from indextables.log.listing import Listing, list_states, list_versions
from indextables.log.log_cache import LogCache
from indextables.log.log_paths import version_key
from indextables.log.snapshot import LogAtVersion, Snapshot
from indextables.log.table_log import TableLog
from indextables.storage.store import ObjectMeta, Store, StoredObject
from sim import planted_purges, planted_restores, planted_rows, planted_states
from sim.planting import PLANTED, Patch, plant, planted
from sim.writers import Writer

__all__ = ["PLANTED", "plant", "planted_purges", "planted_restores", "planted_rows", "planted_states"]

IsOurs = Callable[[StoredObject], bool]


@planted(1, "no-revalidation", "race", "overwrite-kept", "removed-dead", "lost-update", "merged-dead")
def _no_revalidation() -> list[Patch]:
    """A commit that lost a race is written again as it was planned."""
    real = commit_module.decide

    def decide(change: Change, read: Snapshot, current: Snapshot, now_ms: int) -> Decision:
        return real(change, read, read, now_ms)

    return [mock.patch.object(commit_module, "decide", decide)]


@planted(2, "no-read-back", "race", "twice", "failed-visible")
def _no_read_back() -> list[Patch]:
    """A create without an answer is taken for lost."""

    def create(store: Store, key: str, body: bytes, is_ours: IsOurs) -> put_once_module.Outcome:
        try:
            store.create(key, body)
        except StorageError:
            return put_once_module.Theirs(StoredObject(b"", ObjectMeta(key, 0, 0, None)))
        return put_once_module.Won()

    return [mock.patch.object(commit_module, "create_and_read_back", create)]


@planted(
    3,
    "another-number",
    "race",
    "gap",
    "twice",
    "acked-hidden",
    "wrong-read",
    "wrong-time",
    "time-backwards",
    "overwrite-kept",
)
def _another_number() -> list[Patch]:
    """While the fate of one number is open the next one is tried."""
    real = commit_module.create_version

    def create(current: LogAtVersion, body: bytes, txn_id: str, uploads_began: float | None = None) -> str:
        log, number = current.log, current.snapshot.version + 1
        is_ours = partial(commit_module.has_txn_id, log, txn_id)
        match put_once_module.create_and_read_back(log.store, version_key(number), body, is_ours):
            case put_once_module.Won():
                return "won"
            case put_once_module.Theirs():
                return "lost"
            case _:
                return real(LogAtVersion(log, replace(current.snapshot, version=number)), body, txn_id, uploads_began)

    return [mock.patch.object(commit_module, "create_version", create)]


@planted(4, "no-reopen", "handles", "stale-read", "acked-hidden", "hidden", "bricked", "broken", "wrong-read")
def _no_reopen() -> list[Patch]:
    """A snapshot that was not checked for longer than half the safety age is refreshed, not opened."""

    def too_old(at: LogAtVersion) -> bool:
        return False

    return [mock.patch.object(module, "too_old", too_old) for module in (refresh_module, commit_module)]


@planted(5, "pointer-believed", "pointer", "hidden", "bricked", "unreadable", "stale-read", "wrong-read", "broken")
def _pointer_believed() -> list[Patch]:
    """The checkpoint that the pointer names is taken for the newest."""
    real = open_module._newest_base

    def newest_base(log: TableLog, found: Any, at: int | None, *how: Any, **more: Any) -> Snapshot | None:
        if found.hinted is not None and at is None:
            listing: Listing = found.listing
            listing.checkpoints = {
                number: meta for number, meta in listing.checkpoints.items() if number == found.start
            }
        return real(log, found, at, *how, **more)

    return [mock.patch.object(open_module, "_newest_base", newest_base)]


@planted(6, "zero-recreated", "recreate", "created-over")
def _zero_recreated() -> list[Patch]:
    """Clean-up deletes version 0 like any other, and whoever finds none creates it."""
    real = cleanup_module._versions_to_go

    def versions_to_go(listing: Listing, floor: int, *more: Any) -> list[str]:
        return [version_key(0)] * (floor > 0) + real(listing, floor, *more)

    return [
        mock.patch.object(cleanup_module, "_versions_to_go", versions_to_go),
        mock.patch.object(create_module, "check_no_table", return_value=None),
    ]


@planted(7, "seed-gates", "travel", "travel")
def _seed_gates() -> list[Patch]:
    """Version files go when they are older than the retention and below the newest checkpoint."""

    def make_plan(at: LogAtVersion, **_: bool) -> cleanup_module.Plan:
        log = at.log
        listing = list_versions(log.store, 0)
        listing.states = list_states(log.store, 0)
        newest_checkpoint = max(listing.bases, default=-1)
        oldest_ms = cleanup_module.store_time(log) - opt.log_retention_ms(log.options)
        keys = [
            meta.key
            for number, meta in sorted(listing.versions.items())
            if 0 < number < min(newest_checkpoint, listing.newest_version) and meta.last_modified_ms < oldest_ms
        ]
        return cleanup_module.Plan(keys, newest_checkpoint)

    return [mock.patch.object(cleanup_module, "make_plan", make_plan)]


@planted(8, "floor-unusable", "damaged", "unreadable", "travel", "bricked", "hidden", "broken")
def _floor_unusable() -> list[Patch]:
    """Clean-up does not look whether the checkpoint that replaces version files can be read."""
    return [mock.patch.object(cleanup_module, "_usable", return_value=True)]


@planted(9, "winners-only", "exactly", "batch-twice")
def _winners_only() -> list[Patch]:
    """An exactly-once batch is looked for among the versions that won since, not in the snapshot it was planned on."""
    real = commit_module.decide

    def decide(change: Change, read: Snapshot, current: Snapshot, now_ms: int) -> Decision:
        won = {app: txn for app, txn in current.transactions.items() if read.transactions.get(app) != txn}
        return real(change, read, replace(current, transactions=won), now_ms)

    return [mock.patch.object(commit_module, "decide", decide)]


@planted(10, "dropped-applied", "successor", "wrong-read", "wrong-time", "false-conflict", "removed-dead")
def _dropped_applied() -> list[Patch]:
    """A late version of a dropped table is applied to the one that came after it."""

    def apply_version(snapshot: Snapshot, version: int, timestamp: int, actions: Actions) -> Snapshot:
        return snapshot_module._fold(snapshot, version, max(timestamp, snapshot.timestamp + 1), actions)

    modules = (open_module, refresh_module, commit_module)
    return [mock.patch.object(module, "apply_version", apply_version) for module in modules]


@planted(11, "stale-cache", "cached", "stale-read", "wrong-travel")
def _stale_cache() -> list[Patch]:
    """What a process remembers of a table is handed out without a look at the store."""
    return [mock.patch.object(refresh_module, "_is_fresh_enough", return_value=True)]


@planted(11, "cache-by-path", "successor", "wrong-read", "wrong-time", "time-backwards", "removed-dead")
def _cache_by_path() -> list[Patch]:
    """Versions are remembered by their number alone, whatever table they belong to."""
    real_get, real_put = LogCache.get, LogCache.put

    def get(self: LogCache, kind: Any, key: Any, **more: Any) -> Any:
        return real_get(self, kind, ("", *key[1:]) if kind == "version" else key, **more)

    def put(self: LogCache, kind: Any, key: Any, value: Any, **more: Any) -> None:
        real_put(self, kind, ("", *key[1:]) if kind == "version" else key, value, **more)

    return [mock.patch.object(LogCache, "get", get), mock.patch.object(LogCache, "put", put)]


@planted(12, "abort-unknown", "unanswered", "data-gone")
def _abort_unknown() -> list[Patch]:
    """A writer that does not know what became of its commit deletes what it uploaded for it."""
    return [mock.patch.object(Writer, "left_open", Writer.abort)]


@planted(13, "late-answer-believed", "sleeper", "acked-hidden")
def _late_answer_believed() -> list[Patch]:
    """A create that was answered days after the last look is taken for a success."""
    return [mock.patch.object(commit_module, "_verify_late_answer")]


@planted(14, "slow-opening", "sleeper", "bricked", "stale-read", "broken")
def _slow_opening() -> list[Patch]:
    """An opening that slept between its listings believes both."""
    return [mock.patch.object(open_module, "_SLOW_SECONDS", float("inf"))]


@planted(15, "no-margin", "thin", "travel", "unreadable")
def _no_margin() -> list[Patch]:
    """States are thinned right above the floor, where the floor of the next clean-up may be."""
    real = cleanup_module._states_to_go

    def states_to_go(
        at: LogAtVersion, listing: Listing, floor: int, now: int, retention_ms: int, safety_ms: int
    ) -> list[str]:
        return real(at, listing, floor, now, retention_ms + safety_ms // 2, safety_ms)

    return [mock.patch.object(cleanup_module, "_states_to_go", states_to_go)]


@planted(16, "aliens-in-force", "aliens", "travel", "unreadable")
def _aliens_in_force() -> list[Patch]:
    """A late version of a dropped table counts as the version that was in force."""

    def in_force(listing: Listing, moment_ms: int) -> int | None:
        return max(
            (number for number, meta in listing.versions.items() if meta.last_modified_ms <= moment_ms), default=None
        )

    return [mock.patch.object(cleanup_module, "_in_force", in_force)]


@planted(17, "versions-aged-from-creation", "travel", "travel", "unreadable")
def _versions_aged_from_creation() -> list[Patch]:
    """A version is past the retention when it was written before that began, though it was in force when it began."""
    real = cleanup_module._in_force

    def in_force(listing: Listing, moment_ms: int) -> int | None:
        found = real(listing, moment_ms)
        return found if found is None else min(found + 1, listing.newest_version)

    return [mock.patch.object(cleanup_module, "_in_force", in_force)]
