"""Which version files lie in the place of another version: older copies that were put back, and files that were swapped.

Every commit's time is later than the time of the version before it. So in a log that is whole the times grow from file to file.
Where they do not, the fewest files whose absence makes the others grow are the ones in the wrong place.
"""

from __future__ import annotations

import itertools
from typing import Final, NamedTuple

from indextables.log.actions import CommitInfo
from indextables.log.check.remains import Remains

_IN_PLACE: Final = 3
"""The weight of a version that was committed right after the version before it was read: the place where it lies is its own."""


class _Stamped(NamedTuple):
    """A version file's number, its commit's time, and how much speaks for its place."""

    number: int
    time: int
    weight: int


def misplaced_versions(remains: Remains) -> dict[int, str]:
    """The numbers of misplaced version files, each with the reason. Files without a commit's facts are left out."""
    versions, table_id = remains.versions, remains.table_id
    infos = {
        number: info
        for number, version in sorted(versions.items())
        if (info := version.actions.commit_info) is not None and info.table_id is not None and info.table_id == table_id
    }
    found = {
        number: f"it was committed after version {info.read_version} was read"
        for number, info in infos.items()
        if info.read_version is not None and info.read_version >= number
    }
    found |= {
        number: f"state {number} was written for a version of another time"
        for number, time in _state_times(remains).items()
        if number in infos and number not in found and infos[number].timestamp not in (None, time)
    }
    rest = [
        _Stamped(number, info.timestamp, _IN_PLACE if _follows(number, info) else 1)
        for number, info in infos.items()
        if info.timestamp is not None and number not in found
    ]
    kept = _heaviest_growing(rest)
    for stamped in rest:
        if stamped.number not in kept:
            found[stamped.number] = "its time does not lie between those of its neighbours"
    commits: dict[str, int] = {}
    for number in sorted(versions, key=lambda number: (number in found, number)):
        txn_id = versions[number].actions.txn_id
        if txn_id is not None and commits.setdefault(txn_id, number) != number:
            found[number] = f"it holds the same commit as version {commits[txn_id]}"
    return found


def _state_times(remains: Remains) -> dict[int, int]:
    """The times of the versions that have a state: a state says its own number and the time of its version."""
    states = [base.state for base in remains.bases if base.state is not None and remains.usable(base)]
    return {state.version: state.commit_timestamp for state in states if state.commit_timestamp is not None}


def _follows(number: int, info: CommitInfo) -> bool:
    """Whether a version was committed right after the one before it was read. Version 0 has none before it."""
    return info.read_version == (number - 1 if number else None)


def _heaviest_growing(versions: list[_Stamped]) -> set[int]:
    """The numbers of the heaviest series of versions whose times grow strictly."""
    if all(one.time < other.time for one, other in itertools.pairwise(versions)):
        return {version.number for version in versions}
    ranks = {time: rank for rank, time in enumerate(sorted({version.time for version in versions}), start=1)}
    best: list[tuple[int, int]] = [(0, -1)] * (
        len(ranks) + 1
    )  # a Fenwick tree: the weight of a series, and its last place
    before: list[int] = []
    end = (0, -1)
    for place, version in enumerate(versions):
        weight, last = max(best[node] for node in _below(ranks[version.time] - 1))
        before.append(last)
        series = (weight + version.weight, place)
        end = max(end, series)
        node = ranks[version.time]
        while node < len(best):
            best[node] = max(best[node], series)
            node += node & -node
    kept: set[int] = set()
    place = end[1]
    while place >= 0:
        kept.add(versions[place].number)
        place = before[place]
    return kept


def _below(rank: int) -> list[int]:
    """The nodes of a Fenwick tree that together hold the ranks from 0 to `rank`."""
    nodes = [0]
    while rank:
        nodes.append(rank)
        rank &= rank - 1
    return nodes
