"""Random SQL queries over a table of every type, and rows for the table: what Spark answers is compared with Parquet.

A query is a text with the names `{t}` and `{u}` for two tables of the same columns, and what is known of its answer: which
columns are sums of floats, and whether the order of the rows is certain.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
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
        (
            "deep",
            pa.struct(
                [("x", pa.int32()), ("y", pa.struct([("z", pa.string()), ("w", pa.float64()), ("v", pa.int64())]))]
            ),
        ),
    ]
)
SCHEMA: Final = pa.schema([*PLAIN, *_NESTED])
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
                "deep": some({"x": some(dice.randrange(5)), "y": some(below)}),
            }
        )
    nested = pa.Table.from_pylist(rows, _NESTED)
    plain = random_rows(dice, first, count)
    return pa.table([*plain.columns, *nested.columns], schema=SCHEMA)


@dataclass(frozen=True)
class Query:
    """One question. `rough` are the columns that hold sums of floats, `keys` the number of columns that the order decides."""

    text: str
    rough: frozenset[str] = frozenset()
    keys: int | None = None
    """With an order: the first columns, in which rows are compared one by one. None where the order means nothing."""
    any_rows: str | None = None
    """A limit without an order: the question without the limit, among whose rows the answer's rows are."""


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
        return _behind(alias, text)

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
                "true",
                f"tiny IN ({', '.join(str(dice.randrange(-6, 7)) for _ in range(12))})",
            ]
        )


def _behind(alias: str, text: str) -> str:
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
                named = word in SCHEMA.names and not built.endswith(".") and letter != "("
                built += f"{alias}.{word}" if named else word
                word = ""
            built += letter
        out.append(built[:-1])
    return "".join(out)


_SCALARS: Final = [name for name in SCHEMA.names if name not in {"s", "tags", "items", "attrs", "deep"}]
_SORTED: Final = [
    "tiny",
    "number",
    "score",
    "ratio",
    "flag",
    "word",
    "long",
    "day",
    "at",
    "wall",
    "price",
    "raw",
    "big",
    "deep.y.z",
    "s",
]
_NESTED_PARTS: Final = [
    "deep.y.z",
    "deep.x",
    "deep.y",
    "deep",
    "s.b",
    "items.p",
    "items.q AS q, items.r",
    "items[0].q",
    "items",
    "attrs['a']",
    "map_keys(attrs)",
    "attrs",
    "tags",
    "tags[0]",
    "transform(items, i -> i.q)",
    "size(items)",
    "struct(deep.y.w, s.a)",
]
_KEYS: Final = [
    "part",
    "word",
    "tiny",
    "flag",
    "day",
    "ratio",
    "score",
    "price",
    "raw",
    "long",
    "wall",
    "s.b",
    "deep.y.z",
    "deep.y.w",
    "upper(word)",
    "tiny % 2",
    "substr(long, 50, 3)",
    "date_trunc('DAY', at)",
    "CAST(at AS DATE)",
    "tiny IS NULL",
    "s",
    "size(tags)",
]
_SAFE: Final = [
    "count(*)",
    "count(1)",
    "count(word)",
    "count(deep.x)",
    "count(DISTINCT word)",
    "count(DISTINCT tiny, flag)",
    "count(DISTINCT score)",
    "sum(tiny)",
    "sum(id)",
    "sum(whole)",
    "sum(small)",
    "sum(price)",
    "sum(big)",
    "avg(price)",
    "sum(length(long))",
    "sum(tiny + small)",
    "sum(DISTINCT tiny)",
    "min(number)",
    "max(number)",
    "min(word)",
    "max(long)",
    "min(long)",
    "max(upper(word))",
    "min(day)",
    "max(at)",
    "min(wall)",
    "max(score)",
    "min(score)",
    "min(ratio)",
    "max(price)",
    "min(big)",
    "max(flag)",
    "min(raw)",
    "min(deep.x)",
    "max(s)",
    "bool_or(flag)",
    "max_by(id, id)",
    "sort_array(collect_set(tiny))",
    "min(part)",
    "max(id)",
]
_ROUGH: Final = ["sum(score)", "sum(ratio)", "avg(score)", "avg(tiny)", "avg(id)", "avg(number)", "stddev(tiny)"]
"""Functions whose answers depend on the order in which floats are added."""


class Queries:
    """SQL texts drawn from dice: every shape in turn."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self._filters = Filters(dice)
        self._shapes = [
            self._rows,
            self._nested,
            self._groups,
            self._groups,
            self._numbers,
            self._ordered,
            self._limited,
            self._distinct,
            self._join,
            self._join,
            self._self_join,
            self._sets,
            self._common,
            self._in_query,
            self._exists,
            self._scalar,
            self._window,
            self._above_limit,
            self._above_union,
            self._rollup,
            self._exploded,
        ]

    def query(self, number: int) -> Query:
        """The query of a number: the number decides its shape."""
        return self._shapes[number % len(self._shapes)]()

    def filter(self) -> str:
        """A filter alone."""
        return self._filters.condition()

    def _where(self, alias: str = "", chance: float = 0.85) -> str:
        return f" WHERE {self._filters.condition(alias)}" if self._dice.random() < chance else ""

    def _some(self, names: list[str], least: int, most: int) -> list[str]:
        return self._dice.sample(names, self._dice.randint(least, most))

    def _rows(self) -> Query:
        columns = "*" if self._dice.random() < 0.3 else ", ".join(["id", *self._some(_SCALARS[2:], 0, 4)])
        return Query(f"SELECT {columns} FROM {{t}}{self._where()}")

    def _nested(self) -> Query:
        parts = ", ".join(self._some(_NESTED_PARTS, 1, 3))
        return Query(f"SELECT {parts} FROM {{t}}{self._where()}")

    def _functions(self, least: int = 1, most: int = 4) -> tuple[list[str], frozenset[str]]:
        dice, out, rough = self._dice, [], []
        for number in range(dice.randint(least, most)):
            name, unsure = f"f{number}", dice.random() < 0.25
            call = dice.choice(_ROUGH if unsure else _SAFE)
            if dice.random() < 0.15:
                call += f" FILTER (WHERE {self._filters.condition()})"
            rough += [name] if unsure else []
            out.append(f"{call} AS {name}")
        return out, frozenset(rough)

    def _groups(self) -> Query:
        keys = self._some(_KEYS, 1, 2)
        functions, rough = self._functions(0, 4)
        names = [f"{key} AS k{number}" for number, key in enumerate(keys)]
        having = f" HAVING count(*) > {self._dice.randrange(1, 20)}" if self._dice.random() < 0.3 else ""
        text = f"SELECT {', '.join(names + functions)} FROM {{t}}{self._where()} GROUP BY {', '.join(keys)}{having}"
        return Query(text, rough)

    def _numbers(self) -> Query:
        functions, rough = self._functions(1, 5)
        return Query(f"SELECT {', '.join(functions)} FROM {{t}}{self._where()}", rough)

    def _order(self, key: str) -> str:
        return f"{key} {self._dice.choice(['ASC', 'DESC', 'ASC NULLS LAST', 'DESC NULLS FIRST'])}"

    def _ordered(self) -> Query:
        """The order of `id` makes every row's place certain; without it, only the key's values are."""
        dice = self._dice
        key, certain = dice.choice(_SORTED), dice.random() < 0.6
        orders = [self._order(key), *([self._order("id")] if certain else [])]
        cut = f" LIMIT {dice.choice([0, 1, 5, 30, 1000])}" + (
            f" OFFSET {dice.choice([0, 3, 50])}" if dice.random() < 0.4 else ""
        )
        rest = f"FROM {{t}}{self._where()} ORDER BY {', '.join(orders)}{cut}"
        if certain and dice.random() < 0.4:
            return Query(f"SELECT id {rest}", keys=1)
        return Query(f"SELECT {key} AS key, id, word, score {rest}", keys=4 if certain else 1)

    def _limited(self) -> Query:
        dice = self._dice
        whole = f"SELECT id, number, {dice.choice(['deep.y.z', 'long', 'tags'])} FROM {{t}}{self._where(chance=0.6)}"
        cut = f" LIMIT {dice.choice([0, 1, 7, 260, 1000])}" + (
            f" OFFSET {dice.choice([2, 40])}" if dice.random() < 0.3 else ""
        )
        return Query(whole + cut, any_rows=whole)

    def _distinct(self) -> Query:
        return Query(f"SELECT DISTINCT {', '.join(self._some(_KEYS, 1, 2))} FROM {{t}}{self._where()}")

    def _join(self) -> Query:
        dice = self._dice
        kind = dice.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"])
        on = dice.choice(
            [
                "a.id = b.id",
                "a.id = b.id + 3",
                "a.tiny = b.tiny AND a.part = b.part",
                "a.word <=> b.word",
                "a.day = b.day",
            ]
        )
        left = f"(SELECT * FROM {{t}}{self._where()}) a"
        right = f"(SELECT * FROM {{u}}{self._where()} {dice.choice(['', 'ORDER BY id LIMIT 60'])}) b"
        one_side = "SEMI" in kind or "ANTI" in kind
        columns = "a.id, a.word, a.deep.y.z" if one_side else "a.id, a.part, a.long, b.id AS other, b.price, b.s.b"
        if not one_side and dice.random() < 0.4:
            columns = "a.part, count(*) AS n, max(b.long) AS most, count(b.id) AS others"
            return Query(f"SELECT {columns} FROM {left} {kind} {right} ON {on} GROUP BY a.part")
        return Query(f"SELECT {columns} FROM {left} {kind} {right} ON {on}")

    def _self_join(self) -> Query:
        where = (
            f"{self._filters.condition('a')} AND {self._dice.choice(['b.flag', 'b.tiny > 0', 'b.long IS NOT NULL'])}"
        )
        return Query(
            f"SELECT a.id, b.id AS other, a.word, b.score FROM {{t}} a JOIN {{t}} b ON a.id = b.id + 1 WHERE {where}"
        )

    def _sets(self) -> Query:
        word = self._dice.choice(["UNION ALL", "UNION", "INTERSECT", "EXCEPT", "EXCEPT ALL"])
        columns = ", ".join(self._some(_SCALARS, 1, 3))
        return Query(f"SELECT {columns} FROM {{t}}{self._where()} {word} SELECT {columns} FROM {{u}}{self._where()}")

    def _common(self) -> Query:
        chosen = f"WITH c AS (SELECT id, part, tiny, score, deep FROM {{t}}{self._where()})"
        text = f"{chosen} SELECT x.part, x.n, y.most FROM (SELECT part, count(*) AS n FROM c GROUP BY part) x "
        return Query(
            f"{text}JOIN (SELECT part, max(deep.y.v) AS most FROM c WHERE tiny > 0 GROUP BY part) y ON x.part = y.part"
        )

    def _in_query(self) -> Query:
        column = self._dice.choice(["id", "tiny", "word", "day", "price"])
        there = self._dice.choice(["IN", "IN", "NOT IN"])
        inner = f"SELECT {column} FROM {{u}} WHERE ({self._filters.condition()}) AND id % 5 = 1"
        text = f"SELECT id, word FROM {{t}} WHERE {column} {there} ({inner})"
        return Query(text)

    def _exists(self) -> Query:
        there = self._dice.choice(["EXISTS", "NOT EXISTS"])
        inner = f"SELECT 1 FROM {{u}} b WHERE b.id = a.id + 1 AND ({self._filters.condition('b')})"
        return Query(f"SELECT a.id, a.long FROM {{t}} a WHERE {there} ({inner}) AND ({self._filters.condition('a')})")

    def _scalar(self) -> Query:
        dice = self._dice
        if dice.random() < 0.5:
            inner = f"SELECT {dice.choice(['max', 'min'])}(id) FROM {{u}}{self._where()}"
            return Query(f"SELECT id, word FROM {{t}} WHERE id {dice.choice(['<', '>=', '='])} ({inner})")
        inner = "SELECT max(b.tiny) FROM {u} b WHERE b.part = a.part AND b.flag"
        return Query(f"SELECT a.id, ({inner}) AS most FROM {{t}} a{self._where('a')}")

    def _window(self) -> Query:
        over = f"OVER (PARTITION BY {self._dice.choice(['part', 'tiny', 'flag'])} ORDER BY {self._order('number')}, id)"
        call = self._dice.choice(["row_number()", "lag(word)", "sum(tiny)", "max(long)", "rank()"])
        whole = f"SELECT id, {call} {over} AS w FROM {{t}}{self._where()}"
        return Query(f"SELECT * FROM ({whole}) WHERE id % 3 = 0" if self._dice.random() < 0.5 else whole)

    def _above_limit(self) -> Query:
        inner = f"SELECT * FROM {{t}}{self._where()} ORDER BY id LIMIT {self._dice.choice([3, 50, 500])}"
        if self._dice.random() < 0.5:
            return Query(f"SELECT id, word, deep FROM ({inner}){self._where()}")
        functions, rough = self._functions(1, 3)
        return Query(f"SELECT {', '.join(functions)} FROM ({inner}){self._where()}", rough)

    def _above_union(self) -> Query:
        both = f"(SELECT * FROM {{t}}{self._where()} UNION ALL SELECT * FROM {{u}}{self._where()})"
        if self._dice.random() < 0.5:
            return Query(f"SELECT id, word, price, items.p FROM {both}{self._where()}")
        functions, rough = self._functions(1, 3)
        return Query(f"SELECT part, {', '.join(functions)} FROM {both}{self._where()} GROUP BY part", rough)

    def _rollup(self) -> Query:
        functions, rough = self._functions(1, 2)
        keys = self._dice.choice(["ROLLUP (part, flag)", "CUBE (part, tiny)", "GROUPING SETS ((part), (word), ())"])
        names = {"R": "part, flag", "C": "part, tiny", "G": "part, word"}[keys[0]]
        return Query(f"SELECT {names}, {', '.join(functions)} FROM {{t}}{self._where()} GROUP BY {keys}", rough)

    def _exploded(self) -> Query:
        part = self._dice.choice(
            ["explode(tags)", "explode_outer(items.q)", "posexplode(items)", "explode(attrs)", "inline(items)"]
        )
        return Query(f"SELECT id, {part} FROM {{t}}{self._where()}")
