"""A filter written in SQL becomes a predicate: `level = 'ERROR' AND day >= '2024-01-01'`.

The words are Spark's (`sql_tokens`: quoting, escapes, numeric suffixes, comments). The grammar over them is our own, because a
filter is a small language and a wrong answer costs rows: parsers of all of SQL give up after some 40 nested parentheses, and
their releases differ in what a node means, where a flag that is overlooked turns a filter into its opposite. Here every word is
either understood or an error with its position, and the depth is counted.

    or          and (OR and)*
    and         not (AND not)*
    not         NOT* comparison
    comparison  term | term op term | term [NOT] IN (…) | term [NOT] BETWEEN … | term [NOT] LIKE … | term IS [NOT] …
              | column [NOT] search 'text'
    term        column | literal | ( or ) | search(column, 'text') | INDEXQUERYALL('text')
    search      INDEXQUERY | TEXTSEARCH | FIELDMATCH

The words of searches are words of the grammar only where nothing else can stand, so that columns may have these names.
What the text of a search means is for the table to say: the text is kept as it is, with its position.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import pyarrow as pa

from indextables.core.errors import PredicateError
from indextables.core.predicate.ast import (
    FLIPPED,
    Column,
    Comparison,
    Constant,
    IsNotNull,
    IsNull,
    Literal,
    Not,
    Op,
    Predicate,
    Search,
    SearchOp,
    all_of,
    any_of,
)
from indextables.core.predicate.coerce import cast_literal, compare, compare_literals, like, member, to_float32
from indextables.core.predicate.cursor import OTHER_OPERATORS, SUPPORTED, Cursor, unsupported
from indextables.core.sql_tokens import Word, split
from indextables.core.values import parse_number

MAX_DEPTH: Final = 64
"""Parentheses and NOTs that a filter may have inside each other: the parser calls itself for each of them."""
_OPS: Final[dict[str, Op]] = {
    "=": "=",
    "==": "=",
    "<>": "<>",
    "!=": "<>",
    "<": "<",
    "<=": "<=",
    ">": ">",
    ">=": ">=",
    "<=>": "<=>",
}
_SEARCHES: Final[dict[str, SearchOp]] = {
    "INDEXQUERY": "INDEXQUERY",
    "TEXTSEARCH": "TEXTSEARCH",
    "FIELDMATCH": "FIELDMATCH",
}
_ALL_COLUMNS: Final = "_indexall"
"""What stands in place of a column for all searchable columns."""
_NOT_A_NAME: Final = frozenset({"AND", "BETWEEN", "ILIKE", "IN", "IS", "LIKE", "NOT", "OR", "REGEXP", "RLIKE"})
_NEGATABLE: Final = frozenset({"IN", "BETWEEN", "LIKE", *_SEARCHES})
_TYPES: Final[dict[str, pa.DataType]] = {
    "BOOLEAN": pa.bool_(),
    **dict.fromkeys(("TINYINT", "BYTE"), pa.int8()),
    **dict.fromkeys(("SMALLINT", "SHORT"), pa.int16()),
    **dict.fromkeys(("INT", "INTEGER"), pa.int32()),
    **dict.fromkeys(("BIGINT", "LONG"), pa.int64()),
    **dict.fromkeys(("FLOAT", "REAL"), pa.float32()),
    "DOUBLE": pa.float64(),
    **dict.fromkeys(("DECIMAL", "DEC", "NUMERIC"), pa.decimal128(10, 0)),
    "STRING": pa.string(),
    "DATE": pa.date32(),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_LTZ"), pa.timestamp("us", "UTC")),
    "TIMESTAMP_NTZ": pa.timestamp("us"),
}


@dataclass(frozen=True, slots=True)
class _Value:
    """A literal on its way to a column: its Python value (None is NULL)."""

    value: Any


Term: TypeAlias = Column | _Value | Predicate
"""What stands on one side of an operator."""


def parse_predicate(text: str, schema: pa.Schema) -> Predicate:
    """The predicate that a SQL text means for a table of this schema. PredicateError says what is wrong, and where."""
    return PredicateParser(split(text), schema).parse()


class PredicateParser(Cursor):
    """Reads the words of a filter in one pass, with a method for each line of the grammar."""

    def __init__(self, words: list[Word], schema: pa.Schema) -> None:
        super().__init__(words)
        self._schema = schema
        self._depth = 0

    def parse(self) -> Predicate:
        """The whole filter."""
        if self.at_end():
            raise PredicateError(f"the filter is empty: {SUPPORTED}")
        predicate = self._predicate(self._or())
        if not self.at_end():
            raise self.unexpected()
        return predicate

    def _or(self) -> Term:
        first = self._and()
        if self.word.upper != "OR":
            return first
        children = [self._predicate(first)]
        while self.take("OR"):
            children.append(self._predicate(self._and()))
        return any_of(children)

    def _and(self) -> Term:
        first = self._not()
        if self.word.upper != "AND":
            return first
        children = [self._predicate(first)]
        while self.take("AND"):
            children.append(self._predicate(self._not()))
        return all_of(children)

    def _not(self) -> Term:
        negations = 0
        while self.take("NOT") or self.take("!"):
            negations += 1
        term = self._comparison()
        if negations == 0:
            return term
        predicate = self._predicate(term)
        return Not(predicate) if negations % 2 else predicate

    def _predicate(self, term: Term) -> Predicate:
        """A term where something true or false is needed: a boolean column stands for `column = TRUE`."""
        if isinstance(term, Column):
            if not pa.types.is_boolean(term.type):
                raise PredicateError(
                    f"column {term} of type {term.type} is not a condition: compare it with a literal", column=str(term)
                )
            return Comparison("=", term, Literal(True, term.type))
        if isinstance(term, _Value):
            if term.value is not None and not isinstance(term.value, bool):
                raise PredicateError(f"the literal {term.value!r} is not a condition: compare it with a column")
            return Constant(term.value)
        return term

    def _comparison(self) -> Term:
        begin = self.word
        left = self._term()
        word = self.word
        if word.upper in _OPS:
            self.next()
            return self._compare(left, _OPS[word.upper], self._term(), word)
        if self.take("IS"):
            return self._is(left, begin)
        negated = word.upper == "NOT" and self.following.upper in _NEGATABLE
        if negated:
            self.next()
        predicate: Predicate
        if self.take("IN"):
            predicate = self._in(self._column(left, "IN", begin))
        elif self.take("BETWEEN"):
            predicate = self._between(self._column(left, "BETWEEN", begin))
        elif self.take("LIKE"):
            predicate = self._like(self._column(left, "LIKE", begin))
        elif self.word.upper in _SEARCHES:
            operator = _SEARCHES[self.next().upper]
            predicate = self._search(self._column(left, operator, begin), operator)
        else:
            following = self.following if word.upper == "NOT" else word
            if following.upper in OTHER_OPERATORS:
                raise self.unexpected(word=following)
            return left
        return Not(predicate) if negated else predicate

    def _compare(self, left: Term, op: Op, right: Term, word: Word) -> Predicate:
        if isinstance(left, Column) and isinstance(right, _Value):
            return self._leaf(compare, left, op, right.value)
        if isinstance(left, _Value) and isinstance(right, Column):
            return self._leaf(compare, right, FLIPPED[op], left.value)
        if isinstance(left, _Value) and isinstance(right, _Value):
            return Constant(compare_literals(left.value, op, right.value))
        both = isinstance(left, Column) and isinstance(right, Column)
        what = f"comparing two columns ({left}, {right})" if both else f"comparing conditions with {word.text}"
        raise unsupported(what, word)

    def _column(self, term: Term, operator: str, word: Word) -> Column:
        if not isinstance(term, Column):
            raise unsupported(f"{operator} on anything but a column", word)
        return term

    def _literal(self) -> Any:
        word = self.word
        term = self._term()
        if not isinstance(term, _Value):
            raise unsupported(f"{word} in place of a literal", word)
        return term.value

    def _is(self, left: Term, begin: Word) -> Predicate:
        negated = self.take("NOT")
        predicate: Predicate
        if self.take("NULL"):
            if isinstance(left, _Value):
                return Constant((left.value is None) is not negated)
            column = self._column(left, "IS NULL", begin)
            return IsNotNull(column) if negated else IsNull(column)
        if self.take("DISTINCT", "FROM"):
            column = self._column(left, "IS DISTINCT FROM", begin)
            predicate = self._leaf(compare, column, "<=>", self._literal())
            return predicate if negated else Not(predicate)
        value = self.word.upper == "TRUE"
        if not self.take("TRUE") and not self.take("FALSE"):
            raise self.unexpected("expected NULL, TRUE, FALSE or DISTINCT FROM")
        column = self._column(left, "IS TRUE", begin)
        self._predicate(column)  # checks that the column is boolean
        predicate = Comparison("<=>", column, Literal(value, column.type))
        return Not(predicate) if negated else predicate

    def _in(self, column: Column) -> Predicate:
        self.expect("(")
        if self.word.upper in {"SELECT", "WITH"}:
            raise unsupported("a subquery", self.word)
        values = [self._literal()]
        while self.take(","):
            values.append(self._literal())
        self.expect(")")
        return self._leaf(member, column, values)

    def _between(self, column: Column) -> Predicate:
        low = self._literal()
        self.expect("AND")
        return all_of((self._leaf(compare, column, ">=", low), self._leaf(compare, column, "<=", self._literal())))

    def _like(self, column: Column) -> Predicate:
        word = self.word
        if word.upper in {"ANY", "ALL", "SOME"}:
            raise unsupported(f"LIKE {word.upper}", word)
        pattern = self._literal()
        escape = self._literal() if self.take("ESCAPE") else "\\"
        if pattern is None or escape is None:
            return Constant(None)
        if not isinstance(pattern, str) or not isinstance(escape, str):
            raise self.unexpected("LIKE needs a pattern between quotes", word)
        return self._leaf(like, column, pattern, escape)

    def _search(self, column: Column | None, operator: SearchOp) -> Predicate:
        """The text of a search. As with LIKE, a text that is NULL is true for no row."""
        word = self.word
        text = self._literal()
        if text is None:
            return Constant(None)
        if not isinstance(text, str):
            raise self.unexpected(f"{operator} needs the text of a query between quotes", word)
        return Search(column, text, operator, word.start + 1)

    def _search_call(self, word: Word) -> Predicate:
        """`indexquery(column, 'text')`, or `indexqueryall('text')`, from the parenthesis on."""
        self.expect("(")
        column, operator = None, _SEARCHES.get(word.upper, "INDEXQUERY")
        if word.upper in _SEARCHES:
            begin = self.word
            column = self._column(self._term(), f"{word.upper}()", begin)
            self.expect(",")
        predicate = self._search(column, operator)
        self.expect(")")
        return predicate

    def _search_of_all(self, word: Word) -> Predicate:
        """`_indexall INDEXQUERY 'text'`, from the operator on."""
        if any(name.lower() == _ALL_COLUMNS for name in self._schema.names):
            raise PredicateError(
                f"{word} at position {word.start + 1} of the filter may be the table's column or all columns: "
                f"write `{word.text}` between backticks for the column, INDEXQUERYALL('…') for all",
                position=word.start + 1,
            )
        negated = self.take("NOT")
        operator = self.next()
        if operator.upper == "FIELDMATCH":
            raise PredicateError(
                f"FIELDMATCH at position {operator.start + 1} of the filter compares one column, and {word} is all: "
                "name the column, or write INDEXQUERYALL('…') to search the words of all",
                position=operator.start + 1,
            )
        predicate = self._search(None, "INDEXQUERY")
        return Not(predicate) if negated else predicate

    def _is_search_of_all(self, word: Word) -> bool:
        ahead = self.following if self.word.upper == "NOT" else self.word
        return word.text.lower() == _ALL_COLUMNS and ahead.upper in _SEARCHES

    def _term(self) -> Term:
        word = self.next()
        match word.kind:
            case "text":
                return _Value(word.text)
            case "bytes":
                return _Value(self._bytes(word))
            case "number":
                return _Value(self._number(word, ""))
            case "name":
                return self._path(word)
            case "word":
                return self._bare(word)
            case "sign" | "end":
                return self._signed(word)

    def _signed(self, word: Word) -> Term:
        if word.upper == "(":
            return self._parentheses(word)
        if word.upper in {"+", "-"}:
            if self.word.kind != "number":
                raise unsupported("arithmetic", word)
            return _Value(self._number(self.next(), word.text))
        if word.kind == "sign" and word.text in "?:@$":
            raise unsupported("a parameter", word)
        raise self.unexpected("expected a column or a literal", word)

    def _parentheses(self, word: Word) -> Term:
        if self.word.upper in {"SELECT", "WITH"}:
            raise unsupported("a subquery", word)
        self._deeper(word)
        term = self._or()
        self.expect(")")
        self._depth -= 1
        return term

    def _deeper(self, word: Word) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise PredicateError(
                f"the filter has more than {MAX_DEPTH} parentheses inside each other: write it flatter",
                position=word.start + 1,
            )

    def _bare(self, word: Word) -> Term:
        if word.upper in {"TRUE", "FALSE"}:
            return _Value(word.upper == "TRUE")
        if word.upper == "NULL":
            return _Value(None)
        if word.upper in _TYPES and self.word.kind == "text":
            return _Value(cast_literal(self.next().text, _TYPES[word.upper]))
        if word.upper == "SELECT" or (word.upper in {"CASE", "INTERVAL"} and self.word.kind != "sign"):
            raise unsupported(word.upper, word)
        if self.word.upper == "(":
            if word.upper == "CAST":
                return self._cast()
            if word.upper in _SEARCHES or word.upper == "INDEXQUERYALL":
                return self._search_call(word)
            raise unsupported("EXISTS" if word.upper == "EXISTS" else f"the function {word.text}()", word)
        if self._is_search_of_all(word):
            return self._search_of_all(word)
        if word.upper in _NOT_A_NAME:
            raise self.unexpected("expected a column (between backticks if that is its name) or a literal", word)
        return self._path(word)

    def _cast(self) -> _Value:
        self._deeper(self.next())
        value = self._literal()
        self.expect("AS")
        word = self.next()
        arrow_type = _TYPES.get(word.upper)
        if arrow_type is None:
            raise unsupported(f"the type {word}", word)
        if pa.types.is_decimal(arrow_type) and self.take("("):
            arrow_type = self._decimal()
        self.expect(")")
        self._depth -= 1
        return _Value(None if value is None else cast_literal(value, arrow_type))

    def _decimal(self) -> pa.DataType:
        word = self.word
        precision = self._literal()
        scale = self._literal() if self.take(",") else 0
        self.expect(")")
        try:
            return pa.decimal128(int(precision), int(scale))
        except (TypeError, ValueError) as error:
            raise self.unexpected("expected a precision of at most 38 digits and a scale", word) from error

    def _number(self, word: Word, sign: str) -> Any:
        number = parse_number(sign + word.text)
        if number is None:
            raise self.unexpected("expected a number of at most 400 digits", word)
        return to_float32(number) if word.suffix == "F" else number

    def _bytes(self, word: Word) -> bytes:
        digits = word.text if len(word.text) % 2 == 0 else "0" + word.text
        try:
            return bytes.fromhex(digits)
        except ValueError as error:
            raise self.unexpected("expected hexadecimal digits", word) from error

    def _path(self, word: Word) -> Column:
        names = [word.text]
        while self.word.upper == ".":
            self.next()
            part = self.next()
            if part.kind not in {"word", "name"}:
                raise self.unexpected("expected the name of a field", part)
            names.append(part.text)
        if self.word.upper == "[":
            raise unsupported("an element of an array or a map", self.word)
        return self._named(names, word)

    def _named(self, names: list[str], word: Word) -> Column:
        """The column of a name."""
        return resolve(names, self._schema, word)

    def _leaf(self, make: Callable[..., Predicate], column: Column, *arguments: Any) -> Predicate:
        """The condition on a column that `make` makes of literals."""
        return make(column, *arguments)


def resolve(names: list[str], schema: pa.Schema, word: Word) -> Column:
    """The column, or the field inside a struct, that names stand for; letter case does not matter where that is clear."""
    path: list[str] = []
    fields: list[pa.Field] = list(schema)
    arrow_type: pa.DataType = None
    for name in names:
        field = _find(name, fields)
        if field is None:
            raise _unknown(".".join(names), [".".join((*path, field.name)) for field in fields], word)
        path.append(field.name)
        arrow_type = field.type
        fields = list(arrow_type.fields) if pa.types.is_struct(arrow_type) else []
    return Column(tuple(path), arrow_type)


def _find(name: str, fields: list[pa.Field]) -> pa.Field | None:
    exact = [field for field in fields if field.name == name]
    found = exact or [field for field in fields if field.name.lower() == name.lower()]
    if len(found) > 1:
        names = ", ".join(field.name for field in found)
        raise PredicateError(f"the column {name} is ambiguous: the table has {names}, write one of them", column=name)
    return found[0] if found else None


def _unknown(name: str, known: list[str], word: Word) -> PredicateError:
    lower = {candidate.lower(): candidate for candidate in known}
    near = difflib.get_close_matches(name.lower(), lower, n=1, cutoff=0.5)
    nearest = lower[near[0]] if near else ""
    quoted = f"`{nearest}`" if nearest == name else nearest  # a name with a point in it
    hint = f"did you mean {quoted}?" if near else f"there are {', '.join(known[:20]) or 'no fields'}"
    return PredicateError(
        f"unknown column {name} at position {word.start + 1} of the filter, {hint}",
        column=name,
        position=word.start + 1,
        nearest=nearest or None,
    )
