"""Answers to the questions of Spark's planner: what the table takes over, and how a read is carried out.

    open       the version, the schema, the partition columns
    filters    for each filter: not looked at, applied roughly, applied exactly
    aggregate  whether the table computes the groups
    limit, offset, top    whether the table cuts the rows
    plan       the rows themselves, if there are few, or how many rows tasks will give
    tasks      see task_answers.py

Every function takes a question and returns the parts of its answer as bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.types import StructType

from indextables.core.errors import IndexTablesError, OptionError, SchemaError, TableNotFound
from indextables.core.options import PREFIX
from indextables.core.predicate import to_sql
from indextables.spark.connector.planning.columnar_reads import hands_columns_over
from indextables.spark.connector.planning.following import table_name
from indextables.spark.connector.planning.groups import said_key
from indextables.spark.connector.planning.questions import (
    Question,
    TableText,
    keep_handle,
    order_of,
    pin_table,
    read_plan,
)
from indextables.spark.connector.planning.snippet_columns import AddSnippets
from indextables.spark.reading.arrow_types import ToSpark, arrow_schema
from indextables.spark.reading.loaded_schema import loaded_schema
from indextables.spark.reading.read_options import ReadOptions
from indextables.table.distributed.filter_answers import Exactness
from indextables.table.distributed.local_answers import (
    Estimate,
    Rows,
    answer_here,
    file_bytes,
    known_rows,
    may_answer_here,
)
from indextables.table.distributed.opening import TableHandle
from indextables.table.distributed.read_tasks import SCORE
from indextables.table.distributed.requests import ByColumns, ReadPlan

_YES: Final = b"\x01"
_NO: Final = b"\x00"
_EXACTNESS: Final = {Exactness.UNSUPPORTED: 0, Exactness.INEXACT: 1, Exactness.EXACT: 2}
"""The numbers by which `ReadPlanner.java` knows how a filter is answered."""
SAVE: Final = "indextables.save"
"""The option by which `Provider.java` says that a table is opened to be written, and in which mode."""
NOT_OURS: Final = frozenset(
    (
        "provider",
        "location",
        "owner",
        "external",
        "is_managed_location",
        "comment",
        "collation",
        "serialization.format",
        "transient_lastddltime",
    )
)
"""Properties that a catalog hands over as options of its tables."""
_MOST_FIRST_ROWS: Final = 10_000
"""The rows of an order that each task looks for, at most. A task reads them by their numbers and holds all of them; for more rows
Spark sorts what a scan reads, and spills to disk."""
_TEXT_BYTES: Final = 40
"""Bytes that a value of no fixed width is guessed to take, for Spark's choice of joins."""


def open_table(asked: Mapping[str, Any]) -> list[bytes]:
    """The table that options name. A table that does not exist may be named with a schema: it is going to be written."""
    options = reader_options(asked)
    if any(key.lower() == "checkpointlocation" for key in options):
        raise OptionError(
            "streams are not written with this format: write each batch, with foreachBatch(lambda df, number: "
            "indextables.spark.write(df, url, 'append', txn=('name of the stream', number)))"
        )
    given = asked.get("schema")
    if given is not None and SAVE in options:
        return _to_be_written(options, given)
    try:
        read, handle = pin_table(options)
    except TableNotFound:
        if given is None:
            raise
        return _to_be_written(options, given)
    return open_handle(options, read, handle, given)


def _to_be_written(options: Mapping[str, str], schema: str) -> list[bytes]:
    """A place that rows with this schema are written to. Whether they fit is checked when the write begins."""
    text = TableText(tuple(sorted(options.items())), None, None, schema).encode()
    return [text.encode(), f"indextables {options.get('path', '')}".encode(), schema.encode(), b""]


def open_handle(
    options: Mapping[str, str], read: ReadOptions, handle: TableHandle, schema: str | None = None
) -> list[bytes]:
    """What Java keeps of an opened table: its text, its name, its columns, its partition columns."""
    text = TableText(tuple(sorted(options.items())), handle.version, handle.table_id, schema).encode()
    if schema is None:
        keep_handle(text, read, handle)
        schema = loaded_schema(read, handle, months=True).json()
    return [
        text.encode(),
        table_name(read, handle).encode(),
        schema.encode(),
        "\n".join(handle.partition_columns).encode(),
    ]


def reader_options(asked: Mapping[str, Any]) -> dict[str, str]:
    """The options of a read: the session's settings of ours, and the reader's own options over them."""
    session = {key: value for key, value in asked.get("session", {}).items() if key.startswith(PREFIX)}
    own = {
        key: value
        for key, value in asked["options"].items()
        if key.lower() not in NOT_OURS and not key.lower().startswith("option.")
    }
    given = {key.lower() for key in own}
    return {key: value for key, value in session.items() if key.lower() not in given} | own


def answer_filters(asked: Mapping[str, Any]) -> list[bytes]:
    """Answer with a byte for each filter: how exactly the table applies the filter.

    With a limit of the reader's own, the table applies no filter, because filters come after the limit.
    """
    question = Question(asked)
    if question.options.limit is not None:
        return [bytes(len(asked["filters"]))]
    return [bytes(_EXACTNESS[answer.exactness] for answer in question.conditions)]


def answer_aggregate(asked: Mapping[str, Any]) -> list[bytes]:
    """Whether the table computes the groups: as a whole in this process, or the groups of each task."""
    question = Question(asked)
    if question.filtered_again or question.options.limit is not None or question.aggregate is None:
        return [_NO]
    if not asked["aggregate"]["complete"]:
        return [_YES]
    return [_YES if may_answer_here(read_plan(question)) else _NO]


def answer_limit(asked: Mapping[str, Any]) -> list[bytes]:
    """Whether the table cuts the rows, and whether Spark has to cut them once more. Groups are cut by Spark.

    Tasks give at most so many rows each, and Spark cuts their rows together. A task that went on would be ended by Spark in the
    middle of a write, and Spark's workers print such an end.
    """
    question = Question(asked)
    if question.filtered_again or asked.get("aggregate") is not None or question.options.limit is not None:
        return [_NO, _NO]
    return [_YES, _NO if may_answer_here(read_plan(question)) else _YES]


def answer_offset(asked: Mapping[str, Any]) -> list[bytes]:
    """Whether the table leaves the first rows out: only where the table cuts the rows after them too, and Spark does not."""
    question = Question(asked)
    return [_YES if question.last is not None and not question.cut_again else _NO]


def answer_top(asked: Mapping[str, Any]) -> list[bytes]:
    """Whether the table sorts and cuts the rows, and whether Spark has to do it once more.

    Tasks give the first rows of their own splits, which Spark sorts and cuts together. Spark says only afterwards whether it
    wants scores, which rows in an order of columns do not have: after a search, Spark sorts the few rows once more, or all rows.
    """
    question = Question(asked)
    if question.filtered_again or asked.get("aggregate") is not None or question.options.limit is not None:
        return [_NO, _NO]
    order = order_of(asked["top"]["orders"], question)
    if order is None:
        return [_NO, _NO]
    if not may_answer_here(read_plan(question)):
        few = asked["top"]["rows"] <= _MOST_FIRST_ROWS
        return [_YES, _YES] if few else [_NO, _NO]
    may_be_scored = isinstance(order, ByColumns) and question.rows_request().searches
    return [_YES, _YES if may_be_scored else _NO]


def plan(asked: Mapping[str, Any]) -> list[bytes]:
    """The rows of a small answer; else what Spark needs to know of the tasks: rows, bytes, whether joins may filter them."""
    question = Question(asked)
    chosen = read_plan(question)
    check_readable(question.output())
    return plan_parts(question, chosen, _answer(question, chosen))


def plan_parts(question: Question, chosen: ReadPlan, found: Rows | Estimate) -> list[bytes]:
    """A planned read as Java takes it."""
    output = question.output()
    add_snippets = AddSnippets(question.handle, question.rows_request(), question.snippets)
    says = describe(question, chosen, found)
    if isinstance(found, Rows):
        return [_YES, output.json().encode(), says.encode(), arrow_stream(add_snippets(found.table), output)]
    filterable = question.aggregate is None and question.last is None
    numbers = [str(found.rows).encode(), str(found.rows * _row_bytes(output)).encode()]
    columns = hands_columns_over(question.handle, output)
    return [_NO, output.json().encode(), says.encode(), *numbers, _YES if filterable else _NO, _YES if columns else _NO]


def _answer(question: Question, chosen: ReadPlan) -> Rows | Estimate:
    aggregate = question.asked.get("aggregate")
    if aggregate is not None and not aggregate["complete"]:
        return Estimate(known_rows(chosen.files))
    found = answer_here(chosen)
    if aggregate is not None and isinstance(found, Estimate):
        # after an aggregate that was taken over whole Spark adds nothing up, and numbers of tasks would be rows of the answer
        raise IndexTablesError(
            "groups that this process promised to compute are too large for it: set read.local.enabled=false"
        )
    return found


def check_readable(output: StructType) -> None:
    """Raise SchemaError for a column whose type does not pass between Spark and Python."""
    for field in output:
        try:
            arrow_schema(StructType([field]))
        except Exception as error:
            raise SchemaError(
                f"column {field.name} of type {field.dataType.simpleString()} does not pass between Spark and Python: read "
                "the column with indextables.spark.read(spark, url), or select the other columns",
                column=field.name,
            ) from error


def describe(question: Question, chosen: ReadPlan, found: Rows | Estimate) -> str:
    """A line for `explain` and the SQL page of Spark's UI: what was handed over, and who answers."""
    request, every = chosen.request, question.handle.files()
    parts = [
        f"version {question.handle.version}",
        f"{chosen.files.num_rows} of {every.num_rows} files, {file_bytes(chosen.files):,} bytes",
    ]
    if question.filtered is not None:
        parts.append(f"where {to_sql(question.filtered)}")
    parts.extend(f"{values:,} keys of a join for {column}" for column, values in question.joined)
    if request.query is not None:
        parts.append(f"query {request.query!r}")
    if request.aggregate is not None:
        groups = [f"{metric.function}({metric.column or '*'})" for metric in request.aggregate.metrics]
        keys = [said_key(key) for key in request.aggregate.keys]
        parts.append(f"groups [{', '.join(groups)}]" + (f" by [{', '.join(keys)}]" if keys else ""))
    if question.snippets:
        parts.append(f"snippets of {', '.join(question.snippets)}")
    if request.order is not None:
        parts.append("ordered")
    if request.last is not None:
        parts.append(f"limit {request.limit}" + (f" offset {request.offset}" if request.offset else ""))
    by = (
        f"{found.table.num_rows:,} rows by the driver"
        if isinstance(found, Rows)
        else f"at most {found.rows:,} rows by tasks"
    )
    return f"{question.handle.url}: {'; '.join(parts)}; {by}"


def arrow_stream(table: pa.Table, output: StructType) -> bytes:
    """Rows as an Arrow stream in Spark's types. Rows without columns travel as a column that Java does not look at."""
    target = arrow_schema(output)
    if not output.fields:
        target = pa.schema([("none", pa.int8())])
        table = pa.table([pa.nulls(table.num_rows, pa.int8())], schema=target)
    shape = ToSpark(target)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, target) as stream:
        for batch in table.to_batches():
            stream.write_batch(shape(batch))
    return bytes(sink.getvalue())


def _row_bytes(output: StructType) -> int:
    """The bytes of a row, roughly."""
    total = 0
    for field in arrow_schema(output):
        try:
            total += max(1, field.type.bit_width // 8)
        except ValueError:
            total += _TEXT_BYTES
    return max(total, 1)


__all__ = ["SCORE", "open_table", "plan"]
