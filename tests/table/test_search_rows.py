"""The rows of the best hits are the rows of the table, however few or many they are and whatever columns they have."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from indextables import Table

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
