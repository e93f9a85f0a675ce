"""`Table.merge_splits`: fewer splits, the same rows, and a log that says that nothing changed."""

from __future__ import annotations

import shutil
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest

from indextables import Table
from indextables.core.errors import CommitError, ForeignTable, OptionError, PredicateError
from indextables.core.runtime.threads import IO
from indextables.core.types import arrow_to_spark_json
from indextables.log.actions import ProtocolAction
from indextables.log.commit import commit
from indextables.log.conflicts import Change, MetadataUpdate
from indextables.log.file_entries import rows_to_adds
from indextables.split import open_splits
from indextables.table.progress import Progress
from split.reader_support import EVERY_INDEX, costs_of
from table.merge_support import (
    SCHEMA,
    actions_of,
    check,
    grown,
    join_indexes,
    live,
    orphans,
    size_of,
    some,
    store_with,
    table_in,
)
from table.written_support import footers, left_in, objects_of, rows_of
from tables import at_snapshot, handle_of


@pytest.fixture(autouse=True)
def joined(monkeypatch: pytest.MonkeyPatch) -> None:
    join_indexes(monkeypatch)


@pytest.fixture(autouse=True)
def scratch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, temporary_files_in: Callable[[Path], None]
) -> Iterator[Path]:
    """Where merges put their temporary files: nothing may be left there."""
    directory = tmp_path / "scratch"
    directory.mkdir()
    temporary_files_in(directory)
    open_splits.close_all()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    yield directory
    assert [name for name in left_in(directory) if name.startswith("indextables-merge")] == []


@pytest.fixture
def every_index() -> Iterator[None]:
    """Every index is worth asking."""
    with costs_of(EVERY_INDEX):
        yield


@pytest.fixture(params=["local", "memory"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "table") if request.param == "local" else f"memory://{uuid.uuid4().hex}/table"


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables to be copied, because writing them takes longer than most tests."""
    directory = tmp_path_factory.mktemp("templates")
    grown(Table.create(directory / "plain", SCHEMA), 6)
    grown(Table.create(directory / "partitioned", SCHEMA, partition_by=["day", "host"]), 3)
    return directory


def copied(templates: Path, name: str, directory: Path) -> Table:
    return Table.open(shutil.copytree(templates / name, directory / name))


QUESTIONS = ["id = 7", "id IN (1, 12, 13, 100)", "level = 'ERROR' AND id > 10", "day IS NULL", "host = ''", "id < 4"]


class TestMerging:
    @pytest.mark.usefixtures("every_index")
    def test_keeps_every_row(self, url: str) -> None:
        table = grown(Table.create(url, SCHEMA, partition_by=["day"]), 4)
        counts = {question: table.count(question) for question in QUESTIONS}
        before, old = live(table), table.files()
        done = table.merge_splits()
        assert (done.sources, done.results, done.rows, done.version) == (12, 3, 24, 5)
        assert (done.overtaken, done.skipped, done.written, table.version) == (0, {}, True, 5)
        assert done.bytes_before == sum(old.column("size").to_pylist())
        assert done.bytes_after == sum(table.files().column("size").to_pylist())
        assert rows_of(table) == rows_of(Table.open(url)) == some(24)
        assert set(live(table)).isdisjoint(before)
        assert {question: table.count(question) for question in QUESTIONS} == counts
        assert {question: table.scan(where=question).read_all().num_rows for question in QUESTIONS} == counts
        assert rows_of(Table.open(url, version=4)) == some(24), "history stays readable"
        assert len(live(Table.open(url, version=4))) == 12
        for path, footer in footers(table).items():
            assert path.startswith(
                f"day={footer.partition_values['day'] or '__HIVE_DEFAULT_PARTITION__'}/splits/split-"
            )
            assert footer.num_merge_ops == 1

    def test_the_log_says_that_no_data_changed(self, url: str) -> None:
        table = grown(Table.create(url, SCHEMA, partition_by=["day"]), 3)
        sources = live(table)
        table.merge_splits()
        actions = actions_of(table)
        adds = [action["add"] for action in actions if "add" in action]
        removes = [action["remove"] for action in actions if "remove" in action]
        assert sorted(remove["path"] for remove in removes) == sorted(sources)
        assert {entry["dataChange"] for entry in [*adds, *removes]} == {False}
        changes = table.changes(3)
        assert (changes.adds.num_rows, changes.removes.num_rows, changes.version) == (0, 0, 4)
        assert table.changes(0).adds.num_rows == 9, "the sources were changes, and their merge was none"
        [row] = table.history(1).to_pylist()
        assert (row["operation"], dict(row["parameters"])) == ("MERGE SPLITS", {"groups": "3"})
        metrics = dict(row["metrics"])
        assert (metrics["numRemovedFiles"], metrics["numAddedFiles"], metrics["numAddedRecords"]) == ("9", "3", "18")

    def test_the_log_knows_what_the_footer_knows(self, url: str) -> None:
        table = grown(Table.create(url, SCHEMA, partition_by=["day"]), 3)
        table.merge_splits()
        files = {file["path"]: file for file in table.files().to_pylist()}
        for path, footer in footers(table).items():
            file = files[path]
            assert (file["numRecords"], file["numMergeOps"]) == (footer.rows, 1)
            assert (dict(file["minValues"]), dict(file["maxValues"])) == (footer.min_values, footer.max_values)
            assert (file["docMappingJson"], file["uncompressedSizeBytes"]) == (
                footer.doc_mapping,
                footer.uncompressed_bytes,
            )
        assert table.files("id > 1000").num_rows == 0
        assert table.files("day = '2024-01-30'").num_rows == 1

    def test_twice_finds_nothing_to_do(self, url: str) -> None:
        table = grown(Table.create(url, SCHEMA), 3)
        assert table.merge_splits().results == 1
        objects = objects_of(table)
        done = table.merge_splits()
        assert (done.written, done.version, done.sources, done.results) == (False, 4, 0, 0)
        assert (objects_of(table), Table.open(url).version) == (objects, 4)

    @pytest.mark.parametrize("appends", [0, 1])
    def test_of_next_to_nothing(self, url: str, appends: int) -> None:
        table = grown(Table.create(url, SCHEMA), appends)
        assert not table.merge_splits().written
        assert table.version == appends

    def test_again_after_more_appends(self, url: str) -> None:
        table = grown(Table.create(url, SCHEMA), 3)
        table.merge_splits()
        table.append(some(5, 18))
        table.merge_splits()
        assert rows_of(table) == some(23)
        [footer] = footers(table).values()
        assert (footer.num_merge_ops, len(footer.sources)) == (2, 4)

    def test_sees_what_others_appended(self, url: str) -> None:
        table = grown(Table.create(url, SCHEMA), 1)
        Table.open(url).append(some(6, 6))
        assert table.merge_splits().sources == 2
        assert rows_of(table) == some(12)

    def test_of_splits_of_another_mapping_and_schema(self) -> None:
        """A column that came later, and a property that says how it is indexed: old splits are indexed as new ones are."""
        store = store_with(2)
        wider = pa.schema([*SCHEMA, ("note", pa.string())])
        table = table_in(store)
        update = MetadataUpdate(
            schema_string=arrow_to_spark_json(wider), properties={"spark.indextables.indexing.typemap.note": "text"}
        )
        commit(handle_of(table), Change(metadata=update), operation="ALTER")
        table.refresh().append(some(3, 12).append_column(wider.field("note"), pa.array(["x", "y z", None])))
        assert table.merge_splits().sources == 3
        found = table.scan().read_all().sort_by("id")
        assert found.column("note").to_pylist() == [None] * 12 + ["x", "y z", None]
        assert found.drop_columns(["note"]).equals(some(15))
        [footer] = footers(table).values()
        assert '"column":"note","kind":"text"' in footer.doc_mapping
        assert table.merge_splits().written is False

    def test_values_that_no_double_and_no_calendar_holds(self, url: str) -> None:
        schema = pa.schema(
            [("n", pa.int64()), ("at", pa.timestamp("us", "UTC")), ("x", pa.float64()), ("s", pa.string())]
        )
        table = Table.create(url, schema)
        for n, at, x, s in [
            (2**63 - 1, 2**62, -0.0, ""),
            (-(2**63), -(2**62), 0.0, "\U0010ffff" * 50),
            (2**53 + 1, 0, np.nan, "z" * 70_000),
        ]:
            table.append(pa.table([[n], pa.array([at], schema.field("at").type), [x], [s]], schema=schema))
        wheres = ["n = 9223372036854775807", "n > 9007199254740992", "at > '9999-12-31'", "at < '1970-01-01'", "x = 0"]
        wheres += ["x > 5", "s = ''", "s > 'zz'", "at = '1970-01-01'", f"s = '{'z' * 70_000}'", "x < 1"]
        counts = [table.count(where) for where in wheres]
        assert counts == [1, 2, 1, 1, 2, 1, 1, 2, 1, 1, 2]
        assert table.merge_splits().rows == 3
        assert [table.count(where) for where in wheres] == counts
        assert [table.scan(where=where).read_all().num_rows for where in wheres] == counts


class TestLimits:
    @pytest.fixture
    def table(self, templates: Path, tmp_path: Path) -> Table:
        return copied(templates, "plain", tmp_path)

    @pytest.mark.parametrize("per_split", [2, 3])
    def test_the_target_size(self, table: Table, per_split: int) -> None:
        target = int(size_of(table) * (per_split + 0.5))
        table = Table.open(table.url, options={"merge.targetSize": target})
        assert table.merge_splits().results == 6 // per_split
        assert max(footer.rows for footer in footers(table).values()) == 6 * per_split
        assert rows_of(table) == some(36)

    @pytest.mark.parametrize(("target", "results"), [("1G", 1), (2**40, 1), ("64kb", 1), ("100", 0), (1, 0)])
    def test_given_as(self, table: Table, target: Any, results: int) -> None:
        assert table.merge_splits(target_size=target).results == results
        assert rows_of(table) == some(36)

    @pytest.mark.parametrize("target", [0, -1, "0", "-5k", "much", "", True, 1.5, [], "1.5.5G", "nan", float("inf")])
    def test_that_is_no_size(self, table: Table, target: Any) -> None:
        with pytest.raises(OptionError, match=r"merge\.targetSize"):
            table.merge_splits(target_size=target)
        assert table.refresh().version == 6

    def test_splits_that_are_large_enough_are_left_alone(self, table: Table) -> None:
        table.merge_splits(max_source_splits_per_merge=4, max_dest_splits=1)
        [large] = [path for path, footer in footers(table).items() if footer.num_merge_ops]
        size = next(file["size"] for file in table.files().to_pylist() if file["path"] == large)
        table.merge_splits(target_size=int(size / 0.45))
        assert large in live(table), "it is at the threshold"
        assert table.files().num_rows == 2
        again = Table.open(table.url, options={"merge.skipSplitThreshold": 0.9})
        again.merge_splits(target_size=size * 2)
        assert again.files().num_rows == 1

    @pytest.mark.parametrize(("most", "left"), [(1, 5), (2, 4), (3, 3), (9, 3), (np.int32(2), 4)])
    def test_results(self, table: Table, most: int, left: int) -> None:
        done = table.merge_splits(max_source_splits_per_merge=2, max_dest_splits=most)
        assert (done.results, table.files().num_rows) == (6 - left, left)
        assert rows_of(table) == some(36)

    @pytest.mark.parametrize("most", [0, -1, True, 1.0, "3"])
    def test_results_that_are_no_number(self, table: Table, most: Any) -> None:
        with pytest.raises(OptionError, match="max_dest_splits"):
            table.merge_splits(max_dest_splits=most)

    @pytest.mark.parametrize("most", [0, 1, -1, True, 2.5, "two"])
    def test_sources_that_are_no_number(self, table: Table, most: Any) -> None:
        with pytest.raises(OptionError, match="max_source_splits_per_merge"):
            table.merge_splits(max_source_splits_per_merge=most)

    def test_sources(self, table: Table) -> None:
        assert table.merge_splits(max_source_splits_per_merge=3).results == 2
        assert {footer.rows for footer in footers(table).values()} == {18}

    def test_the_oldest_are_first(self) -> None:
        store = store_with(4)
        table = table_in(store)
        oldest = sorted(table.files().to_pylist(), key=lambda file: file["modificationTime"])
        table.merge_splits(max_source_splits_per_merge=2, max_dest_splits=1)
        assert {file["path"] for file in oldest[2:]} < set(live(table))
        assert table.count() == 24


class TestWhere:
    @pytest.fixture
    def table(self, templates: Path, tmp_path: Path) -> Table:
        return copied(templates, "partitioned", tmp_path)

    @pytest.mark.parametrize(
        ("where", "merged"),
        [
            ("day = '2024-01-30'", 1),
            ("day IS NULL", 1),
            ("day IS NOT NULL", 2),
            ("day <> '2024-01-30'", 1),
            ("host = ''", 1),
            ("host LIKE '%b'", 1),
            ("host LIKE '_'", 2),
            ("HOST IN ('a', 'b', 'zzz')", 2),
            ("NOT (host = 'a')", 2),
            ("host = 'b' AND day = '2024-01-30'", 0),
            ("day = '1999-01-01'", 0),
            ("true", 3),
            ("false", 0),
        ],
    )
    @pytest.mark.parametrize("state", [False, True])
    def test_selects_partitions(self, table: Table, where: str, merged: int, state: bool) -> None:
        if state:
            table.checkpoint()
            table = Table.open(table.url)
        before = live(table, where)
        done = table.merge_splits(where=where)
        assert (done.results, done.sources) == (merged, merged * 3)
        assert table.files().num_rows == 9 - 2 * merged
        if merged:
            assert set(live(table)).isdisjoint(before)
        assert rows_of(table) == some(18)

    @pytest.mark.parametrize(
        ("where", "message"),
        [
            ("id = 3", r"merge_splits\(where='id = 3'\) asks for id, but only whole partitions are merged"),
            ("day IS NULL OR level = 'x'", "asks for level"),
            ("dya = '2024-01-02'", "dya"),
            ("day = ", "end of the text|nothing|expected"),
            (7, "where is SQL text"),
        ],
    )
    def test_over_anything_else_is_refused(self, table: Table, where: Any, message: str) -> None:
        with pytest.raises(PredicateError, match=message):
            table.merge_splits(where=where)
        assert table.refresh().version == 3

    def test_on_a_table_without_partitions(self, tmp_path: Path) -> None:
        table = grown(Table.create(tmp_path / "plain", SCHEMA), 2)
        with pytest.raises(PredicateError, match="this table has none"):
            table.merge_splits(where="id = 0")
        assert table.merge_splits(where="true").results == 1


class TestPartitionValues:
    def test_in_other_letter_case(self) -> None:
        store = store_with(2, ["day"])
        table = table_in(store)
        for number, add in enumerate(rows_to_adds(table.files())):
            table.commit_files(removes=[add.path])
            values = {"DAY": text for text in add.partition_values.values()} if number % 2 else add.partition_values
            changed = msgspec.structs.replace(add, partition_values=values, doc_mapping_json=None)
            commit(handle_of(table), Change(adds=(changed,)), operation="WRITE")
            table.refresh()
        table.merge_splits()
        assert table.files().num_rows == 3
        assert rows_of(table) == some(12)
        assert {key for values in table.files().column("partitionValues").to_pylist() for key, _ in values} == {"day"}

    def test_an_empty_text_is_not_null(self, url: str) -> None:
        table = Table.create(url, SCHEMA, partition_by=["host"])
        rows = some(2)
        for host in ("", None, "", None):
            table.append(rows.set_column(3, SCHEMA.field("host"), pa.array([host] * 2, pa.string())))
        assert table.merge_splits().results == 2
        assert (table.count("host = ''"), table.count("host IS NULL"), table.count()) == (4, 4, 8)


class TestRefused:
    def test_on_history(self, url: str) -> None:
        grown(Table.create(url, SCHEMA), 2)
        with pytest.raises(CommitError, match="which is history"):
            Table.open(url, version=2).merge_splits()

    def test_on_a_foreign_table(self) -> None:
        table = table_in(store_with(2))
        snapshot = replace(handle_of(table).snapshot, protocol=ProtocolAction(2, 2))
        foreign = at_snapshot(table, snapshot)
        foreign.refresh = lambda: foreign  # type: ignore[method-assign]
        with pytest.raises(ForeignTable, match="lacks the feature bundleSplits"):
            foreign.merge_splits()
        assert table.refresh().version == 2

    def test_with_options_that_contradict_the_table(self, url: str) -> None:
        grown(Table.create(url, SCHEMA), 2)
        table = Table.open(url, options={"indexing.typemap.level": "text"})
        with pytest.raises(OptionError, match=r"asks for text.*leave the option out"):
            table.merge_splits()
        assert table.refresh().version == 2


class TestProgress:
    @pytest.mark.parametrize("threads", [1, 3])
    def test_goes_up_to_all_rows(self, templates: Path, tmp_path: Path, threads: int) -> None:
        url = copied(templates, "partitioned", tmp_path).url
        table = Table.open(url, options={"indexWriter.threads": threads})
        seen: list[Progress] = []
        done = table.merge_splits(progress=seen.append)
        assert list(dict.fromkeys(step.splits for step in seen)) == [0, 1, 2, 3]
        for field in ("rows_read", "rows_written", "bytes"):
            steps = [getattr(step, field) for step in seen]
            assert steps == sorted(steps)
        assert {step.rows_total for step in seen} == {18}
        assert (seen[-1].rows_read, seen[-1].rows_written, seen[-1].bytes) == (18, 18, done.bytes_after)

    def test_may_end_a_merge_before_anything_of_it_is_done(self, templates: Path, tmp_path: Path) -> None:
        table = copied(templates, "partitioned", tmp_path)
        before = table.version

        def enough(progress: Progress) -> None:
            assert progress.splits == 0
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            table.merge_splits(progress=enough)
        assert table.refresh().version == before

    def test_is_not_told_of_nothing(self, url: str) -> None:
        seen: list[Progress] = []
        Table.create(url, SCHEMA).merge_splits(progress=seen.append)
        assert seen == []


class TestStates:
    @pytest.mark.parametrize("after", [True, False])
    def test_are_compacted_afterwards_by_option(self, after: bool) -> None:
        store = store_with(4)
        table = table_in(store, {"state.compaction.afterMerge": after})
        table.merge_splits()
        state = dict(zip(*table_in(store).state().to_pydict().values(), strict=True))
        assert state["format"] == ("avro-state" if after else "none")
        if after:
            assert (state["version"], state["numFiles"], state["numTombstones"]) == ("5", "1", "0")
        check(store, some(24))

    def test_are_not_written_where_nothing_was_merged(self) -> None:
        store = store_with(1)
        table_in(store).merge_splits()
        assert not any("state" in key for key in store.objects)

    def test_a_failure_of_the_state_is_none_of_the_merge(self, monkeypatch: pytest.MonkeyPatch) -> None:
        store = store_with(3)

        def fail(*_: Any, **__: Any) -> Any:
            raise RuntimeError("no state today")

        monkeypatch.setattr("indextables.table.write.after_commit.checkpoint", fail)
        assert table_in(store).merge_splits().results == 1
        check(store, some(18))


def test_commits_every_minute() -> None:
    store = store_with(3, ["day"])
    table = table_in(store, {"indexWriter.threads": 1})
    versions: list[int] = []

    def watch(progress: Progress) -> None:
        if progress.splits > len(versions):
            versions.append(table_in(store).version)
            store.clock.advance(40)

    done = table.merge_splits(progress=watch)
    assert (versions, done.version, done.results) == ([3, 3, 4], 5, 3)
    assert [row["operation"] for row in table.history(2).to_pylist()] == ["MERGE SPLITS"] * 2
    check(store, some(18))


@pytest.mark.parametrize("threads", [1, 4])
def test_merges_in_real_threads(tmp_path: Path, threads: int) -> None:
    """Four of them at once on one table, and somebody appends all the time: each row is there once."""
    url = tmp_path / "t"
    grown(Table.create(url, SCHEMA, partition_by=["day"]), 4)
    errors: list[BaseException] = []
    results: list[int] = []

    def run(work: Any) -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    def merge() -> None:
        table = Table.open(url, options={"indexWriter.threads": threads})
        results.append(sum(table.merge_splits(max_source_splits_per_merge=3).results for _ in range(2)))

    def append() -> None:
        table = Table.open(url)
        for number in range(4, 8):
            table.append(some(6, number * 6))

    workers = [threading.Thread(target=run, args=(work,)) for work in (merge, append, merge, merge, merge)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
    assert errors == []
    table = Table.open(url)
    assert rows_of(table) == some(48)
    assert sum(results) > 0
    assert orphans(table) == set()
    table.merge_splits()
    assert table.files().num_rows == 3
    assert rows_of(table) == some(48)


def test_with_the_threads_of_the_library() -> None:
    store = store_with(3, ["day"])
    table = table_in(store, {"indexWriter.threads": 3}, workers=IO)
    assert table.merge_splits().results == 3
    check(store, some(18))
