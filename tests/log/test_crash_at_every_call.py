"""Every operation, with a failure at every single request it makes.

A clean run counts the requests. Then, for each of them and for each kind of failure, the operation runs again on a copy of
the same table, and what is left must be a table: it opens, everything acknowledged is there once, nothing is there that
was reported as failed for certain, and it can be written to.
"""

from __future__ import annotations

import pytest

from indextables.core.errors import CommitOutcomeUnknown, StoreUnavailable, TableExists, TableNotFound
from indextables.log.actions import TxnAction
from indextables.log.cleanup import clean_up
from indextables.log.commit import commit
from indextables.log.conflicts import Change, MetadataUpdate, Replace
from indextables.log.json_checkpoint import write_checkpoint
from indextables.log.open_snapshot import open_log
from indextables.log.snapshot import LogAtVersion
from indextables.log.table_log import TableLog
from indextables.storage.testing.faulty import Died, Fault, Faulty, Plan
from indextables.table.handle import TableHandle
from indextables.table.table import Table
from log.crash import LASTING, Operation, crashes, files, is_certain, retried
from log.support import (
    DAY,
    MemoryStore,
    add,
    append,
    commit_infos,
    grown,
    live,
    make_log,
    naive_live,
    new_table,
    raw_versions,
)

DOWNGRADE = {"state.format": "json", "checkpoint.interval": 5}


def append_file(log: TableLog) -> None:
    append(log, open_log(log), "new", operation="append")


def append_once(log: TableLog) -> None:
    append(log, open_log(log), "new", operation="append once", txn=TxnAction("app", 7))


def overwrite(log: TableLog) -> None:
    commit(LogAtVersion(log, open_log(log)), Change(adds=(add("new"),), replace=Replace()), operation="overwrite")


def update_metadata(log: TableLog) -> None:
    change = Change(metadata=MetadataUpdate(properties={"owner": "me"}))
    commit(LogAtVersion(log, open_log(log)), change, operation="update metadata")


def checkpoint(log: TableLog) -> None:
    assert write_checkpoint(LogAtVersion(log, open_log(log)))


def append_and_maintain(log: TableLog) -> None:
    Table(TableHandle(log, open_log(log))).commit_files([add("new")], operation="append and maintain")


def prepare_old(log: TableLog) -> None:
    """Twelve versions and checkpoints (in parts) at 3, 6 and 9, all of them older than every retention."""
    snapshot = new_table(log)
    for number in range(1, 13):
        snapshot = append(log, snapshot, f"f{number}").snapshot
        if number % 3 == 0:
            assert write_checkpoint(LogAtVersion(log, snapshot))
    log.store.age(40 * DAY)  # type: ignore[attr-defined]


OPERATIONS = [
    Operation("append", lambda log: grown(log, 3), append_file, files(1, 2, 3), files(1, 2, 3) | {"new"}),
    Operation("append once", lambda log: grown(log, 3), append_once, files(1, 2, 3), files(1, 2, 3) | {"new"}),
    Operation("overwrite", lambda log: grown(log, 3), overwrite, files(1, 2, 3), frozenset({"new"})),
    Operation("update metadata", lambda log: grown(log, 3), update_metadata, files(1, 2, 3), files(1, 2, 3)),
    Operation("checkpoint", lambda log: grown(log, 3), checkpoint, files(1, 2, 3), files(1, 2, 3), commits=False),
    Operation(
        "checkpoint in parts",
        lambda log: grown(log, 5),
        checkpoint,
        files(1, 2, 3, 4, 5),
        files(1, 2, 3, 4, 5),
        (("checkpoint.multipart.maxActionsPerPart", 2),),
        commits=False,
    ),
    Operation(
        "clean up",
        prepare_old,
        lambda log: clean_up(LogAtVersion(log, open_log(log))),
        files(*range(1, 13)),
        files(*range(1, 13)),
        (("state.retention.versions", 1), ("checkpoint.multipart.maxActionsPerPart", 2)),
        commits=False,
    ),
    Operation(
        "append and maintain",
        lambda log: grown(log, 4),
        append_and_maintain,
        files(1, 2, 3, 4),
        files(1, 2, 3, 4) | {"new"},
        tuple(DOWNGRADE.items()),
    ),
]
each_operation = pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)


@each_operation
def test_what_is_left_is_a_table(operation: Operation) -> None:
    fates = set()
    for store, error, where in crashes(operation):
        snapshot = open_log(operation.log(store))
        versions = raw_versions(store.bytes())
        written = [info for info in commit_infos(versions).values() if info.get("operation") == operation.name]
        assert len(written) <= 1, where
        fates.add((error is None, bool(written)))
        if operation.commits:
            expected = operation.after if written else operation.before
            assert error is not None or written, where
            assert not (is_certain(error) and written), where
            assert naive_live(versions).keys() == expected, where
            assert list(versions) == list(range(len(versions))), where
        else:
            expected = operation.after
        assert live(snapshot) == expected, where
    assert {acknowledged for acknowledged, _ in fates} == {True, False}, "some failures are survived, others are not"


@each_operation
def test_it_can_be_written_to(operation: Operation) -> None:
    for store, _, where in crashes(operation):
        log = operation.log(store)
        snapshot = open_log(log)
        following = append(log, snapshot, "later", operation="later")
        assert following.written, where
        assert following.snapshot.version == snapshot.version + 1, where
        reopened = open_log(operation.log(store))
        assert live(reopened) == live(snapshot) | {"later"}, where
        later = [n for n, info in commit_infos(raw_versions(store.bytes())).items() if info["operation"] == "later"]
        assert later == [following.snapshot.version], where


def test_a_retried_batch_is_there_exactly_once() -> None:
    (operation,) = (operation for operation in OPERATIONS if operation.name == "append once")
    outcomes = set()
    for store, _, where in crashes(operation):
        log = operation.log(store)
        retried = append(log, open_log(log), "again", operation="append once", txn=TxnAction("app", 7))
        outcomes.add(retried.written)
        paths = live(open_log(operation.log(store)))
        assert len(paths & {"new", "again"}) == 1, where
        assert ("again" in paths) == retried.written, where
    assert outcomes == {True, False}


@each_operation
def test_one_lost_request_or_answer_is_survived_with_retries(operation: Operation) -> None:
    assert list(retried(operation))


def test_failures_after_a_commit_do_not_fail_it() -> None:
    (operation,) = (operation for operation in OPERATIONS if operation.name == "append and maintain")
    survived = 0
    for store, error, where in crashes(operation):
        if "checkpoint" in where or "_last_checkpoint" in where or "_probe" in where:
            committed = any(
                i.get("operation") == operation.name for i in commit_infos(raw_versions(store.bytes())).values()
            )
            if committed and not isinstance(error, Died):
                assert error is None, where
                survived += 1
    assert survived > 5


def test_a_checkpoint_can_be_written_after_every_crash() -> None:
    for operation in (operation for operation in OPERATIONS if operation.name.startswith("checkpoint")):
        for store, _, where in crashes(operation):
            log = operation.log(store)
            snapshot = open_log(log)
            assert write_checkpoint(LogAtVersion(log, snapshot)), where
            from_checkpoint = open_log(operation.log(store))
            assert from_checkpoint.base == snapshot.version, where
            assert live(from_checkpoint) == operation.after, where


def test_clean_up_ends_where_a_clean_run_ends() -> None:
    (operation,) = (operation for operation in OPERATIONS if operation.name == "clean up")
    clean = operation.table()
    report = clean_up(LogAtVersion(operation.log(clean), open_log(operation.log(clean))))
    assert report.floor == 12
    assert len(report.deleted) > 10
    for store, _, where in crashes(operation):
        log = operation.log(store)
        for version in (0, 12):
            expected = set() if version == 0 else operation.after
            assert live(open_log(operation.log(store), version)) == expected, where
        again = clean_up(LogAtVersion(log, open_log(log)))
        assert again.stopped is None, where
        assert store.bytes().keys() == clean.bytes().keys(), where


CREATING = Operation("CREATE TABLE", lambda log: None, new_table, frozenset(), frozenset())


def test_creating() -> None:
    fates = set()
    for store, error, where in crashes(CREATING):
        log = make_log(store)
        exists = bool(raw_versions(store.bytes()))
        assert error is not None or exists, where
        if isinstance(error, TableNotFound | TableExists):
            pytest.fail(where)
        fates.add(exists)
        if exists:
            with pytest.raises(TableExists):
                new_table(make_log(store))
        else:
            with pytest.raises(TableNotFound):
                open_log(log)
            new_table(log)
        following = append(log, open_log(log), "later")
        assert following.snapshot.version == 1, where
        assert live(open_log(make_log(store))) == {"later"}, where
        assert list(raw_versions(store.bytes())) == [0, 1], where
    assert fates == {True, False}


def test_a_create_whose_answer_is_lost_is_reported_as_done() -> None:
    clean = Faulty(MemoryStore())
    new_table(make_log(clean))
    number = [verb for verb, _ in clean.calls].index("create") + 1
    for fault in (Fault.FAIL_BEFORE, Fault.FAIL_AFTER, Fault.CONFLICT):
        store = MemoryStore()
        snapshot = new_table(make_log(Faulty(store, Plan(number, fault))))
        assert snapshot.version == 0
        assert open_log(make_log(store)).table_id == snapshot.table_id


def test_a_store_that_stays_silent_leaves_the_outcome_open() -> None:
    store = MemoryStore()
    grown(make_log(store), 1)
    clean = Faulty(store.copy())
    append_file(make_log(clean))
    number = [verb for verb, _ in clean.calls].index("create") + 1
    for fault in (Fault.FAIL_BEFORE, Fault.FAIL_AFTER):
        with pytest.raises(CommitOutcomeUnknown) as unknown:
            append_file(make_log(Faulty(store.copy(), Plan(number, fault, LASTING))))
        assert unknown.value.version == 2
        assert "delete none of its files" in str(unknown.value)
    with pytest.raises(StoreUnavailable):
        append_file(make_log(Faulty(store.copy(), Plan(number - 1, Fault.FAIL_BEFORE, LASTING))))
