"""What happened, in numbers: one small hook that the code reports to and monitoring reads from.

`observe("indextables.state.read.duration_ms", 12.5)` adds a value to a series. `snapshot()` returns every series as a dict of
its count, sum and last value; `openmetrics()` the same as text that Prometheus and others scrape. `subscribe(callable)` gets
every observation as it happens.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from indextables.core.runtime.process_state import ProcessLocal

Subscriber = Callable[[str, float], None]


@dataclass(frozen=True)
class Series:
    """Values observed under one name."""

    count: int = 0
    total: float = 0.0
    last: float = 0.0


class Metrics:
    """Thread-safe series by name."""

    def __init__(self) -> None:
        self._lock = ProcessLocal(threading.Lock)
        self._series: dict[str, Series] = {}
        self._subscribers: tuple[Subscriber, ...] = ()

    def observe(self, name: str, value: float) -> None:
        """Add a value."""
        with self._lock.value:
            known = self._series.get(name, Series())
            self._series[name] = Series(known.count + 1, known.total + value, value)
        for subscriber in self._subscribers:
            subscriber(name, value)

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Add how long the block took, in milliseconds."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.observe(name, (time.perf_counter() - began) * 1000.0)

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Call `subscriber(name, value)` for every observation. Returns a function that ends it."""
        self._subscribers = (*self._subscribers, subscriber)

        def end() -> None:
            self._subscribers = tuple(each for each in self._subscribers if each is not subscriber)

        return end

    def snapshot(self) -> dict[str, dict[str, float]]:
        """Every series: count, sum, last."""
        with self._lock.value:
            return {
                name: {"count": series.count, "sum": series.total, "last": series.last}
                for name, series in sorted(self._series.items())
            }

    def openmetrics(self) -> str:
        """Every series as OpenMetrics text."""
        lines: list[str] = []
        for name, series in self.snapshot().items():
            plain = name.replace(".", "_")
            lines += [
                f"# TYPE {plain} summary",
                f"{plain}_count {int(series['count'])}",
                f"{plain}_sum {float(series['sum'])!r}",
                f"# TYPE {plain}_last gauge",
                f"{plain}_last {float(series['last'])!r}",
            ]
        return "\n".join([*lines, "# EOF"]) + "\n"

    def reset(self) -> None:
        """Forget all values; subscribers stay."""
        with self._lock.value:
            self._series.clear()


METRICS = Metrics()
