"""Tables whose log names splits by absolute paths and URLs inside the table: every reader and every writer gets to the files."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pyarrow as pa
import pytest

from indextables import Table
from indextables.split import open_splits
from indextables.table.distributed.read_tasks import plan_tasks
from indextables.table.loading import explained_files
from indextables.table.read.request import make_request
from tables import handle_of

IDS = list(range(40))


@pytest.fixture(params=["path", "url"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table of four splits in two partitions, of which three are named absolutely in the log, as a path or as a URL."""
    open_splits.close_all()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    place, made = tmp_path / "table", tmp_path / "made"
    options = {"transaction.compression.enabled": False, "indexing.typemap.m": "text"}
    table = Table.create(str(made), "id long, m text, d string", partition_by=["d"], options=options)
    for first in range(0, 40, 10):
        table.append(some(first))
    root = f"file://{place}" if request.param == "url" else str(place)
    for version in sorted((made / "_transaction_log").glob("*.json"))[1:-1]:
        lines = [json.loads(line) for line in version.read_text().splitlines()]
        for line in lines:
            if "add" in line:
                line["add"]["path"] = f"{root}/{line['add']['path']}"
        version.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return made.rename(place)


def some(first: int) -> pa.Table:
    return pa.table(
        {
            "id": range(first, first + 10),
            "m": [f"disk word{n}" for n in range(first, first + 10)],
            "d": [f"d{first // 10 % 2}"] * 10,
        }
    )


def ids(found: pa.Table) -> list[int]:
    return sorted(found.column("id").to_pylist())


def named(table: Table) -> list[str]:
    paths: list[str] = table.files().column("path").to_pylist()
    return sorted(paths)


def test_rows_are_read(place: Path) -> None:
    table = Table.open(str(place))
    assert sum(str(place) in path for path in named(table)) == 3
    assert ids(table.scan().read_all()) == IDS
    assert ids(table.scan(where="id > 17 AND id < 23").read_all()) == [18, 19, 20, 21, 22]
    assert table.count(where="id >= 5 AND id < 25") == 20
    assert ids(table.scan(query="m:word7").read_all()) == [7]
    assert ids(table.search("m:disk", limit=100)) == IDS
    assert table.aggregate((), {"s": "sum(id)"}).to_pylist() == [{"s": sum(IDS)}]


def test_change_feeds_read_them(place: Path) -> None:
    table = Table.open(str(place))
    table.overwrite(some(40), where="d = 'd0'")
    feed = table.changes_rows(0).read_all()
    kinds = feed.group_by("_change_type").aggregate([("id", "count")]).to_pylist()
    assert {row["_change_type"]: row["id_count"] for row in kinds} == {"insert": 50, "delete": 20}


def test_tasks_of_other_processes_read_them(place: Path) -> None:
    handle = handle_of(Table.open(str(place)))
    plan = plan_tasks(handle, make_request(handle, "reading", columns=("id",)), 2)
    tasks = pickle.loads(pickle.dumps(plan.tasks))
    assert ids(pa.Table.from_batches([batch for task in tasks for batch in task.batches()])) == IDS


def test_what_is_said_of_a_split_names_the_path_of_the_log(place: Path) -> None:
    table = Table.open(str(place))
    assert sorted(file.path for file in explained_files(table, None, None)) == named(table)
    assert sorted(set(table.component_sizes().column("split_path").to_pylist())) == named(table)


def test_a_merge_and_a_purge_leave_the_rows(place: Path) -> None:
    table = Table.open(str(place))
    merged = table.merge_splits()
    assert (merged.sources, merged.results, merged.skipped) == (4, 2, {})
    assert ids(Table.open(str(place)).scan().read_all()) == IDS
    assert len(named(table)) == 2
    assert Table.open(str(place)).purge().status in ("success", "no_action")
    assert ids(Table.open(str(place)).scan().read_all()) == IDS


def test_rows_are_replaced(place: Path) -> None:
    table = Table.open(str(place))
    table.overwrite(some(100), where="d = 'd0'")
    assert ids(Table.open(str(place)).scan().read_all()) == [*range(10, 20), *range(30, 40), *range(100, 110)]
