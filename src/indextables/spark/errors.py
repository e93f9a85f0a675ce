"""In a worker: our errors leave as one line instead of a page. `worker_errors.py` is the other end, on the driver.

Spark sends an error of a Python worker to the driver as text: the traceback, unless the worker's environment says
`SPARK_HIDE_TRACEBACK`, and then the type and the message alone. Our messages say what is wrong and what to do, so for our own
errors the worker says it, in the moment before it ends: a worker that met an error is never used again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from indextables.core.errors import IndexTablesError
from indextables.spark.worker_garbage import in_worker

_HIDE = "SPARK_HIDE_TRACEBACK"


@contextmanager
def one_line() -> Iterator[None]:
    """Our errors leave a worker without their traceback. Others keep it: they are bugs, and somebody has to find them."""
    try:
        yield
    except IndexTablesError:
        if in_worker():
            os.environ[_HIDE] = "1"
        raise
