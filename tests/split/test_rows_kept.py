"""What reading rows leaves behind in a process: no more than a bound, and nothing that a forked child could hang on."""

from __future__ import annotations

import itertools
import os
import signal
from pathlib import Path

import pyarrow as pa
import pytest

from indextables.split import reader
from indextables.split.cache import cache_location as cache_open
from indextables.split.cache.index_cache import IndexCache
from indextables.split.rows import row_reader as rows
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
        assert len(opened._selections) <= rows._MOST_SELECTIONS


def test_shapes_of_batches_are_bounded(tmp_path: Path) -> None:
    key, sealed = write(tmp_path, WIDE)
    split = open_reader(tmp_path, key, sealed, WIDE.schema, IndexCache(tmp_path / "cache", 1 << 30))
    for names in itertools.permutations(WIDE.schema.names, 3):
        assert split.take([99], names).to_pylist() == [dict.fromkeys(names, 99)]
        assert len(split._shapes) <= reader._MOST_SHAPES


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_child_does_not_wait_for_locks_of_its_parent(tmp_path: Path) -> None:
    """Another thread may hold them at the moment of the fork, and does not exist in the child."""
    key, sealed = make(tmp_path, WIDE)
    assert open_rows(tmp_path, key, sealed).take([5], ["c0"]).to_pylist() == [{"c0": 5}]
    before = rows._cache
    with rows._cache_lock, cache_open._OPEN_LOCK:
        child = os.fork()
        if child == 0:
            signal.alarm(20)  # ends the child where it hangs
            fresh = rows._cache is None and not cache_open._OPEN
            taken = open_rows(tmp_path, key, sealed).take([7], ["c0"]).to_pylist()
            cache_open._open(tmp_path / "cache", 1 << 20)
            os._exit(0 if fresh and taken == [{"c0": 7}] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert before is not None
    assert rows._cache is before
