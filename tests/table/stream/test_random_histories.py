"""Random histories of tables beside random streams over them: no file is given twice, none is missed.

A stream is killed at any moment, and goes on in another process with nothing but the text of its offset. Steps that were planned
before are planned again and must be the same. What is to be given comes from `History`, a list that knows no offsets.
"""

from __future__ import annotations

import warnings
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from effort import examples
from indextables.core.errors import ChangesGone, LogWarning, RowsRemoved
from indextables.table.stream import Limits, Offset, StreamPlanner
from table.stream.history_support import History, paths

LIMITS = st.builds(
    Limits,
    files=st.none() | st.integers(1, 6),
    bytes=st.none() | st.integers(1, 1_000),
    rows=st.none() | st.integers(1, 6),
)
CHANGES: list[dict[str, Any]] = [{}, {"ignore_deletes": True}, {"ignore_changes": True}, {"skip_change_commits": True}]


class Streams(RuleBasedStateMachine):
    """One table, one stream, and the list of what the stream must give."""

    @initialize(
        starting=st.sampled_from([None, None, "latest", 0, 2]), change=st.sampled_from(CHANGES), files=st.integers(0, 4)
    )
    def begin(self, starting: Any, change: dict[str, Any], files: int) -> None:
        self.history = History()
        for _ in range(3):
            if files:
                self.history.append(files)
            else:
                self.history.set_property()
        self.options = {**change, "starting_version": starting}
        self.change = change
        self.planner: StreamPlanner = self.history.planner(**self.options)
        self.offset = self.planner.initial()
        newest = self.history.newest
        self.pending = list(self.history.live) if starting is None else []
        """What the stream has to give before `self.next`, the first version that it has not reached."""
        self.next = newest + 1 if starting in (None, "latest") else starting
        self.steps: list[tuple[str, str, list[str]]] = []

    # the table

    @rule(count=st.integers(1, 4))
    def append(self, count: int) -> None:
        self.history.append(count)

    @precondition(lambda self: len(self.history.live) > 1)
    @rule(count=st.integers(2, 5))
    def merge(self, count: int) -> None:
        self.history.merge(count)

    @rule(count=st.integers(1, 3))
    def overwrite(self, count: int) -> None:
        self.history.overwrite(count)

    @precondition(lambda self: self.history.live)
    @rule(count=st.integers(1, 3))
    def delete(self, count: int) -> None:
        self.history.delete(count)

    @rule()
    def set_property(self) -> None:
        self.history.set_property()

    @rule(as_json=st.booleans())
    def checkpoint(self, as_json: bool) -> None:
        self.history.checkpoint(as_json=as_json)

    @rule(days=st.sampled_from([0.1, 4, 15]))
    def clean_up(self, days: float) -> None:
        self.history.clean_up(days)

    # the stream

    def expected(self) -> list[str]:
        """All that the stream has to give now, up to a commit that is an error."""
        found = list(self.pending)
        for number in range(self.next, self.history.newest + 1):
            if self.is_refused(number):
                break
            found += self.history.given(number, **self.change)
        return found

    def is_refused(self, number: int) -> bool:
        version = self.history.versions[number]
        if not version.removes or self.change.keys() & {"ignore_changes", "skip_change_commits"}:
            return False
        return bool(version.adds) or "ignore_deletes" not in self.change

    def refused(self) -> int | None:
        """The first version ahead that ends the stream."""
        numbers = range(self.next, self.history.newest + 1)
        return next((number for number in numbers if self.is_refused(number)), None)

    @rule(limits=LIMITS, is_done=st.booleans())
    def step(self, limits: Limits, is_done: bool) -> None:
        expected = self.expected()
        try:
            end = self.planner.latest(self.offset, limits)
            given = paths(self.planner, self.offset, end)
        except RowsRemoved as error:
            assert not expected, "what comes before is given first"
            assert error.version == self.refused()  # noqa: PT017 - most steps raise nothing
            self.begin_again(error.version + 1)
            return
        except ChangesGone as error:
            self.is_right(error)
            self.begin_again(error.oldest)
            return
        assert given == expected[: len(given)]
        assert bool(given) == bool(expected), "a step gives something where there is something"
        if end == self.offset:
            return
        if limits.files is not None:
            assert len(given) <= limits.files
        self.steps.append((self.offset.to_json(), end.to_json(), given))
        self.go_on(end)
        if is_done:
            self.planner.done(end)

    def go_on(self, end: Offset) -> None:
        """The model takes the place of the offset from what the offset says it has given."""
        if end.snapshot:
            snapshot = self.offset if self.offset.snapshot else None
            assert snapshot is not None
            self.pending = self.pending[end.index - self.offset.index :]
        else:
            self.pending = self.history.given(end.version, **self.change)[end.index :] if end.index else []
            self.next = end.version + 1 if end.index else end.version
        self.offset = end

    def begin_again(self, version: int) -> None:
        """What the error said to do: a new stream from a version on."""
        self.options["starting_version"] = version
        self.restart()
        self.offset = self.planner.initial()
        self.pending, self.next, self.steps = [], version, []

    def is_right(self, error: ChangesGone) -> None:
        needed = set(range(self.offset.version, self.history.newest + 1))
        assert needed - self.history.kept or self.offset.snapshot
        assert error.oldest == self.history.oldest_possible()

    @rule()
    def restart(self) -> None:
        """Another process: all that is left is the text."""
        self.planner = self.history.planner(**self.options)
        if self.steps:
            self.offset = Offset.from_json(self.steps[-1][1])

    @precondition(lambda self: self.steps)
    @rule(data=st.data(), in_this_process=st.booleans())
    def plan_again(self, data: st.DataObject, in_this_process: bool) -> None:
        """A step that was planned before is the same step, as long as its versions are there."""
        start, end, given = data.draw(st.sampled_from(self.steps))
        planner = self.planner if in_this_process else self.history.planner(**self.options)
        try:
            assert paths(planner, Offset.from_json(start), Offset.from_json(end)) == given
        except ChangesGone:
            kept = self.history.kept
            first = Offset.from_json(start)
            assert first.snapshot or set(range(first.version, self.history.newest + 1)) - kept

    @rule()
    def lag(self) -> None:
        planner = self.history.planner(**self.options)
        try:
            lag = planner.lag(self.offset)
        except ChangesGone as error:
            raise AssertionError("how far a stream is behind is no error") from error
        if lag.is_exact:
            numbers = range(self.next, self.history.newest + 1)
            ahead = [name for number in numbers for name in self.history.versions[number].adds]
            assert lag.files == len(self.pending) + len(ahead) or "skip_change_commits" in self.change
        assert lag.versions == max(self.history.newest + 1 - self.offset.version, 0)

    @precondition(lambda self: self.steps)
    @rule()
    def lose(self) -> None:
        """With failOnDataLoss=false a stream never stops for versions that are gone, and gives nothing twice."""
        options = {**self.options, "fail_on_data_loss": False, "ignore_changes": True, "skip_change_commits": False}
        planner = self.history.planner(**options)
        given: list[str] = []
        first = offset = Offset.from_json(self.steps[0][1])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LogWarning)
            while (end := planner.latest(offset, Limits(files=3))) != offset:
                given += paths(planner, offset, end)
                offset = end
        assert len(given) == len(set(given))
        there = range(max(self.history.oldest_possible(), first.version + 1), self.history.newest + 1)
        sure = [name for number in there for name in self.history.versions[number].adds]
        assert set(sure) <= set(given)

    @invariant()
    def offsets_are_small(self) -> None:
        assert len(self.offset.to_json()) < 150


TestStreams = Streams.TestCase
TestStreams.settings = settings(max_examples=examples(150), stateful_step_count=40, deadline=None)
