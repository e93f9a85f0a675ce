"""Opening: from nothing but a URL to the snapshot of the newest, or of an older, version.

    pointer ─▶ list versions │ list states │ its checkpoint │ version 0 ─▶ versions after the base ─▶ fold
              (side by side: one round trip)                               (side by side: one round trip)

The pointer is only a hint: the newest usable base in the listing wins, and if there is none the listing is taken once more
from the start. Version 0 says which table this is; a base of another table is ignored, a version of another table counts as
empty. An object that vanishes between listing and reading (clean-up goes on meanwhile) restarts the opening.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.errors import (
    CorruptLog,
    LogError,
    LogReadTimeout,
    LogWarning,
    ObjectNotFound,
    TableNotFound,
    VersionNotFound,
)
from indextables.log.actions import registered_schemas
from indextables.log.json_checkpoint import NotThisTable, load_checkpoint
from indextables.log.listing import Listing, list_states, list_versions
from indextables.log.log_paths import checkpoint_key, version_key
from indextables.log.pointer import Hint, read_pointer
from indextables.log.protocol import check_readable
from indextables.log.snapshot import Snapshot, apply_version, first_snapshot
from indextables.log.state.load_state import load_state
from indextables.log.state.model import state_key
from indextables.log.table_log import TableLog, VersionFile
from indextables.storage.store import StoredObject

logger = logging.getLogger("indextables")

_RESTARTS = 3
"""Times that opening starts anew where an object vanishes under it, at most."""
_SLOW_SECONDS = 1800.0
"""A state replaces versions an hour after it was written. Who was asleep for longer between two looks has seen two logs: a
version that is missing then, even the one that a state was made of, says nothing about the table."""


class _Vanished(Exception):
    """A listed object was gone when it was read."""


@dataclass(frozen=True)
class _How:
    """`patient`: what vanishes restarts the opening. `whole`: the manifests of a state are read at once."""

    patient: bool
    whole: bool


@dataclass
class _Found:
    """What the first look at the log brought."""

    listing: Listing
    start: int
    version_zero: VersionFile | None
    hinted: StoredObject | None
    unreadable: int = -1
    """The newest base that could not be used."""

    @property
    def table_id(self) -> str | None:
        if self.version_zero is None or self.version_zero.actions.metadata is None:
            return None
        return self.version_zero.actions.metadata.id


def open_log(log: TableLog, at: int | None = None, *, whole: bool = False) -> Snapshot:
    """The newest version, or version `at`. With `whole` the manifests of a state are read before it is believed."""
    if at is not None and at < 0:
        raise VersionNotFound(
            f"table {log.url}: there is no version {at}, versions start at 0", url=log.url, version=at
        )
    for restarts_left in reversed(range(_RESTARTS + 1)):
        try:
            return _open_once(log, at, _How(patient=restarts_left > 0, whole=whole))
        except _Vanished as vanished:
            logger.info("opening %s again: %s was deleted meanwhile", log.url, vanished)
    raise AssertionError("the last attempt does not raise _Vanished")


def _open_once(log: TableLog, at: int | None, how: _How) -> Snapshot:
    sent = log.clock.boot()
    found = _look(log, read_pointer(log.store) if at is None else None)
    snapshot = _base(log, found, at, how)
    snapshot = replace(snapshot, anchor=found.version_zero.meta.etag if found.version_zero else None)
    snapshot = _replay(log, found, snapshot, at, patient=how.patient)
    newest = found.listing.versions.get(snapshot.version)
    snapshot = replace(snapshot, tip=(snapshot.version, newest.etag) if newest else None)
    doubtful = found.unreadable > snapshot.version or snapshot.gap is not None or snapshot.state_committed
    if doubtful and log.clock.boot() - sent > _SLOW_SECONDS:
        if how.patient:
            raise _Vanished("what was looked at first")
        raise _too_slow(log.url)
    if found.unreadable > snapshot.version:
        raise CorruptLog(
            f"table {log.url}: its newest state, {found.unreadable}, cannot be read, and the versions that would replace it "
            f"are gone after {snapshot.version}; repair the log",
            url=log.url,
            state=found.unreadable,
        )
    if at is not None and (snapshot.version != at or at < snapshot.floor):
        raise _not_reachable(snapshot, at)
    check_readable(log.url, snapshot.protocol)
    if snapshot.gap is not None and at is None:
        warnings.warn(
            f"table {log.url}: version {snapshot.gap} is missing though newer ones are there; reading version "
            f"{snapshot.version}, writing is refused until the log is repaired",
            LogWarning,
            stacklevel=2,
        )
    return replace(_with_missing_schemas(log, snapshot), checked=sent)


def _too_slow(url: str) -> LogReadTimeout:
    return LogReadTimeout(
        f"table {url}: opening was held up for more than {_SLOW_SECONDS / 60:g} minutes, {_RESTARTS + 1} times over, and "
        "clean-up may have deleted what was looked at first; open it again",
        url=url,
    )


def below_floor(url: str, at: int, floor: int) -> VersionNotFound:
    """The error for a version that time travel does not go to any more."""
    return VersionNotFound(
        f"table {url}: version {at} was truncated away, the oldest is {floor}", url=url, version=at, floor=floor
    )


def _not_reachable(snapshot: Snapshot, at: int) -> VersionNotFound:
    url = snapshot.url
    if 0 <= at < snapshot.floor:
        return below_floor(url, at, snapshot.floor)
    if snapshot.gap is not None:
        text = f"table {url}: version {at} cannot be reached, version {snapshot.gap} is missing"
    else:
        text = f"table {url} is at version {snapshot.version}, version {at} does not exist (newest: {snapshot.version})"
    return VersionNotFound(text, url=url, version=at, newest=snapshot.version)


def _look(log: TableLog, hint: Hint | None) -> _Found:
    """Everything that does not depend on anything else, side by side."""
    start = (hint.version or 0) if hint is not None else 0
    calls: list[Callable[[], Any]] = [
        lambda: list_versions(log.store, start),
        lambda: list_states(log.store, start),
        lambda: log.read_version(0),
    ]
    if hint is not None:
        calls.append(lambda: _fetch_if_there(log, state_key(start) if hint.is_state else checkpoint_key(start)))
    results = log.workers.together(calls)
    listing: Listing = results[0]
    listing.states = results[1]
    version_zero: VersionFile | None = results[2]
    if version_zero is not None and version_zero.actions.metadata is None:
        name = f"{log.url}/{version_key(0)}"
        raise CorruptLog(f"{name} has no metaData: a table's version 0 must have it; repair the log", object=name)
    return _Found(listing, start, version_zero, results[3] if hint is not None else None)


def _fetch_if_there(log: TableLog, key: str) -> StoredObject | None:
    try:
        return log.store.get(key)
    except ObjectNotFound:
        return None


def _base(log: TableLog, found: _Found, at: int | None, how: _How) -> Snapshot:
    """The newest usable state or checkpoint, else version 0."""
    base = _newest_base(log, found, at, how)
    if base is None and found.start > 0:
        seen = set(found.listing.checkpoints) | set(found.listing.states)
        calls: list[Callable[[], Any]] = [lambda: list_versions(log.store, 0), lambda: list_states(log.store, 0)]
        found.listing, found.listing.states = log.workers.together(calls)
        found.start = 0
        base = _newest_base(log, found, at, how, already=seen)
    if found.version_zero is None and 0 in found.listing.versions and how.patient:
        raise _Vanished(version_key(0))  # the table was created, or dropped, between the two looks
    if base is not None:
        return base
    if found.version_zero is None:
        if found.listing.is_empty:
            raise TableNotFound(f"there is no table at {log.url}; create one with Table.create", url=log.url)
        if at is not None and not found.unreadable >= 0:
            raise VersionNotFound(
                f"table {log.url}: version {at} is not kept any more (oldest state: "
                f"{min(found.listing.checkpoints, default='none')})",
                url=log.url,
                version=at,
            )
        raise CorruptLog(
            f"table {log.url}: version 0 is missing and no state or checkpoint can be used; repair the log", url=log.url
        )
    zero = found.version_zero
    return first_snapshot(log.url, 0, zero.timestamp, zero.actions)


def _newest_base(
    log: TableLog, found: _Found, at: int | None, how: _How, already: Collection[int] = ()
) -> Snapshot | None:
    listing = found.listing
    for version in sorted((listing.checkpoints.keys() | listing.states.keys()) - set(already), reverse=True):
        if (at is not None and version > at) or (version == 0 and len(listing.states) > 1):
            continue  # another implementation's CHECKPOINT leaves a state 0 that is newer than its number
        for load in _loaders(listing, version):
            try:
                return load(log, found, version, how)
            except NotThisTable as alien:
                logger.info("%s", alien)
            except ObjectNotFound as error:
                if how.patient:
                    raise _Vanished(str(error)) from error
                _unusable(log, found, version, str(error))
            except LogReadTimeout:
                raise  # a slow store says nothing about the state
            except LogError as error:
                _unusable(log, found, version, str(error))
    return None


def _loaders(listing: Listing, version: int) -> list[Callable[[TableLog, _Found, int, _How], Snapshot]]:
    """A version can have a state and a checkpoint: what one of them lacks, the other may have, and clean-up counts on either."""
    loaders: list[Callable[[TableLog, _Found, int, _How], Snapshot]] = []
    if version in listing.states:
        loaders.append(_load_state)
    if version in listing.checkpoints:
        loaders.append(_load_checkpoint)
    return loaders


def _load_checkpoint(log: TableLog, found: _Found, version: int, _how: _How) -> Snapshot:
    return load_checkpoint(log, version, _stored(log, found, found.listing.checkpoints[version].key), found.table_id)


def _load_state(log: TableLog, found: _Found, version: int, how: _How) -> Snapshot:
    listing = found.listing
    stored = _stored(log, found, listing.states[version].key)
    newer = [number for number in listing.states if number >= version]  # the files of older states may be cleaned up
    there = any(number in listing.versions for number in newer)
    there = there or _is_there(log, version_key(version))  # the state may be newer than the listing of versions
    snapshot = load_state(log, version, stored, found.version_zero, has_version_file=there)
    if how.whole:
        snapshot.file_set.table()
    return snapshot


def _stored(log: TableLog, found: _Found, key: str) -> StoredObject:
    hinted = found.hinted
    return hinted if hinted is not None and hinted.meta.key == key else log.store.get(key)


def _is_there(log: TableLog, key: str) -> bool:
    try:
        log.store.head(key)
    except ObjectNotFound:
        return False
    return True


def _unusable(log: TableLog, found: _Found, version: int, why: str) -> None:
    found.unreadable = max(found.unreadable, version)
    warnings.warn(
        f"table {log.url}: state {version} cannot be used ({why}); reading older states and version files instead",
        LogWarning,
        stacklevel=2,
    )


def _replay(log: TableLog, found: _Found, snapshot: Snapshot, at: int | None, *, patient: bool) -> Snapshot:
    """Apply the versions after the base, up to the newest, to `at`, or to the first that is missing."""
    listed = found.listing.versions
    top = max(listed, default=-1) if at is None else at
    wanted = sorted(number for number in listed if snapshot.version < number <= top)
    read = dict(zip(wanted, log.read_versions(wanted, snapshot.table_id), strict=True))
    number = snapshot.version + 1
    while number <= top:
        version = read.get(number)
        if version is None:
            if number in listed and patient:
                raise _Vanished(version_key(number))
            version = log.read_version(number)  # a listing may lag behind: ask before calling it a gap
        if version is None:
            newer = (other for above, other in read.items() if above > number and other is not None)
            if at is not None or any(other.belongs_to(snapshot.table_id) for other in newer):
                snapshot = replace(snapshot, gap=number if any(above > number for above in listed) else None)
            return snapshot
        snapshot = apply_version(snapshot, number, version.timestamp, version.actions)
        number += 1
    return snapshot


def _with_missing_schemas(log: TableLog, snapshot: Snapshot) -> Snapshot:
    """Add doc mappings that a checkpoint lacks from the versions below it: not every writer puts them into checkpoints."""
    if not isinstance(snapshot.file_set.base, pa.Table) or snapshot.base is None:
        return snapshot
    used = set(pc.unique(snapshot.files.column("docMappingRef")).to_pylist()) - {None}
    registry = dict(snapshot.registry)
    number = snapshot.base
    while used - registry.keys() and number >= 0:
        version = log.read_version(number)
        if version is None:
            break
        if version.actions.metadata is not None:
            registry = {**registered_schemas(version.actions.metadata.configuration), **registry}
        number -= 1
    return replace(snapshot, registry=registry)
