"""The last bytes of a Tantivy positions file: all that a search without phrases needs of it.

    [positions of field 0][positions of field 1] … [directory of fields][its length: u32]
                                          [footer: JSON with version and CRC][its length: u32][1337: u32]

Opening an index reads the directory and the footer of every file; the positions themselves are read for phrases only. A
file of the right length that holds zeros and then this tail opens, and answers every query that asks for no positions. One
that does ask fails: each term's positions begin with a variable-length number, whose last byte is the one with the high bit
set, and a run of zeros has no such byte. That argument needs every position to be zero, so the tail is cut exactly where
the directory begins, and never rounded to something larger.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

POSITIONS_SUFFIX = ".pos"

_MAGIC = 1337
"""The number that Tantivy ends every file with."""
_PAIR = struct.Struct("<II")
_WORD = struct.Struct("<I")


def tail_length(path: Path) -> int | None:
    """How many of the file's last bytes are directory and footer; None where the file does not look as drawn above."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        footer = _at(file.fileno(), size, _PAIR)
        if footer is None or footer[1] != _MAGIC:
            return None
        end = size - _PAIR.size - footer[0]
        directory = _at(file.fileno(), end, _WORD)
        if directory is None or not 0 < directory[0] <= end - _WORD.size:
            return None
        return size - end + _WORD.size + int(directory[0])


def _at(fd: int, end: int, form: struct.Struct) -> tuple[int, ...] | None:
    """The numbers that end at `end`."""
    if end < form.size:
        return None
    data = os.pread(fd, form.size, end - form.size)
    return form.unpack(data) if len(data) == form.size else None
