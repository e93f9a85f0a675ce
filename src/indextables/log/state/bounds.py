"""The smallest and largest partition values of a manifest, by the column's type, and the order of files in compaction."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.values import column_from_text, is_text
from indextables.log.state.model import Bounds


def partition_texts(files: pa.Table, column: str) -> pa.Array:
    """A partition column's values as they stand in the log; absent is null."""
    values = files.column("partitionValues")
    whole = values.combine_chunks() if values.num_chunks != 1 else values.chunk(0)
    return pc.map_lookup(whole, column, "last").cast(pa.string())


def partition_bounds(files: pa.Table, schema: pa.Schema, columns: Sequence[str]) -> Bounds | None:
    """Bounds of each partition column.

    A column gets none (`None, None`) where a file has no value, or one that is not of the column's type: such a manifest
    must be read whatever is asked for.
    """
    if not columns:
        return None
    bounds: dict[str, tuple[str | None, str | None]] = {}
    for column in columns:
        texts = partition_texts(files, column)
        kind = _type_of(schema, column)
        values = texts if is_text(kind) else column_from_text(texts, kind)
        if not len(texts) or values.null_count:
            bounds[column] = (None, None)
            continue
        order = pc.array_sort_indices(values)
        bounds[column] = (texts[order[0].as_py()].as_py(), texts[order[-1].as_py()].as_py())
    return bounds


def partition_order(
    files: pa.Table, schema: pa.Schema, columns: Sequence[str]
) -> tuple[pa.Table, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """The files sorted by typed partition values, and where each new partition begins."""
    if not columns or not files.num_rows:
        return files, np.zeros(1 if files.num_rows else 0, np.int64)
    keys = {}
    for number, column in enumerate(columns):
        texts = partition_texts(files, column)
        kind = _type_of(schema, column)
        typed = texts if is_text(kind) else column_from_text(texts, kind)
        keys[f"v{number}"] = typed
        keys[f"t{number}"] = texts
    table = pa.table(keys)
    order = pc.sort_indices(table, sort_keys=[(name, "ascending") for name in table.column_names])
    table = table.take(order)
    starts = np.zeros(files.num_rows, bool)
    starts[0] = True
    for number in range(len(columns)):
        codes = table.column(f"t{number}").combine_chunks().dictionary_encode(null_encoding="encode").indices.to_numpy()
        starts[1:] |= codes[1:] != codes[:-1]
    return files.take(order), np.flatnonzero(starts)


def _type_of(schema: pa.Schema, column: str) -> pa.DataType:
    """A partition column's type; where another writer's schema lacks it, its values are only texts."""
    return schema.field(column).type if column in schema.names else pa.string()
