"""Time, sleep, ids and chance, so that a test can replace all of them.

Two clocks matter. `wall_ms` is what people read; it stamps commits and may be wrong. `boot` counts seconds on a clock that
also runs while the machine sleeps (CLOCK_BOOTTIME): a snapshot checked before the lid was closed is old when it is opened
again, and a monotonic clock would not notice.
"""

from __future__ import annotations

import random
import time
import uuid
from dataclasses import dataclass
from typing import Protocol


class Clock(Protocol):
    """What the code may know about time and chance."""

    def wall_ms(self) -> int:
        """Milliseconds since 1970 by this machine's idea of the time."""
        ...

    def boot(self) -> float:
        """Seconds since an arbitrary moment; never goes back, runs during sleep."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""
        ...

    def jitter(self) -> float:
        """A random number in [0, 1)."""
        ...

    def uuid(self) -> str:
        """A random UUID in its canonical text form."""
        ...


class SystemClock:
    """The machine's own clocks."""

    def wall_ms(self) -> int:
        """See `Clock.wall_ms`."""
        return time.time_ns() // 1_000_000

    def boot(self) -> float:
        """See `Clock.boot`."""
        return time.clock_gettime(_BOOT_CLOCK)

    def sleep(self, seconds: float) -> None:
        """See `Clock.sleep`."""
        time.sleep(seconds)

    def jitter(self) -> float:
        """See `Clock.jitter`."""
        return random.random()

    def uuid(self) -> str:
        """See `Clock.uuid`."""
        return str(uuid.uuid4())


_BOOT_CLOCK: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""macOS has no CLOCK_BOOTTIME; its CLOCK_MONOTONIC runs during sleep."""

SYSTEM_CLOCK = SystemClock()


@dataclass(frozen=True, slots=True)
class BackOff:
    """Waits that grow with every failed attempt: a random part of `base_ms`, doubled each time, at most `longest_ms`."""

    base_ms: float
    longest_ms: float

    def wait(self, clock: Clock, attempt: int) -> None:
        """Sleep after a failed attempt. The first attempt has the number 0."""
        clock.sleep(min(self.longest_ms, self.base_ms * 2 ** min(attempt, _MOST_DOUBLINGS)) * clock.jitter() / 1000)


_MOST_DOUBLINGS = 32
"""A wait doubles at most so often: 2^32 milliseconds are longer than anybody waits, and larger powers only cost time."""
