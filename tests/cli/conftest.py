"""One table for all tests that only read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest

from cli.support import log_rows, ok, write_csv
from indextables.cli import reading
from indextables.cli.export import export
from indextables.cli.load import csv_file, json_file
from indextables.cli.render.screen import Screen
from indextables.cli.stop import STOP, Stop


@pytest.fixture(scope="session")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two versions: 400 rows, then 100 more."""
    directory = tmp_path_factory.mktemp("cli")
    rows = log_rows(500)
    ok("import", directory / "logs", write_csv(directory / "a.csv", rows[:400]))
    ok("import", directory / "logs", write_csv(directory / "b.csv", rows[400:]))
    return directory / "logs"


@pytest.fixture
def t() -> str:
    """A place for a table of one test, in memory."""
    return f"memory://{uuid4().hex}/t"


@pytest.fixture
def disk(tmp_path: Path, temporary_files_in: Callable[[Path], None]) -> Path:
    """Where temporary files go."""
    (tmp_path / "disk").mkdir()
    temporary_files_in(tmp_path / "disk")
    return tmp_path / "disk"


@pytest.fixture
def blocks_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """`blocks_of(size)`: files are read in blocks of so many bytes for the rest of the test."""

    def read(size: int) -> None:
        for module, name, bytes_at_once in (
            (csv_file, "_BLOCK", size),
            (json_file, "_CHUNK", size),
            (export, "_SLICE", size >> 6),
        ):
            monkeypatch.setattr(module, name, bytes_at_once)

    return read


@pytest.fixture
def waiting_is(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Stop, float], None]], None]:
    """`waiting_is(function)`: what commands do that wait, for the rest of the test. No signal came before."""

    def do(function: Callable[[Stop, float], None]) -> None:
        monkeypatch.setattr(Stop, "wait", function)
        monkeypatch.setattr(STOP, "signal", 0)

    return do


@pytest.fixture
def counting_is(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., object]], None]:
    """`counting_is(function)`: what the command `count` does for the rest of the test."""

    def do(function: Callable[..., object]) -> None:
        monkeypatch.setattr(reading, "count", function)

    return do


@pytest.fixture
def discarded(monkeypatch: pytest.MonkeyPatch) -> list[Screen]:
    """The screens that commands discard in this test. Nothing is done to the standard output of the test itself."""
    screens: list[Screen] = []
    monkeypatch.setattr(Screen, "discard", lambda screen: screens.append(screen))
    return screens
