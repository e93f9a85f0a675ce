"""The table of conflicts: what a commit becomes, or which error it is, against what won meanwhile. No I/O."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import pytest

from indextables.core.errors import CommitError, FilesChanged, IndexTablesError, MetadataChanged, TableReplaced
from indextables.core.predicate import parse_predicate
from indextables.core.schema_hash import schema_hash
from indextables.log.actions import (
    Actions,
    AddAction,
    CommitInfo,
    MetadataAction,
    RemoveAction,
    SkipAction,
    TxnAction,
)
from indextables.log.conflicts import Change, MetadataUpdate, Replace, Rewrite, check_change, decide
from indextables.log.protocol import NEW_TABLE_PROTOCOL
from indextables.log.snapshot import HOUR_MS, Snapshot, apply_version, first_snapshot
from log.support import SCHEMA, add

NOW = 2_000_000
RETENTION = "spark.indextables.txn.retention.hours"


def base(**metadata: Any) -> Snapshot:
    """A table of three files: `a` and `b` in day 1, `c` in day 2."""
    start = MetadataAction("table-1", SCHEMA, ("day",), {"owner": "me", RETENTION: "1"}, created_time=1)
    actions = Actions(
        CommitInfo("txn-0", "table-1", 1_000), NEW_TABLE_PROTOCOL, msgspec.structs.replace(start, **metadata)
    )
    snapshot = first_snapshot("s3://b/t", 0, 1_000, actions)
    files = (
        add("a", partition_values={"day": "1"}),
        add("b", partition_values={"day": "1"}),
        add("c", partition_values={"day": "2"}),
    )
    return won(snapshot, adds=files)


def won(snapshot: Snapshot, **actions: Any) -> Snapshot:
    """The table after somebody else's commit."""
    info = CommitInfo("theirs", snapshot.table_id, snapshot.timestamp + 10)
    return apply_version(snapshot, snapshot.version + 1, snapshot.timestamp + 10, Actions(info, **actions))


def with_metadata(snapshot: Snapshot, **fields: Any) -> Snapshot:
    return won(snapshot, metadata=msgspec.structs.replace(snapshot.metadata, **fields))


def with_properties(snapshot: Snapshot, **properties: str) -> Snapshot:
    changed = {key.replace("__", "."): value for key, value in properties.items()}
    return with_metadata(snapshot, configuration=snapshot.metadata.configuration | changed)


def schema_with(*extra: dict[str, Any], drop: str | None = None, at: int | None = None) -> str:
    schema = json.loads(SCHEMA)
    fields = [field for field in schema["fields"] if field["name"] != drop]
    position = len(fields) if at is None else at
    return json.dumps(schema | {"fields": fields[:position] + list(extra) + fields[position:]})


def column(name: str, kind: str = "long", *, nullable: bool = True) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": nullable, "metadata": {}}


BASE = base()
DAY_1 = Replace(parse_predicate("day = '1'", BASE.schema))
NEW = (add("new", partition_values={"day": "1"}),)
GROUP_AB = Rewrite(("a", "b"), (add("ab", data_change=False),), data_change=False)
GROUP_C = Rewrite(("c",), (add("c2", data_change=False),), data_change=False)
THEIRS = add("theirs", partition_values={"day": "1"})


@dataclass(frozen=True)
class Case:
    """`mine` was planned on the base table, then `winner` won. Expected: paths removed and added, None, or an error."""

    name: str
    mine: Change
    winner: Callable[[Snapshot], Snapshot]
    removes: frozenset[str] | None = frozenset()
    adds: frozenset[str] = frozenset()
    error: type[IndexTablesError] | None = None
    says: str = ""


def nobody(snapshot: Snapshot) -> Snapshot:
    return snapshot


def case(name: str, mine: Change, winner: Callable[[Snapshot], Snapshot], removes: str = "", adds: str = "") -> Case:
    return Case(name, mine, winner, frozenset(removes.split()), frozenset(adds.split()))


def nothing(name: str, mine: Change, winner: Callable[[Snapshot], Snapshot], says: str) -> Case:
    return Case(name, mine, winner, None, says=says)


def refused(
    name: str, mine: Change, winner: Callable[[Snapshot], Snapshot], error: type[IndexTablesError], says: str
) -> Case:
    return Case(name, mine, winner, error=error, says=says)


def theirs_added(snapshot: Snapshot) -> Snapshot:
    return won(snapshot, adds=(THEIRS,))


def a_removed(snapshot: Snapshot) -> Snapshot:
    return won(snapshot, removes=(RemoveAction("a"),))


def a_rewritten(snapshot: Snapshot) -> Snapshot:
    return won(snapshot, removes=(RemoveAction("a"),), adds=(add("a", size=7, partition_values={"day": "1"}),))


def all_removed(snapshot: Snapshot) -> Snapshot:
    return won(snapshot, removes=tuple(RemoveAction(path) for path in "abc"), adds=(THEIRS,))


def batch(version: int, app: str = "app") -> Callable[[Snapshot], Snapshot]:
    return lambda snapshot: won(snapshot, txns=(TxnAction(app, version, snapshot.timestamp + 10),), adds=(THEIRS,))


def long_ago(snapshot: Snapshot) -> Snapshot:
    later = batch(5)(snapshot)
    return apply_version(later, later.version + 1, later.timestamp + 2 * HOUR_MS, Actions(adds=(add("later"),)))


def registered(snapshot: Snapshot) -> Snapshot:
    return with_properties(snapshot, docMappingSchema__abc="{}")


APPEND = Change(adds=NEW)
OVERWRITE = Change(adds=NEW, replace=Replace())
REPLACE_DAY_1 = Change(adds=NEW, replace=DAY_1)
DROP_DAY_1 = Change(replace=DAY_1)
RECOMPUTED = Change(adds=NEW, replace=Replace(computed_from=True))
RECOMPUTED_DAY_1 = Change(adds=NEW, replace=replace(DAY_1, computed_from=True))
REMOVE_A = Change(removes=("a",))
MERGE = Change(rewrites=(GROUP_AB, GROUP_C))
UPDATE = Change(metadata=MetadataUpdate(properties={"team": "x"}))
ONCE = Change(adds=NEW, txn=TxnAction("app", 5))

CASES = [
    case("append, nobody", APPEND, nobody, adds="new"),
    case("append, append", APPEND, theirs_added, adds="new"),
    case("append, removal", APPEND, a_removed, adds="new"),
    case("append, overwrite", APPEND, all_removed, adds="new"),
    case("append, the same path", Change(adds=(THEIRS,)), theirs_added, adds="theirs"),
    case("append, an empty version", APPEND, lambda s: won(s), adds="new"),
    case("append, a newer description", APPEND, lambda s: with_metadata(s, description="x"), adds="new"),
    case("append, a property of the user's own", APPEND, lambda s: with_properties(s, owner="you"), adds="new"),
    case("append, a registered doc mapping", APPEND, registered, adds="new"),
    case(
        "append, a nullable column at the end",
        APPEND,
        lambda s: with_metadata(s, schema_string=schema_with(column("x"))),
        adds="new",
    ),
    case(
        "append, a nullable column in the middle",
        APPEND,
        lambda s: with_metadata(s, schema_string=schema_with(column("x"), at=1)),
        adds="new",
    ),
    case(
        "append, the same schema in other words",
        APPEND,
        lambda s: with_metadata(s, schema_string=json.dumps(json.loads(SCHEMA), indent=1)),
        adds="new",
    ),
    refused(
        "append, a column that must not be null",
        APPEND,
        lambda s: with_metadata(s, schema_string=schema_with(column("x", nullable=False))),
        MetadataChanged,
        "its schema",
    ),
    refused(
        "append, a dropped column",
        APPEND,
        lambda s: with_metadata(s, schema_string=schema_with(drop="message")),
        MetadataChanged,
        "its schema",
    ),
    refused(
        "append, a column of another type",
        APPEND,
        lambda s: with_metadata(s, schema_string=schema_with(column("message", "long"), drop="message", at=1)),
        MetadataChanged,
        "its schema",
    ),
    refused(
        "append, columns in another order",
        APPEND,
        lambda s: with_metadata(s, schema_string=schema_with(column("id"), drop="id")),
        MetadataChanged,
        "its schema",
    ),
    refused(
        "append, other partition columns",
        APPEND,
        lambda s: with_metadata(s, partition_columns=()),
        MetadataChanged,
        "its partition columns",
    ),
    refused(
        "append, one of our properties",
        APPEND,
        lambda s: with_properties(s, spark__indextables__indexing__typemap__message="text"),
        MetadataChanged,
        "its property spark.indextables.indexing.typemap.message",
    ),
    refused(
        "append, one of our properties dropped",
        APPEND,
        lambda s: with_metadata(s, configuration={"owner": "me"}),
        MetadataChanged,
        f"its property {RETENTION}",
    ),
    case("overwrite, nobody", OVERWRITE, nobody, "a b c", "new"),
    case("overwrite, append", OVERWRITE, theirs_added, "a b c theirs", "new"),
    case("overwrite, removal", OVERWRITE, a_removed, "b c", "new"),
    case("overwrite, overwrite", OVERWRITE, all_removed, "theirs", "new"),
    case("overwrite of nothing", OVERWRITE, lambda s: won(s, removes=tuple(map(RemoveAction, "abc"))), "", "new"),
    case("overwrite with a path that is live", Change(adds=(add("a"),), replace=Replace()), nobody, "a b c", "a"),
    case("overwrite, nothing added", Change(replace=Replace()), theirs_added, "a b c theirs"),
    case("overwrite and removal of one path", Change(removes=("b",), replace=Replace()), nobody, "a b c"),
    refused(
        "overwrite, a dropped column",
        OVERWRITE,
        lambda s: with_metadata(s, schema_string=schema_with(drop="message")),
        MetadataChanged,
        "its schema",
    ),
    case("replaceWhere, nobody", REPLACE_DAY_1, nobody, "a b", "new"),
    case("replaceWhere, append inside", REPLACE_DAY_1, theirs_added, "a b theirs", "new"),
    case(
        "replaceWhere, append outside",
        REPLACE_DAY_1,
        lambda s: won(s, adds=(add("d", partition_values={"day": "3"}),)),
        "a b",
        "new",
    ),
    case("replaceWhere, a null partition", REPLACE_DAY_1, lambda s: won(s, adds=(add("n"),)), "a b", "new"),
    case("overwrite with what was computed from it, nobody", RECOMPUTED, nobody, "a b c", "new"),
    case("overwrite with what was computed from it, an empty version", RECOMPUTED, lambda s: won(s), "a b c", "new"),
    refused(
        "overwrite with what was computed from it, append",
        RECOMPUTED,
        theirs_added,
        FilesChanged,
        "and version 2 changed",
    ),
    refused("overwrite with what was computed from it, removal", RECOMPUTED, a_removed, FilesChanged, "version 1,"),
    refused(
        "overwrite with what was computed from it, overwrite",
        RECOMPUTED,
        all_removed,
        FilesChanged,
        "version 2 changed",
    ),
    refused(
        "replaceWhere with what was computed from it, append inside",
        RECOMPUTED_DAY_1,
        theirs_added,
        FilesChanged,
        "version 2 changed",
    ),
    case(
        "replaceWhere with what was computed from it, append outside",
        RECOMPUTED_DAY_1,
        lambda s: won(s, adds=(add("d", partition_values={"day": "3"}),)),
        "a b",
        "new",
    ),
    case("drop partitions, append inside", DROP_DAY_1, theirs_added, "a b theirs"),
    case("drop partitions, all gone", DROP_DAY_1, lambda s: won(s, removes=tuple(map(RemoveAction, "abc")))),
    case("removal, nobody", REMOVE_A, nobody, "a"),
    case("removal, append", REMOVE_A, theirs_added, "a"),
    case("removal, removal of another", REMOVE_A, lambda s: won(s, removes=(RemoveAction("b"),)), "a"),
    case("removal, rewritten under the same name", REMOVE_A, a_rewritten, "a"),
    case("removal named twice", Change(removes=("a", "a")), nobody, "a"),
    case("removal and a new file of the same path", Change(removes=("a",), adds=(add("a"),)), nobody, "a", "a"),
    refused("removal, removal of the same", REMOVE_A, a_removed, FilesChanged, "'a'"),
    refused("removal, overwrite", Change(removes=("a", "c")), all_removed, FilesChanged, "2 of 2 files"),
    refused("removal of what never was", Change(removes=("a", "zz")), nobody, FilesChanged, "'zz'"),
    case("merge, nobody", MERGE, nobody, "a b c", "ab c2"),
    case("merge, append", MERGE, theirs_added, "a b c", "ab c2"),
    case("merge, a source is gone", MERGE, a_removed, "c", "c2"),
    nothing("merge, every source is gone", MERGE, all_removed, "the sources of every merged file are gone"),
    nothing("merge of one group, a source is gone", Change(rewrites=(GROUP_AB,)), a_removed, "sources"),
    case("merge and append, every source is gone", replace(MERGE, adds=NEW), all_removed, "", "new"),
    case("merge, a property of the user's own", MERGE, lambda s: with_properties(s, owner="you"), "a b c", "ab c2"),
    case("metadata, nobody", UPDATE, nobody),
    case("metadata, append", UPDATE, theirs_added),
    case("metadata, overwrite", UPDATE, all_removed),
    case("metadata, a registered doc mapping", UPDATE, registered),
    refused("metadata, a property", UPDATE, lambda s: with_properties(s, owner="you"), MetadataChanged, "metadata"),
    refused("metadata, the same property", UPDATE, lambda s: with_properties(s, team="x"), MetadataChanged, "metadata"),
    refused(
        "metadata, a description", UPDATE, lambda s: with_metadata(s, description="x"), MetadataChanged, "metadata"
    ),
    refused(
        "metadata, a nullable column",
        UPDATE,
        lambda s: with_metadata(s, schema_string=schema_with(column("x"))),
        MetadataChanged,
        "metadata",
    ),
    case("batch, nobody", ONCE, nobody, adds="new"),
    case("batch, an older one", ONCE, batch(4), adds="new"),
    case("batch, another application's", ONCE, batch(9, "other"), adds="new"),
    nothing("batch, the same one", ONCE, batch(5), "batch 5 of app is in the table already"),
    nothing("batch, a newer one", ONCE, batch(6), "batch 5 of app is in the table already"),
    case("batch, the same one so long ago that it is forgotten", ONCE, long_ago, adds="new"),
    nothing(
        "batch that is there already, and metadata changed",
        ONCE,
        lambda s: with_metadata(batch(5)(s), partition_columns=()),
        "already",
    ),
    nothing(
        "batch that is there already, and its removal would fail",
        replace(ONCE, removes=("a",)),
        lambda s: a_removed(batch(5)(s)),
        "already",
    ),
    refused(
        "anything, another table",
        APPEND,
        lambda s: replace(s, metadata=msgspec.structs.replace(s.metadata, id="table-2")),
        TableReplaced,
        "was table-1, is table-2",
    ),
]


def test_every_name_is_used_once() -> None:
    names = [each.name for each in CASES]
    assert len(names) == len(set(names)) >= 25


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: Case) -> None:
    current = case.winner(BASE)
    if case.error is not None:
        with pytest.raises(case.error) as raised:
            decide(case.mine, BASE, current, NOW)
        assert case.says in str(raised.value)
        assert "s3://b/t" in str(raised.value)
        return
    decision = decide(case.mine, BASE, current, NOW)
    if case.removes is None:
        assert decision.actions is None
        assert case.says in decision.reason
        return
    actions = decision.actions
    assert actions is not None
    removed = [remove.path for remove in actions.removes]
    assert len(removed) == len(set(removed))
    assert set(removed) == case.removes
    assert {each.path for each in actions.adds} == case.adds
    assert (actions.metadata is not None) == (case.mine.metadata is not None)


def test_a_removal_says_what_it_removed() -> None:
    actions = decide(REMOVE_A, BASE, a_rewritten(BASE), NOW).actions
    assert actions is not None
    assert actions.removes == (
        RemoveAction("a", NOW, data_change=True, extended_file_metadata=True, partition_values={"day": "1"}, size=7),
    )


@pytest.mark.parametrize("data_change", [True, False])
def test_rearranging_rows_is_marked_on_every_action(data_change: bool) -> None:
    actions = decide(replace(OVERWRITE, data_change=data_change), BASE, BASE, NOW).actions
    assert actions is not None
    marks = {each.data_change for each in (*actions.adds, *actions.removes)}
    assert marks == {data_change}


@pytest.mark.parametrize("whole", [True, False])
def test_each_rewrite_has_a_data_change_of_its_own(whole: bool) -> None:
    deleted = Rewrite(("b",), (add("b2"),), data_change=True)
    merged = Rewrite(("c",), (add("c2"),), data_change=False)
    change = Change(removes=("a",), adds=NEW, rewrites=(deleted, merged), data_change=whole)
    actions = decide(change, BASE, BASE, NOW).actions
    assert actions is not None
    marks = {each.path: each.data_change for each in (*actions.adds, *actions.removes)}
    assert marks == {"a": whole, "new": whole, "b": True, "b2": True, "c": False, "c2": False}


def test_a_batch_is_stamped_with_the_time_of_the_commit() -> None:
    actions = decide(ONCE, BASE, BASE, NOW).actions
    assert actions is not None
    assert actions.txns == (TxnAction("app", 5, NOW),)


def test_metadata_is_changed_as_it_is_now() -> None:
    current = registered(BASE)
    update = MetadataUpdate({"owner": None, "team": "x"}, name="n", description="d")
    actions = decide(Change(metadata=update), BASE, current, NOW).actions
    assert actions is not None
    assert actions.metadata is not None
    assert actions.metadata.configuration == {RETENTION: "1", "docMappingSchema.abc": "{}", "team": "x"}
    assert (actions.metadata.name, actions.metadata.description) == ("n", "d")
    assert actions.metadata.schema_string == SCHEMA
    assert actions.metadata.id == "table-1"


def test_doc_mappings_are_registered_once() -> None:
    mapping = '{"fields": []}'
    ref = schema_hash(mapping)
    change = Change(adds=(add("x", doc_mapping_json=mapping), add("y", doc_mapping_json=mapping), add("z")))
    actions = decide(change, BASE, BASE, NOW).actions
    assert actions is not None
    assert actions.metadata is not None
    assert actions.metadata.configuration == BASE.metadata.configuration | {f"docMappingSchema.{ref}": mapping}
    assert [(each.doc_mapping_ref, each.doc_mapping_json) for each in actions.adds] == [
        (ref, None),
        (ref, None),
        (None, None),
    ]
    known = won(BASE, metadata=actions.metadata)
    again = decide(change, BASE, known, NOW).actions
    assert again is not None
    assert again.metadata is None
    assert {each.doc_mapping_ref for each in again.adds} == {ref, None}


def test_doc_mappings_stay_inline_where_the_table_does_not_know_references() -> None:
    old = replace(BASE, protocol=msgspec.structs.replace(BASE.protocol, writer_features=None, reader_features=None))
    actions = decide(Change(adds=(add("x", doc_mapping_json="{}"),)), old, old, NOW).actions
    assert actions is not None
    assert actions.metadata is None
    assert [(each.doc_mapping_json, each.doc_mapping_ref) for each in actions.adds] == [("{}", None)]


def test_skips_are_counted_at_their_own_version() -> None:
    skip = SkipAction("a", 1)
    current = won(BASE, skips=(SkipAction("a", 0, skip_count=3), SkipAction("b", 0)))
    actions = decide(Change(skips=(skip, SkipAction("c", 1))), BASE, current, NOW).actions
    assert actions is not None
    assert [(each.path, each.skip_count) for each in actions.skips] == [("a", 4), ("c", 1)]


@pytest.mark.parametrize(
    "change",
    [
        Change(adds=(AddAction("x"), AddAction("x"))),
        Change(adds=(AddAction("x"),), rewrites=(Rewrite(("a",), (AddAction("x"),), data_change=False),)),
        Change(
            rewrites=(
                Rewrite(("a",), (AddAction("x"),), data_change=False),
                Rewrite(("b",), (AddAction("x"),), data_change=False),
            )
        ),
    ],
)
def test_adding_a_path_twice_is_never_valid(change: Change) -> None:
    with pytest.raises(CommitError, match="adds 'x' twice"):
        check_change(change)


@pytest.mark.parametrize("second", [("a",), ("b", "c", "a")])
def test_merging_a_file_twice_is_never_valid(second: tuple[str, ...]) -> None:
    groups = (
        Rewrite(("a", "d"), (AddAction("x"),), data_change=False),
        Rewrite(second, (AddAction("y"),), data_change=False),
    )
    with pytest.raises(CommitError, match="merges 'a' twice"):
        check_change(Change(rewrites=groups))
    check_change(Change(rewrites=groups[:1]))


def test_other_partition_columns_need_a_replacement_of_everything() -> None:
    update = MetadataUpdate(partition_columns=("hour",))
    new = add("n", partition_values={"hour": "3"})
    decided = decide(Change(adds=(new,), replace=Replace(), metadata=update), base(), base(), NOW).actions
    assert decided is not None
    assert decided.metadata is not None
    assert decided.metadata.partition_columns == ("hour",)
    assert {remove.path for remove in decided.removes} == {"a", "b", "c"}
    for change in (
        Change(adds=(new,), metadata=update),
        Change(adds=(new,), replace=DAY_1, metadata=update),
        Change(rewrites=(Rewrite(("a",), (new,), data_change=False),), replace=Replace(), metadata=update),
    ):
        with pytest.raises(CommitError, match="only in a commit that replaces all rows"):
            decide(change, base(), base(), NOW)
    with pytest.raises(CommitError, match="has a value of day"):
        decide(
            Change(adds=(add("o", partition_values={"day": "1"}),), replace=Replace(), metadata=update),
            base(),
            base(),
            NOW,
        )
    same = MetadataUpdate(partition_columns=("day",))
    assert decide(Change(adds=(add("o", partition_values={"day": "1"}),), metadata=same), base(), base(), NOW).actions
