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
from indextables.log.open_snapshot import open_log
from indextables.log.table_log import TableLog
from indextables.storage.retrying import Retrying
from indextables.storage.testing.faulty import Died, Fault, Faulty, Plan
from log.support import MemoryStore, commit_infos, live, make_log, raw_versions

LASTING = 1000
FAULTS = [(fault, 1) for fault in Fault] + [(Fault.FAIL_BEFORE, LASTING), (Fault.FAIL_AFTER, LASTING)]
CHANGES = ("create", "put", "delete")
DELETED = (Fault.FAIL_AFTER, Fault.DIE_AFTER)
"""What may happen to a delete that was carried out."""


def live_files(log: TableLog) -> frozenset[str]:
    """What a fresh reader finds."""
    return frozenset(live(open_log(log)))


@dataclass(frozen=True)
class Operation:
    """What runs under failures, on which table, and what it makes of what a reader finds."""

    name: str
    prepare: Callable[[TableLog], Any]
    act: Callable[[TableLog], Any]
    before: frozenset[str]
    after: frozenset[str]
    options: tuple[tuple[str, Any], ...] = ()
    commits: bool = True
    """Whether it writes one version, with the operation's name in it."""
    look: Callable[[TableLog], frozenset[str]] = live_files
    """What a reader finds: the live files, or whatever else `before` and `after` are."""
    written_as: str = ""
    """The name in the version, where it is another one, which the prepared table may have too."""

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

    def versions(self, store: MemoryStore) -> int:
        """How many versions with the operation's name there are."""
        names = [info.get("operation") for info in commit_infos(raw_versions(store.bytes())).values()]
        return names.count(self.written_as or self.name)


@dataclass(frozen=True)
class Crash:
    """One failure, and what came of it."""

    store: MemoryStore
    error: BaseException | None
    where: str
    undeleted: bool
    """Whether a delete met the failure, and did not happen."""


def files(*numbers: int) -> frozenset[str]:
    return frozenset(f"f{number}" for number in numbers)


def crashes(operation: Operation) -> Iterator[tuple[MemoryStore, BaseException | None, str]]:
    """What is left, and what was raised, after each failure that the operation can meet."""
    for crash in every_crash(operation):
        yield crash.store.copy(), crash.error, crash.where


def leftovers(operation: Operation) -> Iterator[tuple[MemoryStore, str]]:
    """The different tables that are left: most failures leave one that others leave too. Avro files differ by their names."""
    seen = set()
    for crash in every_crash(operation):
        left = frozenset((key, b"" if key.endswith(".avro") else data) for key, data in crash.store.bytes().items())
        if left not in seen:
            seen.add(left)
            yield crash.store.copy(), crash.where


@cache
def every_crash(operation: Operation) -> tuple[Crash, ...]:
    """One run for each request and each kind of failure. The delete that takes a failed run back may fail, and be the last."""
    prepared = operation.table()
    found: list[Crash] = []
    clean = operation.requests(prepared)
    for number, call in enumerate(clean, start=1):
        for fault, times in FAULTS:
            if _is_another(fault, times, call[0]):
                continue
            plan = Plan(number, fault, times)
            crash, calls = _crashed(operation, prepared, plan)
            found.append(crash)
            back = [at for at, made in enumerate(calls, start=1) if made[0] == "delete" and made not in clean]
            if times == 1 and back:
                for second in (Fault.FAIL_BEFORE, Fault.DIE_BEFORE, Fault.DIE_AFTER):
                    found.append(_crashed(operation, prepared, plan, Plan(back[0], second))[0])
    return tuple(found)


def _is_another(fault: Fault, times: int, verb: str) -> bool:
    """Whether this failure is the same as another one: nothing is lost with the answer to a read."""
    if fault is Fault.CONFLICT:
        return verb != "create"  # as FAIL_BEFORE
    if fault is Fault.DIE_AFTER:
        return verb not in CHANGES  # as DIE_BEFORE
    return fault is Fault.FAIL_AFTER and times == 1 and verb not in (*CHANGES, "list")  # as FAIL_BEFORE


def _crashed(operation: Operation, prepared: MemoryStore, *plans: Plan) -> tuple[Crash, tuple[tuple[str, str], ...]]:
    store = prepared.copy()
    faulty = Faulty(store, *plans)
    error: BaseException | None = None
    try:
        operation.act(operation.log(faulty))
    except (Died, Exception) as raised:
        error = raised
    assert set(faulty.fired) == set(plans), "the failure never happened"
    undeleted = any(
        verb == "delete" and number in plan and plan.fault not in DELETED
        for plan in plans
        for number, (verb, _) in enumerate(faulty.calls, start=1)
    )
    met = ", ".join(f"{plan.fault.name} x{plan.times} at {plan.at} {faulty.calls[plan.at - 1]}" for plan in plans)
    return Crash(store, error, f"{operation.name}: {met}, raised {error!r}", undeleted), faulty.calls


def retried(operation: Operation) -> Iterator[tuple[MemoryStore, str]]:
    """One lost request or answer, for each request, where requests are repeated: the operation succeeds, and is there once."""
    prepared = operation.table()
    had = operation.versions(prepared)
    for number, call in enumerate(operation.requests(prepared), start=1):
        for fault in (Fault.FAIL_BEFORE, Fault.FAIL_AFTER, Fault.CONFLICT):
            if _is_another(fault, 1, call[0]):
                continue
            store = prepared.copy()
            faulty = Faulty(store, Plan(number, fault))
            operation.act(operation.log(Retrying(faulty, store.clock)))
            where = f"{operation.name}: {fault.name} at {number} {call}"
            assert faulty.fired, where
            assert operation.look(operation.log(store)) == operation.after, where
            assert operation.versions(store) == had + operation.commits, where
            yield store, where


def is_certain(error: BaseException | None) -> bool:
    """Whether the caller may conclude that nothing was written."""
    return error is not None and not isinstance(error, Died | CommitOutcomeUnknown | AssertionError)
