"""Paths that leave the table, schemas that cannot be one's, values that no log can hold: refused on the way in."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from indextables import AddAction, Table
from indextables.core.errors import CommitError, SchemaError, UnsafePath, VersionNotFound
from indextables.log.actions import TxnAction
from indextables.log.commit import commit
from indextables.log.conflicts import Change, MetadataUpdate, Rewrite
from indextables.log.history import open_at
from indextables.log.open_snapshot import open_log
from indextables.log.snapshot import LogAtVersion
from indextables.storage.local import LocalStore
from log.support import (
    METADATA,
    PROTOCOL,
    START_MS,
    MemoryStore,
    add,
    append,
    grown,
    live,
    make_log,
    put_version,
    raw_add,
    raw_remove,
    refused,
    version_key,
)


def table(versions: int = 4) -> MemoryStore:
    store = MemoryStore()
    grown(make_log(store), versions)
    return store


ESCAPES = [
    "../other/x.split",
    "a/../../x.split",
    "a/..",
    "/etc/passwd",
    "/bucket/table/x.split",
    "s3://other/table/x.split",
    "s3://bucket/table2/x.split",
    "s3://bucket/table/../x.split",
    "s3a://bucket/x.split",
    "gs://bucket/table/x.split",
    "file:///etc/passwd",
    "https://bucket/table/x.split",
    "_transaction_log/00000000000000000000.json",
    "_Transaction_Log/x",
    "./_transaction_log/00000000000000000000.json",
    "s3://bucket/table/_transaction_log/x",
    "s3://bucket/table/",
    "",
    "a\0b",
]
INSIDE = [
    "x.split",
    "day=1/splits/x.split",
    "a..b/c...split",
    "_x.split",
    "s3://bucket/table/x.split",
    "a%2F..%2Fb",
    "a:b",
    ".x",
]


class TestPaths:
    @pytest.mark.parametrize("path", ESCAPES)
    @pytest.mark.parametrize("kind", ["add", "remove"])
    def test_a_log_with_a_path_outside_is_refused(self, path: str, kind: str) -> None:
        store = table(1)
        put_version(store, 2, raw_add(path) if kind == "add" else raw_remove(path))
        with refused(store, UnsafePath, version_key(2), repr(path)):
            open_log(make_log(store))

    @pytest.mark.parametrize("path", ESCAPES)
    def test_a_commit_with_a_path_outside_is_refused(self, path: str) -> None:
        store = table(1)
        log = make_log(store)
        with refused(store, UnsafePath, repr(path)):
            append(log, open_log(log), path)
        merge = Change(rewrites=(Rewrite(("f1",), (add(path),), data_change=False),))
        with refused(store, UnsafePath, repr(path)):
            commit(LogAtVersion(log, open_log(log)), merge, operation="MERGE")

    @pytest.mark.parametrize("path", INSIDE)
    def test_paths_inside_are_taken_literally(self, path: str) -> None:
        store = table(1)
        log = make_log(store)
        append(log, open_log(log), path)
        assert live(open_log(make_log(store))) == {"f1", path}

    def test_a_local_table(self, tmp_path: Path) -> None:
        root = tmp_path / "table"
        Table.create(root, pa.schema([("id", pa.int64())]))
        log = make_log(LocalStore(root))
        for path in (f"{tmp_path}/x.split", f"{root}2/x.split", f"file://{tmp_path}/x.split", f"{root}/../x"):
            with pytest.raises(UnsafePath, match=re.escape(repr(path))):
                append(log, open_log(log), path)
        done = append(log, open_log(log), f"{root}/x.split", f"file://{root}/y.split")
        assert done.snapshot.version == 1


class TestSchemas:
    @pytest.mark.parametrize(
        ("columns", "partitions", "says"),
        [
            (["a"], ["b"], "'?b'?"),
            (["a", "a"], [], "a"),
            (["a", "A"], [], "A"),
            (["a", "b"], ["a", "a"], "a"),
            (["a"], ["a"], "a"),
        ],
    )
    def test_a_schema_that_cannot_be_a_table(
        self, tmp_path: Path, columns: list[str], partitions: list[str], says: str
    ) -> None:
        with pytest.raises(SchemaError, match=says):
            Table.create(tmp_path / "t", pa.schema([(name, pa.int64()) for name in columns]), partition_by=partitions)
        assert not (tmp_path / "t").exists()

    @pytest.mark.parametrize(
        "schema", ["", "{", "[]", "5", '{"type":"struct"}', '{"type":"struct","fields":[{"name":"a"}]}']
    )
    def test_spark_json_that_is_none(self, tmp_path: Path, schema: str) -> None:
        with pytest.raises(SchemaError):
            Table.create(tmp_path / "t", schema)
        assert not (tmp_path / "t").exists()

    def test_a_schema_in_the_log_that_cannot_be_read(self) -> None:
        store = MemoryStore()
        put_version(
            store, 0, PROTOCOL, {"metaData": METADATA["metaData"] | {"schemaString": json.dumps({"type": "struct"})}}
        )
        snapshot = open_log(make_log(store))
        with refused(store, SchemaError):
            _ = snapshot.schema

    def test_partition_columns_as_text(self, tmp_path: Path) -> None:
        with pytest.raises(SchemaError, match="list of column names"):
            Table.create(tmp_path / "t", pa.schema([("a", pa.int64())]), partition_by="a")  # type: ignore[arg-type]


class TestTimes:
    def test_before_the_first_commit(self) -> None:
        store = table()
        with refused(store, VersionNotFound, "s3://bucket/table", "its oldest version, 0, is from", "Z"):
            open_at(make_log(store), timestamp_ms=START_MS - 1)

    @pytest.mark.parametrize("version", [5, 10**18, 10**25])
    def test_versions_that_do_not_exist(self, version: int) -> None:
        store = table()
        with refused(store, VersionNotFound, f"is at version 4, version {version} does not exist (newest: 4)"):
            open_log(make_log(store), version)

    def test_negative_versions(self) -> None:
        store = table()
        with refused(store, VersionNotFound, "version -1"):
            open_log(make_log(store), -1)


class TestWriting:
    @pytest.mark.parametrize(
        ("fields", "says"),
        [
            ({"size": 2**63}, "size"),
            ({"size": "12"}, "size"),
            ({"size": None}, "size"),
            ({"num_records": 1.5}, "numRecords"),
            ({"num_merge_ops": 2**31}, "numMergeOps"),
            ({"stats": {"numRecords": 1}}, "stats"),
            ({"stats": "a\ud800"}, "surrogates"),
            ({"tags": {"a": 1}}, "tags"),
            ({"min_values": {"id": 1}}, "minValues"),
            ({"partition_values": {"day": 1}}, "partitionValues"),
            ({"split_tags": "abc"}, "splitTags"),
            ({"has_footer_offsets": "yes"}, "hasFooterOffsets"),
            ({"time_range_start": 5}, "timeRangeStart"),
            ({"doc_mapping_json": {"fields": []}}, "docMappingJson"),
            ({"data_change": None}, "dataChange"),
            ({"size": object()}, "object"),
        ],
    )
    def test_a_value_that_nobody_could_read_back_is_not_written(self, fields: dict[str, Any], says: str) -> None:
        store = table(1)
        log = make_log(store)
        change = Change(adds=(add("good"), add("bad.split", **fields)))
        with refused(store, SchemaError, "'bad.split'", says):
            commit(LogAtVersion(log, open_log(log)), change, operation="WRITE")
        merge = Change(rewrites=(Rewrite(("f1",), (add("bad.split", **fields),), data_change=False),))
        with refused(store, SchemaError, "'bad.split'", says):
            commit(LogAtVersion(log, open_log(log)), merge, operation="MERGE")

    @pytest.mark.parametrize(
        "change",
        [
            Change(adds=(AddAction(5),)),  # type: ignore[arg-type]
            Change(adds=(AddAction("a\ud800"),)),
            Change(txn=TxnAction("app", 2**63)),
            Change(txn=TxnAction("a\udc00", 1)),
            Change(metadata=MetadataUpdate(properties={"a": "\ud800"})),
            Change(metadata=MetadataUpdate(name="\ud800")),
        ],
    )
    def test_nor_are_other_parts_of_a_commit(self, change: Change) -> None:
        store = table(1)
        log = make_log(store)
        with refused(store, SchemaError):
            commit(LogAtVersion(log, open_log(log)), change, operation="WRITE")

    @pytest.mark.parametrize("operation", [5, "\ud800", ["WRITE"]])
    def test_nor_is_an_operation_that_is_no_text(self, operation: Any) -> None:
        store = table(1)
        log = make_log(store)
        with refused(store, SchemaError, "s3://bucket/table"):
            append(log, open_log(log), "x", operation=operation)

    def test_a_version_file_larger_than_readers_allow_is_not_written(self) -> None:
        store = table(1)
        log = make_log(store, {"transaction.maxVersionFileBytes": 10_000})
        with refused(store, CommitError, "spark.indextables.transaction.maxVersionFileBytes", "10000"):
            append(log, open_log(log), *(f"{number:0100d}" for number in range(100)))
        assert append(log, open_log(log), "small").snapshot.version == 2
