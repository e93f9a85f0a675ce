"""A state's live files, read when somebody looks, and only the manifests that may matter.

Opening a table of a million files reads its state, a few kilobytes; the manifests follow when files are asked for. A question
about one partition reads the manifests whose bounds let it in, and decodes those of their blocks whose bounds do.

    question ─ bounds of manifests ─ bounds of blocks ─ partition values ─ bounds of columns ─▶ files that may matter
              (in the state)        (in their headers)  (of each entry)    (of each entry)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.arrow_values import empty_table, numpy_of
from indextables.core.metrics import METRICS
from indextables.core.predicate import Predicate
from indextables.log.avro.shared_columns import integers
from indextables.log.file_entries import FILE_SCHEMA
from indextables.log.pruning.skipping_counts import NOTHING_SKIPPED, Skipped
from indextables.log.state.block_bounds import paths_name_partitions
from indextables.log.state.load_manifest import FileQuestion, entries_of, entries_that_may_match, load_manifest
from indextables.log.state.manifest_cache import ANSWERS, cached_manifest, keeps
from indextables.log.state.model import ManifestItem, State
from indextables.log.state.tombstone_filter import TombstoneFilter, may_repeat
from indextables.log.table_log import TableLog


class StateFiles:
    """The files of one state. Keeps the whole table once it was asked for."""

    def __init__(self, log: TableLog, state: State, known: pa.Table | None = None) -> None:
        self._log = log
        self._state = state
        self._table = known
        self._token = object()
        """Stands for this state in `ANSWERS`."""

    @property
    def state(self) -> State:
        """The state whose files these are."""
        return self._state

    def table(self) -> pa.Table:
        """All live files."""
        if self._table is None:
            self._table, _ = self._measured(self._state.manifests, FILE_SCHEMA.names, None)
        return self._table

    def matching(
        self, where: Predicate, schema: pa.Schema, partition_columns: Sequence[str] = ()
    ) -> tuple[pa.Table, Skipped]:
        """Live files: at least those that may hold a row for which `where` is true, from the manifests that may.

        Also how many others there are, and what ruled them out.
        """
        if self._table is not None:
            return self._table, NOTHING_SKIPPED
        question = FileQuestion(where, schema, tuple(partition_columns))
        if not keeps(self._log):
            return self._ask(question)
        return ANSWERS.get_or_load((self._token, question), lambda: self._ask(question))

    def _ask(self, question: FileQuestion) -> tuple[pa.Table, Skipped]:
        items = [item for item in self._state.manifests if item.may_repeat or question.lets_in(item)]
        found, skipped = self._measured(items, FILE_SCHEMA.names, question)
        entries = sum(item.entries_to_read for item in self._state.manifests)
        return found, skipped + Skipped(by_manifest=entries - sum(item.entries_to_read for item in items))

    def columns(self, names: Sequence[str]) -> pa.Table:
        """Columns of all live files."""
        if self._table is not None:
            return self._table.select(names)
        return self._measured(self._state.manifests, names, None)[0]

    def __reduce__(self) -> tuple[Any, ...]:
        return StateFiles, (self._log, self._state)

    def _measured(
        self, items: Sequence[ManifestItem], names: Sequence[str], question: FileQuestion | None
    ) -> tuple[pa.Table, Skipped]:
        with METRICS.timed("indextables.state.read.duration_ms"):
            found, skipped = self._read(items, names, question)
        METRICS.observe("indextables.state.read.manifest_count", len(items))
        METRICS.observe("indextables.state.read.file_count", found.num_rows)
        return found, skipped

    def _read(
        self, items: Sequence[ManifestItem], names: Sequence[str], question: FileQuestion | None
    ) -> tuple[pa.Table, Skipped]:
        wanted = list(dict.fromkeys(["path", "addedAtVersion", *names]))
        schema = pa.schema([FILE_SCHEMA.field(name) for name in wanted])
        if not all(item.typed for item in items):
            question = None  # other writers may repeat any path in any manifest
        found, passed_over, skipped = self._load(items, schema, question)
        if passed_over and question and not paths_name_partitions(found, question.partition_columns):
            found, _, skipped = self._load(items, schema, None)
        if any(item.may_repeat or not item.typed for item in items):
            found = last_of_each_path(found)
        return found.select(names), skipped

    def _load(
        self, items: Sequence[ManifestItem], schema: pa.Schema, question: FileQuestion | None
    ) -> tuple[pa.Table, bool, Skipped]:
        """The entries, whether the question passed over some of manifests that may repeat paths of others, and how many others.

        Such an entry may be the newer one of a path of which another manifest has an older one. That is no harm if both are in
        the same partition, so the caller looks at the paths of all that was found.
        """
        log, version = self._log, self._state.version
        load = partial(_load_one, log, version, schema.names, TombstoneFilter(self._state.tombstones), question)
        loaded = log.side_by_side([partial(load, item) for item in items])
        table = pa.concat_tables([empty_table(schema), *(entries for entries, _, _ in loaded)])
        skipped = sum((each for _, _, each in loaded), NOTHING_SKIPPED)
        return table, any(passed_over for _, passed_over, _ in loaded), skipped


def _load_one(
    log: TableLog,
    version: int,
    columns: Sequence[str],
    tombstones: TombstoneFilter,
    question: FileQuestion | None,
    item: ManifestItem,
) -> tuple[pa.Table, bool, Skipped]:
    if question is None:
        return load_manifest(log, version, item, columns, tombstones=tombstones), False, NOTHING_SKIPPED
    manifest = cached_manifest(log, version, item)
    ask = partial(entries_that_may_match, log, manifest, columns, question, tombstones=tombstones)
    if not item.may_repeat:
        found, skipped = ask()
        return found, False, skipped
    bounds = manifest.bounds_for(question)
    if bounds is None or not bounds.paths_name_partitions:
        return entries_of(log, manifest, columns, tombstones), False, NOTHING_SKIPPED
    found, skipped = ask(by_partition_only=True)
    return found, True, skipped


def last_of_each_path(files: pa.Table) -> pa.Table:
    """The files without older entries of a path. A path that was added again while it was live has two entries: the one of the
    later version counts, and of two of one version the last one.
    """
    if not may_repeat(files.column("path")):
        return files
    numbered = files.select(["path", "addedAtVersion"]).append_column("row", integers(np.arange(files.num_rows)))
    order = pc.sort_indices(numbered, sort_keys=[("addedAtVersion", "ascending"), ("row", "ascending")])
    ranked = numbered.take(order).append_column("rank", integers(np.arange(files.num_rows)))
    last = ranked.group_by("path").aggregate([("rank", "max")]).column("rank_max")
    return files.take(integers(np.sort(numpy_of(ranked.column("row").take(last)))))
