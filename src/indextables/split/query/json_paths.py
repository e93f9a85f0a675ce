"""Paths into JSON: which keys a dotted name may mean, and what lies at them in the rows.

    service.name  ──spellings──▶  service → name, or one key "service.name"

A dot in a query stands between two keys, or belongs to a key: both are asked. Inside maps and structs the Arrow type says which
of the spellings can lead anywhere, and what type of value lies there.

On the rows a path goes through arrays by itself, as it does in the index.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.arrow_values import numpy_of, scalar_of

Keys: TypeAlias = tuple[str, ...]
"""Keys that lead into JSON, from the outside in."""
Places: TypeAlias = npt.NDArray[np.int64]

MOST_PARTS: Final = 10
"""Parts of a path. Each dot between them doubles the spellings: ten parts have 512, which a search takes in milliseconds."""


def spellings(parts: Sequence[str]) -> Iterator[Keys]:
    """All lists of keys that the parts of a dotted path may mean; first the one that takes every dot for a step."""
    if not parts:
        yield ()
    for taken in range(1, len(parts) + 1):
        for rest in spellings(parts[taken:]):
            yield (".".join(parts[:taken]), *rest)


def typed_spellings(arrow: pa.DataType, parts: Sequence[str]) -> Iterator[tuple[Keys, pa.DataType]]:
    """The spellings that lead to a value inside a nested Arrow type, each with the type of the value."""
    arrow = element_type(arrow)
    if not parts:
        if not pa.types.is_nested(arrow):
            yield (), arrow
        return
    for taken in range(1, len(parts) + 1):
        name = ".".join(parts[:taken])
        for key, inner in _steps(arrow, name):
            for rest, leaf in typed_spellings(inner, parts[taken:]):
                yield (key, *rest), leaf


def _steps(arrow: pa.DataType, name: str) -> Iterator[tuple[str, pa.DataType]]:
    if pa.types.is_map(arrow):
        if not pa.types.is_nested(arrow.key_type) and not pa.types.is_binary(arrow.key_type):
            yield name, arrow.item_type
    elif pa.types.is_struct(arrow):
        for found in spelled(name, [field.name for field in arrow]):
            yield found, arrow.field(found).type


def spelled(name: str, names: Sequence[str]) -> list[str]:
    """The names that are written like this one; if there is none, the names that differ in letter case only."""
    return [each for each in names if each == name] or [each for each in names if each.lower() == name.lower()]


def element_type(arrow: pa.DataType) -> pa.DataType:
    """The type inside arrays, and arrays of arrays."""
    while _is_list(arrow):
        arrow = arrow.value_type
    return arrow


def is_json_text(arrow: pa.DataType) -> bool:
    """Whether values of this type are JSON as text, and not nested Arrow values."""
    inner = element_type(arrow)
    return bool(pa.types.is_string(inner) or pa.types.is_large_string(inner))


def document_leaves(text: str | None, keys: Keys) -> Iterator[Any]:
    """The values at a list of keys in a JSON text, through arrays. A text that is no JSON object has none."""
    try:
        document = None if text is None else msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return
    if isinstance(document, dict):
        yield from _leaves_at(document, keys)


def _leaves_at(value: Any, keys: Keys) -> Iterator[Any]:
    if isinstance(value, list):
        for item in value:
            yield from _leaves_at(item, keys)
    elif not keys:
        yield value
    elif isinstance(value, dict) and keys[0] in value:
        yield from _leaves_at(value[keys[0]], keys[1:])


def arrow_leaves(array: pa.Array, keys: Keys) -> tuple[Places, pa.Array]:
    """The values at a list of keys in nested Arrow values, through arrays, and for each the place of its row in `array`."""
    places: Places = np.arange(len(array), dtype=np.int64)
    places, array = _elements(places, array)
    for key in keys:
        if pa.types.is_map(array.type):
            pairs = array.cast(pa.list_(pa.struct([array.type.key_field, array.type.item_field])))
            places, entries = _elements(places, pairs)
            has_key = pc.equal(pc.cast(entries.field(0), pa.string()), scalar_of(key, pa.string()))
            places = places[numpy_of(has_key).astype(np.bool_)]
            array = entries.field(1).filter(has_key)
        else:
            array = pc.struct_field(array, [array.type.get_field_index(key)])
        places, array = _elements(places, array)
    return places, array


def _elements(places: Places, array: pa.Array) -> tuple[Places, pa.Array]:
    while _is_list(array.type):
        places = places[numpy_of(pc.list_parent_indices(array))]
        array = pc.list_flatten(array)
    return places, array


def _is_list(arrow: pa.DataType) -> bool:
    return bool(pa.types.is_list(arrow) or pa.types.is_large_list(arrow) or pa.types.is_fixed_size_list(arrow))
