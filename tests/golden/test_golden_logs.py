"""Logs written by the original implementation read back as its own reader read them."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import msgspec
import pytest

from indextables import Table
from indextables.log.actions import AddAction
from indextables.log.tablelog import TableLog
from indextables.storage.local import LocalStore
from indextables.table.skips import skips_table

ARCHIVE = Path(__file__).parent / "logs.tar.xz"
CASES = [
    "01-json-plain-v2",
    "02-gzip-partitioned-special-values",
    "03-json-checkpoint-single",
    "03b-json-checkpoint-single-plain",
    "04-json-checkpoint-multipart",
    "05-schema-dedup",
    "05b-checkpoint-lacks-schemas",
    "14-skips-version-files",
    "14c-skips-then-json-checkpoint",
    "15b-old-versions-deleted-json",
    "17b-stats-truncation-json-checkpoint",
    "17e-stats-surrogate-json-checkpoint",
]
NOT_WRITTEN_BY_VERSIONS = {"addedAtVersion", "addedAtTimestamp"}
"""The original knows these only from Avro states; we always know them."""


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("golden")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(root, filter="data")
    assert sorted(path.name for path in root.iterdir()) == CASES
    return root


@pytest.fixture(params=CASES)
def case(logs: Path, request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    folder = logs / request.param
    return str(folder / "table"), json.loads((folder / "expected.json").read_text())


def test_version_and_metadata(case: tuple[str, dict[str, Any]]) -> None:
    url, expected = case
    table = Table.open(url)
    assert table.version == expected["latestVersion"]
    assert as_json(table._snapshot.metadata) == expected["metadata"]
    assert as_json(table._snapshot.protocol) == expected["protocol"]
    assert table.id == expected["metadata"]["id"]
    assert list(table.partition_columns) == expected["metadata"]["partitionColumns"]
    assert table.schema.names == [field["name"] for field in json.loads(expected["metadata"]["schemaString"])["fields"]]


def test_every_field_of_every_live_file(case: tuple[str, dict[str, Any]]) -> None:
    url, expected = case
    files = {row["path"]: row for row in Table.open(url).files().to_pylist(maps_as_pydicts="strict")}
    assert sorted(files) == sorted(entry["path"] for entry in expected["files"])
    for entry in expected["files"]:
        ours = files[entry["path"]]
        assert entry.keys() == ours.keys()
        for name, value in entry.items():
            if name in NOT_WRITTEN_BY_VERSIONS:
                assert value is None
            elif name == "docMappingJson":
                assert doc_mapping(ours[name]) == doc_mapping(value)
            else:
                assert comparable(ours[name]) == comparable(value), (entry["path"], name)
    assert sum(row["size"] for row in files.values()) == expected["totalSize"]
    assert sum(row["numRecords"] or 0 for row in files.values()) == expected["totalRows"]


def test_live_files_at_older_versions(case: tuple[str, dict[str, Any]]) -> None:
    url, expected = case
    assert expected["livePathsAtVersion"]
    for version, paths in expected["livePathsAtVersion"].items():
        then = Table.open(url, version=int(version))
        assert sorted(then.files()["path"].to_pylist()) == sorted(paths), version


def test_actions_of_each_version_file(case: tuple[str, dict[str, Any]]) -> None:
    url, expected = case
    log = TableLog(LocalStore(url))
    for version, lines in expected["actionsByVersion"].items():
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
    assert sorted(map(int, expected["actionsByVersion"])) == expected["versionFiles"]


def test_skips_and_cooldown(case: tuple[str, dict[str, Any]]) -> None:
    url, expected = case
    skips = skips_table(Table.open(url)._snapshot, expected["cooldownEvaluatedAt"]).to_pylist(maps_as_pydicts="strict")
    records = [{key: value for key, value in skip.items() if key != "inCooldown"} for skip in skips]
    assert records == expected["skips"]
    cooling: dict[str, int] = {}
    for skip in skips:
        if skip["inCooldown"]:
            cooling[skip["path"]] = max(skip["retryAfter"], cooling.get(skip["path"], 0))
    assert cooling == expected["filesInCooldown"]


def test_continuing_such_a_table_keeps_every_file(case: tuple[str, dict[str, Any]], tmp_path: Path) -> None:
    """Append, remove, checkpoint and clean-up on a copy: what was live stays live."""
    import shutil

    from indextables.log.checkpoint import write_checkpoint
    from indextables.log.cleanup import clean_up

    url, expected = case
    shutil.copytree(url, tmp_path / "table")
    table = Table.open(tmp_path / "table")
    partition = dict.fromkeys(table.partition_columns, "2026-01-01")
    table.commit_files(adds=[AddAction("new-1.split", partition, size=1), AddAction("new-2.split", partition, size=2)])
    table.commit_files(removes=["new-2.split"])
    kept = sorted([entry["path"] for entry in expected["files"]] + ["new-1.split"])
    assert write_checkpoint(table._log, table._snapshot)
    clean_up(table._log, table._snapshot)
    for options in ({}, {"transaction.cache.enabled": False}):
        again = Table.open(tmp_path / "table", options=options)
        assert again.version == expected["latestVersion"] + 2
        assert sorted(again.files()["path"].to_pylist()) == kept
        useful = {skip["path"] for skip in expected["skips"]} & set(kept)
        assert useful <= set(again.skips()["path"].to_pylist())


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
