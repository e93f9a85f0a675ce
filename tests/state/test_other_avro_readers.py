"""What we write is read, field for field, by two readers that share nothing with ours: fastavro, and Java's own Avro."""

from __future__ import annotations

import json
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings

from effort import examples
from indextables import AddAction, Table
from indextables.log.avro.manifest import write_manifest
from indextables.log.avro.schemas import FILE_ENTRY, STATE_MANIFEST
from indextables.log.state.read import decode_state
from indextables.spark.session import find_java
from state.strategies import entries
from state.support import HERE, OPTIONAL, as_entries, avro_header, avro_records, entry, files_of, full_entry, many_files

WRITTEN = ("zstandard", "snappy", "null")
JARS = (
    "janino",
    "commons-compiler",
    "avro-1",
    "jackson-core-2",
    "jackson-databind",
    "jackson-annotations",
    "zstd-jni",
    "snappy-java",
    "slf4j-api",
)

Dumped = dict[str, tuple[dict[str, Any], list[dict[str, Any]]]]


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
    for records in ([], interesting(), interesting() * 250):
        data = write_manifest(files_of(records), codec=codec, level=3)
        assert avro_header(data) == (FILE_ENTRY, codec)
        assert avro_records(data) == records


@settings(max_examples=examples(15), deadline=None)
@given(records=entries(max_size=4))
def test_fastavro_reads_whatever_we_write(records: list[dict[str, Any]]) -> None:
    assert avro_records(write_manifest(files_of(records), codec="null", level=1)) == records


def busy_table(url: Path) -> Table:
    """A table whose newest state has tombstones, several manifests, schemas, a batch of an exactly-once writer, and bounds."""
    schema = pa.schema([("day", pa.date32()), ("id", pa.int64())])
    t = Table.create(url, schema, partition_by=["day"], options={"checkpoint.interval": 2})
    mapping = '[{"name":"id","type":"i64"}]'
    for number in range(1, 9):
        name, day = f"f{number}", {"day": f"2024-01-{number:02d}"}
        adds = [AddAction(name + letter, day, size=number, doc_mapping_json=mapping) for letter in "abcdefgh"]
        t.commit_files(adds, ["f1a"] if number == 4 else [], txn=("app", number))
    return t


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files that we wrote: a manifest with each codec, a large one, and a table with states."""
    root = tmp_path_factory.mktemp("written")
    for codec in WRITTEN:
        (root / f"{codec}.avro").write_bytes(write_manifest(files_of(interesting()), codec=codec, level=3))
    (root / "large.avro").write_bytes(write_manifest(many_files(5000, days=7), codec="zstandard", level=3))
    busy_table(root / "table")
    return root


@pytest.fixture(scope="module")
def java(folder: Path) -> Dumped:
    """The same files as Java's Avro reads them, out of the jars that come with pyspark; by their paths in the folder."""
    spec = find_spec("pyspark")
    assert spec is not None, "install the spark extra (`make test` does): pyspark's jars hold Java's Avro"
    assert spec.origin is not None
    jars = [next(iter(sorted((Path(spec.origin).parent / "jars").glob(f"{name}*.jar"))), None) for name in JARS]
    assert None not in jars, f"pyspark lacks one of {', '.join(JARS)}"
    options = ["-XX:TieredStopAtLevel=1", "-cp", ":".join(map(str, jars)), "org.codehaus.janino.SimpleCompiler"]
    program = [find_java(), *options, str(HERE / "DumpAvro.java"), "DumpAvro"]
    paths = sorted(map(str, folder.rglob("*.avro")))
    done = subprocess.run([*program, *paths], capture_output=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    dumped: Dumped = {}
    for line in map(json.loads, done.stdout.decode().removesuffix("\n").split("\n")):
        if "codec" in line:
            dumped[str(Path(line["file"]).relative_to(folder))] = (line, records := [])
        else:
            records.append(line)
    assert len(dumped) == len(paths)
    return dumped


@pytest.mark.java
@pytest.mark.parametrize("codec", WRITTEN)
def test_java_reads_our_manifests(java: Dumped, codec: str) -> None:
    header, found = java[f"{codec}.avro"]
    assert (header["codec"], header["name"]) == (codec, "io.indextables.state.FileEntry")
    assert header["schema"] == FILE_ENTRY
    assert found == interesting()


@pytest.mark.java
def test_java_reads_our_large_manifests(java: Dumped) -> None:
    assert java["large.avro"][1] == as_entries(many_files(5000, days=7))


@pytest.mark.java
def test_both_read_our_states(java: Dumped, folder: Path) -> None:
    name = "table/_transaction_log/state-v00000000000000000008/_manifest.avro"
    header, (by_java,) = java[name]
    data = (folder / name).read_bytes()
    assert [by_java] == avro_records(data)
    assert header["schema"] == STATE_MANIFEST
    ours = decode_state("s", data, 8)
    assert by_java["tombstones"] == sorted(ours.tombstones) == ["f1a"]
    assert by_java["numFiles"] == ours.num_files == 63
    assert len(by_java["manifests"]) == 4
    entries_read = []
    for theirs, item in zip(by_java["manifests"], ours.manifests, strict=True):
        low, high = (item.bounds or {})["day"]
        assert theirs["partitionBounds"] == {"day": {"min": low, "max": high}}
        assert (theirs["length"], theirs["checksum"]) == (item.length, item.checksum)
        assert (theirs["mayRepeat"] or False) == item.may_repeat
        assert (theirs["path"], theirs["numEntries"]) == (item.path, item.num_entries)
        entries_read += java[f"table/_transaction_log/{item.path}"][1]
    assert by_java["transactions"] == [
        {"appId": "app", "version": 8, "lastUpdated": ours.transactions["app"].last_updated}
    ]
    assert by_java["schemaRegistry"] == dict(ours.registry)
    files = Table.open(folder / "table").files().to_pylist(maps_as_pydicts="strict")
    live = [each for each in entries_read if each["path"] != "f1a"]
    assert [each["path"] for each in live] == [each["path"] for each in files]
    assert [each["size"] for each in live] == [each["size"] for each in files]
