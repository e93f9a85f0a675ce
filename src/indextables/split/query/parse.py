"""Query text → tree.

    query   = clause+                                      side by side: any of them, unless signs say more
    clause  = and ("OR" and)*
    and     = signed ("AND" signed)*
    signed  = ["+" | "-" | "!" | "NOT"] primary ["^" number]
    primary = [field ":"] value | "*"
    value   = "(" query ")" | word | word "~" [0-2] | "phrase" ["~" slop] | pre* | w?ld*card | /regex/
            | "[" from "TO" to "]" | "{" … "}" | (">" | ">=" | "<" | "<=") word | "IN" "[" word* "]" | "*"

AND, OR, NOT, TO and IN are words of the language in capitals only. A backslash takes the meaning of the character after it away.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, NoReturn

from indextables.core.errors import QueryError
from indextables.split.query.tree import (
    All,
    And,
    Boost,
    Clauses,
    Exists,
    FieldName,
    Fuzzy,
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

LONGEST: Final = 10_000
"""Characters."""
DEEPEST: Final = 64
"""Parentheses, signs and boosts around each other."""

_BREAKS: Final = frozenset('()[]{}"^~')
_SIGNS: Final = frozenset("+-!")
_NUMBER: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?(?=[\s)]|$)")
_DIGITS: Final = re.compile(r"[0-9]{1,9}")
_HALF: Final = re.compile("[\ud800-\udfff]")
"""What Python makes of bytes that are no UTF-8."""
_MOST_DISTANCE: Final = 2
"""Letters that a similar word may be away: the most that Tantivy's automata support."""
_KEYWORDS: Final = ("AND", "OR", "NOT", "TO", "IN")


def parse_query(text: str, default: FieldName | None = None) -> Node:
    """The tree of a query. What names no field is asked of `default`. Raises QueryError with the position of what is wrong."""
    if not isinstance(text, str):
        raise QueryError(f"a query is text, such as 'error AND timeout', not {type(text).__name__}", position=0)
    if len(text) > LONGEST:
        raise QueryError(f"the query has {len(text):,} characters, at most {LONGEST:,} are allowed", position=LONGEST)
    parser = _Parser(text, default)
    half = _HALF.search(text)
    if half is not None:
        parser.fail("this is half a character and no text has it; the query was not UTF-8", half.start())
    node = parser.query(default, 0)
    if parser.at < len(text):
        parser.fail("there is nothing that this parenthesis closes")
    return node


class _Operand(NamedTuple):
    """A node, the sign in front of it (+, - or nothing), and where that stands."""

    sign: str
    node: Node
    start: int

    def applied(self) -> Node:
        return Not(self.node, Span(self.start, self.node.span.end)) if self.sign == "-" else self.node


@dataclass
class _Word:
    """A run of characters: its plain texts, with the signs `*` (None) and `?` (True) between them."""

    parts: list[str | bool | None]
    start: int
    end: int

    @property
    def is_plain(self) -> bool:
        return all(isinstance(part, str) for part in self.parts)

    @property
    def text(self) -> str:
        return "".join(part for part in self.parts if isinstance(part, str))


class _Parser:
    def __init__(self, text: str, default: FieldName | None) -> None:
        self._text = text
        self._default = default
        self.at = 0

    def fail(self, what: str, at: int | None = None) -> NoReturn:
        """Say what is wrong, and where."""
        at = self.at if at is None else at
        seen = self._text[at : at + 20]
        where = f"at {seen!r}" if seen else "at its end"
        raise QueryError(
            f"the query cannot be read, character {at + 1}, {where}: {what}", position=at, query=self._text
        )

    def query(self, field: FieldName | None, depth: int) -> Node:
        """Clauses, up to a closing parenthesis or the end."""
        if depth > DEEPEST:
            self.fail(f"more than {DEEPEST} levels of nesting")
        start = self._skip()
        items: list[_Operand] = []
        while not self._ended() and self._peek() != ")":
            items.append(self._or(field, depth))
            self._skip()
        if not items:
            self.fail("a word, a phrase or a field is expected; `*` finds everything")
        if len(items) == 1:
            return items[0].applied()
        by_sign = {sign: tuple(item.node for item in items if item.sign == sign) for sign in ("+", "", "-")}
        if not by_sign["+"] and not by_sign["-"]:
            return Or(by_sign[""], Span(start, self.at))
        return Clauses(by_sign["+"], by_sign[""], by_sign["-"], Span(start, self.at))

    def _or(self, field: FieldName | None, depth: int) -> _Operand:
        first = self._and(field, depth)
        found: list[Node] = []
        while self._joined("OR", "||"):
            found.append(self._and(field, depth).applied())
        if not found:
            return first
        found.insert(0, first.applied())
        return _Operand("", Or(tuple(found), Span(first.start, self.at)), first.start)

    def _and(self, field: FieldName | None, depth: int) -> _Operand:
        first = self._signed(field, depth)
        found: list[Node] = []
        while self._joined("AND", "&&"):
            found.append(self._signed(field, depth).applied())
        if not found:
            return first
        found.insert(0, first.applied())
        return _Operand("", And(tuple(found), Span(first.start, self.at)), first.start)

    def _joined(self, word: str, sign: str) -> bool:
        if not self._keyword(word, sign):
            return False
        self._skip()
        if self._ended() or self._peek() == ")":
            self.fail(f"{word} needs something after it")
        return True

    def _signed(self, field: FieldName | None, depth: int) -> _Operand:
        """An operand, and what stands in front of it. A second sign is applied to what follows it."""
        start = self._skip()
        sign = ""
        if not self._ended() and self._peek() in _SIGNS:
            sign = "+" if self._peek() == "+" else "-"
            self.at += 1
        elif self._keyword("NOT", None):
            sign = "-"
        if not sign:
            return _Operand("", self._boosted(field, depth), start)
        if depth >= DEEPEST:
            self.fail(f"more than {DEEPEST} levels of nesting")
        self._skip()
        if self._ended() or self._peek() == ")":
            self.fail("a sign needs something after it", start)
        return _Operand(sign, self._signed(field, depth + 1).applied(), start)

    def _boosted(self, field: FieldName | None, depth: int) -> Node:
        start = self._skip()
        node = self._primary(field, depth)
        if self._ended() or self._peek() != "^":
            return node
        self.at += 1
        found = _NUMBER.match(self._text, self.at)
        if found is None:
            self.fail("a boost is a number, such as ^2 or ^0.5")
        factor = float(found.group())
        if factor > 1e6:
            self.fail("a boost is at most 1000000")
        self.at = found.end()
        return Boost(node, factor, Span(start, self.at))

    def _primary(self, field: FieldName | None, depth: int) -> Node:
        for word in _KEYWORDS:
            if word != "IN" and self._is_keyword(word):
                self.fail(f'{word} stands where a word is expected; write "{word}" or \\{word} to search for it')
        named = self._field_name()
        if named is not None:
            if field is not self._default:
                assert field is not None, "without a default, what has no field has None"
                self.fail(f"field {named.name} is named inside the parentheses of field {field.name}", named.span.start)
            self._skip()
            return self._value(named, depth, own=True)
        return self._value(field, depth, own=False)

    def _field_name(self) -> FieldName | None:
        """`name:`, where it stands here."""
        start = self.at
        if not self._ended() and self._peek() == "`":
            end = self._text.find("`", start + 1)
            if end < 0:
                self.fail("this backtick has no partner")
            if self._text[end + 1 : end + 2] != ":":
                self.fail("a name in backticks is a field, and a colon follows it")
            self.at = end + 2
            return FieldName(self._text[start + 1 : end], Span(start, end + 1))
        if self._ended() or self._peek() in "/*?'<>" or self._peek() in _BREAKS:
            return None
        word = self._word(":")
        if not self._ended() and self._peek() == ":" and word.is_plain and word.text:
            self.at += 1
            return FieldName(word.text, Span(start, word.end))
        self.at = start
        return None

    def _value(self, field: FieldName | None, depth: int, *, own: bool) -> Node:
        if self._ended() or self._peek() == ")":
            self.fail("a value is expected after the colon" if own else "a word is expected")
        start, letter = self.at, self._peek()
        if field is self._default and self._text.startswith("*:*", start):
            self.at += 3
            return All(Span(start, self.at))
        match letter:
            case "(":
                self.at += 1
                node = self.query(field, depth + 1)
                if self._ended():
                    self.fail("this parenthesis is not closed", start)
                self.at += 1
                return replace(node, span=Span(start, self.at))
            case '"' | "'":
                return self._phrase(field)
            case "/":
                return self._regex(field)
            case "[" | "{":
                return self._range(self._needed(field, start))
            case "<" | ">":
                return self._comparison(self._needed(field, start))
            case "*" if self._stands_alone():
                self.at += 1
                span = Span(start, self.at)
                return All(span) if field is None else Exists(field, span)
        if self._is_keyword("IN"):
            return self._one_of(self._needed(field, start))
        return self._term(field, own=own)

    def _needed(self, field: FieldName | None, at: int) -> FieldName:
        if field is None:
            self.fail("a range or a list of values needs a field, such as size:[1 TO 5]", at)
        return field

    def _term(self, field: FieldName | None, *, own: bool) -> Node:
        start = self.at
        word = self._word("" if own or field is not self._default else ":")
        if word.end == start:
            self.fail("this sign has no meaning here; write \\ before it to search for it")
        if not self._ended() and self._peek() == ":":
            self.fail("this is no field name; write \\: to search for a colon")
        if not self._ended() and self._peek() == "~":
            if not word.is_plain:
                self.fail("a wildcard cannot be fuzzy, too")
            self.at += 1
            distance = self._whole(1)
            if distance > _MOST_DISTANCE:
                self.fail(f"a distance is at most {_MOST_DISTANCE}", word.end + 1)
            return Fuzzy(field, word.text, distance, Span(start, self.at))
        if word.is_plain:
            return Term(field, word.text, Span(start, word.end))
        return Wildcard(field, tuple(word.parts), Span(start, word.end))

    def _phrase(self, field: FieldName | None) -> Node:
        start = self.at
        text = self._quoted()
        slop = 0
        if not self._ended() and self._peek() == "~":
            self.at += 1
            slop = self._whole(None)
        return Phrase(field, text, slop, Span(start, self.at))

    def _regex(self, field: FieldName | None) -> Node:
        start = self.at
        self.at += 1
        pattern: list[str] = []
        while not self._ended() and self._peek() != "/":
            if self._text.startswith("\\/", self.at):
                self.at += 1
            elif self._peek() == "\\":
                pattern.append("\\")
                self.at += 1
                if self._ended():
                    break
            pattern.append(self._peek())
            self.at += 1
        if self._ended():
            self.fail("this / begins a regular expression that has no end; write \\/ to search for it", start)
        self.at += 1
        return Regex(field, "".join(pattern), Span(start, self.at))

    def _range(self, field: FieldName) -> Node:
        start = self.at
        with_low = self._peek() == "["
        self.at += 1
        low = self._bound("TO")
        self._skip()
        if not self._keyword("TO", None):
            self.fail("TO is expected between the bounds of a range")
        high = self._bound("]}")
        self._skip()
        if self._ended() or self._peek() not in "]}":
            self.fail("a range ends with ] or }", start if self._ended() else None)
        with_high = self._peek() == "]"
        self.at += 1
        return Range(field, low, high, with_low, with_high, Span(start, self.at))

    def _bound(self, before: str) -> str | None:
        self._skip()
        if self._ended() or self._peek() in "]}" or self._is_keyword("TO"):
            self.fail(
                f"a bound is expected before {' or '.join(before) if before != 'TO' else before}; `*` is no bound"
            )
        if self._peek() == "*" and self._stands_alone():
            self.at += 1
            return None
        return self._plain()

    def _comparison(self, field: FieldName) -> Node:
        start, sign = self.at, self._peek()
        self.at += 1
        equal = not self._ended() and self._peek() == "="
        self.at += equal
        self._skip()
        if self._ended() or self._peek() == ")":
            self.fail("a value is expected after the comparison")
        value = self._plain()
        span = Span(start, self.at)
        if sign == ">":
            return Range(field, value, None, with_low=equal, span=span)
        return Range(field, None, value, with_high=equal, span=span)

    def _one_of(self, field: FieldName) -> Node:
        start = self.at
        self.at += len("IN")
        self._skip()
        if self._ended() or self._peek() != "[":
            self.fail("a list in brackets is expected after IN, such as IN [a b]")
        opened = self.at
        self.at += 1
        values: list[str] = []
        self._skip()
        while not self._ended() and self._peek() != "]":
            values.append(self._plain())
            self._skip()
        if self._ended():
            self.fail("this list is not closed", opened)
        self.at += 1
        return OneOf(field, tuple(values), Span(start, self.at))

    def _plain(self) -> str:
        """A word or a quoted text, without wildcards."""
        if self._peek() in "\"'":
            return self._quoted()
        word = self._word("")
        if word.end == word.start:
            self.fail("a value is expected; write \\ before a sign that belongs to it")
        if not word.is_plain:
            self.fail("a wildcard cannot be a bound or a value; write \\ before it", word.start)
        return word.text

    def _quoted(self) -> str:
        start, quote = self.at, self._peek()
        self.at += 1
        letters: list[str] = []
        while not self._ended() and self._peek() != quote:
            if self._peek() == "\\":
                self.at += 1
                if self._ended():
                    break
            letters.append(self._peek())
            self.at += 1
        if self._ended():
            self.fail("this quote is not closed", start)
        self.at += 1
        return "".join(letters)

    def _word(self, ends: str) -> _Word:
        """Characters up to a blank, a sign of the language, or one of `ends`."""
        start = self.at
        parts: list[str | bool | None] = []
        letters: list[str] = []
        while not self._ended():
            letter = self._peek()
            if letter.isspace() or letter in _BREAKS or letter in ends:
                break
            self.at += 1
            if letter == "\\":
                if self._ended():
                    self.fail("a backslash needs a character after it", self.at - 1)
                letters.append(self._peek())
                self.at += 1
            elif letter in "*?":
                parts += ["".join(letters)] if letters else []
                letters = []
                sign = True if letter == "?" else None
                if sign is True or not parts or parts[-1] is not None:
                    parts.append(sign)
            else:
                letters.append(letter)
        if letters or not parts:
            parts.append("".join(letters))
        return _Word(parts, start, self.at)

    def _whole(self, default: int | None) -> int:
        found = _DIGITS.match(self._text, self.at)
        if found is None:
            if default is None:
                self.fail("a whole number is expected after ~")
            return default
        self.at = found.end()
        return int(found.group())

    def _keyword(self, word: str, sign: str | None) -> bool:
        """Step over a word of the language, or its sign, if that is next."""
        start = self.at
        self._skip()
        if self._is_keyword(word):
            self.at += len(word)
            return True
        if sign is not None and self._text.startswith(sign, self.at):
            self.at += len(sign)
            return True
        self.at = start
        return False

    def _is_keyword(self, word: str) -> bool:
        """Whether the word stands here by itself. `AND(` is one, `ANDROID` and `AND:` are not."""
        if not self._text.startswith(word, self.at):
            return False
        after = self._text[self.at + len(word) : self.at + len(word) + 1]
        if word == "IN":
            return self._text[self.at + 2 :].lstrip().startswith("[")
        return not after or after.isspace() or after in '()"[{'

    def _stands_alone(self) -> bool:
        after = self._text[self.at + 1 : self.at + 2]
        return not after or after.isspace() or after in ")^]}"

    def _skip(self) -> int:
        while self.at < len(self._text) and self._text[self.at].isspace():
            self.at += 1
        return self.at

    def _peek(self) -> str:
        return self._text[self.at]

    def _ended(self) -> bool:
        return self.at >= len(self._text)
