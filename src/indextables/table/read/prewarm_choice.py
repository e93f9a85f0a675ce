"""What a prewarm should bring: segments of the index and columns, as callers name them, and what that means for the cache.

    segments, fields ──▶ choose ──▶ PrewarmChoice ──▶ index files? positions? row files?

The cache holds the index of a split as whole files, of which each has all columns, and an index opens only with all of them. So
there is less to choose than names to say it:

| segments | what comes |
|---|---|
| any of `TERM_DICT`, `POSTINGS`, `FAST_FIELD`, `FIELD_NORM` | all index files but positions |
| `POSITIONS` | all index files |
| `DOC_STORE` | the row files are opened: their layout stays in memory; rows themselves lie in no cache on disk |

Positions are left out only where that saves a megabyte (`IndexCache`): small splits come whole.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from indextables.core import options as opt
from indextables.core.errors import OptionError, SchemaError
from indextables.core.options import Options

TERM_DICT: Final = "TERM_DICT"
POSTINGS: Final = "POSTINGS"
FAST_FIELD: Final = "FAST_FIELD"
FIELD_NORM: Final = "FIELD_NORM"
POSITIONS: Final = "POSITIONS"
DOC_STORE: Final = "DOC_STORE"

SEGMENT_NAMES: Final = {
    TERM_DICT: TERM_DICT,
    "TERM": TERM_DICT,
    POSTINGS: POSTINGS,
    "POSTING_LISTS": POSTINGS,
    FAST_FIELD: FAST_FIELD,
    "FASTFIELD": FAST_FIELD,
    FIELD_NORM: FIELD_NORM,
    "FIELDNORM": FIELD_NORM,
    POSITIONS: POSITIONS,
    "POSITION_LISTS": POSITIONS,
    DOC_STORE: DOC_STORE,
    "STORE": DOC_STORE,
}
"""Every name of a segment, and the first name of the same segment."""
DEFAULT_SEGMENTS: Final = (TERM_DICT, POSTINGS)
"""The segments that come if none are named: all that a search without phrases needs."""


@dataclass(frozen=True)
class PrewarmChoice:
    """What a prewarm should bring. It pickles: tasks of other processes get it as it is."""

    segments: tuple[str, ...] = DEFAULT_SEGMENTS
    """First names of segments, each once, in the order of the caller."""
    fields: tuple[str, ...] | None = None
    """Exact names of columns; None for all."""
    skipped_fields: tuple[str, ...] = ()
    """Columns that the table does not have, as the caller named them."""

    @property
    def index(self) -> bool:
        """Whether index files are to come."""
        return self.segments != (DOC_STORE,)

    @property
    def positions(self) -> bool:
        """Whether the positions of words are to come, too."""
        return POSITIONS in self.segments

    @property
    def rows(self) -> bool:
        """Whether the row files are to be opened."""
        return DOC_STORE in self.segments


DEFAULT_CHOICE: Final = PrewarmChoice()
"""What comes where a caller chooses nothing."""


def choose(schema: pa.Schema, options: Options, segments: Any = None, fields: Any = None) -> PrewarmChoice:
    """The choice that a caller describes. Raises OptionError for a segment and SchemaError for a column that does not exist.

    With `prewarm.failOnMissingField=false` such columns are left out, and the answer names them.
    """
    wanted = (
        DEFAULT_SEGMENTS if segments is None else tuple(dict.fromkeys(map(_segment, _listed("segments", segments))))
    )
    if not wanted:
        raise OptionError("segments is empty: name at least one, such as POSTINGS, or leave segments out")
    if fields is None:
        return PrewarmChoice(wanted)
    known, missing = list[str](), list[str]()
    for field in _listed("fields", fields):
        exact = _exact(field, schema)
        (missing if exact is None else known).append(field if exact is None else exact)
    if bool(missing) and options[opt.PREWARM_FAIL_ON_MISSING_FIELD]:
        raise SchemaError(
            f"the table has no column {missing[0]}{_hint(missing[0], schema.names)}; set "
            f"{opt.PREWARM_FAIL_ON_MISSING_FIELD.key}=false to leave such columns out",
            column=missing[0],
        )
    return PrewarmChoice(wanted, tuple(dict.fromkeys(known)), tuple(dict.fromkeys(missing)))


def _listed(name: str, values: Any) -> list[str]:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise OptionError(f"{name} is a list of names, not {values!r}")
    listed = list(values)
    for value in listed:
        if not isinstance(value, str):
            raise OptionError(f"{name} has {value!r} in it, which is no name")
    return listed


def _segment(name: str) -> str:
    first = SEGMENT_NAMES.get(name.strip().upper())
    if first is None:
        raise OptionError(
            f"segment {name!r} does not exist{_hint(name.upper(), list(SEGMENT_NAMES))}; the segments are "
            f"{', '.join(dict.fromkeys(SEGMENT_NAMES.values()))}"
        )
    return first


def _exact(field: str, schema: pa.Schema) -> str | None:
    """The name of a column, which may be given in any letter case."""
    if field in schema.names:
        return field
    alike = [name for name in schema.names if name.lower() == field.lower()]
    return str(alike[0]) if len(alike) == 1 else None


def _hint(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    return f" (did you mean {near[0]}?)" if near else ""


__all__ = ["DEFAULT_CHOICE", "DEFAULT_SEGMENTS", "SEGMENT_NAMES", "PrewarmChoice", "choose"]
