"""Which rows of one split a query finds.

Each leaf is an `Answer` of the index. Words are always exact: the index says what words there are. What is typed may be a
bound only, because the index does not hold all values, or because asking it would cost more than reading the column. If all
answers are exact, one search finds the rows. Otherwise it finds candidates, and for these the tree is worked out once more: words
by what the index finds for each of them, the rest on the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import tantivy

from indextables.core.errors import SplitError
from indextables.core.predicate import TRUE, Constant, Predicate, columns_of, evaluate
from indextables.split.bundle.footer import Source
from indextables.split.bundle.native_errors import translated
from indextables.split.index.doc_mapping import DocMapping
from indextables.split.index.row_numbers import RowNumbers, count_of, rows_of
from indextables.split.plan.column_queries import IndexView
from indextables.split.plan.predicate_plan import fold, plan_predicate
from indextables.split.plan.row_sets import NOTHING, Answer, all_answers, any_answer, without
from indextables.split.query.bind import (
    Addresses,
    AtPath,
    Boosted,
    Bound,
    Elements,
    Group,
    Near,
    Pattern,
    Typed,
    Words,
)
from indextables.split.query.count_two_terms import count_of_both
from indextables.split.query.tree import All

Take = Callable[[RowNumbers, Sequence[str]], pa.Table]
"""Rows by number, with some columns."""
Mask = npt.NDArray[np.bool_]
_MOST_AGREED: Final = 256
IndexLeaf: TypeAlias = Words | Pattern | Near | Addresses | AtPath
_PATTERNS: Final[WeakKeyDictionary[Pattern, tuple[DocMapping, tantivy.Query]]] = WeakKeyDictionary()
"""For as long as somebody asks for them."""


@dataclass(frozen=True)
class Match:
    """Asks one split."""

    view: IndexView
    sources: Sequence[Source]
    constants: Mapping[str, pa.Scalar]
    """The columns that are neither in its rows nor in its index."""
    take: Take

    def count(self, bound: Bound) -> int:
        """How many rows there are. For one word the index has it written down."""
        if isinstance(bound, Words) and self._is_word(bound):
            self._check_mapping(bound)
            with translated(self.view.split, "counting in its index"):
                return int(self.view.searcher.doc_freq(bound.field.name, bound.words[0]))
        if isinstance(bound, Group) and (both := self._count_of_both(bound)) is not None:
            return both
        answer = self.answer(bound)
        if answer.exact:
            return count_of(self.view.searcher, answer.query, split=self.view.split)
        return len(self.rows(bound))

    def _count_of_both(self, group: Group) -> int | None:
        match group:
            case Group(must=(Words() as one, Words() as other), must_not=()):
                if self._is_word(one) and self._is_word(other):
                    self._check_mapping(one)
                    self._check_mapping(other)
                    return count_of_both(self.view, one, other, partial(self.words, scored=False))
        return None

    def _is_word(self, leaf: Words) -> bool:
        return len(leaf.words) == 1 and leaf.field.column not in self.constants

    def rows(self, bound: Bound) -> RowNumbers:
        """Their numbers, ascending."""
        answer = self.answer(bound)
        candidates = rows_of(self.view.searcher, answer.query, self.sources, split=self.view.split)
        if answer.exact or not len(candidates):
            return candidates
        chosen: RowNumbers = candidates[self._worked_out(bound, candidates)]
        return chosen

    def answer(self, bound: Bound) -> Answer:
        """What one search of the index finds: no row less, perhaps some more."""
        rows = self.view.rows
        match bound:
            case All():
                return Answer(None, True, rows)
            case Group():
                found = self._group(bound)
                taken = any_answer(map(self.answer, bound.must_not), rows)
                return without(found, taken)
            case Boosted():
                return self.answer(bound.child)
            case Typed():
                left = fold(bound.predicate, self.constants)
                if isinstance(left, Constant):
                    return Answer(None, True, rows) if left == TRUE else NOTHING
                plan = plan_predicate(left, self.view)
                return Answer(plan.query, plan.exact, plan.at_most, share=plan.share)
            case Elements():
                return self._elements(bound)
        if bound.field.column in self.constants:
            return NOTHING
        return Answer(self.words(bound, scored=False), True, rows)

    def _elements(self, leaf: Elements) -> Answer:
        """An index does not know how many values a row has: whatever it finds, it finds for some element."""
        if leaf.column.name in self.constants:
            return NOTHING
        if leaf.column.name in self.view.inexact:  # an element may be missing beside others that are there
            return Answer(None, False, self.view.rows)
        fields = tuple(replace(field, many=False) for field in self.view.mapping.fields)
        mapping = replace(self.view.mapping, fields=fields)
        single = replace(self.view, mapping=mapping, null_counts={}, bounds={}, distinct={})
        plan = plan_predicate(leaf.predicate, single)
        return Answer(plan.query, plan.exact, plan.at_most, share=plan.share)

    def _group(self, group: Group) -> Answer:
        rows = self.view.rows
        if group.must:
            return all_answers(map(self.answer, group.must), rows)
        if group.should:
            return any_answer(map(self.answer, group.should), rows)
        return Answer(None, True, rows)

    def words(self, leaf: IndexLeaf, *, scored: bool = True) -> tantivy.Query:
        """The query of a leaf that only the index can answer. How often a row has a word is not read where nobody scores."""
        self._check_mapping(leaf)
        schema, name = self.view.schema, leaf.field.name
        query = tantivy.Query
        match leaf:
            case Words(words=(word,)):
                return query.term_query(schema, name, word, index_option="freq" if scored else "basic")
            case Words():
                return query.phrase_query(schema, name, list(leaf.words), slop=leaf.slop)
            case Pattern():
                return self._pattern(leaf)
            case Near():
                return query.fuzzy_term_query(
                    schema, name, leaf.word, distance=leaf.distance, transposition_cost_one=True
                )
            case Addresses():
                address = tantivy.FieldType.IpAddr
                runs = [query.range_query(schema, name, address, low, high) for low, high in leaf.runs]
                return query.boolean_query([(tantivy.Occur.Should, run) for run in runs])
            case AtPath():
                return query.boolean_query([(tantivy.Occur.Should, part) for part in self._at_path(leaf)])

    def _pattern(self, leaf: Pattern) -> tantivy.Query:
        """Made once for all splits that are indexed alike: some take half a second to be understood, and none to be asked."""
        known = _PATTERNS.get(leaf)
        if known is None or known[0] != self.view.mapping:
            made = tantivy.Query.regex_query(self.view.schema, leaf.field.name, leaf.regex)
            _PATTERNS[leaf] = known = self.view.mapping, made
        return known[1]

    def _at_path(self, leaf: AtPath) -> Iterator[tantivy.Query]:
        query, schema = tantivy.Query, self.view.schema
        if len(leaf.words) > 1:
            yield query.phrase_query(schema, leaf.name, list(leaf.words), slop=leaf.slop)
        elif leaf.words:
            yield query.term_query(schema, leaf.name, leaf.words[0], index_option="freq")
        for value in leaf.values:
            yield query.const_score_query(query.term_query(schema, leaf.name, value, index_option="basic"), 1.0)

    def _check_mapping(self, leaf: IndexLeaf) -> None:
        if self.view.agreed.get(id(leaf.field)) is leaf.field:
            return
        found = self.view.mapping.field(leaf.field.column)
        if found == leaf.field:
            if len(self.view.agreed) >= _MOST_AGREED:
                self.view.agreed.clear()
            self.view.agreed[id(leaf.field)] = leaf.field
        else:
            raise SplitError(
                f"{self.view.split} was written when {leaf.field.column} was indexed in another way, and cannot be searched: "
                "write its rows again, or merge it with others",
                split=self.view.split,
            )

    def _worked_out(self, bound: Bound, rows: RowNumbers) -> Mask:
        """For each of some rows whether the query finds it."""
        match bound:
            case All():
                return np.ones(len(rows), np.bool_)
            case Group():
                return self._group_worked_out(bound, rows)
            case Boosted():
                return self._worked_out(bound.child, rows)
            case Typed():
                return self._true(fold(bound.predicate, self.constants), rows)
            case Elements() if bound.column.name not in self.constants:
                return self._has_element(bound, rows)
        answer = self.answer(bound)
        found = rows_of(self.view.searcher, answer.query, self.sources, split=self.view.split)
        return np.isin(rows, found, assume_unique=True)

    def _group_worked_out(self, group: Group, rows: RowNumbers) -> Mask:
        if group.must:
            mask: Mask = np.logical_and.reduce([self._worked_out(child, rows) for child in group.must])
        elif group.should:
            mask = np.logical_or.reduce([self._worked_out(child, rows) for child in group.should])
        else:
            mask = np.ones(len(rows), np.bool_)
        for child in group.must_not:
            mask = mask & ~self._worked_out(child, rows)
        return mask

    def _has_element(self, leaf: Elements, rows: RowNumbers) -> Mask:
        lists = self.take(rows, [leaf.column.name]).column(0).combine_chunks()
        elements = pa.table({leaf.column.name: pc.list_flatten(lists)})
        true: Any = pc.fill_null(evaluate(leaf.predicate, elements), False)
        mask = np.zeros(len(rows), np.bool_)
        mask[pc.list_parent_indices(lists).filter(true).to_numpy(zero_copy_only=False)] = True
        return mask

    def _true(self, predicate: Predicate, rows: RowNumbers) -> Mask:
        if isinstance(predicate, Constant):
            return np.full(len(rows), predicate == TRUE)
        names = list(dict.fromkeys(column.name for column in columns_of(predicate)))
        table = self.take(rows, names)
        true: Any = pc.fill_null(evaluate(predicate, table), False)
        mask: Mask = np.asarray(true.to_numpy(zero_copy_only=False), np.bool_)
        return mask
