"""Manifests → store: entries sorted by partition, cut into pieces, and each piece written as a file under a new random name.

A manifest is durable before a state names it. `new_state` puts the written manifests into the state that will name them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from indextables.core import options as opt
from indextables.log.avro.manifest import write_manifest
from indextables.log.json_checkpoint import useful_skips, with_registry
from indextables.log.log_paths import LOG_DIR
from indextables.log.put_once import put_under_new_name, state_back_off
from indextables.log.snapshot import LogAtVersion, Snapshot
from indextables.log.state.block_bounds import block_bounds_note
from indextables.log.state.load_manifest import checksum
from indextables.log.state.model import TYPED, ManifestItem, State
from indextables.log.state.partition_bounds import partition_bounds, partition_order
from indextables.log.state.writing.compact import cut_evenly
from indextables.log.table_log import TableLog

_MOST_BYTES = 2**63 - 1
"""The largest total of bytes that a state can say: the field is a signed 64-bit number."""
CODEC_NAMES = {"zstd": "zstandard", "snappy": "snappy", "none": "null"}
"""The option's name of a codec → Avro's name of the codec."""


def sorted_pieces(at: LogAtVersion, files: pa.Table) -> list[pa.Table]:
    """The files sorted by partition, in pieces of at most `entriesPerManifest` files."""
    columns = at.snapshot.metadata.partition_columns
    ordered, starts = partition_order(files, at.snapshot.schema, columns)
    return cut_evenly(ordered, starts, at.log.options[opt.STATE_ENTRIES_PER_MANIFEST])


def write_manifests(at: LogAtVersion, pieces: list[pa.Table], *, may_repeat: bool = False) -> list[ManifestItem]:
    """Write each piece as a manifest, several side by side. The items are in the order of the pieces.

    `may_repeat` says that nobody looked whether other manifests of the state have entries of the same paths.
    """
    log, snapshot = at.log, at.snapshot
    write = partial(_write_one, log, snapshot.schema, snapshot.metadata.partition_columns, may_repeat)
    return log.workers.together([partial(write, piece) for piece in pieces], limit=opt.read_parallelism(log.options))


def _write_one(
    log: TableLog, schema: pa.Schema, columns: Sequence[str], may_repeat: bool, entries: pa.Table
) -> ManifestItem:
    """Write one manifest. The call may travel to another process, so it takes no more of the snapshot than it needs."""
    data = write_manifest(
        entries,
        codec=CODEC_NAMES[log.options[opt.STATE_COMPRESSION]],
        level=log.options[opt.STATE_COMPRESSION_LEVEL],
        block_notes=partial(block_bounds_note, entries, schema, columns, look_at_paths=may_repeat),
    )
    path = _put_manifest(log, data)
    versions = pc.min_max(entries.column("addedAtVersion"))
    return ManifestItem(
        path=path,
        num_entries=entries.num_rows,
        min_added_at_version=versions["min"].as_py(),
        max_added_at_version=versions["max"].as_py(),
        bounds=partition_bounds(entries, schema, columns),
        tombstone_count=0,
        live_entry_count=entries.num_rows,
        bounds_order=TYPED,
        length=len(data),
        checksum=checksum(data),
        may_repeat=may_repeat,
    )


def _put_manifest(log: TableLog, data: bytes) -> str:
    """Put a manifest under a name of its own. Returns the path by which a state names the manifest."""
    key = put_under_new_name(
        lambda: f"{LOG_DIR}/manifests/manifest-{log.clock.uuid()}.avro",
        lambda key: log.store.create(key, data),
        clock=log.clock,
        attempts=log.options[opt.STATE_RETRY_MAX_ATTEMPTS],
        back_off=state_back_off(log.options),
    )
    return key.removeprefix(f"{LOG_DIR}/")


def new_state(
    snapshot: Snapshot, items: list[ManifestItem], tombstones: frozenset[str], *, num_files: int, total_bytes: int
) -> State:
    """The state of the snapshot's version that names these manifests. It is not written here."""
    return State(
        version=snapshot.version,
        created_at=snapshot.timestamp,
        manifests=tuple(items),
        tombstones=tombstones,
        registry=dict(snapshot.registry),
        metadata=with_registry(snapshot),
        protocol=snapshot.protocol,
        protocol_version=max(snapshot.protocol.min_reader_version, 4),
        transactions={app: txn for app in snapshot.transactions if (txn := snapshot.latest_txn(app)) is not None},
        skips=useful_skips(snapshot),
        commit_timestamp=snapshot.timestamp,
        floor=snapshot.floor,
        num_files=num_files,
        total_bytes=min(total_bytes, _MOST_BYTES),
    )
