"""What a query says, as a tree. Every node knows where in the text it stands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field as option
from typing import TypeAlias, assert_never


@dataclass(frozen=True)
class Span:
    """Characters of the query text, from `start` up to `end`."""

    start: int
    end: int


_NOWHERE = Span(0, 0)


@dataclass(frozen=True)
class FieldName:
    """A field as it was written: a column, or a path into a json column. Not yet known to exist."""

    name: str
    span: Span = option(default=_NOWHERE, compare=False)


@dataclass(frozen=True)
class All:
    """`*`: every row."""

    span: Span = option(default=_NOWHERE, compare=False)


@dataclass(frozen=True)
class Exists:
    """`field:*`: rows that have a value."""

    field: FieldName
    span: Span = option(default=_NOWHERE, compare=False)


@dataclass(frozen=True)
class Term:
    """A word, a number, a date: whatever the field makes of the text. Without a field all default fields are asked."""

    field: FieldName | None
    text: str
    span: Span = option(default=_NOWHERE, compare=False)


@dataclass(frozen=True)
class Phrase:
    """`"several words"`, next to each other or with up to `slop` moves between them."""

    field: FieldName | None
    text: str
    slop: int = 0
    span: Span = option(default=_NOWHERE, compare=False)


@dataclass(frozen=True)
class Wildcard:
    """`pre*`, `w?ld*card`: texts between `parts` are any characters (`*`) or one (`?`).

    `parts` are plain texts and the two signs as None and True: `("w", True, "ld", None, "card")`.
    """

    field: FieldName | None
    parts: tuple[str | bool | None, ...]
    span: Span = option(default=_NOWHERE, compare=False)


@dataclass(frozen=True)
class Regex:
    """`/expression/`: words that match as a whole."""

    field: FieldName | None
    pattern: str
    span: Span = option(default=_NOWHERE, compare=False)


@dataclass(frozen=True)
class Fuzzy:
    """`word~1`: words that are at most that many letters away, a swap of neighbours counted as one."""

    field: FieldName | None
    text: str
    distance: int
    span: Span = option(default=_NOWHERE, compare=False)


@dataclass(frozen=True)
class Range:
    """`[a TO b}`, `>= a`: None is no bound."""

    field: FieldName
    low: str | None
    high: str | None
    with_low: bool = True
    with_high: bool = True
    span: Span = option(default=_NOWHERE, compare=False)


@dataclass(frozen=True)
class OneOf:
    """`field:IN [a b "c d"]`."""

    field: FieldName
    values: tuple[str, ...]
    span: Span = option(default=_NOWHERE, compare=False)


@dataclass(frozen=True)
class And:
    """`a AND b`: the rows that all children find."""

    children: tuple[Node, ...]
    span: Span = option(default=_NOWHERE, compare=False)


@dataclass(frozen=True)
class Or:
    """`a OR b`: the rows that a child finds."""

    children: tuple[Node, ...]
    span: Span = option(default=_NOWHERE, compare=False)


@dataclass(frozen=True)
class Not:
    """The rows for which the child is not true."""

    child: Node
    span: Span = option(default=_NOWHERE, compare=False)


@dataclass(frozen=True)
class Clauses:
    """Clauses side by side, some with a sign: all of `must`, none of `must_not`, and any of `should` if nothing must."""

    must: tuple[Node, ...] = ()
    should: tuple[Node, ...] = ()
    must_not: tuple[Node, ...] = ()
    span: Span = option(default=_NOWHERE, compare=False)


@dataclass(frozen=True)
class Boost:
    """`child^2`: its score counts that much more."""

    child: Node
    factor: float
    span: Span = option(default=_NOWHERE, compare=False)


Leaf: TypeAlias = All | Exists | Term | Phrase | Wildcard | Regex | Fuzzy | Range | OneOf
Node: TypeAlias = Leaf | And | Or | Not | Clauses | Boost


def children_of(node: Node) -> tuple[Node, ...]:
    """The nodes right below a node; a leaf has none."""
    match node:
        case And(children) | Or(children):
            return children
        case Not(child) | Boost(child, _):
            return (child,)
        case Clauses(must, should, must_not):
            return (*must, *should, *must_not)
        case All() | Exists() | Term() | Phrase() | Wildcard() | Regex() | Fuzzy() | Range() | OneOf():
            return ()
        case _:
            assert_never(node)


def leaves_of(node: Node) -> Iterator[Leaf]:
    """The leaves of a tree, from left to right."""
    if isinstance(node, And | Or | Not | Clauses | Boost):
        for child in children_of(node):
            yield from leaves_of(child)
    else:
        yield node
