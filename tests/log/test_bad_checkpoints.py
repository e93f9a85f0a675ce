"""Checkpoints and pointers that are damaged, foreign or lying, and things in the log directory that do not belong there."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from indextables.core.errors import CorruptLog, LogReadTimeout, UnsafePath, VersionNotFound
from indextables.core.runtime.threads import Inline
from indextables.log.json_checkpoint import write_checkpoint
from indextables.log.open_snapshot import LogWarning, open_log
from indextables.log.snapshot import LogAtVersion
from log.support import (
    FORMS,
    LOG,
    METADATA,
    PROTOCOL,
    FakeClock,
    Form,
    MemoryStore,
    append,
    checkpoint_key,
    foreign_table,
    grown,
    lines,
    live,
    make_log,
    new_table,
    packed,
    put_version,
    raw_add,
    raw_remove,
    refused,
    unchanged,
    unpacked,
    version_key,
)

POINTER = f"{LOG}/_last_checkpoint"
ALL = {f"f{number}" for number in range(1, 13)}


def table(parts: int | None = None) -> MemoryStore:
    """Twelve versions and a checkpoint at 10, in one object or with `parts` actions in each part."""
    store = MemoryStore()
    log = make_log(store, {"checkpoint.multipart.maxActionsPerPart": parts} if parts else {})
    grown(log, 12)
    assert write_checkpoint(LogAtVersion(log, open_log(log, 10)))
    return store


def without_versions(store: MemoryStore, first: int, last: int) -> MemoryStore:
    for number in range(first, last + 1):
        del store.objects[version_key(number)]
    return store


def parts_of(store: MemoryStore) -> list[str]:
    return [key for key in store.objects if ".checkpoint." in key and key != checkpoint_key(10)]


class TestPointer:
    @pytest.mark.parametrize(
        "pointer",
        [
            b"",
            b"garbage",
            b"\x00\xff",
            b"[10]",
            b"10",
            b"null",
            b"{}",
            b'{"version":',
            b'{"version":10}',
            b'{"version":"10"}',
            b'{"version":null}',
            b'{"version":-1}',
            b'{"version":0}',
            b'{"version":3}',
            b'{"version":11}',
            b'{"version":9999}',
            b'{"version":9223372036854775807}',
            b'{"version":99999999999999999999999999}',
            b'{"version":1e3}',
            b'{"version":10.5}',
            b'{"version":true}',
            b'{"version":10,"brandNew":{"a":[1]},"size":"many","parts":-1}',
            json.dumps(
                dict.fromkeys(("size", "sizeInBytes", "numFiles", "createdTime", "parts", "checkpointId", "format"))
                | {"version": 10, "stateDir": None}
            ).encode(),
            b'{"version":10,"format":"avro-state","stateDir":"state-v00000000000000000010","protocolVersion":4}',
            b'{"version":10,"parts":3,"checkpointId":"nowhere"}',
            b"[" * 100_000,
        ],
    )
    def test_it_is_only_a_hint(self, pointer: bytes) -> None:
        for prepared in (table(), without_versions(table(), 1, 9)):
            prepared.put(POINTER, pointer)
            with unchanged(prepared):
                snapshot = open_log(make_log(prepared))
            assert (snapshot.version, snapshot.base, live(snapshot)) == (12, 10, ALL)

    def test_an_older_checkpoint_than_the_newest(self) -> None:
        store = MemoryStore()
        log = make_log(store)
        grown(log, 9)
        for version in (6, 3):
            assert write_checkpoint(LogAtVersion(log, open_log(log, version)))
        assert json.loads(store.objects[POINTER].data)["version"] == 3
        assert open_log(make_log(store)).base == 6

    def test_a_checkpoint_that_was_deleted(self) -> None:
        store = table()
        del store.objects[checkpoint_key(10)]
        snapshot = open_log(make_log(store))
        assert (snapshot.version, snapshot.base, live(snapshot)) == (12, None, ALL)

    def test_a_table_that_was_created_anew(self) -> None:
        store = table()
        pointer = store.objects[POINTER]
        store.objects.clear()
        new_table(make_log(store))
        store.objects[POINTER] = pointer
        assert open_log(make_log(store)).version == 0


def rewritten(store: MemoryStore, key: str, change: Callable[[bytes], bytes]) -> None:
    store.put(key, packed(change(unpacked(store.objects[key].data)), "framed"))


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "a wrong checksum": lambda text: text.replace(b'"f3"', b'"g3"'),
    "a line that is gone": lambda text: b"".join(text.splitlines(keepends=True)[:-1]),
    "a line twice": lambda text: text + text.splitlines(keepends=True)[-1],
    "a cut in a line": lambda text: text[:-20],
    "a checksum line that is none": lambda text: text.replace(b'"checksum":', b'"x":'),
    "nothing but the checksum line": lambda text: text.splitlines(keepends=True)[0],
}


class TestDamaged:
    @pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
    @pytest.mark.parametrize("in_parts", [False, True])
    def test_the_versions_are_used_instead(self, damage: Callable[[bytes], bytes], in_parts: bool) -> None:
        store = table(parts=4 if in_parts else None)
        broken = parts_of(store)[0] if in_parts else checkpoint_key(10)
        rewritten(store, broken, damage)
        with unchanged(store), pytest.warns(LogWarning, match=r"s3://bucket/table: state 10 cannot be used") as warned:
            snapshot = open_log(make_log(store))
        assert f"s3://bucket/table/{broken}" in str(warned[0].message)
        assert (snapshot.version, snapshot.base, live(snapshot)) == (12, None, ALL)

    @pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
    def test_it_is_an_error_where_the_versions_are_gone(self, damage: Callable[[bytes], bytes]) -> None:
        store = without_versions(table(), 1, 9)
        rewritten(store, checkpoint_key(10), damage)
        says = ("s3://bucket/table", "newest state, 10, cannot be read", "repair")
        with refused(store, CorruptLog, *says), pytest.warns(LogWarning):
            open_log(make_log(store))

    @pytest.mark.parametrize("data", [b"", b"\x00", b"\x01\x02\x03", b"\x01\x01", b"[]", b"5\n", b"{}"])
    def test_bytes_that_are_no_checkpoint(self, data: bytes) -> None:
        store = table()
        store.put(checkpoint_key(10), data)
        with unchanged(store), pytest.warns(LogWarning, match="state 10 cannot be used"):
            snapshot = open_log(make_log(store))
        assert live(snapshot) == ALL

    def test_gzip_that_is_cut(self) -> None:
        store = table()
        store.put(checkpoint_key(10), store.objects[checkpoint_key(10)].data[:60])
        with pytest.warns(LogWarning, match="gzip stream has no end"):
            assert live(open_log(make_log(store))) == ALL

    def test_an_older_checkpoint_is_used_where_there_is_one(self) -> None:
        store = table()
        log = make_log(store)
        assert write_checkpoint(LogAtVersion(log, open_log(log, 5)))
        without_versions(store, 1, 4)
        rewritten(store, checkpoint_key(10), DAMAGES["a wrong checksum"])
        with pytest.warns(LogWarning, match="state 10 cannot be used"):
            snapshot = open_log(make_log(store))
        assert (snapshot.version, snapshot.base, live(snapshot)) == (12, 5, ALL)

    def test_a_part_that_is_gone(self) -> None:
        store = table(parts=4)
        assert len(parts_of(store)) == 3
        del store.objects[parts_of(store)[1]]
        with unchanged(store), pytest.warns(LogWarning, match="state 10 cannot be used"):
            snapshot = open_log(make_log(store))
        assert (snapshot.base, live(snapshot)) == (None, ALL)
        without_versions(store, 1, 9)
        with refused(store, CorruptLog, "newest state, 10, cannot be read"), pytest.warns(LogWarning):
            open_log(make_log(store))

    @pytest.mark.parametrize("part", ["../x.json", "sub/x.json", "00000000000000000009.checkpoint.a.00001.json", "", 5])
    def test_parts_that_cannot_be_its_own(self, part: Any) -> None:
        store = table()
        store.put(checkpoint_key(10), json.dumps({"parts": [part]}).encode())
        with unchanged(store), pytest.warns(LogWarning, match="state 10 cannot be used"):
            assert live(open_log(make_log(store))) == ALL

    def test_time_travel_below_it_does_not_care(self) -> None:
        store = table()
        store.put(checkpoint_key(10), b"\x00")
        assert live(open_log(make_log(store), 9)) == ALL - {"f10", "f11", "f12"}

    def test_a_path_outside_the_table(self) -> None:
        store = table()
        store.put(checkpoint_key(10), lines(PROTOCOL, METADATA, raw_add("../x")))
        with unchanged(store), pytest.warns(LogWarning, match=r"'\.\./x' is not inside the table"):
            assert live(open_log(make_log(store))) == ALL
        whole = {**PROTOCOL, **METADATA, "add": [raw_add("../x")["add"]]}
        store.put(checkpoint_key(10), json.dumps(whole).encode())
        with pytest.warns(LogWarning, match=UnsafePath.__name__ + r"|'\.\./x' is not inside the table"):
            assert live(open_log(make_log(store))) == ALL

    def test_more_text_than_allowed(self) -> None:
        store = table()
        with pytest.warns(LogWarning, match=r"transaction\.maxVersionFileBytes"):
            snapshot = open_log(make_log(store, {"transaction.maxVersionFileBytes": 1200}))
        assert live(snapshot) == ALL


class Slow(Inline):
    """Workers that never finish what has a time limit."""

    def together(self, calls: Any, *, limit: int | None = None, timeout_seconds: float | None = None) -> Any:
        if timeout_seconds is not None and len(calls) > 1:
            raise TimeoutError
        return super().together(calls)


class TestSlowStore:
    def test_it_says_nothing_about_the_checkpoint(self) -> None:
        store = table(parts=4)
        options = {"checkpoint.read.timeoutSeconds": 7}
        with refused(
            store, LogReadTimeout, "3 log objects", "s3://bucket/table", "7", "checkpoint.read.timeoutSeconds"
        ):
            open_log(make_log(store, options, workers=Slow()))

    def test_nor_about_the_versions(self) -> None:
        with pytest.raises(LogReadTimeout) as raised:
            open_log(make_log(table(), workers=Slow()))
        assert raised.value.retryable


class TestOfAnotherTable:
    def test_it_is_ignored(self) -> None:
        alien = MemoryStore(FakeClock(seed=7))
        log = make_log(alien)
        append(log, new_table(log), *(f"alien{number}" for number in range(5)))
        for number in range(2, 11):
            append(log, open_log(log), f"more{number}")
        assert write_checkpoint(LogAtVersion(log, open_log(log, 10)))
        store = table()
        store.objects[checkpoint_key(10)] = alien.objects[checkpoint_key(10)]
        with unchanged(store):
            snapshot = open_log(make_log(store))
        assert (snapshot.version, snapshot.base, live(snapshot)) == (12, None, ALL)
        assert not write_checkpoint(LogAtVersion(make_log(store), open_log(make_log(store), 10))), (
            "no success for a checkpoint"
        )

    def test_of_a_table_that_was_here_before(self) -> None:
        store = table()
        checkpoint = store.objects[checkpoint_key(10)]
        store.objects.clear()
        log = make_log(store, clock=FakeClock(seed=3))
        new_table(log)
        append(log, open_log(log), "mine")
        store.objects[checkpoint_key(10)] = checkpoint
        snapshot = open_log(make_log(store))
        assert (snapshot.version, live(snapshot)) == (1, {"mine"})


class TestOtherShapes:
    ENTRIES = tuple(raw_add(f"f{number}", partitionValues={"day": None})["add"] for number in range(1, 11))

    def foreign(self, checkpoint: bytes, form: Form) -> MemoryStore:
        store = MemoryStore()
        foreign_table(store, *([raw_add(f"f{number}")] for number in range(1, 13)))
        without_versions(store, 1, 9)
        store.put(checkpoint_key(10), packed(checkpoint, form))
        return store

    @pytest.mark.parametrize("form", FORMS)
    @pytest.mark.parametrize("indent", [None, 2])
    @pytest.mark.parametrize("with_protocol", [True, False])
    def test_one_object(self, form: Form, indent: int | None, with_protocol: bool) -> None:
        whole = {**(PROTOCOL if with_protocol else {}), **METADATA, "add": self.ENTRIES, "unknown": [1]}
        store = self.foreign(json.dumps(whole, indent=indent).encode(), form)
        for pointer in (None, b'{"version":10}'):
            if pointer:
                store.put(POINTER, pointer)
            snapshot = open_log(make_log(store))
            assert (snapshot.version, snapshot.base, live(snapshot)) == (12, 10, ALL)

    def test_one_object_without_files(self) -> None:
        store = self.foreign(json.dumps({**PROTOCOL, **METADATA, "add": []}).encode(), "plain")
        assert live(open_log(make_log(store))) == {"f11", "f12"}

    @pytest.mark.parametrize("form", FORMS)
    def test_action_lines(self, form: Form) -> None:
        text = lines(PROTOCOL, METADATA, *({"add": entry} for entry in self.ENTRIES))
        assert live(open_log(make_log(self.foreign(text, form)))) == ALL

    def test_one_path_twice_is_one_file(self) -> None:
        text = lines(PROTOCOL, METADATA, raw_add("f1", size=1), raw_add("f1", size=2))
        snapshot = open_log(make_log(self.foreign(text, "plain")))
        assert live(snapshot) == {"f1", "f11", "f12"}
        assert {row["size"] for row in snapshot.files.to_pylist() if row["path"] == "f1"} == {2}

    def test_a_checkpoint_without_metadata(self) -> None:
        store = self.foreign(lines(PROTOCOL, raw_add("f1")), "plain")
        with refused(store, CorruptLog, "repair"), pytest.warns(LogWarning, match="has no metaData"):
            open_log(make_log(store))

    def test_the_protocol_of_the_newest_wins(self) -> None:
        text = lines({"protocol": {"minReaderVersion": 3, "minWriterVersion": 3}}, METADATA)
        store = self.foreign(text, "plain")
        assert open_log(make_log(store)).protocol.min_reader_version == 3
        put_version(store, 13, PROTOCOL)
        assert open_log(make_log(store)).protocol.min_reader_version == 2


class TestStrayThings:
    STRAYS = (
        f"{LOG}/.00000000000000000003.json.crc",
        f"{LOG}/00000000000000000003.json.crc",
        f"{LOG}/00000000000000099999.json.tmp",
        f"{LOG}/00000000000000000013.json#1",
        f"{LOG}/0000000000000000013.json",
        f"{LOG}/000000000000000000013.json",
        f"{LOG}/00000000000000000013.JSON",
        f"{LOG}/00000000000000000013",
        f"{LOG}/00000000000000000013.checkpoint",
        f"{LOG}/00000000000000000014.checkpoint.parquet",
        f"{LOG}/00000000000000000014.checkpoint.a.00001.json",
        f"{LOG}/1.json",
        f"{LOG}/99999999999999999999.json",
        f"{LOG}/_probe",
        f"{LOG}/_delta/00000000000000000013.json",
        f"{LOG}/0/00000000000000000013.json",
        f"{LOG}/state-v00000000000000000020/manifest-1.avro",
        f"{LOG}/state-v00000000000000000020/_manifest.avro.tmp",
        f"{LOG}/state-v20/_manifest.avro",
        f"{LOG}/manifests/manifest-1.avro",
        f"{LOG}/tmp-uuid",
        f"{LOG}~/x",
        "00000000000000000013.json",
    )

    @pytest.mark.parametrize("key", STRAYS)
    def test_it_is_not_looked_at(self, key: str) -> None:
        store = table()
        store.put(key, b"\x00 not for us")
        with unchanged(store):
            snapshot = open_log(make_log(store))
        assert (snapshot.version, snapshot.base, snapshot.gap, live(snapshot)) == (12, 10, None, ALL)
        assert append(make_log(store), snapshot, "new").snapshot.version == 13
        assert store.objects[key].data == b"\x00 not for us"

    def test_all_of_them_at_once(self) -> None:
        store = table()
        for key in self.STRAYS:
            store.put(key, b"\x00")
        assert live(open_log(make_log(store))) == ALL

    @pytest.mark.parametrize("number", [14, 99_999, 9_999_999_999_999_999_999])
    def test_a_version_far_above_the_others_is_a_gap(self, number: int) -> None:
        store = table()
        put_version(store, number, raw_add("far"))
        with pytest.warns(LogWarning, match="version 13 is missing"):
            snapshot = open_log(make_log(store))
        assert (snapshot.version, snapshot.gap, live(snapshot)) == (12, 13, ALL)
        with refused(store, VersionNotFound, "version 13 is missing"):
            open_log(make_log(store), number)

    @pytest.mark.parametrize("number", [14, 99_999])
    def test_of_another_table_it_is_none(self, number: int) -> None:
        store = table()
        put_version(store, number, {"commitInfo": {"tableId": "another"}}, raw_add("far"), raw_remove("f1"))
        log = make_log(store)
        snapshot = open_log(log)
        assert (snapshot.version, snapshot.gap) == (12, None)
        snapshot = append(log, snapshot, "f13").snapshot
        if number == 14:
            snapshot = append(log, snapshot, "f15").snapshot
            assert snapshot.version == 15, "a number is used once"
        assert live(open_log(make_log(store))) == ALL | ({"f13", "f15"} if number == 14 else {"f13"})


def test_no_warning_where_nothing_is_wrong() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        open_log(make_log(table(parts=3)))
    assert not caught
