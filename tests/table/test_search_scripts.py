"""Words of other scripts are found and shown as Tantivy cuts them, which is not quite how Python would."""

from __future__ import annotations

import sys
import uuid
from functools import cache

import pyarrow as pa
import pytest

from indextables import Table
from indextables.core.errors import QueryError
from indextables.split.index.index_files import analyzer

SCHEMA = pa.schema([("id", pa.int64()), ("body", pa.string()), ("labels", pa.map_(pa.string(), pa.int64()))])
TEXTS = [
    "ΟΔΟΣ ΟΔΟΣΙΣ",
    "οδός οδος",
    "İstanbul DİYARBAKIR",
    "कीमत बढ़ी",
    "ภาษาไทย ดีมาก",
    "cafe\u0301 STRASSE straße",
    "x² Ⅷ \uff12\uff10 Ⓐ",
    "日本語 テスト",
    "a\u00a0b\u2028c_d",
]


@cache
def table(tokenizer: str) -> Table:
    options = {"indexing.typemap.body": "text", f"indexing.tokenizer.{tokenizer}": "body"}
    made = Table.create(f"memory://{uuid.uuid4().hex}/table", SCHEMA, options=options)
    labels = [[("a", number)] for number in range(len(TEXTS))]
    made.append(pa.table({"id": range(len(TEXTS)), "body": TEXTS, "labels": labels}, schema=SCHEMA))
    return made


def words_of(text: str, tokenizer: str) -> list[str]:
    return list(analyzer(tokenizer, 255).analyze(text))


def found(query: str, tokenizer: str = "default") -> list[int]:
    return sorted(table(tokenizer).search(query, ["id"], limit=100).column("id").to_pylist())


@pytest.mark.parametrize("tokenizer", ["default", "whitespace"])
@pytest.mark.parametrize("text", TEXTS)
def test_every_word_of_a_text_is_found_and_shown(text: str, tokenizer: str) -> None:
    """As often as the text has it, and nothing is shown that is not the word."""
    for piece in text.split(" "):
        words = words_of(piece, tokenizer)
        rows = table(tokenizer).search(f'body:"{piece}"', ["body"], snippets=["body"], limit=100).to_pylist()
        assert text in [row["body"] for row in rows]
        for row in rows:
            snippet = row["_snippets"]["body"]
            shown = [
                words_of(snippet["text"][mark["start"] : mark["end"]], tokenizer) for mark in snippet["highlights"]
            ]
            assert shown == [[word] for word in words_of(row["body"], tokenizer) if word in words], (piece, shown)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("form", ["{}*", "{}~0", "?{}", "*{}"])
def test_patterns_and_similar_words_are_made_small_as_words_are(text: str, form: str) -> None:
    """In their own letters: capital sigmas at the end, small letters that are two characters."""
    for piece in text.split():
        if not all(words_of(letter, "default") for letter in piece):
            continue  # it is cut inside
        part = piece if form[0] == "{" else piece[1:]
        if part and not (form[0] == "?" and len(piece[0].lower()) > 1):
            assert TEXTS.index(text) in found(f"body:{form.format(part)}"), part


def test_only_our_digits_are_numbers_in_json() -> None:
    assert found("labels.a:3") == [3]
    with pytest.raises(QueryError, match="'٣' cannot be cast to int64"):
        found("labels.a:٣")


def test_letters_are_made_small_one_by_one() -> None:
    """What a pattern relies on, for every letter there is."""
    small = analyzer("default", 255)
    letters = (chr(code) for code in range(sys.maxunicode + 1) if chr(code).lower() != chr(code))
    odd = [letter for letter in letters if small.analyze(letter) not in ([letter.lower()], [])]
    assert [letter for letter in odd if len(letter.lower()) == 1] == []


def shown(text: str, query: str) -> list[str]:
    schema = pa.schema([("body", pa.string())])
    options = {"indexing.typemap.body": "text"}
    made = Table.create(f"memory://{uuid.uuid4().hex}/table", schema, options=options)
    made.append(pa.table({"body": [text]}, schema=schema))
    (row,) = made.search(query, snippets=["body"]).to_pylist()
    snippet = row["_snippets"]["body"]
    return [snippet["text"][mark["start"] : mark["end"]] for mark in snippet["highlights"]]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("d?sk", ["disk", "Dusk"]),
        ("*é*", ["été"]),
        ("/\\w+\\d/", ["Ärger7"]),
        ("/[\\w]*[\\d]+/", ["Ärger7"]),
        ("/[^\\W\\d]+7/ OR disk", ["disk"]),
        ("/d(i|u)sk/", ["disk", "Dusk"]),
        ("disc~1 Ärgr7~1", ["disk", "Ärger7"]),
    ],
)
def test_what_patterns_find_is_shown(query: str, words: list[str]) -> None:
    assert shown("disk, Dusk: Ärger7 été", query) == words


@pytest.mark.timeout(20)
@pytest.mark.parametrize("query", ["*?" * 50, "/(a*)*/", "/(a|a)*/", "/(.*.*)*a/", "?*" * 40])
def test_patterns_that_take_python_for_ever(query: str) -> None:
    long = "a" * 150
    assert shown(f"{long} b", query) == [long]
