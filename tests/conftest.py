"""What every process of a test run must know.

The simulation's totals are printed by the main process of a parallel run. Property tests draw new examples each time, unless
`FIXED_EXAMPLES` is set: a gate for changes must give the same verdict twice, and finding new failures is for everybody's own runs
and for `make stress`.
"""

import os

from hypothesis import settings

from sim.report import pytest_terminal_summary

settings.register_profile("fixed", derandomize=True)
if os.environ.get("FIXED_EXAMPLES"):
    settings.load_profile("fixed")

__all__ = ["pytest_terminal_summary"]
