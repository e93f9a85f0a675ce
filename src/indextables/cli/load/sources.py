"""The files to import: which they are, what format they have, and their bytes, unpacked.

Files are local, or lie in a store (`s3://…`). What is compressed is known by its first bytes, whatever the name. What comes
from a pipe can be read once; where twice is needed it is copied to a temporary file first, so that no import has to hold its
data in memory. A pipe that nobody writes into does not keep the program from ending.
"""

from __future__ import annotations

import glob
import io
import os
import select
import shutil
import stat
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final, cast

from indextables.cli.errors import InputError, UsageError
from indextables.cli.load.formats import ENDINGS, PACKED, Format
from indextables.cli.load.packing import packing_of, unpacked
from indextables.cli.load.remote_file import RemoteFile, StoredFile, find_stored, is_stored
from indextables.cli.stop import STOP
from indextables.storage.error_translation import translate
from indextables.storage.location import parse_url

STDIN: Final = "-"
_BUFFER: Final = 1 << 20
"""Bytes that are read from a file at once."""
_PATIENCE_MS: Final = 100
"""After so long a read that waits looks whether it is still wanted."""

Told = Callable[[int], None]
"""Called with how many bytes more were read."""


@dataclass(frozen=True)
class Source:
    """A file to import, or a pipe, which can be read once. `path` is None for standard input and for a file in a store."""

    name: str
    path: Path | None
    stored: StoredFile | None = None

    @property
    def once(self) -> bool:
        """Whether what was read is gone: a pipe, whatever its name."""
        if self.stored is not None:
            return False
        return self.path is None or not stat.S_ISREG(self._found(self.path).st_mode)

    @property
    def size(self) -> int:
        """Bytes as they are stored, 0 where nobody knows."""
        if self.stored is not None:
            return self.stored.size
        return self._found(self.path).st_size if self.path else 0

    def _found(self, path: Path) -> os.stat_result:
        try:
            return path.stat()
        except OSError as error:
            raise _unreadable(self.name, error) from error

    @contextmanager
    def open(self, told: Told) -> Iterator[io.BufferedReader]:
        """Its bytes, unpacked. What goes wrong while they are read is an InputError with its name."""
        with self._raw() as file:
            counted = _Counted(file, told, self.name)
            try:
                stream: io.BufferedReader = io.BufferedReader(counted, _BUFFER)
                packing = packing_of(stream)
                yield stream if packing is None else io.BufferedReader(unpacked(stream, packing, self.name), _BUFFER)
            finally:
                counted.give_up()

    @contextmanager
    def plain(self) -> Iterator[io.BufferedReader]:
        """Its bytes as they are stored."""
        with self._raw() as file:
            yield io.BufferedReader(_Counted(file, lambda _: None, self.name), _BUFFER)

    @contextmanager
    def seekable(self) -> Iterator[IO[bytes]]:
        """The source as a file that can be read from any place; a packed one is unpacked to a temporary file."""
        if not self.once and not self._packed:
            with self._raw() as file:
                yield file
            return
        from indextables.table.loading import scratch

        with self.open(lambda _: None) as unpacked_stream, scratch("import") as directory:
            copy = directory / "unpacked"
            _copied(unpacked_stream, copy)
            with copy.open("rb") as file:
                yield file

    @property
    def _packed(self) -> bool:
        with self.plain() as stream:
            return packing_of(stream) is not None

    @contextmanager
    def _raw(self) -> Iterator[IO[bytes]]:
        if self.stored is not None:
            with RemoteFile(self.stored) as remote:
                yield cast("IO[bytes]", remote)
            return
        if self.path is None:
            if sys.stdin is None:
                raise InputError("standard input is closed", file=STDIN)
            yield sys.stdin.buffer
            return
        try:
            # without waiting for somebody to write into a pipe, which has no meaning for files
            number = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            raise _unreadable(self.name, error) from error
        with os.fdopen(number, "rb", buffering=0) as file:
            yield file


class _Counted(io.RawIOBase):
    """The bytes of a file or a pipe, as they come. Reads may be made by other threads than the one that opened it."""

    def __init__(self, file: IO[bytes], told: Told, name: str) -> None:
        self._file = file
        self._told = told
        self._name = name
        self._given_up = False
        self._reading = threading.Lock()
        self._waits = _waits(file)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with self._reading:
            STOP.check()
            if self._given_up:
                return 0
            try:
                data = self._arrived(len(buffer)) if self._waits else self._file.read(len(buffer))
            except OSError as error:
                raise _unreadable(self._name, error) from error
        buffer[: len(data)] = data
        self._told(len(data))
        return len(data)

    def _arrived(self, size: int) -> bytes:
        """What a pipe has, waiting for the first byte of it, but not longer than anybody wants it."""
        number = self._file.fileno()
        poll = select.poll()
        poll.register(number, select.POLLIN)
        while not self._given_up:
            ready = poll.poll(_PATIENCE_MS)
            STOP.check()
            if ready:
                with suppress(BlockingIOError):
                    return os.read(number, size)
        return b""

    def give_up(self) -> None:
        """Nobody wants more. No thread reads from the file when this returns, nor ever after."""
        self._given_up = True
        with self._reading:
            pass


def _waits(file: IO[bytes]) -> bool:
    """Whether a read may have to wait for somebody to write."""
    try:
        return not stat.S_ISREG(os.fstat(file.fileno()).st_mode)
    except OSError:  # bytes in memory have no number
        return False


def _unreadable(name: str, error: OSError) -> InputError:
    return InputError(f"{name} cannot be read ({error.strerror or error})", file=name)


def find_sources(
    names: Sequence[str], wanted: Format | None, options: Mapping[str, str] | None = None
) -> tuple[list[Source], Format]:
    """The files that names and patterns stand for, and their format. `options` are those of the stores that files lie in.

    What is wrong with the names is a UsageError, and what is wrong with the files an InputError.
    """
    if STDIN in names:
        if len(names) > 1:
            raise UsageError("standard input (-) is imported alone, without other files", file=STDIN)
        if wanted is None:
            raise UsageError("standard input (-) has no name to tell its format: give --format", file=STDIN)
        return [Source("standard input", None)], wanted
    sources = [source for name in names for source in _matching(name, options or {})]
    _check_no_file_twice(sources)
    formats = [wanted or format_of(source.name) for source in sources]
    other = next((number for number, found in enumerate(formats) if found != formats[0]), None)
    if other is not None:
        first, name = sources[0].name, sources[other].name
        raise UsageError(
            f"{first} is {formats[0]} and {name} is {formats[other]}: import files of one format at a time", file=name
        )
    return sources, formats[0]


def _check_no_file_twice(sources: Sequence[Source]) -> None:
    """A file that two names or patterns stand for is more often a mistake than a wish, and rows that are there twice stay."""
    seen: dict[Path | str, Source] = {}
    for source in sources:
        earlier = seen.setdefault(source.path.resolve() if source.path else source.name, source)
        if earlier is not source:
            how = "twice" if earlier.name == source.name else f"as {earlier.name} too"
            raise UsageError(
                f"{source.name} is given {how}: leave one out, or import it again after this to have its rows twice",
                file=source.name,
            )


def _matching(name: str, options: Mapping[str, str]) -> list[Source]:
    if is_stored(name):
        return [Source(stored.url, None, stored) for stored in find_stored(name, options)]
    path = Path(parse_url(name).path) if name.lower().startswith("file:") else Path(name)
    try:
        path.stat()
    except PermissionError as error:
        raise InputError(f"{name} cannot be read: {error.strerror}", file=name) from error
    except OSError:  # a pattern, or a name that the checks below explain
        pass
    if not path.exists():
        path = path.expanduser()
    if path.is_dir():
        raise InputError(f"{name} is a directory: give its files, such as '{name.rstrip('/')}/*.csv'", file=name)
    if path.exists():
        return [Source(str(path), path)]
    if "://" in name and not name.lower().startswith("file:"):
        raise UsageError(f"{name} is in no store that can be read: download it, or pipe it in with -", file=name)
    found = [Path(match) for match in sorted(glob.glob(str(path), recursive=True)) if not Path(match).is_dir()]  # noqa: PTH207
    if not found:
        what = "matches no file" if glob.has_magic(name) else "does not exist"
        raise InputError(f"{name} {what}", file=name)
    return [Source(str(path), path) for path in found]


def format_of(name: str) -> Format:
    """The format that a file's name tells. Raises UsageError."""
    endings = [ending.lower() for ending in PurePosixPath(name).suffixes]
    if endings and endings[-1] in PACKED:
        endings.pop()
    if len(endings) > 1 and endings[-1][1:].isdigit():  # a log that was rotated: app.log.1
        endings.pop()
    found = ENDINGS.get(endings[-1]) if endings else None
    if found is None:
        raise UsageError(
            f"{name} has no ending that tells its format ({', '.join(ENDINGS)}, each with .gz, .zst or .bz2 too): "
            "give --format",
            file=name,
        )
    return found


@contextmanager
def readable_twice(sources: Sequence[Source]) -> Iterator[list[Source]]:
    """Sources that can be read twice: what comes from a pipe is copied to a temporary file."""
    with ExitStack() as stack:
        yield [_kept(source, stack) if source.once else source for source in sources]


def _kept(source: Source, stack: ExitStack) -> Source:
    from indextables.table.loading import scratch

    copy = stack.enter_context(scratch("import")) / "copy"
    with source.plain() as stream:
        _copied(stream, copy)
    return Source(source.name, copy)


def _copied(stream: IO[bytes], copy: Path) -> None:
    try:
        with copy.open("wb") as file:
            shutil.copyfileobj(stream, file, _BUFFER)
    except OSError as error:
        raise translate(error, str(copy.parent), copy.name, "put") from error
