"""A Vortex file inside of a bundle, as Vortex reads it, and the errors on their way through Vortex."""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from indextables.core.errors import CorruptSplit
from indextables.split.bundle.bundle_reader import Pages
from indextables.split.bundle.footer import Part
from indextables.split.bundle.native_errors import first_line

_KEPT_ERRORS: Final = 64
"""Errors. At most this number waits to be found again after native code; more wait only if their readers were abandoned."""


class ReadErrors:
    """Errors on their way through native code, which carries their text only: a number in it finds them again."""

    def __init__(self) -> None:
        self._errors: OrderedDict[str, BaseException] = OrderedDict()
        self._numbers = itertools.count()
        self._lock = threading.Lock()

    def keep(self, error: BaseException) -> RuntimeError:
        """An error for native code to carry, whose text finds `error` again."""
        with self._lock:
            mark = f"<read error {next(self._numbers)}>"
            self._errors[mark] = error
            while len(self._errors) > _KEPT_ERRORS:
                self._errors.popitem(last=False)
        return RuntimeError(f"{mark} {first_line(error)}")

    def find(self, error: BaseException) -> BaseException | None:
        """The error that was kept and that native code carried in the text of `error`, once."""
        text = str(error)
        with self._lock:
            mark = next((mark for mark in self._errors if mark in text), None)
            return None if mark is None else self._errors.pop(mark)


@dataclass(frozen=True)
class FileWindow:
    """A Vortex file inside the rows region, as Vortex reads it."""

    pages: Pages
    part: Part
    errors: ReadErrors

    def size(self) -> int:
        """Bytes of the file."""
        return self.part.length

    def read_at(self, offset: int, length: int) -> memoryview:
        """Bytes of the file, verified. Called by threads of Vortex, which keeps what it is given."""
        try:
            if offset < 0 or length < 0 or offset + length > self.part.length:
                raise CorruptSplit(
                    f"{self.pages.where} is damaged: a read past the end of its rows was asked for",
                    split=self.pages.where,
                )
            return self.pages.read(self.part.offset + offset, length)
        except BaseException as error:
            raise self.errors.keep(error) from error


__all__ = ["FileWindow", "ReadErrors"]
