"""SQL in, what is handed over to the table out: `fixtures/*.sql`, one file a topic.

    -- what the case is about
    SELECT id FROM logs WHERE day = '2026-01-02' AND upper(level) = 'ERROR'
    --> logs: 1 of 3 files; where day = '2026-01-02'; 40 rows by the driver
    --> spark: Filter (upper(level) = ERROR)

A case ends at a blank line. After `-->` stand the scans, as `explain` says them, without places, versions and bytes; then what
Spark does itself; the rows of a statement; or the one line of an error. `logs` is answered by the driver, `big`, the same table,
by tasks; `words` is another table, `plain` the rows of `logs` in Parquet. `WRITE_FIXTURES=1` writes what was found into the
files: read the difference before you commit it.
"""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from indextables import Table
from spark.support import query_execution

pytestmark = pytest.mark.spark

FILES = sorted(Path(__file__).with_name("fixtures").glob("*.sql"))
WRITES = bool(os.environ.get("WRITE_FIXTURES"))
DAYS, ROWS = 3, 40
LOGS = pa.schema(
    [
        ("day", pa.string()),
        ("id", pa.int64()),
        ("level", pa.string()),
        ("message", pa.string()),
        ("ms", pa.int32()),
        ("ratio", pa.float64()),
        ("at", pa.timestamp("us", "UTC")),
        ("born", pa.date32()),
        ("price", pa.decimal128(9, 2)),
        ("ok", pa.bool_()),
        ("host", pa.struct([("name", pa.string()), ("rack", pa.int32())])),
        ("tags", pa.list_(pa.string())),
    ]
)
WORDS = pa.schema([("id", pa.int64()), ("word", pa.string()), ("message", pa.string())])
TEXT = {"spark.indextables.indexing.typemap.message": "text"}


def lines_of(day: int) -> pa.Table:
    """Forty lines of a day. Every fifth value is missing."""
    start = dt.datetime(2026, 1, day, tzinfo=dt.UTC)
    texts = ("disk full", "disk is slow", "timeout of node", "retry after timeout", None)
    rows = []
    for number in range(ROWS):
        at = start + dt.timedelta(minutes=10 * number)
        rows.append(
            {
                "day": f"2026-01-0{day}",
                "id": day * 100 + number,
                "level": ("ERROR", "INFO", "WARN", None)[number % 4],
                "message": texts[number % 5],
                "ms": None if number % 7 == 6 else number * 10,
                "ratio": number / 8,
                "at": at,
                "born": at.date(),
                "price": Decimal(number) / 4,
                "ok": number % 3 == 0,
                "host": {"name": f"h{number % 4}", "rack": number % 3},
                "tags": ["a", "b"][: number % 3],
            }
        )
    return pa.Table.from_pylist(rows, LOGS)


@pytest.fixture(scope="module")
def home(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The tables, with names in a database of their own."""
    home = tmp_path_factory.mktemp("fixtures")
    logs = Table.create(str(home / "logs"), LOGS, partition_by=["day"], options=TEXT)
    for day in range(1, DAYS + 1):
        logs.append(lines_of(day))
    words = Table.create(str(home / "words"), WORDS)
    ids = range(100, 110)
    words.append(pa.table([ids, [f"w{n % 5}" for n in ids], ["disk full"] * 10], schema=WORDS))
    spark.sql(f"CREATE DATABASE fixtures LOCATION '{home}/database'")
    spark.sql("USE fixtures")
    tasks = "OPTIONS ('spark.indextables.read.local.enabled' 'false')"
    for name, place, options in (("logs", "logs", ""), ("big", "logs", tasks), ("words", "words", "")):
        spark.sql(f"CREATE TABLE {name} USING indextables {options} LOCATION '{home}/{place}'")
    spark.table("logs").coalesce(1).write.parquet(f"{home}/plain")
    spark.sql(f"CREATE TABLE plain USING parquet LOCATION '{home}/plain'")
    yield home
    spark.sql("USE default")
    spark.sql("DROP DATABASE fixtures CASCADE")


@dataclass
class Case:
    """One statement, with its comments, and what is expected of it."""

    comments: list[str]
    sql: str
    expected: list[str]

    def text(self) -> str:
        return "\n".join([*self.comments, self.sql, *(f"--> {line}" for line in self.expected)])


def cases_of(path: Path) -> list[Case]:
    """The cases of a file. The first block of comments is the file's own."""
    cases = []
    for block in re.split(r"\n\s*\n", path.read_text().strip()):
        lines = block.splitlines()
        comments = [line for line in lines if re.match(r"--(?!>)", line)]
        sql = "\n".join(line for line in lines if not line.startswith("--"))
        cases.append(Case(comments, sql, [line.removeprefix("--> ") for line in lines if line.startswith("-->")]))
    return cases


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_is_handed_over(spark: SparkSession, home: Path, told: list[str], path: Path) -> None:
    cases = cases_of(path)
    wrong = []
    for case in cases[1:]:
        told.clear()
        found = outcome(spark, case.sql, home, told)
        if found != case.expected:
            wrong.append(f"{case.sql}\n  expected {case.expected}\n  found    {found}")
        case.expected = found
    if WRITES:
        path.write_text("\n\n".join(case.text().strip() for case in cases) + "\n")
    else:
        assert not wrong, "\n\n".join(wrong)


def outcome(spark: SparkSession, sql: str, home: Path, told: list[str]) -> list[str]:
    """The lines after `-->`."""
    try:
        frame = spark.sql(sql.replace("{home}", str(home)))
        if not re.match(r"\s*(SELECT|WITH|VALUES|\()", sql, re.IGNORECASE):
            rows = [tuple(masked(it, home) if isinstance(it, str) else it for it in row) for row in frame.collect()[:5]]
            return [f"row: {masked(str(row), home)}" for row in rows] or ["done"]
        execution = query_execution(frame)
        kept, plan = left_to_spark(execution.optimizedPlan()), str(execution.executedPlan().toString())
        scans = list(dict.fromkeys(scan_line(line) for line in told))
        filters = re.findall(r"RuntimeFilters: \[dynamicpruningexpression\((\w+)", plan)
        if "by the driver" in " ".join(scans):
            frame.collect()
        return [*scans, *kept, *(f"join filter: {re.sub(r'#.*', '', name)}" for name in filters)]
    except PySparkException as error:
        lines = str(error).strip().splitlines()
        return [f"error: {masked(lines[0], home)}" + (f" … {len(lines)} lines" if len(lines) > 1 else "")]


def scan_line(said: str) -> str:
    """A scan without its place, its version and its bytes."""
    place, _, rest = said.partition(": version ")
    return f"{Path(place).name}: " + re.sub(r"(files), [\d,]+ bytes", r"\1", rest.partition("; ")[2])


SILENT = {"Project", "LocalRelation", "RelationV2", "SubqueryAlias", "RepartitionByExpression"}
"""Operators that take no work from the table."""


def left_to_spark(plan: Any) -> list[str]:
    """What Spark does with the rows, from the top."""
    name, out = str(plan.nodeName()), []
    if name not in SILENT and not name.startswith(("DataSourceV2", "Relation", "LogicalRelation")):
        shown = str(plan.simpleString(25)) if name in ("Filter", "Join") else name
        out.append("spark: " + re.sub(r"#\d+L?", "", shown))
    children = plan.children()
    for place in range(children.size()):
        out += left_to_spark(children.apply(place))
    return out


def masked(text: str, home: Path) -> str:
    """A text without what differs from run to run."""
    text = re.sub(rf"(file:/*)?{re.escape(str(home))}", "{home}", text)
    text = re.sub(r"#\d+L?", "", text)
    text = re.sub(
        r" indextables [^;]+: version .*? rows by the driver", "", text
    )  # test_explained_answers.py has that line
    return re.sub(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[.\d]*(Z|\+00:00)?", "{time}", text)


def test_there_are_enough_cases() -> None:
    every = [case for path in FILES for case in cases_of(path)[1:]]
    errors = [case for case in every if case.expected and case.expected[0].startswith("error: ")]
    assert len(every) >= 150
    assert len(errors) >= 40
    assert len({case.sql for case in every}) == len(every), "no case stands there twice"
