"""Rows as plain values that are equal exactly where the change feed takes rows for equal, and naive differences of them."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import pyarrow as pa

from indextables import Table

CHANGE_NAMES = ["_change_type", "_commit_version", "_commit_timestamp"]


def plain(values: Any) -> list[Any]:
    """Values as Python values: every NaN as one, -0.0 as 0.0, maps as sorted entries, times as numbers."""
    if isinstance(values, pa.ChunkedArray):
        return [value for chunk in values.chunks for value in plain(chunk)]
    kinds, arrow = pa.types, values.type
    if kinds.is_struct(arrow):
        children = [plain(values.field(index)) for index in range(arrow.num_fields)]
        cells: list[Any] = list(zip(*children, strict=True)) if children else [()] * len(values)
    elif kinds.is_list(arrow) or kinds.is_map(arrow):
        elements, offsets = plain(values.values), values.offsets.to_pylist() if len(values) else [0]
        cells = [elements[start:end] for start, end in itertools.pairwise(offsets)]
        if kinds.is_map(arrow):
            cells = [sorted(cell, key=repr) for cell in cells]
    elif kinds.is_floating(arrow):
        return [value if value is None else "NaN" if value != value else value + 0.0 for value in values.to_pylist()]
    elif kinds.is_temporal(arrow) and not kinds.is_interval(arrow):
        return values.view(pa.int32() if arrow.bit_width == 32 else pa.int64()).to_pylist()
    else:
        return values.to_pylist()
    return [cell if valid else None for cell, valid in zip(cells, values.is_valid().to_pylist(), strict=True)]


def texts(table: pa.Table, schema: pa.Schema | None = None) -> list[str]:
    """Each row as a text. With a schema the rows have its columns, and null in those that they lack."""
    fields = list(schema or table.schema)
    known = table.column_names
    columns = [plain(table.column(f.name)) if f.name in known else [None] * table.num_rows for f in fields]
    return list(map(repr, zip(*columns, strict=True))) if fields else ["()"] * table.num_rows


def counted(table: pa.Table, schema: pa.Schema | None = None) -> Counter[str]:
    return Counter(texts(table, schema))


Differences = dict[tuple[int, str], Counter[str]]
"""The rows that were deleted or inserted, by version and kind of change."""


def differences(rows: dict[int, pa.Table], since: int, until: int, schema: pa.Schema) -> Differences:
    """What a naive comparison of each version with the version before tells; `rows` has the rows of each version."""
    found: Differences = {}
    for version in range(since + 1, until + 1):
        before = counted(rows[version - 1], schema) if version else Counter()
        after = counted(rows[version], schema)
        found[version, "delete"] = before - after
        found[version, "insert"] = after - before
    return {key: value for key, value in found.items() if value}


def told(feed: pa.Table) -> Differences:
    """What a change feed tells, after a look at the order of its rows."""
    rows = texts(feed.drop_columns(CHANGE_NAMES))
    keys = list(zip(feed.column("_commit_version").to_pylist(), feed.column("_change_type").to_pylist(), strict=True))
    assert keys == sorted(keys), "by version, and deletes before inserts"
    found: Differences = {}
    for key, row in zip(keys, rows, strict=True):
        found.setdefault(key, Counter())[row] += 1
    return found


def rows_by_version(table: Table) -> dict[int, pa.Table]:
    return {
        version: Table.open(table.url, version=version).scan().read_all()
        for version in range(table.refresh().version + 1)
    }
