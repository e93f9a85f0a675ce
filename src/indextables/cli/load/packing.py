"""Compressed files, known by their first bytes: gzip, zstd and bzip2 become the bytes inside."""

from __future__ import annotations

import io
import zlib
from typing import Any, Final

import pyarrow as pa

from indextables.cli.errors import InputError
from indextables.cli.load.formats import Packing

_FIRST_BYTES: Final[tuple[tuple[Packing, bytes, bytes], ...]] = (
    ("gzip", b"\x1f\x8b", b""),
    ("zstd", b"\x28\xb5\x2f\xfd", b""),
    ("bz2", b"BZh", b"\x31\x41\x59\x26\x53\x59"),
)
"""How each begins. In bzip2 a digit comes after the first three bytes, then six more: a text may begin with `BZh` too."""
_ENOUGH: Final = 10
"""Bytes at the beginning of a file that tell how it is packed."""


def packing_of(stream: io.BufferedReader) -> Packing | None:
    """How a stream is packed. Nothing of it is read away."""
    first = stream.peek(_ENOUGH)[:_ENOUGH]
    return next((name for name, mark, later in _FIRST_BYTES if _begins(first, mark, later)), None)


def _begins(first: bytes, mark: bytes, later: bytes) -> bool:
    return first.startswith(mark) and (not later or first[len(mark) + 1 :].startswith(later))


def unpacked(stream: io.BufferedReader, packing: Packing, name: str) -> io.RawIOBase:
    """The bytes inside of a packed stream, those of all parts where several were put behind each other."""
    match packing:
        case "gzip":
            import gzip

            inside: Any = gzip.GzipFile(fileobj=stream)
        case "bz2":
            import bz2

            inside = bz2.BZ2File(stream)
        case "zstd":
            inside = pa.CompressedInputStream(pa.PythonFile(stream, mode="r"), "zstd")
    return _Inside(inside, packing, name)


class _Inside(io.RawIOBase):
    """Unpacked bytes. Damage is an InputError with the name of the file."""

    def __init__(self, inside: Any, packing: str, name: str) -> None:
        self._inside = inside
        self._packing = packing
        self._name = name

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._inside.read(len(buffer))
        except InputError:
            raise
        except (EOFError, OSError, zlib.error, pa.ArrowException) as error:
            raise InputError(
                f"{self._name}: the {self._packing} data is cut off or damaged", file=self._name
            ) from error
        buffer[: len(data)] = data
        return len(data)


__all__ = ["packing_of", "unpacked"]
