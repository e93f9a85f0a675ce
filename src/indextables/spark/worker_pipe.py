"""In a worker: Spark may close the pipe before it has all rows, and the worker ends without a page about it.

A query with a limit leaves its tasks as soon as it has its rows. What a worker still writes then meets a closed pipe. Nothing is
wrong and nobody waits for the rest, but Spark's daemon, which the worker is a copy of, prints the traceback of a BrokenPipeError
for each worker that Spark left. So the first task of a worker puts an object of ours in the place of the daemon's module
`traceback`, which the daemon asks for its last words before a worker ends. Tracebacks of all other errors are as ever.
"""

from __future__ import annotations

import os
import sys
import traceback
from typing import Any, Final

from indextables.spark.worker_garbage import in_worker

_DAEMONS: Final = ("__main__", "pyspark.daemon")
"""Names of the module whose `traceback` it is: a program, unless another program of the user's imports it."""


class LastWords:
    """The module `traceback`, whose texts end the process instead if they are about a pipe that Spark closed."""

    def __getattr__(self, name: str) -> Any:
        if isinstance(sys.exc_info()[1], BrokenPipeError | ConnectionResetError):
            os._exit(0)
        return getattr(traceback, name)


def end_quietly() -> None:
    """From now on this worker says nothing if it ends because Spark closed the pipe. Does nothing outside of Spark's workers."""
    if not in_worker():
        return
    for name in _DAEMONS:
        daemon = sys.modules.get(name)
        if hasattr(daemon, "worker") and hasattr(daemon, "manager") and hasattr(daemon, "traceback"):
            daemon.__dict__["traceback"] = LastWords()


__all__ = ["end_quietly"]
