"""Logs of the original implementation, continued by us in many ways: no file is lost, none comes back, history stays."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from golden.test_golden_logs import CASES, QUIRKS, logs
from indextables import AddAction, Table
from indextables.core.errors import VersionNotFound
from indextables.log.cleanup import clean_up
from indextables.log.state.collect import collect_manifests
from tables import handle_of

NOT_CACHED = {"transaction.cache.enabled": False}
STEPS = ["add", "add", "remove", "remove", "again", "replace", "checkpoint", "clean", "collect", "age"]
__all__ = ["logs"]


class Life:
    """A table, and the paths that must be live in it."""

    def __init__(self, root: Path, seed: str) -> None:
        self.root = root
        self.rng = random.Random(seed)
        self.table = Table.open(root, options={"transaction.adoptForeign": True})
        self.live = set(self.found(self.table))
        self.number = 0
        self.commit(adds=["first.split"])  # whoever is asked to take a table over does so by writing to it
        self.history = {self.table.version: set(self.live)}

    def found(self, table: Table) -> list[str]:
        return table.files().column("path").to_pylist()

    def commit(self, adds: list[str], removes: list[str] | None = None) -> None:
        values = {name: self.rng.choice(["2026-01-01", "2024-02-29"]) for name in self.table.partition_columns}
        self.table.commit_files([AddAction(path, values, size=1, num_records=1) for path in adds], removes or [])
        self.live = (self.live - set(removes or [])) | set(adds)

    def new(self) -> str:
        self.number += 1
        return f"new-{self.number}.split"

    def some(self) -> list[str]:
        return self.rng.sample(sorted(self.live), min(len(self.live), self.rng.randint(1, 3)))

    def options(self) -> dict[str, Any]:
        choices: list[dict[str, Any]] = [
            NOT_CACHED,
            {"state.format": "json"},
            {"checkpoint.interval": self.rng.randint(1, 3)},
            {"transaction.compression.enabled": False},
            {"state.entriesPerManifest": self.rng.choice([1, 2, 7])},
            {"state.compression": self.rng.choice(["none", "snappy"])},
        ]
        chosen = {"transaction.adoptForeign": True}
        for choice in self.rng.sample(choices, self.rng.randint(0, 3)):
            chosen |= choice
        return chosen

    def step(self) -> str:
        verb = self.rng.choice(STEPS) if self.live else "add"
        self.table = Table.open(self.root, options=self.options())
        match verb:
            case "add":
                self.commit([self.new(), self.new()])
            case "remove":
                self.commit([], self.some())
            case "again":
                path = self.some()[0]
                self.commit([], [path])
                self.history[self.table.version] = set(self.live)
                self.commit([path])
            case "replace":
                self.commit([self.new(), self.new(), self.new()], self.some())
            case "checkpoint":
                self.table.checkpoint()
            case "clean":
                clean_up(handle_of(self.table))
            case "collect":
                collect_manifests(handle_of(self.table))
            case "age":
                self.age(self.rng.choice([1, 4, 40]))
        return verb

    def age(self, days: int) -> None:
        for path in self.root.rglob("*"):
            if path.is_file():
                then = path.stat().st_mtime - days * 86_400
                os.utime(path, (then, then))

    def check(self, what: Any) -> None:
        for options in ({}, NOT_CACHED):
            table = Table.open(self.root, options=options)
            assert sorted(self.found(table)) == sorted(self.live), what
        self.history[table.version] = set(self.live)

    def check_history(self) -> int:
        """How many versions are still there."""
        there = 0
        for version, live in self.history.items():
            try:
                then = Table.open(self.root, version=version)
            except VersionNotFound:
                continue
            assert sorted(self.found(then)) == sorted(live), version
            there += 1
        return there


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CASES + QUIRKS if not name.startswith("18")])
def test_whatever_is_done_to_it(logs: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(logs / name / "table", tmp_path / "table")
    life = Life(tmp_path / "table", name)
    done: list[str] = []
    for _ in range(8):
        done.append(life.step())
        life.check(done)
    assert life.check_history() >= 1
