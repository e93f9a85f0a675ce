"""Read, change, write back: rows that others wrote meanwhile do not vanish without a word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from indextables import Table
from indextables.core.errors import FilesChanged, OptionError, VersionNotFound
from indextables.core.options import Options
from indextables.core.types import arrow_to_spark_json
from indextables.table.distributed.write_job import Mode, WriteJob, begin_write
from table.written_support import objects_of

SCHEMA = pa.schema([("id", pa.int64()), ("n", pa.int64()), ("day", pa.string())])


def some(*ids: int, day: str = "a", n: int = 0) -> pa.Table:
    return pa.table({"id": list(ids), "n": [n] * len(ids), "day": [day] * len(ids)}, schema=SCHEMA)


def ids(table: Table) -> list[int]:
    return sorted(table.scan(columns=["id"]).read_all().column("id").to_pylist())


@pytest.fixture
def table(tmp_path: Path) -> Table:
    table = Table.create(tmp_path / "t", SCHEMA, partition_by=["day"])
    table.append([some(1, 2), some(3, day="b")])
    return table


def counted_up(table: Table) -> pa.Table:
    rows = table.scan(where="day = 'a'").read_all()
    return rows.set_column(1, "n", pc.add(rows.column("n"), 1))


class TestOverwriteWhere:
    def test_by_threads_that_share_a_table_needs_the_version_of_the_read(self, table: Table) -> None:
        read_at = table.version
        new = counted_up(table)
        table.append(some(4))  # what another thread does with the same object, which moves its version on
        with pytest.raises(FilesChanged):
            table.overwrite(new, where="day = 'a'", if_version=read_at)
        assert ids(table) == [1, 2, 3, 4]

    def test_is_a_conflict_with_an_append(self, table: Table) -> None:
        new = counted_up(table)
        Table.open(table.url).append(some(4))
        before = objects_of(table)
        with pytest.raises(FilesChanged, match="computed from version 1, and version 2 changed rows") as no:
            table.overwrite(new, where="day = 'a'")
        assert (no.value.read_version, no.value.version) == (1, 2)
        assert objects_of(table) == before
        assert ids(table.refresh()) == [1, 2, 3, 4]
        table.overwrite(counted_up(table), where="day = 'a'")
        assert table.count("n = 1") == 3

    def test_is_none_with_another_partition_or_a_merge(self, table: Table) -> None:
        other = Table.open(table.url)
        other.append(some(5))
        table.refresh()
        new = counted_up(table)
        other.append(some(4, day="b"))
        assert other.merge_splits().written
        table.overwrite(new, where="day = 'a'")
        assert ids(table) == [1, 2, 3, 4, 5]
        assert table.count("n = 1") == 3

    def test_is_asked_for(self, table: Table) -> None:
        new = counted_up(table)
        Table.open(table.url).append(some(4))
        table.overwrite(new, where="day = 'a'", if_changed="replace")
        assert ids(table) == [1, 2, 3]

    def test_a_lost_update_is_found(self, table: Table) -> None:
        other = Table.open(table.url)
        mine, theirs = counted_up(table), counted_up(other)
        table.overwrite(mine, where="day = 'a'")
        with pytest.raises(FilesChanged):
            other.overwrite(theirs, where="day = 'a'")
        other.refresh().overwrite(counted_up(other), where="day = 'a'")
        assert other.count("n = 2") == 2

    def test_own_writes_are_no_conflict(self, table: Table) -> None:
        for _ in range(3):
            table.overwrite(counted_up(table), where="day = 'a'")
        assert table.count("n = 3") == 2


class TestOverwriteOfEverything:
    def test_replaces_what_others_wrote(self, table: Table) -> None:
        Table.open(table.url).append(some(4))
        table.overwrite(some(9))
        assert ids(table) == [9]

    def test_is_a_conflict_where_that_is_asked_for(self, table: Table) -> None:
        Table.open(table.url).append(some(4))
        with pytest.raises(FilesChanged):
            table.overwrite(some(9), if_changed="error")
        assert ids(table.refresh()) == [1, 2, 3, 4]
        table.overwrite(some(9), if_changed="error")
        assert ids(table) == [9]


class TestIfVersion:
    def test_the_rows_are_those_of_the_version(self, table: Table) -> None:
        table.commit_files(properties={"owner": "me"})
        assert table.append(some(4), if_version=1).version == 3
        assert table.overwrite(some(9), if_version=3).version == 4
        assert ids(table) == [9]

    def test_they_are_not_any_more(self, table: Table) -> None:
        table.append(some(4, day="b"))
        for write in (
            lambda: table.append(some(5), if_version=1),
            lambda: table.commit_files(properties={"seen": "1"}, if_version=1),
            lambda: table.overwrite(some(5), if_version=1),
            lambda: table.overwrite(some(5, day="b"), where="day = 'b'", if_version=1),
        ):
            with pytest.raises(FilesChanged, match="computed from version 1, and version 2 changed"):
                write()
        table.overwrite(some(5), where="day = 'a'", if_version=1)
        assert ids(table) == [3, 4, 5]

    def test_a_merge_is_no_change(self, table: Table) -> None:
        table.append(some(4))
        table.merge_splits()
        assert table.append(some(5), if_version=2).written

    def test_one_of_two_appends_wins(self, table: Table) -> None:
        other = Table.open(table.url)
        table.append(some(4), if_version=1)
        with pytest.raises(FilesChanged):
            other.append(some(4), if_version=1)
        assert ids(other.refresh()) == [1, 2, 3, 4]

    @pytest.mark.parametrize("version", [-1, 7])
    def test_a_version_that_is_not_there(self, table: Table, version: int) -> None:
        with pytest.raises(VersionNotFound):
            table.append(some(4), if_version=version)

    @pytest.mark.parametrize("version", ["1", 1.0, True])
    def test_what_is_no_version(self, table: Table, version: Any) -> None:
        with pytest.raises(OptionError, match="if_version"):
            table.append(some(4), if_version=version)


@pytest.mark.parametrize(
    "arguments", [{"if_changed": "maybe"}, {"if_changed": "replace", "if_version": 1}, {"if_changed": True}]
)
def test_arguments_that_are_refused(table: Table, arguments: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match="if_changed"):
        table.overwrite(some(9), **arguments)
    assert ids(table.refresh()) == [1, 2, 3]


class TestWritesOfManyProcesses:
    def job(self, table: Table, mode: Mode, **more: Any) -> WriteJob:
        return begin_write(table.url, arrow_to_spark_json(SCHEMA), Options(), mode=mode, **more)

    @pytest.mark.parametrize("mode", ["append", "overwrite", "dynamic"])
    def test_the_version_that_the_rows_were_computed_from(self, table: Table, mode: Mode) -> None:
        stale = self.job(table, mode).computed_from(1)
        built = stale.build(some(7).to_batches())
        table.append(some(4))
        with pytest.raises(FilesChanged, match="computed from version 1, and version 2 changed"):
            stale.commit([built])
        fresh = self.job(table, mode)
        assert fresh.planned_version == 2
        fresh = fresh.computed_from(fresh.planned_version)
        fresh.commit([fresh.build(some(7).to_batches())])
        assert ids(table.refresh()) == {"append": [1, 2, 3, 4, 7], "overwrite": [7], "dynamic": [3, 7]}[mode]

    def test_of_a_table_that_is_not_there(self, tmp_path: Path) -> None:
        job = begin_write(str(tmp_path / "no"), arrow_to_spark_json(SCHEMA), Options(), mode="append")
        with pytest.raises(VersionNotFound, match=r"there is no table at .* so it has no version 3"):
            job.computed_from(3)
