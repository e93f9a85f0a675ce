"""What the tests of the log share: a store in memory, a clock that is moved by hand, and a naive reader of raw logs.

The naive reader knows nothing of the code under test: it takes bytes apart with zlib and json and keeps a dict.
"""

from __future__ import annotations

import copy
import json
import uuid
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import pytest

from indextables.core.clock import Clock
from indextables.core.errors import IndexTablesError, ObjectExists, ObjectNotFound, StorageError
from indextables.core.options import Options
from indextables.core.runtime.threads import Inline, Workers
from indextables.log.actions import AddAction
from indextables.log.commit import Committed, commit
from indextables.log.conflicts import Change
from indextables.log.create_log import create_log
from indextables.log.log_cache import LogCache
from indextables.log.snapshot import LogAtVersion, Snapshot
from indextables.log.table_log import TableLog
from indextables.storage.store import ObjectMeta, Store, StoredObject
from indextables.storage.testing.counting import Counting

T = TypeVar("T")

ROOT = "s3://bucket/table"
LOG = "_transaction_log"
HOUR = 3600.0
DAY = 24 * HOUR
START_MS = 1_750_000_000_000
SCHEMA = json.dumps(
    {
        "type": "struct",
        "fields": [
            {"name": name, "type": kind, "nullable": True, "metadata": {}}
            for name, kind in (("id", "long"), ("message", "string"), ("day", "string"))
        ],
    },
    separators=(",", ":"),
)


class FakeClock:
    """Stands still until somebody sleeps or `advance`s it. `wall_offset_ms` makes the wall clock wrong."""

    def __init__(self, jitter: float = 0.5, seed: int = 0) -> None:
        self.seconds = 0.0
        self.wall_offset_ms = 0
        self.slept: list[float] = []
        self._jitter = jitter
        self._ids = seed * 1_000_000

    def advance(self, seconds: float) -> None:
        self.seconds += seconds

    def wall_ms(self) -> int:
        return START_MS + int(self.seconds * 1000) + self.wall_offset_ms

    def boot(self) -> float:
        return 1000.0 + self.seconds

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds

    def jitter(self) -> float:
        return self._jitter

    def uuid(self) -> str:
        self._ids += 1
        return str(uuid.UUID(int=self._ids))


@dataclass(frozen=True)
class Stored:
    data: bytes
    modified_ms: int
    etag: str


class MemoryStore:
    """Objects in a dict, with the times of a clock. Copying it is cheap, so that a test can go back to a moment."""

    def __init__(self, clock: FakeClock | None = None, root: str = ROOT) -> None:
        self.clock = clock or FakeClock()
        self.root = root
        self.objects: dict[str, Stored] = {}
        self._etags = 0

    def copy(self) -> MemoryStore:
        """The same objects and the same time, both free to go another way."""
        other = MemoryStore(copy.deepcopy(self.clock), self.root)
        other.objects = dict(self.objects)
        other._etags = self._etags
        return other

    def bytes(self) -> dict[str, bytes]:
        """Everything that is stored, for comparing before and after."""
        return {key: stored.data for key, stored in self.objects.items()}

    def age(self, seconds: float, only: Callable[[str], bool] = lambda key: True) -> None:
        """Make objects older."""
        for key, stored in self.objects.items():
            if only(key):
                self.objects[key] = Stored(stored.data, stored.modified_ms - int(seconds * 1000), stored.etag)

    def get(self, key: str) -> StoredObject:
        return StoredObject(self._find(key).data, self.head(key))

    def get_range(self, key: str, start: int, end: int) -> bytes:
        return self._find(key).data[start:end]

    def get_ranges(self, key: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        return [self.get_range(key, start, end) for start, end in ranges]

    def head(self, key: str) -> ObjectMeta:
        stored = self._find(key)
        return ObjectMeta(key, len(stored.data), stored.modified_ms, stored.etag)

    def create(self, key: str, data: bytes) -> None:
        if key in self.objects:
            raise ObjectExists(f"{key} is there already", key=key)
        self.put(key, data)

    def put(self, key: str, data: bytes) -> None:
        self._etags += 1
        self.objects[key] = Stored(bytes(data), self.clock.wall_ms(), f"etag-{self._etags}")

    def list(self, prefix: str, after: str | None = None) -> Iterator[ObjectMeta]:
        for key in sorted(self.objects):
            if key.startswith(prefix) and key > (after or ""):
                yield self.head(key)

    def delete(self, keys: Sequence[str]) -> dict[str, StorageError]:
        for key in keys:
            self.objects.pop(key, None)
        return {}

    def _find(self, key: str) -> Stored:
        if key not in self.objects:
            raise ObjectNotFound(f"there is no object {key}", key=key)
        return self.objects[key]


class Hooked:
    """A store some of whose verbs are replaced: `Hooked(store, create=function)`. The function may use the real ones."""

    def __init__(self, inner: Store, **verbs: Callable[..., Any]) -> None:
        self.inner = inner
        self.__dict__.update(verbs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class Rounds:
    """Workers that count round trips: of what runs side by side, only the longest chain of requests counts."""

    def __init__(self, store: Counting) -> None:
        self._store = store
        self._saved = 0

    @property
    def count(self) -> int:
        return len(self._store.requests) - self._saved

    def reset(self) -> None:
        self._store.reset()
        self._saved = 0

    def together(
        self, calls: Sequence[Callable[[], T]], *, limit: int | None = None, timeout_seconds: float | None = None
    ) -> list[T]:
        results, chains = [], [0]
        for call in calls:
            before = self.count
            results.append(call())
            chains.append(self.count - before)
        self._saved += sum(chains) - max(chains)
        return results


def make_log(
    store: Store | None = None,
    options: Mapping[str, Any] | None = None,
    *,
    clock: Clock | None = None,
    workers: Workers | None = None,
    cache: LogCache | None = None,
) -> TableLog:
    """A handle with nothing in its cache, whose requests come one after the other."""
    if store is None:
        store = MemoryStore()
    if clock is None:
        inner: Any = store
        while not hasattr(inner, "clock") and hasattr(inner, "inner"):
            inner = inner.inner
        clock = inner.clock if hasattr(inner, "clock") else FakeClock()
    return TableLog(store, Options(options), clock, workers or Inline(), cache or LogCache())


def new_table(log: TableLog, **fields: Any) -> Snapshot:
    """Version 0."""
    return create_log(log, schema_string=fields.pop("schema_string", SCHEMA), **fields)


def add(path: str, **fields: Any) -> AddAction:
    return AddAction(path, **{"size": 100, "modification_time": START_MS, "num_records": 10, **fields})


def append(log: TableLog, snapshot: Snapshot, *paths: str, operation: str = "WRITE", **change: Any) -> Committed:
    return commit(LogAtVersion(log, snapshot), Change(adds=tuple(map(add, paths)), **change), operation=operation)


def grown(log: TableLog, versions: int) -> Snapshot:
    """A new table with one more file in each version: `f1` in version 1, and so on."""
    snapshot = new_table(log)
    for number in range(1, versions + 1):
        snapshot = append(log, snapshot, f"f{number}").snapshot
    return snapshot


def live(snapshot: Snapshot) -> set[str]:
    """The live paths; a path that is live twice is an error."""
    paths = snapshot.files.column("path").to_pylist()
    assert len(paths) == len(set(paths)), paths
    return set(paths)


Form = Literal["plain", "gzip", "framed"]
FORMS: tuple[Form, ...] = ("plain", "gzip", "framed")


def packed(text: bytes, form: Form) -> bytes:
    """Bytes of a log object in one of the three forms."""
    if form == "plain":
        return text
    stream = zlib.compressobj(wbits=31)
    body = stream.compress(text) + stream.flush()
    return b"\x01\x01" + body if form == "framed" else body


def lines(*actions: Mapping[str, Any]) -> bytes:
    """Action lines as another implementation would write them."""
    return b"".join(json.dumps(action, ensure_ascii=False).encode() + b"\n" for action in actions)


def version_key(number: int) -> str:
    return f"{LOG}/{number:020d}.json"


def checkpoint_key(number: int) -> str:
    return f"{LOG}/{number:020d}.checkpoint.json"


def put_version(store: Store, number: int, *actions: Mapping[str, Any], form: Form = "plain") -> None:
    """A version file, written by hand."""
    store.put(version_key(number), packed(lines(*actions), form))


PROTOCOL = {"protocol": {"minReaderVersion": 2, "minWriterVersion": 2}}
METADATA = {
    "metaData": {
        "id": "11111111-2222-3333-4444-555555555555",
        "format": {"provider": "indextables", "options": {}},
        "schemaString": SCHEMA,
        "partitionColumns": [],
        "configuration": {},
        "createdTime": START_MS,
    }
}


def raw_add(path: str, **fields: Any) -> dict[str, Any]:
    base = {"path": path, "partitionValues": {}, "size": 1, "modificationTime": START_MS, "dataChange": True}
    return {"add": base | fields}


def raw_remove(path: str, **fields: Any) -> dict[str, Any]:
    return {"remove": {"path": path, "deletionTimestamp": START_MS, "dataChange": True} | fields}


def foreign_table(store: Store, *versions: Sequence[Mapping[str, Any]]) -> None:
    """A log without any commitInfo: version 0 and what follows it."""
    put_version(store, 0, PROTOCOL, METADATA)
    for number, actions in enumerate(versions, start=1):
        put_version(store, number, *actions)


def unpacked(data: bytes) -> bytes:
    data = data.removeprefix(b"\x01\x01")
    return zlib.decompress(data, wbits=31) if data.startswith(b"\x1f\x8b") else data


def raw_lines(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in unpacked(data).decode().split("\n") if line]


def raw_versions(objects: Mapping[str, bytes]) -> dict[int, list[dict[str, Any]]]:
    """Every version file, by number."""
    found = {}
    for key, data in objects.items():
        name = key.rpartition("/")[2]
        if len(name) == 25 and name.endswith(".json"):
            found[int(name[:20])] = raw_lines(data)
    return dict(sorted(found.items()))


def naive_live(versions: Mapping[int, list[dict[str, Any]]], up_to: int | None = None) -> dict[str, dict[str, Any]]:
    """Path to add action: what is live after the versions, by a dict."""
    files: dict[str, dict[str, Any]] = {}
    for number, actions in sorted(versions.items()):
        if up_to is not None and number > up_to:
            break
        for action in actions:
            if "remove" in action:
                files.pop(action["remove"]["path"], None)
        for action in actions:
            if "add" in action:
                files[action["add"]["path"]] = action["add"]
    return files


def commit_infos(versions: Mapping[int, list[dict[str, Any]]]) -> dict[int, dict[str, Any]]:
    return {
        number: next((a["commitInfo"] for a in actions if "commitInfo" in a), {})
        for number, actions in versions.items()
    }


@contextmanager
def unchanged(store: MemoryStore) -> Iterator[None]:
    """Whatever happens in the block, not a byte in the store is another one after it."""
    before = store.bytes()
    yield
    assert store.bytes() == before


@contextmanager
def refused(store: MemoryStore, error: type[IndexTablesError], *says: str) -> Iterator[None]:
    """The block raises exactly this error, its message says all of this, and nothing was written."""
    with unchanged(store), pytest.raises(IndexTablesError) as raised:
        yield
    assert type(raised.value) is error, raised.value
    for text in says:
        assert text in str(raised.value)
