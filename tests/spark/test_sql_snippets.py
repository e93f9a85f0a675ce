"""`indextables_snippet(column)` in SQL: what `Table.search` shows of the same words, by the driver and by tasks."""

from __future__ import annotations

import random
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
    [("id", pa.int64()), ("level", pa.string()), ("message", pa.string()), ("title", pa.string()), ("ms", pa.int32())]
)
WORDS = ("disk", "full", "timeout", "retry", "error", "Node-7", "über", "中")
LOCAL: dict[str, str] = {}
TASKS = {"spark.indextables.read.local.enabled": "false"}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """Texts that are longer than a snippet, some of them null."""
    options = {
        "spark.indextables.indexing.typemap.message": "text",
        "spark.indextables.indexing.typemap.title": "text",
    }
    table = Table.create(str(tmp_path_factory.mktemp("snippets") / "t"), SCHEMA, options=options)
    dice = random.Random(7)
    for part in range(3):
        rows = [
            {
                "id": part * 100 + number,
                "level": dice.choice(["ERROR", "INFO"]),
                "message": None if dice.random() < 0.1 else " ".join(dice.choices(["the", "of", *WORDS], k=60)),
                "title": None if dice.random() < 0.2 else " ".join(dice.choices(WORDS, k=3)),
                "ms": dice.randrange(100),
            }
            for number in range(40)
        ]
        table.append(pa.Table.from_pylist(rows, SCHEMA))
    return table


@pytest.fixture(params=["driver", "tasks"])
def t(request: pytest.FixtureRequest, spark: SparkSession, table: Table) -> DataFrame:
    """The table as a view `t`, answered by the driver or by tasks."""
    options = LOCAL if request.param == "driver" else TASKS
    frame = spark.read.format("indextables").options(**options).load(table.url)
    frame.createOrReplaceTempView("t")
    return frame


def wanted(table: Table, query: str, *columns: str) -> dict[int, Any]:
    """The snippets that the table shows, by id."""
    found = table.search(query, limit=10_000, columns=["id"], snippets=list(columns)).to_pylist()
    rows = {row["id"]: row["_snippets"] for row in found}
    return {number: tuple(row[column] for column in columns) for number, row in rows.items()}


def shown(df: DataFrame) -> dict[int, Any]:
    """The snippets of rows by the first column, which is the id."""
    return {
        row[0]: tuple(None if value is None else value.asDict(recursive=True) for value in row[1:])
        for row in df.collect()
    }


@pytest.mark.parametrize(
    ("where", "query"),
    [
        ("message INDEXQUERY 'disk AND timeout'", "message:(disk AND timeout)"),
        ("message INDEXQUERY '\"node 7\" OR disk*'", 'message:("node 7" OR disk*)'),
        ("message INDEXQUERY 'über' AND message INDEXQUERY '中'", "message:über AND message:中"),
        ("message INDEXQUERY 'full' OR message INDEXQUERY 'retry'", "message:full OR message:retry"),
        ("message INDEXQUERY 'full' AND NOT message INDEXQUERY 'retry'", "message:full AND NOT message:retry"),
    ],
)
def test_snippets_are_those_of_the_table(
    spark: SparkSession, table: Table, t: DataFrame, where: str, query: str
) -> None:
    text = f"SELECT id, indextables_snippet(message), indextables_snippet(title) FROM t WHERE {where}"
    assert shown(spark.sql(text)) == wanted(table, query, "message", "title")


def test_a_search_of_all_columns_shows_all_columns(table: Table, t: DataFrame) -> None:
    found = t.where("indexqueryall('timeout')")
    found = found.selectExpr("id", "indextables_snippet(message)", "indextables_snippet(title)")
    assert shown(found) == wanted(table, "timeout", "message", "title")


def test_rows_of_a_cache_have_none(spark: SparkSession, t: DataFrame) -> None:
    kept = t.where("message INDEXQUERY 'disk'").cache()
    try:
        with pytest.raises(PySparkException, match="where the table is read") as raised:
            kept.selectExpr("indextables_snippet(message)").collect()
        assert len(str(raised.value).strip().splitlines()) == 1
    finally:
        kept.unpersist()


def test_the_answer_comes_without_a_job_where_it_is_small(spark: SparkSession, t: DataFrame) -> None:
    plan = executed_plan(spark.sql("SELECT id, indextables_snippet(message) FROM t WHERE message INDEXQUERY 'disk'"))
    assert ("LocalTableScan" in plan) is ("BatchScan" not in plan)
    if "BatchScan" in plan:
        assert "snippets of message" in plan


def test_a_snippet_is_a_struct_named_by_its_call(spark: SparkSession, t: DataFrame) -> None:
    found = spark.sql("SELECT indextables_snippet(message) FROM t WHERE message INDEXQUERY 'disk'")
    assert found.dtypes == [
        ("indextables_snippet(message)", "struct<text:string,highlights:array<struct<start:int,end:int>>>")
    ]
    row = spark.sql(
        "SELECT message, indextables_snippet(message).text AS text, indextables_snippet(message).highlights[0] AS first "
        "FROM t WHERE message INDEXQUERY 'disk' LIMIT 1"
    ).collect()[0]
    assert row.text in row.message
    assert row.text[row["first"].start : row["first"].end] == "disk"


QUERY = "message INDEXQUERY 'disk AND full'"
SHAPES = [
    f"SELECT id, indextables_snippet(m) FROM (SELECT id, message AS m FROM t WHERE {QUERY})",
    f"SELECT id, indextables_snippet(m) FROM (SELECT *, message m FROM t WHERE {QUERY} ORDER BY ms LIMIT 1000) WHERE ms > -1",
    f"WITH c AS (SELECT * FROM t WHERE {QUERY}) SELECT x.id, indextables_snippet(x.message) FROM c AS x ORDER BY x.ms",
    "SELECT a.id, indextables_snippet(a.message) FROM t a JOIN t b ON a.id = b.id WHERE a.message INDEXQUERY 'disk AND full'",
    f"SELECT id, s FROM (SELECT id, indextables_snippet(message) AS s, row_number() OVER (ORDER BY id) n FROM t WHERE {QUERY})",
    f"SELECT id, s FROM (SELECT id, indextables_snippet(message) AS s FROM t WHERE {QUERY}) WHERE s.text IS NOT NULL",
    f"SELECT id, indextables_snippet(message) FROM t WHERE {QUERY} AND ms + rand() >= 0",
    f"SELECT id, first(indextables_snippet(message)) FROM t WHERE {QUERY} GROUP BY id",
    f"SELECT id, CASE WHEN id >= 0 THEN indextables_snippet(message) END FROM t WHERE {QUERY} ORDER BY id LIMIT 500",
    f"FROM t |> WHERE {QUERY} |> SELECT id, indextables_snippet(message)",
    " UNION ALL ".join(
        f"SELECT id, indextables_snippet(message) FROM t WHERE {QUERY} AND id {part}" for part in ("< 9", ">= 9")
    ),
]


@pytest.mark.parametrize("shape", SHAPES)
def test_every_way_to_write_it(spark: SparkSession, table: Table, t: DataFrame, shape: str) -> None:
    assert shown(spark.sql(shape)) == wanted(table, "message:(disk AND full)", "message")


def test_the_best_rows_with_their_scores(spark: SparkSession, table: Table) -> None:
    best = table.search("message:disk", limit=5, columns=["id"], snippets=["message"]).to_pylist()
    for options in (LOCAL, TASKS):
        frame = spark.read.format("indextables").options(**options).load(table.url)
        found = frame.where("message INDEXQUERY 'disk'").selectExpr("id", "indextables_snippet(message) AS s", "_score")
        rows = found.orderBy("_score", ascending=False).limit(5).collect()
        assert sorted(row["_score"] for row in rows) == sorted(row["_score"] for row in best)
        texts = {row["id"]: row["_snippets"]["message"] for row in best}
        assert all(texts[row.id] == row.s.asDict(recursive=True) for row in rows if row.id in texts)


def test_the_option_query_shows_its_words(spark: SparkSession, table: Table) -> None:
    for options in (LOCAL, TASKS):
        frame = spark.read.format("indextables").options(**options, query="message:retry").load(table.url)
        assert shown(frame.selectExpr("id", "indextables_snippet(message)")) == wanted(
            table, "message:retry", "message"
        )


def test_without_a_search_a_snippet_is_the_beginning(spark: SparkSession, t: DataFrame) -> None:
    rows = spark.sql("SELECT message, indextables_snippet(message) AS s FROM t WHERE ms >= 0").collect()
    assert any(row.message is None for row in rows)
    for row in rows:
        assert (row.s is None) is (row.message is None)
        if row.s is not None:
            assert row.message.startswith(row.s.text)
            assert len(row.s.text) <= 160
            assert row.s.highlights == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT indextables_snippet(level) FROM t", "level is not indexed as text"),
        ("SELECT indextables_snippet(ms) FROM t", "takes a column of texts"),
        ("SELECT indextables_snippet(upper(message)) FROM t", "takes a column of texts"),
        ("SELECT indextables_snippet(message, 5) FROM t", "takes a column of texts"),
        ("SELECT indextables_snippet(m) FROM (SELECT upper(message) AS m FROM t LIMIT 5)", "where the table is read"),
        ("SELECT indextables_snippet(m) FROM (VALUES ('a'), ('b')) AS v(m)", "where the table is read"),
        ("SELECT indextables_snippet(cast(id AS STRING)) FROM range(3)", "takes a column of texts"),
        (
            "SELECT indextables_snippet(message) FROM (SELECT message FROM t GROUP BY message)",
            "grouped|where the table is read",
        ),
    ],
)
def test_where_it_cannot_be_answered_is_an_error_of_one_line(
    spark: SparkSession, t: DataFrame, text: str, said: str
) -> None:
    with pytest.raises(PySparkException, match=said) as raised:
        spark.sql(text).collect()
    assert len(str(raised.value).strip().splitlines()) == 1, raised.value


FOUND = "message INDEXQUERY 'disk' AND indextables_snippet(message).text LIKE '%disk%'"


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        (f"SELECT * FROM t WHERE {FOUND}", "found"),
        ("SELECT * FROM t WHERE message INDEXQUERY 'disk' ORDER BY indextables_snippet(message).text, id", "found"),
        (f"SELECT * FROM t WHERE {FOUND} UNION ALL SELECT * FROM t", "found and all"),
        (
            (
                "SELECT a.* FROM t a JOIN t b ON a.id = b.id AND indextables_snippet(a.message).text != b.level "
                "WHERE a.message INDEXQUERY 'disk'"
            ),
            "found",
        ),
        (f"SELECT *, indextables_snippet(title).text AS s FROM t WHERE {FOUND}", "found"),
    ],
)
def test_a_snippet_beside_all_columns(spark: SparkSession, t: DataFrame, table: Table, sql: str, rows: str) -> None:
    """A snippet in WHERE, ORDER BY or ON is no column of the answer, and takes no row away."""
    frame = spark.sql(sql)
    columns = [*SCHEMA.names, "s"] if " AS s " in sql else SCHEMA.names
    assert frame.columns == columns
    found = [tuple(row) for row in frame.collect()]
    disks, every = table.count(query="message:disk"), table.count()
    assert len(found) == {"found": disks, "found and all": disks + every}[rows]
    assert all(len(row) == len(columns) for row in found)


def test_rows_chosen_by_a_snippet_are_written(spark: SparkSession, t: DataFrame, table: Table, tmp_path: Path) -> None:
    spark.sql(f"SELECT * FROM t WHERE {FOUND}").write.parquet(str(tmp_path / "out"))
    assert spark.read.parquet(str(tmp_path / "out")).count() == table.count(query="message:disk")
