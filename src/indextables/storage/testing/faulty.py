"""A store that fails on purpose, at a call of one's choice, to show what the code above does then.

    run once with Faulty(store) and read .calls
    for every k and every fault: run with Faulty(store, Plan(k, fault)), then check what is left

A death is a `BaseException`, so that no clean-up of the code under test can pretend to survive it, and everything after it
dies too: a dead process makes no further requests.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from indextables.core.errors import ObjectExists, StorageError, StoreUnavailable
from indextables.storage.store import ObjectMeta, Store, StoredObject

T = TypeVar("T")

_MUTATIONS = frozenset({"create", "put", "delete"})


class Fault(Enum):
    """What happens to a call."""

    FAIL_BEFORE = "the request is lost: nothing happens, StoreUnavailable"
    FAIL_AFTER = "the answer is lost: it happens, StoreUnavailable"
    DIE_BEFORE = "the process dies before the request"
    DIE_AFTER = "the process dies after the request was carried out"
    CONFLICT = "a create is refused with ObjectExists though nothing is there (any other verb: as FAIL_BEFORE)"


@dataclass(frozen=True)
class Plan:
    """`fault` at call number `at`, counted from 1, and at the `times - 1` calls after it."""

    at: int
    fault: Fault
    times: int = 1

    def __contains__(self, number: int) -> bool:
        return self.at <= number < self.at + self.times


class Died(BaseException):
    """The process is dead, as far as the code under test can tell."""


class Faulty:
    """A store with planned faults. Calls are counted as they begin; a listing is one call, when its first key is taken.

    With `mutations_only`, only create, put and delete count and fail.
    """

    def __init__(self, store: Store, *plans: Plan, mutations_only: bool = False) -> None:
        self._inner = store
        self._plans = plans
        self._mutations_only = mutations_only
        self._calls: list[tuple[str, str]] = []
        self._fired: list[Plan] = []
        self._dead = False
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Faulty({', '.join(map(repr, (self._inner, *self._plans)))})"

    @property
    def inner(self) -> Store:
        """The store that this one wraps."""
        return self._inner

    @property
    def root(self) -> str:
        """See `Store.root`."""
        return self._inner.root

    @property
    def calls(self) -> tuple[tuple[str, str], ...]:
        """The calls that counted: verb and key (of a delete, its first). As many as there are places to fail."""
        return tuple(self._calls)

    @property
    def fired(self) -> tuple[Plan, ...]:
        """The plans that came true. A test of a fault that never fired shows nothing: assert this."""
        return tuple(self._fired)

    def get(self, key: str) -> StoredObject:
        """See `Store.get`."""
        return self._call("get", key, lambda: self._inner.get(key))

    def get_range(self, key: str, start: int, end: int) -> bytes:
        """See `Store.get_range`."""
        return self._call("get_range", key, lambda: self._inner.get_range(key, start, end))

    def get_ranges(self, key: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """See `Store.get_ranges`."""
        return self._call("get_ranges", key, lambda: self._inner.get_ranges(key, ranges))

    def head(self, key: str) -> ObjectMeta:
        """See `Store.head`."""
        return self._call("head", key, lambda: self._inner.head(key))

    def create(self, key: str, data: bytes) -> None:
        """See `Store.create`."""
        self._call("create", key, lambda: self._inner.create(key, data))

    def put(self, key: str, data: bytes) -> None:
        """See `Store.put`."""
        self._call("put", key, lambda: self._inner.put(key, data))

    def list(self, prefix: str, after: str | None = None) -> Iterator[ObjectMeta]:
        """See `Store.list`. A fault "after" comes behind the first key."""
        fault = self._begin("list", prefix)
        self._before(fault, "list", prefix)
        for meta in self._inner.list(prefix, after):
            yield meta
            self._after(fault, "list", prefix)
        self._after(fault, "list", prefix)

    def delete(self, keys: Sequence[str]) -> dict[str, StorageError]:
        """See `Store.delete`. A failure is the failure of every key."""
        try:
            return self._call("delete", keys[0] if keys else "", lambda: self._inner.delete(keys))
        except StorageError as error:
            return dict.fromkeys(keys, error)

    def _call(self, verb: str, key: str, call: Callable[[], T]) -> T:
        fault = self._begin(verb, key)
        self._before(fault, verb, key)
        try:
            return call()
        finally:
            self._after(fault, verb, key)

    def _begin(self, verb: str, key: str) -> Fault | None:
        with self._lock:
            if self._dead:
                raise Died(f"{verb} of {key} by a dead process")
            if self._mutations_only and verb not in _MUTATIONS:
                return None
            self._calls.append((verb, key))
            for plan in self._plans:
                if len(self._calls) in plan:
                    self._fired.append(plan)
                    return plan.fault
        return None

    def _before(self, fault: Fault | None, verb: str, key: str) -> None:
        if fault is Fault.CONFLICT and verb == "create":
            raise ObjectExists(f"planned: create of {key} met a conflict", key=key, root=self.root)
        if fault is Fault.FAIL_BEFORE or fault is Fault.CONFLICT:
            raise StoreUnavailable(f"planned: the request to {verb} {key} was lost", key=key, root=self.root)
        if fault is Fault.DIE_BEFORE:
            self._die(f"before {verb} of {key}")

    def _after(self, fault: Fault | None, verb: str, key: str) -> None:
        if fault is Fault.FAIL_AFTER:
            raise StoreUnavailable(f"planned: the answer to {verb} {key} was lost", key=key, root=self.root)
        if fault is Fault.DIE_AFTER:
            self._die(f"after {verb} of {key}")

    def _die(self, when: str) -> None:
        with self._lock:
            self._dead = True
        raise Died(when)
