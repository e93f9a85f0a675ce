"""A filter written in SQL becomes a predicate: `level = 'ERROR' AND day >= '2024-01-01'`.

The words are sqlglot's (its Spark dialect: quoting, escapes, numeric suffixes, comments). The grammar over them is our
own, because a filter is a small language and a wrong answer costs rows. sqlglot's parser gives up after some 40 nested
parentheses, depending on how deep its caller is, and its releases differ in what a node means (`NOT LIKE` is a flag on
the node in some), where a flag that is overlooked turns a filter into its opposite. Here every word is either
understood or an error with its position, and the depth is counted.

    or          and (OR and)*
    and         not (AND not)*
    not         NOT* comparison
    comparison  term | term op term | term [NOT] IN (…) | term [NOT] BETWEEN … | term [NOT] LIKE … | term IS [NOT] …
    term        column | literal | ( or )
"""

from __future__ import annotations

import difflib
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
    all_of,
    any_of,
)
from indextables.core.predicate.coerce import cast_literal, compare, compare_literals, like, member, to_float32
from indextables.core.sql_tokens import Word, split
from indextables.core.values import parse_number

MAX_DEPTH: Final = 64
SUPPORTED: Final = (
    "a filter compares columns with literals (=, <>, <, <=, >, >=, <=>, IN, BETWEEN, LIKE, IS NULL) "
    "and joins comparisons with AND, OR and NOT"
)
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
_NOT_A_NAME: Final = frozenset({"AND", "BETWEEN", "ILIKE", "IN", "IS", "LIKE", "NOT", "OR", "REGEXP", "RLIKE"})
_OTHER_OPERATORS: Final = frozenset(
    {"ILIKE", "REGEXP", "RLIKE", "COLLATE", "+", "-", "*", "/", "%", "||", "&", "|", "^", "::"}
)
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


_Term: TypeAlias = Column | _Value | Predicate


def parse_predicate(text: str, schema: pa.Schema) -> Predicate:
    """The predicate that a SQL text means for a table of this schema. PredicateError says what is wrong, and where."""
    return _Parser(split(text), schema).parse()


class _Parser:
    """One pass over the words, with a method per line of the grammar."""

    def __init__(self, words: list[Word], schema: pa.Schema) -> None:
        self._words = words
        self._schema = schema
        self._index = 0
        self._depth = 0

    def parse(self) -> Predicate:
        if self._at_end():
            raise PredicateError(f"the filter is empty: {SUPPORTED}")
        predicate = self._predicate(self._or())
        if not self._at_end():
            raise self._unexpected()
        return predicate

    def _at_end(self) -> bool:
        return self._word.kind == "end"

    @property
    def _word(self) -> Word:
        return self._words[self._index]

    def _next(self) -> Word:
        word = self._word
        if word.kind != "end":
            self._index += 1
        return word

    def _take(self, *keywords: str) -> bool:
        """Go past these words if they come next."""
        found = tuple(word.upper for word in self._words[self._index : self._index + len(keywords)])
        if found == keywords:
            self._index += len(keywords)
        return found == keywords

    def _expect(self, keyword: str) -> None:
        if not self._take(keyword):
            raise self._unexpected(f"expected {keyword}")

    def _unexpected(self, hint: str = SUPPORTED, word: Word | None = None) -> PredicateError:
        word = word or self._word
        if word.upper in _OTHER_OPERATORS:
            return self._unsupported(f"the operator {word.upper}", word)
        place = word.start + 1
        if word.kind == "end":
            return PredicateError(f"the filter ends too early, at position {place}: {hint}", position=place)
        return PredicateError(f"{word} at position {place} of the filter is not expected: {hint}", position=place)

    def _unsupported(self, what: str, word: Word) -> PredicateError:
        return PredicateError(
            f"{what} at position {word.start + 1} of the filter is not supported: {SUPPORTED}", position=word.start + 1
        )

    def _or(self) -> _Term:
        first = self._and()
        if self._word.upper != "OR":
            return first
        children = [self._predicate(first)]
        while self._take("OR"):
            children.append(self._predicate(self._and()))
        return any_of(children)

    def _and(self) -> _Term:
        first = self._not()
        if self._word.upper != "AND":
            return first
        children = [self._predicate(first)]
        while self._take("AND"):
            children.append(self._predicate(self._not()))
        return all_of(children)

    def _not(self) -> _Term:
        negations = 0
        while self._take("NOT") or self._take("!"):
            negations += 1
        term = self._comparison()
        if negations == 0:
            return term
        predicate = self._predicate(term)
        return Not(predicate) if negations % 2 else predicate

    def _predicate(self, term: _Term) -> Predicate:
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

    def _comparison(self) -> _Term:
        begin = self._word
        left = self._term()
        word = self._word
        if word.upper in _OPS:
            self._next()
            return self._compare(left, _OPS[word.upper], self._term(), word)
        if self._take("IS"):
            return self._is(left, begin)
        negated = word.upper == "NOT" and self._words[self._index + 1].upper in {"IN", "BETWEEN", "LIKE"}
        if negated:
            self._next()
        predicate: Predicate
        if self._take("IN"):
            predicate = self._in(self._column(left, "IN", begin))
        elif self._take("BETWEEN"):
            predicate = self._between(self._column(left, "BETWEEN", begin))
        elif self._take("LIKE"):
            predicate = self._like(self._column(left, "LIKE", begin))
        else:
            operator = self._words[self._index + 1] if word.upper == "NOT" else word
            if operator.upper in _OTHER_OPERATORS:
                raise self._unexpected(word=operator)
            return left
        return Not(predicate) if negated else predicate

    def _compare(self, left: _Term, op: Op, right: _Term, word: Word) -> Predicate:
        if isinstance(left, Column) and isinstance(right, _Value):
            return compare(left, op, right.value)
        if isinstance(left, _Value) and isinstance(right, Column):
            return compare(right, FLIPPED[op], left.value)
        if isinstance(left, _Value) and isinstance(right, _Value):
            return Constant(compare_literals(left.value, op, right.value))
        both = isinstance(left, Column) and isinstance(right, Column)
        what = f"comparing two columns ({left}, {right})" if both else f"comparing conditions with {word.text}"
        raise self._unsupported(what, word)

    def _column(self, term: _Term, operator: str, word: Word) -> Column:
        if not isinstance(term, Column):
            raise self._unsupported(f"{operator} on anything but a column", word)
        return term

    def _literal(self) -> Any:
        word = self._word
        term = self._term()
        if not isinstance(term, _Value):
            raise self._unsupported(f"{word} in place of a literal", word)
        return term.value

    def _is(self, left: _Term, begin: Word) -> Predicate:
        negated = self._take("NOT")
        predicate: Predicate
        if self._take("NULL"):
            if isinstance(left, _Value):
                return Constant((left.value is None) is not negated)
            column = self._column(left, "IS NULL", begin)
            return IsNotNull(column) if negated else IsNull(column)
        if self._take("DISTINCT", "FROM"):
            predicate = compare(self._column(left, "IS DISTINCT FROM", begin), "<=>", self._literal())
            return predicate if negated else Not(predicate)
        value = self._word.upper == "TRUE"
        if not self._take("TRUE") and not self._take("FALSE"):
            raise self._unexpected("expected NULL, TRUE, FALSE or DISTINCT FROM")
        column = self._column(left, "IS TRUE", begin)
        self._predicate(column)  # checks that the column is boolean
        predicate = Comparison("<=>", column, Literal(value, column.type))
        return Not(predicate) if negated else predicate

    def _in(self, column: Column) -> Predicate:
        self._expect("(")
        if self._word.upper in {"SELECT", "WITH"}:
            raise self._unsupported("a subquery", self._word)
        values = [self._literal()]
        while self._take(","):
            values.append(self._literal())
        self._expect(")")
        return member(column, values)

    def _between(self, column: Column) -> Predicate:
        low = self._literal()
        self._expect("AND")
        return all_of((compare(column, ">=", low), compare(column, "<=", self._literal())))

    def _like(self, column: Column) -> Predicate:
        word = self._word
        if word.upper in {"ANY", "ALL", "SOME"}:
            raise self._unsupported(f"LIKE {word.upper}", word)
        pattern = self._literal()
        escape = self._literal() if self._take("ESCAPE") else "\\"
        if pattern is None or escape is None:
            return Constant(None)
        if not isinstance(pattern, str) or not isinstance(escape, str):
            raise self._unexpected("LIKE needs a pattern between quotes", word)
        return like(column, pattern, escape)

    def _term(self) -> _Term:
        word = self._next()
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
        if word.upper == "(":
            return self._parentheses(word)
        if word.upper in {"+", "-"}:
            if self._word.kind != "number":
                raise self._unsupported("arithmetic", word)
            return _Value(self._number(self._next(), word.text))
        if word.kind == "sign" and word.text in "?:@$":
            raise self._unsupported("a parameter", word)
        raise self._unexpected("expected a column or a literal", word)

    def _parentheses(self, word: Word) -> _Term:
        if self._word.upper in {"SELECT", "WITH"}:
            raise self._unsupported("a subquery", word)
        self._deeper(word)
        term = self._or()
        self._expect(")")
        self._depth -= 1
        return term

    def _deeper(self, word: Word) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise PredicateError(
                f"the filter has more than {MAX_DEPTH} parentheses inside each other: write it flatter",
                position=word.start + 1,
            )

    def _bare(self, word: Word) -> _Term:
        if word.upper in {"TRUE", "FALSE"}:
            return _Value(word.upper == "TRUE")
        if word.upper == "NULL":
            return _Value(None)
        if word.upper in _TYPES and self._word.kind == "text":
            return _Value(cast_literal(self._next().text, _TYPES[word.upper]))
        if word.upper == "SELECT" or (word.upper in {"CASE", "INTERVAL"} and self._word.kind != "sign"):
            raise self._unsupported(word.upper, word)
        if self._word.upper == "(":
            if word.upper == "CAST":
                return self._cast()
            raise self._unsupported("EXISTS" if word.upper == "EXISTS" else f"the function {word.text}()", word)
        if word.upper in _NOT_A_NAME:
            raise self._unexpected("expected a column (between backticks if that is its name) or a literal", word)
        return self._path(word)

    def _cast(self) -> _Value:
        self._deeper(self._next())
        value = self._literal()
        self._expect("AS")
        word = self._next()
        arrow_type = _TYPES.get(word.upper)
        if arrow_type is None:
            raise self._unsupported(f"the type {word}", word)
        if pa.types.is_decimal(arrow_type) and self._take("("):
            arrow_type = self._decimal()
        self._expect(")")
        self._depth -= 1
        return _Value(None if value is None else cast_literal(value, arrow_type))

    def _decimal(self) -> pa.DataType:
        word = self._word
        precision = self._literal()
        scale = self._literal() if self._take(",") else 0
        self._expect(")")
        try:
            return pa.decimal128(int(precision), int(scale))
        except (TypeError, ValueError) as error:
            raise self._unexpected("expected a precision of at most 38 digits and a scale", word) from error

    def _number(self, word: Word, sign: str) -> Any:
        number = parse_number(sign + word.text)
        if number is None:
            raise self._unexpected("expected a number of at most 400 digits", word)
        return to_float32(number) if word.suffix == "F" else number

    def _bytes(self, word: Word) -> bytes:
        digits = word.text if len(word.text) % 2 == 0 else "0" + word.text
        try:
            return bytes.fromhex(digits)
        except ValueError as error:
            raise self._unexpected("expected hexadecimal digits", word) from error

    def _path(self, word: Word) -> Column:
        names = [word.text]
        while self._word.upper == ".":
            self._next()
            part = self._next()
            if part.kind not in {"word", "name"}:
                raise self._unexpected("expected the name of a field", part)
            names.append(part.text)
        if self._word.upper == "[":
            raise self._unsupported("an element of an array or a map", self._word)
        return resolve(names, self._schema, word)


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
