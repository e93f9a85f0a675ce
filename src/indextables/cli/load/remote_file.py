"""Files in a store (`s3://bucket/logs/*.csv`): found by a name or a pattern, and read in pieces."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from indextables.cli.errors import InputError, UsageError
from indextables.core.errors import ObjectNotFound
from indextables.core.options import Options
from indextables.storage.location import SCHEMES
from indextables.storage.resolve import resolve
from indextables.storage.store import ObjectMeta, Store

_URL: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)(://[^/]+)/(.*)", re.DOTALL)
_AT_ONCE: Final = 8 << 20
"""Bytes of a request: a store takes longer to answer at all than to send so many."""
_MAGIC: Final = re.compile(r"[*?\[]")
_PIECE: Final = re.compile(r"\*\*/|\*\*|\*|\?|\[!?\]?[^\]]*\]|.", re.DOTALL)


@dataclass(frozen=True)
class StoredFile:
    """An object to import: where it lies, and what the store said of it when it was found."""

    store: Store
    meta: ObjectMeta

    @property
    def url(self) -> str:
        """Its address."""
        return f"{self.store.root}/{self.meta.key}"

    @property
    def size(self) -> int:
        """Its bytes."""
        return self.meta.size


def is_stored(name: str) -> bool:
    """Whether a name is the address of an object, or a pattern of addresses, in a store that we can read."""
    found = _URL.fullmatch(name)
    return found is not None and SCHEMES.get(found[1].lower(), "file") != "file"


def find_stored(name: str, options: Mapping[str, str]) -> list[StoredFile]:
    """The objects that an address or a pattern stands for, in the order of their keys. Raises InputError, StorageError."""
    found = _URL.fullmatch(name)
    assert found is not None
    key = found[3]
    if not key or key.endswith("/"):
        raise UsageError(f"{name} is no file: give its files, such as '{name.rstrip('/')}/*.csv'", file=name)
    store = resolve(found[1] + found[2], Options(options)).open()
    magic = _MAGIC.search(key)
    if magic is None:
        try:
            return [StoredFile(store, store.head(key))]
        except ObjectNotFound as error:
            raise InputError(f"{name} does not exist", file=name) from error
    pattern = re.compile("".join(_regex(piece) for piece in _PIECE.findall(key)), re.DOTALL)
    stored = [StoredFile(store, meta) for meta in store.list(key[: magic.start()]) if pattern.fullmatch(meta.key)]
    if not stored:
        raise InputError(f"{name} matches no file", file=name)
    return stored


def _regex(piece: str) -> str:
    """A piece of a pattern as a shell reads it: `*` stays inside of a directory, and `**` does not."""
    known = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}.get(piece)
    if known is not None:
        return known
    if len(piece) > 1:
        inner = piece[1:-1].replace("\\", "\\\\")
        return f"[^{inner[1:]}]" if inner.startswith("!") else f"[{inner}]"
    return re.escape(piece)


class RemoteFile(io.RawIOBase):
    """An object as a file, of which some megabytes are read at once and kept for the next read."""

    def __init__(self, stored: StoredFile) -> None:
        self._stored = stored
        self._place = 0
        self._held = b""
        self._held_at = 0

    def readable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Always: a request says which bytes it wants."""
        return True

    def tell(self) -> int:
        """The byte that is read next."""
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a byte. Nobody is asked."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._stored.size}[whence]
        self._place = max(base + offset, 0)
        return self._place

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes. Raises StorageError, and InputError where the object was replaced meanwhile."""
        stored, start = self._stored, self._place
        end = min(start + len(buffer), stored.size)
        if end <= start:
            self._check_same()
            return 0
        if not self._held_at <= start < self._held_at + len(self._held):
            until = min(start + max(len(buffer), _AT_ONCE), stored.size)
            self._held, self._held_at = stored.store.get_range(stored.meta.key, start, until), start
        data = self._held[start - self._held_at : end - self._held_at]
        buffer[: len(data)] = data
        self._place += len(data)
        return len(data)

    def _check_same(self) -> None:
        """Raise InputError if somebody replaced the object since it was found: its pieces would be of two files."""
        found = self._stored.store.head(self._stored.meta.key)
        if found.etag != self._stored.meta.etag:
            url = self._stored.url
            raise InputError(f"{url} was replaced while it was read: import it again", file=url)


__all__ = ["RemoteFile", "StoredFile", "find_stored", "is_stored"]
