"""Speculation on two hosts: a task hangs, a copy of it is begun and wins, and every row is in the table exactly once."""

from __future__ import annotations

from typing import Any

import pytest

from spark.write_support import found_by

pytestmark = pytest.mark.spark

ONCE = {"attempts": ["attempt-0", "attempt-1"], "in_time": True, "rows": list(range(100)), "counted": 100}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the program found out, step by step."""
    return found_by("speculation_program.py", tmp_path_factory.mktemp("speculation"))


def test_a_copy_of_a_task_that_had_uploaded_already(found: dict[str, Any]) -> None:
    """What the slow attempt uploaded is nobody's."""
    assert found["hangs_after_its_upload"] == ONCE | {"live": 4, "missing": 0, "orphans": 1}


def test_a_copy_of_a_task_that_had_not(found: dict[str, Any]) -> None:
    assert found["hangs_before_its_upload"] == ONCE | {"live": 4, "missing": 0, "orphans": 0}
