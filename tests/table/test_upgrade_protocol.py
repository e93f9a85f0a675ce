"""`Table.upgrade_protocol`: a table of an older writer gets the protocol of this release, and loses nothing on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import indextables
from indextables import Table
from indextables.core.errors import CommitError, UnsupportedProtocol
from indextables.log.open_snapshot import open_log
from indextables.log.table_log import TableLog
from indextables.table.handle import TableHandle
from log.crash import Operation, crashes
from log.support import METADATA, PROTOCOL, MemoryStore, live, make_log, put_version, raw_add
from tables import handle_of

FEATURES = {"avroState", "schemaDeduplication"}


def old_table(log: TableLog, **protocol: Any) -> None:
    """A table of protocol 2, or as `protocol` says, with two files."""
    put_version(log.store, 0, {"protocol": PROTOCOL["protocol"] | protocol}, METADATA)
    put_version(log.store, 1, raw_add("a"), raw_add("b"))


def opened(log: TableLog) -> Table:
    return Table(TableHandle(log, open_log(log)))


def test_an_older_table_is_upgraded_once() -> None:
    log = make_log(MemoryStore())
    old_table(log, writerFeatures=["skippedFiles"])
    table = opened(log)
    done = table.upgrade_protocol()
    protocol = handle_of(table).snapshot.protocol
    assert (done.written, done.version, table.version) == (True, 2, 2)
    assert (protocol.min_reader_version, protocol.min_writer_version) == (4, 4)
    assert set(protocol.reader_features or ()) == FEATURES
    assert set(protocol.writer_features or ()) == {*FEATURES, "skippedFiles"}
    assert live(handle_of(table).snapshot) == {"a", "b"}
    assert table.history(1).column("operation").to_pylist() == ["UPGRADE PROTOCOL"]
    again = table.upgrade_protocol()
    assert (again.written, again.version) == (False, 2)
    assert again.reason == "the protocol is version 4 with all features already"


def test_the_statement_says_the_same() -> None:
    log = make_log(MemoryStore())
    old_table(log)
    table = opened(log)
    for status in ("success", "no_action"):
        (row,) = indextables.sql("ALTER INDEXTABLES t UPGRADE PROTOCOL", t=table).to_pylist()
        assert (row["table_path"], row["status"], row["version"]) == (table.url, status, 2)


def test_somebody_else_upgraded_it_meanwhile() -> None:
    log = make_log(MemoryStore())
    old_table(log)
    mine, theirs = opened(log), opened(log)
    assert theirs.upgrade_protocol().written
    assert not mine.upgrade_protocol().written
    assert mine.version == theirs.version


def test_history_and_newer_tables_are_refused(tmp_path: Path) -> None:
    table = Table.create(tmp_path / "t", "id long")
    table.commit_files(properties={"a": 1})
    with pytest.raises(CommitError, match="which is history"):
        Table.open(table.url, version=0).upgrade_protocol()
    log = make_log(MemoryStore())
    old_table(log, minWriterVersion=9)
    with pytest.raises(UnsupportedProtocol, match="needs protocol version 9 to write"):
        opened(log).upgrade_protocol()


def test_a_failure_at_every_request_leaves_the_table_whole() -> None:
    files = frozenset({"a", "b"})
    operation = Operation("UPGRADE PROTOCOL", old_table, lambda log: opened(log).upgrade_protocol(), files, files)
    upgraded = set()
    for store, error, where in crashes(operation):
        snapshot = open_log(operation.log(store))
        assert live(snapshot) == files, where
        assert error is not None or snapshot.protocol.min_reader_version == 4, where
        assert opened(operation.log(store)).upgrade_protocol().version == 2, where
        upgraded.add(snapshot.protocol.min_reader_version)
    assert upgraded == {2, 4}
