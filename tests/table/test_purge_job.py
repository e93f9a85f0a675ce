"""A purge whose deletes are made elsewhere: every call travels as bytes, as it does to the tasks of an engine."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pytest

from indextables import Table
from indextables.core.errors import OptionError, TableNotFound
from indextables.core.options import Options
from indextables.core.runtime.threads import Inline
from indextables.table.distributed.purge_job import purge_by

T = TypeVar("T")


class Elsewhere:
    """Workers that pickle what they are asked to run, and what came of it."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def together(
        self, calls: Sequence[Callable[[], T]], *, limit: int | None = None, timeout_seconds: float | None = None
    ) -> list[T]:
        if not all(isinstance(call, partial) for call in calls):
            return Inline().together(calls)
        self.calls += [call.func.__name__ for call in calls if isinstance(call, partial)]
        return [pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(call))())) for call in calls]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    table = Table.create(tmp_path / "t", pa.schema([("id", pa.int64())]), options={"checkpoint.interval": 1})
    table.append(pa.table({"id": [1]}))
    moment = time.time() - 40 * 86_400
    for number in range(2_500):
        path = tmp_path / "t" / "splits" / f"split-{number}.split"
        path.write_bytes(b"orphan")
        os.utime(path, (moment, moment))
    return tmp_path / "t"


def test_batches_travel(root: Path) -> None:
    workers = Elsewhere()
    planned = purge_by(workers, str(root), Options(), dry_run=True)
    assert "delete_batch" not in workers.calls
    done = purge_by(workers, str(root), Options())
    assert workers.calls.count("delete_batch") == 3
    assert "keys_in_manifest" in workers.calls
    assert done.orphaned_files_deleted == 2_500
    assert done.paths == planned.paths
    assert len(list((root / "splits").iterdir())) == 1
    assert Table.open(root).scan().read_all()["id"].to_pylist() == [1]


def test_the_same_errors(root: Path, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"purge\.minRetentionHours"):
        purge_by(Elsewhere(), str(root), Options(), older_than=1)
    with pytest.raises(TableNotFound):
        purge_by(Elsewhere(), str(tmp_path / "none"), Options())
