"""Our statements in `spark.sql`: each gives the table that `indextables.sql` gives, in classic and in Connect sessions.

A statement that changes its table runs on copies: the same table, once for each way.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
import pytest
from pyspark.errors import ParseException, PySparkException
from pyspark.sql import SparkSession

import indextables
from indextables import Table
from indextables.core.errors import LogWarning
from indextables.spark import install, tasks
from indextables.spark.statements import each_executor, spark_table
from indextables.sql.commands import Command
from indextables.sql.grammar import parse_statement
from spark.catalog_support import one, refused

pytestmark = pytest.mark.spark

STATEMENTS = [
    "MERGE SPLITS {t} TARGET SIZE 100M",
    "merge splits {t} where day = 'a' max dest splits 1 precommit",
    "PURGE INDEXTABLE {t} OLDER THAN 14 DAYS DRY RUN",
    "PURGE TANTIVY4SPARK {t};",
    "DROP INDEXTABLES PARTITIONS FROM {t} WHERE day = 'a'",
    "CHECKPOINT INDEXTABLES {t}",
    "COMPACT INDEXTABLES {t}",
    "TRUNCATE INDEXTABLES TIME TRAVEL {t} DRY RUN",
    "TRUNCATE INDEXTABLES TIME TRAVEL {t}",
    "OPTIMIZE INDEXTABLES {t} DRY RUN",
    "FSCK INDEXTABLES {t}",
    "RESTORE INDEXTABLES {t} TO VERSION 2",
    "ALTER INDEXTABLES {t} SET PROPERTIES ('team' = 'blue')",
    "ALTER INDEXTABLES {t} UNSET PROPERTIES (team)",
    "ALTER INDEXTABLES {t} UPGRADE PROTOCOL",
    "DESCRIBE INDEXTABLES STATE {t}",
    "DESCRIBE INDEXTABLES TRANSACTION LOG {t} INCLUDE ALL",
    "DESCRIBE INDEXTABLES HISTORY {t} LIMIT 2",
    "DESCRIBE HISTORY {t}",
    "/* a comment */ DESC INDEXTABLES PARTITIONS {t} -- and another",
    "DESCRIBE INDEXTABLES COMPONENT SIZES {t} WHERE day = 'b'",
    "PREWARM INDEXTABLES CACHE {t} ON FIELDS (message)",
    "INVALIDATE INDEXTABLES TRANSACTION LOG CACHE FOR {t}",
    "CLONE INDEXTABLES {t} TO '{place}-clone'",
    "REPAIR INDEXFILES TRANSACTION LOG '{place}/_transaction_log' AT LOCATION '{place}-log/_transaction_log'",
]
"""Statements about a table, which is named by its place between quotes."""
OF_PROCESS = [
    "DESCRIBE INDEXTABLES DISK CACHE",
    "DESCRIBE INDEXTABLES STORAGE STATS",
    "DESCRIBE INDEXTABLES DATA SKIPPING STATS",
    "DESCRIBE INDEXTABLES ENVIRONMENT",
    "DESCRIBE INDEXTABLES MERGE JOBS",
    "DESCRIBE INDEXTABLES PREWARM JOBS",
    "WAIT FOR INDEXTABLES PREWARM JOBS TIMEOUT 1",
    "ENABLE INDEXTABLES PROFILER",
    "DISABLE INDEXTABLES PROFILER",
    "DESCRIBE INDEXTABLES PROFILER",
    "DESCRIBE INDEXTABLES PROFILER CACHE",
    "RESET INDEXTABLES PROFILER",
    "RESET INDEXTABLES PROFILER CACHE",
    "FLUSH INDEXTABLES DISK CACHE",
    "FLUSH INDEXTABLES SEARCHER CACHE",
    "FLUSH INDEXTABLES DATA SKIPPING STATS",
    "INVALIDATE INDEXTABLES DATA SKIPPING CACHE",
]
"""Statements about this process. Their figures move, so their columns are compared, and the names in their rows."""
MOVES = frozenset(
    {"duration_ms", "txn_id", "timestamp", "cache_hits_before", "cache_misses_before", "hit_rate_before", "bytes_after"}
)
"""Columns that differ from run to run."""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of four versions, with small splits to merge and a property."""
    place = tmp_path_factory.mktemp("statements") / "template"
    table = Table.create(str(place), "id long, message text, day string", partition_by=["day"])
    for number, day in enumerate("aab"):
        table.append(pa.table({"id": [number, -number], "message": ["disk full", "fan"], "day": [day] * 2}))
    table.commit_files(properties={"team": "red"})
    return place


@pytest.fixture(params=["classic", "connect"])
def session(request: pytest.FixtureRequest) -> SparkSession:
    return request.getfixturevalue("spark" if request.param == "classic" else "remote")  # type: ignore[no-any-return]


@pytest.fixture
def place(template: Path, tmp_path: Path) -> str:
    """A copy of the table."""
    shutil.copytree(template, tmp_path / "spark")
    return str(tmp_path / "spark")


def steady(rows: pa.Table) -> list[dict[str, Any]]:
    """The rows without what differs from run to run, and from copy to copy."""
    names = [name for name in rows.column_names if name not in MOVES]
    return [
        {name: _steady(name, row[name]) for name in names if not str(row[name]).startswith("/")}
        for row in rows.select(names).to_pylist()
    ]


def _steady(name: str, value: Any) -> Any:
    if name in ("message", "value", "metrics") or isinstance(value, float):
        return "".join(letter for letter in str(value).replace("alone", "spark") if not letter.isdigit())
    return dict(value) if isinstance(value, list) and value and isinstance(value[0], tuple) else value


def asked(session: SparkSession, text: str) -> pa.Table:
    return session.sql(text).toArrow()


@pytest.mark.filterwarnings("ignore::indextables.core.errors.LogWarning")  # a repair says how logs are swapped
@pytest.mark.parametrize("statement", STATEMENTS)
def test_the_same_table_as_embedded(session: SparkSession, template: Path, place: str, statement: str) -> None:
    embedded = place.replace("spark", "alone")
    shutil.copytree(template, embedded)
    expected = indextables.sql(statement.format(t=f"'{embedded}'", place=embedded))
    after = Table.open(embedded).version
    frame = session.sql(statement.format(t=f"'{place}'", place=place))
    assert Table.open(place).version == after, "the statement ran before its rows were asked for"
    got = frame.toArrow()
    assert got.column_names == expected.column_names
    if "splits/" not in str(steady(expected)):  # names of new splits differ
        assert steady(got) == steady(expected)
    assert got.num_rows == expected.num_rows
    assert Table.open(place).version == after, "and it ran once"
    assert frame.count() == got.num_rows
    assert Table.open(place).version == after


def test_a_repair_says_how_logs_are_swapped(session: SparkSession, place: str) -> None:
    """The answer has no column for it: it is a warning of the process that calls `sql`, whichever kind the session is."""
    text = f"REPAIR INDEXTABLES TRANSACTION LOG '{place}/_transaction_log' AT LOCATION '{place}/_new_log'"
    with pytest.warns(LogWarning) as said:
        (row,) = asked(session, text).to_pylist()
    assert row["status"] == "success"
    (found,) = [str(warning.message) for warning in said if warning.category is LogWarning]
    _, _, commands = found.partition("While nobody reads or writes the table, run: ")
    assert commands.count("mv ") == 2, found
    subprocess.run(commands, shell=True, check=True, timeout=60)
    assert Table.open(place).count() == 6


@pytest.mark.parametrize("statement", OF_PROCESS)
def test_statements_about_the_process(session: SparkSession, statement: str) -> None:
    expected, got = indextables.sql(statement), asked(session, statement)
    assert got.column_names == expected.column_names
    for name in ("executor_id", "host", "cache_type", "metric", "cache", "role"):
        if name in got.column_names:
            assert set(got.column(name).to_pylist()) <= set(expected.column(name).to_pylist()) | {"driver"}


def test_every_statement_is_here() -> None:
    texts = [statement.format(t="'/t'", place="/t") for statement in STATEMENTS] + OF_PROCESS
    assert {type(parse_statement(text)) for text in texts} == set(get_args(Command))


@pytest.fixture
def names(spark: SparkSession, place: str) -> Iterator[Callable[[str], Any]]:
    """The table under names of every kind."""
    spark.sql("CREATE DATABASE IF NOT EXISTS other")
    spark.sql(f"CREATE TABLE named USING indextables LOCATION '{place}'")
    spark.sql(f"CREATE TABLE other.inner_name USING indextables LOCATION '{place}'")
    frame = spark.read.format("indextables").load(place)
    frame.createOrReplaceTempView("viewed")
    frame.select("*").createOrReplaceTempView("all_columns")
    frame.where("id > 0").createOrReplaceTempView("filtered")
    spark.range(3).createOrReplaceTempView("numbers")
    yield lambda name: one(spark, f"DESCRIBE INDEXTABLES HISTORY {name} LIMIT 1")
    for view in ("viewed", "all_columns", "filtered", "numbers"):
        spark.catalog.dropTempView(view)
    spark.sql("DROP TABLE IF EXISTS named")
    spark.sql("DROP TABLE IF EXISTS other.inner_name")
    spark.sql("DROP DATABASE other")


def test_names_are_those_of_the_session(spark: SparkSession, place: str, names: Callable[[str], Any]) -> None:
    for name in [
        f"'{place}'",
        f'"{place}"',
        f"`{place}`",
        f"indextables.`{place}`",
        "named",
        "NAMED",
        "default.named",
        "spark_catalog.default.named",
        "`named`",
        "other.inner_name",
        "viewed",
        "all_columns",
    ]:
        assert names(name) == 4, name
    spark.sql("USE other")
    try:
        assert names("inner_name") == 4
        assert "there is no table or view `named`" in refused(names, "named")
    finally:
        spark.sql("USE default")
    spark.sql("USE indextables")
    try:
        assert names(f"`{place}`") == 4
        assert names("spark_catalog.default.named") == 4
    finally:
        spark.sql("USE spark_catalog.default")


def test_what_is_no_table_is_an_error_of_one_line(names: Callable[[str], Any], tmp_path: Path) -> None:
    assert "there is no table or view `missing` in this session" in refused(names, "missing")
    assert "`filtered` is no table of indextables, nor a view of all rows of one" in refused(names, "filtered")
    assert "`numbers` is no table of indextables" in refused(names, "numbers")
    assert "TableNotFound" in refused(names, f"'{tmp_path}/nothing'")


PARTS = {"where": "id = 1", "query": "day:a", "limit": "1", "versionAsOf": "1", "timestampAsOf": "2100-01-01"}
"""Options of a read that is not the whole table."""
ABOUT_PARTS = [
    "DROP INDEXTABLES PARTITIONS FROM part WHERE day = 'a'",
    "RESTORE INDEXTABLES part TO VERSION 0",
    "MERGE SPLITS part",
    "DESCRIBE INDEXTABLES PARTITIONS part",
    "DESCRIBE HISTORY part",
]


@pytest.mark.parametrize("option", PARTS)
def test_a_view_of_a_part_is_not_the_table(session: SparkSession, place: str, option: str) -> None:
    """A reader's option is in no node of the view's plan. A statement would be about the rows that the option leaves out, too."""
    session.read.format("indextables").option(option, PARTS[option]).load(place).createOrReplaceTempView("part")
    try:
        for text in ABOUT_PARTS:
            said = refused(session.sql, text)
            assert f"part is a view that was read with {option}, " in said
            assert f"name the table by its place, '{place}'" in said
        assert asked(session, f"DESCRIBE INDEXTABLES PARTITIONS '{place}'").num_rows == 2
    finally:
        session.catalog.dropTempView("part")
    assert (Table.open(place).version, Table.open(place).count()) == (4, 6)


def test_a_view_of_a_part_of_a_table_with_a_name_is_not_the_table(
    spark: SparkSession, place: str, names: Callable[[str], Any]
) -> None:
    parts = {
        "where": spark.read.option("where", "id = 1").table("named"),
        "limit": spark.sql("SELECT * FROM named WITH (limit = 1)"),
        "versionAsOf": spark.sql("SELECT * FROM named VERSION AS OF 1"),
        "timestampAsOf": spark.sql("SELECT * FROM named TIMESTAMP AS OF '2100-01-01'"),
        "query": spark.read.option("QUERY", "day:a").table(f"indextables.`{place}`"),
    }
    for option, frame in parts.items():
        frame.createOrReplaceTempView("part")
        for text in ABOUT_PARTS:
            assert f"part is a view that was read with {option}, " in refused(spark.sql, text)
    spark.read.option("spark.indextables.read.local.enabled", "false").table("named").createOrReplaceTempView("part")
    assert names("part") == 4
    spark.catalog.dropTempView("part")
    assert (Table.open(place).version, Table.open(place).count()) == (4, 6)


def test_a_view_of_all_rows_is_the_table_as_it_is_now(session: SparkSession, place: str) -> None:
    session.read.format("indextables").load(place).createOrReplaceTempView("whole")
    Table.open(place).append(pa.table({"id": [9], "message": ["new"], "day": ["c"]}))
    try:
        assert asked(session, "DESCRIBE INDEXTABLES PARTITIONS whole").column("day").to_pylist() == ["a", "b", "c"]
    finally:
        session.catalog.dropTempView("whole")


def test_a_table_with_padded_texts_has_statements(spark: SparkSession) -> None:
    """Spark pads CHAR columns in a projection over the table, which computes nothing of the user's."""
    spark.sql("CREATE TABLE padded (code CHAR(3), inner STRUCT<c: CHAR(2)>, id INT) USING indextables")
    try:
        spark.table("padded").createOrReplaceTempView("padded_view")
        for name in ("padded", "padded_view"):
            assert one(spark, f"DESCRIBE INDEXTABLES HISTORY {name} LIMIT 1") == 0
        spark.sql("SELECT upper(code) AS code FROM padded").createOrReplaceTempView("padded_view")
        assert "nor a view of all rows of one" in refused(spark.sql, "PURGE INDEXTABLES padded_view DRY RUN")
    finally:
        spark.catalog.dropTempView("padded_view")
        spark.sql("DROP TABLE padded")


def test_a_history_of_another_format_is_sparks(spark: SparkSession, names: Callable[[str], Any]) -> None:
    """Delta Lake has DESCRIBE HISTORY too. Spark itself takes it for a column of a table that is called history."""
    assert spark.sql("DESCRIBE HISTORY named").columns[:2] == ["version", "timestamp"]
    with pytest.raises(PySparkException, match="HISTORY"):
        spark.sql("DESCRIBE HISTORY numbers")
    spark.sql("CREATE TABLE history (numbers INT) USING parquet")
    try:
        assert spark.sql("DESCRIBE HISTORY numbers").collect()[0][1] == "numbers"
    finally:
        spark.sql("DROP TABLE history")


def test_names_in_a_connect_session(remote: SparkSession, place: str) -> None:
    remote.read.format("indextables").load(place).createOrReplaceTempView("remote_view")
    remote.read.format("indextables").load(place).where("id > 0").createOrReplaceTempView("remote_filter")
    remote.sql(f"CREATE TABLE remote_name USING indextables LOCATION '{place}'")
    remote.read.option("where", "id = 1").table("remote_name").createOrReplaceTempView("remote_part")
    try:
        for name in ("remote_view", "remote_name", "default.remote_name", f"indextables.`{place}`", f"`{place}`"):
            assert remote.sql(f"DESCRIBE INDEXTABLES HISTORY {name} LIMIT 1").collect()[0][0] == 4, name
        for name in ("remote_filter", "remote_part", "remote_missing"):
            with pytest.raises(indextables.errors.TableNotFound, match="is no table of indextables in this session"):
                remote.sql(f"PURGE INDEXTABLES {name} DRY RUN")
    finally:
        remote.sql("DROP TABLE remote_name")
        remote.catalog.dropTempView("remote_view")
        remote.catalog.dropTempView("remote_filter")
        remote.catalog.dropTempView("remote_part")


SLIPS = {
    "PURGE INDEXTABLES '/t' DRY RUNN": "RUNN at position 28",
    "PURGE INDEXTABLES": "ends too early, at position 18: expected a table",
    "MERGE SPLITS '/t' TARGET SIZE many": "many at position 31",
    "DROP INDEXTABLES PARTITIONS FROM '/t'": "expected WHERE",
    "DELETE FROM INDEXTABLES '/t' WHERE id = 1": "is not available in this release",
    "DESCRIBE INDEXTABLES SOMETHING": "SOMETHING at position 22",
    "PURGE INDEXTABLES '/t'; PURGE INDEXTABLES '/t'": "a second statement begins at position 25",
}


@pytest.mark.parametrize("text", SLIPS)
def test_slips_are_one_line_with_the_position(session: SparkSession, text: str) -> None:
    said = refused(session.sql, text)
    assert SLIPS[text] in said


def test_settings_of_the_session_are_options_of_the_table(
    session: SparkSession, place: str, setting: Callable[[str, str], None]
) -> None:
    assert asked(session, "DESCRIBE INDEXTABLES DISK CACHE").column("max_bytes").to_pylist() != [12345678]
    before = session.conf.get("spark.indextables.cache.disk.maxBytes", None)
    session.conf.set("spark.indextables.cache.disk.maxBytes", "12345678")
    try:
        assert asked(session, "DESCRIBE INDEXTABLES DISK CACHE").column("max_bytes").to_pylist() == [12345678]
    finally:
        session.conf.unset("spark.indextables.cache.disk.maxBytes")
    assert before is None


SPARKS = [
    "SELECT 1 AS indextables",
    "DESCRIBE indextables_like",
    "DESCRIBE TABLE EXTENDED indextables_like",
    "DESCRIBE QUERY SELECT 'PURGE INDEXTABLES t'",
    "EXPLAIN SELECT 'MERGE SPLITS t'",
    "SHOW TABLES LIKE 'indextables*'",
    "SET spark.indextables.read.local.enabled",
    "VALUES ('DESCRIBE HISTORY t')",
    "-- PURGE INDEXTABLES t\nSELECT 1",
    "/* MERGE SPLITS t */ SELECT 1",
]


@pytest.mark.parametrize("text", SPARKS)
def test_statements_of_spark_are_untouched(session: SparkSession, text: str) -> None:
    session.sql("CREATE OR REPLACE TEMPORARY VIEW indextables_like AS SELECT 1 AS splits, 2 AS history")
    assert session.sql(text).collect()


@pytest.mark.parametrize(
    "text",
    [
        "EXPLAIN PURGE INDEXTABLES '{t}'",
        "CREATE VIEW v AS MERGE SPLITS '{t}'",
        "SELECT * FROM (CHECKPOINT INDEXTABLES '{t}')",
    ],
)
def test_a_statement_inside_of_another_does_not_run(spark: SparkSession, place: str, text: str) -> None:
    before = sorted(path.name for path in Path(place).rglob("*"))
    with pytest.raises(ParseException):
        spark.sql(text.format(t=place))
    assert sorted(path.name for path in Path(place).rglob("*")) == before


def test_texts_of_spark_are_read_as_before(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random texts of our words and Spark's: a text that is none of ours gives what Spark's own parser gives."""
    words = [
        "DESCRIBE",
        "DROP",
        "MERGE",
        "INTO",
        "TABLE",
        "EXTENDED",
        "INDEXTABLES",
        "splits",
        "history",
        "t",
        "'x'",
        "`INDEXTABLES`",
    ]
    words += ["ALTER", "RESET", "TRUNCATE", "WHERE", ".", "AS", "DELETE FROM", "(", ")", "SELECT 1", "1", "PARTITIONS"]
    dice = random.Random(18)
    plain = spark._jvm.org.apache.spark.sql.execution.SparkSqlParser()
    parser = spark._jsparkSession.sessionState().sqlParser()

    def outcome(of: Any, text: str) -> str:
        try:
            return str(of.parsePlan(text).canonicalized().toString())
        except Exception as error:
            java = getattr(error, "java_exception", None)
            return str(error if java is None else java.getMessage())

    seen = 0
    for _ in range(300):
        text = " ".join(dice.choices(words, k=dice.randrange(1, 6)))
        try:
            ours = parse_statement(text) is not None
        except indextables.errors.StatementError:
            ours = True
        if ours:
            continue
        seen += 1
        mine, its = outcome(parser, text), outcome(plain, text)
        assert mine.split("#")[0] == its.split("#")[0], text
    assert seen > 150


def test_a_session_without_install_knows_no_statement(spark: SparkSession, place: str) -> None:
    other = spark.newSession()
    with pytest.raises(ParseException):
        other.sql(f"CHECKPOINT INDEXTABLES '{place}'")
    install(other)
    assert other.sql(f"CHECKPOINT INDEXTABLES '{place}'").collect()[0].status == "success"


def test_executors_merge_and_compact_what_is_large(
    spark: SparkSession, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def jobs(text: str) -> tuple[dict[str, Any], int]:
        """The row of an answer, and the jobs that the statement ran in the caller's job group."""
        group = uuid.uuid4().hex
        spark.sparkContext.setJobGroup(group, text)
        try:
            (row,) = spark.sql(text).collect()
        finally:
            spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
        return row.asDict(), len(spark.sparkContext.statusTracker().getJobIdsForGroup(group))

    small, count = jobs(f"MERGE SPLITS '{place}' WHERE day = 'b'")
    assert (small["status"], count) == ("no_action", 0), "a small table is the driver's"
    for limit in ("MERGE_BYTES", "COMPACT_FILES"):
        monkeypatch.setattr(spark_table, limit, 1)
    merged, count = jobs(f"MERGE SPLITS '{place}'")
    assert count > 0
    assert (merged["status"], merged["sources"], merged["results"], merged["rows"]) == ("success", 2, 1, 4)
    Table.open(place).append(pa.table({"id": [9], "message": ["new"], "day": ["c"]}))
    compacted, _ = jobs(f"COMPACT INDEXTABLES '{place}'")
    assert (compacted["status"], compacted["num_files"]) == ("success", 3)
    assert Table.open(place).count() == 7


def test_executors_purge_and_read_footers_of_what_is_large(
    spark: SparkSession, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = asked(spark, f"DESCRIBE INDEXTABLES COMPONENT SIZES '{place}'")
    orphans = [Path(place) / "splits" / f"split-{number}.split" for number in range(1_500)]
    orphans[0].parent.mkdir(exist_ok=True)
    for path in orphans:
        path.write_bytes(b"orphan")
        os.utime(path, (0, 0))
    dry = asked(spark, f"PURGE INDEXTABLES '{place}' DRY RUN").to_pylist()
    for limit in ("PURGE_FILES", "FOOTER_FILES"):
        monkeypatch.setattr(spark_table, limit, 1)
    calls: list[str] = []
    run = tasks.run_on_executors

    def counted(session: SparkSession, asked_for: Sequence[Any]) -> list[Any]:
        calls.extend(call.func.__name__ for call in asked_for)
        return run(session, asked_for)

    monkeypatch.setattr(tasks, "run_on_executors", counted)
    monkeypatch.setattr("indextables.table.inspect.component_sizes.SPLITS_AT_ONCE", 1)
    monkeypatch.setattr("indextables.table.distributed.maintenance.SPLITS_AT_ONCE", 1)
    assert asked(spark, f"DESCRIBE INDEXTABLES COMPONENT SIZES '{place}'").equals(here)
    assert set(calls) == {"_components_of_packed"}
    assert len(asked(spark, f"PURGE INDEXTABLES '{place}' DRY RUN")) == len(dry)
    (purged,) = asked(spark, f"PURGE INDEXTABLES '{place}'").to_pylist()
    assert (purged["status"], purged["orphaned_files_deleted"]) == ("success", 1_500)
    assert calls.count("delete_batch") == 2
    assert not any(path.exists() for path in orphans)
    assert Table.open(place).count() == 6


def test_figures_of_executors_are_rows_beside_the_drivers(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers of a local master stand for executors."""
    monkeypatch.setattr(each_executor, "has_executors", lambda _: True)
    stats = asked(spark, "DESCRIBE INDEXTABLES STORAGE STATS").to_pylist()
    assert stats[0]["executor_id"] == "driver"
    assert len(stats) >= 2
    assert all(row["executor_id"] != "driver" for row in stats[1:])
    roles = asked(spark, "DESCRIBE INDEXTABLES ENVIRONMENT").column("role").to_pylist()
    assert set(roles) == {"driver", "executor"}
    (enabled,) = asked(spark, "ENABLE INDEXTABLES PROFILER").to_pylist()
    assert enabled["host_count"] == 1
    asked(spark, "DISABLE INDEXTABLES PROFILER")
    caches = asked(spark, "DESCRIBE INDEXTABLES PROFILER CACHE").column("cache").to_pylist()
    assert len(caches) == len(set(caches)) > 0
    (flushed,) = asked(spark, "FLUSH INDEXTABLES SEARCHER CACHE").to_pylist()
    assert "processes" in flushed["message"]


def test_sums_of_several_processes() -> None:
    schema = pa.schema(
        [("cache", pa.string()), ("hits", pa.int64()), ("misses", pa.int64()), ("hit_rate", pa.float64())]
    )
    parts = [
        pa.Table.from_pylist([{"cache": "a", "hits": 1, "misses": 1, "hit_rate": 0.5}], schema=schema),
        pa.Table.from_pylist(
            [{"cache": "a", "hits": 3, "misses": 0, "hit_rate": 1.0}, {"cache": "b", "hits": 0, "misses": 0}],
            schema=schema,
        ),
    ]
    assert each_executor.summed(parts).to_pylist() == [
        {"cache": "a", "hits": 4, "misses": 1, "hit_rate": 0.8},
        {"cache": "b", "hits": 0, "misses": 0, "hit_rate": None},
    ]
