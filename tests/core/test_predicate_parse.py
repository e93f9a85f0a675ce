"""Filters as text: what they mean, and what is said about those that mean nothing."""

from __future__ import annotations

import datetime as dt
import pickle
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from indextables.core.errors import PredicateError
from indextables.core.predicate import (
    FALSE,
    NULL,
    TRUE,
    And,
    Column,
    Comparison,
    In,
    IsNull,
    Like,
    Literal,
    Not,
    Or,
    Predicate,
    Search,
    columns_of,
    compare,
    evaluate,
    leaves_of,
    parse_predicate,
    to_sql,
)
from indextables.core.sql_tokens import MAX_LENGTH

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("small", pa.int8()),
        ("name", pa.string()),
        ("day", pa.date32()),
        ("ts", pa.timestamp("us", "UTC")),
        ("ntz", pa.timestamp("us")),
        ("price", pa.decimal128(5, 2)),
        ("x", pa.float64()),
        ("active", pa.bool_()),
        ("raw", pa.binary()),
        ("user", pa.struct([("Name", pa.string()), ("home", pa.struct([("zip", pa.int32())]))])),
        ("date", pa.date32()),
        ("Level", pa.string()),
        ("a.b", pa.int32()),
        ("we`ird", pa.int32()),
        ("interval", pa.int32()),
        ("tags", pa.list_(pa.string())),
        ("ns", pa.timestamp("ns")),
    ]
)


def parse(text: str) -> Predicate:
    return parse_predicate(text, SCHEMA)


MEANS = {
    "id = 1": "`id` = 1",
    "id == 1L": "`id` = 1",
    "ID != -1": "`id` <> -1",
    "id = + 5S": "`id` = 5",
    "5 < id": "`id` > 5",
    "5 <= id": "`id` >= 5",
    "5 <=> id": "`id` <=> 5",
    "id = 1e3": "`id` = 1000",
    "id = 1.50BD": "`id` IS NULL AND NULL",
    "id = 1.5": "`id` IS NULL AND NULL",
    "id <> 1.5": "`id` IS NOT NULL OR NULL",
    "id > 1.5": "`id` > 1",
    "id >= 1.5": "`id` > 1",
    "id < 1.5": "`id` <= 1",
    "id <= -1.5": "`id` <= -2",
    "id < 1e30": "`id` IS NOT NULL OR NULL",
    "id > 1e30": "`id` IS NULL AND NULL",
    "id >= -1e30": "`id` IS NOT NULL OR NULL",
    "id < -1e30": "`id` IS NULL AND NULL",
    "id = 9223372036854775807": "`id` = 9223372036854775807",
    "id = -9223372036854775808L": "`id` = -9223372036854775808",
    "id <=> 1.5": "FALSE",
    "small > 127": "`small` > 127",
    "small > 127.5": "`small` IS NULL AND NULL",
    "small > 300": "`small` IS NULL AND NULL",
    "id = ' 5 '": "`id` = 5",
    "id = NULL": "NULL",
    "id <=> NULL": "`id` IS NULL",
    "id IS NULL": "`id` IS NULL",
    "id IS NOT NULL": "`id` IS NOT NULL",
    "id IS DISTINCT FROM 5": "NOT `id` <=> 5",
    "id IS NOT DISTINCT FROM 5": "`id` <=> 5",
    "id IN (1, 2.0, 2, 1.5)": "`id` IN (1, 2)",
    "id IN (7)": "`id` = 7",
    "id IN (1.5)": "`id` IS NULL AND NULL",
    "id NOT IN (1, NULL)": "NOT `id` IN (1, NULL)",
    "id IN (1.5, NULL)": "NULL",
    "id BETWEEN 1 AND 2 AND x > .5": "`id` >= 1 AND `id` <= 2 AND `x` > 0.5D",
    "id NOT BETWEEN 1 AND 2": "NOT (`id` >= 1 AND `id` <= 2)",
    "price = 1.5": "`price` = 1.50",
    "price > 1.005": "`price` > 1.00",
    "price < 1000": "`price` IS NOT NULL OR NULL",
    "price >= -999.999": "`price` IS NOT NULL OR NULL",
    "x = 1": "`x` = 1.0D",
    "x = 0.1e0": "`x` = 0.1D",
    "x = 1.5D": "`x` = 1.5D",
    "x = 0.1F": "`x` = 0.10000000149011612D",
    "x < 'NaN'": "`x` < CAST('NaN' AS DOUBLE)",
    "x >= CAST('-Infinity' AS DOUBLE)": "`x` >= CAST('-Infinity' AS DOUBLE)",
    "id < CAST('NaN' AS DOUBLE)": "`id` IS NOT NULL OR NULL",
    "id > CAST('-Infinity' AS DOUBLE)": "`id` IS NOT NULL OR NULL",
    "id > CAST('Infinity' AS DOUBLE)": "`id` IS NULL AND NULL",
    "id = CAST(5 AS BIGINT)": "`id` = 5",
    "price = CAST('1.50' AS DECIMAL(5,2))": "`price` = 1.50",
    "day = CAST('2024-01-31' AS DATE)": "`day` = DATE '2024-01-31'",
    "day = CAST(NULL AS DATE)": "NULL",
    "day = DATE '2024-01-31'": "`day` = DATE '2024-01-31'",
    "day >= '2024'": "`day` >= DATE '2024-01-01'",
    "day >= '2024-2'": "`day` >= DATE '2024-02-01'",
    "day = '2024-01-31 23:59:59'": "`day` = DATE '2024-01-31'",
    "day > TIMESTAMP '2024-01-31 00:00:00'": "`day` > DATE '2024-01-31'",
    "day >= TIMESTAMP '2024-01-31 12:00:00'": "`day` > DATE '2024-01-31'",
    "day = TIMESTAMP '2024-01-31 12:00:00'": "`day` IS NULL AND NULL",
    "date >= '2024-01-31' AND level = 'ERROR'": "`date` >= DATE '2024-01-31' AND `Level` = 'ERROR'",
    "ts >= DATE '2024-01-31'": "`ts` >= TIMESTAMP '2024-01-31 00:00:00.000000Z'",
    "ts = '2024-01-31T12:00:00+02:00'": "`ts` = TIMESTAMP '2024-01-31 10:00:00.000000Z'",
    "ts = TIMESTAMP '2024-01-31 12:00:00.5'": "`ts` = TIMESTAMP '2024-01-31 12:00:00.500000Z'",
    "ts = '2024-07-01 12:00:00 Europe/Berlin'": "`ts` = TIMESTAMP '2024-07-01 10:00:00.000000Z'",
    "ts = '2024-07-01 12:00:00 UTC'": "`ts` = TIMESTAMP '2024-07-01 12:00:00.000000Z'",
    "ts = TIMESTAMP_NTZ '2024-07-01 12:00:00'": "`ts` = TIMESTAMP '2024-07-01 12:00:00.000000Z'",
    "ntz = '2024-07-01 12:00:00+02:00'": "`ntz` = TIMESTAMP_NTZ '2024-07-01 12:00:00.000000'",
    "ntz = '2024-07-01 12:00:00'": "`ntz` = TIMESTAMP_NTZ '2024-07-01 12:00:00.000000'",
    "active": "`active` = TRUE",
    "NOT active": "NOT `active` = TRUE",
    "! active": "NOT `active` = TRUE",
    "active = 'Yes'": "`active` = TRUE",
    "active IS NOT TRUE": "NOT `active` <=> TRUE",
    "active IS FALSE": "`active` <=> FALSE",
    "raw = X'1f'": "`raw` = X'1F'",
    "raw > X'F'": "`raw` > X'0F'",
    "name = 'it''s'": r"`name` = 'it\'s'",
    r"name = 'it\'s'": r"`name` = 'it\'s'",
    'name = "it\'s"': r"`name` = 'it\'s'",
    "name = 'a' 'b'": "`name` = 'ab'",
    r"name = 'tab\tnul\0uni\u00e9'": "`name` = 'tab\tnul\0uni\u00e9'",
    r"name = '\101\U0001F600\q\\\'\Z'": r"`name` = 'A😀q\\\'" + "\x1a'",
    r"name = '\u00g\U99999999\%\_'": r"`name` = 'u00g\\U99999999\\%\\_'",
    r"name = '\ud83d\ude00 \U0000D83D\ude00'": "`name` = '😀 😀'",
    r"name = '\ud83d' '\ude00'": "`name` = '😀'",
    r"name INDEXQUERY '\ud83d\ude00'": "`name` INDEXQUERY '😀'",
    'name = "say ""hi"" it\'\'s"': r"""`name` = 'say "hi" it\'\'s'""",
    r"name = r'a\n'": r"`name` = 'a\\n'",
    "name LIKE 'a%'": "`name` LIKE 'a%'",
    "name NOT LIKE '_b'": "NOT `name` LIKE '_b'",
    "name LIKE 'a!%!!%' ESCAPE '!'": r"`name` LIKE 'a\\%!%'",
    r"name LIKE 'a\%'": r"`name` LIKE 'a\\%'",
    "name LIKE NULL": "NULL",
    "user.name = 'x'": "`user`.`Name` = 'x'",
    "`user`.home.ZIP = 1": "`user`.`home`.`zip` = 1",
    "user IS NULL": "`user` IS NULL",
    "`a.b` = 1": "`a.b` = 1",
    "`we``ird` = 1": "`we``ird` = 1",
    "interval = 3": "`interval` = 3",
    "tags IS NOT NULL": "`tags` IS NOT NULL",
    "ns IS NULL": "`ns` IS NULL",
    "(id) = (1)": "`id` = 1",
    "id = 1 OR id = 2 AND id = 3": "`id` = 1 OR (`id` = 2 AND `id` = 3)",
    "(id = 1 OR id = 2) AND id = 3": "(`id` = 1 OR `id` = 2) AND `id` = 3",
    "(id = 1 AND (id = 2 AND id = 3))": "`id` = 1 AND `id` = 2 AND `id` = 3",
    "NOT id = 1 AND id = 2": "(NOT `id` = 1) AND `id` = 2",
    "NOT NOT id = 1": "`id` = 1",
    "TRUE": "TRUE",
    "NULL OR FALSE": "NULL OR FALSE",
    "1 = 1": "TRUE",
    "'a' < 'b' AND 2 >= 3": "TRUE AND FALSE",
    "1 = NULL": "NULL",
    "NULL <=> NULL": "TRUE",
    "NULL IS NULL": "TRUE",
    "1 IS NOT NULL": "TRUE",
    "DATE '2024-01-31' <> DATE '2024-01-31'": "FALSE",
    "CAST('NaN' AS DOUBLE) > 5": "TRUE",
    "TRUE <> FALSE": "TRUE",
    "TIMESTAMP '2024-01-31 00:00:00Z' = TIMESTAMP '2024-01-31 01:00:00+01:00'": "TRUE",
    "id = 1 /* why */ AND -- because\n x > 2": "`id` = 1 AND `x` > 2.0D",
    "name INDEXQUERY 'a AND b' OR id > 5": "`name` INDEXQUERY 'a AND b' OR `id` > 5",
    "NOT name indexQuery 'a' 'b'": "NOT `name` INDEXQUERY 'ab'",
    "Name NOT textsearch r'\\d'": "NOT `name` TEXTSEARCH '\\\\d'",
    "`name` FieldMatch 'it''s'": "`name` FIELDMATCH 'it\\'s'",
    "user.name INDEXQUERY 'x'": "`user`.`Name` INDEXQUERY 'x'",
    "tags INDEXQUERY 'x'": "`tags` INDEXQUERY 'x'",
    "indexquery(name, 'x') AND fieldMatch(`id`, '7')": "`name` INDEXQUERY 'x' AND `id` FIELDMATCH '7'",
    "IndexQueryAll ('x')": "INDEXQUERYALL('x')",
    "_indexall INDEXQUERY 'x' AND NOT _IndexAll NOT TEXTSEARCH 'y'": "INDEXQUERYALL('x') AND (NOT (NOT INDEXQUERYALL('y')))",
    "name INDEXQUERY NULL": "NULL",
    "name INDEXQUERY CAST(NULL AS STRING)": "NULL",
    "name = 'x INDEXQUERY y' -- INDEXQUERY 'z'": "`name` = 'x INDEXQUERY y'",
    "name /* INDEXQUERY 'z' */ LIKE 'INDEXQUERYALL(1)'": "`name` LIKE 'INDEXQUERYALL(1)'",
}


@pytest.mark.parametrize("text", MEANS)
def test_meaning(text: str) -> None:
    predicate = parse(text)
    assert to_sql(predicate) == MEANS[text]
    assert parse(to_sql(predicate)) == predicate
    assert pickle.loads(pickle.dumps(predicate)) == predicate


WRONG = {
    "": "the filter is empty",
    "  -- nothing": "the filter is empty",
    "id =": "ends too early, at position 5: expected a column or a literal",
    "id = 1 AND": "ends too early, at position 11",
    "(id = 1": "ends too early, at position 8: expected )",
    "id = 1)": "')' at position 7 of the filter is not expected",
    "id = 1 id": "'id' at position 8 of the filter is not expected",
    "id = 1; id = 2": "';' at position 7",
    "= 1": "'=' at position 1",
    "id = 'abc": "the ' at position 6 of the filter is never closed",
    "name = 'a' AND `id": "the ` at position 16 of the filter is never closed",
    "id = 1 /* x": "the /* at position 8 of the filter is never closed",
    "nmae = 'x'": "unknown column nmae at position 1 of the filter, did you mean name?",
    "id = 1 AND usr = 2": "unknown column usr at position 12 of the filter, did you mean user?",
    "zzz = 1": "unknown column zzz at position 1 of the filter, there are id, small",
    "user.nme = 'x'": "unknown column user.nme at position 1 of the filter, did you mean user.Name?",
    "id.x = 1": "unknown column id.x at position 1 of the filter, there are no fields",
    "a.b = 1": "did you mean `a.b`?",
    "upper(name) = 'X'": "the function upper() at position 1 of the filter is not supported: a filter compares",
    "id = abs(-1)": "the function abs() at position 6",
    "count(*) > 1": "the function count()",
    "try_cast('1' AS INT) = id": "the function try_cast()",
    "id IN (SELECT 1)": "a subquery at position 8",
    "id = (SELECT 1)": "a subquery at position 6",
    "EXISTS (SELECT 1)": "EXISTS at position 1",
    "CASE WHEN active THEN 1 END = 1": "CASE at position 1",
    "SELECT * FROM t": "SELECT at position 1",
    "ts > INTERVAL 1 DAY": "INTERVAL at position 6",
    "id + 1 = 2": "the operator + at position 4",
    "id = 1 + 1": "the operator + at position 8",
    "id = -small": "arithmetic at position 6",
    "id = small": "comparing two columns (id, small) at position 4",
    "(id = 1) = (id = 2)": "comparing conditions with = at position 10",
    "(id = 1) IS NULL": "IS NULL on anything but a column at position 1",
    "name ILIKE 'x'": "the operator ILIKE at position 6",
    "name NOT RLIKE 'x'": "the operator RLIKE at position 10",
    "name LIKE ANY ('x')": "LIKE ANY at position 11",
    "name COLLATE UTF8_LCASE = 'x'": "the operator COLLATE at position 6",
    "id::string = '1'": "the operator :: at position 3",
    "id = ?": "a parameter at position 6",
    "id = :x": "a parameter at position 6",
    "tags[0] = 'x'": "an element of an array or a map at position 5",
    "id IN ()": "')' at position 8",
    "id IN (1, small)": "'small' in place of a literal at position 11",
    "5 IN (id)": "IN on anything but a column",
    "id BETWEEN 1": "ends too early, at position 13: expected AND",
    "id IS 5": "'5' at position 7 of the filter is not expected: expected NULL",
    "id IS TRUE": "column id of type int64 is not a condition",
    "id": "column id of type int64 is not a condition",
    "'x'": "the literal 'x' is not a condition",
    "id = 'x'": "the text 'x' cannot be cast to int64, the type of column id",
    "id = '1.5'": "the text '1.5' cannot be cast to int64",
    "x = 'much'": "the text 'much' cannot be cast to double",
    "active = 'perhaps'": "the text 'perhaps' cannot be cast to bool",
    "day = 'yesterday'": "the text 'yesterday' cannot be cast to date32[day]",
    "day = '2024-02-30'": "cannot be cast to date32[day]",
    "ts = '10000-01-01'": "cannot be cast to timestamp[us, tz=UTC]",
    "ts = '2024-01-31 12:00:00 Nowhere/Land'": "cannot be cast to timestamp[us, tz=UTC]",
    "ts = '2024-01-31 12:00:00 ../../etc/passwd'": "cannot be cast to timestamp[us, tz=UTC]",
    "ts = '2024-01-31 12:00:00+01:00 Europe/Berlin'": "cannot be cast to timestamp[us, tz=UTC]",
    "ts = '9999-12-31 23:00:00 America/New_York'": "cannot be cast to timestamp[us, tz=UTC]",
    "id = LIKE": "'LIKE' at position 6 of the filter is not expected",
    "DATE 'x' = day": "the literal 'x' cannot be cast to date32[day]",
    "id = CAST(1.5 AS INT)": "cannot be cast to int32 without a loss",
    "small = CAST(300 AS TINYINT)": "cannot be cast to int8 without a loss",
    "id = CAST(1 AS FANCY)": "the type 'FANCY' at position 16",
    "price = CAST(1 AS DECIMAL(99))": "expected a precision",
    "name = 5": "column name of type string cannot be compared with 5, write '5'",
    "name = DATE '2024-01-31'": "cannot be compared with 2024-01-31",
    "id = TRUE": "column id of type int64 cannot be compared with True",
    "id = DATE '2024-01-31'": "cannot be compared with 2024-01-31",
    "day = 5": "column day of type date32[day] cannot be compared with 5",
    "ts = 5": "cannot be compared with 5",
    "raw = 'x'": "column raw of type binary cannot be compared with 'x'",
    "tags = 'x'": "column tags of type list<item: string> cannot be compared, only IS NULL",
    "ns = '2024-01-31'": "cannot be compared, only IS NULL",
    "id LIKE '1%'": "LIKE needs a string column",
    "name LIKE 5": "LIKE needs a pattern between quotes",
    "name LIKE 'x!'  ESCAPE '!'": "has the escape character '!' at the end",
    "name LIKE '!x' ESCAPE '!'": "has the escape character '!' before 'x'",
    "name LIKE 'x' ESCAPE '!!'": "the escape character of LIKE is '!!'",
    "name LIKE 'x' ESCAPE '%'": "the escape character of LIKE is '%'",
    "1 = 'x'": "cannot be compared with each other",
    "raw = X'XY'": "'XY' at position 7 of the filter is not expected: expected hexadecimal digits",
    "id = 1e": "unknown column 1e at position 6",
    "id = 1e9999": "expected a number",
    "user. = 1": "expected the name of a field",
    "name = '\ud83d'": "half a surrogate pair",
    "name INDEXQUERY": "ends too early, at position 16: expected a column or a literal",
    "name INDEXQUERY 5": "'5' at position 17 of the filter is not expected: INDEXQUERY needs the text of a query between quotes",
    "name INDEXQUERY id": "'id' in place of a literal at position 17",
    "'x' INDEXQUERY 'x'": "INDEXQUERY on anything but a column at position 1",
    "(id = 1) TEXTSEARCH 'x'": "TEXTSEARCH on anything but a column at position 1",
    "nme INDEXQUERY 'x'": "unknown column nme at position 1 of the filter, did you mean name?",
    "indexquery('x')": "INDEXQUERY() on anything but a column at position 12",
    "indexquery(name)": "')' at position 16 of the filter is not expected: expected ,",
    "indexquery(name, 'x', 'y')": "',' at position 21 of the filter is not expected: expected )",
    "indexqueryall(name, 'x')": "'name' in place of a literal at position 15",
    "indexquery(name, 'x') = TRUE": "comparing conditions with = at position 23",
    "_indexall FIELDMATCH 'x'": "FIELDMATCH at position 11 of the filter compares one column",
    "_indexall = 'x'": "unknown column _indexall at position 1",
    "`_indexall` INDEXQUERY 'x'": "unknown column _indexall at position 1",
    "name INDEXQUERY 'x' INDEXQUERY 'y'": "'INDEXQUERY' at position 21 of the filter is not expected",
}


@pytest.mark.parametrize("text", WRONG)
def test_mistakes_are_named(text: str) -> None:
    with pytest.raises(PredicateError) as caught:
        parse(text)
    assert WRONG[text] in str(caught.value)
    assert pickle.loads(pickle.dumps(caught.value)).message == caught.value.message


def test_errors_carry_their_facts() -> None:
    with pytest.raises(PredicateError) as caught:
        parse("id = 1 AND nmae = 'x'")
    assert (caught.value.column, caught.value.position, caught.value.nearest) == ("nmae", 12, "name")


def test_columns_may_be_named_like_searches() -> None:
    names = ("indexquery", "TextSearch", "indexqueryall", "_indexall")
    schema = pa.schema([(name, pa.string()) for name in names])
    for name in names:
        for text in (f"{name} = 'x'", f"{name} IS NULL", f"NOT {name} LIKE 'x'", f"`{name}` INDEXQUERY 'x'"):
            assert [column.name for column in columns_of(parse_predicate(text, schema))] == [name], text
    search = parse_predicate("indexquery INDEXQUERY 'x'", schema)
    assert search == Search(Column(("indexquery",), pa.string()), "x")
    with pytest.raises(PredicateError, match="may be the table's column or all columns: write `_indexall` between"):
        parse_predicate("_indexall INDEXQUERY 'x'", schema)


def test_a_search_knows_where_its_text_stands() -> None:
    found = [
        leaf
        for leaf in leaves_of(parse("id = 1 OR name INDEXQUERY 'x' AND INDEXQUERYALL('y')"))
        if isinstance(leaf, Search)
    ]
    assert [(leaf.text, leaf.position) for leaf in found] == [("x", 27), ("y", 49)]


def test_two_columns_of_one_spelling_need_the_exact_one() -> None:
    schema = pa.schema([("id", pa.int64()), ("ID", pa.int64())])
    assert to_sql(parse_predicate("ID = 1", schema)) == "`ID` = 1"
    with pytest.raises(PredicateError, match="the column Id is ambiguous: the table has id, ID"):
        parse_predicate("Id = 1", schema)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 65 + "id = 1" + ")" * 65,
        "(" * 100_000,
        "id = " + "(" * 100_000 + "1" + ")" * 100_000,
        "(id = 1 AND " * 5000 + "TRUE" + ")" * 5000,
        "CAST(" * 5000,
        "f(" * 5000,
        "- " * 5000,
        "CASE WHEN " * 5000,
        "id IN (" * 5000,
        "id = 1 AND " * 10_000,
        "a" * (MAX_LENGTH + 1),
        "'" * 10_001,
        "a." * 10_000,
    ],
    ids=lambda text: text[:20],
)
def test_what_is_deep_or_long_is_an_error_and_no_crash(text: str) -> None:
    with pytest.raises(PredicateError):
        parse(text)


def test_depth_does_not_depend_on_the_caller() -> None:
    deepest = "(" * 64 + "id = 1" + ")" * 64

    def nested(depth: int) -> Predicate:
        return parse(deepest) if depth == 0 else nested(depth - 1)

    assert nested(300) == parse("id = 1")


def test_many_terms_are_flat() -> None:
    many = parse(" OR ".join(f"id = {n}" for n in range(3000)))
    assert isinstance(many, Or)
    assert len(many.children) == 3000
    assert isinstance(parse("NOT " * 5001 + "id = 1"), Not)
    listed = parse(f"id IN ({', '.join(map(str, range(3000)))})")
    assert isinstance(listed, In)
    assert len(listed.values) == 3000
    assert pickle.loads(pickle.dumps(many)) == many
    assert evaluate(many, pa.table({"id": [5, 5000]})).to_pylist() == [True, False]


@settings(max_examples=examples(100), deadline=None)
@given(st.text(alphabet="idnamex'`\"\\()=<>!%_.,;:-+*/ 0159eELD\n", max_size=40))
def test_any_text_is_a_predicate_or_a_predicate_error(text: str) -> None:
    try:
        predicate = parse(text)
    except PredicateError:
        return
    assert parse(to_sql(predicate)) == predicate


@settings(max_examples=examples(75), deadline=None)
@given(st.text(), st.text(min_size=1))
def test_any_name_and_any_text_can_be_quoted(text: str, name: str) -> None:
    schema = pa.schema([(name, pa.string())])
    for predicate in (
        compare(Column((name,), pa.string()), "=", text),
        Like(Column((name,), pa.string()), text.replace("\\", "")),
        IsNull(Column((name,), pa.string())),
        Search(Column((name,), pa.string()), text),
        Search(None, text),
    ):
        assert parse_predicate(to_sql(predicate), schema) == predicate


def test_predicates_can_be_built_by_hand() -> None:
    name = Column(("id",), pa.int64())
    built = And((Comparison("=", name, Literal(1, pa.int64())), Or((TRUE, FALSE)), Not(NULL)))
    assert parse("id = 1 AND (TRUE OR FALSE) AND NOT NULL") == built
    assert compare(Column(("price",), pa.decimal128(5, 2)), "=", 1.1) == Comparison(
        "=", Column(("price",), pa.decimal128(5, 2)), Literal(Decimal("1.10"), pa.decimal128(5, 2))
    )
    assert compare(Column(("ts",), pa.timestamp("us", "UTC")), "<", dt.date(2024, 1, 31)) == parse("ts < '2024-01-31'")
    assert to_sql(And(())) == "TRUE"
    assert to_sql(Or((IsNull(name),))) == "`id` IS NULL"
