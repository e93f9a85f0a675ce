"""The change feed equals a naive comparison of each version with the one before, for random histories and all types.

Appends, overwrites with and without a condition, dropped partitions, rewrites of files with other rows, merges, restores, states
and new columns come in any order. Whatever happened, the rows at `since`, less the deleted ones and with the inserted ones, are
those at `until`.
"""

from __future__ import annotations

import pickle
import uuid
from collections import Counter
from itertools import chain
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from effort import examples
from indextables import Table
from indextables.core.predicate import Predicate, to_sql
from indextables.core.types import arrow_to_spark_json
from indextables.log.commit import commit
from indextables.log.conflicts import Change, MetadataUpdate
from indextables.table.changes import change_rows
from indextables.table.changes.change_feed import change_question
from indextables.table.changes.change_plan import plan_changes
from indextables.table.read.request import make_request
from indextables.table.read.scan import scan
from table.changes.changes_support import CHANGE_NAMES, counted, differences, rows_by_version, texts, told
from table.rows_support import _add, _partitions
from table.strategies import PARTITIONS, SCHEMA, brute_force, partition_predicates, predicates, tables
from tables import handle_of

VERBS = [
    "append",
    "append",
    "overwrite",
    "replace",
    "replace",
    "drop",
    "rewrite",
    "rewrite",
    "merge",
    "restore",
    "restore",
]


def live_in(table: Table, seen: list[pa.Table], number: int) -> pa.Table:
    """Rows that the table or its past has, some of them twice: what is written again must cancel."""
    past = seen[number % len(seen)]
    return pa.concat_tables([past, past.slice(0, number % 3)])


def rewritten(table: Table, number: int) -> None:
    """Take some rows out of a file, and put one of them in twice: what a delete or an update of rows commits."""
    handle = handle_of(table)
    files = handle.files()
    if not files.num_rows or "score" in table.partition_columns:  # NaN: not known to the helper that divides rows
        return
    chosen = files.slice(number % files.num_rows, 2)
    rows = scan(handle, make_request(handle, "reading", files=chosen)).read_all()
    new = pa.concat_tables([rows.slice(number % 2), rows.slice(0, number % 3)]).combine_chunks()
    adds = [_add(table, values, part, True) for values, part in _partitions(table, new) if part.num_rows]
    table.commit_files(adds, chosen.column("path").to_pylist(), operation="UPDATE")


def grown(table: Table) -> None:
    """A column is added, as a verb for that would: nullable, at the end."""
    handle = handle_of(table)
    new = table.schema.append(pa.field(f"more{len(table.schema)}", pa.int64()))
    change = Change(metadata=MetadataUpdate(schema_string=arrow_to_spark_json(new)))
    commit(handle, change, operation="ADD COLUMN")
    table.refresh()


def with_more(data: pa.Table, schema: pa.Schema, number: int) -> pa.Table:
    """The rows with values in columns that were added to the table."""
    for field in schema:
        if field.name not in data.column_names:
            data = data.append_column(field, pa.array([number + n for n in range(data.num_rows)], field.type))
    return data.select(schema.names)


def known_columns(data: pa.Table, schema: pa.Schema) -> pa.Table:
    return data.select([name for name in data.column_names if name in schema.names])


def live(draw: Any, partition_by: tuple[str, ...], verbs: list[str]) -> tuple[Table, list[dict[str, Any]]]:
    """A table after some random commits, and all values that it ever had."""
    table = Table.create(f"memory://{uuid.uuid4().hex}/table", SCHEMA, partition_by=partition_by)
    seen: list[dict[str, Any]] = []
    tried: list[pa.Table] = []
    for verb in ["append", *draw(st.lists(st.sampled_from(verbs), min_size=1, max_size=6), label="verbs")]:
        number = draw(st.integers(0, 7))
        new, values = draw(tables(partition_by, max_size=4))
        seen += values
        tried.append(new)
        data = new if draw(st.booleans()) else pa.concat_tables([new, live_in(table, tried, number)])
        data = with_more(data, table.schema, number)
        match verb:
            case "append":
                table.append(data)
            case "overwrite":
                table.overwrite(data)
            case "replace":
                where = draw(partition_predicates(partition_by, seen))
                table.overwrite(brute_force(data, where), where=to_sql(where))
            case "drop" if partition_by:
                table.drop_partitions(to_sql(draw(partition_predicates(partition_by, seen))))
            case "rewrite":
                rewritten(table, number)
            case "merge":
                table.merge_splits()
            case "restore":
                table.restore(version=number % (table.version + 1))
            case "checkpoint":
                table.checkpoint()
            case "grow":
                grown(table)
    return table, seen


def check(table: Table, since: int, until: int, rows: dict[int, pa.Table]) -> pa.Table:
    """The feed between two versions tells what a naive comparison tells. Returns the feed."""
    schema = Table.open(table.url, version=until).schema
    feed = table.changes_rows(since, until).read_all()
    assert feed.schema.names == [*schema.names, *CHANGE_NAMES]
    assert told(feed) == differences(rows, since, until, schema)
    changed = told(feed)
    balance = counted(rows[since], schema) if since >= 0 else Counter()
    for (_, kind), some in changed.items():
        if kind == "insert":
            balance += some
        else:
            assert balance >= some, "only rows that are there are deleted"
            balance -= some
    assert balance == counted(rows[until], schema)
    return feed


def check_filtered(table: Table, since: int, until: int, feed: pa.Table, asked: list[Predicate]) -> None:
    for predicate in asked:
        where = to_sql(predicate)
        expected = brute_force(feed, predicate)
        found = table.changes_rows(since, until, where=where).read_all()
        assert told(found) == told(expected), where
    assert texts(table.changes_rows(since, until).read_all()) == texts(feed), "the same again, in the same order"
    few = table.changes_rows(since, until, columns=["text", "id"]).read_all()
    assert texts(few) == texts(feed.select(["text", "id", *CHANGE_NAMES]))


def check_tasks(table: Table, since: int, feed: pa.Table) -> None:
    """Partitions of versions, each read as by another process, are the same rows together."""
    plan = plan_changes(handle_of(table), since)
    question = change_question(handle_of(table))
    sent = pickle.dumps(type(question)(question.handle.without_files(), question.request))
    parts = pickle.loads(pickle.dumps([part for one in plan.versions for part in one.divided()]))
    batches = chain.from_iterable(change_rows.version_rows(pickle.loads(sent), part) for part in parts)
    assert counted(pa.Table.from_batches(batches, feed.schema)) == counted(feed)


def run(source: st.DataObject) -> None:
    partition_by = source.draw(st.sampled_from(PARTITIONS), label="partition_by")
    table, seen = live(source.draw, partition_by, [*VERBS, "checkpoint", "grow"])
    rows = rows_by_version(table)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(change_rows, "CHUNK_ROWS", source.draw(st.sampled_from([1, 3, 1 << 20]), label="chunk"))
        feed = check(table, -1, table.version, rows)
        check_tasks(table, -1, feed)
        until = source.draw(st.integers(0, table.version), label="until")
        since = source.draw(st.integers(-1, until), label="since")
        feed = check(table, since, until, rows)
        check_filtered(table, since, until, feed, source.draw(st.lists(predicates(seen), min_size=2, max_size=3)))


@given(source=st.data())
@settings(max_examples=examples(24), deadline=None, suppress_health_check=list(HealthCheck))
def test_random_histories(source: st.DataObject) -> None:
    run(source)


@pytest.mark.stress
@pytest.mark.timeout(3600)
@given(source=st.data())
@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
def test_many_random_histories(source: st.DataObject) -> None:
    run(source)
