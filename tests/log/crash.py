"""An operation, and what is left of a table after each failure that the operation can meet.

A clean run counts the requests. Then, for each of them and for each kind of failure, the operation runs again on a copy of
the same table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from indextables.core.errors import CommitOutcomeUnknown
from indextables.log.tablelog import TableLog
from indextables.storage.faulty import Died, Fault, Faulty, Plan
from log.support import MemoryStore, make_log

LASTING = 1000
FAULTS = [(fault, 1) for fault in Fault] + [(Fault.FAIL_BEFORE, LASTING), (Fault.FAIL_AFTER, LASTING)]
CHANGES = ("create", "put", "delete")


@dataclass(frozen=True)
class Operation:
    """What runs under failures, on which table, and what it makes of the live files."""

    name: str
    prepare: Callable[[TableLog], Any]
    act: Callable[[TableLog], Any]
    before: frozenset[str]
    after: frozenset[str]
    options: tuple[tuple[str, Any], ...] = ()
    commits: bool = True
    """Whether it writes one version, with the operation's name in it."""

    def log(self, store: Any) -> TableLog:
        return make_log(store, dict(self.options))

    def table(self) -> MemoryStore:
        store = MemoryStore()
        self.prepare(self.log(store))
        return store

    def requests(self, prepared: MemoryStore) -> tuple[tuple[str, str], ...]:
        """What a clean run asks for."""
        clean = Faulty(prepared.copy())
        self.act(self.log(clean))
        assert clean.calls
        return clean.calls


def files(*numbers: int) -> frozenset[str]:
    return frozenset(f"f{number}" for number in numbers)


def crashes(operation: Operation) -> Iterator[tuple[MemoryStore, BaseException | None, str]]:
    """What is left, and what was raised, after each failure that the operation can meet."""
    for store, error, where in _crashes(operation):
        yield store.copy(), error, where


def leftovers(operation: Operation) -> Iterator[tuple[MemoryStore, str]]:
    """The different tables that are left: most failures leave one that others leave too. Avro files differ by their names."""
    seen = set()
    for store, _, where in _crashes(operation):
        left = frozenset((key, b"" if key.endswith(".avro") else data) for key, data in store.bytes().items())
        if left not in seen:
            seen.add(left)
            yield store.copy(), where


@cache
def _crashes(operation: Operation) -> list[tuple[MemoryStore, BaseException | None, str]]:
    prepared = operation.table()
    found = []
    for number, call in enumerate(operation.requests(prepared), start=1):
        for fault, times in FAULTS:
            if (fault is Fault.CONFLICT and call[0] != "create") or (
                fault is Fault.DIE_AFTER and call[0] not in CHANGES
            ):
                continue  # the same as FAIL_BEFORE, and as DIE_BEFORE
            store = prepared.copy()
            faulty = Faulty(store, Plan(number, fault, times))
            error: BaseException | None = None
            try:
                operation.act(operation.log(faulty))
            except (Died, Exception) as raised:
                error = raised
            assert faulty.fired, "the failure never happened"
            where = f"{operation.name}: {fault.name} x{times} at {number} {call}, raised {error!r}"
            found.append((store, error, where))
    return found


def is_certain(error: BaseException | None) -> bool:
    """Whether the caller may conclude that nothing was written."""
    return error is not None and not isinstance(error, Died | CommitOutcomeUnknown | AssertionError)
