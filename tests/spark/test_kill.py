"""Writers that die: every row is in the table exactly once, or the write failed as a whole, and can be tried again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark import cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from indextables import Table
from indextables.spark import write
from indextables.spark.source import IndexTablesSource
from indextables.spark.writing.source_writer import BatchWriter
from indextables.spark.writing.write_options import parse_request
from spark.write_support import ids, logs, program_environment, save, splits_on_disk

pytestmark = pytest.mark.spark

PROGRAM = Path(__file__).with_name("kill_program.py")
FIRST, SECOND = list(range(10)), list(range(100, 150))


def live(url: str) -> set[str]:
    return set(Table.open(url).files().column("path").to_pylist())


@pytest.fixture(scope="module")
def killed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Tables of ten rows whose next writer was killed, by the moment of its death. Both die at the same time."""
    urls, processes = {}, {}
    for moment in ("between", "during"):
        home = tmp_path_factory.mktemp(moment)
        urls[moment] = str(home / "table")
        write(spark.sql("SELECT id, 'first' AS message FROM range(10)"), urls[moment], txn=("loader", 1))
        processes[moment] = subprocess.Popen(
            [sys.executable, str(PROGRAM), urls[moment], moment],
            env=program_environment(home),
            cwd=home,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
    for process in processes.values():
        _, complaint = process.communicate(timeout=200)
        assert process.returncode == -signal.SIGKILL, complaint.decode()[-2000:]
    return urls


def test_driver_killed_between_upload_and_commit(spark: SparkSession, killed: dict[str, str]) -> None:
    url = killed["between"]
    assert ids(url) == FIRST
    assert len(splits_on_disk(url) - live(url)) == 3, "its uploads are orphans, for purge to remove"
    assert write(
        spark.sql("SELECT id, 'again' AS message FROM range(100, 150)"), url, "append", txn=("loader", 2)
    ).written
    assert ids(url) == FIRST + SECOND


def test_driver_killed_during_the_commit(spark: SparkSession, killed: dict[str, str]) -> None:
    url = killed["during"]
    assert ids(url) == FIRST + SECOND
    assert live(url) <= splits_on_disk(url)
    again = write(spark.sql("SELECT id, 'again' AS message FROM range(100, 150)"), url, "append", txn=("loader", 2))
    assert (again.written, again.reason) == (False, "batch 2 of loader is in the table already")
    assert ids(url) == FIRST + SECOND


class DyingWriter(BatchWriter):
    """Its process dies in the middle of the commit, before or after the version file is created."""

    late = False

    def commit(self, messages: Sequence[Any]) -> None:
        import indextables.log.commit as commit_module

        create, late = commit_module.create_version, self.late

        def dying(*what: Any) -> Any:
            if late:
                create(*what)
            os.kill(os.getpid(), signal.SIGKILL)

        commit_module.create_version = dying
        super().commit(messages)


class DyingLateWriter(DyingWriter):
    late = True


class DyingSource(IndexTablesSource):
    @classmethod
    def name(cls) -> str:
        return "indextables_dying"

    def writer(self, schema: StructType, overwrite: bool) -> Any:
        options = dict(self.options)
        late = options.pop("late", "false") == "true"
        return (DyingLateWriter if late else DyingWriter)(schema, options, overwrite)


@pytest.mark.parametrize("late", [False, True])
def test_the_committing_process_killed(spark: SparkSession, url: str, late: bool) -> None:
    """Spark calls `abort` then, with all messages, in a process that cannot know: it must leave everything where it is."""
    save(logs(spark, 10), url)
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    spark.dataSource.register(DyingSource)
    rows = logs(spark, 50, start=100)
    dying = rows.write.format("indextables_dying").mode("append")
    with pytest.raises((PySparkException, Py4JJavaError)):
        dying.option("late", str(late).lower()).option("txnAppId", "loader").option("txnVersion", "1").save(url)
    assert ids(url) == (FIRST + SECOND if late else FIRST)
    assert live(url) <= splits_on_disk(url)
    save(rows, url, txnAppId="loader", txnVersion="1")
    assert ids(url) == FIRST + SECOND


def test_speculation_two_attempts_of_one_task_and_one_is_committed(spark: SparkSession, url: str) -> None:
    """Spark takes the answer of the first attempt that ends; what the other one uploaded is nobody's."""
    job = parse_request({"path": url}, overwrite=False).begin(logs(spark, 1).schema.json())
    parts = [logs(spark, 50, start=start).toArrow().to_batches() for start in (0, 50)]
    first, second, twin = job.build(parts[0]), job.build(parts[1]), job.build(parts[0])
    assert job.commit([twin, second]).written
    assert ids(url) == list(range(100))
    assert splits_on_disk(url) - live(url) == set(first.keys)


def test_a_task_that_fails_fails_the_write(spark: SparkSession, url: str) -> None:
    write(logs(spark, 10), url)
    before = splits_on_disk(url)
    bad = spark.sql("SELECT id, repeat('x', 1 / (id - 35)) AS message, '1' AS day FROM range(30, 60, 1, 3)")
    with pytest.raises(PySparkException, match="DIVIDE_BY_ZERO"):
        save(bad.selectExpr("id", "message", "day"), url)
    assert ids(url) == FIRST
    assert len(splits_on_disk(url) - before) <= 2, "attempts that Spark gave up may leave orphans"


def test_a_commit_refuses_to_begin_without_an_answer_of_every_task(spark: SparkSession, url: str) -> None:
    from indextables.core.errors import CommitError
    from indextables.spark.writing.source_writer import TaskMessage

    writer = BatchWriter(logs(spark, 1).schema, {"path": url}, overwrite=False)
    message = writer.write(iter(logs(spark, 10).toArrow().to_batches()))
    assert isinstance(message, TaskMessage)
    with pytest.raises(CommitError, match="1 of 2 tasks did not say what they wrote, so nothing is committed"):
        writer.commit([message, None])
    assert splits_on_disk(url) == set()


def test_abort_deletes_only_before_a_commit_can_have_begun(spark: SparkSession, url: str) -> None:
    writer = BatchWriter(logs(spark, 1).schema, {"path": url}, overwrite=False)
    messages = [writer.write(iter(logs(spark, 10, start=start).toArrow().to_batches())) for start in (0, 10)]
    writer.abort(messages)
    assert len(splits_on_disk(url)) == 2, "with all messages there, a commit may have happened"
    writer.abort([*messages, None])
    assert splits_on_disk(url) == set()
