"""What a version file can say: a closed set of frozen records.

`protocol`, `metaData`, `add`, `remove` and `mergeskip` are the format's own. `commitInfo` (who wrote this version, when and
for which table) and `txn` (how far an exactly-once writer has come) are ours; readers that do not know them skip them.

These are the in-memory shapes. How they look on disk is the codec's business (codec.py); the shape they take by the
million is an Arrow table (files.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

PROTOCOL_VERSION = 4
"""The newest protocol this release reads and writes."""

KNOWN_FEATURES = frozenset(
    {
        "avroState",
        "bundleSplits",
        "checkpoint",
        "checkpoints",
        "conditionalWrites",
        "extendedMetadata",
        "footerOffsets",
        "multiPartCheckpoint",
        "optimizeWrite",
        "schemaDeduplication",
        "skippedFiles",
        "tantivy4java",
    }
)
"""Features that this release understands, whoever wrote them."""

NEW_TABLE_FEATURES = ("avroState", "bundleSplits", "schemaDeduplication")

SCHEMA_KEY = "docMappingSchema."
"""Configuration keys under which doc mappings are registered, followed by their hash."""


Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""Numbers that a column can hold. msgspec checks them when a log is read; `check_change` does before one is written."""
Count64 = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
"""Sizes and numbers of rows. A log that says less than 0 is damaged: sums over its files would be wrong."""


class ProtocolAction(msgspec.Struct, frozen=True, rename="camel"):
    """The least a client must understand to read or write the table."""

    min_reader_version: int
    min_writer_version: int
    reader_features: tuple[str, ...] | None = None
    writer_features: tuple[str, ...] | None = None


LEGACY_PROTOCOL = ProtocolAction(1, 1)
"""What a table without a protocol action is."""


class FileFormat(msgspec.Struct, frozen=True):
    """Which kind of data files the table has."""

    provider: str = "indextables"
    options: dict[str, str] = {}


class MetadataAction(msgspec.Struct, frozen=True, rename="camel"):
    """The table's identity, schema, partitioning and properties."""

    id: str
    schema_string: str
    partition_columns: tuple[str, ...] = ()
    configuration: dict[str, str] = {}
    name: str | None = None
    description: str | None = None
    format: FileFormat = FileFormat()
    created_time: Int64 | None = None


class AddAction(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A data file that is part of the table from this version on."""

    path: str
    partition_values: dict[str, str | None] = {}
    size: Count64 = 0
    modification_time: Int64 = 0
    data_change: bool = True
    stats: str | None = None
    tags: dict[str, str | None] | None = None
    min_values: dict[str, str | None] | None = None
    max_values: dict[str, str | None] | None = None
    num_records: Count64 | None = None
    footer_start_offset: Int64 | None = None
    footer_end_offset: Int64 | None = None
    hotcache_start_offset: Int64 | None = None
    hotcache_length: Int64 | None = None
    has_footer_offsets: bool = False
    time_range_start: str | None = None
    time_range_end: str | None = None
    split_tags: tuple[str, ...] | None = None
    delete_opstamp: Int64 | None = None
    num_merge_ops: Int32 | None = None
    doc_mapping_json: str | None = None
    doc_mapping_ref: str | None = None
    uncompressed_size_bytes: Int64 | None = None
    companion_source_files: tuple[str, ...] | None = None
    companion_delta_version: Int64 | None = None
    companion_fast_field_mode: str | None = None


class RemoveAction(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A data file that is no longer part of the table. Its bytes stay until purge."""

    path: str
    deletion_timestamp: Int64 | None = None
    data_change: bool = True
    extended_file_metadata: bool | None = None
    partition_values: dict[str, str | None] | None = None
    size: Int64 | None = None
    tags: dict[str, str | None] | None = None


class SkipAction(msgspec.Struct, frozen=True, rename="camel"):
    """A file that an operation (merge, mostly) could not handle, to be left alone until `retry_after`."""

    path: str
    skip_timestamp: Int64
    reason: str = ""
    operation: str = "merge"
    partition_values: dict[str, str | None] | None = None
    size: Int64 | None = None
    retry_after: Int64 | None = None
    skip_count: Int32 = 1


class TxnAction(msgspec.Struct, frozen=True, rename="camel"):
    """The newest batch of an exactly-once writer that is in the table."""

    app_id: str
    version: Int64
    last_updated: Int64 | None = None


class CommitInfo(msgspec.Struct, frozen=True, rename="camel"):
    """Who wrote a version, when, and for which table."""

    txn_id: str | None = None
    table_id: str | None = None
    timestamp: Int64 | None = None
    time_travel_floor: Int64 | None = None
    operation: str | None = None
    operation_parameters: dict[str, Any] | None = None
    operation_metrics: dict[str, Any] | None = None
    engine_info: str | None = None
    read_version: Int64 | None = None
    num_actions: Int64 | None = None
    """How many lines follow: a plain-text file cut off at the end of a line is noticed."""


class Actions(msgspec.Struct, frozen=True):
    """What one version file or checkpoint says, sorted by kind. Inside one version removes apply before adds."""

    commit_info: CommitInfo | None = None
    protocol: ProtocolAction | None = None
    metadata: MetadataAction | None = None
    txns: tuple[TxnAction, ...] = ()
    removes: tuple[RemoveAction, ...] = ()
    adds: tuple[AddAction, ...] = ()
    skips: tuple[SkipAction, ...] = ()

    @property
    def txn_id(self) -> str | None:
        """The commit's unique id, by which a writer recognises its own version."""
        return self.commit_info.txn_id if self.commit_info else None

    @property
    def table_id(self) -> str | None:
        """The table this was written for, where it says so."""
        return self.commit_info.table_id if self.commit_info else None

    @property
    def size(self) -> int:
        """Number of actions besides commitInfo."""
        single = (self.protocol is not None) + (self.metadata is not None)
        return single + len(self.txns) + len(self.removes) + len(self.adds) + len(self.skips)


def added_again(actions: Actions) -> frozenset[str]:
    """The paths that a version removes and adds again: the file is live before and after, so none of its rows changed.

    `data_change` may differ, as of an entry that a merge wrote and an engine commits with a remove: only the remove says that
    data changed. Where the two actions differ in the size, too, the file may have other rows: such a path is not among these.
    """
    if not actions.removes or not actions.adds:
        return frozenset()
    removes = {remove.path: remove for remove in actions.removes}
    return frozenset(add.path for add in actions.adds if add.path in removes and _are_one(removes[add.path], add))


def _are_one(remove: RemoveAction, add: AddAction) -> bool:
    return remove.data_change == add.data_change or remove.size is None or remove.size == add.size


def registered_schemas(configuration: Mapping[str, str]) -> dict[str, str]:
    """The doc mappings in a table's configuration, by hash."""
    return {key[len(SCHEMA_KEY) :]: text for key, text in configuration.items() if key.startswith(SCHEMA_KEY)}
