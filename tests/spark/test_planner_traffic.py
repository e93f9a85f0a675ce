"""What travels between Java and Python while a read is planned: long questions in pieces, tasks of a large table once."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from indextables import Table
from indextables.spark.connector import bridge

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([("part", pa.int64()), ("id", pa.int64()), ("word", pa.string())])
PARTS = 120
"""Partitions, and so splits and tasks: more than are packed again for every question."""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    table = Table.create(tmp_path_factory.mktemp("traffic") / "table", SCHEMA, partition_by=["part"])
    ids = range(2 * PARTS)
    table.append(pa.table([[n % PARTS for n in ids], list(ids), ["😀" * (n % 7) for n in ids]], schema=SCHEMA))
    return table.url


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[bytes]]:
    """The answers with tasks that Python gave."""
    answers: list[Sequence[bytes]] = []
    real = bridge.VERBS["tasks"]

    def telling(asked: Mapping[str, Any]) -> Sequence[bytes]:
        answers.append(real(asked))
        return answers[-1]

    monkeypatch.setitem(bridge.VERBS, "tasks", telling)
    return answers


def ids_of(spark: SparkSession, url: str, *columns: str, where: str = "true", **more: str) -> list[Any]:
    options = {"spark.indextables.read.local.enabled": "false", "spark.indextables.read.splitsPerTask": "1", **more}
    return sorted(spark.read.format("indextables").options(**options).load(url).where(where).select(*columns).collect())


def test_the_tasks_of_a_large_table_travel_once(spark: SparkSession, url: str, sent: list[Sequence[bytes]]) -> None:
    every = [(n,) for n in range(2 * PARTS)]
    assert ids_of(spark, url, "id") == every
    assert ids_of(spark, url, "id") == every
    assert ids_of(spark, url, "part", "id") == sorted((n % PARTS, n) for n in range(2 * PARTS)), "another function"
    assert [len(answer) > PARTS for answer in sent] == [True, False, False]
    assert ids_of(spark, url, "id", where="part < 110") == [(n,) for n in range(2 * PARTS) if n % PARTS < 110]
    assert ids_of(spark, url, "id") == every, "other tasks were sent in between"
    assert ids_of(spark, url, "id", **{"spark.indextables.read.splitsPerTask": "7"}) == every, "packed otherwise"
    assert ids_of(spark, url, "id") == every


def test_a_long_question_comes_in_pieces(spark: SparkSession, url: str) -> None:
    """Values whose letters are two of Java's characters each, so that pieces of any length would cut some of them."""
    for shift in ("", "x"):
        wanted = [shift + "😀" * 3_500, *("😀" * n for n in range(2, 5))]
        said = ", ".join(f"'{word}'" for word in wanted)
        found = spark.read.format("indextables").load(url).where(f"word IN ({said})").select("id").collect()
        assert sorted(row.id for row in found) == [n for n in range(2 * PARTS) if n % 7 in (2, 3, 4)]


def test_pieces_of_several_questions_are_kept_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(bridge.VERBS, "echo", lambda asked: [json.dumps(asked).encode()])
    answering = bridge.Answering()
    ones, twos = ({"verb": "echo", "text": letter * 10} for letter in "ab")
    first, second = json.dumps(ones), json.dumps(twos)
    assert answering.apply("+1:" + first[:9]) == b""
    assert answering.apply("+2:" + second[:5]) == b""
    assert answering.apply("+1:" + first[9:12]) == b""
    for text, asked in (("=2:" + second[5:], twos), ("=1:" + first[12:], ones), (first, ones)):
        answer = answering.apply(text)
        assert struct.unpack(">ii", answer[:8]) == (1, len(answer) - 8)
        assert json.loads(answer[8:]) == asked
    assert answering.apply("=3:" + first).startswith(struct.pack(">i", -1)), (
        "a last piece without the others is an error"
    )
