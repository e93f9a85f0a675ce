"""Forked children, as a test needs them: a child never outlives its test, and never goes on with the tests of its parent."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable


def in_child(work: Callable[[], str], seconds: int = 20) -> str:
    """The text that `work` returns in a forked child; "hangs" where the child does not end in time."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(seconds)  # ends the child where it hangs
        try:
            text = work()
        except BaseException as error:
            text = f"raised {error!r}"
        os.write(writing, text.encode()[:60_000])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        text = answer.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return text if code == 0 else f"hangs or died ({code})"


def true_in_child(check: Callable[[], bool]) -> bool:
    """Whether a forked child finds `check` true. False where the child raises, or does not end."""
    return in_child(lambda: "true" if check() else "false") == "true"
