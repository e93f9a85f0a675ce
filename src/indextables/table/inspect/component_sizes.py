"""`Table.component_sizes`: what takes the space in splits, from their footers.

A split is a row file or several, the files of a Tantivy index, and a footer. Each is one component, and their sizes add up to the
size of the split. An index file holds all columns, so that `field_name` is null.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final

import pyarrow as pa

from indextables.core.arrow_values import array_of, empty_table
from indextables.split.bundle.footer import Footer
from indextables.split.reader import SplitReader
from indextables.table.handle import TableHandle
from indextables.table.read.parallelism import reading_threads
from indextables.table.read.request import ReadRequest, plan_read
from indextables.table.read.split_readers import split_readers
from indextables.table.split_entry import SplitEntry, split_entries

COMPONENTS: Final = pa.schema(
    [
        ("split_path", pa.string()),
        ("partition_values", pa.map_(pa.string(), pa.string())),
        ("component_key", pa.string()),
        ("size_bytes", pa.int64()),
        ("component_type", pa.string()),
        ("field_name", pa.string()),
    ]
)
"""Columns of `component_sizes`."""
_TYPES: Final = {
    "fast": "fastfield",
    "fieldnorm": "fieldnorm",
    "term": "term",
    "idx": "postings",
    "pos": "positions",
    "store": "store",
}
"""The type of an index file by the ending of its name. `meta.json` and what later releases of Tantivy may add are `meta`."""
SPLITS_AT_ONCE: Final = 1_000
"""Splits whose footers are asked for together: enough for every thread, and few enough to hold their calls in memory."""


def component_sizes(handle: TableHandle, request: ReadRequest) -> pa.Table:
    """The components of the splits that may hold rows of the request, split by split in the order of the files."""
    files = plan_read(handle, request).files
    starts = range(0, files.num_rows, SPLITS_AT_ONCE)
    return together(components_of(handle, files.slice(start, SPLITS_AT_ONCE)) for start in starts)


def components_of(handle: TableHandle, files: pa.Table) -> pa.Table:
    """The components of some splits, given by the log's entries of them. The handle need not have any files."""
    pairs = zip(split_entries(files), split_readers(handle, files), strict=True)
    calls = [partial(_components, entry, split) for entry, split in pairs]
    return together(handle.log.workers.together(calls, limit=reading_threads(handle)))


def together(parts: Iterable[pa.Table]) -> pa.Table:
    """Components of several splits as one table."""
    return pa.concat_tables([empty_table(COMPONENTS), *parts]).combine_chunks()


def _components(entry: SplitEntry, split: SplitReader) -> pa.Table:
    found = list(_sizes(split.footer, entry.size))
    values = [(name, value) for name, value in entry.partition_values if value is not None]
    columns = [
        array_of([entry.path] * len(found), pa.string()),
        array_of([values] * len(found), COMPONENTS.field("partition_values").type),
        array_of([key for key, _, _ in found], pa.string()),
        array_of([size for _, size, _ in found], pa.int64()),
        array_of([kind for _, _, kind in found], pa.string()),
        pa.nulls(len(found), pa.string()),
    ]
    return pa.table(columns, schema=COMPONENTS)


def _sizes(footer: Footer, split_size: int | None) -> Iterator[tuple[str, int, str]]:
    """Key, bytes in the split and type of each component, in the order of the split."""
    for number, part in enumerate(footer.parts):
        yield f"rows-{number}", part.length, "rows"
    for region in footer.index:
        yield region.name, region.length, _TYPES.get(region.name.rpartition(".")[2], "meta")
    if split_size is not None:
        ends = footer.index[-1].offset + footer.index[-1].length if footer.index else footer.rows_length
        yield "footer", split_size - ends, "footer"


__all__ = ["SPLITS_AT_ONCE", "component_sizes", "components_of", "together"]
