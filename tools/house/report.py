"""The table that `make house` prints."""

from __future__ import annotations

from collections.abc import Iterable

from tools.house.measures import MEASURED_AT, Measure
from tools.house.source import Result


def is_met(measure: Measure, result: Result) -> bool:
    """True if the figure has reached its goal, or has none."""
    return measure.goal is None or result.value <= measure.goal


def table(taken: Iterable[tuple[Measure, Result]]) -> str:
    """A line for each measure, columns aligned."""
    head = ("measure", f"before ({MEASURED_AT})", "now", "goal", "ok", "key (for --list)")
    lines = [
        (
            measure.title,
            str(measure.before),
            str(result.value),
            "" if measure.goal is None else f"≤ {measure.goal}" if measure.goal else "0",
            "" if measure.goal is None else "yes" if is_met(measure, result) else "NO",
            measure.key,
        )
        for measure, result in taken
    ]
    widths = [max(len(line[at]) for line in [head, *lines]) for at in range(len(head))]
    rule = tuple("-" * width for width in widths)
    return "\n".join(
        " | ".join(
            text.rjust(width) if at in {1, 2, 3} else text.ljust(width)
            for at, (text, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in [head, rule, *lines]
    )


def places(measure: Measure, result: Result) -> str:
    """The figure of a measure and every place that was counted."""
    return "\n  ".join([f"{measure.title}: {result.value}", *result.places])
