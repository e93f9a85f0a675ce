"""A new log from what is left of a table: from a damaged log, and from the splits alone."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import warnings
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from indextables import Table
from indextables.core.errors import OptionError, TableExists, TableNotFound, TableReplaced
from indextables.log.state.model import state_key
from indextables.split.bundle.bundle_reader import read_footer
from indextables.split.bundle.footer import Footer, encode_footer
from indextables.table.maintain.checks.row_identity import RowIdentity
from indextables.table.maintain.recovery.choose_splits import choose_splits
from indextables.table.write.create import create_table
from indextables.table.write.drop_table import drop_table
from log.support import LOG, MemoryStore, make_log, raw_lines, version_key
from table.fsck_support import (
    build_table,
    change,
    findings,
    flip,
    keys,
    repair_into,
    repaired,
    table_rows,
    whole_table,
    without_log,
)
from table.merge_support import join_indexes, live, some, table_in
from table.written_support import rows_of
from tables import handle_of


@pytest.fixture(autouse=True)
def quietly() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture
def store() -> MemoryStore:
    return whole_table()


def works(store: MemoryStore) -> None:
    """The table reads, finds, writes and merges, and nothing is wrong with it."""
    table = table_in(store)
    rows = table.count()
    assert rows == rows_of(table).num_rows == table.scan().read_all().num_rows
    table.append(table_rows(100))
    assert table_in(store).count() == rows + 6
    assert table_in(store).count("id >= 600 AND id < 606") == 6
    table_in(store).merge_splits()
    assert table_in(store).count() == rows + 6
    assert [found for found in findings(store) if found[0] == "error"] == []


class TestWithAWholeLog:
    def test_everything_is_there(self, store: MemoryStore) -> None:
        before = table_in(store)
        answer, after = repaired(store)
        assert (answer.status, answer.source_version, answer.missing_splits) == ("success", 7, 0)
        assert answer.total_splits == answer.valid_splits == before.files().num_rows
        table = table_in(after)
        assert rows_of(table) == rows_of(before)
        assert table.schema == before.schema
        assert table.properties == before.properties
        assert live(table) != []
        works(after)

    def test_version_zero_has_one_protocol_and_one_metadata(self, store: MemoryStore) -> None:
        _, after = repaired(store)
        kinds = [next(iter(line)) for line in raw_lines(after.objects[version_key(0)].data)]
        assert kinds == ["commitInfo", "protocol", "metaData"]
        assert state_key(1) in after.objects

    def test_the_id_is_another_one(self, store: MemoryStore) -> None:
        before = table_in(store)
        _, after = repaired(store)
        assert table_in(after).id != before.id
        info = raw_lines(after.objects[version_key(1)].data)[0]["commitInfo"]
        assert info["operationParameters"]["sourceTableId"] == before.id
        assert info["operationParameters"]["sourceVersion"] == 7
        store.objects = after.objects
        with pytest.raises(TableReplaced):
            before.append(table_rows(50))

    def test_a_split_that_is_gone(self, store: MemoryStore) -> None:
        path = live(table_in(store))[0]
        store.delete([path])
        answer, after = repaired(store)
        assert (answer.status, answer.missing_splits) == ("partial", 1)
        assert path in answer.message
        assert path not in live(table_in(after))
        works(after)

    def test_a_split_with_a_damaged_footer(self, store: MemoryStore) -> None:
        path = live(table_in(store))[0]
        change(store, path, lambda data: data[:-40] + bytes(40))
        answer, after = repaired(store)
        assert (answer.status, answer.missing_splits) == ("partial", 1)
        assert path not in live(table_in(after))

    def test_batches_of_writers_are_remembered(self, store: MemoryStore) -> None:
        table_in(store).commit_files(txn=("app", 7))
        _, after = repaired(store)
        assert not table_in(after).commit_files(txn=("app", 7)).written
        assert table_in(after).commit_files(txn=("app", 8)).written


class TestWithADamagedLog:
    @pytest.mark.parametrize(
        ("number", "how"), [(5, "gone"), (6, "gone"), (5, "flipped"), (6, "flipped"), (7, "flipped")]
    )
    def test_a_version_that_is_needed(self, store: MemoryStore, number: int, how: str) -> None:
        rows = rows_of(table_in(store))
        if how == "gone":
            store.delete([version_key(number)])
        else:
            change(store, version_key(number), flip)
        answer, after = repaired(store)
        assert answer.status == "partial"
        assert f"version {number}" in answer.message
        assert rows_of(table_in(after)) == rows
        works(after)

    def test_the_state_and_the_versions_below_it(self, store: MemoryStore) -> None:
        rows = rows_of(table_in(store))
        change(store, state_key(4), flip)
        store.delete([version_key(number) for number in (1, 2, 3)])
        answer, after = repaired(store)
        assert answer.status == "partial"
        assert rows_of(table_in(after)) == rows

    def test_version_zero(self, store: MemoryStore) -> None:
        rows = rows_of(table_in(store))
        store.delete([version_key(0)])
        answer, after = repaired(store)
        assert answer.status == "success", answer.message
        assert rows_of(table_in(after)) == rows
        works(after)

    def test_version_zero_without_a_state(self, store: MemoryStore) -> None:
        before = table_in(store)
        rows = rows_of(before)
        store.delete([version_key(0), *keys(store, "state-v")])
        answer, after = repaired(store)
        assert answer.status == "partial"
        table = table_in(after)
        assert table.schema == before.schema
        assert rows_of(table) == rows
        works(after)

    def test_deleted_rows_stay_deleted(self, store: MemoryStore) -> None:
        table_in(store).overwrite(some(2, 500))
        change(store, version_key(6), flip)  # a version of an append, before the overwrite
        _, after = repaired(store)
        ids = rows_of(table_in(after)).column("id").to_pylist()
        assert {500, 501} <= set(ids)
        assert not set(ids) & set(range(24)), "the log says that these were removed"
        assert len(set(ids)) == len(ids)


class TestWithoutALog:
    def test_every_row_of_a_partitioned_and_merged_table(self, store: MemoryStore) -> None:
        before = table_in(store)
        rows = rows_of(before)
        lost = without_log(store)
        assert findings(lost) == [("error", "log_missing", LOG)]
        answer, after = repaired(lost)
        assert (answer.status, answer.source_version) == ("partial", None)
        assert "do not tell rows that were deleted, overwritten or never committed from live ones" in answer.message
        table = table_in(after)
        assert table.schema == before.schema
        assert table.partition_columns == before.partition_columns
        assert rows_of(table) == rows
        assert sorted(live(table)) == sorted(live(before)), "sources of merges are superseded"
        works(after)

    def test_indexes_that_were_joined(self, monkeypatch: pytest.MonkeyPatch) -> None:
        join_indexes(monkeypatch)
        store = build_table()
        table_in(store).merge_splits()
        rows = rows_of(table_in(store))
        _, after = repaired(without_log(store))
        assert rows_of(table_in(after)) == rows

    def test_merges_of_merges_some_of_which_are_purged(self, store: MemoryStore) -> None:
        table_in(store).merge_splits()
        table_in(store).append(table_rows(7))
        table_in(store).merge_splits()
        rows = rows_of(table_in(store))
        now = set(live(table_in(store)))
        for purged in range(0, 12, 3):
            lost = without_log(store)
            old = sorted(set(keys(store, ".split")) - now)
            lost.delete(old[purged : purged + 3])
            _, after = repaired(lost)
            assert rows_of(table_in(after)) == rows, purged

    def test_how_columns_are_indexed(self) -> None:
        store = MemoryStore()
        options = {
            "indexing.typemap.text": "level",
            "indexing.tokenizer.whitespace": "level",
            "indexing.fastfields": "host",
            "indexing.lookupfields": "id",
            "indexing.text.maxTokenLength": 77,
        }
        create_table(make_log(store, options), some(1).schema, ["day"])
        table_in(store).append(some(12))
        before = table_in(store)
        answer, after = repaired(without_log(store))
        table = table_in(after)
        assert "indexed otherwise" not in answer.message
        assert table.properties == before.properties
        assert table.search("level:ERROR").num_rows == before.search("level:ERROR").num_rows > 0
        table.append(some(6, 50))
        table.merge_splits()
        assert table_in(after).count(query="level:ERROR") == before.count(query="level:ERROR") + 2

    def test_rows_that_were_overwritten_are_back_and_that_is_said(self, store: MemoryStore) -> None:
        table_in(store).overwrite(some(2, 500))
        answer, after = repaired(without_log(store))
        ids = rows_of(table_in(after)).column("id").to_pylist()
        assert set(ids) == {*range(36), 500, 501}
        assert len(set(ids)) == len(ids)
        assert "overwritten" in answer.message
        assert answer.status == "partial"

    def test_footers_of_older_releases(self, store: MemoryStore) -> None:
        before = table_in(store)
        for key in keys(store, ".split"):
            change(store, key, older_footer)
        answer, after = repaired(without_log(store))
        table = table_in(after)
        assert "were guessed" in answer.message
        assert "do not say what they were made of" in answer.message
        assert table.schema.field("day").type == pa.date32()
        assert set(rows_of(table).column("id").to_pylist()) == set(rows_of(before).column("id").to_pylist())

    def test_neither_a_log_nor_a_split(self) -> None:
        with pytest.raises(TableNotFound):
            repair_into(MemoryStore())

    def test_splits_that_cannot_be_read(self) -> None:
        store = MemoryStore()
        store.put("splits/split-x.split", b"nothing")
        with pytest.raises(TableNotFound, match="nothing of the table"):
            repair_into(store)

    def test_a_table_without_rows(self) -> None:
        store = MemoryStore()
        create_table(make_log(store), some(1).schema, [])
        answer, after = repaired(store)
        assert (answer.status, answer.total_splits) == ("success", 0)
        assert table_in(after).count() == 0
        works(after)


def older_footer(data: bytes) -> bytes:
    """A split as releases wrote it that knew neither `mergedFrom` nor `tableSchema`."""
    store = MemoryStore()
    store.put("x", data)
    footer: Footer = read_footer(store, "x")
    regions = footer.index[-1]
    start = regions.offset + regions.length
    end, _ = encode_footer(msgspec.structs.replace(footer, merged_from=b"", table_schema=""))
    return data[:start] + end


class TestOnDisk:
    @pytest.fixture
    def place(self, tmp_path: Path) -> Path:
        table = Table.create(tmp_path / "t", some(1).schema, ["day"])
        for number in range(3):
            table.append(some(6, number * 6))
        table.merge_splits()
        return tmp_path / "t"

    def test_the_message_has_the_commands_that_swap_the_logs(self, place: Path) -> None:
        rows = rows_of(Table.open(place))
        (place / version_key(2)).write_bytes(b"\x1f\x8b")
        for state in (place / LOG).glob("state-v*"):
            shutil.rmtree(state)
        answer = Table.repair(place)
        assert Path(answer.target_path).parent == place
        command = answer.message.partition("run: ")[2]
        subprocess.run(command, shell=True, check=True)
        assert rows_of(Table.open(place)) == rows
        assert [path.name for path in place.glob(f"{LOG}_damaged_*")] != []
        table = Table.open(place)
        table.append(some(6, 60))
        assert set(table.fsck().column("kind").to_pylist()) == {"split_orphaned"}, "sources of the merge"

    def test_nobody_makes_a_table_between_the_two_moves(self, place: Path) -> None:
        """A job that opens the table or makes it would put a log where the repaired one belongs."""
        rows = rows_of(Table.open(place))
        (place / version_key(3)).unlink()
        for state in (place / LOG).glob("state-v*"):
            shutil.rmtree(state)
        first, second = Table.repair(place).message.partition("run: ")[2].split(" && ")
        subprocess.run(first, shell=True, check=True)
        for if_exists in ("open", "error"):
            with pytest.raises(TableExists, match="a table is being repaired there; move the log that is to be used"):
                Table.create(place, "id long", if_exists=if_exists)  # type: ignore[arg-type]
        with pytest.raises(TableExists, match="being repaired"):
            Table.open(Table.create(place.parent / "other", "id long").url).clone(place)
        subprocess.run(second, shell=True, check=True)
        assert rows_of(Table.open(place)) == rows

    def test_the_second_move_never_goes_into_another_log(self, place: Path) -> None:
        (place / version_key(2)).write_bytes(b"\x1f\x8b")
        first, second = Table.repair(place).message.partition("run: ")[2].split(" && ")
        subprocess.run(first, shell=True, check=True)
        (place / LOG).mkdir()
        (place / version_key(0)).write_text("another")
        assert subprocess.run(second, shell=True, check=False, capture_output=True).returncode != 0
        assert [path.name for path in (place / LOG).iterdir()] == ["00000000000000000000.json"]

    @pytest.mark.parametrize("hidden", [".trash", "_old", "splits/.trash"])
    def test_what_somebody_hid_is_not_taken_in(self, place: Path, hidden: str) -> None:
        table = Table.open(place)
        table.append(some(6, 600))
        gone = table.files()["path"].to_pylist()[-1]
        (place / hidden).mkdir(parents=True)
        (place / gone).rename(place / hidden / Path(gone).name)
        table.commit_files(removes=[gone])
        rows = rows_of(Table.open(place))
        assert not {row["path"] for row in table.fsck().to_pylist() if hidden in row["path"]}
        shutil.rmtree(place / LOG)
        Path(Table.repair(place).target_path).rename(place / LOG)
        assert not {path for path in Table.open(place).files()["path"].to_pylist() if hidden in path}
        assert len(rows_of(Table.open(place))) == len(rows)

    @pytest.mark.parametrize("column", ["_transaction_log", "_transaction_log_repaired", "_d", ".d"])
    def test_partition_columns_with_hidden_names(self, tmp_path: Path, column: str) -> None:
        table = Table.create(
            tmp_path / "h", pa.schema([("id", pa.int64()), (column, pa.string())]), partition_by=[column]
        )
        table.append(pa.table({"id": [1, 2], column: ["x", None]}))
        shutil.rmtree(tmp_path / "h" / LOG)
        Path(Table.repair(tmp_path / "h").target_path).rename(tmp_path / "h" / LOG)
        assert sorted(Table.open(tmp_path / "h").scan().read_all()["id"].to_pylist()) == [1, 2]

    @pytest.mark.parametrize("column", ["_transaction_log", "_transaction_log_repaired", "_transaction_logs"])
    def test_a_second_partition_column_with_the_name_of_a_log(self, tmp_path: Path, column: str) -> None:
        """Its directories are no logs of tables inside: repair finds their splits, purge their orphans, and drop takes them."""
        place = tmp_path / "h"
        schema = pa.schema([("id", pa.int64()), ("p", pa.string()), (column, pa.string())])
        table = Table.create(place, schema, partition_by=["p", column])
        table.append(pa.table({"id": [1, 2], "p": ["a", "a"], column: ["x", None]}))
        (place / "p=a" / f"{column}=x" / "notes.txt").write_text("not a log")
        shutil.rmtree(place / LOG)
        answer = Table.repair(place)
        assert answer.valid_splits == 2
        Path(answer.target_path).rename(place / LOG)
        assert sorted(Table.open(place).scan().read_all()["id"].to_pylist()) == [1, 2]
        (live,) = (place / "p=a" / f"{column}=x" / "splits").iterdir()
        orphan = live.with_name("split-00000000-0000-0000-0000-000000000000.split")
        shutil.copy(live, orphan)
        assert str(orphan.relative_to(place)) in str(Table.open(place).fsck().to_pylist())
        drop_table(handle_of(Table.open(place)).log)
        assert not place.exists() or not list(place.rglob("*.split"))

    def test_a_log_that_is_gone_needs_one_move(self, place: Path) -> None:
        rows = rows_of(Table.open(place))
        shutil.rmtree(place / LOG)
        answer = Table.repair(place / LOG)
        command = answer.message.partition("run: ")[2]
        assert command == (
            f"if test -e {place / LOG}; then echo '{place / LOG} is in the way' >&2; false; "
            f"else mv {answer.target_path} {place / LOG}; fi"
        )
        subprocess.run(command, shell=True, check=True)
        assert rows_of(Table.open(place)) == rows

    def test_a_log_that_was_moved_aside_is_repaired_into_its_place(self, place: Path) -> None:
        rows = rows_of(Table.open(place))
        (place / LOG).rename(place / f"{LOG}_old")
        answer = Table.repair(place / f"{LOG}_old", place / LOG)
        assert answer.status == "success"
        assert "run: " not in answer.message, "the new log lies in its place, and is not moved aside again"
        assert rows_of(Table.open(place)) == rows

    @pytest.mark.parametrize("left", [None, "_last_checkpoint", "manifests", "_probe"])
    def test_a_directory_of_the_log_that_holds_nothing_to_read(self, place: Path, left: str | None) -> None:
        """The directory lies where the new log belongs, so it is moved aside as a damaged log is."""
        rows = rows_of(Table.open(place))
        shutil.rmtree(place / LOG)
        (place / LOG).mkdir()
        if left == "manifests":
            (place / LOG / left).mkdir()
        elif left is not None:
            (place / LOG / left).write_text("x")
        command = Table.repair(place).message.partition("run: ")[2]
        subprocess.run(command, shell=True, check=True)
        assert rows_of(Table.open(place)) == rows
        (aside,) = place.glob(f"{LOG}_damaged_*")
        assert [path.name for path in aside.iterdir()] == ([] if left is None else [left])

    def test_a_log_elsewhere_where_none_is_in_place(self, place: Path) -> None:
        """Nothing is moved aside where nothing lies, though a log was read."""
        rows = rows_of(Table.open(place))
        (place / LOG).rename(place / f"{LOG}_old")
        command = Table.repair(place / f"{LOG}_old").message.partition("run: ")[2]
        subprocess.run(command, shell=True, check=True)
        assert rows_of(Table.open(place)) == rows

    def test_never_in_place(self, place: Path) -> None:
        for target in (place / LOG, place / LOG / "new"):
            with pytest.raises(OptionError, match="another directory"):
                Table.repair(place, target)

    def test_only_into_an_empty_directory(self, place: Path, tmp_path: Path) -> None:
        (tmp_path / "new").mkdir()
        (tmp_path / "new" / "file").write_text("x")
        with pytest.raises(TableExists, match="holds file already"):
            Table.repair(place, tmp_path / "new")

    def test_the_commands_are_quoted_for_a_shell(self, place: Path, tmp_path: Path) -> None:
        odd = tmp_path / 'it\'s; a "dir"'
        place.rename(odd)
        shutil.rmtree(odd / LOG)
        command = Table.repair(odd).message.partition("run: ")[2]
        assert [word for word in shlex.split(command) if "mv" in word or word.startswith("-")] == ["-e", "mv"]
        (odd / LOG).mkdir()
        stopped = subprocess.run(command, shell=True, check=False, capture_output=True, text=True)
        assert (stopped.returncode, stopped.stderr) == (1, f"{odd / LOG} is in the way\n")
        (odd / LOG).rmdir()
        assert subprocess.run(command, shell=True, check=True).returncode == 0
        assert Table.open(odd).version >= 0

    def test_elsewhere(self, place: Path, tmp_path: Path) -> None:
        answer = Table.repair(place, tmp_path / "new")
        assert answer.target_path == str(tmp_path / "new")
        assert f"mv {tmp_path / 'new'} {place / LOG}" in answer.message
        assert sorted(path.name for path in place.iterdir() if path.name.startswith("_")) == [LOG]

    def test_the_commands_never_move_a_log_into_another(self, place: Path) -> None:
        """Somebody puts a log in place after the repair."""
        shutil.rmtree(place / LOG)
        answer = Table.repair(place)
        (place / LOG).mkdir()
        command = answer.message.partition("run: ")[2]
        stopped = subprocess.run(command, shell=True, check=False, capture_output=True, text=True)
        assert (stopped.returncode, stopped.stdout) == (1, "")
        assert stopped.stderr == f"{place / LOG} is in the way\n", "whoever is stopped is told by what"
        assert not list((place / LOG).iterdir())
        assert Path(answer.target_path).is_dir()


def split(path: str, *numbers: int, rows: int = 1, merged: bool = False) -> RowIdentity:
    return RowIdentity(path, frozenset(numbers), rows, 0, int(merged), True)


class TestChoosing:
    def test_a_result_supersedes_its_sources(self) -> None:
        chosen = choose_splits([], [split("a", 1), split("b", 2), split("ab", 9, 1, 2, rows=2)])
        assert set(chosen.kept) == {"ab"}
        assert set(chosen.superseded) == {"a", "b"}

    def test_live_sources_are_as_good_as_a_result_that_nothing_names(self) -> None:
        chosen = choose_splits([split("a", 1), split("b", 2)], [split("ab", 9, 1, 2, rows=2)])
        assert set(chosen.kept) == {"a", "b"}

    def test_a_result_replaces_sources_of_which_one_is_gone(self) -> None:
        chosen = choose_splits([split("a", 1)], [split("ab", 9, 1, 2, rows=2)])
        assert set(chosen.kept) == {"ab"}

    def test_two_results_of_one_source(self) -> None:
        chosen = choose_splits([], [split("ab", 8, 1, 2, rows=2), split("bc", 9, 2, 3, rows=3), split("a", 1)])
        assert set(chosen.kept) == {"bc", "a"}
        assert chosen.conflicting == {"ab": "bc"}

    def test_deleted_rows(self) -> None:
        chosen = choose_splits([], [split("ab", 9, 1, 2), split("c", 3)], {2})
        assert set(chosen.kept) == {"c"}
        assert chosen.deleted == ["ab"]

    def test_what_has_no_numbers_is_kept(self) -> None:
        assert set(choose_splits([split("x")], [split("y")]).kept) == {"x", "y"}
