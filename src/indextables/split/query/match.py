"""Which rows of one split a query finds.

Each leaf is a `RowSet` of the index. Words are always exact: the index says what words there are. What is typed may be a
bound only, because the index does not hold all values, or because asking it would cost more than reading the column. If all
answers are exact, one search finds the rows. Otherwise it finds candidates, and for these the tree is worked out once more: words
by what the index finds for each of them, the rest on the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import tantivy

from indextables.core.arrow_values import FALSE_SCALAR, numpy_of
from indextables.core.predicate import TRUE, Constant, Predicate, columns_of, evaluate
from indextables.split.bundle.footer import Source
from indextables.split.bundle.native_errors import translated
from indextables.split.index.row_numbers import RowNumberArray, count_of, rows_of
from indextables.split.plan.index_view import NO_NEEDS, IndexNeeds, IndexView
from indextables.split.plan.predicate_plan import fold, plan_predicate
from indextables.split.plan.row_sets import EMPTY_SET, RowSet, difference, intersection, union
from indextables.split.query.bound import (
    Addresses,
    AtLeaf,
    AtPath,
    Boosted,
    Bound,
    Elements,
    Filter,
    Group,
    Near,
    Pattern,
    Typed,
    Words,
    needs_positions,
)
from indextables.split.query.count_two_terms import count_of_both
from indextables.split.query.index_queries import check_mapping, leaf_query, terms_at_keys, words_at_path
from indextables.split.query.row_checks import Mask, has_element, has_json_value, has_leaf
from indextables.split.query.tree import All
from indextables.split.rows.row_reader import BATCH_ROWS

Take = Callable[[RowNumberArray, Sequence[str]], pa.Table]
"""Rows by number, with some columns."""

_POSITIONS: Final = IndexNeeds(positions=True)
"""The needs of queries with phrases."""


@dataclass(slots=True, eq=False)
class Search:
    """A query as one split is asked, with the parts of the answer that are the same each time: these are worked out once.

    A search belongs to one split and to one set of costs. It does not hold the index open.
    """

    bound: Bound
    """The query, together with the predicate that is asked beside it."""
    needs: IndexNeeds
    row_set: RowSet | None = None
    """`Match.row_set` of the query, once it was worked out."""
    scored: tantivy.Query | None = None
    """The query with scores (`rank.scored`), once it was worked out."""

    @staticmethod
    def of(bound: Bound) -> Search:
        """A search of which nothing is worked out yet."""
        return Search(bound, _POSITIONS if needs_positions(bound) else NO_NEEDS)


@dataclass(frozen=True)
class Match:
    """Asks the index and the rows of one split."""

    view: IndexView
    sources: Sequence[Source]
    constants: Mapping[str, pa.Scalar]
    """The columns that are neither in the rows nor in the index of the split, with the one value that all rows have."""
    take: Take
    search: Search | None = None
    """Where the answer to the whole query is kept; None: the answer is worked out each time."""

    def count(self, bound: Bound) -> int:
        """How many rows the query finds. For one word the index has the number written down."""
        if isinstance(bound, Words) and self._is_word(bound):
            check_mapping(self.view, bound)
            with translated(self.view.split, "counting in its index"):
                return int(self.view.searcher.doc_freq(bound.field.name, bound.words[0]))
        if isinstance(bound, Group) and (both := self._count_of_both(bound)) is not None:
            return both
        answer = self.row_set(bound)
        if answer.exact:
            return count_of(self.view.searcher, answer.query, split=self.view.split)
        return len(self.rows(bound))

    def _count_of_both(self, group: Group) -> int | None:
        """How many rows have both of two words, by a shorter way. None: the group is another one, or no way is shorter."""
        if len(group.must) != 2 or group.must_not:
            return None
        one, other = group.must
        if not (isinstance(one, Words) and isinstance(other, Words) and self._is_word(one) and self._is_word(other)):
            return None
        check_mapping(self.view, one)
        check_mapping(self.view, other)
        return count_of_both(self.view, one, other, partial(leaf_query, self.view, scored=False))

    def _is_word(self, leaf: Words) -> bool:
        return len(leaf.words) == 1 and leaf.field.column not in self.constants

    def rows(self, bound: Bound) -> RowNumberArray:
        """The numbers of all rows that the query finds, ascending."""
        answer = self.row_set(bound)
        candidates = self._found(answer)
        if answer.exact or not len(candidates):
            return candidates
        chosen: RowNumberArray = candidates[self._matches(bound, candidates)]
        return chosen

    def row_set(self, bound: Bound) -> RowSet:
        """The rows that one search of the index finds: no row less, perhaps some more."""
        search = self.search
        if search is None or bound is not search.bound:
            return self._planned(bound)
        if search.row_set is None:
            search.row_set = self._planned(bound)
        return search.row_set

    def _planned(self, bound: Bound) -> RowSet:
        rows = self.view.rows
        match bound:
            case All():
                return RowSet(None, True, rows)
            case Group():
                excluded = union(map(self.row_set, bound.must_not), rows)
                return difference(self._group(bound), excluded)
            case Boosted() | Filter():
                return self.row_set(bound.child)
            case Typed():
                predicate = fold(bound.predicate, self.constants)
                if isinstance(predicate, Constant):
                    return RowSet(None, True, rows) if predicate == TRUE else EMPTY_SET
                plan = plan_predicate(predicate, self.view)
                return RowSet(plan.query, plan.exact, plan.at_most, share=plan.share)
            case Elements():
                return self._elements(bound)
            case AtLeaf():
                return self._leaf(bound)
            case Words() | Pattern() | Near() | Addresses() | AtPath():
                if bound.field.column in self.constants:
                    return EMPTY_SET
                exact = not isinstance(bound, AtPath) or bound.terms.exact
                query = leaf_query(self.view, bound, scored=False)
                return RowSet(query, exact, self._rows_with_words(bound) if isinstance(bound, Words) else rows)
            case _:
                assert_never(bound)

    def _rows_with_words(self, leaf: Words) -> int:
        """How many rows the words find at most: the rows of the rarest word, a number that the index has written down."""
        searcher = self.view.searcher
        with translated(self.view.split, "planning a search of its index"):
            return min((int(searcher.doc_freq(leaf.field.name, word)) for word in leaf.words), default=self.view.rows)

    def _leaf(self, leaf: AtLeaf) -> RowSet:
        """The rows with a typed value inside JSON. Where the index cannot help, they may be all rows."""
        if leaf.field.column in self.constants:
            return EMPTY_SET
        check_mapping(self.view, leaf)
        if leaf.terms is None:
            return RowSet(None, False, self.view.rows)
        return RowSet(terms_at_keys(self.view, leaf, leaf.terms), leaf.terms.exact, self.view.rows)

    def _elements(self, leaf: Elements) -> RowSet:
        """An index does not know how many values a row has: whatever it finds, it finds for some element."""
        if leaf.column.name in self.constants:
            return EMPTY_SET
        if leaf.column.name in self.view.inexact:  # an element may be missing beside others that are there
            return RowSet(None, False, self.view.rows)
        fields = tuple(replace(field, many=False) for field in self.view.mapping.fields)
        mapping = replace(self.view.mapping, fields=fields)
        single = replace(self.view, mapping=mapping, null_counts={}, bounds={}, distinct={})
        plan = plan_predicate(leaf.predicate, single)
        return RowSet(plan.query, plan.exact, plan.at_most, share=plan.share)

    def _group(self, group: Group) -> RowSet:
        rows = self.view.rows
        if group.must:
            return intersection(map(self.row_set, group.must), rows)
        if group.should:
            return union(map(self.row_set, group.should), rows)
        return RowSet(None, True, rows)

    def _matches(self, bound: Bound, rows: RowNumberArray) -> Mask:
        """For each of some rows whether the query finds it."""
        match bound:
            case All():
                return np.ones(len(rows), np.bool_)
            case Group():
                return self._group_matches(bound, rows)
            case Boosted() | Filter():
                return self._matches(bound.child, rows)
            case Typed():
                return self._true(fold(bound.predicate, self.constants), rows)
            case Elements() | AtLeaf() | AtPath() | Words() | Pattern() | Near() | Addresses():
                row_set = self.row_set(bound)
                if row_set.exact or isinstance(bound, Words | Pattern | Near | Addresses):
                    return self._among(rows, row_set)
                return self._checked_on_rows(bound, rows)
            case _:
                assert_never(bound)

    def _group_matches(self, group: Group, rows: RowNumberArray) -> Mask:
        if group.must:
            mask: Mask = np.logical_and.reduce([self._matches(child, rows) for child in group.must])
        elif group.should:
            mask = np.logical_or.reduce([self._matches(child, rows) for child in group.should])
        else:
            mask = np.ones(len(rows), np.bool_)
        for child in group.must_not:
            mask = mask & ~self._matches(child, rows)
        return mask

    def _checked_on_rows(self, bound: Elements | AtLeaf | AtPath, rows: RowNumberArray) -> Mask:
        """For each of some rows whether a leaf finds it, worked out on the values of the leaf's column."""
        match bound:
            case Elements():
                return self._by_batches(rows, [bound.column.name], lambda some: has_element(bound, _only_column(some)))
            case AtLeaf():
                return self._by_batches(rows, [bound.field.column], lambda some: has_leaf(bound, _only_column(some)))
            case AtPath():
                words = words_at_path(self.view, bound)
                values = self._by_batches(
                    rows, [bound.field.column], lambda some: has_json_value(bound, _only_column(some))
                )
                return self._among(rows, RowSet(words, True, self.view.rows)) | values
            case _:
                assert_never(bound)

    def _by_batches(self, rows: RowNumberArray, names: Sequence[str], check: Callable[[pa.Table], Mask]) -> Mask:
        """`check` of some rows with these columns, a batch at a time: the rows may be all rows of a large split."""
        starts = range(0, max(len(rows), 1), BATCH_ROWS)
        masks = [check(self.take(rows[start : start + BATCH_ROWS], names)) for start in starts]
        return masks[0] if len(masks) == 1 else np.concatenate(masks)

    def _among(self, rows: RowNumberArray, row_set: RowSet) -> Mask:
        """For each of some rows whether the index finds it for a row set."""
        return np.isin(rows, self._found(row_set), assume_unique=True)

    def _found(self, row_set: RowSet) -> RowNumberArray:
        """The numbers of all rows that the index finds for a row set, ascending."""
        view = self.view
        return rows_of(view.searcher, row_set.query, self.sources, at_most=row_set.at_most, split=view.split)

    def _true(self, predicate: Predicate, rows: RowNumberArray) -> Mask:
        if isinstance(predicate, Constant):
            return np.full(len(rows), predicate == TRUE)
        names = list(dict.fromkeys(column.name for column in columns_of(predicate)))
        return self._by_batches(rows, names, lambda some: _true_for(predicate, some))


def _only_column(table: pa.Table) -> pa.Array:
    return table.column(0).combine_chunks()


def _true_for(predicate: Predicate, table: pa.Table) -> Mask:
    true: Any = pc.fill_null(evaluate(predicate, table), FALSE_SCALAR)
    return numpy_of(true)
