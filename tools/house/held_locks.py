"""Holds each lock of the package, forks, asks for the lock in the child, and prints the locks that the child did not get.

A program of its own: `locks.py` runs it with the tree to measure on Python's path. Locks are found by walking all modules:
names of a module, attributes of the package's own objects, classes, lists and dicts. The child looks a lock up again by
the same steps, so that a fork hook may put another lock in its place.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any

import indextables

Steps = tuple[tuple[str, Any], ...]
_LOCKS = (type(threading.Lock()), type(threading.RLock()), threading.Condition, threading.Semaphore)
_DEEPEST = 6
"""Attributes of attributes are followed this many steps deep; the package's deepest lock is three steps down."""
_PATIENCE_SECONDS = 0.5
"""A free lock is had at once; a child that waits longer would wait for ever."""


def package_modules() -> Iterator[Any]:
    """All modules of the package that can be imported here (those of Spark only with pyspark)."""
    for found in pkgutil.walk_packages(indextables.__path__, "indextables."):
        if not found.name.endswith("__main__"):
            try:
                yield importlib.import_module(found.name)
            except ModuleNotFoundError as error:
                if "pyspark" not in str(error):
                    raise


def children(value: Any) -> Iterator[tuple[tuple[str, Any], Any]]:
    """Steps down from a value, and what they lead to."""
    if isinstance(value, dict):
        yield from ((("item", key), item) for key, item in list(value.items()))
    elif isinstance(value, list | tuple):
        yield from ((("item", number), item) for number, item in enumerate(value))
    elif type(value).__module__.startswith("indextables") or isinstance(value, type):
        names = list(vars(value)) if hasattr(value, "__dict__") else []
        names += [name for kind in type(value).__mro__ for name in _slots(kind)]
        for name in names:
            try:
                yield (
                    ("attribute", name),
                    object.__getattribute__(value, name) if not isinstance(value, type) else vars(value)[name],
                )
            except AttributeError:
                continue


def _slots(kind: type) -> tuple[str, ...]:
    slots = kind.__dict__.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def locks_below(value: Any, steps: Steps, visited: set[int]) -> Iterator[Steps]:
    """The steps that lead to locks below a value."""
    if isinstance(value, _LOCKS):
        yield steps
        return
    if len(steps) >= _DEEPEST or id(value) in visited:
        return
    if isinstance(value, type) and not value.__module__.startswith("indextables"):
        return
    visited.add(id(value))
    for step, child in children(value):
        yield from locks_below(child, (*steps, step), visited)


def follow(module: Any, steps: Steps) -> Any:
    """The value at the end of the steps; None where they lead nowhere any more."""
    value = module
    for kind, name in steps:
        try:
            value = value[name] if kind == "item" else getattr(value, name)
        except (AttributeError, KeyError, IndexError, TypeError):
            return None
    return value


def hangs(module: Any, steps: Steps) -> bool:
    """Whether a child that is forked while another thread holds the lock waits for the lock."""
    lock = follow(module, steps)
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        if lock.acquire(timeout=_PATIENCE_SECONDS):
            held.set()
            done.wait()
            lock.release()

    holder = threading.Thread(target=hold, daemon=True)
    holder.start()
    if not held.wait(2 * _PATIENCE_SECONDS):  # a semaphore that counts waiting work, or a lock that is always held
        return False
    child = os.fork()
    if child == 0:
        signal.alarm(5)
        again = follow(module, steps)
        os._exit(0 if not isinstance(again, _LOCKS) or again.acquire(timeout=_PATIENCE_SECONDS) else 1)
    _, status = os.waitpid(child, 0)
    done.set()
    holder.join()
    return status != 0


def main() -> None:
    """Try every lock that is found."""
    visited: set[int] = set()
    found: list[tuple[Any, Steps]] = []
    for module in package_modules():
        for name, value in list(vars(module).items()):
            if not name.startswith("__"):
                found.extend((module, steps) for steps in locks_below(value, (("attribute", name),), visited))
    result: dict[str, list[str]] = {"held": [], "hanging": []}
    for module, steps in found:
        name = ".".join([module.__name__, *(str(step) for _, step in steps)])
        result["held"].append(name)
        if hangs(module, steps):
            result["hanging"].append(name)
    sys.stdout.write(json.dumps(result))


if __name__ == "__main__":
    main()
