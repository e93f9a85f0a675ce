"""`HashStore`: the hashes of the rows that one commit removed and added in one partition, in memory or on local disk.

    hashes, file after file ──▶ buckets by a part of the hash ──▶ one bucket after the other, in chunks

Equal rows have equal hashes, so they are in one bucket. Memory holds one chunk and the distinct hashes of one bucket. The number
of buckets follows from the number of rows, so a bucket has few distinct hashes, however many rows there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from indextables.storage.error_translation import translate
from indextables.table.changes.row_hashes import Hashes

Side: TypeAlias = Literal[0, 1]
"""0 for rows that were removed, 1 for rows that were added."""
RowNumbers: TypeAlias = npt.NDArray[np.int64]
"""Rows of one side, counted from its first file on."""

CHUNK_ROWS: Final = 1 << 20
"""Rows. The hashes of more rows are kept on disk, and read again so many at a time: 24 MiB, and ten times that to sort them."""
_RECORD: Final = np.dtype([("hash", np.uint64, 2), ("row", np.int64)])
"""A row of a bucket on disk."""


class HashStore:
    """Hashes of two sides. All hashes of side 0 are added before those of side 1."""

    def __init__(self, rows: int, directory: Path | None, chunk_rows: int) -> None:
        """`rows` is how many hashes come at most. A directory is needed only if they are more than `chunk_rows`."""
        self.buckets = max(1, -(-rows // chunk_rows))
        """The number of buckets; one means that all hashes stay in memory."""
        self._directory = directory
        self._chunk_rows = chunk_rows
        self.rows = [0, 0]
        """How many rows of each side were added."""
        self._waiting: list[Hashes] = []
        self._waiting_rows = 0
        self._in_memory: list[Hashes] = [np.empty((0, 2), np.uint64)] * 2
        self._side: Side = 0

    def add(self, side: Side, hashes: Hashes) -> None:
        """Take the hashes of the next rows of a side."""
        if side != self._side:
            self._flush()
            self._side = side
        self._waiting.append(hashes)
        self._waiting_rows += len(hashes)
        if self.buckets > 1 and self._waiting_rows >= self._chunk_rows:
            self._flush()

    def close(self) -> None:
        """No more hashes come."""
        self._flush()

    def chunks(self, bucket: int, side: Side) -> Iterator[tuple[Hashes, RowNumbers]]:
        """The hashes of one side that belong to a bucket, with the numbers of their rows, which grow."""
        if self.buckets == 1:
            yield self._in_memory[side], np.arange(self.rows[side])
            return
        path = self._path(bucket, side)
        try:
            if not path.exists():
                return
            with path.open("rb") as file:
                while len(records := np.fromfile(file, _RECORD, self._chunk_rows)):
                    yield np.ascontiguousarray(records["hash"]), np.ascontiguousarray(records["row"])
        except OSError as error:
            raise translate(error, str(path), "", "get") from error

    def _flush(self) -> None:
        """Put the hashes that wait where they belong."""
        if not self._waiting:
            return
        hashes, side = np.concatenate(self._waiting), self._side
        self._waiting, self._waiting_rows = [], 0
        first = self.rows[side]
        self.rows[side] += len(hashes)
        if self.buckets == 1:
            self._in_memory[side] = hashes
            return
        records = np.empty(len(hashes), _RECORD)
        records["hash"] = hashes
        records["row"] = np.arange(first, self.rows[side])
        places = (hashes[:, 1] % np.uint64(self.buckets)).astype(np.int64)
        order = np.argsort(places, kind="stable")
        ends = np.searchsorted(places[order], np.arange(self.buckets + 1))
        for bucket in np.flatnonzero(np.diff(ends)).tolist():
            self._append(self._path(bucket, side), records[order[ends[bucket] : ends[bucket + 1]]])

    def _append(self, path: Path, records: npt.NDArray[Any]) -> None:
        try:
            with path.open("ab") as file:
                file.write(records.tobytes())
        except OSError as error:
            raise translate(error, str(path), "", "put") from error

    def _path(self, bucket: int, side: Side) -> Path:
        assert self._directory is not None, f"the hashes of more than {self._chunk_rows} rows need a directory"
        return self._directory / f"{bucket}-{side}"


__all__ = ["CHUNK_ROWS", "HashStore", "RowNumbers", "Side"]
