"""Offsets as texts, and options as people write them."""

from __future__ import annotations

import json
import pickle
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indextables.core.errors import IndexTablesError, OptionError, UnsupportedProtocol
from indextables.table.stream import Limits, Offset, StreamOptions
from indextables.table.stream.stream_options import STREAM_OPTIONS, is_stream_option

ID = "11111111-2222-3333-4444-555555555555"
OFFSETS = st.builds(Offset, st.text(), st.integers(0, 2**63 - 1), st.integers(0, 2**31), st.booleans())


def test_the_text_of_an_offset_is_pinned() -> None:
    """Checkpoints hold it: a change would end every stream that runs."""
    text = f'{{"format":1,"table":"{ID}","version":12,"index":3,"snapshot":false}}'
    assert Offset(ID, 12, 3).to_json() == text
    assert Offset.from_json(text) == Offset(ID, 12, 3)
    assert Offset.from_json(text.encode()) == Offset(ID, 12, 3)


@given(OFFSETS, OFFSETS)
def test_equal_offsets_have_equal_texts(one: Offset, other: Offset) -> None:
    assert Offset.from_json(one.to_json()) == one
    assert (one.to_json() == other.to_json()) == (one == other)
    assert pickle.loads(pickle.dumps(one)) == one


def test_keys_of_a_later_release_are_ignored() -> None:
    text = json.dumps({"later": [1], "snapshot": True, "index": 0, "version": 7, "table": ID, "format": 1})
    assert Offset.from_json(text) == Offset(ID, 7, snapshot=True)


def test_a_later_format_says_what_to_do() -> None:
    with pytest.raises(
        UnsupportedProtocol, match=r"has format 2, which a later release .* wrote.*update IndexTables"
    ) as error:
        Offset.from_json('{"format":2,"position":"elsewhere"}')
    assert error.value.format == 2


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "null",
        "[1]",
        '{"version":3,"index":1}',
        '{"format":1,"table":"t","version":-1,"index":0,"snapshot":false}',
        '{"format":1,"table":"t","version":"1","index":0,"snapshot":false}',
        '{"format":1,"table":"t","version":1}',
        b"\xff\xfe",
        "x" * 10_000,
    ],
)
def test_other_texts_are_one_short_line(text: str | bytes) -> None:
    with pytest.raises(OptionError, match="not one of a stream of IndexTables") as error:
        Offset.from_json(text)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 600


@given(st.text() | st.binary())
def test_no_text_is_another_error(text: str | bytes) -> None:
    with suppress(IndexTablesError):
        Offset.from_json(text)


def test_offsets_in_order() -> None:
    order = [
        Offset(ID, 3, snapshot=True),
        Offset(ID, 3, 2, snapshot=True),
        Offset(ID, 4),
        Offset(ID, 4, 1),
        Offset(ID, 5),
    ]
    for place, offset in enumerate(order):
        assert [offset.is_before(other) for other in order] == [place < number for number in range(len(order))]


def test_options_of_texts() -> None:
    options = StreamOptions.parse(
        {
            "STARTINGVERSION": " 12 ",
            "maxfilespertrigger": "3",
            "maxBytesPerTrigger": "10M",
            "maxRowsPerTrigger": 5,
            "ignoreDeletes": "TRUE",
            "ignoreChanges": False,
            "failOnDataLoss": "false",
            "columns": "a, b",
            "where": "a > 1",
            "query": None,
        }
    )
    assert options == StreamOptions(
        starting_version=12,
        max_files=3,
        max_bytes=10 << 20,
        max_rows=5,
        ignore_deletes=True,
        fail_on_data_loss=False,
        columns=("a", "b"),
        where="a > 1",
    )
    assert options.limits == Limits(3, 10 << 20, 5)
    assert pickle.loads(pickle.dumps(options)) == options
    assert StreamOptions.parse({}) == StreamOptions()
    assert StreamOptions.parse({"startingVersion": "Latest"}).starting_version == "latest"
    assert StreamOptions.parse({"startingTimestamp": "2026-03-01T00:00:01Z"}).starting_timestamp == 1_772_323_201_000
    assert all(is_stream_option(name.upper()) for name in STREAM_OPTIONS)
    assert not is_stream_option("path")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"startingVersion": "-1"}, "startingVersion is -1"),
        ({"startingVersion": "first"}, "startingVersion is 'first'"),
        ({"startingVersion": 1.5}, "startingVersion is 1.5"),
        ({"startingTimestamp": "yesterday"}, "startingTimestamp: .*ISO 8601"),
        ({"maxFilesPerTrigger": "0"}, "maxFilesPerTrigger is 0, but must be 1 or more"),
        ({"maxFilesPerTrigger": "many"}, "maxFilesPerTrigger is 'many'"),
        ({"maxFilesPerTrigger": True}, "maxFilesPerTrigger is True"),
        ({"maxBytesPerTrigger": "big"}, "maxBytesPerTrigger is 'big'"),
        ({"maxRowsPerTrigger": ""}, "maxRowsPerTrigger is ''"),
        ({"ignoreDeletes": "yes"}, "ignoreDeletes is 'yes', but must be true or false"),
        ({"columns": 3}, "columns is 3"),
        ({"where": 3}, "where is 3"),
        ({"maxFilePerTrigger": "1"}, "no option maxFilePerTrigger: did you mean maxFilesPerTrigger"),
        ({"zzz": "1"}, "no option zzz: the options are startingVersion"),
        ({"startingVersion": 1, "startingTimestamp": "2026-03-01"}, "give one of them"),
        ({"skipChangeCommits": "true", "ignoreChanges": "true"}, "give one of them"),
    ],
)
def test_what_is_wrong_is_one_line(given: dict[str, object], said: str) -> None:
    with pytest.raises(OptionError, match=said) as error:
        StreamOptions.parse(given)
    assert "\n" not in str(error.value)
