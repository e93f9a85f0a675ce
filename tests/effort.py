"""How many examples a property test draws: few, since each run draws others, and ten times as many under `make examples`."""

from __future__ import annotations

import os

EFFORT = int(os.environ.get("EFFORT", "1"))


def examples(usual: int) -> int:
    """A third in every run, and the others' share when there is time."""
    return max(3, usual // 3) if EFFORT == 1 else usual * EFFORT
