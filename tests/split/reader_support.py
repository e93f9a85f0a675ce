"""Splits for tests of reading: written by the writer, opened through a store."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from indextables.core.predicate import Predicate, evaluate
from indextables.core.values import to_text
from indextables.split.build.split_form import SplitForm
from indextables.split.build.split_writer import write_split
from indextables.split.bundle.bundle_writer import Sealed
from indextables.split.cache.index_cache import IndexCache
from indextables.split.index.doc_mapping import plan_mapping
from indextables.split.open_splits import OpenSplits, replaced_by
from indextables.split.plan.costs import COSTS, Costs
from indextables.split.reader import SplitReader
from indextables.storage.local import LocalStore
from indextables.storage.store import Store

HEAP = 15_000_000
EVERY_INDEX = Costs(small_split_rows=-1, index_is_free=True)
"""Every index is worth asking, however small its split and however many rows it finds."""
_numbers = itertools.count(1)


def write(
    directory: Path,
    data: pa.Table,
    properties: dict[str, str] | None = None,
    *,
    partition_values: Mapping[str, str | None] | None = None,
    stats_length: int | None = 8,
    batch_rows: int = 1000,
) -> tuple[str, Sealed]:
    """A split of these rows, which have no partition columns: its name in the directory, and what is in it."""
    split = write_split(
        directory,
        data.to_batches(max_chunksize=batch_rows),
        SplitForm(data.schema, plan_mapping(data.schema, (), properties or {}), HEAP, stats_length=stats_length),
        partition_values=partition_values or {},
        created_ms=0,
        source=next(_numbers),
    )
    return split.path.name, split.sealed


def reader(
    store: Store | Path,
    key: str,
    sealed: Sealed | None,
    schema: pa.Schema,
    cache: IndexCache,
    partition_values: Mapping[str, Any] | None = None,
    **more: Any,
) -> SplitReader:
    typed = {name: pa.scalar(value, schema.field(name).type) for name, value in (partition_values or {}).items()}
    return SplitReader(
        LocalStore(store) if isinstance(store, Path) else store,
        key,
        **{
            "size": sealed and sealed.size,
            "footer_start": sealed and sealed.footer_start,
            "table_schema": schema,
            "partition_values": typed,
            "cache": cache,
            "table": "the table",
            **more,
        },
    )


@contextmanager
def costs_of(costs: Costs = COSTS, **changed: Any) -> Iterator[OpenSplits]:
    """While entered, splits are opened anew in this process, and read under these costs."""
    with replaced_by(OpenSplits(replace(costs, **changed))) as splits:
        yield splits


def texts(values: Mapping[str, Any], schema: pa.Schema) -> dict[str, str | None]:
    """Partition values as the log has them."""
    return {
        name: to_text(value, schema.field(name).type, keep_nan=True)
        for name, value in values.items()
        if value is not None
    }


def brute_force(data: pa.Table, predicate: Predicate | None) -> pa.Table:
    return data if predicate is None else data.filter(evaluate(predicate, data))


def all_of_it(split: SplitReader, schema: pa.Schema, predicate: Predicate | None = None) -> pa.Table:
    batches = list(split.scan(schema.names, predicate))
    assert all(batch.num_rows for batch in batches)
    return pa.Table.from_batches(batches, schema)
