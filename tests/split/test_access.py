"""`choose_access`: which way a split answers, from facts and costs alone; and that every way finds the same rows."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import predicate_data as data
from effort import examples
from indextables.core.predicate import FALSE, TRUE, Predicate, parse_predicate, to_sql
from indextables.core.types import arrow_to_spark_json
from indextables.split.bundle.footer import Footer, Source
from indextables.split.cache.index_cache import IndexCache
from indextables.split.index.doc_mapping import DocMapping, plan_mapping
from indextables.split.open_splits import OpenSplits, close_all, replaced_by
from indextables.split.plan.access import (
    Access,
    AllRows,
    IndexQuery,
    NoRows,
    Purpose,
    RowNumbers,
    Scan,
    choose_access,
    describe,
)
from indextables.split.plan.costs import COSTS, Costs
from indextables.split.plan.footer_facts import FooterFacts
from indextables.split.plan.index_view import IndexView
from indextables.split.plan.row_sets import RowSet
from indextables.split.query.bind import bind_query
from indextables.split.query.bound import Bound
from indextables.split.query.parse import parse_query
from indextables.split.reader import SplitReader
from split.bundle_support import assert_same
from split.reader_support import all_of_it, brute_force, write
from split.reader_support import reader as open_reader
from split.test_plan import build

SCHEMA = pa.schema([("id", pa.int64()), ("level", pa.string()), ("note", pa.decimal128(9, 2)), ("day", pa.date32())])
ROWS = 20_000
ANY = list(Purpose)


@dataclass
class Facts:
    """A split of 20,000 rows that exists as facts only, and notes which of them were asked for."""

    index: IndexView | None = None
    found: tuple[list[int], Predicate] | None = None
    opened: bool = False
    rows: int = ROWS
    has_index: bool = True
    used: list[str] = field(default_factory=list)
    sources: Sequence[Source] = ()

    @property
    def partition_values(self) -> Mapping[str, pa.Scalar]:
        return {"day": pa.scalar(19_000, pa.int32()).cast(pa.date32())}

    @property
    def row_count(self) -> int:
        return self._footer.rows

    @property
    def footer_facts(self) -> FooterFacts:
        return FooterFacts(self._footer, {"note": pa.scalar(None, pa.decimal128(9, 2))})

    @property
    def mapping(self) -> DocMapping:
        return plan_mapping(SCHEMA, ("day",), {})

    @property
    def index_is_open(self) -> bool:
        return self.opened

    def look_up(self, predicate: Predicate) -> tuple[Any, Predicate] | None:
        self._use(f"look up {to_sql(predicate)}")
        return None if self.found is None else (np.array(self.found[0], np.int64), self.found[1])

    def open_index(self) -> IndexView:
        self._use("index")
        assert self.index is not None
        return self.index

    @property
    def _footer(self) -> Footer:
        self._use("footer")
        return Footer(
            rows=self.rows,
            schema=arrow_to_spark_json(SCHEMA),
            doc_mapping="",
            min_values={"id": "0", "level": "DEBUG"},
            max_values={"id": str(ROWS - 1), "level": "WARN"},
            null_counts={"id": 0, "level": 0},
            format=1,
            rows_length=0,
            page_size=1,
            pages=b"",
            parts=(),
            index=(),
        )

    def _use(self, what: str) -> None:
        if what not in self.used:
            self.used.append(what)


def predicate(text: str) -> Predicate:
    return parse_predicate(text, SCHEMA)


def choose(facts: Facts, purpose: Purpose, where: str | Predicate, costs: Costs = COSTS, **more: Any) -> Access[str]:
    return choose_access(facts, purpose, predicate(where) if isinstance(where, str) else where, costs, **more)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> IndexView:
    levels = np.where(np.arange(ROWS) % 100 == 0, "ERROR", "INFO")
    table = pa.table({"id": np.arange(ROWS), "level": levels})
    return build(tmp_path_factory.mktemp("index"), [table]).view


@pytest.mark.parametrize("purpose", ANY)
class TestWithoutRows:
    def test_partition_values_decide_without_a_read(self, purpose: Purpose) -> None:
        facts = Facts()
        assert choose(facts, purpose, "day = DATE '1999-01-01'") == NoRows()
        assert choose(facts, purpose, "day = DATE '2022-01-08' OR id = 3") == AllRows()
        assert choose(facts, purpose, TRUE) == AllRows()
        assert choose(facts, purpose, FALSE) == NoRows()
        assert facts.used == []

    def test_the_footer_decides_without_rows_or_index(self, purpose: Purpose) -> None:
        facts = Facts()
        assert choose(facts, purpose, "id < 0") == NoRows()
        assert choose(facts, purpose, "id >= 0") == AllRows()
        assert choose(facts, purpose, "note = 1") == NoRows(), "a column that came later is null"
        assert choose(Facts(rows=0), purpose, "id = 3") == NoRows()
        assert facts.used == ["footer"]


class TestColumns:
    """Rows that were looked up in a column."""

    few = ([1, 2, 3], TRUE)
    many = (list(range(ROWS // 2)), TRUE)

    @pytest.mark.parametrize("purpose", [Purpose.SCAN, Purpose.LOCATE, Purpose.COUNT])
    def test_few_rows(self, purpose: Purpose) -> None:
        facts = Facts(found=self.few)
        access = choose(facts, purpose, "id BETWEEN 1 AND 3 AND day = DATE '2022-01-08'")
        assert isinstance(access, RowNumbers)
        assert (access.numbers.tolist(), access.residual, access.found_by) == ([1, 2, 3], TRUE, "column")
        assert facts.used == ["footer", "look up `id` >= 1 AND `id` <= 3"]

    def test_many_rows_are_counted_by_their_numbers_and_read_by_a_scan(self) -> None:
        facts = Facts(found=self.many, opened=True)
        assert isinstance(choose(facts, Purpose.COUNT, "id < 10000"), RowNumbers)
        assert choose(facts, Purpose.SCAN, "id < 10000") == Scan(predicate("id < 10000"))
        assert choose(facts, Purpose.LOCATE, "id < 10000") == Scan(predicate("id < 10000"))
        assert "index" not in facts.used
        assert isinstance(choose(facts, Purpose.SCAN, "id < 10000", replace(COSTS, most_share=0.5)), RowNumbers)

    @pytest.mark.parametrize("facts", [Facts(rows=8192, found=few), Facts(has_index=False, found=few)])
    def test_small_splits_and_those_without_an_index_are_scanned(self, facts: Facts) -> None:
        for purpose in ANY:
            assert choose(facts, purpose, "id = 3") == Scan(predicate("id = 3"))
        assert facts.used == ["footer"]

    def test_an_aggregate_looks_up_nothing(self) -> None:
        facts = Facts(found=self.few)
        choose(facts, Purpose.AGGREGATE, "id > 3")
        assert facts.used == ["footer"]


class TestIndex:
    def test_finds_few_rows(self, index: IndexView) -> None:
        access = choose(Facts(index), Purpose.SCAN, "level = 'ERROR' AND note IS NULL")
        assert isinstance(access, RowNumbers)
        assert access.numbers.tolist() == list(range(0, ROWS, 100))
        assert (access.residual, access.found_by) == (TRUE, "index")

    def test_counts_and_groups_however_many_rows_it_finds(self, index: IndexView) -> None:
        facts = Facts(index, opened=True)
        for purpose in (Purpose.COUNT, Purpose.AGGREGATE):
            access = choose(facts, purpose, "level = 'INFO'")
            assert isinstance(access, IndexQuery)
            assert isinstance(access.question, RowSet)
            assert access.question.exact
        assert choose(facts, Purpose.SCAN, "level = 'INFO'") == Scan(predicate("level = 'INFO'"))

    def test_is_not_opened_to_locate_rows(self) -> None:
        facts = Facts(opened=True)
        assert choose(facts, Purpose.LOCATE, "level = 'ERROR'") == Scan(predicate("level = 'ERROR'"))
        assert "index" not in facts.used

    def test_is_not_opened_where_it_probably_finds_many_rows(self, index: IndexView) -> None:
        facts = Facts(index)
        assert choose(facts, Purpose.COUNT, "level <> 'INFO'") == Scan(predicate("level <> 'INFO'"))
        assert "index" not in facts.used
        assert isinstance(
            choose(facts, Purpose.COUNT, "level <> 'INFO'", replace(COSTS, index_is_free=True)), IndexQuery
        )
        assert isinstance(choose(Facts(index, opened=True), Purpose.COUNT, "level <> 'INFO'"), IndexQuery)

    def test_a_predicate_beside_it_is_the_residual(self, index: IndexView) -> None:
        less = replace(
            index, inexact=frozenset({"id"}), mapping=replace(index.mapping, fields=index.mapping.fields[1:])
        )
        access = choose(Facts(less), Purpose.COUNT, "level = 'ERROR' AND id <> 300")
        assert isinstance(access, RowNumbers)
        assert to_sql(access.residual) == "`id` <> 300"


class TestQueries:
    """A search query is always asked of the index."""

    @pytest.mark.parametrize("purpose", ANY)
    def test_whatever_the_purpose_and_the_size(self, purpose: Purpose) -> None:
        facts = Facts(rows=1)
        assert choose(facts, purpose, TRUE, query="disk") == IndexQuery("disk", TRUE)
        assert choose(facts, purpose, "id = 3", query="disk") == IndexQuery("disk", predicate("id = 3"))
        assert facts.used == ["footer"]

    def test_unless_no_row_can_match(self) -> None:
        assert choose(Facts(), Purpose.SCAN, "id < 0", query="disk") == NoRows()
        assert choose(Facts(), Purpose.SCAN, TRUE, query="disk", implied=predicate("id < 0")) == NoRows()
        assert choose(Facts(rows=0), Purpose.SCAN, TRUE, query="disk") == NoRows()


def test_describe() -> None:
    numbers = np.arange(3)
    lines = {
        describe(NoRows()): "no rows: partition values and footer rule out every row",
        describe(AllRows()): "all rows: partition values and footer show that every row matches",
        describe(RowNumbers(numbers, TRUE, "column")): "3 rows by number, found by a column",
        describe(
            RowNumbers(numbers, predicate("id = 1"), "index")
        ): "3 rows by number, found by the index, filtered by `id` = 1",
        describe(IndexQuery(RowSet(None, True, 7), TRUE)): "an exact query of the index, at most 7 rows",
        describe(IndexQuery("disk", predicate("id = 1"))): "a search of the index, filtered by `id` = 1",
        describe(Scan(predicate("id = 1"))): "a scan of all rows, filtered by `id` = 1",
    }
    assert [said for said, wanted in lines.items() if said != wanted] == []


@st.composite
def any_costs(draw: st.DrawFn) -> Costs:
    """Costs that make every way likely, sensible or not."""
    share = st.sampled_from([0.0, 0.01, 0.25, 0.6, 1.0])
    number = st.sampled_from([0, 1, 3, 1000])
    return Costs(
        small_split_rows=draw(st.sampled_from([-1, -1, 8, 8192])),
        index_is_free=draw(st.booleans()),
        most_share=draw(share),
        few_rows=draw(number),
        hopeless_times=draw(st.sampled_from([0.0, 2.0, 100.0])),
        count_first_times=draw(st.sampled_from([0.0, 0.1, 100.0])),
        scan_batch_bytes=draw(st.sampled_from([1, 1 << 26])),
        least_batch_rows=draw(st.sampled_from([1, 5, 256])),
        lookup_bytes=draw(st.sampled_from([0, 1 << 27])),
        lookup_few_rows=draw(number),
        lookup_share=draw(share),
        most_ranges=draw(st.sampled_from([1, 2, 4])),
        most_scans=draw(number),
        listed_terms=draw(number),
        counted_terms=draw(number),
        longest_prefix=draw(st.sampled_from([1, 100])),
        most_words=draw(st.sampled_from([1, 8])),
        most_share_between=draw(share),
        assumed_prefix_share=draw(share),
        assumed_range_share=draw(share),
        assumed_present_share=draw(share),
        most_assumed_share=draw(share),
    )


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> IndexCache:
    return IndexCache(tmp_path_factory.mktemp("cache"), 1 << 30)


@given(source=st.data())
@settings(max_examples=examples(15), deadline=None, suppress_health_check=list(HealthCheck))
def test_every_access_finds_the_same_rows(cache: IndexCache, source: st.DataObject) -> None:
    """Whatever the costs, scan, count and locate agree with the predicate evaluated on plain rows."""
    names = ["id", "score", "text", "at", "tiny", "flag"]
    rows = source.draw(data.rows(names, max_size=30))
    table = data.to_table(rows, names)
    predicates = source.draw(st.lists(data.predicates(names, rows), min_size=6, max_size=6))
    properties = source.draw(st.sampled_from([{}, {"spark.indextables.indexing.lookupfields": "id,score"}]))
    with tempfile.TemporaryDirectory() as folder:
        key, sealed = write(Path(folder), table, properties, batch_rows=7)
        for _ in range(3):
            opened = OpenSplits(source.draw(any_costs()))
            split = open_reader(Path(folder), key, sealed, table.schema, cache, opened=opened)
            for each in predicates:
                expected = brute_force(table, each)
                assert_same(all_of_it(split, table.schema, each), expected)
                assert split.count(each) == expected.num_rows, describe(split.access(Purpose.COUNT, each))
                located = split.locate(each, None)
                if located is not None:
                    assert_same(pa.Table.from_batches(split.rows(table.schema.names, located), table.schema), expected)


class TestKeptSearches:
    """The same question to the same split is planned once, and no more searches are kept than a few."""

    schema = pa.schema([("id", pa.int64()), ("text", pa.string())])

    @pytest.fixture
    def split(self, tmp_path: Path, cache: IndexCache) -> SplitReader:
        rows = pa.table({"id": range(50), "text": [f"disk {n % 5}" for n in range(50)]}, self.schema)
        mapping = {"spark.indextables.indexing.typemap.text": "text"}
        return open_reader(tmp_path, *write(tmp_path, rows, mapping), self.schema, cache, opened=OpenSplits())

    def bound(self, text: str) -> Bound:
        mapping = plan_mapping(self.schema, (), {"spark.indextables.indexing.typemap.text": "text"})
        return bind_query(parse_query(text), text, self.schema, mapping)

    def test_equal_questions_have_one_access(self, split: SplitReader) -> None:
        where = parse_predicate("id < 10", self.schema)
        first = split.access(Purpose.COUNT, where, self.bound("disk AND 3"))
        assert split.count(where, self.bound("disk AND 3")) == 2
        assert split.access(Purpose.SCAN, parse_predicate("id < 10", self.schema), self.bound("disk AND 3")) is first
        assert split.access(Purpose.SCAN, None, self.bound("disk AND 3")) is not first
        assert describe(first) == "a search of the index, filtered by `id` < 10"

    def test_other_costs_are_planned_anew(self, split: SplitReader) -> None:
        query = self.bound("disk")
        first = split.access(Purpose.SCAN, None, query)
        with replaced_by(OpenSplits()):
            other = open_reader(split.parts.store, split.key, None, self.schema, split.parts.cache)
            assert other.access(Purpose.SCAN, None, query) is not first
            again = other.access(Purpose.SCAN, None, query)
            close_all()
            assert other.access(Purpose.SCAN, None, query) is not again
            assert other.count(None, query) == 50

    def test_a_few_are_kept(self, split: SplitReader) -> None:
        for _ in range(2):
            for limit in range(12):
                where = parse_predicate(f"id < {limit}", self.schema)
                assert split.count(where, self.bound("disk")) == limit
                assert len(split.hits(where, self.bound("disk"), 100).scores) == limit
                assert len(split.parts.searches) <= 4

    def test_long_lists_are_not_kept(self, split: SplitReader) -> None:
        """Each reader would have a list of its own."""
        for values in (256, 257):
            where = parse_predicate(f"id IN ({', '.join(map(str, range(values)))})", self.schema)
            for _ in range(2):
                assert split.count(where, self.bound(f"disk AND {values % 5}")) == 10
            assert len(split.parts.searches) == 1
