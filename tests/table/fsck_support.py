"""Tables to damage, and what a check says of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import msgspec
import pyarrow as pa

from indextables.core.errors import StorageError
from indextables.log.check.findings import FINDINGS_SCHEMA
from indextables.log.log_paths import POINTER
from indextables.log.rebuild.log_elsewhere import LogElsewhere
from indextables.log.snapshot import LogAtVersion
from indextables.log.state.checkpoint import checkpoint
from indextables.storage.store import ObjectMeta, StoredObject
from indextables.table.at_version import handle_of
from indextables.table.maintain.fsck import fsck
from indextables.table.maintain.repair import Repaired, repair_log
from log.support import LOG, MemoryStore, make_log
from table.merge_support import some, store_with, table_in

Row = tuple[str, str, str]
"""Severity, kind and path of a finding."""


def whole_table() -> MemoryStore:
    """A partitioned table of 36 rows without damage: four appends, a state at 4, a merge, two more appends."""
    return _kept_table().copy()


@cache
def _kept_table() -> MemoryStore:
    return build_table()


def build_table() -> MemoryStore:
    """The same, made anew."""
    store = store_with(4, ["day"])
    write_state(store)
    kept = store.bytes()
    table_in(store).merge_splits()
    store.delete([key for key in keys(store, "_transaction_log/") if key.endswith(".avro") and key not in kept])
    store.put(POINTER, kept[POINTER])  # the merge wrote a state of its own: one is easier to damage
    for number in (4, 5):
        store.clock.advance(1)
        table_in(store).append(table_rows(number))
    return store


def table_rows(number: int) -> pa.Table:
    return some(6, number * 6)


def write_state(store: MemoryStore, options: dict[str, Any] | None = None) -> None:
    """A state (or a JSON checkpoint) of the newest version."""
    store.clock.advance(1)
    handle = handle_of(table_in(store, options))
    assert checkpoint(LogAtVersion(handle.log, handle.snapshot), compact=True).written


def found_in(store: Any, *, repair: bool = False, **options: Any) -> pa.Table:
    """All findings."""
    found = fsck(make_log(store, options), repair=repair)
    assert found.schema == FINDINGS_SCHEMA
    return found


def findings(store: Any, *, repair: bool = False, **options: Any) -> list[Row]:
    """Severity, kind and path of all findings."""
    rows = found_in(store, repair=repair, **options).to_pylist()
    return [(row["severity"], row["kind"], row["path"]) for row in rows]


def message_of(store: Any, kind: str) -> str:
    rows = [row for row in found_in(store).to_pylist() if row["kind"] == kind]
    assert rows, kind
    message: str = rows[0]["message"]
    return message


def keys(store: MemoryStore, part: str) -> list[str]:
    return [key for key in sorted(store.objects) if part in key]


def change(store: MemoryStore, key: str, how: Callable[[bytes], bytes]) -> None:
    """Put other bytes in the place of an object's."""
    store.put(key, how(store.objects[key].data))


def flip(data: bytes) -> bytes:
    """One bit in the middle is another one."""
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 4]) + data[middle + 1 :]


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


class Below:
    """The objects of a store below a directory, as a store of its own."""

    def __init__(self, store: Any, directory: str) -> None:
        self.inner = store
        self._below = f"{directory}/"
        self.root = f"{store.root}/{directory}"

    def get(self, key: str) -> StoredObject:
        found = self.inner.get(self._below + key)
        return StoredObject(found.data, self._meta(found.meta))

    def get_range(self, key: str, start: int, end: int) -> bytes:
        return bytes(self.inner.get_range(self._below + key, start, end))

    def get_ranges(self, key: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        return [self.get_range(key, start, end) for start, end in ranges]

    def head(self, key: str) -> ObjectMeta:
        return self._meta(self.inner.head(self._below + key))

    def create(self, key: str, data: bytes) -> None:
        self.inner.create(self._below + key, data)

    def put(self, key: str, data: bytes) -> None:
        self.inner.put(self._below + key, data)

    def list(self, prefix: str, after: str | None = None) -> Iterator[ObjectMeta]:
        found = self.inner.list(self._below + prefix, None if after is None else self._below + after)
        return (self._meta(meta) for meta in found)

    def delete(self, keys: Sequence[str]) -> dict[str, StorageError]:
        raise AssertionError(f"nobody deletes {keys}")

    def _meta(self, meta: ObjectMeta) -> ObjectMeta:
        return msgspec.structs.replace(meta, key=meta.key.removeprefix(self._below))


NEW = "_transaction_log_repaired"


def repair_into(store: Any, directory: str = NEW) -> Repaired:
    """Write a new log of the table in a store beside the old one."""
    source = make_log(store)
    return repair_log(source, make_log(LogElsewhere(store, Below(store, directory)), clock=source.clock))


def swapped(store: MemoryStore, directory: str = NEW) -> MemoryStore:
    """The store after the logs were swapped."""
    other = store.copy()
    for key in keys(other, f"{LOG}/"):
        if key.startswith(f"{LOG}/"):
            other.objects[key.replace(LOG, f"{LOG}_damaged", 1)] = other.objects.pop(key)
    for key in keys(other, f"{directory}/"):
        other.objects[key.replace(directory, LOG, 1)] = other.objects.pop(key)
    return other


def repaired(store: MemoryStore) -> tuple[Repaired, MemoryStore]:
    """The answer of a repair, and the store after the logs were swapped. Every object stayed as it was."""
    before = store.bytes()
    answer = repair_into(store)
    after = store.bytes()
    assert {key: after.get(key) for key in before} == before, "a repair only adds"
    assert all(key.startswith(f"{NEW}/") for key in after.keys() - before.keys())
    return answer, swapped(store)


def without_log(store: MemoryStore) -> MemoryStore:
    other = store.copy()
    other.delete([key for key in other.objects if key.startswith(f"{LOG}/")])
    return other
