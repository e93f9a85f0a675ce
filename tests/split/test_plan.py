"""Plans against brute force: a plan loses no row, its residual leaves none too many, and what it calls exact is."""

from __future__ import annotations

import itertools
import math
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import tantivy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import predicate_data as data
from effort import EFFORT, examples
from indextables.core.errors import CorruptSplit, SplitError
from indextables.core.predicate import (
    FALSE,
    NULL,
    TRUE,
    And,
    Column,
    Comparison,
    In,
    IsNotNull,
    IsNull,
    Like,
    Literal,
    Not,
    Or,
    Predicate,
    columns_of,
    compare,
    evaluate,
    like,
    member,
)
from indextables.split.build.statistics import Statistics
from indextables.split.bundle.footer import Source
from indextables.split.index.doc_mapping import DocMapping, plan_mapping
from indextables.split.index.index_files import IndexBuilder, open_index
from indextables.split.index.index_merge import merge_indexes
from indextables.split.index.row_numbers import count_of, few_rows_of, rows_of
from indextables.split.plan.costs import COSTS
from indextables.split.plan.index_view import IndexView
from indextables.split.plan.predicate_plan import IndexPlan, fold, plan_predicate, rows_worth_taking

PREFIX = "spark.indextables.indexing."
HEAP = 15_000_000
NAMES = ["tiny", "id", "ratio", "score", "flag", "text", "day", "at", "local"]
LOOKUP = {PREFIX + "lookupfields": ",".join(name for name in NAMES if name != "text"), PREFIX + "fastfields": "text"}


@dataclass(frozen=True)
class Built:
    """An index and the rows it was made of."""

    table: pa.Table
    view: IndexView
    sources: tuple[Source, ...]

    def plan(self, predicate: Predicate) -> IndexPlan:
        return plan_predicate(predicate, self.view)

    def rows(self, plan: IndexPlan) -> list[int]:
        return rows_of(self.view.searcher, plan.query, self.sources, split="s").tolist()

    def check(self, predicate: Predicate) -> IndexPlan:
        """The plan, after it was found to be right."""
        plan = self.plan(predicate)
        rows = self.rows(plan)
        wanted = true_rows(predicate, self.table)
        assert set(wanted) <= set(rows), f"lost {set(wanted) - set(rows)}: {predicate}"
        assert not plan.exact or rows == wanted, f"not exact, {set(rows) - set(wanted)} too many: {predicate}"
        left = true_rows(plan.residual, self.table.take(pa.array(rows, pa.int64())))
        assert [rows[place] for place in left] == wanted, f"the residual is {plan.residual}: {predicate}"
        assert count_of(self.view.searcher, plan.query, split="s") == len(rows) <= plan.at_most
        return plan

    def costing(self, **changed: Any) -> Built:
        """The same index under other costs."""
        return replace(self, view=replace(self.view, costs=replace(self.view.costs, **changed)))

    def knowing_less(self) -> Built:
        """The same without what the footer may or may not say."""
        return replace(self, view=replace(self.view, null_counts={}, bounds={}))


def true_rows(predicate: Predicate, table: pa.Table) -> list[int]:
    true = pc.fill_null(evaluate(predicate, table), False)
    return np.flatnonzero(true.to_numpy()).tolist()


def build(
    folder: Path, tables: list[pa.Table], properties: dict[str, str] | None = None, native: bool = False
) -> Built:
    """An index of all the tables, one source each."""
    table = pa.concat_tables(tables)
    mapping = plan_mapping(table.schema, (), properties or {})
    inexact: set[str] = set()
    sources, folders, first = [], [], 0
    for number, part in enumerate(tables):
        source = (-1) ** number * (2**62 + number)
        folders.append(folder / f"part{number}")
        builder = IndexBuilder(folders[-1], mapping, part.schema, source=source, heap=HEAP)
        for batch in part.to_batches():
            builder.add(batch)
        inexact |= builder.finish().inexact
        sources.append(Source(source, first, part.num_rows))
        first += part.num_rows
    if len(folders) > 1:
        merge_indexes(folder / "merged", folders, mapping, native=native, heap=HEAP)
        folders.append(folder / "merged")
    return opened(folders[-1], table, mapping, frozenset(inexact), tuple(sources))


def opened(
    folder: Path, table: pa.Table, mapping: DocMapping, inexact: frozenset[str], sources: tuple[Source, ...]
) -> Built:
    index = open_index(folder, mapping)
    statistics = Statistics(table.schema, length=20)
    for batch in table.to_batches():
        statistics.add(batch)
    found = statistics.finish()
    bounds = {name: (low, found.max_values[name]) for name, low in found.min_values.items() if name in found.max_values}
    view = IndexView(index.schema, index.searcher(), mapping, "s", inexact, found.null_counts, bounds)
    return Built(table, view, sources if len(sources) > 1 else ())


def pool_table(finite: bool = False) -> pa.Table:
    """Every value of the pools, and nulls; with numbers only, if wanted."""
    pools = {name: [v for v in data.POOLS[name] if not finite or _is_number(v)] for name in NAMES}
    length = max(len(pool) for pool in pools.values()) + 3
    rows = [{name: (pool + [None] * length)[(3 * n) % length] for name, pool in pools.items()} for n in range(length)]
    rows += [{name: pool[n % len(pool)] for name, pool in pools.items()} for n in range(length)]
    return data.to_table(rows, NAMES)


def _is_number(value: Any) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def pool_leaves(names: list[str] = NAMES) -> Iterator[Predicate]:
    """Every leaf that the values of the pools make, and its negation."""
    seen = data.seen_literals([{name: value} for name in names for value in data.POOLS[name]])
    for name in names:
        column, values = data.column(name), list(dict.fromkeys([*seen[name], *_between(name)]))
        leaves: list[Predicate] = [IsNull(column), IsNotNull(column)]
        leaves += [compare(column, op, value) for op in data.OPS for value in values]
        leaves += [member(column, pair) for pair in itertools.combinations([*values, None], 2)]
        leaves += [member(column, values[:n]) for n in (3, 5, 6, 9)]
        spans = itertools.product(((">", "<="), (">=", "<")), values[::2], values[1::3])
        leaves += [And((compare(column, a, low), compare(column, b, high))) for (a, b), low, high in spans]
        if name == "text":
            patterns = [
                "",
                "a",
                "a%",
                "ab%",
                "ab😀%",
                "%",
                "%b",
                "%b%",
                "a_",
                "_",
                "a%c",
                "\\%%",
                "中%",
                "a" * 33 + "%",
            ]
            leaves += [like(column, pattern) for pattern in patterns]
        yield from leaves
        yield from (Not(leaf) for leaf in leaves)


def _between(name: str) -> list[Any]:
    return {
        "id": [5, 1.5, 2**64],
        "score": [0.5, -2.0, 5e-324, 1.7976931348623157e308],
        "text": ["zz", "aa", "b\0"],
    }.get(name, [])


@pytest.fixture(scope="module", params=["plain", "lookup", "plain, finite", "lookup, finite"])
def pool(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Built:
    properties = LOOKUP if "lookup" in request.param else {}
    return build(tmp_path_factory.mktemp("pool"), [pool_table("finite" in request.param)], properties)


@pytest.mark.parametrize("few_terms", [0, 1000])
def test_every_leaf_agrees_with_brute_force(pool: Built, few_terms: int) -> None:
    pool = pool.costing(listed_terms=few_terms)
    some = slice(None) if EFFORT > 1 else slice(few_terms % 3, None, 3)
    for number, leaf in enumerate(list(pool_leaves())[some]):
        (pool if number % 2 else pool.knowing_less()).check(leaf)


def test_numbers_are_answered_exactly(pool: Built) -> None:
    numbers = ["tiny", "id", "flag", "day", "at", "local"]
    exact = [pool.plan(leaf).exact for leaf in pool_leaves(numbers)]
    if any(field.indexed for field in pool.view.mapping.fields if field.kind == "i64"):
        assert all(exact)
    assert sum(exact) > 0.97 * len(exact)  # long lists on fields that are only fast are bounds


def test_doubles_are_answered_exactly_where_no_row_can_be_missing(pool: Built) -> None:
    column = data.column("score")
    between = And((compare(column, ">=", -1.0), compare(column, "<", 1.0)))
    assert pool.check(between).exact
    assert pool.check(compare(column, "=", 0.0)).exact
    assert pool.check(member(column, [0.1, -1.0])).exact
    clean = "score" not in pool.view.inexact
    assert pool.check(compare(column, ">", 0.0)).exact is clean
    assert pool.check(compare(column, "<>", 0.0)).exact is clean
    assert pool.check(compare(column, "=", math.nan)).exact is clean
    assert pool.check(compare(column, "<", math.inf)).exact is clean


def test_strings_with_few_terms_are_answered_exactly(pool: Built) -> None:
    assert all(pool.check(leaf).exact for leaf in pool_leaves(["text"]))


def test_wide_dictionaries_are_asked_for_points_and_prefixes_only(pool: Built) -> None:
    pool = pool.costing(listed_terms=0)
    column = data.column("text")
    for leaf in (compare(column, "=", "ab"), member(column, ["ab", "b"]), like(column, "ab%"), like(column, "ab")):
        plan = pool.check(leaf)
        assert plan.exact
        assert plan.query is not None
    for leaf in (compare(column, "<", "ab"), like(column, "%b"), compare(column, ">=", "b")):
        assert pool.check(leaf).query is None
    between = pool.check(And((compare(column, ">=", "ab"), compare(column, "<=", "abc"))))
    assert between.query is not None
    assert not between.exact
    other = pool.check(compare(column, "<>", "ab"))
    assert other.query is not None
    assert other.exact is next(field.fast for field in pool.view.mapping.fields if field.column == "text")


@given(st.data())
@settings(max_examples=examples(15), deadline=None, suppress_health_check=list(HealthCheck))
def test_random_tables_and_predicates(source: st.DataObject) -> None:
    rows = source.draw(data.rows(NAMES, max_size=30))
    cuts = sorted(source.draw(st.lists(st.integers(0, len(rows)), max_size=2)))
    pieces = [rows[a:b] for a, b in itertools.pairwise([0, *cuts, len(rows)])]
    properties = source.draw(st.sampled_from([{}, LOOKUP]))
    predicates = source.draw(st.lists(data.predicates(NAMES, rows), min_size=15, max_size=15))
    with tempfile.TemporaryDirectory() as folder:
        built = build(Path(folder), [data.to_table(piece, NAMES) for piece in pieces], properties)
        for predicate in predicates:
            costing = built.costing(listed_terms=source.draw(st.sampled_from([0, 1000])))
            costing.check(predicate)
            costing.knowing_less().check(predicate)


def test_doubles_of_every_size_are_found_by_equality(tmp_path: Path) -> None:
    bits = np.random.default_rng(5).integers(-(2**63), 2**63 - 1, 3000)
    doubles = [*bits.view(np.float64), *np.random.default_rng(6).random(3000), 5e-324, 1.7976931348623157e308, -0.0]
    values = [value for value in doubles if math.isfinite(value)]
    built = build(tmp_path, [pa.table({"score": pa.array(values, pa.float64())})])
    column = data.column("score")
    for value in values[::40] + values[-3:]:
        assert built.check(compare(column, "=", float(value))).exact
        assert built.check(compare(column, ">", float(value))).exact


def test_a_merged_index_finds_the_rows_of_all_its_sources(tmp_path: Path) -> None:
    table = pool_table()
    for native, count in ((False, 3), (True, 9)):
        pieces = [table.slice(n * 4, 4) for n in range(count)]
        built = build(tmp_path / str(native), pieces, native=native)
        assert len(built.sources) == count
        assert built.view.searcher.num_segments == (1 if native else count)
        for leaf in itertools.islice(pool_leaves(), 0, None, 23):
            built.check(leaf)


def test_ranges_on_one_column_become_one(pool: Built) -> None:
    column, other = data.column("id"), data.column("at")
    parts = (compare(column, ">=", -1), IsNotNull(column), compare(column, "<", 2**53), compare(column, ">", -5))
    assert repr(pool.check(And(parts)).query).count("RangeQuery") == 1
    assert "Exists" not in repr(pool.check(And(parts)).query)
    assert "Exists" in repr(pool.check(And((*parts, IsNotNull(other)))).query)
    assert pool.check(And((compare(column, "=", 1), compare(column, "=", 2)))).at_most == 0
    wanted = Or(tuple(compare(column, "=", value) for value in range(-1, 3)))
    assert pool.check(wanted).exact
    assert repr(pool.check(wanted).query).count("RangeQuery") <= 1


def test_long_lists_on_fast_fields_are_few_ranges_around_them(tmp_path: Path) -> None:
    built = build(tmp_path, [pa.table({"id": pa.array(range(500), pa.int64())})])
    column = data.column("id")
    clustered = [*range(10), 100, 103, *range(400, 420), 499]
    assert built.check(member(column, range(0, 500, 7))).query is None
    assert built.knowing_less().check(member(column, range(0, 500, 7))).query is not None
    plan = built.check(member(column, clustered))
    assert repr(plan.query).count("RangeQuery") == COSTS.most_ranges
    assert not plan.exact
    assert len(built.rows(plan)) == len(clustered) + 2
    many = Or(tuple(And((compare(column, ">", n * 20), compare(column, "<", n * 20 + 3))) for n in range(20)))
    assert built.check(many).query is None
    assert built.check(Or(many.children[:5])).exact


def test_what_must_hold_without_the_index_is_left_over(pool: Built) -> None:
    hit, miss = compare(data.column("id"), "=", 1), compare(data.column("text"), "<", "b")
    raw = Comparison("=", Column(("price",), pa.int64()), Literal(1, pa.int64()))
    assert pool.plan(And((hit, raw))).residual == raw
    assert pool.plan(And((hit, raw, miss))).residual == raw
    assert pool.plan(Or((hit, raw))).residual == Or((hit, raw))
    assert pool.plan(Or((hit, raw))).query is None
    assert pool.plan(And((FALSE, raw))) == pool.plan(NULL) == pool.plan(FALSE)
    assert pool.plan(TRUE).exact
    assert pool.plan(TRUE).query is None
    assert pool.plan(Not(In(data.column("id"), (Literal(1, pa.int64()),), has_null=True))).at_most == 0


def test_strings_that_are_too_long_for_a_term(tmp_path: Path) -> None:
    texts = ["a" * 65_530, "a" * 65_531, "é" * 40_000, "a", "", None, "b"]
    built = build(tmp_path, [pa.table({"text": texts})])
    column = data.column("text")
    assert built.view.inexact == {"text"}
    for few_terms in (0, 1000):
        built = built.costing(listed_terms=few_terms)
        for text in (*texts[:5], "b", "c", "é" * 39_000, "a" * 70_000):
            for op in data.OPS:
                built.check(compare(column, op, text))
            built.check(like(column, f"{text}%"))
            built.check(Not(like(column, f"{text}%")))
        assert built.check(compare(column, "=", "a")).exact
        assert built.check(compare(column, "=", "a" * 65_530)).exact
        assert built.check(compare(column, "=", "a" * 65_531)).query is None
        assert built.check(compare(column, "<>", "a")).query is not None
        built.check(IsNull(column))
    short = build(tmp_path / "short", [pa.table({"text": texts[3:]})])
    assert short.check(compare(column, "=", "a" * 65_531)).at_most == 0


def test_a_prefix_that_all_rows_have_is_not_looked_up(tmp_path: Path) -> None:
    built = build(tmp_path, [pa.table({"text": ["user-1", "user-22", "user-3"]})]).costing(listed_terms=0)
    bounded, built = (
        replace(built, view=replace(built.view, bounds={"text": ("user-1", "user-4")})),
        built.knowing_less(),
    )
    column = data.column("text")
    assert bounded.check(like(column, "user-%")).query is None
    assert bounded.check(like(column, "user-%")).exact
    assert bounded.check(like(column, "user-_%")).query is None
    assert not bounded.check(like(column, "user-_%")).exact
    assert bounded.check(like(column, "user-2%")).query is not None
    assert built.check(like(column, "user-%")).query is not None
    assert bounded.check(Not(like(column, "user-%"))).at_most == 0


def test_a_prefix_longer_than_is_looked_up(tmp_path: Path) -> None:
    built = build(tmp_path, [pa.table({"text": ["é" * 100 + "a", "é" * 100 + "b", "é" * 99, "é"]})]).costing(
        listed_terms=0
    )
    assert not built.check(like(data.column("text"), "é" * 100 + "a%")).exact
    assert built.check(like(data.column("text"), "é" * 100 + "%")).exact


WORDS = [
    "Connection refused by HOST-7",
    "refused",
    "connection",
    "",
    None,
    "the host refused a connection, twice",
    "ΟΔΟΣ x",
]
WORDS += ["x" * 300, "x" * 300 + " refused", "running runs", "ran", "a" * 255, "connection  refused  by"]


@pytest.mark.parametrize("tokenizer", ["default", "whitespace", "raw", "en_stem", "german"])
def test_text_columns_are_bounded_by_their_words(tmp_path: Path, tokenizer: str) -> None:
    properties = {PREFIX + "typemap.words": "text", PREFIX + f"tokenizer.{tokenizer}": "words"}
    built = build(tmp_path, [pa.table({"words": WORDS})], properties)
    column = Column(("words",), pa.string())
    for value in [*filter(None, WORDS), "", "host", "refused by"]:
        for op in data.OPS:
            built.check(compare(column, op, value))
        built.check(member(column, [value, "refused"]))
        built.check(Not(member(column, [value, "refused"])))
        for pattern in (value, value + "%", "%" + value, f"%{value}%", f"%{value[:5]}_{value[6:]}", f"% {value} %"):
            built.check(like(column, pattern))
            built.check(Not(like(column, pattern)))
    assert built.check(compare(column, "=", "connection")).query is not None
    assert built.check(compare(column, "=", "nowhere")).at_most == 0
    assert built.check(compare(column, "=", "x" * 300)).query is None
    if tokenizer != "raw":
        assert built.check(like(column, "%host twice%")).query is None
        assert built.check(like(column, "%host refused a%")).at_most == 5
        assert built.check(like(column, "%host nowhere a%")).at_most == 0
        assert built.check(like(column, "Connection ref%")).at_most <= 4
        assert built.check(like(column, "%refused%")).query is None


def test_addresses_are_found_whatever_their_text(tmp_path: Path) -> None:
    texts = ["10.0.0.1", "::ffff:10.0.0.1", "2001:db8::1", "2001:0DB8::0:1", None, "::1"]
    for number, extra in enumerate([[], ["no address", "fe80::1%eth0"]]):
        properties = {PREFIX + "typemap.address": "ip"}
        built = build(tmp_path / str(number), [pa.table({"address": texts + extra})], properties)
        column = Column(("address",), pa.string())
        for value in [*filter(None, texts), "no address", "fe80::1%eth0", "010.0.0.1", " ::1", "10.0.0.9"]:
            for op in data.OPS:
                built.check(compare(column, op, value))
            built.check(member(column, [value, "::1"]))
            built.check(Not(member(column, [value, "::1"])))
            built.check(like(column, value[:3] + "%"))
        assert built.check(compare(column, "=", "2001:db8::1")).at_most == 2
        assert (built.check(compare(column, "=", "no address")).query is None) is bool(extra)
        built.check(IsNull(column))
        built.check(IsNotNull(column))


def test_arrays_and_structs(tmp_path: Path) -> None:
    user = pa.struct([("name", pa.string()), ("n", pa.int64()), ("when", pa.date32()), ("a.b", pa.string())])
    rows = [
        {"name": "Alice Smith", "n": 1, "when": 5, "a.b": "x"},
        {"name": "2024-01-01T00:00:00Z", "n": -(2**63), "a.b": "y"},
        {"name": None, "n": 2**63 - 1},
        None,
        {"name": "", "n": 0},
        {"name": "alice", "n": 1},
    ]
    table = pa.table(
        {
            "user": pa.array([None if row is None else dict(row) for row in rows], user),
            "tags": pa.array([["a"], [], None, [None], ["a", "b"], None], pa.list_(pa.string())),
            "counts": pa.array([[1], [], None, [None], [1, 2], None], pa.list_(pa.int64())),
        }
    )
    built = build(tmp_path, [table])
    for known in (built, built.knowing_less()):
        for name, arrow in (
            ("user", user),
            ("tags", table.schema.field("tags").type),
            ("counts", pa.list_(pa.int64())),
        ):
            known.check(IsNull(Column((name,), arrow)))
            known.check(IsNotNull(Column((name,), arrow)))
        names, numbers = Column(("user", "name"), pa.string()), Column(("user", "n"), pa.int64())
        for value in ("Alice Smith", "2024-01-01T00:00:00Z", "", "alice", "ALICE", "2024"):
            for op in data.OPS:
                known.check(compare(names, op, value))
                known.check(compare(Column(("user", "a.b"), pa.string()), op, value))
            known.check(like(names, value[:3] + "%"))
        for number in (1, 0, 7, 2**63 - 1, -(2**63)):
            for op in data.OPS:
                known.check(compare(numbers, op, number))
            known.check(member(numbers, [number, 1]))
        known.check(compare(Column(("user", "when"), pa.date32()), "=", "1970-01-06"))
        known.check(IsNull(names))
        known.check(Not(compare(names, "<=>", "alice")))
    assert built.check(compare(names, "=", "Alice Smith")).at_most == 1
    assert built.check(compare(numbers, "=", 7)).at_most == 0
    assert built.knowing_less().check(IsNull(Column(("counts",), pa.list_(pa.int64())))).query is not None


def test_constant_columns_are_folded_away(pool: Built) -> None:
    day, added = Column(("date",), pa.date32()), Column(("added", "x"), pa.int64())
    constants = {
        "date": pa.scalar(19_000, pa.date32()),
        "added": pa.scalar(None, pa.struct([("x", pa.int64())])),
        "late": pa.scalar(2**63 - 1, pa.timestamp("us", "UTC")),
    }
    late = compare(Column(("late",), pa.timestamp("us", "UTC")), ">", "2024-01-01")
    hit = compare(data.column("id"), "=", 1)
    cases = {
        And((hit, compare(day, "=", "2022-01-08"))): hit,
        And((hit, compare(day, "<>", "2022-01-08"))): FALSE,
        Or((hit, compare(added, "=", 1))): hit,
        Or((hit, Not(compare(added, "=", 1)))): hit,
        Or((hit, IsNull(added))): TRUE,
        Not(Or((Not(hit), NULL))): FALSE,
        Not(Or((Not(hit), Not(late)))): hit,
        Not(compare(added, "<=>", 1)): TRUE,
        Not(member(added, [1])): FALSE,
    }
    for predicate, wanted in cases.items():
        assert fold(predicate, constants) == wanted, predicate
        plan = plan_predicate(predicate, pool.view, constants)
        assert {column.name for column in columns_of(plan.residual)} <= {"id"}
        assert plan.exact
    assert plan_predicate(FALSE, pool.view).at_most == 0


def test_an_index_without_rows(tmp_path: Path) -> None:
    built = build(tmp_path, [pool_table().slice(0, 0)])
    for leaf in itertools.islice(pool_leaves(), 0, None, 11):
        built.check(leaf)
    assert rows_of(built.view.searcher, None, (), split="s").tolist() == []


def test_no_hit_is_cut_off_and_too_many_are_not_named(tmp_path: Path) -> None:
    built = build(tmp_path, [pa.table({"id": pa.array([*range(5000)], pa.int64())})])
    search, query = built.view.searcher, built.plan(compare(data.column("id"), ">=", 10)).query
    assert rows_of(search, query, (), split="s").tolist() == [*range(10, 5000)]
    assert rows_of(search, None, (), split="s").tolist() == [*range(5000)]
    assert rows_of(search, query, (), at_most=10, split="s").tolist() == [*range(10, 5000)], "a bound that is wrong"
    assert few_rows_of(search, query, (), 4989, split="s") is None
    assert few_rows_of(search, query, (), 4990, split="s") is not None
    assert few_rows_of(search, query, (), 0, split="s") is None
    assert few_rows_of(search, tantivy.Query.empty_query(), (), 0, split="s").tolist() == []
    assert few_rows_of(search, None, (), 4999, split="s") is None


def test_rows_are_taken_or_scanned_by_how_many_they_are(tmp_path: Path) -> None:
    ids = pa.array([*range(4000)], pa.int64())
    scores = pa.array([0.5] * 3999 + [1e9])
    built = build(tmp_path, [pa.table({"id": ids, "score": scores, "text": ["often", "rare", *["often"] * 3998]})])
    column, score, text = data.column("id"), data.column("score"), data.column("text")
    cases: dict[Predicate, list[int] | None] = {
        compare(column, "=", 7): [7],
        compare(column, "<", 1000): [*range(1000)],
        compare(column, "<=", 1000): None,
        compare(column, "<", 3000): None,
        compare(score, "<", 1.0): None,
        compare(score, "<>", 0.25): None,
        Or((compare(score, "<", 0.0), compare(score, ">", 1.0))): [3999],
        compare(score, ">", 1.0): [3999],
        compare(text, "=", "rare"): [1],
        compare(text, "=", "often"): None,
        compare(text, "<>", "often"): [1],
        And((compare(text, "=", "often"), member(column, [1, 2, 3]))): [2, 3],
        like(text, "rar%"): [1],
        IsNull(column): [],
        TRUE: None,
    }
    for predicate, wanted in cases.items():
        for known in (built, built.knowing_less()):
            rows = rows_worth_taking(known.check(predicate), known.view, known.sources)
            assert (None if rows is None else rows.tolist()) == wanted, predicate


def test_few_rows_are_always_taken(tmp_path: Path) -> None:
    built = build(tmp_path, [pa.table({"id": pa.array([*range(90)], pa.int64())})])
    plan = built.check(compare(data.column("id"), ">=", 10))
    assert rows_worth_taking(plan, built.view, ()).tolist() == [*range(10, 90)]


@pytest.mark.parametrize(
    "sources",
    [
        (Source(2**62, 0, 3), Source(-(2**62) - 1, 3, 4)),
        (Source(2**62, 0, 4), Source(5, 4, 4)),
        (Source(2**62, 0, 5), Source(-(2**62) - 1, 5, 3)),
        (Source(2**62, 0, 4), Source(-(2**62) - 1, 0, 4)),
        (Source(2**62, 0, 4), Source(2**62, 4, 4)),
        (Source(2**62, 0, 8),),
    ],
)
def test_rows_that_the_footer_does_not_know_are_an_error(tmp_path: Path, sources: tuple[Source, ...]) -> None:
    table = pa.table({"id": pa.array(range(4), pa.int64())})
    built = build(tmp_path, [table, table])
    query = tantivy.Query.all_query()
    assert rows_of(built.view.searcher, query, built.sources, split="s").tolist() == [*range(8)]
    with pytest.raises(CorruptSplit, match="part-1 is damaged: its"):
        rows_of(built.view.searcher, query, sources, split="part-1")


def test_documents_without_a_row_number_are_an_error(tmp_path: Path) -> None:
    schema = tantivy.SchemaBuilder().add_integer_field("_row", fast=True).build()
    index = tantivy.Index(schema)
    writer = index.writer(HEAP, 1)
    writer.add_json("{}")
    writer.commit()
    index.reload()
    with pytest.raises(CorruptSplit, match="without a usable _row"):
        rows_of(index.searcher(), tantivy.Query.all_query(), (), split="s")


def test_failures_of_native_code_name_the_split(pool: Built) -> None:
    class PanicException(BaseException):
        pass

    class Broken:
        num_docs = 3

        def search(self, *_: Any, **__: Any) -> None:
            raise PanicException("index out of bounds\nstack backtrace:")

        doc_freq = terms_with_prefix = search

    query = tantivy.Query.all_query()
    view = replace(pool.view, searcher=Broken(), split="a/b.split")
    for call in (
        lambda: rows_of(Broken(), query, (), split="a/b.split"),
        lambda: count_of(Broken(), query, split="a/b.split"),
        lambda: plan_predicate(compare(data.column("text"), "=", "a"), view),
    ):
        with pytest.raises(SplitError, match=r"a/b\.split: .* failed \(index out of bounds\)"):
            call()


def test_fields_that_are_only_fast_are_found_by_ranges(tmp_path: Path) -> None:
    built = build(tmp_path, [pa.table({"id": pa.array([-(2**63), 0, 7, 2**63 - 1, None], pa.int64())})])
    (field,) = built.view.mapping.fields
    assert field.fast
    assert not field.indexed
    assert built.rows(built.check(compare(data.column("id"), "=", 7))) == [2]
    assert built.rows(built.check(compare(data.column("id"), ">", -(2**63)))) == [1, 2, 3]
    assert built.rows(built.check(Not(compare(data.column("id"), "<=>", 7)))) == [0, 1, 3, 4]


def test_like_with_every_part_of_a_pattern(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [
        "a.*",
        "a.*b",
        "axb",
        "a\\",
        "a%",
        "a_b",
        "\n",
        "a\nb",
        "😀",
        "😀😀",
        "é",
        "e\u0301",
        "\x00",
        "a\x00b",
        None,
    ]
    built = build(tmp_path, [pa.table({"text": texts})])
    column = data.column("text")
    for few_terms in (0, 1000):
        built = built.costing(listed_terms=few_terms)
        for text in filter(None, texts):
            escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
            for pattern in (escaped, escaped + "%", escaped + "_", "%" + escaped, escaped + "%b"):
                built.check(Like(column, pattern))
                built.check(Not(Like(column, pattern)))
            assert built.check(Like(column, escaped + "%")).exact
