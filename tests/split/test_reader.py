"""One split read: the same rows as brute force finds, in the table's types, with no more reads than needed."""

from __future__ import annotations

import datetime as dt
import os
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import predicate_data as data
from effort import examples
from forked import true_in_child
from indextables.core.errors import CorruptSplit, ObjectNotFound, SplitError
from indextables.core.predicate import (
    NULL,
    Column,
    IsNotNull,
    IsNull,
    Not,
    Or,
    Predicate,
    all_of,
    compare,
    member,
    parse_predicate,
)
from indextables.core.types import arrow_to_spark_json
from indextables.split import open_splits
from indextables.split.bundle.bundle_writer import RowsFile, Sealed, write_bundle
from indextables.split.bundle.footer import Facts, Source
from indextables.split.cache.index_cache import IndexCache
from indextables.split.index.doc_mapping import plan_mapping
from indextables.split.index.index_files import IndexBuilder
from indextables.split.index.index_merge import merge_indexes
from indextables.split.open_splits import OpenSplits, weight_of_footer, weight_of_index, weight_of_rows
from indextables.split.plan.costs import Costs
from indextables.split.reader import SplitReader
from indextables.split.rows.row_writer import write_rows
from indextables.storage.local import LocalStore
from indextables.storage.testing.counting import Counting
from split.bundle_support import assert_same, make
from split.reader_support import EVERY_INDEX, HEAP, all_of_it, brute_force, costs_of, texts, write
from split.reader_support import reader as open_reader

PREFIX = "spark.indextables.indexing."
LOOKUP = {PREFIX + "lookupfields": "tiny,id,ratio,score,at,local", PREFIX + "fastfields": "text"}
WORDS = {PREFIX + "typemap.text": "text"}
KEPT = ["tiny", "id", "ratio", "score", "text", "at", "local", "price", "big", "raw"]
"""The columns that are in the split; `day` and `flag` are its partition."""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> IndexCache:
    return IndexCache(tmp_path_factory.mktemp("cache"), 1 << 30)


@pytest.fixture(autouse=True)
def fresh() -> None:
    """Nothing is open from the test before."""
    open_splits.close_all()


@pytest.fixture
def small() -> Iterator[None]:
    """Every index is worth asking."""
    with costs_of(EVERY_INDEX):
        yield


@given(source=st.data())
@settings(max_examples=examples(15), deadline=None, suppress_health_check=list(HealthCheck))
def test_scan_and_count_equal_brute_force(cache: IndexCache, source: st.DataObject) -> None:
    rows = source.draw(data.rows(data.SCHEMA.names, max_size=30))
    day = source.draw(st.none() | st.dates(dt.date(1, 1, 1)))
    flag = source.draw(st.none() | st.booleans())
    for row in rows:
        row["day"] = None if day is None else (day - dt.date(1970, 1, 1)).days
        row["flag"] = flag
    table = data.to_table(rows)
    added = source.draw(st.sampled_from(["none", "price", "text", "score"]), label="column that came later")
    kept = [name for name in KEPT if name != added]
    if added != "none":
        table = table.set_column(
            table.schema.get_field_index(added),
            data.SCHEMA.field(added),
            pa.nulls(len(rows), data.SCHEMA.field(added).type),
        )
        for row in rows:
            row[added] = None
    properties = source.draw(st.sampled_from([{}, LOOKUP, WORDS]), label="properties")
    properties = {} if added == "text" else properties
    if added == "score" and properties == LOOKUP:
        properties = {**LOOKUP, PREFIX + "lookupfields": "tiny,id,ratio,at,local"}
    predicates = source.draw(st.lists(data.predicates(data.SCHEMA.names, rows), min_size=10, max_size=10))
    columns = source.draw(st.permutations(data.SCHEMA.names))[: source.draw(st.integers(0, len(data.SCHEMA)))]
    partition = {"day": day, "flag": flag}
    costs = Costs(
        small_split_rows=source.draw(st.sampled_from([-1, -1, 8192]), label="small"),
        index_is_free=source.draw(st.booleans(), label="ask every index"),
        few_rows=source.draw(st.sampled_from([0, 3, 100]), label="few rows"),
        scan_batch_bytes=source.draw(st.sampled_from([1, 1 << 26])),
        least_batch_rows=4,
    )
    with tempfile.TemporaryDirectory() as folder, costs_of(costs):
        key, sealed = write(
            Path(folder), table.select(kept), properties, partition_values=texts(partition, data.SCHEMA), batch_rows=7
        )
        split = open_reader(Path(folder), key, sealed, data.SCHEMA, cache, partition, rows=len(rows))
        assert_same(all_of_it(split, data.SCHEMA), table)
        for predicate in predicates:
            expected = brute_force(table, predicate)
            assert_same(all_of_it(split, data.SCHEMA, predicate), expected)
            assert split.count(predicate) == expected.num_rows
            found = list(split.scan(columns, predicate))
            assert sum(batch.num_rows for batch in found) == expected.num_rows
            if columns:
                assert_same(pa.Table.from_batches(found, expected.select(columns).schema), expected.select(columns))


class Logs:
    """A split of 20,000 log rows, and what reading it costs."""

    schema = pa.schema(
        [
            ("id", pa.int64()),
            ("at", pa.timestamp("us", "UTC")),
            ("level", pa.string()),
            ("message", pa.string()),
            ("cost", pa.decimal128(9, 2)),
            ("user", pa.struct([("name", pa.string())])),
            ("day", pa.date32()),
        ]
    )
    rows = 20_000
    day = dt.date(2024, 1, 31)

    def __init__(self, directory: Path, cache: IndexCache) -> None:
        numbers = np.arange(self.rows)
        levels = np.where(numbers % 100 == 0, "ERROR", np.where(numbers % 2 == 0, "INFO", "DEBUG"))
        begin = 1_700_000_000_000_000
        self.table = pa.table(
            {
                "id": numbers,
                "at": pa.array(begin + numbers * 1_000_000).cast(pa.timestamp("us", "UTC")),
                "level": levels,
                "message": [f"request {n} took {n % 777} ms" for n in range(self.rows)],
                "cost": pa.array((numbers % 1000).astype(np.int32))
                .cast(pa.decimal128(12, 2))
                .cast(pa.decimal128(9, 2)),
                "user": [{"name": f"user{n % 50}"} if n % 3 else None for n in range(self.rows)],
                "day": pa.repeat(pa.scalar(self.day), self.rows),
            },
            self.schema,
        )
        self.key, self.sealed = write(
            directory, self.table.drop_columns("day"), {PREFIX + "typemap.text": "message"}, batch_rows=5000
        )
        self.store = Counting(LocalStore(directory))
        self.cache = cache

    def reader(self, **more: Any) -> SplitReader:
        return open_reader(self.store, self.key, self.sealed, self.schema, self.cache, {"day": self.day}, **more)

    def predicate(self, text: str) -> Predicate:
        return parse_predicate(text, self.schema)

    @property
    def reads(self) -> int:
        return sum(self.store.counts.values())


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory, cache: IndexCache) -> Logs:
    return Logs(tmp_path_factory.mktemp("logs"), cache)


@pytest.mark.parametrize(
    "text",
    [
        "id = 12345",
        "id = 12345 AND day = DATE '2024-01-31'",
        "id = 12345 AND day = DATE '2024-02-01'",
        "id IN (1, 5, 19999, 20000, -1)",
        "id > 19990",
        "id >= 0 AND level = 'ERROR'",
        "level = 'ERROR' OR id < 10",
        "level = 'ERROR' OR cost = 7",
        "level <> 'DEBUG' AND cost < 3",
        "level LIKE 'ERR%'",
        "message LIKE 'request 77%'",
        "message = 'request 4711 took 49 ms'",
        "message LIKE '%took 5 ms'",
        "user.name = 'user7' AND level = 'ERROR'",
        "user IS NULL",
        "user.name IS NULL AND id < 100",
        "NOT (level IN ('INFO', 'DEBUG'))",
        "level NOT IN ('INFO', NULL)",
        "id IN (5, NULL)",
        "level IN ('ERROR', NULL)",
        "at >= TIMESTAMP '2023-11-14T22:20:00Z' AND at < TIMESTAMP '2023-11-14T22:21:00Z'",
        "id BETWEEN 100 AND 19900",
        "cost IS NOT NULL",
        "day IS NULL OR id = 3",
        "TRUE",
        "FALSE",
        "NULL",
    ],
)
def test_log_rows(logs: Logs, text: str) -> None:
    predicate = logs.predicate(text)
    split = logs.reader()
    expected = brute_force(logs.table, predicate)
    assert_same(all_of_it(split, logs.schema, predicate), expected)
    assert split.count(predicate) == expected.num_rows


class TestReads:
    """How much is read for a question."""

    def test_partition_values_need_none(self, logs: Logs) -> None:
        before = logs.reads
        split = logs.reader(rows=logs.rows)
        assert list(split.scan(["id"], logs.predicate("day > DATE '2024-01-31' AND id = 1"))) == []
        assert split.count(logs.predicate("day = DATE '2024-01-31' OR id = 1")) == logs.rows
        assert split.count() == logs.rows
        assert logs.reads == before

    @pytest.mark.parametrize(
        ("text", "share"),
        [
            ("id < 0", 0),
            ("id >= 0 AND at >= TIMESTAMP '2020-01-01T00:00:00Z'", 1),
            ("cost IS NULL", 0),
            ("cost IS NOT NULL", 1),
            ("level > 'A' AND level <> 'Z'", 1),
            ("level = 'WARN' AND id = -1", 0),
            ("NOT (id < 0 OR id > 30000)", 1),
        ],
    )
    def test_the_footer_settles_it(self, logs: Logs, text: str, share: int) -> None:
        split, predicate, before = logs.reader(), logs.predicate(text), logs.reads
        assert split.count(predicate) == share * logs.rows
        assert sum(batch.num_rows for batch in split.scan(["day"], predicate)) == share * logs.rows
        assert logs.reads == before + 1
        assert len(open_splits.OPEN.value) == 2, "the footer and the schema of the rows, but no index"

    def test_an_opened_split_is_not_opened_again(self, logs: Logs) -> None:
        predicate = logs.predicate("id = 4711")
        assert logs.reader().count(predicate) == 1
        before = logs.reads
        assert logs.reader().count(predicate) == 1
        assert logs.reads == before

    def test_another_store_object_reads_for_itself(self, logs: Logs) -> None:
        """Its credentials may be others."""
        predicate = logs.predicate("id = 4711")
        assert logs.reader().count(predicate) == 1
        other = Counting(LocalStore(Path(logs.store.root)))
        split = open_reader(other, logs.key, logs.sealed, logs.schema, logs.cache, {"day": logs.day})
        assert split.count(predicate) == 1
        assert sum(other.counts.values()) == 1, "the footer; the index is here already"

    def test_no_index_for_columns_that_it_does_not_know(self, logs: Logs) -> None:
        def refuse(*_: Any, **__: Any) -> None:
            raise AssertionError("the index was opened")

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(logs.cache, "acquire", refuse)
            split = logs.reader()
            assert split.count(logs.predicate("cost = 7")) == 20
            assert split.count(logs.predicate("cost = 7 OR id = 1")) == 21
            with pytest.raises(AssertionError, match="the index was opened"):
                split.count(logs.predicate("cost = 7 AND level = 'ERROR'"))

    @pytest.mark.parametrize(
        ("text", "asked"),
        [
            ("id = 5", False),
            ("id IN (1, 2, 3)", False),
            ("id > 19000", False),
            ("id > 1000", False),
            ("id > 1000 AND id < 1500", False),
            ("id > 1000 AND level = 'ERROR'", True),
            ("id > 1000 OR level = 'ERROR'", False),
            ("id <> 7", False),
            ("id = 7 AND level = 'ERROR'", False),
            ("id < 900 AND level = 'ERROR'", True),
            ("level = 'ERROR'", True),
            ("level <> 'ERROR'", False),
            ("level NOT IN ('ERROR')", False),
            ("level LIKE 'ERR%'", True),
            ("level LIKE '%ROR'", False),
            ("message LIKE '%request%'", True),
            ("at < TIMESTAMP '2023-11-14T22:20:00Z'", False),
            ("at > TIMESTAMP '2023-11-14T22:20:00Z'", False),
            ("user IS NULL", False),
            ("user.name = 'user7'", True),
            ("user.name > 'user7'", False),
        ],
    )
    def test_the_index_is_asked_where_it_leaves_few_rows(self, logs: Logs, text: str, asked: bool) -> None:
        """And where a column of numbers would not do."""
        split, predicate = logs.reader(), logs.predicate(text)
        assert split.count(predicate) == brute_force(logs.table, predicate).num_rows
        assert split.parts.index_is_open is asked

    def test_no_index_for_small_splits(self, tmp_path: Path) -> None:
        table = pa.table({"id": list(range(8192))})
        key, sealed = write(tmp_path, table)
        cache = IndexCache(tmp_path / "cache", 1 << 30)
        predicate = compare(Column(("id",), pa.int64()), "=", 77)
        assert open_reader(tmp_path, key, sealed, table.schema, cache).count(predicate) == 1
        assert cache.statistics().misses == 0

    def test_no_more_splits_are_open_than_allowed(self, tmp_path: Path) -> None:
        store, cache = LocalStore(tmp_path), IndexCache(tmp_path / "cache", 1)
        schema = pa.schema([("id", pa.string())])
        written = [
            write(tmp_path, pa.table({"id": [*map(str, [n, n, 5, *range(100, 300)])]}, schema)) for n in range(6)
        ]
        footers = [sealed.footer for _, sealed in written]
        view = open_reader(store, *written[0], schema, cache, opened=OpenSplits()).parts.open_index()
        opened = OpenSplits(
            EVERY_INDEX,
            footer_bytes=3 * max(map(weight_of_footer, footers)),
            row_bytes=2 * max(map(weight_of_rows, footers)),
            index_handles=2 * weight_of_index(view),
        )
        splits = [open_reader(store, *each, schema, cache, opened=opened) for each in written]
        for _ in range(2):
            for n, split in enumerate(splits):
                predicate = compare(Column(("id",), pa.string()), "=", str(n))
                assert split.count(predicate) == 2 + (n == 5)
                assert [batch.num_rows for batch in split.scan(["id"], predicate)] == [2 + (n == 5)]
        assert len(opened) == 7


def test_many_threads_open_a_split_once(logs: Logs) -> None:
    before = logs.reads
    found: list[int] = []
    meet = threading.Barrier(8)

    def ask() -> None:
        split = logs.reader()
        meet.wait(10)
        found.append(sum(batch.num_rows for batch in split.scan(["id", "day"], logs.predicate("level = 'ERROR'"))))
        found.append(split.count(logs.predicate("cost = 7")) * 10)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [200] * 16
    assert logs.reads - before < 20, "one footer, one index, and some pages of the rows, but not eight times"


def test_columns_that_the_table_got_later_are_null(tmp_path: Path, cache: IndexCache, small: None) -> None:
    table = pa.table({"id": list(range(100))})
    key, sealed = write(tmp_path, table)
    later = pa.schema(
        [
            ("tags", pa.list_(pa.string())),
            ("id", pa.int64()),
            ("who", pa.struct([("name", pa.string()), ("age", pa.int32())])),
            ("props", pa.map_(pa.string(), pa.int64())),
            ("note", pa.string()),
        ]
    )
    split = open_reader(tmp_path, key, sealed, later, cache)
    whole = all_of_it(split, later)
    assert whole.schema == later
    assert whole.column("id").to_pylist() == list(range(100))
    assert all(whole.column(name).null_count == 100 for name in ("tags", "who", "props", "note"))
    name = Column(("who", "name"), pa.string())
    cases: list[tuple[Predicate, int]] = [
        (compare(name, "=", "x"), 0),
        (IsNull(name), 100),
        (Not(IsNotNull(Column(("tags",), later.field("tags").type))), 100),
        (all_of([IsNull(Column(("note",), pa.string())), compare(Column(("id",), pa.int64()), "<", 3)]), 3),
        (Or((member(Column(("note",), pa.string()), ["a", None]), compare(Column(("id",), pa.int64()), "=", 7))), 1),
        (NULL, 0),
    ]
    for predicate, rows in cases:
        assert split.count(predicate) == rows
        assert all_of_it(split, later, predicate).num_rows == rows


def test_a_column_of_another_type_is_an_error(tmp_path: Path, cache: IndexCache) -> None:
    key, sealed = write(tmp_path, pa.table({"id": [1, 2]}))
    other = pa.schema([("id", pa.string())])
    with pytest.raises(SplitError, match=rf"{key} has the column id as int64, the table has it as string"):
        list(open_reader(tmp_path, key, sealed, other, cache).scan(["id"]))
    required = pa.schema([pa.field("id", pa.int64()), pa.field("name", pa.string(), nullable=False)])
    with pytest.raises(SplitError, match=rf"{key} has no column name, which may not be null"):
        list(open_reader(tmp_path, key, sealed, required, cache).scan(["id"]))


def test_no_rows(tmp_path: Path, cache: IndexCache) -> None:
    schema = pa.schema([("id", pa.int64())])
    key, sealed = write(tmp_path, schema.empty_table())
    split = open_reader(tmp_path, key, sealed, schema, cache)
    assert list(split.scan(["id"])) == []
    assert split.count() == split.count(IsNull(Column(("id",), pa.int64()))) == 0


def test_rows_without_an_index(tmp_path: Path, cache: IndexCache, small: None) -> None:
    table = pa.table({"id": [1, 2, 3]})
    key, sealed = make(tmp_path, table)
    split = open_reader(tmp_path, key, sealed, table.schema, cache)
    assert split.count(compare(Column(("id",), pa.int64()), ">", 1)) == 2


class TestWhatIsWrong:
    @pytest.fixture
    def split(self, tmp_path: Path) -> tuple[str, Sealed, pa.Table]:
        table = pa.table({"id": list(range(1000)), "text": [f"text {n}" for n in range(1000)]})
        return *write(tmp_path, table), table

    def test_a_missing_split(self, tmp_path: Path, cache: IndexCache, split: tuple[str, Sealed, pa.Table]) -> None:
        key, sealed, table = split
        asked = open_reader(tmp_path, key, sealed, table.schema, cache)
        (tmp_path / key).unlink()
        with pytest.raises(SplitError, match=rf"{key} is missing, and the table has rows in it") as raised:
            asked.count()
        assert raised.value.split.endswith(key)
        assert isinstance(raised.value.__cause__, ObjectNotFound)
        with pytest.raises(SplitError, match="is missing"):
            list(asked.scan(["id"]))
        with pytest.raises(SplitError, match="is missing"):
            _ = asked.footer

    def test_a_split_that_goes_away_while_it_is_read(
        self, tmp_path: Path, cache: IndexCache, split: tuple[str, Sealed, pa.Table]
    ) -> None:
        key, sealed, table = split
        asked = open_reader(tmp_path, key, sealed, table.schema, cache)
        assert asked.footer.rows == 1000
        (tmp_path / key).unlink()
        with pytest.raises(SplitError, match=rf"{key} is missing"):
            list(asked.scan(["id"]))

    @pytest.mark.parametrize("cut", [1, 30, 100_000])
    def test_a_split_that_was_cut(
        self, tmp_path: Path, cache: IndexCache, split: tuple[str, Sealed, pa.Table], cut: int
    ) -> None:
        key, sealed, table = split
        left = max(sealed.size - cut, 0)
        os.truncate(tmp_path / key, left)
        with pytest.raises(CorruptSplit, match=rf"{key} is damaged: it has {left} bytes, the log says {sealed.size}"):
            open_reader(tmp_path, key, sealed, table.schema, cache).count()

    def test_a_log_that_says_something_else(
        self, tmp_path: Path, cache: IndexCache, split: tuple[str, Sealed, pa.Table]
    ) -> None:
        key, sealed, table = split
        with pytest.raises(CorruptSplit, match=rf"{key} has 1000 rows, the table's log says 999"):
            list(open_reader(tmp_path, key, sealed, table.schema, cache, rows=999).scan(["id"]))
        for more in ({"size": sealed.size + 1}, {"size": 10, "footer_start": 3}, {"footer_start": 7}):
            with pytest.raises(CorruptSplit, match=key):
                list(open_reader(tmp_path, key, sealed, table.schema, cache, **more).scan(["id"]))
        unknown = open_reader(tmp_path, key, None, table.schema, cache)
        assert_same(all_of_it(unknown, table.schema), table)

    def test_damaged_bytes(self, tmp_path: Path, small: None, split: tuple[str, Sealed, pa.Table]) -> None:
        key, sealed, table = split
        whole = (tmp_path / key).read_bytes()
        predicate = compare(Column(("text",), pa.string()), "=", "text 77")
        chance = np.random.default_rng(5)
        regions = [
            (0, sealed.footer.rows_length),
            (sealed.footer.rows_length, sealed.footer_start),
            (sealed.footer_start, sealed.size),
        ]
        failed = 0
        for number in range(45):
            at = int(chance.integers(*regions[number % 3]))
            broken = bytearray(whole)
            broken[at] ^= 1 << int(chance.integers(8))
            (tmp_path / key).write_bytes(broken)
            open_splits.close_all()
            split_reader = open_reader(
                LocalStore(tmp_path), key, sealed, table.schema, IndexCache(None, 0, scratch=tmp_path / "s")
            )
            for ask in (
                lambda s=split_reader: s.count(predicate),
                lambda s=split_reader: s.count(Not(predicate)) - 998,
            ):
                try:
                    found, said = ask(), ""
                except SplitError as error:
                    found, said = 1, str(error)
                    failed += 1
                assert found == 1
                assert key in said or not said
        assert failed > 40

    def test_an_index_of_other_rows(self, tmp_path: Path, cache: IndexCache, small: None) -> None:
        table = pa.table({"id": ["1", "2", "3"]})
        mapping = plan_mapping(table.schema, (), {})
        builder = IndexBuilder(tmp_path / "index", mapping, table.schema, source=1, heap=HEAP)
        builder.add(table.slice(1).to_batches()[0])
        parts = write_rows(tmp_path / "rows", table.schema, table.to_batches())
        about = Facts(rows=3, schema=arrow_to_spark_json(table.schema), doc_mapping=mapping.to_json())
        sealed = write_bundle(tmp_path / "x.split", parts, builder.finish().files, about)
        with pytest.raises(CorruptSplit, match=r"x\.split is damaged: its index has 2 rows, its footer says 3"):
            open_reader(tmp_path, "x.split", sealed, table.schema, cache).count(
                compare(Column(("id",), pa.string()), "=", "1")
            )

    def test_a_mapping_that_cannot_be_read(self, tmp_path: Path, cache: IndexCache, small: None) -> None:
        table = pa.table({"id": [1, 2, 3]})
        key, sealed = make(tmp_path, table, index={"meta.json": b"{}"})
        with pytest.raises(SplitError, match=rf"{key}: a doc mapping cannot be read"):
            open_reader(tmp_path, key, sealed, table.schema, cache).count(compare(Column(("id",), pa.int64()), "=", 1))


@given(source=st.data())
@settings(max_examples=examples(10), deadline=None, suppress_health_check=list(HealthCheck))
def test_splits_that_were_merged(cache: IndexCache, source: st.DataObject) -> None:
    """Rows of several sources, one behind the other, under one index."""
    names = ["id", "score", "text", "at"]
    rows = source.draw(data.rows(names, max_size=20))
    cut = source.draw(st.integers(0, len(rows)))
    pieces = [data.to_table(piece, names) for piece in (rows[:cut], rows[cut:])]
    predicates = source.draw(st.lists(data.predicates(names, rows), min_size=10, max_size=10))
    whole = pa.concat_tables(pieces)
    with tempfile.TemporaryDirectory() as folder, costs_of(EVERY_INDEX, most_share=1.0):
        key, sealed = merged(Path(folder), pieces)
        split = open_reader(Path(folder), key, sealed, whole.schema, cache)
        for predicate in predicates:
            expected = brute_force(whole, predicate)
            assert_same(all_of_it(split, whole.schema, predicate), expected)
            assert split.count(predicate) == expected.num_rows


def merged(directory: Path, pieces: list[pa.Table]) -> tuple[str, Sealed]:
    schema = pieces[0].schema
    mapping = plan_mapping(schema, (), {})
    inexact: frozenset[str] = frozenset()
    parts: list[RowsFile] = []
    sources, folders, first = [], [], 0
    for number, piece in enumerate(pieces):
        folders.append(directory / f"index{number}")
        builder = IndexBuilder(folders[-1], mapping, schema, source=1000 - number, heap=HEAP)
        for batch in piece.to_batches():
            builder.add(batch)
        inexact |= builder.finish().inexact
        parts += write_rows(directory / f"rows{number}", schema, piece.to_batches())
        sources.append(Source(1000 - number, first, piece.num_rows))
        first += piece.num_rows
    built = merge_indexes(directory / "merged", folders, mapping, native=False, heap=HEAP)
    about = Facts(
        rows=first,
        schema=arrow_to_spark_json(schema),
        doc_mapping=mapping.to_json(),
        inexact=tuple(sorted(inexact)),
        sources=tuple(sources),
    )
    return "merged.split", write_bundle(directory / "merged.split", parts, built.files, about)


def test_wide_rows_come_a_few_at_a_time(tmp_path: Path, cache: IndexCache) -> None:
    table = pa.table({"id": list(range(1000)), "blob": ["x" * 1000] * 1000})
    key, sealed = write(tmp_path, table)
    opened = OpenSplits(replace(EVERY_INDEX, scan_batch_bytes=300_000, most_share=1.0))
    split = open_reader(tmp_path, key, sealed, table.schema, cache, opened=opened)

    def sizes(batches: Iterator[pa.RecordBatch]) -> list[int]:
        return [batch.num_rows for batch in batches]

    assert max(sizes(split.scan(["blob"]))) <= 300
    assert sum(sizes(split.scan(["blob"]))) == 1000
    few = sizes(split.scan(["blob"], compare(Column(("id",), pa.int64()), "<>", 1)))
    assert max(few) <= 300
    assert sum(few) == 999


def test_a_child_process_opens_its_own(logs: Logs) -> None:
    assert logs.reader().count(logs.predicate("id = 4711")) == 1
    before = open_splits.OPEN.value
    assert true_in_child(lambda: open_splits.OPEN.value is not before and len(open_splits.OPEN.value) == 0)
