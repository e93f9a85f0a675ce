"""Leaves of a query worked out on the rows themselves, where the index finds more rows than it should, or cannot help.

Every function takes the values of one column, and answers with one boolean a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.arrow_values import FALSE_SCALAR, numpy_of
from indextables.core.predicate import Predicate, evaluate
from indextables.split.query.bound import AtLeaf, AtPath, Elements
from indextables.split.query.json_paths import Keys, Places, arrow_leaves, document_leaves, is_json_text
from indextables.split.query.json_values import same_value, value_of_document

Mask: TypeAlias = npt.NDArray[np.bool_]


def has_element(leaf: Elements, column: pa.Array) -> Mask:
    """The rows whose array has an element for which the predicate is true."""
    places, elements = arrow_leaves(column, leaf.column.path[1:])
    for name in reversed(leaf.column.path[1:]):  # the predicate names an element by the whole path
        elements = pa.StructArray.from_arrays([elements], [name])
    return _with_true_value(leaf.predicate, leaf.column.name, places, elements, len(column))


def has_leaf(leaf: AtLeaf, column: pa.Array) -> Mask:
    """The rows with a value at the leaf's keys for which the predicate is true."""
    places, values = arrow_leaves(column, leaf.keys)
    return _with_true_value(leaf.predicate, leaf.name, places, values, len(column))


def has_json_value(leaf: AtPath, column: pa.Array) -> Mask:
    """The rows with one of the leaf's values at its path. Words are not looked for."""
    mask: Mask = np.zeros(len(column), np.bool_)
    for keys in leaf.spellings:
        for row, found in _json_leaves(column, keys):
            value = value_of_document(found)
            if value is not None and any(same_value(value, wanted) for wanted in leaf.values):
                mask[row] = True
    return mask


def _json_leaves(column: pa.Array, keys: Keys) -> Iterator[tuple[int, Any]]:
    """The leaves at some keys, each with the number of its row: in JSON texts, or in nested Arrow values."""
    if not is_json_text(column.type):
        places, values = arrow_leaves(column, keys)
        yield from zip(places.tolist(), values.to_pylist(), strict=True)
        return
    places, texts = arrow_leaves(column, ())
    for row, text in zip(places.tolist(), texts.to_pylist(), strict=True):
        for value in document_leaves(text, keys):
            yield row, value


def _with_true_value(predicate: Predicate, name: str, places: Places, values: pa.Array, rows: int) -> Mask:
    true: Any = pc.fill_null(evaluate(predicate, pa.table({name: values})), FALSE_SCALAR)
    mask: Mask = np.zeros(rows, np.bool_)
    mask[places[numpy_of(true)]] = True
    return mask
