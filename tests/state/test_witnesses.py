"""What we write is read, field for field, by two readers that share nothing with ours: fastavro, and Java's own Avro."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings

from indextables import AddAction, Table
from indextables.log.avro.manifest import write_manifest
from indextables.log.avro.schemas import FILE_ENTRY, STATE_MANIFEST
from indextables.log.state.read import decode_state
from state.strategies import entries
from state.support import HERE, OPTIONAL, avro_header, avro_records, entry, files_of, full_entry, many_files

WRITTEN = ("zstandard", "snappy", "null")
JARS = ("avro-1", "jackson-core-2", "jackson-databind", "jackson-annotations", "zstd-jni", "snappy-java", "slf4j-api")

Dump = Callable[[Path], tuple[dict[str, Any], list[dict[str, Any]]]]


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory) -> Dump:
    """Reads a file with Java's Avro, out of the jars that come with pyspark."""
    spec = find_spec("pyspark")
    assert spec is not None, "pyspark is part of the test extra: its jars hold Java's Avro"
    assert spec.origin is not None
    folder = Path(spec.origin).parent / "jars"
    jars = [next(iter(sorted(folder.glob(f"{name}*.jar"))), None) for name in JARS]
    assert None not in jars, f"{folder} lacks one of {', '.join(JARS)}"
    # log4j is left out on purpose: the readers need no logger, and slf4j does without
    classpath = ":".join(map(str, jars))

    def dump(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        command = ["java", "-XX:TieredStopAtLevel=1", "-cp", classpath, str(HERE / "DumpAvro.java"), str(path)]
        done = subprocess.run(command, capture_output=True, check=False, timeout=120)
        assert done.returncode == 0, done.stderr.decode()
        header, *records = [json.loads(line) for line in done.stdout.decode().split("\n") if line]
        return header, records

    return dump


def interesting() -> list[dict[str, Any]]:
    """All fields, none of the optional ones, every other one, extremes and odd texts."""
    ends = {"size": 2**63 - 1, "modificationTime": -(2**63), "numRecords": -1, "footerStartOffset": 0}
    ends |= {"numMergeOps": -(2**31), "deleteOpstamp": 2**31}
    odd = {"path": "p/ü 😀\U0010ffff\u2028\x00'\"\\.split", "stats": "", "tags": {}, "splitTags": []}
    return [
        entry(1),
        full_entry(2),
        full_entry(3, **dict.fromkeys(OPTIONAL[::2])),
        full_entry(4, **dict.fromkeys(OPTIONAL[1::2])),
        full_entry(5, **ends),
        entry(6, **odd, partitionValues={"": "", "day": "\n", "ключ": "значение"}),
    ]


@pytest.mark.parametrize("codec", WRITTEN)
def test_fastavro_reads_our_manifests(codec: str) -> None:
    for records in ([], interesting(), interesting() * 500):
        data = write_manifest(files_of(records), codec=codec, level=3)
        assert avro_header(data) == (FILE_ENTRY, codec)
        assert avro_records(data) == records


@settings(max_examples=60, deadline=None)
@given(records=entries(max_size=6))
def test_fastavro_reads_whatever_we_write(records: list[dict[str, Any]]) -> None:
    assert avro_records(write_manifest(files_of(records), codec="null", level=1)) == records


@pytest.mark.parametrize("codec", WRITTEN)
def test_java_reads_our_manifests(java: Dump, codec: str, tmp_path: Path) -> None:
    records = interesting()
    path = tmp_path / "manifest.avro"
    path.write_bytes(write_manifest(files_of(records), codec=codec, level=3))
    header, found = java(path)
    assert (header["codec"], header["name"]) == (codec, "io.indextables.state.FileEntry")
    assert header["schema"] == FILE_ENTRY
    assert found == records


def test_java_reads_our_large_manifests(java: Dump, tmp_path: Path) -> None:
    files = many_files(5000, days=7)
    path = tmp_path / "manifest.avro"
    path.write_bytes(write_manifest(files, codec="zstandard", level=3))
    _, found = java(path)
    assert found == files.to_pylist(maps_as_pydicts="strict")


def busy_table(url: Path) -> Table:
    """A table whose newest state has tombstones, several manifests, schemas, a batch of an exactly-once writer, and bounds."""
    schema = pa.schema([("day", pa.date32()), ("id", pa.int64())])
    t = Table.create(url, schema, partition_by=["day"], options={"checkpoint.interval": 2})
    mapping = '[{"name":"id","type":"i64"}]'
    for number in range(1, 9):
        name, day = f"f{number}", {"day": f"2024-01-{number:02d}"}
        adds = [AddAction(name + letter, day, size=number, doc_mapping_json=mapping) for letter in "abcdefgh"]
        t.commit_files(adds, [f"f{number - 1}a"] if number == 4 else [], txn=("app", number))
    return t


def test_both_read_our_states(java: Dump, tmp_path: Path) -> None:
    t = busy_table(tmp_path / "table")
    path = tmp_path / "table" / "_transaction_log" / "state-v00000000000000000008" / "_manifest.avro"
    header, (by_java,) = java(path)
    (by_fastavro,) = avro_records(path.read_bytes())
    assert by_java == by_fastavro
    assert header["schema"] == STATE_MANIFEST
    ours = decode_state("s", path.read_bytes(), 8)
    assert by_java["tombstones"] == sorted(ours.tombstones) == ["f3a"]
    assert by_java["numFiles"] == ours.num_files == 63
    assert len(by_java["manifests"]) > 1
    for theirs, item in zip(by_java["manifests"], ours.manifests, strict=True):
        low, high = (item.bounds or {})["day"]
        assert theirs["partitionBounds"] == {"day": {"min": low, "max": high}}
        assert (theirs["length"], theirs["checksum"]) == (item.length, item.checksum)
        assert (theirs["path"], theirs["numEntries"]) == (item.path, item.num_entries)
    assert by_java["transactions"] == [{"appId": "app", "version": 8, "lastUpdated": ours.transactions["app"].last_updated}]
    assert by_java["schemaRegistry"] == dict(ours.registry)
    assert t.version == 8
