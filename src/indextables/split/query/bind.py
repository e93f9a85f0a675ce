"""Tree → the same tree, checked against a table: fields exist, values fit them, texts are cut into words.

What is asked of a column that is not cut into words, a number, a date, a string, is what `where` could ask, and becomes a
predicate: both mean the same, are answered in the same way, and agree about what is equal. Words are asked of the index alone:
a text column *is* its words here.

A word without a field is asked of all text columns.
"""

from __future__ import annotations

import datetime as dt
import difflib
import ipaddress
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import pyarrow as pa
import tantivy

from indextables.core.errors import PredicateError, QueryError
from indextables.core.predicate import TRUE, Column, IsNotNull, Predicate, all_of, any_of, compare, like, member
from indextables.core.predicate.coerce import is_comparable
from indextables.split.index.doc_mapping import DocMapping, FieldMapping
from indextables.split.index.index_files import analyzer
from indextables.split.query.tree import (
    All,
    And,
    Boost,
    Clauses,
    Exists,
    FieldName,
    Fuzzy,
    Leaf,
    Node,
    Not,
    OneOf,
    Or,
    Phrase,
    Range,
    Regex,
    Span,
    Term,
    Wildcard,
)

_META: Final = frozenset("\\.+*?()|[]{}^$#&-~")
_LONGEST_PATTERN: Final = 1_000
_MOST_PATTERNS: Final = 100
"""Patterns and similar words of a query: each is held against all the words of an index."""
_MOST_SECONDS: Final = 2.0
"""Of a processor, for understanding patterns: some regular expressions take a second each."""
_LONGEST_PHRASE: Final = 100
"""Words in a row."""
_LONGEST_LOOSE: Final = 10
"""Words that may be moved: how long Tantivy looks for them grows with every one."""
_MOST_MOVES: Final = 100
_LAST_ADDRESS: Final = 2**128 - 1
_NUMBER: Final = re.compile(r"-?\d{1,40}(\.\d{1,40})?", re.ASCII)
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
"""What Tantivy takes for a date inside JSON: RFC 3339."""


@dataclass(frozen=True)
class Typed:
    """Rows for which a predicate is true."""

    predicate: Predicate
    span: Span


@dataclass(frozen=True)
class Words:
    """Rows whose text has these words, in this order with up to `slop` moves between them; mostly there is one."""

    field: FieldMapping
    words: tuple[str, ...]
    slop: int
    span: Span


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
    """Rows whose array has an element for which a predicate is true. It calls the element by the name of the column."""

    column: Column
    predicate: Predicate
    span: Span


@dataclass(frozen=True)
class Addresses:
    """Rows with an IP address in one of these runs, each by its first and its last."""

    field: FieldMapping
    runs: tuple[tuple[str, str], ...]
    span: Span


@dataclass(frozen=True)
class AtPath:
    """Rows whose JSON has these words in a row, or one of these values, at a path."""

    field: FieldMapping
    path: tuple[str, ...]
    words: tuple[str, ...]
    values: tuple[bool | int | float | dt.datetime, ...]
    slop: int
    span: Span

    @property
    def name(self) -> str:
        """The path as Tantivy writes it."""
        return ".".join((self.field.name, *self.path))


BoundLeaf: TypeAlias = All | Typed | Words | Pattern | Near | Elements | Addresses | AtPath


@dataclass(frozen=True)
class Group:
    """All of `must`, none of `must_not`, and, if nothing must, any of `should`: what AND, OR, NOT and signs come down to."""

    must: tuple[Bound, ...] = ()
    should: tuple[Bound, ...] = ()
    must_not: tuple[Bound, ...] = ()


@dataclass(frozen=True)
class Boosted:
    """The same rows, with a higher or lower score."""

    child: Bound
    factor: float


Bound: TypeAlias = BoundLeaf | Group | Boosted


def bind_query(node: Node, text: str, schema: pa.Schema, mapping: DocMapping) -> Bound:
    """Check a query against a table. `mapping` is how new splits of it are indexed. Raises QueryError with a position."""
    return _Binder(text, schema, mapping).bind(node)


def needs_positions(bound: Bound) -> bool:
    """Whether the index must have the places of words, and not only the words."""
    match bound:
        case Words() | AtPath():
            return len(bound.words) > 1
        case Group():
            return any(map(needs_positions, (*bound.must, *bound.should, *bound.must_not)))
        case Boosted():
            return needs_positions(bound.child)
    return False


def implied(bound: Bound) -> Predicate:
    """What is true for every row that the query finds, as far as predicates can say it: files are left out by it."""
    match bound:
        case Typed():
            return bound.predicate
        case Group(must=must) if must:
            return all_of(part for part in map(implied, must) if part != TRUE)
        case Group(should=should) if should:
            parts = list(map(implied, should))
            return TRUE if TRUE in parts else any_of(parts)
        case Boosted():
            return implied(bound.child)
    return TRUE


class _Binder:
    def __init__(self, text: str, schema: pa.Schema, mapping: DocMapping) -> None:
        self._text = text
        self._schema = schema
        self._mapping = mapping
        self._defaults = [field for field in mapping.fields if field.kind == "text"]
        self._patterns = 0
        self._understood: dict[str, float] = {}
        """Regular expressions, and the seconds they took."""

    def bind(self, node: Node) -> Bound:
        match node:
            case And():
                return Group(must=tuple(map(self.bind, node.children)))
            case Or():
                return Group(should=tuple(map(self.bind, node.children)))
            case Not():
                return Group(must_not=(self.bind(node.child),))
            case Clauses():
                return Group(*(tuple(map(self.bind, part)) for part in (node.must, node.should, node.must_not)))
            case Boost():
                return Boosted(self.bind(node.child), node.factor)
            case All():
                return node
        return self._leaf(node)

    def _leaf(self, leaf: Leaf) -> Bound:
        assert not isinstance(leaf, All)
        if leaf.field is None:
            if not self._defaults:
                raise self._error(leaf.span, f"this table has no text column to search, name a field: {self._names()}")
            asked = tuple(self._words(leaf, field) for field in self._defaults)
            return asked[0] if len(asked) == 1 else Group(should=asked)
        column, path = self._column(leaf.field)
        field = None if column.nested else self._mapping.field(column.name)
        if path:
            assert field is not None, "only JSON has paths"
            return self._at_path(leaf, field, path)
        if isinstance(leaf, Exists):
            return Typed(IsNotNull(column), leaf.span)
        if field is not None and field.kind == "text":
            return self._words(leaf, field)
        if field is not None and field.kind == "ip" and isinstance(leaf, Term | Phrase | OneOf | Range):
            return self._addresses(leaf, field)
        if pa.types.is_list(column.type) and is_comparable(column.type.value_type):
            return self._elements(leaf, column)
        return Typed(self._typed(leaf, column), leaf.span)

    def _column(self, field: FieldName) -> tuple[Column, tuple[str, ...]]:
        """A column, in any letter case, or a field of a struct by its path; and what of the path leads into JSON."""
        names = list(self._schema.names)
        found = _spelled(field.name, names)
        if len(found) == 1:
            return Column((found[0],), self._schema.field(found[0]).type), ()
        head, *path = field.name.split(".")
        start = _spelled(head, names)
        if not path or len(start) != 1:
            raise self._unknown(field, names)
        whole = column = Column((start[0],), self._schema.field(start[0]).type)
        mapped = self._mapping.field(start[0])
        for name in path:
            if not pa.types.is_struct(column.type):
                if mapped is not None and mapped.kind == "json" and mapped.indexed:
                    return whole, tuple(path)
                raise self._error(field.span, f"{column} is {column.type} and has no field {name}")
            inner = [each.name for each in column.type]
            found = _spelled(name, inner)
            if len(found) != 1:
                raise self._unknown(field, [".".join((*column.path, each)) for each in inner])
            column = Column((*column.path, found[0]), column.type.field(found[0]).type)
        return column, ()

    def _unknown(self, field: FieldName, names: Sequence[str]) -> QueryError:
        lower = {name.lower(): name for name in names}
        near = difflib.get_close_matches(field.name.lower(), lower, 1, 0.5)
        hint = f"did you mean {lower[near[0]]}?" if near else f"the fields are {', '.join(names[:20])}"
        return self._error(field.span, f"there is no field {field.name}; {hint}", field=field.name)

    def _typed(self, leaf: Leaf, column: Column) -> Predicate:
        """What is asked of a column without words, as `where` would ask it."""
        if not is_comparable(column.type):
            raise self._error(leaf.span, f"{column} is {column.type}, of which only {column}:* can be asked")
        match leaf:
            case Term(_, text) | Phrase(_, text, 0):
                return self._checked(leaf.span, lambda: compare(column, "=", text))
            case OneOf():
                return self._checked(leaf.span, lambda: member(column, leaf.values))
            case Range():
                return self._checked(leaf.span, lambda: _between(column, leaf))
            case Wildcard():
                pattern = "".join(_like(p) if isinstance(p, str) else "_" if p else "%" for p in leaf.parts)
                return self._checked(leaf.span, lambda: like(column, pattern))
        kind = {"Phrase": "words near each other", "Regex": "regular expressions", "Fuzzy": "similar words"}
        what = kind.get(type(leaf).__name__, "this")
        raise self._error(
            leaf.span, f"{column} is not cut into words, so {what} cannot be searched in it; index it as text"
        )

    def _elements(self, leaf: Leaf, column: Column) -> Bound:
        if isinstance(leaf, Range) and leaf.low is None and leaf.high is None:
            return Typed(IsNotNull(column), leaf.span)
        return Elements(column, self._typed(leaf, Column(column.path, column.type.value_type)), leaf.span)

    def _addresses(self, leaf: Term | Phrase | OneOf | Range, field: FieldMapping) -> Addresses:
        match leaf:
            case Range():
                low = 0 if leaf.low is None else self._network(leaf.low, leaf.span)[0 if leaf.with_low else 1]
                high = _LAST_ADDRESS if leaf.high is None else self._network(leaf.high, leaf.span)[leaf.with_high]
                low += leaf.low is not None and not leaf.with_low
                high -= leaf.high is not None and not leaf.with_high
                runs = [(low, high)]
            case OneOf():
                runs = [self._network(text, leaf.span) for text in leaf.values]
            case _:
                runs = [self._network(leaf.text, leaf.span)]
        texts = (
            (str(ipaddress.IPv6Address(low)), str(ipaddress.IPv6Address(high))) for low, high in runs if low <= high
        )
        return Addresses(field, tuple(texts), leaf.span)

    def _network(self, text: str, span: Span) -> tuple[int, int]:
        """The first and the last address of a network, or one address twice; those of IPv4 as they lie inside IPv6."""
        try:
            network = ipaddress.ip_network(text, strict=False)
        except ValueError:
            raise self._error(span, f"{text} is no IP address and no network such as 10.0.0.0/8") from None
        inside = 0xFFFF << 32 if network.version == 4 else 0
        return int(network.network_address) + inside, int(network.broadcast_address) + inside

    def _at_path(self, leaf: Leaf, field: FieldMapping, path: tuple[str, ...]) -> AtPath:
        if not isinstance(leaf, Term | Phrase):
            raise self._error(
                leaf.span, f"inside the JSON of {field.column} only words, phrases and values can be found"
            )
        odd = [key for key in path if not (key.isascii() and key.replace("_", "a").isalnum())]
        if odd:
            raise self._error(
                leaf.span, f"the key {odd[0]!r} cannot be searched: it has other characters than letters, digits and _"
            )
        words = tuple(analyzer(field.tokenizer or "raw", self._mapping.max_token_length).analyze(leaf.text))
        slop = leaf.slop if isinstance(leaf, Phrase) else 0
        self._check_phrase(words, slop, leaf.span, field)
        values = () if slop else tuple(_json_values(leaf.text))
        if not words and not values:
            raise self._error(leaf.span, f"there is no word in it that {field.column} could have")
        return AtPath(field, path, words, values, slop, leaf.span)

    def _checked(self, span: Span, make: Callable[[], Predicate]) -> Predicate:
        try:
            return make()
        except PredicateError as error:
            raise self._error(span, str(error)) from None

    def _words(self, leaf: Leaf, field: FieldMapping) -> BoundLeaf:
        match leaf:
            case Term():
                return self._cut(leaf.text, 0, leaf.span, field)
            case Phrase():
                return self._cut(leaf.text, leaf.slop, leaf.span, field)
            case Fuzzy():
                self._count_pattern(leaf.span)
                return Near(field, self._normal(leaf.text, field), leaf.distance, leaf.span)
            case Wildcard():
                normal = (self._normal(p, field) if isinstance(p, str) else p for p in leaf.parts)
                parts = (_literally(p) if isinstance(p, str) else "." if p else ".*" for p in normal)
                return self._pattern("".join(parts), leaf.span, field)
            case Regex():
                return self._pattern(leaf.pattern, leaf.span, field)
        raise self._error(
            leaf.span,
            f"{field.column} is cut into words, which have no order and are no lists; ask for words, or use where",
        )

    def _cut(self, text: str, slop: int, span: Span, field: FieldMapping) -> Words:
        words = tuple(analyzer(field.tokenizer or "raw", self._mapping.max_token_length).analyze(text))
        if not words:
            raise self._error(
                span, f"there is no word in it that {field.column} could have: its tokenizer is {field.tokenizer}"
            )
        self._check_phrase(words, slop, span, field)
        return Words(field, words, slop if len(words) > 1 else 0, span)

    def _check_phrase(self, words: Sequence[str], slop: int, span: Span, field: FieldMapping) -> None:
        longest = _LONGEST_LOOSE if slop else _LONGEST_PHRASE
        if len(words) > longest or slop > _MOST_MOVES:
            what = f"a phrase has at most {longest} words" + (
                f", moved by at most {_MOST_MOVES} places" if slop else ""
            )
            raise self._error(span, f"{what}; this one has {len(words)}" + (f", moved by {slop}" if slop else ""))
        if len(words) > 1 and field.record != "position":
            raise self._error(
                span,
                f"{field.column} is indexed without the places of words, so a phrase ({' '.join(words)}) cannot be found in it; "
                f"ask for the words: ({' AND '.join(words)})",
                field=field.column,
            )

    def _normal(self, text: str, field: FieldMapping) -> str:
        """A part of a word, as the words of the field are written: each letter is made small by itself, the last sigma too."""
        return text if field.tokenizer in ("raw", "whitespace") else "".join(letter.lower() for letter in text)

    def _pattern(self, regex: str, span: Span, field: FieldMapping) -> Pattern:
        if len(regex) > _LONGEST_PATTERN:
            raise self._error(
                span, f"a pattern has at most {_LONGEST_PATTERN:,} characters, this one has {len(regex):,}"
            )
        self._count_pattern(span)
        if regex not in self._understood:
            self._understand(regex, span)
        return Pattern(field, regex, span)

    def _understand(self, regex: str, span: Span) -> None:
        builder = tantivy.SchemaBuilder()
        builder.add_text_field("words", tokenizer_name="raw")
        began = time.thread_time()
        try:
            tantivy.Query.regex_query(builder.build(), "words", regex)
        except ValueError as error:
            what = str(error).strip().splitlines()
            raise self._error(span, f"the pattern cannot be used: {what[-1] if what else regex}") from None
        self._understood[regex] = time.thread_time() - began
        if sum(self._understood.values()) > _MOST_SECONDS:
            raise self._error(
                span,
                f"understanding the patterns up to here took more than {_MOST_SECONDS:g} seconds; ask for fewer, or simpler ones",
            )

    def _count_pattern(self, span: Span) -> None:
        self._patterns += 1
        if self._patterns > _MOST_PATTERNS:
            raise self._error(
                span,
                f"a query has at most {_MOST_PATTERNS} patterns and similar words, one in three columns counted as three; "
                "ask for words, or name a column",
            )

    def _names(self) -> str:
        return ", ".join(self._schema.names[:20])

    def _error(self, span: Span, what: str, **details: str) -> QueryError:
        seen = self._text[span.start : span.end]
        seen = seen if len(seen) <= 40 else f"{seen[:40]}…"
        return QueryError(
            f"the query asks for what the table does not have, character {span.start + 1}, at {seen!r}: {what}",
            position=span.start,
            query=self._text,
            **details,
        )


def _json_values(text: str) -> Iterator[bool | int | float | dt.datetime]:
    """What else than a text may be in JSON for this text."""
    if text in ("true", "false"):
        yield text == "true"
    if _NUMBER.fullmatch(text):
        if "." not in text and -(2**63) <= int(text) < 2**63:
            yield int(text)
        if "." in text or float(text) == int(text):
            yield float(text)
    try:
        moment = dt.datetime.fromisoformat(text).astimezone(dt.UTC) if _MOMENT.fullmatch(text) else None
    except (ValueError, OverflowError):  # no moment, or one outside of the years 1 to 9999
        moment = None
    if moment is not None:
        yield moment.replace(tzinfo=None, microsecond=0)


def _spelled(name: str, names: Sequence[str]) -> list[str]:
    return [each for each in names if each == name] or [each for each in names if each.lower() == name.lower()]


def _between(column: Column, asked: Range) -> Predicate:
    bounds = []
    if asked.low is not None:
        bounds.append(compare(column, ">=" if asked.with_low else ">", asked.low))
    if asked.high is not None:
        bounds.append(compare(column, "<=" if asked.with_high else "<", asked.high))
    return all_of(bounds) if bounds else IsNotNull(column)


def _like(text: str) -> str:
    return "".join(f"\\{letter}" if letter in "\\%_" else letter for letter in text)


def _literally(text: str) -> str:
    return "".join(f"\\{letter}" if letter in _META else letter for letter in text)
