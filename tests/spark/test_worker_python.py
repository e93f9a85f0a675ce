"""Spark's workers run a Python that has indextables, or one line says what to set."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from indextables.core.errors import IndexTablesError
from indextables.spark.worker_python import choose_worker_python

pytestmark = pytest.mark.spark

CHOICES = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_LOCAL_REMOTE")


@pytest.fixture
def other_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `python3` without indextables, first in PATH, where the environment of this process is not: nobody has activated it."""
    path = tmp_path / "bin" / "python3"
    path.parent.mkdir()
    path.write_text(f"#!/bin/sh\nexec '{sys.base_prefix}/bin/python3' -S \"$@\"\n")
    path.chmod(0o755)
    here = Path(sys.executable).parent
    others = [folder for folder in os.environ["PATH"].split(os.pathsep) if Path(folder) != here]
    monkeypatch.setenv("PATH", os.pathsep.join([str(path.parent), *others]))
    for name in CHOICES:
        monkeypatch.delenv(name, raising=False)
    return path


class ConnectSession:
    """All that is asked of a Connect session is where its class comes from."""


ConnectSession.__module__ = "pyspark.sql.connect.session"


def classic(master: str, python: str = "python3", **settings: str) -> Any:
    context = SimpleNamespace(master=master, pythonExec=python, getConf=lambda: settings)
    return SimpleNamespace(sparkContext=context)


def test_an_environment_that_is_not_activated(other_python: Path, tmp_path: Path) -> None:
    assert subprocess.run([other_python, "-c", "import indextables"], capture_output=True).returncode == 1
    program = Path(__file__).parent / "worker_python_program.py"
    done = subprocess.run([sys.executable, program, tmp_path], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-1] == "6"


@pytest.mark.parametrize("master", ["local", "local[2]", "local-cluster[2,1,1024]"])
def test_workers_on_this_machine_run_the_python_of_this_process(other_python: Path, master: str) -> None:
    session = classic(master)
    choose_worker_python(session)
    assert session.sparkContext.pythonExec == sys.executable


def test_a_choice_that_was_made_is_kept(other_python: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ours = tmp_path / "with-indextables"
    ours.write_text(f"#!/bin/sh\nexec '{sys.executable}' \"$@\"\n")
    ours.chmod(0o755)
    monkeypatch.setenv("PYSPARK_PYTHON", str(ours))
    session = classic("local[2]", str(ours))
    choose_worker_python(session)
    assert session.sparkContext.pythonExec == str(ours)


def test_a_choice_without_indextables_is_refused_in_one_line(
    other_python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = (
        f"Spark's workers run {other_python}, which has no indextables: "
        f"set PYSPARK_PYTHON={sys.executable} before the session is created"
    )
    with pytest.raises(IndexTablesError) as by_setting:
        choose_worker_python(classic("local[2]", **{"spark.pyspark.python": "/ignored/by/pyspark"}))
    assert str(by_setting.value) == expected
    monkeypatch.setenv("PYSPARK_PYTHON", str(other_python))
    with pytest.raises(IndexTablesError) as by_environment:
        choose_worker_python(classic("local[2]", str(other_python)))
    assert str(by_environment.value) == expected
    with pytest.raises(IndexTablesError, match=r"Spark's workers run /no/such/python, which has no indextables"):
        choose_worker_python(classic("local", "/no/such/python"))


def test_workers_elsewhere_run_what_they_have(other_python: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = classic("spark://elsewhere:7077")
    with pytest.warns(UserWarning, match=r"^Spark's workers run the python3 of their machines: .* set PYSPARK_PYTHON"):
        choose_worker_python(session)
    assert session.sparkContext.pythonExec == "python3"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        monkeypatch.setenv("PYSPARK_PYTHON", "/opt/python")
        choose_worker_python(classic("spark://elsewhere:7077", "/opt/python"))
        monkeypatch.delenv("PYSPARK_PYTHON")
        monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
        choose_worker_python(classic("spark://elsewhere:7077"))


def test_a_connect_server_of_this_process_is_asked_and_others_are_not(
    other_python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose_worker_python(ConnectSession())
    monkeypatch.setenv("SPARK_LOCAL_REMOTE", "1")
    with pytest.raises(IndexTablesError, match=r"python3, which has no indextables: set PYSPARK_PYTHON="):
        choose_worker_python(ConnectSession())
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    choose_worker_python(ConnectSession())
