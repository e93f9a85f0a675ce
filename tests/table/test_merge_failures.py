"""`Table.merge_splits` when something is wrong: with a source, with the store, or with what others do meanwhile."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from effort import EFFORT
from indextables import Table
from indextables.core.errors import (
    AccessDenied,
    CommitOutcomeUnknown,
    IndexTablesError,
    MetadataChanged,
    SplitError,
    StorageError,
    StoreUnavailable,
    TableReplaced,
    UploadTooOld,
)
from indextables.core.runtime.threads import IO
from indextables.core.types import arrow_to_spark_json
from indextables.log.commit import commit
from indextables.log.conflicts import Change, MetadataUpdate
from indextables.split import open_splits
from indextables.storage.testing.faulty import Died, Fault, Faulty, Plan
from indextables.table.progress import Progress
from indextables.table.write.create import create_table
from log.support import HOUR, Hooked, MemoryStore, make_log
from table.merge_support import (
    SCHEMA,
    check,
    grown,
    join_indexes,
    join_indexes_from,
    live,
    orphans,
    some,
    store_with,
    table_in,
)
from table.written_support import files_end_at, left_in, objects_of, rows_of
from tables import handle_of

FAULTS = list(Fault)
STEP = 1 if EFFORT > 1 else 2
"""Every other request in every run: which, depends on the fault. Crashes at every call have tests of their own."""


@pytest.fixture(autouse=True)
def joined(monkeypatch: pytest.MonkeyPatch) -> None:
    join_indexes(monkeypatch)


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, temporary_files_in: Callable[[Path], None]) -> Iterator[Path]:
    """Where merges put their temporary files: nothing may be left there, whatever happened."""
    directory = tmp_path / "scratch"
    directory.mkdir()
    temporary_files_in(directory)
    open_splits.close_all()
    yield directory
    assert left_in(directory) == []


def damage(store: MemoryStore, path: str, at: int = 10) -> None:
    """Flip a bit of a split; a new process reads it."""
    content = bytearray(store.objects[path].data)
    content[at] ^= 1
    store.put(path, bytes(content))
    open_splits.close_all()


def oldest(store: MemoryStore) -> list[str]:
    files = table_in(store).files().to_pylist()
    return [file["path"] for file in sorted(files, key=lambda file: file["modificationTime"])]


def when(store: MemoryStore, verb: str, picked: Callable[[str], bool], do: Callable[[str], Any]) -> Hooked:
    """The store, with something that happens before the first request of this kind."""
    done: list[str] = []

    def hooked(key: str, *rest: Any) -> Any:
        if picked(key) and not done:
            done.append(key)
            do(key)
        return getattr(store, verb)(key, *rest)

    return Hooked(store, **{verb: hooked})


def is_split(key: str) -> bool:
    return key.endswith(".split")


def is_version(key: str) -> bool:
    return key.endswith(".json")


class TestIndexedAnew:
    """Splits of few rows, whose rows are indexed anew: their indexes are not read."""

    @pytest.fixture(autouse=True)
    def anew(self, monkeypatch: pytest.MonkeyPatch) -> None:
        join_indexes_from(monkeypatch)

    def test_a_damaged_index_is_mended(self) -> None:
        store = store_with(4)
        path = oldest(store)[1]
        file = next(file for file in table_in(store).files().to_pylist() if file["path"] == path)
        damage(store, path, file["footerStartOffset"] - 10)
        done = table_in(store).merge_splits()
        assert (done.sources, done.results, done.rows, done.skipped) == (4, 1, 24, {})
        assert check(store, some(24)).count("level = 'ERROR'") == 8

    @pytest.mark.parametrize("at", [10, -1, -40, "gone"])
    def test_broken_sources_are_left_out(self, at: int | str) -> None:
        store = store_with(4)
        path = oldest(store)[1]
        if at == "gone":
            store.delete([path])
            open_splits.close_all()
        else:
            damage(store, path, int(at))
        done = table_in(store).merge_splits()
        assert (done.sources, done.results, done.rows, list(done.skipped)) == (3, 1, 18, [path])

    @pytest.mark.parametrize("error", [StoreUnavailable("try later"), AccessDenied("not yours")])
    def test_a_store_that_fails_is_no_reason_to_leave_a_source_out(self, error: StorageError) -> None:
        store = store_with(3)
        bad = oldest(store)[2]

        def fail(_: str) -> None:
            raise error

        with pytest.raises(type(error), match=str(error)):
            table_in(when(store, "get_range", lambda key: key == bad, fail)).merge_splits()
        check(store, some(18))
        assert table_in(store).merge_splits().sources == 3


class TestBrokenSources:
    @pytest.mark.parametrize("at", [10, -1, -40, "index", "gone"])
    def test_are_left_out_and_the_rest_is_merged(self, at: int | str) -> None:
        store = store_with(4)
        paths = oldest(store)
        if at == "gone":
            store.delete([paths[1]])
            open_splits.close_all()
        else:
            file = next(file for file in table_in(store).files().to_pylist() if file["path"] == paths[1])
            damage(store, paths[1], file["footerStartOffset"] - 10 if at == "index" else int(at))
        table = table_in(store)
        done = table.merge_splits()
        assert (done.sources, done.results, done.rows) == (3, 1, 18)
        assert list(done.skipped) == [paths[1]]
        assert paths[1] in live(table)
        assert table.files().num_rows == 2
        [skip] = table.skips().to_pylist()
        assert (skip["path"], skip["operation"], skip["skipCount"], skip["inCooldown"]) == (paths[1], "merge", 1, True)
        assert skip["reason"] == done.skipped[paths[1]]
        assert paths[1] in skip["reason"] or at == "index"
        assert skip["retryAfter"] - skip["skipTimestamp"] == 24 * 3_600_000
        assert table_in(store).skips().to_pylist() == [skip], "others see it too"
        assert orphans(table) == set()
        if at == "index":
            assert rows_of(table) == some(24), "its rows can still be read"
        else:
            with pytest.raises(SplitError, match=paths[1]):
                table.scan().read_all()
        assert table.count() == 24

    def test_are_tried_again_after_a_day(self) -> None:
        store = store_with(3)
        bad = oldest(store)[0]
        whole = store.objects[bad]
        damage(store, bad)
        table = table_in(store)
        assert table.merge_splits().sources == 2
        table.append(some(6, 18))
        store.clock.advance(23 * HOUR)
        assert table.merge_splits().skipped == {}, "it rests"
        assert (table.files().num_rows, bad in live(table)) == (2, True)
        store.clock.advance(2 * HOUR)
        assert list(table.merge_splits().skipped) == [bad], "it is still broken"
        assert [skip["skipCount"] for skip in table.skips().to_pylist()] == [1, 2]
        version = table.version
        assert table.merge_splits().version == version
        store.put(bad, whole.data)
        open_splits.close_all()
        store.clock.advance(25 * HOUR)
        assert table.merge_splits().sources == 2
        assert rows_of(table_in(store)) == some(24)
        assert table.files().num_rows == 1

    def test_all_but_one(self) -> None:
        store = store_with(3)
        for path in oldest(store)[:2]:
            damage(store, path)
        table = table_in(store)
        before = live(table)
        done = table.merge_splits()
        assert (done.written, done.version, len(done.skipped)) == (False, 4, 2), "the notes are a commit"
        assert live(table) == before
        assert objects_of(table) == sorted(before)
        assert table.history(1).column("operation").to_pylist() == ["MERGE SPLITS"]
        assert (table.changes(3).adds.num_rows, table.changes(3).removes.num_rows) == (0, 0)

    def test_of_one_partition_do_not_concern_the_others(self) -> None:
        store = store_with(3, ["day"])
        bad = live(table_in(store), "day IS NULL")
        for path in bad:
            damage(store, path)
        seen: list[Progress] = []
        done = table_in(store, {"indexWriter.threads": 2}).merge_splits(progress=seen.append)
        assert (done.results, set(done.skipped)) == (2, set(bad[:2])), "the last one has nobody to be merged with"
        assert table_in(store).count("day IS NOT NULL") == 12
        assert rows_of(table_in_without(store, bad)).num_rows == 12
        assert seen[-1].rows_read == seen[-1].rows_total == 18
        assert seen[-1].rows_written == 12

    def test_that_somebody_else_replaced_get_no_note(self) -> None:
        store = store_with(3)
        gone = oldest(store)[1]

        def replaced(_: str) -> None:
            table_in(store).commit_files(removes=[gone])
            store.delete([gone])

        table = table_in(when(store, "get_range", lambda key: key == gone, replaced))
        done = table.merge_splits()
        assert (done.skipped, done.sources, done.results) == ({}, 2, 1)
        assert table.skips().num_rows == 0
        assert rows_of(table_in(store)).column("id").to_pylist() == [*range(6), *range(12, 18)]

    def test_do_not_hide_that_the_metadata_changed(self) -> None:
        store = store_with(4)
        damage(store, oldest(store)[3])

        def changed(_: str) -> None:
            table_in(store).commit_files(properties={"safetyAge.hours": 100})

        table = table_in(when(store, "create", is_split, changed))
        with pytest.raises(MetadataChanged):
            table.merge_splits()
        assert orphans(table_in(store)) == set()
        assert table_in(store).files().num_rows == 4

    @pytest.mark.parametrize("error", [StoreUnavailable("no answer"), KeyboardInterrupt("stop")])
    def test_and_a_store_that_fails_before_the_commit(self, error: BaseException) -> None:
        store = store_with(4)
        damage(store, oldest(store)[3])
        uploaded: list[str] = []

        def create(key: str, data: bytes) -> None:
            store.create(key, data)
            uploaded.append(key)

        def head(key: str) -> Any:
            if uploaded:
                raise error
            return store.head(key)

        with pytest.raises(type(error), match=str(error)):
            table_in(Hooked(store, create=create, head=head)).merge_splits()
        assert len(uploaded) == 1
        assert orphans(table_in(store)) == set()


def table_in_without(store: MemoryStore, paths: list[str]) -> Table:
    table = table_in(store)
    table.commit_files(removes=paths)
    return table


class TestOthersMeanwhile:
    """Something happens after the merged splits were built, and before their commit."""

    def test_append(self) -> None:
        store = store_with(3)
        table = table_in(when(store, "create", is_split, lambda _: table_in(store).append(some(6, 18))))
        done = table.merge_splits()
        assert (done.results, done.sources, done.version) == (1, 3, 5)
        assert check(store, some(24)).files().num_rows == 2

    def test_overwrite(self) -> None:
        store = store_with(3)
        table = table_in(when(store, "create", is_split, lambda _: table_in(store).overwrite(some(5))))
        done = table.merge_splits()
        assert (done.results, done.overtaken, done.written, done.version, table.version) == (0, 1, False, 4, 4)
        check(store, some(5))

    def test_overwrite_of_one_partition(self) -> None:
        store = store_with(3, ["day"])
        others = some(18).filter(some(18).column("day").is_valid())

        def replaced(_: str) -> None:
            table_in(store).overwrite(some(6).slice(4), where="day IS NULL")

        done = table_in(when(store, "create", is_split, replaced), {"indexWriter.threads": 1}).merge_splits()
        assert (done.results, done.overtaken, done.sources) == (2, 1, 6)
        expected = sorted([*others.column("id").to_pylist(), 4, 5])
        assert rows_of(table_in(store)).column("id").to_pylist() == expected
        assert orphans(table_in(store)) == set()

    def test_the_same_merge(self) -> None:
        store = store_with(4, ["day"])
        rivals: list[int] = []
        table = table_in(
            when(store, "create", is_split, lambda _: rivals.append(table_in(store).merge_splits().results))
        )
        done = table.merge_splits()
        assert (rivals, done.results, done.overtaken) == ([3], 0, 3)
        assert check(store, some(24)).files().num_rows == 3

    def test_another_merge_of_some_of_them(self) -> None:
        store = store_with(4, ["day"])
        where = "day = '2024-01-31'"
        table = table_in(when(store, "create", is_split, lambda _: table_in(store).merge_splits(where=where)))
        done = table.merge_splits()
        assert (done.results, done.overtaken, done.sources, done.rows) == (2, 1, 8, 16)
        assert check(store, some(24)).files().num_rows == 3

    def test_a_removal_between_two_attempts_of_the_commit(self) -> None:
        """The commit loses its number, and the winner took a source away."""
        store = store_with(3, ["day"])
        gone = live(table_in(store), "day IS NULL")[0]
        table = table_in(
            when(
                store,
                "create",
                lambda key: is_version(key) and table_in(store).version == 3,
                lambda _: table_in(store).commit_files(removes=[gone]),
            )
        )
        done = table.merge_splits()
        assert (done.results, done.overtaken, done.version) == (2, 1, 5)
        assert rows_of(table_in(store)).num_rows == 16
        assert orphans(table_in(store)) == set()

    def test_a_new_column(self) -> None:
        store = store_with(3)
        wider = pa.schema([*SCHEMA, ("note", pa.string())])

        def widened(_: str) -> None:
            other = table_in(store)
            update = MetadataUpdate(schema_string=arrow_to_spark_json(wider))
            commit(handle_of(other), Change(metadata=update), operation="ALTER")
            other.refresh().append(pa.table({"id": [18], "note": ["new"]}))

        table = table_in(when(store, "create", is_split, widened))
        assert (table.merge_splits().results, table.schema) == (1, wider)
        found = table.scan(["id", "note"]).read_all().sort_by("id")
        assert found.to_pydict() == {"id": [*range(19)], "note": [None] * 18 + ["new"]}
        assert table.merge_splits().sources == 2, "the rows are indexed anew, because the schema is another one"
        assert table.scan(["id", "note"]).read_all().sort_by("id").equals(found)
        assert table.count("note IS NULL") == 18
        assert orphans(table) == set()

    def test_the_table_is_dropped_and_created_again(self) -> None:
        store = store_with(2)

        def replaced(_: str) -> None:
            store.objects.clear()
            create_table(make_log(store), SCHEMA, [])
            table_in(store).append(some(6))

        with pytest.raises(TableReplaced):
            table_in(when(store, "create", is_split, replaced)).merge_splits()
        assert rows_of(table_in(store)) == some(6)
        assert len(objects_of(table_in(store))) == 1


class TestStoreFailures:
    def test_that_are_certain_take_the_uploads_back(self) -> None:
        store = store_with(3, ["day"])

        def create(key: str, data: bytes) -> None:
            if is_version(key):
                raise AccessDenied("read only")
            store.create(key, data)

        with pytest.raises(AccessDenied, match="read only"):
            table_in(Hooked(store, create=create)).merge_splits()
        check(store, some(18))

    def test_that_leave_the_outcome_open_leave_the_uploads(self) -> None:
        store = store_with(3)

        def create(key: str, data: bytes) -> None:
            if is_version(key):
                raise StoreUnavailable("no answer")
            store.create(key, data)

        with pytest.raises(CommitOutcomeUnknown):
            table_in(Hooked(store, create=create)).merge_splits()
        table = table_in(store)
        assert len(orphans(table)) == 1
        assert rows_of(table) == some(18)

    @pytest.mark.parametrize("error", [StorageError("disk quota", written=False), AccessDenied("not yours")])
    def test_of_an_upload(self, error: StorageError) -> None:
        store = store_with(3, ["day"])
        uploads: list[str] = []

        def create(key: str, data: bytes) -> None:
            uploads.append(key)
            if len(uploads) == 3:
                raise error
            store.create(key, data)

        table = table_in(Hooked(store, create=create), {"indexWriter.threads": 2}, workers=IO)
        with pytest.raises(StorageError, match=str(error)):
            table.merge_splits()
        check(store, some(18))

    @pytest.mark.parametrize("verb", ["get_range", "get_ranges"])
    @pytest.mark.parametrize("error", [StoreUnavailable("try later"), AccessDenied("not yours"), StorageError("odd")])
    def test_of_reading_a_source_are_no_reason_to_leave_it_out(self, verb: str, error: StorageError) -> None:
        store = store_with(3)
        bad = oldest(store)[2]

        def fail(_: str) -> None:
            raise error

        with pytest.raises(type(error), match=str(error)):
            table_in(when(store, verb, lambda key: key == bad, fail)).merge_splits()
        table = check(store, some(18))
        assert (table.version, table.skips().num_rows) == (3, 0)
        assert table.merge_splits().sources == 3

    def test_of_uploads_that_are_too_old(self) -> None:
        store = store_with(3, ["day"])

        def slow(progress: Progress) -> None:
            store.clock.advance(40 * HOUR)

        with pytest.raises(UploadTooOld):
            table_in(store, {"indexWriter.threads": 4}).merge_splits(progress=slow)
        check(store, some(18))

    @pytest.mark.parametrize("indexed", [0, 1_024])
    @pytest.mark.parametrize("fault", list(Fault))
    def test_at_every_request(self, fault: Fault, indexed: int, monkeypatch: pytest.MonkeyPatch) -> None:
        join_indexes_from(monkeypatch, rows=indexed)
        clean = store_with(3)
        quiet = {"state.compaction.afterMerge": False}
        counted = Faulty(clean.copy())
        table_in(counted, quiet).merge_splits()
        assert len(counted.calls) >= 10
        for number in range(1 + FAULTS.index(fault) % STEP, len(counted.calls) + 1, STEP):
            open_splits.close_all()
            faulty = Faulty(store := clean.copy(), Plan(number, fault))
            outcome: BaseException | None = None
            try:
                table_in(faulty, quiet).merge_splits()
            except (IndexTablesError, Died) as error:
                outcome = error
            assert faulty.fired
            after = table_in(store)
            assert rows_of(after) == some(18)
            assert after.skips().num_rows == 0, "a fault of the store is no fault of a split"
            if outcome is None:
                assert after.files().num_rows == 1
            if not isinstance(outcome, Died | CommitOutcomeUnknown):
                assert orphans(after) == set(), (number, outcome)
            after.merge_splits()
            assert rows_of(after) == some(18)
            assert after.files().num_rows == 1


# a signal may come between the opening of a file and its `with`: then Python closes the file, and says so
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
class TestInterrupts:
    @pytest.mark.parametrize("threads", [1, 3])
    @pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
    def test_of_whoever_watches(self, threads: int, error: type[BaseException]) -> None:
        store = store_with(3, ["day"])

        def watch(progress: Progress) -> None:
            if progress.splits == 2:
                raise error("stop")

        table = table_in(store, {"indexWriter.threads": threads}, workers=IO)
        with pytest.raises(error, match="stop"):
            table.merge_splits(progress=watch)
        assert check(store, some(18)).version == 3
        assert table.merge_splits().results == 3

    def test_keep_what_was_committed_before(self) -> None:
        store = store_with(3, ["day"])

        def watch(progress: Progress) -> None:
            store.clock.advance(100)
            if progress.splits == 3:
                raise RuntimeError("stop")

        with pytest.raises(RuntimeError, match="stop"):
            table_in(store, {"indexWriter.threads": 1}).merge_splits(progress=watch)
        table = check(store, some(18))
        assert (table.version, table.files().num_rows) == (5, 5)

    def test_from_the_keyboard(self, tmp_path: Path) -> None:
        table = grown(Table.create(tmp_path / "t", SCHEMA, partition_by=["day"]), 3)

        def interrupt(progress: Progress) -> None:
            if progress.splits == 1:
                os.kill(os.getpid(), signal.SIGINT)

        with pytest.raises(KeyboardInterrupt):
            table.merge_splits(progress=interrupt)
        assert orphans(table) == set()
        assert rows_of(Table.open(table.url)) == some(18)
        assert table.merge_splits().results == 3

    @pytest.mark.parametrize("size", [10, 1000])
    def test_of_a_full_disk(self, size: int) -> None:
        store = store_with(3)
        with files_end_at(size), pytest.raises(IndexTablesError):
            table_in(store).merge_splits()
        table = check(store, some(18))
        assert (table.version, table.skips().num_rows) == (3, 0)

    def test_without_a_place_for_temporary_files(
        self, temporary_files_in: Callable[[Path], None], tmp_path: Path
    ) -> None:
        store = store_with(2)
        temporary_files_in(tmp_path / "nowhere")
        with pytest.raises(StorageError, match="nowhere"):
            table_in(store).merge_splits()
        check(store, some(12))
