"""What Spark's planner asks of a table, read from the connector's JSON.

    {"table": handle text, "filters": […], "columns": schema, "aggregate": …, "limit": n, "offset": n, "top": …,
     "joins": […], "runtime": […]}
                                          └──▶ Question ──▶ ReadRequest

A question is complete in itself: every call of the planner sends all that it gathered so far. Nothing is kept between calls but
the handles of tables, which are opened again where they are gone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.types import DataType, DoubleType, LongType, StructField, StructType

from indextables.core.aggregate import Aggregate, Key, Metric
from indextables.core.errors import QueryError
from indextables.core.predicate import And, Column, Predicate, Search, all_of, has_search
from indextables.core.row_order import SortKey, is_sortable
from indextables.core.runtime.cached_property import cached_property
from indextables.core.runtime.process_state import Lru, ProcessLocal
from indextables.spark.connector.planning.bucket_functions import spark_type
from indextables.spark.connector.planning.filters import answer_tree, compares_plainly, table_column
from indextables.spark.connector.planning.groups import as_aggregate
from indextables.spark.connector.planning.snippet_columns import snippet_fields, snippet_names
from indextables.spark.reading.arrow_types import check_schema, spark_schema
from indextables.spark.reading.read_options import ReadOptions, read_options
from indextables.table.distributed.filter_answers import FilterAnswer
from indextables.table.distributed.local_answers import sums_fit
from indextables.table.distributed.opening import TableHandle, open_pinned, pin_version
from indextables.table.distributed.read_tasks import SCORE, ByScore, ReadRequest, make_request
from indextables.table.distributed.requests import ByColumns, ReadPlan, plan_read

_MOST_HANDLES: Final = 64
"""At most so many tables stay open for the planner: those of a session's running queries."""


@dataclass(frozen=True)
class TableText:
    """The text that Java keeps of an opened table. Equal texts are the same table at the same version with the same options."""

    options: tuple[tuple[str, str], ...]
    """What the reader was given, credentials included: the text never leaves the driver."""
    version: int | None
    """None for a table that does not exist yet and may be written."""
    table_id: str | None
    schema: str | None = None
    """Spark's schema as JSON, where the caller gave one; None for the table's own."""

    def encode(self) -> str:
        """The text."""
        return json.dumps([self.options, self.version, self.table_id, self.schema])

    @classmethod
    def decode(cls, text: str) -> TableText:
        """The value that `encode` wrote."""
        options, version, table_id, schema = json.loads(text)
        return cls(tuple((key, value) for key, value in options), version, table_id, schema)


_HANDLES: Final[ProcessLocal[Lru[str, tuple[ReadOptions, TableHandle]]]] = ProcessLocal(lambda: Lru(_MOST_HANDLES))


def pin_table(given: Mapping[str, str]) -> tuple[ReadOptions, TableHandle]:
    """The table that read options name, at the version of a query. Raises TableNotFound, VersionNotFound, OptionError."""
    options = read_options(given)
    return options, pin_version(options.url, options.options, options.version, timestamp_ms=options.timestamp_ms)


def keep_handle(text: str, options: ReadOptions, handle: TableHandle) -> None:
    """Keep a handle for the questions that follow."""
    _HANDLES.value.put(text, (options, handle))


class Question:
    """A question of the planner: which table, and what is wanted of its rows."""

    def __init__(self, asked: Mapping[str, Any]) -> None:
        self.asked = asked
        self.options, self.handle = opened(asked["table"])
        self.schema: pa.Schema = self.handle.schema

    @cached_property
    def conditions(self) -> tuple[FilterAnswer, ...]:
        """How the table answers each filter that was handed over."""
        return tuple(answer_tree(tree, self.schema) for tree in self.asked.get("filters", ()))

    @cached_property
    def where(self) -> Predicate | None:
        """All filters that the table applies, those of joins included."""
        runtime = (answer_tree(tree, self.schema) for tree in self.asked.get("runtime", ()))
        parts = [answer.predicate for answer in (*self.joins, *runtime) if answer.predicate is not None]
        chosen = parts if self.filtered is None else [self.filtered, *parts]
        return all_of(chosen) if chosen else None

    @cached_property
    def filtered(self) -> Predicate | None:
        """The filters of the query and of the reader's options."""
        own = make_request(self.handle, None, columns=(), where=self.options.where).where
        parts = [answer.predicate for answer in self.conditions if answer.predicate is not None]
        chosen = parts if own is None else [own, *parts]
        return all_of(chosen) if chosen else None

    @cached_property
    def joins(self) -> tuple[FilterAnswer, ...]:
        """How the table answers the keys of each join: lists of values of a column."""
        return tuple(answer_tree(tree, self.schema) for tree in self.asked.get("joins", ()))

    @property
    def joined(self) -> list[tuple[str, int]]:
        """The column of each join, and how many keys there are for it."""
        return [(tree["arguments"][0]["column"][0], len(tree["values"])) for tree in self.asked.get("joins", ())]

    @property
    def filtered_again(self) -> bool:
        """True if Spark drops rows after the table did."""
        return bool(self.asked.get("filtered_again"))

    @property
    def cut_again(self) -> bool:
        """True if every task gives as many rows as Spark wants of all tasks together, and Spark cuts them."""
        return bool(self.asked.get("cut_again"))

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that Spark wants, `_score` among them if Spark wants it."""
        return tuple(self.schema.names if self.asked.get("columns") is None else self.wanted.names)

    @cached_property
    def wanted(self) -> StructType:
        """The columns that Spark wants; a struct may have lost some of its fields."""
        asked = self.asked.get("columns")
        if asked is None:
            return spark_schema(self.schema, self.schema.names, months=True)
        return StructType.fromJson(json.loads(asked))

    @cached_property
    def snippets(self) -> dict[str, str]:
        """The columns that Spark wants snippets of, each with the name of its snippets in the answer. Raises QueryError."""
        return snippet_names(self.asked, self.columns)

    def output(self) -> StructType:
        """The columns of the answer: the columns that Spark wants, or keys and numbers of groups."""
        groups = self.aggregate
        if groups is None:
            return StructType([*self.wanted, *snippet_fields(self.snippets)])
        keys = [StructField(key.name, self._key_type(key)) for key in groups.keys]
        return StructType([*keys, *(StructField(metric.name, self._type_of(metric)) for metric in groups.metrics)])

    def _key_type(self, key: Key) -> DataType:
        return spark_type(key.type) if key.bucket else spark_schema(self.schema, [key.column.name])[0].dataType

    def _type_of(self, metric: Metric) -> DataType:
        if metric.function in ("count", "distinct") or metric.column is None:
            return LongType()
        if metric.function == "sum":
            return DoubleType() if pa.types.is_floating(metric.type) else LongType()
        return spark_schema(self.schema, [metric.column.name])[0].dataType

    @cached_property
    def aggregate(self) -> Aggregate | None:
        """The groups that the table computes; None where no aggregate was handed over, or Spark has to compute it."""
        tree = self.asked.get("aggregate")
        if tree is None:
            return None
        files = plan_read(self.handle, self.rows_request()).files
        return as_aggregate(tree, self.schema, partial(sums_fit, files))

    @property
    def scored(self) -> bool:
        """True if Spark wants scores, or the rows with the best ones."""
        return self.best_first or (SCORE in self.columns and SCORE not in self.schema.names)

    @property
    def best_first(self) -> bool:
        """True if the first rows are those with the best scores. Spark says so before it says which columns it wants."""
        orders = self.asked.get("top", {}).get("orders", ())
        keys = [(order["key"].get("column"), order["descending"]) for order in orders]
        return keys == [([SCORE], True)] and SCORE not in self.schema.names

    @property
    def _sorted_by_spark(self) -> bool:
        """True if rows have scores and an order by columns: the table gives all of them, and Spark sorts and cuts them."""
        return "top" in self.asked and self.scored and not self.best_first

    @cached_property
    def query(self) -> str | None:
        """The reader's own query; where Spark wants scores and there is none, the searches that every row of the answer fits."""
        if self.options.query is not None or not self.scored or self.where is None:
            return self.options.query
        parts = self.where.children if isinstance(self.where, And) else (self.where,)
        ranked = " AND ".join(_ranking_text(part) for part in parts if isinstance(part, Search))
        if not ranked and has_search(self.where):
            raise QueryError(
                "_score says how well a row fits the searches that every row of the answer fits, and here all searches stand "
                "under OR or NOT: let one stand under AND alone, or leave _score out"
            )
        return ranked or None

    def rows_request(self) -> ReadRequest:
        """The rows that the filters leave, all of them, without their columns."""
        return make_request(self.handle, self._doing, columns=(), where=self.where, query=self.query)

    def request(self) -> ReadRequest:
        """Everything that was handed over, as a request."""
        base = self.rows_request()
        if self.asked.get("aggregate") is not None:
            groups = self.aggregate
            assert groups is not None, "an aggregate that was refused is not asked for"
            return make_request(
                self.handle, self._doing, columns=groups.columns, where=base.where, query=base.query, aggregate=groups
            )
        names = [name for name in self.columns if not (self.scored and name == SCORE)]
        last, offset = self.last, int(self.asked.get("offset", 0))
        return make_request(
            self.handle,
            self._doing,
            columns=names,
            where=base.where,
            query=base.query,
            score=self.scored,
            order=self.order,
            offset=0 if last is None else min(offset, last),
            limit=None if last is None else max(0, last - offset),
        )

    @property
    def last(self) -> int | None:
        """The rows that are wanted from the beginning, before an offset, by the reader's option or by Spark; None for all.

        With a limit of the reader's own, Spark's filters, groups, orders and limits are refused: they come after it.
        """
        if self.options.limit is not None:
            return self.options.limit
        if self._sorted_by_spark:
            return None
        top = self.asked.get("top")
        return top["rows"] if top is not None else self.asked.get("limit")

    @cached_property
    def order(self) -> ByScore | ByColumns | None:
        """The order of the first rows that are wanted; None for the order of the files."""
        if self.options.limit is not None:
            return ByScore() if self.options.score else None
        top = self.asked.get("top")
        return None if top is None or self._sorted_by_spark else order_of(top["orders"], self)

    @property
    def _doing(self) -> str:
        return "reading" if self.query is None else "searching"


def _ranking_text(search: Search) -> str:
    """A search as a query that ranks rows. Raises QueryError for a name that the query language cannot say."""
    if search.column is None:
        return f"({search.text})"
    name = ".".join(search.column.path)
    if not all(part.isidentifier() for part in search.column.path):
        raise QueryError(
            f"rows cannot be scored by a search of column {name}: its name is no word of the query language"
        )
    return f"{name}:({search.text})"


def order_of(orders: Sequence[Mapping[str, Any]], question: Question) -> ByScore | ByColumns | None:
    """Spark's sort keys as an order of ours; None where only Spark can sort by them."""
    if question.best_first:
        return ByScore()
    columns = [table_column(order["key"], question.schema) for order in orders]
    sorted_by = [column for column in columns if column is not None]
    if len(sorted_by) < len(orders) or not all(_sorts(column, question.schema) for column in sorted_by):
        return None
    return ByColumns(
        tuple(
            SortKey(column.name, order["descending"], order["nulls_first"])
            for column, order in zip(sorted_by, orders, strict=True)
        )
    )


def _sorts(column: Column, schema: pa.Schema) -> bool:
    return len(column.path) == 1 and is_sortable(schema.field(column.name)) and compares_plainly(column, schema)


def read_plan(question: Question) -> ReadPlan:
    """The request of a question, with the files that may hold rows of the answer."""
    return plan_read(question.handle, question.request())


def opened(text: str) -> tuple[ReadOptions, TableHandle]:
    """The options and the handle of a table that Java keeps the text of."""
    kept = _HANDLES.value.get(text)
    if kept is not None:
        return kept
    table = TableText.decode(text)
    options = read_options(dict(table.options))
    if table.version is None or table.table_id is None:
        return pin_table(dict(table.options))  # the table did not exist when it was named
    handle = open_pinned(options.url, options.options, table.version, table.table_id)
    if table.schema is not None:
        given = StructType.fromJson(json.loads(table.schema))
        own = [field for field in given if not (options.score and field.name == SCORE)]
        check_schema(StructType(own), handle.schema, months=True)
    keep_handle(text, options, handle)
    return options, handle
