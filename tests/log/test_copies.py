"""A copy of a table has the same id and goes its own way: what a process knows of one says nothing about the other."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from indextables import AddAction, Table
from log.support import SCHEMA


def paths(table: Table) -> list[str]:
    return sorted(table.files().column("path").to_pylist())


@pytest.mark.parametrize("options", [{}, {"state.format": "json"}, {"transaction.cache.enabled": False}], ids=str)
@pytest.mark.parametrize("interval", [1, 3, 100])
def test_copies_share_nothing_but_their_past(tmp_path: Path, options: dict[str, Any], interval: int) -> None:
    options = {**options, "checkpoint.interval": interval}
    first = Table.create(tmp_path / "first", SCHEMA, options=options)
    first.commit_files([AddAction("both.split", size=1)])
    shutil.copytree(tmp_path / "first", tmp_path / "second")
    for number in range(7):
        for name in ("first", "second"):
            table = Table.open(tmp_path / name, options=options)
            assert table.version == number + 1
            table.commit_files([AddAction(f"{name}-{number}.split", size=1)])
    for name in ("first", "second"):
        for version in range(1, 9):
            expected = sorted(["both.split", *(f"{name}-{number}.split" for number in range(version - 1))])
            assert paths(Table.open(tmp_path / name, version=version, options=options)) == expected
        table = Table.open(tmp_path / name, options=options)
        changes = table.changes(1)
        assert sorted(changes.adds.column("path").to_pylist()) == [f"{name}-{number}.split" for number in range(7)]
        table.checkpoint()
        assert paths(Table.open(tmp_path / name)) == expected
