"""Indexes without their positions: right wherever positions are not needed, an error wherever they are, never a wrong answer.

The argument is in `tails`; what it says about Tantivy is tried here, on corpora of every shape that could matter: long and
short lists of positions, one field and many, rare and common words, segments with a single document.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import tantivy  # type: ignore[import-untyped]
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from effort import examples
from indextables.core.errors import CorruptSplit
from indextables.split.bundle.footer import Region
from indextables.split.bundle.positions_tail import tail_length
from indextables.split.cache.index_cache import IndexCache
from split.cache_support import WORDS, Split, build, from_index, phrase, real_split, rows, term, texts


def cache_at(place: Path, **options: int) -> IndexCache:
    return IndexCache(place, 1 << 24, scratch=place.parent / "scratch", **({"sparse_from": 1} | options))


def positions_of(split: Split) -> Region:
    return next(region for region in split.regions if region.name.endswith(".pos"))


def on_disk(place: Path) -> int:
    return sum(path.stat().st_blocks * 512 for path in place.rglob("*.pos"))


def test_a_search_without_phrases_fetches_no_positions(tmp_path: Path) -> None:
    split = real_split(tmp_path / "index", documents=3000)
    original = tantivy.Index.open(str(tmp_path / "index"))
    cache = cache_at(tmp_path / "cache")
    with split.lease(cache, without_positions=True) as lease:
        assert not lease.positions
        index = tantivy.Index.open(str(lease.directory))
        for word in WORDS:
            assert term(index, word) == term(original, word)
            scored = tantivy.Query.term_query(index.schema, "body", word, "freq")
            best, expected = index.searcher().search(scored, 20).hits, original.searcher().search(scored, 20).hits
            assert [(score, at.doc) for score, at in best] == [(score, at.doc) for score, at in expected]
    positions = positions_of(split)
    fetched = sum(region.length for region in split.fetched[0])
    assert fetched == split.bytes - positions.length + split.tails[0].length
    assert split.tails[0].length < 200 < positions.length
    assert on_disk(tmp_path / "cache") <= 2 * 4096


def test_positions_are_added_when_a_phrase_comes(tmp_path: Path) -> None:
    split = real_split(tmp_path / "index", documents=3000)
    original = tantivy.Index.open(str(tmp_path / "index"))
    cache = cache_at(tmp_path / "cache")
    sparse = split.lease(cache, without_positions=True)
    early = tantivy.Index.open(str(sparse.directory))
    with split.lease(cache) as whole:
        assert whole.positions
        assert split.is_in(whole.directory)
        assert [region.name for region in split.fetched[1]] == [positions_of(split).name], "the rest was there"
        index = tantivy.Index.open(str(whole.directory))
        words = ["word1", "word2"]
        assert phrase(index, words) == phrase(original, words) != []
        assert term(early, "word5") == term(original, "word5"), "who has the sparse one goes on with it"
    assert cache.statistics().entries == 2
    sparse.release()
    with split.lease(cache, without_positions=True) as lease:
        assert lease.positions, "the whole one serves both"
    assert len(split.fetched) == 2
    cache.flush()
    split.lease(cache, without_positions=True).release()
    split.lease(cache).release()
    assert cache.statistics().entries == 1, "the sparse one leaves when nobody uses it"
    assert split.fetched[-1] == [positions_of(split)]


def test_small_positions_are_not_worth_a_second_request(tmp_path: Path) -> None:
    split = real_split(tmp_path / "index", documents=50)
    with split.lease(cache_at(tmp_path / "cache", sparse_from=1 << 20), without_positions=True) as lease:
        assert lease.positions
    assert len(split.fetched) == 1


def test_without_tails_everything_is_fetched(tmp_path: Path) -> None:
    split = real_split(tmp_path / "index")
    split.tails = ()
    with split.lease(cache_at(tmp_path / "cache"), without_positions=True) as lease:
        assert lease.positions


def test_a_damaged_tail_is_noticed(tmp_path: Path) -> None:
    split = real_split(tmp_path / "index")
    end = split.tails[0].offset
    split.data = split.data[:end] + bytes([split.data[end] ^ 1]) + split.data[end + 1 :]
    with pytest.raises(CorruptSplit, match=r"\.pos does not match its checksum"):
        split.lease(cache_at(tmp_path / "cache"), without_positions=True)


WITHOUT: dict[str, Callable[[tantivy.Schema, str], tantivy.Query]] = {
    "regex": lambda schema, word: tantivy.Query.regex_query(schema, "body", word + ".*"),
    "fuzzy": lambda schema, word: tantivy.Query.fuzzy_term_query(schema, "body", word, 1),
    "set": lambda schema, word: tantivy.Query.term_set_query(schema, "body", [word, "word1"]),
    "best": lambda schema, word: tantivy.Query.disjunction_max_query(
        [tantivy.Query.term_query(schema, "body", each, "freq") for each in (word, "word2")]
    ),
    "both": lambda schema, word: tantivy.Query.boolean_query(
        [(tantivy.Occur.Must, tantivy.Query.term_query(schema, "body", each, "freq")) for each in (word, "word3")]
    ),
}


@pytest.mark.parametrize("kind", WITHOUT)
def test_queries_that_look_at_no_positions(tmp_path: Path, kind: str) -> None:
    split = real_split(tmp_path / "index")
    original = tantivy.Index.open(str(tmp_path / "index"))
    with split.lease(cache_at(tmp_path / "cache"), without_positions=True) as lease:
        index = tantivy.Index.open(str(lease.directory))
        for word in WORDS:
            query = WITHOUT[kind](index.schema, word)
            assert rows(index, query) == rows(original, query) != []
            best, expected = index.searcher().search(query, 20).hits, original.searcher().search(query, 20).hits
            assert [(score, at.doc) for score, at in best] == [(score, at.doc) for score, at in expected]


PHRASES: dict[str, Callable[[tantivy.Schema, str, list[str]], tantivy.Query]] = {
    "phrase": lambda schema, name, words: tantivy.Query.phrase_query(schema, name, words),
    "slop": lambda schema, name, words: tantivy.Query.phrase_query(schema, name, words, 3),
    "prefix": lambda schema, name, words: tantivy.Query.phrase_prefix_query(schema, name, words),
    "regex": lambda schema, name, words: tantivy.Query.regex_phrase_query(schema, name, words),
    "boosted": lambda schema, name, words: tantivy.Query.boost_query(
        tantivy.Query.phrase_query(schema, name, words), 2.0
    ),
    "constant": lambda schema, name, words: tantivy.Query.const_score_query(
        tantivy.Query.phrase_query(schema, name, words), 2.0
    ),
    "inside": lambda schema, name, words: tantivy.Query.boolean_query(
        [
            (tantivy.Occur.Should, tantivy.Query.term_query(schema, name, words[0], "freq")),
            (tantivy.Occur.Should, tantivy.Query.phrase_query(schema, name, words)),
        ]
    ),
}


def occurring(documents: Sequence[dict[str, str]], name: str) -> list[str]:
    return sorted({word for document in documents for word in document[name].split()})


@pytest.mark.parametrize(
    ("documents", "vocabulary", "longest", "fields"),
    [(1, 3, 5, 1), (3, 2, 400, 1), (2000, 3, 10, 2), (300, 4000, 30, 1), (5, 50, 3, 40), (1500, 40, 120, 1)],
)
def test_a_query_that_needs_positions_fails_on_a_sparse_index(
    tmp_path: Path, documents: int, vocabulary: int, longest: int, fields: int
) -> None:
    words = [f"w{number}" for number in range(vocabulary)]
    names = [f"field{number}" for number in range(fields)]
    columns = [texts(seed, documents, words, longest=longest) for seed in range(fields)]
    lines = [dict(zip(names, line, strict=True)) for line in zip(*columns, strict=True)]
    lines[0] = dict.fromkeys(names, "w0 w1 w0 w1")
    build(tmp_path / "index", lines, names)
    split = from_index(tmp_path / "index", "a")
    with split.lease(cache_at(tmp_path / "cache"), without_positions=True) as lease:
        index = tantivy.Index.open(str(lease.directory))
        for name in names:
            known = occurring(lines, name)
            pairs = [["w0", "w1"], *([first, second] for first, second in itertools.pairwise(known))]
            for pair in pairs[:200] + pairs[-50:]:
                for query in PHRASES.values():
                    with pytest.raises(ValueError, match="IO error"):
                        rows(index, query(index.schema, name, pair))


@settings(max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lines=st.lists(st.lists(st.sampled_from("abcdefg"), max_size=200).map(" ".join), min_size=1, max_size=40),
    phrases=st.lists(st.lists(st.sampled_from("abcdefg"), min_size=2, max_size=4), max_size=10),
)
def test_sparse_answers_are_right_or_errors(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], phrases: list[list[str]]
) -> None:
    where = tmp_path_factory.mktemp("corpus")
    build(where / "index", [{"body": line} for line in lines], ["body"])
    split = from_index(where / "index", "a")
    original = tantivy.Index.open(str(where / "index"))
    with split.lease(cache_at(where / "cache"), without_positions=True) as lease:
        index = tantivy.Index.open(str(lease.directory))
        for letter in "abcdefg":
            assert term(index, letter) == [row for row, line in enumerate(lines) if letter in line.split()]
        known = {word for line in lines for word in line.split()}
        for words in phrases:
            found = phrase_or_none(index, words)
            if found is None:
                assert set(words) & known
            else:
                assert found == phrase(original, words)
                assert not set(words) <= known, "an answer without positions is possible only where a word is missing"


def phrase_or_none(index: tantivy.Index, words: list[str]) -> list[int] | None:
    try:
        return phrase(index, words)
    except ValueError:
        return None


def test_tails_of_files_that_are_something_else(tmp_path: Path) -> None:
    path = tmp_path / "a.pos"
    footer = b"{}" + struct.pack("<II", 2, 1337)
    for content, expected in (
        (b"", None),
        (bytes(100), None),
        (footer[-8:], None),
        (struct.pack("<II", 10**9, 1337), None),
        (struct.pack("<I", 0) + footer, None),
        (struct.pack("<I", 5) + footer, None),
        (b"12345" + struct.pack("<I", 5) + footer, 19),
        (b"xx12345" + struct.pack("<I", 5) + footer, 19),
        (b"xx12345" + struct.pack("<I", 5) + b"{}" + struct.pack("<II", 2, 1338), None),
    ):
        path.write_bytes(content)
        assert tail_length(path) == expected, content


@pytest.mark.parametrize("fields", [1, 3, 60])
def test_the_tail_is_exact(tmp_path: Path, fields: int) -> None:
    """It begins with the directory, and that with the number of fields: one byte more would be a position."""
    names = [f"field{number}" for number in range(fields)]
    build(tmp_path / "index", [dict.fromkeys(names, line) for line in texts(1, 200)], names)
    path = next((tmp_path / "index").glob("*.pos"))
    length = tail_length(path)
    assert length is not None
    content = path.read_bytes()
    assert content[-length] == 0x80 | fields
    path.write_bytes(bytes(len(content) - length) + content[-length:])
    assert term(tantivy.Index.open(str(tmp_path / "index")), "word1", field_name=names[-1])
