"""In a worker: the garbage collector no longer looks through everything that was ever loaded.

Spark's daemon collects garbage after every task, before the worker takes the next task. A worker that has loaded pyarrow,
pandas and this package has 100,000 objects that never go, and looking through them takes 50 ms of processor time: longer than
reading a million rows of two columns. So the first task of a worker tells the collector to leave alone what is loaded by then.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from indextables.core.runtime.memory import share_machine
from indextables.core.runtime.process_state import ProcessLocal

_WORKERS: Final = ("PYTHON_WORKER_FACTORY_SECRET", "PYTHON_WORKER_FACTORY_SOCK_DIR", "PYTHON_WORKER_FACTORY_SOCK_PATH")
"""Variables of the environment; one of them is set in every Python process that Spark starts."""


class _Frozen:
    """Whether the worker's objects are frozen already."""

    def __init__(self) -> None:
        self.done = False


_FROZEN: Final[ProcessLocal[_Frozen]] = ProcessLocal(_Frozen)


@contextmanager
def light_collections() -> Iterator[None]:
    """Freeze what a worker has loaded at the end of its first task. Does nothing outside of Spark's workers.

    Each core has a worker of its own, so their caches are the small ones.
    """
    if in_worker():
        share_machine()
    try:
        yield
    finally:
        state = _FROZEN.value
        if not state.done and in_worker():
            state.done = True
            gc.collect()  # what is garbage by now must not be frozen
            gc.freeze()


def in_worker() -> bool:
    """True in a Python process that Spark started to run tasks."""
    return any(name in os.environ for name in _WORKERS)
