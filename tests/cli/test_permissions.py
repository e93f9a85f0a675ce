"""The permission table of the page about running tables: it has every command, and each asks its store for nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from cli.support import log_rows, ok, write_csv
from indextables import Table
from indextables.cli.examples import EXAMPLES
from indextables.storage.remote import ObstoreStore

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "operations.md"
WITHOUT_STORE = {"cache", "stats", "profiler", "jobs", "environment"}
PERMISSIONS = ("list", "get", "put", "conditional put", "delete")
CALLS = {
    "list": "list",
    "get": "get",
    "get_range": "get",
    "get_ranges": "get",
    "head": "get",
    "put": "put",
    "create": "conditional put",
    "delete": "delete",
}
"""The permission that each method of a store needs."""
COMMANDS = (
    "create {new}-a --schema 'n long'",
    "import {t} {csv}",
    "import {new}-b {csv}",
    "search {t} timeout",
    "scan {t}",
    "count {t} --query timeout",
    "aggregate {t} --by level",
    "explain {t} --query timeout",
    "describe {t}",
    "partitions {t}",
    "tail {t}",
    "ls {t}",
    "export {t} {directory}/out.csv",
    "history {t}",
    "files {t}",
    "changes {t} --since 1",
    "state {t}",
    "log {t} --all",
    "components {t}",
    "fsck {t}",
    "verify {t}",
    "set {t} owner=ops",
    "unset {t} owner",
    "upgrade {t}",
    "prewarm {t} --option cache.disk.directory={directory}/cache",
    "checkpoint {t}",
    "merge {t}",
    "clone {t} {new}-c",
    "repair {t} --to {new}-log",
    "purge {t} --dry-run",
    "purge {t}",
    "restore {t} --version 2",
    "drop-partitions {t} --where \"host = 'node-1'\"",
    "optimize {t} --option mergeOnWrite.minSplits=2",
    "truncate-time-travel {t}",
    "fsck {t} --repair",
    "drop {t} --yes",
)


def allowed() -> dict[str, set[str]]:
    """The permissions that the page gives each command and method: those whose cells are not empty.

    A cell that names an option gives its permission to the command with that option only.
    """
    found: dict[str, set[str]] = {}
    for names, cells in re.findall(r"^\| (`.+?) \| ((?:[^|]*\| ?){5})$", PAGE.read_text("utf-8"), re.MULTILINE):
        given = [cell.strip() for cell in cells.split("|")[:5]]
        for name in re.findall(r"`([\w-]+)`", names):
            assert name not in found, f"{name} is in two rows"
            found[name] = {what for what, cell in zip(PERMISSIONS, given, strict=True) if cell and "--" not in cell}
            for option in set(re.findall(r"`(--[\w-]+)`", cells)):
                more = {what for what, cell in zip(PERMISSIONS, given, strict=True) if option in cell}
                found[f"{name} {option}"] = found[name] | more
    return found


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The permissions that stores were asked for, for as long as the test goes on."""
    used: set[str] = set()

    def noted(usual: Callable[..., Any], permission: str) -> Callable[..., Any]:
        def call(*arguments: Any, **more: Any) -> Any:
            used.add(permission)
            return usual(*arguments, **more)

        return call

    for name, permission in CALLS.items():
        monkeypatch.setattr(ObstoreStore, name, noted(getattr(ObstoreStore, name), permission))
    return used


def test_the_page_has_every_command_and_no_other_name() -> None:
    names = allowed().keys()
    assert set(EXAMPLES) - WITHOUT_STORE - {"sql"} <= names
    assert {name for name in names if name.split(" ")[0] not in EXAMPLES and not hasattr(Table, name)} == set()
    text = PAGE.read_text("utf-8")
    assert all(f"`{name}`" in text for name in WITHOUT_STORE | {"sql"})


def test_commands_ask_for_what_the_page_says(tmp_path: Path, asked: set[str]) -> None:
    """On a store that is asked over and over: also what is needed after others committed."""
    import shlex

    rows = log_rows(40)
    table = f"memory://{uuid4().hex}/t"
    csv = write_csv(tmp_path / "a.csv", rows[:10])
    for number in range(3):
        ok("import", table, csv, *(("--partition-by", "host") if number == 0 else ()))
    places = {"t": table, "new": f"memory://{uuid4().hex}/new", "csv": csv, "directory": tmp_path}
    permissions = allowed()
    for line in COMMANDS:
        words = [word.format(**places) for word in shlex.split(line)]
        asked.clear()
        ok(*words)
        assert asked, line
        name = " ".join([words[0], *(word for word in words if f"{words[0]} {word}" in permissions)])
        assert asked <= permissions[name], line
    assert {line.split(" ")[0] for line in COMMANDS} == set(EXAMPLES) - WITHOUT_STORE - {"sql"}


@pytest.mark.parametrize("line", ["cache", "stats storage", "profiler", "jobs merge", "environment"])
def test_commands_of_one_process_ask_no_store(line: str, asked: set[str]) -> None:
    ok(*line.split(" "))
    assert asked == set()
