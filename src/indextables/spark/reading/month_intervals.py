"""Intervals of years and months: Spark hands them to Python in an Arrow type that pyarrow does not have.

A table stores them as numbers of months. A DataFrame that is written by `indextables.spark.write` is asked for those numbers;
the data source gets its rows from Spark as they are, and can only say so before the first task fails.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.types import ArrayType, DataType, MapType, StructType, YearMonthIntervalType

from indextables.core.errors import SchemaError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def refuse_month_intervals(schema: StructType) -> None:
    """Raise SchemaError if there is one."""
    for field in schema.fields:
        if _inside(field.dataType):
            raise SchemaError(
                f"column {field.name} is {field.dataType.simpleString()}, which Spark cannot hand to a Python source: write with "
                "indextables.spark.write(df, url), or make it a number of months",
                column=field.name,
            )


def as_months(df: DataFrame) -> DataFrame:
    """The DataFrame with such columns as numbers of months. Raises SchemaError for one inside another type."""
    from pyspark.sql import functions as sql

    columns = []
    for field in df.schema.fields:
        name = "`" + field.name.replace("`", "``") + "`"
        if isinstance(field.dataType, YearMonthIntervalType):
            whole = f"CAST({name} AS INTERVAL YEAR TO MONTH)"  # one of years alone has no months to extract
            months = sql.expr(f"CAST(EXTRACT(YEAR FROM {whole}) * 12 + EXTRACT(MONTH FROM {whole}) AS INT)")
            columns.append(months.alias(field.name))
        elif _inside(field.dataType):
            raise SchemaError(
                f"column {field.name} has an interval of months inside {field.dataType.simpleString()}, which Spark cannot hand "
                "to Python: make it a number of months",
                column=field.name,
            )
        else:
            columns.append(sql.col(name))
    changed = any(isinstance(field.dataType, YearMonthIntervalType) for field in df.schema.fields)
    return df.select(*columns) if changed else df


def _inside(kind: DataType) -> bool:
    if isinstance(kind, YearMonthIntervalType):
        return True
    if isinstance(kind, StructType):
        return any(_inside(field.dataType) for field in kind.fields)
    if isinstance(kind, ArrayType):
        return _inside(kind.elementType)
    return isinstance(kind, MapType) and (_inside(kind.keyType) or _inside(kind.valueType))
