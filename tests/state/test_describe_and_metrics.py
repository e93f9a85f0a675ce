"""`Table.state`, and what a monitor sees: as a dict, as OpenMetrics text, and as it happens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from indextables import AddAction, Table
from indextables.core.metrics import METRICS, Metrics
from indextables.log.open_snapshot import open_log
from indextables.table.handle import TableHandle
from log.support import MemoryStore, make_log
from state.legacy import put_table
from state.support import committed, fresh, grown, many_files, stated, table

PROPERTIES = [
    "format",
    "version",
    "numFiles",
    "totalBytes",
    "numManifests",
    "numTombstones",
    "tombstoneRatio",
    "needsCompaction",
    "skippedFiles",
    "createdAt",
    "protocolVersion",
]


def described(t: Table) -> dict[str, str]:
    rows = t.state()
    assert rows.schema.equals(pa.schema([("property", pa.string()), ("value", pa.string())]))
    assert rows["property"].to_pylist() == PROPERTIES
    return dict(zip(rows["property"].to_pylist(), rows["value"].to_pylist(), strict=True))


class TestState:
    def test_of_an_avro_state(self) -> None:
        store = MemoryStore()
        log = make_log(store)
        snapshot = stated(log, grown(log, many_files(200)))
        snapshot = stated(log, committed(log, snapshot, ["new"], ["splits/split-0.split", "splits/split-1.split"]))
        found = described(Table(TableHandle(log, fresh(store))))
        assert found == {
            "format": "avro-state",
            "version": "2",
            "numFiles": "199",
            "totalBytes": str(200 * 201 // 2 - 3 + 100),
            "numManifests": "2",
            "numTombstones": "2",
            "tombstoneRatio": "1.01%",
            "needsCompaction": "false",
            "skippedFiles": "0",
            "createdAt": found["createdAt"],
            "protocolVersion": "4",
        }
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", found["createdAt"])

    def test_needs_compaction(self) -> None:
        store = MemoryStore()
        log = make_log(store, {"state.compaction.tombstoneThreshold": 0.6})
        snapshot = stated(log, grown(log, many_files(20)))
        snapshot = stated(log, committed(log, snapshot, removes=[f"splits/split-{n}.split" for n in range(8)]))
        found = described(Table(TableHandle(make_log(store), fresh(store))))
        assert (found["tombstoneRatio"], found["needsCompaction"]) == ("66.67%", "true")

    def test_reads_no_manifest(self) -> None:
        store = MemoryStore()
        log = make_log(store)
        stated(log, committed(log, table(log), ["f1"]))
        for key in [key for key in store.objects if "/manifests/" in key]:
            del store.objects[key]
        assert described(Table(TableHandle(log, fresh(store))))["numFiles"] == "1"

    def test_of_a_json_checkpoint_and_of_none(self) -> None:
        store = MemoryStore()
        put_table(store)
        log = make_log(store)
        found = described(Table(TableHandle(log, open_log(log))))
        assert (found["format"], found["version"], found["numFiles"], found["protocolVersion"]) == (
            "json",
            "4",
            "16",
            "2",
        )
        store = MemoryStore()
        log = make_log(store)
        found = described(Table(TableHandle(log, committed(log, table(log), ["f1", "f2"]))))
        assert (found["format"], found["version"], found["numFiles"], found["totalBytes"]) == ("none", "1", "2", "200")


@pytest.fixture
def metrics() -> Iterator[Metrics]:
    METRICS.reset()
    yield METRICS
    METRICS.reset()


def busy(url: Path) -> None:
    options = {"checkpoint.interval": 2, "transaction.cache.enabled": False}
    t = Table.create(url, pa.schema([("id", pa.int64())]), options=options)
    t.commit_files([AddAction(f"f{n}", size=1) for n in range(40)])
    t.commit_files([AddAction("g", size=1)])
    t = Table.open(url, options=options)
    t.commit_files(removes=["f1"])
    t.commit_files([AddAction("h", size=1)], ["f2"])
    assert Table.open(url, options=options).files().num_rows == 40


class TestMetrics:
    def test_every_number_that_the_format_names(self, metrics: Metrics, tmp_path: Path) -> None:
        busy(tmp_path)
        found = {name: series for name, series in metrics.snapshot().items() if name.startswith("indextables.state.")}
        assert set(found) == {
            "indextables.state.read.duration_ms",
            "indextables.state.read.manifest_count",
            "indextables.state.read.file_count",
            "indextables.state.write.duration_ms",
            "indextables.state.write.compacted",
            "indextables.state.tombstone_count",
            "indextables.state.tombstone_ratio",
        }
        assert all(set(series) == {"count", "sum", "last"} for series in found.values())
        assert found["indextables.state.write.compacted"] == {"count": 2, "sum": 1.0, "last": 0.0}
        assert found["indextables.state.write.duration_ms"]["count"] == 2
        assert found["indextables.state.write.duration_ms"]["sum"] > 0
        assert found["indextables.state.tombstone_count"]["last"] == 2
        assert found["indextables.state.tombstone_ratio"]["last"] == pytest.approx(2 / 40)
        assert found["indextables.state.read.manifest_count"]["last"] == 2
        assert found["indextables.state.read.file_count"]["last"] == 40

    def test_openmetrics_says_the_same(self, metrics: Metrics, tmp_path: Path) -> None:
        busy(tmp_path)
        metrics.observe("indextables.test.large", 123_456_789.0)
        metrics.observe("indextables.test.large", 0.125)
        samples, types = parse_openmetrics(metrics.openmetrics())
        for name, series in metrics.snapshot().items():
            plain = name.replace(".", "_")
            assert samples[f"{plain}_count"] == series["count"]
            assert samples[f"{plain}_sum"] == pytest.approx(series["sum"], rel=1e-12)
            assert samples[f"{plain}_last"] == pytest.approx(series["last"], rel=1e-12)
            assert (types[plain], types[f"{plain}_last"]) == ("summary", "gauge")
        for name, total in metrics.counters().items():
            plain = name.replace(".", "_")
            assert (samples[f"{plain}_total"], types[plain]) == (total, "counter")
        assert len(samples) == 3 * len(metrics.snapshot()) + len(metrics.counters())

    def test_nothing_yet(self) -> None:
        assert Metrics().openmetrics() == "# EOF\n"
        assert Metrics().snapshot() == {}

    def test_a_subscriber_sees_each_value_until_it_ends(self) -> None:
        metrics, seen = Metrics(), []
        end = metrics.subscribe(lambda name, value: seen.append((name, value)))
        metrics.observe("a", 1)
        metrics.observe("b", 2.5)
        end()
        metrics.observe("a", 3)
        assert seen == [("a", 1), ("b", 2.5)]
        assert metrics.snapshot()["a"] == {"count": 2, "sum": 4, "last": 3}
        metrics.reset()
        assert metrics.snapshot() == {}

    def test_a_failure_is_timed_too(self) -> None:
        metrics = Metrics()
        with pytest.raises(ZeroDivisionError), metrics.timed("t"):
            _ = 1 / 0
        assert metrics.snapshot()["t"]["count"] == 1


def parse_openmetrics(text: str) -> tuple[dict[str, float], dict[str, str]]:
    """Samples and types, by the grammar: every line is a type, a sample of the family before it, or the end."""
    assert text.endswith("# EOF\n")
    samples: dict[str, float] = {}
    types: dict[str, str] = {}
    family = ""
    for line in text.split("\n")[:-2]:
        if line.startswith("# TYPE "):
            _, _, family, kind = line.split(" ")
            assert family not in types
            assert re.fullmatch(r"[a-zA-Z_:][a-zA-Z0-9_:]*", family)
            types[family] = kind
            continue
        name, number = line.split(" ")
        suffixes = {"summary": ("_count", "_sum"), "gauge": ("",), "counter": ("_total",)}[types[family]]
        assert name in {family + suffix for suffix in suffixes}
        assert name not in samples
        samples[name] = float(number)
    return samples, types
