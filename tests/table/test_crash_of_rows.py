"""Every verb that moves rows, with a failure at every single request it makes.

Whatever is left is a table: a fresh reader finds the rows of before or of after, all of them and each once; what was
acknowledged is there; the next write and the next merge work. A verb that certainly failed leaves no file behind that it could
have removed.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from indextables import Table
from indextables.core.errors import MetadataChanged
from indextables.log.open_snapshot import open_log
from indextables.log.table_log import TableLog
from indextables.table.handle import TableHandle
from indextables.table.maintain.merge import OPERATION, Merged
from indextables.table.write.create import create_table
from log.crash import Crash, Operation, every_crash, is_certain, leftovers, retried
from log.support import DAY, LOG, FakeClock, Hooked, MemoryStore, make_log, naive_live, raw_versions
from table.built_once import build_once
from table.merge_support import join_indexes

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("word", pa.string()), ("part", pa.string())])
OPTIONS: tuple[tuple[str, Any], ...] = (("cache.disk.enabled", False), ("storage.retry.maxAttempts", 3))
STATED = (*OPTIONS, ("checkpoint.interval", 3))
"""The table's second write leaves a state behind, and the third version is in it."""
LATER = (900, 901)


@pytest.fixture(autouse=True)
def _built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    build_once(monkeypatch)
    join_indexes(monkeypatch)


def data(*numbers: int) -> pa.Table:
    """Rows with these ids: odd ones in partition b, even ones in a."""
    words, parts = [f"word {number}" for number in numbers], ["ab"[number % 2] for number in numbers]
    return pa.table({"id": list(numbers), "word": words, "part": parts}, schema=SCHEMA)


def rows(*numbers: int) -> frozenset[str]:
    return frozenset(f"{number} word {number} {'ab'[number % 2]}" for number in numbers)


def opened(log: TableLog) -> Table:
    return Table(TableHandle(log, open_log(log)))


def found(log: TableLog) -> frozenset[str]:
    """The rows that a fresh reader finds, none of them twice; and counts say the same."""
    table = opened(log)
    read = [f"{row['id']} {row['word']} {row['part']}" for row in table.scan().read_all().to_pylist()]
    assert len(set(read)) == len(read) == table.count(), read
    assert table.count("part = 'a'") == sum(row.endswith("a") for row in read)
    assert table.count("id < 100") == sum(int(row.split()[0]) < 100 for row in read)
    return frozenset(read)


def prepare(log: TableLog) -> None:
    """Two splits in each of two partitions."""
    table = Table(TableHandle(log, create_table(log, SCHEMA, ["part"])))
    table.append(data(0, 1, 2, 3))
    table.append(data(4, 5, 6, 7))


def break_one(log: TableLog, part: str) -> None:
    """A bit of the index of a partition's first split flips: its rows can be read, and not be merged."""
    store: MemoryStore = log.store  # type: ignore[assignment]
    live = sorted(opened(log).files(f"part = '{part}'").to_pylist(), key=lambda file: file["modificationTime"])
    path, end = live[0]["path"], live[0]["footerStartOffset"]
    broken = bytearray(store.objects[path].data)
    broken[end - 20] ^= 1
    store.put(path, bytes(broken))


def prepare_broken(log: TableLog) -> None:
    """Three splits in partition a, of which one is broken, and two in b."""
    prepare(log)
    opened(log).append(data(8))
    break_one(log, "a")


def prepare_too_few(log: TableLog) -> None:
    """Two splits in partition b, of which one is broken; the newest version is a state."""
    prepare(log)
    opened(log).append(data(8))
    break_one(log, "b")


def writes(name: str, act: Any, after: frozenset[str]) -> Operation:
    return Operation(name, prepare, act, BEFORE, after, OPTIONS, look=found, written_as="WRITE")


def merges(name: str, prepare: Any, act: Any, before: frozenset[str], options: Any = OPTIONS) -> Operation:
    return Operation(name, prepare, act, before, before, options, look=found, written_as=OPERATION)


BEFORE = rows(*range(8))
APPEND = writes("append", lambda log: opened(log).append(data(20, 21)), BEFORE | rows(20, 21))
OVERWRITE = writes("overwrite", lambda log: opened(log).overwrite(data(20, 21)), rows(20, 21))
REPLACE = writes(
    "overwrite where",
    lambda log: opened(log).overwrite(data(20, 22), where="part = 'a'"),
    rows(1, 3, 5, 7, 20, 22),
)
EMPTY = writes("overwrite by nothing", lambda log: opened(log).overwrite(data(), where="part = 'b'"), rows(0, 2, 4, 6))
MERGE = merges("merge", prepare, lambda log: opened(log).merge_splits(), BEFORE)
BROKEN = merges(
    "merge with a broken source",
    prepare_broken,
    lambda log: opened(log).merge_splits(),
    BEFORE | rows(8),
    (*OPTIONS, ("state.compaction.afterMerge", False), ("indexWriter.threads", 1)),
)
TOO_FEW = merges(
    "merge of nothing but a broken source",
    prepare_too_few,
    lambda log: opened(log).merge_splits(where="part = 'b'"),
    BEFORE | rows(8),
    STATED,
)
MERGES = [MERGE, BROKEN, TOO_FEW]
OPERATIONS = [APPEND, OVERWRITE, REPLACE, EMPTY, *MERGES]
each_operation = pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)


def data_files(store: MemoryStore) -> set[str]:
    return {key for key in store.objects if not key.startswith(LOG)}


def named_files(store: MemoryStore) -> set[str]:
    """What a version has ever added."""
    versions = raw_versions(store.bytes())
    return {action["add"]["path"] for actions in versions.values() for action in actions if "add" in action}


def test_the_operations_are_what_they_are_called() -> None:
    for operation in OPERATIONS:
        store = operation.table()
        assert found(operation.log(store)) == operation.before
        before, had = len(naive_live(raw_versions(store.bytes()))), operation.versions(store)
        done = operation.act(operation.log(store))
        assert found(operation.log(store)) == operation.after
        assert operation.versions(store) == had + 1
        assert data_files(store) == named_files(store)
        if isinstance(done, Merged):
            assert (done.sources, done.results, len(done.skipped)) == {
                MERGE.name: (4, 2, 0),
                BROKEN.name: (4, 2, 1),
                TOO_FEW.name: (0, 0, 1),
            }[operation.name]
            assert len(naive_live(raw_versions(store.bytes()))) == before - done.sources + done.results
    store = TOO_FEW.table()
    assert open_log(TOO_FEW.log(store)).base == 3, "the files are in manifests, which are read when somebody asks"


@each_operation
def test_a_reader_finds_the_rows_of_before_or_of_after(operation: Operation) -> None:
    had = operation.versions(operation.table())
    fates = set()
    seen: dict[frozenset[tuple[str, bytes]], frozenset[str]] = {}
    for crash in every_crash(operation):
        written = operation.versions(crash.store) - had
        fates.add((crash.error is None, bool(written)))
        assert written <= 1, crash.where
        assert crash.error is not None or written, crash.where
        assert not (is_certain(crash.error) and written), crash.where
        left = frozenset((key, b"" if key.endswith(".avro") else data) for key, data in crash.store.bytes().items())
        if left not in seen:
            seen[left] = operation.look(operation.log(crash.store.copy()))
        assert seen[left] == (operation.after if written else operation.before), crash.where
    assert fates >= {(True, True), (False, False)}, "some failures are survived, others are not"


@each_operation
def test_what_certainly_failed_leaves_no_file_behind(operation: Operation) -> None:
    kept = set()
    for crash in every_crash(operation):
        orphans = data_files(crash.store) - named_files(crash.store)
        if crash.error is None or is_certain(crash.error):
            assert not orphans or crash.undeleted, (crash.where, orphans)
        else:
            kept.add(bool(orphans))
        assert named_files(crash.store) <= data_files(crash.store), "what a version names is never taken back"
    assert True in kept or operation in (EMPTY, TOO_FEW), "whoever dies, or cannot know, takes nothing back"


@each_operation
def test_the_next_write_and_the_next_merge_work(operation: Operation) -> None:
    for store, where in leftovers(operation):
        before = found(operation.log(store))
        clock = FakeClock(seed=1)
        clock.advance(DAY)
        table = opened(make_log(store, dict(operation.options), clock=clock))
        assert table.append(data(*LATER)).written, where
        assert found(operation.log(store)) == before | rows(*LATER), where
        table.merge_splits()
        assert found(operation.log(store)) == before | rows(*LATER), where
        live = pc.value_counts(table.files().column("partitionValues").combine_chunks().items).tolist()
        assert all(values["counts"] <= 2 for values in live), (where, "a result, and what is broken")
        table.overwrite(data(*LATER))
        assert found(operation.log(store)) == rows(*LATER), where


@each_operation
def test_one_lost_request_or_answer_is_survived_with_retries(operation: Operation) -> None:
    for store, where in retried(operation):
        assert data_files(store) == named_files(store), where


def _crashes_at(operation: Operation, verb: str, part: str) -> list[Crash]:
    return [crash for crash in every_crash(operation) if f"('{verb}', '{part}" in crash.where]


def test_an_upload_without_an_answer_is_made_again_under_another_name() -> None:
    survived = [crash for crash in _crashes_at(APPEND, "create", "part=") if crash.error is None]
    assert len(survived) >= 6
    for crash in survived:
        assert found(APPEND.log(crash.store.copy())) == APPEND.after


def test_files_of_an_unknown_outcome_stay() -> None:
    unknown = [crash for crash in every_crash(MERGE) if "CommitOutcomeUnknown" in crash.where]
    assert unknown
    for crash in unknown:
        assert len(data_files(crash.store)) == 6, crash.where


def test_a_merge_with_a_broken_source_does_not_overlook_what_else_changed() -> None:
    """It looks once more whether what is broken is still there, and still commits what it planned on what it read."""
    store = BROKEN.table()
    log = BROKEN.log(store)
    other = BROKEN.log(store)

    def create(key: str, body: bytes) -> None:
        if key.startswith("part=b"):
            opened(other).commit_files(properties={"spark.indextables.indexing.fastfields": "id"})
        store.create(key, body)

    table = Table(TableHandle(make_log(Hooked(store, create=create), dict(BROKEN.options)), open_log(log)))
    with pytest.raises(MetadataChanged):
        table.merge_splits()
    assert data_files(store) == named_files(store)
    assert found(BROKEN.log(store)) == BROKEN.before
