"""The public names and their signatures. A change here is a change for everybody who uses the package."""

from __future__ import annotations

import dataclasses
import inspect
from types import FunctionType, MethodType
from typing import Any

import msgspec

import indextables
from indextables import AddAction, Changes, Commit, Table, errors
from indextables.core import errors as core_errors

SIGNATURES = {
    "create": "(url, schema, partition_by=(), options=None, if_exists='error')",
    "open": "(url, version=None, timestamp=None, options=None)",
    "refresh": "(self)",
    "commit_files": (
        "(self, adds=(), removes=(), properties=None, txn=None, operation='WRITE', data_change=True, if_version=None, "
        "check_files=False, uploaded_hours_ago=None)"
    ),
    "append": "(self, data, progress=None, if_version=None)",
    "overwrite": "(self, data, where=None, if_changed=None, if_version=None, progress=None)",
    "restore": "(self, version=None, timestamp=None)",
    "drop_partitions": "(self, where)",
    "clone": "(self, url, version=None, options=None, progress=None)",
    "truncate_time_travel": "(self, dry_run=False)",
    "merge_splits": "(self, target_size=None, where=None, max_dest_splits=None, max_source_splits_per_merge=1000, progress=None)",
    "checkpoint": "(self)",
    "prewarm": "(self, where=None, segments=None, fields=None, parallelism=None, wait=True, progress=None)",
    "component_sizes": "(self, where=None)",
    "fsck": "(self, repair=False, progress=None)",
    "repair": "(source_log, target_log=None, options=None, progress=None)",
    "purge": "(self, older_than=None, log_retention=None, dry_run=False, progress=None)",
    "optimize": "(self, dry_run=False, progress=None, prewarm=False)",
    "partitions": "(self)",
    "describe": "(self)",
    "state": "(self)",
    "files": "(self, where=None)",
    "scan": "(self, columns=None, where=None, query=None, limit=None)",
    "search": "(self, query, columns=None, where=None, limit=10, snippets=None)",
    "explain": "(self, query)",
    "count": "(self, where=None, query=None)",
    "aggregate": "(self, by=(), metrics=mappingproxy({'n': 'count'}), where=None, query=None)",
    "history": "(self, limit=None)",
    "changes": "(self, since)",
    "changes_rows": "(self, since, until=None, *, columns=None, where=None, query=None)",
    "follow": "(self, since=None, query=None, where=None, columns=None, *, interval=1.0, stop=None)",
    "follow_async": "(self, since=None, query=None, where=None, columns=None, *, interval=1.0, stop=None)",
    "log": "(self, include_all=False)",
    "log_actions": "(self, include_all=False)",
    "upgrade_protocol": "(self)",
    "skips": "(self)",
}
PROPERTIES = {"version", "schema", "partition_columns", "properties", "url", "id"}
ADD_FIELDS = """
    path partition_values size modification_time data_change stats tags min_values max_values num_records
    footer_start_offset footer_end_offset hotcache_start_offset hotcache_length has_footer_offsets time_range_start
    time_range_end split_tags delete_opstamp num_merge_ops doc_mapping_json doc_mapping_ref uncompressed_size_bytes
    companion_source_files companion_delta_version companion_fast_field_mode
"""
HISTORY = ["version", "timestamp", "operation", "parameters", "metrics", "txn_id", "read_version", "engine"]


def signature(function: Any) -> str:
    found = inspect.signature(function)
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in found.parameters.values()]
    return str(found.replace(parameters=bare, return_annotation=inspect.Signature.empty))


def test_the_package() -> None:
    assert {"AddAction", "Changes", "Commit", "Table", "__version__", "sql"} <= set(indextables.__all__)
    assert all(hasattr(indextables, name) for name in indextables.__all__)
    assert indextables.__version__.count(".") == 2


def test_statements_are_run_by_the_package() -> None:
    from indextables.sql.run_text import sql

    assert callable(indextables.sql)
    assert signature(sql) == "(text, /, options=None, progress=None, **tables)"
    assert signature(indextables.sql) == "(text, /, options=None, progress=None, **tables)"


def test_the_methods_of_a_table() -> None:
    found = {name: signature(getattr(Table, name)) for name in SIGNATURES}
    assert found == SIGNATURES


def test_the_properties_of_a_table() -> None:
    assert {name for name, value in inspect.getmembers(Table) if isinstance(value, property)} >= PROPERTIES


def test_everything_public_says_what_it_does() -> None:
    for name, value in inspect.getmembers(Table):
        inner = value.__func__ if isinstance(value, MethodType) else value
        if not name.startswith("_") and isinstance(inner, FunctionType | property):
            assert inner.__doc__, name


def test_an_add_action() -> None:
    assert [field.name for field in msgspec.structs.fields(AddAction)] == ADD_FIELDS.split()
    assert signature(AddAction).startswith("(path, partition_values=")


def test_what_verbs_return() -> None:
    names = [field.name for field in dataclasses.fields(Commit)]
    assert names == ["version", "txn_id", "metrics", "written", "reason"]
    assert [field.name for field in dataclasses.fields(Changes)] == ["adds", "removes", "version"]


def test_what_optimize_returns() -> None:
    from indextables.table.maintain.optimize import STEPS_SCHEMA, Optimized, Step

    names = [field.name for field in dataclasses.fields(Optimized)]
    assert names == ["status", "version", "steps", "dry_run", "duration_ms", "message"]
    steps = ["step", "reason", "status", "before", "after", "duration_ms", "message"]
    assert [field.name for field in dataclasses.fields(Step)] == STEPS_SCHEMA.names == steps


def test_what_restore_truncate_and_drop_return() -> None:
    from indextables.table.maintain.truncate import Truncated
    from indextables.table.write.drop_partitions import DroppedPartitions
    from indextables.table.write.restore import Restored

    found = {
        kind.__name__: [field.name for field in dataclasses.fields(kind)]
        for kind in (Restored, Truncated, DroppedPartitions)
    }
    assert found == {
        "Restored": ["status", "version", "restored_version", "files_added", "files_removed", "message"],
        "Truncated": [
            "status",
            "checkpoint_version",
            "versions_deleted",
            "checkpoints_deleted",
            "files_preserved",
            "message",
        ],
        "DroppedPartitions": [
            "status",
            "partitions_dropped",
            "splits_removed",
            "total_size_bytes",
            "version",
            "message",
        ],
    }


def test_the_columns_of_tables_that_verbs_return() -> None:
    from indextables.log.file_entries import FILE_SCHEMA
    from indextables.log.history import HISTORY_SCHEMA, LOG_SCHEMA
    from indextables.table.maintain.list_skips import SKIPS_SCHEMA

    assert HISTORY_SCHEMA.names == HISTORY
    from indextables.table.maintain.list_partitions import PARTITION_FACTS

    assert PARTITION_FACTS.names == ["files", "rows", "bytes", "oldest_file", "newest_file", "version"]
    assert LOG_SCHEMA.names == ["version", "timestamp", "action", "path", "json"]
    assert SKIPS_SCHEMA.names[:4] == ["path", "skipTimestamp", "reason", "operation"]
    on_disk = {field.encode_name for field in msgspec.structs.fields(AddAction)}
    assert set(FILE_SCHEMA.names) == on_disk | {"addedAtVersion", "addedAtTimestamp"}


def test_every_error_can_be_imported_by_its_name() -> None:
    defined = {
        name for name, kind in vars(core_errors).items() if inspect.isclass(kind) and issubclass(kind, Exception)
    }
    assert set(errors.__all__) == defined
    assert indextables.errors is errors
