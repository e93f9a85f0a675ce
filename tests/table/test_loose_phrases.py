"""Phrases whose words may be moved, against a plain model: each word at a place of its own, moved about as far as the others."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from indextables import Table
from indextables.core.errors import QueryError
from indextables.split.index.loose_phrases import MOST_PLACEMENTS, most_moves, placements, ways_to_move

WORDS = ["a1", "b1", "c1", "d1", "e1"]
OPTIONS = {"spark.indextables.indexing.typemap.m": "text"}


def has_phrase(words: Sequence[str], slop: int, text: str) -> bool:
    found = text.split()
    places = [[place for place, word in enumerate(found) if word == wanted] for wanted in words]
    for chosen in itertools.product(*places):
        moves = [place - number for number, place in enumerate(chosen)]
        if len(set(chosen)) == len(chosen) and max(moves) - min(moves) <= slop:
            return True
    return False


@pytest.fixture(scope="module")
def texts() -> list[str]:
    chance = random.Random(7)
    return [" ".join(chance.choices(WORDS, k=chance.randint(2, 8))) for _ in range(400)]


@pytest.fixture(scope="module", params=["split by split", "merged"])
def table(texts: list[str], tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Table:
    table = Table.create(tmp_path_factory.mktemp("loose") / "t", "id long, m string", options=OPTIONS)
    for start in range(0, len(texts), 100):
        some = range(start, start + 100)
        table.append(pa.table({"id": some, "m": [texts[number] for number in some]}))
    if request.param == "merged":
        table.merge_splits(target_size="1G")
    return table


@pytest.mark.parametrize("count", [2, 3, 4, 5])
@pytest.mark.parametrize("slop", [1, 2, 3])
def test_rows_are_those_of_the_model(table: Table, texts: list[str], count: int, slop: int) -> None:
    """Of a scan, of a search with scores, and of a count, with words that are different and words that come twice."""
    chance = random.Random(count * 10 + slop)
    for words in [chance.sample(WORDS, count), chance.choices(WORDS, k=count), chance.choices(WORDS[:2], k=count)]:
        query = f'm:"{" ".join(words)}"~{slop}'
        expected = [number for number, text in enumerate(texts) if has_phrase(words, slop, text)]
        assert table.scan(["id"], query=query).read_all()["id"].to_pylist() == expected, query
        assert sorted(table.search(query, ["id"], limit=1_000)["id"].to_pylist()) == expected, query
        assert table.count(query=query) == len(expected), query
        assert table.count(query=f"NOT {query}") == len(texts) - len(expected), query


def test_a_better_placed_phrase_has_no_worse_score(table: Table) -> None:
    found = table.search('m:"a1 b1 c1"~2', ["m"], limit=5)
    assert all(has_phrase(["a1", "b1", "c1"], 2, text) for text in found["m"].to_pylist())
    assert min(found["_score"].to_pylist()) > 0


def test_too_many_ways_are_refused(table: Table, tmp_path: Path) -> None:
    with pytest.raises(QueryError, match="5 words can be moved by at most 3 places, not by 4") as error:
        table.count(query='m:"a1 b1 c1 d1 e1"~4')
    assert error.value.details["position"] == 2
    json = Table.create(tmp_path / "j", "p string", options={"spark.indextables.indexing.typemap.p": "json"})
    json.append(pa.table({"p": ['{"m": "a1 x1 b1"}']}))
    assert json.count(query='p.m:"a1 b1"~1') == 1
    with pytest.raises(QueryError, match=r"inside JSON only two different words can be moved.*\(a1 AND x1 AND b1\)"):
        json.count(query='p.m:"a1 x1 b1"~1')


@pytest.mark.parametrize("words", range(2, 11))
def test_ways_are_counted_rightly(words: int) -> None:
    slop = most_moves(words, 4)
    ways = placements([str(number) for number in range(words)], slop)
    assert len(ways) == len(set(ways)) <= ways_to_move(words, slop) <= MOST_PLACEMENTS
    assert all(way[0][0] == 0 and way[-1][0] < words + slop for way in ways)
