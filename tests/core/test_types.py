"""Spark JSON schemas ⇄ Arrow schemas. The texts and the Arrow types are those of Spark 4.3."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from effort import examples
from indextables.core.errors import SchemaError
from indextables.core.types import arrow_to_spark_json, spark_json_to_arrow, spark_type, validate_schema


def dump(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def schema_of(spark: Any, *, nullable: bool = True, metadata: str = "{}") -> str:
    flag = "true" if nullable else "false"
    return f'{{"type":"struct","fields":[{{"name":"a","type":{dump(spark)},"nullable":{flag},"metadata":{metadata}}}]}}'


UTC = pa.timestamp("us", "UTC")
VARIANT = pa.struct([pa.field("value", pa.binary(), False), pa.field("metadata", pa.binary(), False)])
GEO = pa.struct([pa.field("srid", pa.int32(), False), pa.field("wkb", pa.binary(), False)])
DAY_TIME = [
    "day",
    "day to hour",
    "day to minute",
    "day to second",
    "hour",
    "hour to minute",
    "hour to second",
    "minute",
    "minute to second",
    "second",
]
SCALARS: dict[str, pa.DataType] = {
    "void": pa.null(),
    "null": pa.null(),
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "decimal": pa.decimal128(10, 0),
    "decimal(10,2)": pa.decimal128(10, 2),
    "decimal(38,38)": pa.decimal128(38, 38),
    "decimal( 5 , 2 )": pa.decimal128(5, 2),
    "decimal(5,-2)": pa.decimal128(5, -2),
    "string": pa.string(),
    "string collate UNICODE_CI": pa.string(),
    "char(5)": pa.string(),
    "varchar(7)": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": UTC,
    "timestamp_ltz": UTC,
    "timestamp_ltz(3)": UTC,
    "timestamp_ltz(9)": pa.timestamp("ns", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "timestamp_ntz(0)": pa.timestamp("us"),
    "timestamp_ntz(7)": pa.timestamp("ns"),
    "time": pa.time64("ns"),
    "time(0)": pa.time64("ns"),
    "time(6)": pa.time64("ns"),
    "time(9)": pa.time64("ns"),
    "interval year": pa.int32(),
    "interval month": pa.int32(),
    "interval year to month": pa.int32(),
    **{f"interval {fields}": pa.duration("us") for fields in DAY_TIME},
    "interval": pa.month_day_nano_interval(),
    "calendar interval": pa.month_day_nano_interval(),
    "variant": VARIANT,
    "geometry(OGC:CRS84)": GEO,
    "geometry(SRID:ANY)": GEO,
    "geography(OGC:CRS84, SPHERICAL)": GEO,
}


@pytest.mark.parametrize(("name", "arrow"), SCALARS.items())
def test_scalar_types_go_to_arrow_and_back(name: str, arrow: pa.DataType) -> None:
    text = schema_of(name)
    schema = spark_json_to_arrow(text)
    assert schema.field("a").type == arrow
    assert arrow_to_spark_json(schema) == text
    assert spark_type(schema.field("a")) == name


NESTED = [
    {"type": "array", "elementType": "string", "containsNull": True},
    {"type": "array", "elementType": "varchar(3)", "containsNull": False},
    {"type": "map", "keyType": "string", "valueType": "integer", "valueContainsNull": True},
    {"type": "map", "keyType": "char(3)", "valueType": "interval year", "valueContainsNull": False},
    {"type": "struct", "fields": []},
    {
        "type": "struct",
        "fields": [
            {"name": "x", "type": "integer", "nullable": True, "metadata": {}},
            {"name": "y z", "type": "string", "nullable": False, "metadata": {"comment": 'hé "q"'}},
        ],
    },
    {
        "type": "array",
        "elementType": {
            "type": "struct",
            "fields": [
                {
                    "name": "x",
                    "type": {
                        "type": "map",
                        "keyType": "timestamp",
                        "valueType": {"type": "array", "elementType": "variant", "containsNull": False},
                        "valueContainsNull": False,
                    },
                    "nullable": False,
                    "metadata": {"__CHAR_VARCHAR_TYPE_STRING": "map<timestamp,varchar(3)>"},
                }
            ],
        },
        "containsNull": True,
    },
    {
        "type": "udt",
        "class": "org.apache.spark.ml.linalg.VectorUDT",
        "pyClass": "pyspark.ml.linalg.VectorUDT",
        "sqlType": {
            "type": "struct",
            "fields": [
                {"name": "type", "type": "byte", "nullable": False, "metadata": {}},
                {
                    "name": "values",
                    "type": {"type": "array", "elementType": "double", "containsNull": False},
                    "nullable": True,
                    "metadata": {},
                },
            ],
        },
    },
    {
        "type": "array",
        "elementType": {"type": "udt", "class": "X", "pyClass": None, "sqlType": "long"},
        "containsNull": True,
    },
]


@pytest.mark.parametrize("spark", NESTED, ids=lambda spark: spark["type"])
@pytest.mark.parametrize("nullable", [True, False])
def test_nested_types_go_to_arrow_and_back(spark: Any, nullable: bool) -> None:
    text = schema_of(spark, nullable=nullable)
    schema = spark_json_to_arrow(text)
    assert schema.field("a").nullable is nullable
    assert arrow_to_spark_json(schema) == text


def test_the_arrow_form_of_nested_types() -> None:
    schema = spark_json_to_arrow(schema_of(NESTED[6]))
    inner = pa.map_(UTC, pa.field("value", pa.list_(pa.field("element", VARIANT, False)), False))
    assert schema.field("a").type == pa.list_(pa.field("element", pa.struct([pa.field("x", inner, False)])))
    assert spark_json_to_arrow(schema_of(NESTED[7])).field("a").type == pa.struct(
        [pa.field("type", pa.int8(), False), pa.field("values", pa.list_(pa.field("element", pa.float64(), False)))]
    )


def test_voids_that_are_not_nullable() -> None:
    text = schema_of(
        {"type": "map", "keyType": "void", "valueType": "void", "valueContainsNull": False}, nullable=False
    )
    schema = spark_json_to_arrow(text)
    assert schema.field("a").type == pa.map_(pa.bool_(), pa.field("value", pa.bool_(), False))
    assert arrow_to_spark_json(schema) == text
    plain = schema_of("void", nullable=False)
    assert arrow_to_spark_json(spark_json_to_arrow(plain)) == plain


def test_nothing_is_kept_that_arrow_can_say_itself() -> None:
    text = schema_of({"type": "map", "keyType": "string", "valueType": "variant", "valueContainsNull": True})
    assert spark_json_to_arrow(text).field("a").metadata is None


@pytest.mark.parametrize(
    "metadata",
    [
        '{"comment":"a \\"b\\" \\\\ / é \\u001F \\n"}',
        '{"__COLLATIONS":{"a":"icu.UNICODE_CI"}}',
        '{"__CHAR_VARCHAR_TYPE_STRING":"varchar(10)"}',
        '{"z":1,"a":[1.0E10,-0.5,12345678901234567890,true,null,{"b":{}}]}',
        '{"lone":"\\ud83d"}',
    ],
)
def test_field_metadata_is_kept_as_it_was_written(metadata: str) -> None:
    text = schema_of("string", metadata=metadata)
    expected = text.replace("\\ud83d", "\ud83d")
    assert arrow_to_spark_json(spark_json_to_arrow(text)) == expected


def test_a_schema_written_by_pyspark_comes_back_in_the_order_of_spark() -> None:
    python = (
        '{"fields":[{"metadata":{},"name":"a","nullable":true,'
        '"type":{"containsNull":true,"elementType":"string","type":"array"}}],"type":"struct"}'
    )
    assert arrow_to_spark_json(spark_json_to_arrow(python)) == schema_of(NESTED[0])


def test_what_is_left_out_is_nullable_and_without_metadata() -> None:
    text = '{"type":"struct","fields":[{"name":"a","type":{"type":"array","elementType":"string"}}]}'
    assert arrow_to_spark_json(spark_json_to_arrow(text)) == schema_of(NESTED[0])


names = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
json_scalars = st.none() | st.booleans() | st.integers() | names
json_values = json_scalars | st.lists(json_scalars, max_size=2) | st.dictionaries(names, json_scalars, max_size=2)


def structs(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    field = st.builds(
        lambda name, spark, nullable, metadata: {
            "name": name,
            "type": spark,
            "nullable": nullable,
            "metadata": metadata,
        },
        names,
        inner,
        st.booleans(),
        st.dictionaries(names, json_values, max_size=1),
    )
    return st.lists(field, max_size=3).map(lambda fields: {"type": "struct", "fields": fields})


types = st.recursive(
    st.sampled_from(sorted(SCALARS)),
    lambda inner: (
        st.builds(lambda e, n: {"type": "array", "elementType": e, "containsNull": n}, inner, st.booleans())
        | st.builds(
            lambda k, v, n: {"type": "map", "keyType": k, "valueType": v, "valueContainsNull": n},
            inner,
            inner,
            st.booleans(),
        )
        | st.builds(lambda t: {"type": "udt", "class": "C", "pyClass": None, "sqlType": t}, inner)
        | structs(inner)
    ),
    max_leaves=5,
)


@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(structs(types))
def test_every_schema_goes_to_arrow_and_back(schema: Any) -> None:
    back = arrow_to_spark_json(spark_json_to_arrow(dump(schema)))
    assert json.loads(back) == schema
    assert arrow_to_spark_json(spark_json_to_arrow(back)) == back
    assert dump(json.loads(back)) == dump(schema)


FOREIGN: list[tuple[pa.DataType, Any]] = [
    (pa.large_string(), "string"),
    (pa.string_view(), "string"),
    (pa.dictionary(pa.int8(), pa.large_string()), "string"),
    (pa.run_end_encoded(pa.int32(), pa.int64()), "long"),
    (pa.large_binary(), "binary"),
    (pa.binary_view(), "binary"),
    (pa.binary(16), "binary"),
    (pa.uint8(), "short"),
    (pa.uint16(), "integer"),
    (pa.uint32(), "long"),
    (pa.uint64(), "decimal(20,0)"),
    (pa.float16(), "float"),
    (pa.decimal32(5, 2), "decimal(5,2)"),
    (pa.decimal64(15, 3), "decimal(15,3)"),
    (pa.decimal256(38, 10), "decimal(38,10)"),
    (pa.decimal128(5, -2), "decimal(7,0)"),
    (pa.date64(), "date"),
    (pa.timestamp("s"), "timestamp_ntz"),
    (pa.timestamp("ns"), "timestamp_ntz"),
    (pa.timestamp("ms", "Europe/Berlin"), "timestamp"),
    (pa.timestamp("ns", "+02:00"), "timestamp"),
    (pa.time32("s"), "time(6)"),
    (pa.time64("us"), "time(6)"),
    (pa.duration("ns"), "interval day to second"),
    (pa.uuid(), "binary"),
    (pa.json_(), "string"),
    (
        VARIANT,
        {
            "type": "struct",
            "fields": [
                {"name": "value", "type": "binary", "nullable": False, "metadata": {}},
                {"name": "metadata", "type": "binary", "nullable": False, "metadata": {}},
            ],
        },
    ),
    (pa.large_list(pa.int8()), {"type": "array", "elementType": "byte", "containsNull": True}),
    (pa.list_(pa.field("item", pa.int8(), False), 3), {"type": "array", "elementType": "byte", "containsNull": False}),
    (pa.list_view(pa.uint8()), {"type": "array", "elementType": "short", "containsNull": True}),
    (pa.large_list_view(pa.string_view()), {"type": "array", "elementType": "string", "containsNull": True}),
]


@pytest.mark.parametrize(("arrow", "spark"), FOREIGN, ids=[str(arrow) for arrow, _ in FOREIGN])
def test_arrow_types_that_spark_lacks_become_the_nearest_one(arrow: pa.DataType, spark: Any) -> None:
    assert spark_type(pa.field("a", arrow)) == spark
    assert json.loads(arrow_to_spark_json(pa.schema([pa.field("a", arrow)])))["fields"][0]["type"] == spark


@pytest.mark.parametrize(
    ("arrow", "message"),
    [
        (pa.decimal256(40, 2), "column a has the Arrow type decimal256(40, 2), which no Spark type can hold: cast it"),
        (pa.decimal128(5, 7), "column a has the Arrow type decimal128(5, 7), which no Spark type can hold: cast it"),
        (pa.decimal128(37, -2), "cast it to a decimal of at most 38 digits"),
        (pa.dense_union([pa.field("x", pa.int8())]), "leave it out or split it"),
        (pa.list_(pa.struct([pa.field("u", pa.sparse_union([pa.field("x", pa.int8())]))])), "column a.element.u has"),
    ],
)
def test_arrow_types_that_no_spark_type_can_hold(arrow: pa.DataType, message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        arrow_to_spark_json(pa.schema([pa.field("a", arrow)]))
    assert message in str(caught.value)


def test_metadata_of_pyspark_and_of_others() -> None:
    pyspark = pa.field("a", pa.string(), metadata={b"SPARK::metadata::json": b'{"comment": "c"}', b"other": b"x"})
    assert arrow_to_spark_json(pa.schema([pyspark])) == schema_of("string", metadata='{"comment":"c"}')
    broken = pa.field("a", pa.string(), metadata={b"spark_metadata": b"{", b"spark_type": b'"nonsense"'})
    assert arrow_to_spark_json(pa.schema([broken])) == schema_of("string")


def test_a_kept_type_is_dropped_when_the_column_was_cast() -> None:
    months = spark_json_to_arrow(schema_of("interval year")).field("a")
    assert spark_type(months.with_type(pa.string())) == "string"
    assert spark_type(months.with_type(pa.int64())) == "long"
    text = spark_json_to_arrow(schema_of("varchar(5)")).field("a")
    assert spark_type(text.with_type(pa.large_string())) == "varchar(5)"


def nested(depth: int) -> str:
    return schema_of("string").replace('"string"', '{"type":"array","elementType":' * depth + '"string"' + "}" * depth)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the schema is not JSON ("),
        ("{", "the schema is not JSON ("),
        ('{"type":"struct","fields":[NaN]}', "the schema is not JSON (NaN is no JSON number"),
        ('"string"', "the schema is not a struct"),
        ("[]", "the schema is not a struct"),
        ('{"type":"struct"}', "the schema has a struct without a list of fields"),
        ('{"type":"struct","fields":[{"name":"a"}]}', "column a has no type"),
        ('{"type":"struct","fields":[{"type":"string"}]}', "column [0] has a field without a name"),
        ('{"type":"struct","fields":["a"]}', "column [0] has a field without a name"),
        ('{"type":"struct","fields":[{"name":"\\ud800","type":"string"}]}', "a name that is not valid Unicode"),
        (schema_of("bigint"), "column a has the unknown type 'bigint'"),
        (schema_of("STRING"), "column a has the unknown type 'STRING'"),
        (schema_of("interval hour to day"), "column a has the unknown type 'interval hour to day'"),
        (schema_of("time(10)"), "column a has the unknown type 'time(10)'"),
        (schema_of("decimal(39,0)"), "a decimal has 1 to 38 digits"),
        (schema_of("decimal(5,7)"), "a decimal has 1 to 38 digits"),
        (schema_of(5), "column a has the unknown type 5"),
        (schema_of({"type": "list"}), 'column a has the unknown type {"type":"list"}'),
        (schema_of({"type": "array"}), "column a has the type array without elementType"),
        (schema_of({"type": "map", "keyType": "string"}), "column a has the type map without valueType"),
        (schema_of({"type": "array", "elementType": "x"}), "column a.element has the unknown type 'x'"),
        (schema_of({"type": "struct", "fields": [{"name": "b", "type": "x"}]}), "column a.b has the unknown type 'x'"),
        (schema_of("string", metadata="5"), "column a has metadata that is not an object"),
        (schema_of("string").replace("true", '"yes"'), 'column a has nullable "yes", expected true or false'),
        (nested(120), "nested deeper than 100 levels"),
        (nested(5000), "nested deeper than 100 levels"),
        (schema_of("string", metadata='{"a":' * 900 + "1" + "}" * 900), "nested deeper than 100 levels"),
        (schema_of("long").replace('"long"', '{"type":"udt","sqlType":' * 300 + '"long"' + "}" * 300), "nested deeper"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_malformed_schemas_name_the_place(text: str, message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        spark_json_to_arrow(text)
    assert message in str(caught.value)


def test_nesting_up_to_the_limit() -> None:
    assert arrow_to_spark_json(spark_json_to_arrow(nested(60))).count("elementType") == 60


def fields(**columns: pa.DataType) -> pa.Schema:
    return pa.schema(list(columns.items()))


def test_valid_schemas() -> None:
    validate_schema(fields(a=pa.int64()), ())
    validate_schema(fields(a=pa.int64(), b=pa.string()), ["b"])
    everything = fields(
        x=VARIANT,
        a=pa.bool_(),
        b=pa.int8(),
        c=pa.float64(),
        d=pa.decimal128(5, 2),
        e=pa.string(),
        f=pa.date32(),
        g=UTC,
        h=pa.timestamp("us"),
        i=pa.dictionary(pa.int8(), pa.string()),
    )
    validate_schema(everything, [name for name in everything.names if name != "x"])


@pytest.mark.parametrize(
    ("schema", "partition_by", "message"),
    [
        (pa.schema([]), (), "the schema has no columns, a table needs at least one"),
        (pa.schema([("", pa.int8())]), (), "the schema has a field without a name"),
        (pa.schema([("a", pa.int8()), ("a", pa.int8())]), (), "column a exists twice, rename one of them"),
        (fields(a=pa.int8(), A=pa.int8()), (), "columns a and A differ only in letter case, rename one of them"),
        (
            fields(s=pa.list_(pa.struct([("x", pa.int8()), ("x", pa.int8())]))),
            (),
            "column s.element.x exists twice, rename one of them",
        ),
        (
            fields(s=pa.map_(pa.string(), pa.struct([("x", pa.int8()), ("X", pa.int8())]))),
            (),
            "columns s.value.x and s.value.X differ only in letter case",
        ),
        (fields(s=pa.struct([("", pa.int8())])), (), "column s has a field without a name"),
        (fields(a=pa.int8(), date=pa.date32()), ["Date"], "partition column Date does not exist, did you mean date?"),
        (fields(a=pa.int8(), b=pa.int8()), ["zzzz"], "partition column zzzz does not exist, the columns are a, b"),
        (fields(a=pa.int8(), b=pa.int8()), ["b", "b"], "partition column b is listed twice"),
        (fields(a=pa.int8(), b=pa.int8()), "ab", "partition_by is the text 'ab', expected a list of columns: ['ab']"),
        (fields(a=pa.int8(), b=pa.int8()), ["a", "b"], "all columns are partition columns"),
        (fields(a=pa.int8(), b=pa.decimal256(60, 1)), (), "column b has the Arrow type decimal256(60, 1)"),
    ],
)
def test_schemas_that_no_table_can_have(schema: pa.Schema, partition_by: Any, message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        validate_schema(schema, partition_by)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "spark",
    [
        "binary",
        "void",
        "variant",
        "interval",
        "interval year",
        "interval day",
        "time(6)",
        "timestamp_ntz(9)",
        "string collate UNICODE",
        *NESTED,
    ],
    ids=str,
)
def test_types_that_cannot_be_partition_columns(spark: Any) -> None:
    schema = spark_json_to_arrow(schema_of(spark)).append(pa.field("b", pa.int8()))
    shown = spark if isinstance(spark, str) else spark["type"]
    with pytest.raises(SchemaError, match="cannot be a partition column") as caught:
        validate_schema(schema, ["a"])
    assert f"column a of type {shown} " in str(caught.value)


def test_a_collated_column_cannot_be_a_partition_column() -> None:
    collated = spark_json_to_arrow(schema_of("string", metadata='{"__COLLATIONS":{"a":"icu.UNICODE"}}'))
    with pytest.raises(SchemaError, match="column a has a collation and cannot be a partition column"):
        validate_schema(collated.append(pa.field("b", pa.int8())), ["a"])


def test_deep_nesting_is_refused_without_a_crash() -> None:
    arrow = pa.int8()
    for _ in range(400):
        arrow = pa.list_(arrow)
    for check in (lambda schema: validate_schema(schema, ()), arrow_to_spark_json):
        with pytest.raises(SchemaError, match="column a is nested deeper than 100 levels"):
            check(fields(a=arrow))


def test_structs_that_nobody_could_read_again_are_refused() -> None:
    kind: pa.DataType = pa.int64()
    for _ in range(23):
        kind = pa.struct([("x", kind)])
    validate_schema(pa.schema([("a", kind)]), [])
    with pytest.raises(SchemaError, match="24 levels"):
        validate_schema(pa.schema([("a", pa.struct([("x", kind)]))]), [])
