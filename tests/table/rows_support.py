"""Tables with rows for tests of reading, made by hand: one split per partition and call, and one commit."""

from __future__ import annotations

import tempfile
import uuid
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from indextables import AddAction, Table
from indextables.core.values import to_text
from indextables.split.build.split_form import SplitForm
from indextables.split.build.split_writer import write_split
from indextables.split.index.doc_mapping import plan_mapping
from tables import store_of


def add_rows(table: Table, data: pa.Table, *, stats: bool = True, **fields: Any) -> list[str]:
    """Commit rows that have all columns of the table. Returns the paths of their splits."""
    adds = [_add(table, values, part, stats) for values, part in _partitions(table, data)]
    adds = [msgspec.structs.replace(add, **fields) for add in adds]
    table.commit_files(adds)
    return [add.path for add in adds]


def _partitions(table: Table, data: pa.Table) -> list[tuple[dict[str, Any], pa.Table]]:
    parts: list[tuple[dict[str, Any], pa.Table]] = [({}, data)]
    for name in table.partition_columns:
        divided = []
        for values, part in parts:
            column = part.column(name).combine_chunks()
            for value in column.unique():
                same = pc.equal(column, value) if value.is_valid else pc.is_null(column)
                divided.append(({**values, name: value.as_py()}, part.filter(same)))
        parts = divided
    return parts


def _add(table: Table, values: dict[str, Any], data: pa.Table, stats: bool) -> AddAction:
    schema = table.schema
    texts = {name: to_text(value, schema.field(name).type, keep_nan=True) for name, value in values.items()}
    rows = data.drop_columns(list(table.partition_columns))
    mapping = plan_mapping(rows.schema, (), table.properties)
    path = f"splits/split-{uuid.uuid4()}.split"
    with tempfile.TemporaryDirectory() as folder:
        split = write_split(
            Path(folder),
            rows.to_batches(),
            SplitForm(rows.schema, mapping, heap=15_000_000),
            partition_values=texts,
            created_ms=0,
        )
        store_of(table).create(path, split.path.read_bytes())
    footer = split.sealed.footer
    return AddAction(
        path,
        {name: text for name, text in texts.items() if text is not None},
        size=split.sealed.size,
        num_records=footer.rows,
        min_values=footer.min_values if stats else None,
        max_values=footer.max_values if stats else None,
        stats=msgspec.json.encode({"numRecords": footer.rows, "nullCount": footer.null_counts}).decode()
        if stats
        else None,
        footer_start_offset=split.sealed.footer_start,
        footer_end_offset=split.sealed.size,
        has_footer_offsets=True,
    )
