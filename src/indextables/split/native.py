"""The boundary to native code: whatever it throws becomes a SplitError that names the split.

Tantivy and Vortex report failures as RuntimeError, ValueError or Arrow's errors, with a stack trace in the text, and a
panic as `PanicException`, which is no Exception: it would pass every `except Exception` on its way up. An interrupt and an
exit are not failures, and our own errors are clear already: both pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from indextables.core.errors import IndexTablesError, SplitError


@contextmanager
def translated(where: str, doing: str) -> Iterator[None]:
    """Turn what native code throws while `doing` something to the split `where` into a SplitError."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, IndexTablesError) or not is_failure(error):
            raise
        raise SplitError(f"{where}: {doing} failed ({first_line(error)})", split=where) from error


def is_failure(error: BaseException) -> bool:
    """Whether the error says that something went wrong, and not that somebody wants to stop or memory is out."""
    panicked = type(error).__name__ == "PanicException"  # each native library has a type of its own by this name
    return panicked or (isinstance(error, Exception) and not isinstance(error, MemoryError))


def first_line(error: BaseException) -> str:
    """What native code says, without the stack trace below it."""
    text = str(error).strip().partition("\n")[0].strip()
    return text or type(error).__name__
