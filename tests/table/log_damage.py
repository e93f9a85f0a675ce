"""Random damage to logs, and what a check must say of it: an oracle that knows which objects were damaged, and how."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from indextables.core.errors import IndexTablesError
from indextables.log.log_paths import POINTER, PROBE, parse_log_key, parse_state_key
from indextables.log.pointer import read_pointer
from indextables.log.state.model import manifest_key
from indextables.log.state.read import decode_state
from indextables.table.write.create import create_table
from log.support import LOG, MemoryStore, make_log, unpacked, version_key
from table.fsck_support import keys, write_state
from table.merge_support import SCHEMA, some, table_in
from table.written_support import rows_of


@dataclass(frozen=True)
class History:
    """A table, and which rows each of its versions had."""

    store: MemoryStore
    rows: dict[int, frozenset[int]]
    older: dict[str, bytes]
    """Earlier contents of objects that were replaced: the pointer's."""

    @property
    def newest(self) -> int:
        return max(self.rows)


@cache
def history(*, json: bool = False) -> History:
    """Appends, two merges and an overwrite of one day, with states or JSON checkpoints; clean-up took the oldest versions."""
    options: dict[str, Any] = {"checkpoint.interval": 1000}
    store = MemoryStore()
    create_table(make_log(store), SCHEMA, ["day"])
    rows: dict[int, frozenset[int]] = {0: frozenset()}
    older: dict[str, bytes] = {}

    def note() -> None:
        table = table_in(store)
        rows[table.version] = frozenset(rows_of(table).column("id").to_pylist())

    for number in range(10):
        store.clock.advance(1)
        table_in(store, options).append(some(6, number * 6))
        note()
        if number in (2, 4, 7):
            older.setdefault(POINTER, store.objects[POINTER].data if POINTER in store.objects else b"{}")
            write_state(store, {"state.format": "json"} if json and number == 7 else None)
        if number in (4, 8):
            store.clock.advance(1)
            before = store.bytes()
            table_in(store, options).merge_splits()
            note()
            added = [key for key in keys(store, f"{LOG}/") if key.endswith(".avro") and key not in before]
            store.delete(added)
            store.put(POINTER, before[POINTER])
    return History(store, rows, older)


@dataclass
class Damage:
    """What was done to a log."""

    store: MemoryStore
    done: list[str] = field(default_factory=list)
    wanted: list[frozenset[str]] = field(default_factory=list)
    """Sets of keys: a check must name one of each."""


def damaged(past: History, seed: int) -> Damage:
    """One to three random damages. The same seed gives the same damage."""
    chance = random.Random(seed)
    damage = Damage(past.store.copy())
    touched: set[str] = set()
    for _ in range(chance.choice((1, 1, 2, 3))):
        free = [key for key in keys(damage.store, f"{LOG}/") if key not in touched]
        key = chance.choice(free)
        how = chance.choice((_delete, _cut, _flip, _empty, _older, _swap))
        touched |= how(past, damage, key, chance)
    whole = past.store.bytes()
    for key in sorted(touched):
        if damage.store.bytes().get(key) != whole[key] and _matters(past, damage, key):
            damage.wanted.append(_names(damage, key))
    return damage


def _delete(past: History, damage: Damage, key: str, chance: random.Random) -> set[str]:
    damage.store.delete([key])
    damage.done.append(f"deleted {key}")
    return {key}


def _cut(past: History, damage: Damage, key: str, chance: random.Random) -> set[str]:
    data = damage.store.objects[key].data
    size = chance.randrange(len(data))
    damage.store.put(key, data[:size])
    damage.done.append(f"cut {key} to {size} bytes")
    return {key}


def _flip(past: History, damage: Damage, key: str, chance: random.Random) -> set[str]:
    data = bytearray(damage.store.objects[key].data)
    bit = chance.randrange(len(data) * 8)
    data[bit // 8] ^= 1 << bit % 8
    damage.store.put(key, bytes(data))
    damage.done.append(f"flipped bit {bit} of {key}")
    return {key}


def _empty(past: History, damage: Damage, key: str, chance: random.Random) -> set[str]:
    damage.store.put(key, b"")
    damage.done.append(f"emptied {key}")
    return {key}


def _older(past: History, damage: Damage, key: str, chance: random.Random) -> set[str]:
    """An earlier object of the same kind lies in the place of a later one."""
    earlier = [other for other in keys(past.store, f"{LOG}/") if _kind(other) == _kind(key) and other < key]
    data = past.older.get(key) or (past.store.objects[chance.choice(earlier)].data if earlier else None)
    if data is None:
        return _delete(past, damage, key, chance)
    damage.store.put(key, data)
    damage.done.append(f"put an older copy to {key}")
    return {key}


def _swap(past: History, damage: Damage, key: str, chance: random.Random) -> set[str]:
    others = [other for other in keys(damage.store, f"{LOG}/") if _kind(other) == _kind(key) and other != key]
    if not others:
        return _empty(past, damage, key, chance)
    other = chance.choice(others)
    first, second = damage.store.objects[key].data, damage.store.objects[other].data
    damage.store.put(key, second)
    damage.store.put(other, first)
    damage.done.append(f"swapped {key} and {other}")
    return {key, other}


def _kind(key: str) -> str:
    name = parse_log_key(key)
    if name is not None:
        return "version" if name.is_version else "checkpoint"
    if parse_state_key(key) is not None:
        return "state"
    return "manifest" if "/manifests/" in key else key


def _names(damage: Damage, key: str) -> frozenset[str]:
    """What a check may name: the object, or of two versions that were swapped one of them."""
    swapped = [what for what in damage.done if what.startswith("swapped") and key in what]
    found = {key}
    for what in swapped:
        _, first, _, second = what.split()
        if _kind(key) == "version":
            found |= {first, second}
    return frozenset(found)


def _matters(past: History, damage: Damage, key: str) -> bool:
    """Whether anybody could tell that the object is not the one that was written, from what is left."""
    whole, left = past.store.objects[key].data, damage.store.bytes().get(key)
    kind = _kind(key)
    if kind == "version":
        if left is not None:
            return _differs(unpacked, whole, left)
        return _is_missed(damage, int(key[-25:-5]))
    if kind == "state":
        version = parse_state_key(key)
        return left is not None and _differs(lambda data: decode_state(key, data, version or 0), whole, left)
    if kind == "manifest":
        return _is_named(damage, key)
    if key == PROBE:
        return False
    if key == POINTER:
        return _pointer_matters(past, damage)
    return left is not None and _differs(unpacked, whole, left)


def _differs(read: Callable[[bytes], Any], whole: bytes, left: bytes) -> bool:
    try:
        return bool(read(left) != read(whole))
    except (IndexTablesError, ValueError, EOFError, Exception):
        return True


def _is_missed(damage: Damage, number: int) -> bool:
    """A version that is gone from the end was never there, and one from the beginning was cleaned up, for all that anybody knows."""
    there = {int(key[-25:-5]) for key in keys(damage.store, f"{LOG}/") if _kind(key) == "version"}
    states = _readable_states(damage)
    if number == 0:
        return True
    newer = any(other > number for other in there) or any(state > number for state in states)
    older = any(0 < other < number for other in there)
    covered = any(state >= number for state in states)
    return newer and (older or not covered)


def _readable_states(damage: Damage) -> set[int]:
    found = set()
    for key in keys(damage.store, "state-v"):
        version = parse_state_key(key)
        assert version is not None
        try:
            decode_state(key, damage.store.objects[key].data, version)
        except IndexTablesError:
            continue
        found.add(version)
    return found


def _is_named(damage: Damage, key: str) -> bool:
    """Whether a state that can be read names the manifest."""
    for version in _readable_states(damage):
        data = damage.store.objects[f"{LOG}/state-v{version:020d}/_manifest.avro"].data
        if key in {manifest_key(item.path, version) for item in decode_state("state", data, version).manifests}:
            return True
    return False


def _pointer_matters(past: History, damage: Damage) -> bool:
    """A pointer that names the newest state that is there is right, whatever else it says."""
    before, now = read_pointer(past.store), read_pointer(damage.store)
    assert before is not None
    there = POINTER in damage.store.objects
    return (now is None and there) or (now is not None and now.version != before.version)


__all__ = ["Damage", "History", "damaged", "history", "version_key"]
