"""Which reads by tasks hand columns over to Spark instead of rows. Spark's generated code reads them as those of Parquet files.

`TaskScan.java` gets the answer, and `Columns.java` adds whether tasks run in the driver.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    ByteType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from indextables.core import options as opt
from indextables.table.distributed.opening import TableHandle

_FLAT_TYPES: Final = (
    BooleanType,
    ByteType,
    ShortType,
    IntegerType,
    LongType,
    FloatType,
    DoubleType,
    DecimalType,
    StringType,
    BinaryType,
    DateType,
    TimestampType,
    TimestampNTZType,
)
"""Types of columns that tasks may hand over. Spark cannot copy a nested value of an Arrow column that has a null inside, so reads
with nested columns hand rows over, and so do reads with types that are rare.
"""


def hands_columns_over(handle: TableHandle, output: StructType) -> bool:
    """True if the tasks of a read with this output may hand columns over: the options allow it, and all types are flat."""
    return handle.options[opt.READ_COLUMNAR_ENABLED] and all(
        isinstance(field.dataType, _FLAT_TYPES) for field in output
    )
