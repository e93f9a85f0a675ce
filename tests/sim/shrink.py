"""Making a violating schedule small: leave out actors, faults, operations and jumps while the same kind of violation stays.

The shortest trace wins. Where something is left out the order of the rest changes, so other orders (`salt`) are tried too.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import asdict, replace

from sim.runner import run
from sim.simulation import Outcome
from sim.weather import Cut


def shrink(outcome: Outcome, planted: str | None = None, runs: int = 400) -> Outcome:
    """The shortest schedule found that breaks the same rule."""
    best = outcome
    left = runs
    improved = True
    while improved and left > 0:
        improved = False
        for cut in _smaller(best):
            left -= 1
            found = run(best.scenario, best.seed, cut, planted)
            if _same(found, outcome) and len(found.trace) < len(best.trace):
                best, improved = found, True
                break
            if left <= 0:
                break
    return best


def _same(found: Outcome, wanted: Outcome) -> bool:
    return (
        found.violation is not None and wanted.violation is not None and found.violation.kind == wanted.violation.kind
    )


def _smaller(best: Outcome) -> Iterator[Cut]:
    cut = best.cut
    for name in best.actors:
        yield replace(cut, actors=cut.actors | {name})
    for operations in (1, 2, 3, 5, 8):
        if cut.operations is None or operations < cut.operations:
            yield replace(cut, operations=operations)
    if cut.jumps:
        yield replace(cut, jumps=False)
    fired = best.fired
    size = len(fired)
    while size:
        for start in range(0, len(fired), size):
            yield replace(cut, faults=cut.faults | set(fired[start : start + size]))
        size //= 2
    for salt in range(cut.salt + 1, cut.salt + 25):
        yield replace(cut, salt=salt)


def to_text(cut: Cut) -> str:
    """A cut as it is given on the command line."""
    values = {key: sorted(value) if isinstance(value, frozenset) else value for key, value in asdict(cut).items()}
    plain = asdict(Cut())
    return json.dumps({key: value for key, value in values.items() if value != plain[key] and value != []})


def from_text(text: str) -> Cut:
    values = json.loads(text)
    for key in ("actors", "faults"):
        if key in values:
            values[key] = frozenset(values[key])
    return Cut(**values)


def explain(outcome: Outcome, planted: str | None = None, runs: int = 400) -> str:
    """The violation, the shrunk trace that leads to it, and how to see both again."""
    small = shrink(outcome, planted, runs)
    more = f" --planted {planted}" if planted else ""
    command = f"PYTHONPATH=src:tests python -m sim replay {outcome.scenario} {outcome.seed}{more}"
    shown = [
        f"scenario {outcome.scenario}, seed {outcome.seed}: {outcome.violation}",
        f"replay: {command}",
        f"shrunk: {command} --cut {shlex.quote(to_text(small.cut))}",
        *small.lines(),
        f"=> {small.violation}",
    ]
    return "\n".join(shown)
