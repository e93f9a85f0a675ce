"""The rows that were committed last, whatever merges, overwrites and purges did to their files."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indextables import Table
from indextables.core.errors import PredicateError
from indextables.log.file_entries import rows_to_adds
from indextables.log.log_paths import version_key
from indextables.table.loading import Selection, last_rows

NO_CACHE = {"transaction.cache.enabled": False}
SCHEMA = "p string, n long, m text"


def rows(*numbers: int, p: str = "a") -> pa.Table:
    texts = [f"row number{number % 3}" for number in numbers]
    return pa.table({"p": [p] * len(numbers), "n": pa.array(numbers, pa.int64()), "m": texts})


def last(table: Table, limit: int, **selection: str) -> list[int]:
    return last_rows(table, Selection(["n"], **selection), limit).column("n").to_pylist()


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table.create(tmp_path / "t", SCHEMA, ["p"])


def test_rows_of_the_last_commits(table: Table) -> None:
    assert last(table, 5) == []
    for start in range(0, 40, 4):
        table.append(rows(*range(start, start + 4)))
    assert last(table, 6) == [34, 35, 36, 37, 38, 39]
    assert last(table, 0) == []
    assert last(table, 100) == list(range(40))
    assert last(table, 3, where="n <> 39") == [36, 37, 38]
    assert last(table, 4, query="m:number0") == [30, 33, 36, 39]
    assert last_rows(table, Selection(), 1).schema.names == ["p", "n", "m"]
    with pytest.raises(PredicateError):
        last(table, 1, where="nothing = 1")


def test_merges_change_nothing(table: Table) -> None:
    table.append(rows(*range(100)))
    for number in range(100, 112):
        table.append(rows(number))
    table.merge_splits()
    table.append(rows(200, p="b"))
    table.merge_splits(where="p = 'b'")
    assert last(table, 4) == [109, 110, 111, 200]
    assert last(table, 14) == [99, *range(100, 112), 200]


def test_rows_that_were_removed_are_no_news(table: Table) -> None:
    table.append(rows(1, 2, p="a"))
    table.append(rows(3, 4, p="b"))
    table.append(rows(5, 6, p="b"))
    table.merge_splits()
    table.overwrite(rows(7, p="b"), where="p = 'b'")
    assert last(table, 10) == [1, 2, 7]
    assert sorted(table.scan(["n"]).read_all().column("n").to_pylist()) == [1, 2, 7]


def replaced_by_themselves(table: Table, *paths: str) -> None:
    """One commit removes files and adds them again, with the entries that `Table.files` gives."""
    adds = [add for add in rows_to_adds(table.files()) if add.path in paths]
    table.commit_files([msgspec.structs.replace(add, min_values={"n": "0"}) for add in adds], paths)


@pytest.mark.parametrize("merged", [True, False])
def test_files_that_are_replaced_by_themselves_are_no_news(table: Table, merged: bool) -> None:
    table.append(rows(1))
    table.append(rows(2))
    if merged:
        table.merge_splits(target_size="1G")
    old = table.files().column("path").to_pylist()
    table.append(rows(3))
    replaced_by_themselves(table, *old)
    assert (last(table, 10), last(table, 1)) == ([1, 2, 3], [3])
    table.commit_files(removes=old)
    assert last(table, 10) == [3]


def test_a_file_that_was_replaced_by_itself_is_shown_where_the_log_ends(table: Table) -> None:
    """The log says that it was added by a newer version than the first one that is gone; it was there before."""
    table.append(rows(1, p="b"))
    (old,) = table.files().column("path").to_pylist()
    table.append(rows(2))
    replaced_by_themselves(table, old)
    table.append(rows(3))
    table.append(rows(4))
    table.merge_splits(where="p = 'a'", target_size="1G")
    table.checkpoint()
    for version in (1, 2):
        (Path(table.url) / version_key(version)).unlink()
    cut = Table.open(table.url, options=NO_CACHE)
    assert sorted(last(cut, 10)) == [1, 3, 4], "row 2 is in the merge's result alone"


def test_where_the_log_ends_live_files_answer(table: Table) -> None:
    for number in range(8):
        table.append(rows(number))
    table.checkpoint()
    for version in range(1, 7):
        (Path(table.url) / version_key(version)).unlink()
    again = Table.open(table.url, options=NO_CACHE)
    assert last(again, 3) == [5, 6, 7]
    assert last(again, 100) == list(range(8))


def test_where_merged_files_are_gone_their_results_answer(table: Table) -> None:
    for number in range(6):
        table.append(rows(number))
    before = {file["path"] for file in table.files().to_pylist()}
    table.merge_splits()
    for path in before:
        (Path(table.url) / path).unlink()
    assert last(Table.open(table.url), 4) == [2, 3, 4, 5]


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_a_model_of_rows_agrees(data: st.DataObject) -> None:
    """Appends, overwrites and merges at random: the last rows are those of a list that does the same."""
    table = Table.create(f"memory://{uuid4().hex}/t", SCHEMA, ["p"])
    model: list[tuple[str, int]] = []
    number = 0
    for _ in range(data.draw(st.integers(1, 8))):
        verb = data.draw(st.sampled_from(["append", "append", "append", "overwrite", "merge"]))
        p = data.draw(st.sampled_from("ab"))
        count = data.draw(st.integers(1, 3))
        new = list(range(number, number + count))
        if verb == "append":
            table.append(rows(*new, p=p))
        elif verb == "overwrite":
            model = [row for row in model if row[0] != p]
            table.overwrite(rows(*new, p=p), where=f"p = '{p}'")
        else:
            table.merge_splits()
            continue
        model += [(p, value) for value in new]
        number += count
    for limit in (1, 3, 100):
        assert last(table, limit) == [value for _, value in model][-limit:]
