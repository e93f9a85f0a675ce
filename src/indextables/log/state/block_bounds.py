"""Partition bounds of the blocks inside a manifest, so that a question about one partition decodes few blocks.

A manifest's entries are sorted by partition, so a block holds few partitions. The manifest's header notes the smallest and the
largest value of each partition column in each block:

    entries ─ sorted ─ blocks ─▶ `block_bounds_note` ─▶ header        header ─▶ `BlockBounds.of` ─▶ blocks that may matter

A manifest without the note (a small one, another writer's, or an older one) is read whole. The note is believed only in files
whose checksum was compared.

`paths_name_partitions` is about manifests that may hold newer entries of paths that other manifests hold, too: of two entries of
one path only the newer one counts, so nothing of such a manifest may be passed over unless both entries are in the same
partition. They are where the directories of the path spell the partition values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.arrow_values import array_of, numpy_of
from indextables.core.predicate import Predicate, VectorBounds, columns_of, may_match_table
from indextables.core.values import column_from_text, is_text
from indextables.log.avro.shared_columns import integers
from indextables.log.state.model import Bounds
from indextables.log.state.partition_bounds import Numbers, partition_texts, type_of

BLOCK_BOUNDS_KEY = "indextables.blockBounds"
"""Key of the note in the manifest's metadata. The note is JSON, see `_Note`."""

ENTRIES_WORTH_A_NOTE = 1000
"""Manifests of at most this many entries get no note: reading all of one takes 1 to 2 ms, and its bounds stand in the state."""


_MOST_PREFIX_LENGTHS = 16
"""Different lengths of partition directories up to which paths are compared with them all at once, one length after the other."""


class _Note(msgspec.Struct, rename="camel"):
    """The note as JSON. `types` has the partition columns and their types when the manifest was written. `bounds` has one list a
    block, with a pair of texts a column, or null where a value is missing or is not of the column's type.
    """

    types: dict[str, str]
    bounds: list[list[tuple[str, str] | None]]
    paths_name_partitions: bool


_DECODER = msgspec.json.Decoder(_Note)


def block_bounds_note(
    files: pa.Table,
    schema: pa.Schema,
    columns: Sequence[str],
    block_counts: Sequence[int],
    *,
    look_at_paths: bool = True,
) -> dict[str, bytes]:
    """Metadata for a manifest of these files, in blocks of so many files each; nothing where a note is not worth writing.

    Without `look_at_paths` the note does not say that paths name their partitions: only manifests that may repeat paths of
    others need that.
    """
    if not columns or files.num_rows <= ENTRIES_WORTH_A_NOTE:
        return {}
    starts = np.cumsum([0, *block_counts])[:-1]
    by_column = [_bounds_of_blocks(partition_texts(files, name), type_of(schema, name), starts) for name in columns]
    note = _Note(
        types={name: str(type_of(schema, name)) for name in columns},
        bounds=[list(pairs) for pairs in zip(*by_column, strict=True)],
        paths_name_partitions=look_at_paths and paths_name_partitions(files, columns),
    )
    return {BLOCK_BOUNDS_KEY: msgspec.json.encode(note)}


def _bounds_of_blocks(texts: pa.Array, kind: pa.DataType, starts: Numbers) -> list[tuple[str, str] | None]:
    """The texts of the smallest and the largest value in each block; None for a block where a value is missing or unreadable."""
    encoded = texts.dictionary_encode(null_encoding="encode")
    distinct = encoded.dictionary
    values = _typed(distinct, kind)
    order = numpy_of(pc.array_sort_indices(values)).astype(np.int64)
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    by_row = ranks[numpy_of(encoded.indices)]
    known = len(values) - values.null_count  # nulls are sorted last
    low, high = np.minimum.reduceat(by_row, starts), np.maximum.reduceat(by_row, starts)
    ordered = distinct.take(integers(order)).to_pylist()
    return [
        (ordered[first], ordered[last]) if last < known else None
        for first, last in zip(low.tolist(), high.tolist(), strict=True)
    ]


@dataclass(frozen=True)
class BlockBounds:
    """What a manifest's header says about its blocks."""

    blocks: tuple[Bounds, ...]
    types: Mapping[str, str]
    paths_name_partitions: bool

    @classmethod
    def of(cls, metadata: Mapping[str, bytes], block_count: int) -> BlockBounds | None:
        """The note in a manifest's metadata; None where there is none that fits the file."""
        text = metadata.get(BLOCK_BOUNDS_KEY)
        if text is None:
            return None
        try:
            note = _DECODER.decode(text)
        except (msgspec.DecodeError, RecursionError):
            return None
        if len(note.bounds) != block_count or any(len(pairs) != len(note.types) for pairs in note.bounds):
            return None
        blocks = tuple(
            {name: pair for name, pair in zip(note.types, pairs, strict=True) if pair is not None}
            for pairs in note.bounds
        )
        return cls(blocks, note.types, note.paths_name_partitions)

    def fits(self, schema: pa.Schema, columns: Sequence[str]) -> bool:
        """Whether these are the table's partition columns, of the types that they had when the manifest was written."""
        return dict(self.types) == {name: str(type_of(schema, name)) for name in columns}

    def that_may_hold(self, where: Predicate, schema: pa.Schema) -> frozenset[int]:
        """The numbers of the blocks that may hold an entry that `where` lets in."""
        bounds: dict[str, VectorBounds] = {}
        for column in columns_of(where):
            name, kind = column.name, column.type
            if not column.nested and name in self.types and name in schema.names and kind == schema.field(name).type:
                pairs = [block.get(name, (None, None)) for block in self.blocks]
                low, high = (array_of([pair[side] for pair in pairs], pa.string()) for side in (0, 1))
                bounds[name] = VectorBounds(min=_typed(low, kind), max=_typed(high, kind))
        keep = may_match_table(where, bounds, length=len(self.blocks))
        return frozenset(np.flatnonzero(numpy_of(keep)).tolist())


def _typed(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    return texts if is_text(kind) else column_from_text(texts, kind)


def paths_name_partitions(files: pa.Table, columns: Sequence[str]) -> bool:
    """Whether the directories of each path spell the file's partition values, as `date=2026-01-31/…` does.

    Then the path alone says what the partition values are, and two entries of one path have the same ones.
    """
    texts = {str(number): partition_texts(files, name) for number, name in enumerate(columns)}
    if any(text.null_count for text in texts.values()):
        return False
    if _begin_with_partitions(files.column("path"), columns, list(texts.values())):
        return True
    directories = pc.replace_substring_regex(files.column("path"), r"[^/]*\z", "")
    pairs = pa.table({"directory": directories, **texts}).group_by(["directory", *texts]).aggregate([])
    by_row = zip(*(pairs.column(name).to_pylist() for name in texts), strict=True)
    return all(
        _spells(directory, columns, values)
        for directory, values in zip(pairs.column("directory").to_pylist(), by_row, strict=True)
    )


def _begin_with_partitions(paths: pa.ChunkedArray, columns: Sequence[str], texts: list[pa.Array]) -> bool:
    """Whether all paths begin as `a=1/b=2/` does, in names and texts that need no escapes. Decides most tables in a tenth of the
    time that `_spells` takes, and never says yes where `_spells` says no.
    """
    if any(set("%/=") & set(name) for name in columns):
        return False
    if any(pc.any(pc.match_substring_regex(text.unique(), "[%/]")).as_py() for text in texts):
        return False
    parts = [part for name, text in zip(columns, texts, strict=True) for part in (f"{name}=", text, "/")]
    expected = pc.binary_join_element_wise(*parts, "").cast(pa.binary())
    lengths = pc.binary_length(expected)
    distinct = lengths.unique().to_pylist()
    if len(distinct) > _MOST_PREFIX_LENGTHS:
        return False
    begins = paths.combine_chunks().cast(pa.binary())
    return all(
        pc.all(
            pc.or_(pc.not_equal(lengths, length), pc.equal(pc.binary_slice(begins, 0, length), expected)), min_count=0
        ).as_py()
        for length in distinct
    )


def _spells(directory: str, columns: Sequence[str], values: tuple[str, ...]) -> bool:
    said: dict[str, str] = {}
    for name, _, value in (part.partition("=") for part in directory.split("/") if "=" in part):
        said.setdefault(unquote(name), unquote(value))
    return all(said.get(column) == value for column, value in zip(columns, values, strict=True))
