"""Each finding of a check is planted, one at a time, in a table that has none."""

from __future__ import annotations

import dataclasses
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from indextables import Table
from indextables.core.errors import InvalidKey, TableNotFound
from indextables.log.actions import AddAction
from indextables.log.codec import encode_actions, pack
from indextables.log.commit import commit
from indextables.log.conflicts import Change
from indextables.log.file_entries import rows_to_adds
from indextables.log.log_paths import POINTER
from indextables.log.open_snapshot import open_log
from indextables.log.skip_records import skip_record
from indextables.log.state.model import state_key
from indextables.log.state.read import decode_state
from indextables.log.state.writing.encode_state import encode_state
from indextables.table.at_version import handle_of
from indextables.table.maintain.fsck import check_table, fsck
from indextables.table.progress import Progress
from indextables.table.write.create import create_table
from log.support import FakeClock, Hooked, MemoryStore, checkpoint_key, make_log, raw_lines, version_key
from table.fsck_support import (
    change,
    cut,
    findings,
    flip,
    found_in,
    keys,
    message_of,
    table_rows,
    whole_table,
    write_state,
)
from table.merge_support import live, some, table_in
from table.written_support import rows_of


@pytest.fixture(autouse=True)
def quietly() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture
def store() -> MemoryStore:
    return whole_table()


def test_a_table_that_is_whole_has_no_findings(store: MemoryStore) -> None:
    assert found_in(store).num_rows == 0
    assert table_in(store).fsck().num_rows == 0
    assert table_in(store).fsck(repair=True).num_rows == 0


def test_a_check_writes_nothing(store: MemoryStore) -> None:
    before = store.bytes()
    found_in(store)
    assert store.bytes() == before
    found_in(store, repair=True)
    assert store.bytes() == before, "there is nothing to repair"


def test_a_new_table_has_no_findings(tmp_path: Path) -> None:
    table = Table.create(tmp_path / "t", some(1).schema)
    assert table.fsck().num_rows == 0
    assert check_table(tmp_path / "t").num_rows == 0


def test_nothing_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(TableNotFound):
        check_table(tmp_path)


def test_progress(store: MemoryStore) -> None:
    seen: list[Progress] = []
    table_in(store).fsck(progress=seen.append)
    assert seen[-1].rows_read == seen[-1].rows_total == 36
    assert seen[-1].splits == table_in(store).files().num_rows


@pytest.mark.parametrize("turn", range(1, 5))
def test_writers_that_go_on_meanwhile_are_not_taken_for_damage(store: MemoryStore, turn: int) -> None:
    listings = 0

    def listing(prefix: str, after: str | None = None) -> Any:
        nonlocal listings
        listings += 1
        if listings == turn:
            table_in(store).append(table_rows(20))
            write_state(store)
        return iter(list(store.list(prefix, after)))

    assert findings(Hooked(store, list=listing)) == []
    assert listings >= turn


class TestSplits:
    def victim(self, store: MemoryStore) -> str:
        return live(table_in(store))[0]

    def test_missing(self, store: MemoryStore) -> None:
        path = self.victim(store)
        store.delete([path])
        assert findings(store) == [("error", "split_missing", path)]

    def test_another_size(self, store: MemoryStore) -> None:
        path = self.victim(store)
        change(store, path, cut)
        assert findings(store) == [("error", "split_size", path)]
        assert "the log says" in message_of(store, "split_size")

    @pytest.mark.parametrize("place", range(0, 100, 7))
    def test_a_flipped_bit_anywhere(self, store: MemoryStore, place: int) -> None:
        path = self.victim(store)
        data = bytearray(store.objects[path].data)
        data[len(data) * place // 100] ^= 1
        store.put(path, bytes(data))
        assert findings(store) == [("error", "split_damaged", path)]

    def entry_changed(self, store: MemoryStore, **fields: Any) -> str:
        """The newest version adds the same split with another entry."""
        table = table_in(store)
        add: AddAction = rows_to_adds(table.files())[-1]
        number = table.version
        actions = make_log(store).decode(version_key(number), store.get(version_key(number)).data)
        adds = tuple(msgspec.structs.replace(one, **fields) if one.path == add.path else one for one in actions.adds)
        assert adds != actions.adds
        store.put(version_key(number), pack(encode_actions(msgspec.structs.replace(actions, adds=adds)), compress=True))
        return add.path

    def test_another_number_of_rows(self, store: MemoryStore) -> None:
        path = self.entry_changed(store, num_records=7)
        assert findings(store) == [("error", "split_rows", path)]

    def test_other_bounds(self, store: MemoryStore) -> None:
        path = self.entry_changed(store, min_values={"id": "99"})
        assert findings(store) == [("error", "split_bounds", path)]
        assert "minValues of column id" in message_of(store, "split_bounds")

    def test_bounds_that_were_cut_are_right(self, store: MemoryStore) -> None:
        path = self.entry_changed(store, min_values={"level": "E"}, max_values={"level": "F"})
        assert path
        assert findings(store) == []

    def test_another_partition(self, store: MemoryStore) -> None:
        path = self.entry_changed(store, partition_values={"day": "2020-02-02"})
        assert findings(store) == [("error", "split_partition", path), ("warning", "split_path", path)]


class TestRows:
    def test_a_merge_result_and_a_source(self, store: MemoryStore) -> None:
        table = table_in(store)
        source = min(set(files_at(store, 4).column("path").to_pylist()) - set(live(table)))
        entry = next(add for add in rows_to_adds(files_at(store, 4)) if add.path == source)
        table.commit_files([msgspec.structs.replace(entry, doc_mapping_ref=None)])
        ((severity, kind, path),) = findings(store)
        assert (severity, kind) == ("error", "rows_twice")
        assert path in live(table)
        assert "counted twice" in message_of(store, "rows_twice")

    def test_a_copy_of_a_split(self, store: MemoryStore) -> None:
        table = table_in(store)
        entry = rows_to_adds(table.files())[0]
        copy = entry.path.replace("split-", "split-copy-")
        store.put(copy, store.objects[entry.path].data)
        table.commit_files([msgspec.structs.replace(entry, path=copy)])
        ((_, kind, path),) = findings(store)
        assert (kind, path) == ("rows_twice", copy)

    def test_skips(self, store: MemoryStore) -> None:
        path = live(table_in(store))[0]
        commit(
            handle_of(table_in(store)), Change(skips=(skip_record(path, "it was odd", 5),)), operation="MERGE SPLITS"
        )
        assert findings(store) == [("warning", "split_skipped", path)]
        assert "it was odd" in message_of(store, "split_skipped")


def open_at(store: MemoryStore, version: int) -> Any:
    return open_log(make_log(store), version)


def files_at(store: MemoryStore, version: int) -> pa.Table:
    return open_at(store, version).files


class TestVersions:
    def test_a_damaged_one_that_is_needed(self, store: MemoryStore) -> None:
        for how in (flip, cut, lambda _: b""):
            copy = store.copy()
            change(copy, version_key(6), how)
            assert ("error", "version_damaged", version_key(6)) in findings(copy)

    def test_a_damaged_one_below_a_state(self, store: MemoryStore) -> None:
        change(store, version_key(2), flip)
        assert findings(store) == [("warning", "version_damaged", version_key(2))]

    def test_a_gap(self, store: MemoryStore) -> None:
        store.delete([version_key(6)])
        assert ("error", "version_missing", version_key(6)) in findings(store)

    def test_a_missing_one_below_a_state(self, store: MemoryStore) -> None:
        store.delete([version_key(2)])
        assert findings(store) == [("warning", "version_missing", version_key(2))]

    def test_what_clean_up_deletes_is_not_missing(self, store: MemoryStore) -> None:
        store.delete([version_key(number) for number in (1, 2, 3)])
        assert findings(store) == []

    def test_version_zero(self, store: MemoryStore) -> None:
        store.delete([version_key(0)])
        assert findings(store) == [("error", "version_missing", version_key(0))]

    def test_version_zero_without_metadata(self, store: MemoryStore) -> None:
        actions = make_log(store).decode(version_key(0), store.get(version_key(0)).data)
        bare = msgspec.structs.replace(actions, metadata=None)
        store.put(version_key(0), pack(encode_actions(bare), compress=True))
        assert ("error", "version_damaged", version_key(0)) in findings(store)

    def test_the_newest_one_gone_from_beside_its_state(self, store: MemoryStore) -> None:
        write_state(store)
        store.delete([version_key(7)])
        assert ("error", "version_missing", version_key(7)) in findings(store)
        assert "nothing can be committed" in message_of(store, "version_missing")

    def test_swapped_ones(self, store: MemoryStore) -> None:
        first, second = store.objects[version_key(5)].data, store.objects[version_key(7)].data
        store.put(version_key(5), second)
        store.put(version_key(7), first)
        found = findings(store)
        assert {("error", "version_misplaced", version_key(number)) for number in (5, 7)} <= set(found)
        assert ("error", "version_misplaced", version_key(6)) not in found

    def test_an_older_copy(self, store: MemoryStore) -> None:
        store.put(version_key(7), store.objects[version_key(6)].data)
        assert ("error", "version_misplaced", version_key(7)) in findings(store)
        assert "the same commit as version 6" in message_of(store, "version_misplaced")

    def test_of_another_table(self, store: MemoryStore) -> None:
        number = table_in(store).version + 1
        store.put(version_key(number), other_table().objects[version_key(1)].data)
        assert ("warning", "version_of_another_table", version_key(number)) in findings(store)


def other_table() -> MemoryStore:
    store = MemoryStore(FakeClock(seed=9))
    create_table(make_log(store), some(1).schema, ["day"])
    table_in(store).append(table_rows(1))
    write_state(store)
    return store


class TestBases:
    def test_a_damaged_state(self, store: MemoryStore) -> None:
        for how in (flip, cut, lambda _: b""):
            copy = store.copy()
            change(copy, state_key(4), how)
            found = findings(copy)
            assert ("error", "state_damaged", state_key(4)) in found
            assert ("warning", "pointer_to_nothing", POINTER) in found

    def test_a_damaged_state_below_another(self, store: MemoryStore) -> None:
        write_state(store)
        change(store, state_key(4), flip)
        assert findings(store) == [("warning", "state_damaged", state_key(4))]

    def test_a_damaged_manifest(self, store: MemoryStore) -> None:
        (key,) = keys(store, "/manifests/")
        change(store, key, flip)
        assert ("error", "manifest_damaged", key) in findings(store)

    def test_a_missing_manifest(self, store: MemoryStore) -> None:
        (key,) = keys(store, "/manifests/")
        store.delete([key])
        assert ("error", "manifest_missing", key) in findings(store)

    def test_a_manifest_of_another_state(self, store: MemoryStore) -> None:
        (key,) = keys(store, "/manifests/")
        write_state(store)
        (other,) = set(keys(store, "/manifests/")) - {key}
        store.put(other, store.objects[key].data)
        assert ("error", "manifest_damaged", other) in findings(store)

    def test_a_state_of_another_table(self, store: MemoryStore) -> None:
        other = other_table()
        version = next(number for number in range(9) if state_key(number) in other.objects)
        store.put(state_key(version), other.objects[state_key(version)].data)
        for key in keys(other, "/manifests/"):
            store.put(key, other.objects[key].data)
        assert findings(store) == [("warning", "state_of_another_table", state_key(version))]

    def test_a_state_that_contradicts_the_versions(self, store: MemoryStore) -> None:
        number = 3
        actions = make_log(store).decode(version_key(number), store.get(version_key(number)).data)
        fewer = msgspec.structs.replace(actions, adds=actions.adds[1:])
        store.put(version_key(number), pack(encode_actions(fewer), compress=True))
        assert ("error", "state_differs", state_key(4)) in findings(store)
        before = store.bytes()
        assert ("error", "state_differs", state_key(4)) in findings(store, repair=True)
        assert store.bytes() == before, "nobody can prove which of them is right"

    def test_a_state_with_a_path_twice(self, store: MemoryStore) -> None:
        state = decode_state("state", store.get(state_key(4)).data, 4)
        twice = dataclasses.replace(state, manifests=state.manifests * 2)
        store.put(state_key(4), encode_state(twice, 3))
        assert ("error", "path_twice", state_key(4)) in findings(store)
        assert findings(store, repair=True)[0][0] == "warning"
        assert table_in(store).count() == 36

    def test_an_orphaned_manifest(self, store: MemoryStore) -> None:
        key = "_transaction_log/manifests/manifest-nobody.avro"
        store.put(key, b"Obj")
        assert findings(store) == [("warning", "orphaned_manifest", key)]


IN_JSON: dict[str, Any] = {"state.format": "json", "checkpoint.multipart.maxActionsPerPart": 4}


class TestJsonCheckpoints:
    @pytest.fixture
    def store(self, store: MemoryStore) -> MemoryStore:
        write_state(store, IN_JSON)
        assert findings(store) == []
        return store

    def test_damaged(self, store: MemoryStore) -> None:
        change(store, checkpoint_key(7), cut)
        assert ("error", "checkpoint_damaged", checkpoint_key(7)) in findings(store)

    def test_a_damaged_part(self, store: MemoryStore) -> None:
        part = keys(store, ".00002.json")[0]
        change(store, part, flip)
        assert ("error", "checkpoint_damaged", checkpoint_key(7)) in findings(store)
        assert part.rpartition("/")[2] in message_of(store, "checkpoint_damaged")

    def test_a_missing_part(self, store: MemoryStore) -> None:
        store.delete(keys(store, ".00002.json"))
        assert ("error", "checkpoint_damaged", checkpoint_key(7)) in findings(store)

    def test_parts_of_none(self, store: MemoryStore) -> None:
        store.delete([checkpoint_key(7)])
        assert {kind for _, kind, _ in findings(store)} == {"orphaned_part", "pointer_to_nothing"}

    def test_repair(self, store: MemoryStore) -> None:
        change(store, checkpoint_key(7), cut)
        assert {severity for severity, _, _ in findings(store, repair=True, **IN_JSON)} == {"warning"}
        assert checkpoint_key(8) in store.objects
        assert table_in(store).count() == 36


class TestPointer:
    @pytest.mark.parametrize(
        ("data", "kind"),
        [
            (b"", "pointer_damaged"),
            (b"\x00nothing", "pointer_damaged"),
            (b'{"version":"x"}', "pointer_damaged"),
            (b'{"version":99}', "pointer_to_nothing"),
            (b'{"version":2}', "pointer_to_nothing"),
            (None, "pointer_missing"),
        ],
    )
    def test_what_is_wrong_is_said_and_made_good(self, store: MemoryStore, data: bytes | None, kind: str) -> None:
        if data is None:
            store.delete([POINTER])
        else:
            store.put(POINTER, data)
        assert findings(store) == [("warning", kind, POINTER)]
        versions = table_in(store).version
        assert findings(store, repair=True) == [("warning", kind, POINTER)]
        assert findings(store) == []
        assert table_in(store).version == versions, "a pointer needs no commit"

    def test_behind(self, store: MemoryStore) -> None:
        old = store.objects[POINTER].data
        write_state(store)
        store.put(POINTER, old)
        assert findings(store) == [("warning", "pointer_behind", POINTER)]
        findings(store, repair=True)
        assert findings(store) == []


class TestPlaces:
    def test_an_orphan(self, store: MemoryStore) -> None:
        store.put("splits/split-nobody.split", b"x")
        assert findings(store) == [("warning", "split_orphaned", "splits/split-nobody.split")]

    def test_other_files_are_nobodys_business(self, store: MemoryStore) -> None:
        store.put("README.txt", b"x")
        store.put("_transaction_log_repaired_1/splits/x.split", b"x")
        assert findings(store) == []

    def test_a_split_of_an_older_version(self, store: MemoryStore) -> None:
        gone = min(set(files_at(store, 4).column("path").to_pylist()) - set(live(table_in(store))))
        store.delete([gone])
        assert findings(store) == [("warning", "old_split_missing", gone)]

    def test_a_temporary_file(self, tmp_path: Path) -> None:
        table = Table.create(tmp_path / "t", some(1).schema)
        table.append(some(3))
        name = ".indextables-0123456789abcdef.tmp"
        (tmp_path / "t" / "splits" / name).write_bytes(b"x")
        ((_, kind, path),) = [tuple(row.values())[:3] for row in table.fsck().to_pylist()]
        assert (kind, path) == ("temporary_file", f"splits/{name}")

    def test_splits_without_a_log(self, tmp_path: Path) -> None:
        table = Table.create(tmp_path / "t", some(1).schema)
        table.append(some(3))
        shutil.rmtree(tmp_path / "t" / "_transaction_log")
        ((severity, kind, _),) = [tuple(row.values())[:3] for row in check_table(tmp_path / "t").to_pylist()]
        assert (severity, kind) == ("error", "log_missing")


class TestRepair:
    @pytest.mark.parametrize("how", [flip, cut, lambda _: b""])
    @pytest.mark.parametrize("which", ["state-v", "/manifests/"])
    def test_a_state_is_written_anew(self, store: MemoryStore, which: str, how: Any) -> None:
        rows = rows_of(table_in(store))
        before = store.bytes()
        (key,) = keys(store, which)
        change(store, key, how)
        damaged = store.bytes()
        found = found_in(store, repair=True).to_pylist()
        assert {row["severity"] for row in found} == {"warning"}
        assert any("repaired, version 8 has a new state" in row["message"] for row in found)
        after = store.bytes()
        assert all(after[name] == damaged[name] for name in before if name != POINTER), "nothing was replaced"
        assert state_key(8) in after
        assert raw_lines(after[version_key(8)])[0]["commitInfo"]["operation"] == "CHECKPOINT"
        assert rows_of(table_in(store)) == rows
        assert not any(severity == "error" for severity, _, _ in findings(store))

    def test_a_damaged_version_is_left_alone(self, store: MemoryStore) -> None:
        change(store, version_key(6), flip)
        before = store.bytes()
        assert ("error", "version_damaged", version_key(6)) in findings(store, repair=True)
        assert store.bytes() == before

    def test_a_state_whose_versions_are_gone_is_left_alone(self, store: MemoryStore) -> None:
        store.delete([version_key(number) for number in (1, 2, 3)])
        change(store, state_key(4), flip)
        before = store.bytes()
        found = findings(store, repair=True)
        assert ("error", "state_damaged", state_key(4)) in found
        assert ("error", "version_missing", version_key(2)) in found
        assert store.bytes() == before

    def test_the_table_moves_to_the_new_version(self, store: MemoryStore) -> None:
        (key,) = keys(store, "state-v")
        table = table_in(store)
        change(store, key, flip)
        table.fsck(repair=True)
        assert table.version == 8


def test_findings_are_the_same_through_the_class_and_the_method(store: MemoryStore) -> None:
    change(store, live(table_in(store))[0], flip)
    assert fsck(make_log(store)) == table_in(store).fsck()


@pytest.mark.parametrize("repair", [False, True])
def test_a_name_that_ends_every_listing_is_a_finding_beside_the_others(repair: bool) -> None:
    store = whole_table()
    (gone, *_) = live(table_in(store))
    del store.objects[gone]

    def listed(prefix: str, after: str | None = None) -> Iterator[Any]:
        if not prefix:
            raise InvalidKey("list of memory found the object 't//x': delete or rename it", key="t//x")
        return store.list(prefix, after)

    hooked = Hooked(store, list=listed)
    found = findings(hooked, repair=repair)
    assert ("error", "unusable_key", "t//x") in found
    assert [row[1:] for row in found if row[1] == "split_missing"] == [("split_missing", gone)]
    assert "delete or rename it; until then orphans are not found" in message_of(hooked, "unusable_key")
