"""`LogElsewhere`: a table whose log lies in another directory than `_transaction_log`, as one store.

    key `_transaction_log/x` ──▶ `x` in the directory of the log          every other key ──▶ the table's own store

So the verbs of this package read a log that was moved aside, and write a log that nobody uses yet, as they do with any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from indextables.core.errors import StorageError
from indextables.log.log_paths import LOG_DIR
from indextables.storage.store import ObjectMeta, Store, StoredObject

_INSIDE: Final = f"{LOG_DIR}/"
"""What the keys of log objects begin with."""


class LogElsewhere:
    """The data files of one store, and the log objects of another one, whose root is the directory of the log."""

    def __init__(self, table: Store, log: Store) -> None:
        self.inner = table
        """The table's own store, which `local_store` looks for."""
        self._log = log

    @property
    def root(self) -> str:
        """See `Store.root`: the table's, because data paths are relative to the table."""
        return self.inner.root

    @property
    def log_url(self) -> str:
        """Where the log lies."""
        return self._log.root

    def get(self, key: str) -> StoredObject:
        """See `Store.get`."""
        store, name = self._place(key)
        found = store.get(name)
        return StoredObject(found.data, msgspec.structs.replace(found.meta, key=key))

    def get_range(self, key: str, start: int, end: int) -> bytes:
        """See `Store.get_range`."""
        store, name = self._place(key)
        return store.get_range(name, start, end)

    def get_ranges(self, key: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """See `Store.get_ranges`."""
        store, name = self._place(key)
        return store.get_ranges(name, ranges)

    def head(self, key: str) -> ObjectMeta:
        """See `Store.head`."""
        store, name = self._place(key)
        return msgspec.structs.replace(store.head(name), key=key)

    def create(self, key: str, data: bytes) -> None:
        """See `Store.create`."""
        store, name = self._place(key)
        store.create(name, data)

    def put(self, key: str, data: bytes) -> None:
        """See `Store.put`."""
        store, name = self._place(key)
        store.put(name, data)

    def list(self, prefix: str, after: str | None = None) -> Iterator[ObjectMeta]:
        """See `Store.list`. Objects of the log are listed where the prefix names the log's directory."""
        if not prefix.startswith(_INSIDE):
            return self.inner.list(prefix, after)
        name = after.removeprefix(_INSIDE) if after and after.startswith(_INSIDE) else None
        found = self._log.list(prefix.removeprefix(_INSIDE), name)
        return (msgspec.structs.replace(meta, key=_INSIDE + meta.key) for meta in found)

    def delete(self, keys: Sequence[str]) -> dict[str, StorageError]:
        """See `Store.delete`. Nothing is deleted: neither a damaged log nor the data beside it is anybody's to delete."""
        return {
            key: StorageError(f"{key} is not deleted: the log of {self.root} is being repaired", key=key)
            for key in keys
        }

    def _place(self, key: str) -> tuple[Store, str]:
        return (self._log, key.removeprefix(_INSIDE)) if key.startswith(_INSIDE) else (self.inner, key)
