"""The reference pages' examples run."""

from __future__ import annotations

import datetime as dt
import os
import re
import threading
import urllib.request
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from indextables import Table
from indextables.core.errors import FilesChanged

PAGES = Path(__file__).parent.parent / "docs" / "reference"


def test_the_example_of_streams(tmp_path: Path) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", (PAGES / "streams.md").read_text(), re.DOTALL)
    names: dict[str, Any] = {"place": str(tmp_path)}
    exec(example, names)
    assert names["first"].to_pydict() == {"id": [2]}
    assert names["second"].to_pydict() == {"id": [3]}
    assert names["seen"] == [3]


def test_the_purge_on_its_page(tmp_path: Path) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", (PAGES / "maintenance.md").read_text(), re.DOTALL)
    logs = Table.create(tmp_path / "logs", pa.schema([("id", pa.int64())]))
    logs.append(pa.table({"id": [1]}))
    orphan = tmp_path / "logs" / "splits" / "split-1.split"
    orphan.write_bytes(b"orphan")
    os.utime(orphan, (0, 0))
    names: dict[str, Any] = {"logs": logs}
    exec(example, names)
    assert names["planned"].paths == names["done"].paths == ("splits/split-1.split",)
    assert names["done"].status == "success"
    assert not orphan.exists()


def test_the_aggregate_on_its_page() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", (PAGES / "aggregates.md").read_text(), re.DOTALL)
    columns = {
        "ts": pa.array([dt.datetime(2026, 1, 1, hour, 30, tzinfo=dt.UTC) for hour in (1, 1, 2, 2)]),
        "level": ["ERROR", "ERROR", "ERROR", "WARN"],
        "service": ["api", "api", "api", "db"],
        "user": ["a", "b", "a", "c"],
        "ms": [5, 7, 9, 11],
        "message": ["timeout", "a timeout", "timeout, no retry", "timeout"],
    }
    rows = pa.table(columns).cast(
        pa.schema([*pa.table(columns).schema]).set(0, pa.field("ts", pa.timestamp("us", "UTC")))
    )
    logs = Table.create(
        "memory://reference/aggregates", rows.schema, options={"spark.indextables.indexing.typemap.message": "text"}
    )
    logs.append(rows)
    names: dict[str, Any] = {"logs": logs}
    exec(example, names)
    assert names["errors"].to_pylist() == [
        {
            "level": "ERROR",
            "date_histogram(ts, '1 hour')": dt.datetime(2026, 1, 1, 1, tzinfo=dt.UTC),
            "n": 2,
            "slowest": 7,
            "users": 2,
        }
    ]


def test_the_table_of_the_operations_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    table, _ = re.findall(r"```python\n(.*?)```", (PAGES / "operations.md").read_text(), re.DOTALL)
    exec(table, {})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "no_action the table needs nothing"
    assert [line.split()[0] for line in lines[1:]] == ["merge", "compact", "purge"]
    assert Table.open(tmp_path / "logs").version == 0


def test_the_metrics_of_the_operations_page() -> None:
    _, page = re.findall(r"```python\n(.*?)```", (PAGES / "operations.md").read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    exec(page, names)
    server = names["server"]
    names["metrics"].observe("indextables.state.write.duration_ms", 2.0)
    thread = threading.Thread(target=server.handle_request)
    thread.start()
    with urllib.request.urlopen(f"http://localhost:{server.server_address[1]}/metrics", timeout=30) as answer:
        text = answer.read().decode()
    thread.join(30)
    server.server_close()
    assert "indextables_state_write_duration_ms_count" in text
    assert text.endswith("# EOF\n")


def test_going_back_dropping_copying_and_replacing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = re.findall(r"```python\n(.*?)```", (PAGES / "changing-tables.md").read_text(), re.DOTALL)
    names: dict[str, Any] = {"place": str(tmp_path), "FilesChanged": FilesChanged}
    exec(first, names)
    assert names["t"].version == 5
    assert sorted(names["t"].scan().read_all().column("id").to_pylist()) == [2, 3]
    assert sorted(names["copy"].scan().read_all().column("id").to_pylist()) == [1, 2, 3]
    exec(second, names)
    assert capsys.readouterr().out == "5 6\n"
    assert sorted(names["mine"].scan().read_all().column("id").to_pylist()) == [2, 3, 9]


def test_the_change_feed_on_its_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = (PAGES / "changes.md").read_text()
    printed, standing, followed = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    expected = re.findall(r"```\n(2 delete.*?)```", page, re.DOTALL)
    logs = Table.create(tmp_path / "logs", "day string, id long, message text", ["day"])
    names: dict[str, Any] = {"logs": logs, "pa": pa}
    exec(printed, names)
    assert [capsys.readouterr().out] == expected
    exec(standing, names)
    assert names["alerts"](0) == (["disk full", "disk full"], 3)
    assert names["alerts"](1) == (["disk full"], 3)
    assert names["alerts"](3) == ([], 3)
    exec(followed, {**names, "first": Table.open(logs.url, version=1)})
