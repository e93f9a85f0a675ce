"""`Table.drop_partitions`: whole partitions taken out by the log alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from indextables import Table
from indextables.core.errors import CommitError, PredicateError

SCHEMA = pa.schema([("id", pa.int64()), ("day", pa.string()), ("hour", pa.int32())])


def some(*ids: int, day: str | None, hour: int = 0) -> pa.Table:
    return pa.table({"id": list(ids), "day": [day] * len(ids), "hour": [hour] * len(ids)}, schema=SCHEMA)


def ids(table: Table) -> list[int]:
    return sorted(table.scan(columns=["id"]).read_all().column("id").to_pylist())


@pytest.fixture
def table(tmp_path: Path) -> Table:
    table = Table.create(tmp_path / "t", SCHEMA, partition_by=["day", "hour"])
    table.append([some(1, day="a"), some(2, day="a", hour=1), some(3, day="b"), some(4, day=None)])
    table.append(some(5, day="a"))
    return table


@pytest.mark.parametrize(
    ("where", "left", "partitions", "splits"),
    [
        ("day = 'a'", [3, 4], 2, 3),
        ("day = 'a' AND hour = 0", [2, 3, 4], 1, 2),
        ("day IS NULL", [1, 2, 3, 5], 1, 1),
        ("hour >= 0", [], 4, 5),
        ("true", [], 4, 5),
    ],
)
def test_partitions_go(table: Table, where: str, left: list[int], partitions: int, splits: int) -> None:
    sizes = sum(table.files(where).column("size").to_pylist())
    done = table.drop_partitions(where)
    assert (done.status, done.partitions_dropped, done.splits_removed, done.version) == (
        "success",
        partitions,
        splits,
        3,
    )
    assert done.total_size_bytes == sizes
    assert done.message == f"version 3 is without {partitions} partitions ({splits} splits)"
    assert ids(table) == ids(Table.open(table.url)) == left
    assert ids(Table.open(table.url, version=2)) == [1, 2, 3, 4, 5]
    table.restore(version=2)
    assert ids(table) == [1, 2, 3, 4, 5]


def test_where_nothing_lies(table: Table) -> None:
    done = table.drop_partitions("day = 'zz'")
    assert (done.status, done.partitions_dropped, done.splits_removed, done.total_size_bytes) == ("no_action", 0, 0, 0)
    assert (done.version, table.refresh().version) == (2, 2)
    assert done.message == "no files lie in these partitions"


def test_what_others_wrote_meanwhile_goes_too(table: Table) -> None:
    Table.open(table.url).append(some(9, day="zz"))
    assert table.drop_partitions("day = 'zz'").splits_removed == 1
    assert ids(table) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("where", ["id = 1", "day = 'a' OR id > 1", "nothing = 1", "", None, 3, "INDEXQUERYALL('x')"])
def test_what_is_no_partition(table: Table, where: Any) -> None:
    with pytest.raises(PredicateError):
        table.drop_partitions(where)
    assert table.refresh().version == 2


def test_of_a_table_without_partitions(tmp_path: Path) -> None:
    table = Table.create(tmp_path / "flat", SCHEMA)
    table.append(some(1, day="a"))
    with pytest.raises(PredicateError, match="this table has none"):
        table.drop_partitions("day = 'a'")


def test_of_an_older_version(table: Table) -> None:
    with pytest.raises(CommitError, match="open it without a version to drop partitions"):
        Table.open(table.url, version=1).drop_partitions("day = 'a'")


def test_the_log_says_what_was_done(table: Table) -> None:
    table.drop_partitions("day = 'a'")
    [row] = table.history(1).to_pylist()
    assert (row["operation"], dict(row["parameters"])) == ("DROP PARTITIONS", {"predicate": "`day` = 'a'"})
