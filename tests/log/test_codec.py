"""Bytes of log objects: what is written reads back the same, in every form, whatever text is in it."""

from __future__ import annotations

import gzip
import json
import typing
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from indextables.core.errors import CorruptLog
from indextables.log import codec
from indextables.log.actions import (
    Actions,
    AddAction,
    CommitInfo,
    MetadataAction,
    ProtocolAction,
    RemoveAction,
)
from indextables.log.codec import decode_actions, decode_paths, encode_actions, pack, unpack
from log.strategies import ACTIONS, NASTY
from log.support import FORMS, METADATA, PROTOCOL, Form, lines, packed, raw_add

LIMIT = 1 << 30


def decoded(data: bytes) -> Actions:
    return decode_actions("object", unpack("object", data, LIMIT))


def without_count(actions: Actions) -> Actions:
    if actions.commit_info is None:
        return actions
    return msgspec.structs.replace(actions, commit_info=msgspec.structs.replace(actions.commit_info, num_actions=None))


def actions_of(field: str, value: Any) -> Actions:
    several = typing.get_origin(typing.get_type_hints(Actions)[field]) is tuple
    return Actions(**{field: (value,) if several else value})


def test_every_kind_of_action_has_a_strategy() -> None:
    assert ACTIONS.keys() == {field.name for field in msgspec.structs.fields(Actions)}


@pytest.mark.parametrize("field", ACTIONS)
@settings(deadline=None, max_examples=examples(25))
@given(data=st.data())
def test_round_trip(field: str, data: st.DataObject) -> None:
    actions = actions_of(field, data.draw(ACTIONS[field]))
    text = encode_actions(actions)
    assert text.endswith(b"\n")
    assert text.count(b"\n") == 1, "one line for one action, whatever its texts are"
    for form in FORMS:
        assert without_count(decoded(packed(text, form))) == actions
    assert decode_actions("object", unpack("object", pack(text, compress=True), LIMIT)) == decoded(text)


@settings(deadline=None, max_examples=examples(25))
@given(st.fixed_dictionaries(ACTIONS))
def test_all_kinds_in_one_file(values: dict[str, Any]) -> None:
    several = [actions_of(field, value) for field, value in values.items()]
    merged = Actions(**{field: getattr(each, field) for field, each in zip(values, several, strict=True)})
    text = encode_actions(merged)
    assert without_count(decoded(text)) == merged
    first = json.loads(text.split(b"\n")[0])
    assert first["commitInfo"]["numActions"] == text.count(b"\n") - 1 == merged.size


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("text", [*NASTY, "".join(NASTY)])
def test_texts_that_split_lines_elsewhere(text: str, form: Form) -> None:
    if "\0" in text:
        text = text.replace("\0", "")
    path = f"p{text}.split"
    data = packed(lines(raw_add(path, partitionValues={text: text})), form)
    (found,) = decoded(data).adds
    assert found.path == path
    assert found.partition_values == {text: text}


def test_only_what_json_must_escape_is_escaped() -> None:
    text = encode_actions(Actions(adds=(AddAction("a\u2028\u0085é😀.split"),)))
    assert "a\u2028\u0085é😀.split".encode() in text


def test_removes_stand_before_adds_and_commit_info_first() -> None:
    actions = Actions(
        commit_info=CommitInfo(txn_id="t"),
        protocol=ProtocolAction(4, 4),
        metadata=MetadataAction("id", "{}"),
        adds=(AddAction("p"),),
        removes=(RemoveAction("p"),),
    )
    kinds = [next(iter(json.loads(line))) for line in encode_actions(actions).splitlines()]
    assert kinds == ["commitInfo", "protocol", "metaData", "remove", "add"]


def test_absent_fields_are_left_out_and_null_partition_values_too() -> None:
    text = encode_actions(Actions(adds=(AddAction("p", {"a": None, "b": ""}),)))
    assert json.loads(text) == {
        "add": {
            "path": "p",
            "partitionValues": {"b": ""},
            "size": 0,
            "modificationTime": 0,
            "dataChange": True,
            "hasFooterOffsets": False,
        }
    }


@pytest.mark.parametrize("escape", ["\\ud83d", "\\udc00", "\\udc00\\ud83d"])
def test_half_a_surrogate_pair_in_a_value_becomes_a_question_mark(escape: str) -> None:
    expected = "a" + "?" * escape.count("\\u") + "b"
    value = f'"a{escape}b"'
    line = f'{{"add":{{"path":"p","size":1,"maxValues":{{"c":{value}}},"stats":{value},"tags":{{{value}:{value}}}}}}}'
    (found,) = decoded(line.encode()).adds
    assert found.max_values == {"c": expected}
    assert found.stats == expected
    assert found.tags == {expected: expected}
    metadata = f'{{"metaData":{{"id":"i","schemaString":"{{}}","configuration":{{"k":{value}}},"name":{value}}}}}'
    read = decoded(metadata.encode()).metadata
    assert read is not None
    assert (read.name, read.configuration) == (expected, {"k": expected})


def test_a_whole_surrogate_pair_is_a_character() -> None:
    (found,) = decoded(rb'{"add":{"path":"\ud83d\ude00","size":1}}').adds
    assert found.path == "😀"


@pytest.mark.parametrize("kind", ["add", "remove", "mergeskip"])
def test_half_a_surrogate_pair_in_a_path_is_an_error(kind: str) -> None:
    line = f'{{"{kind}":{{"path":"a\\ud83d","size":1,"skipTimestamp":1}}}}'
    with pytest.raises(CorruptLog, match=r"object, line 1: path 'a\\ud83d' holds half a surrogate pair"):
        decoded(line.encode())


def test_several_gzip_members_are_one_text() -> None:
    data = gzip.compress(lines(PROTOCOL)) + gzip.compress(lines(METADATA))
    found = decoded(data)
    assert found.protocol is not None
    assert found.metadata is not None


def test_spaces_blank_lines_carriage_returns_and_a_missing_last_newline() -> None:
    text = b' \n{"add":{"path":"a","size":1}}\r\n\n  {"add": {"path": "b", "size": 2}}'
    assert [action.path for action in decoded(text).adds] == ["a", "b"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [(5, "5"), (1.5, "1.5"), (True, "true"), (False, "false"), (None, None), ("x", "x"), ([1, 2], "[1,2]")],
)
def test_other_values_where_text_belongs_are_taken_as_text(value: Any, expected: str | None) -> None:
    action = raw_add("p", partitionValues={"c": value}, minValues={"c": value}, size="12", numRecords=3.0)
    (found,) = decoded(lines(action)).adds
    assert found.partition_values == {"c": expected}
    assert found.min_values == {"c": expected}
    assert (found.size, found.num_records) == (12, 3)


def test_null_fields_are_absent_fields() -> None:
    nulls = {field.encode_name: None for field in msgspec.structs.fields(AddAction) if field.encode_name != "path"}
    (found,) = decoded(lines({"add": {"path": "p"} | nulls})).adds
    assert found == AddAction("p")


def test_unknown_actions_and_fields_are_ignored() -> None:
    data = lines({"cdc": {"path": 5}}, raw_add("p", brandNew={"a": [1]}), {"domainMetadata": []})
    assert decoded(data) == Actions(adds=(msgspec.convert(raw_add("p")["add"], AddAction),))


def test_the_last_protocol_and_metadata_of_a_file_win() -> None:
    newer = {"protocol": {"minReaderVersion": 3, "minWriterVersion": 3}}
    found = decoded(lines(PROTOCOL, METADATA, newer))
    assert found.protocol == ProtocolAction(3, 3)


def paths_by_actions(text: bytes) -> list[str] | str:
    """What the whole decode makes of a text: its paths in order, or the error."""
    try:
        actions = decode_actions("f", text)
    except CorruptLog as error:
        return str(error)
    return sorted([*(add.path for add in actions.adds), *(remove.path for remove in actions.removes)])


def paths_alone(text: bytes) -> list[str] | str:
    try:
        return sorted(decode_paths("f", text))
    except CorruptLog as error:
        return str(error)


@settings(deadline=None, max_examples=examples(100))
@given(st.fixed_dictionaries(ACTIONS))
def test_paths_alone_are_those_of_the_actions(values: dict[str, Any]) -> None:
    several = [actions_of(field, value) for field, value in values.items()]
    text = encode_actions(Actions(**{field: getattr(each, field) for field, each in zip(values, several, strict=True)}))
    assert paths_alone(text) == paths_by_actions(text)
    cut = text[: len(text) // 2]
    assert paths_alone(cut) == paths_by_actions(cut)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\n\n",
        b'{"add":{"path":"a"}}',
        b'{"add":{"path":7,"partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}',
        b'{"add":{"path":"a","partitionValues":{"x":1},"size":1,"modificationTime":1,"dataChange":true}}\r\n\r\n',
        b'{"remove":{"path":"a","dataChange":true}}\n{"remove":{"path":"b\\ud800"}}',
        b'{"commitInfo":{"timestamp":1,"operation":"x","numActions":2}}\n{"remove":{"path":"a","dataChange":true}}',
        b'{"commitInfo":{"timestamp":1,"operation":"x","numActions":"one"}}\n{"remove":{"path":"a","dataChange":true}}',
        b'{"add":null,"other":{"path":"z"}}',
        b'{"remove":{"path":"s0","deletionTimestamp":"s1","size":1,"dataChange":true}}',
        b'{"add":{"path":"a","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true},"commitInfo":{"numActions":1}}',
        b'{"commitInfo":{"numActions":99999999999999999999}}\n{"remove":{"path":"a","dataChange":true}}',
        b'{"add":[]}',
        b"not json",
        b"\xff\xfe",
    ],
)
def test_paths_of_odd_texts(text: bytes) -> None:
    assert paths_alone(text) == paths_by_actions(text)


def test_paths_of_a_text_of_many_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "_PIECE", 50)
    text = lines(
        {"commitInfo": {"timestamp": 1, "operation": "WRITE", "numActions": 10}}, *(raw_add(f"f{n}") for n in range(10))
    )
    assert paths_alone(text) == sorted(f"f{number}" for number in range(10))
    for cut in range(1, len(text)):
        assert paths_alone(text[:cut]) == paths_by_actions(text[:cut])
        assert paths_alone(text[cut:]) == paths_by_actions(text[cut:])
