import datetime as dt
import json
import math
import random
import shutil
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import tantivy
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tantivy import FieldType, Query

from effort import examples
from indextables.core.errors import CorruptSplit, SchemaError, SplitError
from indextables.core.runtime.threads import IO
from indextables.split.bundle.footer import Source
from indextables.split.index import index_merge
from indextables.split.index.doc_mapping import LONGEST_TERM, STEMMERS, TOKENIZERS, field_name, plan_mapping
from indextables.split.index.index_files import IndexBuilder, analyzer, open_index
from indextables.split.index.index_merge import merge_indexes

HEAP = 15_000_000
FLOATS = {"f", "fl", "fs"}
SCHEMA = pa.schema(
    [
        ("s", pa.string()),
        ("s.fast", pa.string()),
        ("ss", pa.list_(pa.string())),
        ("t", pa.string()),
        ("i", pa.int64()),
        ("il", pa.int64()),
        ("is", pa.list_(pa.int64())),
        ("b", pa.bool_()),
        ("bl", pa.bool_()),
        ("f", pa.float64()),
        ("fl", pa.float32()),
        ("fs", pa.list_(pa.float64())),
        ("d", pa.date32()),
        ("ts", pa.timestamp("us", "UTC")),
        ("j", pa.struct([("w", pa.string()), ("n", pa.int64()), ("x", pa.float64())])),
        ("ip", pa.string()),
        ("unindexed", pa.decimal128(5, 2)),
    ]
)
MAPPING = plan_mapping(
    SCHEMA,
    (),
    {
        "indexing.typemap.t": "text",
        "indexing.typemap.ip": "ip",
        "indexing.fastfields": "s.fast,t,j",
        "indexing.lookupfields": "il,bl,fl",
    },
)


def build(directory, table, mapping=MAPPING, source=1, heap=HEAP, chunk=None):
    builder = IndexBuilder(directory, mapping, table.schema, source=source, heap=heap)
    for batch in table.to_batches(max_chunksize=chunk):
        builder.add(batch)
    return builder.finish()


class Search:
    def __init__(self, directory, mapping=MAPPING):
        self.index = open_index(directory, mapping)
        self.schema = self.index.schema
        self.searcher = self.index.searcher()

    def rows(self, query):
        """(source, row) of the documents that a query finds, as a set without doubles."""
        if not self.searcher.num_docs:
            return set()
        hits = self.searcher.search(query, limit=self.searcher.num_docs).hits
        places = [place for _, place in hits]
        found = list(
            zip(
                self.searcher.fast_field_values("_source", places),
                self.searcher.fast_field_values("_row", places),
                strict=True,
            )
        )
        assert len(set(found)) == len(found)
        return set(found)

    def term(self, column, value, path=""):
        return self.rows(Query.term_query(self.schema, field_name(column) + path, value, index_option="basic"))

    def point(self, column, value, kind):
        return self.rows(Query.range_query(self.schema, field_name(column), kind, value, value))

    def present(self, column, **flags):
        return self.rows(Query.exists_query(field_name(column), **flags))


finite = st.floats(allow_nan=False, allow_infinity=False)
ROW = st.fixed_dictionaries(
    {},
    optional={
        "s": st.text(max_size=5) | st.sampled_from(["", "a", "b"]),
        "s.fast": st.text(max_size=5),
        "ss": st.lists(st.none() | st.text(max_size=3), max_size=3),
        "t": st.text(max_size=12) | st.sampled_from(["Hello, World", "hello 🙂 wörld", "a" * 255 + " " + "b" * 256]),
        "i": st.integers(-(2**63), 2**63 - 1),
        "il": st.integers(-(2**63), 2**63 - 1) | st.integers(-1, 1),
        "is": st.lists(st.integers(-(2**63), 2**63 - 1) | st.none(), max_size=3),
        "b": st.booleans(),
        "bl": st.booleans(),
        "f": st.floats(),
        "fl": st.floats(width=32),
        "fs": st.lists(st.floats() | st.none(), max_size=3),
        "d": st.dates(),
        "ts": st.datetimes(timezones=st.just(dt.UTC)),
        "j": st.fixed_dictionaries(
            {}, optional={"w": st.text(alphabet="aB c", max_size=6), "n": st.integers(-(2**63), 2**63 - 1), "x": finite}
        ),
        "ip": st.ip_addresses().map(str),
    },
)


def places(rows, values_of):
    """Where each value is, by a model that knows no index."""
    found = defaultdict(set)
    for number, row in enumerate(rows):
        for value in values_of(row):
            if value is not None:
                found[value].add((1, number))
    return found


def many(row, column):
    value = row.get(column)
    return value if isinstance(value, list) else [value]


def microseconds(moment):
    return None if moment is None else (moment - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1)


def check_exactness(search, rows, inexact):
    for column in ("s", "s.fast", "ss"):
        for value, wanted in places(rows, lambda row: many(row, column)).items():
            assert search.term(column, value) == wanted
    for column in ("i", "il", "is"):
        for value, wanted in places(rows, lambda row: many(row, column)).items():
            assert search.point(column, value, FieldType.Integer) == wanted
    for value, wanted in places(rows, lambda row: many(row, "il")).items():
        assert search.term("il", value) == wanted
    for column in ("b", "bl"):
        for value, wanted in places(rows, lambda row: many(row, column)).items():
            assert search.point(column, int(value), FieldType.Integer) == wanted
    for column in ("f", "fl", "fs"):
        lost = False
        for value, wanted in places(rows, lambda row: many(row, column)).items():
            if math.isfinite(value):
                assert search.point(column, value + 0.0, FieldType.Float) == wanted
            else:
                lost = True
        assert (column in inexact) == lost
    for value, wanted in places(rows, lambda row: [row.get("d") and (row["d"] - dt.date(1970, 1, 1)).days]).items():
        assert search.point("d", value, FieldType.Integer) == wanted
    for value, wanted in places(rows, lambda row: [microseconds(row.get("ts"))]).items():
        assert search.point("ts", value, FieldType.Integer) == wanted
    for value, wanted in places(rows, lambda row: [row.get("ip")]).items():
        assert search.term("ip", value) == wanted
    words = analyzer("default", 255).analyze
    for value, wanted in places(rows, lambda row: words(row.get("t", ""))).items():
        assert len(value.encode()) <= 255
        assert search.term("t", value) == wanted
    for value, wanted in places(rows, lambda row: words(row.get("j", {}).get("w", ""))).items():
        assert search.term("j", value, ".w") == wanted
    for key in ("n", "x"):
        for value, wanted in places(rows, lambda row: [row.get("j", {}).get(key)]).items():
            assert search.term("j", value + 0.0 if key == "x" else value, f".{key}") == wanted


def check_presence(search, rows):
    for column in ("s.fast", "t", "i", "il", "b", "bl", "d", "ts", "ip"):
        assert search.present(column) == {(1, number) for number, row in enumerate(rows) if column in row}
    for column in ("f", "fl"):
        wanted = {(1, number) for number, row in enumerate(rows) if math.isfinite(row.get(column, math.nan))}
        assert search.present(column) == wanted
    some = {(1, number) for number, row in enumerate(rows) if any(value is not None for value in row.get("is", ()))}
    assert search.present("is") == some


@settings(
    max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(st.lists(ROW, max_size=12), st.integers(1, 12))
@example([{"j": {"w": "", "x": value}} for value in (4247193226348630.0, 2.0**53, -9e14, 899999999999999.0)], 1)
def test_what_is_indexed_is_what_was_given(rows, chunk):
    directory = Path(tempfile.mkdtemp())
    try:
        built = build(directory, pa.Table.from_pylist(rows, SCHEMA), chunk=chunk)
        assert built.rows == len(rows)
        assert built.segments == min(1, len(rows))
        assert built.inexact <= FLOATS
        search = Search(directory)
        assert search.searcher.num_docs == len(rows)
        assert search.rows(Query.all_query()) == {(1, number) for number in range(len(rows))}
        check_exactness(search, rows, built.inexact)
        check_presence(search, rows)
    finally:
        shutil.rmtree(directory)


def test_doubles_that_the_json_parser_gets_wrong(tmp_path):
    random = np.random.default_rng(7)
    bits = random.integers(0, 2**64, 20_000, dtype=np.uint64).view(np.float64)
    values = np.concatenate([bits[np.isfinite(bits)], random.random(20_000), random.normal(size=5_000) * 1e9])
    values = np.concatenate([values, random.random(5_000, dtype=np.float32).astype(np.float64)])
    mapping = plan_mapping(pa.schema([("f", pa.float64())]), (), {})
    build(tmp_path / "index", pa.table({"f": values}), mapping)
    searcher = open_index(tmp_path / "index", mapping).searcher()
    hits = searcher.search(Query.all_query(), len(values), order_by_field="_row", order=tantivy.Order.Asc).hits
    assert [row for row, _ in hits] == list(range(len(values)))
    assert searcher.fast_field_values("f", [place for _, place in hits]) == values.tolist()


def test_tantivys_parser_is_not_exact(tmp_path):
    """The day this fails, doubles can be written as they are."""
    schema = tantivy.SchemaBuilder().add_float_field("f", fast=True).build()
    index = tantivy.Index(schema, str(tmp_path))
    writer = index.writer(HEAP, 1)
    values = np.random.default_rng(1).random(1_000).tolist()
    for value in values:
        writer.add_json(json.dumps({"f": value}))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()
    places = [place for _, place in searcher.search(Query.all_query(), 1_000).hits]
    found = {place.doc: value for place, value in zip(places, searcher.fast_field_values("f", places), strict=True)}
    assert any(found[number] != value for number, value in enumerate(values))


@pytest.mark.parametrize("size", [LONGEST_TERM - 1, LONGEST_TERM])
def test_the_longest_string_is_found(tmp_path, size):
    built = build(tmp_path / "index", pa.Table.from_pylist([{"s": "x" * size}], SCHEMA))
    assert not built.inexact
    assert Search(tmp_path / "index").term("s", "x" * size) == {(1, 0)}


def test_a_longer_string_is_noted(tmp_path):
    rows = [{"s": "x" * (LONGEST_TERM + 1)}, {"s": "y"}]
    built = build(tmp_path / "index", pa.Table.from_pylist(rows, SCHEMA))
    assert built.inexact == {"s"}
    assert Search(tmp_path / "index").term("s", "y") == {(1, 1)}


def test_nested_values_are_found_by_path(tmp_path):
    inner = pa.struct(
        [("name", pa.string()), ("tags", pa.map_(pa.string(), pa.int64())), ("at", pa.timestamp("us", "UTC"))]
    )
    schema = pa.schema([("user", inner), ("all", pa.list_(inner)), ("raw", pa.string())])
    mapping = plan_mapping(schema, (), {"indexing.typemap.raw": "json"})
    user = {"name": "Alice Smith", "tags": [("a.b", 5)], "at": dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.UTC)}
    raw = '{"a":{"b":[{"c":"Deep"}]},"n":1.5,"t":true,"at":"2024-01-01T00:00:00Z"}'
    build(
        tmp_path / "index", pa.Table.from_pylist([{"user": user, "all": [user, user], "raw": raw}, {}], schema), mapping
    )
    search = Search(tmp_path / "index", mapping)
    one = {(1, 0)}
    for column in ("user", "all"):
        assert search.term(column, "alice", ".name") == one
        assert search.term(column, 5, r".tags.a\.b") == one
        assert search.term(column, 1_000_000, ".at") == one
        assert search.term(column, "bob", ".name") == set()
    assert search.term("raw", "deep", ".a.b.c") == one
    assert search.term("raw", 1.5, ".n") == one
    assert search.term("raw", True, ".t") == one
    assert search.term("raw", "2024", ".at") == set(), "Tantivy takes such a string for a date"
    assert search.term("raw", dt.datetime(2024, 1, 1, tzinfo=dt.UTC), ".at") == one


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_every_tokenizer(tmp_path, tokenizer):
    schema = pa.schema([("t", pa.string()), ("j", pa.struct([("t", pa.string())]))])
    mapping = plan_mapping(schema, (), {"indexing.typemap.t": "text", f"indexing.tokenizer.{tokenizer}": "t,j"})
    text = "Die Häuser der Running-Dogs"
    build(tmp_path / "index", pa.Table.from_pylist([{"t": text, "j": {"t": text}}], schema), mapping)
    search = Search(tmp_path / "index", mapping)
    words = analyzer(tokenizer, 255).analyze(text)
    assert words
    for word in words:
        assert search.term("t", word) == search.term("j", word, ".t") == {(1, 0)}


def test_what_tokenizers_make_of_words():
    text = "Die Häuser, running-DOGS"
    assert analyzer("default", 255).analyze(text) == ["die", "häuser", "running", "dogs"]
    assert analyzer("raw", 255).analyze(text) == [text]
    assert analyzer("whitespace", 255).analyze(text) == ["Die", "Häuser,", "running-DOGS"]
    assert analyzer("en_stem", 255).analyze(text) == analyzer("english", 255).analyze(text)
    assert analyzer("en_stem", 255).analyze(text) == ["die", "häuser", "run", "dog"]
    assert analyzer("german", 255).analyze(text) == ["die", "haus", "running", "dog"]
    assert len(STEMMERS) == 18


def test_words_have_a_longest_length_in_bytes():
    assert analyzer("default", 4).analyze("abcd abcde éé ééé") == ["abcd", "éé"]
    assert analyzer("raw", 4).analyze("abcde") == []


@pytest.mark.parametrize("record", ["basic", "freq", "position"])
def test_record_options(tmp_path, record):
    schema = pa.schema([("t", pa.string())])
    mapping = plan_mapping(schema, (), {"indexing.typemap.t": "text", f"indexing.indexrecordoption.{record}": "t"})
    build(tmp_path / "index", pa.table({"t": ["a b", "b a"]}), mapping)
    search = Search(tmp_path / "index", mapping)
    assert search.term("t", "a") == {(1, 0), (1, 1)}
    phrase = Query.phrase_query(search.schema, "t", ["a", "b"])
    if record == "position":
        assert search.rows(phrase) == {(1, 0)}
    else:
        with pytest.raises(ValueError, match="position"):
            search.rows(phrase)


def test_fast_texts_are_kept_whole(tmp_path):
    rows = [{"t": "Zebra Apple", "s.fast": "b"}, {"t": "apple zebra", "s.fast": "a"}, {}]
    build(tmp_path / "index", pa.Table.from_pylist(rows, SCHEMA))
    searcher = open_index(tmp_path / "index", MAPPING).searcher()
    for column, wanted in (("t", {"Zebra Apple", "apple zebra"}), ("s.fast", {"a", "b"})):
        found = searcher.aggregate(Query.all_query(), {"n": {"terms": {"field": field_name(column)}}})
        assert {bucket["key"] for bucket in found["n"]["buckets"]} == wanted


def numbers(start, stop):
    return pa.Table.from_pylist([{"i": n, "s": f"v{n}", "t": f"word w{n}"} for n in range(start, stop)], SCHEMA)


def check_merged(directory, parts):
    search = Search(directory)
    wanted = {(source, row) for source, count in parts for row in range(count)}
    assert search.rows(Query.all_query()) == wanted
    assert search.term("t", "word") == wanted
    for source, count in parts:
        for row in (0, count - 1):
            assert search.term("s", f"v{source * 1_000 + row}") == {(source, row)}
            assert search.point("i", source * 1_000 + row, FieldType.Integer) == {(source, row)}


@pytest.mark.parametrize(("sources", "native", "segments"), [(3, False, 3), (3, True, 3), (9, False, 9), (9, True, 1)])
def test_merging(tmp_path, sources, native, segments):
    parts = []
    for source in range(sources):
        count = 20 + source
        built = build(tmp_path / str(source), numbers(source * 1_000, source * 1_000 + count), source=source)
        before = {path: path.read_bytes() for path in built.files}
        parts.append((source, count))
    merged = merge_indexes(
        tmp_path / "merged", [tmp_path / str(source) for source in range(sources)], MAPPING, native=native, heap=HEAP
    )
    assert merged.rows == sum(count for _, count in parts)
    assert merged.segments == segments
    assert {path.name for path in (tmp_path / "merged").iterdir()} == {path.name for path in merged.files}
    check_merged(tmp_path / "merged", parts)
    assert {path: path.read_bytes() for path in built.files} == before, "the sources stay as they are"


def documents_of(directory):
    """The source and the row of every document, from segment to segment."""
    searcher = open_index(directory, MAPPING).searcher()
    sizes = [segment["max_doc"] for segment in json.loads((directory / "meta.json").read_text())["segments"]]
    places = [tantivy.DocAddress(place, number) for place, size in enumerate(sizes) for number in range(size)]
    return list(zip(*(searcher.fast_field_values(name, places) for name in ("_source", "_row")), strict=True))


def test_segments_come_in_the_order_of_rows(tmp_path):
    """A full heap ends a segment, and Tantivy lists segments by their size."""
    rng = random.Random(7)
    words = [f"{rng.getrandbits(60):x}" for _ in range(40_000)]
    rows = [{"i": n, "s": words[n], "t": " ".join(rng.choices(words, k=12 + n // 2_000))} for n in range(30_000)]
    built = build(tmp_path / "a", pa.Table.from_pylist(rows, SCHEMA), heap=15_000_000)
    assert 1 < built.segments < 8
    assert documents_of(tmp_path / "a") == [(1, row) for row in range(30_000)]
    assert built.in_row_order


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("sources", [1, 3, 12])
def test_an_index_says_whether_documents_come_in_the_order_of_rows(tmp_path, sources, native):
    placed, first = [], 0
    for source in range(sources):
        count = 5 + 7 * source % 11
        build(tmp_path / str(source), numbers(source * 1_000, source * 1_000 + count), source=source)
        placed.append(Source(source, first, count))
        first += count
    folders = [tmp_path / str(source) for source in range(sources)]
    merged = merge_indexes(tmp_path / "merged", folders, MAPPING, native=native, heap=HEAP, rows=placed)
    expected = [(place.source, row) for place in placed for row in range(place.rows)]
    assert merged.in_row_order == (documents_of(tmp_path / "merged") == expected)
    assert merged.in_row_order == (sources < 8 or not native), "Tantivy merges the larger segments first"


@pytest.mark.parametrize("workers", [None, IO])
@pytest.mark.parametrize(("good", "segments"), [(10_000, 5), (144, 6)])
def test_some_of_fair_size_are_left_alone(tmp_path, monkeypatch, workers, good, segments):
    for limit, value in {"FAIR_SEGMENT": 20, "MOST_FAIR": 4, "_GOOD_SEGMENT": good}.items():
        monkeypatch.setattr(index_merge, limit, value)
    parts = [(source, 25 if source % 5 == 0 else 18) for source in range(20)]
    for source, count in parts:
        build(tmp_path / str(source), numbers(source * 1_000, source * 1_000 + count), source=source)
    directories = [tmp_path / str(source) for source, _ in parts]
    merged = merge_indexes(tmp_path / "all", directories, MAPPING, native=True, heap=HEAP, workers=workers)
    assert merged.segments == segments, "four as they were, the others in groups"
    check_merged(tmp_path / "all", parts)


def test_merging_what_was_merged(tmp_path):
    for source in range(4):
        build(tmp_path / str(source), numbers(source * 1_000, source * 1_000 + 5), source=source)
    one = merge_indexes(tmp_path / "01", [tmp_path / "0", tmp_path / "1"], MAPPING, native=False, heap=HEAP)
    assert one.segments == 2
    merge_indexes(tmp_path / "all", [tmp_path / "01", tmp_path / "2", tmp_path / "3"], MAPPING, native=True, heap=HEAP)
    check_merged(tmp_path / "all", [(source, 5) for source in range(4)])


def test_segments_of_one_name_are_told_apart(tmp_path):
    build(tmp_path / "a", numbers(0, 5))
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    merged = merge_indexes(tmp_path / "c", [tmp_path / "a", tmp_path / "b"], MAPPING, native=False, heap=HEAP)
    assert (merged.rows, merged.segments) == (10, 2)
    assert open_index(tmp_path / "c", MAPPING).searcher().num_docs == 10


def test_merging_nothing(tmp_path):
    build(tmp_path / "a", numbers(0, 0))
    build(tmp_path / "b", numbers(1_000, 1_003), source=1)
    empty = merge_indexes(tmp_path / "c", [tmp_path / "a"], MAPPING, native=True, heap=HEAP)
    assert (empty.rows, empty.segments, [path.name for path in empty.files]) == (0, 0, ["meta.json"])
    some = merge_indexes(tmp_path / "d", [tmp_path / "a", tmp_path / "b"], MAPPING, native=True, heap=HEAP)
    assert some.rows == 3
    check_merged(tmp_path / "d", [(1, 3)])


def test_other_mappings_are_not_merged(tmp_path):
    build(tmp_path / "a", numbers(0, 5))
    other = plan_mapping(SCHEMA, (), {})
    with pytest.raises(CorruptSplit, match="not one of the doc mapping"):
        merge_indexes(tmp_path / "c", [tmp_path / "a"], other, native=False, heap=HEAP)
    with pytest.raises(CorruptSplit, match="not one of the doc mapping"):
        open_index(tmp_path / "a", other)


def test_indexes_are_merged_into_an_empty_directory(tmp_path):
    build(tmp_path / "a", numbers(0, 5))
    merge_indexes(tmp_path / "c", [tmp_path / "a"], MAPPING, native=False, heap=HEAP)
    with pytest.raises(SplitError, match="empty directory"):
        merge_indexes(tmp_path / "c", [tmp_path / "a"], MAPPING, native=False, heap=HEAP)


def edited(directory, **changes):
    meta = json.loads((directory / "meta.json").read_text())
    meta["segments"][0].update(changes)
    (directory / "meta.json").write_text(json.dumps(meta))


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda directory: edited(directory, deletes={"num_deleted_docs": 1, "opstamp": 3}), "deleted documents"),
        (lambda directory: edited(directory, max_doc=-1), "cannot be read"),
        (lambda directory: edited(directory, segment_id="../../etc"), "cannot be read"),
        (
            lambda directory: [path.unlink() for path in directory.glob("*.*") if path.suffix != ".json"],
            "lacks the files",
        ),
        (lambda directory: [path.unlink() for path in directory.glob("*.term")], "merging|opening|failed"),
        (lambda directory: (directory / "meta.json").write_text("{}"), "cannot be read"),
        (lambda directory: (directory / "meta.json").write_text("[" * 10), "cannot be read"),
        (lambda directory: (directory / "meta.json").unlink(), "cannot be read"),
    ],
)
def test_broken_sources(tmp_path, spoil, words):
    build(tmp_path / "a", numbers(0, 5))
    spoil(tmp_path / "a")
    with pytest.raises(SplitError, match=words):
        merge_indexes(tmp_path / "c", [tmp_path / "a"], MAPPING, native=False, heap=HEAP)


def test_a_small_heap_makes_several_segments_and_the_same_answers(tmp_path):
    count = 60_000
    words = np.random.default_rng(3).integers(0, 10**9, (count, 6))
    texts = [" ".join(map(str, row)) for row in words.tolist()]
    schema = pa.schema([("t", pa.string())])
    mapping = plan_mapping(schema, (), {"indexing.typemap.t": "text"})
    built = build(tmp_path / "index", pa.table({"t": texts}), mapping, heap=HEAP)
    assert built.segments > 1
    assert built.rows == count
    search = Search(tmp_path / "index", mapping)
    assert len(search.rows(Query.all_query())) == count
    for row in (0, count // 2, count - 1):
        assert (1, row) in search.term("t", str(words[row][0]))


def test_a_batch_of_another_schema(tmp_path):
    builder = IndexBuilder(tmp_path / "index", MAPPING, SCHEMA, source=1, heap=HEAP)
    with pytest.raises(SchemaError, match="column s is nothing in a batch"):
        builder.add(pa.RecordBatch.from_pydict({"x": ["a"]}))
    with pytest.raises(SchemaError, match="column i is int32 in a batch, the split needs int64"):
        builder.add(numbers(0, 1).set_column(4, "i", pa.array([1], pa.int32())).to_batches()[0])
    builder.abandon()


def test_abandoning(tmp_path):
    builder = IndexBuilder(tmp_path / "index", MAPPING, SCHEMA, source=1, heap=HEAP)
    builder.add(numbers(0, 100).to_batches()[0])
    assert builder.rows == 100
    builder.abandon()
    assert not (tmp_path / "index").exists()
    builder.abandon()


def test_files_of_others_are_left_alone(tmp_path):
    (tmp_path / "rows.vortex").write_bytes(b"rows")
    built = build(tmp_path, numbers(0, 3))
    assert (tmp_path / "rows.vortex") not in built.files
    assert (tmp_path / "rows.vortex").exists()
    assert built.files[0] == tmp_path / "meta.json"
    assert {path.suffix for path in built.files} == {".json", ".fast", ".fieldnorm", ".idx", ".pos", ".store", ".term"}
