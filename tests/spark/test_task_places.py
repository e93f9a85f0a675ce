"""Tasks of the same splits prefer the same executor, and nothing of ours travels to executors."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from indextables.spark.connector.planning.places import task_places
from indextables.table.distributed.read_tasks import packed
from indextables.table.split_entry import ENTRY_SCHEMA
from spark.write_support import found_by

EXECUTORS = [f"executor_h_{number}" for number in range(5)]


def task(*names: str) -> bytes:
    rows = [{"path": name, "partitionValues": [], "size": 10, "numRecords": 1} for name in names]
    return packed(pa.Table.from_pylist(rows, ENTRY_SCHEMA))


def test_places_stay_and_are_shared_evenly() -> None:
    tasks = [task(f"{number}.split", f"{number}b.split") for number in range(100)]
    places = task_places(tasks, EXECUTORS)
    assert places == task_places(tasks, EXECUTORS)
    assert {place: places.count(place) for place in places} == dict.fromkeys(places, 20)
    assert len(set(places)) == 5


def test_an_executor_that_goes_moves_few_other_tasks() -> None:
    tasks = [task(f"{number}.split") for number in range(1000)]
    before, after = task_places(tasks, EXECUTORS), task_places(tasks, EXECUTORS[:-1])
    moved = sum(a != b for a, b in zip(before, after, strict=True) if a != EXECUTORS[-1])
    assert moved < 150, "of 800"


@pytest.mark.parametrize("executors", [[], EXECUTORS[:1]])
def test_without_a_choice_there_are_no_places(executors: list[str]) -> None:
    assert task_places([task("a.split")], executors) == []


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return found_by("places_program.py", tmp_path_factory.mktemp("places"))


@pytest.mark.spark
def test_a_split_is_read_by_the_same_executor_again(found: dict[str, Any]) -> None:
    step = found["same_places"]
    first, *others = step["found"]
    assert len(first) == 6
    assert step["executors"] == 2
    assert all(other == first for other in others), step["found"]


@pytest.mark.spark
def test_a_join_by_partition_on_executors(found: dict[str, Any]) -> None:
    assert found["by_partition"] == {"rows": list(range(300)), "exchange": False}


@pytest.mark.spark
def test_tasks_are_planned_for_the_processors_of_the_cluster(found: dict[str, Any]) -> None:
    """As many as Spark runs side by side by default, which a setting says here: not the processors of the driver."""
    assert found["processors"] == {"told": [[5, 2]], "rows": 300}


def test_places_that_are_kept_by_name_are_those_of_the_same_executors() -> None:
    tasks, others = ([task(f"{kind}{number}.split") for number in range(50)] for kind in "ab")
    for executors in (EXECUTORS, EXECUTORS[:-1], EXECUTORS):
        for _ in range(2):
            assert task_places(tasks, executors, "one") == task_places(tasks, executors)
            assert task_places(others, executors, "two") == task_places(others, executors)
