"""`Table.optimize`: a table gets what it needs, and nothing else."""

from __future__ import annotations

import dataclasses
import multiprocessing
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from indextables import Table
from indextables.core.errors import CommitError, InvalidKey, LogWarning
from indextables.storage.store import ObjectMeta
from indextables.table.maintain.optimize import STEPS_SCHEMA, Optimized
from log.support import Hooked
from tables import on_store, store_of

OPTIONS = {"mergeOnWrite.minSplits": 4}


def rows(*numbers: int) -> pa.Table:
    return pa.table({"n": pa.array(numbers, pa.int64()), "m": [f"row {number}" for number in numbers]})


def made(place: Path | str, appends: int, **options: object) -> Table:
    table = Table.create(place, "n long, m text", options={**OPTIONS, **options})
    for number in range(appends):
        table.append(rows(number))
    return table


def statuses(done: Optimized) -> dict[str, str]:
    return {step.step: step.status for step in done.steps}


def numbers(table: Table) -> list[int]:
    return sorted(table.scan(["n"]).read_all().column("n").to_pylist())


def test_a_table_that_needs_nothing(tmp_path: Path) -> None:
    table = made(tmp_path / "t", 3)
    done = table.optimize()
    assert (done.status, done.version, done.message) == ("no_action", 3, "the table needs nothing")
    assert statuses(done)["merge"] == statuses(done)["compact"] == "no_action"
    assert table.version == 3


def test_small_files_are_merged(tmp_path: Path) -> None:
    table = made(tmp_path / "t", 6)
    said = table.optimize(dry_run=True)
    assert (said.status, said.dry_run, statuses(said)["merge"]) == ("dry_run", True, "dry_run")
    assert (table.version, Table.open(tmp_path / "t").version) == (6, 6)
    done = table.optimize()
    assert statuses(done)["merge"] == "success"
    merge = done.steps[0]
    assert (merge.reason, merge.message) == ("6 small files can become 1", "6 files became 1")
    assert (merge.before.split(",")[0], merge.after.split(",")[0]) == ("6 files", "1 file")
    assert table.version == done.version == Table.open(tmp_path / "t").version
    assert numbers(table) == list(range(6))
    assert table.optimize().status == "no_action", "one run is enough"


def test_the_log_is_summed_up_where_the_state_is_far_behind(tmp_path: Path) -> None:
    table = made(tmp_path / "t", 5, **{"checkpoint.interval": 3, "checkpoint.enabled": False})
    done = table.optimize(dry_run=True)
    assert statuses(done)["compact"] == "no_action"
    assert done.steps[1].reason == "checkpoint.enabled is false"
    table = Table.open(tmp_path / "t", options={"checkpoint.interval": 3, "mergeOnWrite.minSplits": 50})
    said = table.optimize(dry_run=True).steps[1]
    assert (said.status, said.reason) == ("dry_run", "there is no state, and version 0 is 5 versions back")
    done = table.optimize()
    assert (done.steps[1].status, done.steps[1].before) == ("success", "no state")
    assert done.steps[1].after.startswith("state 5, 1 manifest, 0 tombstones")
    again = table.optimize()
    assert again.status == "no_action", again


def test_a_state_full_of_tombstones_is_compacted(tmp_path: Path) -> None:
    table = made(tmp_path / "t", 6, **{"state.compaction.afterMerge": False, "checkpoint.interval": 1000})
    table.checkpoint()
    table.overwrite(rows(9))
    table = Table.open(tmp_path / "t", options={"checkpoint.interval": 1, "state.compaction.tombstoneThreshold": 1.0})
    table.append(rows(10))
    plain = Table.open(tmp_path / "t", options={"state.compaction.tombstoneThreshold": 0.1})
    state = {row["property"]: row["value"] for row in plain.state().to_pylist()}
    assert state["needsCompaction"] == "true", state
    step = plain.optimize().steps[1]
    assert (step.status, "tombstones" in step.reason) == ("success", True)
    assert step.after.endswith("0 tombstones")
    assert numbers(plain) == [9, 10]


@pytest.mark.filterwarnings("ignore:.*cannot be used:indextables.core.errors.LogWarning")
@pytest.mark.parametrize("dry_run", [False, True])
def test_a_damaged_log_object_refuses_the_purge_and_hides_nothing(tmp_path: Path, dry_run: bool) -> None:
    table = made(tmp_path / "t", 3)
    table.checkpoint()
    (state,) = (tmp_path / "t" / "_transaction_log").glob("state-v*/_manifest.avro")
    state.write_bytes(b"damaged")
    table = Table.open(tmp_path / "t", options=OPTIONS)
    table.append(rows(3))
    done = table.optimize(dry_run=dry_run)
    assert done.status == "partial"
    assert (statuses(done)["merge"], statuses(done)["purge"]) == ("dry_run" if dry_run else "success", "partial")
    assert "might name any split, so purge deletes none: FSCK REPAIR" in done.steps[2].message
    assert done.message == f"{'would do' if dry_run else 'did'}: merge; could not purge: {done.steps[2].message}"
    assert done.version == table.version == Table.open(tmp_path / "t").version
    assert table.files().num_rows == (4 if dry_run else 1)
    assert numbers(table) == [0, 1, 2, 3]


def test_a_missing_version_refuses_the_purge_and_hides_nothing(tmp_path: Path) -> None:
    table = made(tmp_path / "t", 5, **{"checkpoint.enabled": False})
    known = table.files().num_rows
    (tmp_path / "t" / "_transaction_log" / f"{2:020}.json").unlink()
    with pytest.warns(LogWarning, match="version 2 is missing"):
        done = table.optimize(dry_run=True)
    assert (known, done.status, statuses(done)["purge"]) == (5, "partial", "partial")
    assert "2" in done.steps[2].message


def test_a_key_that_no_listing_can_hold_refuses_the_purge_and_hides_nothing(tmp_path: Path) -> None:
    table = made(tmp_path / "t", 5)
    store = store_of(table)

    def listed(prefix: str, after: str | None = None) -> Iterator[ObjectMeta]:
        if not prefix:
            raise InvalidKey("list found the object 'a//b': delete or rename it")
        return store.list(prefix, after)

    table = on_store(table, Hooked(store, list=listed))
    done = table.optimize()
    assert (done.status, statuses(done)["merge"], statuses(done)["purge"]) == ("partial", "success", "partial")
    assert done.message == "did: merge; could not purge: list found the object 'a//b': delete or rename it"


def test_indexes_are_fetched_where_somebody_asks(tmp_path: Path) -> None:
    table = made(tmp_path / "t", 2)
    assert "prewarm" not in statuses(table.optimize())
    assert statuses(table.optimize(dry_run=True, prewarm=True))["prewarm"] == "dry_run"
    assert statuses(table.optimize(prewarm=True))["prewarm"] in ("success", "no_action")


def test_the_answer_is_a_table(tmp_path: Path) -> None:
    done = made(tmp_path / "t", 5).optimize()
    found = done.table()
    assert found.schema == STEPS_SCHEMA
    assert found.schema.names == ["step", "reason", "status", "before", "after", "duration_ms", "message"]
    assert found.to_pylist()[0] == dataclasses.asdict(done.steps[0])
    assert all(row["duration_ms"] >= 0 and row["message"] for row in found.to_pylist())
    with pytest.raises(dataclasses.FrozenInstanceError):
        done.status = "x"  # type: ignore[misc]


def test_history_is_not_optimized(tmp_path: Path) -> None:
    made(tmp_path / "t", 2)
    with pytest.raises(CommitError, match="open it without a version to optimize"):
        Table.open(tmp_path / "t", version=1).optimize()


def test_a_watcher_can_end_it(tmp_path: Path) -> None:
    table = made(tmp_path / "t", 6)
    before = sorted(path.name for path in (tmp_path / "t").rglob("*.split"))

    def enough(_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        table.optimize(progress=enough)
    assert Table.open(tmp_path / "t").version == 6
    assert sorted(path.name for path in (tmp_path / "t").rglob("*.split")) == before


def _work(url: str, start: object, answers: object) -> None:
    table = Table.open(url, options=OPTIONS)
    start.wait()  # type: ignore[attr-defined]
    answers.put(table.optimize().status)  # type: ignore[attr-defined]


@pytest.mark.slow
def test_two_machines_at_once(tmp_path: Path) -> None:
    """Both end well, whoever is faster, and every row is there once."""
    made(tmp_path / "t", 16, **{"checkpoint.interval": 100})
    spawn = multiprocessing.get_context("spawn")
    start, answers = spawn.Barrier(2), spawn.Queue()
    workers = [spawn.Process(target=_work, args=(str(tmp_path / "t"), start, answers)) for _ in range(2)]
    for worker in workers:
        worker.start()
    told = [answers.get(timeout=120) for _ in workers]
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert set(told) <= {"success", "partial", "no_action"}
    table = Table.open(tmp_path / "t", options=OPTIONS)
    assert numbers(table) == list(range(16))
    assert table.files().num_rows == 1
    again = table.optimize()
    assert again.status == "no_action", again
