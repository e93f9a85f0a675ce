"""One table for all tests that only read."""

from __future__ import annotations

import tempfile
from pathlib import Path
from uuid import uuid4

import pytest

from cli.support import log_rows, ok, write_csv


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
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go."""
    (tmp_path / "disk").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "disk"))
    return tmp_path / "disk"
