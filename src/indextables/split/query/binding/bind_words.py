"""What is asked of a column that is cut into words, checked: words, phrases, patterns and similar words."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final, assert_never

import tantivy

from indextables.split.index.doc_mapping import DocMapping, FieldMapping
from indextables.split.index.index_files import analyzer
from indextables.split.index.loose_phrases import MOST_PLACEMENTS, is_found_as_written, most_moves, ways_to_move
from indextables.split.query.binding.refusals import Refusals
from indextables.split.query.bound import BoundLeaf, Near, Pattern, Words
from indextables.split.query.tree import All, Exists, Fuzzy, Leaf, OneOf, Phrase, Range, Regex, Span, Term, Wildcard

_META: Final = frozenset("\\.+*?()|[]{}^$#&-~")
_LONGEST_PATTERN: Final = 1_000
"""Characters of a pattern, each wildcard written out as an expression."""
_MOST_PATTERNS: Final = 100
"""Patterns and similar words of a query: each is held against all the words of an index."""
_MOST_SECONDS: Final = 2.0
"""Of a processor, for understanding patterns: some regular expressions take a second each."""
_LONGEST_PHRASE: Final = 100
"""Words in a row."""
_LONGEST_LOOSE: Final = 10
"""Words that may be moved: the ways to move them double with every one, at least."""
_MOST_MOVES: Final = 100
"""Places that the words of a phrase may be moved by."""


class WordBinder:
    """Binds the leaves of one query that ask for words. The patterns of the query are counted together."""

    def __init__(self, mapping: DocMapping, refusals: Refusals) -> None:
        self._mapping = mapping
        self._refusals = refusals
        self._patterns = 0
        self._understood: dict[str, float] = {}
        """Regular expressions, and the seconds that they took."""

    def bind(self, leaf: Leaf, field: FieldMapping) -> BoundLeaf:
        """What is asked of a column that is cut into words. Raises QueryError with a position."""
        match leaf:
            case Term():
                return self._phrase(leaf.text, 0, leaf.span, field)
            case Phrase():
                return self._phrase(leaf.text, leaf.slop, leaf.span, field)
            case Fuzzy():
                self._count_pattern(leaf.span)
                return Near(field, self._normal(leaf.text, field), leaf.distance, leaf.span)
            case Wildcard():
                normal = (self._normal(p, field) if isinstance(p, str) else p for p in leaf.parts)
                parts = (_literally(p) if isinstance(p, str) else "." if p else ".*" for p in normal)
                return self._pattern("".join(parts), leaf.span, field)
            case Regex():
                return self._pattern(leaf.pattern, leaf.span, field)
            case All() | Exists() | Range() | OneOf():
                raise self._refusals.error(
                    leaf.span,
                    f"{field.column} is cut into words, which have no order and are no lists; ask for words, or use where",
                )
            case _:
                assert_never(leaf)

    def cut(self, text: str, field: FieldMapping) -> tuple[str, ...]:
        """The words of a text, as the column's tokenizer cuts them."""
        return tuple(analyzer(field.tokenizer or "raw", self._mapping.max_token_length).analyze(text))

    def _phrase(self, text: str, slop: int, span: Span, field: FieldMapping) -> Words:
        words = self.cut(text, field)
        if not words:
            raise self._refusals.error(
                span, f"there is no word in it that {field.column} could have: its tokenizer is {field.tokenizer}"
            )
        self.check_phrase(words, slop, span, field)
        return Words(field, words, slop if len(words) > 1 else 0, span)

    def check_phrase(self, words: Sequence[str], slop: int, span: Span, field: FieldMapping) -> None:
        """Raise QueryError for a phrase that is too long, or moved too far, or whose column has no places of words."""
        longest = _LONGEST_LOOSE if slop else _LONGEST_PHRASE
        if len(words) > longest or slop > _MOST_MOVES:
            what = f"a phrase has at most {longest} words" + (
                f", moved by at most {_MOST_MOVES} places" if slop else ""
            )
            raise self._refusals.error(
                span, f"{what}; this one has {len(words)}" + (f", moved by {slop}" if slop else "")
            )
        if len(words) > 1 and not is_found_as_written(words, slop):
            self._check_moves(words, slop, span, field)
        if len(words) > 1 and field.record != "position":
            raise self._refusals.error(
                span,
                f"{field.column} is indexed without the places of words, so a phrase ({' '.join(words)}) cannot be found in it; "
                f"ask for the words: ({' AND '.join(words)})",
                field=field.column,
            )

    def _check_moves(self, words: Sequence[str], slop: int, span: Span, field: FieldMapping) -> None:
        """Raise QueryError if there are too many ways to move the words, or if the words are inside JSON."""
        if field.kind == "json":
            raise self._refusals.error(
                span,
                "inside JSON only two different words can be moved; ask for the words in a row, or for each of them: "
                f"({' AND '.join(dict.fromkeys(words))})",
                field=field.column,
            )
        if ways_to_move(len(words), slop) > MOST_PLACEMENTS:
            raise self._refusals.error(
                span, f"{len(words)} words can be moved by at most {most_moves(len(words), slop)} places, not by {slop}"
            )

    def _normal(self, text: str, field: FieldMapping) -> str:
        """A part of a word, as the words of the field are written: each letter is made small by itself, the last sigma too."""
        return text if field.tokenizer in ("raw", "whitespace") else "".join(letter.lower() for letter in text)

    def _pattern(self, regex: str, span: Span, field: FieldMapping) -> Pattern:
        if len(regex) > _LONGEST_PATTERN:
            raise self._refusals.error(
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
            raise self._refusals.error(span, f"the pattern cannot be used: {what[-1] if what else regex}") from None
        self._understood[regex] = time.thread_time() - began
        if sum(self._understood.values()) > _MOST_SECONDS:
            raise self._refusals.error(
                span,
                f"understanding the patterns up to here took more than {_MOST_SECONDS:g} seconds; ask for fewer, or simpler ones",
            )

    def _count_pattern(self, span: Span) -> None:
        self._patterns += 1
        if self._patterns > _MOST_PATTERNS:
            raise self._refusals.error(
                span,
                f"a query has at most {_MOST_PATTERNS} patterns and similar words, one in three columns counted as three; "
                "ask for words, or name a column",
            )


def _literally(text: str) -> str:
    return "".join(f"\\{letter}" if letter in _META else letter for letter in text)
