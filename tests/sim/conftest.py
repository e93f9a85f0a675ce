"""Prints the simulation's totals at the end of a run of these tests."""

from sim.report import pytest_terminal_summary

__all__ = ["pytest_terminal_summary"]
