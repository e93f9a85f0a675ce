"""The splits of a table as things to be read: from the rows of its log to readers, and how many at a time."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from typing import Any, Final

import pyarrow as pa

from indextables.core.errors import CorruptLog
from indextables.core.runtime.threads import Threads
from indextables.core.values import from_text, is_text
from indextables.log.snapshot import Snapshot
from indextables.log.table_log import TableLog
from indextables.split.cache.cache_location import open_cache
from indextables.split.cache.index_cache import IndexCache
from indextables.split.reader import SplitReader
from indextables.storage.local import local_store

_FILES_AT_A_TIME: Final = 1024
_FEW_FILES: Final = 64
_COLUMNS: Final = ["path", "partitionValues", "size", "footerStartOffset", "numRecords"]
PATIENCE: Final = 0.0005
"""Seconds of work that are sooner done than another thread has come to help."""
_WORTH_IT: Final = 0.001
"""Seconds of work that are sooner done by two threads: half of them are saved, and the hand-over costs as much."""
_MOST_READERS: Final = 1024
_READS_AT_A_TIME: Final = 8
"""From a remote store, where a thread mostly waits."""


class _Readers:
    """The readers that were used last: they remember what they found out about their split."""

    def __init__(self) -> None:
        self._readers: OrderedDict[Hashable, SplitReader] = OrderedDict()
        self._of: dict[int, tuple[weakref.ref[Any], Hashable, list[SplitReader]]] = {}
        self._lock = threading.Lock()

    def get(self, mark: Hashable) -> SplitReader | None:
        with self._lock:
            reader = self._readers.get(mark)
            if reader is not None:
                self._readers.move_to_end(mark)
            return reader

    def of(self, files: pa.Table, table: Hashable) -> list[SplitReader] | None:
        """The readers of all these files, which are mostly the whole table again."""
        known = self._of.get(id(files))
        return known[2] if known is not None and known[0]() is files and known[1] == table else None

    def remember(self, files: pa.Table, table: Hashable, readers: list[SplitReader]) -> None:
        """Keep them, for as long as somebody has the table of files."""
        key = id(files)
        self._of[key] = weakref.ref(files, lambda _: self._of.pop(key, None)), table, readers

    def put(self, mark: Hashable, reader: SplitReader) -> None:
        with self._lock:
            self._readers[mark] = reader
            while len(self._readers) > _MOST_READERS:
                self._readers.popitem(last=False)


_READERS = _Readers()
_ASKING: Final[set[int]] = set()
"""The threads that are at a question. A set, because adding to it needs no lock."""


def _after_fork() -> None:
    """What they hold belongs to the parent's runtime."""
    global _READERS  # noqa: PLW0603 - one per process
    _READERS = _Readers()
    _ASKING.clear()


os.register_at_fork(after_in_child=_after_fork)


def readers(log: TableLog, snapshot: Snapshot, files: pa.Table) -> Iterator[SplitReader]:
    """A reader for each of the files, in their order. Raises CorruptLog for a partition value that is none."""
    cache = open_cache(log.options)
    table = (id(log.store), log.url, id(cache), snapshot.metadata.schema_string)
    if files.num_rows > _FEW_FILES:
        return _each(log, snapshot, files, cache, table)
    known = _READERS.of(files, table)
    if known is None:
        known = list(_each(log, snapshot, files, cache, table))
        _READERS.remember(files, table, known)
    return iter(known)


def _each(
    log: TableLog, snapshot: Snapshot, files: pa.Table, cache: IndexCache, table: tuple[Hashable, ...]
) -> Iterator[SplitReader]:
    values = _PartitionValues(snapshot)
    chosen = files.select(_COLUMNS)
    for start in range(0, chosen.num_rows, _FILES_AT_A_TIME):
        for file in chosen.slice(start, _FILES_AT_A_TIME).to_pylist():
            mark = (*table, *(tuple(value) if isinstance(value, list) else value for value in file.values()))
            reader = _READERS.get(mark)
            if reader is None:
                reader = SplitReader(
                    log.store,
                    file["path"],
                    size=file["size"],
                    footer_start=file["footerStartOffset"],
                    table_schema=snapshot.schema,
                    partition_values=values.of(file["path"], dict(file["partitionValues"])),
                    cache=cache,
                    table=log.url,
                    rows=file["numRecords"],
                )
                _READERS.put(mark, reader)
            yield reader


class Asking:
    """While it is entered, this thread is at a question, and leaves others their share of the processors."""

    def __init__(self) -> None:
        self._here = threading.get_ident()
        self._outermost = self._here not in _ASKING

    def __enter__(self) -> None:
        _ASKING.add(self._here)

    def __exit__(self, *_: object) -> None:
        if self._outermost:
            _ASKING.discard(self._here)


def reading_threads(log: TableLog) -> int:
    """As many as there are processors for each who asks, and some more where reading is waiting. One, where the caller wants
    no threads.
    """
    if not isinstance(log.workers, Threads):
        return 1
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if local_store(log.store) is None:
        return max(processors, _READS_AT_A_TIME)
    return max(1, processors // max(1, len(_ASKING)))


class Alone:
    """Whether the caller's thread goes on without others, from one split to the next."""

    def __init__(self, splits: int) -> None:
        self._left = splits
        self._done = 0
        self._began = time.perf_counter()

    def ends(self) -> bool:
        """Called after each split: whether what is left is worth another thread, as far as what is done can tell."""
        self._done += 1
        self._left -= 1
        spent = time.perf_counter() - self._began
        return spent > PATIENCE and spent * self._left > _WORTH_IT * self._done


class _PartitionValues:
    """Partition values in the types of their columns. There are few of them, and many files."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._url = snapshot.url
        self._types = {name: snapshot.schema.field(name).type for name in snapshot.metadata.partition_columns}
        self._known: dict[tuple[str, str | None], pa.Scalar] = {}

    def of(self, path: str, texts: dict[str, str | None]) -> dict[str, pa.Scalar]:
        """The values of one file. An absent one is null, and so is an empty one unless the column is a string."""
        lowered = {key.lower(): text for key, text in texts.items()} if texts.keys() - self._types.keys() else {}
        return {
            name: self._value(path, name, texts[name] if name in texts else lowered.get(name.lower()))
            for name in self._types
        }

    def _value(self, path: str, name: str, text: str | None) -> pa.Scalar:
        known = self._known.get((name, text))
        if known is None:
            known = self._known[name, text] = self._typed(path, name, text)
        return known

    def _typed(self, path: str, name: str, text: str | None) -> pa.Scalar:
        kind = self._types[name]
        if text is None or (text == "" and not is_text(kind)):
            return pa.scalar(None, kind)
        value: Any = from_text(text, kind)
        if value is None:
            raise CorruptLog(
                f"table {self._url}: the partition value {name}={text!r} of {path} is no {kind}; repair the file's entry first",
                path=path,
            )
        return pa.scalar(value, kind)
