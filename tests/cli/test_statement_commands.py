"""Commands that are statements under shorter names: the same rows as the statements."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from cli.support import ok, run
from indextables import Table
from indextables.cli.errors import USAGE


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Table:
    """A table in the directory that commands run in, under the name `logs`."""
    monkeypatch.chdir(tmp_path)
    made = Table.create(tmp_path / "logs", "day date, message text", partition_by=["day"])
    for day in ("2026-01-01", "2026-01-02"):
        made.append(pa.table({"day": pa.array([day]).cast(pa.date32()), "message": ["disk full"]}))
    return made


@pytest.mark.parametrize(
    ("command", "statement"),
    [
        (("state", "logs"), "DESCRIBE INDEXTABLES STATE logs"),
        (("log", "logs"), "DESCRIBE INDEXTABLES TRANSACTION LOG logs"),
        (("log", "logs", "--all"), "DESCRIBE INDEXTABLES TRANSACTION LOG logs INCLUDE ALL"),
        (("components", "logs"), "DESCRIBE INDEXTABLES COMPONENT SIZES logs"),
        (
            ("components", "logs", "--where", "day = DATE '2026-01-02'"),
            "DESCRIBE INDEXTABLES COMPONENT SIZES logs WHERE day = DATE '2026-01-02'",
        ),
        (("cache",), "DESCRIBE INDEXTABLES DISK CACHE"),
        (("environment",), "DESCRIBE INDEXTABLES ENVIRONMENT"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_command_says_what_its_statement_says(table: Table, command: tuple[str, ...], statement: str) -> None:
    found = ok(*command, "--json").rows
    assert found
    assert found == ok("sql", statement, "--json").rows


def test_properties_are_set_and_dropped(table: Table) -> None:
    assert ok("set", "logs", "owner=ops", "note=a = b", "--json").rows[0]["status"] == "success"
    assert {"owner": "ops", "note": "a = b"}.items() <= table.refresh().properties.items()
    ok("unset", "logs", "owner")
    assert "owner" not in table.refresh().properties
    assert table.properties["note"] == "a = b"


def test_a_property_without_a_value_changes_nothing(table: Table) -> None:
    before = table.version
    result = run("set", "logs", "owner=ops", "note")
    assert (result.code, result.err) == (USAGE, "error: 'note' is no property: write key=value, such as owner=ops\n")
    assert table.refresh().version == before


def test_the_cache_is_flushed(table: Table, tmp_path: Path) -> None:
    options = {"cache.disk.directory": str(tmp_path / "cache")}
    Table.open(table.url, options=options).prewarm()
    there = ("--option", f"cache.disk.directory={tmp_path / 'cache'}", "--json")
    assert ok("cache", *there).rows[0]["splits_cached"] == 2
    assert ok("cache", "flush", *there).rows[0]["cleared_entries"] >= 2
    assert ok("cache", *there).rows[0]["splits_cached"] == 0


def test_an_error_is_an_error_of_the_command(table: Table) -> None:
    assert "there is no table at" in run("state", "nothing").err
    assert "colour" in run("components", "logs", "--where", "colour = 1").err
