"""How a bug is put into the code from outside, and taken out again. The bugs are in `planted`,
`planted_states`, `planted_rows` and `planted_purges`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Patch = contextlib.AbstractContextManager[Any]


@dataclass(frozen=True)
class Planted:
    """A bug: what is wrong, the scenario made for it, how it shows, and how it is put in."""

    number: int
    name: str
    about: str
    scenario: str
    kinds: frozenset[str]
    put_in: Callable[[], list[Patch]]


PLANTED: dict[str, Planted] = {}


def planted(number: int, name: str, scenario: str, *kinds: str) -> Callable[[Callable[[], list[Patch]]], None]:
    def register(put_in: Callable[[], list[Patch]]) -> None:
        PLANTED[name] = Planted(number, name, (put_in.__doc__ or "").strip(), scenario, frozenset(kinds), put_in)

    return register


@contextlib.contextmanager
def plant(name: str) -> Iterator[None]:
    """The code with this bug in it."""
    with contextlib.ExitStack() as stack:
        for patch in PLANTED[name].put_in():
            stack.enter_context(patch)
        yield
