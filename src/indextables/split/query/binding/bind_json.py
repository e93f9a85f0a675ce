"""What is asked of a path into JSON, checked: the keys of the path, the words and values of the text.

A column of JSON as text is asked for words and values at once, because nobody knows before what lies at a path. In maps and
arrays of structs the type is known: texts are asked for words, everything else is compared as a column of its type is.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from indextables.core.errors import QueryError
from indextables.core.predicate import Column, Comparison, In, Literal, Predicate
from indextables.core.values import micros
from indextables.split.index.doc_mapping import FieldMapping
from indextables.split.query.bound import AtLeaf, AtPath, Bound, Group, joined_terms
from indextables.split.query.json_paths import (
    MOST_PARTS,
    Keys,
    element_type,
    is_json_text,
    spellings,
    typed_spellings,
)
from indextables.split.query.json_values import JsonTerms, JsonValue, moment_of, normal_number, values_of_text
from indextables.split.query.tree import Leaf, Phrase, Term

_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()

Fail = Callable[[str], QueryError]
"""Makes the error of a leaf: what is wrong with it, said with its position."""
Cut = Callable[[str, int], tuple[str, ...]]
"""Cuts a text into the words of a column, checked for a phrase with so many moves."""
Compare = Callable[[Leaf, Column], Predicate]
"""Asks a column of a type, as `where` would."""


def bind_path(
    leaf: Leaf, column: Column, field: FieldMapping, parts: Sequence[str], *, fail: Fail, cut: Cut, compare: Compare
) -> Bound:
    """The question at a path inside a column that is indexed as JSON. Raises what `fail` makes."""
    _check_parts(parts, fail)
    if is_json_text(column.type):
        return _words_or_values(leaf, field, parts, tuple(spellings(parts)), values_of_text, fail, cut)
    found = list(typed_spellings(column.type, parts))
    if not found:
        raise fail(_nothing_there(column, parts))
    texts = tuple(keys for keys, arrow in found if _is_text(arrow))
    bound: list[Bound] = []
    if texts:
        bound.append(_words_or_values(leaf, field, parts, texts, _moment_of_text, fail, cut))
    for keys, arrow in found:
        if not _is_text(arrow):
            predicate = compare(leaf, Column((".".join((column.name, *keys)),), arrow))
            bound.append(AtLeaf(field, keys, predicate, _terms(predicate), leaf.span))
    return bound[0] if len(bound) == 1 else Group(should=tuple(bound))


def _check_parts(parts: Sequence[str], fail: Fail) -> None:
    if len(parts) > MOST_PARTS:
        raise fail(f"a path into JSON has at most {MOST_PARTS} keys, this one has {len(parts)}")
    if "" in parts:
        raise fail("a key of the path is empty, which cannot be searched: name the keys with one dot between them")
    odd = [part for part in parts if "\0" in part or "\1" in part]
    if odd:
        raise fail(f"the key {odd[0]!r} cannot be searched: keys with the characters 0 and 1 are not in the index")


def _words_or_values(
    leaf: Leaf,
    field: FieldMapping,
    parts: Sequence[str],
    keys: tuple[Keys, ...],
    read: Callable[[str], tuple[JsonValue, ...]],
    fail: Fail,
    cut: Cut,
) -> AtPath:
    if not isinstance(leaf, Term | Phrase):
        raise fail(
            f"inside the JSON of {field.column} only words, phrases and values can be found, such as "
            f"{'.'.join((field.column, *parts))}:7; ask for each of them, or filter the rows that you get"
        )
    slop = leaf.slop if isinstance(leaf, Phrase) else 0
    words = cut(leaf.text, slop)
    values = () if slop else read(leaf.text)
    if not words and not values:
        raise fail(f"there is no word in it that {field.column} could have")
    return AtPath(field, ".".join(parts), keys, words, values, slop, leaf.span)


def _nothing_there(column: Column, parts: Sequence[str]) -> str:
    """Why no value lies at a path inside a nested type."""
    arrow = element_type(column.type)
    if pa.types.is_struct(arrow):
        names = [field.name for field in arrow]
        return f"{column} has no field {'.'.join(parts)}; its fields are {', '.join(names[:20])}"
    return f"{column} is {column.type}, in which no value lies at {'.'.join(parts)}"


def _is_text(arrow: pa.DataType) -> bool:
    return bool(pa.types.is_string(arrow) or pa.types.is_large_string(arrow))


def _moment_of_text(text: str) -> tuple[JsonValue, ...]:
    moment = moment_of(text)
    return () if moment is None else (moment,)


def _terms(predicate: Predicate) -> JsonTerms | None:
    """The terms of the values that a predicate asks for; None where it asks for more than single values."""
    match predicate:
        case Comparison(op="=", value=literal):
            literals: tuple[Literal, ...] = (literal,)
        case In(values=literals, has_null=False):
            pass
        case _:
            return None
    values = [_indexed_value(literal.value, literal.type) for literal in literals]
    return joined_terms(tuple(value for value in values if value is not None)) if None not in values else None


def _indexed_value(value: Any, arrow: pa.DataType) -> JsonValue | None:
    """A value of a nested column as JSON documents have it. None: documents have it as text, or not at all."""
    if pa.types.is_date32(arrow):
        return int(value.toordinal()) - _EPOCH_DAY
    if pa.types.is_timestamp(arrow):
        return micros(value)
    if isinstance(value, bool) or (isinstance(value, int) and pa.types.is_integer(arrow)):
        return value
    if isinstance(value, float) and pa.types.is_floating(arrow) and math.isfinite(value):
        return normal_number(value)
    return None
