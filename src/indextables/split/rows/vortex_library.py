"""Vortex's native library, as much of it as reading rows needs, loaded when the first row is read.

    `vx.open_readable` ──▶ `_load` ──▶ vortex/_lib.abi3.so, known as `vortex._lib`

The Python package around the native library imports pandas, pyarrow.dataset, substrait and protobuf, for functions that nothing
here calls. That takes as long as all the rest of a first answer. So the native library is loaded without the package. The library
is known under its own name: whoever imports `vortex`, before or after, gets the whole package over the same library.

The names of this module are those of `vortex`, with the same meaning.
"""

from __future__ import annotations

import sys
from importlib import _bootstrap
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import TYPE_CHECKING, Any, Final

from indextables.core.runtime.process_state import Lru

if TYPE_CHECKING:
    from vortex import Array, DType, SegmentCache, expr, int_, list_, utf8

_PACKAGE: Final = "vortex"
_NATIVE: Final = "vortex._lib"
_HOMES: Final = {
    "Array": "arrays",
    "DType": "dtype",
    "SegmentCache": "file",
    "int_": "dtype",
    "list_": "dtype",
    "utf8": "dtype",
}
"""The modules of the native library that have the names."""
_LIBRARY: Final[Lru[str, Any]] = Lru(1)
"""The native library, once it is loaded."""


class VortexFile:
    """A Vortex file, with the methods of `vortex.VortexFile` that rows are read with."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.dtype = file.dtype
        self.to_arrow = file.to_arrow

    def __len__(self) -> int:
        return len(self._file)

    def to_repeated_scan(self, projection: list[str]) -> RepeatedScan:
        """A prepared scan of these columns."""
        return RepeatedScan(self._file.prepare(projection))


class RepeatedScan:
    """A prepared scan, which reads one range of rows after the other."""

    def __init__(self, scan: Any) -> None:
        self._scan = scan

    def execute(self, *, row_range: tuple[int, int]) -> Any:
        """The rows from the first number to the one before the second, as an iterator of Vortex arrays."""
        start, stop = row_range
        return self._scan.execute(start=start, stop=stop)


def open_readable(reader: Any, *, segment_cache: Any, cache_key: str) -> VortexFile:
    """The Vortex file that an object with `size` and `read_at` reads."""
    return VortexFile(_library().file.open_readable(reader, segment_cache=segment_cache, cache_key=cache_key))


def __getattr__(name: str) -> Any:
    if name == "expr":
        return _library().expr
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(getattr(_library(), _HOMES[name]), name)


def _library() -> Any:
    return _LIBRARY.get_or_load(_NATIVE, _load)


def _load() -> Any:
    """The native library, alone where that is possible, else as the package imports it."""
    lock = getattr(
        _bootstrap, "_ModuleLockManager", None
    )  # Python's lock for an import, which a later release may not have
    if lock is not None:
        with lock(_PACKAGE):
            if _PACKAGE not in sys.modules and _NATIVE not in sys.modules:
                _load_alone()
            if _NATIVE in sys.modules:
                return sys.modules[_NATIVE]
    import vortex

    return vortex._lib  # noqa: SLF001 - the library itself


def _load_alone() -> None:
    """Load the native library, which can be loaded only once: another thread that imports `vortex` has to wait meanwhile."""
    package = find_spec(_PACKAGE)
    place = None if package is None else PathFinder.find_spec(_NATIVE, package.submodule_search_locations)
    if place is not None and place.loader is not None:
        library = module_from_spec(place)
        place.loader.exec_module(library)
        sys.modules[_NATIVE] = library


__all__ = [
    "Array",
    "DType",
    "RepeatedScan",
    "SegmentCache",
    "VortexFile",
    "expr",
    "int_",
    "list_",
    "open_readable",
    "utf8",
]
