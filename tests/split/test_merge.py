"""Several splits become one: the same rows in the same order, found by the same questions, or nothing at all."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import predicate_data as data
from effort import examples
from indextables.core.errors import IndexTablesError, StorageError, StoreUnavailable
from indextables.core.predicate import parse_predicate
from indextables.core.runtime.threads import IO, Inline, Workers
from indextables.split import open_splits
from indextables.split.build import split_merge
from indextables.split.build.split_merge import BrokenSource
from indextables.split.build.split_writer import LocalSplit
from indextables.split.build.statistics import Statistics, Summary, merged_summary
from indextables.split.bundle.bundle_reader import read_footer, verify_bundle
from indextables.split.bundle.footer import Facts, Source, source_numbers
from indextables.split.cache.index_cache import IndexCache
from indextables.split.reader import SplitReader
from indextables.storage.local import LocalStore
from log.support import Hooked
from split.bundle_support import assert_same
from split.merge_support import (
    SCHEMA,
    WORDS,
    again,
    forged,
    merged_of,
    meta_changed,
    opened_split,
    path_of,
    regions,
    sizes,
    some,
    split_of,
    splits_of,
    target_of,
)
from split.reader_support import EVERY_INDEX, all_of_it, brute_force, costs_of
from table.written_support import files_end_at, left_in


@pytest.fixture(autouse=True)
def fresh() -> None:
    open_splits.close_all()


@pytest.fixture
def ask_indexes() -> Iterator[None]:
    with costs_of(EVERY_INDEX):
        yield


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> IndexCache:
    return IndexCache(tmp_path_factory.mktemp("cache"), 1 << 30)


def check(split: LocalSplit, expected: pa.Table, schema: pa.Schema = SCHEMA) -> None:
    """One file, whole and sound, with these rows."""
    assert left_in(split.path.parent) == [split.path.name]
    store = LocalStore(split.path.parent)
    footer = read_footer(store, split.path.name)
    assert footer == split.sealed.footer
    assert footer.rows == expected.num_rows
    verify_bundle(store, split.path.name, footer)
    assert_same(all_of_it(opened_split(split, schema), schema), expected)


def sources_of(directory: Path, counts: list[int]) -> list[SplitReader]:
    starts = np.cumsum([0, *counts])
    return [split_of(directory, some(count, start)) for count, start in zip(counts, starts[:-1].tolist(), strict=True)]


QUESTIONS = ["id = 5", "id IN (0, 13, 29, 77)", "id >= 28", "text = 'row number 12 of 0'", "text IS NULL", "score > 6"]


def test_a_result_names_its_sources_and_theirs(tmp_path: Path, out: Path) -> None:
    first = splits_of(tmp_path / "a", some(20), 3)
    assert [source.footer.merged_from for source in first] == [b"", b"", b""]
    once = opened_split(merged_of(out / "once", first))
    numbers = frozenset().union(*(source_numbers(source.footer) for source in first))
    assert len(numbers) == 3
    assert source_numbers(once.footer) >= numbers
    second = splits_of(tmp_path / "b", some(20, 20), 2)
    twice = opened_split(merged_of(out / "twice", [once, *second]))
    assert source_numbers(twice.footer) >= source_numbers(once.footer)
    assert all(source_numbers(twice.footer) >= source_numbers(source.footer) for source in second)


class TestRows:
    @pytest.mark.parametrize("workers", [Inline(), IO])
    @pytest.mark.parametrize("pieces", [1, 3, 12])
    @pytest.mark.usefixtures("ask_indexes")
    def test_come_out_in_order_and_are_found(self, tmp_path: Path, out: Path, workers: Workers, pieces: int) -> None:
        rows = some(40)
        split = merged_of(out, splits_of(tmp_path, rows, pieces), workers=workers)
        check(split, rows)
        found = opened_split(split)
        for question in QUESTIONS:
            where = parse_predicate(question, SCHEMA)
            expected = brute_force(rows, where)
            assert_same(all_of_it(found, SCHEMA, where), expected)
            assert found.count(where) == expected.num_rows

    def test_the_sources_stay_as_they_are(self, tmp_path: Path, out: Path) -> None:
        sources = splits_of(tmp_path, some(10), 3)
        before = {path: path.read_bytes() for path in map(path_of, sources)}
        merged_of(out, sources)
        assert {path: path.read_bytes() for path in map(path_of, sources)} == before
        assert len(left_in(tmp_path)) == 3 + 2

    def test_of_empty_splits(self, tmp_path: Path, out: Path) -> None:
        sources = [split_of(tmp_path, some(0)), split_of(tmp_path, some(4)), split_of(tmp_path, some(0))]
        check(merged_of(out, sources), some(4))
        check(merged_of(tmp_path / "none", sources[::2]), some(0))

    def test_of_more_than_one_batch(self, tmp_path: Path, out: Path) -> None:
        rows = some(20_000)
        check(merged_of(out, splits_of(tmp_path, rows, 2)), rows)

    @pytest.mark.parametrize("large", [1, 10, 15, 16, 100])
    @pytest.mark.usefixtures("ask_indexes")
    def test_row_files_of_a_good_size_are_copied(self, tmp_path: Path, out: Path, large: int) -> None:
        counts = [15, 2, 3, 15, 15, 1]
        sources = sources_of(tmp_path, counts)
        split = merged_of(out, sources, target_of(part_sizes=sizes(large=large)))
        check(split, some(51))
        parts = [part.rows for part in split.sealed.footer.parts]
        assert parts == ([15, 5, 15, 15, 1] if 3 < large <= 15 else counts if large == 1 else [51])
        pages = opened_split(split).pages()
        for part in split.sealed.footer.parts:
            copied = [source for source in sources if source.footer.rows == part.rows == 15]
            assert not copied or any(
                pages.read(part.offset, part.length) == source.pages().read(0, source.footer.rows_length)
                for source in copied
            )
        where = parse_predicate("id IN (0, 16, 18, 21, 50)", SCHEMA)
        assert all_of_it(opened_split(split), SCHEMA, where).column("id").to_pylist() == [0, 16, 18, 21, 50]

    @pytest.mark.parametrize(
        ("counts", "least", "placed"),
        [
            ([2, 3, 50, 4, 1, 0, 60, 5], 10, [5, 50, 5, 60, 5]),
            ([2, 3, 4], 10, [9]),
            ([2], 10, [2]),
            ([0, 0], 10, [0]),
            ([20, 30], 10, [20, 30]),
        ],
    )
    @pytest.mark.usefixtures("ask_indexes")
    def test_neighbours_with_few_rows_are_indexed_anew(
        self, tmp_path: Path, out: Path, counts: list[int], least: int, placed: list[int]
    ) -> None:
        rows = some(sum(counts))
        split = merged_of(out, sources_of(tmp_path, counts), target_of(part_sizes=sizes(indexed=least)))
        check(split, rows)
        footer = split.sealed.footer
        assert [source.rows for source in footer.sources] == placed
        assert footer.in_row_order
        found = opened_split(split)
        for question in QUESTIONS:
            where = parse_predicate(question, SCHEMA)
            assert_same(all_of_it(found, SCHEMA, where), brute_force(rows, where))

    def test_many_rows_that_are_indexed_anew_are_several_pieces(
        self, tmp_path: Path, out: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(split_merge, "_GOOD_PIECE", 12)
        split = merged_of(out, sources_of(tmp_path, [5, 5, 5, 5, 5]), target_of(part_sizes=sizes(indexed=10)), IO)
        check(split, some(25))
        assert [source.rows for source in split.sealed.footer.sources] == [10, 10, 5]

    @pytest.mark.parametrize(("most", "parts"), [(5, [4] * 5), (4, [20])])
    def test_there_are_never_too_many_row_files(self, tmp_path: Path, out: Path, most: int, parts: list[int]) -> None:
        target = target_of(part_sizes=sizes(fair=3, most=most))
        split = merged_of(out, splits_of(tmp_path, some(20), 5), target)
        check(split, some(20))
        assert [part.rows for part in split.sealed.footer.parts] == parts

    @pytest.mark.usefixtures("ask_indexes")
    def test_of_merged_splits(self, tmp_path: Path, out: Path) -> None:
        sources = splits_of(tmp_path, some(40), 6)
        first = opened_split(merged_of(tmp_path / "first", sources[:3]))
        second = opened_split(merged_of(tmp_path / "second", sources[3:5]))
        split = merged_of(out, [first, sources[5], second], target_of(part_sizes=sizes(large=10)))
        rows = pa.concat_tables([some(20), some(7, 33), some(13, 20)])
        check(split, rows)
        footer = split.sealed.footer
        assert footer.num_merge_ops == 2
        assert [place.first_row for place in footer.sources] == [0, 6, 13, 20, 27, 33]
        assert len({place.source for place in footer.sources}) == 6
        for question in QUESTIONS:
            where = parse_predicate(question, SCHEMA)
            assert_same(all_of_it(opened_split(split), SCHEMA, where), brute_force(rows, where))


class TestFacts:
    def test_of_the_footer(self, tmp_path: Path, out: Path) -> None:
        sources = splits_of(tmp_path, some(30), 3)
        target = target_of(partition_values={"day": "1", "host": None})
        footer = merged_of(out, sources, target).sealed.footer
        places = [source.footer.sources[0].source for source in sources]
        assert footer.sources == tuple(Source(place, 10 * number, 10) for number, place in enumerate(places))
        assert (footer.partition_values, footer.created_ms) == ({"day": "1", "host": None}, target.created_ms)
        assert (footer.num_merge_ops, footer.time_range) == (
            1,
            ("1970-01-01T00:00:00.000000Z", "1970-01-01T00:00:29.000000Z"),
        )
        assert footer.null_counts == {"id": 0, "text": 4, "score": 0, "at": 0, "tags": 0}
        assert (footer.min_values["text"], footer.max_values["text"]) == ("row numb", "row numc")
        assert footer.uncompressed_bytes == sum(source.footer.uncompressed_bytes for source in sources)
        assert footer.doc_mapping == sources[0].footer.doc_mapping == target.form.mapping_json
        assert footer.engines == sources[0].footer.engines

    @pytest.mark.usefixtures("ask_indexes")
    def test_what_an_index_could_not_hold_in_any_of_them(self, tmp_path: Path, out: Path) -> None:
        schema = pa.schema([("a", pa.string()), ("b", pa.string())])
        long = "x" * 70_000
        tables = [pa.table({"a": [long, "1"], "b": ["1", None]}, schema), pa.table({"a": ["1"], "b": [long]}, schema)]
        sources = [split_of(tmp_path, table) for table in [*tables, tables[0].slice(1)]]
        assert [source.footer.inexact for source in sources] == [("a",), ("b",), ()]
        split = merged_of(out, sources, target_of(schema))
        assert split.sealed.footer.inexact == ("a", "b")
        for question, found in ((f"a = '{long}'", 1), ("a = '1'", 3), (f"b = '{long}'", 1), ("b <> '1'", 1)):
            assert opened_split(split, schema).count(parse_predicate(question, schema)) == found


def facts(table: pa.Table, length: int | None) -> Facts:
    statistics = Statistics(table.schema, length=length)
    for batch in table.to_batches():
        statistics.add(batch)
    known = {field: getattr(statistics.finish(), field) for field in Summary.__dataclass_fields__}
    return Facts(schema="", doc_mapping="", **known)


@settings(max_examples=examples(50), deadline=None)
@given(st.lists(data.rows(max_size=4), min_size=1, max_size=4), st.none() | st.integers(1, 8))
def test_bounds_are_those_of_all_rows(pieces: list[list[dict[str, Any]]], length: int | None) -> None:
    sources = [facts(data.to_table(piece), length) for piece in pieces]
    whole = facts(data.to_table([row for piece in pieces for row in piece]), length)
    found = merged_summary(sources, data.SCHEMA)
    assert (found.rows, found.null_counts) == (whole.rows, whole.null_counts)
    assert found.uncompressed_bytes == sum(source.uncompressed_bytes for source in sources)
    for side in ("min_values", "max_values"):
        for name in data.SCHEMA.names:
            valued = [each for each in sources if each.null_counts[name] < each.rows]
            known = all(name in getattr(each, side) for each in valued)
            expected = getattr(whole, side).get(name) if known else None
            assert getattr(found, side).get(name) == expected, (side, name)
    ranges = [each.time_range for each in sources if each.null_counts["at"] < each.rows]
    assert found.time_range == (None if None in ranges else whole.time_range)


def test_null_counts_that_a_source_lacks() -> None:
    counted, silent = facts(some(3), 8), msgspec.structs.replace(facts(some(2, 3), 8), null_counts={})
    found = merged_summary([counted, silent], SCHEMA)
    assert (found.rows, found.null_counts) == (5, {})
    assert (found.min_values["id"], found.max_values["id"]) == ("0", "4")
    unknown = msgspec.structs.replace(silent, min_values={}, max_values={"id": "many"})
    found = merged_summary([counted, unknown], SCHEMA)
    assert "id" not in found.min_values, "nobody knows what is in there"
    assert "id" not in found.max_values


@given(source=st.data())
@settings(max_examples=examples(10), deadline=None, suppress_health_check=list(HealthCheck))
def test_random_splits_equal_brute_force(cache: IndexCache, source: st.DataObject) -> None:
    pieces = source.draw(st.lists(data.rows(max_size=8), min_size=2, max_size=4))
    rows = [row for piece in pieces for row in piece]
    properties = source.draw(st.sampled_from([{}, WORDS, {"indexing.lookupfields": "id,score,at"}]))
    predicates = source.draw(st.lists(data.predicates(data.SCHEMA.names, rows), min_size=10, max_size=10))
    with tempfile.TemporaryDirectory() as folder, costs_of(EVERY_INDEX):
        part_sizes = sizes(
            large=source.draw(st.sampled_from([1, 4, 100])), indexed=source.draw(st.sampled_from([0, 4, 100]))
        )
        directory = Path(folder)
        splits = [split_of(directory, data.to_table(piece), properties) for piece in pieces]
        split = merged_of(directory / "out", splits, target_of(data.SCHEMA, properties, part_sizes=part_sizes))
        found = opened_split(split, data.SCHEMA, cache)
        whole = data.to_table(rows)
        assert_same(all_of_it(found, data.SCHEMA), whole)
        for predicate in predicates:
            assert_same(all_of_it(found, data.SCHEMA, predicate), brute_force(whole, predicate))
            assert found.count(predicate) == brute_force(whole, predicate).num_rows


def check_indexed_anew(split: LocalSplit, number: int, rows: int) -> None:
    assert split.sealed.footer.sources == (Source(number, 0, rows),)


class TestIndexedAnew:
    def test_where_a_source_is_there_twice(self, tmp_path: Path, out: Path) -> None:
        one, other = splits_of(tmp_path, some(6), 2)
        target = target_of()
        split = merged_of(out, [one, other, again(one)], target)
        check(split, pa.concat_tables([some(6), some(3)]))
        check_indexed_anew(split, target.source, 9)
        assert split.sealed.footer.num_merge_ops == 1

    @pytest.mark.usefixtures("ask_indexes")
    def test_with_another_mapping(self, tmp_path: Path, out: Path) -> None:
        sources = [split_of(tmp_path, some(5)), split_of(tmp_path, some(5, 5), WORDS)]
        target = target_of(SCHEMA, WORDS)
        split = merged_of(out, sources, target)
        check(split, some(10))
        check_indexed_anew(split, target.source, 10)
        assert split.sealed.footer.doc_mapping == target.form.mapping_json
        where = parse_predicate("text = 'row number 5 of 2' OR id = 1", SCHEMA)
        assert all_of_it(opened_split(split), SCHEMA, where).column("id").to_pylist() == [1, 5]

    @pytest.mark.usefixtures("ask_indexes")
    def test_with_a_column_that_came_later(self, tmp_path: Path, out: Path) -> None:
        narrow = some(5).drop_columns(["score", "tags"])
        sources = [split_of(tmp_path, narrow, schema=SCHEMA), split_of(tmp_path, some(5, 5))]
        target = target_of()
        split = merged_of(out, sources, target)
        nulls = [pa.nulls(5, SCHEMA.field(name).type) for name in ("score", "tags")]
        early = some(5).set_column(2, SCHEMA.field("score"), nulls[0]).set_column(4, SCHEMA.field("tags"), nulls[1])
        check(split, pa.concat_tables([early, some(5, 5)]))
        check_indexed_anew(split, target.source, 10)
        assert split.sealed.footer.null_counts["score"] == 5
        assert opened_split(split).count(parse_predicate("score IS NULL", SCHEMA)) == 5
        assert opened_split(split).count(parse_predicate("score < 1.6", SCHEMA)) == 2

    def test_without_an_index_to_join(self, tmp_path: Path, out: Path) -> None:
        def emptied(directory: Path) -> None:
            for path in directory.iterdir():
                path.unlink()

        bare = forged(split_of(tmp_path, some(3)), index=emptied)
        target = target_of()
        split = merged_of(out, [bare, split_of(tmp_path, some(3, 3))], target)
        check(split, some(6))
        check_indexed_anew(split, target.source, 6)

    def test_bounds_are_cut_as_the_log_cuts_them(self, tmp_path: Path, out: Path) -> None:
        sources = [split_of(tmp_path, some(3)), split_of(tmp_path, some(3, 3), WORDS)]
        footer = merged_of(out, sources, target_of(stats_columns={"text"}, stats_length=3)).sealed.footer
        assert (footer.min_values, footer.max_values) == ({"text": "row"}, {"text": "rox"})


def damaged(source: SplitReader, change: Callable[[bytearray], Any]) -> SplitReader:
    path = path_of(source)
    content = bytearray(path.read_bytes())
    change(content)
    path.write_bytes(content)
    return again(source)


def flip(at: int) -> Callable[[bytearray], Any]:
    def change(content: bytearray) -> None:
        content[at] ^= 0x10

    return change


def garbage(directory: Path) -> None:
    for path in directory.glob("*.term"):
        path.write_bytes(os.urandom(path.stat().st_size))


def lost_segment(directory: Path) -> None:
    for path in directory.iterdir():
        if path.name != "meta.json":
            path.unlink()


def with_deletes(meta: dict[str, Any]) -> None:
    meta["segments"][0]["deletes"] = {"num_deleted_docs": 1, "opstamp": 1}


def one_document_less(meta: dict[str, Any]) -> None:
    meta["segments"][0]["max_doc"] -= 1


FORGERIES: dict[str, Callable[[SplitReader], SplitReader]] = {
    "the log has another count": lambda source: again(source, rows=7),
    "the log has another size": lambda source: again(source, size=source.parts.size + 1),
    "missing": lambda source: (path_of(source).unlink(), again(source))[1],
    "empty": lambda source: damaged(source, bytearray.clear),
    "cut in the rows": lambda source: damaged(source, lambda content: content.__delitem__(slice(100, None))),
    "cut at the end": lambda source: damaged(source, lambda content: content.__delitem__(slice(-1, None))),
    "magic": lambda source: damaged(source, flip(-1)),
    "footer": lambda source: damaged(source, flip(-40)),
    "an index with a document less": lambda source: forged(source, index=meta_changed(one_document_less)),
    "an index of another kind": lambda source: forged(source, index=meta_changed(lambda meta: meta["schema"].pop())),
    "an index that is no JSON": lambda source: forged(
        source, index=lambda directory: (directory / "meta.json").write_text("{")
    ),
    "an index without files": lambda source: forged(source, index=lost_segment),
    "an index with deletions": lambda source: forged(source, index=meta_changed(with_deletes)),
    "an index of garbage": lambda source: forged(source, index=garbage),
    "rows of garbage": lambda source: forged(source, rows=lambda content: os.urandom(len(content))),
    "a schema that is none": lambda source: forged(
        source, facts=lambda known: msgspec.structs.replace(known, schema="{}")
    ),
    "another count of rows": lambda source: forged(
        source,
        facts=lambda known: msgspec.structs.replace(known, rows=9, sources=(Source(known.sources[0].source, 0, 9),)),
    ),
}


def check_blamed(out: Path, sources: list[SplitReader], bad: SplitReader, **target: Any) -> None:
    with pytest.raises(BrokenSource) as raised:
        merged_of(out, sources, target_of(**target))
    assert raised.value.source is bad
    assert str(raised.value) == str(raised.value.error) != ""
    assert not out.exists() or left_in(out) == []


@pytest.fixture(params=["joined", "anew"])
def wanted(request: pytest.FixtureRequest) -> dict[str, Any]:
    return {"properties": WORDS} if request.param == "anew" else {}


class TestBrokenSources:
    @pytest.mark.parametrize("how", FORGERIES)
    def test_are_blamed_and_nothing_is_left(self, tmp_path: Path, out: Path, how: str) -> None:
        first, second, third = splits_of(tmp_path, some(9), 3)
        bad = FORGERIES[how](second)
        open_splits.close_all()
        check_blamed(out, [first, bad, third], bad)
        check(merged_of(out, [first, third]), pa.concat_tables([some(3), some(3, 6)]))

    def test_a_flipped_byte_anywhere(self, tmp_path: Path, out: Path, wanted: dict[str, Any]) -> None:
        first, second = splits_of(tmp_path, some(6), 2)
        whole, places = path_of(second).read_bytes(), regions(second.footer)
        assert {"rows", "json", "term", "idx", "fast", "store"} <= places.keys()
        for name, (offset, length) in places.items():
            if wanted and name != "rows":
                continue  # indexes are not read then
            for at in (offset, offset + length // 2, offset + length - 1):
                open_splits.close_all()
                bad = damaged(again(second), flip(at))
                check_blamed(out, [first, bad], bad, **wanted)
                path_of(second).write_bytes(whole)

    @pytest.mark.parametrize("large", [1, 100])
    def test_a_file_that_goes_away_in_between(
        self, tmp_path: Path, out: Path, wanted: dict[str, Any], large: int
    ) -> None:
        first, second = splits_of(tmp_path, some(6), 2)
        assert second.footer.rows == 3
        path_of(second).unlink()
        check_blamed(out, [first, second], second, **wanted, part_sizes=sizes(large=large))

    def test_a_column_of_another_type(self, tmp_path: Path, out: Path) -> None:
        other = pa.table({"id": pa.array([1], pa.int32())})
        bad = split_of(tmp_path, other, schema=SCHEMA)
        check_blamed(out, [split_of(tmp_path, some(3)), bad], bad)

    def test_a_required_column_that_it_lacks(self, tmp_path: Path, out: Path) -> None:
        bad = split_of(tmp_path, some(3).drop_columns(["id"]), schema=SCHEMA)
        check_blamed(out, [bad, split_of(tmp_path, some(3))], bad)


class TestOtherFailures:
    @pytest.mark.parametrize("verb", ["get_range", "get_ranges"])
    @pytest.mark.parametrize("large", [1, 100])
    def test_of_the_store_are_not_the_source_s_fault(self, tmp_path: Path, out: Path, verb: str, large: int) -> None:
        first, second = splits_of(tmp_path, some(6), 2)

        def fail(*_: Any) -> Any:
            raise StoreUnavailable("the network")

        bad = again(second, Hooked(second.parts.store, **{verb: fail}))
        bad.parts.__dict__["footer"] = second.footer
        with pytest.raises(StoreUnavailable, match="the network"):
            merged_of(out, [first, bad], target_of(part_sizes=sizes(large=large)))
        assert left_in(out) == []

    @pytest.mark.parametrize(
        "place",
        [
            "cache.cache_entry._write",
            "bundle.bundle_writer._append",
            "build.split_merge.write_rows",
            "index.index_merge._link",
        ],
    )
    def test_of_a_full_disk(self, tmp_path: Path, out: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(*_: Any) -> Any:
            raise OSError(errno.ENOSPC, "no space left on device")

        sources = splits_of(tmp_path, some(6), 2)
        monkeypatch.setattr(f"indextables.split.{place}", full)
        with pytest.raises(StorageError, match="no space left on device"):
            merged_of(out, sources)
        assert left_in(out) == []

    @pytest.mark.parametrize("size", [10, 500, 3_000])
    def test_of_a_disk_that_is_really_full(self, tmp_path: Path, out: Path, size: int, wanted: dict[str, Any]) -> None:
        sources = splits_of(tmp_path, some(3000), 3)
        with files_end_at(size), pytest.raises(IndexTablesError) as raised:
            merged_of(out, sources, target_of(**wanted), IO)
        assert not isinstance(raised.value, BrokenSource)
        assert left_in(out) == []
        check(merged_of(out, sources, target_of(**wanted)), some(3000))

    @pytest.mark.parametrize("workers", [Inline(), IO])
    @pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
    def test_an_interrupt(
        self, tmp_path: Path, out: Path, wanted: dict[str, Any], workers: Workers, error: type[BaseException]
    ) -> None:
        first, second = splits_of(tmp_path, some(6), 2)

        def scan(columns: list[str]) -> Iterator[pa.RecordBatch]:
            yield from SplitReader.scan(second, columns)
            raise error("stop")

        second.scan = scan  # type: ignore[method-assign,assignment]
        with pytest.raises(error, match="stop"):
            merged_of(out, [first, second], target_of(**wanted), workers)
        assert left_in(out) == []
