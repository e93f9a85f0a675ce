"""How one split answers a question: `choose_access` is the one place where that is decided.

    predicate ─▶ partition values ─▶ footer ─▶ column look-up ─▶ index ─▶ scan
                      │                │             │             │        │
              NoRows, AllRows   NoRows, AllRows  RowNumbers   RowNumbers,  Scan
                                                              IndexQuery

The ladder goes down only as far as it must: each step costs more than the one before, and the first step that decides is the
last one taken. A search query is always asked of the index, if partition values and footer do not rule out every row.

`choose_access` reads nothing by itself. The split is handed in as `SplitFacts`, whose members open and read when they are used,
and the numbers that weigh one way against the other are `Costs`. Every access finds the same rows: the choice is one of speed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, Generic, Literal, Protocol, TypeAlias, TypeVar, assert_never

import pyarrow as pa

from indextables.core.predicate import FALSE, TRUE, Constant, Predicate, to_sql
from indextables.split.bundle.footer import Source
from indextables.split.index.doc_mapping import DocMapping
from indextables.split.index.row_numbers import RowNumberArray
from indextables.split.plan.costs import Costs
from indextables.split.plan.footer_facts import FooterFacts
from indextables.split.plan.index_cost import index_covers, index_finds_few
from indextables.split.plan.index_view import IndexView
from indextables.split.plan.predicate_plan import fold, plan_predicate, rows_worth_taking
from indextables.split.plan.row_sets import RowSet

Q = TypeVar("Q")
"""The type of search queries, of which this module needs to know nothing."""


class Purpose(Enum):
    """What the verb needs, as far as that changes the choice of access."""

    SCAN = "rows, by the fastest way"
    LOCATE = "row numbers, if they can be had without an index or a scan"
    COUNT = "the number of rows, so that the index may count them however many they are"
    AGGREGATE = "groups of rows, which an exact index query may count"


@dataclass(frozen=True, slots=True)
class NoRows:
    """No row of the split matches, as partition values or the footer show."""


@dataclass(frozen=True, slots=True)
class AllRows:
    """Every row of the split matches, as partition values or the footer show."""


@dataclass(frozen=True, slots=True, eq=False)
class RowNumbers:
    """All matching rows are among these rows, and are those of them for which the residual is true."""

    numbers: RowNumberArray
    """Row numbers, ascending."""
    residual: Predicate
    """The part of the predicate that has to be evaluated on the rows; TRUE if there is none."""
    found_by: Literal["column", "index", "footer"]
    """Where the row numbers come from."""


@dataclass(frozen=True, slots=True)
class IndexQuery(Generic[Q]):
    """The index answers: it finds the rows of `question`, and those for which the residual is true match."""

    question: RowSet | Q
    """A predicate as an exact row set, or a search query."""
    residual: Predicate
    """The predicate beside a search query; TRUE if there is none."""


@dataclass(frozen=True, slots=True)
class Scan:
    """All rows are read in their order, and those for which the residual is true match."""

    residual: Predicate


Access: TypeAlias = NoRows | AllRows | RowNumbers | IndexQuery[Q] | Scan
"""How one split answers one question."""

NO_ROWS: Final = NoRows()
ALL_ROWS: Final = AllRows()


class SplitFacts(Protocol):
    """What `choose_access` asks about one split, the cheapest first. A member may read from the store when it is used."""

    @property
    def partition_values(self) -> Mapping[str, pa.Scalar]:
        """The partition columns and their values. This needs no read."""

    @property
    def row_count(self) -> int:
        """The number of rows, from the footer."""

    @property
    def has_index(self) -> bool:
        """Whether the split has an index at all, from the footer."""

    @property
    def sources(self) -> Sequence[Source]:
        """The splits that this one was merged from, from the footer."""

    @property
    def footer_facts(self) -> FooterFacts:
        """Bounds and null counts, from the footer."""

    @property
    def mapping(self) -> DocMapping:
        """How the columns are indexed, from the footer."""

    def look_up(self, predicate: Predicate) -> tuple[RowNumberArray, Predicate] | None:
        """Rows from columns of numbers, and the residual. This may read a column. None: a look-up is not the way."""

    @property
    def index_is_open(self) -> bool:
        """Whether `open_index` costs nothing."""

    def open_index(self) -> IndexView:
        """The index, without the positions of words. This may be a download."""


def choose_access(
    split: SplitFacts,
    purpose: Purpose,
    predicate: Predicate,
    costs: Costs,
    query: Q | None = None,
    implied: Predicate = TRUE,
) -> Access[Q]:
    """The way in which a split answers for the rows for which `predicate` is true and that `query` finds.

    `implied` is a predicate that is true for every row that the query finds: the footer may rule the rows out by it.
    """
    remaining = undecided_predicate(split, predicate)
    if remaining is not TRUE and remaining == FALSE:
        return NO_ROWS
    if query is not None:
        if split.row_count == 0 or (implied is not TRUE and undecided_predicate(split, implied) == FALSE):
            return NO_ROWS
        return IndexQuery(query, remaining)
    if remaining == TRUE:
        return ALL_ROWS
    if purpose is not Purpose.AGGREGATE and split.row_count > costs.small_split_rows and split.has_index:
        looked_up = split.look_up(remaining)
        if looked_up is not None:
            few = not costs.are_picked_from_a_scan(len(looked_up[0]), split.row_count)
            return RowNumbers(*looked_up, "column") if few or purpose is Purpose.COUNT else Scan(remaining)
    if purpose is Purpose.LOCATE or not _index_is_worth_asking(split, remaining, costs):
        return Scan(remaining)
    return _by_index(split, purpose, remaining)


def _by_index(split: SplitFacts, purpose: Purpose, remaining: Predicate) -> RowNumbers | IndexQuery[Q] | Scan:
    view = split.open_index()
    plan = plan_predicate(remaining, view)
    match purpose:
        case Purpose.COUNT | Purpose.AGGREGATE if plan.exact:
            return IndexQuery(RowSet(plan.query, True, plan.at_most, share=plan.share), TRUE)
        case Purpose.AGGREGATE:
            return Scan(remaining)
        case Purpose.SCAN | Purpose.LOCATE | Purpose.COUNT:
            numbers = rows_worth_taking(plan, view, split.sources)
            return Scan(remaining) if numbers is None else RowNumbers(numbers, plan.residual, "index")
        case _:
            assert_never(purpose)


def undecided_predicate(split: SplitFacts, predicate: Predicate) -> Predicate:
    """The part of a predicate that partition values and footer leave undecided; TRUE or FALSE if they decide all of it."""
    folded = predicate if predicate is TRUE else fold(predicate, split.partition_values)
    if isinstance(folded, Constant):
        return folded
    return split.footer_facts.remaining_predicate(folded) if split.row_count else FALSE


def _index_is_worth_asking(split: SplitFacts, remaining: Predicate, costs: Costs) -> bool:
    """Whether the index can be expected to save more than opening it costs."""
    if not split.has_index or not index_covers(split.mapping, remaining):
        return False
    if costs.index_is_free or split.index_is_open:
        return True
    if split.row_count <= costs.small_split_rows:
        return False
    return index_finds_few(remaining, split.mapping, split.footer_facts, costs)


def describe(access: Access[Q]) -> str:
    """The access in one line of words, for people."""
    match access:
        case NoRows():
            return "no rows: partition values and footer rule out every row"
        case AllRows():
            return "all rows: partition values and footer show that every row matches"
        case RowNumbers():
            places = {"column": "by a column", "index": "by the index", "footer": "by the footer"}
            return f"{len(access.numbers)} rows by number, found {places[access.found_by]}{_filter(access.residual)}"
        case IndexQuery():
            if isinstance(access.question, RowSet):
                return f"an exact query of the index, at most {access.question.at_most} rows"
            return f"a search of the index{_filter(access.residual)}"
        case Scan():
            return f"a scan of all rows{_filter(access.residual)}"
        case _:
            assert_never(access)


def _filter(residual: Predicate) -> str:
    return "" if residual == TRUE else f", filtered by {to_sql(residual)}"


__all__ = [
    "ALL_ROWS",
    "NO_ROWS",
    "Access",
    "AllRows",
    "IndexQuery",
    "NoRows",
    "Purpose",
    "RowNumbers",
    "Scan",
    "SplitFacts",
    "choose_access",
    "describe",
    "undecided_predicate",
]
