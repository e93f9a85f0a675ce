"""Splits that cost next to nothing, for schedules of the verbs that write rows.

Tantivy and Vortex take a tenth of a second for a split. The simulation is about what lies around them: who uploads what under
which name, who commits it, and who takes it back. All of that is the real code. In its middle, a split is a real bundle with
a real footer and real checksums, whose rows are a list of ids as JSON, and which has no index.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa

import indextables.split.bundle.upload as upload_module
import indextables.table.build.split_builder as write_tasks_module
import indextables.table.build.uploads as uploads_module
import indextables.table.maintain.merge as merge_module
from indextables.core.runtime.threads import Workers
from indextables.log.commit import Committed, commit
from indextables.log.snapshot import LogAtVersion
from indextables.split.build.split_form import SplitForm
from indextables.split.build.split_merge import Target, _blamed
from indextables.split.build.split_writer import LocalSplit
from indextables.split.bundle.bundle_writer import RowsFile, write_bundle
from indextables.split.bundle.footer import Facts, Source
from indextables.split.reader import SplitReader

ONE_REQUEST = 900
"""Bytes of a split that is one create; larger ones are a put, which a client may repeat."""
COMMIT_EVERY_SECONDS = 1.5
"""A merge commits so often that most have several commits."""


def ids_in(data: bytes) -> tuple[int, ...]:
    """The ids in a bundle."""
    return tuple(json.loads(data[: data.index(b"]") + 1]))


def _write_split(
    directory: Path,
    batches: Iterable[pa.RecordBatch],
    form: SplitForm,
    *,
    partition_values: dict[str, str | None],
    created_ms: int,
    source: int,
) -> LocalSplit:
    ids = [number for batch in batches for number in batch.column("id").to_pylist()]
    return _sealed(directory, ids, form, partition_values, created_ms, source, 0)


def _merge(directory: Path, sources: Sequence[SplitReader], target: Target, workers: Workers) -> LocalSplit:
    for source in sources:
        with _blamed(source):
            _ = source.footer
    ids: list[int] = []
    for source in sources:
        with _blamed(source):
            ids += ids_in(bytes(source.pages().read(0, source.footer.rows_length)))
    return _sealed(
        directory,
        ids,
        target.form,
        target.partition_values,
        target.created_ms,
        target.source,
        1 + max(source.footer.num_merge_ops for source in sources),
    )


def _sealed(
    directory: Path,
    ids: list[int],
    form: SplitForm,
    partition_values: dict[str, str | None],
    created_ms: int,
    source: int,
    merge_ops: int,
) -> LocalSplit:
    rows = directory / f"{source:016x}.rows"
    rows.write_text(json.dumps(ids))
    facts = Facts(
        rows=len(ids),
        schema=form.schema_json,
        doc_mapping=form.mapping_json,
        partition_values=dict(partition_values),
        created_ms=created_ms,
        num_merge_ops=merge_ops,
        sources=(Source(source, 0, len(ids)),),
    )
    out = directory / f"{source:016x}.split"
    return LocalSplit(out, write_bundle(out, [RowsFile(rows, len(ids))], [], facts))


def _noted(at: LogAtVersion, *what: Any, **more: Any) -> Committed:
    """A commit, whose ids are no longer open once it is acknowledged."""
    done = commit(at, *what, **more)
    if done.written:
        clock = at.log.clock
        clock.settled = len(clock.issued)  # type: ignore[attr-defined]
    return done


@contextlib.contextmanager
def cheap_splits() -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for module, name, instead in (
            (write_tasks_module, "write_split", _write_split),
            (merge_module, "merge", _merge),
            (merge_module, "_COMMIT_EVERY_SECONDS", COMMIT_EVERY_SECONDS),
            (upload_module, "ONE_REQUEST", ONE_REQUEST),
            (uploads_module, "commit", _noted),
        ):
            stack.enter_context(mock.patch.object(module, name, instead))
        yield
