"""Replay against a dict: whatever the versions say, in whichever form and from whichever checkpoint they are read."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from indextables.log.actions import Actions, AddAction, CommitInfo, TxnAction
from indextables.log.codec import encode_actions, pack
from indextables.log.file_entries import files_table, fold, rows_to_adds
from indextables.log.json_checkpoint import write_checkpoint
from indextables.log.open_snapshot import open_log
from indextables.log.refresh import open_current, refresh
from indextables.log.snapshot import LogAtVersion, Snapshot
from log.strategies import adds, texts
from log.support import (
    FORMS,
    METADATA,
    PROTOCOL,
    Form,
    MemoryStore,
    checkpoint_key,
    lines,
    make_log,
    naive_live,
    packed,
    put_version,
    raw_add,
    raw_remove,
    raw_versions,
)

Version = tuple[list[dict[str, Any]], Form]
PATHS = ("a.split", "b.split", "day=1/c.split", "ü 100%.split", "line\u2028break.split", "😀.split")


def some_actions() -> st.SearchStrategy[dict[str, Any]]:
    path = st.sampled_from(PATHS)
    size = st.integers(0, 5)
    return st.one_of(
        st.builds(lambda p, s: raw_add(p, size=s), path, size),
        st.builds(lambda p, s: raw_add(p, size=s, partitionValues={"day": None, "x": ""}), path, size),
        st.builds(raw_remove, path),
        st.builds(lambda a, v: {"txn": {"appId": a, "version": v}}, st.sampled_from("xy"), st.integers(0, 9)),
        st.builds(lambda p, t: {"mergeskip": {"path": p, "skipTimestamp": t, "reason": "r"}}, path, size),
        st.builds(lambda v: {"metaData": METADATA["metaData"] | {"configuration": {"n": str(v)}}}, size),
        st.just({"somethingNew": {"path": "a.split", "x": 1}}),
    )


versions_strategy = st.lists(
    st.tuples(st.lists(some_actions(), min_size=1, max_size=6), st.sampled_from(FORMS)), min_size=1, max_size=8
)


def table_with(versions: Sequence[Version]) -> MemoryStore:
    store = MemoryStore()
    put_version(store, 0, PROTOCOL, METADATA)
    extend(store, versions, 1)
    return store


def extend(store: MemoryStore, versions: Sequence[Version], start: int) -> None:
    for number, (actions, form) in enumerate(versions, start=start):
        store.clock.advance(1)
        put_version(store, number, *actions, form=form)


def sizes(files: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[int, dict[str, Any]]]:
    """By path, what tells two adds of it apart. A null partition value and an absent one are the same."""
    return {
        path: (entry["size"], {key: text for key, text in dict(entry["partitionValues"]).items() if text is not None})
        for path, entry in files.items()
    }


def seen(snapshot: Snapshot) -> dict[str, tuple[int, dict[str, Any]]]:
    rows = snapshot.files.to_pylist()
    assert len({row["path"] for row in rows}) == len(rows), "a path is live twice"
    return sizes({row["path"]: row for row in rows})


def facts(snapshot: Snapshot, checkpoint: int | None = None) -> dict[str, Any]:
    """Everything that two ways to the same version must agree about.

    A checkpoint counts its files from its own version, and leaves out skips of files that are gone.
    """
    files = sorted(snapshot.files.to_pylist(), key=lambda row: row["path"])
    for row in files:
        if checkpoint is not None and row["addedAtVersion"] <= checkpoint:
            row["addedAtVersion"] = row["addedAtTimestamp"] = -1
    return {
        "version": snapshot.version,
        "timestamp": snapshot.timestamp,
        "protocol": snapshot.protocol,
        "metadata": snapshot.metadata,
        "files": [row | {"partitionValues": _present(row["partitionValues"])} for row in files],
        "transactions": dict(snapshot.transactions),
        "skips": snapshot.skips if checkpoint is None else (),
        "registry": dict(snapshot.registry),
        "floor": snapshot.floor,
        "gap": snapshot.gap,
        "anchor": snapshot.anchor,
    }


def _present(entries: list[tuple[str, str | None]]) -> dict[str, str]:
    return {key: text for key, text in entries if text is not None}


@settings(deadline=None, max_examples=examples(30))
@given(versions_strategy, st.data())
def test_replay_equals_a_dict(versions: list[Version], data: st.DataObject) -> None:
    store = table_with(versions)
    raw = raw_versions(store.bytes())
    if data.draw(st.booleans(), label="checkpoint"):
        at = data.draw(st.integers(0, len(versions)), label="at")
        options = {"checkpoint.multipart.maxActionsPerPart": data.draw(st.integers(1, 4), label="actions in a part")}
        log = make_log(store, options)
        assert write_checkpoint(LogAtVersion(log, open_log(log, at)))
    for number in range(len(versions) + 1):
        snapshot = open_log(make_log(store), number)
        assert snapshot.version == number
        assert seen(snapshot) == sizes(naive_live(raw, number))
    assert seen(open_log(make_log(store))) == sizes(naive_live(raw))


@settings(deadline=None, max_examples=examples(30))
@given(versions_strategy)
def test_transactions_skips_and_metadata_follow_the_versions(versions: list[Version]) -> None:
    snapshot = open_log(make_log(table_with(versions)))
    latest: dict[str, int] = {}
    skips: list[tuple[str, int]] = []
    configuration: dict[str, str] = {}
    for actions, _ in versions:
        for action in actions:
            match action:
                case {"txn": {"appId": app, "version": version}}:
                    latest[app] = version
                case {"mergeskip": {"path": path, "skipTimestamp": when}}:
                    skips.append((path, when))
                case {"metaData": {"configuration": changed}}:
                    configuration = changed
    assert {app: txn.version for app, txn in snapshot.transactions.items()} == latest
    assert [(skip.path, skip.skip_timestamp) for skip in snapshot.skips] == skips
    assert snapshot.metadata.configuration == configuration


@settings(deadline=None, max_examples=examples(30))
@given(versions_strategy, st.data())
def test_refresh_equals_open(versions: list[Version], data: st.DataObject) -> None:
    split = data.draw(st.integers(0, len(versions)), label="split")
    store = table_with(versions[:split])
    log = make_log(store, {"transaction.cache.enabled": data.draw(st.booleans(), label="cache")})
    early = open_current(log)
    checkpoint = split if data.draw(st.booleans(), label="checkpoint") else None
    if checkpoint is not None:
        assert write_checkpoint(LogAtVersion(log, early))
    extend(store, versions[split:], split + 1)
    opened = open_log(make_log(store))
    assert opened.base == checkpoint
    assert facts(refresh(LogAtVersion(log, early)), checkpoint) == facts(opened, checkpoint)
    assert facts(open_current(log), checkpoint) == facts(opened, checkpoint)


@settings(deadline=None, max_examples=examples(25))
@given(versions_strategy, st.sampled_from(FORMS), st.booleans())
def test_a_checkpoint_of_another_writer_replaces_the_versions_below_it(
    versions: list[Version], form: Form, one_object: bool
) -> None:
    store = table_with(versions)
    raw = raw_versions(store.bytes())
    middle = len(versions) // 2
    entries = list(naive_live(raw, middle).values())
    if one_object:
        text = json.dumps({**PROTOCOL, **METADATA, "add": entries}, ensure_ascii=False).encode()
    else:
        text = lines(PROTOCOL, METADATA, *({"add": entry} for entry in entries))
    store.put(checkpoint_key(middle), packed(text, form))
    snapshot = open_log(make_log(store))
    assert snapshot.base == middle
    assert seen(snapshot) == sizes(naive_live(raw))


@settings(deadline=None, max_examples=examples(30))
@given(st.lists(adds(), max_size=4), st.integers(0, 2**62), st.integers(-(2**62), 2**62))
def test_actions_become_rows_and_actions_again(actions: list[AddAction], version: int, timestamp: int) -> None:
    table = files_table(actions, [version] * len(actions), [timestamp] * len(actions))
    assert table.column("addedAtVersion").to_pylist() == [version] * len(actions)
    assert table.column("addedAtTimestamp").to_pylist() == [timestamp] * len(actions)
    assert rows_to_adds(table) == actions


@settings(deadline=None, max_examples=examples(15))
@given(st.lists(adds(), max_size=4, unique_by=lambda action: action.path))
def test_what_is_folded_keeps_every_field(actions: list[AddAction]) -> None:
    base = files_table(actions[::2], [1] * len(actions[::2]), [1] * len(actions[::2]))
    folded = fold(base, [(2, 2, Actions(adds=tuple(actions[1::2])))])
    assert {action.path: action for action in rows_to_adds(folded)} == {action.path: action for action in actions}


@settings(deadline=None, max_examples=examples(25))
@given(st.lists(adds(), min_size=1, max_size=4, unique_by=lambda a: a.path), st.integers(1, 3), st.booleans(), texts())
def test_a_checkpoint_keeps_every_field(actions: list[AddAction], in_part: int, compress: bool, text: str) -> None:
    store = MemoryStore()
    log = make_log(
        store,
        {"checkpoint.multipart.maxActionsPerPart": in_part, "transaction.compression.enabled": compress},
    )
    put_version(store, 0, PROTOCOL, METADATA)
    table_id = METADATA["metaData"]["id"]
    body = Actions(
        commit_info=CommitInfo(txn_id=str(uuid.uuid4()), table_id=table_id, timestamp=store.clock.wall_ms()),
        txns=(TxnAction(text, 3, store.clock.wall_ms()),),
        adds=tuple(actions),
    )
    store.put(f"_transaction_log/{1:020d}.json", pack(encode_actions(body), compress=compress))
    before = open_log(make_log(store))
    assert write_checkpoint(LogAtVersion(log, before))
    after = open_log(make_log(store))
    assert after.base == 1
    assert facts(after) == facts(before)
