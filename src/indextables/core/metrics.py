"""What happened, in numbers: one small hook that the code reports to and monitoring reads from.

    METRICS.observe("indextables.state.read.duration_ms", 12.5) ──▶ series ──┬─▶ snapshot(): a dict
    REQUESTS = METRICS.counter("indextables.storage.requests") ──▶ counter ──┴─▶ openmetrics(): text for Prometheus

A series has a count, a sum and a last value. A counter has a total only, which its module adds to, or another module keeps.
`subscribe(callable)` gets every observation as it happens. A forked child counts from 0: its figures are its own.
"""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from types import TracebackType
from typing import Any, Final, ParamSpec, TypeVar

from indextables.core.runtime.process_state import ProcessLocal

P = ParamSpec("P")
T = TypeVar("T")
Subscriber = Callable[[str, float], None]

DURATION: Final = ".duration_ms"
"""How the names of durations end."""
_NOT_IN_NAMES: Final = re.compile(r"[^a-zA-Z0-9_:]")
"""Characters that a name of OpenMetrics cannot have."""


@dataclass(frozen=True)
class Series:
    """Values observed under one name."""

    count: int = 0
    total: float = 0.0
    last: float = 0.0


class _Kept:
    """The series of one process. Each is a list of count, sum and last value, changed under `lock`."""

    __slots__ = ("lock", "series")

    def __init__(self) -> None:
        self.lock = threading.RLock()  # a signal handler may observe something in the middle of an observation
        self.series: dict[str, list[float]] = {}


class Metrics:
    """Series and counters by name. Safe to use from many threads."""

    def __init__(self) -> None:
        self._kept: ProcessLocal[_Kept] = ProcessLocal(_Kept)
        self._subscribers: tuple[Subscriber, ...] = ()
        self._counters: dict[str, Counter | Callable[[], float]] = {}

    def observe(self, name: str, value: float) -> None:
        """Add a value."""
        kept = self._kept.value
        with kept.lock:
            series = kept.series.get(name)
            if series is None:
                kept.series[name] = [1, float(value), value]
            else:
                series[0] += 1
                series[1] += value
                series[2] = value
        if self._subscribers:
            for subscriber in self._subscribers:
                subscriber(name, value)

    def timed(self, name: str) -> _Timed:
        """A context that adds how long its block took, in milliseconds, also where the block fails."""
        return _Timed(self, name)

    def measured(self, verb: str, **figures: Callable[[Any], float]) -> Callable[[Callable[P, T]], Callable[P, T]]:
        """A decorator for a verb: `indextables.<verb>.duration_ms` of each call, and `.failures` for those that raise.

        `figures` are read from the result: `rows=len` is the series `indextables.<verb>.rows`.
        """
        duration, failures = f"indextables.{verb}{DURATION}", f"indextables.{verb}.failures"
        named = [(f"indextables.{verb}.{name}", read) for name, read in figures.items()]

        def decorate(function: Callable[P, T]) -> Callable[P, T]:
            @wraps(function)
            def call(*args: P.args, **kwargs: P.kwargs) -> T:
                began = time.perf_counter()
                try:
                    result = function(*args, **kwargs)
                except BaseException:
                    self.observe(failures, 1)
                    self.observe(duration, (time.perf_counter() - began) * 1000.0)
                    raise
                self.observe(duration, (time.perf_counter() - began) * 1000.0)
                for name, read in named:
                    self.observe(name, read(result))
                return result

            return call

        return decorate

    def counter(self, name: str) -> Counter:
        """A counter of this name, which is shown from now on."""
        counter = self._counters[name] = Counter()
        return counter

    def show(self, name: str, read: Callable[[], float]) -> None:
        """Show a total that another module keeps: `read` is called when somebody asks."""
        self._counters[name] = read

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Call `subscriber(name, value)` for every observation. Returns a function that ends it."""
        self._subscribers = (*self._subscribers, subscriber)

        def end() -> None:
            self._subscribers = tuple(each for each in self._subscribers if each is not subscriber)

        return end

    def series(self) -> dict[str, Series]:
        """Every series by its name, in the order of names."""
        kept = self._kept.value
        with kept.lock:
            return {name: Series(int(count), total, last) for name, (count, total, last) in sorted(kept.series.items())}

    def snapshot(self) -> dict[str, dict[str, float]]:
        """Every series: count, sum, last."""
        return {
            name: {"count": series.count, "sum": series.total, "last": series.last}
            for name, series in self.series().items()
        }

    def counters(self) -> dict[str, float]:
        """Every counter, as it stands now."""
        return {
            name: kept.total if isinstance(kept, Counter) else kept() for name, kept in sorted(self._counters.items())
        }

    def openmetrics(self) -> str:
        """Every counter and every series as OpenMetrics text.

        A series `a.b` is the summary `a_b` and the gauge `a_b_last`; a counter `a.c` is the counter `a_c`, with the sample
        `a_c_total`. A name that would be taken twice gets underscores at its end.
        """
        names = _Names()
        return "\n".join([*self._counter_lines(names), *self._series_lines(names), "# EOF"]) + "\n"

    def _counter_lines(self, names: _Names) -> Iterator[str]:
        for name, value in self.counters().items():
            family = names.family(name, ("", "_total", "_created"))
            yield f"# TYPE {family} counter"
            yield f"{family}_total {_number(value)}"

    def _series_lines(self, names: _Names) -> Iterator[str]:
        for name, series in self.series().items():
            family = names.family(name, ("", "_count", "_sum", "_created", "_last"))
            yield f"# TYPE {family} summary"
            yield f"{family}_count {series.count}"
            yield f"{family}_sum {_number(series.total)}"
            yield f"# TYPE {family}_last gauge"
            yield f"{family}_last {_number(series.last)}"

    def reset(self) -> None:
        """Forget all values of series; counters and subscribers stay."""
        kept = self._kept.value
        with kept.lock:
            kept.series.clear()


class Counter:
    """A total of this process, which only grows. Safe to use from many threads. A forked child counts from 0."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: ProcessLocal[_Total] = ProcessLocal(_Total)

    def add(self, amount: int) -> None:
        """Add to the total."""
        kept = self._kept.value
        with kept.lock:
            kept.total += amount

    @property
    def total(self) -> int:
        """All that was added so far."""
        return self._kept.value.total


class _Total:
    """The total of a counter in one process."""

    __slots__ = ("lock", "total")

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.total = 0


class _Timed:
    """The context of `Metrics.timed`. A class takes a third of the time of a generator."""

    __slots__ = ("_began", "_metrics", "_name")

    def __init__(self, metrics: Metrics, name: str) -> None:
        self._metrics = metrics
        self._name = name
        self._began = 0.0

    def __enter__(self) -> None:
        self._began = time.perf_counter()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._metrics.observe(self._name, (time.perf_counter() - self._began) * 1000.0)


class _Names:
    """Names of OpenMetrics that one text has used. A name stands for a family or for one of its samples, never for two."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def family(self, name: str, endings: tuple[str, ...]) -> str:
        """The name of a family whose samples have these endings."""
        plain = _NOT_IN_NAMES.sub("_", name)
        if not plain or plain[0].isdigit():
            plain = f"_{plain}"
        while any(plain + ending in self._used for ending in endings):
            plain += "_"
        self._used.update(plain + ending for ending in endings)
        return plain


def member_of(attribute: str, key: str) -> Callable[[Any], float]:
    """A figure for `Metrics.measured`: the number under a key of a mapping that the result has; 0 where there is none."""
    return lambda result: (getattr(result, attribute) or {}).get(key, 0)


def _number(value: float) -> str:
    """A number as OpenMetrics writes numbers."""
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return "NaN" if math.isnan(value) else repr(float(value))


METRICS = Metrics()
