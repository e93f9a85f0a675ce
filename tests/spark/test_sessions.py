"""Sessions of one process: who serves them, what they ask at once, and what is left of many questions."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from indextables import Table
from indextables.core.errors import IndexTablesError
from indextables.spark import install, status
from indextables.spark.connector import connect
from spark.conftest import SETTINGS
from spark.write_support import program_environment

pytestmark = pytest.mark.spark

ROWS = 80_000
BY_SPARK = {"filtered": [77], "again": ROWS, "by": "BatchScan", "filter": True}
BY_DRIVER = {"filtered": [77], "again": ROWS, "by": "LocalTableScan", "filter": False}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the program found out, and what its processes printed."""
    home = tmp_path_factory.mktemp("sessions")
    program = Path(__file__).with_name("sessions_program.py")
    done = subprocess.run(
        [sys.executable, str(program), str(home)],
        env=program_environment(home),
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return {**json.loads((home / "found.json").read_text()), "printed": done.stdout + done.stderr}


def test_without_install_the_python_source_is_found_by_the_name_of_its_module(found: dict[str, Any]) -> None:
    assert found["without_install"] == BY_SPARK | {"serving": "nothing"}


def test_with_the_connector_switched_off_the_python_source_serves(found: dict[str, Any]) -> None:
    assert found["switched_off"] == BY_SPARK | {"serving": "python source"}


def test_install_connects_a_session_that_was_used_before(found: dict[str, Any]) -> None:
    """And compiles anew where the jar in the cache is cut off."""
    assert found["connected"] == BY_DRIVER | {"serving": "connector"}


def test_a_callback_server_that_somebody_else_started(found: dict[str, Any]) -> None:
    """It answers our questions too, and goes on answering theirs."""
    before, after = found["callbacks"]
    assert before.startswith("ab")
    assert after == before
    assert found["connected"]["serving"] == "connector"


def test_a_new_session_is_served_and_install_spares_its_jobs(found: dict[str, Any]) -> None:
    """What belongs to a JVM is there already, and the rules come with the first query."""
    assert found["new_session"] == BY_DRIVER | {"serving": "nothing"}
    assert found["new_session_installed"] == BY_DRIVER | {"serving": "connector"}


def test_threads_ask_one_session_at_once(found: dict[str, Any]) -> None:
    assert found["at_once"] == []


def test_many_questions_leave_nothing_behind(found: dict[str, Any]) -> None:
    kept = found["kept"]
    assert kept["wrong"] == []
    assert kept["callbacks"][0] == kept["callbacks"][1], "one object answers all questions"
    assert kept["threads"][1] <= kept["threads"][0] + 4, "threads are used again"


def test_a_reader_that_spark_leaves_early_gives_its_rows(found: dict[str, Any]) -> None:
    """And its worker ends without a page of text about the pipe that Spark closed."""
    assert found["left_by_source"] == 5
    assert found["abandoned"] == {"taken": 5, "limited": [1, 50], "first": 0, "left": [5, 5, 5]}
    assert "BrokenPipeError" not in found["printed"]
    assert "ConnectionResetError" not in found["printed"]


def test_a_session_that_is_begun_after_the_last_one_was_stopped(found: dict[str, Any]) -> None:
    assert found["begun_again"] == BY_DRIVER | {"serving": "nothing"}
    assert found["begun_again_installed"] == BY_DRIVER | {"serving": "connector"}
    assert found["by_tasks_again"] == 5
    assert "replaced a previously registered function" not in found["printed"], "install twice is install once"


@pytest.mark.parametrize("session", ["an_early_session", "a_session_begun_again"])
def test_overwrites_in_a_session_without_install_lose_no_rows(found: dict[str, Any], session: str) -> None:
    """One began before `install`. Nobody called it in the other's application: what lies behind cached rows is unknown there."""
    said = found[f"overwrites_of_{session}"]
    cases = {name: said[name] for name in said if not name.endswith(", ids")}
    beside = cases.pop("other rows beside cached ones")
    assert beside == {"an_early_session": "written", "a_session_begun_again": "FilesChanged"}[session]
    assert cases.pop("other rows") == "written"
    assert said["other rows, ids"] == "[10, 11, 12, 13, 14]"
    assert cases == dict.fromkeys(
        ("own rows", "own rows of before", "own rows in a subquery", "own rows cached"), "FilesChanged"
    )
    assert {said[f"{case}, ids"] for case in cases} == {"[1, 2, 3, 77]"}


CLIENT = """
import sys
import warnings

warnings.simplefilter("ignore")
sys.modules["py4j"] = None  # pyspark-client has no py4j, and no SparkContext
from pyspark.sql import SparkSession

from indextables.spark import install, status

class Server(dict):
    \"\"\"All that a server that nobody gave the connector is asked for.\"\"\"

    __hash__ = object.__hash__

    def set(self, key, value):
        self[key] = value

    def register(self, source):
        self["registered"] = source.name()

    def sql(self, text):
        raise NotImplementedError

Server.__module__ = "pyspark.sql.connect.session"
Server.conf = Server.dataSource = property(lambda self: self)
elsewhere = install(Server())
print(status(elsewhere), elsewhere["registered"])
try:
    from pyspark import SparkContext
except ImportError:
    print("a client alone")
session = install(SparkSession.builder.remote(sys.argv[1]).getOrCreate())
print(status(session))
print(session.read.format("indextables").option("query", "message:disk").load(sys.argv[2]).count())
try:
    install()
    print(install() is session)
finally:
    session.stop()
"""
"""A process whose PySpark says that it is `pyspark-client`. The server of the tests has a driver with the connector."""


def test_a_client_without_py4j(spark: SparkSession, tmp_path: Path) -> None:
    options = {"spark.indextables.indexing.typemap.message": "text"}
    table = Table.create(tmp_path / "table", pa.schema([("message", pa.string())]), options=options)
    table.append(pa.table({"message": ["disk full", "disk empty", "fine"]}))
    server = f"sc://127.0.0.1:{spark.conf.get('spark.connect.grpc.binding.port')}"
    environment = {**program_environment(tmp_path), "SPARK_SKIP_CONNECT_COMPAT_TESTS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", CLIENT, server, table.url],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    elsewhere = "the Connect server of this session was not started by this process, whose PySpark is a client alone"
    alone, client, beside, *answers = done.stdout.splitlines()
    assert alone == f"python source, because {elsewhere} indextables"
    assert client == "a client alone"
    assert beside in {
        f"python source, because {elsewhere}",
        f"connector, because another session of this driver has it, though {elsewhere}",
    }
    assert answers == ["2", "True"]


def test_a_client_without_py4j_and_without_a_server_needs_no_java(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", "from indextables.spark import install; install()"],
        env={**program_environment(tmp_path), "SPARK_SKIP_CONNECT_COMPAT_TESTS": "1", "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert "CONNECT_URL_NOT_SET" in done.stderr.splitlines()[-1]
    assert "Spark needs Java" not in done.stderr


def test_a_connector_that_does_not_compile_is_a_warning(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The slower source serves then, and nobody asked for that."""

    def fails(*_: object) -> str:
        raise IndexTablesError("the connector does not compile for this Spark: no such method")

    monkeypatch.setattr(connect, "_connect", fails)
    other = spark.newSession()
    with caplog.at_level(logging.WARNING, "indextables"):
        install(other)
    assert "not handed to tables in this session: the connector does not compile" in caplog.text
    monkeypatch.undo()
    install(other)
    assert status(other).serving == "connector"


BUILDER = """
import sys

from indextables.spark import builder, status

builder = builder().master("local[1]").appName("built")
for setting in sys.argv[2:]:
    builder = builder.config(*setting.split("=", 1))
spark = builder.getOrCreate()
print(status(spark).serving, spark.sparkContext.getConf().get("spark.sql.catalog.indextables"), spark.conf.get("spark.a"))
print(spark.sql(f"SELECT sum(id) FROM indextables.`{sys.argv[1]}` WHERE message INDEXQUERY 'disk'").first()[0])
print(builder.getOrCreate() is spark)
spark.stop()
"""
"""A program whose first session is one of `builder()`."""


def test_a_builder_in_a_fresh_process(tmp_path: Path) -> None:
    options = {"spark.indextables.indexing.typemap.message": "text"}
    schema = pa.schema([("id", pa.int64()), ("message", pa.string())])
    table = Table.create(tmp_path / "table", schema, options=options)
    table.append(pa.table({"id": [1, 2, 4], "message": ["disk full", "fine", "disk empty"]}))
    settings = {
        **{key: value for key, value in SETTINGS.items() if "connect" not in key.lower()},
        "spark.local.dir": str(tmp_path / "local"),
        "spark.sql.warehouse.dir": str(tmp_path / "warehouse"),
        "spark.a": "b",
    }
    del settings["spark.plugins"]
    done = subprocess.run(
        [sys.executable, "-c", BUILDER, table.url, *(f"{key}={value}" for key, value in settings.items())],
        env=program_environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.splitlines() == ["connector indextables.PathCatalog b", "5", "True"]


def test_install_says_who_serves(spark: SparkSession, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "indextables"):
        install(spark.newSession())
    assert f"indextables: connector, because the driver of Spark {spark.version} took it" in caplog.messages


def test_a_connector_that_was_switched_off_is_none(spark: SparkSession, caplog: pytest.LogCaptureFixture) -> None:
    other = spark.newSession()
    other.conf.set("spark.indextables.connector.enabled", "false")
    with caplog.at_level(logging.WARNING, "indextables"):
        install(other)
    assert caplog.text == ""
