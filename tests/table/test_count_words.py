"""Counts of two words, which have a way of their own: the same as by looking at all rows, whatever other words there are."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from effort import examples
from indextables import Table
from indextables.core.runtime.process_state import Lru
from indextables.split.plan.index_view import IndexView
from indextables.split.query import count_two_terms

SCHEMA = pa.schema([("id", pa.int64()), ("text", pa.string()), ("other", pa.string())])
OPTIONS = {"spark.indextables.indexing.typemap.text": "text,other"}
WORDS = ["alpha", "alphabet", "alphabets", "alpha123", "alpha9", "gamma", "gammas", "äußern", "äußerung", "ab", "never"]


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    count_two_terms.WIDE_WORDS.clear()
    yield
    count_two_terms.WIDE_WORDS.clear()


def texts(seed: int, rows: int) -> pa.Table:
    chosen = random.Random(seed)
    columns = {
        name: [
            None if chosen.random() < 0.1 else " ".join(chosen.choices(WORDS[:-1], k=chosen.randrange(5)))
            for _ in range(rows)
        ]
        for name in ("text", "other")
    }
    return pa.table({"id": range(rows), **columns}, SCHEMA)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Table, list[dict[str, str | None]]]]:
    """The same rows in three splits, and in one that they were merged into."""
    folder, rows = tmp_path_factory.mktemp("words"), [texts(seed, 300) for seed in range(3)]
    found = []
    for name in ("three", "merged"):
        table = Table.create(folder / name, SCHEMA, options=OPTIONS)
        for some in rows:
            table.append(some)
        if name == "merged":
            table.merge_splits()
        found.append((table, pa.concat_tables(rows).to_pylist()))
    assert [table.files().num_rows for table, _ in found] == [3, 1]
    return found


def expected(rows: list[dict[str, str | None]], one: tuple[str, str], other: tuple[str, str]) -> int:
    return sum(all(word in (row[column] or "").split() for column, word in (one, other)) for row in rows)


def every_word_is_listed(patch: pytest.MonkeyPatch, most: int) -> None:
    """However rare a word is, and the other beside it; unless more than `most` words begin with it."""
    for limit, value in {"_LEAST_ROWS": 0, "_MOST_TIMES": 10**9, "_MOST_WORDS": most}.items():
        patch.setattr(count_two_terms, limit, value)


FIELDS = st.tuples(st.sampled_from(["text", "other"]), st.sampled_from(WORDS))


@given(one=FIELDS, other=FIELDS, most=st.sampled_from([0, 1, 2, 32]))
@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_both_words(
    one: tuple[str, str],
    other: tuple[str, str],
    most: int,
    tables: list[tuple[Table, list[dict[str, str | None]]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    every_word_is_listed(monkeypatch, most)
    count_two_terms.WIDE_WORDS.clear()
    for table, rows in tables:
        query = f"{one[0]}:{one[1]} AND {other[0]}:{other[1]}"
        assert table.count(query=query) == expected(rows, one, other)
        assert table.count(query=f"+{one[0]}:{one[1]} +{other[0]}:{other[1]} text:gamma") == expected(rows, one, other)
        without = sum("ab" in (row["text"] or "").split() for row in rows if expected([row], one, other))
        assert table.count(query=f"({query}) AND NOT text:ab") == expected(rows, one, other) - without


class Asked:
    """Counts how often words are listed, and how."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ways: list[str | None] = []
        usual = count_two_terms.count_of_both

        def watched(view: IndexView, *more: object) -> int | None:
            found = usual(view, *more)  # type: ignore[arg-type]
            self.ways.append(None if found is None else "listed")
            return found

        monkeypatch.setattr("indextables.split.query.match.count_of_both", watched)


def test_which_words_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only words that are no rarity, of a like frequency, and few others begin with."""
    rows = 6000
    text = [
        " ".join(
            [
                "always",
                "often" if n % 2 else "seldom" if n % 30 == 0 else "",
                "third" if n % 3 == 0 else "",
                "request" if n % 2 else f"request{n}",
                "sixth" if n % 6 == 0 else "",
                "abc" if n % 2 else "",
            ]
        )
        for n in range(rows)
    ]
    table = Table.create(tmp_path / "t", SCHEMA, options=OPTIONS)
    table.append(pa.table({"id": range(rows), "text": text, "other": [None] * rows}, SCHEMA))
    asked = Asked(monkeypatch)
    for query, found, way in (
        ("text:often AND text:third", rows // 6, "listed"),
        ("text:always AND text:often", rows // 2, "listed"),
        ("text:often AND text:seldom", 0, None),  # one is rare
        ("text:always AND text:sixth", rows // 6, None),
        ("text:request AND text:abc", rows // 2, None),  # one goes on with numbers, the other is short
        ("text:request AND text:often", rows // 2, "listed"),  # by the other one
        ("text:third AND text:third", rows // 3, "listed"),
    ):
        asked.ways.clear()
        assert table.count(query=query) == found, query
        assert asked.ways == [way], query
    assert count_two_terms.WIDE_WORDS.listed() == [("text", "request")]


def test_what_is_known_of_words_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    every_word_is_listed(monkeypatch, most=0)
    monkeypatch.setattr(count_two_terms, "_MOST_KNOWN", 3)
    monkeypatch.setattr(count_two_terms, "WIDE_WORDS", Lru(3))
    words = [f"{letter}words" for letter in "abcdefghij"]
    table = Table.create(tmp_path / "t", SCHEMA, options=OPTIONS)
    table.append(pa.table({"id": [1], "text": [" ".join(words)], "other": [None]}, SCHEMA))
    for word in words:
        assert table.count(query=f"text:{word} AND text:{words[0]}") == 1
        assert len(count_two_terms.WIDE_WORDS) <= 3
