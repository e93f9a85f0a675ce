"""`ReadRequest`: what a caller asks of a table's rows. `ReadPlan`: the request, the table and the files to look at.

    Table.scan, search, count, aggregate, prewarm ─┐
    indextables.spark: read, count, aggregate ─────┼─▶ make_request ──▶ ReadRequest ──▶ plan_read ──▶ ReadPlan
    (a planner, statements, a page) ───────────────┘    every check                      │
                                                              threads of this process ◀──┴──▶ ReadTasks of other processes

A request is checked once, by `make_request`, and is a small value that pickles. Everything after that takes it as it is.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import Any, Final, TypeAlias

import pyarrow as pa

from indextables.core.aggregate import Aggregate
from indextables.core.errors import OptionError, SchemaError
from indextables.core.predicate import Predicate, all_of, has_search
from indextables.core.profiler import PROFILER
from indextables.core.row_order import SortKey, is_sortable
from indextables.split.query.condition import Condition
from indextables.table.arguments import parse_where, row_limit
from indextables.table.handle import TableHandle
from indextables.table.table_mapping import BoundQuery

SCORE: Final = "_score"
"""The column that holds how well a row fits the query."""
SNIPPETS: Final = "_snippets"
"""The column that holds the parts of texts with the words of the query."""


@dataclass(frozen=True)
class ByScore:
    """Rows in the order of their scores, best first; equal scores by the split's path and the row's number."""


@dataclass(frozen=True)
class ByColumns:
    """The first rows in the order of columns, as Spark orders them; equal rows by the split's path and the row's number.

    A request with this order has a limit: who wants all rows sorts them.
    """

    keys: tuple[SortKey, ...]
    """The columns, the most important one first. `make_request` also takes plain tuples, and fills in Spark's default."""


Order: TypeAlias = ByScore | ByColumns | None
"""The order of the answer's rows. None is the order of the files."""


@dataclass(frozen=True)
class ReadRequest:
    """What is asked of a table. Made by `make_request`, which checks it; other code may rely on every field."""

    columns: tuple[str, ...]
    """Exact names of columns, each once."""
    where: Predicate | None = None
    """The rows for which this is true. A predicate is always applied exactly, also where it prunes files. It may search."""
    query: str | None = None
    """The rows that this query finds, in our query language."""
    score: bool = False
    """Whether the answer has the column `_score`."""
    snippets: tuple[str, ...] = ()
    """Text columns of which the answer shows the parts with the query's words."""
    order: Order = None
    offset: int = 0
    """Rows of the answer that are left out before the first one."""
    limit: int | None = None
    """At most so many rows, after `offset`; None for all. With an order the best ones, else the first ones."""
    aggregate: Aggregate | None = None
    """Groups of the rows instead of the rows."""
    files: pa.Table | None = field(default=None, compare=False)
    """The files to look at, with the log's columns; None for those that may hold a row of the answer."""

    @property
    def searches(self) -> bool:
        """Whether an index has to answer: there is a query, or a search in `where`."""
        return self.query is not None or (self.where is not None and has_search(self.where))

    @property
    def last(self) -> int | None:
        """Rows that are needed from the beginning of the answer, those of `offset` included; None for all."""
        return None if self.limit is None else self.offset + self.limit

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """The columns of the answer's rows, without snippets, for a table of this schema."""
        fields = [schema.field(name) for name in self.columns]
        return pa.schema([*fields, pa.field(SCORE, pa.float64())] if self.score else fields)


def make_request(
    handle: TableHandle,
    doing: str | None,
    *,
    columns: Any = None,
    where: Any = None,
    query: str | None = None,
    score: bool = False,
    snippets: Any = None,
    order: Order = None,
    offset: int = 0,
    limit: int | None = None,
    aggregate: Aggregate | None = None,
    files: pa.Table | None = None,
) -> ReadRequest:
    """A request that the table can answer. `where` is SQL text or a `Predicate` of the table's schema.

    `doing` names the verb for ForeignTable; None where the log alone may answer. Raises SchemaError, PredicateError, QueryError,
    OptionError, ForeignTable.
    """
    began = perf_counter_ns() if PROFILER.enabled else 0
    if limit is not None and (type(limit) is not int or limit < 0):
        limit = row_limit("limit", limit)
    if offset:
        offset = row_limit("offset", offset)
    if where is not None and not isinstance(where, Predicate):
        where = parse_where(where, handle.schema)
    searching = where is not None and has_search(where)
    if doing is not None or searching:
        handle.require_bundles(doing or "searching")
    names = _exact_names(columns, handle.schema)
    if query is not None:
        bound_query(handle, query)
    if searching:
        handle.facts.bind_condition(where, query)
    if isinstance(order, ByColumns):
        order = ByColumns(tuple(_sort_key(SortKey(*key), handle.schema) for key in order.keys))
    texts = () if snippets is None else check_snippet_columns(snippets, handle)
    request = ReadRequest(names, where, query, score, texts, order, offset, limit, aggregate, files)
    if score or texts or order is not None or (aggregate is not None and (limit is not None or offset)):
        _check_combination(request, handle.schema)
    if began:
        PROFILER.add("parse", "plan", began)
    return request


def _check_combination(request: ReadRequest, schema: pa.Schema) -> None:
    """Raise OptionError or SchemaError for a request that no executor answers. Nothing in a request is ever ignored."""
    if request.query is None and (request.score or request.snippets or isinstance(request.order, ByScore)):
        raise OptionError("a score is how well a row fits a query: give a query too, or leave the score out")
    own = [SCORE] * request.score + [SNIPPETS] * bool(request.snippets)
    clash = next((name for name in sorted(own) if name in schema.names), None)
    if clash is not None:
        raise SchemaError(
            f"the table has a column {clash} of its own: read without {clash}, as scan(query=…) does, or rename the column",
            column=clash,
        )
    if isinstance(request.order, ByColumns):
        _check_columns_order(request, request.order)
    if isinstance(request.order, ByScore) and request.limit is None:
        raise OptionError("rows are ordered by their score up to a limit: give a limit, or leave the order out")
    if request.aggregate is not None and (request.limit is not None or request.offset or request.order is not None):
        raise OptionError("groups have no limit, offset or order: they come in the order of their keys")


def _check_columns_order(request: ReadRequest, order: ByColumns) -> None:
    keys = ", ".join(key.column for key in order.keys)
    if not keys:
        raise OptionError("an order by columns names no column: name one, or leave the order out")
    if request.limit is None:
        raise OptionError(
            f"rows are ordered by columns ({keys}) up to a limit: give a limit, or sort the rows afterwards"
        )
    if request.score or request.snippets:
        raise OptionError(
            f"rows that are ordered by columns ({keys}) have no scores and snippets: leave one of them out"
        )


@dataclass(frozen=True)
class ReadPlan:
    """A request, the table at the version that answers it, and the files that may hold rows of the answer."""

    request: ReadRequest
    handle: TableHandle
    files: pa.Table

    @property
    def condition(self) -> Condition:
        """What each split is asked, bound to the table."""
        return bound_condition(self.handle, self.request)


def plan_read(handle: TableHandle, request: ReadRequest) -> ReadPlan:
    """Choose the files that may hold rows of the answer, unless the request names them."""
    if request.files is not None:
        return ReadPlan(request, handle, request.files)
    if request.last == 0:
        return ReadPlan(request, handle, handle.files().slice(0, 0))
    began = perf_counter_ns() if PROFILER.enabled else 0
    files = handle.files(pruning_predicate(handle, request))
    if began:
        PROFILER.add("prune", "plan", began)
    return ReadPlan(request, handle, files)


def bound_query(handle: TableHandle, text: str) -> BoundQuery:
    """A query, bound to the table's columns. Raises QueryError."""
    facts = handle.facts
    kept = facts.queries.get(text) if type(text) is str else None
    return kept or facts.bind(text)


def bound_condition(handle: TableHandle, request: ReadRequest) -> Condition:
    """What each split is asked for a request, bound to the table's columns. Raises QueryError."""
    where, query = request.where, request.query
    if where is not None and has_search(where):
        return handle.facts.bind_condition(where, query).condition
    return Condition(where, None if query is None else bound_query(handle, query).bound)


def pruning_predicate(handle: TableHandle, request: ReadRequest) -> Predicate | None:
    """What is true for every row of the answer, by `where` and by what searches imply; None where nothing is known.

    The predicate has no search in it.
    """
    if request.where is not None and has_search(request.where):
        return handle.facts.bind_condition(request.where, request.query).implied
    implied = None if request.query is None else bound_query(handle, request.query).implied
    if implied is None:
        return request.where
    return implied if request.where is None else all_of([request.where, implied])


def _exact_names(columns: Any, schema: pa.Schema) -> tuple[str, ...]:
    """The exact names of columns, which may be given in any letter case. None means all columns."""
    if columns is None:
        return tuple(schema.names)
    if isinstance(columns, str | bytes) or not isinstance(columns, Iterable):
        raise SchemaError(f"columns is a list of names, not {columns!r}")
    names: list[str] = []
    for column in columns:
        name = _exact_name(column, schema)
        if name in names:
            raise SchemaError(f"column {name} is asked for twice", column=name)
        names.append(name)
    return tuple(names)


def _exact_name(column: Any, schema: pa.Schema) -> str:
    if not isinstance(column, str):
        raise SchemaError(f"a column is asked for by its name, not by {column!r}")
    if column in schema.names:
        return column
    alike = [name for name in schema.names if name.lower() == column.lower()]
    if len(alike) == 1:
        return str(alike[0])
    nearest = difflib.get_close_matches(column, schema.names, 1)
    hint = f"did you mean {nearest[0]}?" if nearest else f"the columns are {', '.join(schema.names)}"
    raise SchemaError(f"the table has no column {column}; {hint}", column=column)


def _sort_key(key: SortKey, schema: pa.Schema) -> SortKey:
    name = _exact_name(key.column, schema)
    column = schema.field(name)
    if not is_sortable(column):
        raise SchemaError(
            f"rows cannot be ordered by column {name} of type {column.type} here: order by another column, or sort the rows "
            "afterwards",
            column=name,
        )
    return SortKey(name, bool(key.descending), key.nulls_lead)


def check_snippet_columns(snippets: Any, handle: TableHandle) -> tuple[str, ...]:
    """The exact names of columns that snippets can be made of. Raises SchemaError for any other column."""
    names = _exact_names(snippets, handle.schema)
    for name in names:
        field = handle.facts.mapping.field(name)
        if field is None or field.kind != "text":
            raise SchemaError(f"snippets are made of text columns, {name} is not indexed as text", column=name)
    return names
