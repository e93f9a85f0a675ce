"""Rows gathered by partition: nothing lost, nothing doubled, in order, in bounded memory and few files."""

from __future__ import annotations

import errno
import math
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from indextables.core.errors import SchemaError, StorageError
from indextables.split.build import spool as spool_module
from indextables.split.build.spool import Pile, Spool

SCHEMA = pa.schema([("p", pa.string()), ("n", pa.int64()), ("q", pa.float64()), ("text", pa.string())])
FLOATS = [0.0, -0.0, 1.5, math.nan, math.inf, None]


def batch(rows: list[tuple[Any, ...]], schema: pa.Schema = SCHEMA) -> pa.RecordBatch:
    columns = list(zip(*rows, strict=True)) if rows else [[] for _ in schema]
    return pa.record_batch(
        [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)], schema
    )


def taken(piles: Iterator[Pile]) -> list[tuple[dict[str, str | None], list[dict[str, Any]]]]:
    return [(pile.values, [row for part in pile.batches() for row in part.to_pylist()]) for pile in piles]


def float_text(value: float | None) -> str | None:
    if value is None:
        return None
    return {"nan": "NaN", "inf": "Infinity"}.get(repr(value), repr(value))


ROWS = st.tuples(
    st.sampled_from(["", "a", "b", "ä/b", None]), st.integers(0, 99), st.sampled_from(FLOATS), st.text(max_size=20)
)


@settings(max_examples=examples(30), deadline=None)
@given(
    batches=st.lists(st.lists(ROWS, max_size=12), max_size=12),
    memory=st.sampled_from([0, 200, 1 << 20]),
    roll=st.sampled_from([1, 300, 1 << 30]),
    by=st.sampled_from([(), ("p",), ("q",), ("q", "p")]),
)
def test_every_row_comes_back_once_in_order_on_its_pile(
    tmp_path_factory: pytest.TempPathFactory,
    batches: list[list[tuple[Any, ...]]],
    memory: int,
    roll: int,
    by: tuple[str, ...],
) -> None:
    directory = tmp_path_factory.mktemp("spool") / "spool"
    expected: dict[tuple[str | None, ...], list[dict[str, Any]]] = {}
    for rows in batches:
        for row in batch(rows).to_pylist():
            texts = {"p": row["p"], "q": float_text(row["q"])}
            expected.setdefault(tuple(texts[name] for name in by), []).append(row)
    found: dict[tuple[str | None, ...], list[dict[str, Any]]] = {}
    with Spool(directory, SCHEMA, by, roll=roll, memory=memory) as spool:
        piles = [pile for rows in batches for pile in spool.add(batch(rows))]
        if roll == 1:
            assert sum(pile.rows for pile in piles) == sum(map(len, batches)), "all were handed over at once"
        for values, rows in taken(iter([*piles, *spool.finish()])):
            assert list(values) == list(by)
            found.setdefault(tuple(values.values()), []).extend(rows)
        assert not directory.exists() or not list(directory.iterdir()), "a spool file goes with its last batch"
    assert not directory.exists()
    for key, rows in expected.items():
        left = [{name: value for name, value in row.items() if name not in by} for row in rows]
        assert repr(found.pop(key)) == repr(left)
    assert not found


def test_a_pile_is_handed_over_when_it_is_high_enough(tmp_path: Path) -> None:
    with Spool(tmp_path / "s", SCHEMA, ["p"], roll=1000) as spool:
        small = batch([("a", 1, None, "x"), ("b", 1, None, "x")])
        assert list(spool.add(small)) == []
        large = batch([("a", 2, None, "y" * 2000)])
        [pile] = spool.add(large)
        assert (pile.values, pile.rows) == ({"p": "a"}, 2)
        assert pile.bytes >= 1000
        assert taken(spool.add(large))[0][1][0]["n"] == 2, "a new pile began"
        assert [values for values, _ in taken(spool.finish())] == [{"p": "b"}]


def test_many_partitions_need_few_files_and_hold_none_open(tmp_path: Path) -> None:
    rows = [(f"p{number % 2000}", number, None, "x" * 50) for number in range(10_000)]
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    opened = len(list(Path("/proc/self/fd").iterdir()))
    resource.setrlimit(resource.RLIMIT_NOFILE, (opened + 30, hard))
    try:
        with Spool(tmp_path / "s", SCHEMA, ["p"], roll=1 << 30, memory=200_000) as spool:
            for start in range(0, len(rows), 2500):
                assert not list(spool.add(batch(rows[start : start + 2500])))
            assert 2 <= len(list((tmp_path / "s").iterdir())) <= 5
            assert len(list(Path("/proc/self/fd").iterdir())) == opened
            piles = list(spool.finish())
            assert len(piles) == 2000
            for pile in piles:
                [joined] = pile.batches()
                numbers = joined.column("n").to_pylist()
                assert numbers == list(range(numbers[0], 10_000, 2000)), "five small batches became one"
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_batches_are_joined_up_to_a_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool_module, "JOINED_ROWS", 10)
    with Spool(tmp_path / "s", SCHEMA, [], roll=1 << 30) as spool:
        for number in range(7):
            assert not list(spool.add(batch([("a", number, None, "x")] * 4)))
        [pile] = spool.finish()
        assert [part.num_rows for part in pile.batches()] == [8, 8, 8, 4]
        assert list(pile.batches()) == [], "rows are taken out once"


class TestPartitionValues:
    def one(self, tmp_path: Path, value: Any, arrow: pa.DataType) -> str | None:
        schema = pa.schema([("p", arrow), ("n", pa.int64())])
        with Spool(tmp_path / "s", schema, ["p"], roll=1) as spool:
            part = pa.record_batch([pa.array([value], arrow), pa.array([1])], schema)
            [pile] = spool.add(part)
            return pile.values["p"]

    @pytest.mark.parametrize(
        ("value", "arrow", "text"),
        [
            (True, pa.bool_(), "true"),
            (-7, pa.int8(), "-7"),
            (0.1, pa.float32(), "0.1"),
            (-0.0, pa.float64(), "-0.0"),
            (math.nan, pa.float64(), "NaN"),
            (18262, pa.date32(), "2020-01-01"),
            (1_000_000, pa.timestamp("us", "UTC"), "1970-01-01T00:00:01.000000Z"),
            (1_000_000, pa.timestamp("us"), "1970-01-01T00:00:01.000000"),
            (pa.scalar("1.50").cast(pa.decimal128(5, 2)).as_py(), pa.decimal128(5, 2), "1.50"),
            ("", pa.string(), ""),
            (None, pa.string(), None),
            (None, pa.float64(), None),
            (None, pa.timestamp("us"), None),
        ],
    )
    def test_texts_are_the_logs(self, tmp_path: Path, value: Any, arrow: pa.DataType, text: str | None) -> None:
        assert self.one(tmp_path, value, arrow) == text

    @pytest.mark.parametrize(
        ("value", "arrow"), [(2**62, pa.timestamp("us", "UTC")), (-(2**62), pa.timestamp("us")), (2**30, pa.date32())]
    )
    def test_a_year_without_a_text_is_refused(self, tmp_path: Path, value: int, arrow: pa.DataType) -> None:
        with pytest.raises(SchemaError, match=r"partition column p has the value .* outside the years 1 to 9999"):
            self.one(tmp_path, value, arrow)


class TestAFullDisk:
    def test_is_a_storage_error_and_leaves_nothing(self, tmp_path: Path) -> None:
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
        try:
            with (
                pytest.raises(StorageError, match=r"put of .*/s/0\.spool failed"),
                Spool(tmp_path / "s", SCHEMA, ["p"], roll=1 << 30, memory=0) as spool,
            ):
                list(spool.add(batch([("a", 1, None, "x" * 100_000)])))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert not (tmp_path / "s").exists()

    def test_a_directory_that_cannot_be_made(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(StorageError), Spool(tmp_path / "file" / "s", SCHEMA, [], roll=1 << 30, memory=0) as spool:
            list(spool.add(batch([("a", 1, None, "x")])))

    def test_a_spool_file_that_was_cut(self, tmp_path: Path) -> None:
        with Spool(tmp_path / "s", SCHEMA, [], roll=1 << 30, memory=0) as spool:
            assert not list(spool.add(batch([("a", 1, None, "x")])))
            [file] = (tmp_path / "s").iterdir()
            file.write_bytes(file.read_bytes()[:-1])
            [pile] = spool.finish()
            with pytest.raises(StorageError, match="bytes are left"):
                list(pile.batches())

    def test_one_whose_error_says_so(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(*_: object) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(spool_module._SpoolFile, "append", full)
        with (
            pytest.raises(StorageError, match="No space left on device"),
            Spool(tmp_path / "s", SCHEMA, [], roll=1 << 30, memory=0) as spool,
        ):
            list(spool.add(batch([("a", 1, None, "x")])))
        assert not (tmp_path / "s").exists()
