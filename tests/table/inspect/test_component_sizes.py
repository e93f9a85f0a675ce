"""`Table.component_sizes`: every byte of every split, by what it is for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from indextables import AddAction, Table
from indextables.core.errors import ForeignTable, PredicateError, SplitError
from indextables.storage.testing.counting import Counting
from split.bundle_support import make
from table.inspect.inspect_support import SCHEMA, a_table, rows
from table.written_support import footers
from tables import on_store, store_of

TYPES = {"fastfield", "fieldnorm", "term", "postings", "positions", "store", "rows", "meta", "footer"}


def totals(found: pa.Table) -> dict[str, int]:
    by_split = found.group_by("split_path").aggregate([("size_bytes", "sum")])
    return dict(zip(by_split["split_path"].to_pylist(), by_split["size_bytes_sum"].to_pylist(), strict=True))


def sizes(table: Table, where: str | None = None) -> dict[str, int]:
    files = table.files(where)
    return dict(zip(files["path"].to_pylist(), files["size"].to_pylist(), strict=True))


@pytest.fixture(params=["local", "memory"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Table:
    return a_table(tmp_path / "t" if request.param == "local" else None)


def test_sizes_add_up_to_the_splits(table: Table) -> None:
    found = table.component_sizes()
    assert found.column_names == [
        "split_path",
        "partition_values",
        "component_key",
        "size_bytes",
        "component_type",
        "field_name",
    ]
    assert totals(found) == sizes(table)
    assert set(found["component_type"].to_pylist()) == TYPES
    assert pc.min(found["size_bytes"]).as_py() > 0
    assert found["field_name"].null_count == found.num_rows


def test_components_are_those_of_the_footers(table: Table) -> None:
    found = table.component_sizes()
    for path, footer in footers(table).items():
        of_split = {
            row["component_key"]: (row["size_bytes"], row["component_type"])
            for row in found.filter(pc.equal(found["split_path"], path)).to_pylist()
        }
        assert of_split.pop("footer")[1] == "footer"
        expected = {region.name: region.length for region in footer.index}
        expected |= {f"rows-{number}": part.length for number, part in enumerate(footer.parts)}
        assert {key: size for key, (size, _) in of_split.items()} == expected
        assert sum(size for size, kind in of_split.values() if kind == "rows") == footer.rows_length
        assert of_split["meta.json"][1] == "meta"


def test_splits_that_may_hold_rows(table: Table) -> None:
    found = table.component_sizes("day = 'd1' AND id < 60")
    assert totals(found) == sizes(table, "day = 'd1' AND id < 60")
    assert {tuple(values) for values in found["partition_values"].to_pylist()} == {(("day", "d1"),)}
    nothing = table.component_sizes("day = 'none'")
    assert (nothing.num_rows, nothing.schema) == (0, found.schema)


def test_after_a_merge_and_at_an_older_version(table: Table) -> None:
    before = table.component_sizes()
    version = table.version
    table.merge_splits()
    assert totals(table.component_sizes()) == sizes(table)
    assert len(totals(table.component_sizes())) == 2
    assert Table.open(table.url, version=version).component_sizes().equals(before)


def test_a_null_partition_value_is_left_out() -> None:
    table = Table.create("memory://component-sizes/nulls", SCHEMA, partition_by=["day"])
    table.append(rows(0, 3, "d").set_column(0, "day", pa.nulls(3, pa.string())))
    assert {tuple(values) for values in table.component_sizes()["partition_values"].to_pylist()} == {()}


def test_a_split_without_an_index(tmp_path: Path) -> None:
    table = Table.create(tmp_path / "t", pa.schema([("id", pa.int64())]))
    key, sealed = make(tmp_path / "t", pa.table({"id": [3]}))
    known = {"footer_start_offset": sealed.footer_start, "footer_end_offset": sealed.size, "num_records": 1}
    table.commit_files([AddAction(key, size=sealed.size, has_footer_offsets=True, **known)])
    found = table.component_sizes()
    assert found["component_type"].to_pylist() == ["rows", "footer"]
    assert totals(found) == {key: sealed.size}


def test_one_read_a_split_and_none_the_second_time() -> None:
    table = a_table()
    store = Counting(store_of(table))
    counted = on_store(table, store)
    counted.component_sizes()
    assert store.counts == {"get_range": 4}
    counted.component_sizes()
    assert store.counts == {"get_range": 4}


def test_what_is_wrong(table: Table) -> None:
    with pytest.raises(PredicateError):
        table.component_sizes("nothing = 1")
    gone = table.files()["path"].to_pylist()[0]
    store_of(table).delete([gone])
    with pytest.raises(SplitError, match="is missing"):
        Table.open(table.url).component_sizes()


def test_a_foreign_table(tmp_path: Path) -> None:
    from dataclasses import replace

    from indextables.log.actions import ProtocolAction
    from tables import at_snapshot, handle_of

    table: Any = a_table(tmp_path / "t", splits=1)
    foreign = at_snapshot(table, replace(handle_of(table).snapshot, protocol=ProtocolAction(2, 2)))
    with pytest.raises(ForeignTable):
        foreign.component_sizes()
