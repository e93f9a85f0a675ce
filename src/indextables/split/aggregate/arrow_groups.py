"""Groups of the rows of an Arrow table, as `Table.group_by` makes them, without loading all of pyarrow.

`Table.group_by` imports pyarrow.acero, which imports pyarrow.dataset, and that pandas and protobuf. The few classes that do the
work are in a module of their own.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

try:
    from pyarrow._acero import AggregateNodeOptions, Declaration, TableSourceNodeOptions
except ImportError:  # a release of pyarrow that keeps the classes elsewhere
    from pyarrow.acero import AggregateNodeOptions, Declaration, TableSourceNodeOptions


def grouped(table: pa.Table, keys: list[str], wanted: Sequence[tuple[str, str, str]]) -> pa.Table:
    """Group a table by at least one key. A row of the result has the keys of a group, and what is wanted of the group.

    `wanted` are triples: column, function of Arrow, name in the result. The function `count_all` counts the rows of a group, and
    its column is not looked at.
    """
    aggregates = [
        ([] if function == "count_all" else [column], f"hash_{function}", None, name)
        for column, function, name in wanted
    ]
    steps = [
        Declaration("table_source", TableSourceNodeOptions(table)),
        Declaration("aggregate", AggregateNodeOptions(aggregates, keys=keys)),
    ]
    return Declaration.from_sequence(steps).to_table(use_threads=False)


def sorted_by(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """The rows in ascending order of some columns, nulls last."""
    return table.take(pc.sort_indices(table, [(name, "ascending") for name in names]))
