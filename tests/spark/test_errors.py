"""What is wrong is said in one line, in classic and in Connect sessions, by the source and by the helpers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from indextables import Table, errors
from indextables.spark import aggregate, count, install, read
from indextables.spark.session import find_java
from indextables.spark.source import IndexTablesSource

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([("id", pa.int64()), ("message", pa.string()), ("word", pa.string())])


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    options = {"spark.indextables.indexing.typemap.message": "text"}
    table = Table.create(tmp_path_factory.mktemp("errors") / "table", SCHEMA, options=options)
    table.append(pa.table({"id": [1, 2], "message": ["disk full", "disk empty"], "word": ["a", "b"]}, SCHEMA))
    return table


@pytest.fixture(params=["classic", "connect"])
def session(request: pytest.FixtureRequest) -> SparkSession:
    return request.getfixturevalue("spark" if request.param == "classic" else "remote")


WRONG: list[tuple[dict[str, Any], str]] = [
    (
        {"query": "messag:disk"},
        r"QueryError: .*character 1, at 'messag': there is no field messag; did you mean message\?",
    ),
    ({"query": "message:(disk"}, r"QueryError: the query cannot be read, character \d+"),
    ({"query": "[a TO"}, "QueryError: the query cannot be read"),
    ({"where": "idd = 1"}, r"PredicateError: unknown column idd at position 1 of the filter, did you mean id\?"),
    ({"where": "id = 'one'"}, "PredicateError: .*one"),
    ({"columns": "id,massage"}, r"SchemaError: the table has no column massage; did you mean message\?"),
    ({"versionAsOf": 99}, "VersionNotFound: .*99"),
    ({"versionAsOf": "new"}, "OptionError: versionAsOf is 'new', expected a whole number, 0 or more"),
    ({"timestampAsOf": "1999-01-01"}, "VersionNotFound: "),
    ({"timestampAsOf": "soon"}, "OptionError: timestampAsOf is 'soon', expected a time such as"),
    ({"versionAsOf": 0, "timestampAsOf": "2026-01-01"}, "OptionError: versionAsOf and timestampAsOf both say"),
    ({"limit": -1}, "OptionError: limit is '-1', expected a whole number, 0 or more"),
    ({"score": "true"}, "OptionError: a score is how well a row fits a query: give a query too"),
    ({"score": "maybe"}, "OptionError: score is 'maybe', expected true or false"),
    ({"querry": "disk"}, r"OptionError: unknown option querry, did you mean query\?"),
    ({"spark.indextables.cache.disk.maxBytez": "1"}, "OptionError: unknown option .*did you mean"),
]


@pytest.mark.parametrize(("options", "message"), WRONG)
def test_wrong_questions_to_the_source(table: Table, options: dict[str, Any], message: str) -> None:
    """As Spark asks, but in this process: a worker that met an error is not used again, and starting one takes seconds."""
    asked = {"path": table.url} | {key.lower(): str(value) for key, value in options.items()}
    with pytest.raises(errors.IndexTablesError) as caught:
        IndexTablesSource(asked).schema()
    assert re.search(message, f"{type(caught.value).__name__}: {caught.value}")
    assert "\n" not in str(caught.value)


def test_what_spark_makes_of_it(session: SparkSession, table: Table) -> None:
    with pytest.raises(
        PySparkException, match=r"QueryError: .*there is no field messag; did you mean message\?"
    ) as caught:
        session.read.format("indextables").option("query", "messag:disk").load(table.url).collect()
    assert_one_line(caught.value)


def test_what_spark_makes_of_it_for_the_python_source(spark: SparkSession, python_source: str, table: Table) -> None:
    with pytest.raises(
        PySparkException, match=r"QueryError: .*there is no field messag; did you mean message\?"
    ) as caught:
        spark.read.format(python_source).option("query", "messag:disk").load(table.url)
    assert_one_line(caught.value)
    assert str(caught.value).startswith("[PYTHON_DATA_SOURCE_ERROR] ")


def test_wrong_places(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(PySparkException, match=r"TableNotFound: there is no table at .*nothing") as caught:
        spark.read.format("indextables").load(str(tmp_path / "nothing"))
    assert_one_line(caught.value)
    with pytest.raises(errors.OptionError, match="no path is given: say where the table is"):
        IndexTablesSource({}).schema()
    with pytest.raises(errors.OptionError, match="a table is one place: load one path"):
        IndexTablesSource({"paths": '["a", "b"]'}).schema()
    with pytest.raises(errors.IndexTablesError, match="gopher"):
        IndexTablesSource({"path": "gopher://x/y"}).schema()


def test_a_missing_file_is_named(spark: SparkSession, remote: SparkSession, tmp_path: Path) -> None:
    """An error of a task, on an executor."""
    table = Table.create(tmp_path / "damaged", SCHEMA)
    table.append(pa.table({"id": [1], "message": ["x"], "word": ["y"]}, SCHEMA))
    path = table.files().column("path")[0].as_py()
    (tmp_path / "damaged" / path).unlink()
    with pytest.raises(PySparkException, match=r"SplitError: .*is missing, and the table has rows in it") as caught:
        read(spark, table.url).collect()
    assert 'File "' not in str(caught.value), "no traceback of ours"
    with pytest.raises(errors.SplitError, match="is missing, and the table has rows in it"):
        aggregate(remote, table.url, metrics={"m": "max(word)"})


def test_wrong_questions_to_the_helpers(session: SparkSession, table: Table) -> None:
    url = table.url
    with pytest.raises(errors.TableNotFound):
        read(session, url + "-not")
    with pytest.raises(errors.QueryError, match="there is no field messag"):
        count(session, url, query="messag:disk")
    with pytest.raises(errors.PredicateError, match=r"where is SQL text, .*not Column"):
        read(session, url, where=session.range(1).id > 1)
    with pytest.raises(errors.OptionError, match="limit is -1"):
        read(session, url, limit=-1)
    with pytest.raises(errors.OptionError, match="version or a timestamp, not both"):
        count(session, url, version=1, timestamp="2026-01-01")
    with pytest.raises(errors.IndexTablesError, match="total"):
        aggregate(session, url, metrics={"m": "total(id)"})


def assert_one_line(error: PySparkException) -> None:
    """Ours, and what Spark puts around it: its own class before, its number behind."""
    lines = [line for line in str(error).splitlines() if line.strip() and not line.strip().startswith("SQLSTATE")]
    assert len(lines) == 1, str(error)
    assert re.match(
        r"(\(java.lang.IllegalArgumentException\) |\[PYTHON_DATA_SOURCE_ERROR\] .*)?indextables\.", lines[0]
    ), lines[0]


def test_java_is_found_or_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert Path(find_java()).name == "java"
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        errors.IndexTablesError, match="Spark needs Java, and there is no java in PATH: install Java 17"
    ):
        find_java()
    old = tmp_path / "bin" / "java"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_402\"' >&2\n")
    old.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(
        errors.IndexTablesError, match=r"Spark needs Java 17 or newer, and .*bin/java is Java 8: install"
    ):
        find_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "none"))
    with pytest.raises(errors.IndexTablesError, match=r"JAVA_HOME is .*none, which has no bin/java"):
        find_java()


def test_install_without_java_says_so(tmp_path: Path) -> None:
    """In a process without a session, as a first user has it."""
    environment = {key: value for key, value in os.environ.items() if key not in {"JAVA_HOME", "SPARK_REMOTE"}}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", "from indextables.spark import install; install()"],
        env=environment | {"PATH": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "Spark needs Java, and there is no java in PATH" in done.stderr.splitlines()[-1]


def test_install_wants_a_session(spark: SparkSession) -> None:
    with pytest.raises(
        errors.IndexTablesError, match=r"install takes a SparkSession of PySpark 4\.2 or newer, not int"
    ):
        install(7)
    assert install(spark) is spark
    assert install() is spark, "the active one"
