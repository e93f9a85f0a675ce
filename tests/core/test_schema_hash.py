"""Schema hashes against what the original implementation computed, and against Jackson itself.

`golden/hashes.json.gz` holds schemas with the hashes of the original. `core/java.json.gz` holds well-formed, broken and
odd texts with the hashes that follow from Jackson 2.15.2, and doubles with their `Double.toString`, both on OpenJDK 17.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indextables.core.java_text import java_double, java_quote
from indextables.core.schema_hash import canonical_json, schema_hash

HERE = Path(__file__).parent
patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def load(path: Path) -> Any:
    return json.loads(gzip.decompress(path.read_bytes()))


def test_every_golden_hash_is_reproduced() -> None:
    cases = load(HERE.parent / "golden" / "hashes.json.gz")["hashes"]
    assert len(cases) == 153
    assert [case["input"] for case in cases if schema_hash(case["input"]) != case["hash"]] == []


def test_every_hash_of_jackson_is_reproduced() -> None:
    cases = load(HERE / "java.json.gz")["hashes"]
    assert len(cases) > 2_000
    assert [text for text, expected in cases if schema_hash(text) != expected] == []


def test_every_double_is_printed_as_java_prints_it() -> None:
    cases = load(HERE / "java.json.gz")["doubles"]
    assert len(cases) > 3_000
    assert [text for text, expected in cases if java_double(float(text)) != expected] == []
    assert any(java_double(float(text)) != _shortest(float(text)) for text, _ in cases)


def _shortest(value: float) -> str:
    digits, _, exponent = f"{value!r}".partition("e")
    return f"{digits if '.' in digits else digits + '.0'}E{int(exponent)}" if exponent else digits


@patient
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_printed_double_reads_back_as_itself(value: float) -> None:
    shown = java_double(value)
    assert float(shown) == value
    assert re.fullmatch(r"-?[0-9]+\.[0-9]+(E-?[0-9]+)?", shown)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (0.001, "0.001"),
        (0.00099, "9.9E-4"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (123456.789, "123456.789"),
        (2e23, "1.9999999999999998E23"),
        (5e-324, "4.9E-324"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (float("nan"), "NaN"),
    ],
)
def test_doubles(value: float, shown: str) -> None:
    assert java_double(value) == shown


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("", "null"),
        (" \n\t\r", "null"),
        ('{"b":1,"a":{"d":2,"c":3}}', '{"a":{"c":3,"d":2},"b":1}'),
        (' [ 1 , "x" , null , true ] ', '[1,"x",null,true]'),
        ('[{"name":"b"},{"name":"a"}]', '[{"name":"a"},{"name":"b"}]'),
        ('[{"name":"b"},{"other":"a"}]', '[{"name":"b"},{"other":"a"}]'),
        ('[{"name":"a","v":2},{"name":"a","v":1}]', '[{"name":"a","v":2},{"name":"a","v":1}]'),
        ('[{"name":10},{"name":9}]', '[{"name":10},{"name":9}]'),
        ('[{"name":true},{"name":null},{"name":[1]}]', '[{"name":[1]},{"name":null},{"name":true}]'),
        ('{"a":1,"a":2}', '{"a":2}'),
        ('{"a":1} and more', '{"a":1}'),
        ("1e5", "100000.0"),
        ("[1e400,-1e400]", '["Infinity","-Infinity"]'),
        ("[-0,-0.0,1e-400]", "[0,-0.0,0.0]"),
        ("[123456789012345678901234567890]", "[123456789012345678901234567890]"),
        (r'["\u0001\u001f\b\"\\\/é\u00e9"]', '["\\u0001\\u001F\\b\\"\\\\/éé"]'),
        ('{"\uff5e":1,"\U0001f600":2}', '{"\U0001f600":2,"\uff5e":1}'),
        (r'{"\ud83d\ude00":1}', '{"\U0001f600":1}'),
        ('["\ud83d\\ude00"]', '["\U0001f600"]'),
    ],
)
def test_canonical_texts(text: str, canonical: str) -> None:
    assert canonical_json(text) == canonical


@pytest.mark.parametrize(
    "text",
    [
        "not json",
        "\ufeff{}",
        "[1,]",
        "[,1]",
        '{"a":1,}',
        '{"a" 1}',
        '{"a"}',
        "{a:1}",
        "{'a':1}",
        "[1",
        "[1}",
        '"abc',
        "[NaN]",
        "[Infinity]",
        "[01]",
        "[1.]",
        "[.5]",
        "[+1]",
        "[1e]",
        "[0x1]",
        '["\t"]',
        '{"\n":1}',
        '["\\x"]',
        '["\\u12g4"]',
        "[1]" * 0 + "/* c */ [ 1 ]",
        "// c\n[ 1 ]",
        "1x ",
        "truely ",
        "[TRUE]",
        "\x00 [ 1 ]",
        " [" * 1001 + "]" * 1001,
        "[ " + "1" * 1001 + "]",
    ],
)
def test_what_jackson_refuses_is_hashed_as_it_is(text: str) -> None:
    assert canonical_json(text) == text


def test_deep_nesting_and_long_numbers_up_to_the_limit() -> None:
    assert canonical_json(" [" * 1000 + " ]" * 1000) == "[" * 1000 + "]" * 1000
    assert canonical_json('{ "a":' * 1000 + "1" + "}" * 1000) == '{"a":' * 1000 + "1" + "}" * 1000
    assert canonical_json("[ -" + "1" * 1000 + "]") == "[-" + "1" * 1000 + "]"


def test_broken_strings_are_refused_in_linear_time() -> None:
    text = '["' + "a" * 200_000
    assert canonical_json(text) == text


def test_lone_surrogates_are_hashed_as_question_marks() -> None:
    assert canonical_json('["\\ud83d"]') == '["\ud83d"]'
    assert schema_hash('["\\ud83d"]') == schema_hash('["?"]')
    assert schema_hash("\ud83d not json") == schema_hash("? not json")


def test_hashes_are_sixteen_url_safe_characters() -> None:
    for number in range(50):
        assert re.fullmatch(r"[A-Za-z0-9_-]{16}", schema_hash(f'{{"n":{number}}}'))


def test_quoting_escapes_nothing_but_what_must_be() -> None:
    assert java_quote('a"b\\c/d\x7f\u2028\x00\x0b\n') == '"a\\"b\\\\c/d\x7f\u2028\\u0000\\u000B\\n"'


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
plain = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
fields = st.lists(
    st.fixed_dictionaries({"name": st.text(), "type": plain}), max_size=6, unique_by=lambda field: field["name"]
)
schemas = st.recursive(
    plain | fields, lambda inner: st.dictionaries(st.text(), inner | fields, max_size=4), max_leaves=8
)


def shuffled(value: Any, chance: random.Random) -> Any:
    """The same schema with keys, and arrays of named objects, in another order."""
    if isinstance(value, dict):
        items = [(key, shuffled(part, chance)) for key, part in value.items()]
        chance.shuffle(items)
        return dict(items)
    if isinstance(value, list):
        parts = [shuffled(part, chance) for part in value]
        names = [part.get("name") if isinstance(part, dict) else None for part in parts]
        if all(isinstance(name, str) for name in names) and len(set(names)) == len(names):
            chance.shuffle(parts)
        return parts
    return value


@patient
@given(schemas, st.randoms(use_true_random=False), st.booleans(), st.sampled_from([None, 1, "\t"]))
def test_order_and_layout_do_not_change_the_hash(
    schema: Any, chance: random.Random, ascii_only: bool, indent: int | str | None
) -> None:
    one = json.dumps(schema, separators=(",", ":"), ensure_ascii=False)
    other = json.dumps(shuffled(schema, chance), indent=indent, ensure_ascii=ascii_only)
    assert schema_hash(one) == schema_hash(other)


@patient
@given(schemas)
def test_the_canonical_text_is_json_for_the_same_schema_and_its_own_canonical_text(schema: Any) -> None:
    canonical = canonical_json(json.dumps(schema))
    assert canonical_json(canonical) == canonical
    assert _unordered(json.loads(canonical)) == _unordered(schema)


def _unordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _unordered(part) for key, part in value.items()}
    if isinstance(value, list):
        return sorted(json.dumps(_unordered(part), sort_keys=True) for part in value)
    return value
