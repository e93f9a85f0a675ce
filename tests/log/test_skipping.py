"""Pruning: simple filters drop files, and what is doubtful in statistics drops none."""

from __future__ import annotations

import datetime as dt
import json
import tarfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from indextables.core.predicate import (
    Column,
    ColumnBounds,
    compare,
    may_match,
    parse_predicate,
)
from indextables.log.pruning.file_pruning import manifest_bounds, prune_files
from log.file_tables import FILES, MAP, files_table
from predicate_data import SCHEMA

GOLDEN = Path(__file__).parent.parent / "golden" / "logs.tar.xz"


def paths(files: pa.Table, where: str, schema: pa.Schema = SCHEMA, partitions: tuple[str, ...] = ()) -> list[str]:
    return prune_files(files, parse_predicate(where, schema), schema, partitions)["path"].to_pylist()


def entry(path: str, low: dict[str, str] | None, high: dict[str, str] | None, **more: Any) -> dict[str, Any]:
    return {"path": path, "minValues": low, "maxValues": high, **more}


RANGES = files_table(
    [
        entry("low", {"id": "1", "text": "a", "score": "1.0"}, {"id": "9", "text": "f", "score": "1.0E1"}),
        entry("high", {"id": "10", "text": "g", "score": "20.5"}, {"id": "99", "text": "q", "score": "30.0"}),
        entry("unknown", None, None),
    ]
)


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        ("id = 5", ["low"]),
        ("id > 9", ["high"]),
        ("id >= 9", ["low", "high"]),
        ("id < 10", ["low"]),
        ("5 > id", ["low"]),
        ("id IN (100, 5, -1)", ["low"]),
        ("id BETWEEN 9.5 AND 9.9", []),
        ("NOT (id < 10 OR id > 99)", ["high"]),
        ("id = 5 OR text = 'k'", ["low", "high"]),
        ("id = 5 AND text = 'k'", []),
        ("text LIKE 'b%'", ["low"]),
        ("text LIKE 'b'", ["low"]),
        ("text LIKE '%b'", ["low", "high"]),
        ("text = 'fzzz'", ["low"]),
        ("text > 'fzzz'", ["low", "high"]),
        ("text > 'r'", []),
        ("text < 'b'", ["low"]),
        ("score = 15", []),
        ("score < 20", ["low"]),
        ("score > 40", ["low", "high"]),
        ("score > 40 AND score < 50", []),
        ("score BETWEEN 25 AND 26", ["high"]),
        ("id = 1.5", None),
        ("id = NULL", None),
        ("FALSE", None),
        ("id > 1e30", None),
        ("id < 1e30", ["low", "high"]),
        ("TRUE", ["low", "high"]),
    ],
)
def test_bounds_drop_what_cannot_match(where: str, kept: list[str] | None) -> None:
    expected = [] if kept is None else [*kept, "unknown"]
    assert paths(RANGES, where) == expected


def test_partition_values_are_exact() -> None:
    files = files_table(
        [
            {"path": "a", "partitionValues": {"day": "2024-01-31", "text": "x"}},
            {"path": "b", "partitionValues": {"day": "2024-02-01", "text": ""}},
            {"path": "null", "partitionValues": {"day": None, "text": None}},
            {"path": "absent", "partitionValues": {}},
            {"path": "empty", "partitionValues": {"day": "", "text": "x"}},
            {"path": "unread", "partitionValues": {"day": "someday", "text": "x"}},
        ]
    )

    def kept(where: str) -> list[str]:
        return paths(files, where, partitions=("day", "text"))

    assert kept("day = '2024-01-31'") == ["a", "unread"]
    assert kept("day <> '2024-01-31'") == ["b", "unread"]
    assert kept("day IS NULL") == ["null", "absent", "empty", "unread"]
    assert kept("day IS NOT NULL") == ["a", "b", "unread"]
    assert kept("NOT day IN ('2024-01-31', NULL)") == ["unread"]
    assert kept("text = ''") == ["b"]
    assert kept("text LIKE '_'") == ["a", "empty", "unread"]
    assert kept("text IS NULL") == ["null", "absent"]
    assert kept("text = 'x' AND id = 5") == ["a", "empty", "unread"]
    assert kept("text = 'x' OR id = 5") == ["a", "b", "null", "absent", "empty", "unread"]


def test_a_partition_of_nan_is_known_exactly() -> None:
    files = files_table([{"path": v, "partitionValues": {"score": v}} for v in ("NaN", "1.5", "-0.0")])
    assert paths(files, "score > 2", partitions=("score",)) == ["NaN"]
    assert paths(files, "score <= 2", partitions=("score",)) == ["1.5", "-0.0"]
    assert paths(files, "score = 0", partitions=("score",)) == ["-0.0"]


def test_null_counts_decide_null_tests() -> None:
    def counted(path: str, nulls: int | None, records: int | None, column: int | None = None) -> dict[str, Any]:
        stats = {"numRecords": records, "nullCount": {"id": nulls}}
        return entry(path, None, None, stats=json.dumps(stats), numRecords=column)

    files = files_table(
        [
            counted("none", 0, 3),
            counted("some", 1, 3),
            counted("all", 3, 3),
            counted("all by the column", 3, None, 3),
            counted("disagree", 3, 3, 4),
            counted("empty", 0, 0),
            counted("unknown", None, 3),
        ]
    )
    everything = files["path"].to_pylist()
    with_nulls = ["some", "all", "all by the column", "disagree", "unknown"]
    all_null = {"all", "all by the column"}
    assert paths(files, "id IS NULL") == with_nulls
    assert paths(files, "id IS NOT NULL") == [path for path in everything if path not in all_null]
    assert paths(files, "id = 5") == [path for path in everything if path not in all_null]
    assert paths(files, "id <=> NULL") == with_nulls
    assert paths(files, "id IS DISTINCT FROM 5") == everything


def test_bounds_inside_stats_are_read() -> None:
    def inside(path: str, low: Any, high: Any) -> dict[str, Any]:
        return {
            "path": path,
            "stats": f'{{"numRecords": 2, "minValues": {{"big": {low}}}, "maxValues": {{"big": {high}}}}}',
        }

    digits = "1234567890123456789.0123456789"
    files = files_table(
        [inside("exact", digits, digits), inside("text", f'"{digits}"', '"1E+19"'), inside("odd", "[1]", "{}")]
    )
    assert paths(files, f"big = {digits}") == ["exact", "text", "odd"]
    assert paths(files, f"big < {digits}") == ["odd"]
    assert paths(files, "big > 1234567890123456789.0123456789") == ["text", "odd"]


@pytest.mark.parametrize(
    "stats", ["", "{", "[]", "null", "5", '{"nullCount": 5, "minValues": [1]}', "[" * 100_000, "{}"]
)
def test_stats_that_cannot_be_read_keep_their_file(stats: str) -> None:
    files = files_table([{"path": "kept", "stats": stats}])
    assert paths(files, "id = 5") == ["kept"]
    assert paths(files, "id IS NULL") == ["kept"]


def test_contradicting_bounds_are_not_used() -> None:
    by_text = {"id": "9", "at": "2024-01-01T00:00:00Z"}, {"id": "10", "at": "2024-01-01T00:00:00.500Z"}
    files = files_table([entry("swapped", by_text[1], by_text[0]), entry("good", *by_text)])
    assert paths(files, "id = 5") == ["swapped"]
    assert paths(files, "id = 9") == ["swapped", "good"]


def test_timestamps_that_were_ordered_as_text_count_by_the_second() -> None:
    texts = ["2024-01-01T00:00:00.500Z", "2024-01-01T00:00:00Z", "2024-01-01T00:00:05.5Z"]
    files = files_table([entry("text order", {"at": min(texts)}, {"at": max(texts)})])
    for text in texts:
        assert paths(files, f"at = '{text}'") == ["text order"]
    assert paths(files, "at = '2024-01-01T00:00:06Z'") == []
    assert paths(files, "at < '2024-01-01T00:00:00Z'") == []
    far = files_table([entry("year 10000", {"at": "+10000-01-01T00:00:00Z"}, {"at": texts[0]})])
    assert paths(far, "at > '2025-01-01'") == ["year 10000"]


def test_one_bound_is_used_for_what_it_is_worth() -> None:
    files = files_table(
        [entry("low", {"id": "5"}, None), entry("high", None, {"id": "5"}), entry("bad", {"id": "x"}, {"id": "5"})]
    )
    assert paths(files, "id = 4") == ["high", "bad"]
    assert paths(files, "id = 6") == ["low", "bad"]  # a writer that writes x may mean anything by 5


def test_names_are_found_in_other_spellings() -> None:
    files = files_table(
        [
            entry("exact", {"id": "1"}, {"id": "2"}, partitionValues={"day": "2024-01-31"}),
            entry("upper", {"ID": "1"}, {"ID": "2"}, partitionValues={"DAY": "2024-01-31"}),
            {
                "path": "json",
                "partitionValues": {"Day": "2024-01-31"},
                "stats": '{"minValues": {"Id": 1}, "maxValues": {"Id": 2}}',
            },
        ]
    )
    assert paths(files, "id = 5", partitions=("day",)) == []
    assert paths(files, "id = 2 AND day = '2024-01-31'", partitions=("day",)) == ["exact", "upper", "json"]
    assert paths(files, "day = '2024-02-01'", partitions=("day",)) == []


def test_two_columns_of_one_spelling_are_not_mixed_up() -> None:
    schema = pa.schema([("id", pa.int64()), ("ID", pa.int64())])
    files = files_table([entry("file", {"ID": "1"}, {"ID": "2"})])
    assert paths(files, "id = 5", schema) == ["file"]


def test_columns_of_files_may_be_missing() -> None:
    files = RANGES.select(["path", "minValues"])
    assert paths(files, "id < 10") == ["low", "unknown"]
    assert paths(RANGES.select(["path"]), "id < 10") == ["low", "high", "unknown"]


def test_slices_and_empty_tables_are_read() -> None:
    assert paths(RANGES.slice(1, 1), "id = 5") == []
    assert paths(RANGES.slice(1), "id = 50") == ["high", "unknown"]
    assert paths(RANGES.slice(1), "id = 5") == ["unknown"]
    assert paths(RANGES.slice(0, 0), "id = 5 AND day = '2024-01-31'", partitions=("day",)) == []
    assert paths(pa.concat_tables([RANGES.slice(2), RANGES.slice(0, 1)]), "id = 5") == ["unknown", "low"]
    assert (
        paths(pa.table({"path": pa.chunked_array([], pa.string()), "minValues": pa.chunked_array([], MAP)}), "id = 5")
        == []
    )


def test_entries_under_a_null_map_are_not_read() -> None:
    keys, items = pa.array(["id", "id"]), pa.array(["1", "1"])
    maps = pa.MapArray.from_arrays(pa.array([0, 1, 2], pa.int32()), keys, items, mask=pa.array([True, False]))
    assert paths(pa.table({"path": ["null", "set"], "maxValues": maps}), "id = 5") == ["null"]


def test_fields_inside_structs_never_prune() -> None:
    schema = pa.schema([("user", pa.struct([("age", pa.int32())])), ("age", pa.int32())])
    files = files_table(
        [entry("file", {"age": "1", "user.age": "1", "user": "1"}, {"age": "2", "user.age": "2", "user": "2"})]
    )
    assert paths(files, "user.age = 50", schema) == ["file"]
    assert paths(files, "age = 50", schema) == []


def test_a_null_count_of_a_struct_column_is_used() -> None:
    schema = pa.schema([("tags", pa.list_(pa.string()))])
    files = files_table([{"path": "file", "stats": '{"numRecords": 2, "nullCount": {"tags": 0}}'}])
    assert paths(files, "tags IS NULL", schema) == []
    assert paths(files, "tags IS NOT NULL", schema) == ["file"]


def golden_files(case: str) -> tuple[dict[str, Any], pa.Table]:
    """What the original's reader saw, and its files as our codec reads them: half a surrogate pair is a `?`."""
    with tarfile.open(GOLDEN) as archive:
        content = archive.extractfile(f"{case}/expected.json")
        assert content is not None
        expected = json.load(content)
    listed = [{name: file[name] for name in FILES.names} for file in expected["files"] if file["minValues"]]
    for file in listed:
        for side in ("minValues", "maxValues"):
            file[side] = {name: text.encode("utf-8", "replace").decode() for name, text in file[side].items()}
    return expected, files_table(listed)


TITLES = pa.schema([("id", pa.int64()), ("title", pa.string()), ("region", pa.string())])


def test_bounds_that_the_original_cut_keep_their_rows() -> None:
    expected, files = golden_files("17b-stats-truncation-json-checkpoint")
    dropped = 0
    for path, original in expected["originalStats"].items():
        for text in (original["minValues"]["title"], original["maxValues"]["title"]):
            kept = prune_files(files, compare(Column(("title",), pa.string()), "=", text), TITLES, ["region"])
            assert path in kept["path"].to_pylist()
            dropped += files.num_rows - kept.num_rows
    assert dropped > 0


def test_a_surrogate_pair_that_the_original_cut_keeps_its_rows() -> None:
    _, files = golden_files("17e-stats-surrogate-json-checkpoint")
    assert set(pc.map_lookup(files["maxValues"], "title", "first").to_pylist()) == {"x" * 31 + "?"}
    assert len(paths(files, f"title = '{'x' * 31}😀 and more'", TITLES)) == files.num_rows > 0
    assert paths(files, f"title = '{'x' * 30}y'", TITLES) == []


def test_manifest_bounds_without_typed_order_are_used_with_care() -> None:
    def found(
        arrow_type: pa.DataType, low: str | None, high: str | None, typed: bool = False
    ) -> dict[str, ColumnBounds]:
        return manifest_bounds({"C": (low, high)}, pa.schema([("c", arrow_type)]), typed=typed)

    assert found(pa.int64(), "9", "10") == {"c": ColumnBounds(min=9, max=10)}
    assert found(pa.date32(), "2024-01-31", None) == {"c": ColumnBounds(min=dt.date(2024, 1, 31))}
    assert found(pa.int64(), "9", str(2**53 + 1)) == {}
    assert found(pa.int64(), "9", str(2**53 + 1), typed=True) == {"c": ColumnBounds(min=9, max=2**53 + 1)}
    assert found(pa.decimal128(38, 0), "1", "1" * 16) == {}
    for arrow_type in (pa.string(), pa.float64(), pa.timestamp("us", "UTC"), pa.timestamp("us")):
        assert found(arrow_type, "1", "2") == {}
        assert len(found(arrow_type, "1", "2", typed=True)) == 1
    assert manifest_bounds({"other": ("1", "2")}, pa.schema([("c", pa.int64())]), typed=True) == {}
    assert manifest_bounds(None, SCHEMA, typed=True) == {}


def test_a_manifest_is_pruned_by_its_bounds_but_not_by_its_nulls() -> None:
    bounds = manifest_bounds({"id": ("5", "9"), "text": (None, None)}, SCHEMA, typed=True)
    assert not may_match(parse_predicate("id = 4", SCHEMA), bounds)
    assert may_match(parse_predicate("id = 5", SCHEMA), bounds)
    assert may_match(parse_predicate("id IS NULL", SCHEMA), bounds)
    assert may_match(parse_predicate("text = 'x' AND text IS NULL", SCHEMA), bounds)


def test_a_hundred_thousand_files_take_a_fraction_of_a_second() -> None:
    count = 100_000
    numbers = range(count)
    files = pa.table(
        {
            "path": [f"{n}.split" for n in numbers],
            "partitionValues": pa.array([[("day", f"2024-01-{n % 28 + 1:02d}")] for n in numbers], MAP),
            "minValues": pa.array([[("id", str(n)), ("text", f"u{n:06d}")] for n in numbers], MAP),
            "maxValues": pa.array([[("id", str(n + 1)), ("text", f"u{n:06d}z")] for n in numbers], MAP),
            "stats": pa.array(['{"numRecords": 2, "nullCount": {"id": 0, "text": 0}}'] * count),
            "numRecords": pa.array([2] * count, pa.int64()),
        }
    )
    predicate = parse_predicate("id BETWEEN 500 AND 520 AND text >= 'u000510'", SCHEMA)
    begin = time.process_time()
    kept = prune_files(files, predicate, SCHEMA, ["day"])
    assert time.process_time() - begin < 0.8  # about 0.05 s on a quiet machine
    assert kept.num_rows == 11
