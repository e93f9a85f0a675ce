"""`Remains`: every object of a log, read as far as it can be. What cannot be read is kept with the reason.

Nothing comes from the memory of the process: a check is about the bytes in the store. Version files are held in memory all at
once, as opening a table without a state holds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeVar

from indextables.core.errors import LogError, LogReadTimeout, ObjectNotFound
from indextables.log.actions import NEW_TABLE_FEATURES
from indextables.log.json_checkpoint import load_checkpoint
from indextables.log.listing import list_versions
from indextables.log.log_paths import LOG_DIR, STATES_PREFIX, parse_state_key, version_key
from indextables.log.snapshot import Snapshot
from indextables.log.state.load_manifest import load_manifest
from indextables.log.state.load_state import load_state
from indextables.log.state.model import ManifestItem, State, manifest_key
from indextables.log.state.read import decode_state
from indextables.log.table_log import TableLog, VersionFile
from indextables.storage.store import ObjectMeta

T = TypeVar("T")

_ROUNDS: Final = 3
"""Times that a log is read, at most: an object that clean-up deletes between the listing and its turn begins it anew."""
_AT_ONCE: Final = 64
"""Version files that are read together, before progress is told: as many as a purge reads together."""
MANIFESTS: Final = f"{LOG_DIR}/manifests/"
"""Where states keep the manifests that several of them name."""


class _Vanished(Exception):
    """A listed object was gone when it was read."""


@dataclass(frozen=True)
class Base:
    """A state or a JSON checkpoint."""

    version: int
    key: str
    is_state: bool
    snapshot: Snapshot | None = None
    """The table at the version; None where the object cannot be used."""
    state: State | None = None
    error: str | None = None
    """Why the object itself cannot be read."""
    bad_manifests: tuple[tuple[str, str], ...] = ()
    """Keys of manifests that cannot be used, each with the reason."""
    paths: frozenset[str] = frozenset()
    """Every path in the manifests or in the checkpoint that can be read, tombstoned paths included."""

    @property
    def table_id(self) -> str | None:
        """The table that the object says it belongs to."""
        if self.snapshot is not None:
            return self.snapshot.metadata.id or None
        return self.state.metadata.id if self.state is not None and self.state.metadata is not None else None


@dataclass
class Remains:
    """What a log directory holds."""

    log: TableLog
    versions: dict[int, VersionFile] = field(default_factory=dict)
    bad_versions: dict[int, str] = field(default_factory=dict)
    """Version files that cannot be read, each with the reason."""
    bases: list[Base] = field(default_factory=list)
    """States and checkpoints in the order of their versions."""
    parts: dict[str, int] = field(default_factory=dict)
    """Keys of parts of checkpoints, with the version of each."""
    manifests: tuple[str, ...] = ()
    """Keys of all manifests in the shared directory."""

    @property
    def is_empty(self) -> bool:
        """True if no object could belong to a table."""
        return not (self.versions or self.bad_versions or self.bases)

    @property
    def newest_version(self) -> int:
        """The highest number of a version file, readable or not; -1 where there is none."""
        return max([*self.versions, *self.bad_versions], default=-1)

    @property
    def table_id(self) -> str | None:
        """The table's identity: version 0's, else that of the newest object that says which table it belongs to."""
        zero = self.versions.get(0)
        if zero is not None and zero.actions.metadata is not None:
            return zero.actions.metadata.id
        for base in reversed(self.bases):
            if base.table_id:
                return base.table_id
        found = (self.versions[number].actions for number in sorted(self.versions, reverse=True))
        return next((actions.table_id for actions in found if actions.table_id), None)

    @property
    def is_ours(self) -> bool:
        """True if this implementation committed to the table: a version says which table it belongs to."""
        return any(version.actions.table_id for version in self.versions.values()) or any(
            base.state is not None and base.state.protocol is not None for base in self.bases
        )

    @property
    def is_born_here(self) -> bool:
        """True if this implementation created the table. It never deletes version 0, as others do."""
        found = [version.actions.protocol for version in self.versions.values()]
        found += [base.snapshot.protocol for base in self.bases if base.snapshot is not None]
        return any(set(NEW_TABLE_FEATURES) <= set(protocol.reader_features or ()) for protocol in found if protocol)

    def usable(self, base: Base) -> bool:
        """Whether the table can be opened from a base: the base can be read whole, and belongs to the table."""
        return base.snapshot is not None and base.table_id in (None, self.table_id)

    def covered(self, version: int) -> bool:
        """Whether opening the newest version needs no version file of this number: a usable base is at or above it."""
        return any(base.version >= version and self.usable(base) for base in self.bases)

    def named_paths(self, *, of_table: bool = False) -> set[str]:
        """Every path that a readable object names, in an add or a remove; with `of_table`, only those of this table's objects."""
        named: set[str] = set()
        for version in self.versions.values():
            if not of_table or version.belongs_to(self.table_id or ""):
                named.update(add.path for add in version.actions.adds)
                named.update(remove.path for remove in version.actions.removes)
        for base in self.bases:
            if not of_table or base.table_id in (None, self.table_id):
                named |= base.paths
        return named


def read_remains(log: TableLog, told: Callable[[int], None] | None = None) -> Remains:
    """Read everything in the log. Raises StorageError and LogReadTimeout, and no other LogError.

    `told` is called with how many version files, states and checkpoints were read, some at a time.
    """
    for rounds_left in reversed(range(_ROUNDS)):
        try:
            return _read_once(log, told or _nobody, patient=rounds_left > 0)
        except _Vanished:
            continue
    raise AssertionError("the last round does not raise _Vanished")


def _nobody(count: int) -> None:
    """Tell nobody how many objects were read."""


def _read_once(log: TableLog, told: Callable[[int], None], *, patient: bool) -> Remains:
    """Read every object of the log once, in an order that a commit that goes on meanwhile does not disturb.

    Manifests are listed before states, so that a manifest whose state is written meanwhile is named. States are listed before
    versions, so that the version of every listed state is listed.
    """
    remains = Remains(log, manifests=tuple(meta.key for meta in log.store.list(MANIFESTS)))
    states = list(_state_objects(log))
    listing = list_versions(log.store, 0)
    numbers = sorted(listing.versions)
    for start in range(0, len(numbers), _AT_ONCE):
        some = numbers[start : start + _AT_ONCE]
        calls = [partial(_attempt, partial(_read_version, log, number), patient) for number in some]
        for number, found in zip(some, log.side_by_side(calls), strict=True):
            if isinstance(found, str):
                remains.bad_versions[number] = found
            else:
                remains.versions[number] = found
        told(len(some))
    remains.parts = {meta.key: version for version, metas in listing.parts.items() for meta in metas}
    zero = remains.versions.get(0)
    zero = zero if zero is not None and zero.actions.metadata is not None else None
    reads = [partial(_read_checkpoint, log, version, meta, patient) for version, meta in listing.checkpoints.items()]
    reads += [partial(_read_state, log, version, meta, zero, patient) for version, meta in states]
    bases = []
    for read in reads:
        bases.append(read())
        told(1)
    remains.bases = sorted(bases, key=lambda base: (base.version, base.is_state, base.key))
    return remains


def _state_objects(log: TableLog) -> Iterator[tuple[int, ObjectMeta]]:
    """The states that readers use: of two objects of one version, `_manifest.avro`."""
    seen: set[int] = set()
    for meta in log.store.list(STATES_PREFIX):
        version = parse_state_key(meta.key)
        if version is not None and version not in seen:
            seen.add(version)
            yield version, meta


def _attempt(call: Callable[[], T], patient: bool) -> T | str:
    """The answer of a read, or why there is none."""
    try:
        return call()
    except LogReadTimeout:
        raise
    except ObjectNotFound as gone:
        if patient:
            raise _Vanished(str(gone)) from gone
        return str(gone)
    except LogError as damaged:
        return str(damaged)


def _read_version(log: TableLog, number: int) -> VersionFile:
    found = log.read_version(number)
    if found is None:
        raise ObjectNotFound(f"{version_key(number)} was listed and is gone", key=version_key(number))
    return found


def _read_checkpoint(log: TableLog, version: int, meta: ObjectMeta, patient: bool) -> Base:
    found = _attempt(lambda: load_checkpoint(log, version, log.store.get(meta.key), None), patient=False)
    if isinstance(found, str):
        if patient and log.head(meta.key) is None:
            raise _Vanished(meta.key)
        return Base(version, meta.key, is_state=False, error=found)
    paths = found.files.column("path").to_pylist()
    return Base(version, meta.key, is_state=False, snapshot=found, paths=frozenset(paths))


def _read_state(log: TableLog, version: int, meta: ObjectMeta, zero: VersionFile | None, patient: bool) -> Base:
    base = partial(Base, version, meta.key, is_state=True)
    stored = _attempt(lambda: log.store.get(meta.key), patient)
    if isinstance(stored, str):
        return base(error=stored)
    state = _attempt(lambda: decode_state(f"{log.url}/{meta.key}", stored.data, version), patient)
    if isinstance(state, str):
        return base(error=state)
    read = log.side_by_side(
        [partial(_attempt, partial(_paths_of, log, version, item), False) for item in state.manifests]
    )
    bad = [
        (manifest_key(item.path, version), found)
        for item, found in zip(state.manifests, read, strict=True)
        if isinstance(found, str)
    ]
    if bad and patient and log.head(meta.key) is None:
        raise _Vanished(meta.key)  # clean-up thinned the state out, and its manifests with it
    listed = [path for found in read if not isinstance(found, str) for path in found]
    made = base(state=state, bad_manifests=tuple(bad), paths=frozenset(listed))
    if bad:
        return made
    snapshot = _attempt(
        lambda: load_state(log, version, stored, None if state.metadata else zero, has_version_file=True), False
    )
    if isinstance(snapshot, str):
        return base(state=state, error=snapshot, paths=frozenset(listed))
    return base(state=state, snapshot=snapshot, paths=frozenset(listed))


def _paths_of(log: TableLog, version: int, item: ManifestItem) -> list[str]:
    paths: list[str] = load_manifest(log, version, item, ["path"]).column("path").to_pylist()
    return paths
