"""What every process of a test run must know.

The simulation's totals are printed by the main process of a parallel run. Property tests draw new examples each time, unless
`FIXED_EXAMPLES` is set: a gate for changes must give the same verdict twice, and finding new failures is for everybody's own runs
and for `make stress`.
"""

import gc
import os
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import settings

from forked import ALONE, run_alone
from sim.report import pytest_terminal_summary

pa.array([0])  # loads pandas now, and not in the middle of some test

settings.register_profile("untimed", deadline=None)  # a busy machine is no failure: speed is measured, not tested
settings.register_profile("fixed", deadline=None, derandomize=True)
settings.load_profile("fixed" if os.environ.get("FIXED_EXAMPLES") else "untimed")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # so do shells start what runs in the background, and children inherit it: tests of Ctrl-C would wait for ever
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """The thousands of tests themselves are never garbage: looking through them again and again costs a tenth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Tests with the mark `own_process` run in a fresh interpreter; all others as ever."""
    if pyfuncitem.get_closest_marker("own_process") is None or os.environ.get(ALONE):
        return None
    run_alone(pyfuncitem)
    return True


@pytest.fixture
def temporary_files_in(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """`temporary_files_in(directory)`: temporary files go there for the rest of the test."""

    def go_to(directory: Path) -> None:
        monkeypatch.setattr(tempfile, "tempdir", str(directory))

    return go_to


__all__ = ["pytest_collection_finish", "pytest_pyfunc_call", "pytest_terminal_summary"]
