"""Keywords that may follow what was typed so far, for a prompt that completes them."""

from __future__ import annotations

from typing import Final

from indextables.core.errors import StatementError
from indextables.sql.forms import keywords, read_form
from indextables.sql.grammar import FORMS, is_ours, statements_of
from indextables.sql.statement_cursor import SYNONYMS, StatementCursor

_NO_WORD: Final = "\x00"
"""A sign that no statement has: the grammar says what it expected in its place."""


def next_keywords(text: str) -> list[str]:
    """The keywords that may come next in the last statement of a text; none where a value is expected."""
    try:
        statements = list(statements_of(f"{text} {_NO_WORD}"))
    except StatementError:
        return []  # an open quote or comment
    words = statements[-1] if statements else []
    if len(words) < 2 or words[-2].text != _NO_WORD:
        return []  # a comment up to the end of the line
    if not is_ours(words):
        said = tuple(SYNONYMS.get(word.upper, word.upper) for word in words[:-2])
        begun = [keywords(form.pattern) for form in FORMS]
        return sorted({begin[len(said)] for begin in begun if begin[: len(said)] == said and len(begin) > len(said)})
    try:
        read_form(StatementCursor(text, words), FORMS)
    except StatementError as error:
        expected: tuple[str, ...] = error.details.get("expected", ())
        return sorted({phrase.split()[0] for phrase in expected if phrase.isupper()})
    return []
