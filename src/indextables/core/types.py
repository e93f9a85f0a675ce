"""Spark's JSON schemas and Arrow schemas, in both directions.

The log holds the schema as Spark writes it (`StructType.json`), everything else works on Arrow. Arrow cannot say all that
Spark can: that a string is a `varchar(10)`, that an integer is an interval of months, that a column has a comment. What it
cannot say is kept in the metadata of the Arrow field, so that nothing is lost on the way there and back:

    spark_type      the Spark type as JSON, where the Arrow type alone would give another one
    spark_metadata  the metadata of the Spark field as JSON, where it is not empty

Arrow types that Spark does not have (unsigned integers, views, dictionaries …) become the nearest Spark type that holds
all their values.

Columns are matched without regard to letter case by Spark and by the indexing options, so `validate_schema` wants names that
differ in more than that. Partition values are texts in paths and in the log, so it wants partition columns whose values have
one text each.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import pyarrow as pa

from indextables.core.errors import SchemaError
from indextables.core.java_text import java_quote

SparkType: TypeAlias = str | dict[str, Any]
"""A Spark type as its JSON value: a name, or an object for arrays, maps, structs and user-defined types."""

SPARK_TYPE = b"spark_type"
SPARK_METADATA = b"spark_metadata"
_PYSPARK_METADATA = b"SPARK::metadata::json"
"""Where PySpark itself puts the metadata of a field when it converts a schema to Arrow."""

_MAX_DEPTH = 100
"""Levels of a type that are followed at all: each level is a call inside the last one."""
_MAX_LISTS = 12
"""Lists and maps inside each other that a column may have: each level doubles the memory that writing rows takes."""
_MAX_LEVELS = 24
"""Fields inside each other that a column may have: more of them could be written, but not read again."""


@lru_cache(maxsize=128)
def spark_json_to_arrow(text: str) -> pa.Schema:
    """The Arrow schema of a schema that Spark wrote as JSON. Raises SchemaError."""
    try:
        schema = _load(text)
        if not isinstance(schema, dict) or schema.get("type") != "struct":
            raise SchemaError('the schema is not a struct, expected {"type":"struct","fields":[…]}')
        return pa.schema(_struct_fields(schema, ()))
    except json.JSONDecodeError as error:
        raise SchemaError(f"the schema is not JSON ({error})") from None
    except RecursionError:
        raise SchemaError(f"the schema is nested deeper than {_MAX_DEPTH} levels") from None


def arrow_to_spark_json(schema: pa.Schema) -> str:
    """A schema as Spark's `StructType.json` writes it. Raises SchemaError for types that Spark cannot hold."""
    return _dump(_spark_struct(list(schema), ()))


def spark_type(field: pa.Field) -> SparkType:
    """The Spark type of an Arrow field, as a JSON value."""
    return _spark_type(field, (field.name,))


def validate_schema(schema: pa.Schema, partition_by: Sequence[str]) -> None:
    """Raise SchemaError unless a table can have this schema and be partitioned by these columns."""
    if not len(schema):
        raise SchemaError("the schema has no columns, a table needs at least one")
    if isinstance(partition_by, str):
        raise SchemaError(f"partition_by is the text {partition_by!r}, expected a list of columns: [{partition_by!r}]")
    _check_names(list(schema), ())
    for field in schema:
        if "\0" in field.name:
            raise SchemaError(
                f"column {field.name!r} has a zero character in its name, which files cannot hold; rename it"
            )
        if _list_levels(field.type) > _MAX_LISTS:
            raise SchemaError(
                f"column {field.name} has lists or maps inside each other, more than {_MAX_LISTS} levels deep; make it flatter, "
                "or store it as text",
                column=field.name,
            )
        if _levels(field.type) > _MAX_LEVELS:
            raise SchemaError(
                f"column {field.name} has fields inside each other, more than {_MAX_LEVELS} levels deep, which cannot be read "
                "again; make it flatter, or store it as text",
                column=field.name,
            )
    fields = {field.name: _spark_field(field, (field.name,)) for field in schema}
    for number, name in enumerate(partition_by):
        if name not in fields:
            raise SchemaError(f"partition column {name} does not exist{_nearest(name, list(fields))}", column=name)
        if name in partition_by[:number]:
            raise SchemaError(f"partition column {name} is listed twice", column=name)
        _check_partition_type(fields[name])
    if len(partition_by) == len(fields):
        raise SchemaError("all columns are partition columns, a table needs at least one column that is not")


def _levels(arrow: pa.DataType) -> int:
    """How many types lie inside each other at most."""
    return 1 + max((_levels(arrow.field(number).type) for number in range(arrow.num_fields)), default=0)


def _list_levels(arrow: pa.DataType) -> int:
    """How many lists and maps lie inside each other at most. Writing a value takes twice the memory with each of them."""
    kinds = pa.types
    if kinds.is_map(arrow):
        return 1 + max(_list_levels(arrow.key_type), _list_levels(arrow.item_type))
    if kinds.is_list(arrow) or kinds.is_large_list(arrow) or kinds.is_fixed_size_list(arrow):
        return 1 + _list_levels(arrow.value_type)
    if kinds.is_struct(arrow):
        return max((_list_levels(field.type) for field in arrow), default=0)
    return 0


@dataclass(frozen=True)
class _Number:
    """A number of the JSON text, kept as it was written."""

    text: str


Path: TypeAlias = tuple[str, ...]


def _struct_fields(struct: Mapping[str, Any], path: Path) -> list[pa.Field]:
    fields = struct.get("fields")
    if not isinstance(fields, list):
        raise _malformed(path, "a struct without a list of fields")
    return [_field(field, path, number) for number, field in enumerate(fields)]


def _field(field: Any, path: Path, number: int) -> pa.Field:
    if not isinstance(field, dict) or not isinstance(field.get("name"), str):
        raise _malformed((*path, f"[{number}]"), "a field without a name")
    name = field["name"]
    path = (*path, name)
    metadata = field.get("metadata", {})
    if "type" not in field:
        raise _malformed(path, "no type")
    if not isinstance(metadata, dict):
        raise _malformed(path, "metadata that is not an object")
    return _arrow_field(name, field["type"], _flag(field, "nullable", path), path, metadata)


def _arrow_field(
    name: str, spark: Any, nullable: bool, path: Path, metadata: Mapping[str, Any] | None = None
) -> pa.Field:
    arrow = _arrow_type(spark, path)
    if pa.types.is_null(arrow) and not nullable:
        arrow = pa.bool_()  # Spark's `array()` has void elements that are not nullable, and Arrow knows no such thing
    kept: dict[bytes, bytes] = {}
    if (isinstance(spark, str) or spark["type"] == "udt") and _spark_of_arrow(arrow, path) != spark:
        kept[SPARK_TYPE] = _dump(spark).encode("utf-8", "surrogatepass")
    if metadata:
        kept[SPARK_METADATA] = _dump(metadata).encode("utf-8", "surrogatepass")
    try:
        return pa.field(name, arrow, nullable, kept or None)
    except UnicodeEncodeError:
        raise _malformed(path, "a name that is not valid Unicode") from None


def _arrow_type(spark: Any, path: Path) -> pa.DataType:
    if len(path) > _MAX_DEPTH:
        raise _too_deep(path)
    if isinstance(spark, str):
        return _arrow_scalar(spark, path)
    kind = spark.get("type") if isinstance(spark, dict) else None
    match kind:
        case "struct":
            return pa.struct(_struct_fields(spark, path))
        case "array":
            contains_null = _flag(spark, "containsNull", path)
            return pa.list_(
                _arrow_field("element", _part(spark, "elementType", path), contains_null, (*path, "element"))
            )
        case "map":
            key = _arrow_field("key", _part(spark, "keyType", path), False, (*path, "key"))
            contains_null = _flag(spark, "valueContainsNull", path)
            return pa.map_(key, _arrow_field("value", _part(spark, "valueType", path), contains_null, (*path, "value")))
        case "udt":
            return _arrow_type(_part(spark, "sqlType", path), (*path, "sqlType"))
        case _:
            raise _malformed(path, f"the unknown type {_dump(spark)}")


def _arrow_scalar(name: str, path: Path) -> pa.DataType:
    known = _ARROW_OF_NAME.get(name)
    if known is not None:
        return known
    if match := _DECIMAL.fullmatch(name):
        precision, scale = int(match[1]), int(match[2])
        if not (1 <= precision <= 38 and scale <= precision):
            raise _malformed(path, f"the type {name}, a decimal has 1 to 38 digits and a scale no larger than that")
        return pa.decimal128(precision, scale)
    for pattern, arrow in _ARROW_OF_PATTERN:
        if pattern.fullmatch(name):
            return arrow
    raise _malformed(path, f"the unknown type {name!r}")


def _part(spark: Mapping[str, Any], key: str, path: Path) -> Any:
    if key not in spark:
        raise _malformed(path, f"the type {spark['type']} without {key}")
    return spark[key]


def _flag(spark: Mapping[str, Any], key: str, path: Path) -> bool:
    value = spark.get(key, True)
    if not isinstance(value, bool):
        raise _malformed(path, f"{key} {_dump(value)}, expected true or false")
    return value


def _malformed(path: Path, what: str) -> SchemaError:
    where = f"column {'.'.join(path)}" if path else "the schema"
    return SchemaError(f"{where} has {what}", column=".".join(path))


def _too_deep(path: Path) -> SchemaError:
    return SchemaError(f"column {path[0]} is nested deeper than {_MAX_DEPTH} levels", column=path[0])


def _spark_struct(fields: list[pa.Field], path: Path) -> dict[str, Any]:
    return {"type": "struct", "fields": [_spark_field(field, (*path, field.name)) for field in fields]}


def _spark_field(field: pa.Field, path: Path) -> dict[str, Any]:
    metadata = _kept(field, SPARK_METADATA) or _kept(field, _PYSPARK_METADATA)
    return {
        "name": field.name,
        "type": _spark_type(field, path),
        "nullable": field.nullable,
        "metadata": metadata if isinstance(metadata, dict) else {},
    }


def _spark_type(field: pa.Field, path: Path) -> SparkType:
    """The type that was kept, unless the column has been cast to something else since."""
    given = _spark_of_arrow(field.type, path)
    kept = _kept(field, SPARK_TYPE)
    if kept is None or kept == given:
        return given
    try:
        fits = _spark_of_arrow(_arrow_field(field.name, kept, field.nullable, path).type, path) == given
    except SchemaError:
        return given
    return kept if fits else given


def _kept(field: pa.Field, key: bytes) -> Any:
    text = (field.metadata or {}).get(key)
    if text is None:
        return None
    try:
        return _load(text)
    except (ValueError, RecursionError):
        return None


def _load(text: str | bytes) -> Any:
    return json.loads(text, parse_float=_Number, parse_int=_Number, parse_constant=_refuse)


def _refuse(constant: str) -> None:
    raise json.JSONDecodeError(f"{constant} is no JSON number", constant, 0)


def _spark_of_arrow(arrow: pa.DataType, path: Path) -> SparkType:
    """The Spark type that an Arrow type stands for by itself."""
    if len(path) > _MAX_DEPTH:
        raise _too_deep(path)
    if isinstance(arrow, pa.BaseExtensionType):
        return _spark_of_arrow(arrow.storage_type, path)
    if pa.types.is_dictionary(arrow) or pa.types.is_run_end_encoded(arrow):
        return _spark_of_arrow(arrow.value_type, path)
    if pa.types.is_struct(arrow):
        return "variant" if _is_variant(arrow) else _spark_struct(list(arrow), path)
    if pa.types.is_map(arrow):
        return {
            "type": "map",
            "keyType": _spark_type(arrow.key_field, (*path, "key")),
            "valueType": _spark_type(arrow.item_field, (*path, "value")),
            "valueContainsNull": arrow.item_field.nullable,
        }
    if any(test(arrow) for test in _LISTS):
        return {
            "type": "array",
            "elementType": _spark_type(arrow.value_field, (*path, "element")),
            "containsNull": arrow.value_field.nullable,
        }
    return _spark_scalar(arrow, path)


def _spark_scalar(arrow: pa.DataType, path: Path) -> str:
    if pa.types.is_decimal(arrow):
        precision, scale = arrow.precision - min(0, arrow.scale), max(0, arrow.scale)
        if precision > 38 or scale > precision:
            raise _unfit(path, arrow, "cast it to a decimal of at most 38 digits, to double or to string")
        return f"decimal({precision},{scale})"
    if pa.types.is_timestamp(arrow):
        return "timestamp_ntz" if arrow.tz is None else "timestamp"
    for name, tests in _NAME_OF_ARROW:
        if any(test(arrow) for test in tests):
            return name
    raise _unfit(path, arrow, "leave it out or split it into columns of one type each")


def _unfit(path: Path, arrow: pa.DataType, way_out: str) -> SchemaError:
    column = ".".join(path)
    return SchemaError(
        f"column {column} has the Arrow type {arrow}, which no Spark type can hold: {way_out}", column=column
    )


def _is_variant(arrow: pa.StructType) -> bool:
    names = [arrow.field(index).name for index in range(arrow.num_fields)]
    marks = [(arrow.field(index).metadata or {}).get(b"variant") for index in range(arrow.num_fields)]
    return sorted(names) == ["metadata", "value"] and b"true" in marks


def _check_names(fields: list[pa.Field], path: Path) -> None:
    where = f"column {'.'.join(path)}" if path else "the schema"
    seen: dict[str, str] = {}
    for field in fields:
        if not field.name:
            raise SchemaError(f"{where} has a field without a name", column=".".join(path))
        column = ".".join((*path, field.name))
        earlier = seen.get(field.name.lower())
        if earlier == field.name:
            raise SchemaError(f"column {column} exists twice, rename one of them", column=column)
        if earlier is not None:
            raise SchemaError(
                f"columns {'.'.join((*path, earlier))} and {column} differ only in letter case, rename one of them",
                column=column,
            )
        seen[field.name.lower()] = field.name
        _check_nested_names(field.type, (*path, field.name))


def _check_nested_names(arrow: pa.DataType, path: Path) -> None:
    if len(path) > _MAX_DEPTH:
        raise _too_deep(path)
    if pa.types.is_struct(arrow):
        _check_names(list(arrow), path)
    elif pa.types.is_map(arrow):
        _check_nested_names(arrow.key_type, (*path, "key"))
        _check_nested_names(arrow.item_type, (*path, "value"))
    elif any(test(arrow) for test in _LISTS):
        _check_nested_names(arrow.value_type, (*path, "element"))


def _check_partition_type(field: Mapping[str, Any]) -> None:
    name, spark = field["name"], field["type"]
    if not isinstance(spark, str) or not _PARTITION_TYPE.fullmatch(spark):
        shown = spark if isinstance(spark, str) else spark["type"]
        raise SchemaError(
            f"column {name} of type {shown} cannot be a partition column, "
            "use a boolean, number, string, date or timestamp column",
            column=name,
        )
    if name in field["metadata"].get("__COLLATIONS", {}):
        raise SchemaError(f"column {name} has a collation and cannot be a partition column", column=name)


def _nearest(name: str, names: list[str]) -> str:
    by_lower = {other.lower(): other for other in names}
    near = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.5)
    return f", did you mean {by_lower[near[0]]}?" if near else f", the columns are {', '.join(names[:20])}"


def _dump(value: Any) -> str:
    """Compact JSON, as Spark writes it."""
    match value:
        case _Number():
            return value.text
        case str():
            return java_quote(value)
        case dict():
            return "{" + ",".join(f"{java_quote(key)}:{_dump(part)}" for key, part in value.items()) + "}"
        case list():
            return "[" + ",".join(map(_dump, value)) + "]"
        case _:
            return json.dumps(value)


_VARIANT = pa.struct(
    [
        pa.field("value", pa.binary(), nullable=False),
        pa.field("metadata", pa.binary(), nullable=False, metadata={b"variant": b"true"}),
    ]
)
_GEO = pa.struct([pa.field("srid", pa.int32(), nullable=False), pa.field("wkb", pa.binary(), nullable=False)])

_ARROW_OF_NAME: dict[str, pa.DataType] = {
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
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ltz": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "time": pa.time64("ns"),
    "variant": _VARIANT,
    "interval": pa.month_day_nano_interval(),
    "calendar interval": pa.month_day_nano_interval(),
    **dict.fromkeys(("interval year", "interval year to month", "interval month"), pa.int32()),
}
"""Intervals of months are integers in Arrow, because pyarrow lacks Arrow's own type for them."""

_DECIMAL = re.compile(r"decimal\(\s*([0-9]{1,3})\s*,\s*(-?[0-9]{1,3})\s*\)")
_ARROW_OF_PATTERN: tuple[tuple[re.Pattern[str], pa.DataType], ...] = (
    (re.compile(r"string collate \S+"), pa.string()),
    (re.compile(r"(?:char|varchar)\(\s*[0-9]+\s*\)"), pa.string()),
    (re.compile(r"time\([0-9]\)"), pa.time64("ns")),
    (re.compile(r"timestamp_ntz\([0-6]\)"), pa.timestamp("us")),
    (re.compile(r"timestamp_ltz\([0-6]\)"), pa.timestamp("us", "UTC")),
    (re.compile(r"timestamp_ntz\([7-9]\)"), pa.timestamp("ns")),
    (re.compile(r"timestamp_ltz\([7-9]\)"), pa.timestamp("ns", "UTC")),
    (
        re.compile(
            r"interval (?:day(?: to (?:hour|minute|second))?|hour(?: to (?:minute|second))?|minute(?: to second)?|second)"
        ),
        pa.duration("us"),
    ),
    (re.compile(r"(?:geometry|geography)\([^()]*\)"), _GEO),
)

_PARTITION_TYPE = re.compile(
    r"boolean|byte|short|integer|long|float|double|decimal(?:\(.*\))?|string|(?:char|varchar)\(.*\)|date"
    r"|timestamp(?:_ltz|_ntz)?"
)
_LISTS = (
    pa.types.is_list,
    pa.types.is_large_list,
    pa.types.is_fixed_size_list,
    pa.types.is_list_view,
    pa.types.is_large_list_view,
)
_NAME_OF_ARROW = (
    ("string", (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)),
    ("long", (pa.types.is_int64, pa.types.is_uint32)),
    ("integer", (pa.types.is_int32, pa.types.is_uint16)),
    ("short", (pa.types.is_int16, pa.types.is_uint8)),
    ("byte", (pa.types.is_int8,)),
    ("decimal(20,0)", (pa.types.is_uint64,)),
    ("double", (pa.types.is_float64,)),
    ("float", (pa.types.is_float32, pa.types.is_float16)),
    ("boolean", (pa.types.is_boolean,)),
    ("date", (pa.types.is_date,)),
    (
        "binary",
        (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view, pa.types.is_fixed_size_binary),
    ),
    ("time(6)", (pa.types.is_time,)),
    ("interval day to second", (pa.types.is_duration,)),
    ("interval", (pa.types.is_interval,)),
    ("void", (pa.types.is_null,)),
)
