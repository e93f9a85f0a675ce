"""`ReadRequest`, `ReadPlan` and `TableHandle`: one checked question for every verb, here and in other processes."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from indextables import Table
from indextables.core.aggregate import parse_aggregate
from indextables.core.errors import (
    AccessDenied,
    ForeignTable,
    OptionError,
    PredicateError,
    QueryError,
    SchemaError,
    TableReplaced,
)
from indextables.core.options import Options
from indextables.core.predicate import Not, parse_predicate, to_sql
from indextables.core.row_order import SortKey
from indextables.log.actions import ProtocolAction
from indextables.log.open_snapshot import open_log
from indextables.table.build.uploads import Uploads
from indextables.table.distributed.filter_answers import (
    UNSUPPORTED,
    Exactness,
    FilterAnswer,
    all_true,
    answer_filter,
    any_true,
    not_true,
)
from indextables.table.distributed.read_tasks import finish_groups, plan_count, plan_tasks
from indextables.table.handle import TableHandle
from indextables.table.open_table import open_pinned, pin_version
from indextables.table.read.count import count
from indextables.table.read.request import ByColumns, ByScore, ReadRequest, make_request, plan_read
from indextables.table.read.scan import scan
from indextables.table.read.search import search
from indextables.table.write.create import create_table
from log.support import Hooked, MemoryStore, make_log

SCHEMA = pa.schema([("day", pa.string()), ("id", pa.int64()), ("text", pa.string())])
OPTIONS = {"spark.indextables.indexing.typemap.text": "text"}
DAYS = ("a", "b", "c")
ROWS = 20


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    made = Table.create(tmp_path_factory.mktemp("requests") / "t", SCHEMA, partition_by=["day"], options=OPTIONS)
    for number, day in enumerate(DAYS):
        ids = range(number * ROWS, (number + 1) * ROWS)
        made.append(pa.table({"day": [day] * ROWS, "id": ids, "text": ["disk " * (1 + n % 4) for n in ids]}, SCHEMA))
    return made


@pytest.fixture
def handle(table: Table) -> TableHandle:
    return pin_version(table.url, Options(OPTIONS))


def ids_of(request: ReadRequest, handle: TableHandle) -> list[int]:
    return scan(handle, request).read_all().column("id").to_pylist()


class TestChecks:
    def test_the_same_value_for_texts_and_predicates(self, handle: TableHandle) -> None:
        predicate = parse_predicate("id < 30", handle.schema)
        by_text = make_request(handle, "reading", columns=["ID"], where="id < 30", query="disk", limit=5)
        assert by_text == make_request(handle, "reading", columns=["id"], where=predicate, query="disk", limit=5)
        with pytest.raises(FrozenInstanceError):
            by_text.limit = 6  # type: ignore[misc]

    @pytest.mark.parametrize(
        ("asked", "error", "message"),
        [
            ({"limit": -1}, OptionError, "limit is -1, but must be 0 or more"),
            ({"limit": 1.0}, OptionError, "limit is 1.0, but must be a whole number"),
            ({"offset": -3}, OptionError, "offset is -3, but must be 0 or more"),
            ({"where": 5}, PredicateError, "where is SQL text"),
            ({"columns": ["nope"]}, SchemaError, "no column nope"),
            ({"query": "nope:x"}, QueryError, "nope"),
            ({"query": ["disk"]}, QueryError, "a query is text"),
            ({"score": True}, OptionError, "give a query too"),
            ({"order": ByScore(), "limit": 3}, OptionError, "give a query too"),
            ({"order": ByScore(), "query": "disk"}, OptionError, "give a limit"),
            ({"order": ByColumns((SortKey("id"),))}, OptionError, r"by columns \(id\) up to a limit: give a limit"),
            ({"snippets": ["id"], "query": "disk"}, SchemaError, "id is not indexed as text"),
        ],
    )
    def test_what_no_executor_answers(
        self, handle: TableHandle, asked: dict[str, Any], error: type[Exception], message: str
    ) -> None:
        with pytest.raises(error, match=message):
            make_request(handle, "reading", **asked)

    @pytest.mark.parametrize("asked", [{"limit": 3}, {"offset": 1}, {"limit": 0}])
    def test_groups_have_no_limit(self, handle: TableHandle, asked: dict[str, int]) -> None:
        groups = parse_aggregate("day", {"n": "count"}, handle.schema)
        with pytest.raises(OptionError, match="groups have no limit"):
            make_request(handle, "reading", columns=(), aggregate=groups, **asked)

    def test_another_format(self, handle: TableHandle) -> None:
        foreign = handle.moved(replace(handle.snapshot, protocol=ProtocolAction(2, 2)))
        with pytest.raises(ForeignTable, match="so searching rows is not possible"):
            make_request(foreign, "searching", query="disk")
        assert count(foreign, make_request(foreign, None, columns=())) == 3 * ROWS


class TestRows:
    @pytest.mark.parametrize("offset", [0, 1, 19, 20, 21, 45, 59, 60, 99])
    @pytest.mark.parametrize("limit", [None, 0, 1, 7, 40, 60, 99])
    def test_offset_and_limit(self, handle: TableHandle, offset: int, limit: int | None) -> None:
        whole = ids_of(make_request(handle, "reading"), handle)
        end = None if limit is None else offset + limit
        asked = make_request(handle, "reading", offset=offset, limit=limit)
        assert ids_of(asked, handle) == whole[offset:end]
        tasks = plan_tasks(handle, asked).tasks
        assert [n for task in tasks for batch in task.batches() for n in batch.column("id").to_pylist()] == whole[
            offset:end
        ]
        assert sum(task.count() for task in tasks) == len(whole[offset:end])

    @pytest.mark.parametrize("offset", [0, 3, 30, 70])
    def test_offset_of_the_best(self, handle: TableHandle, offset: int) -> None:
        def best(offset: int, limit: int) -> list[dict[str, Any]]:
            asked = make_request(
                handle,
                "searching",
                columns=["id"],
                query="disk",
                score=True,
                order=ByScore(),
                offset=offset,
                limit=limit,
            )
            found = search(handle, asked).to_pylist()
            (task,) = plan_tasks(handle, asked).tasks
            assert [row for batch in task.batches() for row in batch.to_pylist()] == found
            return found

        assert best(offset, 10) == best(0, 99)[offset : offset + 10]

    def test_named_files(self, handle: TableHandle) -> None:
        files = handle.files(parse_predicate("day = 'b'", handle.schema))
        asked = make_request(handle, "reading", where="id < 25", files=files)
        assert plan_read(handle, asked).files is files
        assert ids_of(asked, handle) == list(range(20, 25))
        assert count(handle, replace(asked, where=None)) == ROWS


class TestOtherProcesses:
    def test_a_task_pickles_without_the_files(self, handle: TableHandle) -> None:
        asked = make_request(handle, "reading", columns=["id"], where="id >= 30", query="disk")
        plan = pickle.loads(pickle.dumps(plan_tasks(handle, asked, most_tasks=2)))
        assert plan.job.request == asked
        assert plan.job.head.files().num_rows == 0
        assert plan.job.head.version == handle.version
        assert [n for task in plan.tasks for batch in task.batches() for n in batch.column(0).to_pylist()] == list(
            range(30, 60)
        )

    def test_counts_and_groups(self, handle: TableHandle, table: Table) -> None:
        counted = plan_count(handle, make_request(handle, "reading", columns=(), where="day >= 'b'"))
        assert (counted.rows_in_log, counted.tasks.tasks) == (2 * ROWS, [])
        groups = parse_aggregate("day", {"n": "count", "most": "max(id)"}, handle.schema)
        asked = make_request(handle, "reading", columns=groups.columns, query="disk", aggregate=groups)
        parts = [task.partial() for task in plan_tasks(handle, asked, most_tasks=3).tasks]
        assert finish_groups(asked, [part for part in parts if part is not None]).equals(
            table.aggregate("day", {"n": "count", "most": "max(id)"}, query="disk")
        )

    def test_a_pinned_version_stays(self, handle: TableHandle) -> None:
        again = open_pinned(handle.url, handle.options, handle.version, handle.table_id)
        assert again.snapshot is handle.snapshot
        assert again.log is handle.log


class TestFilters:
    def test_combinations(self) -> None:
        exact = answer_filter(SCHEMA, parse_predicate("id < 5", SCHEMA))
        day = answer_filter(SCHEMA, parse_predicate("day = 'a'", SCHEMA))
        assert (exact.exactness, day.exactness) == (Exactness.EXACT, Exactness.EXACT)
        assert all_true([exact, day]).exactness is Exactness.EXACT
        partly = all_true([exact, UNSUPPORTED])
        assert partly == FilterAnswer(Exactness.INEXACT, exact.predicate)
        assert any_true([exact, UNSUPPORTED]) == UNSUPPORTED
        assert any_true([partly, day]).exactness is Exactness.INEXACT
        assert all_true([UNSUPPORTED, UNSUPPORTED]) == all_true([]) == any_true([]) == UNSUPPORTED
        assert not_true(partly) == not_true(UNSUPPORTED) == UNSUPPORTED
        assert exact.predicate is not None
        assert not_true(exact) == FilterAnswer(Exactness.EXACT, Not(exact.predicate))
        assert to_sql(any_true([exact, day]).predicate) == "`id` < 5 OR `day` = 'a'"  # type: ignore[arg-type]

    def test_columns_of_another_table(self) -> None:
        predicate = parse_predicate("id < 5", SCHEMA)
        assert answer_filter(pa.schema([("id", pa.int32())]), predicate) == UNSUPPORTED
        assert answer_filter(pa.schema([("n", pa.int64())]), predicate) == UNSUPPORTED


class TestOptionsThatMakeATableUnusable:
    @pytest.mark.parametrize("hours", [0, "0", "30s", 0.01])
    def test_a_safety_age_that_no_append_survives(self, tmp_path: Path, hours: Any) -> None:
        with pytest.raises(OptionError, match=r"safetyAge\.hours is .* so that no append could succeed"):
            Table.create(tmp_path / "t", SCHEMA, options={"safetyAge.hours": hours})
        assert not (tmp_path / "t").exists()
        table = Table.create(tmp_path / "t", SCHEMA)
        with pytest.raises(OptionError, match=r"safetyAge\.hours is .* so that no append could succeed"):
            table.commit_files(properties={"safetyAge.hours": hours})
        assert table.version == 0
        short = Table.create(tmp_path / "short", SCHEMA, options={"safetyAge.hours": "1m"})
        assert short.append(pa.table({"id": [1]})).written

    @pytest.mark.parametrize("hours", [1, "71", None])
    def test_a_safety_age_that_becomes_shorter(self, tmp_path: Path, hours: Any) -> None:
        """Whoever opened the table before would take a cleaned-up version number for a free one."""
        table = Table.create(tmp_path / "t", SCHEMA, options={"safetyAge.hours": 100})
        with pytest.raises(OptionError, match=r"safetyAge\.hours is 100 hours and cannot become"):
            table.commit_files(properties={"safetyAge.hours": hours})
        assert table.commit_files(properties={"safetyAge.hours": 101}).written

    def test_a_mapping_that_cannot_be_made(self, tmp_path: Path) -> None:
        table = Table.create(tmp_path / "t", SCHEMA, options=OPTIONS)
        with pytest.raises(OptionError, match="nope"):
            table.commit_files(properties={"indexing.fastfields": "nope"})
        assert table.append(pa.table({"id": [1]})).written


class TestRemovedTables:
    def test_a_handle_never_moves_to_another_table(self, tmp_path: Path) -> None:
        place = tmp_path / "t"
        table = Table.create(place, SCHEMA)
        table.append(pa.table({"id": [1]}))
        place.rename(tmp_path / "elsewhere")
        Table.create(place, pa.schema([("other", pa.string())]))
        for verb in (table.refresh, lambda: table.append(pa.table({"id": [1]})), table.merge_splits):
            with pytest.raises(TableReplaced):
                verb()
        assert (table.version, table.schema.names) == (1, SCHEMA.names)

    def test_an_append_leaves_no_directory_behind(self, tmp_path: Path) -> None:
        place = tmp_path / "deep" / "t"
        table = Table.create(place, SCHEMA, partition_by=["day"])
        table.append(pa.table({"day": ["a"], "id": [1]}))
        place.rename(tmp_path / "elsewhere")
        for verb in (table.append, table.overwrite):
            with pytest.raises(Exception, match=r"there is no table|No such|no table") as raised:
                verb(pa.table({"day": ["a", "b"], "id": [1, 2]}))
            assert type(raised.value).__module__ == "indextables.core.errors"
            assert not place.exists()
        assert (tmp_path / "deep").exists()


class TestOrphans:
    def test_a_refused_upload_is_none(self, caplog: pytest.LogCaptureFixture) -> None:
        """A disk that is mounted read-only refuses the upload, and then the deletion of what was never written."""

        def refuse(*_: Any) -> Any:
            raise AccessDenied("Read-only file system", written=False)

        store = MemoryStore()
        create_table(make_log(store), SCHEMA, [])
        log = make_log(Hooked(store, create=refuse, delete=refuse))
        with pytest.raises(AccessDenied, match="Read-only file system"):
            Table(TableHandle(log, open_log(log))).append(pa.table({"id": [1]}))
        assert "orphan" not in caplog.text

    def test_an_object_that_stays_is_one(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        def refuse(*_: Any) -> Any:
            raise AccessDenied("Read-only file system", written=False)

        (tmp_path / "local").write_bytes(b"split")
        uploads = Uploads(make_log(Hooked(MemoryStore(), delete=refuse)))
        key = uploads.put(tmp_path / "local", "")
        uploads.discard()
        assert f"{key} is an orphan now, Table.purge removes it" in caplog.text
        assert (uploads.keys, uploads.names) == ((), (key,))
