"""A query in words: what will be asked of which column, and how texts were cut into words."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from typing import assert_never

from indextables.core.predicate import to_sql
from indextables.split.query.bound import (
    Addresses,
    AtLeaf,
    AtPath,
    Boosted,
    Bound,
    Elements,
    Filter,
    Group,
    Near,
    Pattern,
    Typed,
    Words,
)
from indextables.split.query.json_values import JsonValue
from indextables.split.query.tree import All


def explain(bound: Bound, text: str) -> str:
    """A query in words: one line for each leaf and group, indented as the query is nested."""
    return "\n".join(_lines(bound, text, 0))


def _lines(bound: Bound, text: str, depth: int) -> Iterator[str]:
    indent = "  " * depth
    match bound:
        case Group():
            yield from _group(bound, text, depth)
        case Boosted():
            yield f"{indent}with {bound.factor:g} times the score"
            yield from _lines(bound.child, text, depth + 1)
        case Filter():
            yield from _lines(bound.child, text, depth)
        case All():
            yield f"{indent}every row"
        case Typed():
            yield f"{indent}{to_sql(bound.predicate)}"
        case Elements():
            yield f"{indent}an element of {bound.column} has {to_sql(bound.predicate)}"
        case Addresses():
            runs = (low if low == high else f"{low} to {high}" for low, high in bound.runs)
            yield f"{indent}{bound.field.column} is an address of {', '.join(runs) or 'nothing'}"
        case AtPath():
            yield f"{indent}{_at_path(bound)}"
        case AtLeaf():
            yield f"{indent}a value has {to_sql(bound.predicate)}"
        case Words() | Pattern() | Near():
            written = text[bound.span.start : bound.span.end]
            yield f"{indent}{_words(bound)}" + (f", from {written}" if _differs(bound, written) else "")
        case _:
            assert_never(bound)


def _group(group: Group, text: str, depth: int) -> Iterator[str]:
    parts: list[tuple[str, Sequence[Bound]]] = []
    if group.must:
        parts.append(("all of", group.must))
        parts.append(("a higher score for any of", group.should))
    else:
        parts.append(("any of", group.should))
    parts.append(("none of", group.must_not))
    named = [(name, children) for name, children in parts if children]
    indent = "  " * depth
    if len(named) > 1:
        yield f"{indent}together"
    inner = depth + (len(named) > 1)
    for name, children in named:
        yield f"{'  ' * inner}{name}"
        for child in children:
            yield from _lines(child, text, inner + 1)


def _at_path(leaf: AtPath) -> str:
    words = [
        f"the words {' '.join(leaf.words)} in a row" if len(leaf.words) > 1 else f"the word {word}"
        for word in leaf.words[:1]
    ]
    values = [f"the value {_shown(value)}" for value in leaf.values]
    return f"{leaf.field.column}.{leaf.path} has {' or '.join(words + values)}"


def _shown(value: JsonValue) -> str:
    """A value as JSON writes it; a time as RFC 3339 does."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.strftime("%Y-%m-%dT%H:%M:%SZ") if isinstance(value, dt.datetime) else str(value)


def _words(leaf: Words | Pattern | Near) -> str:
    column = leaf.field.column
    match leaf:
        case Words(words=(word,)):
            return f"{column} has the word {word}"
        case Words():
            near = f", up to {leaf.slop} moves apart" if leaf.slop else ""
            return f"{column} has the words {' '.join(leaf.words)} in a row{near}"
        case Pattern():
            return f"{column} has a word that matches /{leaf.regex}/"
        case Near():
            return f"{column} has a word at most {leaf.distance} letters from {leaf.word}"


def _differs(leaf: Words | Pattern | Near, written: str) -> bool:
    return isinstance(leaf, Words) and written != " ".join(leaf.words)
