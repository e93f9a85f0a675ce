"""A worker whose pipe Spark closed ends without a word, and everything else that Spark's daemon has to say is said."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

DAEMON = """
import sys
import traceback

def manager(error):
    try:
        worker(error)
    except BaseException:
        traceback.print_exc()
    print("and ends")

def worker(error):
    try:
        raise error
    except Exception:
        if len(sys.argv) > 2:
            raise
        print("the flush failed: " + traceback.format_exc(), file=sys.stderr)
    print("the worker goes on")

from indextables.spark.worker_pipe import end_quietly
end_quietly()
print(traceback.format_list([]))
manager(eval(sys.argv[1]))
"""
"""A program with the functions of Spark's daemon, whose worker meets an error while it flushes."""


def said(tmp_path: Path, error: str, *more: str, in_worker: bool = True) -> tuple[list[str], str]:
    """The lines of a program's output, and what it prints of errors."""
    program = tmp_path / "daemon.py"
    program.write_text(DAEMON)
    environment = os.environ | ({"PYTHON_WORKER_FACTORY_SECRET": "x"} if in_worker else {})
    done = subprocess.run(
        [sys.executable, "-u", str(program), error, *more],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout.splitlines(), done.stderr


RAISES = pytest.mark.parametrize("more", [[], ["raises"]])
"""Both things that Spark's daemon does, as spark.python.daemon.killWorkerOnFlushFailure says."""


@RAISES
@pytest.mark.parametrize("error", ["BrokenPipeError(32, 'Broken pipe')", "ConnectionResetError(104, 'reset by peer')"])
def test_a_closed_pipe_ends_the_worker_without_a_word(tmp_path: Path, error: str, more: list[str]) -> None:
    assert said(tmp_path, error, *more) == (["[]"], "")


@RAISES
@pytest.mark.parametrize("error", ["OSError(28, 'No space left on device')", "ValueError('a bug')"])
def test_other_errors_are_printed(tmp_path: Path, error: str, more: list[str]) -> None:
    printed, failed = said(tmp_path, error, *more)
    assert printed == ["[]", *([] if more else ["the worker goes on"]), "and ends"]
    assert failed.startswith("" if more else "the flush failed: ")
    assert "Traceback" in failed
    assert "No space left on device" in failed or "ValueError: a bug" in failed


def test_outside_of_a_worker_nothing_changes(tmp_path: Path) -> None:
    printed, failed = said(tmp_path, "BrokenPipeError(32, 'Broken pipe')", in_worker=False)
    assert printed[-1] == "and ends"
    assert "BrokenPipeError" in failed
