"""The lengths of a manifest's records, which its header notes: what makes it possible to read many of them at once.

They are a hint, not a promise. Whatever does not fit them is `Irregular`, and is read by other means, which then say what is
wrong. Here is also the arithmetic of the reader that goes by the lengths (`column_reader.py`).
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Numbers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

Sieve = Callable[[pa.Table], Numbers | None]
"""Entries → the numbers of those to keep, or None for all."""

LENGTHS_KEY = "indextables.recordLengths"
"""In the file's metadata: the length of every record in bytes. Little-endian 32-bit numbers, the lowest bytes of all of them
first, then the next ones, most of which are zeros; as a zstd frame; in base64, as some readers take metadata for text."""

TOP_BITS = np.uint64(0x8080808080808080)
"""The bits by which the bytes of a number say that it goes on."""
_ONE = np.uint64(1)
_GROUPS = tuple(
    (np.uint64(low), np.uint64(high))
    for low, high in (
        (0x007F007F007F007F, 0x7F007F007F007F00),
        (0x00003FFF00003FFF, 0x3FFF00003FFF0000),
        (0x000000000FFFFFFF, 0x0FFFFFFF00000000),
    )
)
"""Seven bits of each byte move together: by 1, by 2, by 4."""
_PLAIN = ("string", "long", "int", "boolean")
_FITTING = {
    "string": pa.types.is_string,
    "long": pa.types.is_integer,
    "int": pa.types.is_integer,
    "boolean": pa.types.is_boolean,
    "map": pa.types.is_map,
    "array": pa.types.is_list,
}
"""What each kind of field can become; what another writer declared otherwise is read by other means."""


class Irregular(Exception):
    """Records that cannot be read by their lengths: another reader must read the manifest, and say what is wrong with it."""


def pack_lengths(lengths: Sequence[Numbers]) -> bytes:
    """Record lengths as they stand in the header."""
    planes = np.concatenate([np.zeros(0, np.int64), *lengths]).astype("<u4").view(np.uint8).reshape(-1, 4).T
    return b64encode(pa.Codec("zstd").compress(np.ascontiguousarray(planes), asbytes=True))


def unpack_lengths(packed: bytes, count: int) -> Numbers:
    """The lengths of `count` records."""
    try:
        with pa.CompressedInputStream(pa.py_buffer(b64decode(packed, validate=True)), "zstd") as stream:
            planes = stream.read()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise Irregular(str(error)) from error
    if len(planes) != count * 4:
        raise Irregular("not as many lengths as records")
    return np.frombuffer(planes, np.uint8).reshape(4, -1).T.copy().view("<u4").reshape(-1).astype(np.int64)


def can_read(schema: Any, wanted: pa.Schema) -> bool:
    """Whether the fields of a record are all of kinds that are known here, and some of them are wanted, each as what it is."""
    fields = schema.get("fields", []) if isinstance(schema, dict) else []
    known = {field["name"]: _known(field.get("type")) for field in fields}
    if None in known.values() or len(known) < len(fields):
        return False
    fits = [_FITTING[kind](field.type) for field in wanted if (kind := known.get(field.name)) is not None]
    return bool(fits) and all(fits)


def _known(kind: Any) -> str | None:
    """What a field holds, if it is something that can be read here."""
    match kind:
        case ["null", inner]:
            return None if isinstance(inner, list) else _known(inner)
        case {"type": "map", "values": "string"}:
            return "map"
        case {"type": "array", "items": "string"}:
            return "array"
        case _:
            return kind if kind in _PLAIN else None


def signed(zigzag: npt.NDArray[np.uint64]) -> Numbers:
    """Numbers of which the lowest bit is the sign."""
    signed: Numbers = (zigzag >> _ONE).view(np.int64) ^ -(zigzag & _ONE).view(np.int64)
    return signed


def squeezed(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The seven lower bits of each byte, moved together."""
    for shift, (low, high) in enumerate(_GROUPS):
        words = (words & low) | ((words & high) >> np.uint64(1 << shift))
    return words
