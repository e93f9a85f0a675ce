"""A stream over two thousand versions, while others append, merge, checkpoint and clean up."""

from __future__ import annotations

import random
import threading
import time

import pytest

from indextables.core.errors import ChangesGone
from indextables.table.stream import Limits, Offset
from log.support import HOUR
from table.stream.history_support import History, drained, paths

VERSIONS = 2_000
KEPT = 240
"""Versions within the retention: ten days, an hour each."""


def one_more(history: History, chance: random.Random) -> None:
    """A commit an hour: most append, some rearrange or change nothing; a state every ten, clean-up after every fourth state."""
    history.clock.advance(HOUR)
    verb = chance.choice(["append"] * 6 + ["merge", "property"])
    if verb == "append":
        history.append(chance.randrange(1, 5))
    elif verb == "merge" and len(history.live) > 40:
        history.merge(30)
    else:
        history.set_property()
    if history.newest % 10 == 0:
        history.checkpoint(as_json=history.newest % 70 == 0)
    if history.newest % 40 == 0:
        history.clean_up(days=0)


@pytest.mark.parametrize("seed", range(3))
def test_no_version_twice_and_none_lost(seed: int) -> None:
    """The stream is killed again and again, and goes on with the text of its offset in a process that knows nothing."""
    chance, history = random.Random(seed), History()
    history.append(3)
    planner = history.planner()
    offset = planner.initial()
    given: list[str] = []
    lives, most_behind = 1, 0
    while history.newest < VERSIONS:
        for _ in range(chance.randrange(1, 60)):
            one_more(history, chance)
        for _ in range(chance.randrange(1, 12)):
            if chance.random() < 0.2:
                planner, offset, lives = history.planner(), Offset.from_json(offset.to_json()), lives + 1
            end = planner.latest(
                offset, Limits(files=chance.choice([1, 7, 50, None]), bytes=chance.choice([None, 2_000]))
            )
            step = paths(planner, offset, end)
            assert paths(history.planner(), offset, end) == step
            given += step
            if chance.random() < 0.5:
                planner.done(end)
            offset = end
        most_behind = max(most_behind, history.newest - offset.version)
        if history.newest - offset.version > KEPT // 2:
            step, offset = drained(planner, offset)
            given += step
    given += drained(history.planner(), offset)[0]
    assert given == [name for version in history.versions for name in version.adds]
    assert lives > 30
    assert most_behind > 20
    assert history.oldest_possible() > VERSIONS - 2 * KEPT, "clean-up ran beside the stream"


def test_a_stream_beside_a_thread_that_writes() -> None:
    history = History()
    given: list[str] = []
    planner = history.planner(starting_version=0)
    offset = planner.initial()
    failures: list[BaseException] = []
    reached = [0]

    def write() -> None:
        chance = random.Random(9)
        try:
            while history.newest < VERSIONS:
                until = time.monotonic() + 60
                while history.newest - reached[0] > KEPT // 2:  # the stream is not to be overtaken here
                    assert time.monotonic() < until
                    time.sleep(0.001)
                one_more(history, chance)
        except BaseException as error:
            failures.append(error)

    writer = threading.Thread(target=write)
    writer.start()
    while True:
        is_last = not writer.is_alive()
        end = planner.latest(offset, Limits(files=20))
        given += paths(planner, offset, end)
        planner.done(end)
        reached[0] = end.version
        if end == offset and is_last:
            break
        offset = end
    writer.join()
    assert not failures
    assert given == [name for version in history.versions for name in version.adds]
    assert history.oldest_possible() > VERSIONS // 2


def test_a_stream_that_the_retention_overtakes() -> None:
    chance, history = random.Random(4), History()
    planner = history.planner(starting_version=0)
    offset = planner.latest(planner.initial())
    while history.newest < 3 * KEPT:
        one_more(history, chance)
    with pytest.raises(ChangesGone) as error:
        history.planner().latest(offset)
    oldest = error.value.oldest
    assert f"startingVersion={oldest}" in str(error.value)
    assert offset.version == 0, "version 0 has no rows here, and is never deleted"
    assert (error.value.version, oldest) == (1, history.oldest_possible())
    expected = [name for version in history.versions[oldest:] for name in version.adds]
    again = history.planner(starting_version=oldest)
    assert drained(again, again.initial())[0] == expected
