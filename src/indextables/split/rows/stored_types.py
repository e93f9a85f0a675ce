"""How each column type lies in the row store, and back.

Vortex lacks durations and calendar intervals, and panics on timestamps that its calendar cannot reach (Spark's and Arrow's
go further). So whatever is a number underneath is stored as that number, exactly, and given its type again when it is
read; this is free of copies. A calendar interval is a struct of its three numbers, a map a list of its entries.

In the store every field may be null. Arrow allows a required field inside a struct that is null itself, with anything in
its place, and every library reads that in its own way. Whether required fields have values is checked here instead.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy as np
import pyarrow as pa

from indextables.core.arrow_values import array_of_numbers, numpy_of, scalar_of
from indextables.core.errors import SchemaError

_INTERVAL: Final = pa.struct([("months", pa.int32()), ("days", pa.int32()), ("nanoseconds", pa.int64())])
_INTERVAL_BYTES: Final = np.dtype([("months", "<i4"), ("days", "<i4"), ("nanoseconds", "<i8")])


@lru_cache(maxsize=64)
def stored_schema(schema: pa.Schema) -> pa.Schema:
    """The schema of the row store for columns of this schema. Raises SchemaError for types that no split can hold."""
    return pa.schema([pa.field(field.name, stored_type(field.type, field.name)) for field in schema])


@lru_cache(maxsize=64)
def is_stored_as_is(schema: pa.Schema) -> bool:
    """True if the row store holds values of all these columns as they are, and every column may be null."""
    return all(field.nullable and _is_plain(field.type) for field in schema)


def stored_type(arrow: pa.DataType, path: str) -> pa.DataType:
    """The type in the row store. `path` is the column's, for messages."""
    kinds = pa.types
    if _is_plain(arrow):
        return arrow
    if kinds.is_date32(arrow):
        return pa.int32()
    if kinds.is_timestamp(arrow) or kinds.is_time64(arrow) or kinds.is_duration(arrow):
        return pa.int64()
    if kinds.is_interval(arrow):
        return _INTERVAL
    if kinds.is_struct(arrow):
        return pa.struct([pa.field(field.name, stored_type(field.type, f"{path}.{field.name}")) for field in arrow])
    if kinds.is_map(arrow):
        key = stored_type(arrow.key_type, f"{path}.key")
        return pa.list_(pa.struct([("key", key), ("value", stored_type(arrow.item_type, f"{path}.value"))]))
    if kinds.is_list(arrow):
        return pa.list_(pa.field("element", stored_type(arrow.value_type, f"{path}.element")))
    raise SchemaError(f"column {path} has the Arrow type {arrow}, which a split cannot hold", column=path)


def to_stored(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """A batch of this schema as the row store has it. Raises SchemaError for a null in a required place."""
    columns = [_stored_column(batch, index, field) for index, field in enumerate(schema)]
    return pa.RecordBatch.from_arrays(columns, schema=stored_schema(schema))


def from_stored(array: pa.Array, arrow: pa.DataType) -> pa.Array:
    """Values from the row store in their own type."""
    kinds = pa.types
    if array.type == arrow:
        return array
    if kinds.is_struct(arrow):
        children = [from_stored(array.field(index), field.type) for index, field in enumerate(arrow)]
        return _struct(children, list(arrow), array)
    if kinds.is_map(arrow):
        offsets, entries, mask = _list_parts(array)
        keys, items = from_stored(entries.field(0), arrow.key_type), from_stored(entries.field(1), arrow.item_type)
        return pa.MapArray.from_arrays(offsets, keys, items, arrow, mask=mask)
    if kinds.is_list(arrow):
        offsets, elements, mask = _list_parts(array)
        return pa.ListArray.from_arrays(offsets, from_stored(elements, arrow.value_type), arrow, mask=mask)
    if kinds.is_interval(arrow):
        return _intervals(array)
    return array.view(arrow)


def _is_plain(arrow: pa.DataType) -> bool:
    kinds = pa.types
    return bool(
        kinds.is_null(arrow)
        or kinds.is_boolean(arrow)
        or kinds.is_signed_integer(arrow)
        or kinds.is_float32(arrow)
        or kinds.is_float64(arrow)
        or kinds.is_decimal128(arrow)
        or kinds.is_string(arrow)
        or kinds.is_binary(arrow)
    )


def _stored_column(batch: pa.RecordBatch, index: int, field: pa.Field) -> pa.Array:
    values = batch.column(index)
    if values.type != field.type:
        try:
            values = values.cast(field.type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise SchemaError(
                f"column {field.name} has values of type {values.type} that do not fit its type {field.type} ({error})",
                column=field.name,
            ) from error
    if not field.nullable and values.null_count:
        raise _missing(field.name)
    return _stored(values, field.name)


def _stored(values: pa.Array, path: str) -> pa.Array:
    arrow, kinds = values.type, pa.types
    if _is_plain(arrow):
        return values
    if kinds.is_struct(arrow):
        children = []
        for child, field in zip(values.flatten(), arrow, strict=True):
            if not field.nullable and child.null_count > values.null_count:
                raise _missing(f"{path}.{field.name}")
            children.append(_stored(child, f"{path}.{field.name}"))
        return _struct(children, list(stored_type(arrow, path)), values)
    if kinds.is_map(arrow):
        offsets, entries, mask = _list_parts(values)
        keys, items = entries.field(0), entries.field(1)
        if keys.null_count or (not arrow.item_field.nullable and items.null_count):
            raise _missing(f"{path}.{'key' if keys.null_count else 'value'}")
        target = stored_type(arrow, path)
        pairs = [_stored(keys, f"{path}.key"), _stored(items, f"{path}.value")]
        return pa.ListArray.from_arrays(
            offsets, pa.StructArray.from_arrays(pairs, fields=list(target.value_type)), target, mask=mask
        )
    if kinds.is_list(arrow):
        offsets, elements, mask = _list_parts(values)
        if not arrow.value_field.nullable and elements.null_count:
            raise _missing(f"{path}.element")
        return pa.ListArray.from_arrays(
            offsets, _stored(elements, f"{path}.element"), stored_type(arrow, path), mask=mask
        )
    if kinds.is_interval(arrow):
        return _numbers(values)
    return values.view(stored_type(arrow, path))


def _missing(path: str) -> SchemaError:
    return SchemaError(f"column {path} is required, and has a null", column=path)


def _struct(children: list[pa.Array], fields: list[pa.Field], like: pa.Array) -> pa.Array:
    if not fields:
        return like
    return pa.StructArray.from_arrays(children, fields=fields, mask=like.is_null() if like.null_count else None)


def _list_parts(lists: Any) -> tuple[pa.Array, pa.Array, pa.Array | None]:
    """Offsets that begin at 0, the elements they point into, and which lists are null. Null lists become empty.

    No elements are an array of their own: Vortex panics at an empty slice of texts that does not begin at 0.
    """
    if not len(lists):
        return array_of_numbers(np.zeros(1, np.int32)), pa.nulls(0, lists.values.type), None
    offsets = numpy_of(lists.offsets)
    elements = lists.values.slice(offsets[0], offsets[-1] - offsets[0])
    if not len(elements):
        elements = pa.nulls(0, elements.type)
    offsets = offsets - offsets[0]
    if not lists.null_count:
        return array_of_numbers(offsets), elements, None
    mask = numpy_of(lists.is_null())
    lengths = np.diff(offsets)
    if lengths[mask].any():
        kept = np.repeat(~mask, lengths)
        elements = elements.filter(array_of_numbers(kept))
        offsets = np.concatenate(([0], np.cumsum(np.where(mask, 0, lengths))))
    return array_of_numbers(offsets.astype(np.int32)), elements, array_of_numbers(mask)


def _numbers(intervals: pa.Array) -> pa.Array:
    if not len(intervals):
        return pa.nulls(0, _INTERVAL)
    data = intervals.buffers()[1]
    numbers = np.frombuffer(data, _INTERVAL_BYTES, len(intervals), intervals.offset * _INTERVAL_BYTES.itemsize)
    children = [array_of_numbers(numbers[field.name]) for field in _INTERVAL]
    return _struct(children, list(_INTERVAL), intervals)


def _intervals(numbers: pa.Array) -> pa.Array:
    data = np.empty(len(numbers), _INTERVAL_BYTES)
    for index, field in enumerate(_INTERVAL):
        child = numbers.field(index)
        data[field.name] = numpy_of(child.fill_null(scalar_of(0, child.type)) if child.null_count else child)
    validity = numbers.is_valid().buffers()[1] if numbers.null_count else None
    buffers = [validity, pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.month_day_nano_interval(), len(numbers), buffers, numbers.null_count)
