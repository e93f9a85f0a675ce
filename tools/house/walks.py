"""The modules that a verb passes through, and the calls from module to module, as `traced.py` counts them."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tools.house.source import Result, Tree

_HERE = Path(__file__).parent
_LONGEST_SECONDS = 300
"""A program of this folder takes 30 seconds on a busy machine; one that takes ten times as long hangs."""


def run_in(root: Path, program: str) -> Any:
    """Run a program of this folder with the package of `root` on its path. Returns the JSON that the program prints."""
    settings = {"PYTHONPATH": str(root / "src"), "PYTHONWARNINGS": "ignore", "PYTHONDONTWRITEBYTECODE": "1"}
    environment = {**os.environ, **settings}
    command = [sys.executable, str(_HERE / program)]
    done = subprocess.run(
        command, env=environment, cwd=root, capture_output=True, text=True, check=False, timeout=_LONGEST_SECONDS
    )
    if done.returncode:
        raise RuntimeError(f"{program} failed for {root}: {done.stderr[-2000:]}")
    return json.loads(done.stdout)


@functools.cache
def _walks(root: Path) -> Any:
    return run_in(root, "traced.py")


def modules(verb: str, tree: Tree) -> Result:
    """Modules that a verb passes through."""
    found = _walks(tree.root)[verb]["modules"]
    return Result(len(found), (" > ".join(found),))


def edges(verb: str, tree: Tree) -> Result:
    """Pairs of modules with a call from the first into the second while a verb runs."""
    found = _walks(tree.root)[verb]["edges"]
    return Result(len(found), tuple(f"{caller} → {called}" for caller, called in found))
