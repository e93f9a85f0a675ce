"""A cluster of two executor processes writes, reads and merges one table, and loses a process or two on the way."""

from __future__ import annotations

from typing import Any

import pytest

from spark.write_support import found_by

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the program found out, step by step."""
    return found_by("cluster_program.py", tmp_path_factory.mktemp("cluster"))


def test_two_executors_write_read_and_merge_one_table(found: dict[str, Any]) -> None:
    step = found["both_executors"]
    assert step["executors"] == 2
    assert step["written"] == 12
    assert step["read"] == sorted([*range(200), *range(200)])
    assert (step["searched"], step["counted"]) == (200, 400)
    assert step["buckets"] == [[0, "< 50", 100], [0, "[50, 120)", 100], [100, ">= 120", 60], [100, "[50, 120)", 40]]
    assert step["buckets_of_a_new_session"] == step["buckets"]
    assert step["merged"] == [24, 2, 400]
    assert (step["warm"], step["compacted"]) == (2, "compacted")
    assert step["after"] == step["read"]


def test_statements_ask_executors(found: dict[str, Any]) -> None:
    step = found["statements"]
    assert step["executors"] == ["0", "1", "driver"]
    assert step["scanned"] == 40
    assert step["requests"] > 0
    assert step["bytes_fetched"] > 0
    assert step["splits_cached"]
    assert min(step["splits_cached"]) >= 4, "both executors look at the cache of their machine"
    assert step["roles"] == ["driver", "executor"]
    assert step["warm"] == [[4, "success"]], "both executors are on one machine"
    assert step["begun"] == ["running"]
    assert [error for _, error in step["waited"]] == [None] * len(step["waited"])
    assert step["merged"] == [[4, 1, 40]]


def test_a_query_of_the_driver_is_cancelled_on_a_cluster(found: dict[str, Any]) -> None:
    assert "cancelled" in found["statements"]["cancelled"]


def test_an_executor_killed_during_the_write(found: dict[str, Any]) -> None:
    step = found["executor_killed_during_write"]
    assert step == {"killed": 1, "rows": list(range(100)), "version": 1}


def test_a_task_retried_after_its_upload_leaves_an_orphan_and_no_row_twice(found: dict[str, Any]) -> None:
    step = found["worker_killed_after_upload"]
    assert step == {"died": True, "rows": list(range(100)), "orphans": 1, "files": 4}
