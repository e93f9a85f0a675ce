"""Manifests that compaction would only write again as they are, and so need not be.

A table that was compacted before is sorted already, and files added since mostly belong to a few of its partitions. A manifest is
reused if it is at least half full, holds no path that is tombstoned or stands elsewhere again, and if no other entry belongs
between its own. The entries of the others, and the added files, are written into new manifests, between the reused ones. So
compacting a million files costs as much as its changes, and reading the paths and sizes of the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.arrow_values import array_of, distinct, numpy_of
from indextables.core.types import spark_json_to_arrow
from indextables.core.values import column_from_text, is_text
from indextables.log.state.load_manifest import load_manifest
from indextables.log.state.model import ManifestItem, State
from indextables.log.state.partition_bounds import partition_texts, type_of
from indextables.log.state.tombstone_filter import TombstoneFilter
from indextables.log.state.writing.compact import cut_evenly, sum_of
from indextables.log.state.writing.delta import Delta
from indextables.log.table_log import TableLog

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ReusedManifests:
    """The manifests of a state that a compaction leaves as they are, in the order of their partition values."""

    numbers: tuple[int, ...]
    """The numbers of the manifests in the state."""
    lows: tuple[str, ...]
    """The lowest value of the first partition column in each manifest; empty where the table has no partition columns."""
    total_bytes: int
    """Bytes of all files in the manifests."""

    def pieces(
        self, files: pa.Table, starts: Numbers, schema: pa.Schema, columns: Sequence[str], most: int
    ) -> list[list[pa.Table]]:
        """Cut files that are sorted by partition into pieces of at most `most` files. The first list has the pieces that belong
        before the first reused manifest, and so on; the last list has those behind the last one.
        """
        gaps = self._gaps(files, schema, columns)
        borders = np.searchsorted(gaps, np.arange(len(self.numbers) + 2)).tolist()
        return [
            cut_evenly(files.slice(begin, end - begin), starts[(starts >= begin) & (starts < end)] - begin, most)
            for begin, end in pairwise(borders)
        ]

    def _gaps(self, files: pa.Table, schema: pa.Schema, columns: Sequence[str]) -> Numbers:
        """For each file the place, among the reused manifests, of the first manifest that the file belongs before."""
        if not columns:
            return np.full(files.num_rows, len(self.numbers))
        encoded = partition_texts(files, columns[0]).dictionary_encode(null_encoding="encode")
        texts = pa.concat_arrays([array_of(self.lows, pa.string()), encoded.dictionary])
        ranks = _ranks(texts, type_of(schema, columns[0]))
        places: Numbers = np.searchsorted(ranks[: len(self.lows)], ranks[len(self.lows) :], side="right")
        found: Numbers = places[numpy_of(encoded.indices)]
        return found


def _sorted_alike(state: State, schema: pa.Schema, columns: Sequence[str]) -> bool:
    """Whether the partition columns had the same types when the manifests were written: bounds of texts are none of numbers."""
    if state.metadata is None:
        return False
    before = spark_json_to_arrow(state.metadata.schema_string)
    return all(type_of(before, column) == type_of(schema, column) for column in columns)


def reusable_manifests(
    log: TableLog, state: State, delta: Delta, schema: pa.Schema, columns: Sequence[str], most: int
) -> ReusedManifests | None:
    """The manifests that a compaction into manifests of at most `most` entries can reuse; None where it can reuse none."""
    if any(not item.typed for item in state.manifests) or not _sorted_alike(state, schema, columns):
        return None
    plan = _Plan.of(state.manifests, delta, schema, columns, most)
    if not plan.staying.any():
        return None
    unfit = _unfit_paths(log, state, delta)
    numbers = np.flatnonzero(plan.staying).tolist()
    looks = log.side_by_side([partial(_look, log, state, number, unfit) for number in numbers])
    sizes = {number: size for number, (size, _) in zip(numbers, looks, strict=True)}
    plan.rewrite([number for number, (_, touched) in zip(numbers, looks, strict=True) if touched])
    plan.join_small_ones()
    stay = tuple(plan.in_order().tolist())
    if not stay:
        return None
    bounds = [state.manifests[number].bounds or {} for number in stay]
    lows = tuple(str(found[columns[0]][0]) for found in bounds) if columns else ()
    return ReusedManifests(stay, lows, sum(sizes[number] for number in stay))


def _unfit_paths(log: TableLog, state: State, delta: Delta) -> TombstoneFilter:
    """Paths whose entries cannot stay where they are: tombstoned ones, and those that may stand in several manifests."""
    load = partial(load_manifest, log, state.version, columns=["path"])
    tables = log.side_by_side([partial(load, item=item) for item in state.manifests if item.may_repeat])
    repeated = [table.column("path").to_pylist() for table in tables]
    return TombstoneFilter(set(state.tombstones).union(delta.removed, delta.added, *repeated))


def _look(log: TableLog, state: State, number: int, unfit: TombstoneFilter) -> tuple[int, bool]:
    """The bytes of a manifest's files, and whether one of them has an unfit path."""
    entries = load_manifest(log, state.version, state.manifests[number], ["path", "size"])
    return sum_of(entries.column("size")), len(unfit.rows(entries.column("path"))) > 0


def _ranks(texts: pa.Array, kind: pa.DataType) -> Numbers:
    """The places of texts by the values they stand for; equal values have one, and what has no value comes last."""
    typed = texts if is_text(kind) else column_from_text(texts, kind)
    ranks = pc.rank(typed, "ascending", tiebreaker="dense")
    found: Numbers = numpy_of(ranks).astype(np.int64)
    return found


@dataclass
class _Plan:
    """Which manifests stay, by the ranks of their bounds in the first partition column and by how full they are."""

    low: Numbers
    high: Numbers
    entries: Numbers
    added: Numbers
    most: int
    ordered: bool
    staying: npt.NDArray[np.bool_]

    @classmethod
    def of(
        cls, items: Sequence[ManifestItem], delta: Delta, schema: pa.Schema, columns: Sequence[str], most: int
    ) -> _Plan:
        count = len(items)
        entries = np.array([item.num_entries for item in items], np.int64)
        staying = (entries * 2 >= most) & (entries <= most) & ~np.array([item.may_repeat for item in items], np.bool_)
        low, high, added = np.arange(count), np.arange(count), np.full(len(delta.added), count)
        if columns:
            bounds = [(item.bounds or {}).get(columns[0], (None, None)) for item in items]
            values = [add.partition_values.get(columns[0]) for add, _, _ in delta.added.values()]
            texts = [*(low for low, _ in bounds), *(high for _, high in bounds), *values]
            ranks = _ranks(array_of(texts, pa.string()), type_of(schema, columns[0]))
            low, high, added = ranks[:count], ranks[count : 2 * count], ranks[2 * count :]
            if any(None in pair for pair in bounds):
                staying[:] = False  # what is in such a manifest may belong anywhere
        for value in distinct(added).tolist():
            staying &= (value < low) | (value > high)
        plan = cls(low, high, entries, added, most, bool(columns), staying)
        plan.rewrite(np.flatnonzero(~staying).tolist())
        return plan

    def rewrite(self, numbers: Sequence[int]) -> None:
        """Write these anew, and with them those that share a value with one of them, and so on."""
        self.staying[list(numbers)] = False
        left = list(numbers)
        while left:
            number = left.pop()
            touching = self.staying & (self.low <= self.high[number]) & (self.high >= self.low[number])
            self.staying &= ~touching
            left += np.flatnonzero(touching).tolist()

    def join_small_ones(self) -> None:
        """Write a neighbour anew, too, where what is to be written would be too little for a manifest."""
        while len(stay := self.in_order()):
            counts = np.bincount(self._gaps(stay, self.added), minlength=len(stay) + 1)
            np.add.at(counts, self._gaps(stay, self.low[~self.staying]), self.entries[~self.staying])
            small = np.flatnonzero((counts > 0) & (counts * 2 < self.most))
            if not len(small):
                return
            self.rewrite([int(stay[max(int(small[0]) - 1, 0)])])

    def _gaps(self, stay: Numbers, values: Numbers) -> Numbers:
        """For each value the place, among `stay`, of the manifest that it belongs before; behind all without partitions."""
        return (
            np.searchsorted(self.low[stay], values, side="right") if self.ordered else np.full(len(values), len(stay))
        )

    def in_order(self) -> Numbers:
        """The manifests that stay, in the order of their partition values."""
        numbers = np.flatnonzero(self.staying)
        return numbers[np.argsort(self.low[numbers], kind="stable")]
