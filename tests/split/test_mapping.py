import pyarrow as pa
import pytest
import tantivy
from hypothesis import given
from hypothesis import strategies as st

from indextables.core.errors import OptionError, SplitError
from indextables.core.types import spark_json_to_arrow
from indextables.split.index.doc_mapping import TOKENIZERS, DocMapping, FieldMapping, field_name, plan_mapping

SCHEMA = pa.schema(
    [
        ("Id", pa.int64()),
        ("ts", pa.timestamp("us", "UTC")),
        ("message", pa.string()),
        ("level", pa.string()),
        ("day", pa.date32()),
        ("tags", pa.list_(pa.string())),
        ("user", pa.struct([("name", pa.string())])),
        ("price", pa.decimal128(10, 2)),
        ("ok", pa.bool_()),
        ("load", pa.float64()),
    ]
)


def planned(properties=None, schema=SCHEMA, partition_by=()):
    return plan_mapping(schema, partition_by, properties or {})


def spark_schema(spark, metadata="{}"):
    return spark_json_to_arrow(
        f'{{"type":"struct","fields":[{{"name":"c","type":{spark},"nullable":true,"metadata":{metadata}}}]}}'
    )


@pytest.mark.parametrize(
    ("spark", "kind", "many"),
    [
        ('"string"', "string", False),
        ('"varchar(10)"', "string", False),
        ('"char(3)"', "string", False),
        ('"byte"', "i64", False),
        ('"short"', "i64", False),
        ('"integer"', "i64", False),
        ('"long"', "i64", False),
        ('"date"', "i64", False),
        ('"timestamp"', "i64", False),
        ('"timestamp_ntz"', "i64", False),
        ('"timestamp_ltz(6)"', "i64", False),
        ('"boolean"', "bool", False),
        ('"float"', "f64", False),
        ('"double"', "f64", False),
        ('{"type":"array","elementType":"long","containsNull":true}', "i64", True),
        ('{"type":"array","elementType":"string","containsNull":false}', "string", True),
        ('{"type":"map","keyType":"string","valueType":"long","valueContainsNull":true}', "json", False),
        ('{"type":"struct","fields":[]}', "json", False),
        ('{"type":"array","elementType":{"type":"struct","fields":[]},"containsNull":true}', "json", True),
        ('"timestamp_ntz(9)"', None, False),
        ('"string collate UTF8_LCASE"', None, False),
        ('"decimal(10,2)"', None, False),
        ('"binary"', None, False),
        ('"variant"', None, False),
        ('"time(6)"', None, False),
        ('"interval month"', None, False),
        ('"interval day to second"', None, False),
        ('"void"', None, False),
        ('{"type":"array","elementType":"decimal(3,1)","containsNull":true}', None, False),
        (
            '{"type":"array","elementType":{"type":"array","elementType":"long","containsNull":true},"containsNull":true}',
            None,
            False,
        ),
    ],
)
def test_every_type_has_its_kind(spark, kind, many):
    field = planned(schema=spark_schema(spark)).field("c")
    assert (field and field.kind, bool(field and field.many)) == (kind, many)


def test_collated_strings_are_not_indexed():
    metadata = '{"__COLLATIONS":{"c":"icu.UNICODE_CI"}}'
    assert planned(schema=spark_schema('"string"', metadata)).fields == ()


def test_defaults_and_options():
    mapping = planned(
        {
            "spark.indextables.indexing.typemap.TEXT": "Message",
            "spark.indextables.indexing.tokenizer.german": "MESSAGE",
            "indexing.indexrecordoption.freq": "message",
            "spark.indextables.indexing.fastfields": "level, day",
            "spark.indextables.indexing.lookupfields": "ID,DAY",
            "spark.indextables.indexing.text.maxTokenLength": "40",
            "somebody.elses": "property",
        },
        partition_by=("day",),
    )
    assert mapping == DocMapping(
        (
            FieldMapping("Id", "i64", indexed=True, fast=True),
            FieldMapping("ts", "i64", fast=True),
            FieldMapping("message", "text", indexed=True, tokenizer="german", record="freq"),
            FieldMapping("level", "string", indexed=True, fast=True, tokenizer="raw", record="basic"),
            FieldMapping("tags", "string", indexed=True, many=True, tokenizer="raw", record="basic"),
            FieldMapping("user", "json", indexed=True, tokenizer="default", record="position"),
            FieldMapping("ok", "bool", fast=True),
            FieldMapping("load", "f64", fast=True),
        ),
        max_token_length=40,
    )


def test_a_string_can_be_anything_that_has_a_text():
    for kind in ("text", "string", "json", "ip"):
        mapping = planned({f"indexing.typemap.{kind}": "tags", "indexing.typemap.level": kind})
        assert mapping.field("tags").kind == mapping.field("level").kind == kind
        assert mapping.field("tags").many
        assert not mapping.field("level").many


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({"indexing.typemap.mesage": "text"}, ("indexing.typemap", "mesage", "did you mean message?")),
        ({"indexing.typemap.text": "id"}, ("column Id", "long", "text")),
        ({"indexing.typemap.user": "string"}, ("column user", "struct", "string")),
        ({"indexing.typemap.text": "day"}, ("column day", "partition column")),
        ({"indexing.typemap.text": "level", "indexing.typemap.level": "ip"}, ("column level", "text", "ip")),
        ({"indexing.typemap.level": "txt"}, ("indexing.typemap.level", "txt")),
        ({"indexing.tokenizer.germn": "message"}, ("indexing.tokenizer.germn", "did you mean german?")),
        ({"indexing.tokenizer.german": "message"}, ("column message", "string", "typemap.message=text")),
        ({"indexing.tokenizer.german": "id"}, ("column Id", "i64")),
        ({"indexing.tokenizer.german": "`level"}, ("indexing.tokenizer.german", "`level")),
        (
            {"indexing.typemap.text": "level", "indexing.tokenizer.raw": "level", "indexing.tokenizer.german": "level"},
            ("column level", "raw", "german"),
        ),
        ({"indexing.indexrecordoption.position": "load"}, ("column load", "f64")),
        ({"indexing.indexrecordoption.positions": "message"}, ("indexrecordoption.positions",)),
        ({"indexing.fastfields": "price"}, ("column price", "indexing.fastfields")),
        ({"indexing.fastfields": "levle"}, ("levle", "did you mean level?")),
        ({"indexing.lookupfields": "user"}, ("column user", "json")),
        ({"indexing.text.maxTokenLength": "70000"}, ("maxTokenLength", "70000")),
    ],
)
def test_what_cannot_be_done_is_said(properties, words):
    with pytest.raises(OptionError) as caught:
        planned(properties, partition_by=("day",))
    for word in words:
        assert word in caught.value.message


def test_the_text_of_a_mapping_is_the_same_for_ever():
    mapping = planned({"indexing.typemap.message": "text", "indexing.lookupfields": "id"}, SCHEMA)
    assert mapping.to_json() == (
        '{"format":1,"maxTokenLength":255,"fields":['
        '{"column":"Id","kind":"i64","indexed":true,"fast":true},'
        '{"column":"ts","kind":"i64","fast":true},'
        '{"column":"message","kind":"text","indexed":true,"tokenizer":"default","record":"position"},'
        '{"column":"level","kind":"string","indexed":true,"tokenizer":"raw","record":"basic"},'
        '{"column":"day","kind":"i64","fast":true},'
        '{"column":"tags","kind":"string","indexed":true,"many":true,"tokenizer":"raw","record":"basic"},'
        '{"column":"user","kind":"json","indexed":true,"tokenizer":"default","record":"position"},'
        '{"column":"ok","kind":"bool","fast":true},'
        '{"column":"load","kind":"f64","fast":true}]}'
    )
    assert DocMapping.from_json(mapping.to_json()) == mapping


@given(
    st.lists(st.text(min_size=1, max_size=5), unique=True, max_size=4),
    st.sampled_from(TOKENIZERS),
    st.integers(1, 65_530),
)
def test_mappings_survive_their_text(columns, tokenizer, length):
    fields = [FieldMapping(name, "text", indexed=True, tokenizer=tokenizer, record="freq") for name in columns]
    mapping = DocMapping(tuple(fields), length)
    assert DocMapping.from_json(mapping.to_json()) == mapping


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "[" * 100_000,
        '{"format":1,"fields":[]}',
        '{"format":1,"fields":[],"maxTokenLength":0}',
        '{"format":1,"fields":[],"maxTokenLength":true}',
        '{"format":1,"fields":[{"column":"a"}],"maxTokenLength":255}',
        '{"format":1,"fields":[{"column":"a","kind":"i32"}],"maxTokenLength":255}',
        '{"format":1,"fields":[{"column":"a","kind":"i64","fast":1}],"maxTokenLength":255}',
        '{"format":1,"fields":[{"column":"a","kind":"text"}],"maxTokenLength":255}',
        '{"format":1,"fields":[{"column":"a","kind":"i64","tokenizer":"raw","record":"basic"}],"maxTokenLength":255}',
        '{"format":1,"fields":[{"column":"a","kind":"text","tokenizer":"klingon","record":"basic"}],"maxTokenLength":255}',
        '{"format":1,"fields":[{"column":"a","kind":"i64","colour":"red"}],"maxTokenLength":255}',
        '{"doc_mapping_uid":"00000000000000000000000000","mode":"lenient","field_mappings":[]}',
        '{"format":2}',
    ],
)
def test_other_texts_are_refused(text):
    with pytest.raises(SplitError, match="doc mapping"):
        DocMapping.from_json(text)


def test_field_names():
    assert field_name("message") == "message"
    assert field_name("user.id") == "user$2eid"
    assert field_name("_row") == "$5frow"
    assert field_name("a_b") == "a_b"
    assert field_name("$2e") == "$242e"
    assert field_name("größe") == "gr$c3$b6$c3$9fe"


@given(st.text(min_size=1), st.text(min_size=1))
def test_field_names_are_valid_and_one_per_column(first, second):
    assert tantivy.SchemaBuilder.is_valid_field_name(field_name(first))
    assert "." not in field_name(first)
    assert not field_name(first).startswith("_")
    assert (field_name(first) == field_name(second)) == (first == second)
