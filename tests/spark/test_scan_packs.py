"""How files become tasks: all of them, in their order, and no more tasks than are of use."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from indextables.core.options import Options
from indextables.log.file_entries import FILE_SCHEMA
from indextables.table.distributed.task_packing import name_of, packs, unpacked

pytestmark = pytest.mark.spark

MB = 1 << 20
PROCESSORS = 8
"""Tasks that run side by side on the cluster of these tests, whatever machine they run on."""


def files(sizes: list[int]) -> pa.Table:
    known = {
        "path": pa.array([f"splits/split-{number}.split" for number in range(len(sizes))]),
        "partitionValues": pa.array([[]] * len(sizes), FILE_SCHEMA.field("partitionValues").type),
        "size": pa.array(sizes, pa.int64()),
    }
    columns = [known.get(field.name, pa.nulls(len(sizes), field.type)) for field in FILE_SCHEMA]
    return pa.table([column.cast(field.type) for column, field in zip(columns, FILE_SCHEMA, strict=True)], FILE_SCHEMA)


def tasks(table: pa.Table, *, light: bool = False, **options: int) -> list[pa.Table]:
    given = Options({f"spark.indextables.read.{key}": value for key, value in options.items()})
    return [unpacked(part) for part in packs(table, given, None, light, PROCESSORS)]


def most_bytes(parts: list[pa.Table]) -> int:
    return max(sum(part.column("size").to_pylist()) for part in parts)


@pytest.mark.parametrize("seed", range(5))
def test_every_file_is_in_one_task_and_in_its_place(seed: int) -> None:
    dice = np.random.default_rng(seed)
    table = files(dice.integers(1, 300 * MB, size=int(dice.integers(1, 2000))).tolist())
    for light in (False, True):
        parts = tasks(table, light=light)
        assert pa.concat_tables(parts).column("path").to_pylist() == table.column("path").to_pylist()


def test_a_task_has_about_128_mb() -> None:
    parts = tasks(files([10 * MB] * 5000))
    assert len(parts) == pytest.approx(5000 * 10 / 128, rel=0.02)
    assert most_bytes(parts) <= 138 * MB, "one file more than fits"


@pytest.mark.parametrize("processors", [1, 3, 8, 200])
def test_a_small_table_has_a_task_for_each_processor_of_the_cluster(processors: int) -> None:
    """Not of the machine that plans; and none of less than 1 MB, which would take longer to begin than to read."""
    assert len(packs(files([10 * MB] * 5), Options(), None, False, processors)) == min(processors, 5)
    assert len(packs(files([MB // 4] * 32), Options(), None, False, processors)) == min(processors, 8)


def test_tasks_of_a_very_large_table_grow_before_they_become_very_many() -> None:
    assert len(tasks(files([10 * MB] * 70_000))) == pytest.approx(2000, rel=0.01)
    huge = tasks(files([100 * MB] * 50_000))
    assert most_bytes(huge) <= 612 * MB
    assert len(huge) == pytest.approx(50_000 * 100 / 512, rel=0.02)


def test_what_the_caller_fixes_is_fixed() -> None:
    table = files([10 * MB] * 70_000)
    assert [part.num_rows for part in tasks(table, splitsPerTask=700)] == [700] * 100
    assert max(part.num_rows for part in tasks(table, maxSplitsPerTask=3)) == 3


def test_a_large_table_is_packed_once() -> None:
    table = files([10 * MB] * 20_000)
    first = packs(table, Options(), None, False, PROCESSORS)
    assert packs(table, Options(), None, False, PROCESSORS) is first
    assert packs(files([10 * MB] * 20_000), Options(), None, False, PROCESSORS) is not first, "another table"
    assert packs(table, Options(), None, True, PROCESSORS) != first, "another question"
    assert packs(table, Options(), None, False, PROCESSORS) == first


def test_kept_tasks_have_a_name_that_others_do_not_have() -> None:
    table = files([10 * MB] * 20_000)
    first = packs(table, Options(), None, False, PROCESSORS)
    name = name_of(first)
    assert name
    assert name_of(packs(table, Options(), None, False, PROCESSORS)) == name
    assert name_of(list(first)) == "", "the same bytes in a list that nobody keeps"
    other = packs(table, Options(), None, True, PROCESSORS)
    assert name_of(other) not in ("", name)
    assert name_of(first) == "", "not kept any more"
    assert name_of(packs(files([10 * MB] * 50), Options(), None, False, PROCESSORS)) == "", "few tasks are not kept"
