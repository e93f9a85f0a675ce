"""What an index knows about one column: the leaves of a predicate as Tantivy queries.

Where the index knows nothing, or where asking it would cost more than reading the column, the answer is every row. What stands
behind the choices:

- A range over a fast field takes 0.1 ms per 100,000 rows however few match, so a list of values on a field without terms
  becomes at most `MOST_RANGES` ranges, with the widest gaps between the values left out. If the bounds of the column say that
  these hold half of the rows all the same, the list is left to the rows.
- NaN and the infinities are not in the index. A column that has some is inexact, and a range that reaches out to them takes the
  rows without a number, too. A range between two numbers needs no such care.
- Terms can only be listed all at once: 100 ms for 100,000 terms, whatever the limit. Columns that are known to have few are
  listed, and any leaf is evaluated on their terms. Else only `=`, `IN` and prefixes are asked; a prefix costs 0.3 µs per term.
- A string too long for a term makes its column inexact; `=` with a shorter one still finds all its rows.
- Words say nothing about the text between them, so text columns and paths into JSON find too much. A text in the index as words
  has all the words of a text that it equals, and all words of a LIKE pattern that are whole words there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import tantivy

from indextables.core.predicate import (
    Column,
    Comparison,
    In,
    Like,
    Literal,
    Not,
    Predicate,
    Wildcard,
    all_of,
    evaluate,
)
from indextables.core.values import from_text
from indextables.split.index.doc_mapping import LONGEST_TERM, DocMapping, FieldMapping
from indextables.split.index.index_files import analyzer
from indextables.split.index.json_documents import _address as address
from indextables.split.plan.order_keys import (
    HIGHEST,
    INFINITY,
    LOWEST,
    MINUS_INFINITY,
    NAN,
    Run,
    few_runs,
    float_at,
    float_key,
    run_of,
    whole_key,
)
from indextables.split.plan.row_sets import NOTHING, Answer, any_answer, superset, without

MOST_RANGES: Final = 4
"""How many ranges over a fast field stand for a list of values."""
FEW_TERMS: Final = 1_000
"""Up to how many different values a string column is evaluated on its terms."""
MOST_COUNTED: Final = 256
"""Of how many terms the rows are counted while planning, 1 µs each."""

_LONGEST_PREFIX: Final = 100
_LONGEST_AT_PATH: Final = 1_000
_MOST_WORDS: Final = 8
_MOST_BETWEEN: Final = 0.5
_GUESSED_PREFIX: Final = 0.01
_GUESSED_RANGE: Final = 0.1
_GUESSED_PRESENT: Final = 0.9
_MOST_GUESSED: Final = 0.2
"""Few rows may lie in a wide range, so bounds alone never rule the index out."""


@dataclass(frozen=True)
class IndexView:
    """An opened index, and what the footer of its split says about it."""

    schema: tantivy.Schema
    searcher: tantivy.Searcher
    mapping: DocMapping
    split: str
    inexact: frozenset[str] = frozenset()
    null_counts: Mapping[str, int] = field(default_factory=dict)
    bounds: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """For a column, the texts of a value that is not above and of one that is not below any other."""
    distinct: Mapping[str, int] = field(default_factory=dict)
    """At most how many different values a column has, where that is known."""
    agreed: dict[int, FieldMapping] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Fields of tables that were found to be indexed here in the same way, by their id."""
    alone: set[tuple[str, str]] = field(default_factory=set, init=False, repr=False, compare=False)
    """Fields and words of them that few others begin with, as far as somebody asked."""
    _terms: dict[str, list[tuple[str, int]]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self.searcher.num_docs)

    def terms(self, mapped: FieldMapping) -> list[tuple[str, int]] | None:
        """All values of a string column and how many rows have each, or None where there may be too many to list."""
        if min(self.rows, self.distinct.get(mapped.column, self.rows)) > FEW_TERMS or mapped.column in self.inexact:
            return None
        if mapped.column not in self._terms:
            self._terms[mapped.column] = self.searcher.terms_with_prefix(mapped.name, "")
        return self._terms[mapped.column]


class Leaves:
    """The leaves of a predicate as questions to one index."""

    def __init__(self, view: IndexView) -> None:
        self._view = view
        self._unknown = Answer(None, False, view.rows)
        self._all = Answer(None, True, view.rows)

    def span(self, column: Column, comparisons: Sequence[Comparison]) -> Answer:
        """The rows for which all comparisons with `=`, `<`, `<=`, `>` or `>=` are true."""
        mapped = self._mapped(column)
        if mapped is None:
            return self._unknown
        if mapped.kind == "string":
            return self._string_span(mapped, column, comparisons)
        whole = (LOWEST, HIGHEST) if mapped.kind in {"i64", "bool"} else (MINUS_INFINITY, NAN)
        if mapped.kind in {"i64", "bool", "f64"}:
            run = run_of(comparisons, float_key if mapped.kind == "f64" else whole_key, *whole)
            return self.not_null(column) if run == whole else self._numbers(mapped, column, [run])
        points = [comparison.value for comparison in comparisons if comparison.op == "="]
        return self.members(column, points[:1]) if points else self._unknown

    def members(self, column: Column, values: Sequence[Literal]) -> Answer:
        """The rows that have one of the values."""
        mapped = self._mapped(column)
        if mapped is None:
            return self._unknown
        wanted = [literal.value for literal in values]
        match mapped.kind:
            case "i64" | "bool":
                return self._numbers(
                    mapped, column, [(key, key) for key in sorted({whole_key(value) for value in wanted})]
                )
            case "f64":
                return self._numbers(
                    mapped, column, [(key, key) for key in sorted({float_key(value) for value in wanted})]
                )
            case "string":
                return self._strings(mapped, wanted)
            case "ip":
                return self._addresses(mapped, wanted)
            case "text":
                answers = (self._words(mapped, mapped.name, [value]) for value in wanted)
                return any_answer(answers, self._view.rows)
            case "json":
                return any_answer((self._at_path(mapped, column, value) for value in wanted), self._view.rows)

    def others(self, column: Column, values: Sequence[Literal]) -> Answer:
        """The rows that have a value, and none of these."""
        listed = self._by_terms(column, Not(In(column, tuple(values))))
        return listed or without(self.not_null(column), self.members(column, values))

    def distinct_from(self, column: Column, value: Literal) -> Answer:
        """The rows that have another value or none."""
        return without(self._all, self.members(column, [value]))

    def like(self, leaf: Like) -> Answer:
        """The rows whose text is like the pattern."""
        parts = leaf.parts()
        if all(isinstance(part, str) for part in parts):
            return self.members(leaf.column, [Literal("".join(map(str, parts)), leaf.column.type)])
        mapped = self._mapped(leaf.column)
        match mapped.kind if mapped is not None else None:
            case "string":
                assert mapped is not None
                start = parts[0] if isinstance(parts[0], str) else ""
                whole = parts == (start, Wildcard.ANY)
                return self._by_terms(leaf.column, leaf) or self._prefix(mapped, leaf.column, start, whole=whole)
            case "text" if mapped is not None and mapped.tokenizer != "raw":
                return self._words(mapped, mapped.name, _whole_words(parts))
        return self._unknown

    def unlike(self, leaf: Like) -> Answer:
        """The rows whose text is not like the pattern."""
        listed = self._by_terms(leaf.column, Not(leaf))
        return listed or without(self.not_null(leaf.column), self.like(leaf))

    def not_null(self, column: Column) -> Answer:
        """The rows that have a value."""
        nulls = self._nulls(column)
        if nulls in {0, self._view.rows}:
            return NOTHING if nulls else self._all
        mapped = self._mapped(column, many=True)
        if mapped is None or mapped.many or mapped.kind == "json" or column.name in self._view.inexact:
            return self._unknown
        if mapped.fast:
            return self._present(mapped, nulls)
        terms = self._view.terms(mapped) if mapped.kind == "string" else None
        return self._unknown if terms is None else self._listed(mapped, terms)

    def is_null(self, column: Column) -> Answer:
        """The rows that have no value. What is empty or not in the index looks like null."""
        nulls = self._nulls(column)
        if nulls in {0, self._view.rows}:
            return self._all if nulls else NOTHING
        present = self.not_null(column)
        if present.exact:
            return without(self._all, present)
        mapped = self._mapped(column, many=True)
        if mapped is None or mapped.kind == "json" or not mapped.fast:
            return self._unknown
        return self._absent(mapped)

    def _nulls(self, column: Column) -> int | None:
        """How many rows have no value, if the split knows. Without rows nobody can tell none from all."""
        return None if column.nested or not self._view.rows else self._view.null_counts.get(column.name)

    def _mapped(self, column: Column, *, many: bool = False) -> FieldMapping | None:
        """The field of a column, if it can be asked: arrays have no order, and only JSON has paths (and nothing else)."""
        mapped = self._view.mapping.field(column.name)
        if mapped is None or not (mapped.indexed or mapped.fast) or (mapped.many and not many):
            return None
        return mapped if column.nested is (mapped.kind == "json") else None

    def _absent(self, mapped: FieldMapping) -> Answer:
        """The rows for which the index has no value."""
        return superset(without(self._all, self._present(mapped, None)))

    def _present(self, mapped: FieldMapping, nulls: int | None) -> Answer:
        """The rows for which it has one."""
        at_most = self._view.rows - (nulls or 0)
        share = _GUESSED_PRESENT if nulls is None else at_most / self._view.rows
        return Answer(tantivy.Query.exists_query(mapped.name), True, at_most, share=share)

    def _numbers(self, mapped: FieldMapping, column: Column, runs: Sequence[Run]) -> Answer:
        """The rows with a number in one of the runs, which ascend."""
        beyond = False
        runs = [run for run in runs if run[0] <= run[1]]
        if mapped.kind == "f64":
            beyond = any(low <= MINUS_INFINITY or high >= INFINITY for low, high in runs)
            beyond &= mapped.column in self._view.inexact
            finite = [(max(low, MINUS_INFINITY + 1), min(high, INFINITY - 1)) for low, high in runs]
            runs = [run for run in finite if run[0] <= run[1]]
        if beyond and not mapped.fast:
            return self._unknown
        if mapped.indexed and all(low == high for low, high in runs):
            keys = [low for low, _ in runs]
            answer = self._term_set(mapped, [float_at(key) for key in keys] if mapped.kind == "f64" else keys)
        else:
            kept, exact = few_runs(runs, MOST_RANGES)
            shares = [self._share(mapped, column, run) for run in kept]
            if not exact and sum(shares) > _MOST_BETWEEN:
                return self._unknown
            ranges = (
                Answer(self._range(mapped, run), exact, self._view.rows, 1, min(share, _MOST_GUESSED))
                for run, share in zip(kept, shares, strict=True)
            )
            answer = any_answer(ranges, self._view.rows)
        return any_answer([answer, self._absent(mapped)], self._view.rows) if beyond else answer

    def _share(self, mapped: FieldMapping, column: Column, run: Run) -> float:
        """Which part of the rows a run would have if they were spread evenly between the bounds."""
        low, high = (from_text(text, column.type) for text in self._view.bounds.get(mapped.column, (None, None)))
        if low is None or high is None:
            return 1 / self._view.rows if run[0] == run[1] and self._view.rows else _GUESSED_RANGE
        if mapped.kind == "f64":
            first, last, step = float_at(run[0]), float_at(run[1]), 0.0
        else:
            first, last, low, high, step = *run, whole_key(low), whole_key(high), 1.0
        width, inside = high - low + step, min(last, high) - max(first, low) + step
        return min(1.0, max(0.0, inside / width)) if 0 < width < math.inf else 1.0

    def _range(self, mapped: FieldMapping, run: Run) -> tantivy.Query:
        """One range. Asked for its terms, a field that is only fast would find nothing, without a word."""
        if mapped.kind == "f64":
            kind, bounds = tantivy.FieldType.Float, (float_at(run[0]), float_at(run[1]))
        else:
            kind, bounds = tantivy.FieldType.Integer, run
        return tantivy.Query.range_query(
            self._view.schema, mapped.name, kind, *bounds, use_inverted_index=not mapped.fast
        )

    def _strings(self, mapped: FieldMapping, values: Sequence[str]) -> Answer:
        held = [value for value in dict.fromkeys(values) if len(value.encode()) <= LONGEST_TERM]
        if len(held) < len(set(values)) and mapped.column in self._view.inexact:
            return self._unknown
        return self._term_set(mapped, held)

    def _term_set(self, mapped: FieldMapping, values: Sequence[Any]) -> Answer:
        at_most = self._view.rows
        if len(values) <= MOST_COUNTED:
            counts = [self._view.searcher.doc_freq(mapped.name, value) for value in values]
            values = [value for value, count in zip(values, counts, strict=True) if count]
            at_most = min(at_most, sum(counts))
        if not values or not self._view.rows:
            return NOTHING
        share = at_most / self._view.rows
        if len(values) == 1:
            return Answer(self._term(mapped.name, values[0]), True, at_most, share=share)
        query = tantivy.Query.term_set_query(self._view.schema, mapped.name, list(values))
        return Answer(query, True, at_most, share=share)

    def _term(self, name: str, value: Any) -> tantivy.Query:
        return tantivy.Query.term_query(self._view.schema, name, value, index_option="basic")

    def _string_span(self, mapped: FieldMapping, column: Column, comparisons: Sequence[Comparison]) -> Answer:
        points = {comparison.value.value for comparison in comparisons if comparison.op == "="}
        if len(points) == len(comparisons):
            return self._strings(mapped, [*points]) if len(points) == 1 else NOTHING
        listed = self._by_terms(column, all_of(comparisons))
        if listed is not None:
            return listed
        if points:
            return superset(self._strings(mapped, [*points][:1]))
        low = max((part.value.value for part in comparisons if part.op in {">", ">="}), default="")
        high = min((part.value.value for part in comparisons if part.op in {"<", "<="}), default="")
        return self._prefix(mapped, column, _common_start(low, high), whole=False)

    def _prefix(self, mapped: FieldMapping, column: Column, start: str, *, whole: bool) -> Answer:
        """The rows whose text begins so. `whole`: that is all that is asked."""
        start, whole = start[:_LONGEST_PREFIX], whole and len(start) <= _LONGEST_PREFIX
        bounds = self._view.bounds.get(mapped.column)
        if start and bounds is not None and all(bound.startswith(start) for bound in bounds):
            answer = self.not_null(column)  # everything between the bounds begins like them
        elif not start or mapped.column in self._view.inexact:
            return self._unknown
        else:
            query = tantivy.Query.fuzzy_term_query(self._view.schema, mapped.name, start, distance=0, prefix=True)
            answer = Answer(query, True, self._view.rows, share=_GUESSED_PREFIX)
        return answer if whole else superset(answer)

    def _by_terms(self, column: Column, predicate: Predicate) -> Answer | None:
        """The rows of those terms for which the predicate is true, where they can be listed."""
        mapped = self._mapped(column)
        terms = self._view.terms(mapped) if mapped is not None and mapped.kind == "string" else None
        if terms is None or mapped is None:
            return None
        values = pa.array([term for term, _ in terms], pa.string()).cast(column.type)
        true = pc.fill_null(evaluate(predicate, pa.table({column.name: values})), False).to_pylist()
        return self._listed(mapped, [term for term, wanted in zip(terms, true, strict=True) if wanted])

    def _listed(self, mapped: FieldMapping, terms: Sequence[tuple[str, int]]) -> Answer:
        if not terms:
            return NOTHING
        query = tantivy.Query.term_set_query(self._view.schema, mapped.name, [term for term, _ in terms])
        at_most = min(self._view.rows, sum(count for _, count in terms))
        return Answer(query, True, at_most, share=at_most / self._view.rows)

    def _addresses(self, mapped: FieldMapping, texts: Sequence[str]) -> Answer:
        """An address has many texts, so this finds too much. A text that is none is in no row, or its column is inexact."""
        known = {address(text) for text in texts}
        if not mapped.indexed or (None in known and mapped.column in self._view.inexact):
            return self._unknown
        return superset(self._term_set(mapped, [text for text in known if text is not None]))

    def _at_path(self, mapped: FieldMapping, column: Column, value: Any) -> Answer:
        """What the JSON of a struct says about a field inside it: texts by their words, and whole numbers."""
        if column.name in self._view.inexact or not all(_plain(key) for key in column.path[1:]):
            return self._unknown
        name = ".".join((mapped.name, *column.path[1:]))
        if isinstance(value, str):  # one that begins with a digit may have become a date
            fits = len(value) <= _LONGEST_AT_PATH and not value[:1].isdigit()
            return self._words(mapped, name, [value]) if fits else self._unknown
        return self._every_term(name, [value]) if pa.types.is_integer(column.type) else self._unknown

    def _words(self, mapped: FieldMapping, name: str, texts: Iterable[str]) -> Answer:
        """The rows that have all words of the texts."""
        if mapped.column in self._view.inexact or not mapped.indexed or mapped.tokenizer is None:
            return self._unknown
        words = analyzer(mapped.tokenizer, self._view.mapping.max_token_length)
        return self._every_term(name, [word for text in texts for word in words.analyze(text)])

    def _every_term(self, name: str, terms: Iterable[Any]) -> Answer:
        counted = sorted((self._view.searcher.doc_freq(name, term), term) for term in dict.fromkeys(terms))
        if not counted:
            return self._unknown
        if counted[0][0] == 0:
            return NOTHING
        rarest = [(tantivy.Occur.Must, self._term(name, term)) for _, term in counted[:_MOST_WORDS]]
        return Answer(tantivy.Query.boolean_query(rarest), False, counted[0][0], share=counted[0][0] / self._view.rows)


def _whole_words(parts: Sequence[str | Wildcard]) -> list[str]:
    """Those pieces of a pattern that begin and end where words do: at a blank, or at an end of the text."""
    pieces = []
    for number, part in enumerate(parts):
        if isinstance(part, str):
            start = 0 if number == 0 else part.find(" ")
            end = len(part) if number == len(parts) - 1 else part.rfind(" ")
            if 0 <= start < end:
                pieces.append(part[start:end])
    return pieces


def _common_start(first: str, second: str) -> str:
    length = next(
        (n for n, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second))
    )
    return first[:length]


def _plain(key: str) -> bool:
    return key.isascii() and key.replace("_", "a").isalnum()
