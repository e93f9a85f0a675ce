"""What reading rows leaves behind in a process: no more than a bound, and nothing that a forked child could hang on."""

from __future__ import annotations

import itertools
from pathlib import Path

import pyarrow as pa
import pytest

from forked import true_in_child
from indextables.core.options import Options
from indextables.split.cache.cache_location import OPEN_CACHES, open_cache
from indextables.split.cache.index_cache import IndexCache
from indextables.split.rows import projection, row_reader, segment_cache
from split.bundle_support import make, open_rows
from split.reader_support import reader as open_reader
from split.reader_support import write

WIDE = pa.table({f"c{number}": list(range(100)) for number in range(8)})


def test_selections_of_columns_are_bounded(tmp_path: Path) -> None:
    key, sealed = make(tmp_path, WIDE)
    opened = open_rows(tmp_path, key, sealed)
    for names in itertools.permutations(WIDE.schema.names, 3):
        taken = opened.take([3, 50], names)
        assert taken.schema.names == list(names)
        assert taken.column(0).to_pylist() == [3, 50]
        assert len(opened.selections) <= row_reader.MOST_SELECTIONS


def test_projections_are_bounded(tmp_path: Path) -> None:
    key, sealed = write(tmp_path, WIDE)
    split = open_reader(tmp_path, key, sealed, WIDE.schema, IndexCache(tmp_path / "cache", 1 << 30))
    for names in itertools.permutations(WIDE.schema.names, 3):
        assert split.take([99], names).to_pylist() == [dict.fromkeys(names, 99)]
        assert len(split.parts.adapter.projections) <= projection.MOST_PROJECTIONS


@pytest.mark.own_process
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_child_does_not_wait_for_locks_of_its_parent(tmp_path: Path) -> None:
    """Another thread may hold them at the moment of the fork, and does not exist in the child."""
    key, sealed = make(tmp_path, WIDE)
    assert open_rows(tmp_path, key, sealed).take([5], ["c0"]).to_pylist() == [{"c0": 5}]
    before = segment_cache.segment_cache()
    segments, caches = segment_cache.SEGMENT_CACHES, OPEN_CACHES

    def use_both() -> bool:
        fresh = not segments.value and not caches.value
        taken = open_rows(tmp_path, key, sealed).take([7], ["c0"]).to_pylist()
        open_cache(Options({"cache.disk.directory": str(tmp_path / "cache"), "cache.disk.maxBytes": "1M"}))
        return fresh and taken == [{"c0": 7}]

    with segments.value.lock, caches.value.lock:
        assert true_in_child(use_both)
    assert segment_cache.segment_cache() is before
