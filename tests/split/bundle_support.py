"""Bundles for tests: written to a directory, opened through a store, and compared bit by bit."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from indextables.core.types import arrow_to_spark_json
from indextables.split.bundle.bundle_reader import Pages, read_footer
from indextables.split.bundle.bundle_writer import RowsCopy, RowsFile, Sealed, write_bundle
from indextables.split.bundle.footer import Facts
from indextables.split.rows.row_reader import Rows
from indextables.split.rows.row_writer import BLOCK_BYTES, FILE_BYTES, MEMORY_BYTES, write_rows
from indextables.storage.local import LocalStore
from indextables.storage.open_file import OpenFile
from indextables.storage.store import Store

_names = itertools.count()


def facts(schema: pa.Schema, rows: int, **more: Any) -> Facts:
    return Facts(rows=rows, schema=arrow_to_spark_json(schema), doc_mapping="{}", **more)


def seal(
    out: Path,
    schema: pa.Schema,
    parts: Sequence[RowsFile | RowsCopy],
    index: dict[str, bytes] | None = None,
    **more: Any,
) -> Sealed:
    files = []
    for name, data in (index or {}).items():
        files.append(out.parent / name)
        files[-1].write_bytes(data)
    sealed = write_bundle(out, parts, files, facts(schema, sum(part.rows for part in parts), **more))
    for file in files:
        file.unlink()
    return sealed


def make(
    directory: Path,
    data: pa.Table | Iterable[pa.RecordBatch],
    schema: pa.Schema | None = None,
    *,
    block_bytes: int = BLOCK_BYTES,
    file_bytes: int = FILE_BYTES,
    memory_bytes: int = MEMORY_BYTES,
    **more: Any,
) -> tuple[str, Sealed]:
    """A bundle in the directory: its key and its facts."""
    if isinstance(data, pa.Table):
        schema = schema or data.schema
        data = data.to_batches()
    assert schema is not None
    key = f"{next(_names)}.split"
    parts = write_rows(
        directory / f"{key}.rows",
        schema,
        data,
        block_bytes=block_bytes,
        file_bytes=file_bytes,
        memory_bytes=memory_bytes,
    )
    return key, seal(directory / key, schema, parts, **more)


class SettledStore(LocalStore):
    """A local store whose files count as settled once they are written: they are mapped, or kept open and read."""

    def __init__(self, directory: Path, *, mapped: bool = True) -> None:
        super().__init__(directory)
        self._mapped = mapped

    def open_file(self, key: str) -> OpenFile:
        super().open_file(key)
        return self.file_type(f"{self.root}/{key}", settled_ms=-1_000_000, is_local_disk=lambda *_: self._mapped)

    file_type = OpenFile


def open_rows(directory: Path | Store, key: str, sealed: Sealed | None = None) -> Rows:
    """The rows of a bundle. A file in a directory is mapped, as most files are that were not written just now."""
    store = SettledStore(directory) if isinstance(directory, Path) else directory
    known = {} if sealed is None else {"size": sealed.size, "footer_start": sealed.footer_start}
    footer = read_footer(store, key, **known)
    return Rows(Pages(store, key, footer), footer, key)


def scanned(rows: Rows, columns: Sequence[str] | None = None, **options: Any) -> pa.Table:
    names = rows.schema.names if columns is None else list(columns)
    batches = list(rows.scan(names, **options))
    return pa.Table.from_batches(batches, pa.schema([rows.schema.field(name) for name in names]))


def exact(values: Any) -> list[Any]:
    """Values as plain Python, without losing a bit: floats as their bytes, times as numbers."""
    if isinstance(values, pa.ChunkedArray):
        return [value for chunk in values.chunks for value in exact(chunk)]
    kinds, arrow = pa.types, values.type
    if kinds.is_struct(arrow):
        children = [exact(values.field(index)) for index in range(arrow.num_fields)]
        cells: list[Any] = list(zip(*children, strict=True)) if children else [()] * len(values)
    elif kinds.is_list(arrow) or kinds.is_map(arrow):
        elements, offsets = exact(values.values), values.offsets.to_pylist() if len(values) else [0]
        cells = [elements[start:end] for start, end in itertools.pairwise(offsets)]
    elif kinds.is_floating(arrow):
        return exact(values.view(pa.int32() if kinds.is_float32(arrow) else pa.int64()))
    elif kinds.is_temporal(arrow) and not kinds.is_interval(arrow):
        return exact(values.view(pa.int32() if arrow.bit_width == 32 else pa.int64()))
    else:
        return values.to_pylist()
    return [cell if valid else None for cell, valid in zip(cells, values.is_valid().to_pylist(), strict=True)]


def assert_same(found: pa.Table, expected: pa.Table) -> None:
    assert found.schema.equals(expected.schema, check_metadata=True)
    assert found.num_rows == expected.num_rows
    for name in expected.schema.names:
        assert exact(found.column(name)) == exact(expected.column(name)), name
