"""`Table.overwrite`: new rows in place of all others, or of those in some partitions.

What is removed is decided when the commit is: whatever is live then. With `where` it is the partitions that it selects, and new
rows must lie in them, or a second overwrite would not replace what the first one wrote.

Rows that others wrote since the caller read the table are not replaced unseen: with `where`, or with a version that the caller
names, they are a conflict. An overwrite of everything, or one that asks for it, replaces them too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.errors import OptionError, PredicateError
from indextables.core.predicate import Predicate, columns_of, evaluate, to_sql
from indextables.log.commit import Committed
from indextables.log.conflicts import Replace
from indextables.table.build.incoming_rows import rows_in
from indextables.table.build.ingest import ingest
from indextables.table.handle import TableHandle
from indextables.table.open_table import at_read_version
from indextables.table.partition_predicate import over_partitions
from indextables.table.progress import Watcher


def overwrite(
    handle: TableHandle,
    data: Any,
    where: str | None = None,
    if_changed: str | None = None,
    if_version: int | None = None,
    progress: Watcher | None = None,
) -> Committed:
    """Replace everything, or the partitions that `where` selects, by the rows of `data`, of which there may be none.

    Raises FilesChanged where rows that are replaced are not those of the handle's version, or of `if_version`, and OptionError.
    """
    computed_from = depends_on_what_was_read(where, if_changed, if_version)
    handle = at_read_version(handle, if_version)
    rows = rows_in(data, handle.schema)
    parameters = {"mode": "Overwrite"}
    if where is None:
        return ingest(handle, rows, parameters=parameters, replaced=Replace(None, computed_from), progress=progress)
    predicate = over_partitions(where, handle.snapshot, "overwrite", "replaced")
    return ingest(
        handle,
        inside(rows, predicate),
        parameters={**parameters, "predicate": to_sql(predicate)},
        replaced=Replace(predicate, computed_from),
        progress=progress,
    )


def depends_on_what_was_read(where: str | None, if_changed: str | None, if_version: int | None) -> bool:
    """Whether other rows than those that the caller read must not be replaced. Raises OptionError.

    Who replaces some partitions has read them, as a rule, and writes them back with changes. Who replaces everything brings
    everything along.
    """
    if if_changed not in (None, "error", "replace"):
        raise OptionError(f"if_changed is {if_changed!r}, but must be 'error' or 'replace'")
    if if_version is not None:
        if if_changed == "replace":
            raise OptionError(
                "if_version asks for the rows of one version, if_changed='replace' for any: give one of them"
            )
        return True
    return where is not None if if_changed is None else if_changed == "error"


def inside(batches: Iterable[pa.RecordBatch], predicate: Predicate) -> Iterator[pa.RecordBatch]:
    """The batches, as long as the predicate is true for each row."""
    named = sorted({column.name for column in columns_of(predicate)})
    seen = 0
    for batch in batches:
        outside = pc.invert(pc.fill_null(evaluate(predicate, batch), False))
        first = pc.index(outside, True).as_py()
        if first >= 0:
            values = ", ".join(f"{name}={batch.column(name)[first]}" for name in named) or "any value"
            raise PredicateError(
                f"row {seen + first} of the data has {values}, which {to_sql(predicate)!r} does not select: leave such rows "
                "out, or replace their partitions too",
                row=seen + first,
            )
        seen += batch.num_rows
        yield batch
