"""What a query means, worked out in plain Python on plain rows: the witness for searches."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from indextables.split.query.tree import (
    All,
    And,
    Boost,
    Clauses,
    Exists,
    Fuzzy,
    Node,
    Not,
    OneOf,
    Or,
    Phrase,
    Range,
    Regex,
    Term,
    Wildcard,
)

Row = Mapping[str, Any]
TEXTS = ("body", "title")
READ: dict[str, Callable[[str], Any]] = {
    "id": int,
    "num": int,
    "x": float,
    "name": str,
    "day": dt.date.fromisoformat,
    "flag": lambda text: text == "true",
}


def places_of(text: str | None) -> list[str]:
    """Cut at everything that is no letter or digit, in small letters; a word of more than 255 bytes leaves its place empty."""
    pieces = (piece.lower() for piece in re.findall(r"[^\W_]+", text or ""))
    return [word if len(word.encode()) <= 255 else "" for word in pieces]


def words_of(text: str | None) -> list[str]:
    return [word for word in places_of(text) if word]


def finds(node: Node, row: Row) -> bool:
    """Whether a query finds a row."""
    match node:
        case All():
            return True
        case And():
            return all(finds(child, row) for child in node.children)
        case Or():
            return any(finds(child, row) for child in node.children)
        case Not():
            return not finds(node.child, row)
        case Boost():
            return finds(node.child, row)
        case Clauses():
            if any(finds(child, row) for child in node.must_not):
                return False
            if node.must:
                return all(finds(child, row) for child in node.must)
            return not node.should or any(finds(child, row) for child in node.should)
    if node.field is None:
        return any(_has(node, row[column]) for column in TEXTS)
    name = node.field.name
    if isinstance(node, Exists):
        return row[name] is not None
    return _has(node, row[name]) if name in TEXTS else _is(node, name, row[name])


def _has(node: Node, text: str | None) -> bool:
    words = words_of(text)
    match node:
        case Term() | Phrase():
            places, wanted = places_of(text), words_of(node.text)
            return any(places[at : at + len(wanted)] == wanted for at in range(len(places) - len(wanted) + 1))
        case Fuzzy():
            return any(distance(word, node.text.lower()) <= node.distance for word in words)
        case Wildcard():
            return any(_fits(node.parts, word, lower=True) for word in words)
        case Regex():
            return any(re.fullmatch(node.pattern, word) for word in words)
    raise AssertionError(node)


def _is(node: Node, name: str, value: Any) -> bool:
    if value is None:
        return False
    read = READ[name]
    match node:
        case Term() | Phrase():
            return _order(value) == _order(read(node.text))
        case OneOf():
            return any(_order(value) == _order(read(text)) for text in node.values)
        case Range():
            at = _order(value)
            low = None if node.low is None else _order(read(node.low))
            high = None if node.high is None else _order(read(node.high))
            above = low is None or at > low or (node.with_low and at == low)
            below = high is None or at < high or (node.with_high and at == high)
            return above and below
        case Wildcard():
            return _fits(node.parts, value, lower=False)
    raise AssertionError(node)


def _order(value: Any) -> Any:
    """Values in Spark's order: NaN is equal to itself and above every number."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    return value


def _fits(parts: tuple[str | bool | None, ...], word: str, *, lower: bool) -> bool:
    pattern = "".join(
        re.escape(part.lower() if lower else part) if isinstance(part, str) else "." if part else ".*" for part in parts
    )
    return re.fullmatch(pattern, word, re.DOTALL) is not None


def distance(a: str, b: str) -> int:
    """Letters to add, to drop or to change; two neighbours may be swapped for one."""
    rows = [list(range(len(b) + 1))]
    for i, letter in enumerate(a, 1):
        row = [i]
        for j, other in enumerate(b, 1):
            cost = min(rows[i - 1][j] + 1, row[j - 1] + 1, rows[i - 1][j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == b[j - 2] and a[i - 2] == other:
                cost = min(cost, rows[i - 2][j - 2] + 1)
            row.append(cost)
        rows.append(row)
    return rows[-1][-1]
