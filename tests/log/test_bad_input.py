"""Damaged, foreign and hostile logs: each gets a clear error that names the object and the value, and nothing changes."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from indextables import Table
from indextables.core.errors import (
    CorruptLog,
    IndexTablesError,
    ObjectNotFound,
    SchemaError,
    TableNotFound,
    UnsafePath,
    UnsupportedProtocol,
    VersionGap,
    VersionNotFound,
)
from indextables.log.checkpoint import write_checkpoint
from indextables.log.commit import commit
from indextables.log.conflicts import Change, MergeGroup
from indextables.log.create import create_log
from indextables.log.history import open_at, read_history
from indextables.log.open import LogWarning, open_log
from indextables.log.refresh import refresh
from indextables.storage.local import LocalStore
from log.support import (
    METADATA,
    PROTOCOL,
    START_MS,
    MemoryStore,
    add,
    append,
    foreign_table,
    grown,
    lines,
    live,
    make_log,
    put_version,
    raw_add,
    raw_remove,
    unpacked,
    version_key,
)

THIRD = f"s3://bucket/table/{version_key(3)}"


@contextmanager
def unchanged(store: MemoryStore) -> Iterator[None]:
    before = store.bytes()
    yield
    assert store.bytes() == before


@contextmanager
def refused(store: MemoryStore, error: type[IndexTablesError], *says: str) -> Iterator[None]:
    """The block raises exactly this error, its message says all of this, and nothing was written."""
    with unchanged(store), pytest.raises(IndexTablesError) as raised:
        yield
    assert type(raised.value) is error, raised.value
    for text in says:
        assert text in str(raised.value)


def table(versions: int = 4, **options: Any) -> MemoryStore:
    store = MemoryStore()
    grown(make_log(store, options), versions)
    return store


def plain_table() -> MemoryStore:
    store = MemoryStore()
    log = make_log(store, {"transaction.compression.enabled": False})
    snapshot = grown(log, 2)
    snapshot = append(log, snapshot, "x", "y", "z").snapshot
    append(log, snapshot, "f4")
    return store


class TestNotATable:
    @pytest.mark.parametrize("key", ["splits/a.split", "_transaction_log/manifests/x", "_transaction_log/_last_checkpoint"])
    def test_other_things_are_there(self, key: str) -> None:
        store = MemoryStore()
        store.put(key, b"{}")
        with refused(store, TableNotFound, "s3://bucket/table", "Table.create"):
            open_log(make_log(store))

    def test_nothing_is_there(self, tmp_path: Path) -> None:
        missing = tmp_path / "missing"
        with pytest.raises(TableNotFound, match=str(missing)):
            Table.open(missing)
        assert not missing.exists()

    def test_it_is_a_file(self, tmp_path: Path) -> None:
        file = tmp_path / "file"
        file.write_bytes(b"x")
        with pytest.raises(IndexTablesError):
            Table.open(file)
        assert file.read_bytes() == b"x"


def cut_gzip(data: bytes) -> bytes:
    return data[: len(data) // 2]


def cut_gzip_trailer(data: bytes) -> bytes:
    return data[:-4]


def flipped(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 0xFF]) + data[middle + 1 :]


class TestDamagedVersionFile:
    @pytest.mark.parametrize(
        ("damage", "says"),
        [
            (cut_gzip, "is cut off: its gzip stream has no end"),
            (cut_gzip_trailer, "is cut off: its gzip stream has no end"),
            (flipped, "is damaged"),
            (lambda data: b"", "is empty"),
            (lambda data: b"\x00\x01\x02" * 50, "starts with byte 0x00"),
            (lambda data: b"\x01\x02" + data, "starts with byte 0x01"),
            (lambda data: b"\x01\x01", "starts with 01 01, but no gzip stream follows"),
            (lambda data: b"\x01\x01" + unpacked(data), "starts with 01 01, but no gzip stream follows"),
            (lambda data: b"\x01\x01" + data[:40], "is cut off"),
            (lambda data: data + b"rubbish", "is damaged"),
            (lambda data: b"\n \n", "holds no actions"),
            (lambda data: gzip.compress(b""), "holds no actions"),
            (lambda data: unpacked(data).replace(b"WRITE", b"\xff\xfe"), "line 1: not UTF-8"),
            (lambda data: gzip.compress(unpacked(data).replace(b"f3", b"\xe9")), "line 2: not UTF-8"),
            (lambda data: unpacked(data) + b"[1, 2]\n", "line 3: a JSON list where an action, an object, belongs"),
            (lambda data: unpacked(data) + b'"text"\n', "line 3: a JSON str where an action"),
            (lambda data: unpacked(data) + b"null\n", "line 3: a JSON NoneType where an action"),
            (lambda data: unpacked(data) + b"{'add': 1}\n", "line 3: not JSON"),
            (lambda data: lines({"add": "f3"}), "line 1: add is not an object"),
            (lambda data: lines({"add": ["f3"]}), "line 1: add is not an object"),
            (lambda data: lines({"add": {"size": 5}}), "missing required field `path`"),
            (lambda data: lines(raw_add("f3", size="many")), "line 1: Expected `int`"),
            (lambda data: lines(raw_add("f3", partitionValues=[1])), "line 1: Expected `object`"),
            (lambda data: b"{" * 100_000, "not JSON"),
            (lambda data: b'{"x":' * 5_000 + b"1" + b"}" * 5_000 + b"\n[]", "line"),
            (lambda data: b"<html>proxy error</html>", "starts with byte 0x3c"),
        ],
    )
    def test_it_is_an_error_with_its_name(self, damage: Any, says: str) -> None:
        store = table()
        store.put(version_key(3), damage(store.objects[version_key(3)].data))
        with refused(store, CorruptLog, THIRD, says):
            open_log(make_log(store))
        with refused(store, CorruptLog, THIRD):
            read_history(make_log(store), open_log(make_log(store), 2).with_checked(0).__class__(**{
                **open_log(make_log(store), 2).__dict__, "version": 4}))
        assert live(open_log(make_log(store), 2)) == {"f1", "f2"}, "older versions are not touched by it"

    @pytest.mark.parametrize("cut", ["in a line", "at the end of a line", "to the first line"])
    def test_plain_text_that_is_cut(self, cut: str) -> None:
        store = plain_table()
        data = store.objects[version_key(3)].data
        whole = data.splitlines(keepends=True)
        assert len(whole) == 4
        kept = {"in a line": data[: len(data) - 30], "at the end of a line": b"".join(whole[:3]), "to the first line": whole[0]}
        store.put(version_key(3), kept[cut])
        with refused(store, CorruptLog, THIRD, "cut off"):
            open_log(make_log(store))

    def test_a_writer_refuses_too(self) -> None:
        store = table()
        log = make_log(store)
        snapshot = open_log(log, 2)
        store.put(version_key(3), b"\x00")
        with refused(store, CorruptLog, THIRD):
            append(log, snapshot, "new")
        with refused(store, CorruptLog, THIRD):
            refresh(log, snapshot)

    @pytest.mark.parametrize("damage", [b"", b"\x00", b"{}", b'{"add":{"path":"x"}}'])
    def test_version_0(self, damage: bytes) -> None:
        store = table()
        store.put(version_key(0), damage)
        with refused(store, CorruptLog, f"s3://bucket/table/{version_key(0)}"):
            open_log(make_log(store))

    def test_version_0_without_metadata_says_so(self) -> None:
        store = MemoryStore()
        put_version(store, 0, PROTOCOL)
        with refused(store, CorruptLog, version_key(0), "has no metaData"):
            open_log(make_log(store))

    @pytest.mark.parametrize("form", ["gzip", "plain"])
    def test_more_text_than_allowed(self, form: str) -> None:
        store = table()
        text = lines(raw_add("big", stats="0" * 5_000_000))
        store.put(version_key(5), gzip.compress(text) if form == "gzip" else text)
        with refused(store, CorruptLog, version_key(5), "1000000 bytes", "spark.indextables.transaction.maxVersionFileBytes"):
            open_log(make_log(store, {"transaction.maxVersionFileBytes": 1_000_000}))
        assert open_log(make_log(store)).version == 5

    def test_a_bomb_is_noticed_before_it_is_in_memory(self) -> None:
        import tracemalloc

        bomb = gzip.compress(b" " * 200_000_000, compresslevel=9)
        store = table()
        store.put(version_key(5), bomb)
        tracemalloc.start()
        try:
            with refused(store, CorruptLog, version_key(5)):
                open_log(make_log(store, {"transaction.maxVersionFileBytes": 2_000_000}))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 20_000_000


class TestLiberalReading:
    def test_unknown_actions_and_fields_null_fields_and_numbers_as_text(self) -> None:
        store = MemoryStore()
        metadata = {"metaData": METADATA["metaData"] | {"description": None, "configuration": {"n": 5, "b": True}, "new": 1}}
        put_version(store, 0, {"protocol": PROTOCOL["protocol"] | {"readerFeatures": None}}, metadata)
        put_version(
            store,
            1,
            {"cdc": {"path": "x"}},
            raw_add("a", partitionValues={"day": 3}, minValues={"id": 1}, stats=None, tags=None, size="7", new=[]),
            {"add": None, "remove": None, "txn": {"appId": "app", "version": 1, "new": 2}},
        )
        snapshot = open_log(make_log(store))
        assert snapshot.metadata.configuration == {"n": "5", "b": "true"}
        (row,) = snapshot.files.to_pylist()
        assert (row["partitionValues"], row["minValues"], row["size"]) == ([("day", "3")], [("id", "1")], 7)
        assert snapshot.transactions["app"].version == 1

    def test_a_table_without_a_protocol_is_the_oldest(self) -> None:
        store = MemoryStore()
        put_version(store, 0, METADATA)
        snapshot = open_log(make_log(store))
        assert (snapshot.protocol.min_reader_version, snapshot.protocol.min_writer_version) == (1, 1)
        append(make_log(store), snapshot, "a")

    def test_a_version_of_another_table_counts_as_empty(self) -> None:
        store = table(2)
        put_version(store, 3, {"commitInfo": {"txnId": "t", "tableId": "another"}}, raw_add("alien"), raw_remove("f1"))
        snapshot = open_log(make_log(store))
        assert (snapshot.version, live(snapshot)) == (3, {"f1", "f2"})
        assert append(make_log(store), snapshot, "f4").snapshot.version == 4
        assert live(open_log(make_log(store))) == {"f1", "f2", "f4"}
        assert read_history(make_log(store), open_log(make_log(store))).column("version").to_pylist() == [4, 2, 1, 0]


class TestProtocol:
    def with_protocol(self, **protocol: Any) -> MemoryStore:
        store = table(1)
        put_version(store, 2, {"protocol": {"minReaderVersion": 4, "minWriterVersion": 4} | protocol})
        return store

    @pytest.mark.parametrize(
        ("protocol", "says"),
        [
            ({"minReaderVersion": 5}, ("protocol version 5 to read", "has 4")),
            ({"minReaderVersion": 2**40}, (f"protocol version {2**40} to read",)),
            ({"readerFeatures": ["teleport", "avroState", "antigravity"]}, ("antigravity, teleport", "to read")),
        ],
    )
    def test_a_newer_reader_is_needed(self, protocol: dict[str, Any], says: tuple[str, ...]) -> None:
        store = self.with_protocol(**protocol)
        with refused(store, UnsupportedProtocol, "s3://bucket/table", "upgrade indextables", *says):
            open_log(make_log(store))
        assert live(open_log(make_log(store), 1)) == {"f1"}, "versions before it can be read"

    @pytest.mark.parametrize(
        ("protocol", "says"),
        [
            ({"minWriterVersion": 5}, ("protocol version 5 to write", "has 4")),
            ({"writerFeatures": ["teleport"]}, ("teleport", "to write")),
        ],
    )
    def test_a_newer_writer_is_needed(self, protocol: dict[str, Any], says: tuple[str, ...]) -> None:
        store = self.with_protocol(**protocol)
        log = make_log(store)
        snapshot = open_log(log)
        assert live(snapshot) == {"f1"}
        with refused(store, UnsupportedProtocol, "s3://bucket/table", *says):
            append(log, snapshot, "new")
        with refused(store, UnsupportedProtocol, *says):
            write_checkpoint(log, snapshot)

    def test_a_writer_notices_a_newer_protocol_that_won(self) -> None:
        store = table(1)
        log = make_log(store)
        snapshot = open_log(log)
        put_version(store, 2, {"protocol": {"minReaderVersion": 4, "minWriterVersion": 7}})
        with refused(store, UnsupportedProtocol, "protocol version 7 to write"):
            append(log, snapshot, "new")

    def test_features_that_are_known_are_no_obstacle(self) -> None:
        known = ["skippedFiles", "extendedMetadata", "footerOffsets", "checkpoint", "checkpoints", "conditionalWrites"]
        store = self.with_protocol(readerFeatures=known, writerFeatures=["optimizeWrite", "tantivy4java"])
        append(make_log(store), open_log(make_log(store)), "new")


class TestGap:
    def gapped(self) -> MemoryStore:
        store = table(6)
        del store.objects[version_key(4)]
        return store

    def test_readers_serve_what_is_before_it_and_warn_with_the_number(self) -> None:
        store = self.gapped()
        with unchanged(store), pytest.warns(LogWarning, match=r"s3://bucket/table: version 4 is missing.*reading version 3"):
            snapshot = open_log(make_log(store))
        assert (snapshot.version, snapshot.gap, live(snapshot)) == (3, 4, {"f1", "f2", "f3"})

    def test_writers_refuse(self) -> None:
        store = self.gapped()
        log = make_log(store)
        with pytest.warns(LogWarning):
            snapshot = open_log(log)
        with refused(store, VersionGap, "s3://bucket/table", "version 4 is missing", "repair"), pytest.warns(LogWarning):
            append(log, snapshot, "new")
        with refused(store, VersionGap, "version 4 is missing", "repair"):
            write_checkpoint(log, snapshot)

    def test_a_writer_that_was_there_before_the_gap_refuses_too(self) -> None:
        store = table(6)
        log = make_log(store)
        early = open_log(log, 3)
        del store.objects[version_key(4)]
        store.objects.pop(version_key(5))
        following = append(log, open_log(make_log(table(3))), "x")  # another table, so that the log is not confused
        assert following.written
        with pytest.warns(LogWarning, match="version 4 is missing"):
            assert open_log(make_log(store)).gap == 4
        assert early.version == 3

    def test_time_travel_over_it_is_an_error(self) -> None:
        store = self.gapped()
        assert live(open_log(make_log(store), 3)) == {"f1", "f2", "f3"}
        for version in (4, 5, 6):
            with refused(store, VersionNotFound, f"version {version} cannot be reached, version 4 is missing"):
                open_log(make_log(store), version)

    def test_a_checkpoint_behind_it_makes_it_no_gap(self) -> None:
        store = table(6)
        assert write_checkpoint(make_log(store), open_log(make_log(store), 5))
        del store.objects[version_key(4)]
        snapshot = open_log(make_log(store))
        assert (snapshot.version, snapshot.gap) == (6, None)
        append(make_log(store), snapshot, "new")

    def test_a_listing_that_lags_behind_is_no_gap(self) -> None:
        store = table(6)

        class Lagging(MemoryStore):
            def list(self, prefix: str, after: str | None = None) -> Any:
                return (meta for meta in MemoryStore.list(self, prefix, after) if meta.key != version_key(4))

        lagging = Lagging(store.clock)
        lagging.objects = store.objects
        assert open_log(make_log(lagging)).version == 6

    def test_the_gap_is_mended(self) -> None:
        store = table(6)
        missing = store.objects.pop(version_key(4))
        log = make_log(store)
        with pytest.warns(LogWarning):
            snapshot = open_log(log)
        store.objects[version_key(4)] = missing
        assert refresh(log, snapshot).version == 6


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
INSIDE = ["x.split", "day=1/splits/x.split", "a..b/c...split", "_x.split", "s3://bucket/table/x.split", "a%2F..%2Fb", "a:b", ".x"]


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
        merge = Change(groups=(MergeGroup(("f1",), (add(path),)),))
        with refused(store, UnsafePath, repr(path)):
            commit(log, open_log(log), merge, operation="MERGE")

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
    FIELD = {"name": "a", "type": "long", "nullable": True, "metadata": {}}

    @pytest.mark.parametrize(
        ("columns", "partitions", "says"),
        [
            (["a"], ["b"], "'?b'?"),
            (["a", "a"], [], "a"),
            (["a", "A"], [], "A"),
            (["a", "b"], ["a", "a"], "a"),
            ([], [], ""),
            (["a"], ["a"], "a"),
        ],
    )
    def test_a_schema_that_cannot_be_a_table(self, tmp_path: Path, columns: list[str], partitions: list[str], says: str) -> None:
        with pytest.raises(SchemaError, match=says):
            Table.create(tmp_path / "t", pa.schema([(name, pa.int64()) for name in columns]), partition_by=partitions)
        assert not (tmp_path / "t").exists()

    @pytest.mark.parametrize("schema", ["", "{", "[]", "5", '{"type":"struct"}', '{"type":"struct","fields":[{"name":"a"}]}'])
    def test_spark_json_that_is_none(self, tmp_path: Path, schema: str) -> None:
        with pytest.raises(SchemaError):
            Table.create(tmp_path / "t", schema)
        assert not (tmp_path / "t").exists()

    def test_a_schema_in_the_log_that_cannot_be_read(self) -> None:
        store = MemoryStore()
        put_version(store, 0, PROTOCOL, {"metaData": METADATA["metaData"] | {"schemaString": json.dumps({"type": "struct"})}})
        snapshot = open_log(make_log(store))
        with refused(store, SchemaError):
            _ = snapshot.schema

    def test_partition_columns_as_text(self, tmp_path: Path) -> None:
        with pytest.raises(SchemaError, match="list of column names"):
            Table.create(tmp_path / "t", pa.schema([("a", pa.int64())]), partition_by="a")  # type: ignore[arg-type]


class TestTimes:
    def test_before_the_first_commit(self) -> None:
        store = table()
        with refused(store, VersionNotFound, "s3://bucket/table", str(START_MS - 1)):
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


class TestHugeNumbers:
    @pytest.mark.parametrize("field", ["size", "modificationTime", "numRecords", "numMergeOps", "footerStartOffset"])
    @pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 10**30])
    def test_a_number_that_no_column_holds_is_an_error_when_the_log_is_read(self, field: str, value: int) -> None:
        store = table(1)
        put_version(store, 2, raw_add("big", **{field: value}))
        with refused(store, CorruptLog, version_key(2)):
            _ = open_log(make_log(store)).files


def test_what_is_missing_is_said_by_name() -> None:
    store = MemoryStore()
    foreign_table(store, [raw_add("a")])
    with pytest.raises(ObjectNotFound):
        store.get("nothing")
    with refused(store, VersionNotFound, "newest: 1"):
        open_log(make_log(store), 2)


def test_an_unusable_schema_leaves_no_table_behind() -> None:
    store = MemoryStore()
    log = make_log(store)
    create_log(log, schema_string="not looked at here")
    assert list(store.objects) == [version_key(0)]
