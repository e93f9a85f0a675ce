"""The simulated store and what one process sees of it: objects, the store's clock, a handle, a clock and workers.

Nothing here is real: time is a number that the scheduler moves, chance comes from the seed, and every request goes through
one function (`Caller`), where the scheduler decides when it is carried out and what goes wrong.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import xxhash

from indextables.core.errors import ObjectExists, ObjectNotFound, StorageError
from indextables.storage.store import ObjectMeta, StoredObject

T = TypeVar("T")

MINUTE = 60.0
HOUR = 60 * MINUTE
DAY = 24 * HOUR
EPOCH = 1_750_000_000.0
"""When the simulated world begins, seconds since 1970."""

ROOT = "memory://sim/table"
LOG = "_transaction_log/"

Verb = Literal["get", "head", "list", "create", "put", "delete", "sleep"]
MUTATIONS = frozenset({"create", "put", "delete"})


class Died(BaseException):
    """The process is gone: no code of it may run on."""


class Violation(BaseException):
    """A rule of the protocol was broken. Not an `Exception`: the code under test must not swallow it."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(f"{kind}: {text}")
        self.kind = kind
        self.text = text


def chance(*what: object) -> float:
    """A number in [0, 1) that depends on nothing but its arguments: the same one whatever else was drawn."""
    return xxhash.xxh3_64_intdigest("/".join(map(str, what)).encode()) / 2**64


@dataclass(slots=True)
class Request:
    """One request to the store, or a sleep."""

    verb: Verb
    key: str = ""
    data: bytes = b""
    keys: tuple[str, ...] = ()
    after: str | None = None
    seconds: float = 0.0

    @property
    def touches_log(self) -> bool:
        return any(key.startswith(LOG) for key in self.keys or (self.key,))

    def __str__(self) -> str:
        if self.verb == "delete":
            return "delete " + ", ".join(short(key) for key in self.keys)
        if self.verb == "sleep":
            return f"sleep {self.seconds:.2f}s"
        if self.verb == "list":
            return f"list {short(self.key)}*" + (f" after {short(self.after)}" if self.after else "")
        return f"{self.verb} {short(self.key)}"


def short(key: str) -> str:
    """A key as a person would say it."""
    if not key.startswith(LOG):
        return key
    name = key[len(LOG) :]
    number, _, rest = name.partition(".")
    if number.isdigit() and len(number) == 20:
        kind = {"json": "version", "checkpoint.json": "checkpoint"}.get(rest, rest or "0")
        return f"{kind} {int(number)}"
    if name.startswith("state-v") and name.endswith("/_manifest.avro"):
        return f"state {int(name[7:27])}"
    return f"manifest {name[19:23]}" if name.startswith("manifests/manifest-") else name


@dataclass(slots=True)
class Stored:
    """An object."""

    data: bytes
    etag: str
    modified_ms: int


@dataclass
class World:
    """The objects and the time. `watchers` hear of everything that changed, at the moment when it did."""

    now: float = EPOCH
    objects: dict[str, Stored] = field(default_factory=dict)
    watchers: list[Callable[[str, str, bytes], None]] = field(default_factory=list)
    etags: int = 0

    def carry_out(self, request: Request) -> Any:
        """Do what the request asks for, now. Raises ObjectNotFound and ObjectExists."""
        match request.verb:
            case "get":
                found = self._find(request.key)
                return StoredObject(found.data, self._meta(request.key, found))
            case "head":
                return self._meta(request.key, self._find(request.key))
            case "list":
                after = request.after or ""
                keys = sorted(key for key in self.objects if key.startswith(request.key) and key > after)
                return [self._meta(key, self.objects[key]) for key in keys]
            case "create":
                if request.key in self.objects:
                    raise ObjectExists(f"{request.key} is there already", key=request.key)
                self._write(request.key, request.data)
            case "put":
                self._write(request.key, request.data)
            case "delete":
                for key in request.keys:
                    self.remove(key)
                return {}
            case "sleep":
                pass
        return None

    def carry_out_put(self, key: str) -> None:
        self.carry_out(Request("put", key, b"data"))

    def remove(self, key: str) -> None:
        if self.objects.pop(key, None) is not None:
            self._tell("delete", key, b"")

    def _write(self, key: str, data: bytes) -> None:
        self.etags += 1
        self.objects[key] = Stored(data, f"e{self.etags}", int(self.now * 1000))
        self._tell("write", key, data)

    def _tell(self, what: str, key: str, data: bytes) -> None:
        for watcher in self.watchers:
            watcher(what, key, data)

    def _find(self, key: str) -> Stored:
        found = self.objects.get(key)
        if found is None:
            raise ObjectNotFound(f"no object {key}", key=key)
        return found

    def _meta(self, key: str, found: Stored) -> ObjectMeta:
        return ObjectMeta(key, len(found.data), found.modified_ms, found.etag)


Caller = Callable[[Request], Any]


class SimStore:
    """The `Store` of one process."""

    root = ROOT

    def __init__(self, call: Caller) -> None:
        self._call = call

    def get(self, key: str) -> StoredObject:
        return self._call(Request("get", key))

    def get_range(self, key: str, start: int, end: int) -> bytes:
        return self._call(Request("get", key)).data[start:end]

    def get_ranges(self, key: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        data = self._call(Request("get", key)).data
        return [data[start:end] for start, end in ranges]

    def head(self, key: str) -> ObjectMeta:
        return self._call(Request("head", key))

    def create(self, key: str, data: bytes) -> None:
        self._call(Request("create", key, bytes(data)))

    def put(self, key: str, data: bytes) -> None:
        self._call(Request("put", key, bytes(data)))

    def list(self, prefix: str, after: str | None = None) -> Iterator[ObjectMeta]:
        yield from self._call(Request("list", prefix, after=after))

    def delete(self, keys: Sequence[str]) -> dict[str, StorageError]:
        return self._call(Request("delete", keys=tuple(keys)))


class SimClock:
    """One machine's clocks: wrong by `skew` on the wall, right in how fast it runs."""

    def __init__(self, world: World, call: Caller, rng: random.Random, skew: float = 0.0, booted: float = 0.0) -> None:
        self._world = world
        self._call = call
        self._rng = rng
        self._skew = skew
        self._booted = booted
        self.issued: list[str] = []
        """Every id that was handed out: a commit's ids are among those of its time."""
        self.settled = 0
        """How many of them belong to commits that were acknowledged, or came before those."""

    def wall_ms(self) -> int:
        return int((self._world.now + self._skew) * 1000)

    def boot(self) -> float:
        return self._world.now - EPOCH + self._booted

    def sleep(self, seconds: float) -> None:
        self._call(Request("sleep", seconds=seconds))

    def jitter(self) -> float:
        return self._rng.random()

    def uuid(self) -> str:
        made = str(uuid.UUID(int=self._rng.getrandbits(128), version=4))
        self.issued.append(made)
        return made


class SimWorkers:
    """Runs calls one after the other in an order of the seed's choice, all of them, and then raises the first error."""

    def __init__(self, world: World, rng: random.Random, hasty: bool = False) -> None:
        self._world = world
        self._rng = rng
        self._hasty = hasty
        """Whether its timer noticed that time passed: it does not while the machine sleeps."""

    def together(
        self, calls: Sequence[Callable[[], T]], *, limit: int | None = None, timeout_seconds: float | None = None
    ) -> list[T]:
        order = list(range(len(calls)))
        if len(order) > 1:
            self._rng.shuffle(order)
        began = self._world.now
        results: dict[int, T] = {}
        failure: Exception | None = None
        for index in order:
            try:
                results[index] = calls[index]()
            except Exception as error:
                failure = failure or error
        if timeout_seconds is not None and self._hasty and self._world.now - began > timeout_seconds:
            raise TimeoutError(f"not finished after {timeout_seconds} seconds")
        if failure is not None:
            raise failure
        return [results[index] for index in range(len(calls))]
