"""The true history of one table, folded the naive way: a dict per version.

It shares nothing with the replay of the code under test but the codec, which turns bytes into actions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

from indextables.log.actions import SCHEMA_KEY, Actions, CommitInfo
from sim.world import Violation


@dataclass(frozen=True)
class Entry:
    """A version that landed, and what the table was from then on."""

    version: int
    txn_id: str | None
    landed_at: float
    timestamp: int
    live: dict[str, str]
    """Path to partition."""
    properties: dict[str, str]
    batches: dict[str, int]
    added: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()


@dataclass
class Truth:
    """A table, from its version 0 to when it is dropped."""

    table_id: str
    entries: list[Entry]
    above: set[int] = field(default_factory=set)
    """Numbers above the newest that versions of another table hold: they count as empty once they are reached."""
    ghosts: set[int] = field(default_factory=set)
    """Numbers that were deleted and then written again by a process that slept for longer than the safety age."""
    applied: dict[str, int] = field(default_factory=dict)
    floor: int = 0

    @property
    def version(self) -> int:
        return len(self.entries) - 1

    @property
    def newest(self) -> Entry:
        return self.entries[-1]

    def left_at(self, version: int) -> float:
        """When the version ceased to be the newest."""
        return self.entries[version + 1].landed_at if version < self.version else float("inf")

    def append(self, number: int, actions: Actions, now: float) -> None:
        """A version of this table has landed."""
        if number < len(self.entries):
            self.ghosts.add(number)
            return
        if number > len(self.entries):
            raise Violation("gap", f"version {number} was written, the newest is {self.version}")
        txn_id = actions.txn_id
        assert txn_id is not None
        if txn_id in self.applied:
            raise Violation("twice", f"commit {txn_id} is version {self.applied[txn_id]} and version {number}")
        self.entries.append(self._following(number, actions, now))
        self.applied[txn_id] = number
        self._absorb(now)

    def append_alien(self, number: int, now: float) -> None:
        """A version of another table has landed in this table's log."""
        if number > self.version:
            self.above.add(number)
            self._absorb(now)

    def _absorb(self, now: float) -> None:
        while len(self.entries) in self.above:
            empty = replace(
                self.newest,
                version=len(self.entries),
                txn_id=None,
                landed_at=now,
                added=frozenset(),
                removed=frozenset(),
            )
            self.entries.append(empty)

    def _following(self, number: int, actions: Actions, now: float) -> Entry:
        before = self.newest
        info = actions.commit_info
        assert info is not None
        assert info.timestamp is not None
        if info.timestamp <= before.timestamp:
            raise Violation(
                "time-backwards", f"version {number} is of {info.timestamp}, the one before of {before.timestamp}"
            )
        live = dict(before.live)
        for remove in actions.removes:
            if remove.path not in live:
                raise Violation("removed-dead", f"version {number} removes {remove.path}, which is not live")
            del live[remove.path]
        for add in actions.adds:
            if add.path in live:
                raise Violation("added-twice", f"version {number} adds {add.path}, which is live already")
            live[add.path] = add.partition_values.get("part") or ""
        batches = dict(before.batches)
        for txn in actions.txns:
            if batches.get(txn.app_id, -1) >= txn.version:
                raise Violation("batch-twice", f"version {number} holds batch {txn.version} of {txn.app_id} once more")
            batches[txn.app_id] = txn.version
        properties = dict(actions.metadata.configuration) if actions.metadata else before.properties
        self._check_meaning(number, actions, before, live, properties)
        if info.time_travel_floor is not None:
            self.floor = max(self.floor, info.time_travel_floor)
        return Entry(
            version=number,
            txn_id=info.txn_id,
            landed_at=now,
            timestamp=info.timestamp,
            live=live,
            properties=properties,
            batches=batches,
            added=frozenset(add.path for add in actions.adds if add.data_change),
            removed=frozenset(remove.path for remove in actions.removes if remove.data_change),
        )

    def _check_restore(self, number: int, target: int, live: dict[str, str]) -> None:
        """A restore makes exactly the files of its target live, and its target is not below the floor."""
        if target < self.floor:
            raise Violation(
                "below-floor", f"version {number} restores {target}, and the oldest version is {self.floor}"
            )
        if live != self.entries[target].live:
            wrong = sorted(live.keys() ^ self.entries[target].live.keys())
            raise Violation("restored-other-rows", f"version {number} restores {target}, but differs in {wrong}")

    def _check_meaning(
        self, number: int, actions: Actions, before: Entry, live: dict[str, str], properties: dict[str, str]
    ) -> None:
        """What the writer meant is in its parameters: the actions must say the same at this version."""
        info = actions.commit_info
        assert info is not None
        meant = meaning(info)
        added = {add.path for add in actions.adds}
        scope = meant.get("replaces")
        if scope is not None:
            kept = [path for path, part in live.items() if path not in added and scope in ("*", part)]
            if kept:
                raise Violation(
                    "overwrite-kept", f"version {number} replaces {scope}, but {kept} of others is still live"
                )
        restores = meant.get("restores")
        if restores is not None:
            self._check_restore(number, restores, live)
        touched = {path for path in before.live if path not in live}
        if scope not in (None, "*") and any(before.live[path] != scope for path in touched):
            raise Violation("overwrite-took", f"version {number} replaces {scope}, but removes {sorted(touched)}")
        if scope is None and "removes" not in meant and "merges" not in meant and touched:
            raise Violation("append-took", f"version {number} should add only, but removes {sorted(touched)}")
        for result, sources in (meant.get("merges") or {}).items():
            if result in added and not touched.issuperset(sources):
                raise Violation(
                    "merged-dead", f"version {number} adds {result}, but its sources {sources} were not all live"
                )
        schemas = {key: text for key, text in properties.items() if key.startswith(SCHEMA_KEY)}
        expected = {**before.properties, **(meant.get("sets") or {}), **schemas}
        if properties != expected:
            raise Violation("lost-update", f"version {number} has properties {properties}, should have {expected}")


def _restored(info: CommitInfo) -> dict[str, Any]:
    """What a restore meant, and what the way back from a restore may do."""
    meant = dict(info.operation_parameters or {})
    return {"restores": meant["version"], "removes": True} if info.operation == "RESTORE" else {"removes": True}


def meaning(info: CommitInfo) -> dict[str, Any]:
    """What a writer meant to do, in the words of the simulation's own writers or of the verbs of a table."""
    if info.operation in ("RESTORE", "UNDO RESTORE"):
        return _restored(info)
    meant = dict(info.operation_parameters or {})
    if info.operation == "MERGE SPLITS":
        meant["merges"] = {}
    if meant.get("mode") == "Overwrite":
        part = re.search("'(.*)'", str(meant.get("predicate", "")))
        meant["replaces"] = part[1] if part else "*"
    return meant


def first(actions: Actions, now: float) -> Truth:
    """The truth of a table that begins with these actions."""
    assert actions.metadata is not None
    info = actions.commit_info
    assert info is not None
    entry = Entry(0, info.txn_id, now, info.timestamp or 0, {}, dict(actions.metadata.configuration), {})
    truth = Truth(actions.metadata.id, [entry])
    if info.txn_id is not None:
        truth.applied[info.txn_id] = 0
    return truth
