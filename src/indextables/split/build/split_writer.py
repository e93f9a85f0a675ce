"""One split from one pass over its rows.

    batches ──┬──▶ Statistics
              ├──▶ IndexBuilder ──▶ index files ─┐
              └──▶ write_rows   ──▶ row files   ─┴─▶ write_bundle ──▶ one file

Each batch is counted and indexed on its way to the row store, which compresses the rows of a file once all of them are there.
Memory is bounded by the index writer's heap and a few batches; indexing and the reading of the next batch overlap.
"""

from __future__ import annotations

import functools
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

import msgspec
import pyarrow as pa

from indextables._version import __version__
from indextables.core.errors import SplitError
from indextables.split.build.split_form import SplitForm
from indextables.split.build.statistics import Statistics
from indextables.split.bundle.bundle_writer import RowsFile, Sealed, write_bundle
from indextables.split.bundle.footer import Facts, Source
from indextables.split.index.index_files import BuiltIndex, IndexBuilder
from indextables.split.rows.row_writer import write_rows
from indextables.storage.error_translation import translate

CREATED_BY: Final = f"indextables/{__version__}"


@dataclass(frozen=True)
class LocalSplit:
    """A finished split on local disk, ready to be uploaded."""

    path: Path
    sealed: Sealed

    def remove(self) -> None:
        """Take the local file away."""
        with suppress(OSError):
            self.path.unlink()


def new_source() -> int:
    """The number that tells the rows of a new split from those of all others, also after merges."""
    return secrets.randbits(63)


def write_split(
    directory: Path,
    batches: Iterable[pa.RecordBatch],
    form: SplitForm,
    *,
    partition_values: Mapping[str, str | None],
    created_ms: int,
    source: int | None = None,
    num_merge_ops: int = 0,
    merged_from: bytes = b"",
) -> LocalSplit:
    """Write rows of the form's schema to a new file in `directory`, which is made.

    After an error nothing of the split is left. Raises StorageError if the disk is full or fails, SchemaError for batches
    that do not fit the schema, and whatever the iterator raises.
    """
    source = new_source() if source is None else source
    name = f"{source:016x}"
    work = directory / f"{name}.work"
    statistics = Statistics(form.schema, columns=form.stats_columns, length=form.stats_length)
    builder: IndexBuilder | None = None
    try:
        work.mkdir(parents=True)
        builder = IndexBuilder(work / "index", form.mapping, form.schema, source=source, heap=form.heap)
        parts = write_rows(work / "rows", form.schema, _passing(batches, statistics, builder))
        built = builder.finish()
        builder = None
        facts = _facts(form, partition_values, statistics, parts, built, source, created_ms)
        facts = msgspec.structs.replace(facts, num_merge_ops=num_merge_ops, merged_from=merged_from)
        out = directory / f"{name}.split"
        sealed = write_bundle(out, parts, built.files, facts)
    except OSError as error:
        raise translate(error, str(directory), name, "put") from error
    finally:
        if builder is not None:
            builder.abandon()
        shutil.rmtree(work, ignore_errors=True)
    return LocalSplit(out, sealed)


def _passing(
    batches: Iterable[pa.RecordBatch], statistics: Statistics, builder: IndexBuilder
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        statistics.add(batch)
        builder.add(batch)
        yield batch


def _facts(
    form: SplitForm,
    partition_values: Mapping[str, str | None],
    statistics: Statistics,
    parts: tuple[RowsFile, ...],
    built: BuiltIndex,
    source: int,
    created_ms: int,
) -> Facts:
    summary = statistics.finish()
    stored = sum(part.rows for part in parts)
    if not stored == built.rows == summary.rows:
        raise SplitError(f"{summary.rows} rows came in, {stored} were stored and {built.rows} indexed: nothing is kept")
    return Facts(
        rows=summary.rows,
        schema=form.schema_json,
        doc_mapping=form.mapping_json,
        partition_values=dict(partition_values),
        min_values=summary.min_values,
        max_values=summary.max_values,
        null_counts=summary.null_counts,
        distinct=summary.distinct,
        uncompressed_bytes=summary.uncompressed_bytes,
        time_range=summary.time_range,
        created_ms=created_ms,
        created_by=CREATED_BY,
        engines=engines(),
        inexact=tuple(sorted(built.inexact)),
        sources=(Source(source, 0, summary.rows),),
        in_row_order=built.in_row_order,
        table_schema=form.table_schema,
    )


@functools.cache
def engines() -> dict[str, str]:
    """The versions of the libraries that write rows and index, as far as they are known."""
    found = {}
    for name, package in (("tantivy", "tantivy"), ("vortex", "vortex-data")):
        with suppress(PackageNotFoundError):
            found[name] = version(package)
    return found
