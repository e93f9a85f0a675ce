"""Where tasks should run: the tasks of the same splits prefer the same executor, whose disk has the splits' indexes already.

Each split ranks all executors by a hash of both names, so that an executor that comes or goes moves its own splits alone. A task
goes where most bytes of its splits would go. No executor gets more than its share of the tasks: a task that waits for a busy
executor, while another one has nothing to do, would lose more than a cache gains.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from indextables.core.runtime.process_state import ProcessLocal
from indextables.table.distributed.read_tasks import unpacked

_MIX: Final = np.uint64(0x9E3779B97F4A7C15)
"""An odd number whose bits are spread evenly, for mixing two hashes."""


class _LastPlaces:
    """The places of the tasks that were asked for last by name: a large table is mostly asked for again as it is."""

    def __init__(self) -> None:
        self.kept: tuple[str, tuple[str, ...], list[str]] | None = None


_LAST: Final[ProcessLocal[_LastPlaces]] = ProcessLocal(_LastPlaces)


def task_places(tasks: Sequence[bytes], executors: Sequence[str], name: str = "") -> list[str]:
    """The executor that each task prefers; nothing where there is no choice. `name` stands for all tasks, if they have one."""
    if len(executors) < 2 or not tasks:
        return []
    last = _LAST.value.kept
    if name and last is not None and last[:2] == (name, tuple(executors)):
        return last[2]
    places = _places(tasks, executors)
    if name:
        _LAST.value.kept = (name, tuple(executors), places)
    return places


def _places(tasks: Sequence[bytes], executors: Sequence[str]) -> list[str]:
    names = _hashes(executors)
    room = [-(-len(tasks) // len(executors))] * len(executors)
    places = []
    for task in tasks:
        files = unpacked(task)
        ranks = _ranks(_hashes(files.column("path").to_pylist()), names)
        votes = np.zeros(len(executors))
        np.add.at(votes, ranks.argmax(axis=1), files.column("size").to_numpy())
        order = np.lexsort((-ranks[0].astype(np.float64), -votes))
        chosen = next(int(number) for number in order if room[number])
        room[chosen] -= 1
        places.append(executors[chosen])
    return places


def _hashes(names: Sequence[str]) -> npt.NDArray[np.uint64]:
    digests = b"".join(hashlib.blake2b(name.encode(), digest_size=8).digest() for name in names)
    return np.frombuffer(digests, "<u8").astype(np.uint64)


def _ranks(splits: npt.NDArray[np.uint64], executors: npt.NDArray[np.uint64]) -> Any:
    """A number for each pair of a split and an executor; the executor with the greatest number of a split's row comes first."""
    mixed = splits[:, None] ^ executors[None, :]
    for shift in (30, 27):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * _MIX
    return mixed ^ (mixed >> np.uint64(31))
