"""The rows of a `ChangePlan`: version by version, first the rows that a version deleted, then the rows that it inserted.

    only adds, only removes ──────────────────────────────────▶ all rows of the files ──▶ + _change_type, version, timestamp
    both in one partition ──▶ hash all columns of both sides ──▶ the rows that remain ──┘

A condition selects rows before they are compared. Whether a row is selected depends on the row's values alone, and equal rows
cancel in pairs, so the answer is the same as that of a condition on the whole feed.

Everything here may run in another process: `ChangeQuestion` and `VersionChanges` pickle.
"""

from __future__ import annotations

import secrets
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any, Final, Literal, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from indextables.core.arrow_values import array_of_numbers, scalar_of
from indextables.core.predicate import TRUE
from indextables.core.runtime.cancellation import checked
from indextables.core.runtime.ordered_streams import Start, in_order
from indextables.split.plan.access import RowNumbers
from indextables.table.build.scratch_directory import scratch
from indextables.table.changes.change_plan import ChangePlan, PartitionChanges, VersionChanges
from indextables.table.changes.changed_splits import changed_split, naming_lost_files
from indextables.table.changes.difference import RowMarks, remaining
from indextables.table.changes.hash_store import CHUNK_ROWS, HashStore, Side
from indextables.table.changes.row_hashes import Hashes, row_hashes
from indextables.table.handle import TableHandle
from indextables.table.read.parallelism import reading_threads
from indextables.table.read.request import ReadRequest, bound_condition
from indextables.table.split_entry import SplitEntry

T = TypeVar("T")

CHANGE_COLUMNS: Final = (
    pa.field("_change_type", pa.string(), nullable=False),
    pa.field("_commit_version", pa.int64(), nullable=False),
    pa.field("_commit_timestamp", pa.timestamp("us", "UTC"), nullable=False),
)
"""The columns that follow those of the table."""
_AHEAD_BYTES: Final = 1 << 28
"""Bytes of rows that are read before the caller asks for them, at most 256 MiB over all threads."""

ChangeType = Literal["delete", "insert"]
_SIDES: Final[tuple[tuple[Side, ChangeType], ...]] = ((0, "delete"), (1, "insert"))


@dataclass(frozen=True)
class ChangeQuestion:
    """Which rows of changes, with which columns. A handle without its list of files will do, and is what should travel."""

    handle: TableHandle
    """The table at the version whose columns the rows have."""
    request: ReadRequest
    """The columns, the condition and the query."""

    @property
    def schema(self) -> pa.Schema:
        """The columns of the answer."""
        return pa.schema([*self.request.output_schema(self.handle.schema), *CHANGE_COLUMNS])


@dataclass(frozen=True)
class _FileRows:
    """The rows of one file that are part of the answer."""

    entry: SplitEntry
    marks: RowMarks | None = None
    """The rows of the file's side that are wanted; None for all rows of the file that the condition selects."""
    begin: int = 0
    """The first of the file's rows among those of its side. Only rows count that the condition selects."""
    end: int = 0


def change_rows(question: ChangeQuestion, plan: ChangePlan) -> Iterator[pa.RecordBatch]:
    """The rows of all versions of a plan, in their order. Raises ChangesGone where a file is gone."""
    for compared, versions in groupby(plan.versions, key=lambda one: one.is_replacement):
        if compared:
            for changes in versions:
                yield from _compared_rows(question, changes, plan)
        else:
            yield from _in_turn(question, _all_starts(question, versions, plan))


def version_rows(question: ChangeQuestion, changes: VersionChanges) -> Iterator[pa.RecordBatch]:
    """The rows of one version, or of some of its partitions: the task of a process that knows no more of the plan."""
    plan = ChangePlan(changes.version - 1, changes.version, (changes,))
    return change_rows(question, plan)


def _compared_rows(question: ChangeQuestion, changes: VersionChanges, plan: ChangePlan) -> Iterator[pa.RecordBatch]:
    """The rows of a version in which files of a partition replaced others."""
    files: tuple[list[_FileRows], list[_FileRows]] = ([], [])
    for part in changes.partitions:
        if part.is_replacement:
            with naming_lost_files(question.handle, changes, plan):
                differ = _difference(question, part)
        else:
            differ = ([_FileRows(entry) for entry in part.removed], [_FileRows(entry) for entry in part.added])
        for side, _ in _SIDES:
            files[side].extend(differ[side])
    yield from _in_turn(
        question,
        (partial(_tagged, question, changes, plan, kind, rows) for side, kind in _SIDES for rows in files[side]),
    )


def _in_turn(question: ChangeQuestion, starts: Iterator[Start[T]]) -> Generator[T, None, None]:
    return in_order(checked(starts), threads=reading_threads(question.handle), weigh=_bytes, budget=_AHEAD_BYTES)


def _bytes(item: Any) -> int:
    return int(item.nbytes)


def _all_starts(
    question: ChangeQuestion, versions: Iterable[VersionChanges], plan: ChangePlan
) -> Iterator[Start[pa.RecordBatch]]:
    """Streams of all rows of all files, version by version."""
    for changes in versions:
        for side, kind in _SIDES:
            for part in changes.partitions:
                for entry in (part.removed, part.added)[side]:
                    yield partial(_tagged, question, changes, plan, kind, _FileRows(entry))


def _tagged(
    question: ChangeQuestion,
    changes: VersionChanges,
    plan: ChangePlan,
    kind: ChangeType,
    rows: _FileRows,
) -> Iterator[pa.RecordBatch]:
    """The rows of one file with all columns of the answer."""
    schema = question.schema
    values = (kind, changes.version, changes.timestamp_ms * 1000)
    scalars = [scalar_of(value, field.type) for value, field in zip(values[:2], CHANGE_COLUMNS[:2], strict=True)]
    scalars.append(scalar_of(values[2], pa.int64()).cast(CHANGE_COLUMNS[2].type))
    with naming_lost_files(question.handle, changes, plan):
        for batch in _rows(question, rows):
            columns = [
                column if column.type == field.type else column.cast(field.type)
                for column, field in zip(batch.columns, schema, strict=False)
            ]
            columns += [pa.repeat(scalar, batch.num_rows) for scalar in scalars]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _rows(question: ChangeQuestion, rows: _FileRows) -> Iterator[pa.RecordBatch]:
    """The rows of one file with the columns of the request."""
    columns = list(question.request.columns)
    condition = bound_condition(question.handle, question.request)
    where, query = condition.predicate, condition.query
    if rows.marks is None:
        return changed_split(question.handle, rows.entry).scan(columns, where, query)
    wanted = rows.marks.between(rows.begin, rows.end)
    if not len(wanted):
        return iter(())
    split = changed_split(question.handle, rows.entry)
    selected = rows.end - rows.begin
    if len(wanted) < selected and where is None and query is None:
        return split.rows(columns, RowNumbers(wanted, TRUE, "footer"))
    found = split.locate(where, query) if len(wanted) < selected else None
    if found is not None and found.residual == TRUE and len(found.numbers) == selected:
        return split.rows(columns, RowNumbers(found.numbers[wanted], TRUE, found.found_by))
    batches = split.scan(columns, where, query)
    return batches if len(wanted) == selected else _marked(batches, rows, rows.marks)


def _marked(batches: Iterator[pa.RecordBatch], rows: _FileRows, marks: RowMarks) -> Iterator[pa.RecordBatch]:
    """The rows of the batches that are marked."""
    begin = rows.begin
    for batch in batches:
        wanted = marks.between(begin, begin + batch.num_rows)
        begin += batch.num_rows
        if len(wanted):
            yield batch if len(wanted) == batch.num_rows else batch.take(array_of_numbers(wanted))


def _difference(question: ChangeQuestion, part: PartitionChanges) -> tuple[list[_FileRows], list[_FileRows]]:
    """The rows of a partition that changed: which rows of which files, for each side.

    All columns of the table are compared, whichever are asked for: a row changed if any of its columns did.
    """
    files = (part.removed, part.added)
    entries = [*part.removed, *part.added]
    counts = _in_turn(question, (partial(_row_count, question, entry) for entry in entries))
    total = sum(int(count) for count in counts)
    seed = secrets.randbits(64)
    rows = np.zeros(len(entries), np.int64)
    with scratch("changes") if total > CHUNK_ROWS else nullcontext() as directory:
        store = HashStore(total, directory, CHUNK_ROWS)
        starts = (
            partial(_file_hashes, question, entry, place, seed, all_columns=not part.same_values)
            for place, entry in enumerate(entries)
        )
        with closing(_in_turn(question, starts)) as found:
            for hashed in found:
                store.add(0 if hashed.place < len(part.removed) else 1, hashed.hashes)
                rows[hashed.place] += len(hashed.hashes)
        store.close()
        marks = remaining(store)
    removed, added = _ends(rows[: len(part.removed)]), _ends(rows[len(part.removed) :])
    return (
        [_FileRows(entry, marks[0], *ends) for entry, ends in zip(files[0], removed, strict=True)],
        [_FileRows(entry, marks[1], *ends) for entry, ends in zip(files[1], added, strict=True)],
    )


def _ends(rows: npt.NDArray[np.int64]) -> list[tuple[int, int]]:
    """Where the rows of each file begin and end among those of its side."""
    ends = np.cumsum(rows)
    return list(zip((ends - rows).tolist(), ends.tolist(), strict=True))


def _row_count(question: ChangeQuestion, entry: SplitEntry) -> Iterator[np.int64]:
    """The rows of one file, from the file's footer: the log's entry of a removed file does not say."""
    yield np.int64(changed_split(question.handle, entry).footer.rows)


@dataclass(frozen=True)
class _Hashed:
    """The hashes of the next rows of one file."""

    place: int
    """Which file, among those that are compared."""
    hashes: Hashes

    @property
    def nbytes(self) -> int:
        return self.hashes.nbytes


def _file_hashes(
    question: ChangeQuestion, entry: SplitEntry, place: int, seed: int, *, all_columns: bool
) -> Iterator[_Hashed]:
    """The hashes of the rows of one file that the condition selects. Columns that are equal in all rows may be left out."""
    handle = question.handle
    condition = bound_condition(handle, question.request)
    known = () if all_columns else handle.partition_columns
    columns = [name for name in handle.schema.names if name not in known]
    for batch in changed_split(handle, entry).scan(columns, condition.predicate, condition.query):
        yield _Hashed(place, row_hashes(batch, seed))


__all__ = ["CHANGE_COLUMNS", "ChangeQuestion", "change_rows", "version_rows"]
