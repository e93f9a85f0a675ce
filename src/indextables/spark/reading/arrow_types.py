"""The table's types as Spark wants them.

A batch for Spark has exactly the types that PySpark derives from the schema: no views, no large or dictionary types, instants in
UTC, names and nullability of everything inside lists, maps and structs included. The table's schema is Spark's own JSON, so most
columns pass as they are.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import DoubleType, IntegerType, StructField, StructType, YearMonthIntervalType

from indextables.core.errors import SchemaError
from indextables.core.types import arrow_to_spark_json

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def spark_schema(
    schema: pa.Schema, columns: Sequence[str], score: str | None = None, *, months: bool = False
) -> StructType:
    """Spark's schema of these columns, and of a score beside them. Raises SchemaError for types that do not reach Python.

    With `months`, intervals of months may be among them: the caller has a way to hand them over.
    """
    chosen = pa.schema([schema.field(name) for name in columns])
    found = StructType.fromJson(json.loads(arrow_to_spark_json(chosen)))
    strange = [field for field in found if not (months and _is_months(field)) and _arrow(field) is None]
    if strange:
        field = strange[0]
        raise SchemaError(
            f"column {field.name} of type {field.dataType.simpleString()} does not pass between Spark and Python; "
            + ("read it with indextables.spark.read(spark, url), or " if _is_months(field) else "")
            + 'leave it out, with option("columns", …) naming the others',
            column=field.name,
        )
    return found if score is None else found.add(StructField(score, DoubleType(), False))


def arrow_schema(schema: StructType) -> pa.Schema:
    """What Spark compares our batches with."""
    return to_arrow_schema(schema, timezone="UTC")


def check_schema(wanted: StructType, schema: pa.Schema, *, months: bool = False) -> None:
    """Whether a schema that the user gave, `.schema(…)`, is a part of the table's. Raises SchemaError.

    With `months`, intervals of months may be among the columns: they are refused where they are read.
    """
    for field in wanted:
        if field.name not in schema.names:
            alike = [name for name in schema.names if name.lower() == field.name.lower()]
            hint = f"it is written {alike[0]}" if alike else f"its columns are {', '.join(schema.names)}"
            raise SchemaError(f"the table has no column {field.name}; {hint}", column=field.name)
        real = spark_schema(schema, [field.name], months=months)[0]
        if _loose(field.dataType.jsonValue()) != _loose(real.dataType.jsonValue()):
            raise SchemaError(
                f"column {field.name} is {real.dataType.simpleString()} in the table, not {field.dataType.simpleString()}; "
                "read it as it is, and cast it then",
                column=field.name,
            )
        if real.nullable and not field.nullable:
            raise SchemaError(
                f"column {field.name} may be null in the table, so the schema cannot say NOT NULL", column=field.name
            )


class ToSpark:
    """Batches of a table as batches for Spark."""

    def __init__(self, target: pa.Schema) -> None:
        self._target = target

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """A batch's rows in exactly Spark's types, the columns in Spark's order."""
        ordered = batch if batch.schema.names == self._target.names else batch.select(self._target.names)
        columns = [
            column if column.type.equals(field.type) else column.cast(field.type)
            for column, field in zip(ordered.columns, self._target, strict=True)
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self._target)


def carried(schema: StructType) -> StructType:
    """The schema with intervals of months as the numbers that a table stores."""
    return StructType(
        [
            StructField(field.name, IntegerType(), field.nullable, field.metadata) if _is_months(field) else field
            for field in schema
        ]
    )


def uncarried(df: DataFrame, schema: StructType) -> DataFrame:
    """The rows of a carried schema in the types that are meant."""
    changed = [field for field in schema if _is_months(field)]
    if not changed:
        return df
    columns = []
    for field in schema:
        name = "`" + field.name.replace("`", "``") + "`"
        interval = f"CAST(make_ym_interval(0, {name}) AS {field.dataType.simpleString()}) AS {name}"
        columns.append(interval if field in changed else name)
    whole = df.selectExpr(*columns)
    for field in changed:
        whole = whole.withMetadata(field.name, field.metadata) if field.metadata else whole
    return whole


def _is_months(field: StructField) -> bool:
    return isinstance(field.dataType, YearMonthIntervalType)


def _arrow(field: StructField) -> pa.Schema | None:
    try:
        return arrow_schema(StructType([field]))
    except PySparkException:
        return None


def _loose(kind: Any) -> Any:
    """A type without what may be null and what is only said about it."""
    if isinstance(kind, list):
        return [_loose(part) for part in kind]
    if not isinstance(kind, dict):
        return kind
    return {
        key: _loose(part)
        for key, part in kind.items()
        if key not in {"nullable", "containsNull", "valueContainsNull", "metadata"}
    }
