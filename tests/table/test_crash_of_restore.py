"""Restore, truncate, drop partitions and clone, with a failure at every single request they make.

Whatever is left is a table with the rows of before or of after; what was acknowledged is there; the verb can be done again.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from indextables import Table
from indextables.core.errors import IndexTablesError, TableNotFound
from indextables.core.options import Options
from indextables.log.history import open_at
from indextables.log.open_snapshot import open_log
from indextables.log.table_log import TableLog
from indextables.storage.testing.faulty import Died, Fault, Faulty, Plan
from indextables.table.handle import TableHandle
from indextables.table.maintain.truncate import OPERATION as TRUNCATE
from indextables.table.write import clone as clone_module
from indextables.table.write.create import create_table
from indextables.table.write.drop_partitions import OPERATION as DROP
from indextables.table.write.restore import OPERATION as RESTORE
from log.crash import FAULTS, Operation, every_crash, is_certain, leftovers, retried
from log.support import DAY, HOUR, MemoryStore, make_log, raw_versions
from table.built_once import build_once
from table.test_crash_of_rows import OPTIONS, SCHEMA, data, data_files, found, named_files, opened, rows

OLDER = (*OPTIONS, ("checkpoint.interval", 2))


@pytest.fixture(autouse=True)
def _built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    build_once(monkeypatch)


def prepare(log: TableLog) -> None:
    """Version 1 has rows 0 to 3, version 2 has 4 and 5 in their place; 40 days pass."""
    table = Table(TableHandle(log, create_table(log, SCHEMA, ["part"])))
    table.append(data(0, 1, 2, 3))
    table.overwrite(data(4, 5))
    log.store.clock.advance(40 * DAY)  # type: ignore[attr-defined]


def prepare_truncated(log: TableLog) -> None:
    """The same, truncated two hours ago: the next truncation deletes."""
    prepare(log)
    opened(log).truncate_time_travel()
    log.store.clock.advance(2 * HOUR)  # type: ignore[attr-defined]


NOW, THEN = rows(4, 5), rows(0, 1, 2, 3)
RESTORED = Operation(
    "restore", prepare, lambda log: opened(log).restore(version=1), NOW, THEN, OPTIONS, look=found, written_as=RESTORE
)
STATED = Operation(
    "restore and a state",
    prepare,
    lambda log: opened(log).restore(version=1),
    NOW,
    THEN,
    (*OPTIONS, ("checkpoint.interval", 3)),
    look=found,
    written_as=RESTORE,
)
DROPPED = Operation(
    "drop partitions",
    prepare,
    lambda log: opened(log).drop_partitions("part = 'a'"),
    NOW,
    rows(5),
    OPTIONS,
    look=found,
    written_as=DROP,
)
TRUNCATED = Operation(
    "truncate",
    prepare,
    lambda log: opened(log).truncate_time_travel(),
    NOW,
    NOW,
    OLDER,
    look=found,
    written_as=TRUNCATE,
)
AGAIN = Operation(
    "truncate what was truncated",
    prepare_truncated,
    lambda log: opened(log).truncate_time_travel(),
    NOW,
    NOW,
    OPTIONS,
    commits=False,
    look=found,
    written_as=TRUNCATE,
)
OPERATIONS = [RESTORED, STATED, DROPPED, TRUNCATED, AGAIN]
each_operation = pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)


def test_the_operations_are_what_they_are_called() -> None:
    for operation in OPERATIONS:
        store = operation.table()
        assert found(operation.log(store)) == operation.before
        had = operation.versions(store)
        assert operation.act(operation.log(store)).status == "success"
        assert found(operation.log(store)) == operation.after
        assert operation.versions(store) == had + operation.commits


@each_operation
def test_a_reader_finds_the_rows_of_before_or_of_after(operation: Operation) -> None:
    had = operation.versions(operation.table())
    fates = set()
    for crash in every_crash(operation):
        written = operation.versions(crash.store) - had
        fates.add((crash.error is None, bool(written)))
        assert written <= operation.commits, crash.where
        if operation.commits:
            assert crash.error is not None or written, crash.where
            assert not (is_certain(crash.error) and written), crash.where
        left = operation.look(operation.log(crash.store.copy()))
        assert left == (operation.after if written or not operation.commits else operation.before), crash.where
        assert data_files(crash.store) >= named_files(crash.store), "no data file goes"
    assert len({acknowledged for acknowledged, _ in fates}) == 2 or not operation.commits


@each_operation
def test_the_verb_can_be_done_again_and_rows_be_written(operation: Operation) -> None:
    for store, where in leftovers(operation):
        log = operation.log(store)
        operation.act(log)
        assert found(operation.log(store)) == operation.after, where
        assert opened(log).append(data(90)).written, where
        assert found(operation.log(store)) == operation.after | rows(90), where


@each_operation
def test_one_lost_request_or_answer_is_survived_with_retries(operation: Operation) -> None:
    for store, where in retried(operation):
        assert data_files(store) == named_files(store), where


def test_after_a_truncation_nobody_opens_what_was_truncated() -> None:
    for crash in every_crash(TRUNCATED):
        log = TRUNCATED.log(crash.store.copy())
        if TRUNCATED.versions(crash.store):
            with pytest.raises(IndexTablesError, match="the oldest is 3"):
                open_at(log, version=1)
        else:
            assert open_at(log, version=1).version == 1, crash.where


# a clone has two stores

TARGET_OPTIONS: dict[str, Any] = {"cache.disk.enabled": False}


def cloned(source: Any, target: Any, monkeypatch: pytest.MonkeyPatch) -> Table:
    def open_target(_url: str, _options: Options) -> TableLog:
        return make_log(target, TARGET_OPTIONS)

    monkeypatch.setattr(clone_module, "open_log", open_target)
    log = make_log(source, TARGET_OPTIONS)
    return Table(TableHandle(log, open_log(log))).clone("mem://copy")


def copies(store: MemoryStore) -> set[str]:
    return {key for key in store.objects if key.endswith(".split")}


def source() -> MemoryStore:
    store = MemoryStore()
    prepare(make_log(store, TARGET_OPTIONS))
    return store


def test_a_failure_at_every_request_to_the_new_place(monkeypatch: pytest.MonkeyPatch) -> None:
    store = source()
    clean = Faulty(MemoryStore(root="mem://copy"))
    assert found_at(cloned(store, clean, monkeypatch)) == NOW
    fates = set()
    for number in range(1, len(clean.calls) + 1):
        for fault, times in FAULTS:
            target = MemoryStore(root="mem://copy")
            error: BaseException | None = None
            try:
                cloned(store, Faulty(target, Plan(number, fault, times)), monkeypatch)
            except (Died, Exception) as raised:
                error = raised
            where = f"{fault.name} x{times} at {number} {clean.calls[number - 1]}: {error!r}"
            versions = sorted(raw_versions(target.bytes()))
            fates.add((error is None, tuple(versions)))
            assert error is not None or versions == [0, 1], where
            if versions == [0, 1]:
                assert found(make_log(target, TARGET_OPTIONS)) == NOW, where
            elif not versions:
                with pytest.raises(TableNotFound):
                    open_log(make_log(target, TARGET_OPTIONS))
            else:
                assert versions == [0], where
                assert found(make_log(target, TARGET_OPTIONS)) == frozenset(), where
            if is_certain(error) and fault not in (Fault.FAIL_BEFORE, Fault.FAIL_AFTER) and versions != [0, 1]:
                assert not copies(target), where
    assert {(True, (0, 1)), (False, ())} <= fates


def test_a_failure_at_every_request_to_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    store = source()
    clean = Faulty(store.copy())
    cloned(clean, MemoryStore(root="mem://copy"), monkeypatch)
    for number in range(1, len(clean.calls) + 1):
        for fault in (Fault.FAIL_BEFORE, Fault.DIE_BEFORE):
            target = MemoryStore(root="mem://copy")
            with pytest.raises((Died, IndexTablesError)):
                cloned(Faulty(store.copy(), Plan(number, fault)), target, monkeypatch)
            assert not raw_versions(target.bytes())
            assert not copies(target) or fault is Fault.DIE_BEFORE


def found_at(table: Table) -> frozenset[str]:
    read: pa.Table = table.scan().read_all()
    return frozenset(f"{row['id']} {row['word']} {row['part']}" for row in read.to_pylist())
