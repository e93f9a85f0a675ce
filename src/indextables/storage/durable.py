"""Files that are whole or absent, and durable once written: how the local store writes.

    temporary file in the target's directory → write → touch → fsync → link or rename → fsync of the directory

The temporary file of a new object has no name at all where the system can do that (O_TMPFILE: a quarter faster, and a
killed writer leaves nothing behind); otherwise it has a name that `TEMPORARY` recognises.

The touch keeps the time that the file system gave and replaces what is below a millisecond by chance. The kernel's clock
ticks every few milliseconds and inode numbers are used again at once, so without it an object that is deleted and created
again could keep its ETag, and the ETag of version 0 is how readers notice that a table was replaced.
"""

# ruff: noqa: PTH104, PTH108, PTH112
# Paths are text here: Path objects would cost more than the system calls.

from __future__ import annotations

import ctypes
import errno
import functools
import os
import re
import secrets
from collections.abc import Callable

from indextables.core.errors import StoreMisconfigured

TEMPORARY = re.compile(r"\.indextables-[0-9a-f]{16}\.tmp|[^#].*#[0-9]+", re.DOTALL)
"""Names that are no objects: our own temporary files, and those (`name#1`) that obstore's local store leaves behind."""

_MILLISECOND = 1_000_000
"""Nanoseconds of a millisecond."""
_RENAME_NOREPLACE = 1
"""Linux: the flag of `renameat2` that makes it fail where the new name exists."""
_AT_FDCWD = -100
"""Linux: paths are relative to the working directory."""

_NAMED = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_UNNAMED = os.O_WRONLY | getattr(os, "O_TMPFILE", 0) | os.O_CLOEXEC

_NO_UNNAMED = frozenset({errno.EISDIR, errno.ENOENT, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EXDEV})
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV})
_NO_RENAME = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP})
_NO_DIRECTORY_SYNC = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP})
_STAYS = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EIO, errno.EROFS, errno.EACCES})


def is_temporary(name: str) -> bool:
    """Whether a file's name is kept for temporary files."""
    return ("#" in name or name.startswith(".indextables-")) and TEMPORARY.fullmatch(name) is not None


class NotWritten(OSError):
    """The file's bytes could not be written: its name was never given, and never will be."""


class NotSynced(OSError):
    """The file is there under its name, but the disk did not confirm that it will survive a power cut."""


def write_new(directory: str, name: str, data: bytes) -> None:
    """Write a file unless its name is taken (FileExistsError), durably.

    Raises NotWritten when it certainly was not written, NotSynced when it was, but perhaps not for good.
    """
    if not _write_unnamed(directory, name, data):
        temporary = _write_named(directory, data)
        try:
            _link_new(temporary, f"{directory}/{name}")
        except BaseException:
            _discard(temporary)
            raise
    try:
        sync_directory(directory)
    except OSError as error:
        raise NotSynced(error.errno, error.strerror, f"{directory}/{name}") from error


def write_over(directory: str, name: str, data: bytes) -> None:
    """Write a file, in place of any other of its name, durably."""
    temporary = _write_named(directory, data)
    try:
        os.rename(temporary, f"{directory}/{name}")
    except BaseException:
        _discard(temporary)
        raise
    sync_directory(directory)


def sync_directory(directory: str) -> None:
    """Make the names in a directory durable; where a file system cannot do that for a directory, it is taken as it is."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in _NO_DIRECTORY_SYNC:
            raise
    finally:
        os.close(fd)


def _write_unnamed(directory: str, name: str, data: bytes) -> bool:
    """Write to a file without a name, then give it one. False, and nothing done, where the system cannot."""
    if not _unnamed_files():
        return False
    try:
        fd = os.open(directory, _UNNAMED, 0o666)
    except OSError as error:
        if error.errno not in _NO_UNNAMED:
            raise
        return False
    try:
        _fill(fd, data)
        os.link(f"/proc/self/fd/{fd}", f"{directory}/{name}", src_dir_fd=fd, follow_symlinks=True)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        return False
    finally:
        os.close(fd)
    return True


def _write_named(directory: str, data: bytes) -> str:
    temporary = f"{directory}/.indextables-{secrets.token_hex(8)}.tmp"
    fd = os.open(temporary, _NAMED, 0o666)
    try:
        try:
            _fill(fd, data)
        finally:
            os.close(fd)
    except BaseException:
        _discard(temporary)
        raise
    return temporary


def _fill(fd: int, data: bytes) -> None:
    try:
        _fill_now(fd, data)
    except OSError as error:
        raise NotWritten(error.errno, error.strerror) from error


def _fill_now(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
    modified = os.fstat(fd).st_mtime_ns // _MILLISECOND * _MILLISECOND + secrets.randbelow(_MILLISECOND)
    os.utime(fd, ns=(modified, modified))
    os.fsync(fd)


def _link_new(temporary: str, path: str) -> None:
    """Give a file another name that must be free.

    By a hard link, and where there are none by a rename that does not replace. Without either the store is refused,
    because a put-if-absent made of a look and a write would lose commits.
    """
    try:
        os.link(temporary, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        _rename_new(temporary, path)
        return
    _discard(temporary)


def _rename_new(temporary: str, path: str) -> None:
    rename = _renameat2()
    code = errno.ENOSYS
    if rename is not None:
        if rename(_AT_FDCWD, os.fsencode(temporary), _AT_FDCWD, os.fsencode(path), _RENAME_NOREPLACE) == 0:
            return
        code = ctypes.get_errno()
    if code in _NO_RENAME:
        raise StoreMisconfigured(
            f"the file system of {path} has neither hard links nor a rename that does not replace, "
            "so commits would not be safe on it: choose another place for the table",
            path=path,
        )
    raise OSError(code, os.strerror(code), path)


def _discard(temporary: str) -> None:
    """Remove a temporary file. One that has to stay is hidden, and swept later."""
    try:
        os.unlink(temporary)
    except OSError as error:
        if error.errno not in _STAYS:
            raise


@functools.cache
def _unnamed_files() -> bool:
    return hasattr(os, "O_TMPFILE") and os.path.isdir("/proc/self/fd")


@functools.cache
def _renameat2() -> Callable[[int, bytes, int, bytes, int], int] | None:
    function = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if function is None:
        return None
    function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    function.restype = ctypes.c_int
    call: Callable[[int, bytes, int, bytes, int], int] = function
    return call
