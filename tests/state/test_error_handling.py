"""§11 of the plan: what is missing, cut, damaged, unknown or contested, and what readers and writers of states do then."""

from __future__ import annotations

import json
import logging
from contextlib import suppress

import pytest

from indextables.core.errors import CorruptLog, LogWarning, ObjectNotFound, StoreUnavailable
from indextables.log.actions import MetadataAction
from indextables.log.avro.manifest import read_manifest
from indextables.log.open_snapshot import open_log
from indextables.log.snapshot import LogAtVersion
from indextables.log.snapshot_files import read_files
from indextables.log.state.collect import collect_manifests
from indextables.log.state.read import decode_state
from indextables.log.state.write import write_state
from indextables.log.state.writing.encode_state import encode_state
from indextables.storage.retrying import Retrying
from indextables.storage.testing.faulty import Died, Fault, Faulty, Plan
from log.support import DAY, LOG, FakeClock, MemoryStore, make_log, version_key
from state.support import (
    ORIGINAL_STATE,
    avro_bytes,
    committed,
    fresh,
    paths,
    state_key,
    state_of,
    stated,
    stored_state,
    table,
    written,
)


def two_states(store: MemoryStore) -> list[str]:
    """States 2 and 4; returns the manifests of the newer one."""
    log = make_log(store)
    snapshot = committed(log, table(log), ["f1"])
    snapshot = stated(log, committed(log, snapshot, ["f2"]))
    snapshot = committed(log, snapshot, ["f3"])
    stated(log, committed(log, snapshot, ["f4"]))
    return [item["path"] for item in stored_state(store, 4)["manifests"]]


def test_read_missing_manifest() -> None:
    """The error names the manifest. A table goes back to older states and version files, and says so."""
    store = MemoryStore()
    _, newer = two_states(store)
    snapshot = fresh(store)
    del store.objects[f"{LOG}/{newer}"]
    with pytest.raises(ObjectNotFound, match=newer):
        _ = snapshot.files
    with pytest.warns(LogWarning, match="state 4 cannot be used"):
        again, files = read_files(LogAtVersion(make_log(store), snapshot), None)
    assert sorted(files["path"].to_pylist()) == ["f1", "f2", "f3", "f4"]
    assert (again.version, again.base) == (4, 2)
    for number in (1, 2, 3):
        del store.objects[version_key(number)]
    with pytest.warns(LogWarning), pytest.raises(CorruptLog, match=r"state, 4, cannot be read.*repair"):
        read_files(LogAtVersion(make_log(store), snapshot), None)


def test_read_missing_state_dir() -> None:
    """The pointer names a state that is not there: the newest that is there counts. So does a directory without a state."""
    store = MemoryStore()
    two_states(store)
    pointer = json.loads(store.objects[f"{LOG}/_last_checkpoint"].data)
    store.put(f"{LOG}/_last_checkpoint", json.dumps(pointer | {"version": 9, "stateDir": f"state-v{9:020d}"}).encode())
    assert (fresh(store).version, fresh(store).base) == (4, 4)
    del store.objects[state_key(4)]
    assert (fresh(store).version, fresh(store).base) == (4, 2)
    store.put(state_key(4, "manifest-left.avro"), b"what a writer left that died")
    assert (fresh(store).version, fresh(store).base) == (4, 2)
    del store.objects[state_key(2)]
    assert (fresh(store).version, fresh(store).base) == (4, None)
    assert paths(fresh(store)) == ["f1", "f2", "f3", "f4"]


@pytest.mark.parametrize("fault", [Fault.DIE_BEFORE, Fault.DIE_AFTER, Fault.FAIL_BEFORE, Fault.FAIL_AFTER])
def test_partial_manifest_write(fault: Fault) -> None:
    """A writer of a state dies or fails at any of its calls: nothing is lost, and the next writer is not in its way."""
    start = MemoryStore()
    log = make_log(start, {"state.entriesPerManifest": 2})
    snapshot = stated(log, committed(log, table(log), [f"f{number}" for number in range(6)]))
    committed(log, snapshot, ["g1", "g2", "g3"], ["f0"])
    expected = [*(f"f{number}" for number in range(1, 6)), "g1", "g2", "g3"]
    whole = Faulty(start.copy(), mutations_only=True)
    written(make_log(whole), open_log(make_log(whole)), compact=True)
    calls = len(whole.calls)
    assert calls >= 3
    for at in range(1, calls + 1):
        store = start.copy()
        faulty = Faulty(store, Plan(at, fault), mutations_only=True)
        victim = make_log(faulty)
        with suppress(Died, StoreUnavailable):
            write_state(LogAtVersion(victim, open_log(victim)), compact=True)
        assert faulty.fired
        assert paths(fresh(store)) == expected
        other = make_log(store, clock=FakeClock(seed=at))
        assert write_state(LogAtVersion(other, open_log(other))) is not None
        assert paths(fresh(store)) == expected
        assert fresh(store).base == 2


def test_concurrent_state_update() -> None:
    """A state of this table that is there already for our version is success; one of another table, or a damaged one, is none."""
    store = MemoryStore()
    log = make_log(store)
    snapshot = committed(log, table(log), ["f1"])
    first = written(log, snapshot)
    other = make_log(store, clock=FakeClock(seed=5))
    second = write_state(LogAtVersion(other, snapshot))
    assert second is not None
    assert (second.ours, second.state) == (False, first.state)

    theirs = decode_state("s", store.objects[state_key(1)].data, 1)
    assert theirs.metadata is not None
    alien = MetadataAction(id="another table", schema_string=theirs.metadata.schema_string)
    pointer = store.objects[f"{LOG}/_last_checkpoint"]
    for body in (encode_state(type(theirs)(**{**vars(theirs), "metadata": alien}), 3), b"rubbish"):
        store.put(state_key(1), body)
        assert write_state(LogAtVersion(log, snapshot)) is None
        assert store.objects[state_key(1)].data == body
        assert store.objects[f"{LOG}/_last_checkpoint"] == pointer


def test_commit_state_unknown() -> None:
    """A create whose answer was lost is read back, and found to be ours; one that never arrives is given up."""
    start = MemoryStore()
    log = make_log(start)
    snapshot = committed(log, table(log), ["f1"])
    store = start.copy()
    lost = Faulty(store, Plan(2, Fault.FAIL_AFTER), mutations_only=True)
    done = write_state(LogAtVersion(make_log(lost), snapshot))
    assert [call for call, _ in lost.calls] == ["create", "create", "put"]
    assert done is not None
    assert done.ours
    assert state_of(fresh(store)) == done.state

    store = start.copy()
    dead = Faulty(store, Plan(2, Fault.CONFLICT, times=100), mutations_only=True)
    writer = make_log(dead, {"state.retry.maxAttempts": 4})
    assert write_state(LogAtVersion(writer, snapshot)) is None
    assert [call for call, _ in dead.calls] == ["create"] * 5
    assert paths(fresh(store)) == ["f1"]
    assert fresh(store).base is None
    store.clock.advance(4 * DAY)
    assert len(collect_manifests(LogAtVersion(make_log(store), fresh(store))).deleted) == 1, (
        "its manifest belongs to nobody"
    )


def test_corrupted_avro_header() -> None:
    store = MemoryStore()
    two_states(store)
    whole = store.objects[state_key(4)].data
    for length in (0, 1, 3, 4, 5, 20, 200):
        with pytest.raises(CorruptLog, match="file-name"):
            decode_state("file-name", whole[:length], 4)
    for place, byte in ((0, 0x00), (3, 0x02), (4, 0x09), (5, 0xFF), (10, 0x00)):
        broken = whole[:place] + bytes([byte]) + whole[place + 1 :]
        with pytest.raises(CorruptLog, match="file-name"):
            decode_state("file-name", broken, 4)
        with pytest.raises(CorruptLog, match="file-name"):
            read_manifest("file-name", broken)
    store.put(state_key(4), b"Obj\x01" + bytes(40))
    with pytest.warns(LogWarning, match="state 4 cannot be used"):
        opened = fresh(store)
    assert (opened.version, opened.base, paths(opened)) == (4, 2, ["f1", "f2", "f3", "f4"])


def test_invalid_schema_version() -> None:
    """A state of a later format is not guessed at: older states and version files are used while they are there."""
    store = MemoryStore()
    two_states(store)
    record = stored_state(store, 4) | {"formatVersion": 2}
    store.put(state_key(4), avro_bytes(ORIGINAL_STATE, [record]))
    with pytest.raises(CorruptLog, match="format version 2, known is 1"):
        decode_state("s", store.objects[state_key(4)].data, 4)
    with pytest.warns(LogWarning, match="format version 2"):
        assert fresh(store).base == 2
    for number in (1, 2, 3):
        del store.objects[version_key(number)]
    with pytest.warns(LogWarning), pytest.raises(CorruptLog, match="repair"):
        fresh(store)


def test_storage_exception(caplog: pytest.LogCaptureFixture) -> None:
    """Reads are repeated by the store that retries; a create is repeated after it was read back and found absent."""
    store = MemoryStore()
    log = make_log(store)
    snapshot = committed(log, table(log), ["f1"])
    faulty = Faulty(store, Plan(2, Fault.CONFLICT, times=3), mutations_only=True)
    writer = make_log(faulty)
    slept = len(store.clock.slept)
    with caplog.at_level(logging.INFO, "indextables"):
        done = write_state(LogAtVersion(writer, snapshot))
    assert done is not None
    assert done.ours
    assert [call for call, _ in faulty.calls] == [*["create"] * 5, "put"]
    waits = store.clock.slept[slept:]
    assert len(waits) == 3
    assert waits == sorted(waits), "each wait is longer than the one before"
    assert waits[0] < waits[-1]
    assert caplog.text.count("reading it back") == 3
    opened = fresh(store)
    failing = Faulty(store, Plan(1, Fault.FAIL_BEFORE, times=3))
    patient = make_log(Retrying(failing, FakeClock()))
    again, files = read_files(LogAtVersion(patient, open_log(patient)), None)
    assert (again.version, files["path"].to_pylist()) == (opened.version, ["f1"])
    assert len(failing.fired) == 3
