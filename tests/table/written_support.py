"""What a write left behind, read without the table's own scan: file by file, straight from the row stores."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from indextables import Table
from indextables.core.values import from_text
from indextables.split.bundle.bundle_reader import Pages, read_footer, verify_bundle
from indextables.split.bundle.footer import Footer
from indextables.split.rows.row_reader import Rows
from tables import store_of


def footers(table: Table) -> dict[str, Footer]:
    """The footer of each live split, every byte of which was verified."""
    found = {}
    for file in table.files().to_pylist():
        footer = read_footer(store_of(table), file["path"], size=file["size"], footer_start=file["footerStartOffset"])
        verify_bundle(store_of(table), file["path"], footer)
        found[file["path"]] = footer
    return found


def rows_of(table: Table, order_by: str | None = "id") -> pa.Table:
    """All rows, with the values of partition columns from the log."""
    parts = []
    for file in table.files().to_pylist():
        footer = read_footer(store_of(table), file["path"])
        rows = Rows(Pages(store_of(table), file["path"], footer), footer, file["path"])
        values = dict(file["partitionValues"])
        for batch in rows.scan(rows.schema.names):
            columns = {name: batch.column(name) for name in batch.schema.names}
            for name in table.partition_columns:
                arrow = table.schema.field(name).type
                columns[name] = pa.array([from_text(values.get(name), arrow)] * batch.num_rows, arrow)
            parts.append(pa.table([columns[name] for name in table.schema.names], schema=table.schema))
    whole = pa.concat_tables(parts) if parts else table.schema.empty_table()
    return whole.sort_by(order_by) if order_by else whole


def objects_of(table: Table) -> list[str]:
    """The keys of all data files in the store, live or not."""
    return [meta.key for meta in store_of(table).list("") if not meta.key.startswith("_transaction_log/")]


def left_in(directory: Path) -> list[str]:
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*"))


@contextmanager
def files_end_at(size: int) -> Iterator[None]:
    """No file of this process can grow beyond `size` bytes: as good as a full disk."""
    limits: Any = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
