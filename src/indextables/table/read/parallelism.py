"""When a question is answered by several threads, and by how many.

Handing work to another thread takes about half a millisecond until that thread is at it, and most questions are answered sooner.
So the caller's thread begins alone (`SerialPhase`), and calls others when the splits that are left are worth the hand-over.
"""

from __future__ import annotations

import os
import threading
import time
from typing import Final

from indextables.core.runtime.process_state import ProcessLocal
from indextables.core.runtime.threads import Pool
from indextables.table.handle import TableHandle

SERIAL_BUDGET_S: Final = 0.0005
"""Seconds. Work shorter than this is done on the caller's thread: another thread takes as long to begin."""
HANDOVER_COST_S: Final = 0.001
"""Seconds of remaining work from which two threads are faster: half of it is saved, and the hand-over costs that half."""
_REMOTE_READS: Final = 8
"""Splits that are read at a time from a remote store, where a thread mostly waits for answers."""
ACTIVE_QUERIES: Final[ProcessLocal[set[int]]] = ProcessLocal(set)
"""The threads that are answering a question now. A set, because adding to a set needs no lock."""


class ActiveQuery:
    """While entered, this thread counts as answering a question, and other questions leave it a share of the processors."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()
        self._outermost = self._thread not in ACTIVE_QUERIES.value

    def __enter__(self) -> None:
        ACTIVE_QUERIES.value.add(self._thread)

    def __exit__(self, *_: object) -> None:
        if self._outermost:
            ACTIVE_QUERIES.value.discard(self._thread)


def reading_threads(handle: TableHandle) -> int:
    """How many threads may read splits of a table for one question.

    On a local disk the processors are shared by all questions that are being answered. A remote store gets at least 8 threads.
    One thread where the caller's workers have no threads.
    """
    if not isinstance(handle.log.workers, Pool):
        return 1
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not handle.is_local:
        return max(processors, _REMOTE_READS)
    return max(1, processors // max(1, len(ACTIVE_QUERIES.value)))


class SerialPhase:
    """The time in which the caller's thread goes from split to split alone."""

    def __init__(self, splits: int) -> None:
        self._remaining = splits
        self._finished = 0
        self._began = time.perf_counter()

    def should_parallelise(self) -> bool:
        """To be called after each split: True if the remaining splits are worth another thread, judged by the finished ones."""
        self._finished += 1
        self._remaining -= 1
        spent = time.perf_counter() - self._began
        return spent > SERIAL_BUDGET_S and spent * self._remaining > HANDOVER_COST_S * self._finished
