"""Rows of a stream as they come: one step after the other, and waiting where a look finds nothing.

    latest ── something came ──▶ request ──▶ scan ──▶ batches, then the next step
       └───── nothing ──▶ Pause ──▶ latest …

The same twice: for a loop, and for an event loop that must not wait for stores. Whoever closes the generator, cancels the task or
sets `stop` ends the stream; nothing is left running but a read that was under way.
"""

from __future__ import annotations

import asyncio
import contextvars
import math
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol, TypeAlias, TypeVar

import pyarrow as pa

from indextables.core.clock import Clock
from indextables.core.errors import ChangesGone, OptionError, SplitError, StorageError
from indextables.table.read.scan import scan
from indextables.table.stream.stream_offset import Offset
from indextables.table.stream.stream_planner import StreamPlanner

T = TypeVar("T")

_STEP_SECONDS: Final = 0.05
"""Seconds between two looks at `stop`: short for people, and nothing for a processor."""

Stop: TypeAlias = Callable[[], bool] | threading.Event | asyncio.Event
"""What ends a stream: an event that is set, or a function that returns True."""


class Waiting(Protocol):
    """How a stream waits, and whether it is to go on."""

    def is_over(self) -> bool:
        """Whether the stream ends here. Asked between two batches."""
        ...

    def pause(self) -> None:
        """Wait until the next look for new rows, or until the stream is to end."""
        ...


@dataclass(frozen=True)
class Pause:
    """Waits of the same length, which end early when `stop` says so."""

    interval: float
    stop: Stop | None
    clock: Clock

    def __post_init__(self) -> None:
        """Raise OptionError for an interval or a stop that cannot be used."""
        seconds = self.interval
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < math.inf:
            raise OptionError(f"interval is {seconds!r}, but must be a number of seconds, more than 0")
        if self.stop is not None and not callable(self.stop) and not hasattr(self.stop, "is_set"):
            raise OptionError(
                f"stop is {self.stop!r}, but must be an event, or a function that returns True at the end"
            )

    def is_over(self) -> bool:
        """See `Waiting.is_over`."""
        if self.stop is None:
            return False
        return bool(self.stop() if callable(self.stop) else self.stop.is_set())

    def pause(self) -> None:
        """See `Waiting.pause`."""
        if isinstance(self.stop, threading.Event):
            self.stop.wait(self.interval)
            return
        for seconds in self._steps:
            if self.is_over():
                return
            self.clock.sleep(seconds)

    async def pause_async(self) -> None:
        """The same for an event loop, which goes on meanwhile."""
        for seconds in self._steps:
            if self.is_over():
                return
            await asyncio.sleep(seconds)

    @property
    def _steps(self) -> list[float]:
        """The interval in steps, after each of which `stop` is looked at; one step where nothing can stop it."""
        count = 1 if self.stop is None else math.ceil(self.interval / _STEP_SECONDS)
        return [self.interval / count] * count


def follow_rows(planner: StreamPlanner, start: Offset, waiting: Waiting) -> Generator[pa.RecordBatch, None, None]:
    """The rows of a stream from an offset on, as they come. Raises what `StreamPlanner.latest` and `Table.scan` raise.

    Raises TableNotFound where the table was dropped, and CorruptLog in the middle of a drop, whatever was missed first.
    """
    while not waiting.is_over():
        end = _latest(planner, start)
        if end == start:
            waiting.pause()
            continue
        with _reader(planner, start, end) as reader:
            while (batch := _next(planner, reader)) is not None:
                yield batch
                if waiting.is_over():
                    return
        planner.done(end)
        start = end


async def follow_rows_async(
    planner: StreamPlanner, start: Offset, waiting: Pause
) -> AsyncGenerator[pa.RecordBatch, None]:
    """The same for an event loop: stores are asked, and rows are read, by another thread."""
    while not waiting.is_over():
        end = await _in_thread(partial(_latest, planner, start))
        if end == start:
            await waiting.pause_async()
            continue
        reader = await _in_thread(partial(_reader, planner, start, end))
        close = reader.close
        try:
            while (batch := await _in_thread(partial(_next, planner, reader), otherwise=close)) is not None:
                yield batch
                if waiting.is_over():
                    return
        except asyncio.CancelledError:
            close = _nothing  # what is under way closes the reader when it is done with it
            raise
        finally:
            close()
        planner.done(end)
        start = end


def _reader(planner: StreamPlanner, start: Offset, end: Offset) -> pa.RecordBatchReader:
    """The rows between two offsets."""
    with _while_there(planner):
        return scan(planner.head, planner.request(start, end))


def _latest(planner: StreamPlanner, start: Offset) -> Offset:
    """How far the next step goes."""
    with _while_there(planner):
        return planner.latest(start)


def _next(planner: StreamPlanner, reader: pa.RecordBatchReader) -> pa.RecordBatch | None:
    """The next batch; None at the end."""
    with _while_there(planner):
        return next(reader, None)


@contextmanager
def _while_there(planner: StreamPlanner) -> Generator[None, None, None]:
    """What a call misses because the table was dropped is TableNotFound; in the middle of the drop CorruptLog."""
    try:
        yield
    except (ChangesGone, SplitError, StorageError):
        planner.check_not_dropped()
        raise


def _nothing() -> None:
    """Do nothing."""


async def _in_thread(call: Callable[[], T], otherwise: Callable[[], None] = _nothing) -> T:
    """The answer of a call that another thread makes. `otherwise` follows the call where nobody waits for its answer any more.

    A call cannot be cancelled, so a cancelled task does not wait for it.
    """
    loop = asyncio.get_running_loop()
    under_way = loop.run_in_executor(None, contextvars.copy_context().run, call)
    try:
        return await asyncio.shield(under_way)
    except asyncio.CancelledError:

        def end(done: asyncio.Future[T]) -> None:
            if not done.cancelled():
                done.exception()  # nobody asks for it any more
            otherwise()

        under_way.add_done_callback(end)
        raise
