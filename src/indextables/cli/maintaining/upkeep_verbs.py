"""Commands that keep a table fast and small, or end it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from indextables.cli.answers import Facts, Rows
from indextables.cli.errors import UsageError, spoken
from indextables.cli.maintaining.confirm import confirm
from indextables.cli.stop import STOP
from indextables.cli.targets import Target
from indextables.core.errors import CorruptLog, IndexTablesError

if TYPE_CHECKING:
    import pyarrow as pa

    from indextables.cli.render.progress import Stage
    from indextables.cli.render.renderer import Renderer


def drop(target: Target, renderer: Renderer, *, yes: bool) -> Facts:
    """Delete a table for good."""
    from indextables.table.loading import described, drop_table_at

    facts: Mapping[str, Any]
    try:
        facts = described(target.open()).values
        what = f"{facts['url']}, {facts['rows']:,} rows in {facts['files']:,} files"
    except CorruptLog:  # what a drop that was killed leaves, or a log that was damaged otherwise
        facts = {"url": target.url, "rows": None, "files": None, "bytes": None}
        what = f"{target.url}, whose log cannot be read"
    url = facts["url"]
    if not confirm(renderer.screen, f"drop {what}? It cannot be brought back.", yes=yes):
        return Facts({"url": url, "dropped": False}, {}, f"{url} stays as it is")
    STOP.check()
    with renderer.stage.rows("dropping", 0, 0):
        drop_table_at(target.url, target.options)
    values = {"url": url, "dropped": True, "rows": facts["rows"], "files": facts["files"], "bytes": facts["bytes"]}
    return Facts(values, {}, f"dropped {what}")


def optimize(target: Target, stage: Stage, *, dry_run: bool, prewarm: bool, every: str | None) -> Rows:
    """Do what the table needs, once or again and again. A loop ends after the step in which Ctrl-C comes."""
    from indextables.table.maintain.optimize import STEPS_SCHEMA

    seconds = None if every is None else seconds_of(every)
    rounds = _rounds(target, stage, dry_run=dry_run, prewarm=prewarm, seconds=seconds)
    return Rows(STEPS_SCHEMA, rounds, shown=_SHOWN, title="step", wraps=True, follows=seconds is not None)


_SHOWN: Final = ("step", "status", "before", "after", "message")


def _rounds(
    target: Target, stage: Stage, *, dry_run: bool, prewarm: bool, seconds: float | None
) -> Iterator[pa.RecordBatch]:
    table = target.open()
    while True:
        began = time.monotonic()
        try:
            with stage.rows("optimizing", 0, 0) as (watcher, _):
                steps = table.optimize(dry_run, progress=watcher, prewarm=prewarm).table()
        except IndexTablesError as error:  # what ails a table for an hour must not end a loop of months
            if seconds is None:
                raise
            steps = _failed(error, round((time.monotonic() - began) * 1000))
        yield from steps.to_batches()
        if seconds is None:
            return
        STOP.wait(max(seconds - (time.monotonic() - began), 0.0))


def _failed(error: IndexTablesError, duration_ms: int) -> pa.Table:
    """A round that an error ended, as a row between the steps of the other rounds."""
    from indextables.table.maintain.optimize import Step, steps_table

    reason = "an error ended this round, and the next one begins as ever"
    return steps_table([Step("optimize", reason, "failed", duration_ms=duration_ms, message=spoken(error))])


def seconds_of(text: str) -> float:
    """A time such as 90s, 15m or 1h, in seconds. Raises UsageError."""
    units = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
    number, unit = (text[:-1], text[-1:].lower()) if text[-1:].lower() in units else (text, "s")
    try:
        seconds = float(number) * units[unit]
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise UsageError(f"--every is {text!r}, but must be a time such as 90s, 15m or 1h")
    return seconds
