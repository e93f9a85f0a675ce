"""An older copy of a table is put back under a process that knows what came later."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from indextables import AddAction, Table
from log.support import SCHEMA


def live(table: Table) -> list[str]:
    return sorted(table.files()["path"].to_pylist())


def add(table: Table, *names: str) -> None:
    table.commit_files(adds=[AddAction(name, {}, size=1, num_records=1) for name in names])


def put_back(copy: Path, where: Path) -> None:
    """As it was, and the first version in the very place of the disk where it was before: as if its number were used again."""
    zero = where / "_transaction_log" / f"{0:020d}.json"
    kept = where.parent / "kept"
    os.link(zero, kept)
    shutil.rmtree(where)
    shutil.copytree(copy, where)
    zero.unlink()
    os.link(kept, zero)
    kept.unlink()


@pytest.fixture
def known(tmp_path: Path) -> Table:
    """A table of which a copy was made at version 1, and of which this process knows version 3."""
    table = Table.create(tmp_path / "t", SCHEMA)
    add(table, "old")
    shutil.copytree(tmp_path / "t", tmp_path / "copy")
    add(table, "lost-1")
    add(table, "lost-2")
    assert live(Table.open(tmp_path / "t")) == ["lost-1", "lost-2", "old"]
    return table


def test_what_came_later_is_gone(known: Table, tmp_path: Path) -> None:
    put_back(tmp_path / "copy", tmp_path / "t")
    assert live(Table.open(tmp_path / "t")) == ["old"]
    assert live(known.refresh()) == ["old"]
    add(known, "new")
    assert live(Table.open(tmp_path / "t", options={"transaction.cache.enabled": False})) == ["new", "old"]


@pytest.mark.parametrize("versions", [2, 3])
def test_what_came_later_is_something_else(known: Table, tmp_path: Path, versions: int) -> None:
    """Another process has written as many versions since, or more."""
    put_back(tmp_path / "copy", tmp_path / "t")
    other = Table.open(tmp_path / "t", options={"transaction.cache.enabled": False})
    for number in range(versions):
        add(other, f"other-{number}")
    expected = sorted(["old", *(f"other-{number}" for number in range(versions))])
    assert live(Table.open(tmp_path / "t")) == expected
    assert live(known.refresh()) == expected
