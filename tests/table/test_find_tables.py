"""Tables below a place, on a disk and in a store."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pytest

from indextables import Table
from indextables.core.errors import CorruptLog, StorageError, TableNotFound
from indextables.core.options import Options
from indextables.log.log_paths import version_key
from indextables.storage.resolve import resolve
from indextables.storage.testing.counting import Counting
from indextables.table.maintain.find_tables import find_tables, table_paths

NAMES = ("Zoo", "a", "a-b", "deep/er/t", "deep/one")


@pytest.fixture(params=["disk", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path) if request.param == "disk" else f"memory://{uuid4().hex}/tables"


def fill(place: str) -> None:
    for name in NAMES:
        table = Table.create(f"{place}/{name}", "Key string, n long", ["Key"])
        table.append(pa.table({"Key": ["x", "y"], "n": [1, 2]}))
    store = resolve(place, Options()).open()
    for key in ("a.txt", "b/c.txt", "deep/er/readme", "z/_transaction_log.txt"):
        store.put(key, b"nothing")


def test_tables_are_found_wherever_they_lie(place: str) -> None:
    fill(place)
    found = list(find_tables(place))
    assert [table.path for table in found] == sorted(NAMES, key=lambda name: f"{name}/")
    for table in found:
        assert table.facts is not None
        assert (table.facts.values["rows"], table.facts.values["version"]) == (2, 1)
        assert Table.open(table.url).count() == 2
    assert [table.path for table in find_tables(f"{place}/deep")] == ["er/t", "one"]
    assert [table.path for table in find_tables(f"{place}/a")] == [""], "the place is a table itself"
    if "://" in place:
        assert list(find_tables(f"{place}/nowhere")) == [], "a store has no directories"
    else:
        with pytest.raises(TableNotFound, match=r"there is no directory .*nowhere"):
            find_tables(f"{place}/nowhere")


def test_a_place_that_nobody_can_look_at_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no directory")
    with pytest.raises(TableNotFound, match="there is no directory"):
        find_tables(str(tmp_path / "file" / "below"))
    with pytest.raises(StorageError, match="File name too long"):
        list(find_tables(str(tmp_path / ("x" * 300))))


def test_tables_inside_of_tables_are_not_looked_for(tmp_path: Path) -> None:
    Table.create(tmp_path / "outer", "n long")
    Table.create(tmp_path / "outer" / "inner", "n long")
    assert [table.path for table in find_tables(str(tmp_path))] == ["outer"]


def test_what_lies_in_tables_is_not_listed(tmp_path: Path) -> None:
    """A table of many files costs as many requests as one of none."""

    def requests() -> int:
        store = Counting(resolve(str(tmp_path), Options()).open())
        assert list(table_paths(store)) == ["t"]
        return len(store.requests)

    table = Table.create(tmp_path / "t", "Key long, n long", ["Key"])
    before = requests()
    table.append(pa.table({"Key": list(range(50)), "n": list(range(50))}))
    assert requests() == before


def test_a_table_that_cannot_be_opened_is_one_with_an_error(tmp_path: Path) -> None:
    Table.create(tmp_path / "a", "n long")
    Table.create(tmp_path / "b", "n long")
    (tmp_path / "a" / version_key(0)).write_bytes(b"\x00 nonsense")
    (tmp_path / "c" / "_transaction_log").mkdir(parents=True)
    (tmp_path / "c" / "_transaction_log" / "note").write_text("no table")
    broken, sound = find_tables(str(tmp_path))
    assert (broken.path, broken.facts, sound.path, sound.error) == ("a", None, "b", None)
    assert str(tmp_path / "a") in str(broken.error)


def test_a_table_that_lost_its_version_0_is_not_gone(tmp_path: Path) -> None:
    """Also for a process that has opened the table before: a drop in its middle looks the same."""
    table = Table.create(tmp_path / "a", "n long")
    table.append(pa.table({"n": [1]}))
    (tmp_path / "a" / version_key(0)).unlink()
    with pytest.raises(CorruptLog, match="repair the log, or drop the table again if a drop of it has begun"):
        table.refresh()
    with pytest.raises(CorruptLog, match="repair the log"):
        Table.open(tmp_path / "a")
    Table.create(tmp_path / "b", "n long")
    broken, _ = find_tables(str(tmp_path))
    assert isinstance(broken.error, CorruptLog)
