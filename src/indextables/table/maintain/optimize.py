"""`Table.optimize`: what a table needs now, and nothing else.

    merge    splits of like size, `mergeOnWrite.minSplits` or more, become one
    compact  the log is summed up, where the newest state is far behind or full of tombstones
    purge    what no version names any more, and what is past its retention, is deleted
    prewarm  indexes come to local disk, where the caller asks for it

A step looks at the table that the step before it left. Several machines may do this at the same time: a merge commits only groups
whose sources are still live, and a state that somebody else wrote is as good as one's own. A dry run takes the same decisions and
does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from indextables.core import options as opt
from indextables.core.arrow_values import array_of
from indextables.core.errors import CorruptLog, InvalidKey, VersionGap
from indextables.core.metrics import METRICS
from indextables.log.snapshot_files import open_again
from indextables.log.state.checkpoint import compacted_checkpoint
from indextables.log.state.live_files import StateFiles
from indextables.log.state.write import fragments, needs_compaction
from indextables.table.build.job_group import scratch
from indextables.table.handle import TableHandle
from indextables.table.maintain.merge import Merge
from indextables.table.maintain.merge_on_write import groups_of_like_size
from indextables.table.maintain.purge import purge, purge_ages
from indextables.table.progress import Watcher
from indextables.table.read.prewarm import prewarm as prewarm_indexes
from indextables.table.read.request import make_request

STEPS_SCHEMA: Final = pa.schema(
    [
        pa.field("step", pa.string(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("status", pa.string(), nullable=False),
        pa.field("before", pa.string(), nullable=False),
        pa.field("after", pa.string(), nullable=False),
        pa.field("duration_ms", pa.int64(), nullable=False),
        pa.field("message", pa.string(), nullable=False),
    ]
)
"""The columns of `Optimized.table`."""

_REFUSED: Final = (CorruptLog, VersionGap, InvalidKey)
"""What purge raises where the log or a key of the table's place must be mended by hand first. The messages say how."""


@dataclass(frozen=True)
class Step:
    """A step of `optimize`: what a table may need, why, and what was done."""

    step: str
    """`merge`, `compact`, `purge` or `prewarm`."""
    reason: str
    """Why the step is needed, or why it is not."""
    status: str
    """`success`, `no_action`, `dry_run`, or `partial` where another process did a part, or something was left out or refused."""
    before: str = ""
    after: str = ""
    """How the table looked before the step and afterwards. Both are empty where nothing was done."""
    duration_ms: int = 0
    message: str = ""


@dataclass(frozen=True)
class Optimized:
    """What `Table.optimize` did, or would do in a dry run."""

    status: str
    """`success`, `no_action` where the table needed nothing, `dry_run`, or `partial` where one of the steps is."""
    version: int
    """The version that the table is at afterwards."""
    steps: tuple[Step, ...]
    dry_run: bool
    duration_ms: int
    message: str

    def table(self) -> pa.Table:
        """The steps as rows: `step`, `reason`, `status`, `before`, `after`, `duration_ms`, `message`."""
        return steps_table(self.steps)


def steps_table(steps: Sequence[Step]) -> pa.Table:
    """Some steps as rows of `STEPS_SCHEMA`."""
    columns = [[getattr(step, name) for step in steps] for name in STEPS_SCHEMA.names]
    return pa.table(
        [array_of(column, field.type) for column, field in zip(columns, STEPS_SCHEMA, strict=True)], STEPS_SCHEMA
    )


@dataclass(frozen=True)
class Work:
    """What every step is told."""

    dry_run: bool = False
    progress: Watcher | None = None


@dataclass(frozen=True)
class OptimizeResult:
    """What was done, and the table afterwards."""

    handle: TableHandle
    optimized: Optimized


_Stepped = tuple[TableHandle, Step]


@METRICS.measured("optimize")
def optimize(handle: TableHandle, work: Work, *, prewarm: bool = False) -> OptimizeResult:
    """Do what the table needs, step by step. Raises what the verbs raise; steps that were done before stay done."""
    clock = handle.log.clock
    began = clock.boot()
    duties: list[Callable[[TableHandle, Work], _Stepped]] = [_merge, _compact, _purge]
    if prewarm:
        duties.append(_prewarm)
    steps = []
    for duty in duties:
        since = clock.boot()
        handle, step = duty(handle, work)
        steps.append(_timed(step, clock.boot() - since))
    status = _status(steps)
    return OptimizeResult(
        handle,
        Optimized(
            status,
            handle.version,
            tuple(steps),
            work.dry_run,
            _milliseconds(clock.boot() - began),
            _told(steps, dry_run=work.dry_run),
        ),
    )


def _merge(handle: TableHandle, work: Work) -> _Stepped:
    groups = groups_of_like_size(handle)
    sources = sum(group.files.num_rows for group in groups)
    if not groups:
        least = handle.options[opt.MERGE_ON_WRITE_MIN_SPLITS]
        return handle, Step("merge", f"no partition has {least} small files of like size", "no_action")
    reason = f"{_counted(sources, 'small file')} can become {len(groups):,}"
    if work.dry_run:
        return handle, Step("merge", reason, "dry_run", before=_files(handle))
    before = _files(handle)
    with scratch("merge") as directory:
        done = Merge(handle, directory, work.progress).run(groups)
    merged, after = done.merged, done.handle
    notes = [f"{_counted(merged.sources, 'file')} became {merged.results:,}"]
    if merged.overtaken:
        notes.append(f"{_counted(merged.overtaken, 'result')} came too late: another process was faster")
    if merged.skipped:
        notes.append(f"{_counted(len(merged.skipped), 'file')} cannot be read and stay as they are")
    status = "partial" if merged.overtaken or merged.skipped else "success"
    return after, Step("merge", reason, status, before, _files(after), message="; ".join(notes))


def _compact(handle: TableHandle, work: Work) -> _Stepped:
    reason = _why_compact(handle)
    if reason is not None:  # a handle that was refreshed may stand on an older state than there is
        handle = handle.moved(open_again(handle, whole=False))
        reason = _why_compact(handle)
    if reason is None:
        return handle, Step("compact", "the newest state is near and compact", "no_action")
    if not handle.options[opt.CHECKPOINT_ENABLED]:
        return handle, Step("compact", f"{opt.CHECKPOINT_ENABLED.short} is false", "no_action", message=reason)
    before = _state(handle)
    if work.dry_run:
        return handle, Step("compact", reason, "dry_run", before=before)
    done = compacted_checkpoint(handle)
    after = handle.moved(done.snapshot)
    if done.written:
        return after, Step("compact", reason, "success", before, _state(after), message=f"state {done.version} written")
    given_up = done.kind == "none"
    message = "the state was given up; nothing is lost" if given_up else "another process wrote the state"
    return after, Step("compact", reason, "partial" if given_up else "success", before, _state(after), message=message)


def _why_compact(handle: TableHandle) -> str | None:
    """Why a compact state should be written now; None where nothing speaks for it."""
    snapshot, base = handle.snapshot, handle.snapshot.file_set.base
    if snapshot.state_committed:
        return None
    if isinstance(base, StateFiles) and needs_compaction(base.state, handle.options):
        state = base.state
        return (
            f"state {state.version} has {_counted(len(state.tombstones), 'tombstone')} for {_counted(state.num_files, 'file')} "
            f"and {_counted(fragments(state, handle.options), 'small manifest')}"
        )
    behind = snapshot.version - (snapshot.base or 0)
    if behind > handle.options[opt.CHECKPOINT_INTERVAL]:
        what = "the newest state is" if snapshot.base is not None else "there is no state, and version 0 is"
        return f"{what} {_counted(behind, 'version')} back"
    return None


def _purge(handle: TableHandle, work: Work) -> _Stepped:
    """Purge with the retentions of the options. A dry run of purge tells whether anything is due.

    A purge that refuses its work, because a part of the log cannot be read, hides nothing of what was done before.
    """
    ages = purge_ages(handle.options)
    reason = "what is past its retention is not known"
    try:
        due = purge(handle, ages, dry_run=True)
        if not due.paths:
            return handle, Step("purge", "nothing is past its retention", "no_action")
        reason = f"{_counted(len(due.paths), 'object')} past retention"
        if work.dry_run:
            return handle, Step("purge", reason, "dry_run", message=due.message)
        done = purge(handle, ages, progress=work.progress)
    except _REFUSED as error:
        return handle, Step("purge", reason, "partial", message=error.message)
    before, after = _counted(len(due.paths), "object"), _counted(max(len(due.paths) - len(done.paths), 0), "object")
    return handle, Step("purge", reason, done.status, f"{before} due", f"{after} due", message=done.message)


def _prewarm(handle: TableHandle, work: Work) -> _Stepped:
    files = handle.files().num_rows
    reason = f"indexes of {_counted(files, 'file')} are asked for on local disk"
    if work.dry_run:
        return handle, Step("prewarm", reason, "dry_run")
    done = prewarm_indexes(handle, make_request(handle, "prewarming", columns=()), progress=work.progress)
    status = "partial" if done.left_out else "success" if done.fetched else "no_action"
    message = f"{done.fetched:,} fetched, {done.present:,} there already, {done.left_out:,} left out"
    return handle, Step("prewarm", reason, status, message=message)


def _files(handle: TableHandle) -> str:
    files = handle.files()
    size = pc.sum(files.column("size")).as_py() or 0
    return f"{_counted(files.num_rows, 'file')}, {size:,} bytes"


def _state(handle: TableHandle) -> str:
    base = handle.snapshot.file_set.base
    if not isinstance(base, StateFiles):
        return "no state" if handle.snapshot.base is None else f"checkpoint {handle.snapshot.base}"
    state = base.state
    manifests, tombstones = _counted(len(state.manifests), "manifest"), _counted(len(state.tombstones), "tombstone")
    return f"state {state.version}, {manifests}, {tombstones}"


def _status(steps: list[Step]) -> str:
    """The status of all steps together: what needs attention first."""
    found = {step.status for step in steps}
    return next(status for status in ("partial", "dry_run", "success", "no_action") if status in found)


def _told(steps: list[Step], *, dry_run: bool) -> str:
    refused = [step for step in steps if step.step == "purge" and step.status == "partial" and not step.before]
    needed = [step.step for step in steps if step.status != "no_action" and step not in refused]
    said = [f"{'would do' if dry_run else 'did'}: {', '.join(needed)}"] if needed else []
    said += [f"could not {step.step}: {step.message}" for step in refused]
    return "; ".join(said) or "the table needs nothing"


def _timed(step: Step, seconds: float) -> Step:
    return Step(
        step.step,
        step.reason,
        step.status,
        step.before,
        step.after,
        _milliseconds(seconds),
        step.message or step.reason,
    )


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


__all__ = ["STEPS_SCHEMA", "OptimizeResult", "Optimized", "Step", "Work", "optimize", "steps_table"]
