"""`Cursor`: the words of a filter, read one after another, and the errors for a word that cannot stand where it stands."""

from __future__ import annotations

from typing import Final

from indextables.core.errors import PredicateError
from indextables.core.sql_tokens import Word, WordCursor

SUPPORTED: Final = (
    "a filter compares columns with literals (=, <>, <, <=, >, >=, <=>, IN, BETWEEN, LIKE, IS NULL), searches them "
    "(INDEXQUERY, TEXTSEARCH, FIELDMATCH), and joins conditions with AND, OR and NOT"
)
OTHER_OPERATORS: Final = frozenset(
    {"ILIKE", "REGEXP", "RLIKE", "COLLATE", "+", "-", "*", "/", "%", "||", "&", "|", "^", "::"}
)
"""Operators of SQL that a filter does not have."""


def unsupported(what: str, word: Word) -> PredicateError:
    """The error for something that SQL has and a filter has not."""
    return PredicateError(
        f"{what} at position {word.start + 1} of the filter is not supported: {SUPPORTED}", position=word.start + 1
    )


class Cursor(WordCursor):
    """A place in the words of a filter."""

    def expect(self, keyword: str) -> None:
        """Go past a word that must come next."""
        if not self.take(keyword):
            raise self.unexpected(f"expected {keyword}")

    def unexpected(self, hint: str = SUPPORTED, word: Word | None = None) -> PredicateError:
        """The error for a word, the next one unless it is given, that cannot stand where it stands."""
        word = word or self.word
        if word.upper in OTHER_OPERATORS:
            return unsupported(f"the operator {word.upper}", word)
        place = word.start + 1
        if word.kind == "end":
            return PredicateError(f"the filter ends too early, at position {place}: {hint}", position=place)
        return PredicateError(f"{word} at position {place} of the filter is not expected: {hint}", position=place)
