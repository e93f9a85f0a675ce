"""The Tantivy queries of leaves that only the index can answer: words, patterns, similar words, addresses, values inside JSON.

leaf + IndexView ──leaf_query──▶ tantivy.Query
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias, assert_never
from weakref import WeakKeyDictionary

import tantivy

from indextables.core.errors import SplitError
from indextables.split.index.doc_mapping import DocMapping
from indextables.split.plan.index_view import IndexView
from indextables.split.query.bound import Addresses, AtLeaf, AtPath, Near, Pattern, Words
from indextables.split.query.json_paths import Keys
from indextables.split.query.json_values import JsonTerms

IndexLeaf: TypeAlias = Words | Pattern | Near | Addresses | AtPath

_MOST_AGREED: Final = 256
"""Fields that an open index remembers as indexed alike, so that mappings are not compared with every query."""
_PATTERNS: Final[WeakKeyDictionary[Pattern, tuple[DocMapping, tantivy.Query]]] = WeakKeyDictionary()
"""The queries of patterns, each for as long as a bound query with the pattern lives: some take half a second to be made."""


def leaf_query(view: IndexView, leaf: IndexLeaf, *, scored: bool = True) -> tantivy.Query:
    """The query of a leaf. With `scored=False` the index does not read how often a row has a word."""
    check_mapping(view, leaf)
    schema, name = view.schema, leaf.field.name
    query = tantivy.Query
    match leaf:
        case Words(words=(word,)):
            return query.term_query(schema, name, word, index_option="freq" if scored else "basic")
        case Words() if leaf.placements:
            ways = [query.phrase_query(schema, name, list(way)) for way in leaf.placements]
            return query.disjunction_max_query(ways)
        case Words():
            return query.phrase_query(schema, name, list(leaf.words), slop=leaf.slop)
        case Pattern():
            return _pattern_query(view, leaf)
        case Near():
            return query.fuzzy_term_query(schema, name, leaf.word, distance=leaf.distance, transposition_cost_one=True)
        case Addresses():
            address = tantivy.FieldType.IpAddr
            return _any([query.range_query(schema, name, address, low, high) for low, high in leaf.runs])
        case AtPath():
            values = [query.const_score_query(value_query, 1.0) for value_query in _value_queries(view, leaf)]
            return _any([*_word_queries(view, leaf), *values])
        case _:
            assert_never(leaf)


def words_at_path(view: IndexView, leaf: AtPath) -> tantivy.Query:
    """The query of the words of a leaf alone, without its values."""
    check_mapping(view, leaf)
    return _any(list(_word_queries(view, leaf)))


def terms_at_keys(view: IndexView, leaf: AtLeaf, terms: JsonTerms) -> tantivy.Query:
    """The query of the terms of a typed value inside JSON."""
    name = _path_name(leaf.field.name, leaf.keys)
    return _any([tantivy.Query.term_query(view.schema, name, term, index_option="basic") for term in terms.terms])


def check_mapping(view: IndexView, leaf: IndexLeaf | AtLeaf) -> None:
    """Raise SplitError if the split indexed the column in another way than the query was bound for."""
    if view.agreed.get(id(leaf.field)) is leaf.field:
        return
    if view.mapping.field(leaf.field.column) != leaf.field:
        raise SplitError(
            f"{view.split} was written when {leaf.field.column} was indexed in another way, and cannot be searched: "
            "write its rows again, or merge it with others",
            split=view.split,
        )
    if len(view.agreed) >= _MOST_AGREED:
        view.agreed.clear()
    view.agreed[id(leaf.field)] = leaf.field


def _pattern_query(view: IndexView, leaf: Pattern) -> tantivy.Query:
    """The query of a pattern, made once for all splits that are indexed alike."""
    known = _PATTERNS.get(leaf)
    if known is None or known[0] != view.mapping:
        made = tantivy.Query.regex_query(view.schema, leaf.field.name, leaf.regex)
        _PATTERNS[leaf] = known = view.mapping, made
    return known[1]


def _word_queries(view: IndexView, leaf: AtPath) -> Iterator[tantivy.Query]:
    query, schema = tantivy.Query, view.schema
    for keys in leaf.spellings if leaf.words else ():
        name = _path_name(leaf.field.name, keys)
        if len(leaf.words) > 1:
            yield query.phrase_query(schema, name, list(leaf.words), slop=leaf.slop)
        else:
            yield query.term_query(schema, name, leaf.words[0], index_option="freq")


def _value_queries(view: IndexView, leaf: AtPath) -> Iterator[tantivy.Query]:
    for keys in leaf.spellings:
        name = _path_name(leaf.field.name, keys)
        for term in leaf.terms.terms:
            yield tantivy.Query.term_query(view.schema, name, term, index_option="basic")


def _path_name(field: str, keys: Keys) -> str:
    """A path as Tantivy reads it: a backslash takes the meaning of a dot inside a key away."""
    return ".".join((field, *(key.replace("\\", "\\\\").replace(".", "\\.") for key in keys)))


def _any(queries: list[tantivy.Query]) -> tantivy.Query:
    return tantivy.Query.boolean_query([(tantivy.Occur.Should, query) for query in queries])
