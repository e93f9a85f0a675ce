"""The leaves of a predicate, each about one column, as Tantivy queries.

Where the index has nothing about the column, or where asking the index would cost more than reading the column, the row set is
every row. The reasons behind the choices:

- A range over a fast field takes 0.1 ms per 100,000 rows however few match, so a list of values on a field without terms
  becomes at most `Costs.most_ranges` ranges, with the widest gaps between the values left out. If these still span half of the
  column's bounds, the list is evaluated on the rows.
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
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import tantivy

from indextables.core.arrow_values import FALSE_SCALAR, array_of
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
from indextables.split.index.doc_mapping import LONGEST_TERM, FieldMapping, normalised_ip
from indextables.split.index.index_files import analyzer
from indextables.split.plan.index_view import IndexView
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
from indextables.split.plan.row_sets import EMPTY_SET, RowSet, as_bound, difference, union


class Leaves:
    """The row sets of leaves of predicates, for one index. A row set never misses a row; it may be inexact."""

    def __init__(self, view: IndexView) -> None:
        self._view = view
        self._costs = view.costs
        self._unknown = RowSet(None, False, view.rows)
        self._all = RowSet(None, True, view.rows)

    def span(self, column: Column, comparisons: Sequence[Comparison]) -> RowSet:
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

    def members(self, column: Column, values: Sequence[Literal]) -> RowSet:
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
                row_sets = (self._words(mapped, mapped.name, [value]) for value in wanted)
                return union(row_sets, self._view.rows)
            case "json":
                return union((self._at_path(mapped, column, value) for value in wanted), self._view.rows)

    def others(self, column: Column, values: Sequence[Literal]) -> RowSet:
        """The rows that have a value other than the given ones."""
        listed = self._by_terms(column, Not(In(column, tuple(values))))
        return listed or difference(self.not_null(column), self.members(column, values))

    def distinct_from(self, column: Column, value: Literal) -> RowSet:
        """The rows that have another value or none."""
        return difference(self._all, self.members(column, [value]))

    def like(self, leaf: Like) -> RowSet:
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

    def unlike(self, leaf: Like) -> RowSet:
        """The rows whose text is not like the pattern."""
        listed = self._by_terms(leaf.column, Not(leaf))
        return listed or difference(self.not_null(leaf.column), self.like(leaf))

    def not_null(self, column: Column) -> RowSet:
        """The rows that have a value."""
        nulls = self._nulls(column)
        if nulls in {0, self._view.rows}:
            return EMPTY_SET if nulls else self._all
        mapped = self._mapped(column, many=True)
        if mapped is None or mapped.many or mapped.kind == "json" or column.name in self._view.inexact:
            return self._unknown
        if mapped.fast:
            return self._present(mapped, nulls)
        terms = self._view.terms(mapped) if mapped.kind == "string" else None
        return self._unknown if terms is None else self._listed(mapped, terms)

    def is_null(self, column: Column) -> RowSet:
        """The rows that have no value. An empty array, and a value that the index could not hold, look like null to the index."""
        nulls = self._nulls(column)
        if nulls in {0, self._view.rows}:
            return self._all if nulls else EMPTY_SET
        present = self.not_null(column)
        if present.exact:
            return difference(self._all, present)
        mapped = self._mapped(column, many=True)
        if mapped is None or mapped.kind == "json" or not mapped.fast:
            return self._unknown
        return self._absent(mapped)

    def _nulls(self, column: Column) -> int | None:
        """The number of rows without a value, if the footer has it. Without rows none and all are the same number: None."""
        return None if column.nested or not self._view.rows else self._view.null_counts.get(column.name)

    def _mapped(self, column: Column, *, many: bool = False) -> FieldMapping | None:
        """The field of a column, if it can be asked: arrays have no order, and only JSON has paths (and nothing else)."""
        mapped = self._view.mapping.field(column.name)
        if mapped is None or not (mapped.indexed or mapped.fast) or (mapped.many and not many):
            return None
        return mapped if column.nested is (mapped.kind == "json") else None

    def _absent(self, mapped: FieldMapping) -> RowSet:
        """The rows for which the index has no value."""
        return as_bound(difference(self._all, self._present(mapped, None)))

    def _present(self, mapped: FieldMapping, nulls: int | None) -> RowSet:
        """The rows for which the index has a value, where `nulls` rows have none (None: unknown)."""
        at_most = self._view.rows - (nulls or 0)
        share = self._costs.assumed_present_share if nulls is None else at_most / self._view.rows
        return RowSet(tantivy.Query.exists_query(mapped.name), True, at_most, share=share)

    def _numbers(self, mapped: FieldMapping, column: Column, runs: Sequence[Run]) -> RowSet:
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
            row_set = self._term_set(mapped, [float_at(key) for key in keys] if mapped.kind == "f64" else keys)
        else:
            kept, exact = few_runs(runs, self._costs.most_ranges)
            shares = [self._share(mapped, column, run) for run in kept]
            if not exact and sum(shares) > self._costs.most_share_between:
                return self._unknown
            ranges = (
                RowSet(self._range(mapped, run), exact, self._view.rows, 1, min(share, self._costs.most_assumed_share))
                for run, share in zip(kept, shares, strict=True)
            )
            row_set = union(ranges, self._view.rows)
        return union([row_set, self._absent(mapped)], self._view.rows) if beyond else row_set

    def _share(self, mapped: FieldMapping, column: Column, run: Run) -> float:
        """Which part of the rows a run would have if they were spread evenly between the bounds."""
        low, high = (from_text(text, column.type) for text in self._view.bounds.get(mapped.column, (None, None)))
        if low is None or high is None:
            return 1 / self._view.rows if run[0] == run[1] and self._view.rows else self._costs.assumed_range_share
        if mapped.kind == "f64":
            first, last, step = float_at(run[0]), float_at(run[1]), 0.0
        else:
            first, last, low, high, step = *run, whole_key(low), whole_key(high), 1.0
        width, inside = high - low + step, min(last, high) - max(first, low) + step
        return min(1.0, max(0.0, inside / width)) if 0 < width < math.inf else 1.0

    def _range(self, mapped: FieldMapping, run: Run) -> tantivy.Query:
        """A range query. A field without terms is queried by its fast field: by terms Tantivy silently finds nothing."""
        if mapped.kind == "f64":
            kind, bounds = tantivy.FieldType.Float, (float_at(run[0]), float_at(run[1]))
        else:
            kind, bounds = tantivy.FieldType.Integer, run
        return tantivy.Query.range_query(
            self._view.schema, mapped.name, kind, *bounds, use_inverted_index=not mapped.fast
        )

    def _strings(self, mapped: FieldMapping, values: Sequence[str]) -> RowSet:
        held = [value for value in dict.fromkeys(values) if len(value.encode()) <= LONGEST_TERM]
        if len(held) < len(set(values)) and mapped.column in self._view.inexact:
            return self._unknown
        return self._term_set(mapped, held)

    def _term_set(self, mapped: FieldMapping, values: Sequence[Any]) -> RowSet:
        at_most = self._view.rows
        if len(values) <= self._costs.counted_terms:
            counts = [self._view.searcher.doc_freq(mapped.name, value) for value in values]
            values = [value for value, count in zip(values, counts, strict=True) if count]
            at_most = min(at_most, sum(counts))
        if not values or not self._view.rows:
            return EMPTY_SET
        share = at_most / self._view.rows
        if len(values) == 1:
            return RowSet(self._term(mapped.name, values[0]), True, at_most, share=share)
        query = tantivy.Query.term_set_query(self._view.schema, mapped.name, list(values))
        return RowSet(query, True, at_most, share=share)

    def _term(self, name: str, value: Any) -> tantivy.Query:
        return tantivy.Query.term_query(self._view.schema, name, value, index_option="basic")

    def _string_span(self, mapped: FieldMapping, column: Column, comparisons: Sequence[Comparison]) -> RowSet:
        points = {comparison.value.value for comparison in comparisons if comparison.op == "="}
        if len(points) == len(comparisons):
            return self._strings(mapped, [*points]) if len(points) == 1 else EMPTY_SET
        listed = self._by_terms(column, all_of(comparisons))
        if listed is not None:
            return listed
        if points:
            return as_bound(self._strings(mapped, [*points][:1]))
        low = max((part.value.value for part in comparisons if part.op in {">", ">="}), default="")
        high = min((part.value.value for part in comparisons if part.op in {"<", "<="}), default="")
        return self._prefix(mapped, column, _common_start(low, high), whole=False)

    def _prefix(self, mapped: FieldMapping, column: Column, start: str, *, whole: bool) -> RowSet:
        """The rows whose text begins with `start`. `whole`: the predicate asks for nothing else."""
        start, whole = start[: self._costs.longest_prefix], whole and len(start) <= self._costs.longest_prefix
        bounds = self._view.bounds.get(mapped.column)
        if start and bounds is not None and all(bound.startswith(start) for bound in bounds):
            row_set = self.not_null(column)  # everything between the bounds begins like them
        elif not start or mapped.column in self._view.inexact:
            return self._unknown
        else:
            query = tantivy.Query.fuzzy_term_query(self._view.schema, mapped.name, start, distance=0, prefix=True)
            row_set = RowSet(query, True, self._view.rows, share=self._costs.assumed_prefix_share)
        return row_set if whole else as_bound(row_set)

    def _by_terms(self, column: Column, predicate: Predicate) -> RowSet | None:
        """The rows of the terms for which the predicate is true; None where the terms of the column cannot be listed."""
        mapped = self._mapped(column)
        terms = self._view.terms(mapped) if mapped is not None and mapped.kind == "string" else None
        if terms is None or mapped is None:
            return None
        values = array_of([term for term, _ in terms], pa.string()).cast(column.type)
        true = pc.fill_null(evaluate(predicate, pa.table({column.name: values})), FALSE_SCALAR).to_pylist()
        return self._listed(mapped, [term for term, wanted in zip(terms, true, strict=True) if wanted])

    def _listed(self, mapped: FieldMapping, terms: Sequence[tuple[str, int]]) -> RowSet:
        if not terms:
            return EMPTY_SET
        query = tantivy.Query.term_set_query(self._view.schema, mapped.name, [term for term, _ in terms])
        at_most = min(self._view.rows, sum(count for _, count in terms))
        return RowSet(query, True, at_most, share=at_most / self._view.rows)

    def _addresses(self, mapped: FieldMapping, texts: Sequence[str]) -> RowSet:
        """The rows with one of the IP addresses. An address has many texts, so the row set is inexact."""
        known = {normalised_ip(text) for text in texts}
        if not mapped.indexed or (None in known and mapped.column in self._view.inexact):
            return self._unknown
        return as_bound(self._term_set(mapped, [text for text in known if text is not None]))

    def _at_path(self, mapped: FieldMapping, column: Column, value: Any) -> RowSet:
        """The rows that may have a value in a field of a struct, by the index of the struct's JSON: words, and whole numbers."""
        if column.name in self._view.inexact or not all(_plain(key) for key in column.path[1:]):
            return self._unknown
        name = ".".join((mapped.name, *column.path[1:]))
        if isinstance(value, str):  # one that begins with a digit may have become a date
            fits = len(value) <= self._costs.longest_at_path and not value[:1].isdigit()
            return self._words(mapped, name, [value]) if fits else self._unknown
        return self._every_term(name, [value]) if pa.types.is_integer(column.type) else self._unknown

    def _words(self, mapped: FieldMapping, name: str, texts: Iterable[str]) -> RowSet:
        """The rows that have all words of the texts."""
        if mapped.column in self._view.inexact or not mapped.indexed or mapped.tokenizer is None:
            return self._unknown
        words = analyzer(mapped.tokenizer, self._view.mapping.max_token_length)
        return self._every_term(name, [word for text in texts for word in words.analyze(text)])

    def _every_term(self, name: str, terms: Iterable[Any]) -> RowSet:
        counted = sorted((self._view.searcher.doc_freq(name, term), term) for term in dict.fromkeys(terms))
        if not counted:
            return self._unknown
        if counted[0][0] == 0:
            return EMPTY_SET
        rarest = [(tantivy.Occur.Must, self._term(name, term)) for _, term in counted[: self._costs.most_words]]
        return RowSet(tantivy.Query.boolean_query(rarest), False, counted[0][0], share=counted[0][0] / self._view.rows)


def _whole_words(parts: Sequence[str | Wildcard]) -> list[str]:
    """The pieces of a pattern that begin and end where words do: at a blank, or at an end of the text."""
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
