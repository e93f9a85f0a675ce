"""`StatementCursor`: the words of a statement, read one after another, and the values that stand between its keywords."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from indextables.core.errors import PredicateError, StatementError
from indextables.core.options.kinds import BYTES
from indextables.core.predicate import check_syntax
from indextables.core.sql_tokens import Language, Word, WordCursor
from indextables.sql.commands import Segment, Where
from indextables.sql.table_ref import TableName, TablePath, TableRef

STATEMENT: Final = Language("statement", StatementError, "use several statements")
"""The language of this package, for the tokenizer's messages."""
TABLE_WORDS: Final = frozenset({"INDEXTABLES", "INDEXTABLE", "INDEXFILES", "TANTIVY4SPARK"})
"""Keywords that mean the same in every statement. The grammar writes the first of them."""
SYNONYMS: Final = {**dict.fromkeys(TABLE_WORDS, "INDEXTABLES"), "DESC": "DESCRIBE"}
"""Keywords that are typed for another keyword."""
_A_TABLE: Final = "a table: a path between quotes, or a name"
_NOT_A_TABLE: Final = frozenset({"WHERE", "FROM", "TO", "FOR", "ON", "WITH"})
"""Keywords that are no table unless they stand in backquotes: whoever writes one there forgot the table."""
_HOURS: Final = {"DAY": 24, "DAYS": 24, "HOUR": 1, "HOURS": 1}
_SEGMENTS: Final[dict[str, Segment]] = {
    "TERM_DICT": "TERM_DICT",
    "TERM": "TERM_DICT",
    "POSTINGS": "POSTINGS",
    "POSTING_LISTS": "POSTINGS",
    "FAST_FIELD": "FAST_FIELD",
    "FASTFIELD": "FAST_FIELD",
    "FIELD_NORM": "FIELD_NORM",
    "FIELDNORM": "FIELD_NORM",
    "POSITIONS": "POSITIONS",
    "POSITION_LISTS": "POSITIONS",
    "DOC_STORE": "DOC_STORE",
    "STORE": "DOC_STORE",
}
"""Every name of a part of a split, and its first name."""
_OPEN_OPERAND: Final = frozenset(
    {
        *("AND", "OR", "NOT", "IN", "IS", "LIKE", "ILIKE", "RLIKE", "BETWEEN", "ESCAPE", "FROM", "DISTINCT", "AS"),
        *("INDEXQUERY", "TEXTSEARCH", "FIELDMATCH"),
        *("(", ",", ".", "=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>", "+", "-", "*", "/", "%", "!"),
    }
)
"""Words after which a condition goes on: a keyword of the statement that follows one of them is a column's name."""
_MOST_DIGITS: Final = 18
"""Digits of a whole number: all such numbers fit into 64 bits."""
_LONGEST_QUOTE: Final = 60
"""Characters of a word that a message quotes: about half a line."""
Value = TypeVar("Value")


class StatementCursor(WordCursor):
    """A place in the words of one statement. Every method that reads a value raises StatementError for any other word."""

    def __init__(self, text: str, words: Sequence[Word]) -> None:
        super().__init__(words)
        self._text = text
        self.clause_starts: tuple[tuple[str, ...], ...] = ()
        """The keywords that may follow a condition."""

    @property
    def keyword(self) -> str:
        """The next word in upper case, or the keyword that it is a synonym of."""
        return SYNONYMS.get(self.word.upper, self.word.upper)

    def starts_clause(self, least: int = 1) -> bool:
        """Whether all keywords of a clause come next. Clauses with fewer than `least` keywords do not count."""
        place, first = self._index, self.word.upper
        for start in self.clause_starts:
            if start[0] == first and len(start) >= least:
                said = tuple(word.upper for word in self._words[place : place + len(start)])
                if said == start:
                    return True
        return False

    def expected(self, *what: str) -> StatementError:
        """The error for the next word, which is none of those that may stand there."""
        word, place = self.word, self.word.start + 1
        listed = what[0] if len(what) == 1 else f"{', '.join(what[:-1])} or {what[-1]}"
        if word.kind == "end":
            message = f"the statement ends too early, at position {place}: expected {listed}"
        else:
            source = self._text[word.start : word.end]
            shown = source if len(source) <= _LONGEST_QUOTE else f"{source[:_LONGEST_QUOTE]}…"
            message = f"{shown} at position {place} of the statement is not expected: expected {listed}"
        return StatementError(" ".join(message.split()), position=place, expected=what)

    def need(self, keyword: str) -> None:
        """Go past a word that must come next."""
        if not self.take(keyword):
            raise self.expected(keyword)

    def table(self) -> TableRef:
        """A quoted path, a path in backquotes, or a name with dots."""
        word = self.word
        forgotten = word.kind == "word" and (word.upper in _NOT_A_TABLE or self.starts_clause(least=2))
        if forgotten or word.kind not in {"text", "name", "word"} or not word.text:
            raise self.expected(_A_TABLE)
        self.next()
        if word.kind == "text":
            return TablePath(word.text)
        words = [word]
        while self.take("."):
            if self.word.kind not in {"name", "word"} or not self.word.text:
                raise self.expected("a name")
            words.append(self.next())
        return _table_of(words)

    def text(self, what: str) -> str:
        """A text between quotes. `what` says in an error what the text is."""
        if self.word.kind != "text" or not self.word.text:
            raise self.expected(f"{what} between quotes")
        return self.next().text

    def path(self) -> str:
        """A path or URL between quotes or backquotes."""
        if self.word.kind not in {"text", "name"} or not self.word.text:
            raise self.expected("a path between quotes")
        return self.next().text

    def whole(self, what: str = "a whole number", least: int = 0) -> int:
        """A whole number that is not less than `least`."""
        word = self.word
        digits = word.text if word.kind == "number" and word.suffix in {"", "L"} else ""
        known = digits.isdecimal() and digits.isascii() and len(digits) <= _MOST_DIGITS
        if not known or int(digits) < least:
            raise self.expected(f"{what}, {least} or more")
        self.next()
        return int(digits)

    def size(self) -> int:
        """Bytes: a whole number, perhaps with a unit, with quotes or without."""
        word, unit = self.word, ""
        if word.kind not in {"number", "word", "text"}:
            raise self.expected("a size such as 100M or 1G")
        if word.kind == "number" and self.following.kind == "word" and not self._at_clause(self._index + 1):
            unit = self.following.text
        try:
            size = BYTES.parse(word.text + word.suffix.replace("L", "") + unit)
        except ValueError:
            size = 0
        if not 0 < size < 1 << 63:
            raise self.expected("a size such as 100M or 1G")
        self.next()
        if unit:
            self.next()
        return size

    def _at_clause(self, place: int) -> bool:
        return any(self._words[place].upper == start[0] for start in self.clause_starts)

    def hours(self) -> int:
        """A number of days or hours, in hours."""
        number = self.whole("a whole number of days or hours")
        if self.word.upper not in _HOURS:
            raise self.expected("DAYS", "HOURS")
        return number * _HOURS[self.next().upper]

    def where(self) -> Where:
        """A condition, up to the next clause or the end: its text. The syntax of the condition is checked."""
        start = self._index
        depth = 0
        while not self.at_end():
            word = self.word
            if depth == 0 and self._index > start and self.starts_clause() and self._operand_ended():
                break
            depth += {"(": 1, ")": -1}.get(word.upper, 0)
            self.next()
        words = self._words[start : self._index]
        if not words:
            raise self.expected("a condition such as day = '2026-01-31'")
        first, last = words[0].start, words[-1].end
        try:
            check_syntax([*words, Word("end", "", last, last)])
        except PredicateError as error:
            raise StatementError(
                error.message.replace("the filter", "the statement"), position=error.details.get("position", first + 1)
            ) from error
        return Where(self._text[first:last], first + 1)

    def _operand_ended(self) -> bool:
        return self._words[self._index - 1].upper not in _OPEN_OPERAND

    def listed(self, one: Callable[[], Value]) -> tuple[Value, ...]:
        """Values with commas between them, in parentheses."""
        self.need("(")
        values = [one()]
        while self.take(","):
            values.append(one())
        if not self.take(")"):
            raise self.expected(",", ")")
        return tuple(values)

    def name(self) -> str:
        """A name with dots, or a text between quotes."""
        if self.word.kind not in {"text", "name", "word"} or not self.word.text:
            raise self.expected("a name")
        name = self.next()
        parts = [name.text]
        while name.kind != "text" and self.take("."):
            if self.word.kind not in {"name", "word"}:
                raise self.expected("a name")
            parts.append(self.next().text)
        return ".".join(parts)

    def segment(self) -> Segment:
        """A part of a split, by any of its names."""
        known = _SEGMENTS.get(self.word.text.upper()) if self.word.kind in {"word", "text"} else None
        if known is None:
            raise self.expected(*dict.fromkeys(_SEGMENTS.values()))
        self.next()
        return known

    def property(self) -> tuple[str, str]:
        """`name = value`. A value is a text, a number or a word."""
        name = self.name()
        self.need("=")
        sign = "-" if self.take("-") else ""
        word = self.word
        if word.kind not in ({"number"} if sign else {"text", "number", "word"}):
            raise self.expected("a number" if sign else "a value")
        self.next()
        return name, word.text if word.kind == "text" else sign + self._text[word.start : word.end]


def _table_of(words: list[Word]) -> TableRef:
    """A path in backquotes, alone or after the name of the format, or else a name."""
    last = words[-1]
    is_path = last.kind == "name" and ("/" in last.text or ":" in last.text)
    if is_path and (len(words) == 1 or (len(words) == 2 and words[0].upper in TABLE_WORDS)):
        return TablePath(last.text)
    return TableName(tuple(word.text for word in words))
