"""The `Store` protocol: the few verbs that a table needs, with one meaning on every backend.

A store is rooted at one table (or any other prefix); keys are relative, `/`-separated and literal, never percent-decoded.
Behaviour is added by wrapping, `Retrying(Counting(store))`. Every method raises only errors of the `StorageError` tree.

Put-if-absent (`create`) is what commits stand on. It is one request and is never repeated by the store: a repeated request
could meet its own first try and report somebody else's object. After **any** failed create the caller reads the key back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec

from indextables.core.errors import StorageError


class ObjectMeta(msgspec.Struct, frozen=True):
    """What a store knows of an object without reading it."""

    key: str
    size: int
    last_modified_ms: int
    """By the store's clock, milliseconds since 1970. S3 and its kin tell `get` and `head` the whole seconds only."""
    etag: str | None
    """Without quotes. Changes when the object is replaced."""


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object's bytes and what the store knows of it."""

    data: bytes
    meta: ObjectMeta


class Store(Protocol):
    """Objects under one root."""

    @property
    def root(self) -> str:
        """The URL that keys are relative to, without a trailing slash. For messages and for comparing absolute paths."""
        ...

    def get(self, key: str) -> StoredObject:
        """The whole object. Raises ObjectNotFound."""
        ...

    def get_range(self, key: str, start: int, end: int) -> bytes:
        """Bytes start (inclusive) to end (exclusive). Raises ObjectNotFound; a range past the end is a StorageError."""
        ...

    def get_ranges(self, key: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Several ranges of one object."""
        ...

    def head(self, key: str) -> ObjectMeta:
        """Size, time and ETag. Raises ObjectNotFound."""
        ...

    def create(self, key: str, data: bytes) -> None:
        """Put-if-absent, durable when it returns. Raises ObjectExists, or any other StorageError: read back after each.

        An error whose details have `written` knows more: False, nothing was written nor will be; True, it is there, but
        the disk did not confirm that it will survive a power cut.
        """
        ...

    def put(self, key: str, data: bytes) -> None:
        """Write or replace, durable when it returns."""
        ...

    def list(self, prefix: str, after: str | None = None) -> Iterator[ObjectMeta]:
        """Objects whose key starts with `prefix` (plain text, not only whole directories) and sorts after `after`.

        In the order of their keys' UTF-8 bytes, lazily: a caller that stops early saves the rest of the listing.
        """
        ...

    def delete(self, keys: Sequence[str]) -> dict[str, StorageError]:
        """Delete. An absent key is no error. Returns the keys that could not be deleted, with the reason."""
        ...
