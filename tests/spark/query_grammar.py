"""Random SQL queries over a table of every type: what Spark answers is compared with Parquet.

A query is a text with the names `{t}` and `{u}` for two tables of the same columns, and what is known of its answer: which
columns are sums of floats, and whether the order of the rows is certain. `query_filters.py` has the rows, the
filters and the searches.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

from spark.query_filters import NAMES, Filters


@dataclass(frozen=True)
class Query:
    """One question. `rough` are the columns that hold sums of floats, `keys` the number of columns that the order decides."""

    text: str
    rough: frozenset[str] = frozenset()
    keys: int | None = None
    """With an order: the first columns, in which rows are compared one by one. None where the order means nothing."""
    any_rows: str | None = None
    """A limit without an order: the question without the limit, among whose rows the answer's rows are."""


_SCALARS: Final = [name for name in NAMES if name not in {"s", "tags", "items", "attrs", "deep", "doc"}]
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
    "took",
    "clock",
    "deep.y.z",
    "s",
    "nocase",
    "code",
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
    "doc",
    "variant_get(doc, '$.b', 'string') AS b",
    "variant_get(doc, '$.c.a', 'int') AS ca, nocase",
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
    "took",
    "clock",
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
    "nocase",
    "code",
    "short",
    "variant_get(doc, '$.a', 'int')",
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
    "min(took)",
    "max(clock)",
    "min(raw)",
    "min(deep.x)",
    "max(s)",
    "bool_or(flag)",
    "max_by(id, id)",
    "sort_array(collect_set(tiny))",
    "min(part)",
    "max(id)",
    "max(nocase)",
    "count(DISTINCT nocase)",
    "count(doc)",
    "min(code)",
    "max(short)",
    "max(variant_get(doc, '$.a', 'int'))",
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

    def shape(self, number: int) -> str:
        """The name of the shape of a number's query."""
        return self._shapes[number % len(self._shapes)].__name__.strip("_").replace("_", " ")

    def filter(self) -> str:
        """A filter alone."""
        return self._filters.condition()

    def _condition(self, table: str, alias: str = "") -> str:
        """A filter of one table, a search in every third."""
        if self._dice.random() < 0.33:
            return self._filters.search(table, alias)
        return self._filters.condition(alias)

    def _where(self, table: str | None, alias: str = "", chance: float = 0.85) -> str:
        """A filter over a table, or over rows that are no table's any more."""
        if self._dice.random() >= chance:
            return ""
        return f" WHERE {self._condition(table, alias) if table else self._filters.condition(alias)}"

    def _some(self, names: list[str], least: int, most: int) -> list[str]:
        return self._dice.sample(names, self._dice.randint(least, most))

    def _rows(self) -> Query:
        columns = "*" if self._dice.random() < 0.3 else ", ".join(["id", *self._some(_SCALARS[2:], 0, 4)])
        return Query(f"SELECT {columns} FROM {{t}}{self._where('t')}")

    def _nested(self) -> Query:
        parts = ", ".join(self._some(_NESTED_PARTS, 1, 3))
        return Query(f"SELECT {parts} FROM {{t}}{self._where('t')}")

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
        text = f"SELECT {', '.join(names + functions)} FROM {{t}}{self._where('t')} GROUP BY {', '.join(keys)}{having}"
        return Query(text, rough)

    def _numbers(self) -> Query:
        functions, rough = self._functions(1, 5)
        return Query(f"SELECT {', '.join(functions)} FROM {{t}}{self._where('t')}", rough)

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
        rest = f"FROM {{t}}{self._where('t')} ORDER BY {', '.join(orders)}{cut}"
        if certain and dice.random() < 0.4:
            return Query(f"SELECT id {rest}", keys=1)
        return Query(f"SELECT {key} AS key, id, word, score {rest}", keys=4 if certain else 1)

    def _limited(self) -> Query:
        dice = self._dice
        whole = (
            f"SELECT id, number, {dice.choice(['deep.y.z', 'long', 'tags'])} FROM {{t}}{self._where('t', chance=0.6)}"
        )
        cut = f" LIMIT {dice.choice([0, 1, 7, 260, 1000])}" + (
            f" OFFSET {dice.choice([2, 40])}" if dice.random() < 0.3 else ""
        )
        return Query(whole + cut, any_rows=whole)

    def _distinct(self) -> Query:
        return Query(f"SELECT DISTINCT {', '.join(self._some(_KEYS, 1, 2))} FROM {{t}}{self._where('t')}")

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
        left = f"(SELECT * FROM {{t}}{self._where('t')}) a"
        right = f"(SELECT * FROM {{u}}{self._where('u')} {dice.choice(['', 'ORDER BY id LIMIT 60'])}) b"
        one_side = "SEMI" in kind or "ANTI" in kind
        columns = "a.id, a.word, a.deep.y.z" if one_side else "a.id, a.part, a.long, b.id AS other, b.price, b.s.b"
        if not one_side and dice.random() < 0.4:
            columns = "a.part, count(*) AS n, max(b.long) AS most, count(b.id) AS others"
            return Query(f"SELECT {columns} FROM {left} {kind} {right} ON {on} GROUP BY a.part")
        return Query(f"SELECT {columns} FROM {left} {kind} {right} ON {on}")

    def _self_join(self) -> Query:
        where = f"({self._condition('t', 'a')}) AND {self._dice.choice(['b.flag', 'b.tiny > 0', 'b.long IS NOT NULL'])}"
        return Query(
            f"SELECT a.id, b.id AS other, a.word, b.score FROM {{t}} a JOIN {{t}} b ON a.id = b.id + 1 WHERE {where}"
        )

    def _sets(self) -> Query:
        word = self._dice.choice(["UNION ALL", "UNION", "INTERSECT", "EXCEPT", "EXCEPT ALL"])
        columns = ", ".join(self._some(_SCALARS, 1, 3))
        return Query(
            f"SELECT {columns} FROM {{t}}{self._where('t')} {word} SELECT {columns} FROM {{u}}{self._where('u')}"
        )

    def _common(self) -> Query:
        chosen = f"WITH c AS (SELECT id, part, tiny, score, deep FROM {{t}}{self._where('t')})"
        text = f"{chosen} SELECT x.part, x.n, y.most FROM (SELECT part, count(*) AS n FROM c GROUP BY part) x "
        return Query(
            f"{text}JOIN (SELECT part, max(deep.y.v) AS most FROM c WHERE tiny > 0 GROUP BY part) y ON x.part = y.part"
        )

    def _in_query(self) -> Query:
        column = self._dice.choice(["id", "tiny", "word", "day", "price"])
        there = self._dice.choice(["IN", "IN", "NOT IN"])
        inner = f"SELECT {column} FROM {{u}} WHERE ({self._condition('u')}) AND id % 5 = 1"
        text = f"SELECT id, word FROM {{t}} WHERE {column} {there} ({inner})"
        return Query(text)

    def _exists(self) -> Query:
        there = self._dice.choice(["EXISTS", "NOT EXISTS"])
        inner = f"SELECT 1 FROM {{u}} b WHERE b.id = a.id + 1 AND ({self._condition('u', 'b')})"
        return Query(f"SELECT a.id, a.long FROM {{t}} a WHERE {there} ({inner}) AND ({self._condition('t', 'a')})")

    def _scalar(self) -> Query:
        dice = self._dice
        if dice.random() < 0.5:
            inner = f"SELECT {dice.choice(['max', 'min'])}(id) FROM {{u}}{self._where('u')}"
            return Query(f"SELECT id, word FROM {{t}} WHERE id {dice.choice(['<', '>=', '='])} ({inner})")
        inner = "SELECT max(b.tiny) FROM {u} b WHERE b.part = a.part AND b.flag"
        return Query(f"SELECT a.id, ({inner}) AS most FROM {{t}} a{self._where('t', 'a')}")

    def _window(self) -> Query:
        over = f"OVER (PARTITION BY {self._dice.choice(['part', 'tiny', 'flag'])} ORDER BY {self._order('number')}, id)"
        call = self._dice.choice(["row_number()", "lag(word)", "sum(tiny)", "max(long)", "rank()"])
        whole = f"SELECT id, {call} {over} AS w FROM {{t}}{self._where('t')}"
        return Query(f"SELECT * FROM ({whole}) WHERE id % 3 = 0" if self._dice.random() < 0.5 else whole)

    def _above_limit(self) -> Query:
        inner = f"SELECT * FROM {{t}}{self._where('t')} ORDER BY id LIMIT {self._dice.choice([3, 50, 500])}"
        if self._dice.random() < 0.5:
            return Query(f"SELECT id, word, deep FROM ({inner}){self._where(None)}")
        functions, rough = self._functions(1, 3)
        return Query(f"SELECT {', '.join(functions)} FROM ({inner}){self._where(None)}", rough)

    def _above_union(self) -> Query:
        both = f"(SELECT * FROM {{t}}{self._where('t')} UNION ALL SELECT * FROM {{u}}{self._where('u')})"
        if self._dice.random() < 0.5:
            return Query(f"SELECT id, word, price, items.p FROM {both}{self._where(None)}")
        functions, rough = self._functions(1, 3)
        return Query(f"SELECT part, {', '.join(functions)} FROM {both}{self._where(None)} GROUP BY part", rough)

    def _rollup(self) -> Query:
        functions, rough = self._functions(1, 2)
        keys = self._dice.choice(["ROLLUP (part, flag)", "CUBE (part, tiny)", "GROUPING SETS ((part), (word), ())"])
        names = {"R": "part, flag", "C": "part, tiny", "G": "part, word"}[keys[0]]
        return Query(f"SELECT {names}, {', '.join(functions)} FROM {{t}}{self._where('t')} GROUP BY {keys}", rough)

    def _exploded(self) -> Query:
        part = self._dice.choice(
            ["explode(tags)", "explode_outer(items.q)", "posexplode(items)", "explode(attrs)", "inline(items)"]
        )
        return Query(f"SELECT id, {part} FROM {{t}}{self._where('t')}")
