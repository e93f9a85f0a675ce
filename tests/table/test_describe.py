"""`Table.partitions` and `Table.describe`: a table in figures."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from indextables import Table
from indextables.cli.errors import OK
from indextables.table.maintain.list_partitions import PARTITION_FACTS


def rows(days: list[dt.date | None], amounts: list[Decimal | None]) -> pa.Table:
    return pa.table(
        {
            "day": pa.array(days, pa.date32()),
            "amount": pa.array(amounts, pa.decimal128(5, 2)),
            "n": pa.array(range(len(days)), pa.int64()),
        }
    )


@pytest.fixture
def sales(tmp_path: Path) -> Table:
    """Two commits: two partitions, then one of them again and one of nulls."""
    first, second = dt.date(2026, 1, 1), dt.date(2026, 1, 2)
    table = Table.create(tmp_path / "sales", "day date, amount decimal(5,2), n long", ["day", "amount"])
    table.append(rows([first, first, second], [Decimal("1.50")] * 3))
    table.append(rows([second, None], [Decimal("1.50"), None]))
    return table


def test_partitions(sales: Table) -> None:
    found = sales.partitions()
    assert found.schema.names == ["day", "amount", *PARTITION_FACTS.names]
    assert found.schema.types[:2] == [pa.date32(), pa.decimal128(5, 2)]
    shown = [(row["day"], row["amount"], row["files"], row["rows"], row["version"]) for row in found.to_pylist()]
    assert shown == [
        (dt.date(2026, 1, 1), Decimal("1.50"), 1, 2, 1),
        (dt.date(2026, 1, 2), Decimal("1.50"), 2, 2, 2),
        (None, None, 1, 1, 2),
    ]
    files = sales.files().to_pylist()
    assert sum(found.column("bytes").to_pylist()) == sum(file["size"] for file in files)
    times = [file["modificationTime"] for file in files]
    oldest = min(found.column("oldest_file").cast(pa.int64()).to_pylist())
    assert (oldest, max(found.column("newest_file").cast(pa.int64()).to_pylist())) == (min(times), max(times))


def test_partitions_of_a_table_without_any(tmp_path: Path) -> None:
    table = Table.create(tmp_path / "t", "files long, rows string")
    assert table.partitions().num_rows == 0
    table.append(pa.table({"files": [1, 2], "rows": ["a", "b"]}))
    (only,) = table.partitions().to_pylist()
    assert (only["files"], only["rows"], only["version"]) == (1, 2, 1)


def test_partition_columns_may_have_the_names_of_figures(tmp_path: Path) -> None:
    table = Table.create(tmp_path / "t", "files long, k0 string, n long", ["files", "k0"])
    table.append(pa.table({"files": [7, 7, 8], "k0": ["x", "x", "y"], "n": [1, 2, 3]}))
    found = table.partitions()
    assert found.schema.names == ["files", "k0", *PARTITION_FACTS.names]
    assert [column.to_pylist() for column in found.columns[:4]] == [[7, 8], ["x", "y"], [1, 1], [2, 1]]


def test_describe(sales: Table) -> None:
    found = sales.describe()
    assert found.schema == pa.schema([pa.field("property", pa.string(), nullable=False), ("value", pa.string())])
    facts = dict(zip(*(column.to_pylist() for column in found.columns), strict=True))
    assert (facts["url"], facts["id"], facts["version"]) == (sales.url, sales.id, "2")
    assert (facts["rows"], facts["files"], facts["partitionBy"]) == ("5", "4", "day, amount")
    assert facts["bytes"] == str(sum(sales.files().column("size").to_pylist()))
    assert facts["committed"] == iso(sales.history(1).column("timestamp")[0].as_py())
    assert facts["oldestFile"] <= facts["newestFile"] <= facts["committed"]
    assert (facts["minReaderVersion"], facts["versionsKept"], facts["stateVersion"]) == ("4", "3", None)
    assert "bundleSplits" in facts["features"]
    assert facts["column.day"] == "date, partition"
    assert facts["column.n"] == "long, values"
    sales.checkpoint()
    facts = dict(zip(*(column.to_pylist() for column in sales.describe().columns), strict=True))
    assert facts["stateVersion"] == "2"
    assert 0 <= int(facts["stateAgeSeconds"]) < 600


def iso(moment: dt.datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def test_describe_tells_properties_and_how_columns_are_indexed(tmp_path: Path) -> None:
    options = {"safetyAge.hours": 100}
    table = Table.create(tmp_path / "t", "m text, tag string not null, b binary, s struct<a:long>", options=options)
    facts = dict(zip(*(column.to_pylist() for column in table.describe().columns), strict=True))
    assert facts["property.spark.indextables.safetyAge.hours"] == "100"
    assert [facts[f"column.{name}"] for name in ("m", "tag", "b", "s")] == [
        "string, words",
        "string not null, exact",
        "binary, none",
        "struct<a:long>, paths",
    ]
    assert (facts["rows"], facts["oldestFile"]) == ("0", None)


def test_a_schema_as_people_type_it(tmp_path: Path) -> None:
    options = {"indexing.typemap.c": "string", "indexing.typemap.text": "d"}
    table = Table.create(tmp_path / "t", "id long not null, m text, `a b` text, c text, d string", options=options)
    assert table.schema.names == ["id", "m", "a b", "c", "d"]
    assert [field.nullable for field in table.schema] == [False, True, True, True, True]
    columns = dict(zip(*(column.to_pylist() for column in table.describe().columns), strict=True))
    indexed = [columns[f"column.{name}"].split(", ")[1] for name in ("m", "a b", "c", "d")]
    assert indexed == ["words", "words", "exact", "words"], "options hold where they speak of a column"
    table.append(pa.table({"id": [1], "m": ["disk full"], "a b": ["x y"], "c": ["p q"], "d": ["v w"]}))
    assert Table.open(tmp_path / "t").count(query="m:disk") == 1
    assert Table.create(tmp_path / "t", "id long", if_exists="open").version == 1


def test_the_command_shows_the_same_facts(sales: Table) -> None:
    from cli.support import run

    told = run("describe", sales.url, "--json")
    assert told.code == OK
    facts = dict(zip(*(column.to_pylist() for column in sales.describe().columns), strict=True))
    shown = told.json
    for name in ("url", "id", "committed", "oldestFile", "newestFile"):
        assert shown[name] == facts[name]
    for name in ("version", "rows", "files", "bytes", "versionsKept"):
        assert str(shown[name]) == facts[name]
    assert len(shown["columns"]) == sum(name.startswith("column.") for name in facts)
