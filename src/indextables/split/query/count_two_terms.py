"""How many rows have both of two words.

For an intersection Tantivy goes through the rows of the rarer word and seeks each among those of the other: 13 ns for each of
them. Listing the words that begin with a text, with their number of rows under a query, goes through the rows of both words once:
2 ns. So two words of which neither is rare are counted by that list, in a third of the time, provided that it is short: all words
that begin with the word are on it. There may be 200,000 ids that do (`request1`, `request2`, …), so what looks like that is left
alone, and a word that was found to begin many others is not tried again in this process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import tantivy

from indextables.core.runtime.process_state import Lru
from indextables.split.bundle.native_errors import translated
from indextables.split.plan.index_view import IndexView
from indextables.split.query.bound import Words

_LEAST_ROWS: Final = 2000
"""Of the rarer word: below, seeking is done before a list is begun."""
_MOST_TIMES: Final = 4
"""How many times as frequent the other word may be, after which seeking is the better way."""
_LEAST_LETTERS: Final = 5
"""Letters of a word that is counted by a list: many words begin with a short one."""
_MOST_WORDS: Final = 32
"""Words that may begin with a word, for its list to be short."""
_NUMBERS: Final = ("000", "123", "500", "999")
"""If a word goes on with numbers, it goes on with some of these, each of which a thousandth of them begins with."""
_MOST_KNOWN: Final = 1024
"""Words that are remembered as wide, or as standing alone. Then all are forgotten."""

WIDE_WORDS: Final[Lru[tuple[str, str], bool]] = Lru(_MOST_KNOWN)
"""Fields and words that begin many others, in some split."""


def count_of_both(view: IndexView, one: Words, other: Words, query: Callable[[Words], tantivy.Query]) -> int | None:
    """How many rows have both words; None where this is not the way to count them. `query` finds the rows of one of them."""
    searcher = view.searcher
    with translated(view.split, "counting in its index"):
        frequencies = [searcher.doc_freq(each.field.name, each.words[0]) for each in (one, other)]
        least, most = min(frequencies), max(frequencies)
        if least < _LEAST_ROWS or most > least * _MOST_TIMES:
            return None
        for listed, filtering in sorted(((one, other), (other, one)), key=lambda pair: -len(pair[0].words[0])):
            name, word = listed.field.name, listed.words[0]
            if _stands_alone(view, name, word):
                found = searcher.terms_with_prefix(name, word, filter_query=query(filtering))
                return next((int(rows) for text, rows in found if text == word), 0)
    return None


def _stands_alone(view: IndexView, name: str, word: str) -> bool:
    """Whether few words begin with this one."""
    mark = (name, word)
    if len(word) < _LEAST_LETTERS or not word.isalpha() or mark in WIDE_WORDS:
        return False
    if mark in view.alone:
        return True
    listed = view.searcher.terms_with_prefix
    wide = any(listed(name, word + number) for number in _NUMBERS) or len(listed(name, word)) > _MOST_WORDS
    if wide:
        WIDE_WORDS.put(mark, True)
        return False
    if len(view.alone) >= _MOST_KNOWN:
        view.alone.clear()
    view.alone.add(mark)
    return True
