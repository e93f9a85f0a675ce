"""States against a dict: whatever is appended, removed, added again and compacted, every reader sees the same files."""

from __future__ import annotations

import itertools
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from effort import examples
from indextables import AddAction, Table
from indextables.log.log_cache import LogCache
from indextables.log.open_snapshot import open_log
from indextables.log.state.live_files import StateFiles
from indextables.log.state.write import write_state
from indextables.log.table_log import TableLog
from tables import handle_of, store_of

SCHEMA = pa.schema([("part", pa.int32()), ("id", pa.int64())])
numbers = itertools.count()

steps = st.lists(
    st.tuples(
        st.sampled_from(["add", "add", "remove", "readd", "both", "state", "compact", "reopen"]),
        st.integers(0, 7),
        st.integers(1, 3),
    ),
    min_size=3,
    max_size=25,
)


def adds(paths: list[str]) -> list[AddAction]:
    return [
        AddAction(path, {"part": str(len(path) % 5)} if len(path) % 7 else {}, size=len(path) + 1) for path in paths
    ]


@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    steps=steps,
    options=st.sampled_from([{}, {"state.entriesPerManifest": 3}, {"state.compaction.tombstoneThreshold": 0.9}]),
)
def test_states_equal_a_dict(steps: list[tuple[str, int, int]], options: dict[str, Any]) -> None:
    options = {"checkpoint.enabled": False, "state.compaction.maxManifests": 4, **options}
    url = f"memory://states/{next(numbers)}"
    table = Table.create(url, SCHEMA, partition_by=["part"], options=options)
    model: dict[str, int] = {}
    history: dict[int, dict[str, int]] = {0: {}}
    names = itertools.count()
    for what, which, count in steps:
        live = sorted(model)
        if what == "add" or not live:
            paths = [f"p{next(names)}" + "x" * (which % 3) for _ in range(count)]
            table.commit_files(adds(paths))
        elif what == "remove":
            table.commit_files(removes=live[which % len(live) :][:count])
        elif what == "readd":
            removed = sorted({path for version in history.values() for path in version} - set(live))
            table.commit_files(adds((removed or live)[:count]))
        elif what == "both":
            path = live[which % len(live)]
            table.commit_files(adds([path]), removes=[path])
        elif what == "reopen":
            table = Table.open(url, options={**options, "transaction.cache.enabled": False})
            continue
        else:
            written = write_state(handle_of(table), compact=what == "compact")
            assert written is not None
            check_state(table, model)
            continue
        model = history[table.version] = expected(history, table)
        assert set(table.files()["path"].to_pylist()) == set(model)
    write_state(handle_of(table))
    check_state(table, model)
    for version, files in history.items():
        then = Table.open(url, version=version, options={"transaction.cache.enabled": False})
        assert sorted(then.files()["path"].to_pylist()) == sorted(files), version
    for part in range(5):
        found = set(Table.open(url).files(f"part = {part}")["path"].to_pylist())
        assert found == {path for path in model if len(path) % 7 and len(path) % 5 == part}


def expected(history: dict[int, dict[str, int]], table: Table) -> dict[str, int]:
    """The model, from the version file alone."""
    found = handle_of(table).log.read_version(table.version)
    assert found is not None
    files = dict(history[table.version - 1])
    for remove in found.actions.removes:
        del files[remove.path]
    for add in found.actions.adds:
        files[add.path] = add.size
    return files


def check_state(table: Table, model: dict[str, int]) -> None:
    """A process that knows nothing opens the state, and its numbers are exact."""
    fresh = open_log(TableLog(store_of(table), handle_of(table).log.options, cache=LogCache()))
    assert fresh.base == fresh.version == table.version
    assert isinstance(fresh.file_set.base, StateFiles)
    files = fresh.files
    assert sorted(files["path"].to_pylist()) == sorted(model)
    state = fresh.file_set.base.state
    assert state.num_files == len(model)
    assert state.total_bytes == sum(model.values())
    assert state.tombstones.isdisjoint(model)
    assert sum(item.live_entry_count for item in state.manifests) == len(model)
    assert sum(item.tombstone_count for item in state.manifests) == len(state.tombstones)
