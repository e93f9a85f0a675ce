"""`match` statements that leave a case out, by mypy's `exhaustive-match`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tools.house.source import Result, Tree

_CACHE = Path(__file__).parents[2] / ".mypy_cache" / "house"


def open_matches(tree: Tree) -> Result:
    """Places where mypy reports `exhaustive-match`. Needs a minute when mypy's cache is cold."""
    options = ["--enable-error-code", "exhaustive-match", "--cache-dir", str(_CACHE)]
    command = [sys.executable, "-m", "mypy", *options]
    done = subprocess.run(command, cwd=tree.root, capture_output=True, text=True, check=False)
    if done.returncode > 1:
        raise RuntimeError(f"mypy could not run in {tree.root}: {done.stderr or done.stdout}")
    found = tuple(line for line in done.stdout.splitlines() if line.endswith("[exhaustive-match]"))
    return Result(len(found), found)
