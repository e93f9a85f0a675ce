"""SQL text → words, for filters, aggregates and statements, by the rules of Spark's lexer.

    text ──▶ one pattern, tried from place to place ──▶ words: names, texts, numbers, bytes, signs

Texts that follow each other are one text: Spark 4 reads `'it''s'` as `it's` and `'a' 'b'` as `ab`. A number and its suffix (`5L`)
are one word. Comments nest, as in Spark. Every character is part of a word, a comment or white space, so that the parser sees
whatever it does not know as a word with its place.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, NoReturn
from typing import Literal as OneOf

from indextables.core.errors import IndexTablesError, PredicateError
from indextables.core.java_text import join_surrogates

MAX_LENGTH: Final = 1_000_000
"""Characters of a text: a longer text would take seconds to split into words."""
_LONGEST_QUOTE: Final = 80
"""Characters of a word that a message quotes: about one line."""
_WORD: Final = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<line>--(?:\\\n|[^\r\n])*)
    | (?P<comment>/\*(?!\+))
    | (?P<raw>[rR]'[^']*' | [rR]"[^"]*")
    | (?P<bytes>[xX]'[^']*' | [xX]"[^"]*")
    | (?P<text>'(?:[^'\\]|\\.|'')*' | "(?:[^"\\]|\\.|"")*")
    | (?P<name>`(?:[^`]|``)*`)
    | (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(?P<suffix>[bB][dD]|[lLsSyYfFdD])?(?!\w)
    | (?P<whole>[0-9]+)(?=\.\w)
    | (?P<word>\w+)
    | (?P<sign>/\*\+|<=>|<>|!=|<=|>=|==|\|\||::|->|=>|.)
    """,
    re.VERBOSE | re.DOTALL,
)
"""One word, comment or run of spaces. What begins with a quote or a comment and is no word of these is never closed."""
_COMMENT_END: Final = re.compile(r"/\*(?!\+)|\*/")
_ESCAPE: Final = re.compile(
    r"\\(?:U(?P<long>[0-9a-fA-F]{8})|u(?P<short>[0-9a-fA-F]{4})|(?P<octal>[01][0-7]{2})|(?P<other>.))"
    r"|(?P<quotes>''|\"\")",
    re.DOTALL,
)
_ESCAPED: Final = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}


@dataclass(slots=True)
class Word:
    """A word with its place in the text. `sign` is everything that is not a word, a name or a literal."""

    kind: OneOf["word", "name", "text", "number", "bytes", "sign", "end"]
    text: str
    start: int
    end: int
    suffix: str = ""
    upper: str = field(init=False, compare=False, repr=False)
    """The bare word or sign in upper case; nothing for names and literals, which are never keywords."""

    def __post_init__(self) -> None:
        """Parsers look at a word a dozen times: computing `upper` once takes a third off the time of a long condition."""
        self.upper = self.text.upper() if self.kind == "word" or self.kind == "sign" else ""

    def __str__(self) -> str:
        return repr(self.text if len(self.text) <= _LONGEST_QUOTE else f"{self.text[:_LONGEST_QUOTE]}…")


class WordCursor:
    """A place in the words of a SQL text. The last word is of kind `end`."""

    def __init__(self, words: Sequence[Word]) -> None:
        self._words = words
        self._index = 0

    def at_end(self) -> bool:
        """Whether all words were read."""
        return self.word.kind == "end"

    @property
    def word(self) -> Word:
        """The next word, not read yet."""
        return self._words[self._index]

    @property
    def following(self) -> Word:
        """The word after the next one. There is none after the end."""
        return self._words[min(self._index + 1, len(self._words) - 1)]

    def next(self) -> Word:
        """Read a word. The end stays where it is."""
        word = self.word
        if word.kind != "end":
            self._index += 1
        return word

    def take(self, *keywords: str) -> bool:
        """Go past these words if they come next."""
        found = tuple(word.upper for word in self._words[self._index : self._index + len(keywords)])
        if found == keywords:
            self._index += len(keywords)
        return found == keywords


@dataclass(frozen=True, slots=True)
class Language:
    """What a text is, for messages: its name, and the error for a text that cannot be split into words."""

    name: str
    error: type[IndexTablesError]
    shorter: str
    """What a user can do about a text that is too long."""


FILTER: Final = Language("filter", PredicateError, "use several filters")
"""The language of `where`, and of the texts that aggregates are made of."""


def split(text: str, language: Language = FILTER) -> list[Word]:
    """The words of a text, ended by one of kind `end`.

    Raises the language's error for a quote or a comment that is never closed.
    """
    if len(text) > MAX_LENGTH:
        raise language.error(
            f"the {language.name} has {len(text):,} characters, at most {MAX_LENGTH:,} are possible: {language.shorter}",
            length=len(text),
        )
    words: list[Word] = []
    _read(text, words, len(text) + 1, language)
    return [*words, Word("end", "", len(text), len(text))]


def first_words(text: str, most: int) -> list[Word]:
    """At most `most` words that a text of any length begins with. A quote or a comment that is never closed ends the words."""
    words: list[Word] = []
    with suppress(PredicateError):
        _read(text, words, most + 1, FILTER)  # one more, because texts that follow each other become one text
    return words[:most]


def _read(text: str, words: list[Word], most: int, language: Language) -> None:
    """Add the words of a text, until there are `most`."""
    place = 0
    while place < len(text) and len(words) < most:
        match = _WORD.match(text, place)
        assert match is not None, "the last alternative takes any character"
        kind, source = match.lastgroup, match[0]
        start, place = place, match.end()
        if kind == "comment":
            place = _after_comment(text, start, language)
        elif kind == "sign" and source in "'\"`":
            _never_closed(source, start, language)
        elif kind not in ("space", "line"):
            place = _add(words, match, kind)
    for word in words:
        if word.kind == "text":
            word.text = join_surrogates(word.text)


def _add(words: list[Word], match: re.Match[str], kind: str | None) -> int:
    """Add what the pattern found to the words. Returns where the next word begins."""
    source, start, end = match[0], match.start(), match.end()
    last = words[-1] if words else None
    match kind:
        case "word":  # most words are one
            words.append(Word("word", source, start, end))
        case "text" | "raw":
            said = source[2:-1] if kind == "raw" else _unquoted(source)
            if last is not None and last.kind == "text":
                last.text, last.end = last.text + said, end
            else:
                words.append(Word("text", said, start, end))
        case "bytes":
            words.append(Word("bytes", source[2:-1], start, end))
        case "name":
            words.append(Word("name", source[1:-1].replace("``", "`"), start, end))
        case "suffix" if match["suffix"] in "lLsSyY" and not match["number"].isdecimal():
            words.append(Word("sign", source, start, end))  # these suffixes are for whole numbers
        case "number" | "suffix" if not (source[0] == "." and _follows_name(last, start)):
            words.append(Word("number", match["number"], start, end, (match["suffix"] or "").upper()))
        case "number" | "suffix":  # a field whose name is a number: the parser says what is wrong with that
            words.append(Word("sign", ".", start, start + 1))
            return start + 1
        case "whole":
            words.append(Word("number", source, start, end))
        case _:
            words.append(Word("sign", source, start, end))
    return end


def _after_comment(text: str, start: int, language: Language) -> int:
    """Where a comment ends. Comments inside of it have ends of their own."""
    depth, place = 1, start + 2
    while depth:
        found = _COMMENT_END.search(text, place)
        if found is None:
            _never_closed("/*", start, language)
        depth += 1 if found[0] == "/*" else -1
        place = found.end()
    return place


def _never_closed(opener: str, place: int, language: Language) -> NoReturn:
    message = f"the {opener} at position {place + 1} of the {language.name} is never closed"
    raise language.error(message, position=place + 1)


def _follows_name(last: Word | None, start: int) -> bool:
    return last is not None and last.kind in {"word", "name"} and last.end == start


def _unquoted(source: str) -> str:
    r"""The text between quotes. `\%` and `\_` keep their backslash, for LIKE."""
    return _ESCAPE.sub(lambda match: _unescaped(match, source[0]), source[1:-1])


def _unescaped(match: re.Match[str], quote: str) -> str:
    if match["quotes"] is not None:
        return quote if match["quotes"] == quote + quote else match["quotes"]
    code = match["long"] or match["short"]
    if code is not None:
        return chr(int(code, 16)) if int(code, 16) <= sys.maxunicode else match[0]
    if match["octal"] is not None:
        return chr(int(match["octal"], 8))
    return _ESCAPED.get(match["other"], match["other"])
