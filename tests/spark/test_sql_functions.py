"""Buckets as functions of SQL: what the table computes and what Spark computes are what `Table.aggregate` gives."""

from __future__ import annotations

import datetime as dt
import math
import random
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from indextables import Table
from spark.support import executed_plan

pytestmark = pytest.mark.spark

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("tiny", pa.int8()),
        ("size", pa.int32()),
        ("number", pa.int64()),
        ("ratio", pa.float32()),
        ("ms", pa.float64()),
        ("price", pa.decimal128(9, 2)),
        ("day", pa.date32()),
        ("ts", pa.timestamp("us", "UTC")),
        ("wall", pa.timestamp("us")),
        ("word", pa.string()),
        ("message", pa.string()),
        ("at", pa.struct([("size", pa.int32()), ("ts", pa.timestamp("us", "UTC"))])),
    ]
)
SPECIAL = (0.0, -0.0, math.nan, math.inf, -math.inf, 0.1, 0.3, -0.1, -1e-300, 1e300, 2.0**53, -7.5, 5e-324)
LOCAL, TASKS = {}, {"spark.indextables.read.local.enabled": "false"}  # type: dict[str, str], dict[str, str]
KEYS = [
    "histogram(tiny, 3)",
    "histogram(size, 7)",
    "histogram(number, 1000)",
    "histogram(number, 9223372036854775807)",
    "histogram(ratio, 0.1)",
    "histogram(ratio, 2)",
    "histogram(ms, 0.1)",
    "histogram(ms, 2.5)",
    "histogram(ms, 1e-200)",
    "histogram(at.size, 10)",
    "date_histogram(day, '1d')",
    "date_histogram(day, '10 days')",
    "date_histogram(day, 'week')",
    "date_histogram(day, 'month')",
    "date_histogram(day, 'year')",
    "date_histogram(ts, '15 minutes')",
    "date_histogram(ts, 'hour')",
    "date_histogram(ts, 'day')",
    "date_histogram(ts, 'week')",
    "date_histogram(ts, 'month')",
    "date_histogram(ts, 'quarter')",
    "date_histogram(ts, 'year')",
    "date_histogram(at.ts, '7h')",
    "date_histogram(wall, '1 hour')",
    "date_histogram(wall, 'week')",
    "date_histogram(wall, 'month')",
    "date_histogram(wall, 'quarter')",
    "range(tiny, -1000, 0, 1.5, 1000)",
    "range(size, -10, 0, 10.5)",
    "range(number, 0, 1e18)",
    "range(ratio, -0.1, 0, 0.1, 0.3)",
    "range(ms, 0, 0.3, 1e300)",
    "range(price, -1.005, 0, 2.50)",
    "range(day, '1969-12-31', '2026-01-31')",
    "range(ts, '1970-01-01', '2026-01-31 12:00:00')",
    "range(wall, '1970-01-01', '2026-03-08 02:30:00')",
    "range(word, 'a', 'it''s', 'é')",
]


def _rows(seed: int) -> pa.Table:
    dice = random.Random(seed)

    def some(value: Any) -> Any:
        return None if dice.random() < 0.1 else value

    rows = []
    for number in range(120):
        year = dice.choice([1, 1582, 1900, 1969, 1970, 2026, 9999])
        moment = dt.datetime(year, dice.randrange(1, 13), dice.randrange(1, 29), dice.randrange(24), dice.randrange(60))  # noqa: DTZ001
        moment += dt.timedelta(microseconds=dice.choice([0, 1, 999_999]))
        at = {"size": some(dice.randrange(-30, 30)), "ts": some(moment.replace(tzinfo=dt.UTC))}
        rows.append(
            {
                "id": seed * 1000 + number,
                "tiny": some(dice.randrange(-128, 128)),
                "size": some(dice.randrange(-30, 30)),
                "number": some(dice.choice([number, -number, 2**63 - 1, -(2**62), 10**18 + number])),
                "ratio": some(dice.choice([*SPECIAL[:8], 1.5, -2.5])),
                "ms": some(dice.choice([*SPECIAL, number / 4, -number / 8])),
                "price": some(Decimal(dice.randrange(-500, 500)).scaleb(-2)),
                "day": some(moment.date()),
                "ts": some(moment.replace(tzinfo=dt.UTC)),
                "wall": some(moment),
                "word": some(dice.choice(["", "a", "it's", "it", "é", "中", "b\\n"])),
                "message": some(" ".join(dice.choices(["disk", "full", "error"], k=2))),
                "at": some(at),
            }
        )
    return pa.Table.from_pylist(rows, SCHEMA)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    place = str(tmp_path_factory.mktemp("functions") / "t")
    options = {"spark.indextables.indexing.typemap.message": "text"}
    table = Table.create(place, SCHEMA, options=options)
    for seed in (1, 2, 3):
        table.append(_rows(seed))
    return table


@pytest.fixture(scope="module")
def parquet(spark: SparkSession, table: Table, tmp_path_factory: pytest.TempPathFactory) -> str:
    place = str(tmp_path_factory.mktemp("functions") / "parquet")
    spark.read.format("indextables").load(table.url).write.parquet(place)
    return place


def load(spark: SparkSession, table: Table, options: dict[str, str]) -> None:
    spark.read.format("indextables").options(**options).load(table.url).createOrReplaceTempView("t")


def as_function(key: str) -> str:
    return f"indextables_{key}"


def plain(column: pa.ChunkedArray) -> list[Any]:
    """Values that compare: NaN is equal to itself, -0.0 is not 0.0, moments are numbers, because Python's end at the year 1."""
    if pa.types.is_date(column.type):
        column = column.cast(pa.int32())
    elif pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    return [repr(value) if isinstance(value, float) else value for value in column.to_pylist()]


def counted(df: DataFrame) -> Counter[Any]:
    """How often each key comes."""
    key, number = df.toArrow().columns
    return Counter(dict(zip(plain(key), number.to_pylist(), strict=True)))


def expected(table: Table, key: str, where: str | None = None) -> Counter[Any]:
    """The same by the table itself."""
    key_column, number = table.aggregate(key, "count", where=where).columns
    return Counter(dict(zip(plain(key_column), number.to_pylist(), strict=True)))


@pytest.mark.parametrize("key", KEYS)
def test_keys_of_groups_are_computed_by_the_table(spark: SparkSession, table: Table, key: str) -> None:
    text = f"SELECT {as_function(key)} AS k, count(*) FROM t WHERE message INDEXQUERY 'disk' GROUP BY 1"
    wanted = expected(table, key, "message INDEXQUERY 'disk'")
    load(spark, table, LOCAL)
    assert counted(spark.sql(text)) == wanted
    assert "LocalTableScan" in executed_plan(spark.sql(text))
    load(spark, table, TASKS)
    assert counted(spark.sql(text)) == wanted
    assert "groups [count(*)] by [" in executed_plan(spark.sql(text))


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("ansi", ["true", "false"])
def test_spark_computes_the_same(
    spark: SparkSession, table: Table, parquet: str, key: str, ansi: str, setting: Callable[[str, str], None]
) -> None:
    setting("spark.sql.ansi.enabled", ansi)
    setting("spark.sql.session.timeZone", "America/New_York" if ansi == "true" else "Asia/Kolkata")
    wanted = expected(table, key)
    call = as_function(key)
    spark.read.parquet(parquet).createOrReplaceTempView("p")
    assert counted(spark.sql(f"SELECT {call}, count(*) FROM p GROUP BY 1")) == wanted
    load(spark, table, TASKS)
    assert counted(spark.sql(f"SELECT {call}, 1 FROM t")).keys() == wanted.keys()
    filtered = spark.sql(f"SELECT {call}, count(*) FROM t WHERE id + rand() > -1 GROUP BY 1")
    assert counted(filtered) == wanted
    assert "groups" not in executed_plan(filtered)
    load(spark, table, LOCAL)
    assert counted(spark.sql(f"SELECT {call}, 1 FROM t")).keys() == wanted.keys()


def test_the_type_is_that_of_the_key(spark: SparkSession, table: Table) -> None:
    load(spark, table, LOCAL)
    found = spark.sql(
        "SELECT indextables_histogram(tiny, 2) a, indextables_histogram(ratio, 2) b, indextables_date_histogram(day, 'week') c, "
        "indextables_date_histogram(ts, 'week') d, indextables_date_histogram(wall, 'week') e, indextables_range(id, 1) f FROM t"
    )
    assert [kind for _, kind in found.dtypes] == ["bigint", "double", "date", "timestamp", "timestamp_ntz", "string"]


SHAPES = [
    "SELECT k, count(*) FROM (SELECT indextables_date_histogram(ts, '1 day') AS k FROM t {where}) GROUP BY k",
    "WITH c AS (SELECT *, indextables_date_histogram(ts, '1d') AS k FROM t {where}) SELECT k, count(*) FROM c GROUP BY k",
    "SELECT indextables_date_histogram(ts, 'day'), count(*) FROM t {where} GROUP BY indextables_date_histogram(ts, 'day')",
    "SELECT indextables_date_histogram(ts, INTERVAL 1 DAY) AS k, count(*) FROM t {where} GROUP BY k ORDER BY k DESC",
    "SELECT indextables_date_histogram(ts, INTERVAL '24:00' HOUR TO MINUTE) AS k, count(*) n FROM t {where} GROUP BY ALL",
    "SELECT indextables_date_histogram(x.ts, concat('1 ', 'day')) AS k, count(*) n FROM t AS x {where} GROUP BY 1 HAVING n > 0",
    "SELECT first(k), count(*) FROM (SELECT indextables_date_histogram(ts, '1 day') AS k, 1 AS c FROM t {where}) GROUP BY k, c",
]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("options", [LOCAL, TASKS], ids=["driver", "tasks"])
def test_every_way_to_write_a_group(spark: SparkSession, table: Table, shape: str, options: dict[str, str]) -> None:
    load(spark, table, options)
    found = spark.sql(shape.format(where="WHERE message INDEXQUERY 'disk OR full'"))
    assert counted(found) == expected(table, "date_histogram(ts, 'day')", "message INDEXQUERY 'disk OR full'")
    if "first" not in shape:
        assert ("LocalTableScan" if options is LOCAL else "by [steps of 86400000000 of ts]") in executed_plan(found)


def test_several_keys_and_numbers(spark: SparkSession, table: Table, parquet: str) -> None:
    text = (
        "SELECT indextables_range(size, 0, 10) AS r, word, indextables_histogram(at.size, 20) AS h, count(*) n, "
        "sum(tiny) s, max(ts) m, avg(tiny) a FROM {} GROUP BY ALL ORDER BY ALL"
    )
    wanted = spark.sql(text.format(f"parquet.`{parquet}`")).collect()
    for options in (LOCAL, TASKS):
        load(spark, table, options)
        assert spark.sql(text.format("t")).collect() == wanted


def test_as_a_filter_an_order_and_a_part_of_others(spark: SparkSession, table: Table, parquet: str) -> None:
    text = (
        "SELECT id, indextables_histogram(size, 10) + 1 AS next, upper(indextables_range(size, 'a' IS NULL, 5)) FROM {} "
    ).replace("'a' IS NULL", "-5") + (
        "WHERE indextables_histogram(size, 10) = 10 AND indextables_date_histogram(ts, 'month') < current_date() "
        "ORDER BY indextables_histogram(ms, 1), id LIMIT 20"
    )
    wanted = spark.sql(text.format(f"parquet.`{parquet}`")).collect()
    assert wanted
    for options in (LOCAL, TASKS):
        load(spark, table, options)
        assert spark.sql(text.format("t")).collect() == wanted


def test_a_column_without_a_name_is_named_by_its_call(spark: SparkSession, table: Table) -> None:
    load(spark, table, LOCAL)
    assert spark.sql("SELECT indextables_histogram(size, 10) FROM t").columns == ["indextables_histogram(size, 10)"]


def test_constants_are_computed_while_planning(spark: SparkSession) -> None:
    found = spark.sql(
        "SELECT indextables_histogram(17, 5), indextables_histogram(-0.25D, 0.1), indextables_range('b', 'a', 'c'), "
        "indextables_date_histogram(DATE'1969-12-31', 'week'), indextables_range(CAST(NULL AS INT), 1), "
        "indextables_histogram(CAST(NULL AS BIGINT), 1)"
    )
    row = found.collect()[0]
    assert tuple(row) == (15, -0.30000000000000004, "[a, c)", dt.date(1969, 12, 29), None, None)
    assert "indextables" not in executed_plan(found).replace("AS indextables", "")


@pytest.mark.parametrize(
    ("call", "where", "label"),
    [
        ("indextables_range(day, DATE'2000-01-01')", "day >= '2020-01-01'", ">= 2000-01-01"),
        ("indextables_range(ts, TIMESTAMP'2000-01-01 01:00:00Z')", "ts > '2020-01-01'", ">= 2000-01-01 01:00:00Z"),
        ("indextables_range(wall, TIMESTAMP_NTZ'2000-01-01 00:00:00')", "wall < '1999-01-01'", "< 2000-01-01 00:00:00"),
        ("indextables_range(ms, 1e0, 2.5D)", "ms BETWEEN 1 AND 2", "[1, 2.5)"),
        ("indextables_range(price, 0.50BD)", "price > 1", ">= 0.50"),
        ("indextables_range(price, cast('-0.5' AS FLOAT))", "price > 1", ">= -0.5"),
    ],
)
def test_edges_are_of_any_type(
    spark: SparkSession, table: Table, parquet: str, call: str, where: str, label: str
) -> None:
    load(spark, table, LOCAL)
    for source in (f"parquet.`{parquet}`", "t"):
        assert [row[0] for row in spark.sql(f"SELECT DISTINCT {call} FROM {source} WHERE {where}").collect()] == [label]


def test_a_value_whose_bucket_has_no_beginning_is_an_error(
    spark: SparkSession, setting: Callable[[str, str], None]
) -> None:
    for ansi in ("true", "false"):
        setting("spark.sql.ansi.enabled", ansi)
        numbers = spark.range(1).selectExpr(
            "-9223372036854775807L - id AS n", "timestamp_micros(-9223372036854775807L - id) AS ts"
        )
        for call in (
            "indextables_histogram(n, 1000)",
            "indextables_date_histogram(ts, 'h')",
            "indextables_date_histogram(ts, 'year')",
        ):
            with pytest.raises(PySparkException, match="so small that its bucket begins before the least value"):
                numbers.selectExpr(call).collect()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("indextables_histogram(size, 0)", "the width 0 is no number above 0"),
        ("indextables_histogram(size, -1)", "the width -1 is no number above 0"),
        ("indextables_histogram(size, 1.5)", "is a whole number below 2"),
        ("indextables_histogram(size)", "takes a column and a width"),
        ("indextables_histogram(size, 1, 2)", "takes a column and a width"),
        ("indextables_histogram()", "takes a column first"),
        ("indextables_histogram(size, id)", "values that are written in the query, not .*id"),
        ("indextables_histogram(size, NULL)", "null is no width"),
        ("indextables_histogram(size, true)", "of type boolean"),
        ("indextables_histogram(word, 10)", "word is a string"),
        ("indextables_histogram(price, 10)", "price is a decimal"),
        ("indextables_histogram(rand(), 10)", "a value that stays the same"),
        ("indextables_date_histogram(ts, 'fortnight')", "'fortnight' is none of"),
        ("indextables_date_histogram(ts, INTERVAL 2 MONTHS)", "'2 months' is none of"),
        ("indextables_date_histogram(ts, 3600)", "the interval 3600 is none of"),
        ("indextables_date_histogram(day, '1 hour')", "smallest interval is a day"),
        ("indextables_date_histogram(word, '1 hour')", "of dates or timestamps"),
        ("indextables_range(size)", "at least one edge"),
        ("indextables_range(size, 2, 1)", "the edge 1 does not lie above 2"),
        ("indextables_range(size, 'x')", "x"),
        ("indextables_range(at, 1)", "has no ranges"),
    ],
)
def test_wrong_arguments_are_an_error_of_one_line(spark: SparkSession, table: Table, call: str, said: str) -> None:
    load(spark, table, LOCAL)
    with pytest.raises(PySparkException, match=said) as raised:
        spark.sql(f"SELECT {call} FROM t")
    assert len(str(raised.value).strip().splitlines()) == 1, raised.value


def test_rows_with_buckets_are_written_cached_and_seen_through_views(
    spark: SparkSession, table: Table, tmp_path: Path
) -> None:
    load(spark, table, TASKS)
    found = spark.sql(
        "SELECT indextables_histogram(size, 10) AS k, count(*) AS n FROM t WHERE size + 0 < 100 GROUP BY k"
    )
    wanted = expected(table, "histogram(size, 10)", "size < 100")
    found.write.parquet(str(tmp_path / "rows"))
    assert counted(spark.read.parquet(str(tmp_path / "rows"))) == wanted
    cached = found.cache()
    assert counted(cached) == wanted
    assert "InMemory" in executed_plan(
        spark.sql("SELECT indextables_histogram(size, 10) AS k, count(*) AS n FROM t WHERE size + 0 < 100 GROUP BY k")
    )
    cached.unpersist()
    spark.sql("CREATE TABLE named_t USING indextables LOCATION '" + table.url + "'")
    spark.sql("CREATE VIEW sizes AS SELECT indextables_histogram(size, 10) AS k, count(*) AS n FROM named_t GROUP BY 1")
    try:
        assert counted(spark.sql("SELECT * FROM sizes")) == expected(table, "histogram(size, 10)")
        assert counted(spark.newSession().sql("SELECT * FROM sizes")) == expected(table, "histogram(size, 10)")
    finally:
        spark.sql("DROP VIEW sizes")
        spark.sql("DROP TABLE named_t")
