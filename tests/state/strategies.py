"""Hypothesis strategies for file entries: whatever an Avro manifest can hold."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from indextables.log.file_entries import FILE_SCHEMA
from log.strategies import INT32, INT64, texts


def _values(field: pa.Field) -> st.SearchStrategy[Any]:
    kind = field.type
    if pa.types.is_map(kind):
        return st.dictionaries(texts(), texts(), max_size=3)
    if pa.types.is_list(kind):
        return st.lists(texts(), max_size=3)
    if pa.types.is_boolean(kind):
        return st.booleans()
    if pa.types.is_int32(kind):
        return INT32
    return INT64 if pa.types.is_int64(kind) else texts()


def entries(min_size: int = 0, max_size: int = 5) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Entries with every field drawn."""
    fields = {f.name: st.none() | _values(f) if f.nullable else _values(f) for f in FILE_SCHEMA}
    return st.lists(st.fixed_dictionaries(fields), min_size=min_size, max_size=max_size)
