"""What a careless or hostile caller, disk or writer can do to a table, and what comes of it."""

from __future__ import annotations

import datetime as dt
import errno
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from indextables import AddAction, Table
from indextables.core.errors import (
    CommitError,
    CommitOutcomeUnknown,
    IndexTablesError,
    OptionError,
    PredicateError,
    SchemaError,
    StorageError,
    UnsafePath,
    VersionNotFound,
)
from tables import handle_of

SCHEMA = pa.schema([("id", pa.int64()), ("message", pa.string())])
NO_CACHE = {"transaction.cache.enabled": False}


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table.create(tmp_path / "t", SCHEMA)


def add(path: str = "a", **more: Any) -> AddAction:
    return AddAction(path, size=1, **more)


def write_version(table: Table, number: int, *actions: dict[str, Any]) -> None:
    text = "".join(json.dumps(action) + "\n" for action in actions)
    (Path(table.url) / "_transaction_log" / f"{number:020d}.json").write_text(text)


@contextmanager
def writes_that_fail(monkeypatch: pytest.MonkeyPatch, code: int) -> Iterator[None]:
    """The system writes nothing meanwhile, and says why."""

    def write(fd: int, data: Any) -> int:
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", write)
        yield


class TestFloats:
    @pytest.mark.parametrize("literal", ["0.1f", "CAST(0.1 AS FLOAT)", "CAST('0.1' AS FLOAT)", "'0.1'"])
    def test_a_float_is_what_a_float_column_holds(self, tmp_path: Path, literal: str) -> None:
        table = Table.create(tmp_path / "t", pa.schema([("f", pa.float32()), ("z", pa.int8())]))
        table.commit_files([add(min_values={"f": "0.1"}, max_values={"f": "0.1"})])
        assert table.files(f"f = {literal}").num_rows == 1
        assert table.files(f"f > {literal} AND f < 1").num_rows in (0, 1)

    def test_partition_columns_too(self, tmp_path: Path) -> None:
        table = Table.create(tmp_path / "t", pa.schema([("f", pa.float32()), ("z", pa.int8())]), partition_by=["f"])
        table.commit_files([add(partition_values={"f": "0.1"})])
        assert table.files("f = CAST(0.1 AS FLOAT)").num_rows == table.files("f = '0.1'").num_rows == 1

    def test_too_large_for_a_float_is_infinity(self, tmp_path: Path) -> None:
        table = Table.create(tmp_path / "t", pa.schema([("f", pa.float32()), ("z", pa.int8())]), partition_by=["f"])
        table.commit_files([add(partition_values={"f": "1.0"})])
        assert table.files("f < CAST(1e300 AS FLOAT)").num_rows == 1


class TestDisks:
    def test_a_directory_that_cannot_be_synced_is_no_success(
        self, table: Table, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = os.fsync

        def fsync(fd: int) -> None:
            if stat.S_ISDIR(os.fstat(fd).st_mode):
                raise OSError(errno.EIO, "Input/output error")
            real(fd)

        monkeypatch.setattr(os, "fsync", fsync)
        with pytest.raises(CommitOutcomeUnknown, match="may not survive a power cut"):
            table.commit_files([add()])

    @pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
    def test_a_full_disk_is_a_definite_failure(self, table: Table, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
        with writes_that_fail(monkeypatch, code), pytest.raises(StorageError, match=os.strerror(code)) as failed:
            table.commit_files([add()])
        assert not isinstance(failed.value, CommitOutcomeUnknown)
        assert table.commit_files([add()]).version == 1

    def test_creating_on_a_full_disk(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with writes_that_fail(monkeypatch, errno.ENOSPC), pytest.raises(StorageError, match="No space left"):
            Table.create(tmp_path / "t", SCHEMA)
        assert Table.create(tmp_path / "t", SCHEMA).version == 0


class TestWhatFollowsACommit:
    def test_no_error_of_it_reaches_the_caller(self, table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
        def checkpoint(*_: Any, **__: Any) -> None:
            raise MemoryError

        monkeypatch.setattr("indextables.table.write.after_commit.checkpoint", checkpoint)
        for number in range(1, 12):
            assert table.commit_files([add(f"f{number}")]).version == table.version == number

    def test_partition_columns_that_the_schema_lacks(self, table: Table) -> None:
        metadata = {"id": table.id, "schemaString": '{"type":"struct","fields":[]}', "partitionColumns": ["nope"]}
        write_version(
            table, 1, {"metaData": {**metadata, "format": {"provider": "x", "options": {}}, "configuration": {}}}
        )
        again = Table.open(table.url, options=NO_CACHE)
        for number in range(2, 12):
            assert again.commit_files([add(f"f{number}", partition_values={"nope": "x"})]).version == number
        assert again.checkpoint().written
        assert Table.open(table.url, options=NO_CACHE).files().num_rows == 10

    def test_a_safety_age_of_nothing_still_writes_states(self, table: Table) -> None:
        """Nobody can set such a safety age here, but other writers can."""
        metadata = handle_of(table).snapshot.metadata
        configuration = {**metadata.configuration, "spark.indextables.safetyAge.hours": "0"}
        update = {"id": table.id, "schemaString": metadata.schema_string, "partitionColumns": []}
        write_version(
            table,
            1,
            {"metaData": {**update, "format": {"provider": "x", "options": {}}, "configuration": configuration}},
        )
        again = Table.open(table.url, options=NO_CACHE)
        assert handle_of(again).snapshot.safety_age_seconds == 0
        again.commit_files([add()])
        assert again.checkpoint().written


class TestPaths:
    def test_a_path_inside_the_root_is_written_relative(self, table: Table) -> None:
        table.commit_files([add("q")])
        table.commit_files([add(f"{table.url}/q"), add(f"file://{table.url}/r")])
        assert sorted(table.files()["path"].to_pylist()) == ["q", "r"]

    @pytest.mark.parametrize("path", ["w//z", "w/./z", "./w", "w/", "", "/etc/passwd", "..", "a/../../b"])
    def test_second_names_of_one_file_are_refused(self, table: Table, path: str) -> None:
        with pytest.raises(UnsafePath):
            table.commit_files([add(path)])
        assert table.version == 0


class TestOtherWriters:
    @pytest.mark.parametrize("timestamp", [2**63 - 1, 1_794_785_144_258_000, -5])
    def test_a_time_that_cannot_be_true_counts_from_the_store(self, table: Table, timestamp: int) -> None:
        write_version(table, 1, {"commitInfo": {"timestamp": timestamp}}, {"add": {"path": "x", "size": 1}})
        again = Table.open(table.url, options=NO_CACHE)
        assert again.commit_files([add("y")]).version == 2
        newest = again.history()["timestamp"][0].as_py()
        assert abs(newest - dt.datetime.now(dt.UTC)) < dt.timedelta(hours=1)
        assert again.checkpoint().written
        assert again.state().num_rows == 11

    def test_odd_facts_do_not_make_a_log_unreadable(self, table: Table) -> None:
        info = {"operation": 5, "operationMetrics": "many", "timestamp": "soon", "engineInfo": ["x"]}
        write_version(table, 1, {"commitInfo": info}, {"add": {"path": "x", "size": 1, "stats": {"numRecords": 3}}})
        again = Table.open(table.url, options=NO_CACHE)
        assert again.files()["stats"].to_pylist() == ['{"numRecords":3}']


class TestTypes:
    def test_versions(self, table: Table) -> None:
        assert Table.open(table.url, version=np.int64(0)).version == 0
        for version in ("0", True, 0.0, [0]):
            with pytest.raises(OptionError, match="must be a whole number"):
                Table.open(table.url, version=version)  # type: ignore[arg-type]
        with pytest.raises(VersionNotFound, match="versions start at 0"):
            Table.open(table.url, version=-1)

    def test_times(self, table: Table) -> None:
        tomorrow = dt.datetime.now(dt.UTC).date() + dt.timedelta(days=1)
        assert Table.open(table.url, timestamp=tomorrow).version == 0
        with pytest.raises(VersionNotFound, match=r"2001-01-01T00:00:00.000Z, its oldest version, 0, is from 2"):
            Table.open(table.url, timestamp="2001-01-01")

    def test_changes_and_history(self, table: Table) -> None:
        table.commit_files([add()])
        assert table.changes(np.int64(0)).adds.num_rows == 1
        for since in (None, 1.5, True):
            with pytest.raises(OptionError):
                table.changes(since)  # type: ignore[arg-type]
        for limit in (-1, "2", 2.5):
            with pytest.raises(OptionError):
                table.history(limit)  # type: ignore[arg-type]

    @pytest.mark.parametrize("where", [5, b"id = 1", ["id = 1"], True])
    def test_filters(self, table: Table, where: Any) -> None:
        with pytest.raises(PredicateError, match="SQL text"):
            table.files(where)

    @pytest.mark.parametrize(
        "txn", [("a",), ("a", 1, 2), "ab", ("a", None), (None, 1), ("a", 1.7), ("", 1), ("a", True)]
    )
    def test_txns(self, table: Table, txn: Any) -> None:
        with pytest.raises(CommitError, match="nightly-load"):
            table.commit_files([add()], txn=txn)
        assert table.version == 0

    @pytest.mark.parametrize("adds", [None, 5, add(), "a", [None], ["a"]])
    def test_adds(self, table: Table, adds: Any) -> None:
        with pytest.raises(CommitError):
            table.commit_files(adds)

    @pytest.mark.parametrize("values", [{"min_values": 5}, {"partition_values": [1]}, {"max_values": "x"}])
    def test_maps(self, table: Table, values: dict[str, Any]) -> None:
        with pytest.raises(SchemaError, match="dict of texts"):
            table.commit_files([add(**values)])

    def test_paths_are_text(self, table: Table) -> None:
        for path in (b"x", None, Path("x")):
            with pytest.raises(IndexTablesError):
                table.commit_files([AddAction(path)])  # type: ignore[arg-type]
