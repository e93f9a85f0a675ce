"""Forked children, as a test needs them: a child never outlives its test, and never goes on with the tests of its parent.

A fork copies one thread. A lock inside a native library that another thread holds at that moment stays held in the child for
ever, and no code of ours can renew it. A process that has run thousands of tests has such threads. So a test whose child calls
a native library has the mark `own_process`: the test runs alone in a fresh interpreter, where only the threads of the test exist.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

ALONE = "INDEXTABLES_TEST_RUNS_ALONE"
"""The environment variable that tells a fresh interpreter to run the test itself."""
LONGEST = 240
"""Seconds after which a fresh interpreter is ended."""


def in_child(work: Callable[[], str], seconds: int = 20) -> str:
    """The text that `work` returns in a forked child; "hangs or died" where the child does not end in time."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            text = work()
        except BaseException as error:
            text = f"raised {error!r}"
        os.write(writing, text.encode()[:60_000])
        os._exit(0)
    os.close(writing)
    said = _read_until(reading, time.monotonic() + seconds)
    if said is None:
        os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return said.decode() if said is not None and code == 0 else f"hangs or died ({code})"


def true_in_child(check: Callable[[], bool]) -> bool:
    """Whether a forked child finds `check` true. False where the child raises, or does not end."""
    return in_child(lambda: "true" if check() else "false") == "true"


def run_alone(test: pytest.Function) -> None:
    """Run one test in a fresh interpreter. Fails with all that the interpreter printed."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", test.nodeid]
    done = subprocess.run(
        command,
        cwd=test.config.rootpath,
        env=os.environ | {ALONE: "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    if done.returncode:
        pytest.fail(f"alone in a fresh interpreter (exit code {done.returncode}):\n{done.stdout}", pytrace=False)


def _read_until(reading: int, end: float) -> bytes | None:
    """All bytes of a pipe until its other side is closed. None where that does not happen in time."""
    parts = []
    with os.fdopen(reading, "rb", buffering=0) as answer:
        ready = select.poll()  # select() takes no descriptor above 1,023
        ready.register(answer, select.POLLIN)
        while ready.poll(max(0.0, end - time.monotonic()) * 1000):
            part = answer.read(65_536)
            if not part:
                return b"".join(parts)
            parts.append(part)
    return None
