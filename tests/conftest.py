"""What the main process of a parallel run must know: the simulation's totals are printed there."""

from sim.report import pytest_terminal_summary

__all__ = ["pytest_terminal_summary"]
