"""`Table.changes_rows`: what each verb tells, what may be asked, and what cannot be told any more."""

from __future__ import annotations

import datetime as dt
import math
import uuid
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from indextables import Table
from indextables.core.errors import (
    ChangesGone,
    CorruptSplit,
    OptionError,
    PredicateError,
    QueryError,
    SchemaError,
    SplitError,
    TableReplaced,
    VersionNotFound,
)
from indextables.log.commit import commit
from indextables.log.conflicts import Change, MetadataUpdate, Replace
from indextables.log.file_entries import rows_to_adds
from indextables.log.log_paths import version_key
from indextables.split.reader import SplitReader
from indextables.storage.testing.counting import Counting
from table.rows_support import add_rows
from tables import handle_of, on_store, store_of

NO_CACHE = {"transaction.cache.enabled": False}
SCHEMA = "p string, n long, m text"


def rows(*numbers: int, p: str = "a") -> pa.Table:
    texts = [f"row number{number % 3}" for number in numbers]
    return pa.table({"p": [p] * len(numbers), "n": pa.array(numbers, pa.int64()), "m": texts})


def told(table: Table, since: Any, until: Any = None, **selection: Any) -> list[tuple[str, int, int]]:
    found = table.changes_rows(since, until, **selection).read_all()
    names = ["_change_type", "_commit_version", "n"]
    return list(zip(*(found.column(name).to_pylist() for name in names), strict=True))


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table.create(tmp_path / "t", SCHEMA, ["p"])


def test_what_each_verb_tells(table: Table) -> None:
    table.append(rows(1, 2, p="a"))
    table.append(rows(3, p="b"))
    table.overwrite(rows(2, 2, 4, p="a"), where="p = 'a'")
    assert told(table, 2) == [("delete", 3, 1), ("insert", 3, 2), ("insert", 3, 4)], "one of the twos was there before"
    table.merge_splits()
    table.checkpoint()
    version = table.version
    table.drop_partitions("p = 'b'")
    assert told(table, 3) == [("delete", version + 1, 3)]
    table.restore(version=2)
    assert told(table, version + 1) == [
        ("delete", version + 2, 2),
        ("delete", version + 2, 4),
        ("insert", version + 2, 1),
        ("insert", version + 2, 3),
    ]
    table.overwrite(rows(1, 2, p="a"))
    assert told(table, version + 2) == [("delete", version + 3, 3)]
    assert told(table, 0, 2) == [("insert", 1, 1), ("insert", 1, 2), ("insert", 2, 3)]
    assert told(table, -1, 0) == told(table, table.version) == []


def test_the_columns_of_the_answer(table: Table) -> None:
    table.append(rows(1))
    found = table.changes_rows(0).read_all()
    assert found.schema == pa.schema(
        [
            *table.schema,
            pa.field("_change_type", pa.string(), nullable=False),
            pa.field("_commit_version", pa.int64(), nullable=False),
            pa.field("_commit_timestamp", pa.timestamp("us", "UTC"), nullable=False),
        ]
    )
    (committed,) = table.history(1).column("timestamp").to_pylist()
    assert found.column("_commit_timestamp").to_pylist() == [committed]
    assert table.changes_rows(1).schema == found.schema
    assert table.changes_rows(0, columns=["n", "P"]).schema.names[:3] == ["n", "p", "_change_type"]
    assert table.changes_rows(0, columns=[]).read_all().num_rows == 1


def test_the_columns_do_not_decide_which_rows_changed(table: Table) -> None:
    table.append(rows(1, 2))
    new = rows(1, 2).set_column(2, "m", pa.array(["row number1", "other"]))
    table.overwrite(new, where="p = 'a'")
    expected = [("delete", 2, 2), ("insert", 2, 2)]
    assert told(table, 1) == told(table, 1, columns=["n"]) == expected
    assert table.changes_rows(1, columns=["p"]).read_all().column("p").to_pylist() == ["a", "a"]


def test_a_condition_and_a_search(table: Table) -> None:
    table.append(rows(1, 2, 3, p="a"))
    table.append(rows(4, 5, 6, p="b"))
    table.overwrite(rows(2, 3, 3, 7, 8, p="a"), where="p = 'a'")
    assert told(table, 2) == [("delete", 3, 1), ("insert", 3, 3), ("insert", 3, 7), ("insert", 3, 8)]
    assert told(table, 2, where="n > 1") == [("insert", 3, 3), ("insert", 3, 7), ("insert", 3, 8)]
    assert told(table, 0, query="m:number1") == [("insert", 1, 1), ("insert", 2, 4), ("delete", 3, 1), ("insert", 3, 7)]
    assert told(table, 0, query="m:number1", where="p = 'a' AND n < 9") == [
        ("insert", 1, 1),
        ("delete", 3, 1),
        ("insert", 3, 7),
    ]
    assert told(table, 0, where="m INDEXQUERY 'number0' OR n = 8") == [
        ("insert", 1, 3),
        ("insert", 2, 6),
        ("insert", 3, 3),
        ("insert", 3, 8),
    ]
    with pytest.raises(PredicateError):
        table.changes_rows(0, where="nothing = 1")
    with pytest.raises(QueryError):
        table.changes_rows(0, query="(")
    with pytest.raises(SchemaError):
        table.changes_rows(0, columns=["nothing"])


def test_partitions_that_a_condition_rules_out_are_not_read(table: Table) -> None:
    table.append(rows(1, p="a"))
    for number in range(4):
        table.append(rows(number, p=f"b{number}"))
    counting = Counting(store_of(table))
    again = on_store(table, counting)
    assert told(again, 1, where="p = 'b2' AND n < 9") == [("insert", 4, 2)]
    read = {key for key in counting.keys if "splits/" in key}
    assert {key.split("/")[0] for key in read} == {"p=b2"}


def test_versions_may_be_given_by_time(table: Table) -> None:
    for number in range(4):
        table.append(rows(number))
    times = dict(zip(*(table.history().column(name).to_pylist() for name in ("version", "timestamp")), strict=True))
    assert told(table, times[1], times[3]) == [("insert", 2, 1), ("insert", 3, 2)]
    assert told(table, times[2].isoformat(), 3) == [("insert", 3, 2)]
    assert told(table, 3, times[4] + dt.timedelta(days=1)) == [("insert", 4, 3)]
    with pytest.raises(VersionNotFound, match="ask for a later time"):
        table.changes_rows("2000-01-01")


def test_versions_that_cannot_be(table: Table) -> None:
    table.append(rows(1))
    table.append(rows(2))
    with pytest.raises(VersionNotFound, match="is at version 2, so there are no changes since 3"):
        table.changes_rows(3)
    with pytest.raises(VersionNotFound, match="is at version 2, so there are no changes since 9"):
        table.changes_rows(9, 8)
    with pytest.raises(VersionNotFound, match="version 8"):
        table.changes_rows(1, 8)
    with pytest.raises(OptionError, match="until is version 1, which is before since, version 2"):
        table.changes_rows(2, 1)
    with pytest.raises(OptionError, match=r"since is 1\.5"):
        table.changes_rows(1.5)  # type: ignore[arg-type]
    assert told(table, -1) == [("insert", 1, 1), ("insert", 2, 2)]
    with pytest.raises(OptionError, match="since is -2, but must be a version, 0 or more, or -1 for all rows"):
        table.changes_rows(-2)
    with pytest.raises(OptionError, match="since is -2, but must be a version"):
        table.changes(-2)
    for until in (-1, -2):
        with pytest.raises(OptionError, match=f"until is {until}, but must be a version, 0 or more$"):
            table.changes_rows(-1, until)
    with pytest.raises(OptionError, match="until is True"):
        table.changes_rows(0, True)
    earlier = Table.open(table.url, version=1)
    assert told(earlier, 0) == [("insert", 1, 1)], "a table ends at its version"
    assert told(earlier, 0, 2) == [("insert", 1, 1), ("insert", 2, 2)]


def test_a_version_that_was_cleaned_up(table: Table) -> None:
    for number in range(4):
        table.append(rows(number))
    table.checkpoint()
    (Path(table.url) / version_key(2)).unlink()
    again = Table.open(table.url, options=NO_CACHE)
    with pytest.raises(ChangesGone, match="changes are known only since 2") as gone:
        again.changes_rows(1)
    assert gone.value.oldest == 2
    assert told(again, 2) == [("insert", 3, 2), ("insert", 4, 3)]


@pytest.mark.parametrize("compared", [False, True])
def test_a_file_that_is_gone(table: Table, compared: bool) -> None:
    table.append(rows(1, p="a"))
    table.append(rows(2, p="b"))
    for p in "ab":
        if compared:
            table.overwrite(rows(7, p=p), where=f"p = '{p}'")
        else:
            table.drop_partitions(f"p = '{p}'")
    table.append(rows(9))
    for path in Path(table.url).rglob("*.split"):
        if path.relative_to(table.url).as_posix() in _removed(table):
            path.unlink()
    with pytest.raises(ChangesGone) as gone:
        Table.open(table.url, options=NO_CACHE).changes_rows(2).read_all()
    assert (gone.value.version, gone.value.oldest) == (3, 4), "version 4 lacks a file, too"
    message = str(gone.value)
    assert "\n" not in message
    assert "whose rows version 3 changed, is gone from the store" in message
    assert message.endswith("known only since 4; read the whole table at version 4, then its changes from there")
    assert told(table, gone.value.oldest) == [("insert", 5, 9)]


def _removed(table: Table) -> set[str]:
    return set(table.changes(0).removes.column("path").to_pylist())


def test_a_damaged_file_is_no_lost_one(table: Table) -> None:
    table.append(rows(*range(100)))
    (path,) = Path(table.url).rglob("*.split")
    data = bytearray(path.read_bytes())
    data[-20] ^= 1
    path.write_bytes(data)
    with pytest.raises(CorruptSplit):
        table.changes_rows(0).read_all()


def test_a_table_that_took_the_place_of_another(table: Table) -> None:
    table.append(rows(1))
    for path in sorted(Path(table.url).rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    Table.create(table.url, SCHEMA, ["p"]).append(rows(2))
    with pytest.raises(TableReplaced):
        table.changes_rows(0)


def test_a_table_that_another_takes_the_place_of_meanwhile(table: Table) -> None:
    table.append(rows(1))
    reader = table.changes_rows(0)
    for path in sorted(Path(table.url).rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    Table.create(table.url, SCHEMA, ["p"]).append(rows(2))
    with pytest.raises(TableReplaced):
        reader.read_all()


def test_a_table_with_such_columns() -> None:
    table = Table.create(f"memory://{uuid.uuid4().hex}/t", "n long, _commit_version long")
    with pytest.raises(SchemaError, match="has a column _commit_version of its own"):
        table.changes_rows(0)


def test_time_travel_that_was_truncated(table: Table) -> None:
    table.append(rows(1))
    table.append(rows(2))
    table.truncate_time_travel()
    assert told(table, 0) == [("insert", 1, 1), ("insert", 2, 2)], "as long as the version files are there"


def test_values_that_are_equal_cancel() -> None:
    schema = pa.schema([("x", pa.float64()), ("tags", pa.map_(pa.string(), pa.int64()))])
    table = Table.create(f"memory://{uuid.uuid4().hex}/t", schema)
    tags = [[("a", 1), ("b", 2)], None, []]
    table.append(pa.table([[0.0, math.nan, None], tags], schema=schema))
    table.overwrite(pa.table([[None, -0.0, math.nan], [[], [("b", 2), ("a", 1)], None]], schema=schema))
    assert table.changes_rows(1).read_all().num_rows == 0


def test_a_file_that_comes_back_in_the_commit_that_removes_it(table: Table) -> None:
    table.append(rows(1, 2))
    (add,) = rows_to_adds(table.files())
    commit(handle_of(table), Change(adds=(add,), removes=(add.path,)), operation="WRITE")
    table.refresh()
    assert (table.version, table.count(), told(table, 1)) == (2, 2, [])


def test_a_commit_without_a_change_of_data(table: Table) -> None:
    table.append(rows(1))
    other = Table.create(f"{table.url}-2", SCHEMA, ["p"])
    (path,) = add_rows(other, rows(2))
    (add,) = rows_to_adds(other.files())
    store_of(table).create(path, store_of(other).get(path).data)
    table.commit_files([add], data_change=False)
    assert (table.count(), told(table, 1)) == (2, [])


def test_a_live_file_that_is_added_again_without_a_change_of_data_inserts_nothing(table: Table) -> None:
    """With new statistics, as an engine writes them: feed, stream and change sets tell of the rows that are new alone."""
    table.append(rows(1, 2))
    (live,) = rows_to_adds(table.files())
    stream = table.follow(1)
    table.commit_files([msgspec.structs.replace(live, min_values={"n": "0"})], data_change=False)
    table.append(rows(4))
    assert told(table, 0) == [("insert", 1, 1), ("insert", 1, 2), ("insert", 3, 4)]
    assert next(stream).column("n").to_pylist() == [4]
    assert table.files().filter(pc.field("path") == live.path).column("minValues").to_pylist() == [[("n", "0")]]


def test_a_live_file_that_is_replaced_by_itself_inserts_nothing(table: Table) -> None:
    table.append(rows(1, 2))
    (live,) = rows_to_adds(table.files())
    stream = table.follow(1)
    table.commit_files([msgspec.structs.replace(live, data_change=True)], [live.path])
    table.append(rows(3))
    assert told(table, 1) == [("insert", 3, 3)]
    assert next(stream).column("n").to_pylist() == [3]


def test_a_merged_file_that_is_replaced_by_itself_changes_nothing(table: Table) -> None:
    """With the entry that `files` gives, in which the merge said that no data changed: the remove alone says that data did."""
    table.append(rows(1))
    table.append(rows(2))
    table.merge_splits(target_size="1G")
    (live,) = rows_to_adds(table.files())
    assert not live.data_change
    version = table.version
    stream = table.follow(version)
    table.commit_files([msgspec.structs.replace(live, min_values={"n": "0"})], [live.path])
    found = table.changes(version)
    assert (told(table, version), found.adds.num_rows, found.removes.num_rows) == ([], 0, 0)
    table.append(rows(3))
    assert told(table, version) == [("insert", version + 2, 3)]
    assert next(stream).column("n").to_pylist() == [3]


def test_a_removed_file_that_is_added_again_is_told(table: Table) -> None:
    table.append(rows(1, 2))
    (live,) = rows_to_adds(table.files())
    table.commit_files(removes=[live.path])
    table.commit_files([msgspec.structs.replace(live, data_change=True)])
    assert told(table, 1) == [("delete", 2, 1), ("delete", 2, 2), ("insert", 3, 1), ("insert", 3, 2)]


@pytest.mark.parametrize("old_first", [True, False])
def test_other_partition_columns(tmp_path: Path, old_first: bool) -> None:
    """A file holds the columns that its table was not partitioned by when the file was written."""
    columns: list[tuple[str, ...]] = [("p",), ()] if old_first else [(), ("p",)]
    table = Table.create(tmp_path / "t", SCHEMA, columns[0])
    other = Table.create(tmp_path / "other", SCHEMA, columns[1])
    table.append(pa.concat_tables([rows(1, 2, p="a"), rows(3, p="b"), rows(4, p="")]))
    table.append(pa.table({"n": [5], "m": ["no p"]}))
    other.append(pa.concat_tables([rows(1, 2, p="b"), rows(2, 6, p="a"), rows(4, p="")]))
    other.append(pa.table({"n": [5], "m": ["no p"]}))
    adds = rows_to_adds(other.files())
    for add in adds:
        store_of(table).create(add.path, store_of(other).get(add.path).data)
    change = Change(tuple(adds), replace=Replace(None), metadata=MetadataUpdate(partition_columns=columns[1]))
    commit(handle_of(table), change, operation="REPLACE")
    table.refresh()
    assert table.partition_columns == columns[1]
    found = table.changes_rows(0).read_all()
    changed = list(zip(*(found.column(c).to_pylist() for c in ("_commit_version", "p", "n")), strict=True))
    assert [row for row in changed if row[0] < 3] == [(1, "a", 1), (1, "a", 2), (1, "b", 3), (1, "", 4), (2, None, 5)]
    assert sorted(told(table, 2)) == [
        ("delete", 3, 1),
        ("delete", 3, 3),
        ("insert", 3, 1),
        ("insert", 3, 2),
        ("insert", 3, 6),
    ]
    assert sorted(told(table, 2, where="p = 'a'")) == [("delete", 3, 1), ("insert", 3, 6)]
    assert told(table, 0, 2, where="p = 'a'") == [("insert", 1, 1), ("insert", 1, 2)]


def test_a_column_of_another_type_is_an_error(tmp_path: Path) -> None:
    table = Table.create(tmp_path / "t", "n long")
    table.append(pa.table({"n": [1]}))
    text = Table.create(tmp_path / "other", "n string").append(pa.table({"n": ["1"]}))
    assert text.written
    schema = handle_of(Table.open(tmp_path / "other")).snapshot.metadata.schema_string
    commit(
        handle_of(table),
        Change(replace=Replace(None), metadata=MetadataUpdate(schema_string=schema)),
        operation="REPLACE",
    )
    table.refresh()
    with pytest.raises(SplitError, match="has the column n as int64, the table has it as string"):
        table.changes_rows(0).read_all()
    assert told(table, 0, 1) == [("insert", 1, 1)]


@pytest.mark.parametrize("selection", [{}, {"where": "n >= 10"}, {"query": "m:number1"}, {"where": "n % 2 = 0"}])
def test_few_rows_of_a_large_file(table: Table, selection: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    if "%" in selection.get("where", ""):
        selection = {"where": "m <> 'row number0'"}
    numbers = range(5_000)
    table.append(rows(*numbers))
    new = [number for number in numbers if number not in (7, 2_500, 4_999)]
    table.overwrite(rows(*new, 6_001), where="p = 'a'")
    taken: list[int] = []
    by_number = SplitReader.rows

    def counted(self: SplitReader, columns: Any, located: Any) -> Any:
        taken.append(len(located.numbers))
        return by_number(self, columns, located)

    monkeypatch.setattr(SplitReader, "rows", counted)
    changed = [("delete", 2, 7), ("delete", 2, 2_500), ("delete", 2, 4_999), ("insert", 2, 6_001)]
    keep = {"where": lambda n: n >= 10 if "n" in selection["where"].split() else n % 3, "query": lambda n: n % 3 == 1}
    for name in selection:
        changed = [row for row in changed if keep[name](row[2])]
    assert told(table, 1, **selection) == changed
    assert sum(taken) <= len(changed), "not more rows were read by their numbers than had changed"
    if not selection or "query" in selection:
        assert sum(taken) == len(changed), "and all rows that changed were read so"


def test_a_stream_may_be_left(table: Table) -> None:
    for number in range(20):
        table.append(rows(number, number + 1))
    table.overwrite(rows(*range(30)))
    reader = table.changes_rows(0)
    assert reader.read_next_batch().num_rows == 2
    reader.close()
    assert len(told(table, 20)) == 19 + 9, "19 numbers were there twice, and 9 are new"
