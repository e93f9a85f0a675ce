"""Logs written by the original implementation read back as its own reader read them."""

from __future__ import annotations

import hashlib
import json
import shutil
import tarfile
from pathlib import Path
from typing import Any

import msgspec
import pytest

from indextables import Table
from indextables.core.errors import ForeignTable, VersionNotFound
from indextables.log.actions import AddAction
from indextables.log.cleanup import clean_up
from indextables.log.state.collect import collect_manifests
from indextables.log.state.live_files import StateFiles
from indextables.log.table_log import TableLog
from indextables.storage.local import LocalStore
from indextables.table.maintain.fsck import check_table
from indextables.table.maintain.list_skips import skips_table
from tables import handle_of

ARCHIVE = Path(__file__).parent / "logs.tar.xz"
CASES = [
    "01-json-plain-v2",
    "02-gzip-partitioned-special-values",
    "03-json-checkpoint-single",
    "03b-json-checkpoint-single-plain",
    "04-json-checkpoint-multipart",
    "05-schema-dedup",
    "05b-checkpoint-lacks-schemas",
    "06-avro-first-commit",
    "06b-avro-first-checkpoint",
    "07-avro-incremental-tombstones",
    "08-avro-full-compaction",
    "08b-avro-selective-compaction",
    "08c-avro-overwrite",
    "09-avro-partition-bounds",
    "09b-avro-bounds-incremental",
    "09c-avro-special-partition-values",
    "10-manifest-path-forms",
    "10b-state-manifest-json",
    "11-avro-codec-snappy",
    "11b-avro-codec-none",
    "12-avro-checkpoint-then-versions",
    "13-regressed-last-checkpoint",
    "13b-missing-last-checkpoint",
    "13c-corrupt-last-checkpoint",
    "14-skips-version-files",
    "14b-skips-default-writer",
    "14c-skips-then-json-checkpoint",
    "15-old-versions-deleted",
    "15b-old-versions-deleted-json",
    "15c-state-gc",
    "16-upgraded-v2-json-to-v4-avro",
    "16b-checkpoint-on-default-table",
    "17-stats-truncation",
    "17b-stats-truncation-json-checkpoint",
    "17c-stats-truncation-16",
    "17d-stats-truncation-surrogate",
    "17e-stats-surrogate-json-checkpoint",
    "18-scale-20000",
    "20-tombstone-kills-readd",
]
QUIRKS = [
    "q1-json-table-then-default-append",
    "q2-json-checkpoint-then-default-append",
    "q3-selective-compaction-resurrects",
    "q4-default-append-over-versions",
    "q5-same-path-twice",
]
"""Logs in which the original loses or revives files: see `test_quirks`."""

READ_FROM_STATE = {"13b-missing-last-checkpoint", "13c-corrupt-last-checkpoint"}
"""Without a readable pointer the original's protocol is version 0's, though it reads the newest state for everything else."""

ADDED_AGAIN = {"12-avro-checkpoint-then-versions"}
"""A file of the state is removed and added again after it: the original keeps the state's `addedAtVersion`."""

NOT_WRITTEN_BY_VERSIONS = {"addedAtVersion", "addedAtTimestamp"}
"""The original knows these only from Avro states; we always know them."""


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("golden")
    with tarfile.open(ARCHIVE) as archive:
        safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # new in 3.11.4
        archive.extractall(root, **safely)
    assert sorted(path.name for path in root.iterdir()) == CASES + QUIRKS
    return root


@pytest.fixture(params=CASES)
def case(logs: Path, request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    folder = logs / request.param
    return str(folder / "table"), json.loads((folder / "expected.json").read_text())


def test_version_and_metadata(case: tuple[str, dict[str, Any]]) -> None:
    url, expected = case
    table = Table.open(url)
    assert table.version == expected["latestVersion"]
    assert as_json(handle_of(table).snapshot.metadata) == expected["metadata"]
    protocol = as_json(handle_of(table).snapshot.protocol)
    if expected["case"] in READ_FROM_STATE:
        assert protocol.pop("readerFeatures") == protocol.pop("writerFeatures") == ["avroState"]
        assert protocol.items() <= expected["protocol"].items()
    else:
        assert protocol == expected["protocol"]
    assert table.id == expected["metadata"]["id"]
    assert list(table.partition_columns) == expected["metadata"]["partitionColumns"]
    assert table.schema.names == [field["name"] for field in json.loads(expected["metadata"]["schemaString"])["fields"]]


WARNED = {
    "13-regressed-last-checkpoint": {"pointer_behind"},
    "13b-missing-last-checkpoint": {"pointer_missing"},
    "13c-corrupt-last-checkpoint": {"pointer_damaged"},
}
"""Logs with something that a check warns of."""


@pytest.mark.parametrize("name", CASES + QUIRKS)
def test_a_check_finds_no_error(logs: Path, name: str) -> None:
    found = check_table(logs / name / "table").to_pylist()
    assert [row for row in found if row["severity"] == "error"] == []
    assert {row["kind"] for row in found} - {"orphaned_manifest"} == WARNED.get(name, set())


@pytest.mark.parametrize("name", ["02-gzip-partitioned-special-values", "08-avro-full-compaction", "15c-state-gc"])
def test_a_repair_keeps_what_is_there(logs: Path, name: str, tmp_path: Path) -> None:
    shutil.copytree(logs / name / "table", tmp_path / "table")
    before = Table.open(tmp_path / "table")
    files = before.files().to_pylist()
    for row in files[1:]:
        path = tmp_path / "table" / row["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(row["size"]))
    answer = Table.repair(tmp_path / "table", tmp_path / "new")
    assert (answer.status, answer.total_splits, answer.missing_splits) == ("partial", len(files), 1)
    shutil.rmtree(tmp_path / "table" / "_transaction_log")
    (tmp_path / "new").rename(tmp_path / "table" / "_transaction_log")
    after = Table.open(tmp_path / "table")
    assert after.schema == before.schema
    assert handle_of(after).snapshot.protocol == handle_of(before).snapshot.protocol
    assert sorted(after.files().column("path").to_pylist()) == sorted(row["path"] for row in files[1:])


def test_every_field_of_every_live_file(case: tuple[str, dict[str, Any]]) -> None:
    url, expected = case
    files = {row["path"]: row for row in Table.open(url).files().to_pylist(maps_as_pydicts="strict")}
    entries = expected.get("files", expected.get("filesSample"))
    if "filesDigest" in expected:
        assert len(files) == expected["numFiles"]
        assert digest(files) == expected["filesDigest"]["hex"]
    else:
        assert sorted(files) == sorted(entry["path"] for entry in entries)
    for entry in entries:
        ours = files[entry["path"]]
        assert entry.keys() == ours.keys()
        for name, value in entry.items():
            if name in NOT_WRITTEN_BY_VERSIONS:
                again = expected["case"] in ADDED_AGAIN and ours["addedAtVersion"] > expected["stateVersions"][-1]
                assert again or value in (None, ours[name])
            elif name == "docMappingJson":
                assert doc_mapping(ours[name]) == doc_mapping(value)
            else:
                assert comparable(ours[name]) == comparable(value), (entry["path"], name)
    assert sum(row["size"] for row in files.values()) == expected["totalSize"]
    assert sum(row["numRecords"] or 0 for row in files.values()) == expected["totalRows"]


def digest(files: dict[str, dict[str, Any]]) -> str:
    lines = hashlib.sha256()
    for path in sorted(files):
        row = files[path]
        cells = [path, row["size"], row["modificationTime"], row["numRecords"], row["docMappingRef"]]
        lines.update(("\t".join("" if cell is None else str(cell) for cell in cells) + "\n").encode())
    return lines.hexdigest()


def test_live_files_at_older_versions(case: tuple[str, dict[str, Any]]) -> None:
    url, expected = case
    assert expected["livePathsAtVersion"] or "filesDigest" in expected
    for version, paths in expected["livePathsAtVersion"].items():
        if int(version) < oldest_reachable(expected):
            with pytest.raises(VersionNotFound):
                Table.open(url, version=int(version))
            continue
        then = Table.open(url, version=int(version))
        assert sorted(then.files()["path"].to_pylist()) == sorted(paths), version


def oldest_reachable(expected: dict[str, Any]) -> int:
    """Version 0, or where it was deleted the oldest state; a JSON checkpoint is in the pointer."""
    pointed = (expected["lastCheckpoint"] or {}).get("version", 0)
    return 0 if 0 in expected["versionFiles"] else min([*expected["stateVersions"], pointed])


def test_actions_of_each_version_file(case: tuple[str, dict[str, Any]]) -> None:
    url, expected = case
    log = TableLog(LocalStore(url))
    for version, lines in expected.get("actionsByVersion", {}).items():
        found = log.read_version(int(version))
        assert found is not None
        actions = found.actions
        ours = [
            *(("protocol", as_json(action)) for action in [actions.protocol] if action),
            *(("metaData", as_json(action)) for action in [actions.metadata] if action),
            *(("add", as_json(action)) for action in actions.adds),
            *(("remove", as_json(action)) for action in actions.removes),
            *(("mergeskip", as_json(action)) for action in actions.skips),
        ]
        theirs = [next(iter(line.items())) for line in lines]
        assert len(ours) == len(theirs)
        for (kind, action), (kind_then, recorded) in zip(
            sorted(ours, key=order), sorted(theirs, key=order), strict=True
        ):
            assert kind == kind_then
            if "configurationKeys" in recorded:
                action["configurationKeys"] = sorted(action["configuration"])
            assert comparable({key: action[key] for key in recorded}) == comparable(recorded), (version, kind)
    if "filesDigest" not in expected:
        assert sorted(map(int, expected["actionsByVersion"])) == expected["versionFiles"]


def test_skips_and_cooldown(case: tuple[str, dict[str, Any]]) -> None:
    url, expected = case
    skips = skips_table(handle_of(Table.open(url)).snapshot, expected["cooldownEvaluatedAt"]).to_pylist(
        maps_as_pydicts="strict"
    )
    records = [{key: value for key, value in skip.items() if key != "inCooldown"} for skip in skips]
    assert records == expected["skips"]
    cooling: dict[str, int] = {}
    for skip in skips:
        if skip["inCooldown"]:
            cooling[skip["path"]] = max(skip["retryAfter"], cooling.get(skip["path"], 0))
    assert cooling == expected["filesInCooldown"]


def test_states_are_read_as_they_were_written(case: tuple[str, dict[str, Any]]) -> None:
    url, expected = case
    for state in expected["states"].values():
        version = state["stateVersion"]
        if version == 0:
            continue  # used only where it is the only state: test_live_files_at_older_versions
        then = Table.open(url, version=version)
        assert isinstance(handle_of(then).snapshot.file_set.base, StateFiles)
        if state.get("livePaths") is not None:
            assert sorted(then.files()["path"].to_pylist()) == sorted(state["livePaths"])


def test_continuing_such_a_table_keeps_every_file(case: tuple[str, dict[str, Any]], tmp_path: Path) -> None:
    """Append, remove, checkpoint and clean-up on a copy: what was live stays live."""
    url, expected = case
    shutil.copytree(url, tmp_path / "table")
    live = Table.open(url).files()["path"].to_pylist()
    table = Table.open(tmp_path / "table", options={"transaction.adoptForeign": True})
    partition = dict.fromkeys(table.partition_columns, "2026-01-01")
    table.commit_files(adds=[AddAction("new-1.split", partition, size=1), AddAction("new-2.split", partition, size=2)])
    table.commit_files(removes=["new-2.split"])
    kept = sorted([*live, "new-1.split"])
    done = table.checkpoint()
    assert done.kind == "compacted", "written now, or by the commit before"
    clean_up(handle_of(table))
    collect_manifests(handle_of(table))
    for options in ({}, {"transaction.cache.enabled": False}):
        again = Table.open(tmp_path / "table", options=options)
        assert handle_of(again).snapshot.base == again.version >= expected["latestVersion"] + 2
        assert sorted(again.files()["path"].to_pylist()) == kept
        useful = {skip["path"] for skip in expected["skips"]} & set(kept)
        assert useful <= set(again.skips()["path"].to_pylist())
    before = {row["path"]: row for row in Table.open(url).files().to_pylist()}
    after = {row["path"]: row for row in again.files().to_pylist()}
    for path, row in before.items():
        changed = {name for name in row if comparable(row[name]) != comparable(after[path][name])}
        assert changed <= {"partitionValues", *NOT_WRITTEN_BY_VERSIONS}, (path, changed)
        assert [pair for pair in row["partitionValues"] if pair[1] is not None] == after[path]["partitionValues"]


def test_foreign_state_commits_are_not_written_to_unless_asked(logs: Path, tmp_path: Path) -> None:
    shutil.copytree(logs / "07-avro-incremental-tombstones" / "table", tmp_path / "table")
    before = sorted(path.name for path in (tmp_path / "table").rglob("*"))
    table = Table.open(tmp_path / "table")
    with pytest.raises(ForeignTable, match="adoptForeign"):
        table.commit_files(adds=[AddAction("new.split", {"region": "r0"})])
    assert sorted(path.name for path in (tmp_path / "table").rglob("*")) == before


@pytest.mark.parametrize("name", QUIRKS)
def test_quirks(logs: Path, name: str) -> None:
    """Where the original loses or revives files, the rule holds: the newest state, then the versions after it.

    q1: state 1 knows one file, versions 2 to 4 follow it. q2: the checkpoint at 10 wins over state 1. q3: state 4 holds what
    it holds, a file that came back included. q4: state 11, then versions 12 and 13. q5: of two entries the last one.
    """
    expected = json.loads((logs / name / "expected.json").read_text())
    table = Table.open(logs / name / "table")
    assert table.version == expected["latestVersion"]
    states = {state["stateVersion"]: set(state["livePaths"]) for state in expected["states"].values()}
    log = TableLog(LocalStore(logs / name / "table"))
    base = 10 if name.startswith("q2") else max(states)
    live = set(expected["livePathsAtVersion"]["10"]) if name.startswith("q2") else states[base]
    for version in range(base + 1, table.version + 1):
        found = log.read_version(version)
        assert found is not None
        live -= {remove.path for remove in found.actions.removes}
        live |= {add.path for add in found.actions.adds}
    paths = table.files()["path"].to_pylist()
    assert sorted(paths) == sorted(live)


def as_json(action: msgspec.Struct) -> Any:
    """An action as JSON sees it, absent fields as null, as the original prints them."""
    return msgspec.json.decode(msgspec.json.encode(action))


def order(item: tuple[str, dict[str, Any]]) -> tuple[str, str, int]:
    kind, action = item
    return kind, action.get("path", ""), action.get("skipTimestamp", 0)


def comparable(value: Any) -> Any:
    """Half a surrogate pair cannot be UTF-8: it is `?` in ours, as in the original's Avro files."""
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\ufffd", "?")
        case list() | tuple():
            return sorted((comparable(item) for item in value), key=str)
        case dict():
            return {key: comparable(item) for key, item in value.items()}
        case _:
            return value


def doc_mapping(text: str | None) -> Any:
    """The original drops object fields without sub-fields when it reads a schema; we keep what was registered."""
    if text is None:
        return None
    value = json.loads(text)
    if isinstance(value, list):
        return [item for item in value if not (item.get("type") == "object" and not item.get("field_mappings"))]
    return value
