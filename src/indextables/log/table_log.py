"""`TableLog`: one table's log as the verbs see it, and the reading of single log objects.

It holds the recipe (store, options) and the replaceable parts (clock, workers, cache), no state of the table itself: that is
in snapshots. Everything that reads a version file comes through here, so that size limits, path checks and the cache are
in one place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.core import options as opt
from indextables.core.clock import SYSTEM_CLOCK, Clock
from indextables.core.errors import LogReadTimeout, ObjectNotFound, UnsafePath
from indextables.core.options import Options, WriteSettings, write_settings
from indextables.core.runtime.cached_property import cached_property
from indextables.core.runtime.threads import IO, Workers
from indextables.log.actions import Actions
from indextables.log.codec import decode_actions, decode_paths, unpack
from indextables.log.log_cache import PROCESS_CACHE, LogCache
from indextables.log.log_paths import version_key
from indextables.storage.local import local_store
from indextables.storage.object_keys import inside_root
from indextables.storage.store import ObjectMeta, Store

T = TypeVar("T")

_YEAR_9999_MS = 253_370_764_800_000
"""Times beyond are no milliseconds: some writers stamp microseconds, or nonsense."""


@dataclass(frozen=True)
class VersionFile:
    """A version file that was read."""

    version: int
    actions: Actions
    meta: ObjectMeta

    @property
    def timestamp(self) -> int:
        """When it was committed: the writer's word where it can be true, else the store's."""
        info = self.actions.commit_info
        said = info.timestamp if info is not None else None
        return said if said is not None and 0 <= said < _YEAR_9999_MS else self.meta.last_modified_ms

    def belongs_to(self, table_id: str) -> bool:
        """Whether this was written for the table; what does not say so is taken as the table's."""
        return self.actions.table_id in (None, table_id)


@dataclass(frozen=True)
class TableLog:
    """The log under one URL."""

    store: Store
    options: Options = field(default_factory=Options)
    clock: Clock = SYSTEM_CLOCK
    workers: Workers = IO
    cache: LogCache = PROCESS_CACHE

    def __reduce__(self) -> tuple[Any, ...]:
        """The recipe travels, not the handles: time, threads and memory are those of the process that opens it."""
        return TableLog, (self.store, self.options)

    @cached_property
    def url(self) -> str:
        """Where the table lies."""
        return self.store.root

    @cached_property
    def is_local(self) -> bool:
        """True if the table lies on a disk of this machine, where reading is not waiting."""
        return local_store(self.store) is not None

    @cached_property
    def settings(self) -> WriteSettings:
        """The options that every write asks for."""
        return write_settings(self.options)

    @property
    def caching(self) -> bool:
        """Whether anything may be remembered."""
        return self.settings.caching

    def read_version(self, version: int) -> VersionFile | None:
        """A version file, from the store; None where the version does not exist."""
        key = version_key(version)
        try:
            found = self.store.get(key)
        except ObjectNotFound:
            return None
        actions = self.decode(key, found.data)
        return VersionFile(version, actions, found.meta)

    def paths_in_version(self, version: int) -> list[str] | None:
        """The paths that a version file names in its adds and removes, each checked; None where the version does not exist."""
        key = version_key(version)
        try:
            raw = self.store.get(key).data
        except ObjectNotFound:
            return None
        name = f"{self.url}/{key}"
        paths = decode_paths(name, unpack(name, raw, self.settings.version_file_bytes))
        check_paths(self.url, paths, name)
        return paths

    def head(self, key: str) -> ObjectMeta | None:
        """What the store knows of an object; None where there is none."""
        try:
            return self.store.head(key)
        except ObjectNotFound:
            return None

    def head_version(self, version: int) -> ObjectMeta | None:
        """What the store knows of a version file; None where the version does not exist."""
        return self.head(version_key(version))

    def decode(self, key: str, raw: bytes) -> Actions:
        """The actions of a version file, with every path checked."""
        return self.decode_text(key, unpack(f"{self.url}/{key}", raw, self.settings.version_file_bytes))

    def decode_text(self, key: str, text: bytes) -> Actions:
        """The actions in the text of a version file or checkpoint, with every path checked."""
        name = f"{self.url}/{key}"
        actions = decode_actions(name, text)
        check_paths(self.url, (add.path for add in actions.adds), name)
        check_paths(self.url, (remove.path for remove in actions.removes), name)
        return actions

    def read_versions(self, versions: Sequence[int], table_id: str | None) -> list[VersionFile | None]:
        """Several version files side by side; those of a known table may come from memory.

        On a local disk one after the other: reading one takes less time than handing it to another thread.
        """
        readers = [self._reader(version, table_id) for version in versions]
        if self.is_local:
            return [read() for read in readers]
        return self.side_by_side(readers)

    def _reader(self, version: int, table_id: str | None) -> Callable[[], VersionFile | None]:
        def read() -> VersionFile | None:
            if table_id is None or not self.caching:
                return self.read_version(version)
            known: VersionFile | None = self.cache.get(
                "version",
                (table_id, self.url, version),
                now=self.clock.boot(),
                ttl_seconds=self.options[opt.TRANSACTION_CACHE_EXPIRATION_SECONDS],
            )
            if known is not None:
                return known
            found = self.read_version(version)
            if found is not None:
                self.remember_version(table_id, found)
            return found

        return read

    def remember_version(self, table_id: str, found: VersionFile) -> None:
        """Keep a version file's content for whoever asks next."""
        if self.caching and found.belongs_to(table_id):
            self.cache.put("version", (table_id, self.url, found.version), found, now=self.clock.boot())

    def remember_snapshot(self, snapshot: T) -> T:
        """Keep the newest snapshot of this URL, as a place for the next opening to start from. Returns the snapshot."""
        if self.caching:
            self.cache.put("snapshot", self.url, snapshot, now=self.clock.boot())
        return snapshot

    def side_by_side(self, calls: Sequence[Callable[[], T]]) -> list[T]:
        """Run reads in parallel, bounded in number and in time."""
        seconds = self.options[opt.CHECKPOINT_READ_TIMEOUT_SECONDS]
        try:
            return self.workers.together(calls, limit=opt.read_parallelism(self.options), timeout_seconds=seconds)
        except TimeoutError as error:
            raise LogReadTimeout(
                f"reading {len(calls)} log objects of {self.url} took more than {seconds} seconds; raise "
                f"{opt.CHECKPOINT_READ_TIMEOUT_SECONDS.key} or {opt.CHECKPOINT_PARALLELISM.key}",
                url=self.url,
            ) from error


def check_paths(root: str, paths: Iterable[str], where: str) -> None:
    """Refuse data paths that leave the table's root or point into its log."""
    some = list(paths)
    lines = "\n".join(("", *some, ""))
    if not some or not any(doubtful in lines for doubtful in _DOUBTFUL_IN_LINES):
        return
    for path in some:
        plain = path and ":" not in path and path[0] not in "/_." and path[-1] != "/"
        plain = plain and ".." not in path and "//" not in path and "/." not in path
        if (not plain or "\0" in path) and inside_root(root, path) is None:
            raise UnsafePath(f"{where}: path {path!r} is not inside the table {root}; refusing to use it", path=path)


_DOUBTFUL_IN_LINES: Final = ("\n\n", "\n/", "\n_", "\n.", "/\n", "..", "//", "/.", ":", "\0")
"""Parts of a text with a path on each line, one of which is there if a path could be unsafe: a hundred paths cost one look."""


def check_path_column(root: str, paths: pa.ChunkedArray, where: str) -> None:
    """`check_paths` for a million: what could be unsafe is found in the bytes of all of them, and only that is looked at."""
    for chunk in paths.chunks:
        if _has_doubtful(chunk):
            doubtful = chunk.filter(pc.match_substring_regex(chunk, _DOUBTFUL))
            check_paths(root, doubtful.to_pylist(), where)


_DOUBTFUL = r"^$|^[/_.]|\.\.|//|/\.|/$|:|\x00"


def _has_doubtful(paths: pa.StringArray) -> bool:
    """Whether a path is empty, begins with one of `/_.`, ends with `/`, or has `:`, `..`, `//`, `/.` or a zero byte in it.

    Two paths may look like such a path where one ends and the next one begins.
    """
    if not len(paths):
        return False
    _, ends, buffer = paths.buffers()
    offsets = np.frombuffer(ends, np.int32)[paths.offset : paths.offset + len(paths) + 1]
    if (offsets[1:] == offsets[:-1]).any():
        return True
    data = np.frombuffer(buffer, np.uint8)[offsets[0] : offsets[-1]]
    dots, slashes = data == _DOT, data == _SLASH
    return bool(
        np.isin(data[offsets[:-1] - offsets[0]], _BAD_FIRST).any()
        or (dots[1:] & dots[:-1]).any()
        or (slashes[:-1] & (slashes | dots)[1:]).any()
        or slashes[offsets[1:] - offsets[0] - 1].any()
        or (data == _COLON).any()
        or (data == 0).any()
    )


_BAD_FIRST = np.frombuffer(b"/_.", np.uint8)
_DOT, _COLON, _SLASH = b".:/"
