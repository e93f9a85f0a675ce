"""Every type that Spark 4 can store, there and back, beside Spark's own Parquet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from indextables.errors import SchemaError
from indextables.spark import read, write

pytestmark = pytest.mark.spark

PLAIN = {
    "tiny": "element_at(array(-128Y, 127Y, 0Y, 1Y, -1Y), n)",
    "small": "element_at(array(-32768S, 32767S, 0S, 1S, -1S), n)",
    "whole": "element_at(array(-2147483648, 2147483647, 0, 1, -1), n)",
    "large": "element_at(array(-9223372036854775808L, 9223372036854775807L, 0L, 9007199254740993L, -1L), n)",
    "single": "element_at(array(float('NaN'), float('-Infinity'), -0.0F, 1.17549435E-38F, 3.4E38F), n)",
    "double": "element_at(array(double('NaN'), double('Infinity'), -0.0D, 4.9E-324D, 1.7976931348623157E308D), n)",
    "price": "element_at(array(-99999999.99BD, 99999999.99BD, 0.00BD, 0.01BD, -0.01BD), n)",
    "huge": "CAST(element_at(array('99999999999999999999999999999999999999', '-1', '0', '7', '-8'), n) AS DECIMAL(38,0))",
    "flag": "n % 2 = 0",
    "raw": "element_at(array(X'', X'00', X'FF00FF', X'C3A9', X'0A'), n)",
    "text": "element_at(array('', 'straße', '\\u0000', '中文 😀', repeat('x', 70000)), n)",
    "short": "CAST(element_at(array('', 'a', 'bc', ' d ', 'é'), n) AS VARCHAR(5))",
    "nocase": "element_at(array('', 'Straße', 'STRASSE', 'é', 'E'), n) COLLATE UNICODE_CI",
    "lower": "element_at(array('', 'A', 'a', 'Ä', 'ß'), n) COLLATE UTF8_LCASE",
    "day": "element_at(array(DATE'0001-01-01', DATE'9999-12-31', DATE'1582-10-15', DATE'1969-12-31', DATE'2024-02-29'), n)",
    "at": "timestamp_micros(element_at(array(-62135596800000000, 253402300799999999, -1, 0, 1700000000123456), n))",
    "wall": "CAST(element_at(array('0001-01-01', '9999-12-31 23:59:59.999999', '1969-12-31 23:59:59.999999', '1970-01-01', "
    "'2024-03-10 02:30:00'), n) AS TIMESTAMP_NTZ)",
    "took": "element_at(array(INTERVAL '106751991 04:00:54.775807' DAY TO SECOND, INTERVAL '-1' SECOND, INTERVAL '0' DAY, "
    "INTERVAL '1 02:03:04.5' DAY TO SECOND, INTERVAL '0.000001' SECOND), n)",
    "hours": "CAST(element_at(array(-5, 5, 0, 100, 24), n) AS INTERVAL HOUR)",
    "clock": "element_at(array(TIME'00:00:00', TIME'23:59:59.999999', TIME'12:00:00', TIME'00:00:00.000001', TIME'10:11:12'), n)",
    "second": "CAST(element_at(array(TIME'00:00:00', TIME'23:59:59', TIME'12:00:00', TIME'1:02:03', TIME'10:11:12'), n) "
    "AS TIME(0))",
}
"""Columns whose text says all about their value."""
INSIDE = {
    "list": "element_at(array(array(1L, NULL), array(), array(NULL), array(3L), array(4L, 5L)), n)",
    "nothing": "array()",
    "map": "element_at(array(map('a', array(1)), map(), map('k', NULL), map('', array(NULL)), "
    "map('b', array(2, 3), 'c', array())), n)",
    "dates": "map(DATE'2020-01-01', timestamp_micros(n), DATE'2020-01-02', NULL)",
    "record": "named_struct('x', IF(n = 2, NULL, n), 'y', named_struct('z', IF(n = 3, NULL, timestamp_micros(n))))",
    "records": "array(named_struct('p', concat('q', n), 'r', DATE'2020-01-01', 's', array(CAST(n AS DECIMAL(12,3)))), NULL)",
    "deep": "map('m', map(1, named_struct('l', array(array(n, NULL), array()))))",
    "words": "array('x' COLLATE UNICODE_CI, NULL)",
    "spans": "array(INTERVAL '1' DAY, NULL)",
    "clocks": "named_struct('t', TIME'10:11:12')",
    "doc": """parse_json(element_at(array('{"a":[1,null,{"b":"c"}]}', '1.5', '"text"', 'null', '[]'), n))""",
    "docs": "array(parse_json('1'), NULL)",
    "empty": "NULL",
}
"""Columns that are compared as JSON."""
MONTHS = (
    "element_at(array(INTERVAL '-3' YEAR, INTERVAL '178956970-7' YEAR TO MONTH, INTERVAL '0' MONTH, "
    "INTERVAL '2-3' YEAR TO MONTH), n)"
)
POINT = "ST_GeomFromWKB(X'0101000000000000000000F03F0000000000000040')"


@pytest.fixture(scope="module")
def everything(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, DataFrame]:
    """A table of every type, and the same rows in Parquet. Each fifth of a column is null."""
    spark.conf.set("spark.sql.timeType.enabled", "true")
    columns = {**PLAIN, **INSIDE}
    chosen = ", ".join(
        f"IF((n + {place}) % 5 = 0, NULL, {what}) AS {name}" for place, (name, what) in enumerate(columns.items())
    )
    df = spark.sql(f"SELECT id, {chosen} FROM (SELECT id, CAST(id % 5 + 1 AS INT) AS n FROM range(0, 10, 1, 2))")
    home = tmp_path_factory.mktemp("types")
    df.write.parquet(str(home / "parquet"))
    write(df, str(home / "table"), options={"spark.indextables.indexing.typemap.text": "text"})
    return str(home / "table"), spark.read.parquet(str(home / "parquet"))


def told(df: DataFrame) -> list[Any]:
    plain = [f"hex({name}) AS {name}" if name == "raw" else f"CAST({name} AS STRING) AS {name}" for name in PLAIN]
    return (
        df.selectExpr("id", *plain, *(f"to_json(struct({name})) AS {name}" for name in INSIDE)).orderBy("id").collect()
    )


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Kathmandu"])
@pytest.mark.parametrize("how", ["source", "helper"])
def test_every_type_comes_back(
    spark: SparkSession, everything: tuple[str, DataFrame], in_zone: Callable[..., Any], zone: str, how: str
) -> None:
    url, parquet = everything
    with in_zone(zone):
        ours = spark.read.format("indextables").load(url) if how == "source" else read(spark, url)
        assert ours.schema == parquet.schema
        found, wanted = told(ours), told(parquet)
    assert len(wanted) == 10
    for mine, theirs in zip(found, wanted, strict=True):
        assert mine.asDict() == theirs.asDict()


def test_values_compare_as_they_do_in_parquet(spark: SparkSession, everything: tuple[str, DataFrame]) -> None:
    """Not only their texts are the same: Spark sorts, groups and joins them alike."""
    url, parquet = everything
    ours = spark.read.format("indextables").load(url)
    same = " AND ".join(f"a.{name} <=> b.{name}" for name in [*PLAIN, "list", "record", "records", "words", "spans"])
    assert ours.alias("a").join(parquet.alias("b"), "id").where(same).count() == 10
    assert ours.groupBy("nocase").count().count() == parquet.groupBy("nocase").count().count()


def test_intervals_of_months_come_through_the_helper(spark: SparkSession, python_source: str, url: str) -> None:
    df = spark.sql(
        f"SELECT id, {MONTHS} AS term, CAST({MONTHS} AS INTERVAL MONTH) AS months "
        "FROM (SELECT id, NULLIF(CAST(id + 1 AS INT), 5) AS n FROM range(5))"
    )
    write(df, url)
    back = read(spark, url, where="id < 10")
    assert back.schema.simpleString() == df.schema.simpleString()
    texts = ["id", "CAST(term AS STRING)", "CAST(months AS STRING)"]
    assert back.selectExpr(*texts).orderBy("id").collect() == df.selectExpr(*texts).orderBy("id").collect()
    says = r"column term of type interval year to month does not pass .*spark.read"
    with pytest.raises(PySparkException, match=says):
        spark.read.format(python_source).load(url)
    assert spark.read.format(python_source).option("columns", "id").load(url).count() == 5
    loaded = spark.read.format("indextables").load(url)
    assert loaded.schema.simpleString() == df.schema.simpleString()
    with pytest.raises(PySparkException, match=says):
        loaded.collect()
    assert loaded.count() == 5, "the other columns can be read"
    assert sorted(row.id for row in loaded.select("id").collect()) == list(range(5))


def test_shapes_come_back(spark: SparkSession, url: str) -> None:
    df = spark.sql(f"SELECT id, IF(id = 1, NULL, {POINT}) AS place FROM range(3)")
    write(df, url)
    back = spark.read.format("indextables").load(url)
    assert back.schema == df.schema.fromJson(back.schema.jsonValue())
    assert back.schema["place"].dataType == df.schema["place"].dataType
    texts = ["id", "hex(ST_AsBinary(place))"]
    assert back.selectExpr(*texts).orderBy("id").collect() == df.selectExpr(*texts).orderBy("id").collect()


def test_a_schema_that_is_given_must_be_the_tables(spark: SparkSession, url: str) -> None:
    write(spark.sql("SELECT 1L AS id, 'a' AS text"), url)

    def count(schema: str) -> int:
        return spark.read.format("indextables").schema(schema).load(url).count()

    assert count("text STRING") == 1
    for schema, message in {
        "id INT": "column id is bigint in the table, not int; read it as it is, and cast it then",
        "ID BIGINT": "the table has no column ID; it is written id",
        "other INT": "the table has no column other; its columns are id, text",
        "id BIGINT NOT NULL": "column id may be null in the table, so the schema cannot say NOT NULL",
    }.items():
        with pytest.raises(PySparkException, match=f"SchemaError: {message}"):
            count(schema)


def test_bad_columns_are_named(spark: SparkSession, url: str) -> None:
    write(spark.sql("SELECT 1L AS id, 'a' AS text"), url)
    with pytest.raises(SchemaError, match=r"the table has no column txt; did you mean text\?"):
        read(spark, url, columns=["txt"])
    with pytest.raises(SchemaError, match="column id is asked for twice"):
        read(spark, url, columns=["id", "ID"])
