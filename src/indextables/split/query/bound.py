"""A query that was checked against a table: fields exist, values have their types, texts are cut into words.

    Bound = All | Typed | Words | Pattern | Near | Elements | Addresses | AtPath | AtLeaf | Group | Boosted | Filter

`Typed`, `Elements` and `AtLeaf` ask what `where` could ask, by a predicate. The others are asked of the index.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from indextables.core.predicate import TRUE, Column, Predicate, all_of, any_of
from indextables.core.runtime.cached_property import cached_property
from indextables.split.index.doc_mapping import FieldMapping
from indextables.split.index.loose_phrases import Placement, is_found_as_written, placements
from indextables.split.query.json_paths import Keys
from indextables.split.query.json_values import JsonTerms, JsonValue, value_terms
from indextables.split.query.tree import All, Span


@dataclass(frozen=True)
class Typed:
    """Rows for which a predicate is true."""

    predicate: Predicate
    span: Span


@dataclass(frozen=True)
class Words:
    """Rows whose text has these words, in this order with up to `slop` moves between them; mostly there is one word."""

    field: FieldMapping
    words: tuple[str, ...]
    slop: int
    span: Span

    @cached_property
    def placements(self) -> Sequence[Placement]:
        """The ways to place the words that are searched for one by one; none where Tantivy finds the phrase as it is written."""
        return () if is_found_as_written(self.words, self.slop) else placements(self.words, self.slop)


@dataclass(frozen=True)
class Pattern:
    """Rows whose text has a word that matches a regular expression as a whole."""

    field: FieldMapping
    regex: str
    span: Span


@dataclass(frozen=True)
class Near:
    """Rows whose text has a word that is at most `distance` letters away."""

    field: FieldMapping
    word: str
    distance: int
    span: Span


@dataclass(frozen=True)
class Elements:
    """Rows whose array has an element for which a predicate is true. The predicate calls the element by the column's name."""

    column: Column
    predicate: Predicate
    span: Span


@dataclass(frozen=True)
class Addresses:
    """Rows with an IP address in one of these runs, each by its first and its last address."""

    field: FieldMapping
    runs: tuple[tuple[str, str], ...]
    span: Span


@dataclass(frozen=True)
class AtPath:
    """Rows whose JSON has these words in a row, or one of these values, at a path."""

    field: FieldMapping
    path: str
    """The path as it was written, without the column."""
    spellings: tuple[Keys, ...]
    """The keys that the path may mean."""
    words: tuple[str, ...]
    values: tuple[JsonValue, ...]
    slop: int
    span: Span

    @cached_property
    def terms(self) -> JsonTerms:
        """The terms of all values."""
        return joined_terms(self.values)


@dataclass(frozen=True)
class AtLeaf:
    """Rows with a value at a path inside a map, or inside an array of structs, for which a predicate is true.

    The predicate calls the value by `name`. The type of the value is known: it is compared as a column of that type is.
    """

    field: FieldMapping
    keys: Keys
    predicate: Predicate
    terms: JsonTerms | None
    """The terms that stand for the values; None: the index cannot help, and all rows are looked at."""
    span: Span

    @property
    def name(self) -> str:
        """The column and the keys, with dots between them."""
        return ".".join((self.field.column, *self.keys))


BoundLeaf: TypeAlias = All | Typed | Words | Pattern | Near | Elements | Addresses | AtPath | AtLeaf


@dataclass(frozen=True)
class Group:
    """All of `must`, none of `must_not`, and, if nothing must, any of `should`: AND, OR, NOT and signs come down to this."""

    must: tuple[Bound, ...] = ()
    should: tuple[Bound, ...] = ()
    must_not: tuple[Bound, ...] = ()

    @cached_property
    def needs_positions(self) -> bool:
        """`needs_positions` of the group, worked out once: each split asks for it."""
        return any(map(needs_positions, (*self.must, *self.should, *self.must_not)))

    @cached_property
    def implied(self) -> Predicate:
        """`implied` of the group, worked out once: each split asks for it."""
        if self.must:
            return all_of(part for part in map(implied, self.must) if part != TRUE)
        parts = list(map(implied, self.should))
        return TRUE if not parts or TRUE in parts else any_of(parts)


@dataclass(frozen=True)
class Boosted:
    """The rows of a child, with a higher or lower score."""

    child: Bound
    factor: float


@dataclass(frozen=True)
class Filter:
    """The rows of a child, which adds nothing to their score: the condition beside a query, or instead of one (`where`).

    No query has this node in it: it stands alone, or as the last of two that must.
    """

    child: Bound


Bound: TypeAlias = BoundLeaf | Group | Boosted | Filter


def joined_terms(values: tuple[JsonValue, ...]) -> JsonTerms:
    """The terms of several values together."""
    parts = [value_terms(value) for value in values]
    terms = tuple(dict.fromkeys((type(term), term) for part in parts for term in part.terms))
    return JsonTerms(tuple(term for _, term in terms), all(part.exact for part in parts))


def needs_positions(bound: Bound) -> bool:
    """Whether the index must have the places of words, and not only the words."""
    match bound:
        case Words() | AtPath():
            return len(bound.words) > 1
        case Group():
            return bound.needs_positions
        case Boosted() | Filter():
            return needs_positions(bound.child)
        case All() | Typed() | Pattern() | Near() | Elements() | Addresses() | AtLeaf():
            return False
        case _:
            assert_never(bound)


def implied(bound: Bound) -> Predicate:
    """A predicate that is true for every row that the query finds: files are left out by it."""
    match bound:
        case Typed():
            return bound.predicate
        case Group():
            return bound.implied
        case Boosted() | Filter():
            return implied(bound.child)
        case All() | Words() | Pattern() | Near() | Elements() | Addresses() | AtPath() | AtLeaf():
            return TRUE
        case _:
            assert_never(bound)
