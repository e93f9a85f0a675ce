"""The data source `indextables` for Spark's own discovery.

Spark imports every module named `pyspark_…` and registers its `DefaultSource`.
"""

from indextables.spark.source import IndexTablesSource as DefaultSource

__all__ = ["DefaultSource"]
