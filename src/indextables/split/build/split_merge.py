"""Several splits become one, without indexing anything again where that can be had.

    sources ──┬─▶ index files ──▶ merge_indexes ──▶ one index ─┐
              └─▶ row files: copied, or written together      ─┴─▶ write_bundle ──▶ one file

Indexes are joined as they are if all of them are of the mapping that is wanted; otherwise the rows are indexed anew. So are the
rows of neighbours that have few rows each: that takes less time than unpacking and joining many small indexes. Row files
are copied byte by byte, unless they are so small that there would be too many: each is one more to open for readers. A larger one
is no better: Vortex compresses 8,192 rows at a time, whatever the length of the file.

Whatever is wrong with a source, a checksum, a missing file, a count that does not fit, is `BrokenSource`, so that the caller
can do without it. Every byte that is taken from a source is verified on the way, and as many rows come out as went in.
"""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import pyarrow as pa

from indextables.core.errors import CorruptSplit, ObjectNotFound, SplitError
from indextables.core.runtime.threads import Workers
from indextables.split.build.split_form import SplitForm
from indextables.split.build.split_writer import CREATED_BY, LocalSplit, engines, new_source, write_split
from indextables.split.build.statistics import merged_summary
from indextables.split.bundle.bundle_writer import RowsCopy, RowsFile, write_bundle
from indextables.split.bundle.footer import Facts, Source
from indextables.split.cache.cache_entry import Wanted, write_files
from indextables.split.index.index_files import BuiltIndex, IndexBuilder, segment_rows
from indextables.split.index.index_merge import merge_indexes
from indextables.split.reader import SplitReader
from indextables.split.rows.row_writer import write_rows
from indextables.storage.error_translation import translate


@dataclass(frozen=True)
class PartSizes:
    """Which row files and which indexes of the sources are taken as they are. Other rows are read, and written together."""

    large: int = 100_000
    """Rows. A row file of at least this number of rows is always copied."""
    fair: int = 16_384
    """Rows. A smaller row file is never copied. One between `fair` and `large` is copied if at most `most` files come out."""
    most: int = 128
    """Row files of a merged split, if files of a fair size are copied: readers open each file by itself."""
    indexed: int = 1_024
    """Rows. The rows of neighbouring sources with fewer rows than this are indexed anew, together. A merge of 300 sources of 100
    rows took 1.7 s of processor time so, and 2.0 s with their indexes joined; one of 100 sources of 2,000 rows took 3.4 and
    1.8 s. What is indexed anew comes in the order of rows, which a native merge of segments does not keep."""


_GOOD_PIECE: Final = 200_000
"""Rows of a piece that is indexed anew, at most, so that several are indexed at the same time."""

_MOST_INHERITED: Final = 4_096
"""Numbers of sources in a footer up to which those of earlier merges are kept: 32 KB. The splits of earlier merges are purged
before those of later ones, so that only the latest matter."""

PART_SIZES: Final = PartSizes()
"""The sizes that every merge has, unless its target says otherwise."""


class BrokenSource(Exception):
    """A source that cannot be merged, and why."""

    def __init__(self, source: SplitReader, error: Exception) -> None:
        super().__init__(str(error))
        self.source = source
        self.error = error


@dataclass(frozen=True)
class Target:
    """What the merged split shall be."""

    form: SplitForm
    """The columns, how they are indexed, and the bounds that are kept if rows are indexed anew."""
    partition_values: dict[str, str | None]
    created_ms: int
    source: int
    """The number of its rows' source, if they are indexed anew. It also names its local file."""
    check: Callable[[], None] = lambda: None
    """Called now and then. What it raises ends the merge."""
    part_sizes: PartSizes = field(default_factory=lambda: PART_SIZES)
    """Which row files of the sources are copied."""


@dataclass(frozen=True)
class _Piece:
    """Neighbouring sources whose rows have one index on the way to the merged one."""

    directory: Path
    sources: list[SplitReader]
    anew: int | None
    """The number of the rows' source if the rows are indexed anew; None for one source whose index is taken as it is."""

    @property
    def rows(self) -> int:
        return sum(source.footer.rows for source in self.sources)

    def placed(self) -> Iterator[tuple[int, int]]:
        """The numbers of the sources in the index, each with its rows."""
        if self.anew is not None:
            yield self.anew, self.rows
            return
        for source in self.sources:
            yield from ((part.source, part.rows) for part in source.footer.sources)


@dataclass(frozen=True)
class _Copy(RowsCopy):
    """Row files are copied when the bundle is written, long after they were chosen."""

    source: SplitReader
    check: Callable[[], None]

    def chunks(self) -> Iterator[memoryview]:
        with _blamed(self.source):
            for chunk in super().chunks():
                self.check()
                yield chunk


def merge(directory: Path, sources: Sequence[SplitReader], target: Target, workers: Workers) -> LocalSplit:
    """Write the rows of all sources, in their order, to one new file in `directory`, which is made.

    The sources stay as they are; after an error nothing of the new split is left. Raises BrokenSource, StorageError.
    """
    workers.together([partial(_read_footer, source) for source in sources])
    name = f"{target.source:016x}"
    work = directory / f"{name}.work"
    try:
        if not _alike(sources, target):
            return _indexed_anew(directory, sources, target)
        work.mkdir(parents=True)
        pieces = list(_pieces(work, sources, target.part_sizes.indexed))
        parts = _rows_and_indexes(work, sources, pieces, target, workers)
        built = _index(work, pieces, target, workers)
        facts = _facts(sources, pieces, target, built, parts)
        out = directory / f"{name}.split"
        sealed = write_bundle(out, parts, built.files, facts)
    except OSError as error:
        raise translate(error, str(directory), name, "put") from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return LocalSplit(out, sealed)


def _alike(sources: Sequence[SplitReader], target: Target) -> bool:
    """Whether the indexes can be joined: one mapping, one schema, and no two rows of one name."""
    mapping, schema = target.form.mapping_json, target.form.schema_json
    numbers = [part.source for source in sources for part in source.footer.sources]
    return len(set(numbers)) == len(numbers) and all(
        source.footer.doc_mapping == mapping
        and source.footer.schema == schema
        and source.footer.index
        and source.footer.sources
        for source in sources
    )


def _indexed_anew(directory: Path, sources: Sequence[SplitReader], target: Target) -> LocalSplit:
    local = write_split(
        directory,
        _scanned(sources, target),
        target.form,
        partition_values=target.partition_values,
        created_ms=target.created_ms,
        source=target.source,
        num_merge_ops=_merge_ops(sources),
        merged_from=merged_from(sources),
    )
    wanted = sum(source.footer.rows for source in sources)
    if local.sealed.footer.rows != wanted:
        local.remove()
        raise SplitError(f"{wanted} rows were to be merged, {local.sealed.footer.rows} came out: nothing is kept")
    return local


def _scanned(sources: Iterable[SplitReader], target: Target) -> Iterator[pa.RecordBatch]:
    for source in sources:
        rows = 0
        batches = source.scan(target.form.schema.names)
        while True:
            target.check()
            with _blamed(source):
                batch = next(batches, None)
                if batch is None:
                    if rows != source.footer.rows:
                        raise CorruptSplit(f"it has {rows} rows, its footer says {source.footer.rows}")
                    break
            rows += batch.num_rows
            yield batch


def _read_footer(source: SplitReader) -> None:
    with _blamed(source):
        _ = source.footer


def _pieces(work: Path, sources: Sequence[SplitReader], least: int) -> Iterator[_Piece]:
    """The sources in their order, those of fewer than `least` rows together with their neighbours."""
    numbers = itertools.count()
    for small, run in itertools.groupby(sources, lambda source: source.footer.rows < least):
        some: list[SplitReader] = []
        rows = 0
        for source in run:
            if some and (not small or rows + source.footer.rows > _GOOD_PIECE):
                yield _piece(work, next(numbers), some)
                some, rows = [], 0
            some.append(source)
            rows += source.footer.rows
        yield _piece(work, next(numbers), some)


def _piece(work: Path, number: int, sources: list[SplitReader]) -> _Piece:
    return _Piece(work / f"index.{number}", sources, new_source() if len(sources) > 1 else None)


def _rows_and_indexes(
    work: Path, sources: Sequence[SplitReader], pieces: Sequence[_Piece], target: Target, workers: Workers
) -> list[RowsFile | RowsCopy]:
    """The row files of the merged split. Beside that, the index of each piece comes into a directory of its own."""
    parts: list[RowsFile | RowsCopy] = []
    jobs: list[Callable[[], None]] = [lambda: parts.extend(_rows(work, sources, target))]
    jobs += [partial(_index_piece, piece, target) for piece in pieces]
    workers.together(jobs, limit=os.cpu_count())
    return parts


def _index_piece(piece: _Piece, target: Target) -> None:
    target.check()
    if piece.anew is not None:
        form = target.form
        builder = IndexBuilder(piece.directory, form.mapping, form.schema, source=piece.anew, heap=form.heap)
        try:
            for batch in _scanned(piece.sources, target):
                builder.add(batch)
            builder.finish()
        except BaseException:
            builder.abandon()
            raise
        return
    for source in piece.sources:
        piece.directory.mkdir()
        with _blamed(source):
            index = source.warm_up()
            write_files(piece.directory, Wanted.full(index.key, index.regions), index.fetch)
            rows = segment_rows(piece.directory, target.form.mapping)
            if rows != source.footer.rows:
                raise CorruptSplit(f"its index has {rows} rows, its footer says {source.footer.rows}")


def _index(work: Path, pieces: Sequence[_Piece], target: Target, workers: Workers) -> BuiltIndex:
    try:
        return merge_indexes(
            work / "index",
            [piece.directory for piece in pieces],
            target.form.mapping,
            native=True,
            heap=target.form.heap,
            rows=tuple(_placed(pieces)),
            check=target.check,
            workers=workers,
        )
    except SplitError:
        for number, piece in enumerate(pieces):  # an index may be what its footer says, and still be none
            with _blamed(piece.sources[0]):
                alone = work / f"alone.{number}"
                merge_indexes(alone, [piece.directory], target.form.mapping, native=False, heap=target.form.heap)
        raise


def _rows(work: Path, sources: Sequence[SplitReader], target: Target) -> list[RowsFile | RowsCopy]:
    parts: list[RowsFile | RowsCopy] = []
    sizes = target.part_sizes
    least = min(sizes.large, max(sizes.fair, sum(source.footer.rows for source in sources) // sizes.most))
    for number, (copied, run) in enumerate(itertools.groupby(sources, lambda source: _has_parts_of(source, least))):
        if copied:
            parts += [
                _Copy(source.pages(), part, source, target.check) for source in run for part in source.footer.parts
            ]
        else:
            parts += write_rows(work / f"rows.{number}", target.form.schema, _scanned(run, target))
    return parts


def _has_parts_of(source: SplitReader, rows: int) -> bool:
    """Whether the row files of a source have at least `rows` rows on average. The last file of a split may be small."""
    return source.footer.rows >= rows * len(source.footer.parts)


def _facts(
    sources: Sequence[SplitReader],
    pieces: Sequence[_Piece],
    target: Target,
    built: BuiltIndex,
    parts: Sequence[RowsFile | RowsCopy],
) -> Facts:
    footers = [source.footer for source in sources]
    summary = merged_summary(footers, target.form.schema)
    stored = sum(part.rows for part in parts)
    if not stored == built.rows == summary.rows:
        raise SplitError(
            f"{summary.rows} rows were to be merged, {stored} were stored and {built.rows} indexed: nothing is kept"
        )
    return Facts(
        rows=summary.rows,
        schema=footers[0].schema,
        doc_mapping=footers[0].doc_mapping,
        partition_values=target.partition_values,
        min_values=summary.min_values,
        max_values=summary.max_values,
        null_counts=summary.null_counts,
        distinct=summary.distinct,
        uncompressed_bytes=summary.uncompressed_bytes,
        time_range=summary.time_range,
        num_merge_ops=_merge_ops(sources),
        created_ms=target.created_ms,
        created_by=CREATED_BY,
        engines=engines(),
        inexact=tuple(sorted({column for footer in footers for column in footer.inexact})),
        sources=tuple(_placed(pieces)),
        in_row_order=built.in_row_order,
        merged_from=merged_from(sources),
        table_schema=target.form.table_schema,
    )


def merged_from(sources: Sequence[SplitReader]) -> tuple[int, ...]:
    """The numbers of the sources, and of as many of their own sources as a footer has room for."""
    direct = dict.fromkeys(part.source for source in sources for part in source.footer.sources)
    older = dict.fromkeys(number for source in sources for number in source.footer.merged_from)
    room = max(_MOST_INHERITED - len(direct), 0)
    return (*direct, *itertools.islice((number for number in older if number not in direct), room))


def _merge_ops(sources: Sequence[SplitReader]) -> int:
    return max(source.footer.num_merge_ops for source in sources) + 1


def _placed(pieces: Iterable[_Piece]) -> Iterator[Source]:
    """The sources of the pieces, one behind the other."""
    first = 0
    for number, rows in (each for piece in pieces for each in piece.placed()):
        yield Source(number, first, rows)
        first += rows


@contextmanager
def _blamed(source: SplitReader) -> Iterator[None]:
    try:
        yield
    except (SplitError, ObjectNotFound) as error:
        raise BrokenSource(source, error) from error
