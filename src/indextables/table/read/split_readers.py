"""Readers of a table's splits: from the entries of its log to `SplitReader`s, which are kept for the next question."""

from __future__ import annotations

import weakref
from collections.abc import Hashable, Iterable, Iterator
from typing import Any, Final

import pyarrow as pa

from indextables.core.arrow_values import scalar_of
from indextables.core.errors import CorruptLog
from indextables.core.runtime.cancellation import checked
from indextables.core.runtime.process_state import Lru, ProcessLocal
from indextables.core.values import from_text, is_text
from indextables.log.snapshot import Snapshot
from indextables.log.table_log import TableLog
from indextables.split.cache.cache_location import open_cache
from indextables.split.cache.index_cache import IndexCache
from indextables.split.reader import SplitReader
from indextables.storage.object_keys import inside_root
from indextables.table.handle import TableHandle
from indextables.table.split_entry import split_entries

_FEW_FILES: Final = 4_096
"""Of a list of at most so many files all readers are kept with the list: most questions are about the whole table again."""
_MOST_READERS: Final = 16_384
"""At most so many readers are kept in a process. A reader remembers the footer and what it found out about its split, which takes
some kilobytes."""


class _Readers:
    """The readers that were used last. They belong to one process: a forked child makes its own."""

    def __init__(self) -> None:
        self.by_entry: Lru[Hashable, SplitReader] = Lru(_MOST_READERS)
        self._caches: dict[int, tuple[weakref.ref[TableLog], IndexCache]] = {}
        self._by_list: dict[int, tuple[weakref.ref[Any], TableLog, str, list[SplitReader]]] = {}

    def cache_of(self, log: TableLog) -> IndexCache:
        """The index cache that the options of a log name, looked up once for each log."""
        kept = self._caches.get(id(log))
        if kept is not None and kept[0]() is log:
            return kept[1]
        key, caches, cache = id(log), self._caches, open_cache(log.options)
        caches[key] = weakref.ref(log, lambda _: caches.pop(key, None)), cache
        return cache

    def of_list(self, files: pa.Table, handle: TableHandle) -> list[SplitReader] | None:
        """The readers of all files of a list that was asked for before, with the same log and schema."""
        kept = self._by_list.get(id(files))
        if kept is None or kept[0]() is not files or kept[1] is not handle.log:
            return None
        return kept[3] if kept[2] == handle.snapshot.metadata.schema_string else None

    def keep_list(self, files: pa.Table, handle: TableHandle, readers: list[SplitReader]) -> None:
        """Keep the readers of a list for as long as somebody has the list."""
        key, lists = id(files), self._by_list
        reference = weakref.ref(files, lambda _: lists.pop(key, None))
        lists[key] = reference, handle.log, handle.snapshot.metadata.schema_string, readers


_READERS: Final[ProcessLocal[_Readers]] = ProcessLocal(_Readers)


def forget_readers() -> int:
    """Forget the readers that are kept, with the footers and facts that they remember. Returns how many there were.

    Safe while other threads read: who has a reader keeps the reader.
    """
    gone = len(_READERS.value.by_entry)
    _READERS.renew()
    return gone


def split_readers(handle: TableHandle, files: pa.Table) -> Iterator[SplitReader]:
    """A reader for each of the files, in their order. Raises CorruptLog for a partition value that its column cannot hold.

    Of cancelled work, the iterator raises WorkCancelled.
    """
    if files.num_rows > _FEW_FILES:
        return checked(_each(handle, files))
    kept = _READERS.value.of_list(files, handle)
    if kept is None:
        kept = list(_each(handle, files))
        _READERS.value.keep_list(files, handle, kept)
    return checked(kept)


def _each(handle: TableHandle, files: pa.Table) -> Iterator[SplitReader]:
    log, cache = handle.log, _READERS.value.cache_of(handle.log)
    table = (id(log.store), handle.url, id(cache), handle.snapshot.metadata.schema_string)
    values, readers = PartitionValues(handle.snapshot), _READERS.value.by_entry
    for entry in split_entries(files):
        key = (*table, entry)
        reader = readers.get(key)
        if reader is None:
            reader = SplitReader(
                log.store,
                inside_root(handle.url, entry.path) or entry.path,
                size=entry.size,
                footer_start=entry.footer_start,
                table_schema=handle.schema,
                partition_values=values.of(entry.path, dict(entry.partition_values)),
                cache=cache,
                table=handle.url,
                rows=entry.rows,
                path=entry.path,
            )
            readers.put(key, reader)
        yield reader


class PartitionValues:
    """Partition values in the types of their columns. There are few of them, and many files."""

    def __init__(self, snapshot: Snapshot, columns: Iterable[str] | None = None) -> None:
        """`columns` are the partition columns, those of the snapshot unless they are given."""
        names = snapshot.metadata.partition_columns if columns is None else columns
        self._url = snapshot.url
        self._types = {name: snapshot.schema.field(name).type for name in names}
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
            return scalar_of(None, kind)
        value: Any = from_text(text, kind)
        if value is None:
            raise CorruptLog(
                f"table {self._url}: the partition value {name}={text!r} of {path} is no {kind}; repair the file's entry first",
                path=path,
            )
        return scalar_of(value, kind)
