"""Tables in a metastore of Hive."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark.write_support import found_by

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_names_outlive_their_session(tmp_path: Path) -> None:
    assert found_by("hive_program.py", tmp_path) == {
        "tables": ["c", "t"],
        "rows": [[1, "x"]],
        "options": True,
        "replaced": [["b"]],
        "left": [],
    }
