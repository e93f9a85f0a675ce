"""The data source that Spark calls for `format("indextables")`.

A DataFrame is one version of a table: `load` pins it, and everything that is asked of the DataFrame later, a join with itself
included, sees that version. Load again to see newer rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from indextables.core.errors import IndexTablesError
from indextables.spark.errors import one_line

if TYPE_CHECKING:
    from indextables.spark.reading.read_options import ReadOptions
    from indextables.table.distributed.opening import TableHandle

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
        from indextables.spark.reading.loaded_schema import loaded_schema
        from indextables.spark.reading.read_options import read_options

        with one_line():
            question = read_options(self.options)
            return loaded_schema(question, self._pinned(question))

    def reader(self, schema: StructType) -> DataSourceReader:
        """A read of these columns."""
        from indextables.spark.reading.read_options import read_options
        from indextables.spark.reading.source_reader import TableReader

        with one_line():
            question = read_options(self.options)
            if self._pin is None:
                self._pinned(question)
            assert self._pin is not None
            return TableReader(question, *self._pin, schema)

    def writer(self, schema: StructType, overwrite: bool) -> Any:
        """A write of these rows."""
        from indextables.spark.writing.source_writer import BatchWriter

        return BatchWriter(schema, self.options, overwrite)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802 - PySpark's names
        """A stream that refuses to begin."""
        return NoStream()

    def streamWriter(self, schema: StructType, overwrite: bool) -> Any:  # noqa: ARG002, N802 - PySpark's names
        """Raises IndexTablesError: streams are not written."""
        with one_line():
            raise IndexTablesError(
                "streams are not written with this format: write each batch, with foreachBatch(lambda df, number: "
                "indextables.spark.write(df, url, 'append', txn=(name, number)))"
            )

    def _pinned(self, question: ReadOptions) -> TableHandle:
        from indextables.spark.reading.read_options import stays_at_version
        from indextables.table.distributed.opening import pin_version

        stays_at_version(question.options)
        handle = pin_version(question.url, question.options, question.version, timestamp_ms=question.timestamp_ms)
        self._pin = (handle.version, handle.table_id)
        return handle


class NoStream(DataSourceStreamReader):
    """Says that streams are not read. Spark hides an error of the method that should make a reader behind one of its own, and
    asks a reader for the first or the newest place in the stream before anything else.
    """

    def initialOffset(self) -> NoReturn:  # noqa: N802 - PySpark's name
        """Raises IndexTablesError."""
        _refuse_reading()

    def latestOffset(self) -> NoReturn:  # noqa: N802 - PySpark's name
        """Raises IndexTablesError."""
        _refuse_reading()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> NoReturn:  # noqa: ARG002 - PySpark's names
        """Raises IndexTablesError."""
        _refuse_reading()

    def read(self, partition: InputPartition) -> Iterator[Any]:  # noqa: ARG002 - PySpark's name
        """Raises IndexTablesError."""
        _refuse_reading()


def _refuse_reading() -> NoReturn:
    with one_line():
        raise IndexTablesError(
            "tables are not read as streams: read the newest version again, with spark.read.format('indextables').load(url)"
        )
