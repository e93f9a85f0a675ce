"""The splits at a table's place, listed in pages and kept compactly: a million of them in about 100 MB.

Only objects that can be splits of this table are listed. Everything else at the table's place belongs to somebody else and stays:

    splits/split-….split         day=1/splits/split-….split        part-0001.split     splits of this table
    _transaction_log/…           _delta_log/x.split                .trash/x.split      the log, and hidden directories of others
    day=1/notes.txt              inner/_transaction_log/…          inner/x.split       other files, and another table's
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.arrow_values import array_of, array_of_numbers
from indextables.log.log_paths import LOG_DIR, inner_table
from indextables.log.reachability import Hashes, hashes
from indextables.log.table_log import TableLog
from indextables.storage.local import local_store
from indextables.storage.store import ObjectMeta
from indextables.table.build.uploads import SPLIT_SUFFIX, partition_name

Numbers: TypeAlias = npt.NDArray[np.int64]

REPAIRED: Final = f"{LOG_DIR}_repaired"
"""How the names of logs begin that a repair wrote beside a table's log. They may name splits that the table's log does not."""
_CHUNK: Final = 10_000
"""Keys that are packed together: few enough that their Python texts take little memory, many enough for one Arrow array."""
_AFTER_LOG: Final = f"{LOG_DIR}/~"
"""A key that sorts after everything that a log holds, so that a listing of the data passes over the log."""
_TEMPORARY: Final = ".indextables-"
"""How the names of our own temporary files begin."""


@dataclass(frozen=True)
class DataFiles:
    """Splits by key, with the hash of the key and the size of the object."""

    keys: pa.ChunkedArray
    hashes: Hashes
    sizes: Numbers
    repaired_log: str | None = None
    """A log that a repair wrote beside the table's log, where there is one."""

    def __len__(self) -> int:
        return len(self.sizes)

    def without(self, named: Hashes) -> DataFiles:
        """The splits whose hashes are not among `named`, which are sorted."""
        places = np.searchsorted(named, self.hashes)
        places[places == len(named)] = 0
        is_named = named[places] == self.hashes if len(named) else np.zeros(len(self), bool)
        return self.only(~is_named)

    def first(self, count: int) -> DataFiles:
        """At most `count` splits, the first by key."""
        return replace(self, keys=self.keys.slice(0, count), hashes=self.hashes[:count], sizes=self.sizes[:count])

    def only(self, wanted: npt.NDArray[np.bool_]) -> DataFiles:
        """The splits for which `wanted` is true."""
        return replace(
            self, keys=self.keys.filter(array_of_numbers(wanted)), hashes=self.hashes[wanted], sizes=self.sizes[wanted]
        )


@dataclass
class _Packer:
    """Collects keys and sizes, and packs them a chunk at a time."""

    keys: list[str] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    packed: list[tuple[pa.Array, Hashes, Numbers]] = field(default_factory=list)

    def add(self, found: ObjectMeta) -> None:
        self.keys.append(found.key)
        self.sizes.append(found.size)
        if len(self.keys) >= _CHUNK:
            self.pack()

    def pack(self) -> None:
        self.packed.append((array_of(self.keys, pa.string()), hashes(self.keys), np.array(self.sizes, np.int64)))
        self.keys, self.sizes = [], []

    def finish(self, repaired_log: str | None) -> DataFiles:
        self.pack()
        keys, digests, sizes = zip(*self.packed, strict=True)
        return DataFiles(
            pa.chunked_array(keys, pa.string()), np.concatenate(digests), np.concatenate(sizes), repaired_log
        )


def list_splits(log: TableLog, partition_columns: Iterable[str], before_ms: int) -> DataFiles:
    """The splits of the table that were written before a moment, in milliseconds since 1970 by the store's clock."""
    own = tuple(partition_name(column) for column in partition_columns)
    packer = _Packer()
    inner: set[str] = set()
    repaired: str | None = None
    for found in _beside_the_log(log):
        key = found.key
        place = inner_table(key)
        if place is not None:
            inner.add(place)
        elif key.endswith(SPLIT_SUFFIX):
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
    own = tuple(partition_name(column) for column in partition_columns)
    return [
        found
        for found in store.temporaries("")
        if found.last_modified_ms < before_ms and _is_our_temporary(found.key, own)
    ]


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


def _outside(files: DataFiles, inner: Iterable[str]) -> DataFiles:
    """The files without those of other tables, whose places are given."""
    for place in inner:
        files = files.only(~pc.starts_with(files.keys, place).to_numpy())
    return files
