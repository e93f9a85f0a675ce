"""`_last_checkpoint`: a hint where to start reading, never more.

It is overwritten without a condition, so a slow writer can set it back, another implementation can write other fields, and
a crash can leave it out. Nothing here raises: a pointer that cannot be read is no pointer.
"""

from __future__ import annotations

import msgspec

from indextables.core.errors import ObjectNotFound
from indextables.log.log_paths import POINTER
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


class Hint(msgspec.Struct, frozen=True, rename="camel"):
    """The version that the pointer names, and whether an Avro state or a JSON checkpoint is there."""

    version: int | None = None
    format: str | None = None
    state_dir: str | None = None

    @property
    def is_state(self) -> bool:
        """An Avro state, as far as the pointer knows."""
        return self.format == "avro-state" or self.state_dir is not None


def read_pointer(store: Store) -> Hint | None:
    """What the pointer says, where it can be read."""
    try:
        found = store.get(POINTER)
    except ObjectNotFound:
        return None
    try:
        hint = msgspec.json.decode(found.data, type=Hint, strict=False)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return hint if hint.version is not None and 0 <= hint.version < 10**19 else None


def write_pointer(store: Store, pointer: Pointer) -> None:
    """Replace the pointer."""
    store.put(POINTER, msgspec.json.encode(pointer))
