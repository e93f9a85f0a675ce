"""Directories for work in progress on local disk, gone afterwards, also after the process was killed.

Each has a file that its owner holds locked. The kernel takes the lock from the dead, so whoever finds it free removes the
directory: every process looks once, and again after an hour. A directory gets its name when it is locked, and loses the file
last: one that can be found and is not locked is nobody's. So is one that has no name an hour after somebody began to make it.
"""

from __future__ import annotations

import fcntl
import gc
import logging
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from indextables.split.cache.file_lock import try_lock
from indextables.storage.error_translation import translate

logger = logging.getLogger("indextables")

OWNER: Final = ".indextables-owner"
_NAME: Final = re.compile(r"indextables-[a-z]+-\w{8}")
_UNFINISHED: Final = re.compile(rf"\.{_NAME.pattern}")
"""The names of directories that are being made, and are not locked yet."""
_MADE_WITHIN_SECONDS: Final = 3600.0
"""Seconds after which a directory that is not locked yet is nobody's: making one takes milliseconds."""
_LOOK_EVERY_SECONDS: Final = 3600.0
"""Seconds between two looks for directories that killed processes left: rare, because listing a full /tmp takes time."""
_LOOKED: Final[dict[Path, float]] = {}


@contextmanager
def scratch(purpose: str) -> Iterator[Path]:
    """A directory of our own on local disk, gone afterwards. Raises StorageError where there can be none."""
    place = Path(tempfile.gettempdir())
    _sweep_now_and_then(place)
    try:
        directory, lock = _made(place, f"indextables-{purpose}-")
    except OSError as error:
        raise translate(error, str(place), "", "put") from error
    try:
        yield directory
    finally:
        _remove(directory)
        os.close(lock)


def _made(place: Path, prefix: str) -> tuple[Path, int]:
    """A new directory, and the descriptor that holds its lock. Nobody else can want the lock before the directory has a name."""
    hidden = Path(tempfile.mkdtemp(prefix=f".{prefix}", dir=place))
    try:
        lock = os.open(hidden / OWNER, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with suppress(OSError):  # a file system without locks: nobody can find such a directory free either
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return hidden.rename(place / hidden.name[1:]), lock
        except BaseException:
            os.close(lock)
            raise
    except BaseException:
        shutil.rmtree(hidden, ignore_errors=True)
        raise


def _sweep_now_and_then(place: Path) -> None:
    now = time.monotonic()
    if now - _LOOKED.get(place, -_LOOK_EVERY_SECONDS) < _LOOK_EVERY_SECONDS:
        return
    _LOOKED[place] = now
    try:
        with os.scandir(place) as entries:
            named = [entry for entry in entries if _NAME.fullmatch(entry.name.removeprefix("."))]
            found = [Path(entry.path) for entry in named if _is_ours(entry)]
    except OSError as error:
        logger.info("%s was not searched for what killed processes left: %s", place, error)
        return
    for directory in found:
        if _UNFINISHED.fullmatch(directory.name):
            _remove_if_unfinished(directory)
        else:
            _remove_if_dead(directory)


def _is_ours(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_uid == os.geteuid()
    except FileNotFoundError:
        return False


def _remove_if_dead(directory: Path) -> None:
    try:
        lock = try_lock(directory / OWNER, exclusive=True)
    except OSError:  # no directory of this kind, or somebody else removes it right now
        return
    if lock is None:
        return
    try:
        logger.info("%s is removed: the process that used it is gone", directory)
        _remove(directory)
    finally:
        os.close(lock)


def _remove_if_unfinished(directory: Path) -> None:
    """Remove a directory that somebody began to make long ago, and left without a name."""
    with suppress(OSError):  # another process was faster
        if time.time() - directory.stat().st_mtime < _MADE_WITHIN_SECONDS:
            return
        if {path.name for path in directory.iterdir()} <= {OWNER}:
            (directory / OWNER).unlink(missing_ok=True)
            directory.rmdir()
            logger.info("%s is removed: nobody finished it", directory)


def _remove(directory: Path) -> None:
    assert _NAME.fullmatch(directory.name), f"{directory} is not a scratch directory, and is not removed"
    _empty(directory)
    shutil.rmtree(directory, ignore_errors=True)
    if directory.exists():
        gc.collect()  # without a free file handle nothing can be listed: what nobody uses any more may hold some
        _empty(directory)
        shutil.rmtree(directory, ignore_errors=True)
        if directory.exists():
            logger.warning("%s could not be removed, and holds disk space until somebody does", directory)


def _empty(directory: Path) -> None:
    """Remove everything but the lock's file: who is killed meanwhile must not leave what nobody can recognise."""
    assert _NAME.fullmatch(directory.name), f"{directory} is not a scratch directory, and is not emptied"
    with suppress(OSError):  # the caller looks whether it worked
        for path in directory.iterdir():
            if path.name == OWNER:
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
