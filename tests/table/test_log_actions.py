"""The log with a column for every field: compared with the actions as JSON, which `Table.log` gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from indextables import AddAction, Table
from indextables.core.options import PREFIX
from indextables.log.actions import MetadataAction, ProtocolAction, RemoveAction, SkipAction
from indextables.table.inspect.log_actions import LOG_ACTIONS_SCHEMA

SCHEMA = pa.schema([("day", pa.string()), ("id", pa.int64())])
FULL = AddAction(
    "day=1/full.split",
    {"day": "1"},
    size=10,
    modification_time=1_700_000_000_000,
    stats='{"numRecords":3}',
    tags={"a": "b"},
    min_values={"id": "1"},
    max_values={"id": "9"},
    num_records=3,
    footer_start_offset=1,
    footer_end_offset=2,
    hotcache_start_offset=3,
    hotcache_length=4,
    has_footer_offsets=True,
    time_range_start="x",
    time_range_end="y",
    split_tags=("t",),
    delete_opstamp=5,
    num_merge_ops=6,
    uncompressed_size_bytes=7,
)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    made = Table.create(tmp_path / "t", SCHEMA, partition_by=["day"], options={PREFIX + "checkpoint.interval": "100"})
    made.commit_files(adds=[FULL, AddAction("day=2/b.split", {"day": "2"}, size=1)], txn=("app", 1))
    made.commit_files(removes=["day=2/b.split"], properties={"owner": "me"})
    return made


def snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def plain(value: Any) -> Any:
    """Values of Arrow as JSON has them; times are milliseconds."""
    if hasattr(value, "timestamp"):
        return round(value.timestamp() * 1000)
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        return dict(value)
    return {} if value == [] else value


PREFIXES = {"add": "", "remove": "", "protocol": "protocol_", "metaData": "metadata_", "mergeskip": "skip_"}
KEPT = {"path", "partition_values", "size", "skip_timestamp", "skip_count"}


def column_of(kind: str, field: str) -> str:
    name = snake(field)
    return name if name in KEPT else PREFIXES[kind] + name


def test_every_field_of_every_action_has_its_value(table: Table) -> None:
    flat = table.log_actions(include_all=True).to_pylist()
    lines = table.log(include_all=True).to_pylist()
    assert [(row["version"], row["action_type"], row["path"]) for row in flat] == [
        (line["version"], line["action"], line["path"]) for line in lines
    ]
    for row, line in zip(flat, lines, strict=True):
        said = json.loads(line["json"])
        filled = {"version", "log_file_path", "action_type", "is_checkpoint"}
        for field, value in said.items() if line["action"] in PREFIXES else ():
            if field == "format":
                assert row["metadata_format_provider"] == value["provider"]
                filled |= {"metadata_format_provider", "metadata_format_options"}
                continue
            name = column_of(line["action"], field)
            assert plain(row[name]) == value or (row[name] == [] and not value), (line["action"], field)
            filled.add(name)
        empty = {name: value for name, value in row.items() if name not in filled and value not in (None, [])}
        assert set(empty) <= {"has_footer_offsets", "data_change", "num_merge_ops"}, (line["action"], empty)
        assert row["log_file_path"].endswith(f"/_transaction_log/{row['version']:020d}.json")
        assert row["is_checkpoint"] is False


def test_a_skip_record(table: Table) -> None:
    from indextables.log.commit import commit
    from indextables.log.conflicts import Change
    from tables import handle_of

    skip = SkipAction("day=1/full.split", 1_700_000_000_000, "broken", "merge", {"day": "1"}, 10, 1_700_000_100_000, 1)
    commit(handle_of(table), Change(skips=(skip,)), operation="TEST")
    (row,) = [row for row in table.refresh().log_actions().to_pylist() if row["action_type"] == "mergeskip"]
    assert (row["path"], row["skip_reason"], row["skip_operation"], row["skip_count"]) == (
        skip.path,
        "broken",
        "merge",
        1,
    )
    assert (plain(row["skip_timestamp"]), plain(row["skip_retry_after"])) == (1_700_000_000_000, 1_700_000_100_000)
    assert (row["size"], dict(row["partition_values"])) == (10, {"day": "1"})


@pytest.mark.parametrize("form", ["avro", "json"])
def test_what_a_checkpoint_sums_up_comes_first(tmp_path: Path, form: str) -> None:
    options = {PREFIX + "state.format": form, PREFIX + "checkpoint.interval": "100"}
    table = Table.create(tmp_path / "t", SCHEMA, partition_by=["day"], options=options)
    table.commit_files(adds=[FULL, AddAction("day=2/b.split", {"day": "2"}, size=1)], txn=("app", 1))
    table.commit_files(removes=["day=2/b.split"])
    base = table.checkpoint().version
    table.commit_files(adds=[AddAction("day=3/c.split", {"day": "3"}, size=1)])
    table = Table.open(table.url, options=options)
    rows = table.log_actions().to_pylist()
    summed_up = [row for row in rows if row["is_checkpoint"]]
    assert [row["action_type"] for row in summed_up] == ["protocol", "metaData", "txn", "add"]
    assert {row["version"] for row in summed_up} == {base}
    ending = f"state-v{base:020d}/_manifest.avro" if form == "avro" else f"{base:020d}.checkpoint.json"
    assert all(row["log_file_path"].endswith(ending) for row in summed_up)
    (add,) = [row for row in summed_up if row["action_type"] == "add"]
    assert (add["path"], dict(add["min_values"]), add["num_records"]) == (FULL.path, FULL.min_values, 3)
    after = rows[len(summed_up) :]
    assert [(row["version"], row["action_type"]) for row in after] == [(base + 1, "commitInfo"), (base + 1, "add")]
    everything = table.log_actions(include_all=True).to_pylist()
    assert [row["version"] for row in everything] == sorted(row["version"] for row in everything)
    assert [row for row in everything if row["is_checkpoint"]] == summed_up
    assert {row["version"] for row in everything if not row["is_checkpoint"]} == set(range(table.version + 1))


def test_the_columns_have_the_names_of_the_fields() -> None:
    names = set(LOG_ACTIONS_SCHEMA.names)
    companions = {name for name in AddAction.__struct_fields__ if name.startswith("companion_")}
    assert set(AddAction.__struct_fields__) - names == companions
    assert set(RemoveAction.__struct_fields__) <= names
    assert {f"protocol_{name}" for name in ProtocolAction.__struct_fields__} <= names
    assert {f"metadata_{name}" for name in MetadataAction.__struct_fields__} - names == {"metadata_format"}
    assert len(LOG_ACTIONS_SCHEMA) == 47
