"""Splits that are built once and then taken from memory, for tests that run the same verb hundreds of times.

What is at stake in those tests is what becomes of a file, not what is in it. The first time a split is written or merged by the
real code. When the same is asked for again, the same requests are made to the store in the same order, and the same file
appears, or the same source is found broken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import indextables.table.build.split_builder as write_tasks_module
import indextables.table.maintain.merge as merge_module
from indextables.core.runtime.threads import Workers
from indextables.split.build.split_form import SplitForm
from indextables.split.build.split_merge import BrokenSource, Target, merge
from indextables.split.build.split_writer import LocalSplit, write_split
from indextables.split.bundle.bundle_writer import Sealed
from indextables.split.reader import SplitReader
from log.support import Hooked, MemoryStore


@dataclass(frozen=True)
class _Built:
    data: bytes
    sealed: Sealed

    @classmethod
    def of(cls, local: LocalSplit) -> _Built:
        return cls(local.path.read_bytes(), local.sealed)

    def appear(self, directory: Path, source: int) -> LocalSplit:
        path = directory / f"{source:016x}.split"
        path.write_bytes(self.data)
        return LocalSplit(path, self.sealed)


@dataclass(frozen=True)
class _Merged:
    requests: list[tuple[str, tuple[Any, ...]]]
    """Verbs and their arguments."""
    outcome: _Built | tuple[int, Exception]
    """The result, or which source is broken and why."""


_written: dict[Any, _Built] = {}
_merged: dict[Any, _Merged] = {}


def _write(directory: Path, batches: Iterator[pa.RecordBatch], form: SplitForm, **how: Any) -> LocalSplit:
    rows = pa.Table.from_batches(batches, form.schema)
    key = str((rows.to_pydict(), rows.schema, how["partition_values"], how["source"]))
    if key not in _written:
        _written[key] = _Built.of(write_split(directory, rows.to_batches(), form, **how))
    return _written[key].appear(directory, how["source"])


def _merge(directory: Path, sources: Sequence[SplitReader], target: Target, workers: Workers) -> LocalSplit:
    store = sources[0].parts.store
    inner: Any = store
    while not isinstance(inner, MemoryStore):
        inner = inner.inner
    key = (target.source, *((source.key, inner.objects[source.key].data) for source in sources))
    known = _merged.get(key)
    if known is None:
        known = _merged[key] = _really_merged(directory, sources, target, workers)
    else:
        for verb, arguments in known.requests:
            getattr(store, verb)(*arguments)
    if isinstance(known.outcome, _Built):
        return known.outcome.appear(directory, target.source)
    number, error = known.outcome
    raise BrokenSource(sources[number], error)


def _really_merged(directory: Path, sources: Sequence[SplitReader], target: Target, workers: Workers) -> _Merged:
    store = sources[0].parts.store
    requests: list[tuple[str, tuple[Any, ...]]] = []

    def noting(verb: str) -> Any:
        def call(*arguments: Any) -> Any:
            requests.append((verb, arguments))
            return getattr(store, verb)(*arguments)

        return call

    noted: Any = Hooked(store, **{verb: noting(verb) for verb in ("get", "get_range", "get_ranges", "head")})
    for source in sources:
        source.parts.store = noted
    try:
        return _Merged(requests, _Built.of(merge(directory, sources, target, workers)))
    except BrokenSource as broken:
        return _Merged(requests, (sources.index(broken.source), broken.error))
    finally:
        for source in sources:
            source.parts.store = store


def build_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_tasks_module, "write_split", _write)
    monkeypatch.setattr(merge_module, "merge", _merge)
