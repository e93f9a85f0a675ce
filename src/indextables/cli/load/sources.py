"""The files to import: which they are, what format they have, and their bytes, unpacked.

gzip is known by its first two bytes, whatever the name. What comes from a pipe can be read once; where twice is needed it is
copied to a temporary file first, so that no import has to hold its data in memory.
"""

from __future__ import annotations

import glob
import gzip
import io
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from indextables.cli.errors import InputError
from indextables.cli.load.formats import ENDINGS, Format

STDIN: Final = "-"
_GZIP: Final = b"\x1f\x8b"
_BUFFER: Final = 1 << 20

Told = Callable[[int], None]
"""Called with how many bytes more were read."""


@dataclass(frozen=True)
class Source:
    """One file, or what comes from a pipe (`path` is None: it can be read once)."""

    name: str
    path: Path | None

    @property
    def size(self) -> int:
        """Bytes as they are stored, 0 where nobody knows."""
        return self.path.stat().st_size if self.path else 0

    @contextmanager
    def open(self, told: Told) -> Iterator[io.BufferedReader]:
        """Its bytes, unpacked. What goes wrong while they are read is an InputError with its name."""
        try:
            with self._raw() as file:
                stream: io.BufferedReader = io.BufferedReader(_Counted(file, told), _BUFFER)
                if stream.peek(2)[:2] == _GZIP:
                    stream = io.BufferedReader(gzip.GzipFile(fileobj=stream), _BUFFER)
                yield stream
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(f"{self.name}: the gzip data is cut off or damaged ({error})", file=self.name) from error
        except OSError as error:
            if isinstance(error, BrokenPipeError):
                raise
            raise InputError(f"{self.name} cannot be read ({error.strerror or error})", file=self.name) from error

    @contextmanager
    def seekable(self) -> Iterator[IO[bytes]]:
        """The same as a file that can be read from any place: unpacked to a temporary one where needed."""
        with self.open(lambda _: None) as stream:
            if self.path is not None and not isinstance(stream.raw, gzip.GzipFile):
                with self.path.open("rb") as file:
                    yield file
                return
            with tempfile.TemporaryFile(prefix="indextables-import-") as copy:
                shutil.copyfileobj(stream, copy, _BUFFER)
                copy.seek(0)
                yield copy

    @contextmanager
    def _raw(self) -> Iterator[IO[bytes]]:
        if self.path is None:
            yield sys.stdin.buffer
        else:
            with self.path.open("rb", buffering=0) as file:
                yield file


class _Counted(io.RawIOBase):
    def __init__(self, file: IO[bytes], told: Told) -> None:
        self._file = file
        self._told = told

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = (self._file.read1 if isinstance(self._file, io.BufferedReader) else self._file.read)(len(buffer))
        buffer[: len(data)] = data
        self._told(len(data))
        return len(data)


def find_sources(names: Sequence[str], wanted: Format | None) -> tuple[list[Source], Format]:
    """The files that names and patterns stand for, and their format."""
    if STDIN in names:
        if len(names) > 1:
            raise InputError("standard input (-) is imported alone, without other files", file=STDIN)
        if wanted is None:
            raise InputError("standard input (-) has no name to tell its format: give --format", file=STDIN)
        return [Source("standard input", None)], wanted
    paths = list(dict.fromkeys(path for name in names for path in _matching(name)))
    formats = {path: wanted or _format(path) for path in paths}
    if len(set(formats.values())) > 1:
        first, other = paths[0], next(path for path in paths if formats[path] != formats[paths[0]])
        raise InputError(
            f"{first} is {formats[first]} and {other} is {formats[other]}: import files of one format at a time",
            file=str(other),
        )
    return [Source(str(path), path) for path in paths], formats[paths[0]]


def _matching(name: str) -> list[Path]:
    path = Path(name)
    if path.is_dir():
        raise InputError(f"{name} is a directory: give its files, such as '{name.rstrip('/')}/*.csv'", file=name)
    if path.exists():
        return [path]
    if "://" in name:
        raise InputError(f"{name} is not a local file, and other files are not imported: pipe it in, with -", file=name)
    found = [Path(match) for match in sorted(glob.glob(name, recursive=True)) if not Path(match).is_dir()]  # noqa: PTH207
    if not found:
        what = "matches no file" if glob.has_magic(name) else "does not exist"
        raise InputError(f"{name} {what}", file=name)
    return found


def _format(path: Path) -> Format:
    endings = [ending.lower() for ending in path.suffixes]
    if endings and endings[-1] in (".gz", ".gzip"):
        endings.pop()
    found = ENDINGS.get(endings[-1]) if endings else None
    if found is None:
        raise InputError(
            f"{path} has no ending that tells its format ({', '.join(ENDINGS)}, each with .gz too): give --format",
            file=str(path),
        )
    return found


@contextmanager
def readable_twice(sources: Sequence[Source]) -> Iterator[list[Source]]:
    """The same sources; what comes from a pipe is copied to a temporary file."""
    if all(source.path is not None for source in sources):
        yield list(sources)
        return
    with tempfile.TemporaryDirectory(prefix="indextables-import-") as directory:
        copy = Path(directory) / "stdin"
        with copy.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file, _BUFFER)
        yield [Source(sources[0].name, copy)]
