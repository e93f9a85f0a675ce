"""Rows of every type, and random filters over them: comparisons, functions and casts that stay with Spark, searches.

A search stands in a filter as a call of a model, `has_t(message, 'disk AND full')`: of Parquet a Python function
answers it, of our tables `written_for_us` makes a search of it.
"""

from __future__ import annotations

import datetime as dt
import random
import re
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

from spark.support import SCHEMA as PLAIN
from spark.support import Questions, random_rows

LONG: Final = "the same beginning of more than thirty-two letters "
"""What texts of the column `long` have in common: bounds in the log are cut off inside of it."""
_NESTED: Final = pa.schema(
    [
        ("small", pa.int16()),
        ("whole", pa.int32()),
        ("big", pa.decimal128(38, 10)),
        ("long", pa.string()),
        ("tags", pa.list_(pa.string())),
        ("items", pa.list_(pa.struct([("p", pa.int32()), ("q", pa.string()), ("r", pa.float64())]))),
        ("attrs", pa.map_(pa.string(), pa.int32())),
        ("took", pa.duration("us")),
        ("clock", pa.time64("us")),
        (
            "deep",
            pa.struct(
                [("x", pa.int32()), ("y", pa.struct([("z", pa.string()), ("w", pa.float64()), ("v", pa.int64())]))]
            ),
        ),
    ]
)
SCHEMA: Final = pa.schema([*PLAIN, *_NESTED])
MADE: Final = {
    "nocase": "word COLLATE UTF8_LCASE",
    "doc": "IF(s IS NULL, NULL, parse_json(to_json(struct(tiny AS a, word AS b, s AS c))))",
    "code": "word",
    "short": "word",
}
"""Columns that Spark makes of the others, because Arrow has no such types: collated texts, variants and texts of `LENGTHS`."""
LENGTHS: Final = {"code": "char(4)", "short": "varchar(6)"}
"""Texts of one length, which Spark fills up with spaces, and of a length at most."""
NAMES: Final = (*SCHEMA.names, *MADE)
_TAILS: Final = ["", "a", "b", "é 中 😀", "z" * 40, "\U0010ffff", "\uffff"]


def rows_of_every_type(dice: random.Random, first: int, count: int) -> pa.Table:
    """Rows with few different values and nulls everywhere but in `part` and `id`."""

    def some(value: Any) -> Any:
        return None if dice.random() < 0.15 else value

    def text() -> Any:
        return some(dice.choice(["a", "b", "ab", "é"]))

    rows = []
    for _ in range(count):
        items = [
            some({"p": some(dice.randrange(4)), "q": text(), "r": dice.random()}) for _ in range(dice.randrange(3))
        ]
        below = {"z": text(), "w": some(dice.choice([0.0, -0.0, 1.5, float("nan")])), "v": some(dice.randrange(5))}
        rows.append(
            {
                "small": some(dice.randrange(-300, 300)),
                "whole": some(dice.choice([0, 7, -7, 2**31 - 1, -(2**31)])),
                "big": some(Decimal(dice.randrange(-(10**12), 10**12)).scaleb(-10)),
                "long": some(LONG + dice.choice(_TAILS)),
                "tags": some([text() for _ in range(dice.randrange(4))]),
                "items": some(items),
                "attrs": some(
                    [(key, some(dice.randrange(9))) for key in dice.sample(["a", "b", "c"], dice.randrange(3))]
                ),
                "took": some(dt.timedelta(minutes=dice.randrange(-90, 90), microseconds=dice.choice([0, 1]))),
                "clock": some(dt.time(dice.randrange(24), dice.choice([0, 30]), 0, dice.choice([0, 999_999]))),
                "deep": some({"x": some(dice.randrange(5)), "y": some(below)}),
            }
        )
    nested = pa.Table.from_pylist(rows, _NESTED)
    plain = random_rows(dice, first, count)
    return pa.table([*plain.columns, *nested.columns], schema=SCHEMA)


_CALL: Final = re.compile(r"has_([tu])\(([\w.]+), '([^']*)'\)")
"""A search of a table's column, as the grammar writes it."""
_SEARCHES: Final = [
    "disk",
    "full",
    "disk AND full",
    "disk OR node",
    "error AND NOT disk",
    '"is full"',
    '"disk is" OR error',
    "full AND error AND of",
    "absent",
    "disk OR absent",
]
"""Searches that the model understands: words and phrases, `NOT` before `AND` before `OR`."""
_PLAIN: Final = [
    "id < 200",
    "tiny > 0",
    "word = 'ab'",
    "word IN ('a', 'c')",
    "flag",
    "day >= DATE '2024-02-05'",
    "part = 'x'",
    "message IS NULL",
    "price <= 1.50",
    "whole = 7",
]
"""Conditions that a table answers itself, and that may stand under `OR` beside a search."""


def written_for_us(text: str, tables: str) -> str:
    """A query with searches of the given tables, `t`, `u` or both, as a user writes them: with words, or as functions."""

    def search(found: re.Match[str]) -> str:
        table, column, words = found.groups()
        if table not in tables:
            return f"has({column}, '{words}')"
        forms = [f"{column} INDEXQUERY '{words}'", f"indexquery({column}, '{words}')", f"{column} TEXTSEARCH '{words}'"]
        return forms[len(words) % len(forms)]

    return _CALL.sub(search, text)


def has(text: str | None, words: str) -> bool | None:
    """The model of a search: whether a text has all words and phrases of one of the parts between `OR`."""
    if text is None:
        return None

    def fits(part: str) -> bool:
        wanted = not part.startswith("NOT ")
        return (f" {part.removeprefix('NOT ').strip(chr(34))} " in f" {text} ") == wanted

    return any(all(fits(part) for part in some.split(" AND ")) for some in words.split(" OR "))


class Filters(Questions):
    """Filters of `Questions`, and others over every type, with functions and casts that stay with Spark."""

    def condition(self, alias: str = "") -> str:
        """A filter, its columns behind an alias."""
        kind = self._dice.random()
        if kind < 0.5:
            text = self.filter(2)
        elif kind < 0.8:
            text = f"{self._other()} {self._dice.choice(['AND', 'OR'])} ({self.filter(1)})"
        else:
            text = self._other()
        return behind(alias, text)

    def search(self, table: str, alias: str = "") -> str:
        """A condition with a search of a table, alone or among others: under `OR` only beside what the table answers itself."""
        dice = self._dice

        def one() -> str:
            return f"has_{table}(message, '{dice.choice(_SEARCHES)}')"

        plain = dice.choice(_PLAIN)
        text = dice.choice(
            [
                one(),
                f"NOT {one()}",
                f"{one()} AND {plain}",
                f"{one()} OR {plain}",
                f"{one()} AND ({self.condition()})",
                f"({self.condition()}) AND {one()}",
                f"({one()} OR {one()}) AND {plain}",
                f"{one()} AND NOT {one()}",
                f"NOT ({one()} AND {plain})",
                f"({one()} OR {plain}) AND ({one()} OR NOT ({plain})) AND ({self.filter(1)})",
                f"({one()}) IS NOT NULL AND {plain}",
            ]
        )
        return behind(alias, text)

    def _other(self) -> str:
        dice = self._dice
        tail = dice.choice(_TAILS)
        return dice.choice(
            [
                f"long {dice.choice(['=', '<', '<=', '>', '>=', '<>', '<=>'])} '{LONG}{tail}'",
                f"long {dice.choice(['<', '>'])} '{LONG[: dice.randrange(1, 40)]}'",
                f"long LIKE '{LONG[:20]}%{tail[:1]}'",
                f"long LIKE '%{tail[:3]}'",
                "length(long) > 55",
                f"CAST(number AS STRING) LIKE '{dice.randrange(1, 9)}%'",
                f"try_cast(word AS INT) IS {dice.choice(['', 'NOT '])}NULL",
                "upper(word) = 'AB'",
                "lower(word) IN ('a', 'éa') OR word IS NULL",
                f"id % {dice.randrange(2, 8)} = 1",
                f"year(at) = 2024 AND month(day) = {dice.randrange(1, 3)}",
                f"CAST(at AS DATE) > DATE '2024-02-0{dice.randrange(1, 9)}'",
                f"at >= TIMESTAMP '2024-02-0{dice.randrange(1, 9)} 03:00:00'",
                f"wall < at AND hour(wall) < {dice.randrange(24)}",
                f"deep.x {dice.choice(['=', '<', '>='])} {dice.randrange(5)}",
                f"deep.y.z {dice.choice(['=', '>', '<=>'])} '{dice.choice(['a', 'b'])}'",
                f"deep.y.w {dice.choice(['=', '<=', '>'])} 0",
                f"deep.y IS {dice.choice(['', 'NOT '])}NULL",
                f"size(tags) > {dice.randrange(3)}",
                "array_contains(tags, 'a')",
                f"element_at(attrs, 'a') > {dice.randrange(8)}",
                f"exists(items, i -> i.p = {dice.randrange(4)})",
                f"whole {dice.choice(['=', '<', '>='])} {dice.choice(['7', '-7', '2147483647', '3000000000', '6.5'])}",
                f"small BETWEEN {dice.randrange(-300, 0)} AND {dice.randrange(0, 300)}",
                f"big {dice.choice(['<', '>='])} {dice.randrange(-100, 100)}.{dice.randrange(10**9)}",
                f"whole {dice.choice(['=', '<', '>='])} small",
                f"NOT (flag AND {dice.choice(['flag', 'tiny > 0'])})",
                "flag",
                f"tiny + 1 > {dice.randrange(-3, 4)}",
                f"coalesce(tiny, 0) = {dice.randrange(-2, 3)}",
                "price = CAST(price AS INT)",
                "isnan(score)",
                f"took {dice.choice(['<', '>='])} INTERVAL '{dice.randrange(-80, 80)}' MINUTE",
                f"clock {dice.choice(['<', '>=', '='])} TIME '{dice.randrange(24):02}:30:00'",
                "hour(clock) % 2 = 0",
                "true",
                f"nocase {dice.choice(['=', '<', '>=', '<>', '<=>'])} '{dice.choice(['AB', 'C', 'b%', 'É'])}'",
                f"code {dice.choice(['=', '<', '>=', '<>', '<=>'])} '{dice.choice(['ab', 'ab  ', 'b%', 'é', 'ab c'])}'",
                f"code IN ('a', 'abc ', 'c') OR code LIKE '{dice.choice(['a%', '%c', 'ab  '])}'",
                "length(code) = 4 AND short IS NOT NULL",
                f"short {dice.choice(['=', '>', '<=>'])} '{dice.choice(['ab', 'ab ', 'é'])}' OR code = short",
                f"nocase IN ('A', 'ab', 'éA') OR nocase LIKE '{dice.choice(['A%', '%C', '%B%'])}'",
                f"variant_get(doc, '$.a', 'int') > {dice.randrange(-3, 4)}",
                "variant_get(doc, '$.c.b', 'string') IS NOT NULL AND doc IS NOT NULL",
                f"tiny IN ({', '.join(str(dice.randrange(-6, 7)) for _ in range(12))})",
            ]
        )


def behind(alias: str, text: str) -> str:
    """A filter with every column behind an alias: outside of quotes, a word that is a column, and not a field of one."""
    if not alias:
        return text
    out: list[str] = []
    for number, piece in enumerate(text.split("'")):
        if number % 2:
            out.append(f"'{piece}'")
            continue
        word, built = "", ""
        for letter in piece + " ":
            if letter.isalnum() or letter == "_":
                word += letter
                continue
            if word:
                named = word in NAMES and not built.endswith(".") and letter != "("
                built += f"{alias}.{word}" if named else word
                word = ""
            built += letter
        out.append(built[:-1])
    return "".join(out)
