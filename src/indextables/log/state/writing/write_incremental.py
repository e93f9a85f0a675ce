"""An incremental state: the manifests of the state before (the base), one more for what was added, tombstones for what was
removed.

`plan_rewriting` decides which manifests of the base are written again, because they hold an old entry of a path that was added
again, or because many of their entries are tombstoned. A tombstone hides every entry of its path, so a path that is live never
has one: that is why the manifest with the old entry is written again.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from indextables.core import options as opt
from indextables.core.arrow_values import array_of
from indextables.log.file_entries import FILE_SCHEMA, files_table
from indextables.log.snapshot import LogAtVersion
from indextables.log.state.load_manifest import load_manifest
from indextables.log.state.model import ManifestItem, State, shared_path
from indextables.log.state.writing.delta import Delta, count_by_manifest, locate_paths
from indextables.log.state.writing.write_manifests import new_state, sorted_pieces, write_manifests
from indextables.log.table_log import TableLog


@dataclass(frozen=True)
class Rewriting:
    """The changes that turn the state before (the base) into the next incremental state."""

    base: State
    delta: Delta
    paths_by_manifest: dict[int, list[str]]
    """For the number of a manifest in the base: the paths in it that are tombstoned, removed or added again. Paths that are only
    tombstoned are there only where manifests are to be rewritten."""
    tombstoned: AbstractSet[str]
    """Paths of which no entry in the base is live any more."""
    manifests_to_rewrite: frozenset[int]
    """Numbers of the manifests of the base that are written again without their hidden paths."""

    @property
    def hidden_paths(self) -> AbstractSet[str]:
        """Paths whose entries in the base must not be seen: they are tombstoned, or have a newer entry."""
        return self.tombstoned | self.delta.added.keys()

    @property
    def entries_removed_since_base(self) -> dict[int, int]:
        """For the number of a manifest: how many of its entries were live in the base and are removed now."""
        return count_by_manifest(self.paths_by_manifest, self.delta.removed - self.base.tombstones)

    @property
    def remaining_tombstones(self) -> frozenset[str]:
        """The tombstones of the new state: not those whose last entry stood in a manifest that is written again."""
        rewritten: set[str] = set()
        elsewhere: set[str] = set()
        for number, paths in self.paths_by_manifest.items():
            (rewritten if number in self.manifests_to_rewrite else elsewhere).update(paths)
        return frozenset(self.tombstoned) - (rewritten - elsewhere) - self.delta.added.keys()


def plan_rewriting(log: TableLog, base: State, delta: Delta) -> Rewriting | None:
    """Which manifests of the base to write again. None where so much is tombstoned that everything should be compacted."""
    paths_by_manifest = locate_paths(log, base, delta.to_locate)
    in_base = {path for paths in paths_by_manifest.values() for path in paths}
    tombstoned = base.tombstones | (delta.removed & in_base)
    to_rewrite = {n for n, paths in paths_by_manifest.items() if not delta.added.keys().isdisjoint(paths)}
    if len(tombstoned) / max(base.num_files, 1) > log.options[opt.STATE_COMPACTION_TOMBSTONE_THRESHOLD]:
        paths_by_manifest = locate_paths(log, base, tombstoned | delta.to_locate)
        sparse = _sparse_manifests(log, base, count_by_manifest(paths_by_manifest, tombstoned))
        if sparse is None:
            return None
        to_rewrite |= sparse
    elif to_rewrite:
        paths_by_manifest = locate_paths(log, base, tombstoned | delta.to_locate)
    return Rewriting(base, delta, paths_by_manifest, tombstoned, frozenset(to_rewrite))


def _sparse_manifests(log: TableLog, base: State, tombstoned_entries: dict[int, int]) -> set[int] | None:
    """Manifests with so many tombstoned entries that they are worth writing again; None where writing all of the base again is
    not much dearer.
    """
    threshold = log.options[opt.STATE_COMPACTION_TOMBSTONE_THRESHOLD]
    sparse = {
        number for number, count in tombstoned_entries.items() if count / base.manifests[number].num_entries > threshold
    }
    remaining = sum(count for number, count in tombstoned_entries.items() if number not in sparse)
    entries_to_write = sum(base.manifests[number].num_entries for number in sparse)
    if entries_to_write * 2 > base.num_entries or remaining / max(base.num_files, 1) > threshold:
        return None
    return sparse


def incremental_state(at: LogAtVersion, rewriting: Rewriting) -> State:
    """The state after the base: its manifests, some of them written again, and new ones for what was added."""
    base, delta = rewriting.base, rewriting.delta
    items = _items_of_base(at, rewriting)
    added = list(delta.added.values())
    if added:
        new_files = files_table([a for a, _, _ in added], [v for _, v, _ in added], [t for _, _, t in added])
        not_located = not delta.added.keys() <= delta.to_locate
        items += write_manifests(at, sorted_pieces(at, new_files), may_repeat=not_located)
    removed_bytes, replaced_bytes = _bytes_taken_away(at.log, rewriting)
    return new_state(
        at.snapshot,
        items,
        rewriting.remaining_tombstones,
        num_files=sum(item.live_entry_count for item in items),
        total_bytes=base.total_bytes - removed_bytes - replaced_bytes + sum(add.size for add, _, _ in added),
    )


def _items_of_base(at: LogAtVersion, rewriting: Rewriting) -> list[ManifestItem]:
    """The manifests of the base as the new state names them."""
    base, removed_entries = rewriting.base, rewriting.entries_removed_since_base
    items: list[ManifestItem] = []
    for number, item in enumerate(base.manifests):
        if number in rewriting.manifests_to_rewrite:
            items += _rewritten(at, rewriting, item)
            continue
        removed = removed_entries.get(number, 0)
        items.append(
            replace(
                item,
                path=shared_path(item.path, base.version),
                tombstone_count=item.tombstone_count + removed,
                live_entry_count=item.live_entry_count - removed,
            )
        )
    return items


def _rewritten(at: LogAtVersion, rewriting: Rewriting, item: ManifestItem) -> list[ManifestItem]:
    """A manifest of the base, written again without its hidden paths; no manifest where no entry is left."""
    entries = load_manifest(at.log, rewriting.base.version, item, FILE_SCHEMA.names)
    hidden = array_of(sorted(rewriting.hidden_paths), pa.string())
    entries = entries.filter(pc.invert(pc.is_in(entries.column("path"), value_set=hidden)))
    if not entries.num_rows:
        return []
    return write_manifests(at, [entries], may_repeat=item.may_repeat)


def _bytes_taken_away(log: TableLog, rewriting: Rewriting) -> tuple[int, int]:
    """Bytes of files that were live in the base and are removed now, and of files that an add replaced."""
    base, delta = rewriting.base, rewriting.delta
    removed = replaced = 0
    changed = (delta.removed | delta.added.keys()) - base.tombstones
    for number, paths in rewriting.paths_by_manifest.items():
        if changed.isdisjoint(paths):
            continue
        entries = load_manifest(log, base.version, base.manifests[number], ["path", "size"])
        for path, size in zip(entries.column("path").to_pylist(), entries.column("size").to_pylist(), strict=True):
            if path in changed:
                removed += size if path in delta.removed else 0
                replaced += size if path in delta.added else 0
    return removed, replaced
