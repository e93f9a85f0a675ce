"""Properties that are worked out once: what everybody sees, and that nobody waits for another object's."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import indextables
from forked import in_child
from indextables.core.runtime.cached_property import cached_property


@dataclass(frozen=True)
class Thing:
    work: Callable[[], Any]
    calls: list[int] = field(default_factory=list)

    @cached_property
    def value(self) -> Any:
        """What it is worth."""
        self.calls.append(1)
        return self.work()


def test_a_value_is_worked_out_once_and_kept_under_its_name() -> None:
    thing = Thing(object)
    assert thing.value is thing.value
    assert len(thing.calls) == 1
    assert thing.__dict__["value"] is thing.value
    assert isinstance(Thing.value, cached_property)
    assert Thing.value.__doc__ == "What it is worth."


def test_none_is_a_value_like_others() -> None:
    thing = Thing(lambda: None)
    assert [thing.value, thing.value] == [None, None]
    assert len(thing.calls) == 1


def test_what_fails_is_tried_again() -> None:
    answers = iter([1 / 3, ZeroDivisionError("not yet")][::-1])

    def work() -> float:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    thing = Thing(work)
    with pytest.raises(ZeroDivisionError, match="not yet"):
        _ = thing.value
    assert thing.value == 1 / 3


def test_objects_of_a_class_do_not_wait_for_each_other() -> None:
    """Each meets the other while it is at work, which a lock for both would prevent."""
    meeting = threading.Barrier(2)
    things = [Thing(lambda: meeting.wait(30)) for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        places = list(pool.map(lambda thing: thing.value, things))
    assert sorted(places) == [0, 1]


def test_threads_that_ask_at_once_get_the_same() -> None:
    threads = 8
    meeting = threading.Barrier(threads)

    def work() -> object:
        meeting.wait(30)
        return object()

    thing = Thing(work)
    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(lambda _: thing.value, range(threads)))
    assert len(thing.calls) == threads
    assert len(set(map(id, found))) == 1
    assert thing.value is found[0]


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_in_the_middle_of_it_does_not_hang_the_child() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def work() -> int:
        begun.set()
        go_on.wait(30)
        return 1

    busy, other = Thing(work), Thing(lambda: 7)
    thread = threading.Thread(target=lambda: busy.value)
    thread.start()
    begun.wait(30)
    found = in_child(lambda: str(other.value))
    go_on.set()
    thread.join(30)
    assert found == "7"
    assert busy.value == 1


def test_no_module_uses_the_property_that_has_a_lock() -> None:
    """Its lock would stay held in the child of a process that forks while another thread works a value out."""
    package = Path(indextables.__file__).parent
    users = [path for path in package.rglob("*.py") if _locked(path.read_text("utf-8"))]
    assert users == []


def _locked(text: str) -> bool:
    return any(line.startswith("from functools import") and "cached_property" in line for line in text.splitlines())
