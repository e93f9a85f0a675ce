"""A Connect session writes, merges and maintains as a classic one does."""

from __future__ import annotations

import fcntl
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest

from spark.write_support import found_by

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the program found out, step by step. One at a time on a machine: a local Connect server takes one fixed port."""
    with (Path(tempfile.gettempdir()) / "indextables-tests-connect-port").open("w") as one_at_a_time:
        fcntl.flock(one_at_a_time, fcntl.LOCK_EX)
        return found_by("connect_program.py", tmp_path_factory.mktemp("connect"))


def test_connect_writes(found: dict[str, Any]) -> None:
    assert found["session"].startswith("pyspark.sql.connect")
    assert found["serving"] == "connector"
    assert found["written"] == [1, 8, 40]
    assert found["again"] == "batch 1 of a is in the table already"
    assert found["rows"] == list(range(60))
    assert found["overwritten"] == list(range(40))
    assert found["searched"] == 1


def test_connect_maintains(found: dict[str, Any]) -> None:
    assert found["merged"] == [6, 1, 30]
    assert found["warm"] == 7
    assert found["compacted"] == "compacted"
    assert found["jobs"] == [["COMPLETED", 8]]


def test_errors_in_connect_are_one_line_of_ours(found: dict[str, Any]) -> None:
    assert found["exists"].startswith("TableExists: there is a table at")
    assert found["types"].startswith("SchemaError: column id is long")
    assert found["partition"].startswith("PredicateError: row ")
    for name in ("exists", "types", "partition"):
        assert "\n" not in found[name]
    assert "SchemaError: column id is long (int64), the data has string" in found["source"]
    assert "rows_in" not in found["source"], "without the traceback of our modules"


def test_connect_has_what_a_classic_session_has(found: dict[str, Any]) -> None:
    """The session of the server that answers this client has the words, the functions and the rules."""
    serving, second = found["second client"]
    assert serving == "connector"
    for said in (found["sql"], second):
        assert said["words"] == [17]
        assert said["functions"] == 3
        assert said["words of a frame"] == 2
        assert said["snippet"] == "request 17"
        assert "can only be a condition on a column of an indextables table" in said["misplaced"]
        assert "UPDATE is not done row by row" in said["update"]
    assert found["statements"] > 0


def test_connect_loses_no_row_that_others_append_to_what_is_overwritten(found: dict[str, Any]) -> None:
    said, ids = found["own rows"]
    assert "FilesChanged" in said
    assert re.search(r"and version \d+ changed rows", said)
    assert ids == [1, 2, 3, 77]
