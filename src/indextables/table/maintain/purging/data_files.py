"""The splits at a table's place, listed in pages and kept compactly: a million of them in about 40 MB.

Only objects that can be splits of this table are listed. Everything else at the table's place belongs to somebody else and stays:

    splits/split-….split         day=1/splits/split-….split        part-0001.split     splits of this table
    _transaction_log/…           _delta_log/x.split                .trash/x.split      the log, and hidden directories of others
    day=1/notes.txt              inner/_transaction_log/…          inner/x.split       other files, and another table's
    link/splits/split-….split    where link is a symbolic link                         anybody's
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from indextables.log.log_paths import LOG_DIR, REPAIRED, inner_table
from indextables.log.reachability import Hashes, hashes
from indextables.log.table_log import TableLog
from indextables.storage.local import local_store
from indextables.storage.store import ObjectMeta
from indextables.table.build.uploads import SPLIT_SUFFIX, partition_name
from indextables.table.progress import ProgressCounter

Numbers: TypeAlias = npt.NDArray[np.int64]

_CHUNK: Final = 10_000
"""Keys that are packed together: few enough that their Python texts take little memory, many enough to be compressed well."""
TOLD_EVERY: Final = 1_000
"""Objects of a listing between two reports of progress: a page of a store, some milliseconds of work."""
_BETWEEN: Final = "\0"
"""Stands between keys: no key has it."""
_AFTER_LOG: Final = f"{LOG_DIR}/~"
"""A key that sorts after everything that a log holds, so that a listing of the data passes over the log."""
_TEMPORARY: Final = ".indextables-"
"""How the names of our own temporary files begin."""


@dataclass(frozen=True)
class _Pack:
    """Some splits: their keys as compressed text, with the hash of each key and the size of each object."""

    text: bytes
    length: int
    """Bytes of the text before it was compressed."""
    hashes: Hashes
    sizes: Numbers

    @classmethod
    def of(cls, keys: list[str], digests: Hashes, sizes: Numbers) -> _Pack:
        text = _BETWEEN.join(keys).encode(errors="surrogatepass")
        return cls(pa.compress(text, codec="zstd", asbytes=True), len(text), digests, sizes)

    def unpacked(self) -> list[str]:
        """The keys, in order."""
        text: bytes = pa.decompress(self.text, decompressed_size=self.length, codec="zstd", asbytes=True)
        return text.decode(errors="surrogatepass").split(_BETWEEN)

    def only(self, wanted: npt.NDArray[np.bool_]) -> _Pack:
        """The splits for which `wanted` is true, of which there is at least one."""
        if wanted.all():
            return self
        kept = [key for key, is_wanted in zip(self.unpacked(), wanted.tolist(), strict=True) if is_wanted]
        return _Pack.of(kept, self.hashes[wanted], self.sizes[wanted])


@dataclass(frozen=True)
class DataFiles:
    """Splits by key, with the hash of the key and the size of the object."""

    packs: tuple[_Pack, ...]
    repaired_log: str | None = None
    """A log that a repair wrote beside the table's log, where there is one."""

    def __len__(self) -> int:
        return sum(len(pack.sizes) for pack in self.packs)

    @property
    def bytes(self) -> int:
        """The bytes of all objects together."""
        return sum(int(pack.sizes.sum()) for pack in self.packs)

    def keys(self) -> list[str]:
        """The keys, in the order of the listing."""
        return [key for pack in self.packs for key in pack.unpacked()]

    def sizes(self) -> list[int]:
        """The size of each object, in the order of the keys."""
        return [size for pack in self.packs for size in pack.sizes.tolist()]

    def without(self, named: Hashes) -> DataFiles:
        """The splits whose hashes are not among `named`, which are sorted."""
        return self.only(lambda pack: ~_among(pack.hashes, named))

    def first(self, count: int) -> DataFiles:
        """At most `count` splits, the first by key."""
        left = [count]

        def first_of(pack: _Pack) -> npt.NDArray[np.bool_]:
            wanted = np.arange(len(pack.sizes)) < left[0]
            left[0] -= int(wanted.sum())
            return wanted

        return self.only(first_of)

    def only(self, chosen: Callable[[_Pack], npt.NDArray[np.bool_]]) -> DataFiles:
        """The splits of each pack for which `chosen` is true."""
        asked = ((pack, chosen(pack)) for pack in self.packs)
        return replace(self, packs=tuple(pack.only(wanted) for pack, wanted in asked if wanted.any()))


def _among(digests: Hashes, named: Hashes) -> npt.NDArray[np.bool_]:
    """For each hash whether it is among `named`, which are sorted."""
    if not len(named):
        return np.zeros(len(digests), np.bool_)
    places = np.searchsorted(named, digests)
    places[places == len(named)] = 0
    is_named: npt.NDArray[np.bool_] = named[places] == digests
    return is_named


@dataclass
class _Packer:
    """Collects keys and sizes, and packs them a chunk at a time."""

    keys: list[str] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    packs: list[_Pack] = field(default_factory=list)

    def add(self, found: ObjectMeta) -> None:
        self.keys.append(found.key)
        self.sizes.append(found.size)
        if len(self.keys) >= _CHUNK:
            self.pack()

    def pack(self) -> None:
        if self.keys:
            self.packs.append(_Pack.of(self.keys, hashes(self.keys), np.array(self.sizes, np.int64)))
            self.keys, self.sizes = [], []

    def finish(self, repaired_log: str | None) -> DataFiles:
        self.pack()
        return DataFiles(tuple(self.packs), repaired_log)


def list_splits(
    log: TableLog, partition_columns: Iterable[str], before_ms: int, progress: ProgressCounter
) -> DataFiles:
    """The splits of the table that were written before a moment, in milliseconds since 1970 by the store's clock."""
    own = tuple(partition_name(column) for column in partition_columns)
    packer = _Packer()
    inner: set[str] = set()
    links = _Links(log)
    repaired: str | None = None
    for number, found in enumerate(_beside_the_log(log), 1):
        if number % TOLD_EVERY == 0:
            progress.look(TOLD_EVERY)
        key = found.key
        place = inner_table(key)
        if place is not None:
            inner.add(place)
        elif key.endswith(SPLIT_SUFFIX) and not links.hide(key):
            if found.last_modified_ms < before_ms and is_visible(key, own):
                packer.add(found)
        elif key.startswith(REPAIRED):
            repaired = key.partition("/")[0]
    return _outside(packer.finish(repaired), inner)


def stale_temporaries(log: TableLog, partition_columns: Iterable[str], before_ms: int) -> list[ObjectMeta]:
    """Temporary files on a local disk that were last written before a moment: killed writers left them.

    Outside the log, only names that no user gives to a file count: our own, and those of splits.
    """
    store = local_store(log.store)
    if store is None:
        return []
    own, links = tuple(partition_name(column) for column in partition_columns), _Links(log)
    return [
        found
        for found in store.temporaries("")
        if found.last_modified_ms < before_ms and _is_our_temporary(found.key, own) and not links.hide(found.key)
    ]


class _Links:
    """The symbolic links on a local disk: what lies behind one may be somebody else's, and the store deletes none of it."""

    def __init__(self, log: TableLog) -> None:
        self._store = local_store(log.store)
        self._hidden: dict[str, bool] = {}

    def hide(self, key: str) -> bool:
        """Whether the object lies behind a link."""
        if self._store is None:
            return False
        directory = key.rpartition("/")[0]
        if directory not in self._hidden:
            self._hidden[directory] = self._store.is_behind_link(directory)
        return self._hidden[directory]


def is_visible(key: str, own: tuple[str, ...]) -> bool:
    """Whether no part of the key is hidden, as `_delta_log` and `.git` are.

    `own` are the beginnings of directory names that the table's partition columns make.
    """
    if "/_" not in key and "/." not in key and key[0] not in "_.":
        return True
    return all(part[0] not in "_." or part.startswith(own) for part in key.split("/"))


def _is_our_temporary(key: str, own: tuple[str, ...]) -> bool:
    directory, _, name = key.rpartition("/")
    if directory.partition("/")[0] == LOG_DIR:
        return True
    if directory and not is_visible(directory, own):
        return False
    return name.startswith(_TEMPORARY) or f"{SPLIT_SUFFIX}#" in name


def _beside_the_log(log: TableLog) -> Iterator[ObjectMeta]:
    """Every object at the table's place, without those in its log."""
    for found in log.store.list(""):
        if found.key.startswith(f"{LOG_DIR}/"):
            break
        yield found
    else:
        return
    yield from log.store.list("", after=_AFTER_LOG)


def _outside(files: DataFiles, inner: Collection[str]) -> DataFiles:
    """The files without those of other tables, whose places are given."""
    if not inner:
        return files
    places = tuple(inner)
    return files.only(lambda pack: np.array([not key.startswith(places) for key in pack.unpacked()], np.bool_))
