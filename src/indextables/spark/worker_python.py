"""Which Python Spark's workers run, and whether that Python has indextables.

pyspark starts workers with the command in PYSPARK_PYTHON, and with the `python3` in PATH where that is not set. In a virtual
environment that is not activated, `python3` is another Python, without indextables.

    who chose the Python              workers on this machine                    workers elsewhere
    nobody                            they run the Python of this process        a warning, if `python3` here is another Python
    PYSPARK_PYTHON, or the session    an error, if it has no indextables         no question is asked: the machines may differ
    the server of a Connect session   an error, if it has no indextables         no question is asked: only the server knows
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any, Final

from indextables.core.errors import IndexTablesError

_DEFAULT: Final = "python3"
"""The command that pyspark runs where nobody chose one."""
_PROBE: Final = "import importlib.util, sys; sys.exit(importlib.util.find_spec('indextables') is None)"
_PROBE_SECONDS: Final = 60
"""Seconds until a Python that does not answer counts as one without indextables. An answer takes a twentieth of a second."""


def choose_worker_python(session: Any) -> None:
    """Let the workers of a session run a Python that has indextables.

    Raises IndexTablesError if they would run one without it and it is too late to choose another, and warns if that is likely.
    """
    if type(session).__module__.startswith("pyspark.sql.connect."):
        if "SPARK_LOCAL_REMOTE" in os.environ:  # pyspark has started the server as a child of this process
            command = os.environ.get("PYSPARK_PYTHON") or os.environ.get("PYSPARK_DRIVER_PYTHON") or _DEFAULT
            _check(command)
        return
    context = session.sparkContext
    on_this_machine = context.master.startswith("local")
    chosen = os.environ.get("PYSPARK_PYTHON") or context.getConf().get("spark.pyspark.python")
    if on_this_machine and chosen:
        _check(context.pythonExec)
    elif on_this_machine and sys.executable:
        context.pythonExec = sys.executable
    elif not chosen and not _is_this_python(context.pythonExec):
        way_out = "if it has no indextables there, set PYSPARK_PYTHON to one that has before the session is created"
        warnings.warn(f"Spark's workers run the {_DEFAULT} of their machines: {way_out}", stacklevel=3)


def _check(command: str) -> None:
    if _is_this_python(command) or _has_indextables(command):
        return
    way_out = f"set PYSPARK_PYTHON={sys.executable} before the session is created"
    raise IndexTablesError(
        f"Spark's workers run {shutil.which(command) or command}, which has no indextables: {way_out}"
    )


def _is_this_python(command: str) -> bool:
    """Whether a command is a Python in the `bin` of this process. Links are not followed: two environments may share a Python."""
    path = shutil.which(command)
    return path is not None and Path(path).parent.resolve() == Path(sys.executable).parent.resolve()


def _has_indextables(command: str) -> bool:
    probe = [command, "-c", _PROBE]
    try:
        answer = subprocess.run(probe, capture_output=True, check=False, timeout=_PROBE_SECONDS)  # noqa: S603 - the user's own
    except (OSError, subprocess.TimeoutExpired):
        return False
    return answer.returncode == 0
