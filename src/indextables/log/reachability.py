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

from collections.abc import Iterable
from functools import partial

from indextables.core.errors import ObjectNotFound
from indextables.log.json_checkpoint import load_checkpoint
from indextables.log.listing import list_versions
from indextables.log.log_paths import STATES_PREFIX, parse_state_key, version_key
from indextables.log.state.load_manifest import load_manifest
from indextables.log.state.model import ManifestItem, State, manifest_key
from indextables.log.state.read import decode_state
from indextables.log.table_log import TableLog
from indextables.storage.object_keys import inside_root
from indextables.storage.store import ObjectMeta

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


def reachable_data_files(log: TableLog) -> set[str]:
    """Keys of all data files that an existing version file, JSON checkpoint or state names, in an add or a remove."""
    listing = list_versions(log.store, 0)
    paths = _paths_in_versions(log, sorted(listing.versions))
    for version, meta in listing.checkpoints.items():
        paths.update(load_checkpoint(log, version, log.store.get(meta.key), None).files.column("path").to_pylist())
    paths |= _paths_in_states(log, list_state_objects(log))
    keys = (inside_root(log.url, path) for path in paths)
    return {key for key in keys if key is not None}


def _paths_in_versions(log: TableLog, versions: list[int]) -> set[str]:
    paths: set[str] = set()
    for number, version in zip(versions, log.read_versions(versions, None), strict=True):
        if version is None:
            raise ObjectNotFound(f"{version_key(number)} was listed and is gone", key=version_key(number))
        paths.update(add.path for add in version.actions.adds)
        paths.update(remove.path for remove in version.actions.removes)
    return paths


def _paths_in_states(log: TableLog, states: list[StateObject]) -> set[str]:
    """Paths in the manifests of the states. A manifest that several states name is read once."""
    manifests: dict[str, tuple[int, ManifestItem]] = {}
    for version, meta in states:
        for item in _read_state(log, version, meta).manifests:
            manifests.setdefault(manifest_key(item.path, version), (version, item))
    tables = log.side_by_side(
        [partial(load_manifest, log, version, item, ["path"]) for version, item in manifests.values()]
    )
    return {path for table in tables for path in table.column("path").to_pylist()}
