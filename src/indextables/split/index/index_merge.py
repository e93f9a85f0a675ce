"""Merging the Tantivy indexes of several splits, without indexing anything again.

    indexes of equal mappings ──▶ segment files side by side under one meta.json
                                    └─ where there are many small ones ──▶ merged natively, several groups at a time

A search pays some ten microseconds for each segment, and merging natively costs a quarter of indexing anew. So segments are left
as they are from 100,000 documents on, and up to 32 of fair size beside them; the rest is merged natively by a writer,
which does so where Tantivy's policy finds eight of like size. Rows are found again by `_source` and `_row`; no two sources
may have a `_source` value in common.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from indextables.core.errors import CorruptSplit, SplitError
from indextables.core.runtime.threads import Inline, Workers
from indextables.split.bundle.footer import Source
from indextables.split.bundle.native_errors import translated
from indextables.split.index.doc_mapping import DocMapping
from indextables.split.index.index_files import (
    SMALLEST_HEAP,
    BuiltIndex,
    checked_index,
    open_index,
    order_segments,
    read_meta,
    segment_files,
    stem_of,
    write_meta,
)

LARGE_SEGMENT: Final = 100_000
"""Documents of a segment that is not merged any more."""
FAIR_SEGMENT: Final = 16_384
"""Documents of a segment that is merged only where there are more of them than `MOST_FAIR`."""
MOST_FAIR: Final = 32
"""At most so many segments of `FAIR_SEGMENT` documents stay as they are: a search pays about 10 µs for each."""
_LEAST_TO_MERGE: Final = 8
"""Segments: Tantivy's policy merges no fewer."""
_GOOD_SEGMENT: Final = 200_000
"""Documents of a merged segment, about."""


@dataclass(frozen=True)
class _Found:
    """A segment of a source, and its files there."""

    files: tuple[Path, ...]
    segment: dict[str, Any]
    """As the merged index has it: under another name, if its own is taken."""

    @property
    def rows(self) -> int:
        rows: int = self.segment["max_doc"]
        return rows

    def link(self, directory: Path) -> None:
        """Have the files in another directory too."""
        for file in self.files:
            _link(file, directory / (stem_of(self.segment) + file.suffix))


def merge_indexes(
    target: Path,
    sources: Sequence[Path],
    mapping: DocMapping,
    *,
    native: bool,
    heap: int,
    rows: Sequence[Source] = (),
    check: Callable[[], None] = lambda: None,
    workers: Workers | None = None,
) -> BuiltIndex:
    """Merge the indexes of several directories into one index in an empty directory. The sources stay as they are.

    `rows` are the sources of the merged split, from which follows whether documents come in the order of rows: those of segments
    that were merged natively do not. Without `rows` nobody looks.

    `native` lets Tantivy merge small segments of like size, eight or more at a time, into segments of 200,000 documents and more;
    it needs time, and saves space and searches. The columns that are inexact are those of the sources, which their splits know:
    `inexact` is empty. `check` is called between native merges, and what it raises ends the work.
    """
    target.mkdir(parents=True, exist_ok=True)
    found = list(_segments_of(sources, mapping))
    groups = list(_to_merge(found)) if native else []
    grouped = {id(each) for group in groups for each in group}
    alone = [each for each in found if id(each) not in grouped]
    for each in alone:
        each.link(target)
    jobs = [
        partial(_merged_natively, target, f"native.{number}", group, mapping, heap, check)
        for number, group in enumerate(groups)
    ]
    merged = (workers or Inline()).together(jobs, limit=os.cpu_count())
    segments = [each.segment for each in alone] + [segment for some in merged for segment in some]
    write_meta(target, mapping, segments)
    in_order = bool(rows) and order_segments(target, mapping, rows)
    built = checked_index(target, mapping, sum(each.rows for each in found), frozenset())
    return replace(built, in_row_order=in_order)


def _segments_of(sources: Sequence[Path], mapping: DocMapping) -> Iterator[_Found]:
    """All segments, each under a name of its own."""
    taken: set[str] = set()
    for source in sources:
        files = segment_files(source)
        for segment in read_meta(source, mapping)["segments"]:
            stem = stem_of(segment)
            if segment["deletes"] is not None:
                raise CorruptSplit(f"the index in {source} has deleted documents in segment {stem}", path=str(source))
            if stem not in files:
                raise CorruptSplit(f"the index in {source} lacks the files of segment {stem}", path=str(source))
            named = segment | {"segment_id": str(uuid.uuid4())} if stem in taken else segment
            taken.add(stem_of(named))
            yield _Found(tuple(files[stem]), named)


def _to_merge(segments: Sequence[_Found]) -> Iterator[list[_Found]]:
    """Small segments in groups of equal number, at least as many together as Tantivy's policy needs. Those of like size meet."""
    small = sorted((each for each in segments if each.rows < LARGE_SEGMENT), key=lambda each: -each.rows)
    left_alone = sum(each.rows >= FAIR_SEGMENT for each in small[:MOST_FAIR])
    small = small[left_alone:]
    if len(small) < _LEAST_TO_MERGE:
        return
    groups = max(1, min(len(small) // _LEAST_TO_MERGE, sum(each.rows for each in small) // _GOOD_SEGMENT))
    for number in range(groups):
        yield small[number * len(small) // groups : (number + 1) * len(small) // groups]


def _merged_natively(
    target: Path, name: str, group: Sequence[_Found], mapping: DocMapping, heap: int, check: Callable[[], None]
) -> list[dict[str, Any]]:
    """The segments that come out where Tantivy's policy merges these, all of them in `target`."""
    check()
    directory = target / name
    directory.mkdir()
    for each in group:
        each.link(directory)
    write_meta(directory, mapping, [each.segment for each in group])
    _merge_natively(directory, mapping, heap)
    merged: list[dict[str, Any]] = read_meta(directory, mapping)["segments"]
    files = segment_files(directory)
    for segment in merged:
        for file in files.get(stem_of(segment), ()):
            file.rename(target / file.name)
    shutil.rmtree(directory)
    return merged


def _merge_natively(directory: Path, mapping: DocMapping, heap: int) -> None:
    """Commit until Tantivy's policy finds nothing more to merge."""
    before = len(read_meta(directory, mapping)["segments"])
    while before > 1:
        index = open_index(directory, mapping)
        with translated(str(directory), "merging the index"):
            writer = index.writer(max(heap, SMALLEST_HEAP), 1)
            writer.commit()
            writer.wait_merging_threads()
        after = len(read_meta(directory, mapping)["segments"])
        if after == before:
            break
        before = after


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except FileExistsError:
        raise SplitError(
            f"{target} exists already, indexes are merged into an empty directory", path=str(target)
        ) from None
    except OSError:
        shutil.copyfile(source, target)
