"""A scan in parts that other processes can do: planned here, opened and read wherever a task lands.

    plan_tasks ──▶ Scan (what is asked for, the same for all) + ScanTask (some splits each) ──pickle──▶ batches, count, partial

Everything that can be wrong with the question is said while planning, where the caller is. A task holds recipes only: the table's
place and options, its metadata, and the log's rows of its splits. Nothing of the log is read again where it runs, so all tasks
read the version that was planned, whatever is committed meanwhile.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa

from indextables.core.aggregate import Aggregate
from indextables.core.errors import LogError, ObjectNotFound, OptionError, SchemaError, SplitError, TableReplaced
from indextables.core.options import Options
from indextables.core.predicate import Predicate
from indextables.core.runtime.cached_property import cached_property
from indextables.core.runtime.ordered_streams import in_order
from indextables.log.file_entries import FILE_SCHEMA
from indextables.log.file_set import FileSet
from indextables.log.history import open_at
from indextables.log.log_paths import version_key
from indextables.log.open_snapshot import open_log
from indextables.log.refresh import head_or_none, open_current, read_files
from indextables.log.snapshot import Snapshot
from indextables.log.table_log import TableLog
from indextables.split.aggregate.partial import Partial, condensed
from indextables.split.query.bind import Bound
from indextables.split.reader import SplitReader
from indextables.storage.local import local_store
from indextables.storage.resolve import resolve
from indextables.table.distributed.task_packing import packed, packs, unpacked
from indextables.table.format_gate import check_bundles
from indextables.table.read.request import bound_query, narrowed
from indextables.table.read.scan import chosen_columns
from indextables.table.read.split_readers import readers

SCORE: Final = "_score"
_REMOTE_THREADS: Final = 4
_AHEAD_BYTES: Final = 1 << 26
_PINNED: Final = 16


@dataclass(frozen=True)
class Scan:
    """What is asked of a table at one version. A value: it pickles, and is small."""

    url: str
    options: Options
    head: Snapshot
    """The version, its schema and its properties, without its files."""
    columns: tuple[str, ...]
    where: Predicate | None = None
    query: str | None = None
    score: bool = False
    limit: int | None = None

    @cached_property
    def log(self) -> TableLog:
        """The table's log, opened in this process."""
        return open_table_log(self.url, self.options)

    @cached_property
    def bound(self) -> Bound | None:
        """The query of this table. Raises QueryError."""
        return None if self.query is None else bound_query(self.query, self.head)

    @property
    def schema(self) -> pa.Schema:
        """What a task's batches look like."""
        fields = [self.head.schema.field(name) for name in self.columns]
        return pa.schema([*fields, pa.field(SCORE, pa.float64())] if self.score else fields)

    def __reduce__(self) -> tuple[Any, ...]:
        parts = (self.url, self.options, self.head, self.columns, self.where, self.query, self.score, self.limit)
        return Scan, parts


@dataclass(frozen=True)
class ScanTask:
    """Some splits of a scan. `files` are the log's rows of them, `packed`."""

    scan: Scan
    files: bytes

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, in the order of the splits. No batch is empty. Raises SplitError, TableReplaced, TableNotFound."""
        scan = self.scan
        with _of_one_table(scan.log, scan.head):
            if scan.score and scan.limit is not None:
                yield from _best(scan, list(self._splits()))
                return
            left = scan.limit
            for batch in self._each(_scored if scan.score else _plain) if left != 0 else ():
                yield batch if left is None else batch.slice(0, left)
                if left is not None and (left := left - batch.num_rows) <= 0:
                    return

    def count(self) -> int:
        """How many rows there are. Raises what `batches` raises."""
        scan = self.scan
        starts = (partial(split.counts, scan.where, scan.bound) for split in self._splits())
        with _of_one_table(scan.log, scan.head):
            found = sum(in_order(starts, threads=self._threads))
        return found if scan.limit is None else min(found, scan.limit)

    def partial(self, aggregate: Aggregate) -> Partial | None:
        """The groups of the rows, to be put together with those of other tasks; None for no rows. Raises as `batches`."""
        scan = self.scan
        starts = (partial(split.aggregate, aggregate, scan.where, scan.bound) for split in self._splits())
        with _of_one_table(scan.log, scan.head):
            return next(iter(condensed(aggregate, in_order(starts, threads=self._threads))), None)

    def _each(self, read: Any) -> Iterator[pa.RecordBatch]:
        starts = (partial(read, self.scan, split) for split in self._splits())
        yield from in_order(starts, threads=self._threads, weigh=_weight, budget=_AHEAD_BYTES)

    def _splits(self) -> Iterator[SplitReader]:
        return readers(self.scan.log, self.scan.head, unpacked(self.files))

    @property
    def _threads(self) -> int:
        """One on a local disk: there are other tasks for the other processors. More where a thread mostly waits."""
        return 1 if local_store(self.scan.log.store) is not None else _REMOTE_THREADS


@dataclass(frozen=True)
class Plan:
    """A scan, and its parts."""

    snapshot: Snapshot
    scan: Scan
    tasks: list[ScanTask]

    @property
    def schema(self) -> pa.Schema:
        """What the batches of all tasks look like."""
        return self.scan.schema


def open_table_log(url: str, options: Options) -> TableLog:
    """The log at a place; one per process and recipe, so that what is known of its store and its splits is found again."""
    with _LOCK:
        found = _LOGS.get((url, options))
        if found is None:
            found = _LOGS[url, options] = TableLog(resolve(url, options).open(), options)
        return found


def pin(log: TableLog, version: int | None = None, timestamp_ms: int | None = None) -> Snapshot:
    """The version that a query is about, remembered for whoever asks for it again in this process."""
    snapshot = open_at(log, version=version, timestamp_ms=timestamp_ms)
    _remember(log, snapshot)
    return snapshot


def pinned(log: TableLog, version: int, table_id: str) -> Snapshot:
    """The same version as another process pinned. Raises TableReplaced, VersionNotFound."""
    with _LOCK:
        known = _SNAPSHOTS.get((log.url, table_id, version))
    if known is not None:
        return known
    snapshot = open_current(log)
    if snapshot.version != version and snapshot.table_id == table_id:
        snapshot = open_log(log, version)
    if snapshot.table_id != table_id:
        raise _replaced(log)
    _remember(log, snapshot)
    return snapshot


@contextmanager
def _of_one_table(log: TableLog, head: Snapshot) -> Iterator[None]:
    """See to it that a table which was dropped is called that, whatever is missing of it, or still remembered."""
    zero = None if head.anchor is None else head_or_none(log, version_key(0))
    try:
        if head.anchor is not None and (zero is None or zero.etag != head.anchor):
            _check_same(log, head)
        yield
    except (SplitError, LogError, ObjectNotFound):
        _check_same(log, head)
        raise


def _check_same(log: TableLog, head: Snapshot) -> None:
    """Raises TableReplaced, TableNotFound."""
    if open_log(log).table_id != head.table_id:
        raise _replaced(log)


def _replaced(log: TableLog) -> TableReplaced:
    return TableReplaced(
        f"table {log.url} was dropped and created again since it was loaded; load it anew", url=log.url
    )


def make_scan(
    log: TableLog,
    snapshot: Snapshot,
    columns: Sequence[str] | None = None,
    where: Predicate | None = None,
    query: str | None = None,
    *,
    score: bool = False,
    limit: int | None = None,
) -> Scan:
    """A question that the table can answer. Raises SchemaError, QueryError, OptionError, ForeignTable."""
    check_bundles(snapshot, "reading" if query is None else "searching")
    names = tuple(chosen_columns(columns, snapshot.schema))
    if score and query is None:
        raise OptionError("a score is how well a row fits a query: give a query too, or leave the score out")
    if score and SCORE in snapshot.schema.names:
        raise SchemaError(
            f"the table has a column {SCORE} of its own; read it without scores, or rename it", column=SCORE
        )
    nothing = FileSet(FILE_SCHEMA.empty_table())
    head = replace(snapshot, file_set=nothing, transactions={}, skips=(), registry={})
    scan = Scan(log.url, log.options, head, names, where, query, score, limit)
    assert query is None or scan.bound is not None, "raises QueryError where it is wrong"
    return scan


def plan_tasks(
    log: TableLog, snapshot: Snapshot, scan: Scan, most_tasks: int | None = None, files: pa.Table | None = None
) -> Plan:
    """The splits that may hold rows of the scan, packed into tasks: about `most_tasks`, or as many as their sizes ask for.

    A limit makes one task, because the first rows are only known to who has read those before them. `files` are those to look
    at, where the caller has chosen them.
    """
    if files is None:
        with _of_one_table(log, snapshot):
            snapshot, files = read_files(log, snapshot, narrowed(scan.where, scan.bound))
    if scan.limit is not None:
        most_tasks = 1
    light = scan.query is not None or not scan.columns
    return Plan(snapshot, scan, [ScanTask(scan, part) for part in packs(files, scan.options, most_tasks, light)])


def _plain(scan: Scan, split: SplitReader) -> Iterator[pa.RecordBatch]:
    return split.scan(scan.columns, scan.where, scan.bound)


def _scored(scan: Scan, split: SplitReader) -> Iterator[pa.RecordBatch]:
    """All rows that the query finds in a split, in their order, with their scores."""
    assert scan.bound is not None
    scores, rows = split.best(scan.where, scan.bound, split.footer.rows)
    order = np.argsort(rows)
    yield from _with_scores(scan, split, rows[order], scores[order])


def _with_scores(scan: Scan, split: SplitReader, rows: Any, scores: Any) -> Iterator[pa.RecordBatch]:
    for start in range(0, len(rows), _ROWS_AT_A_TIME):
        numbers = rows[start : start + _ROWS_AT_A_TIME]
        found = split.take(numbers, scan.columns).combine_chunks() if scan.columns else None
        columns = [] if found is None else [column.combine_chunks() for column in found.columns]
        some = pa.array(scores[start : start + _ROWS_AT_A_TIME], pa.float64())
        yield pa.RecordBatch.from_arrays([*columns, some], schema=scan.schema)


def _best(scan: Scan, splits: Sequence[SplitReader]) -> Iterator[pa.RecordBatch]:
    """The best rows of all splits, best first; equal ones by the split's path and the row's number."""
    assert scan.bound is not None
    assert scan.limit is not None
    hits: list[tuple[float, int, int]] = []
    for number, split in enumerate(splits) if scan.limit else ():
        scores, rows = split.best(scan.where, scan.bound, scan.limit)
        hits += [(score, number, row) for score, row in zip(scores.tolist(), rows.tolist(), strict=True)]
        hits.sort(key=lambda hit: (-hit[0], splits[hit[1]].key, hit[2]))
        del hits[scan.limit :]
    parts: list[pa.RecordBatch] = []
    places: dict[tuple[int, int], int] = {}
    for number in sorted({number for _, number, _ in hits}):
        mine = sorted((row, score) for score, of, row in hits if of == number)
        places.update({(number, row): len(places) + place for place, (row, _) in enumerate(mine)})
        rows, scores = np.array([row for row, _ in mine]), np.array([score for _, score in mine])
        parts += _with_scores(scan, splits[number], rows, scores)
    if parts:
        order = pa.array([places[number, row] for _, number, row in hits], pa.int64())
        yield from pa.Table.from_batches(parts, scan.schema).take(order).combine_chunks().to_batches()


def _weight(batch: pa.RecordBatch) -> int:
    return int(batch.nbytes)


def _remember(log: TableLog, snapshot: Snapshot) -> None:
    with _LOCK:
        _SNAPSHOTS[log.url, snapshot.table_id, snapshot.version] = snapshot
        while len(_SNAPSHOTS) > _PINNED:
            _SNAPSHOTS.popitem(last=False)


_ROWS_AT_A_TIME: Final = 65_536
_LOCK = threading.Lock()
_LOGS: dict[tuple[str, Options], TableLog] = {}
_SNAPSHOTS: OrderedDict[tuple[str, str, int], Snapshot] = OrderedDict()


def _after_fork() -> None:
    """What was opened belongs to the parent's runtime."""
    global _LOCK  # noqa: PLW0603 - one per process
    _LOCK = threading.Lock()
    _LOGS.clear()
    _SNAPSHOTS.clear()


os.register_at_fork(after_in_child=_after_fork)

__all__ = [
    "SCORE",
    "Plan",
    "Scan",
    "ScanTask",
    "make_scan",
    "open_table_log",
    "packed",
    "pin",
    "pinned",
    "plan_tasks",
    "unpacked",
]
