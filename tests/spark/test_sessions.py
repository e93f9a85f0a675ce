"""Sessions of one process: who serves them, what they ask at once, and what is left of many questions."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from indextables.core.errors import IndexTablesError
from indextables.spark import install, status
from indextables.spark.connector import connect
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


def test_a_new_session_is_served_and_install_spares_its_jobs(found: dict[str, Any]) -> None:
    """What belongs to a JVM is there already; the rule that spares jobs belongs to a session."""
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
    """On a busy machine pyspark may print a BrokenPipeError of the worker, as for every Python source: nothing looks at that."""
    assert found["abandoned"] == {"taken": 5, "limited": [1, 50], "first": 0}


def test_a_session_that_is_begun_after_the_last_one_was_stopped(found: dict[str, Any]) -> None:
    assert found["begun_again"] == BY_DRIVER | {"serving": "nothing"}
    assert found["begun_again_installed"] == BY_DRIVER | {"serving": "connector"}
    assert found["by_tasks_again"] == 5
    assert "replaced a previously registered function" not in found["printed"], "install twice is install once"


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


def test_a_connector_that_was_switched_off_is_none(spark: SparkSession, caplog: pytest.LogCaptureFixture) -> None:
    other = spark.newSession()
    other.conf.set("spark.indextables.connector.enabled", "false")
    with caplog.at_level(logging.WARNING, "indextables"):
        install(other)
    assert caplog.text == ""
