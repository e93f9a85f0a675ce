"""On the driver: our errors, found again in the text that Spark makes of them. `errors.py` is the other end, in a worker.

An exception that a task or a planner process raises comes back inside a Java exception whose text has the traceback. The line
that matters is ours, `indextables.core.errors.SchemaError: column …`; `plainly` raises that error again, with Spark's as its
cause for those who want all of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from indextables.core import errors
from indextables.core.errors import IndexTablesError

_OURS: Final = re.compile(r"(?:^|: )indextables\.(?:core\.)?errors\.(\w+): (.+)$", re.MULTILINE)


def our_error(text: str) -> IndexTablesError | None:
    """The error of ours that a Spark message is about; None where it is about something else."""
    found = _OURS.findall(text)
    if not found:
        return None
    name, message = found[-1]
    kind = getattr(errors, name, None)
    if not (isinstance(kind, type) and issubclass(kind, IndexTablesError)):
        return None
    return kind(message.strip())


@contextmanager
def plainly() -> Iterator[None]:
    """Raise our own errors as what they are, instead of pages of Java around them."""
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        ours = our_error(str(error))
        if ours is None:
            raise
        raise ours from error
