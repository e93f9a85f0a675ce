"""Schemas as people type them."""

from __future__ import annotations

import pyarrow as pa
import pytest

from indextables.core.errors import SchemaError
from indextables.core.schema_text import quoted, read_schema, schema_text, type_text
from indextables.core.types import arrow_to_spark_json

TYPES = (
    *("boolean", "byte", "short", "integer", "long", "float", "double", "decimal(5,2)", "decimal(38,0)", "string"),
    *("binary", "date", "timestamp", "timestamp_ntz", "array<long>", "map<string,array<date>>"),
    *("struct<a:long,`b c`:struct<d:string>>", "array<struct<x:double,y:map<long,string>>>"),
)


@pytest.mark.parametrize("text", TYPES)
def test_types_are_read_as_they_are_written(text: str) -> None:
    declared = read_schema(f"x {text}")
    assert type_text(declared.schema.field("x")) == text
    assert read_schema(arrow_to_spark_json(declared.schema)).schema.equals(declared.schema)


def test_columns() -> None:
    declared = read_schema(" ts  TIMESTAMP,`a ``b`` c`: text not null,n:bigint , t TEXT, d decimal ")
    assert declared.schema.names == ["ts", "a `b` c", "n", "t", "d"]
    assert declared.text == ("a `b` c", "t")
    assert [field.nullable for field in declared.schema] == [True, False, True, True, True]
    assert declared.schema.types[1:] == [pa.string(), pa.int64(), pa.string(), pa.decimal128(10, 0)]


def test_a_schema_is_written_as_it_is_read() -> None:
    text = "ts timestamp, `a b` text not null, n long, tags array<string>, `c``d` decimal(5,2) not null"
    declared = read_schema(text)
    assert schema_text(declared.schema, declared.text) == text
    assert schema_text(read_schema("a text").schema) == "a string"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "lacks a column at its end"),
        ("a", "lacks a type at its end"),
        ("a long b long", "lacks `,` at character 8"),
        ("a long,", "lacks a column at its end"),
        ("a lnog", "unknown type 'lnog'"),
        ("a array", "lacks `<` at its end"),
        ("a array<long", "lacks `>` at its end"),
        ("a map<long>", "lacks `,` at character 11"),
        ("a struct<b long, c>", "lacks a type at character 19"),
        ("a decimal(39,0)", r"decimal\(39,0\) is no type"),
        ("a decimal(2,3)", r"decimal\(2,3\) is no type"),
        ("a decimal(x)", "lacks a number of digits at character 11"),
        ("a long not nil", "lacks `not null` at character 12"),
        ("a long, A string", "column A twice"),
        ("a long, `b", "cannot be read at character 8"),
        ("a " + "array<" * 3000 + "long" + ">" * 3000, "nested deeper than 100 levels"),
    ],
)
def test_mistakes_are_explained(text: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        read_schema(text)


def test_names_are_quoted_where_they_must_be() -> None:
    assert [quoted(name) for name in ("a", "a b", "a`b", "é", "a,b")] == ["a", "`a b`", "`a``b`", "é", "`a,b`"]
