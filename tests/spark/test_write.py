"""Writing DataFrames: modes, columns, types, and what a table remembers of its first write."""

from __future__ import annotations

import datetime as dt
import json

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from indextables import Table, errors
from indextables.spark import write
from spark.write_support import ids, logs, save, splits_on_disk

pytestmark = pytest.mark.spark

TEXT = {"spark.indextables.indexing.typemap.message": "text"}


def test_write_with_spark_data_source(spark: SparkSession, url: str) -> None:
    save(logs(spark, 10), url, partitionBy="day", **TEXT)
    save(logs(spark, 10, start=10), url)
    table = Table.open(url)
    assert table.partition_columns == ("day",)
    assert table.version == 2
    assert ids(url) == list(range(20))
    assert ids(url, query="message:17") == [17]
    assert ids(url, where="day = '2024-01-01'") == [0, 3, 6, 9, 12, 15, 18]
    assert splits_on_disk(url) == set(table.files().column("path").to_pylist())


def test_append_is_one_version_whatever_the_number_of_tasks(spark: SparkSession, url: str) -> None:
    done = write(logs(spark, 100, parts=5), url)
    assert (done.version, done.written) == (1, True)
    assert done.metrics["numAddedFiles"] == 5
    assert done.metrics["numAddedRecords"] == 100
    assert ids(url) == list(range(100))
    assert Table.open(url).history().column("operation").to_pylist() == ["WRITE", "CREATE TABLE"]


def test_modes_that_spark_refuses_to_python_sources(spark: SparkSession, url: str) -> None:
    assert write(logs(spark, 3), url, "ignore").written
    again = write(logs(spark, 9), url, "ignore")
    assert (again.written, again.version) == (False, 1)
    with pytest.raises(errors.TableExists, match=r"there is a table at .* already: use mode append"):
        write(logs(spark, 9), url)
    assert ids(url) == [0, 1, 2]
    with pytest.raises(errors.OptionError, match="mode is 'replace', expected one of"):
        write(logs(spark, 9), url, "replace")  # type: ignore[arg-type]


def test_a_table_that_appears_meanwhile_is_not_written_to(
    spark: SparkSession, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from indextables.table.distributed.write_job import WriteJob

    commit = WriteJob.commit

    def late(self: WriteJob, built: object) -> object:
        Table.create(url, self.plan.schema)
        return commit(self, built)  # type: ignore[arg-type]

    monkeypatch.setattr(WriteJob, "commit", late)
    with pytest.raises(errors.TableExists):
        write(logs(spark, 3), url)
    assert Table.open(url).count() == 0
    assert splits_on_disk(url) == set()


def test_the_first_of_two_writers_creates_the_table(spark: SparkSession, url: str) -> None:
    from indextables.spark.writing.write_options import parse_request

    schema = logs(spark, 1).schema.json()
    first, second = (parse_request({"path": url}, overwrite=False).begin(schema) for _ in range(2))
    batch = logs(spark, 4).toArrow().to_batches()
    built = [job.build(batch) for job in (first, second)]
    assert first.commit(built[:1]).version == 1
    assert second.commit(built[1:]).version == 2
    assert Table.open(url).count() == 8


def test_a_writer_that_planned_another_table_is_refused(spark: SparkSession, url: str) -> None:
    from indextables.spark.writing.write_options import parse_request

    schema = logs(spark, 1).schema.json()
    job = parse_request({"path": url, "partitionBy": "day"}, overwrite=False).begin(schema)
    built = job.build(logs(spark, 4).toArrow().to_batches())
    write(logs(spark, 2), url)
    with pytest.raises(errors.MetadataChanged, match="partition columns"):
        job.commit([built])
    assert splits_on_disk(url) == set(Table.open(url).files().column("path").to_pylist())


def test_columns_are_found_by_name_and_may_be_missing(spark: SparkSession, url: str) -> None:
    write(logs(spark, 2), url)
    write(spark.sql("SELECT 'later' AS MESSAGE, 7L AS Id"), url, "append")
    assert Table.open(url).scan(where="id = 7").read_all().to_pylist() == [{"id": 7, "message": "later", "day": None}]


def test_columns_of_a_new_table_are_nullable_as_with_sparks_own_sources(spark: SparkSession, url: str) -> None:
    df = spark.sql("SELECT id, struct(id AS x) AS s, array(id) AS a FROM range(2)")
    assert not df.schema["id"].nullable
    write(df, url)
    schema = Table.open(url).schema
    assert schema.field("id").nullable
    assert schema.field("s").type.field("x").nullable
    assert schema.field("a").type.value_field.nullable


def test_required_columns_of_a_table_are_required(spark: SparkSession, url: str) -> None:
    import pyarrow as pa

    Table.create(url, pa.schema([pa.field("id", pa.int64(), nullable=False), ("message", pa.string())]))
    with pytest.raises(errors.SchemaError, match="no column id, which the table requires"):
        write(spark.sql("SELECT 'a' AS message"), url, "append")
    with pytest.raises(errors.SchemaError, match="column id is required, and the data has 1 nulls"):
        write(spark.sql("SELECT CAST(NULL AS BIGINT) AS id, 'a' AS message UNION ALL SELECT 1L, 'b'"), url, "append")
    assert Table.open(url).count() == 0
    assert splits_on_disk(url) == set()


def test_exact_types_come_back(spark: SparkSession, url: str) -> None:
    df = spark.sql("""
        SELECT 1Y AS b, 2S AS s, 3 AS i, 4L AS l, 1.5F AS f, 2.5D AS d, 1.25BD AS n, true AS t, X'00FF' AS x,
            DATE'2024-01-31' AS day, TIMESTAMP'2024-01-31 12:00:00.123456 UTC' AS at,
            TIMESTAMP_NTZ'2024-01-31 12:00:00' AS wall, INTERVAL '1 02:03:04.5' DAY TO SECOND AS took,
            INTERVAL '2-3' YEAR TO MONTH AS term, TIME'10:11:12.123456' AS clock, parse_json('{"a":[1,2]}') AS v,
            'straße' COLLATE UNICODE_CI AS c, map('k', array(1, NULL)) AS m, named_struct('x', 1, 'y', 'z') AS r,
            CAST(NULL AS VOID) AS nothing
    """)
    write(df, url)
    table = Table.open(url)
    row = table.scan().read_all().to_pylist()[0]
    assert row["at"] == dt.datetime(2024, 1, 31, 12, 0, 0, 123456, tzinfo=dt.UTC)
    assert row["wall"] == dt.datetime(2024, 1, 31, 12)  # noqa: DTZ001 - a time on the wall
    assert row["took"] == dt.timedelta(days=1, hours=2, minutes=3, seconds=4.5)
    assert row["term"] == 27
    assert row["m"] == [("k", [1, None])]
    assert (row["b"], row["s"], row["i"], row["l"], row["f"], row["d"]) == (1, 2, 3, 4, 1.5, 2.5)
    assert (str(row["n"]), row["x"], row["c"], row["r"]) == ("1.25", b"\x00\xff", "straße", {"x": 1, "y": "z"})
    from indextables.core.types import arrow_to_spark_json
    from indextables.table.build.incoming_schema import as_nullable

    assert json.loads(arrow_to_spark_json(table.schema)) == json.loads(as_nullable(df.schema.json()))
    write(df, url, "append")
    assert table.refresh().count() == 2


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("'text' AS id", r"column id is long \(int64\), the data has string"),
        ("1L AS id, 2 AS extra", "the data has a column extra, the table has no such column"),
        ("INTERVAL '3' MONTH AS id", "column id is long, the data has interval month, which is not cast to it"),
        ("1.5D AS id", r"column id is long \(int64\), the data has double"),
    ],
)
def test_wrong_types_are_one_line_before_any_task_runs(
    spark: SparkSession, url: str, column: str, message: str
) -> None:
    write(logs(spark, 2), url)
    with pytest.raises(errors.SchemaError, match=message) as caught:
        write(spark.sql(f"SELECT {column}"), url, "append")
    assert "\n" not in str(caught.value)
    assert ids(url) == [0, 1]


def test_errors_through_the_source_name_the_column_without_a_traceback_of_ours(spark: SparkSession, url: str) -> None:
    save(logs(spark, 2), url)
    with pytest.raises(PySparkException, match=r"SchemaError: column id is long") as caught:
        save(spark.sql("SELECT 'text' AS id"), url)
    assert "rows_in" not in str(caught.value)
    with pytest.raises(PySparkException, match=r"write with indextables\.spark\.write"):
        save(spark.sql("SELECT INTERVAL '3' MONTH AS id"), url)


def test_options_of_the_first_write_are_the_tables(spark: SparkSession, url: str) -> None:
    save(logs(spark, 2), url, partitionBy="Day", **TEXT)
    table = Table.open(url)
    assert table.partition_columns == ("day",)
    assert table.properties["spark.indextables.indexing.typemap.message"] == "text"
    with pytest.raises(errors.OptionError, match=r"asks for string, but column message .* was created with text"):
        write(logs(spark, 2), url, "append", options={"indexing.typemap.message": "string"})
    with pytest.raises(errors.OptionError, match=r"partitionBy is id, but table .* is partitioned by day"):
        write(logs(spark, 2), url, "append", partition_by="id")
    with pytest.raises(errors.OptionError, match=r"safetyAge.hours is 5, but table .* was created with 72"):
        write(logs(spark, 2), url, "append", options={"safetyAge.hours": 5})
    write(logs(spark, 2, start=2), url, "append", partition_by=["DAY"], options=TEXT)
    assert ids(url) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"partitionOverwriteMode": "often"}, "partitionOverwriteMode is 'often', expected static or dynamic"),
        ({"replaceWhere": "day = '1'"}, "this write appends: use mode overwrite"),
        ({"txnAppId": "nightly"}, "txnAppId and txnVersion belong together"),
        ({"txnAppId": "nightly", "txnVersion": "x"}, "txnVersion is 'x', expected a whole number"),
        ({"mergeOnWrit.enabled": "true"}, "unknown option mergeonwrit.enabled, did you mean"),
    ],
)
def test_bad_options_are_one_line(spark: SparkSession, url: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(errors.OptionError, match=message):
        write(logs(spark, 1), url, "append", options=options)


def test_a_failed_first_write_leaves_no_table(spark: SparkSession, url: str) -> None:
    with pytest.raises(PySparkException, match="DIVIDE_BY_ZERO"):
        write(spark.sql("SELECT id, 1 / (id - 3) AS x FROM range(5)"), url)
    with pytest.raises(errors.TableNotFound):
        Table.open(url)


def test_an_empty_frame_makes_an_empty_table(spark: SparkSession, url: str) -> None:
    done = write(logs(spark, 0), url, partition_by="day")
    assert (done.version, done.written, done.reason) == (0, False, "the data has no rows")
    save(logs(spark, 0), url)
    assert Table.open(url).count() == 0
    assert Table.open(url).partition_columns == ("day",)
