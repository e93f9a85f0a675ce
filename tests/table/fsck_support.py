"""Tables to damage, and what a check says of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pyarrow as pa

from indextables.log.check.findings import FINDINGS_SCHEMA
from indextables.log.log_paths import POINTER
from indextables.log.snapshot import LogAtVersion
from indextables.log.state.checkpoint import checkpoint
from indextables.table.at_version import handle_of
from indextables.table.maintain.fsck import fsck
from log.support import MemoryStore, make_log
from table.merge_support import some, store_with, table_in

Row = tuple[str, str, str]
"""Severity, kind and path of a finding."""


def whole_table() -> MemoryStore:
    """A partitioned table of 36 rows without damage: four appends, a state at 4, a merge, two more appends."""
    return _whole_table().copy()


@cache
def _whole_table() -> MemoryStore:
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
