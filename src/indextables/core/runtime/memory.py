"""How much memory one cache of a process may take: a share of the machine's memory, within bounds.

    the least of: physical memory, limits of control groups, limit of the process ──▶ a sixteenth ──▶ 256 MiB to 2 GiB

A cache that is smaller than the data which is asked for again and again is no cache at all, and 256 MiB are little on a large
machine. Caches grow with what is read, so the process of somebody who reads little stays small.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from indextables.core.runtime.process_state import ProcessLocal

_SHARE: Final = 16
"""One cache takes at most this part of the memory, a sixteenth: a process has two such caches, rows that it reads ahead and
results, and is seldom alone."""
LEAST_CACHE_BYTES: Final = 1 << 28
"""Bytes. A cache may take this much on any machine, 256 MiB: the rows of two million log lines."""
_MOST: Final = 1 << 31
"""Bytes. A cache takes no more on any machine, 2 GiB: beyond that the system's own cache of files does as well."""


@dataclass(frozen=True)
class Machine:
    """What limits the memory of a process, and where the system says so."""

    physical_bytes: int
    process_bytes: int = resource.RLIM_INFINITY
    """The limit of the process itself, which Spark sets for its workers if `spark.executor.pyspark.memory` is set."""
    control_groups: Path = Path("/sys/fs/cgroup")
    """Where Linux shows control groups."""
    membership: Path = Path("/proc/self/cgroup")
    """Where Linux shows to which control groups this process belongs."""

    @staticmethod
    def here() -> Machine:
        """The machine and the process that ask."""
        physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return Machine(physical, resource.getrlimit(resource.RLIMIT_AS)[0])

    @property
    def memory_bytes(self) -> int:
        """Bytes of memory that this process can use: those of the machine, or fewer if a limit says so."""
        limits = [] if self.process_bytes == resource.RLIM_INFINITY else [self.process_bytes]
        return min(
            [self.physical_bytes, *limits, *self._of_control_groups("memory", "memory.max", "memory.limit_in_bytes")]
        )

    @property
    def threads(self) -> int | None:
        """Threads that this process and its neighbours may have together, as containers limit them; None without a limit."""
        return min(self._of_control_groups("pids", "pids.max", "pids.max"), default=None)

    def _of_control_groups(self, controller: str, unified: str, separate: str) -> Iterator[int]:
        """The limits of the groups that this process is in, and of the groups around these.

        `unified` and `separate` are the files of a limit where Linux has one tree of groups, or a tree for each controller.
        """
        for line in _text(self.membership).splitlines():
            _, controllers, group = line.split(":", 2)
            if controllers == "":
                top, file = self.control_groups, unified
            elif controller in controllers.split(","):
                top, file = self.control_groups / controller, separate
            else:
                continue
            here = Path(group.lstrip("/"))
            for directory in (here, *here.parents):
                limit = _text(top / directory / file).strip()
                if limit.isdecimal():
                    yield int(limit)


class _Crowd:
    """Whether many processes like this one share the machine."""

    def __init__(self) -> None:
        self.many = False


_CROWD: Final = ProcessLocal(_Crowd)


def cache_bytes(machine: Machine | None = None) -> int:
    """Bytes that one cache of this process may take. A cache asks when it is made, and keeps its size."""
    if _CROWD.value.many:
        return LEAST_CACHE_BYTES
    memory = (machine or Machine.here()).memory_bytes
    return min(max(memory // _SHARE, LEAST_CACHE_BYTES), _MOST)


def share_machine() -> None:
    """Say that many processes like this one share the machine, as workers of Spark do: their caches take the least."""
    _CROWD.value.many = True


def _text(path: Path) -> str:
    """The text of a file of the system; nothing where the system has no such file."""
    try:
        return path.read_text()
    except OSError:
        return ""


__all__ = ["LEAST_CACHE_BYTES", "Machine", "cache_bytes", "share_machine"]
