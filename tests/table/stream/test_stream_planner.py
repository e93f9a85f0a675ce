"""The planner, rule by rule."""

from __future__ import annotations

from typing import Any

import pytest

from indextables.core.errors import (
    ChangesGone,
    ForeignTable,
    LogWarning,
    RowsRemoved,
    SchemaError,
    TableReplaced,
    VersionNotFound,
)
from indextables.log.actions import Actions, AddAction, RemoveAction
from indextables.log.commit import commit
from indextables.log.conflicts import Change
from indextables.log.create_log import create_log
from indextables.log.open_snapshot import open_log
from indextables.log.snapshot import LogAtVersion
from indextables.storage.testing.counting import Counting
from indextables.table.handle import TableHandle
from indextables.table.stream import Lag, Limits, Offset, StreamOptions, StreamPlanner
from indextables.table.stream.stream_files import committed_files
from indextables.table.stream.stream_planner import _MOST_IDLE_VERSIONS
from indextables.table.stream.streamed_table import _MOST_TAKEN_IN
from indextables.table.stream.version_window import VersionWindow
from log.support import DAY, PROTOCOL, START_MS, FakeClock, MemoryStore, foreign_table, make_log, raw_add
from table.stream.history_support import History, drained, paths, schema_of


@pytest.fixture
def history() -> History:
    return History()


def test_the_snapshot_then_one_version_after_the_other(history: History) -> None:
    first = [name for count in (2, 1, 3) for name in history.append(count)]
    history.set_property()
    planner = history.planner()
    start = planner.initial()
    assert start == Offset(history.snapshot.table_id, 4, 0, snapshot=True)
    assert planner.initial() is start
    end = planner.latest(start)
    assert end == Offset(start.table, 5)
    assert paths(planner, start, end) == first, "modification times are the order of the appends"
    assert planner.latest(end) == end
    later = [history.append(), history.append(2)]
    assert drained(planner, end) == ([*later[0], *later[1]], Offset(start.table, 7))
    assert planner.report() == Offset(start.table, 7)


def test_files_of_one_moment_stand_in_the_order_of_their_paths(history: History) -> None:
    files = history.new_files(20, modification_time=START_MS)
    names = [file.path for file in files]
    history.commit(Change(adds=files), names, [], names)
    assert drained(history.planner(), history.planner().initial())[0] == sorted(names)


def test_an_empty_table_has_no_snapshot_to_begin_with(history: History) -> None:
    planner = history.planner()
    start = planner.initial()
    assert start == Offset(history.snapshot.table_id, 1)
    assert planner.latest(start) == start
    assert paths(planner, start, start) == []
    names = history.append(2)
    assert drained(planner, start)[0] == names


@pytest.mark.parametrize("first", [0, 1, 3, 6])
def test_from_a_version_on(history: History, first: int) -> None:
    for _ in range(5):
        history.append(2)
    planner = history.planner(starting_version=first)
    expected = [name for version in history.versions[first:] for name in version.adds]
    assert drained(planner, planner.initial())[0] == expected


def test_a_version_that_is_still_to_come(history: History) -> None:
    history.append()
    with pytest.raises(
        VersionNotFound, match=r"is at version 1, so a stream cannot start at version 3: .* up to 2, or latest"
    ):
        history.planner(starting_version=3).initial()


def test_from_now_on(history: History) -> None:
    history.append()
    planner = history.planner(starting_version="latest")
    start = planner.initial()
    assert drained(planner, start) == ([], start)
    names = history.append(3)
    assert planner.initial() == start, "the same answer each time"
    assert drained(planner, start)[0] == names


def test_from_a_time_on(history: History) -> None:
    times = []
    for _ in range(4):
        history.append()
        times.append(history.snapshot.timestamp)
    for version, moment in enumerate(times, start=1):
        assert history.planner(starting_timestamp=moment).initial().version == version
        assert history.planner(starting_timestamp=moment - 1).initial().version == version
        if version < 4:
            assert history.planner(starting_timestamp=moment + 1).initial().version == version + 1
    assert history.planner(starting_timestamp=0).initial().version == 0
    with pytest.raises(VersionNotFound, match="later than the newest commit, version 4 of 20"):
        history.planner(starting_timestamp=times[-1] + 1).initial()


def test_a_time_before_what_is_kept(history: History) -> None:
    for _ in range(40):
        history.append()
        history.clock.advance(DAY)
    history.checkpoint()
    history.clock.advance(DAY)
    history.clean_up(15)
    assert 1 not in history.kept
    with pytest.raises(ChangesGone) as error:
        history.planner(starting_timestamp=START_MS).initial()
    assert error.value.oldest == history.oldest_possible()


def test_merges_and_other_commits_without_new_rows_give_nothing(history: History) -> None:
    history.append(4)
    planner = history.planner(starting_version="latest")
    start = planner.initial()
    history.merge(3)
    history.set_property()
    assert planner.latest(start) == start
    names = history.append()
    history.merge(2)
    end = planner.latest(start)
    assert (paths(planner, start, end), end.version) == (names, 6)


def test_an_idle_stream_moves_on_now_and_then(history: History) -> None:
    """Not for every version, which would be an empty batch each, and not never, or clean-up would overtake it."""
    history.append()
    planner = history.planner(starting_version="latest")
    start = planner.initial()
    for _ in range(_MOST_IDLE_VERSIONS - 1):
        history.set_property()
    assert planner.latest(start) == start
    history.set_property()
    moved = planner.latest(start)
    assert moved.version == start.version + _MOST_IDLE_VERSIONS
    assert paths(planner, start, moved) == []
    assert history.planner().latest(start) == moved


def test_an_idle_stream_moves_on_once_a_day(history: History) -> None:
    history.append()
    planner = history.planner(starting_version="latest")
    start = planner.initial()
    history.set_property()
    assert planner.latest(start) == start
    history.clock.advance(DAY)
    assert planner.latest(start) == start, "there is nothing to move over"
    history.set_property()
    assert planner.latest(start).version == 4
    assert history.planner().latest(start).version == 4


def test_limits_by_files_bytes_and_rows(history: History) -> None:
    sizes, rows = (100, 200, 300, 400, 0), (1, 2, 0, 1, 2)  # as `History.new_files` makes them
    names = history.append(3) + history.append(2)
    planner = history.planner(starting_version=0)
    start = planner.initial()

    def steps(limits: Limits) -> list[int]:
        found, at, counts = [], start, []
        while (end := planner.latest(at, limits)) != at:
            step = paths(planner, at, end)
            found += step
            counts.append(len(step))
            at = end
        assert found == names
        return counts

    assert steps(Limits(files=1)) == [1] * 5
    assert steps(Limits(files=2)) == [2, 2, 1]
    assert steps(Limits(files=3)) == [3, 2]
    assert steps(Limits()) == [5]
    assert planner.files(start, planner.latest(start)).column("size").to_pylist() == [*sizes]
    assert planner.files(start, planner.latest(start)).column("numRecords").to_pylist() == [*rows]
    assert steps(Limits(bytes=300)) == [2, 1, 1, 1], "one file in any case, however large"
    assert steps(Limits(bytes=699)) == [3, 2]
    assert steps(Limits(bytes=1)) == [1] * 5
    assert steps(Limits(rows=3)) == [3, 2]
    assert steps(Limits(files=2, rows=1)) == [1, 1, 2, 1]
    assert history.planner(starting_version=0, max_files=4).latest(start).index == 1


def test_a_limit_inside_the_snapshot(history: History) -> None:
    names = history.append(5)
    planner = history.planner(max_files=2)
    start = planner.initial()
    assert [planner.latest(start), planner.latest(start, Limits(files=4))] == [
        Offset(start.table, 1, 2, snapshot=True),
        Offset(start.table, 1, 4, snapshot=True),
    ]
    middle = planner.latest(start)
    more = history.append()
    history.overwrite()
    again = history.planner(max_files=2, ignore_changes=True)
    assert paths(again, start, middle) == names[:2]
    assert drained(again, middle)[0] == [*names[2:], *more, *history.live], "the snapshot is read by time travel"


@pytest.mark.parametrize("as_json", [False, True])
def test_the_order_of_a_snapshot_outlives_checkpoints(as_json: bool) -> None:
    """Entries that come out of a JSON checkpoint do not say which version added them."""
    history = History(options={"state.format": "json"} if as_json else {})
    for count in (3, 1, 2):
        history.append(count)
    before = history.planner()
    start = before.initial()
    whole = drained(before, start)[0]
    history.checkpoint(as_json=as_json)
    for version in (1, 2):
        del history.store.objects[f"_transaction_log/{version:020d}.json"]
    cut = history.planner().latest(start, Limits(files=4))
    assert paths(history.planner(), start, cut) == whole[:4]
    assert drained(history.planner(), cut)[0] == whole[4:]


def test_available_now_ends_at_the_version_that_was_newest(history: History) -> None:
    names = history.append(3)
    planner = history.planner(max_files=2)
    planner.prepare_available_now()
    history.append(5)
    start = planner.initial()
    found, end = drained(planner, start)
    assert (found, end.version) == (names, 2)
    assert drained(history.planner(), end)[0] == history.versions[2].adds


@pytest.mark.parametrize(
    ("verb", "option", "gives"),
    [
        ("delete", "ignore_deletes", []),
        ("delete", "ignore_changes", []),
        ("delete", "skip_change_commits", []),
        ("overwrite", "ignore_changes", "adds"),
        ("overwrite", "skip_change_commits", []),
    ],
)
def test_commits_that_remove_rows(history: History, verb: str, option: str, gives: Any) -> None:
    history.append(2)
    start = history.planner(starting_version="latest").initial()
    before = history.append()
    getattr(history, verb)()
    expected = before + (history.versions[-1].adds if gives == "adds" else [])
    after = history.append()
    planner = history.planner(**{option: True})
    assert drained(planner, start)[0] == expected + after


def test_rows_that_are_taken_back_end_a_stream(history: History) -> None:
    """What came before is given first, so that nothing is stuck behind the error."""
    history.append(2)
    start = history.planner(starting_version="latest").initial()
    before = history.append()
    history.overwrite()
    planner = history.planner()
    end = planner.latest(start)
    assert paths(planner, start, end) == before
    with pytest.raises(RowsRemoved, match=r"version 3 replaced rows by others, .*ignoreChanges=true") as error:
        planner.latest(end)
    assert error.value.version == 3
    with pytest.raises(RowsRemoved):
        history.planner(ignore_deletes=True).latest(end)
    history.delete()
    with pytest.raises(RowsRemoved, match=r"version 4 removed rows, .*ignoreDeletes=true"):
        history.planner(starting_version=4).latest(Offset(end.table, 4))
    with pytest.raises(RowsRemoved):
        history.planner().files(end, Offset(end.table, 4))


@pytest.mark.parametrize("removed", [True, False])
@pytest.mark.parametrize("added", [True, False])
def test_a_file_that_a_commit_removes_and_adds_again_changes_nothing(added: bool, removed: bool) -> None:
    """Whatever the two actions say of data."""
    actions = Actions(
        removes=(RemoveAction("a", data_change=removed, size=1), RemoveAction("b", size=1)),
        adds=(AddAction("a", data_change=added, size=1), AddAction("c", size=1)),
    )
    found = committed_files(1, START_MS, actions)
    assert ([add.path for add in found.adds], found.removes) == (["c"], 1)


def test_a_path_with_another_size_may_have_other_rows() -> None:
    """Then each of the two actions counts as it says."""
    removes, adds = (RemoveAction("a", size=1),), (AddAction("a", size=2, data_change=False),)
    assert committed_files(1, START_MS, Actions(removes=removes, adds=adds)).removes == 1


def test_an_option_that_comes_later_does_not_move_the_offset(history: History) -> None:
    history.append()
    history.overwrite(4)
    history.append()
    cut = history.planner(ignore_changes=True).latest(Offset(history.snapshot.table_id, 2), Limits(files=3))
    assert cut == Offset(history.snapshot.table_id, 2, 3)
    assert (
        drained(history.planner(ignore_changes=True), cut)[0] == history.versions[2].adds[3:] + history.versions[3].adds
    )
    assert drained(history.planner(skip_change_commits=True), cut)[0] == history.versions[3].adds


def test_a_table_that_was_created_anew(history: History) -> None:
    history.append()
    planner = history.planner()
    start = planner.initial()
    old, clock = start.table, FakeClock(seed=77)
    history.store.objects.clear()
    log = make_log(history.store, clock=clock)
    new = create_log(log, schema_string=history.snapshot.metadata.schema_string)
    for stream in (planner, history.planner()):
        with pytest.raises(TableReplaced, match="dropped and created again") as error:
            stream.latest(start)
        assert (error.value.then, error.value.now) == (old, new.table_id)
        assert old in str(error.value)
        assert new.table_id in str(error.value)
    with pytest.raises(TableReplaced):
        history.planner().files(start, start)


def test_an_older_copy_that_was_put_back(history: History) -> None:
    history.append()
    copy = dict(history.store.objects)
    for _ in range(5):
        history.append()
    end = drained(history.planner(), history.planner().initial())[1]
    history.store.objects = copy
    with pytest.raises(VersionNotFound, match="is at version 1 and the stream was at 7: an older copy"):
        history.planner().latest(end)


def aged(history: History) -> None:
    """Forty days of a commit a day, then a state, and clean-up: the first versions are gone."""
    for _ in range(40):
        history.append()
        history.clock.advance(DAY)
    history.checkpoint()
    for _ in range(3):
        history.append()
    history.clean_up(15)


def test_versions_that_are_gone(history: History) -> None:
    history.append()
    start = history.planner(starting_version="latest").initial()
    aged(history)
    oldest = history.oldest_possible()
    assert 2 not in history.kept
    assert oldest > 10
    with pytest.raises(
        ChangesGone, match=f"version 2 was cleaned up .* startingVersion={oldest} or a snapshot"
    ) as error:
        history.planner().latest(start)
    assert (error.value.version, error.value.oldest) == (2, oldest)
    with pytest.raises(ChangesGone):
        history.planner(starting_version=5).latest(Offset(start.table, 5))
    planner = history.planner(starting_version=oldest)
    expected = [name for version in history.versions[oldest:] for name in version.adds]
    assert drained(planner, planner.initial())[0] == expected
    with pytest.warns(LogWarning, match=f"goes on with version {oldest}"):
        assert drained(history.planner(fail_on_data_loss=False), start)[0] == expected


def test_a_snapshot_that_is_gone(history: History) -> None:
    history.append(3)
    cut = history.planner().latest(history.planner().initial(), Limits(files=1))
    aged(history)
    with pytest.raises(ChangesGone, match="snapshot 1 was cleaned up") as error:
        history.planner().latest(cut)
    oldest = error.value.oldest
    assert history.planner().lag(cut).is_exact is False
    with pytest.warns(LogWarning, match=f"snapshot 1 was cleaned up .* goes on with version {oldest}"):
        found = drained(history.planner(fail_on_data_loss=False), cut)[0]
    assert found == [name for version in history.versions[oldest:] for name in version.adds]


def test_versions_that_go_after_they_were_read_are_not_missed(history: History) -> None:
    history.append()
    planner = history.planner(starting_version="latest")
    start = planner.initial()
    names = history.append(2)
    end = planner.latest(start)
    del history.store.objects["_transaction_log/00000000000000000002.json"]
    assert paths(planner, start, end) == names


def test_columns_that_come_later_and_columns_that_change(history: History) -> None:
    old = {"id": "long", "message": "string", "day": "string"}
    history.append()
    planner = history.planner()
    start = planner.initial()
    history.set_columns(schema_of(**old, extra="long"))
    names = history.append()
    found, end = drained(planner, start)
    assert found[-1:] == names
    assert planner.schema.names == list(old), "the new column comes when the stream is opened again"
    assert history.planner().schema.names == [*old, "extra"]
    assert history.planner(columns=("DAY",)).schema.names == ["day"]
    for columns, said in (
        ({"id": "long", "message": "string"}, "lost its column day"),
        ({**old, "id": "string"}, "changed its column id from long to string"),
        ({**old, "n": "long!"}, "got a column n that must have values"),
    ):
        changed = History()
        stream = changed.planner()
        changed.set_columns(schema_of(**columns))
        with pytest.raises(SchemaError, match=f"{said} since the stream began: start the stream again"):
            stream.latest(stream.initial() if columns is None else Offset(changed.snapshot.table_id, 1))
    assert end.version == 4


def test_a_column_that_allows_nulls_at_once() -> None:
    history = History(schema=schema_of(a="long!"))
    planner = history.planner()
    history.set_columns(schema_of(a="long"))
    with pytest.raises(SchemaError, match="began to allow nulls in its column a") as error:
        planner.latest(Offset(history.snapshot.table_id, 1))
    assert error.value.column == "a"


def test_how_far_a_stream_is_behind(history: History) -> None:
    history.append(2)
    planner = history.planner()
    start = planner.initial()
    history.append(3)
    history.merge(2)
    assert planner.lag(start) == Lag(1, 2, 300, is_exact=True), "as of the last look"
    end = planner.latest(start, Limits(files=1))
    assert planner.lag(start) == Lag(3, 5, 1000, is_exact=True)
    assert planner.lag(end) == Lag(3, 4, 900, is_exact=True)
    end = planner.latest(end, Limits(files=2))
    assert (end.version, end.index) == (2, 1)
    assert planner.lag(end) == Lag(2, 2, 400, is_exact=True)
    assert planner.lag(planner.latest(end)) == Lag(0, 0, 0, is_exact=True)
    assert planner.lag(planner.report()) == Lag(0, 0, 0, is_exact=True)


def test_where_leaves_out_files_and_not_places(history: History) -> None:
    for low in range(5):
        files = history.new_files(1, min_values={"id": str(low)}, max_values={"id": str(low)})
        history.commit(Change(adds=files), [files[0].path], [], [*history.live, files[0].path])
    planner = history.planner(where="id >= 3", starting_version=0)
    start = planner.initial()
    end = planner.latest(start)
    assert planner.files(start, end).num_rows == 5
    request = planner.request(start, end)
    assert request.files is not None
    assert request.files.column("path").to_pylist() == history.live[3:]
    assert request.columns == ("id", "message", "day")


def requests_of(history: History) -> tuple[Counting, StreamPlanner]:
    store = Counting(history.store)
    log = make_log(store, history.options, clock=history.clock)
    return store, StreamPlanner(TableHandle(log, open_log(log)), StreamOptions(starting_version=0))


def test_an_idle_look_is_one_refresh(history: History) -> None:
    for _ in range(3):
        history.append()
    store, planner = requests_of(history)
    end = drained(planner, planner.initial())[1]
    for _ in range(3):
        store.reset()
        assert planner.latest(end) == end
        planner.lag(end)
        planner.report()
        assert sorted(request.verb for request in store.requests) == ["get", "head"]


def test_no_version_file_is_read_twice(history: History) -> None:
    for _ in range(200):
        history.append()
    store, planner = requests_of(history)
    store.reset()
    offset = planner.initial()
    for round_ in range(5):
        for _ in range(20):
            end = planner.latest(offset, Limits(files=7))
            planner.files(offset, end)
            planner.lag(end)
            planner.done(end)
            offset = end
        for _ in range(round_ + 1):
            history.append()
    offset = drained(planner, offset)[1]
    assert offset.version == history.newest + 1
    versions = [request.keys for request in store.requests if request.verb == "get" and request.size]
    assert len(versions) == len(set(versions)) == history.newest + 1


def test_a_window_keeps_little(history: History) -> None:
    """Versions beyond the window are read again when their turn comes; none is left out."""
    expected = [name for count in range(60) for name in history.append(count % 5 + 1)]
    store = Counting(history.store)
    window = VersionWindow(make_log(store, history.options), history.snapshot.table_id, most_entries=200)

    def read() -> int:
        store.reset()
        assert [add.path for found in window.read(0, history.newest) for add in found.adds] == expected
        return len(store.requests)

    assert read() == 61
    assert 5 < read() < 15, "200 entries: all but some ten of the 61 versions, with 3 files each"
    window.forget(history.newest + 1)
    assert read() == 61


def test_many_versions_at_one_look(history: History) -> None:
    planner = history.planner(starting_version=0)
    start = planner.initial()
    expected = [name for _ in range(_MOST_TAKEN_IN + 10) for name in history.append()]
    assert drained(planner, start)[0] == expected


def test_a_version_of_a_table_that_was_dropped_here_counts_as_empty(history: History) -> None:
    history.append()
    other = History(MemoryStore(FakeClock(seed=99)))
    for _ in range(2):
        other.append()
    key = "_transaction_log/00000000000000000002.json"
    history.store.put(key, other.store.objects[key].data)
    log = make_log(history.store, history.options)
    at = LogAtVersion(log, open_log(log))
    (file,) = history.new_files(1)
    commit(at, Change(adds=(file,)), operation="WRITE")
    planner = history.planner(starting_version=0)
    assert drained(planner, planner.initial())[0] == [*history.versions[1].adds, file.path]


def test_tables_of_others_are_refused() -> None:
    store = MemoryStore()
    foreign_table(store, [raw_add("a.split")])
    log = make_log(store)
    assert PROTOCOL
    with pytest.raises(ForeignTable):
        StreamPlanner(TableHandle(log, open_log(log)))


def test_a_table_committed_as_states_is_refused(history: History) -> None:
    history.append()
    snapshot = history.snapshot.changed(state_committed=True)
    with pytest.raises(ForeignTable, match="nothing says which rows a commit added: read the whole table"):
        StreamPlanner(TableHandle(history.log, snapshot))
