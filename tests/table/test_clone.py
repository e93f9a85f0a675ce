"""`Table.clone`: a full copy of a version at another place."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from indextables import Table
from indextables.core.errors import (
    CommitError,
    CorruptSplit,
    OptionError,
    SplitError,
    StorageError,
    TableExists,
    TableNotFound,
    VersionNotFound,
)
from indextables.log.log_paths import version_key
from indextables.log.open_snapshot import open_log
from indextables.table.handle import TableHandle
from indextables.table.progress import Progress
from indextables.table.write import clone as clone_module
from indextables.table.write.clone import clone
from log.support import Hooked, MemoryStore, make_log
from table.written_support import footers, objects_of

SCHEMA = pa.schema([("id", pa.int64()), ("message", pa.string()), ("day", pa.string())])
OPTIONS = {"indexing.typemap.message": "text", "safetyAge.hours": 24}


def some(*ids: int, day: str | None = "a/b") -> pa.Table:
    words = [f"row number {number}" for number in ids]
    return pa.table({"id": list(ids), "message": words, "day": [day] * len(ids)}, schema=SCHEMA)


def ids(table: Table) -> list[int]:
    return sorted(table.scan(columns=["id"]).read_all().column("id").to_pylist())


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Version 2 has the rows 1 to 4, the newest has 9 and 10."""
    table = Table.create(tmp_path / "source", SCHEMA, partition_by=["day"], options=OPTIONS)
    table.append(some(1, 2))
    table.append([some(3), some(4, day=None)])
    table.overwrite([some(9), some(10, day="c")])
    table.commit_files(properties={"owner": "me"})
    return table


def digests(table: Table) -> list[str]:
    root = Path(table.url)
    return sorted(hashlib.sha256((root / file["path"]).read_bytes()).hexdigest() for file in table.files().to_pylist())


class TestCopy:
    def test_is_a_table_of_its_own(self, table: Table, tmp_path: Path) -> None:
        copy = table.clone(tmp_path / "copy")
        assert copy.id != table.id
        assert (copy.version, copy.schema, copy.partition_columns) == (1, table.schema, ("day",))
        assert copy.properties == table.properties
        assert ids(copy) == ids(Table.open(tmp_path / "copy")) == [9, 10]
        assert digests(copy) == digests(table)
        assert len(footers(copy)) == 2
        assert copy.count(query="message:10") == 1
        copy.append(some(77))
        copy.merge_splits()
        assert ids(copy) == [9, 10, 77]
        assert ids(table.refresh()) == [9, 10]

    def test_of_an_older_version(self, table: Table, tmp_path: Path) -> None:
        copy = table.clone(tmp_path / "copy", version=2)
        assert ids(copy) == [1, 2, 3, 4]
        assert ids(Table.open(table.url, version=2).clone(tmp_path / "second")) == [1, 2, 3, 4]
        assert copy.count("day IS NULL") == 1
        with pytest.raises(VersionNotFound):
            table.clone(tmp_path / "third", version=9)
        assert not (tmp_path / "third").exists()

    def test_entries_differ_in_their_place_alone(self, table: Table, tmp_path: Path) -> None:
        def entries(one: Table) -> list[dict[str, Any]]:
            places = ["path", "addedAtVersion", "addedAtTimestamp"]
            return sorted(one.files().drop_columns(places).to_pylist(), key=lambda row: str(row["maxValues"]))

        copy = table.clone(tmp_path / "copy")
        assert entries(copy) == entries(table)
        directories = {file["path"].rpartition("splits/")[0] for file in copy.files().to_pylist()}
        assert directories == {"day=a%2Fb/", "day=c/"}

    def test_of_an_empty_table(self, tmp_path: Path) -> None:
        copy = Table.create(tmp_path / "source", SCHEMA).clone(tmp_path / "copy")
        assert (copy.version, ids(copy)) == (0, [])

    def test_of_a_clone(self, table: Table, tmp_path: Path) -> None:
        assert ids(table.clone(tmp_path / "one").clone(tmp_path / "two")) == [9, 10]

    def test_the_log_says_where_it_came_from(self, table: Table, tmp_path: Path) -> None:
        [row] = table.clone(tmp_path / "copy").history(1).to_pylist()
        assert row["operation"] == "CLONE"
        assert dict(row["parameters"]) == {"source": table.url, "version": "4", "tableId": table.id}

    def test_shows_progress(self, table: Table, tmp_path: Path) -> None:
        seen: list[Progress] = []
        table.clone(tmp_path / "copy", progress=seen.append)
        assert (seen[-1].rows_written, seen[-1].rows_total, seen[-1].splits) == (2, 2, 2)
        assert seen[-1].bytes == sum(table.files().column("size").to_pylist())

    def test_splits_larger_than_a_step(self, table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(clone_module, "_STEP", 100)
        assert digests(table.clone(tmp_path / "copy")) == digests(table)

    def test_from_one_store_to_another(self, table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
        store = MemoryStore()
        monkeypatch.setattr(clone_module, "open_log", lambda _url, options: make_log(store, options.explicit()))
        handle = Table.open(table.url, options={"cache.disk.enabled": False})._handle
        copied = clone(handle, "mem://elsewhere")
        assert ids(Table(TableHandle(make_log(store), open_log(make_log(store))))) == [9, 10]
        assert copied.version == 1


class TestRefused:
    def test_a_place_with_a_table(self, table: Table, tmp_path: Path) -> None:
        other = Table.create(tmp_path / "copy", SCHEMA)
        with pytest.raises(TableExists):
            table.clone(other.url)
        assert objects_of(other) == []

    @pytest.mark.parametrize("place", ["source", "source/inside", "."])
    def test_a_place_inside_of_the_table_or_around_it(self, table: Table, tmp_path: Path, place: str) -> None:
        with pytest.raises(OptionError, match="lie one inside of the other"):
            table.clone(tmp_path / place)

    def test_a_split_that_is_gone(self, table: Table, tmp_path: Path) -> None:
        path = table.files().column("path")[0].as_py()
        (Path(table.url) / path).unlink()
        with pytest.raises(SplitError, match=r"version 4 cannot be cloned: .* is gone from the store"):
            table.clone(tmp_path / "copy")
        assert not (tmp_path / "copy").exists()

    @pytest.mark.parametrize("byte", [10, -30])
    def test_a_split_that_is_damaged(self, table: Table, tmp_path: Path, byte: int) -> None:
        path = Path(table.url) / table.files().column("path")[0].as_py()
        data = bytearray(path.read_bytes())
        data[byte] ^= 1
        path.write_bytes(bytes(data))
        with pytest.raises(CorruptSplit):
            table.clone(tmp_path / "copy")
        assert not (tmp_path / "copy").exists()
        with pytest.raises(TableNotFound):
            Table.open(tmp_path / "copy")

    def test_too_many_files_for_a_commit(self, table: Table, tmp_path: Path) -> None:
        with pytest.raises(CommitError, match=r"a clone of 2 files needs a version file of .* merge splits first"):
            table.clone(tmp_path / "copy", options={"transaction.maxVersionFileBytes": 100})
        assert not (tmp_path / "copy").exists()

    def test_a_watcher_that_has_had_enough(self, table: Table, tmp_path: Path) -> None:
        def stop(_: Progress) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            table.clone(tmp_path / "copy", progress=stop)
        assert not (tmp_path / "copy").exists()


class TestFailures:
    @pytest.fixture
    def store(self, monkeypatch: pytest.MonkeyPatch) -> MemoryStore:
        return MemoryStore()

    def to(self, monkeypatch: pytest.MonkeyPatch, store: Any) -> None:
        monkeypatch.setattr(clone_module, "open_log", lambda _url, options: make_log(store, options.explicit()))

    def test_a_copy_that_got_shorter(self, table: Table, store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
        self.to(monkeypatch, Hooked(store, create=lambda key, data: store.create(key, bytes(data)[:-1])))
        with pytest.raises(StorageError, match="bytes, the split that was copied has"):
            table.clone("mem://t")
        assert store.bytes() == {}

    def test_a_table_that_somebody_else_creates_meanwhile(
        self, table: Table, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from log.support import new_table

        def create(key: str, data: bytes) -> None:
            if key == version_key(0):
                new_table(make_log(store))
            store.create(key, data)

        self.to(monkeypatch, Hooked(store, create=create))
        with pytest.raises(TableExists):
            table.clone("mem://t")
        assert [key for key in store.bytes() if key.endswith(".split")] == []

    def test_an_empty_table_is_said_to_be_there(
        self, table: Table, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from indextables.core.errors import AccessDenied

        def create(key: str, data: bytes) -> None:
            if key == version_key(1):
                raise AccessDenied("no", written=False)
            store.create(key, data)

        self.to(monkeypatch, Hooked(store, create=create))
        with pytest.raises(AccessDenied, match="was made, and is empty"):
            table.clone("mem://t")
        assert [key for key in store.bytes() if key.endswith(".split")] == []
