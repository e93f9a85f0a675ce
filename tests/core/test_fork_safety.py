"""A forked child must not wait for a thread of its parent: every lock of the package is found, held, and used in a child.

The locks are found by walking: all modules, their attributes, and the objects of the package, containers and pools that can be
reached from there. A lock has a path (`indextables.core.metrics.METRICS._kept.value.lock`). The child walks the path again and
gets the lock that is there now. Where the path ends early in the child, the child has forgotten the state, and waits for nothing.

Locks inside native libraries are not ours to renew: a fork while another thread is inside Tantivy can hang the child.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import pkgutil
import threading
import types
from collections import OrderedDict, deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pytest

import indextables
from forked import in_child
from indextables import Table
from indextables.cli.stop import STOP

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")

LOCKS = (type(threading.Lock()), type(threading.RLock()))
WALKED = (threading.Condition, threading.Semaphore, threading.Event, ThreadPoolExecutor, functools.partial)
"""Objects of Python's library that are walked like those of the package."""
Step = tuple[str, Any]
LEAST_LOCKS = 20
"""Locks that the walk finds at least after the work below; fewer mean that the walk misses some."""


def modules() -> list[types.ModuleType]:
    """All modules of the package, those for Spark only where it is installed."""
    found = []
    for each in pkgutil.walk_packages(indextables.__path__, "indextables."):
        if each.name.endswith("__main__"):
            continue
        if not each.name.startswith("indextables.spark") or importlib.util.find_spec("pyspark") is not None:
            found.append(importlib.import_module(each.name))
    return found


def ours(kind: type) -> bool:
    return kind.__module__.split(".")[0] == "indextables"


def children(value: Any) -> Iterator[tuple[Step, Any]]:
    """What an object holds, each with the step that leads there."""
    if isinstance(value, dict | OrderedDict):
        for key, held in list(value.items()):
            yield ("item", key), held
    elif isinstance(value, list | tuple | deque):
        for place, held in enumerate(list(value)):
            yield ("item", place), held
    elif isinstance(value, set | frozenset):
        for held in list(value):
            yield ("member", held), held
    elif isinstance(value, types.ModuleType) or (isinstance(value, type) and ours(value)):
        for name, held in list(vars(value).items()):
            yield ("attribute", name), held
    elif isinstance(value, threading.Condition):  # its waiters' locks are held for as long as they wait
        yield ("attribute", "_lock"), value._lock
    elif isinstance(value, WALKED) or ours(type(value)):
        slots = [name for kind in type(value).__mro__ for name in _slots(kind)]
        for name in [*getattr(value, "__dict__", {}), *slots]:
            if hasattr(value, name):
                yield ("attribute", name), getattr(value, name)


def _slots(kind: type) -> list[str]:
    """The names that Python gives the slots of a class: private ones are mangled."""
    names = kind.__dict__.get("__slots__", ())
    listed = [names] if isinstance(names, str) else list(names)
    return [
        f"_{kind.__name__.lstrip('_')}{name}" if name.startswith("__") and not name.endswith("__") else name
        for name in listed
        if name not in ("__weakref__", "__dict__")
    ]


def locks(roots: list[types.ModuleType]) -> dict[str, tuple[list[Step], Any]]:
    """Every lock that can be reached from the modules, by a readable path: the steps to it, and the lock."""
    found: dict[str, tuple[list[Step], Any]] = {}
    seen: dict[int, Any] = {}
    waiting: deque[tuple[str, list[Step], Any]] = deque(
        (root.__name__, [("module", root.__name__)], root) for root in roots
    )
    while waiting:
        name, steps, value = waiting.popleft()
        if id(value) in seen:
            continue
        seen[id(value)] = value
        if isinstance(value, LOCKS):
            found[name] = (steps, value)
            continue
        for step, held in children(value):
            if isinstance(held, types.ModuleType):
                continue
            where = f"{name}.{step[1]}" if step[0] == "attribute" else f"{name}[{str(step[1])[:40]!r}]"
            waiting.append((where, [*steps, step], held))
    return found


def follow(steps: list[Step]) -> Any:
    """The object at the end of the steps now; None where the way ends before."""
    value: Any = None
    for kind, step in steps:
        try:
            match kind:
                case "module":
                    value = importlib.import_module(step)
                case "attribute":
                    value = vars(value)[step] if isinstance(value, type | types.ModuleType) else getattr(value, step)
                case "item":
                    value = value[step]
                case _:
                    value = step if step in value else None
        except (KeyError, IndexError, AttributeError):
            return None
    return value


class Held:
    """While entered, another thread holds all these locks, which were free."""

    def __init__(self, held: list[Any]) -> None:
        self._locks = held
        self._ready, self._go_on = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._hold, daemon=True)
        self.busy: list[int] = []
        """The places of locks that another thread did not let go of."""

    def _hold(self) -> None:
        taken = []
        for number, lock in enumerate(self._locks):
            if lock.acquire(timeout=5):
                taken.append(lock)
            else:
                self.busy.append(number)
        self._ready.set()
        self._go_on.wait(120)
        for lock in reversed(taken):
            lock.release()

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._go_on.set()
        self._thread.join()


def rows(start: int, count: int = 50) -> pa.Table:
    numbers = range(start, start + count)
    return pa.table({"id": pa.array(numbers, pa.int64()), "text": [f"word{number % 5} all" for number in numbers]})


def ask(table: Table) -> tuple[int, int, int, int]:
    """One answer of each kind, by index, by rows and by statistics."""
    found = table.search("text:word3", limit=1_000).num_rows
    scanned = table.scan(where="id < 20").read_all().num_rows
    grouped = table.aggregate(query="text:all").column("n").to_pylist()
    return found, table.count(), scanned, grouped[0]


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """A table of 150 rows that this process has written, read and asked in every way: all state of the process is there."""
    STOP.begin()  # an earlier test may have stopped a command: its word stays taken until the next command begins
    options = {"indexing.typemap.text": "text"}
    table = Table.create(tmp_path / "table", rows(0).schema, options=options)
    for start in (0, 50, 100):
        table.append(rows(start))
    assert ask(table) == (30, 150, 20, 150)
    table.checkpoint()
    assert Table.open(tmp_path / "table").count() == 150
    memory = Table.create(f"memory://{tmp_path.name}", rows(0).schema)
    assert memory.count() == 0
    return table


@pytest.mark.own_process
def test_no_lock_hangs_a_forked_child(table: Table) -> None:
    del table
    found = locks(modules())
    assert len(found) >= LEAST_LOCKS, sorted(found)

    def use() -> str:
        hanging = []
        for name, (steps, _) in found.items():
            lock = follow(steps)
            if lock is None:
                continue
            if lock.acquire(timeout=0.2):
                lock.release()
            else:
                hanging.append(name)
        return "\n".join(hanging)

    with Held([lock for _, lock in found.values()]) as held:
        hanging = in_child(use, seconds=60)
    assert [list(found)[number] for number in held.busy] == [], "each was held, or this shows nothing"
    assert hanging == ""


@pytest.mark.own_process
def test_a_forked_child_answers_and_appends_while_threads_of_its_parent_hold_all_locks(table: Table) -> None:
    place = table.url

    def work() -> str:
        here = ask(table)
        fresh = Table.open(place)
        there = ask(fresh)
        fresh.append(rows(1_000))
        table.refresh()
        table.append(rows(2_000))
        fresh.refresh()
        return f"{here} {there} {fresh.count()} {table.count()} {ask(table)[0]}"

    with Held([lock for _, lock in locks(modules()).values()]):
        answer = in_child(work, seconds=120)
    assert answer == "(30, 150, 20, 150) (30, 150, 20, 150) 250 250 50"
    table.refresh()
    assert ask(table) == (50, 250, 20, 250)


def test_the_walk_finds_locks_wherever_they_are() -> None:
    """A lock in a slot, in a container of an object, in a condition, and at module level, all under an invented module."""

    class Slotted:
        __slots__ = ("guard",)

    class Plain:
        def __init__(self) -> None:
            self.parts = {"a": [threading.Condition()], "b": (threading.RLock(),)}
            self.pool = ThreadPoolExecutor(1)

    for kind in (Slotted, Plain):
        kind.__module__ = "indextables.invented"
    module = types.ModuleType("indextables.invented")
    slotted = Slotted()
    slotted.guard = threading.Lock()  # type: ignore[attr-defined]
    module.lock, module.slotted, module.plain = threading.Lock(), slotted, Plain()  # type: ignore[attr-defined]
    names = {name.removeprefix("indextables.invented.") for name in locks([module])}
    assert {"lock", "slotted.guard", "plain.parts['a'][0]._lock", "plain.parts['b'][0]"} <= {
        name.replace("['0']", "[0]") for name in names
    }
    assert any(name.startswith("plain.pool.") for name in names)
