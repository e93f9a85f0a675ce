"""Rows moved together before they are written, so that each partition gets few splits of a good size.

Without it, every task that has a row of a partition writes a split for it: a thousand tasks and a hundred days make up to a
hundred thousand splits. `balanced` lets Spark's adaptive execution decide how many tasks get the rows of one partition, by the
sizes that its shuffle measured; that takes adaptive execution, which is on by default. `hash` always gives one task all rows of
a partition.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from indextables.core import options as opt
from indextables.core.options import Options
from indextables.core.runtime.process_state import ProcessLocal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ADVISORY = "spark.sql.adaptive.advisoryPartitionSizeInBytes"


def optimize(
    df: DataFrame, partition_by: Sequence[str] = (), options: Mapping[str, Any] | Options | None = None
) -> DataFrame:
    """A DataFrame with the same rows, those of one partition together, to be written by any means.

    The size of splits is not set here.
    """
    chosen = options if isinstance(options, Options) else Options(options)
    columns = ["`" + name.replace("`", "``") + "`" for name in partition_by]
    mode = chosen[opt.WRITE_OPTIMIZE_WRITE_DISTRIBUTION_MODE]
    if mode == "none":
        return df
    if mode == "hash" and columns:
        return df.repartition(*columns)
    return df.hint("rebalance", *columns)


@contextmanager
def split_size(spark: SparkSession, options: Options) -> Iterator[None]:
    """Tell adaptive execution how much one task should get, for as long as such writes run in the session.

    The setting is the session's: of writes that run at the same time the last one says it, and the last to end puts back what
    was there before the first.
    """
    wanted = f"{options[opt.WRITE_OPTIMIZE_WRITE_TARGET_SPLIT_SIZE]}b"
    _SESSIONS.value.begin(spark, wanted)
    try:
        yield
    finally:
        _SESSIONS.value.end(spark)


class _Sessions:
    """How many such writes run in each session, and what the setting was before the first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[int, tuple[int, str | None]] = {}

    def begin(self, spark: SparkSession, wanted: str) -> None:
        """Set the size for a write that begins."""
        with self._lock:
            running, before = self._running.get(id(spark), (0, None))
            self._running[id(spark)] = (running + 1, before if running else spark.conf.get(_ADVISORY, None))
            spark.conf.set(_ADVISORY, wanted)

    def end(self, spark: SparkSession) -> None:
        """Put back the setting where no other such write runs in the session."""
        with self._lock:
            running, before = self._running.pop(id(spark))
            if running > 1:
                self._running[id(spark)] = (running - 1, before)
            elif before is None:
                spark.conf.unset(_ADVISORY)
            else:
                spark.conf.set(_ADVISORY, before)


_SESSIONS: Final = ProcessLocal(_Sessions)
"""The sessions that this process writes in. A forked child has no session of its own: its connection is the parent's."""
