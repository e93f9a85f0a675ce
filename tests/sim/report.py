"""The line at the end of a test run that says how much was simulated, and the file that keeps it after `make stress`."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

_PROPERTY = "simulation"
_SHOWN = ("schedules", "commits", "acked", "unknown", "reads", "requests", "faults", "late arrivals", "naps", "jumps")
_SHOWN_TOO = ("deaths", "drops", "checkpoints", "incremental", "selective", "compacted", "cleanups", "purges")
_SHOWN_LAST = ("log objects deleted", "splits purged", "manifests collected", "ghosts", "violations")


def line(totals: Counter[str]) -> str:
    return "simulation: " + ", ".join(f"{totals[name]:,} {name}" for name in (*_SHOWN, *_SHOWN_TOO, *_SHOWN_LAST))


def record(record_property: Any, totals: Counter[str]) -> None:
    """Keep what a test simulated with its report, where the end of the run (in another process, perhaps) finds it."""
    record_property(_PROPERTY, json.dumps(dict(totals)))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the sum of all. Imported by a conftest.py that the main process loads."""
    if getattr(terminalreporter, "simulation_shown", False):
        return
    terminalreporter.simulation_shown = True
    totals: Counter[str] = Counter()
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, ()):
            for name, value in getattr(report, "user_properties", ()):
                if name == _PROPERTY:
                    totals += Counter(json.loads(value))
    if not totals:
        return
    terminalreporter.write_line(line(totals))
    if totals["schedules"] >= 10_000:
        folder = Path(terminalreporter.config.rootpath) / ".stress"
        folder.mkdir(exist_ok=True)
        faults = {name: count for name, count in sorted(totals.items()) if name.startswith("fault ")}
        text = line(totals) + "\n" + "".join(f"{name}: {count:,}\n" for name, count in faults.items())
        (folder / "simulation.txt").write_text(text)
