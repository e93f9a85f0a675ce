"""Locks that a forked child waits for forever, as `held_locks.py` finds them."""

from __future__ import annotations

from tools.house.source import Result, Tree
from tools.house.walks import run_in


def hanging_locks(tree: Tree) -> Result:
    """Locks of the package that a child cannot have if another thread held them at the fork."""
    found = run_in(tree.root, "held_locks.py")["hanging"]
    return Result(len(found), tuple(found))
