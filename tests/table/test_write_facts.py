"""Facts of a write are computed once for all versions with the same metadata, and never used for other metadata or options."""

from __future__ import annotations

import pickle
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from indextables import Table
from indextables.core.errors import OptionError, UnsupportedProtocol
from indextables.log.protocol import NEW_TABLE_PROTOCOL, check_writable
from indextables.split.rows.stored_types import is_stored_as_is
from tables import handle_of

SCHEMA = pa.schema([("day", pa.string()), ("id", pa.int64()), ("message", pa.string())])
ROWS = pa.table({"day": ["a", "b"], "id": [1, 2], "message": ["disk full", "disk empty"]}, SCHEMA)
SAFETY_AGE = "spark.indextables.safetyAge.hours"


@pytest.fixture
def table(tmp_path: Path) -> Table:
    made = Table.create(tmp_path / "table", SCHEMA, ["day"], {"indexing.typemap.message": "text"})
    made.append(ROWS)
    return made


def test_appends_share_one_plan(table: Table) -> None:
    table.append(ROWS)
    plan = handle_of(table).write_plan
    form = plan.form
    table.append(ROWS)
    assert handle_of(table).write_plan is plan
    assert plan.form is form
    assert form.schema.names == ["id", "message"]
    assert table.count() == 6


def test_a_plan_of_other_metadata_is_another_plan(table: Table) -> None:
    table.append(ROWS)
    before = handle_of(table).write_plan
    Table.open(table.url).commit_files(properties={"owner": "somebody"})
    table.refresh()
    after = handle_of(table).write_plan
    assert after is not before
    assert after.form == before.form
    table.append(ROWS)
    assert table.count() == 6


def test_options_belong_to_a_handle(table: Table) -> None:
    handle_of(table).write_plan
    few = Table.open(table.url, options={"indexWriter.heapSize": "20M", "indexWriter.threads": 1})
    assert handle_of(few).write_plan.heap == 20 << 20
    assert handle_of(few).write_plan.index_threads == 1
    other = Table.open(table.url, options={"indexing.typemap.message": "string"})
    with pytest.raises(OptionError, match="message"):
        other.append(ROWS)


def test_the_safety_age_follows_the_properties(table: Table) -> None:
    handle = handle_of(table)
    assert handle.snapshot.safety_age_seconds == 72 * 3600
    table.append(ROWS)
    assert handle_of(table).snapshot.safety_age_seconds == 72 * 3600
    table.commit_files(properties={SAFETY_AGE: "96"})
    assert handle_of(table).snapshot.safety_age_seconds == 96 * 3600
    assert handle.snapshot.safety_age_seconds == 72 * 3600, "an older version stays as it was"


def test_facts_do_not_travel(table: Table) -> None:
    handle = handle_of(table)
    plan = handle.write_plan
    small = len(pickle.dumps(plan)), len(pickle.dumps(plan.form)), pickle.dumps(handle.snapshot)
    _ = (plan.schema, plan.form.schema_json, plan.form.mapping_json, handle.snapshot.safety_age_seconds)
    assert handle.snapshot.registers_mappings
    assert small == (len(pickle.dumps(plan)), len(pickle.dumps(plan.form)), pickle.dumps(handle.snapshot))
    received = pickle.loads(pickle.dumps(plan))
    assert received.form == plan.form
    assert (received.form.schema_json, received.form.mapping_json) == (plan.form.schema_json, plan.form.mapping_json)


def test_a_protocol_is_refused_every_time_and_whatever_was_allowed_before() -> None:
    check_writable("s3://bucket/table", NEW_TABLE_PROTOCOL)
    newer = msgspec.structs.replace(NEW_TABLE_PROTOCOL, writer_features=("flying",))
    for _ in range(2):
        with pytest.raises(UnsupportedProtocol, match="flying"):
            check_writable("s3://bucket/table", newer)


@pytest.mark.parametrize(
    ("field", "as_is"),
    [
        (pa.field("c", pa.int64()), True),
        (pa.field("c", pa.string()), True),
        (pa.field("c", pa.int64(), nullable=False), False),
        (pa.field("c", pa.date32()), False),
        (pa.field("c", pa.timestamp("us", "UTC")), False),
        (pa.field("c", pa.list_(pa.int64())), False),
        (pa.field("c", pa.struct([("d", pa.int64())])), False),
    ],
)
def test_columns_that_the_row_store_holds_as_they_are(field: pa.Field, as_is: bool) -> None:
    assert is_stored_as_is(pa.schema([pa.field("plain", pa.string()), field])) is as_is
