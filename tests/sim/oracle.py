"""The checker: it watches every change of the store, knows the true history, and compares everything with it.

every landing     versions contiguous, each commit and each batch once, nothing that was reported as failed
every answer      acknowledged: it is that version. Skipped: the batch is there
every read        the true files, properties, batches and time at its version, and no older than when it began
every deletion    no manifest of a state, and no data file of a version, that somebody opened as the newest within the safety age;
                  the newest version and every version in force within the retention can still be opened, and their
                  data files are there (opened by the same code, at once, without faults)
every checkpoint  says what the version it stands for says
the end           all of it once more
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any

from indextables.core import options as opt
from indextables.core.errors import IndexTablesError, ObjectNotFound, VersionNotFound
from indextables.core.options import Options
from indextables.core.runtime.threads import Inline
from indextables.log.actions import Actions
from indextables.log.codec import decode_actions
from indextables.log.json_checkpoint import NotThisTable, load_checkpoint
from indextables.log.log_cache import Kind, LogCache
from indextables.log.log_paths import POINTER, PROBE, LogName, parse_log_key, parse_state_key, version_key
from indextables.log.open_snapshot import open_log
from indextables.log.snapshot import LogAtVersion, Snapshot
from indextables.log.snapshot_files import read_files
from indextables.log.state.live_files import StateFiles
from indextables.log.state.load_state import load_state
from indextables.log.state.model import manifest_key
from indextables.log.table_log import TableLog
from sim.truth import Entry, Truth, first
from sim.weather import SAFETY_HOURS
from sim.world import HOUR, LOG, Request, SimClock, SimStore, Violation, World

_decoded: dict[bytes, Actions] = {}


def decode(key: str, data: bytes) -> Actions:
    """The actions of a version file, decoded once."""
    if data not in _decoded:
        if len(_decoded) > 5000:
            _decoded.clear()
        _decoded[data] = decode_actions(key, data)
    return _decoded[data]


def describe(key: str, data: bytes) -> str:
    """What a version file or checkpoint says, in a few words."""
    name = parse_log_key(key)
    if name is None or not name.is_version:
        return f"{len(data)} bytes"
    actions = decode(key, data)
    info = actions.commit_info
    says = [f"{(actions.txn_id or '')[:4]} {info.operation if info else ''} of {(actions.table_id or '')[:4]}"]
    says += [f"+{add.path}" for add in actions.adds]
    says += [f"-{remove.path}" for remove in actions.removes]
    says += [f"{txn.app_id}={txn.version}" for txn in actions.txns]
    return " ".join(says)


class _QuickLog(TableLog):
    """A log that decodes the same bytes once. It remembers nothing about what is there."""

    def decode_text(self, key: str, text: bytes) -> Actions:
        known = _decoded.get(text)
        if known is None:
            known = _decoded[text] = super().decode_text(key, text)
        return known


class _Checkpoints(LogCache):
    """Remembers what a checkpoint's bytes say (its ETag is part of the key), and nothing else."""

    def get(self, kind: Kind, key: Hashable, *, now: float, ttl_seconds: float) -> Any | None:
        return super().get(kind, key, now=now, ttl_seconds=1e12) if kind == "checkpoint" else None

    def put(self, kind: Kind, key: Hashable, value: Any, *, now: float) -> None:
        if kind == "checkpoint":
            super().put(kind, key, value, now=now)


@dataclass(frozen=True)
class Began:
    """What was true when an operation began."""

    epoch: int
    version: int
    disturbed: bool
    at: float


class Oracle:
    """Knows the truth. `retention` is what the clean-ups of this schedule are asked to keep, in seconds."""

    def __init__(self, world: World, options: Options, retention: float) -> None:
        self.world = world
        self.retention = retention
        self.truth: Truth | None = None
        self.past: list[Truth] = []
        self.dropping = False
        self.epoch = 0
        self.commits = 0
        self.acked: dict[str, tuple[str, int]] = {}
        self.failed: set[str] = set()
        self.reads = 0
        self.ghosts = 0
        self.is_sleepy: Callable[[], bool] = lambda: False
        """Whether the change that is being made comes late: its maker slept, or the network did."""
        self._touched: set[str] = set()
        self._needs: dict[int, frozenset[str]] = {}
        self._look_at_newest = False
        self._look_at_past = False
        self._new_bases: list[tuple[str, int, bool]] = []
        self._bases: dict[int, float] = {}
        """When states and checkpoints were first written."""
        self._late_bases: set[int] = set()
        self._promised: dict[str, tuple[float, str]] = {}
        """Manifests and data files that somebody may still want to read, until when, and who that is."""
        rng = random.Random("oracle")
        clock = SimClock(world, self._direct, rng)
        in_parts = options.is_set(opt.CHECKPOINT_MULTIPART_MAX_ACTIONS_PER_PART)
        plain = options.merged({"transaction.cache.enabled": not in_parts, "transaction.maxStaleness": 0})
        self.log: TableLog = _QuickLog(SimStore(self._direct), plain, clock, Inline(), _Checkpoints())
        world.watchers.append(self._changed)

    def _direct(self, request: Request) -> Any:
        if request.verb == "get":
            self._touched.add(request.key)
        return self.world.carry_out(request)

    # what the store tells

    def _changed(self, what: str, key: str, data: bytes) -> None:
        if not key.startswith(LOG):
            if what == "delete":
                self._data_deleted(key)
            return
        name = parse_log_key(key)
        if what == "write" and name is not None and name.is_version:
            self._version_landed(name.version, key, data)
        elif what == "write":
            self._other_landed(key, name)
        elif key != PROBE:
            self._log_deleted(key)

    def _version_landed(self, number: int, key: str, data: bytes) -> None:
        actions = decode(key, data)
        now = self.world.now
        if number == 0:
            self._table_landed(actions, now)
            return
        if self.truth is None or self.dropping:
            return
        if actions.table_id != self.truth.table_id:
            self.truth.append_alien(number, now)
            return
        before = self.truth.version
        self.truth.append(number, actions, now)
        if self.truth.version == before:
            self.ghosts += 1
            return
        self.commits += 1
        if actions.txn_id in self.failed:
            raise Violation(
                "failed-visible", f"commit {actions.txn_id} was reported as failed, and is version {number}"
            )
        self._check_data(self.truth.entries[number], [add.path for add in actions.adds])

    def _table_landed(self, actions: Actions, now: float) -> None:
        if self.truth is not None and not self.dropping:
            raise Violation(
                "created-over", f"version 0 was written over a table that is at version {self.truth.version}"
            )
        if self.truth is not None:
            self.past.append(self.truth)
        self.truth = first(actions, now)
        self.dropping = False
        self.epoch += 1
        self._needs.clear()
        self._look_at_newest = True
        for key in self.world.objects:
            name = parse_log_key(key) if key.startswith(LOG) else None
            if name is not None and name.is_version and name.version > 0:
                self.truth.append_alien(name.version, now)

    def _other_landed(self, key: str, name: LogName | None) -> None:
        version = parse_state_key(key)
        if name is not None and name.part is None:
            version = name.version
        if version is not None:
            self._new_bases.append((key, version, self.is_sleepy()))
            self._bases.setdefault(version, self.world.now)
            if self.is_sleepy():
                self._late_bases.add(version)
            for number in [number for number in self._needs if number >= version]:
                del self._needs[number]
        if version is not None or key == POINTER:
            self._look_at_newest = True

    def _log_deleted(self, key: str) -> None:
        if self.dropping:
            return
        self._check_promise(key, "the state that names it")
        self._look_at_newest = self._look_at_past = True
        for version in [version for version, needs in self._needs.items() if key in needs]:
            del self._needs[version]
        if key == version_key(0):
            self._needs.clear()

    def _check_promise(self, key: str, what: str) -> None:
        until, who = self._promised.get(key, (0.0, ""))
        if until > self.world.now:
            raise Violation("snatched", f"{key} was deleted, and {who} opened {what} a moment ago")

    def _data_deleted(self, path: str) -> None:
        if self.truth is None or self.dropping:
            return
        self._check_promise(path, "the newest version, which has it,")
        for entry in self._retained():
            if path in entry.live:
                raise Violation("data-gone", f"{path} was deleted, and version {entry.version} needs it")

    def _check_data(self, entry: Entry, paths: Iterable[str]) -> None:
        gone = [path for path in paths if path not in self.world.objects]
        if gone:
            raise Violation("data-gone", f"version {entry.version} names {gone}, which were deleted")

    # what happens to the table from outside

    def drop_begins(self) -> None:
        self.dropping = True
        self._bases.clear()
        self._late_bases.clear()
        self._promised.clear()
        self.epoch += 1

    # what actors report

    def began(self) -> Began:
        version = self.truth.version if self.truth is not None and not self.dropping else -1
        return Began(self.epoch, version, self.dropping, self.world.now)

    def undisturbed(self, began: Began) -> bool:
        """Whether the table was neither dropped nor created meanwhile."""
        return not self.dropping and not began.disturbed and began.epoch == self.epoch

    def was_acked(self, who: str, snapshot: Snapshot, txn_id: str) -> None:
        self.acked[txn_id] = (snapshot.table_id, snapshot.version)
        truth = self.truth
        if truth is None or self.dropping or truth.table_id != snapshot.table_id:
            return
        if truth.applied.get(txn_id) != snapshot.version:
            raise Violation(
                "acked-hidden",
                f"{who}: commit {txn_id} was acknowledged as version {snapshot.version}, but that is "
                f"{truth.entries[snapshot.version].txn_id if snapshot.version <= truth.version else 'not there'}",
            )

    def has_failed(self, who: str, ids: Iterable[str], why: BaseException) -> None:
        for txn_id in ids:
            self.failed.add(txn_id)
            for truth in [*self.past, *([self.truth] if self.truth else [])]:
                if txn_id in truth.applied:
                    raise Violation(
                        "failed-visible",
                        f"{who}: commit {txn_id} was reported as failed ({type(why).__name__}), and is version "
                        f"{truth.applied[txn_id]}",
                    )

    def was_skipped(self, who: str, began: Began, snapshot: Snapshot, app_id: str, batch: int) -> None:
        """Nothing was written because the batch is there already: it must be."""
        truth = self.truth
        if truth is None or not self.undisturbed(began) or truth.table_id != snapshot.table_id:
            return
        if truth.entries[snapshot.version].batches.get(app_id, -1) < batch:
            raise Violation(
                "skipped-wrongly", f"{who}: batch {batch} of {app_id} was taken as written, but is not there"
            )

    def gave_up(self, who: str, began: Began, error: BaseException) -> None:
        """An error that nothing but the table itself can have caused."""
        if self.undisturbed(began):
            raise Violation("broken", f"{who}: {type(error).__name__}: {error}")

    def was_read(
        self, who: str, began: Began, snapshot: Snapshot, paths: list[str] | None, *, newest: bool, stale: float = 0.0
    ) -> None:
        """A snapshot that an actor got, and its files where it looked at them.

        `newest`: it asked for the newest; `stale`: it allowed this many seconds.
        """
        self.reads += 1
        truth = self.truth
        if truth is None or self.dropping:
            return
        if truth.table_id != snapshot.table_id:
            if newest and not stale and self.undisturbed(began):
                raise Violation(
                    "wrong-table", f"{who} opened table {snapshot.table_id}, which was dropped before it began"
                )
            return
        self.compare(who, truth, snapshot, paths)
        if not self.undisturbed(began) or not newest:
            return
        if snapshot.gap is not None:
            raise Violation("bricked", f"{who} finds a gap at {snapshot.gap}; the truth is 0 to {truth.version}")
        due = began.version
        while stale and due > 0 and truth.entries[due].landed_at > self.world.now - stale:
            due -= 1
        if snapshot.version < due:
            raise Violation("stale-read", f"{who} got version {snapshot.version}, {due} was there before it began")
        self._promise(who, began, snapshot)

    def _promise(self, who: str, began: Began, snapshot: Snapshot) -> None:
        """Who opens the newest version has a safety age to read its data files, and the manifests of the state that it stands on.

        This holds whatever is written, cleaned up and purged meanwhile. Manifests are not promised where the state's writer
        slept for hours before it wrote the state: they may be gone already.
        """
        assert self.truth is not None
        until = began.at + SAFETY_HOURS * HOUR
        for path in self.truth.entries[snapshot.version].live:
            self._promised[path] = max(self._promised.get(path, (0.0, "")), (until, who))
        source = snapshot.file_set.base
        if not isinstance(source, StateFiles):
            return
        number = source.state.version
        if number in self._late_bases or any(
            each > number and landed <= began.at for each, landed in self._bases.items()
        ):
            return
        for item in source.state.manifests:
            key = manifest_key(item.path, number)
            self._promised[key] = max(self._promised.get(key, (0.0, "")), (until, who))

    def compare(self, who: str, truth: Truth, snapshot: Snapshot, paths: list[str] | None) -> None:
        number = snapshot.version
        if number > truth.version:
            raise Violation("wrong-read", f"{who} read version {number}, the newest is {truth.version}")
        entry = truth.entries[number]
        through = range((snapshot.base or 0) + 1, number + 1)
        if any(each in truth.ghosts for each in through):
            return
        if paths is not None and len(set(paths)) != len(paths):
            raise Violation("live-twice", f"{who} read version {number}: a path is live twice in {sorted(paths)}")
        if paths is not None and set(paths) != entry.live.keys():
            extra, missing = sorted(set(paths) - entry.live.keys()), sorted(entry.live.keys() - set(paths))
            raise Violation("wrong-read", f"{who} read version {number} with {extra} too much and {missing} too little")
        if snapshot.metadata.configuration != entry.properties:
            raise Violation(
                "wrong-read",
                f"{who} read version {number} with {snapshot.metadata.configuration}, should be {entry.properties}",
            )
        batches = {app_id: txn.version for app_id, txn in snapshot.transactions.items()}
        if batches != entry.batches:
            raise Violation(
                "wrong-read", f"{who} read version {number} with batches {batches}, should be {entry.batches}"
            )
        if snapshot.timestamp != entry.timestamp:
            raise Violation(
                "wrong-time", f"{who} read version {number} of {snapshot.timestamp}, should be {entry.timestamp}"
            )

    # what is checked after deletions and at the end

    def check(self) -> None:
        """Everything that changes since the last call ask for."""
        if self.dropping or self.truth is None:
            self._new_bases.clear()
            return
        if self._new_bases:
            bases, self._new_bases = self._new_bases, []
            for key, number, sleepy in bases:
                self._check_base(key, number, sleepy=sleepy)
        if self._look_at_newest:
            self._look_at_newest = False
            self._check_newest()
        if self._look_at_past:
            self._look_at_past = False
            self._check_past()

    def finish(self) -> None:
        """The end: everything, with nothing taken for known."""
        self._needs.clear()
        self._look_at_newest = self._look_at_past = True
        self.check()
        if self.dropping or self.truth is None:
            return
        truth = self.truth
        for txn_id, (table_id, version) in self.acked.items():
            if table_id == truth.table_id and truth.applied.get(txn_id) != version:
                raise Violation(
                    "acked-hidden", f"commit {txn_id} was acknowledged as version {version}, and is not there"
                )
        for key, stored in self.world.objects.items():
            name = parse_log_key(key) if key.startswith(LOG) else None
            if name is None or not name.is_version or name.version in truth.ghosts or name.version > truth.version:
                continue
            actions = decode(key, stored.data)
            if actions.table_id == truth.table_id and actions.txn_id != truth.entries[name.version].txn_id:
                raise Violation("used-twice", f"version {name.version} is not what it was when it was written")

    def _retained(self) -> Iterable[Entry]:
        assert self.truth is not None
        truth = self.truth
        horizon = self.world.now - self.retention
        for entry in truth.entries:
            inside = truth.left_at(entry.version) > horizon and entry.version >= truth.floor
            if entry.version == truth.version or inside:
                yield entry

    def _open(self, at: int | None) -> tuple[Snapshot, list[str]] | IndexTablesError:
        """A version, and its files, as a reader gets them: at once, and without faults."""
        self._touched = set()
        try:
            found, files = read_files(LogAtVersion(self.log, open_log(self.log, at)), None)
        except IndexTablesError as error:
            return error
        return found, files.column("path").to_pylist()

    def opens(self, version: int) -> IndexTablesError | None:
        """Why a version cannot be opened; None where it can."""
        found = self._open(version)
        return found if isinstance(found, IndexTablesError) else None

    def _check_newest(self) -> None:
        assert self.truth is not None
        truth = self.truth
        opened = self._open(None)
        if isinstance(opened, IndexTablesError):
            raise Violation("unreadable", f"opening fails: {type(opened).__name__}: {opened}")
        found, paths = opened
        if found.table_id != truth.table_id:
            raise Violation("wrong-table", f"opening finds table {found.table_id}, it should be {truth.table_id}")
        if found.gap is not None:
            raise Violation("bricked", f"opening finds a gap at {found.gap}, the truth is 0 to {truth.version}")
        if found.version < truth.version:
            raise Violation("hidden", f"opening finds version {found.version}, the newest is {truth.version}")
        self.compare("opening", truth, found, paths)

    def _check_past(self) -> None:
        assert self.truth is not None
        truth = self.truth
        for entry in list(self._retained()):
            if entry.version in self._needs:
                continue
            opened = self._open(entry.version)
            if isinstance(opened, IndexTablesError):
                kind = "travel" if isinstance(opened, VersionNotFound) else "unreadable"
                raise Violation(kind, f"version {entry.version} is within the retention, opening it fails: {opened}")
            self.compare("travel", truth, *opened)
            self._check_data(entry, entry.live)
            self._needs[entry.version] = frozenset(self._touched)

    def _check_base(self, key: str, number: int, *, sleepy: bool) -> None:
        """A state or checkpoint of this table is what its version is.

        All that it names is there, unless its writer slept for hours before the last request, or that came late.
        """
        assert self.truth is not None
        stored = self.log.store.get(key) if key in self.world.objects else None
        zero = self.log.read_version(0)
        if stored is None or zero is None:
            return
        try:
            if parse_state_key(key) is None:
                found = load_checkpoint(self.log, number, stored, self.truth.table_id)
            else:
                found = load_state(self.log, number, stored, zero, has_version_file=True)
            paths = found.files.column("path").to_pylist()
        except NotThisTable:
            return
        except ObjectNotFound as error:
            if not sleepy:
                raise Violation("broken-state", f"{key} was written, but {error}") from error
            return
        except IndexTablesError:
            return
        self.compare(f"state {number}", self.truth, found, paths)
