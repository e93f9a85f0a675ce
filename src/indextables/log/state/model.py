"""What a state says: the manifests that hold its entries, the paths that are tombstoned in them, and all that is not a file."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from indextables.log.actions import MetadataAction, ProtocolAction, SkipAction, TxnAction
from indextables.log.log_paths import LOG_DIR

TYPED = "typed"
"""Value of `boundsOrder`: the bounds were found by comparing values of the column's type."""

Bounds = Mapping[str, tuple[str | None, str | None]]


@dataclass(frozen=True)
class ManifestItem:
    """A manifest as a state names it."""

    path: str
    num_entries: int
    min_added_at_version: int = 0
    max_added_at_version: int = 0
    bounds: Bounds | None = None
    tombstone_count: int = 0
    live_entry_count: int = -1
    bounds_order: str | None = None
    length: int | None = None
    checksum: str | None = None
    may_repeat: bool = False
    """Whether it may hold later entries of paths that older manifests have, too. Nobody looked, because that would mean reading
    all of them for every few files that are added."""

    @property
    def entries_to_read(self) -> int:
        """Entries of live files, as far as the state says; all entries where the state does not say."""
        return self.live_entry_count if 0 <= self.live_entry_count <= self.num_entries else self.num_entries

    @property
    def typed(self) -> bool:
        """Whether the bounds may be compared by type."""
        return self.bounds_order == TYPED


@dataclass(frozen=True)
class State:
    """A state, as read or as it will be written."""

    version: int
    created_at: int
    manifests: tuple[ManifestItem, ...]
    tombstones: AbstractSet[str] = frozenset()
    registry: Mapping[str, str] = field(default_factory=dict)
    metadata: MetadataAction | None = None
    protocol: ProtocolAction | None = None
    protocol_version: int = 4
    transactions: Mapping[str, TxnAction] = field(default_factory=dict)
    skips: tuple[SkipAction, ...] = ()
    commit_timestamp: int | None = None
    floor: int = 0
    num_files: int = 0
    total_bytes: int = 0

    @property
    def num_entries(self) -> int:
        """Entries in all manifests, tombstoned ones included."""
        return sum(item.num_entries for item in self.manifests)


def state_dir(version: int) -> str:
    """Name of a state's directory inside the log."""
    return f"state-v{version:020d}"


def state_key(version: int) -> str:
    """Key of the state that we write."""
    return f"{LOG_DIR}/{state_dir(version)}/_manifest.avro"


def manifest_key(path: str, version: int) -> str:
    """Key of a manifest, from any of the three forms in which states name it."""
    if path.startswith(("manifests/", "state-v")):
        return f"{LOG_DIR}/{path}"
    return f"{LOG_DIR}/{state_dir(version)}/{path}"


def shared_path(path: str, version: int) -> str:
    """The path under which a later state can name the manifest."""
    return manifest_key(path, version).removeprefix(f"{LOG_DIR}/")
