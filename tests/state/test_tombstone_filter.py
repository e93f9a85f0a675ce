"""Tombstones that stay bytes: found, compared and counted as the set of texts that they are."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from effort import examples
from indextables.core.errors import CorruptLog
from indextables.log.avro.avro_file import Container, read_container, write_container
from indextables.log.avro.decode_records import decode_records
from indextables.log.avro.encode_record import encode_record
from indextables.log.avro.text_spans import _WORTH_IT, text_spans
from indextables.log.state.tombstone_filter import Paths, TombstoneFilter
from log.strategies import texts

QUICK = settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])

LIST = {"type": "array", "items": "string"}
TAIL = "0123456789abcdef01234567"

runs = st.lists(st.tuples(texts() | st.integers(60, 70).map("x".__mul__), st.integers(1, 3 * _WORTH_IT)), max_size=5)
"""Texts, each some times over: in rows of one length, and in none."""


def container_of(record: bytes) -> Container:
    return read_container("m", write_container(b'{"type":"array","items":"string"}', "null", 1, [(1, record)]))


def expanded(found: list[tuple[str, int]]) -> list[str]:
    return [text for text, times in found for _ in range(times)]


@QUICK
@given(found=runs)
def test_lists_of_texts_as_columns(found: list[tuple[str, int]]) -> None:
    expected = expanded(found)
    container = container_of(encode_record(LIST, expected))
    (columnar,) = decode_records(container, columnar=True)
    columnar.validate(full=True)
    assert columnar.type == pa.string()
    assert columnar.to_pylist() == expected == decode_records(container)[0]


@QUICK
@given(found=runs, data=st.data())
def test_damaged_lists(found: list[tuple[str, int]], data: st.DataObject) -> None:
    """Both ways give the same, or both say which file is damaged."""
    broken = bytearray(encode_record(LIST, expanded(found)))
    for _ in range(data.draw(st.integers(1, 3))):
        broken[data.draw(st.integers(0, len(broken) - 1))] = data.draw(st.integers(0, 255))
    container = container_of(bytes(broken))
    outcomes: list[Any] = []
    for columnar in (False, True):
        try:
            (texts_found,) = decode_records(container, columnar=columnar)
            outcomes.append(texts_found.to_pylist() if columnar else texts_found)
        except CorruptLog as error:
            outcomes.append((str(error)[:12], error.object))
    assert outcomes[0] == outcomes[1]
    assert not isinstance(outcomes[0], tuple) or outcomes[0] == ("m is damaged", "m")


def test_lists_in_several_blocks() -> None:
    blocks = b"\x02" + b"\x02a" + b"\x03\x04" + b"\x02b\x02c" + b"\x00"
    container = container_of(blocks)
    assert decode_records(container, columnar=True)[0].to_pylist() == decode_records(container)[0] == ["a", "b", "c"]


def test_runs_end_where_another_length_stands() -> None:
    """Wherever the other text lies: before the first look, at it, behind it."""
    for at in range(2 * _WORTH_IT):
        expected = ["abc"] * at + ["other"] + ["abc"] * (2 * _WORTH_IT)
        data = b"".join(bytes([len(text) << 1]) + text.encode() for text in expected)
        starts, lengths, end = text_spans("m", data, 0, len(expected))
        assert [data[s : s + n].decode() for s, n in zip(starts, lengths, strict=True)] == expected
        assert end == len(data)


@pytest.mark.parametrize("chunks", [1, 3])
def test_paths_that_end_alike(chunks: int) -> None:
    """A hash of the end cannot tell them apart; the answer can."""
    dead = [f"{letter}/{TAIL}" for letter in "abc"] + ["d/" + TAIL[::-1], "short"]
    paths = [f"{letter}/{TAIL}" for letter in "xaybzc"] + ["short", "shore", "e/" + TAIL[::-1], "d/" + TAIL[::-1], TAIL]
    column = pa.chunked_array([pa.array(part.tolist(), pa.string()) for part in np.array_split(paths, chunks)])
    expected = [number for number, path in enumerate(paths) if path in dead]
    assert TombstoneFilter(dead).rows(column).tolist() == expected
    assert TombstoneFilter(Paths.of(pa.array(dead * 2, pa.string()))).rows(column).tolist() == expected
    assert TombstoneFilter(["short"]).rows(column).tolist() == [6]
    assert TombstoneFilter([]).rows(column).tolist() == []
    assert TombstoneFilter(dead).rows(pa.chunked_array([], pa.string())).tolist() == []


@QUICK
@given(one=st.lists(texts()), other=st.sets(texts()))
def test_paths_are_a_set(one: list[str], other: set[str]) -> None:
    paths = Paths.of(pa.array(one, pa.string()))
    for these in (paths, pickle.loads(pickle.dumps(paths)), Paths.of(one), Paths.of(paths)):
        assert these == set(one)
        assert len(these) == len(set(one))
        assert sorted(these) == sorted(set(one))
        assert these | other == other | these == set(one) | other
        assert these & other == set(one) & other
        assert other - these == other - set(one)
        assert these - other == set(one) - other
        assert these.isdisjoint(other) == set(one).isdisjoint(other)
        assert all(text in these for text in one)
    assert Paths.of(None) == frozenset()
