"""Whatever is done to a table, whoever asks gets what a plain Arrow table kept beside it gives.

Rows of every type, nulls and limits included; appends, overwrites, replaced partitions, merges and states in any order;
predicates of every kind, answered with and without the cache, by the index or by the rows, now and at earlier versions.
"""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import predicate_data as data
from effort import examples
from indextables import Table
from indextables.core.predicate import Predicate, to_sql
from indextables.split import open_splits
from indextables.split.build import split_merge
from indextables.split.plan.costs import COSTS
from split.reader_support import EVERY_INDEX, costs_of
from table.strategies import (
    LONG,
    PARTITIONS,
    SCHEMA,
    Step,
    applied,
    bits,
    brute_force,
    predicates,
    same_rows,
    steps,
    tables,
)


@pytest.fixture(scope="module")
def cached(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return {"cache.disk.directory": str(tmp_path_factory.mktemp("cache"))}


NOT_CACHED = {"cache.disk.enabled": False}
MAPPINGS: list[dict[str, Any]] = [
    {},
    {"indexing.typemap.long": "text", "indexing.fastfields": "text,id"},
    {"indexing.lookupfields": "id,score,at,tiny", "stats.truncation.maxLength": 2},
]


def done(table: Table, step: Step) -> None:
    match step.verb:
        case "append":
            table.append(step.data)
        case "overwrite":
            table.overwrite(step.data, where=None if step.where is None else to_sql(step.where))
        case "merge":
            target, results, sources = step.limits
            where = None if step.where is None else to_sql(step.where)
            merged = table.merge_splits(target, where, results, sources)
            assert (merged.overtaken, merged.skipped) == (0, {})
        case "checkpoint":
            table.checkpoint()


def check(table: Table, model: pa.Table, asked: list[Predicate]) -> None:
    found = table.scan().read_all()
    assert same_rows(found, model)
    assert table.count() == model.num_rows
    for predicate in asked:
        where = to_sql(predicate)
        expected = brute_force(found, predicate)
        assert same_rows(expected, brute_force(model, predicate)), where
        assert bits(table.scan(where=where).read_all()) == bits(expected), where
        assert table.count(where) == expected.num_rows, where


def run(source: st.DataObject, cached: dict[str, Any]) -> None:
    partition_by = source.draw(st.sampled_from(PARTITIONS), label="partition_by")
    mapping = {
        key: value
        for key, value in source.draw(st.sampled_from(MAPPINGS), label="mapping").items()
        if not set(str(value).split(",")) & set(partition_by)
    }
    url = f"memory://{uuid.uuid4().hex}/table"
    table = Table.create(url, SCHEMA, partition_by=partition_by, options=mapping)
    first, seen = source.draw(tables(partition_by, min_size=1, max_size=5))
    todo = [Step("append", first)] + [
        source.draw(steps(partition_by, seen)) for _ in range(source.draw(st.integers(1, 5), label="steps"))
    ]
    model = SCHEMA.empty_table()
    history: dict[int, pa.Table] = {0: model}
    every_index = source.draw(st.booleans(), label="ask every index")
    with pytest.MonkeyPatch.context() as patch, costs_of(EVERY_INDEX if every_index else COSTS):
        large = source.draw(st.sampled_from([1, 4, 100_000]), label="large part")
        indexed = source.draw(st.sampled_from([0, 3, 1_024]), label="indexed anew")
        patch.setattr(split_merge, "PART_SIZES", split_merge.PartSizes(large=large, indexed=indexed))
        for step in todo:
            done(table, step)
            model = applied(model, step)
            history.setdefault(table.version, model)
            assert same_rows(history[table.version], model), "without a commit nothing changed"
            asked = source.draw(st.lists(predicates(seen), min_size=3, max_size=3))
            open_splits.close_all()
            options = cached if source.draw(st.booleans(), label="cache") else NOT_CACHED
            check(Table.open(url, options=options), model, asked)
        asked = source.draw(st.lists(predicates(seen), min_size=1, max_size=1))
        for version, earlier in history.items():
            check(Table.open(url, version=version, options=cached), earlier, asked)


@given(source=st.data())
@settings(max_examples=examples(6), deadline=None, suppress_health_check=list(HealthCheck))
def test_a_few_lives_of_tables(cached: dict[str, Any], source: st.DataObject) -> None:
    run(source, cached)


@pytest.mark.stress
@pytest.mark.timeout(3600)
@given(source=st.data())
@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
def test_many_lives_of_tables(cached: dict[str, Any], source: st.DataObject) -> None:
    run(source, cached)


@pytest.mark.parametrize("name", ["tags", "pairs", "inner"])
def test_lists_without_elements_behind_others_that_have_some(name: str) -> None:
    """Rows go to their partitions as slices, and a slice may begin where all the elements are over."""
    kind = SCHEMA.field(name).type
    values = {
        "tags": [["a", "b"], [], None, [""]],
        "pairs": [[("a", 1), ("b", 2)], [], None, [("", None)]],
        "inner": [
            {"x": 1, "y": "a", "z": [1.0, 2.0]},
            {"x": 1, "y": "", "z": []},
            None,
            {"x": None, "y": "", "z": [0.5]},
        ],
    }[name]
    schema = pa.schema([("id", pa.int64()), (name, kind), ("deep", pa.list_(pa.field("element", kind)))])
    columns = [range(4), pa.array(values, kind), pa.array([[value] * 2 for value in values], schema.field("deep").type)]
    rows = pa.table(columns, schema=schema)
    table = Table.create(f"memory://{uuid.uuid4().hex}/table", schema, partition_by=["id"])
    table.append(rows)
    for number in range(4):
        table.append(rows.slice(number))
        table.append(rows.slice(number, 1))
    table.merge_splits()
    expected = [rows, *(part for n in range(4) for part in (rows.slice(n), rows.slice(n, 1)))]
    assert same_rows(table.scan().read_all(), pa.concat_tables(expected))


@pytest.mark.parametrize("partition_by", [(), ("day",)])
def test_a_life_with_everything_in_it(tmp_path: Path, cached: dict[str, Any], partition_by: tuple[str, ...]) -> None:
    """The same without chance: a table of each kind of row, on local disk."""
    table = Table.create(tmp_path / "t", SCHEMA, partition_by=partition_by)
    rows = pa.concat_tables([tables_of(number) for number in range(12)])
    for number in range(12):
        table.append(tables_of(number))
    opened_anew = Table.open(table.url, options=cached)
    assert same_rows(opened_anew.scan().read_all(), rows)
    done(table, Step("merge", limits=(None, None, 5)))
    assert table.files().num_rows < 12
    assert same_rows(Table.open(table.url, options=NOT_CACHED).scan().read_all(), rows)
    assert same_rows(Table.open(table.url, version=12).scan().read_all(), rows)


def tables_of(number: int) -> pa.Table:
    """One row of the awkward values of each column, or of nulls."""
    values = {name: pool[number % len(pool)] for name, pool in data.POOLS.items()}
    row = {name: values.get(name) if number % 5 else None for name in data.SCHEMA.names}
    if row["day"] is not None:
        row["day"] %= 3
    table = data.to_table([row])
    more = {
        "short": number - 6,
        "whole": 2**31 - 1 - number,
        "long": LONG[number % len(LONG)],
        "tags": [None, "", "a"][: number % 4],
        "pairs": [("k", number), ("", None)][: number % 3],
        "inner": {"x": None, "y": "é", "z": [float("nan"), -0.0]} if number % 2 else None,
    }
    for name, value in more.items():
        table = table.append_column(SCHEMA.field(name), pa.array([value], SCHEMA.field(name).type))
    return table
