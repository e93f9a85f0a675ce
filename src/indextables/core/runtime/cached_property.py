"""A property that is worked out once for each object, without a lock.

Python 3.11's `functools.cached_property` holds one lock for all objects of a class while it works a value out: the footers of ten
splits are read one after the other, and the child of a process that forks meanwhile waits for ever. This property has no lock.
Where two threads ask at the same moment both may work the value out, and all callers get the value that was finished first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class cached_property(Generic[T]):  # noqa: N801 - it stands in for functools.cached_property
    """A property whose value is kept in the object's `__dict__` under the property's name, where Python looks first."""

    def __init__(self, work_out: Callable[[Any], T]) -> None:
        self._work_out = work_out
        self._name = ""
        self.__doc__ = work_out.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T: ...
    def __get__(self, instance: object | None, owner: type | None = None) -> Self | T:
        if instance is None:
            return self
        value: T = instance.__dict__.setdefault(self._name, self._work_out(instance))
        return value


__all__ = ["cached_property"]
