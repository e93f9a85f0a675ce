"""The one filter AST: what every reader, pruner and index translation understands.

    Predicate = Comparison | In | Like | IsNull | IsNotNull | Search | And | Or | Not | Constant

A leaf that compares is about one column, and its literals already have that column's type (float columns compare as
doubles): what a text like `id > 1.5` means for an integer column was settled when the predicate was built, see `coerce`.
So consumers never convert, and never round.

A `Search` leaf holds text in the query language, which this package does not read: a table binds the text to its columns,
and its indexes answer.

Nodes are values: frozen, hashable, picklable, compared by content. `And` and `Or` take any number of children, because
a filter of a thousand terms must not be a tree a thousand levels deep.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, assert_never
from typing import Literal as OneOf

import pyarrow as pa

from indextables.core.errors import PredicateError

Op: TypeAlias = OneOf["=", "<>", "<", "<=", ">", ">=", "<=>"]

SearchOp: TypeAlias = OneOf["INDEXQUERY", "TEXTSEARCH", "FIELDMATCH"]

NEGATED: Final[dict[Op, Op]] = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
FLIPPED: Final[dict[Op, Op]] = {"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<=", "<=>": "<=>"}


class Wildcard(enum.Enum):
    """What stands for other text in a LIKE pattern."""

    ANY = "%"
    ONE = "_"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table by its exact name, or a field inside a struct column by its path."""

    path: tuple[str, ...]
    type: pa.DataType

    @property
    def name(self) -> str:
        """The name of the top-level column."""
        return self.path[0]

    @property
    def nested(self) -> bool:
        """True for a field inside a struct: the log has no bounds for such fields."""
        return len(self.path) > 1

    def __str__(self) -> str:
        return ".".join(self.path)


@dataclass(frozen=True, slots=True)
class Literal:
    """A value that is not null, as Python has it: int, float, bool, str, bytes, Decimal, date or datetime."""

    value: Any
    type: pa.DataType

    def __post_init__(self) -> None:
        if isinstance(self.value, float) and math.isnan(self.value):
            object.__setattr__(self, "value", math.nan)  # one NaN object, so that equal predicates are equal

    @property
    def is_nan(self) -> bool:
        """True for NaN, which Spark takes as equal to itself and greater than every number."""
        return isinstance(self.value, float) and math.isnan(self.value)

    def __reduce__(self) -> tuple[Any, ...]:
        return Literal, (self.value, self.type)


@dataclass(frozen=True, slots=True)
class Comparison:
    """`column op value`: null where the column is null, except `<=>`, which is never null."""

    op: Op
    column: Column
    value: Literal


@dataclass(frozen=True, slots=True)
class In:
    """`column IN (values)`. With `has_null` the list also holds a NULL: no match is then null instead of false."""

    column: Column
    values: tuple[Literal, ...]
    has_null: bool = False


@dataclass(frozen=True, slots=True)
class Like:
    r"""`column LIKE pattern`: `%` is any text, `_` one character, `\` takes the meaning of the next one away."""

    column: Column
    pattern: str

    def parts(self) -> tuple[str | Wildcard, ...]:
        """The pattern in pieces: texts to be found as they are, and the wildcards between them."""
        return like_parts(self.pattern, "\\")


@dataclass(frozen=True, slots=True)
class IsNull:
    """`column IS NULL`."""

    column: Column


@dataclass(frozen=True, slots=True)
class IsNotNull:
    """`column IS NOT NULL`."""

    column: Column


@dataclass(frozen=True, slots=True)
class Search:
    """`column INDEXQUERY 'text'`: whether a query finds the row, which asks this column where it names no other.

    Null where the column is null. Without a column, `INDEXQUERYALL('text')`: all searchable columns are asked, and the answer is
    never null.
    """

    column: Column | None
    text: str
    operator: SearchOp = "INDEXQUERY"
    position: int = field(default=0, compare=False)
    """The place of the text in the filter, counted from 1; 0 where the search was not written in a filter."""


@dataclass(frozen=True, slots=True)
class And:
    """All children are true."""

    children: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """At least one child is true."""

    children: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The child is false."""

    child: Predicate


@dataclass(frozen=True, slots=True)
class Constant:
    """TRUE, FALSE or NULL for every row."""

    value: bool | None


Leaf: TypeAlias = Comparison | In | Like | IsNull | IsNotNull
"""A leaf that compares the values of one column."""
Predicate: TypeAlias = Leaf | Search | And | Or | Not | Constant

TRUE: Final = Constant(True)
FALSE: Final = Constant(False)
NULL: Final = Constant(None)


def all_of(children: Iterable[Predicate]) -> Predicate:
    """The conjunction, with conjunctions among the children taken apart."""
    flat = [part for child in children for part in (child.children if isinstance(child, And) else (child,))]
    return flat[0] if len(flat) == 1 else And(tuple(flat)) if flat else TRUE


def any_of(children: Iterable[Predicate]) -> Predicate:
    """The disjunction, with disjunctions among the children taken apart."""
    flat = [part for child in children for part in (child.children if isinstance(child, Or) else (child,))]
    return flat[0] if len(flat) == 1 else Or(tuple(flat)) if flat else FALSE


def leaves_of(predicate: Predicate) -> Iterator[Leaf | Search]:
    """Every leaf, from left to right."""
    match predicate:
        case And() | Or():
            for child in predicate.children:
                yield from leaves_of(child)
        case Not():
            yield from leaves_of(predicate.child)
        case Constant():
            return
        case Comparison() | In() | Like() | IsNull() | IsNotNull() | Search():
            yield predicate
        case _:
            assert_never(predicate)


def columns_of(predicate: Predicate) -> Iterator[Column]:
    """Every column that the predicate looks at, as often as it does."""
    return (leaf.column for leaf in leaves_of(predicate) if leaf.column is not None)


def has_search(predicate: Predicate) -> bool:
    """Whether a leaf is a search, so that rows alone cannot answer."""
    match predicate:
        case And() | Or():
            return any(map(has_search, predicate.children))
        case Not():
            return has_search(predicate.child)
        case Search():
            return True
        case Comparison() | In() | Like() | IsNull() | IsNotNull() | Constant():
            return False
        case _:
            assert_never(predicate)


def push_down_not(predicate: Predicate, *, negated: bool = False) -> Predicate:
    """`predicate` rewritten so that NOT stands only where no other form exists: above `IN`, `LIKE`, `<=>` and searches.

    In three-valued logic such a predicate is true exactly if And, Or and "this leaf is true" say so: whether a leaf is
    false or null no longer matters. Readers of bounds need that, because "may this leaf be true" is all they can tell.
    """
    match predicate:
        case And() | Or():
            parts = tuple(push_down_not(child, negated=negated) for child in predicate.children)
            return And(parts) if isinstance(predicate, And) is not negated else Or(parts)
        case Not():
            return push_down_not(predicate.child, negated=not negated)
        case Constant():
            return Constant(not predicate.value) if negated and predicate.value is not None else predicate
        case IsNull():
            return IsNotNull(predicate.column) if negated else predicate
        case IsNotNull():
            return IsNull(predicate.column) if negated else predicate
        case Comparison() if negated and predicate.op != "<=>":
            return Comparison(NEGATED[predicate.op], predicate.column, predicate.value)
        case Comparison() | In() | Like() | Search():
            return Not(predicate) if negated else predicate
        case _:
            assert_never(predicate)


def like_parts(pattern: str, escape: str) -> tuple[str | Wildcard, ...]:
    """A LIKE pattern in pieces. The escape character may only stand before `%`, `_` and itself, as in Spark."""
    parts: list[str | Wildcard] = []
    text: list[str] = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            following = next(characters, "")
            if following not in {"%", "_", escape}:
                where = f"before {following!r}" if following else "at the end"
                raise PredicateError(
                    f"the LIKE pattern {pattern!r} has the escape character {escape!r} {where}: "
                    f"it may only stand before '%', '_' and itself"
                )
            text.append(following)
        elif character in {"%", "_"}:
            parts += ["".join(text)] if text else []
            parts.append(Wildcard(character))
            text = []
        else:
            text.append(character)
    return (*parts, "".join(text)) if text else tuple(parts)
