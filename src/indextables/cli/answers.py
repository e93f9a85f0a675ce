"""What commands return: rows, a number, or facts. How they look is not their business."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Rows:
    """Rows, as a stream."""

    schema: pa.Schema
    batches: Iterable[pa.RecordBatch]
    found: bool = False
    """Whether no row at all is worth an exit code: the command was asked to find some."""
    damaged: bool = False
    """Whether the rows are damage that was found, which is worth the same exit code."""
    shown: tuple[str, ...] | None = None
    """The columns for people, where there are too many; programs get all of them."""
    bars: str | None = None
    """A column to draw as bars."""
    snippets: bool = False
    """Whether `_snippets` says which words to highlight, for people only."""
    title: str = "row"
    """What one of them is called."""
    wraps: bool = False
    """Whether long cells take several lines instead of being cut, for people only: there are few rows."""
    told: str = ""
    """The same in a sentence, for people; programs get the rows."""
    follows: bool = False
    """Whether more rows come until somebody ends the program: each batch is shown at once, and Ctrl-C is a usual end."""


@dataclass(frozen=True)
class Number:
    """An answer that is a number, with the name under which JSON shows it."""

    name: str
    value: int


@dataclass(frozen=True)
class Facts:
    """Names and values about one thing, and perhaps what it is made of."""

    values: Mapping[str, Any]
    parts: Mapping[str, list[dict[str, Any]]] = field(default_factory=dict)
    """Lists of things of one form, such as columns: a small table each."""
    told: str = ""
    """The same in a sentence, for people."""


Answer: TypeAlias = Rows | Number | Facts
