"""The log's actions, one a row, with a column for every field that an action can have.

    newest state or checkpoint ──▶ protocol, metaData, txn, add, mergeskip: what it sums up (`is_checkpoint`)
    version files ──────────────▶ commitInfo, protocol, metaData, txn, remove, add, mergeskip: what each version says

Columns that an action does not have are null.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import pyarrow as pa

from indextables.core.arrow_values import table_of_rows
from indextables.log.actions import (
    Actions,
    AddAction,
    MetadataAction,
    ProtocolAction,
    RemoveAction,
    SkipAction,
)
from indextables.log.file_entries import rows_to_adds
from indextables.log.history import kept_versions
from indextables.log.log_paths import checkpoint_key, version_key
from indextables.log.open_snapshot import open_log
from indextables.log.snapshot import LogAtVersion, Snapshot
from indextables.log.state.live_files import StateFiles
from indextables.log.state.model import state_key

_TEXTS: Final = pa.list_(pa.string())
_PAIRS: Final = pa.map_(pa.string(), pa.string())
_TIME: Final = pa.timestamp("ms", "UTC")

LOG_ACTIONS_SCHEMA: Final = pa.schema(
    [
        pa.field("version", pa.int64(), nullable=False),
        pa.field("log_file_path", pa.string(), nullable=False),
        pa.field("action_type", pa.string(), nullable=False),
        pa.field("path", pa.string()),
        pa.field("partition_values", _PAIRS),
        pa.field("size", pa.int64()),
        pa.field("data_change", pa.bool_()),
        pa.field("tags", _PAIRS),
        pa.field("modification_time", _TIME),
        pa.field("stats", pa.string()),
        pa.field("min_values", _PAIRS),
        pa.field("max_values", _PAIRS),
        pa.field("num_records", pa.int64()),
        pa.field("footer_start_offset", pa.int64()),
        pa.field("footer_end_offset", pa.int64()),
        pa.field("hotcache_start_offset", pa.int64()),
        pa.field("hotcache_length", pa.int64()),
        pa.field("has_footer_offsets", pa.bool_()),
        pa.field("time_range_start", pa.string()),
        pa.field("time_range_end", pa.string()),
        pa.field("split_tags", _TEXTS),
        pa.field("delete_opstamp", pa.int64()),
        pa.field("num_merge_ops", pa.int32()),
        pa.field("doc_mapping_json", pa.string()),
        pa.field("doc_mapping_ref", pa.string()),
        pa.field("uncompressed_size_bytes", pa.int64()),
        pa.field("deletion_timestamp", _TIME),
        pa.field("extended_file_metadata", pa.bool_()),
        pa.field("skip_timestamp", _TIME),
        pa.field("skip_reason", pa.string()),
        pa.field("skip_operation", pa.string()),
        pa.field("skip_retry_after", _TIME),
        pa.field("skip_count", pa.int32()),
        pa.field("protocol_min_reader_version", pa.int32()),
        pa.field("protocol_min_writer_version", pa.int32()),
        pa.field("protocol_reader_features", _TEXTS),
        pa.field("protocol_writer_features", _TEXTS),
        pa.field("metadata_id", pa.string()),
        pa.field("metadata_name", pa.string()),
        pa.field("metadata_description", pa.string()),
        pa.field("metadata_format_provider", pa.string()),
        pa.field("metadata_format_options", _PAIRS),
        pa.field("metadata_schema_string", pa.string()),
        pa.field("metadata_partition_columns", _TEXTS),
        pa.field("metadata_configuration", _PAIRS),
        pa.field("metadata_created_time", _TIME),
        pa.field("is_checkpoint", pa.bool_(), nullable=False),
    ]
)
"""The columns. Times are those of the log, in milliseconds."""

_OF_ADD: Final = tuple(name for name in LOG_ACTIONS_SCHEMA.names if name in AddAction.__struct_fields__)
_OF_REMOVE: Final = tuple(name for name in LOG_ACTIONS_SCHEMA.names if name in RemoveAction.__struct_fields__)
_NOTHING: Final[dict[str, Any]] = dict.fromkeys(LOG_ACTIONS_SCHEMA.names)


def read_log_actions(at: LogAtVersion, *, include_all: bool) -> pa.Table:
    """What the newest checkpoint sums up, then the actions of the versions after it; `include_all` adds those before it.

    Raises VersionNotFound where a clean-up removed the checkpoint meanwhile.
    """
    base = open_log(
        at.log, at.snapshot.version
    ).base  # the store's newest: this process may have gone on from an older one
    versions = kept_versions(at, None)
    rows: list[dict[str, Any]] = []
    for version in versions:
        if include_all or base is None or version.version > base:
            file = f"{at.log.url}/{version_key(version.version)}"
            rows.extend(_rows(version.version, file, version.actions, is_checkpoint=False))
    if base is not None:
        before = len([row for row in rows if row["version"] <= base])
        rows[before:before] = _checkpoint_rows(open_log(at.log, base), at.log.url)
    return table_of_rows(rows, LOG_ACTIONS_SCHEMA)


def _checkpoint_rows(summed_up: Snapshot, url: str) -> list[dict[str, Any]]:
    """The rows of a state, or of a JSON checkpoint: what is live at its version."""
    is_state = isinstance(summed_up.file_set.base, StateFiles)
    key = state_key(summed_up.version) if is_state else checkpoint_key(summed_up.version)
    actions = Actions(
        protocol=summed_up.protocol,
        metadata=summed_up.metadata,
        txns=tuple(summed_up.transactions.values()),
        adds=tuple(rows_to_adds(summed_up.files)),
        skips=summed_up.skips,
    )
    return list(_rows(summed_up.version, f"{url}/{key}", actions, is_checkpoint=True))


def _rows(version: int, file: str, actions: Actions, *, is_checkpoint: bool) -> Iterator[dict[str, Any]]:
    of_file = {**_NOTHING, "version": version, "log_file_path": file, "is_checkpoint": is_checkpoint}
    for kind, values in _described(actions):
        yield {**of_file, "action_type": kind, **values}


def _described(actions: Actions) -> Iterator[tuple[str, dict[str, Any]]]:
    """The kind of each action, and the columns that it fills."""
    if actions.commit_info is not None:
        yield "commitInfo", {}
    if actions.protocol is not None:
        yield "protocol", _protocol(actions.protocol)
    if actions.metadata is not None:
        yield "metaData", _metadata(actions.metadata)
    for _ in actions.txns:
        yield "txn", {}
    for remove in actions.removes:
        yield "remove", {name: _plain(getattr(remove, name)) for name in _OF_REMOVE}
    for add in actions.adds:
        yield "add", {name: _plain(getattr(add, name)) for name in _OF_ADD}
    for skip in actions.skips:
        yield "mergeskip", _skip(skip)


def _protocol(protocol: ProtocolAction) -> dict[str, Any]:
    return {
        "protocol_min_reader_version": protocol.min_reader_version,
        "protocol_min_writer_version": protocol.min_writer_version,
        "protocol_reader_features": _plain(protocol.reader_features),
        "protocol_writer_features": _plain(protocol.writer_features),
    }


def _metadata(metadata: MetadataAction) -> dict[str, Any]:
    return {
        "metadata_id": metadata.id,
        "metadata_name": metadata.name,
        "metadata_description": metadata.description,
        "metadata_format_provider": metadata.format.provider,
        "metadata_format_options": _plain(metadata.format.options),
        "metadata_schema_string": metadata.schema_string,
        "metadata_partition_columns": _plain(metadata.partition_columns),
        "metadata_configuration": _plain(metadata.configuration),
        "metadata_created_time": metadata.created_time,
    }


def _skip(skip: SkipAction) -> dict[str, Any]:
    return {
        "path": skip.path,
        "partition_values": _plain(skip.partition_values),
        "size": skip.size,
        "skip_timestamp": skip.skip_timestamp,
        "skip_reason": skip.reason,
        "skip_operation": skip.operation,
        "skip_retry_after": skip.retry_after,
        "skip_count": skip.skip_count,
    }


def _plain(value: Any) -> Any:
    """Maps and tuples as Arrow takes them."""
    if isinstance(value, Mapping):
        return list(value.items())
    return list(value) if isinstance(value, tuple) else value
