"""`Table`, the way people use it."""

from __future__ import annotations

import json
import os
import pickle
import time
import uuid
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from indextables import AddAction, Table
from indextables.core.errors import (
    ChangesGone,
    CommitError,
    FilesChanged,
    MetadataChanged,
    OptionError,
    PredicateError,
    SchemaError,
    TableExists,
    TableNotFound,
    UnsafePath,
    VersionNotFound,
)
from indextables.core.types import arrow_to_spark_json
from indextables.log.actions import TxnAction
from indextables.log.log_cache import LogCache
from indextables.table.handle import TableHandle
from tables import handle_of

SCHEMA = pa.schema([("id", pa.int64()), ("message", pa.string()), ("day", pa.date32())])


@pytest.fixture(params=["local", "memory"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "table") if request.param == "local" else f"memory://{uuid.uuid4().hex}/table"


def add(path: str, day: str | None = None, **fields: Any) -> AddAction:
    return AddAction(path, {"day": day} if day else {}, **{"size": 10, "num_records": 5, **fields})


def paths(table: Table, where: str | None = None) -> list[str]:
    return sorted(table.files(where).column("path").to_pylist())


class TestCreate:
    def test_a_new_table(self, url: str) -> None:
        table = Table.create(url, SCHEMA, partition_by=["day"])
        assert (table.version, table.url, table.partition_columns) == (0, url, ("day",))
        assert table.schema == SCHEMA
        assert table.files().num_rows == 0
        assert table.properties == {}
        assert repr(table) == f"Table({url!r}, version=0)"
        assert uuid.UUID(table.id)

    def test_from_sparks_json(self, url: str) -> None:
        assert Table.create(url, arrow_to_spark_json(SCHEMA)).schema == SCHEMA

    def test_from_anything_else(self, url: str) -> None:
        with pytest.raises(
            SchemaError, match=r"pyarrow\.Schema, Spark's JSON, or text such as 'id long, m text', not dict"
        ):
            Table.create(url, {"id": "long"})  # type: ignore[arg-type]

    def test_one_that_exists(self, url: str) -> None:
        first = Table.create(url, SCHEMA)
        with pytest.raises(TableExists, match=r"there is a table at .* already"):
            Table.create(url, SCHEMA)
        other = pa.schema([("other", pa.string())])
        again = Table.create(url, other, if_exists="open")
        assert (again.id, again.schema) == (first.id, SCHEMA), "it is opened as it is"
        again.commit_files([add("a")])
        assert first.refresh().version == 1

    def test_if_exists_knows_two_words(self, url: str) -> None:
        with pytest.raises(OptionError, match="'overwrite', but must be 'error' or 'open'"):
            Table.create(url, SCHEMA, if_exists="overwrite")  # type: ignore[arg-type]
        with pytest.raises(TableNotFound):
            Table.open(url)

    def test_options_of_the_table_are_stored_and_others_are_not(self, url: str) -> None:
        options = {
            "spark.indextables.INDEXING.TYPEMAP.message": "text",
            "safetyAge.hours": 48,
            "transaction.retry.maxAttempts": 3,
        }
        Table.create(url, SCHEMA, options=options)
        assert Table.open(url).properties == {
            "spark.indextables.indexing.typemap.message": "text",
            "spark.indextables.safetyAge.hours": "48",
        }

    @pytest.mark.parametrize("verb", ["create", "open"])
    def test_unknown_options_are_rejected_all_at_once_with_the_nearest_name(self, url: str, verb: str) -> None:
        options = {"safetyAge.hour": 1, "spark.indextables.transaction.retry.maxAttempt": 2, "cache": "x"}
        arguments: dict[str, Any] = {"options": options} | ({"schema": SCHEMA} if verb == "create" else {})
        with pytest.raises(OptionError) as raised:
            getattr(Table, verb)(url, **arguments)
        for name in ("spark.indextables.safetyAge.hours", "spark.indextables.transaction.retry.maxAttempts", "cache"):
            assert name in str(raised.value)
        with pytest.raises(TableNotFound):
            Table.open(url)

    def test_paths_and_file_urls_mean_the_same_table(self, tmp_path: Path) -> None:
        table = Table.create(tmp_path / "t", SCHEMA)
        assert Table.open(f"file://{tmp_path}/t").id == table.id
        assert Table.open(str(tmp_path / "t") + "/").id == table.id


class TestOpen:
    def test_nothing_there(self, url: str) -> None:
        with pytest.raises(TableNotFound, match=r"there is no table at .*; create one with Table\.create"):
            Table.open(url)

    def test_an_older_version_is_history(self, url: str) -> None:
        table = Table.create(url, SCHEMA)
        for name in "abc":
            table.commit_files([add(name)])
        old = Table.open(url, version=2)
        assert (old.version, paths(old)) == (2, ["a", "b"])
        assert old.refresh().version == 2
        with pytest.raises(
            CommitError, match="opened at version 2, which is history; open it without a version to write"
        ):
            old.commit_files([add("d")])
        assert Table.open(url).version == 3

    def test_a_version_that_does_not_exist(self, url: str) -> None:
        Table.create(url, SCHEMA)
        with pytest.raises(VersionNotFound, match=r"is at version 0, version 9 does not exist \(newest: 0\)"):
            Table.open(url, version=9)

    def test_version_and_timestamp(self, url: str) -> None:
        with pytest.raises(OptionError, match="not both"):
            Table.open(url, version=1, timestamp="2026-01-01")

    def test_a_time(self, url: str) -> None:
        table = Table.create(url, SCHEMA)
        times = [_time(table)]
        for name in "abc":
            time.sleep(0.002)
            table.commit_files([add(name)])
            times.append(_time(table))
        for version, moment in enumerate(times):
            same = [
                moment,
                moment.replace(tzinfo=None),
                moment.astimezone(timezone(timedelta(hours=5, minutes=30))),
                moment.isoformat(),
                moment.replace(tzinfo=None).isoformat(" "),
                moment.isoformat().replace("+00:00", "Z"),
                moment + timedelta(microseconds=999),
            ]
            for timestamp in same:
                opened = Table.open(url, timestamp=timestamp)
                assert opened.version == version, timestamp
            with pytest.raises(CommitError, match="history"):
                opened.commit_files([add("x")])
        assert Table.open(url, timestamp=datetime(2999, 1, 1, tzinfo=UTC)).version == 3
        with pytest.raises(VersionNotFound, match="nothing is known of it at"):
            Table.open(url, timestamp=times[0] - timedelta(milliseconds=1))

    @pytest.mark.parametrize("timestamp", ["yesterday", "2026-13-01", "", 1_700_000_000_000, 1.5])
    def test_what_is_no_time(self, url: str, timestamp: Any) -> None:
        Table.create(url, SCHEMA)
        with pytest.raises(OptionError, match=r"ISO 8601"):
            Table.open(url, timestamp=timestamp)


def _time(table: Table) -> datetime:
    found: datetime = table.history(limit=1).column("timestamp")[0].as_py()
    return found


class TestCommitFiles:
    def test_adds_and_removes(self, url: str) -> None:
        table = Table.create(url, SCHEMA)
        done = table.commit_files([add("a"), add("b")])
        assert (done.version, done.written, done.reason) == (1, True, "")
        assert done.metrics["numAddedFiles"] == 2
        assert done.txn_id == table.history(1).column("txn_id")[0].as_py()
        assert table.version == 1
        table.commit_files([add("c")], removes=["a"], operation="UPDATE")
        assert paths(table) == ["b", "c"]
        assert paths(Table.open(url)) == ["b", "c"]

    def test_generators_are_taken(self, url: str) -> None:
        table = Table.create(url, SCHEMA)
        table.commit_files(add(name) for name in "ab")
        table.commit_files(removes=(name for name in "ab"))
        assert paths(table) == []

    def test_two_handles(self, url: str) -> None:
        first = Table.create(url, SCHEMA)
        second = Table.open(url)
        first.commit_files([add("a")])
        second.commit_files([add("b")])
        assert (first.version, second.version) == (1, 2)
        with pytest.raises(FilesChanged, match="'c'"):
            first.commit_files(removes=["c"])
        second.commit_files(removes=["a"])
        with pytest.raises(FilesChanged, match="1 of 1 files to remove are not live at version 3"):
            first.commit_files(removes=["a"])
        assert first.refresh().version == 3

    def test_properties_are_set_and_dropped(self, url: str) -> None:
        table = Table.create(url, SCHEMA)
        table.commit_files(properties={"owner": "me", "cost": 5})
        assert table.properties == {"owner": "me", "cost": "5"}
        table.commit_files(properties={"owner": None, "nothing": None, "cost": "6"})
        assert table.properties == {"cost": "6"}
        assert Table.open(url).properties == table.properties

    @pytest.mark.parametrize("prefix", ["spark.indextables.", "SPARK.IndexTables.", ""])
    def test_options_of_the_table_are_checked_and_get_their_one_spelling(self, url: str, prefix: str) -> None:
        table = Table.create(url, SCHEMA)
        table.commit_files(properties={f"{prefix}TXN.RETENTION.HOURS": 24, f"{prefix}indexing.typemap.Message": "text"})
        assert table.properties == {
            "spark.indextables.txn.retention.hours": "24",
            "spark.indextables.indexing.typemap.Message": "text",
        }
        with pytest.raises(OptionError, match="expected a number of hours"):
            table.commit_files(properties={f"{prefix}txn.retention.hours": "soon"})
        table.commit_files(properties={f"{prefix}txn.retention.HOURS": None, f"{prefix}indexing.TYPEMAP.Message": None})
        assert table.properties == {}
        assert Table.open(url).refresh().version == 2

    @pytest.mark.parametrize(
        ("key", "error", "says"),
        [
            ("spark.indextables.safetyAge.hour", OptionError, r"did you mean spark\.indextables\.safetyAge\.hours"),
            ("spark.indextables.aws.secretKey", OptionError, r"aws\.secretKey cannot be a property of a table"),
            ("spark.indextables.checkpoint.interval", OptionError, "set it where the table is opened"),
            ("docMappingSchema.abc", SchemaError, "written by the table itself"),
        ],
    )
    def test_other_properties_under_our_prefix_are_refused(
        self, url: str, key: str, error: type[Exception], says: str
    ) -> None:
        table = Table.create(url, SCHEMA)
        with pytest.raises(error, match=says) as raised:
            table.commit_files(properties={key: "12345"})
        assert "12345" not in str(raised.value), "it may be a secret"
        assert Table.open(url).version == 0

    def test_two_writers_of_properties(self, url: str) -> None:
        first = Table.create(url, SCHEMA)
        second = Table.open(url)
        first.commit_files(properties={"a": "1"})
        with pytest.raises(MetadataChanged, match="refresh and apply the change again"):
            second.commit_files(properties={"b": "2"})
        second.refresh()
        second.commit_files(properties={"b": "2"})
        assert second.properties == {"a": "1", "b": "2"}

    @pytest.mark.parametrize("txn", [("app", 3), TxnAction("app", 3)])
    def test_exactly_once(self, url: str, txn: Any) -> None:
        table = Table.create(url, SCHEMA)
        assert table.commit_files([add("a")], txn=txn).written
        again = Table.open(url).commit_files([add("b")], txn=txn)
        assert (again.written, again.version, again.metrics) == (False, 1, {})
        assert again.reason == "batch 3 of app is in the table already"
        assert paths(table.refresh()) == ["a"]

    def test_rearranged_rows(self, url: str) -> None:
        table = Table.create(url, SCHEMA)
        table.commit_files([add("a"), add("b")])
        table.commit_files([add("ab")], removes=["a", "b"], operation="MERGE SPLITS", data_change=False)
        assert table.changes(since=1).adds.num_rows == 0
        assert table.changes(since=0).adds.column("path").to_pylist() == ["a", "b"]

    def test_partition_values(self, url: str) -> None:
        table = Table.create(url, SCHEMA, partition_by=["day"])
        spelled = AddAction("b", {"DAY": "2026-01-02"})
        table.commit_files([add("a", "2026-01-01"), spelled, AddAction("n", {"day": None}), AddAction("o")])
        values = {row["path"]: row["partitionValues"] for row in table.files().to_pylist()}
        assert values == {"a": [("day", "2026-01-01")], "b": [("day", "2026-01-02")], "n": [], "o": []}
        with pytest.raises(SchemaError, match=r"'id', which is not a partition column \(these are: day\)"):
            table.commit_files([AddAction("x", {"id": "1"})])
        with pytest.raises(SchemaError, match="must be text"):
            table.commit_files([AddAction("x", {"day": 5})])  # type: ignore[dict-item]
        assert table.version == 1

    @pytest.mark.parametrize(
        ("arguments", "error", "says"),
        [
            ({"adds": ["a.split"]}, CommitError, "adds must be AddAction values, not str"),
            ({"adds": [{"path": "a"}]}, CommitError, "not dict"),
            ({"removes": "a.split"}, CommitError, "removes must be a list of paths, not the text 'a.split'"),
            ({"removes": [AddAction("a")]}, CommitError, "removes must be paths"),
            ({"adds": [AddAction("a"), AddAction("a")]}, CommitError, "adds 'a' twice"),
            ({"adds": [AddAction("../a")]}, UnsafePath, "'../a'"),
            ({"adds": [AddAction("a", size="5")]}, SchemaError, "'a' cannot be added"),  # type: ignore[arg-type]
        ],
    )
    def test_mistakes(self, url: str, arguments: dict[str, Any], error: type[Exception], says: str) -> None:
        table = Table.create(url, SCHEMA)
        with pytest.raises(error, match=says):
            table.commit_files(**arguments)
        assert Table.open(url).version == 0


class TestFiles:
    def table(self, url: str) -> Table:
        table = Table.create(url, SCHEMA, partition_by=["day"])
        table.commit_files(
            [
                add("a", "2026-01-01", min_values={"id": "1"}, max_values={"id": "9"}),
                add("b", "2026-01-02", min_values={"id": "10"}, max_values={"id": "19"}),
                add("c", "2026-01-03"),
                add("n"),
            ]
        )
        return table

    @pytest.mark.parametrize(
        ("where", "expected"),
        [
            (None, "a b c n"),
            ("day = DATE '2026-01-02'", "b"),
            ("day >= '2026-01-02'", "b c"),
            ("day IS NULL", "n"),
            ("id = 5", "a c n"),
            ("id > 9 AND day < '2026-01-03'", "b"),
            ("id = 5 OR day = '2026-01-02'", "a b c n"),
            ("id < 0", "c n"),
        ],
    )
    def test_pruned(self, url: str, where: str | None, expected: str) -> None:
        assert paths(self.table(url), where) == expected.split()

    @pytest.mark.parametrize("where", ["nothing = 1", "id =", "id LIKE 5 5", ""])
    def test_a_predicate_that_cannot_be(self, url: str, where: str) -> None:
        with pytest.raises(PredicateError):
            self.table(url).files(where)

    def test_doc_mappings_are_filled_in_and_stored_once(self, url: str) -> None:
        table = Table.create(url, SCHEMA)
        mapping = json.dumps({"fields": [{"name": "id"}]})
        table.commit_files([add("a", doc_mapping_json=mapping), add("b", doc_mapping_json=mapping), add("c")])
        rows = {row["path"]: row["docMappingJson"] for row in Table.open(url).files().to_pylist()}
        assert rows == {"a": mapping, "b": mapping, "c": None}
        assert table.properties == {}, "they are not the user's"
        assert paths(table, "id = 1") == ["a", "b", "c"]

    def test_long_bounds_are_cut_and_stay_bounds(self, url: str) -> None:
        table = Table.create(url, SCHEMA, options={"stats.truncation.maxLength": 4})
        low, high = "abcdefgh", "mnopqrst"
        table.commit_files([add("a", min_values={"message": low}, max_values={"message": high})])
        (row,) = table.files().to_pylist()
        assert dict(row["minValues"]) == {"message": "abcd"}
        assert dict(row["maxValues"])["message"] > high
        assert paths(table, f"message = '{high}'") == ["a"]
        assert paths(table, "message = 'zzz'") == []


class TestLookingBack:
    def test_history_changes_log_and_skips(self, url: str) -> None:
        table = Table.create(url, SCHEMA)
        before = _time(table)
        time.sleep(0.002)
        table.commit_files([add("a")])
        table.commit_files([add("b")], removes=["a"], operation="UPDATE")
        assert table.history().column("operation").to_pylist() == ["UPDATE", "WRITE", "CREATE TABLE"]
        assert table.history(limit=1).num_rows == 1
        for since in (0, before, before.isoformat(), before.replace(tzinfo=None)):
            changes = table.changes(since)
            assert changes.adds.column("path").to_pylist() == ["a", "b"]
            assert changes.removes.column("path").to_pylist() == ["a"]
            assert changes.version == 2
        assert table.changes(since=2).adds.num_rows == 0
        with pytest.raises(VersionNotFound):
            table.changes(since=3)
        assert table.log().column("action").to_pylist()[-2:] == ["remove", "add"]
        assert table.log(include_all=True).num_rows == table.log().num_rows
        assert table.skips().num_rows == 0

    def test_changes_that_are_gone(self, tmp_path: Path) -> None:
        table = Table.create(tmp_path, SCHEMA, options={"state.format": "json", "checkpoint.interval": 2})
        for name in "abcd":
            table.commit_files([add(name)])
        (tmp_path / "_transaction_log" / f"{1:020d}.json").unlink()
        fresh = Table(TableHandle(_fresh(table), handle_of(table).snapshot))
        with pytest.raises(ChangesGone) as raised:
            fresh.changes(since=0)
        assert fresh.changes(since=raised.value.oldest).adds.column("path").to_pylist() == ["b", "c", "d"]


def _fresh(table: Table) -> Any:
    from dataclasses import replace

    return replace(handle_of(table).log, cache=LogCache())


class TestMaintenance:
    def checkpoints(self, root: Path) -> list[int]:
        return sorted(int(file.name[:20]) for file in (root / "_transaction_log").glob("*.checkpoint.json"))

    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            ({"state.format": "json", "checkpoint.interval": 3}, [3, 6]),
            ({"state.format": "json"}, []),
            ({"state.format": "json", "checkpoint.interval": 3, "checkpoint.enabled": False}, []),
        ],
    )
    def test_checkpoints_on_the_way(self, tmp_path: Path, options: dict[str, Any], expected: list[int]) -> None:
        table = Table.create(tmp_path, SCHEMA, options=options)
        for number in range(8):
            table.commit_files([add(f"f{number}")])
        assert self.checkpoints(tmp_path) == expected
        assert len(paths(Table.open(tmp_path))) == 8

    @pytest.mark.parametrize("enabled", [True, False])
    def test_clean_up_follows_a_checkpoint(self, tmp_path: Path, enabled: bool) -> None:
        options = {"state.format": "json", "checkpoint.interval": 4, "cleanup.enabled": enabled}
        table = Table.create(tmp_path, SCHEMA, options=options)
        for number in range(7):
            table.commit_files([add(f"f{number}")])
        old = time.time() - 40 * 86_400
        for file in (tmp_path / "_transaction_log").glob("*.json"):
            os.utime(file, (old, old))
        table = Table.open(tmp_path, options=options)
        table.commit_files([add("f7")])
        kept = {int(file.name[:20]) for file in (tmp_path / "_transaction_log").glob("*.json")}
        assert kept == ({0, 4, 5, 6, 7, 8} if enabled else set(range(9)))
        assert len(paths(table)) == 8

    def test_a_failure_after_the_commit_is_logged_and_does_not_fail_it(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        table = Table.create(tmp_path, SCHEMA, options={"state.format": "json", "checkpoint.interval": 1})
        (tmp_path / "_transaction_log" / f"{1:020d}.checkpoint.json").write_bytes(b"\x00")
        done = table.commit_files([add("a")])
        assert (done.version, done.written) == (1, True)
        assert "version 1 is there, but what follows failed" in caplog.text


class TestPickling:
    def test_a_snapshot_travels(self, url: str) -> None:
        table = Table.create(url, SCHEMA, partition_by=["day"])
        table.commit_files([add("a", "2026-01-01", doc_mapping_json="{}"), add("b")], txn=("app", 1))
        snapshot = handle_of(table).snapshot
        assert snapshot.schema == SCHEMA, "what was computed on demand is no obstacle"
        copy = pickle.loads(pickle.dumps(snapshot))
        assert copy.files.to_pylist() == snapshot.files.to_pylist()
        for name in (
            "url",
            "version",
            "timestamp",
            "protocol",
            "metadata",
            "transactions",
            "registry",
            "anchor",
            "schema",
        ):
            assert getattr(copy, name) == getattr(snapshot, name), name

    def test_a_snapshot_that_nobody_looked_at_travels_too(self, url: str) -> None:
        table = Table.create(url, SCHEMA)
        for number in range(5):
            table.commit_files([add(f"f{number}")])
        copy = pickle.loads(pickle.dumps(handle_of(table).snapshot))
        assert copy.files.num_rows == 5

    def test_errors_travel(self, url: str) -> None:
        with pytest.raises(TableNotFound) as raised:
            Table.open(url)
        copy = pickle.loads(pickle.dumps(raised.value))
        assert (type(copy), str(copy), copy.url) == (TableNotFound, str(raised.value), url)
