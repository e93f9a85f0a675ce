"""A caller's rows as batches of exactly the table's schema, or an error that says which column does not fit and why.

Taken is whatever speaks Arrow: a table, a batch, a reader, an iterable of batches, any object with `__arrow_c_stream__`.
Columns are found by name in any letter case and may come in any order. One that is missing is null.

Values are cast only where nothing can be lost:

    into the same Spark type    large, view, dictionary and run-end encoded forms; unsigned integers where the table's column
                                is the type that a table made from them gets; times, dates and timestamps of another unit,
                                where each value fits exactly; timestamps of another zone, as the same instants
    into a wider one            integers, float to double, decimals with at least as many digits on both sides of the point

Everything else is the caller's decision: a SchemaError names the column, both types and the cast to make. What comes in is
checked to be valid Arrow first, because offsets of foreign memory go on to native code.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.arrow_values import array_of
from indextables.core.batches import pieces
from indextables.core.errors import SchemaError
from indextables.core.types import spark_type

_PIECE_ROWS: Final = 1 << 16
"""Rows of a batch at most. Larger batches are cut, so that no later step needs more memory for them."""
_PIECE_BYTES: Final = 16 << 20
"""Bytes of a batch at most, 16 MiB, about. Larger batches are cut."""

_kinds = pa.types


def rows_in(data: Any, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of `data` in batches of `schema`. Raises SchemaError, and what the data's own iterator raises."""
    for batch in _batches(data):
        columns = _places(batch.schema, schema)
        for piece in pieces(batch, _PIECE_ROWS, _PIECE_BYTES):
            if piece.num_rows:
                yield _fitted(piece, columns, schema)


def check_columns(given: pa.Schema, schema: pa.Schema) -> None:
    """Raise SchemaError unless data of the schema `given` can be rows of `schema`, whatever its values are."""
    nothing = pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in given], schema=given)
    _fitted(nothing, _places(given, schema), schema)


def _batches(data: Any) -> Iterator[pa.RecordBatch]:
    if isinstance(data, pa.RecordBatch):
        yield data
    elif isinstance(data, pa.Table):
        yield from data.to_batches()
    elif isinstance(data, pa.RecordBatchReader):
        yield from data
    elif hasattr(data, "__arrow_c_stream__"):
        yield from pa.RecordBatchReader.from_stream(data)
    elif isinstance(data, Iterable) and not isinstance(data, str | bytes | dict):
        for part in data:
            if not isinstance(part, pa.RecordBatch | pa.Table):
                raise _no_rows(f"an iterable of {type(part).__name__}")
            yield from part.to_batches() if isinstance(part, pa.Table) else (part,)
    else:
        raise _no_rows(type(data).__name__)


def _no_rows(found: str) -> SchemaError:
    return SchemaError(
        f"data is an Arrow table, a record batch, a reader, an iterable of batches or an object with __arrow_c_stream__, "
        f"not {found}: pyarrow.Table.from_pylist or from_pydict make a table of Python values"
    )


@lru_cache(maxsize=64)
def _places(given: pa.Schema, schema: pa.Schema) -> tuple[int, ...]:
    """Where the data has each column of the table; -1 where it lacks it."""
    return _matched([field.name for field in given], list(schema), "")


def _matched(given: Sequence[str], wanted: Sequence[pa.Field], path: str) -> tuple[int, ...]:
    where = f"column {path}" if path else "the table"
    known = {field.name.lower(): number for number, field in enumerate(wanted)}
    places = [-1] * len(wanted)
    for number, name in enumerate(given):
        column = f"{path}.{name}" if path else name
        place = known.get(name.lower())
        if place is None:
            near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.5)
            names = [field.name for field in wanted]
            hint = f"did you mean {names[known[near[0]]]}?" if near else f"it has {', '.join(names[:20])}"
            kind = "field" if path else "column"
            raise SchemaError(f"the data has a column {column}, {where} has no such {kind}: {hint}", column=column)
        if places[place] >= 0:
            raise SchemaError(f"the data has column {column} twice, leave one out", column=column)
        places[place] = number
    for field, place in zip(wanted, places, strict=True):
        if place < 0 and not field.nullable:
            column = f"{path}.{field.name}" if path else field.name
            raise SchemaError(f"the data has no column {column}, which {where} requires: add it", column=column)
    return tuple(places)


def _fitted(batch: pa.RecordBatch, places: Sequence[int], schema: pa.Schema) -> pa.RecordBatch:
    columns = []
    for place, field in zip(places, schema, strict=True):
        if place < 0:
            columns.append(pa.nulls(batch.num_rows, field.type))
            continue
        values = batch.column(place)
        try:
            values.validate(full=True)
        except pa.ArrowInvalid as error:
            raise SchemaError(
                f"column {field.name} of the data is not valid Arrow ({error}): whoever made it has to mend it",
                column=field.name,
            ) from error
        values = _converted(values, field, field.name)
        if not field.nullable and values.null_count:
            raise SchemaError(
                f"column {field.name} is required, and the data has {values.null_count} nulls in a batch of "
                f"{batch.num_rows} rows: fill them or leave these rows out",
                column=field.name,
            )
        columns.append(values)
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _converted(values: Any, field: pa.Field, path: str) -> Any:
    """Values in the type of a column, of a field in one, or of the elements of one."""
    wanted = field.type
    values = _decoded(values)
    given = values.type
    if given == wanted:
        return values
    if _kinds.is_null(given):
        return pa.nulls(len(values), wanted)
    if _kinds.is_struct(given) and _kinds.is_struct(wanted):
        return _struct(values, field, path)
    if _kinds.is_map(given) and _kinds.is_map(wanted):
        pairs = values.cast(pa.list_(pa.struct([given.key_field, given.item_field.with_name("value")])))
        offsets, entries, mask = _opened(pairs)
        keys = _converted(entries.field(0), wanted.key_field, f"{path}.key")
        items = _converted(entries.field(1), wanted.item_field, f"{path}.value")
        return pa.MapArray.from_arrays(offsets, keys, items, wanted, mask=mask)
    if _is_list(given) and _kinds.is_list(wanted):
        offsets, elements, mask = _opened(values)
        return pa.ListArray.from_arrays(
            offsets, _converted(elements, wanted.value_field, f"{path}.element"), wanted, mask=mask
        )
    if not _holds(given, field):
        raise _misfit(path, given, field)
    try:
        return values.cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise SchemaError(
            f"column {path} is {_shown(field)} ({wanted}), and the data has {given} values that it cannot hold exactly "
            f"({error}): round or cast them to {wanted} first",
            column=path,
        ) from error


def _struct(values: Any, field: pa.Field, path: str) -> Any:
    fields = list(field.type)
    places = _matched([child.name for child in values.type], fields, path)
    given = values.flatten()  # with the struct's own nulls in each child
    children = [
        pa.nulls(len(values), child.type) if place < 0 else _converted(given[place], child, f"{path}.{child.name}")
        for place, child in zip(places, fields, strict=True)
    ]
    mask = values.is_null() if values.null_count else None
    return pa.StructArray.from_arrays(children, fields=fields, mask=mask) if fields else values


def _decoded(values: Any) -> Any:
    """Without extension types, dictionaries and runs around the values."""
    while True:
        arrow = values.type
        if isinstance(arrow, pa.BaseExtensionType):
            values = values.storage
        elif _kinds.is_dictionary(arrow):
            values = values.dictionary_decode()
        elif _kinds.is_run_end_encoded(arrow):
            values = pc.run_end_decode(values)
        else:
            return values


def _opened(lists: Any) -> tuple[pa.Array, pa.Array, pa.Array | None]:
    """Offsets, the elements that they point into, and which lists are null, of lists of any form.

    By the lengths and not by a cast, which gets slices of list views wrong.
    """
    lengths = pc.fill_null(pc.list_value_length(lists).cast(pa.int64()), 0)
    ends = pc.cumulative_sum(lengths).cast(pa.int32())
    offsets = pa.concat_arrays([array_of([0], pa.int32()), ends])
    return offsets, lists.flatten(), lists.is_null() if lists.null_count else None


def _holds(given: pa.DataType, field: pa.Field) -> bool:
    """Whether every value of a type, or at least those that a safe cast lets pass, stays what it is in the column's."""
    wanted = field.type
    if _kinds.is_integer(given) and _kinds.is_signed_integer(wanted):
        return bool(given.bit_width < wanted.bit_width or given == wanted)
    if _kinds.is_floating(given) and _kinds.is_floating(wanted):
        return bool(given.bit_width <= wanted.bit_width)
    if _kinds.is_decimal(given) and _kinds.is_decimal(wanted):
        whole = given.precision - given.scale <= wanted.precision - wanted.scale
        return bool(whole and given.scale <= wanted.scale)
    if _kinds.is_timestamp(given) and _kinds.is_timestamp(wanted):
        return bool((given.tz is None) == (wanted.tz is None))
    if _kinds.is_integer(given) and _kinds.is_decimal(wanted):
        return bool(len(str(2**given.bit_width)) <= wanted.precision - wanted.scale)
    return any(test(given) and test(wanted) for test in (_is_text, _is_binary, *_SAME_KIND))


def _is_list(arrow: pa.DataType) -> bool:
    return bool(
        _kinds.is_list(arrow)
        or _kinds.is_large_list(arrow)
        or _kinds.is_fixed_size_list(arrow)
        or _kinds.is_list_view(arrow)
        or _kinds.is_large_list_view(arrow)
    )


def _is_text(arrow: pa.DataType) -> bool:
    return bool(_kinds.is_string(arrow) or _kinds.is_large_string(arrow) or _kinds.is_string_view(arrow))


def _is_binary(arrow: pa.DataType) -> bool:
    return bool(
        _kinds.is_binary(arrow)
        or _kinds.is_large_binary(arrow)
        or _kinds.is_binary_view(arrow)
        or _kinds.is_fixed_size_binary(arrow)
    )


_SAME_KIND: Final = (_kinds.is_date, _kinds.is_time, _kinds.is_duration)


def _misfit(path: str, given: pa.DataType, field: pa.Field) -> SchemaError:
    wanted = field.type
    way_out = f"cast it to {wanted} first"
    if _kinds.is_timestamp(given) and _kinds.is_timestamp(wanted):
        way_out = "say which time zone its clock shows (assume_timezone)" if given.tz is None else "drop the time zone"
    elif _kinds.is_nested(given) or _kinds.is_nested(wanted):
        way_out = f"build a column of type {wanted} first"
    return SchemaError(
        f"column {path} is {_shown(field)} ({wanted}), the data has {given}, which is not cast to it without being asked to: "
        f"{way_out}",
        column=path,
        expected=str(wanted),
        found=str(given),
    )


def _shown(field: pa.Field) -> str:
    shown = spark_type(field)
    return shown if isinstance(shown, str) else str(shown["type"])
