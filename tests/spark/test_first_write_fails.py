"""A first write that fails leaves nothing where the table would have been: there is no purge without a table."""

from __future__ import annotations

import base64
import pickle
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from indextables import errors
from indextables.spark import write
from indextables.spark.connector.planning.questions import TableText
from indextables.spark.connector.tables import writes
from indextables.spark.writing.source_writer import BatchWriter
from indextables.spark.writing.write_options import parse_request
from spark.write_support import ids, logs, save, splits_on_disk

pytestmark = pytest.mark.spark


def one_bad_task(spark: SparkSession, url: str, splits: int = 3) -> DataFrame:
    """Ten rows in each of four tasks; the last task fails when the others have written their splits and told so."""
    rows = logs(spark, 40, parts=4)

    def slow(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch
            if 39 in batch.column(0).to_pylist():
                limit = time.monotonic() + 100
                while len(list(Path(url).rglob("*.split"))) < splits and time.monotonic() < limit:
                    time.sleep(0.1)
                time.sleep(2)
                raise ZeroDivisionError("the last task")

    return rows.mapInArrow(slow, rows.schema)


def left(url: str) -> list[str]:
    return [str(path) for path in [Path(url), *Path(url).rglob("*")] if path.exists()]


@pytest.mark.parametrize("partition_by", [None, "day"])
def test_through_the_helper(spark: SparkSession, url: str, partition_by: str | None) -> None:
    with pytest.raises(PySparkException, match="the last task"):
        write(one_bad_task(spark, url, 9 if partition_by else 3), url, partition_by=partition_by)
    assert left(url) == []


@pytest.mark.parametrize("options", [{}, {"partitionBy": "day"}])
def test_through_the_source(spark: SparkSession, url: str, options: dict[str, str]) -> None:
    with pytest.raises(PySparkException, match="the last task"):
        save(one_bad_task(spark, url, 9 if options else 3), url, **options)
    assert left(url) == []


def test_what_was_there_before_stays(spark: SparkSession, url: str) -> None:
    """Files of others, and those of another first write that goes on meanwhile."""
    keep = Path(url, "splits", "of-somebody-else.split")
    keep.parent.mkdir(parents=True)
    keep.touch()
    other = parse_request({"path": url}, overwrite=False).begin(logs(spark, 1).schema.json())
    built = other.build(logs(spark, 10).toArrow().to_batches())
    with pytest.raises(PySparkException, match="the last task"):
        write(one_bad_task(spark, url, 5), url)
    assert splits_on_disk(url) == {"splits/of-somebody-else.split", *built.keys}
    assert other.commit([built]).written
    assert ids(url) == list(range(10))


def test_attempts_that_said_nothing_are_found_by_their_mark(spark: SparkSession, url: str) -> None:
    """A task was killed after its upload, another one failed for good: the commit takes back what both left."""
    job = parse_request({"path": url, "partitionBy": "day"}, overwrite=False).begin(logs(spark, 1).schema.json())
    job.build(logs(spark, 10).toArrow().to_batches())
    said = job.build(logs(spark, 10).toArrow().to_batches())
    wrong = job.build(logs(spark, 10).selectExpr("'x' AS id").toArrow().to_batches())
    assert wrong.error is not None
    assert len(splits_on_disk(url)) == 2 * len(said.keys) == 6
    with pytest.raises(type(wrong.error)):
        job.commit([said, wrong])
    assert left(url) == []


def test_abort_finds_them_too(spark: SparkSession, url: str) -> None:
    writer = BatchWriter(logs(spark, 1).schema, {"path": url}, overwrite=False)
    batches = logs(spark, 10).toArrow().to_batches()
    said = [writer.write(iter(batches)), writer.write(iter(batches))]
    writer.abort(said)
    assert len(splits_on_disk(url)) == 2, "with a message of each task, a commit may have happened"
    writer.abort([said[0], None])
    assert left(url) == []


def test_a_task_that_uploads_after_the_abort(spark: SparkSession, url: str) -> None:
    """Spark aborts when the first task has failed. Others still run, and one of them ends its upload a little later."""
    batches = logs(spark, 10).toArrow().to_batches()
    table = TableText((("path", url),), None, None).encode()
    schema = logs(spark, 1).schema.json()
    asked = {"table": table, "schema": schema, "options": {}, "filters": [], "replaces": "nothing", "purpose": "write"}
    pickled = writes.begin(asked)[1]
    writer = pickle.loads(pickled)
    said = writer.write(iter(batches))
    messages = [base64.b64encode(pickle.dumps(said)).decode(), None]
    writes.abort({"writer": base64.b64encode(pickled).decode(), "messages": messages})
    assert left(url) == []
    writer.write(iter(batches))
    assert len(splits_on_disk(url)) == 1
    limit = time.monotonic() + 60
    while left(url) and time.monotonic() < limit:
        time.sleep(0.1)
    assert left(url) == []


def test_nothing_is_taken_back_when_nobody_can_tell(
    spark: SparkSession, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = parse_request({"path": url}, overwrite=False).begin(logs(spark, 1).schema.json())
    built = job.build(logs(spark, 10).toArrow().to_batches())

    def unknown(*what: object, **more: object) -> None:
        raise errors.CommitOutcomeUnknown("nobody can tell")

    with monkeypatch.context() as patch:
        patch.setattr("indextables.table.build.uploads.commit", unknown)
        with pytest.raises(errors.CommitOutcomeUnknown):
            job.commit([built])
    assert splits_on_disk(url) == set(built.keys)


def test_names_of_later_writes_bear_no_mark(spark: SparkSession, url: str) -> None:
    """And none of them begins as a mark does: it has no dash where they have one."""
    rows = logs(spark, 10).toArrow().to_batches()
    jobs = []
    for _ in range(2):
        jobs.append(parse_request({"path": url}, overwrite=False).begin(logs(spark, 1).schema.json()))
        assert jobs[-1].commit([jobs[-1].build(rows)]).written
    first, later = (job.upload_prefix for job in jobs)
    assert (later, first.index("-")) == ("", 16)
    assert sorted(path.removeprefix("splits/split-").index("-") for path in splits_on_disk(url)) == [8, 16]
