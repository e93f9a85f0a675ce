"""pyiceberg with its SQLite catalog. Data files are described, never read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.conversions import to_bytes
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import DoubleType, LongType, NestedField, StringType
from workload import PARTITION, ROWS_PER_FILE, Facts, facts

_SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=False),
    NestedField(2, "value", DoubleType(), required=False),
    NestedField(3, "level", StringType(), required=False),
    NestedField(4, PARTITION, StringType(), required=False),
)
_SPEC = PartitionSpec(PartitionField(source_id=4, field_id=1000, transform=IdentityTransform(), name=PARTITION))
_NAME = "bench.files"
_TYPES = (LongType(), DoubleType(), StringType())


def _catalog(where: Path) -> SqlCatalog:
    return SqlCatalog("bench", uri=f"sqlite:///{where}/catalog.db", warehouse=f"file://{where}")


def _bounds(values: tuple[int, float, str]) -> dict[int, bytes]:
    kinds = zip(_TYPES, values, strict=True)
    return {number: to_bytes(kind, value) for number, (kind, value) in enumerate(kinds, start=1)}


def data_file(fact: Facts, location: str) -> DataFile:
    made = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=f"{location}/data/{fact.path}",
        file_format=FileFormat.PARQUET,
        partition=Record(fact.date),
        record_count=ROWS_PER_FILE,
        file_size_in_bytes=fact.size,
        lower_bounds=_bounds(fact.low),
        upper_bounds=_bounds(fact.high),
    )
    made.spec_id = 0
    return made


def _append(table: Any, files: list[DataFile]) -> None:
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        for file in files:
            append.append_data_file(file)


def build(where: Path, appends: int, files_per_append: int) -> None:
    """A few big appends: the kindest shape for its commits, which read the list of manifests."""
    where.mkdir(parents=True)
    catalog = _catalog(where)
    catalog.create_namespace("bench")
    table = catalog.create_table(_NAME, _SCHEMA, partition_spec=_SPEC)
    for number in range(appends):
        files = facts(number * files_per_append, files_per_append)
        _append(table, [data_file(fact, table.location()) for fact in files])


class Handle:
    """A table kept open."""

    def __init__(self, where: Path) -> None:
        self._table = _catalog(where).load_table(_NAME)

    def live(self) -> int:
        return int(self._table.current_snapshot().summary["total-data-files"])

    def prepare(self, first: int, count: int) -> Any:
        location = self._table.location()
        return [data_file(fact, location) for fact in facts(first, count)]

    def commit(self, prepared: Any) -> None:
        _append(self._table, prepared)

    def refresh(self) -> None:
        self._table.refresh()
