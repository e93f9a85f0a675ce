"""The subject under test, through its public API."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workload import PARTITION, ROWS_PER_FILE, SCHEMA, Facts, facts

from indextables import AddAction, Table

_PREFIX = "spark.indextables."
PLAIN = {f"{_PREFIX}checkpoint.enabled": False}
"""Version files alone: neither we nor the others sum up the log while a commit is measured."""
COLD = {**PLAIN, f"{_PREFIX}transaction.cache.enabled": False}
CHECKPOINT_NOW = {
    f"{_PREFIX}checkpoint.enabled": True,
    f"{_PREFIX}checkpoint.interval": 1,
    f"{_PREFIX}state.format": "json",
    f"{_PREFIX}cleanup.enabled": False,
}


def action(fact: Facts) -> AddAction:
    names = SCHEMA.names
    return AddAction(
        path=fact.path,
        partition_values={PARTITION: fact.date},
        size=fact.size,
        modification_time=fact.modified_ms,
        num_records=ROWS_PER_FILE,
        min_values={name: str(value) for name, value in zip(names, fact.low, strict=False)},
        max_values={name: str(value) for name, value in zip(names, fact.high, strict=False)},
    )


def build(where: Path, versions: int, files_per_version: int) -> None:
    """A table of `versions` commits after its creation."""
    table = Table.create(where, SCHEMA, partition_by=[PARTITION], options=PLAIN)
    for number in range(versions):
        table.commit_files(adds=[action(fact) for fact in facts(number * files_per_version, files_per_version)])


def write_checkpoint(where: Path) -> None:
    """Commit a version and write a JSON checkpoint of the table at that version."""
    Table.open(where, options=CHECKPOINT_NOW).commit_files(properties={"measured": "yes"})
    if not list(where.glob("_transaction_log/*.checkpoint*.json")):
        raise AssertionError(f"no JSON checkpoint was written in {where}")


class Handle:
    """A table kept open."""

    def __init__(self, where: Path) -> None:
        self._table = Table.open(where, options=PLAIN)

    def live(self) -> int:
        return self._table.files().num_rows

    def prepare(self, first: int, count: int) -> Any:
        return [action(fact) for fact in facts(first, count)]

    def commit(self, prepared: Any) -> None:
        self._table.commit_files(adds=prepared)

    def refresh(self) -> None:
        self._table.refresh()


def cold_open(where: Path) -> Any:
    return Table.open(where, options=COLD)


def cold_files(opened: Any) -> int:
    return opened.files().num_rows
