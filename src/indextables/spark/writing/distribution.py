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
from typing import TYPE_CHECKING, Any

from indextables.core import options as opt
from indextables.core.options import Options

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ADVISORY = "spark.sql.adaptive.advisoryPartitionSizeInBytes"


def optimize(
    df: DataFrame, partition_by: Sequence[str] = (), options: Mapping[str, Any] | Options | None = None
) -> DataFrame:
    """The same rows, those of one partition together: to be written by any means. Says nothing of the size of splits."""
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
    with _LOCK:
        running, before = _RUNNING.get(id(spark), (0, None))
        _RUNNING[id(spark)] = (running + 1, before if running else spark.conf.get(_ADVISORY, None))
        spark.conf.set(_ADVISORY, wanted)
    try:
        yield
    finally:
        with _LOCK:
            running, before = _RUNNING.pop(id(spark))
            if running > 1:
                _RUNNING[id(spark)] = (running - 1, before)
            elif before is None:
                spark.conf.unset(_ADVISORY)
            else:
                spark.conf.set(_ADVISORY, before)


_LOCK = threading.Lock()
_RUNNING: dict[int, tuple[int, str | None]] = {}
"""How many such writes run in a session, and what the setting was before the first."""
