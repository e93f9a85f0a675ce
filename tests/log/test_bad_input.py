"""Damaged, foreign and hostile logs: each gets a clear error that names the object and the value, and nothing changes."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from indextables import Table
from indextables.core.errors import (
    CorruptLog,
    IndexTablesError,
    TableNotFound,
    UnsupportedProtocol,
    VersionGap,
    VersionNotFound,
)
from indextables.log.history import read_history
from indextables.log.json_checkpoint import write_checkpoint
from indextables.log.open_snapshot import LogWarning, open_log
from indextables.log.refresh import refresh
from indextables.log.snapshot import LogAtVersion
from log.support import (
    METADATA,
    PROTOCOL,
    MemoryStore,
    append,
    grown,
    lines,
    live,
    make_log,
    put_version,
    raw_add,
    raw_remove,
    refused,
    unchanged,
    unpacked,
    version_key,
)

THIRD = f"s3://bucket/table/{version_key(3)}"


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
    @pytest.mark.parametrize(
        "key", ["splits/a.split", "_transaction_log/manifests/x", "_transaction_log/_last_checkpoint"]
    )
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
        assert live(open_log(make_log(store), 2)) == {"f1", "f2"}, "older versions are not touched by it"

    @pytest.mark.parametrize("cut", ["in a line", "at the end of a line", "to the first line"])
    def test_plain_text_that_is_cut(self, cut: str) -> None:
        store = plain_table()
        data = store.objects[version_key(3)].data
        whole = data.splitlines(keepends=True)
        assert len(whole) == 4
        kept = {
            "in a line": data[: len(data) - 30],
            "at the end of a line": b"".join(whole[:3]),
            "to the first line": whole[0],
        }
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
            refresh(LogAtVersion(log, snapshot))

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
        with refused(
            store, CorruptLog, version_key(5), "1000000 bytes", "spark.indextables.transaction.maxVersionFileBytes"
        ):
            open_log(make_log(store, {"transaction.maxVersionFileBytes": 1_000_000}))
        assert open_log(make_log(store)).version == 5

    def test_a_bomb_is_noticed_before_it_is_in_memory(self) -> None:
        import tracemalloc

        bomb = gzip.compress(b" " * 50_000_000, compresslevel=1)
        store = table()
        store.put(version_key(5), bomb)
        tracemalloc.start()
        try:
            with refused(store, CorruptLog, version_key(5)):
                open_log(make_log(store, {"transaction.maxVersionFileBytes": 1_000_000}))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 10_000_000


class TestLiberalReading:
    def test_unknown_actions_and_fields_null_fields_and_numbers_as_text(self) -> None:
        store = MemoryStore()
        metadata = {
            "metaData": METADATA["metaData"] | {"description": None, "configuration": {"n": 5, "b": True}, "new": 1}
        }
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
        history = read_history(LogAtVersion(make_log(store), open_log(make_log(store))))
        assert history.column("version").to_pylist() == [4, 2, 1, 0]


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
            write_checkpoint(LogAtVersion(log, snapshot))

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
        with (
            unchanged(store),
            pytest.warns(LogWarning, match=r"s3://bucket/table: version 4 is missing.*reading version 3"),
        ):
            snapshot = open_log(make_log(store))
        assert (snapshot.version, snapshot.gap, live(snapshot)) == (3, 4, {"f1", "f2", "f3"})

    def test_writers_refuse(self) -> None:
        store = self.gapped()
        log = make_log(store)
        with pytest.warns(LogWarning):
            snapshot = open_log(log)
        with (
            refused(store, VersionGap, "s3://bucket/table", "version 4 is missing", "repair"),
            pytest.warns(LogWarning),
        ):
            append(log, snapshot, "new")
        with refused(store, VersionGap, "version 4 is missing", "repair"):
            write_checkpoint(LogAtVersion(log, snapshot))

    def test_time_travel_over_it_is_an_error(self) -> None:
        store = self.gapped()
        assert live(open_log(make_log(store), 3)) == {"f1", "f2", "f3"}
        for version in (4, 5, 6):
            with refused(store, VersionNotFound, f"version {version} cannot be reached, version 4 is missing"):
                open_log(make_log(store), version)

    def test_a_checkpoint_behind_it_makes_it_no_gap(self) -> None:
        store = table(6)
        assert write_checkpoint(LogAtVersion(make_log(store), open_log(make_log(store), 5)))
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
        assert refresh(LogAtVersion(log, snapshot)).version == 6


class TestHugeNumbers:
    @pytest.mark.parametrize("field", ["size", "modificationTime", "numRecords", "numMergeOps", "footerStartOffset"])
    @pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 10**30])
    def test_a_number_that_no_column_holds_is_an_error_when_the_log_is_read(self, field: str, value: int) -> None:
        store = table(1)
        put_version(store, 2, raw_add("big", **{field: value}))
        with refused(store, CorruptLog, version_key(2)):
            _ = open_log(make_log(store)).files
