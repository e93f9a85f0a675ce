"""The rows of the best hits are the rows of the table, however few or many they are and whatever columns they have."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from indextables import Table
from indextables.errors import SplitError
from indextables.split.cache.index_cache import IndexCache
from indextables.table.read.few_rows import few_rows_batch, read_few_rows
from split.reader_support import reader as open_reader
from split.reader_support import write

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("text", pa.string()),
        ("at", pa.timestamp("us", "UTC")),
        ("born", pa.date32()),
        ("real", pa.float64()),
        ("flag", pa.bool_()),
        ("small", pa.int16()),
        ("cost", pa.decimal128(9, 2)),
        ("single", pa.float32()),
        ("day", pa.date32()),
    ]
)
FLAT = ["day", "flag", "id", "at", "born", "text", "real", "small"]
START = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)


def row(number: int) -> dict[str, object]:
    return {
        "id": number,
        "text": " ".join(["needle"] * (1 + number % 7) + ["hay"] * (number % 5)),
        "at": None if number % 11 == 0 else START + dt.timedelta(seconds=number, microseconds=number),
        "born": dt.date(1950, 1, 1) + dt.timedelta(days=number),
        "real": number / 3,
        "flag": None if number % 3 == 0 else number % 2 == 0,
        "small": number % 1000,
        "cost": Decimal(number) / 100,
        "single": number / 8,
        "day": None if number % 4 == 0 else dt.date(2024, 1, 1 + number % 4),
    }


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    url = tmp_path_factory.mktemp("rows")
    options = {"spark.indextables.indexing.typemap.text": "text"}
    found = Table.create(url / "t", SCHEMA, partition_by=["day"], options=options)
    found.append(pa.Table.from_pylist([row(number) for number in range(400)], SCHEMA))
    return found


@pytest.mark.parametrize("columns", [None, FLAT, ["text"], ["day"], ["cost", "single", "id"], ["id", "day"]])
@pytest.mark.parametrize("limit", [1, 3, 10, 40, 200, 400])
def test_rows_of_the_best(table: Table, columns: list[str] | None, limit: int) -> None:
    found = table.search("text:needle", columns=columns, limit=limit)
    names = SCHEMA.names if columns is None else columns
    assert found.schema.names == [*names, "_score"]
    assert found.num_rows == limit
    found.validate(full=True)
    ids = table.search("text:needle", columns=["id"], limit=limit).column("id").to_pylist()
    assert len(set(ids)) == limit
    assert found.drop_columns(["_score"]).to_pylist() == [{name: row(number)[name] for name in names} for number in ids]


def test_the_same_rows_after_a_merge(table: Table, tmp_path: Path) -> None:
    options = {"spark.indextables.indexing.typemap.text": "text"}
    merged = Table.create(tmp_path / "t", SCHEMA, options=options)
    for start in range(0, 400, 50):
        merged.append(pa.Table.from_pylist([row(number) for number in range(start, start + 50)], SCHEMA))
    merged.merge_splits()
    assert merged.files().num_rows == 1
    found = merged.search("text:needle", columns=FLAT, limit=12)
    assert found.drop_columns(["_score"]).to_pylist() == [
        {name: row(number)[name] for name in FLAT} for number in found.column("id").to_pylist()
    ]


@pytest.mark.parametrize("columns", [None, FLAT, ["text"], ["day"], [], ["cost", "single", "id"], ["id", "day"]])
@pytest.mark.parametrize("query", ["id:7", "id:[3 TO 9]", "id:[0 TO 99]", "id:[0 TO 100]", "text:hay", "id:1000"])
def test_rows_of_a_scan(table: Table, columns: list[str] | None, query: str) -> None:
    """Few rows come as one batch of several splits, many by split; of both kinds each comes once, with its values."""
    names = SCHEMA.names if columns is None else columns
    expected = [number for number in range(400) if _finds(query, number)]
    assert table.count(query=query) == len(expected)
    batches = list(table.scan(columns, query=query))
    assert sum(batch.num_rows for batch in batches) == len(expected)
    assert all(batch.num_rows for batch in batches)
    for batch in batches:
        batch.validate(full=True)
        assert batch.schema.names == names
    found = [value for batch in batches for value in batch.to_pylist()]
    ids = [value["id"] for value in table.scan(["id"], query=query).read_all().to_pylist()]
    assert sorted(ids) == expected
    assert found == [{name: row(number)[name] for name in names} for number in ids]
    for limit in (1, 5, 101):
        assert table.scan(["id"], query=query, limit=limit).read_all().column("id").to_pylist() == ids[:limit]


def _finds(query: str, number: int) -> bool:
    if query == "text:hay":
        return number % 5 > 0
    low, _, high = query.removeprefix("id:").strip("[]").partition(" TO ")
    return int(low) <= number <= int(high or low)


def test_a_split_without_a_column_has_its_rows_in_another_way(tmp_path: Path) -> None:
    """The table got the column later: there it is null, and not among what is stored."""
    schema = pa.schema([("id", pa.int64()), ("new", pa.string())])
    cache = IndexCache(tmp_path / "cache", 1 << 30)
    old, new = (
        open_reader(tmp_path, *write(tmp_path, data), schema, cache)
        for data in (pa.table({"id": [1, 2]}), pa.table({"id": [3, 4], "new": ["a", None]}))
    )
    assert read_few_rows([(old, [0]), (new, [1])], schema.names) is None
    for split, numbers, expected in (
        (old, [0, 1], [{"id": 1, "new": None}, {"id": 2, "new": None}]),
        (new, [0, 1], [{"id": 3, "new": "a"}, {"id": 4, "new": None}]),
    ):
        rows = read_few_rows([(split, numbers)], schema.names)
        assert rows is not None
        assert few_rows_batch(rows, schema).to_pylist() == expected
        assert few_rows_batch(rows[::-1], schema).to_pylist() == expected[::-1]
    together = read_few_rows([(old, [1]), (new, [0])], ["id"])
    assert together is not None
    assert few_rows_batch(together, schema.empty_table().select(["id"]).schema).to_pylist() == [{"id": 2}, {"id": 3}]


def test_a_split_that_is_gone_costs_no_row_before_it(tmp_path: Path) -> None:
    options = {"spark.indextables.indexing.typemap.text": "text"}
    schema = pa.schema([("id", pa.int64()), ("text", pa.string())])
    found = Table.create(tmp_path / "t", schema, options=options)
    for start in range(0, 30, 10):
        found.append(pa.table({"id": range(start, start + 10), "text": ["needle"] * 10}, schema))
    paths = found.files().column("path").to_pylist()
    (tmp_path / "t" / paths[1]).unlink()
    reader = Table.open(tmp_path / "t").scan(query="text:needle")
    assert reader.read_next_batch().num_rows == 10
    with pytest.raises(SplitError, match="is missing, and the table has rows in it"):
        reader.read_next_batch()
