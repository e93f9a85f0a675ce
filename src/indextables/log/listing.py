"""One look at what lies in the log directory."""

from __future__ import annotations

from dataclasses import dataclass, field

from indextables.log.log_paths import (
    STATES_PREFIX,
    VERSIONS_PREFIX,
    before_state,
    before_version,
    parse_log_key,
    parse_state_key,
)
from indextables.storage.store import ObjectMeta, Store


@dataclass
class Listing:
    """Version files, JSON checkpoints, parts of checkpoints and Avro states, by version."""

    versions: dict[int, ObjectMeta] = field(default_factory=dict)
    checkpoints: dict[int, ObjectMeta] = field(default_factory=dict)
    parts: dict[int, list[ObjectMeta]] = field(default_factory=dict)
    states: dict[int, ObjectMeta] = field(default_factory=dict)

    @property
    def newest_version(self) -> int:
        """The highest number of a version file; -1 where there is none."""
        return max(self.versions, default=-1)

    @property
    def bases(self) -> dict[int, list[ObjectMeta]]:
        """States and checkpoints: what versions can be replayed on."""
        found: dict[int, list[ObjectMeta]] = {}
        for group in (self.states, self.checkpoints):
            for number, meta in group.items():
                found.setdefault(number, []).append(meta)
        return found

    @property
    def is_empty(self) -> bool:
        """True if the log directory holds no object that could belong to a table."""
        return not (self.versions or self.checkpoints or self.states)


def list_versions(store: Store, start: int) -> Listing:
    """Version files and JSON checkpoints from version `start` on."""
    listing = Listing()
    for meta in store.list(VERSIONS_PREFIX, after=before_version(start) if start > 0 else None):
        name = parse_log_key(meta.key)
        if name is None:
            continue
        if name.is_version:
            listing.versions[name.version] = meta
        elif name.part is None:
            listing.checkpoints[name.version] = meta
        else:
            listing.parts.setdefault(name.version, []).append(meta)
    return listing


def list_states(store: Store, start: int) -> dict[int, ObjectMeta]:
    """Avro states (directories that have a manifest) from version `start` on."""
    states: dict[int, ObjectMeta] = {}
    for meta in store.list(STATES_PREFIX, after=before_state(start) if start > 0 else None):
        version = parse_state_key(meta.key)
        if version is not None:
            states.setdefault(version, meta)  # `_manifest.avro` sorts before `_manifest.json`, and wins
    return states
