"""Segments and columns of a prewarm: names, what comes of them, jobs beside the program, and waits."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from indextables import Table, inspect
from indextables.core.errors import OptionError, SchemaError, StoreUnavailable
from indextables.core.metrics import METRICS
from indextables.core.options import Options
from indextables.core.runtime.jobs import JOBS, Job
from indextables.split import open_splits
from indextables.split.cache import cache_location
from indextables.split.cache.index_cache import IndexCache, Prewarmed
from indextables.table.distributed.maintenance import plan_prewarm
from indextables.table.read.prewarm_choice import SEGMENT_NAMES, PrewarmChoice, choose
from log.support import Hooked
from split.reader_support import EVERY_INDEX, costs_of
from table.inspect.inspect_support import SCHEMA, a_table, only
from tables import on_store, store_of


@pytest.fixture(autouse=True)
def fresh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, temporary_files_in: Callable[[Path], None]
) -> Iterator[None]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    temporary_files_in(tmp_path)
    open_splits.close_all()
    JOBS.renew()
    with costs_of(EVERY_INDEX):
        yield


class TestNames:
    @pytest.mark.parametrize(("name", "first"), SEGMENT_NAMES.items())
    def test_every_name_in_any_letters(self, name: str, first: str) -> None:
        for spelt in (name, name.lower(), f" {name.title()} "):
            assert choose(SCHEMA, Options(), [spelt]).segments == (first,)

    def test_the_default(self) -> None:
        choice = choose(SCHEMA, Options())
        assert choice == PrewarmChoice(("TERM_DICT", "POSTINGS"), None, ())
        assert (choice.index, choice.positions, choice.rows) == (True, False, False)

    def test_what_they_ask_for(self) -> None:
        both = choose(SCHEMA, Options(), ["term", "TERM_DICT", "position_lists", "store"])
        assert both.segments == ("TERM_DICT", "POSITIONS", "DOC_STORE")
        assert (both.index, both.positions, both.rows) == (True, True, True)
        rows = choose(SCHEMA, Options(), ["STORE"])
        assert (rows.index, rows.positions, rows.rows) == (False, False, True)

    @pytest.mark.parametrize("segments", [["POSTING"], [""], [], "POSTINGS", [5], 5])
    def test_what_is_no_segment(self, segments: Any) -> None:
        with pytest.raises(OptionError, match=r"segment"):
            choose(SCHEMA, Options(), segments)

    def test_an_error_shows_the_way(self) -> None:
        with pytest.raises(OptionError, match=r"segment 'POSTNGS' does not exist \(did you mean POSTINGS\?\)"):
            choose(SCHEMA, Options(), ["POSTNGS"])

    def test_columns(self) -> None:
        assert choose(SCHEMA, Options(), fields=["ID", "message", "id"]).fields == ("id", "message")
        with pytest.raises(SchemaError, match=r"no column mesage \(did you mean message\?\).*failOnMissingField=false"):
            choose(SCHEMA, Options(), fields=["mesage"])
        left = choose(SCHEMA, Options({"prewarm.failOnMissingField": False}), fields=["mesage", "id", "x", "x"])
        assert (left.fields, left.skipped_fields) == (("id",), ("mesage", "x"))

    @pytest.mark.parametrize("fields", ["id", [1], 5])
    def test_what_are_no_columns(self, fields: Any) -> None:
        with pytest.raises(OptionError, match="fields"):
            choose(SCHEMA, Options(), fields=fields)

    def test_letters_that_could_mean_two_columns(self) -> None:
        schema = pa.schema([("a", pa.int64()), ("A", pa.int64())])
        assert choose(schema, Options(), fields=["A"]).fields == ("A",)


@pytest.fixture
def sparse_always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Positions are left out however little that saves."""
    monkeypatch.setattr(cache_location, "IndexCache", lambda *args: IndexCache(*args, sparse_from=0))


def entries(tmp_path: Path) -> list[str]:
    """The kinds of the entries in the cache: whole, or sparse (without positions)."""
    return sorted(path.name.split("-")[2] for path in (tmp_path / "xdg").glob("*/splits-1/entries/*"))


class TestWhatComes:
    @pytest.mark.usefixtures("sparse_always")
    def test_no_positions_unless_they_are_named(self, tmp_path: Path) -> None:
        table = a_table()
        assert table.prewarm() == Prewarmed(4, 0, 0)
        assert entries(tmp_path) == ["s"] * 4
        assert table.prewarm(segments=["FASTFIELD"]) == Prewarmed(0, 4, 0)
        assert table.count(query='"disk 7"') == 1, "a phrase fetches the positions that it needs"
        assert table.prewarm(segments=["POSTINGS", "POSITIONS"]).segments == ("POSTINGS", "POSITIONS")
        assert entries(tmp_path) == ["w"] * 4

    def test_small_splits_come_whole(self, tmp_path: Path) -> None:
        a_table().prewarm()
        assert entries(tmp_path) == ["w"] * 4

    def test_rows_alone_fetch_no_index(self, tmp_path: Path) -> None:
        table = a_table()
        done = table.prewarm(segments=["DOC_STORE"])
        assert (done.splits, done.segments) == (4, ("DOC_STORE",))
        assert entries(tmp_path) == []
        assert open_splits.OPEN.value.asked["open rows"] == (0, 4), "the row files of four splits were opened"

    def test_the_answer_describes_itself(self) -> None:
        table = a_table(**{"prewarm.failOnMissingField": False})
        done = table.prewarm("day = 'd1'", segments=["TERM"], fields=["message", "nothing"], parallelism=1)
        assert done == Prewarmed(2, 0, 0)
        row = only(inspect.prewarm_answer(done))
        assert row == {
            "host": row["host"],
            "splits_prewarmed": 2,
            "segments": "TERM_DICT",
            "fields": "message",
            "duration_ms": done.duration_ms,
            "status": "success",
            "skipped_fields": "nothing",
        }
        assert repr(done) == "Prewarmed(fetched=2, present=0, left_out=0)"

    def test_status_of_the_answer(self, tmp_path: Path) -> None:
        table = a_table()
        row = only(inspect.prewarm_answer(table.prewarm()))
        assert (row["status"], row["fields"], row["skipped_fields"]) == ("success", "all", None)
        assert only(inspect.prewarm_answer(table.prewarm("day = 'none'")))["status"] == "no_action"
        small = on_store(
            table, None, {"cache.disk.maxBytes": 10, "cache.disk.directory": str(tmp_path / "small")}
        ).prewarm()
        row = only(inspect.prewarm_answer(small))
        assert (row["status"], row["splits_prewarmed"]) == ("partial", 0)

    @pytest.mark.parametrize("parallelism", [0, -1, 1.5, "two", True])
    def test_a_parallelism_that_is_none(self, parallelism: Any) -> None:
        with pytest.raises(OptionError, match="parallelism"):
            a_table(splits=1).prewarm(parallelism=parallelism)

    def test_tasks_take_the_same_choice(self, tmp_path: Path) -> None:
        table = a_table()
        task = plan_prewarm(table.url, Options(), None, ["STORE"], ["id"])
        assert task is not None
        assert task.choice == PrewarmChoice(("DOC_STORE",), ("id",))
        _, done = task.run(0.5)
        assert (done.splits, done.segments, done.fields) == (4, ("DOC_STORE",), ("id",))
        assert entries(tmp_path) == []
        with pytest.raises(SchemaError):
            plan_prewarm(table.url, Options(), None, None, ["nothing"])


class TestJobs:
    def test_a_prewarm_is_a_job(self) -> None:
        table = a_table()
        done = table.prewarm()
        row = only(inspect.describe_prewarm_jobs())
        assert (row["executor_id"], row["job_id"], row["table_path"]) == ("driver", done.job_id, table.url)
        assert (row["status"], row["total_splits"], row["completed_splits"]) == ("COMPLETED", 4, 4)
        assert (row["progress_pct"], row["error_message"]) == (100.0, None)
        assert inspect.describe_prewarm_jobs("memory://elsewhere").num_rows == 0

    def test_one_that_fails(self) -> None:
        table = a_table()

        def fail(*_: Any) -> Any:
            raise StoreUnavailable("no answer")

        away = on_store(table, Hooked(store_of(table), get_ranges=fail))
        with pytest.raises(StoreUnavailable):
            away.prewarm()
        row = only(inspect.describe_prewarm_jobs())
        assert (row["status"], row["error_message"], row["completed_splits"]) == ("FAILED", "no answer", 0)

    def test_beside_the_program(self) -> None:
        table, go_on = a_table(), threading.Event()
        store = store_of(table)

        def slow(key: str, ranges: Any) -> Any:
            assert go_on.wait(60)
            return store.get_ranges(key, ranges)

        waiting = on_store(table, Hooked(store, get_ranges=slow))
        job = waiting.prewarm(wait=False)
        assert isinstance(job, Job)
        begun = only(inspect.prewarm_answer(job, ("TERM_DICT",)))
        assert (begun["status"], begun["segments"], begun["splits_prewarmed"]) == ("running", "TERM_DICT", 0)
        row = only(inspect.wait_for_prewarm(timeout=0.01))
        assert (row["job_id"], row["status"], row["splits_prewarmed"]) == (job.job_id, "RUNNING", 0)
        go_on.set()
        for row in (
            only(inspect.wait_for_prewarm(waiting, timeout=60)),
            only(inspect.wait_for_prewarm(table.url, job.job_id)),
            only(inspect.wait_for_prewarm()),
        ):
            assert (row["status"], row["total_splits"], row["splits_prewarmed"]) == ("COMPLETED", 4, 4)
        assert table.prewarm() == Prewarmed(0, 4, 0)

    def test_beside_the_program_and_failing(self, caplog: pytest.LogCaptureFixture) -> None:
        table = a_table()

        def fail(*_: Any) -> Any:
            raise StoreUnavailable("no answer")

        on_store(table, Hooked(store_of(table), get_ranges=fail)).prewarm(wait=False)
        row = only(inspect.wait_for_prewarm(timeout=60))
        assert (row["status"], row["error_message"]) == ("FAILED", "no answer")
        end = time.monotonic() + 10
        while not caplog.records and time.monotonic() < end:
            time.sleep(0.01)
        assert "a prewarm beside the program failed: no answer" in caplog.text

    def test_a_wait_for_nothing(self) -> None:
        assert inspect.wait_for_prewarm().num_rows == 0
        with pytest.raises(OptionError, match="no prewarm job 'x'"):
            inspect.wait_for_prewarm(job_id="x")

    @pytest.mark.parametrize("timeout", [-1, "soon", float("nan"), float("inf")])
    def test_a_timeout_that_is_none(self, timeout: Any) -> None:
        with pytest.raises(OptionError, match="timeout"):
            inspect.wait_for_prewarm(timeout=timeout)

    def test_what_is_wrong_with_the_question_is_said_at_once(self) -> None:
        table = a_table(splits=1)
        with pytest.raises(SchemaError):
            table.prewarm(fields=["nothing"], wait=False)
        with pytest.raises(OptionError):
            table.prewarm(segments=["nothing"], wait=False)
        assert inspect.describe_prewarm_jobs().num_rows == 0

    def test_figures_of_a_prewarm(self) -> None:
        table = a_table()
        METRICS.reset()
        table.prewarm("day = 'd1'")
        table.prewarm()
        found = METRICS.snapshot()
        assert found["indextables.prewarm.splits_fetched"] == {"count": 2, "sum": 4.0, "last": 2}
        assert found["indextables.prewarm.splits_present"]["sum"] == 2.0
        assert found["indextables.prewarm.duration_ms"]["count"] == 2


class TestMergeJobs:
    def test_a_merge_is_a_job(self, tmp_path: Path) -> None:
        table = a_table(tmp_path / "t", splits=6, **{"indexWriter.threads": 1})
        table.merge_splits()
        row = only(inspect.describe_merge_jobs(str(tmp_path / "t")))
        assert (row["table_path"], row["status"], row["progress_pct"]) == (table.url, "COMPLETED", 100.0)
        assert (row["total_groups"], row["completed_groups"]) == (2, 2)
        assert (row["total_batches"], row["completed_batches"], row["error_message"]) == (2, 2, None)

    def test_nothing_to_merge_is_no_job(self) -> None:
        a_table(splits=1).merge_splits()
        assert inspect.describe_merge_jobs().num_rows == 0

    def test_a_merge_after_a_write_is_a_job(self, tmp_path: Path) -> None:
        options = {"mergeOnWrite.enabled": True, "mergeOnWrite.async.enabled": False, "mergeOnWrite.minSplits": 2}
        table = a_table(tmp_path / "t", splits=4, **options)
        found = inspect.describe_merge_jobs().to_pylist()
        assert len(found) >= 1
        assert {row["status"] for row in found} == {"COMPLETED"}
        assert {row["table_path"] for row in found} == {table.url}

    def test_one_that_fails(self) -> None:
        table = a_table()

        def fail(*_: Any) -> Any:
            raise StoreUnavailable("no answer")

        with pytest.raises(StoreUnavailable):
            on_store(table, Hooked(store_of(table), create=fail)).merge_splits()
        row = only(inspect.describe_merge_jobs())
        assert (row["status"], row["error_message"], row["completed_groups"]) == ("FAILED", "no answer", 0)

    def test_tasks_of_others_are_a_job_of_the_driver(self) -> None:
        from indextables.table.distributed.merge_job import begin_merge, merge_limits

        table = a_table()
        job = begin_merge(table.url, Options(), merge_limits(Options()))
        assert inspect.describe_merge_jobs().num_rows == 0, "a plan is no job yet"
        for task in job.tasks:
            began = job.begin()
            assert only(inspect.describe_merge_jobs())["status"] == "RUNNING"
            job.commit([task.run()], began)
        job.finish()
        row = only(inspect.describe_merge_jobs())
        assert (row["status"], row["total_groups"], row["completed_groups"]) == ("COMPLETED", 2, 2)
        assert (row["total_batches"], row["completed_batches"]) == (None, 2)

    def test_tasks_that_never_came_back(self) -> None:
        from indextables.table.distributed.merge_job import begin_merge, merge_limits

        job = begin_merge(a_table().url, Options(), merge_limits(Options()))
        job.begin()
        del job
        row = only(inspect.describe_merge_jobs())
        assert (row["status"], row["completed_groups"]) == ("FAILED", 0)
        assert "given up" in row["error_message"]

    def test_figures_of_a_merge(self) -> None:
        table = a_table()
        METRICS.reset()
        done = table.merge_splits()
        found = METRICS.snapshot()
        assert found["indextables.merge.sources"]["sum"] == done.sources == 4
        assert found["indextables.merge.results"]["sum"] == done.results == 2
        assert found["indextables.merge.rows"]["sum"] == 200
        assert found["indextables.merge.bytes_before"]["sum"] == done.bytes_before
        assert found["indextables.merge.bytes_after"]["sum"] == done.bytes_after
        assert found["indextables.merge.duration_ms"]["count"] == 1
        assert Table.open(table.url).count() == 200
