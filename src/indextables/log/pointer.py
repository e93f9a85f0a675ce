"""`_last_checkpoint`: a hint where to start reading, never more.

It is overwritten without a condition, so a slow writer can set it back, another implementation can write other fields, and
a crash can leave it out. Nothing here raises: a pointer that cannot be read is no pointer.
"""

from __future__ import annotations

import msgspec

from indextables.core.errors import ObjectNotFound
from indextables.log.layout import POINTER
from indextables.storage.store import Store


class Pointer(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What the pointer says. Only `version` matters for reading."""

    version: int
    size: int | None = None
    size_in_bytes: int | None = None
    num_files: int | None = None
    created_time: int | None = None
    parts: int | None = None
    checkpoint_id: str | None = None
    format: str | None = None
    state_dir: str | None = None
    protocol_version: int | None = None


class _Hint(msgspec.Struct):
    version: int | None = None


def read_pointer(store: Store) -> int | None:
    """The version that the pointer names."""
    try:
        found = store.get(POINTER)
    except ObjectNotFound:
        return None
    try:
        hint = msgspec.json.decode(found.data, type=_Hint, strict=False)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return hint.version if hint.version is not None and 0 <= hint.version < 10**19 else None


def write_pointer(store: Store, pointer: Pointer) -> None:
    """Replace the pointer."""
    store.put(POINTER, msgspec.json.encode(pointer))
