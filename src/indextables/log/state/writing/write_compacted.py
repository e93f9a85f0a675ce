"""A compacted state: all live files, sorted by partition, in manifests with tight bounds, without tombstones.

compact_by_moving_records   the records of the base's manifests are copied as bytes, and full manifests stay as they are
compact_from_files          every file is encoded anew: there is no base, its files are in memory already, or files get
other names of their schemas
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from indextables.core import options as opt
from indextables.log.snapshot import LogAtVersion
from indextables.log.state.model import ManifestItem, State, shared_path
from indextables.log.state.partition_bounds import partition_order
from indextables.log.state.writing.compact import live_records, normalised_schemas, sum_of
from indextables.log.state.writing.delta import Delta
from indextables.log.state.writing.manifest_reuse import ReusedManifests, reusable_manifests
from indextables.log.state.writing.write_manifests import new_state, sorted_pieces, write_manifests


def compacted_state(at: LogAtVersion, base: State, delta: Delta) -> State:
    """The compacted state after `base`, by moving records where that gives the same entries as encoding all files anew."""
    if at.snapshot.file_set.folded is not None:
        return compact_from_files(at)
    return compact_by_moving_records(at, base, delta) or compact_from_files(at)


def compact_by_moving_records(at: LogAtVersion, base: State, delta: Delta) -> State | None:
    """The compacted state, made of the records in the base's manifests and of what was added since.

    Manifests that would be written again as they are stay (`manifest_reuse`). None where entries must be encoded anew,
    because their schemas get other names.
    """
    log, snapshot = at.log, at.snapshot
    threshold = log.options[opt.STATE_SCHEMA_RENORMALIZE_THRESHOLD]
    most, columns = log.options[opt.STATE_ENTRIES_PER_MANIFEST], snapshot.metadata.partition_columns
    reused: ReusedManifests | None = None
    if len(snapshot.registry) <= threshold:
        reused = reusable_manifests(log, base, delta, snapshot.schema, columns, most)
    records = live_records(log, base, delta, reused.numbers if reused else ())
    if normalised_schemas(records, snapshot.registry, threshold)[0] is not records:
        return None
    if reused is None:
        return _written(at, records, [sorted_pieces(at, records)])
    items = [_without_tombstones(base.manifests[number], base.version) for number in reused.numbers]
    pieces = reused.pieces(*partition_order(records, snapshot.schema, columns), snapshot.schema, columns, most)
    return _written(at, records, pieces, items, reused.total_bytes)


def compact_from_files(at: LogAtVersion) -> State:
    """The compacted state, made of the snapshot's files. All of them are in memory at a time."""
    threshold = at.log.options[opt.STATE_SCHEMA_RENORMALIZE_THRESHOLD]
    files, schemas = normalised_schemas(at.snapshot.files, at.snapshot.registry, threshold)
    state = _written(at, files, [sorted_pieces(at, files)])
    return replace(state, registry={**state.registry, **schemas})


def _written(
    at: LogAtVersion,
    files: pa.Table,
    pieces: list[list[pa.Table]],
    reused: list[ManifestItem] | None = None,
    reused_bytes: int = 0,
) -> State:
    """Write the pieces of `files`. The pieces of each list stand before the reused manifest of the same number; those of the
    last list stand behind all of them.
    """
    reused = reused or []
    new = iter(write_manifests(at, [piece for gap in pieces for piece in gap]))
    items: list[ManifestItem] = []
    for number, gap in enumerate(pieces):
        items += [*(next(new) for _ in gap), *reused[number : number + 1]]
    return new_state(
        at.snapshot,
        items,
        frozenset(),
        num_files=files.num_rows + sum(item.num_entries for item in reused),
        total_bytes=sum_of(files.column("size")) + reused_bytes,
    )


def _without_tombstones(item: ManifestItem, version: int) -> ManifestItem:
    """A manifest of state `version`, every entry of which is live, as another state names it."""
    path = shared_path(item.path, version)
    return replace(item, path=path, tombstone_count=0, live_entry_count=item.num_entries)
