"""Calls that run on executors, by the one way that classic and Connect sessions share: `mapInArrow`.

A call is any value that pickles and can be called; its answer pickles too. Each is a Spark task of its own, so that a long one
holds up no other, and Spark tries it again, or twice at a time, as it is set to: a call must not mind.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pyarrow as pa

from indextables.core.runtime.threads import IO
from indextables.spark.errors import one_line
from indextables.spark.worker_errors import plainly
from indextables.spark.worker_garbage import light_collections
from indextables.spark.worker_pipe import end_quietly

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")

_MOST_BYTES: Final = 32 << 20
"""Bytes of pickled calls that are sent at a time, 32 MiB: Spark Connect takes at most 128 MB in one message."""


def run_on_executors(spark: SparkSession, calls: Sequence[Callable[[], T]]) -> list[T]:
    """The answers, in the order of the calls. Raises our own errors as what they are, others as Spark has them."""
    answers: list[Any] = []
    texts = [pickle.dumps(call, pickle.HIGHEST_PROTOCOL) for call in calls]
    while len(answers) < len(texts):
        end, size = len(answers), 0
        while end < len(texts) and (not size or size + len(texts[end]) <= _MOST_BYTES):
            size += len(texts[end])
            end += 1
        answers += _run(spark, texts[len(answers) : end])
    return answers


def parallelism(spark: SparkSession) -> int:
    """How many tasks the cluster runs side by side, as far as a session knows: it is what `spark.range` is cut into."""
    from pyspark.sql import functions as sql

    return int(spark.range(1 << 20).select(sql.spark_partition_id().alias("part")).distinct().count())


class ExecutorWorkers:
    """`Workers` whose calls run on executors, where they can travel: calls of plain functions. The others run here."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def together(
        self, calls: Sequence[Callable[[], T]], *, limit: int | None = None, timeout_seconds: float | None = None
    ) -> list[T]:
        """See `Workers.together`. How many run at a time is for Spark to say, and how long it may take, too."""
        if len(calls) > 1 and all(isinstance(call, partial) for call in calls):
            return run_on_executors(self._spark, calls)
        return IO.together(calls, limit=limit, timeout_seconds=timeout_seconds)


class _Calls:
    """What a Python worker runs: the calls whose numbers it is given."""

    def __init__(self, texts: Sequence[bytes]) -> None:
        self._texts = texts

    def __call__(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        end_quietly()
        for number in (number for batch in numbers for number in batch.column(0).to_pylist()):
            with light_collections():
                with one_line():
                    answer = pickle.loads(self._texts[number])()  # noqa: S301 - from our own driver
                columns = [pa.array([number], pa.int64()), pa.array([pickle.dumps(answer)], pa.binary())]
                yield pa.RecordBatch.from_arrays(columns, names=["number", "answer"])


def _run(spark: SparkSession, texts: Sequence[bytes]) -> list[Any]:
    with plainly():
        done = (
            spark.range(0, len(texts), 1, len(texts)).mapInArrow(_Calls(texts), "number long, answer binary").toArrow()
        )
    found = {
        number.as_py(): pickle.loads(answer.as_buffer())  # noqa: S301 - from our own tasks
        for number, answer in zip(done.column("number"), done.column("answer"), strict=True)
    }
    return [found[number] for number in range(len(texts))]
