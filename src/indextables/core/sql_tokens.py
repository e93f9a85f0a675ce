"""The words of a filter, from sqlglot's tokens of its Spark dialect.

Three things are put together that sqlglot keeps apart: a number and its suffix (`5L`), a number that begins with a
point (`.5`), and texts that follow each other. Spark 4 reads `'it''s'` as `it's` and `'a' 'b'` as `ab`. What stands
between quotes is read here, by Spark's rules, because releases of sqlglot differ in the escapes they know.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import Any, Final
from typing import Literal as OneOf

from indextables.core.errors import PredicateError
from indextables.core.java_text import join_surrogates

MAX_LENGTH: Final = 1_000_000
"""Characters of a filter: a longer text would take seconds to split into words."""
_GUESSES: Final = 100
"""The last quotes and comments of a text that are tried as the one that is never closed: each try splits the text again."""
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

    @property
    def upper(self) -> str:
        """The bare word or sign in upper case; nothing for names and literals, which are never keywords."""
        return self.text.upper() if self.kind in {"word", "sign"} else ""

    def __str__(self) -> str:
        return repr(self.text)


def split(text: str) -> list[Word]:
    """The words of a filter, ended by one of kind `end`."""
    if len(text) > MAX_LENGTH:
        raise PredicateError(
            f"the filter has {len(text):,} characters, at most {MAX_LENGTH:,} are possible: use several filters",
            length=len(text),
        )
    words: list[Word] = []
    tokens = iter(_tokens(text))
    for token in tokens:
        kind = token.token_type.name
        start, end = token.start, token.end + 1
        source = text[start:end]
        last = words[-1] if words else Word("end", "", -1, -1)
        if kind == "DCOLON" and last.kind == "number" and (start, end) == (last.start, last.end):
            last.suffix = next(tokens).text.upper()
        elif (
            kind == "NUMBER"
            and last.kind == "sign"
            and last.text == "."
            and last.end == start
            and not _qualified(words)
        ):
            words[-1] = Word("number", "." + token.text, last.start, end)
        elif kind == "STRING" and last.kind == "text":
            quote = source[0] if last.end == start else ""
            last.text, last.end = last.text + quote + _unquoted(source), end
        elif kind == "STRING":
            words.append(Word("text", _unquoted(source), start, end))
        elif kind == "RAW_STRING":
            words.append(Word("text", source[2:-1], start, end))
        elif kind == "NUMBER":
            words.append(Word("number", token.text, start, end))
        elif kind == "HEX_STRING" and source[0] in "xX":
            words.append(Word("bytes", token.text, start, end))
        elif kind == "IDENTIFIER":
            words.append(Word("name", source[1:-1].replace("``", "`"), start, end))
        else:
            words.append(Word("word" if source[0] == "_" or source[0].isalnum() else "sign", source, start, end))
    for word in words:
        if word.kind == "text":
            word.text = join_surrogates(word.text)
    return [*words, Word("end", "", len(text), len(text))]


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


def _qualified(words: list[Word]) -> bool:
    return len(words) > 1 and words[-2].kind in {"word", "name"} and words[-2].end == words[-1].start


def _tokens(text: str) -> list[Any]:
    tokens = _try_tokens(text)
    if tokens is None:
        place = _unclosed(text)
        opener = "/*" if text.startswith("/*", place) else text[place : place + 1]
        problem = "cannot be read" if opener in text[place + len(opener) :] else "is never closed"
        raise PredicateError(f"the {opener} at position {place + 1} of the filter {problem}", position=place + 1)
    return tokens


def _try_tokens(text: str) -> list[Any] | None:
    from sqlglot import Dialect  # takes a fifth of a second, so only filters that are texts pay for it
    from sqlglot.errors import TokenError

    try:
        return Dialect.get_or_raise("spark").tokenize(text)
    except TokenError:
        return None


def _unclosed(text: str) -> int:
    """Where the quote or comment begins that has no end: the last one before which everything is complete."""
    openers = [i for i, character in enumerate(text) if character in "'\"`" or text.startswith("/*", i)]
    tried = openers[-_GUESSES:]
    return next((place for place in reversed(tried) if _try_tokens(text[:place]) is not None), tried[0] if tried else 0)
