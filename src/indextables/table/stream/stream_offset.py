"""`Offset`: a place in the stream of a table's files, and the JSON text that checkpoints keep of it.

    {"format":1,"table":"<id>","version":12,"index":3,"snapshot":false}

Spark compares offsets as texts, so equal offsets have equal texts: the keys always stand in this order, without spaces.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

import msgspec

from indextables.core.errors import OptionError, UnsupportedProtocol

OFFSET_FORMAT: Final = 1
"""The newest format of offsets that this release writes and reads. A key that older releases may ignore needs no new format."""

_Count = Annotated[int, msgspec.Meta(ge=0)]


class _Format(msgspec.Struct):
    """What every offset of every release begins with."""

    format: int


class _Written(msgspec.Struct):
    """An offset as it is written. Keys that a later release added to this format are ignored."""

    format: int
    table: str
    version: _Count
    index: _Count
    snapshot: bool


@dataclass(frozen=True)
class Offset:
    """A place between two files: everything before it was given."""

    table: str
    """The id of the table. Another table at the same URL has another id, and its versions mean something else."""
    version: int
    """The version whose files come next. With `snapshot` the version of the snapshot, which is read by time travel."""
    index: int = 0
    """Files of that version, or of the snapshot, that were given already."""
    snapshot: bool = False
    """Whether the files that come next are those of a snapshot, or those that the version added."""

    def to_json(self) -> str:
        """The offset as text. Equal offsets have equal texts."""
        written = _Written(OFFSET_FORMAT, self.table, self.version, self.index, self.snapshot)
        return msgspec.json.encode(written).decode()

    @classmethod
    def from_json(cls, text: str | bytes) -> Offset:
        """The offset of a text. Raises OptionError for anything else, UnsupportedProtocol for a later release's offset."""
        try:
            written_as = msgspec.json.decode(text, type=_Format).format
            if written_as <= OFFSET_FORMAT:
                written = msgspec.json.decode(text, type=_Written)
                return cls(written.table, written.version, written.index, written.snapshot)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise OptionError(
                f"the offset {_shown(text)} is not one of a stream of IndexTables ({error}): begin with a new checkpoint"
            ) from error
        raise UnsupportedProtocol(
            f"the offset {_shown(text)} has format {written_as}, which a later release of IndexTables wrote; this release "
            f"reads formats up to {OFFSET_FORMAT}: update IndexTables, or begin with a new checkpoint",
            format=written_as,
        )

    def is_before(self, other: Offset) -> bool:
        """Whether files may lie between this offset and the other one."""
        return self._place < other._place

    @property
    def _place(self) -> tuple[int, bool, int]:
        """A snapshot comes after all versions below it, and in place of what its own version added."""
        return self.version, not self.snapshot, self.index


_MOST_SHOWN: Final = 200
"""Characters of a text that an error shows: an offset has about a hundred."""


def _shown(text: str | bytes) -> str:
    return repr(text[:_MOST_SHOWN])
