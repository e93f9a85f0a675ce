"""Every statement as a value: frozen, compared by content, picklable. `grammar.py` makes them, `executor.py` runs them.

A `where` is the text of the condition as it stands in the statement. Its syntax is checked; its columns are the table's business.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self, TypeAlias

from indextables.sql.table_ref import TableRef

Segment: TypeAlias = Literal["TERM_DICT", "POSTINGS", "FAST_FIELD", "FIELD_NORM", "POSITIONS", "DOC_STORE"]
"""A part of a split that PREWARM can bring to local disk."""


class Where(str):
    """The text of a condition that also knows its place in the statement, counted from 1. It equals the same text elsewhere."""

    __slots__ = ("position",)

    position: int

    def __new__(cls, text: str, position: int = 1) -> Self:
        """A condition that stands at a position."""
        where = super().__new__(cls, text)
        where.position = position
        return where

    def __reduce__(self) -> tuple[type[Where], tuple[str, int]]:
        """The text and its position travel."""
        return Where, (str(self), self.position)


@dataclass(frozen=True)
class MergeSplits:
    """`MERGE SPLITS t`: few large splits in place of many small ones."""

    table: TableRef
    where: str | None = None
    target_size: int | str | None = None
    """Bytes, or a text such as `1G`."""
    max_dest_splits: int | None = None
    max_source_splits_per_merge: int | None = None
    precommit: bool = False


@dataclass(frozen=True)
class Purge:
    """`PURGE INDEXTABLES t`: delete files that no version needs any more."""

    table: TableRef
    older_than_hours: float | str | None = None
    """Hours, or a text such as `7 days`."""
    log_retention_hours: float | str | None = None
    dry_run: bool = False


@dataclass(frozen=True)
class DropPartitions:
    """`DROP INDEXTABLES PARTITIONS FROM t WHERE p`: remove all rows of some partitions."""

    table: TableRef
    where: str


@dataclass(frozen=True)
class Checkpoint:
    """`CHECKPOINT INDEXTABLES t`: write a compact state of the newest version."""

    table: TableRef


@dataclass(frozen=True)
class Compact:
    """`COMPACT INDEXTABLES t`: the same as CHECKPOINT."""

    table: TableRef


@dataclass(frozen=True)
class TruncateTimeTravel:
    """`TRUNCATE INDEXTABLES TIME TRAVEL t`: give up all older versions."""

    table: TableRef
    dry_run: bool = False


@dataclass(frozen=True)
class Optimize:
    """`OPTIMIZE INDEXTABLES t`: do the maintenance that a table needs now."""

    table: TableRef
    dry_run: bool = False
    prewarm: bool = False


@dataclass(frozen=True)
class RepairLog:
    """`REPAIR INDEXFILES TRANSACTION LOG 'log'`: write a new log from what is left of a damaged one."""

    source: str
    target: str | None = None
    """Where the new log goes; None is a new place beside the old log."""


@dataclass(frozen=True)
class Fsck:
    """`FSCK INDEXTABLES t`: what is wrong with a table."""

    table: TableRef
    repair: bool = False


@dataclass(frozen=True)
class Restore:
    """`RESTORE INDEXTABLES t TO VERSION n`: commit the files of an older version once more. One of the two is set."""

    table: TableRef
    version: int | None = None
    timestamp: str | None = None


@dataclass(frozen=True)
class Clone:
    """`CLONE INDEXTABLES t TO 'url'`: a full copy of a version."""

    table: TableRef
    target: str
    version: int | None = None


@dataclass(frozen=True)
class SetProperties:
    """`ALTER INDEXTABLES t SET PROPERTIES (…)`: set properties of a table."""

    table: TableRef
    properties: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class UnsetProperties:
    """`ALTER INDEXTABLES t UNSET PROPERTIES (…)`: drop properties of a table."""

    table: TableRef
    names: tuple[str, ...]


@dataclass(frozen=True)
class UpgradeProtocol:
    """`ALTER INDEXTABLES t UPGRADE PROTOCOL`: let a table use all that this release writes."""

    table: TableRef


@dataclass(frozen=True)
class DescribeState:
    """`DESCRIBE INDEXTABLES STATE t`: the state that a table was opened from."""

    table: TableRef


@dataclass(frozen=True)
class DescribeLog:
    """`DESCRIBE INDEXTABLES TRANSACTION LOG t`: the actions of the log, one a row."""

    table: TableRef
    include_all: bool = False


@dataclass(frozen=True)
class DescribeHistory:
    """`DESCRIBE INDEXTABLES HISTORY t`: commits, newest first."""

    table: TableRef
    limit: int | None = None


@dataclass(frozen=True)
class DescribePartitions:
    """`DESCRIBE INDEXTABLES PARTITIONS t`: the partitions of a table, with rows and bytes."""

    table: TableRef


@dataclass(frozen=True)
class DescribeComponentSizes:
    """`DESCRIBE INDEXTABLES COMPONENT SIZES t`: the bytes of every part of every split."""

    table: TableRef
    where: str | None = None


@dataclass(frozen=True)
class DescribeDiskCache:
    """`DESCRIBE INDEXTABLES DISK CACHE`: what the cache on local disk holds."""


@dataclass(frozen=True)
class DescribeStorageStats:
    """`DESCRIBE INDEXTABLES STORAGE STATS`: bytes and requests that stores answered."""


@dataclass(frozen=True)
class DescribeDataSkipping:
    """`DESCRIBE INDEXTABLES DATA SKIPPING STATS`: files that filters did not have to read."""


@dataclass(frozen=True)
class DescribeEnvironment:
    """`DESCRIBE INDEXTABLES ENVIRONMENT`: settings of this process, secrets left out."""


@dataclass(frozen=True)
class DescribeMergeJobs:
    """`DESCRIBE INDEXTABLES MERGE JOBS`: merges that run or ran."""


@dataclass(frozen=True)
class DescribePrewarmJobs:
    """`DESCRIBE INDEXTABLES PREWARM JOBS`: prewarming that runs or ran."""


@dataclass(frozen=True)
class DescribeProfiler:
    """`DESCRIBE INDEXTABLES PROFILER`: where time went."""


@dataclass(frozen=True)
class DescribeProfilerCache:
    """`DESCRIBE INDEXTABLES PROFILER CACHE`: hits and misses of caches."""


@dataclass(frozen=True)
class EnableProfiler:
    """`ENABLE INDEXTABLES PROFILER`: begin to measure."""


@dataclass(frozen=True)
class DisableProfiler:
    """`DISABLE INDEXTABLES PROFILER`: end measuring."""


@dataclass(frozen=True)
class ResetProfiler:
    """`RESET INDEXTABLES PROFILER`: forget what was measured."""


@dataclass(frozen=True)
class ResetProfilerCache:
    """`RESET INDEXTABLES PROFILER CACHE`: count hits and misses from 0."""


@dataclass(frozen=True)
class FlushDiskCache:
    """`FLUSH INDEXTABLES DISK CACHE`: empty the cache on local disk."""


@dataclass(frozen=True)
class FlushSearcherCache:
    """`FLUSH INDEXTABLES SEARCHER CACHE`: close indexes that are open for the next search."""


@dataclass(frozen=True)
class FlushDataSkipping:
    """`FLUSH INDEXTABLES DATA SKIPPING STATS`: count skipped files from 0."""


@dataclass(frozen=True)
class InvalidateDataSkipping:
    """`INVALIDATE INDEXTABLES DATA SKIPPING CACHE`: forget what filters learned about files."""


@dataclass(frozen=True)
class InvalidateLogCache:
    """`INVALIDATE INDEXTABLES TRANSACTION LOG CACHE`: forget log objects of one table, or of all."""

    table: TableRef | None = None


@dataclass(frozen=True)
class Prewarm:
    """`PREWARM INDEXTABLES CACHE t`: bring parts of splits to local disk."""

    table: TableRef
    segments: tuple[Segment, ...] = ()
    """Empty: terms and postings."""
    fields: tuple[str, ...] = ()
    """Empty: all fields."""
    parallelism: int | None = None
    where: str | None = None
    in_background: bool = False


@dataclass(frozen=True)
class WaitForPrewarm:
    """`WAIT FOR INDEXTABLES PREWARM JOBS`: wait until prewarming in the background has ended."""

    table: TableRef | None = None
    job: str | None = None
    timeout: int | None = None
    """Seconds."""


Command: TypeAlias = (
    MergeSplits
    | Purge
    | DropPartitions
    | Checkpoint
    | Compact
    | TruncateTimeTravel
    | Optimize
    | RepairLog
    | Fsck
    | Restore
    | Clone
    | SetProperties
    | UnsetProperties
    | UpgradeProtocol
    | DescribeState
    | DescribeLog
    | DescribeHistory
    | DescribePartitions
    | DescribeComponentSizes
    | DescribeDiskCache
    | DescribeStorageStats
    | DescribeDataSkipping
    | DescribeEnvironment
    | DescribeMergeJobs
    | DescribePrewarmJobs
    | DescribeProfiler
    | DescribeProfilerCache
    | EnableProfiler
    | DisableProfiler
    | ResetProfiler
    | ResetProfilerCache
    | FlushDiskCache
    | FlushSearcherCache
    | FlushDataSkipping
    | InvalidateDataSkipping
    | InvalidateLogCache
    | Prewarm
    | WaitForPrewarm
)
"""A statement that can be run."""
