"""State of one process: values that a forked child makes anew, and the one bounded cache of the package.

    os.fork() ──▶ child: `_renew_all` ──▶ each `ProcessLocal` makes its value anew ──▶ the first line of the child's own code

A fork copies memory and one thread. A lock that another thread held stays locked in the child for ever, native handles have no
threads there, and leases belong to the parent. So a module keeps no lock of its own: it wraps its state in a `ProcessLocal`, or
keeps an `Lru`. In the child an `Lru` has new locks and its old entries; an `Lru` inside a `ProcessLocal` begins empty.

Locks inside native libraries cannot be renewed from here: a fork in the moment that another thread opens an index in Tantivy can
hang the child. Programs with threads start their processes with 'spawn' or 'forkserver'.

The only `os.register_at_fork` of the package is at the end of this module.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_ABSENT: Final[Any] = object()


class ProcessLocal(Generic[T]):
    """A value of this process. `make` makes the value, here at once and again in every forked child.

    Read `value` each time that it is needed: after a fork the attribute holds another object. `make` runs in the child before any
    other code, so it must not wait for a thread.
    """

    __slots__ = ("__weakref__", "_make", "value")

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self.value: T = make()
        _LOCALS.add(self)

    def renew(self) -> None:
        """Make the value anew and forget the present one, as a fork does in the child."""
        self.value = self._make()


_LOCALS: Final[weakref.WeakSet[ProcessLocal[Any]]] = weakref.WeakSet()
"""Every `ProcessLocal` that somebody still has."""


class Lru(Generic[K, V]):
    """The most recently used values by key, at most `capacity` of them, or of their weights where `weigh` is given.

    Safe to use from many threads. `get_or_load` calls one loader a key: other threads that miss the same key wait for that loader
    and not for the loaders of other keys. A forked child keeps the entries, and forgets loaders that ran in the parent.

    A signal handler, a destructor or a callback of the garbage collector may use the `Lru` in the middle of a call of the same
    thread. Values that leave are freed once no lock is held: freeing an index closes its files.
    """

    def __init__(self, capacity: int, weigh: Callable[[V], int] | None = None) -> None:
        self._capacity = capacity
        self._weigh = weigh
        self._entries: OrderedDict[K, V] = OrderedDict()
        self._weights: dict[K, int] = {}
        """The weight of each entry; empty where entries are counted."""
        self._weight = 0
        self._guard: ProcessLocal[_Guard] = ProcessLocal(_Guard)

    def get(self, key: K) -> V | None:
        """The value of `key`, which becomes the most recently used one; None where there is no entry."""
        guard = self._guard.value
        with guard.lock:
            value = self._entries.get(key)
            if value is None:
                guard.misses += 1
            else:
                guard.hits += 1
                self._entries.move_to_end(key)
            return value

    def put(self, key: K, value: V) -> None:
        """Keep `value` as the most recently used one, in place of an earlier value of `key`. The least recently used ones go."""
        weight = 0 if self._weigh is None else self._weigh(value)
        leaving: list[V] = []  # freed after the lock
        with self._guard.value.lock:
            self._drop(key, leaving)
            self._entries[key] = value
            if self._weigh is None:
                while len(self._entries) > self._capacity:
                    leaving.append(self._entries.popitem(last=False)[1])
                return
            self._weights[key] = weight
            self._weight += weight
            while self._weight > self._capacity:
                self._drop(next(iter(self._entries)), leaving)

    def get_or_load(self, key: K, load: Callable[[], V]) -> V:
        """The value of `key`, from `load` where there is no entry. What `load` raises is raised here, and nothing is kept."""
        guard = self._guard.value
        with guard.lock:
            value = self._entries.get(key)
            if value is not None:
                guard.hits += 1
                self._entries.move_to_end(key)
                return value
            guard.misses += 1
            turn = guard.turns.get(key)
            if turn is None:
                turn = guard.turns[key] = _Turn()
            turn.users += 1
        try:
            with turn.lock:
                if turn.value is _ABSENT:
                    turn.value = load()
                    self.put(key, turn.value)
                loaded: V = turn.value
                return loaded
        finally:
            with guard.lock:
                turn.users -= 1
                if not turn.users and guard.turns.get(key) is turn:
                    del guard.turns[key]

    def pop(self, key: K) -> bool:
        """Forget the value of `key`. False where there was none."""
        leaving: list[V] = []  # freed after the lock
        with self._guard.value.lock:
            self._drop(key, leaving)
        return bool(leaving)

    def clear(self) -> int:
        """Forget all values. Returns how many there were."""
        with self._guard.value.lock:
            leaving, self._entries = self._entries, OrderedDict()
            self._weights = {}
            self._weight = 0
        gone = len(leaving)
        leaving.clear()
        return gone

    def listed(self) -> list[K]:
        """The keys of all entries, the least recently used one first."""
        with self._guard.value.lock:
            return list(self._entries)

    @property
    def asked(self) -> tuple[int, int]:
        """How often this process found the value of a key here, and how often there was none."""
        guard = self._guard.value
        with guard.lock:
            return guard.hits, guard.misses

    @property
    def loading(self) -> dict[K, int]:
        """The keys that are loaded now, each with the number of threads that load the key or wait for its loader."""
        guard = self._guard.value
        with guard.lock:
            return {key: turn.users for key, turn in guard.turns.items()}

    @property
    def lock(self) -> threading.RLock:
        """The lock of the entries: while a thread holds it, calls of other threads wait. A forked child has another lock."""
        return self._guard.value.lock

    @property
    def weight(self) -> int:
        """The sum of the weights of all entries; 0 where entries are counted."""
        return self._weight

    def __contains__(self, key: K) -> bool:
        with self._guard.value.lock:
            return key in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def _drop(self, key: K, leaving: list[V]) -> None:
        value = self._entries.pop(key, _ABSENT)
        if value is not _ABSENT:
            leaving.append(value)
            self._weight -= self._weights.pop(key, 0)


class _Guard:
    """The locks of one `Lru`: `lock` for its entries, held for a few instructions, and a turn for each key that is loaded.

    `hits` and `misses` are questions of this process, so that a forked child counts from 0.
    """

    __slots__ = ("hits", "lock", "misses", "turns")

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.hits = self.misses = 0
        self.turns: dict[Any, _Turn] = {}


class _Turn:
    """A key while it is loaded: the loader's lock, the number of threads that load or wait, and the value once there is one.

    A loader that asks for its own key calls itself, and ends in a RecursionError instead of waiting for itself.
    """

    __slots__ = ("lock", "users", "value")

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.users = 0
        self.value: Any = _ABSENT


class NativeRuntime:
    """Whether the threads of a native library can be used here: not in the child of a process that has used them."""

    def __init__(self) -> None:
        self._used = False
        self._lost = ProcessLocal(self._is_used)

    @property
    def usable(self) -> bool:
        """False in a forked child whose parent had called `use`: a call of the library would wait for ever."""
        return not self._lost.value

    def use(self) -> None:
        """Record that this process uses the library from now on."""
        self._used = True

    def _is_used(self) -> bool:
        return self._used


def _renew_all() -> None:
    for local in list(_LOCALS):
        local.renew()


os.register_at_fork(after_in_child=_renew_all)

__all__ = ["Lru", "NativeRuntime", "ProcessLocal"]
