"""Restores, and changes that depend on what was read, against what won meanwhile. No I/O."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec
import pytest

from indextables.core.errors import CommitError, FilesChanged, IndexTablesError, MetadataChanged
from indextables.core.schema_hash import schema_hash
from indextables.log.actions import Actions, AddAction, CommitInfo, RemoveAction
from indextables.log.conflicts import Change, MetadataUpdate, Replace, decide
from indextables.log.file_entries import NO_FILES
from indextables.log.file_set import FileSet
from indextables.log.restored_files import RestoreTo, restore_target
from indextables.log.snapshot import Snapshot, apply_version
from log.support import add
from log.test_conflicts import BASE, DAY_1, NOW, THEIRS, a_removed, all_removed, schema_with, with_metadata, won

DAY_2 = {"day": "2"}
OVERWRITTEN = won(BASE, removes=tuple(map(RemoveAction, "abc")), adds=(add("d", partition_values=DAY_2),))
"""Version 2: `a`, `b` and `c` of version 1 are gone, and `d` is there."""
BACK = Change(restore=restore_target(BASE))


@dataclass(frozen=True)
class Case:
    """A restore of version 1 that was planned on version 2, against a winner. None: nothing is written."""

    name: str
    winner: Callable[[Snapshot], Snapshot]
    removes: str | None
    adds: str = ""


CASES = [
    Case("nobody", lambda s: s, "d", "a b c"),
    Case("append", lambda s: won(s, adds=(THEIRS,)), "d theirs", "a b c"),
    Case("overwrite", lambda s: won(s, removes=(RemoveAction("d"),), adds=(THEIRS,)), "theirs", "a b c"),
    Case("everything is removed", lambda s: won(s, removes=(RemoveAction("d"),)), "", "a b c"),
    Case(
        "a merge",
        lambda s: won(s, removes=(RemoveAction("d", data_change=False),), adds=(add("d2", data_change=False),)),
        "d2",
        "a b c",
    ),
    Case("another restore of a part", lambda s: won(s, adds=(add("a", partition_values={"day": "1"}),)), "d", "b c"),
    Case(
        "the same restore",
        lambda s: won(s, removes=(RemoveAction("d"),), adds=tuple(add(path) for path in "abc")),
        None,
    ),
    Case("a merge of what another restore brought back", lambda s: won(s, adds=(add("ab"), add("c"))), "d ab", "a b"),
    Case(
        "a property",
        lambda s: with_metadata(s, configuration=s.metadata.configuration | {"owner": "you"}),
        "d",
        "a b c",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_restore_is_computed_at_its_own_version(case: Case) -> None:
    decision = decide(BACK, OVERWRITTEN, case.winner(OVERWRITTEN), NOW)
    if case.removes is None:
        assert decision.actions is None
        assert decision.reason == "the files of version 1 are live already"
        return
    assert decision.actions is not None
    assert {remove.path for remove in decision.actions.removes} == set(case.removes.split())
    assert {entry.path for entry in decision.actions.adds} == set(case.adds.split())
    assert all(entry.data_change for entry in decision.actions.adds)
    assert all(remove.data_change for remove in decision.actions.removes)
    after = apply_version(case.winner(OVERWRITTEN), 9, NOW, decision.actions)
    assert set(after.files.column("path").to_pylist()) == set("abc")


def truncated(snapshot: Snapshot) -> Snapshot:
    info = CommitInfo("theirs", snapshot.table_id, snapshot.timestamp + 10, time_travel_floor=snapshot.version + 1)
    return apply_version(snapshot, snapshot.version + 1, snapshot.timestamp + 10, Actions(info))


def test_a_floor_above_the_target_is_the_end_of_a_restore() -> None:
    with pytest.raises(
        CommitError, match="version 1 cannot be restored: time travel was truncated, the oldest version is 3"
    ) as no:
        decide(BACK, OVERWRITTEN, truncated(OVERWRITTEN), NOW)
    assert (no.value.version, no.value.floor) == (1, 3)


def test_a_floor_at_the_target_is_none() -> None:
    floored = truncated(BASE)
    later = won(floored, removes=(RemoveAction("a"),))
    actions = decide(Change(restore=restore_target(floored)), later, later, NOW).actions
    assert actions is not None
    assert [entry.path for entry in actions.adds] == ["a"]


def test_every_field_of_an_entry_comes_back() -> None:
    text = '{"field_mappings": []}'
    whole = AddAction(
        path="whole",
        partition_values={"day": "1"},
        size=123,
        modification_time=5,
        data_change=False,
        stats='{"numRecords":3,"nullCount":{"id":1}}',
        tags={"x": "y"},
        min_values={"id": "1"},
        max_values={"id": "9"},
        num_records=3,
        footer_start_offset=10,
        footer_end_offset=123,
        hotcache_start_offset=7,
        hotcache_length=3,
        has_footer_offsets=True,
        time_range_start="a",
        time_range_end="b",
        split_tags=("s", "t"),
        delete_opstamp=4,
        num_merge_ops=2,
        doc_mapping_ref=schema_hash(text),
        uncompressed_size_bytes=999,
        companion_source_files=("c",),
        companion_delta_version=8,
        companion_fast_field_mode="m",
    )
    key = f"docMappingSchema.{schema_hash(text)}"
    then = won(with_metadata(BASE, configuration={**BASE.metadata.configuration, key: text}), adds=(whole,))
    now = won(then, removes=(RemoveAction("whole"),))
    actions = decide(Change(restore=restore_target(then)), now, now, NOW).actions
    assert actions is not None
    assert actions.adds == (msgspec.structs.replace(whole, data_change=True),)
    assert actions.metadata is None, "the hash is known"


def test_a_doc_mapping_that_the_table_has_forgotten_is_registered_again() -> None:
    text = '{"field_mappings": [1]}'
    ref = schema_hash(text)
    then = won(BASE, adds=(add("mapped", doc_mapping_ref=ref),))
    target = RestoreTo(then.version, then.files, {ref: text})
    now = won(then, removes=(RemoveAction("mapped"),))
    actions = decide(Change(restore=target), now, now, NOW).actions
    assert actions is not None
    assert [entry.doc_mapping_ref for entry in actions.adds] == [ref]
    assert actions.metadata is not None
    assert actions.metadata.configuration[f"docMappingSchema.{ref}"] == text


def test_the_columns_go_back_and_a_change_of_metadata_is_a_conflict() -> None:
    older = MetadataUpdate(schema_string=schema_with(drop="message"))
    change = Change(restore=restore_target(BASE), metadata=older)
    actions = decide(change, BASE, BASE, NOW).actions
    assert actions is not None, "the files are the same, and the columns are not"
    assert actions.metadata is not None
    assert not actions.adds
    with pytest.raises(MetadataChanged):
        decide(change, BASE, with_metadata(BASE, description="x"), NOW)


# changes that depend on what was read

DEPENDS_ON_ALL = Change(adds=(add("new"),), computed_from_all=True)
DEPENDS_ON_DAY_1 = Change(replace=Replace(DAY_1.where, computed_from=True))


def merged(snapshot: Snapshot) -> Snapshot:
    removes = tuple(RemoveAction(path, data_change=False) for path in "ab")
    return won(snapshot, removes=removes, adds=(add("ab", partition_values={"day": "1"}, data_change=False),))


def appended_and_merged(snapshot: Snapshot) -> Snapshot:
    """`x` is appended to day 1, and vanishes in a merge: no file tells that rows came."""
    added = won(snapshot, adds=(add("x", partition_values={"day": "1"}),))
    removes = tuple(RemoveAction(path, data_change=False) for path in ("a", "x"))
    return won(added, removes=removes, adds=(add("ax", partition_values={"day": "1"}, data_change=False),))


def removed_and_merged(snapshot: Snapshot) -> Snapshot:
    gone = a_removed(snapshot)
    removes = (RemoveAction("b", data_change=False),)
    return won(gone, removes=removes, adds=(add("b2", partition_values={"day": "1"}, data_change=False),))


def folded(snapshot: Snapshot) -> Snapshot:
    """The same version, opened from a state that has just been written: nobody knows what happened before it."""
    return snapshot.changed(file_set=FileSet(snapshot.files))


@pytest.mark.parametrize("change", [DEPENDS_ON_ALL, DEPENDS_ON_DAY_1], ids=["all", "day 1"])
class TestWhatWasRead:
    @pytest.mark.parametrize(
        "winner", [lambda s: s, merged, lambda s: merged(won(s)), lambda s: with_metadata(s, description="x")]
    )
    def test_is_still_there(self, change: Change, winner: Callable[[Snapshot], Snapshot]) -> None:
        current = winner(BASE)
        actions = decide(change, BASE, current, NOW).actions
        assert actions is not None
        if change.replace is not None:
            live = set(current.files.column("path").to_pylist()) - {"c"}
            assert {remove.path for remove in actions.removes} == live

    @pytest.mark.parametrize(
        ("winner", "newest"),
        [
            (lambda s: won(s, adds=(THEIRS,)), 2),
            (lambda s: merged(won(s, adds=(THEIRS,))), 2),
            (lambda s: won(merged(s), adds=(THEIRS,)), 3),
            (a_removed, 2),
            (all_removed, 2),
            (appended_and_merged, 2),
            (removed_and_merged, 2),
        ],
    )
    def test_is_not(self, change: Change, winner: Callable[[Snapshot], Snapshot], newest: int) -> None:
        says = f"were computed from version 1, and version {newest} changed rows"
        with pytest.raises(FilesChanged, match=says) as no:
            decide(change, BASE, winner(BASE), NOW)
        assert (no.value.read_version, no.value.version) == (1, newest)

    def test_counts_as_changed_where_nobody_knows(self, change: Change) -> None:
        with pytest.raises(FilesChanged, match="a version up to 2 changed rows"):
            decide(change, BASE, folded(merged(BASE)), NOW)


def test_rows_outside_do_not_matter_to_a_partition() -> None:
    outside = won(BASE, adds=(add("d", partition_values=DAY_2),), removes=(RemoveAction("c"),))
    assert decide(DEPENDS_ON_DAY_1, BASE, outside, NOW).actions is not None
    with pytest.raises(FilesChanged, match="version 2 changed"):
        decide(DEPENDS_ON_ALL, BASE, outside, NOW)


def test_files_that_a_change_stands_on() -> None:
    change = Change(adds=(add("new"),), needs=("a", "c"))
    assert decide(change, BASE, won(BASE, adds=(THEIRS,)), NOW).actions is not None
    error: type[IndexTablesError] = FilesChanged
    with pytest.raises(error, match="1 of 2 files this change stands on are not live at version 2, the first is 'a'"):
        decide(change, BASE, a_removed(BASE), NOW)


def test_an_empty_table_is_a_target_like_any_other() -> None:
    target = RestoreTo(0, NO_FILES, {})
    actions = decide(Change(restore=target), BASE, BASE, NOW).actions
    assert actions is not None
    assert {remove.path for remove in actions.removes} == set("abc")
