"""Tree → the same tree, checked against a table: fields exist, values fit them, texts are cut into words.

What is asked of a column that is not cut into words, a number, a date, a string, is what `where` could ask, and becomes a
predicate: both mean the same, are answered in the same way, and agree about what is equal. Words are asked of the index alone:
a text column *is* its words here.

A word without a field is asked of the default field if there is one, else of all text columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, assert_never

import pyarrow as pa

from indextables.core.errors import PredicateError
from indextables.core.predicate import Column, IsNotNull, Predicate, all_of, compare, like, member
from indextables.core.predicate.coerce import is_comparable
from indextables.split.index.doc_mapping import DocMapping, FieldMapping
from indextables.split.index.json_documents import indexed_text
from indextables.split.query.binding.bind_addresses import bind_addresses
from indextables.split.query.binding.bind_json import bind_path
from indextables.split.query.binding.bind_words import WordBinder
from indextables.split.query.binding.field_names import FieldNames
from indextables.split.query.binding.refusals import Refusals
from indextables.split.query.bound import (
    Boosted,
    Bound,
    Elements,
    Group,
    Typed,
)
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

_QUOTES: Final = " (a value with a colon in it stands between double quotes)"
"""Where a default field makes values without a field possible, a time or an address may have been meant."""


@dataclass(frozen=True)
class DefaultField:
    """The column that a query asks where it names no field."""

    name: FieldName
    """What stands for the column in the tree, as this object: no other name means the column by itself."""
    column: Column

    @staticmethod
    def of(column: Column) -> DefaultField:
        """The default field that is a column."""
        return DefaultField(FieldName(str(column)), column)


def bind_query(
    node: Node, text: str, schema: pa.Schema, mapping: DocMapping, default: DefaultField | None = None
) -> Bound:
    """Check a query against a table. `mapping` is how new splits of it are indexed. Raises QueryError with a position.

    `default` is the field that the query was parsed with; None: all text columns.
    """
    return _Binder(text, schema, mapping, default).bind(node)


class _Binder:
    """Binds the tree of one query."""

    def __init__(self, text: str, schema: pa.Schema, mapping: DocMapping, default: DefaultField | None) -> None:
        self._schema = schema
        self._default = default
        self._mapping = mapping
        self._refusals = Refusals(text)
        self._names = FieldNames(schema, mapping, self._refusals, "" if default is None else _QUOTES)
        self._words = WordBinder(mapping, self._refusals)
        self._defaults = [field for field in mapping.fields if field.kind == "text"]

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
            case Exists() | Term() | Phrase() | Wildcard() | Regex() | Fuzzy() | Range() | OneOf():
                return self._leaf(node)
            case _:
                assert_never(node)

    def _leaf(self, leaf: Leaf) -> Bound:
        assert not isinstance(leaf, All)
        if leaf.field is None:
            if not self._defaults:
                raise self._refusals.error(
                    leaf.span,
                    f"this table has no text column to search, name a field: {', '.join(self._schema.names[:20])}",
                )
            asked = tuple(self._words.bind(leaf, field) for field in self._defaults)
            return asked[0] if len(asked) == 1 else Group(should=asked)
        if self._default is not None and leaf.field is self._default.name:
            return self._at(leaf, self._default.column, ())
        bound = [self._at(leaf, column, path) for column, path in self._names.places(leaf.field)]
        return bound[0] if len(bound) == 1 else Group(should=tuple(bound))

    def _at(self, leaf: Leaf, column: Column, path: tuple[str, ...]) -> Bound:
        """The question of a column, of a field inside a struct, or of a path into JSON."""
        field = None if column.nested else self._mapping.field(column.name)
        if path:
            assert field is not None, "only JSON has paths"
            return self._at_path(leaf, column, field, path)
        if isinstance(leaf, Exists):
            return Typed(IsNotNull(column), leaf.span)
        if field is not None and field.kind == "text":
            return self._words.bind(leaf, field)
        if field is not None and field.kind == "ip" and isinstance(leaf, Term | Phrase | OneOf | Range):
            return bind_addresses(leaf, field, self._refusals)
        if pa.types.is_list(column.type) and is_comparable(column.type.value_type):
            return self._elements(leaf, column)
        return Typed(self._typed(leaf, column), leaf.span)

    def _typed(self, leaf: Leaf, column: Column) -> Predicate:
        """What is asked of a column without words, as `where` would ask it."""
        if not is_comparable(column.type):
            raise self._refusals.error(leaf.span, f"{column} is {column.type}, of which only {column}:* can be asked")
        match leaf:
            case Term(_, text) | Phrase(_, text, 0):
                return self._checked(leaf.span, lambda: compare(column, "=", text))
            case OneOf():
                return self._checked(leaf.span, lambda: member(column, leaf.values))
            case Range():
                return self._checked(leaf.span, lambda: _between(column, leaf))
            case Exists():
                return IsNotNull(column)
            case Wildcard():
                pattern = "".join(_like(p) if isinstance(p, str) else "_" if p else "%" for p in leaf.parts)
                return self._checked(leaf.span, lambda: like(column, pattern))
            case Phrase():
                what = "words near each other"
            case Regex():
                what = "regular expressions"
            case Fuzzy():
                what = "similar words"
            case All():
                what = "every row"
            case _:
                assert_never(leaf)
        raise self._refusals.error(
            leaf.span, f"{column} is not cut into words, so {what} cannot be searched in it; index it as text"
        )

    def _elements(self, leaf: Leaf, column: Column) -> Bound:
        if isinstance(leaf, Range) and leaf.low is None and leaf.high is None:
            return Typed(IsNotNull(column), leaf.span)
        return Elements(column, self._typed(leaf, Column(column.path, column.type.value_type)), leaf.span)

    def _at_path(self, leaf: Leaf, column: Column, field: FieldMapping, parts: tuple[str, ...]) -> Bound:
        def cut(text: str, slop: int) -> tuple[str, ...]:
            words = self._words.cut(indexed_text(text), field)
            self._words.check_phrase(words, slop, leaf.span, field)
            return words

        return bind_path(
            leaf,
            column,
            field,
            parts,
            fail=lambda what: self._refusals.error(leaf.span, what),
            cut=cut,
            compare=self._typed,
        )

    def _checked(self, span: Span, make: Callable[[], Predicate]) -> Predicate:
        try:
            return make()
        except PredicateError as error:
            raise self._refusals.error(span, str(error)) from None


def _between(column: Column, asked: Range) -> Predicate:
    bounds = []
    if asked.low is not None:
        bounds.append(compare(column, ">=" if asked.with_low else ">", asked.low))
    if asked.high is not None:
        bounds.append(compare(column, "<=" if asked.with_high else "<", asked.high))
    return all_of(bounds) if bounds else IsNotNull(column)


def _like(text: str) -> str:
    return "".join(f"\\{letter}" if letter in "\\%_" else letter for letter in text)
