"""The part of a text that shows best why a query found it, and where its words are in there.

Words are looked for in the text itself, with the tokenizer of its column, so that a snippet needs no index: it works on any row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import groupby
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.arrow_values import array_of
from indextables.split.index.doc_mapping import FieldMapping
from indextables.split.index.index_files import analyzer
from indextables.split.query.bound import Boosted, Bound, Group, Near, Pattern, Words

LENGTH: Final = 160
"""Characters of a snippet."""
_LONGEST_TEXT: Final = 100_000
"""Characters that are looked at."""
_LONGEST_WORD: Final = 255
"""Bytes of a word that is looked for: longer ones are not in the index."""
_CLASSES: Final = {r"\w": r"\pL\pN\pM_", r"\d": r"\p{Nd}"}
_PIECES: Final = {"whitespace": re.compile(r"[^ \t\n\r\f]+"), "raw": re.compile(r"(?s).+")}
_WORD: Final = re.compile(r"[A-Za-z0-9]+")


Test: TypeAlias = Callable[[Sequence[str]], set[str]]


@dataclass(frozen=True)
class Snippet:
    """A part of a text, and the characters in it that the query asked for: (start, end)."""

    text: str
    highlights: tuple[tuple[int, int], ...]


class Highlighter:
    """Finds what a query asked for in the texts of one column."""

    def __init__(self, query: Bound, field: FieldMapping, max_token_length: int) -> None:
        self._tests = list(_tests(query, field.column))
        self._wanted: dict[str, bool] = {}
        self._analyze = analyzer(field.tokenizer or "raw", max_token_length).analyze
        self._pieces = _PIECES.get(field.tokenizer or "raw")

    def snippet(self, text: str | None, length: int = LENGTH) -> Snippet | None:
        """The part with the most different words of the query, as early as possible. Without any, the beginning."""
        if text is None:
            return None
        found = list(self._found(text[:_LONGEST_TEXT]))
        start, end = _window(text, found, length)
        inside = tuple((a - start, b - start) for a, b, _ in found if start <= a and b <= end)
        return Snippet(text[start:end], inside)

    def _found(self, text: str) -> Iterator[tuple[int, int, str]]:
        pieces = [(start, end, self._analyze(text[start:end])) for start, end in self._runs(text)]
        self._look_at({word for _, _, words in pieces for word in words})
        for start, end, words in pieces:
            for word in words:
                if self._wanted[word]:
                    yield start, end, word
                    break

    def _look_at(self, words: set[str]) -> None:
        """Each word once, however many texts have it."""
        new = [word for word in words if word not in self._wanted]
        found = set().union(*(test(new) for test in self._tests)) if new else set()
        self._wanted.update((word, word in found) for word in new)

    def _runs(self, text: str) -> Iterator[tuple[int, int]]:
        """Where words can be. What belongs to one in other scripts, such as vowel signs, Tantivy knows and Python does not."""
        if self._pieces is not None or text.isascii():
            return (piece.span() for piece in (self._pieces or _WORD).finditer(text))
        groups = groupby(range(len(text)), lambda at: _is_letter(text[at]))
        places = (list(group) for is_word, group in groups if is_word)
        return ((group[0], group[-1] + 1) for group in places)


@cache
def _is_letter(letter: str) -> bool:
    """Whether tokenizers that cut at everything else take a character for a part of a word."""
    return bool(analyzer("default", 255).analyze(letter))


def _window(text: str, found: Sequence[tuple[int, int, str]], length: int) -> tuple[int, int]:
    """Where to cut: around the most different words, at blanks where there are some."""
    if len(text) <= length:
        return 0, len(text)
    best, most = 0, 0
    for number, (start, _, _) in enumerate(found):
        words = {word for begin, end, word in found[number : number + 50] if end - start <= length}
        if len(words) > most:
            best, most = start, len(words)
    first = max(0, min(best - length // 4, len(text) - length))
    if first:
        blank = text.find(" ", first, best) if best > first else -1
        first = blank + 1 if blank >= 0 else first
    last = min(len(text), first + length)
    if last < len(text):
        blank = text.rfind(" ", first + length // 2, last)
        last = blank if blank > 0 and all(not start < blank < end for start, end, _ in found) else last
    return first, last


def _tests(query: Bound, column: str) -> Iterator[Test]:
    """For each thing that the query wants to be there: which words are one."""
    match query:
        case Group():
            for child in (*query.must, *query.should):
                yield from _tests(child, column)
        case Boosted():
            yield from _tests(query.child, column)
        case Words() if query.field.column == column:
            yield set(query.words).intersection
        case Near() if query.field.column == column:
            yield lambda words: {word for word in words if _is_near(word, query.word, query.distance)}
        case Pattern() if query.field.column == column:
            yield partial(_matching, f"^(?:{_as_in_tantivy(query.regex)})$")


def _matching(regex: str, words: Sequence[str]) -> set[str]:
    """By RE2, which takes the same time for every pattern: Python's own takes years for `*?*?*?*?…`, and nobody can stop it."""
    short = array_of([word for word in words if len(word) <= _LONGEST_WORD], pa.string())
    try:
        found = short.filter(pc.match_substring_regex(short, pattern=regex))
    except pa.ArrowInvalid:  # Tantivy's dialect has a few forms that RE2 lacks: then nothing is shown for them
        return set()
    return set(found.to_pylist())


def _as_in_tantivy(regex: str) -> str:
    """Classes of letters and digits hold those of all scripts."""
    inside = False

    def told(found: re.Match[str]) -> str:
        nonlocal inside
        part = found.group()
        inside = part == "[" or (inside and part != "]")
        letters = _CLASSES.get(part)
        return part if letters is None else letters if inside else f"[{letters}]"

    return re.sub(r"\\.|[\[\]]", told, regex, flags=re.DOTALL)


def _is_near(word: str, wanted: str, distance: int) -> bool:
    """Whether a few letters make one word of the other, a swap of neighbours counted as one."""
    if abs(len(word) - len(wanted)) > distance:
        return False
    before: list[int] = []
    row = list(range(len(wanted) + 1))
    for i, letter in enumerate(word, 1):
        before_that, before, row = before, row, [i]
        for j, other in enumerate(wanted, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == wanted[j - 2] and word[i - 2] == other:
                cost = min(cost, before_that[j - 2] + 1)
            row.append(cost)
    return row[-1] <= distance
