"""Schemas as people type them: `ts timestamp, level string, message text, tags array<string> not null`.

Types have their names in Spark's SQL, and one more: `text` is a string that is indexed word by word. `Table.create` and the
command line take schemas in this form.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from indextables.core.errors import SchemaError
from indextables.core.types import spark_json_to_arrow, spark_type, validate_schema

_SYNONYMS: Final = {
    "bool": "boolean",
    "tinyint": "byte",
    "smallint": "short",
    "int": "integer",
    "bigint": "long",
    "real": "float",
    "dec": "decimal",
    "numeric": "decimal",
    "text": "string",
}
_NAMES: Final = (
    *("boolean", "byte", "short", "integer", "long", "float", "double", "decimal", "string"),
    *("binary", "date", "timestamp", "timestamp_ntz"),
)
_TOKEN: Final = re.compile(r"\s*(?:(`(?:[^`]|``)+`)|([^\s,:<>()`]+)|([,:<>()]))")
_DEEPEST: Final = 100
"""Levels of types inside types: parsing is recursive."""
_PLAIN: Final = re.compile(r"[^\s,:<>()`]+")


@dataclass(frozen=True)
class Declared:
    """Columns that somebody wrote down."""

    schema: pa.Schema
    text: tuple[str, ...] = ()
    """Those to be indexed word by word."""
    names: frozenset[str] = field(default_factory=frozenset)


def read_schema(given: str) -> Declared:
    """The schema that a text means: columns and their types, or Spark's JSON. Raises SchemaError."""
    text = given.strip()
    if text.startswith("{"):
        schema = spark_json_to_arrow(text)
        validate_schema(schema, ())
        return Declared(schema, (), frozenset(schema.names))
    fields, words = _Reader(text).columns()
    if len({f.name.lower() for f in fields}) < len(fields):
        twice = next(f.name for n, f in enumerate(fields) if f.name.lower() in {g.name.lower() for g in fields[:n]})
        raise SchemaError(f"the schema has column {twice} twice")
    validate_schema(pa.schema(fields), ())
    return Declared(pa.schema(fields), tuple(words), frozenset(f.name for f in fields))


class _Reader:
    """Reads tokens from the left. Every error says what was expected, and where."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[tuple[str, int, bool]] = []
        place = 0
        end = len(text.rstrip())
        while place < end:
            match = _TOKEN.match(text, place)
            if match is None:
                raise SchemaError(
                    f"the schema {text!r} cannot be read at character {place + 1}: {text[place:].strip()!r}"
                )
            quoted, word, mark = match.groups()
            token = quoted[1:-1].replace("``", "`") if quoted else word or mark
            self._tokens.append((token, match.start() + len(match.group()) - len(match.group().lstrip()), mark is None))
            place = match.end()
        self._next = 0
        self._depth = 0

    def columns(self) -> tuple[list[pa.Field], list[str]]:
        fields, words = [], []
        while True:
            name = self._name("a column")
            self._skip(":")
            if self._peek().lower() == "text":
                words.append(name)
            fields.append(self._typed(name))
            if self._next == len(self._tokens):
                return fields, words
            self._expect(",")

    def _typed(self, name: str) -> pa.Field:
        arrow = self._type()
        nullable = True
        if self._peek().lower() == "not":
            self._next += 1
            if self._name("null after not").lower() != "null":
                raise self._wrong("`not null`", back=1)
            nullable = False
        return pa.field(name, arrow, nullable)

    def _type(self) -> pa.DataType:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise SchemaError(f"the schema is nested deeper than {_DEEPEST} levels: write it flatter")
        found = self._one_type()
        self._depth -= 1
        return found

    def _one_type(self) -> pa.DataType:
        word = self._name("a type").lower()
        match _SYNONYMS.get(word, word):
            case "array":
                self._expect("<")
                element = pa.field("element", self._type())
                self._expect(">")
                return pa.list_(element)
            case "map":
                self._expect("<")
                key = self._type()
                self._expect(",")
                value = self._type()
                self._expect(">")
                return pa.map_(key, value)
            case "struct":
                return self._struct()
            case "decimal":
                return pa.decimal128(*self._digits())
            case known if known in _NAMES:
                return spark_json_to_arrow(
                    f'{{"type":"struct","fields":[{{"name":"x","type":"{known}","nullable":true,"metadata":{{}}}}]}}'
                ).types[0]
            case _:
                raise SchemaError(
                    f"the schema has the unknown type {word!r}; there are {', '.join((*_NAMES, 'text'))}, array<type>, "
                    "map<type,type> and struct<name:type>"
                )

    def _struct(self) -> pa.DataType:
        self._expect("<")
        fields = []
        while True:
            name = self._name("a field")
            self._skip(":")
            fields.append(self._typed(name))
            if not self._skip(","):
                self._expect(">")
                return pa.struct(fields)

    def _digits(self) -> tuple[int, int]:
        if not self._skip("("):
            return 10, 0
        precision = self._number()
        scale = self._number() if self._skip(",") else 0
        self._expect(")")
        if not (1 <= precision <= 38 and scale <= precision):
            raise SchemaError(
                f"decimal({precision},{scale}) is no type: it has 1 to 38 digits, and no more after the point"
            )
        return precision, scale

    def _number(self) -> int:
        text = self._name("a number of digits")
        if not text.isascii() or not text.isdigit() or len(text) > 3:
            raise self._wrong("a number of digits", back=1)
        return int(text)

    def _peek(self) -> str:
        return self._tokens[self._next][0] if self._next < len(self._tokens) else ""

    def _name(self, what: str) -> str:
        if self._next == len(self._tokens) or not self._tokens[self._next][2]:
            raise self._wrong(what)
        self._next += 1
        return self._tokens[self._next - 1][0]

    def _skip(self, mark: str) -> bool:
        found = (
            self._next < len(self._tokens) and self._tokens[self._next][0] == mark and not self._tokens[self._next][2]
        )
        self._next += found
        return found

    def _expect(self, mark: str) -> None:
        if not self._skip(mark):
            raise self._wrong(f"`{mark}`")

    def _wrong(self, expected: str, back: int = 0) -> SchemaError:
        place = self._next - back
        where = f"at character {self._tokens[place][1] + 1}" if place < len(self._tokens) else "at its end"
        return SchemaError(
            f"the schema {self._text!r} lacks {expected} {where}, write it like: ts timestamp, message text"
        )


def type_text(column: pa.Field) -> str:
    """A column's type in words of SQL."""
    try:
        return _sql(spark_type(column))
    except SchemaError:
        return str(column.type)


def schema_text(schema: pa.Schema, text: Collection[str] = ()) -> str:
    """A schema as `read_schema` takes it. The columns of `text` are those that are indexed word by word."""
    return ", ".join(
        f"{quoted(column.name)} {'text' if column.name in text else type_text(column)}{'' if column.nullable else ' not null'}"
        for column in schema
    )


def _sql(spark: Any) -> str:
    if isinstance(spark, str):
        return spark
    match spark["type"]:
        case "array":
            return f"array<{_sql(spark['elementType'])}>"
        case "map":
            return f"map<{_sql(spark['keyType'])},{_sql(spark['valueType'])}>"
        case "struct":
            return f"struct<{','.join(quoted(part['name']) + ':' + _sql(part['type']) for part in spark['fields'])}>"
        case kind:
            return str(kind)


def quoted(name: str) -> str:
    """A name as a schema has it."""
    return name if _PLAIN.fullmatch(name) else "`" + name.replace("`", "``") + "`"
