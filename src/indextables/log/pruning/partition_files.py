"""Which files lie in the partitions that a predicate selects: exactly, because what is selected is going to be removed."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.arrow_values import scalar_of
from indextables.core.errors import CorruptLog, PredicateError
from indextables.core.predicate import Predicate, columns_of, evaluate, to_sql
from indextables.core.values import column_from_text, is_text


def files_in_partitions(
    files: pa.Table, where: Predicate, schema: pa.Schema, partition_columns: Sequence[str]
) -> pa.Table:
    """The files for whose partition values `where` is true.

    Raises PredicateError when it asks for anything but partition columns, and CorruptLog when a partition value cannot be
    read: a file of which nobody knows where it belongs must not be removed, nor be passed over.
    """
    named = sorted({column.name for column in columns_of(where)})
    others = [name for name in named if name not in partition_columns]
    if others:
        raise PredicateError(
            f"{to_sql(where)!r} asks for {', '.join(others)}, but whole files can only be replaced by partition columns "
            f"({', '.join(partition_columns) or 'there are none'})"
        )
    values = pa.table({name: _values(files, name, schema.field(name).type) for name in named})
    if not named:
        values = pa.table({"": pa.nulls(files.num_rows)})
    return files.filter(pc.fill_null(evaluate(where, values), False))


def _values(files: pa.Table, name: str, kind: pa.DataType) -> pa.Array:
    texts = pc.map_lookup(files.column("partitionValues").combine_chunks(), scalar_of(name, pa.string()), "last").cast(
        pa.string()
    )
    if not is_text(kind):
        texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
    values = column_from_text(texts, kind)
    unread = texts.filter(pc.and_(pc.is_valid(texts), pc.is_null(values)))
    if len(unread):
        raise CorruptLog(f"partition value {name}={unread[0].as_py()!r} is no {kind}; repair the file's entry first")
    return values
