"""Which objects the log names. What is named may be read at any moment, so no clean-up, collection or purge deletes it.

    version file ────▶ data files that it adds or removes
    JSON checkpoint ─▶ data files, by way of its parts
    state ───────────▶ manifests ──▶ data files, tombstoned ones too

An object counts as named while an existing version file, checkpoint or state names it. Whoever deletes lists the objects to
delete first and asks afterwards what is named: an object that is written meanwhile is then either not listed or too young.

Every function here raises ObjectNotFound where a listed log object is gone (plan again) and LogError where one cannot be read
(delete nothing: the object might have named anything).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import xxhash

from indextables.core.arrow_values import distinct
from indextables.core.errors import LogReadTimeout, ObjectNotFound
from indextables.log.actions import Actions
from indextables.log.json_checkpoint import NotThisTable, read_checkpoint
from indextables.log.listing import Listing, list_versions
from indextables.log.log_paths import STATES_PREFIX, parse_state_key, version_key
from indextables.log.state.load_manifest import load_manifest
from indextables.log.state.model import ManifestItem, State, manifest_key
from indextables.log.state.read import decode_state
from indextables.log.table_log import TableLog
from indextables.storage.object_keys import inside_root
from indextables.storage.store import ObjectMeta

T = TypeVar("T")

Hashes: TypeAlias = npt.NDArray[np.uint64]
Digest: TypeAlias = Callable[[Iterable[str]], T]
"""Makes something of keys, such as a set or hashes."""
_AT_ONCE = 64
"""Version files or manifests that are read together: `checkpoint.read.timeoutSeconds` is for so many, however long the log is."""
_VERSION_BYTES = 512 << 10
"""Bytes of version files, as they are stored, that are read together: 512 KiB, which become 5 MiB in memory. Small files are many
at a time, because each waits for the store; a large one is worth its wait."""
_MANIFEST_BYTES = 16 << 20
"""Bytes of manifests, as they are stored, that are read together: 16 MiB, ten of 50,000 files. Executors take one each."""
_SLOW_SECONDS = 600.0
"""Seconds that the listings of the log may take: far less than the time for which a state outlives its successor's writing."""
_LISTINGS = 3
"""Times that the log is listed, at most, until that was quick enough."""

StateObject = tuple[int, ObjectMeta]
"""A state's version and its object. A version can have two: `_manifest.avro` and the older `_manifest.json`."""


def list_state_objects(log: TableLog) -> list[StateObject]:
    """All states that are there."""
    found = ((parse_state_key(meta.key), meta) for meta in log.store.list(STATES_PREFIX))
    return [(version, meta) for version, meta in found if version is not None]


def manifests_of(state: State) -> set[str]:
    """Keys of the manifests that a state names, whichever of the three path forms it uses."""
    return {manifest_key(item.path, state.version) for item in state.manifests}


def has_all_manifests(log: TableLog, state: State) -> bool:
    """Whether every manifest that the state names is there: one head request each."""
    keys = sorted(manifests_of(state))
    return None not in log.side_by_side([partial(log.head, key) for key in keys])


def reachable_manifests(log: TableLog, states: Iterable[StateObject]) -> set[str]:
    """Keys of all manifests that one of the states names."""
    named = log.side_by_side([partial(_manifests_named_by, log, version, meta) for version, meta in states])
    return set().union(*named)


def _manifests_named_by(log: TableLog, version: int, meta: ObjectMeta) -> set[str]:
    return manifests_of(_read_state(log, version, meta))


def _read_state(log: TableLog, version: int, meta: ObjectMeta) -> State:
    return decode_state(f"{log.url}/{meta.key}", log.store.get(meta.key).data, version)


def reachable_data_files(log: TableLog, table_id: str | None = None) -> set[str]:
    """Keys of all data files that an existing version file, JSON checkpoint or state names, in an add or a remove.

    Objects of another table than `table_id` count too, but need not be whole: what they named went when that table was dropped.
    """
    return set().union(*_each_list_of_keys(log, set, table_id, ()))


def reachable_hashes(
    log: TableLog, table_id: str, without: Container[str] = (), told: Callable[[int], None] | None = None
) -> Hashes:
    """`hashes` of the keys that `reachable_data_files` gives, sorted: 8 bytes a key, for a million of them.

    Log objects in `without` count as gone already. Two keys may have one hash: then a key that nobody names seems to be named,
    and stays. A key that is named never seems not to be.

    `told` is called with 1 for each log object that was read.
    """
    found = []
    for digests in _each_list_of_keys(log, hashes, table_id, without):
        found.append(digests)
        if told is not None:
            told(1)
    return distinct(np.concatenate([np.empty(0, np.uint64), *found]))


def hashes(keys: Iterable[str]) -> Hashes:
    """The xxh3 of each key's UTF-8 bytes."""
    return np.fromiter(map(xxhash.xxh3_64_intdigest, (key.encode(errors="surrogatepass") for key in keys)), np.uint64)


def _each_list_of_keys(log: TableLog, digest: Digest[T], table_id: str | None, without: Container[str]) -> Iterator[T]:
    """What `digest` makes of the keys that each log object names, object by object. Nobody holds all keys of a large table."""
    listing, states = _list_quickly(log)
    versions = [(number, meta) for number, meta in sorted(listing.versions.items()) if meta.key not in without]
    for some in _together(versions, [meta.size for _, meta in versions], _VERSION_BYTES):
        yield from keys_in_versions(log, [number for number, _ in some], digest)
    for version, meta in listing.checkpoints.items():
        if meta.key not in without:
            yield keys_in_checkpoint(log, version, meta, digest, table_id)
    manifests = list(_manifests_once(log, [state for state in states if state[1].key not in without], table_id))
    for few in _together(manifests, [item.length or 0 for _, item, _ in manifests], _MANIFEST_BYTES):
        yield from log.side_by_side([partial(keys_in_manifest, log, *each, digest) for each in few])


def _together(objects: Sequence[T], sizes: Sequence[int], most: int) -> Iterator[Sequence[T]]:
    """The objects in runs that are read together: not too many, and at most `most` bytes unless one alone has more."""
    start, size = 0, 0
    for place, more in enumerate(sizes):
        if place > start and (place - start == _AT_ONCE or size + more > most):
            yield objects[start:place]
            start, size = place, 0
        size += more
    if objects:
        yield objects[start:]


def _list_quickly(log: TableLog) -> tuple[Listing, list[StateObject]]:
    """Versions and checkpoints, and then states, as they were at one time.

    A process that sleeps between both listings may see neither a checkpoint that was written meanwhile nor the state that the
    checkpoint replaced. So listings that took long are taken again. Raises LogReadTimeout.
    """
    for _ in range(_LISTINGS):
        began = log.clock.boot()
        found = list_versions(log.store, 0), list_state_objects(log)
        if log.clock.boot() - began <= _SLOW_SECONDS:
            return found
    raise LogReadTimeout(
        f"table {log.url}: listing the log took more than {_SLOW_SECONDS:.0f} seconds, {_LISTINGS} times over",
        url=log.url,
    )


def keys_in_versions(log: TableLog, versions: list[int], digest: Digest[T]) -> Iterator[T]:
    """What `digest` makes of the keys that each of some version files names. Raises ObjectNotFound where one is gone.

    On a local disk version files are read one after the other: reading one takes less time than handing it to another thread.
    """
    calls = [partial(_in_version, log, number, digest) for number in versions]
    yield from ([call() for call in calls] if log.is_local else log.side_by_side(calls))


def _in_version(log: TableLog, number: int, digest: Digest[T]) -> T:
    """Its paths are let go here: those of a large version take about ten times the memory of the hashes."""
    paths = log.paths_in_version(number)
    if paths is None:
        raise ObjectNotFound(f"{version_key(number)} was listed and is gone", key=version_key(number))
    return digest(_keys(log, paths))


def keys_in_checkpoint(log: TableLog, version: int, meta: ObjectMeta, digest: Digest[T], table_id: str | None) -> T:
    """What `digest` makes of the keys that a JSON checkpoint names; of no keys where the checkpoint is of another table."""
    try:
        actions = read_checkpoint(log, version, log.store.get(meta.key), table_id)
    except NotThisTable:
        return digest(())
    return digest(_keys(log, _paths(actions)))


def _manifests_once(
    log: TableLog, states: Sequence[StateObject], table_id: str | None
) -> Iterator[tuple[int, ManifestItem, bool]]:
    """Each manifest that a state names, once, with the state's version, and whether the state is this table's."""
    found: dict[str, tuple[int, ManifestItem, bool]] = {}
    for state in read_states(log, states):
        ours = table_id is None or state.metadata is None or state.metadata.id == table_id
        for item in state.manifests:
            key = manifest_key(item.path, state.version)
            if ours or key not in found:
                found[key] = (state.version, item, ours)
    yield from found.values()


def read_states(log: TableLog, states: Sequence[StateObject]) -> Iterator[State]:
    """Read states in their order, some side by side. Raises ObjectNotFound where one is gone."""
    for start in range(0, len(states), _AT_ONCE):
        yield from log.side_by_side([partial(_read_state, log, *each) for each in states[start : start + _AT_ONCE]])


def read_whole(log: TableLog, version: int, meta: ObjectMeta) -> None:
    """Read a state and all manifests that it names. Raises CorruptLog, or ObjectNotFound where a manifest is gone."""
    items = _read_state(log, version, meta).manifests
    log.side_by_side([partial(keys_in_manifest, log, version, item, True, _nothing) for item in items])


def _nothing(keys: Iterable[str]) -> None:
    """Keep none of the keys."""


def keys_in_manifest(log: TableLog, version: int, item: ManifestItem, ours: bool, digest: Digest[T]) -> T:
    """What `digest` makes of the keys that a manifest names, those that a tombstone hides too.

    Raises ObjectNotFound where a manifest of this table (`ours`) is gone.
    """
    try:
        entries = load_manifest(log, version, item, ["path"])
    except ObjectNotFound:
        if ours:
            raise
        return digest(())
    return digest(_keys(log, entries.column("path").to_pylist()))


def _paths(actions: Actions) -> Iterator[str]:
    yield from (add.path for add in actions.adds)
    yield from (remove.path for remove in actions.removes)


def _keys(log: TableLog, paths: Iterable[str]) -> Iterator[str]:
    """The keys that paths of the log mean: most paths are their own keys."""
    for path in paths:
        if path[0] != "/" and ":" not in path:
            yield path
        elif (key := inside_root(log.url, path)) is not None:
            yield key
