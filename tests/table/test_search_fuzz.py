"""No text makes a search crash, hang or raise anything but a QueryError of one line."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from effort import examples
from indextables import Table
from indextables.core.errors import QueryError
from table.test_search import DAYS, make

PATHOLOGICAL = {
    "repeated repeats": "/(a{1,1000}){1,1000}/",
    "nested stars": "/((((((((a*)*)*)*)*)*)*)*)*/",
    "many stars": "/" + ".*" * 300 + "x/",
    "many alternatives": "/(.|..|...){1,50}/",
    "classes": "/[\\p{L}\\d]{1,200}/",
    "look around": "/(?=a)b/",
    "no pattern": "//",
    "half a pattern": "/[/",
    "wildcards": "*?" * 400,
    "question marks": "?" * 900,
    "a long word": "a" * 9_000,
    "a long word, nearly": "a" * 5_000 + "~2",
    "a long phrase": '"' + "a b " * 2_000 + '"',
    "a loose phrase": '"' + "a " * 4_000 + '"~999999999',
    "a loose phrase within the limits": '"' + "a " * 10 + '"~100',
    "a range beyond all numbers": "num:[-99999999999999999999 TO 99999999999999999999999]",
    "beyond all doubles": "x:[-1e999 TO 1e999]",
    "a long list": "name:IN [" + " ".join(f"n{number}" for number in range(1_800)) + "]",
    "all of a list": "num:IN [" + " ".join(str(number) for number in range(2_000)) + "]",
    "many words": " ".join(f"w{number}" for number in range(1_700)),
    "many musts": "+a " * 3_000,
    "many nots": "-a " * 3_000,
    "everything": "* " * 4_000,
    "deep": "(" * 64 + "a" + ")" * 64,
    "too deep": "(" * 10_000,
    "nots of nots": "NOT " * 60 + "a",
    "zero": "\x00",
    "a zero in a pattern": "/\x00+/",
    "no character": "\uffff",
    "nothing boosted": "a^0 b^1000000",
}


PIECES = (
    *(
        "a",
        "disk",
        "body:",
        "num:",
        "name:",
        "x:",
        "nope:",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        " TO ",
        " AND ",
        " OR ",
        "NOT ",
    ),
    *(
        "IN [",
        '"',
        "'",
        "/",
        "*",
        "?",
        "~",
        "~2",
        "^2",
        "+",
        "-",
        ">",
        "<=",
        "5",
        "-1",
        "\\",
        " ",
        ".",
        "é",
        "\x00",
        "`",
    ),
)


@pytest.fixture(scope="module")
def table() -> Table:
    data = [
        {
            "day": DAYS[number % 3],
            "name": f"n{number % 50}",
            "num": number,
            "x": float(number),
            "flag": number % 2 == 0,
            "body": f"w{number} disk " + "a " * (number % 40) + "日本",
            "title": None,
        }
        for number in range(600)
    ]
    return make(data, 1)[0]


def ask(table: Table, text: str) -> int | str:
    try:
        found = table.count(query=text)
        assert table.search(text, ["id"], limit=3).num_rows == min(found, 3)
    except QueryError as error:
        return str(error)
    return found


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", PATHOLOGICAL)
def test_pathological_texts_end(table: Table, name: str) -> None:
    said = ask(table, PATHOLOGICAL[name])
    assert isinstance(said, int) or "\n" not in said


@settings(max_examples=examples(75), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.text(max_size=80)
    | st.lists(
        st.sampled_from(PIECES),
        max_size=14,
    ).map("".join)
)
def test_any_text_is_answered_or_refused(table: Table, text: str) -> None:
    said = ask(table, text)
    assert isinstance(said, int) or ("\n" not in said and "character" in said)
