"""Where Spark looks for the format `indextables` by itself: a module named `pyspark_…` with a `DefaultSource`."""

from indextables.spark.source import IndexTablesSource as DefaultSource

__all__ = ["DefaultSource"]
