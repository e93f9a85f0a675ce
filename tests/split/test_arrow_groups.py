"""Groups and orders are those of `Table.group_by` and `Table.sort_by`."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from indextables.split.aggregate.arrow_groups import grouped, sorted_by

ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "a": st.none() | st.integers(0, 2),
            "b": st.none() | st.sampled_from([0.0, 1.5, float("nan")]),
            "n": st.none() | st.integers(-9, 9),
        }
    ),
    max_size=12,
)
SCHEMA = pa.schema([("a", pa.int64()), ("b", pa.float64()), ("n", pa.int64())])


@given(ROWS, st.sampled_from([["a"], ["a", "b"], ["b", "a"]]), st.integers(0, 12))
def test_groups_are_those_of_arrow(rows: list[dict[str, Any]], keys: list[str], cut: int) -> None:
    whole = pa.Table.from_pylist(rows, SCHEMA)
    table = pa.concat_tables([whole[:cut], whole[cut:]])
    wanted = [("n", function, f"n_{function}") for function in ("sum", "count", "min", "max", "list")]
    ours = grouped(table, keys, [("", "count_all", "rows"), *wanted])
    theirs = table.group_by(keys, use_threads=False).aggregate(
        [([], "count_all"), *(("n", function) for _, function, _ in wanted)]
    )
    assert ours.column_names == [*keys, "rows", *(name for _, _, name in wanted)]
    assert repr(ours.to_pydict().values()) == repr(
        theirs.select([*keys, "count_all", *ours.column_names[len(keys) + 1 :]]).to_pydict().values()
    )
    assert ours.schema.types == theirs.select([*keys, "count_all", *ours.column_names[len(keys) + 1 :]]).schema.types


@given(ROWS, st.sampled_from([["a"], ["a", "b", "n"], ["b", "n"]]))
def test_the_order_is_that_of_arrow(rows: list[dict[str, Any]], names: list[str]) -> None:
    table = pa.Table.from_pylist(rows, SCHEMA)
    theirs = table.sort_by([(name, "ascending") for name in names])
    assert repr(sorted_by(table, names).to_pylist()) == repr(theirs.to_pylist())
