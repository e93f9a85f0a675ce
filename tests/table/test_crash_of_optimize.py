"""`Table.optimize`, which merges, sums up and purges, with a failure at every single request that it makes.

Whatever is left is the same table: all rows, each once, and every file that a version names. The next run does the rest.
"""

from __future__ import annotations

import pytest

from indextables.log.open_snapshot import open_log
from indextables.log.table_log import TableLog
from log.crash import Operation, every_crash, leftovers, retried
from log.support import DAY, MemoryStore, live
from table.built_once import build_once
from table.merge_support import join_indexes
from table.purge_support import upload
from table.test_crash_of_rows import OPTIONS, data, found, opened, prepare, rows

NEEDY = (
    *OPTIONS,
    ("mergeOnWrite.minSplits", 2),
    ("checkpoint.interval", 2),
    ("state.retention.versions", 1),
    ("state.retention.hours", 0),
    ("purge.defaultRetentionHours", 48),
    ("logRetention.duration", 86_400_000),
)
ROWS = rows(*range(8), 8, 9)


def prepare_needy(log: TableLog) -> None:
    """Small splits in both partitions, versions that are past their time, and an orphan: a table that needs every step."""
    prepare(log)
    opened(log).append(data(8, 9))
    upload(log.store, "orphan")
    log.store.age(30 * DAY)  # type: ignore[attr-defined]


def act(log: TableLog) -> None:
    opened(log).optimize()


OPTIMIZE = Operation("optimize", prepare_needy, act, ROWS, ROWS, NEEDY, commits=False, look=found)


@pytest.fixture(autouse=True)
def _built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    build_once(monkeypatch)
    join_indexes(monkeypatch)


def nothing_is_missing(store: MemoryStore, where: str) -> None:
    log = OPTIMIZE.log(store)
    assert found(log) == ROWS, where
    assert live(open_log(log)) <= store.objects.keys(), where


@pytest.mark.slow
def test_the_table_is_whole_after_every_failure_and_the_next_run_does_the_rest() -> None:
    clean = OPTIMIZE.table()
    done = opened(OPTIMIZE.log(clean)).optimize()
    statuses = {step.step: step.status for step in done.steps}
    assert (statuses["merge"], statuses["purge"]) == ("success", "success")
    nothing_is_missing(clean, "a clean run")
    left = len(live(open_log(OPTIMIZE.log(clean))))
    assert left < 6
    fates = {crash.error is None for crash in every_crash(OPTIMIZE)}
    assert fates == {True, False}, "some failures are survived, others are not"
    different = 0
    for store, where in leftovers(OPTIMIZE):
        different += 1
        nothing_is_missing(store, where)
        opened(OPTIMIZE.log(store)).optimize()
        nothing_is_missing(store, f"{where}, and once more")
        assert len(live(open_log(OPTIMIZE.log(store)))) == left, where
        assert not any("orphan" in key for key in store.objects), where
    assert different > 15, "failures at different steps leave different tables"


def test_one_lost_request_or_answer_is_survived_with_retries() -> None:
    assert list(retried(OPTIMIZE))
