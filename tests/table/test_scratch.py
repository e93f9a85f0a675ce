"""Scratch directories: gone afterwards, and swept by others when their owner was killed."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from indextables.core.errors import StorageError
from indextables.table.build import scratch_directory as module
from indextables.table.build.scratch_directory import OWNER, scratch

OWNING = """
import sys, time
from indextables.table.build.scratch_directory import scratch
with scratch("write") as directory:
    (directory / "x.work" / "deep").mkdir(parents=True)
    (directory / "x.work" / "deep" / "rows").write_bytes(bytes(1000))
    print(directory, flush=True)
    time.sleep(600)
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, temporary_files_in: Callable[[Path], None]) -> Path:
    temporary_files_in(tmp_path)
    monkeypatch.setattr(module, "_LOOKED", {})
    return tmp_path


@contextmanager
def another_process(place: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A process that sits in a scratch directory."""
    environment = {**os.environ, "TMPDIR": str(place), "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", OWNING], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        try:
            directory = process.stdout.readline().strip()
            assert Path(directory).parent == place, f"the other process printed {directory!r} for its directory"
            yield process, Path(directory)
        finally:
            process.kill()


def sweep() -> None:
    """What the next process would do first."""
    module._LOOKED.clear()
    with scratch("merge"):
        pass


def test_is_there_and_gone(place: Path) -> None:
    with scratch("write") as directory:
        assert directory.parent == place
        assert directory.name.startswith("indextables-write-")
        (directory / "spool").mkdir()
        (directory / "spool" / "0.spool").write_bytes(b"rows")
    assert list(place.iterdir()) == []


def test_is_gone_after_an_error(place: Path) -> None:
    def fail() -> None:
        with scratch("write") as directory:
            (directory / "rows").write_bytes(b"rows")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert list(place.iterdir()) == []


def test_what_a_killed_process_left_is_swept(place: Path) -> None:
    with another_process(place) as (process, theirs):
        assert theirs.parent == place
        sweep()
        assert (theirs / "x.work" / "deep" / "rows").exists(), "it is alive"
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert theirs.exists()
        sweep()
        assert list(place.iterdir()) == []


def test_those_of_this_process_stay(place: Path) -> None:
    with scratch("write") as first:
        sweep()
        assert list(place.iterdir()) == [first]


def test_nobody_elses_directories_are_touched(place: Path) -> None:
    foreign = place / "indextables-write-abcdefgh"
    (foreign / "kept").mkdir(parents=True)
    other = place / "other"
    other.mkdir()
    (other / OWNER).touch()
    (place / "indextables-merge-12345678").symlink_to(other)
    (place / "indextables-1000").mkdir()
    (place / "indextables-1000" / OWNER).touch()
    before = sorted(place.rglob("*"))
    sweep()
    assert sorted(place.rglob("*")) == before


def test_what_was_half_removed_is_swept(place: Path) -> None:
    with another_process(place) as (process, theirs):
        process.kill()
        process.wait()
    module._empty(theirs)
    assert [path.name for path in theirs.iterdir()] == [OWNER]
    sweep()
    assert list(place.iterdir()) == []


def test_what_was_never_finished_is_swept_after_an_hour(place: Path) -> None:
    old, older, young, foreign = (place / f".indextables-merge-{number}2345678" for number in range(4))
    for directory in (old, older, young, foreign):
        directory.mkdir()
    (older / OWNER).touch()
    (foreign / "rows").touch()
    long_ago = time.time() - 3700
    for directory in (old, older, foreign):
        os.utime(directory, (long_ago, long_ago))
    sweep()
    assert sorted(place.iterdir()) == [young, foreign]
    assert (foreign / "rows").exists()


@pytest.mark.parametrize("name", ["", ".", "somebody's", "indextables-1000"])
def test_no_other_directory_is_ever_emptied(place: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    (place / name / "kept").mkdir(parents=True)
    with pytest.raises(AssertionError, match="not a scratch directory"):
        module._remove(Path(name))
    assert (place / name / "kept").exists()


def test_others_are_looked_for_once_in_a_while(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with scratch("write"):
        pass
    with another_process(place) as (process, theirs):
        process.kill()
        process.wait()
    with scratch("write"):
        pass
    assert theirs.exists()
    later = time.monotonic() + 3601
    monkeypatch.setattr(time, "monotonic", lambda: later)
    with scratch("write"):
        pass
    assert not theirs.exists()


def test_without_room(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    really = os.open

    def full(path: Any, *how: Any, **more: Any) -> int:
        if str(path).endswith(OWNER):
            raise OSError(errno.ENOSPC, "no space left on device")
        return really(path, *how, **more)

    monkeypatch.setattr(os, "open", full)
    with pytest.raises(StorageError, match="no space left on device"), scratch("write"):
        pass
    assert list(place.iterdir()) == []


def test_without_locks(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(fcntl, "flock", refused)
    with scratch("write") as directory:
        sweep()
        assert directory.exists()
    assert list(place.iterdir()) == []


def test_where_nothing_can_be_listed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> None:
        raise PermissionError(errno.EACCES, "not here")

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", refused)
        begun = scratch("write")
        directory = begun.__enter__()
    assert directory.exists()
    begun.__exit__(None, None, None)
    assert list(place.iterdir()) == []
