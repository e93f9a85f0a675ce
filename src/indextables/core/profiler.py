"""Where the time of questions goes: sections of the code, timed only while the profiler is enabled.

    began = perf_counter_ns() if PROFILER.enabled else 0      # all that a disabled profiler costs
    …
    if began:
        PROFILER.add("prune", "plan", began)

Sections overlap: "open index" is a part of "query index" where the index was not open. So the times of one category can be
compared with each other, and those of different categories cannot be added up. While the profiler is enabled it also takes in
every duration that `METRICS` gets, so that each verb is a section, too. A forked child of a process that is profiled goes on with
no calls.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Final, TypeVar

from indextables.core.metrics import DURATION, METRICS, Metrics
from indextables.core.runtime.process_state import ProcessLocal

T = TypeVar("T")


@dataclass(frozen=True)
class Section:
    """The calls of one section. Times are nanoseconds."""

    name: str
    category: str
    calls: int
    total_ns: int
    least_ns: int
    most_ns: int


class _Kept:
    """The sections of one process, by name and category: calls, sum, least and most nanoseconds, changed under `lock`."""

    __slots__ = ("lock", "sections")

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.sections: dict[tuple[str, str], list[int]] = {}


class Profiler:
    """Times sections while it is enabled. Safe to use from many threads."""

    def __init__(self, metrics: Metrics = METRICS) -> None:
        self.enabled = False
        """Whether sections are timed. Code that has sections looks at this attribute and does nothing else while it is False."""
        self._metrics = metrics
        self._kept: ProcessLocal[_Kept] = ProcessLocal(_Kept)
        self._end: Callable[[], None] | None = None

    def enable(self) -> bool:
        """Begin to time sections. False where the profiler was enabled already."""
        with self._kept.value.lock:
            if self.enabled:
                return False
            self._end = self._metrics.subscribe(self._take)
            self.enabled = True
            return True

    def disable(self) -> bool:
        """End it; what was timed stays. False where the profiler was not enabled."""
        with self._kept.value.lock:
            was, self.enabled = self.enabled, False
            if self._end is not None:
                self._end()
                self._end = None
            return was

    def reset(self) -> int:
        """Forget what was timed. Returns the number of sections that there were."""
        kept = self._kept.value
        with kept.lock:
            gone = len(kept.sections)
            kept.sections.clear()
            return gone

    def add(self, section: str, category: str, began_ns: int) -> None:
        """Add a call that began at `began_ns` (`perf_counter_ns`) and ends now."""
        self._add(section, category, perf_counter_ns() - began_ns)

    def stream(self, section: str, category: str, values: Iterator[T]) -> Iterator[T]:
        """The values of an iterator, each timed as a call. What the caller does between two values is not counted."""
        while True:
            began = perf_counter_ns()
            try:
                value = next(values)
            except StopIteration:
                return
            self.add(section, category, began)
            yield value

    def sections(self) -> list[Section]:
        """Every section that has calls, those that took most time first."""
        kept = self._kept.value
        with kept.lock:
            found = [Section(*key, *numbers) for key, numbers in kept.sections.items()]
        return sorted(found, key=lambda section: (-section.total_ns, section.name, section.category))

    def _add(self, section: str, category: str, taken_ns: int) -> None:
        kept = self._kept.value
        with kept.lock:
            known = kept.sections.get((section, category))
            if known is None:
                kept.sections[section, category] = [1, taken_ns, taken_ns, taken_ns]
            else:
                known[0] += 1
                known[1] += taken_ns
                known[2] = min(known[2], taken_ns)
                known[3] = max(known[3], taken_ns)

    def _take(self, name: str, value: float) -> None:
        """Take in a duration of `METRICS`: `indextables.search.duration_ms` is the section `search` of the verbs."""
        if name.endswith(DURATION):
            parts = name.removesuffix(DURATION).removeprefix("indextables.").split(".")
            self._add(" ".join(parts), "verb" if len(parts) == 1 else parts[0], int(value * 1_000_000))


PROFILER: Final = Profiler()
"""The profiler of this process."""

__all__ = ["PROFILER", "Profiler", "Section"]
