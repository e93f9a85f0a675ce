"""The data source that Spark calls for `format("indextables")`.

A DataFrame is one version of a table: `load` pins it, and everything that is asked of the DataFrame later, a join with itself
included, sees that version. Load again to see newer rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceReader
from pyspark.sql.types import StructType

from indextables.spark.errors import one_line

if TYPE_CHECKING:
    from indextables.log.snapshot import Snapshot
    from indextables.spark.reading.read_options import ReadOptions

NAME = "indextables"


class IndexTablesSource(DataSource):
    """A table, as Spark sees it."""

    _pin: tuple[int, str] | None = None
    """The version and the table's id; kept when Spark carries the source from the process that created it to others."""

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return NAME

    def schema(self) -> StructType:
        """The table's schema, or what the options leave of it."""
        from indextables.core.predicate import parse_predicate
        from indextables.spark.reading.arrow_types import spark_schema
        from indextables.spark.reading.read_options import read_options
        from indextables.table.distributed.read_tasks import SCORE, make_scan, open_table_log

        with one_line():
            asked = read_options(self.options)
            snapshot = self._pinned(asked)
            log = open_table_log(asked.url, asked.options)
            where = None if asked.where is None else parse_predicate(asked.where, snapshot.schema)
            scan = make_scan(log, snapshot, asked.columns, where, asked.query, score=asked.score)
            return spark_schema(snapshot.schema, scan.columns, SCORE if asked.score else None)

    def reader(self, schema: StructType) -> DataSourceReader:
        """A read of these columns."""
        from indextables.spark.reading.read_options import read_options
        from indextables.spark.reading.source_reader import TableReader

        with one_line():
            asked = read_options(self.options)
            if self._pin is None:
                self._pinned(asked)
            assert self._pin is not None
            return TableReader(asked, *self._pin, schema)

    def writer(self, schema: StructType, overwrite: bool) -> Any:
        """A write of these rows."""
        from indextables.spark.writing.source_writer import BatchWriter

        return BatchWriter(schema, self.options, overwrite)

    def _pinned(self, asked: ReadOptions) -> Snapshot:
        from indextables.table.distributed.read_tasks import open_table_log, pin

        snapshot = pin(open_table_log(asked.url, asked.options), asked.version, asked.timestamp_ms)
        self._pin = (snapshot.version, snapshot.table_id)
        return snapshot
