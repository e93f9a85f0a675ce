"""The boundary to native code: whatever it throws becomes a SplitError that names the split.

Tantivy and Vortex report failures as RuntimeError, ValueError or Arrow's errors, with a stack trace in the text, and a
panic as `PanicException`, which is no Exception: it would pass every `except Exception` on its way up. An interrupt and an
exit are not failures, and our own errors are clear already: both pass. What the machine lacks is no fault of the split, and
becomes a StorageError.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from indextables.core.errors import IndexTablesError, SplitError, StorageError

_LACK: Final = re.compile(r"(?:os error |code: )(?:5|12|23|24|28|122)\b")
"""Errors of the system that say nothing about a split: no more files, memory or disk space, or a disk that fails."""


@contextmanager
def translated(where: str, doing: str) -> Iterator[None]:
    """Turn what native code throws while `doing` something to the split `where` into a SplitError."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, IndexTablesError) or not is_failure(error):
            raise
        if _LACK.search(str(error)):
            raise StorageError(
                f"{where}: {doing} failed, this machine has no more of it ({first_line(error)})"
            ) from error
        raise SplitError(f"{where}: {doing} failed ({first_line(error)})", split=where) from error


def is_failure(error: BaseException) -> bool:
    """Whether the error says that something went wrong, and not that somebody wants to stop or memory is out."""
    panicked = type(error).__name__ == "PanicException"  # each native library has a type of its own by this name
    return panicked or (isinstance(error, Exception) and not isinstance(error, MemoryError))


def first_line(error: BaseException) -> str:
    """What native code says, without the stack trace below it."""
    text = str(error).strip().partition("\n")[0].strip()
    return text or type(error).__name__
