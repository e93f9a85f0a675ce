"""Which splits are merged into which: small ones of one partition, oldest first, until one of the target size is full.

A split is left alone from `skip_threshold` of the target size on. So every result is filled to more than half, and a row is
rewritten only as often as its split can double. Groups follow one another in age, because rows that were written together are
mostly asked for together: their bounds stay narrow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from indextables.core import options as opt
from indextables.core.arrow_values import array_of
from indextables.core.errors import OptionError
from indextables.core.options import Options
from indextables.table.arguments import whole_number
from indextables.table.split_entry import ENTRY_COLUMNS

PLAN_COLUMNS: Final = [*ENTRY_COLUMNS, "modificationTime"]
"""The columns of the log's list of files that a plan needs: those of the splits, and their age."""


@dataclass(frozen=True)
class Limits:
    """How large results become, and how many there may be."""

    target_size: int
    skip_threshold: float = 0.45
    max_sources: int = 1000
    """Sources of one result at most."""
    max_results: int | None = None


@dataclass(frozen=True)
class Group:
    """Splits of one partition that become one."""

    partition_values: dict[str, str | None]
    files: pa.Table
    """Oldest first, with the columns of `PLAN_COLUMNS`."""

    @property
    def rows(self) -> int:
        """Rows of all sources, as far as the log knows."""
        return pc.sum(self.files.column("numRecords")).as_py() or 0

    @property
    def size(self) -> int:
        """Bytes of all sources."""
        return sum(self.files.column("size").to_pylist())


def merge_limits(
    options: Options,
    target_size: int | str | None = None,
    max_dest_splits: int | None = None,
    max_source_splits_per_merge: int = 1000,
) -> Limits:
    """What a caller says of a merge, checked. Raises OptionError."""
    size = options[opt.MERGE_TARGET_SIZE] if target_size is None else opt.MERGE_TARGET_SIZE.parse(target_size)
    if whole_number("max_source_splits_per_merge", max_source_splits_per_merge) < 2:
        raise OptionError(f"max_source_splits_per_merge is {max_source_splits_per_merge}, but must be 2 or more")
    if max_dest_splits is not None and whole_number("max_dest_splits", max_dest_splits) < 1:
        raise OptionError(f"max_dest_splits is {max_dest_splits}, but must be 1 or more")
    return Limits(size, options[opt.MERGE_SKIP_SPLIT_THRESHOLD], max_source_splits_per_merge, max_dest_splits)


def plan_merges(files: pa.Table, partition_columns: Sequence[str], limits: Limits) -> list[Group]:
    """The groups to merge, the one with the oldest split first."""
    return _planned(files, partition_columns, limits, 2, lambda _rows: 0)


def plan_tiers(files: pa.Table, partition_columns: Sequence[str], limits: Limits, least: int) -> list[Group]:
    """The groups to merge if only splits of like size are merged, at least `least` of them: the one with the oldest split first.

    Two splits are of like size if their numbers of rows have as many digits in base `least`. A result of `least` splits has one
    digit more than these, so that a row is merged again only once its split has grown `least` times.
    """
    return _planned(files, partition_columns, limits, least, lambda rows: _digits(rows, least))


def _digits(number: int, base: int) -> int:
    """The digits of a number that is not negative."""
    digits = 1
    while number >= base:
        number //= base
        digits += 1
    return digits


def _planned(
    files: pa.Table, partition_columns: Sequence[str], limits: Limits, least: int, tier_of: Callable[[int], int]
) -> list[Group]:
    """Groups of at least `least` splits of one partition and one tier. `tier_of` gives the tier of a number of rows."""
    small = files.select(PLAN_COLUMNS).filter(
        pc.less_equal(files.column("size"), pa.scalar(_largest(limits), pa.int64()))
    )
    small = small.take(
        pc.sort_indices(small, sort_keys=[("modificationTime", "ascending"), ("path", "ascending")])
    ).combine_chunks()
    alike: dict[tuple[tuple[str | None, ...], int], list[int]] = {}
    rows = small.column("numRecords").to_pylist()
    for number, values in enumerate(small.column("partitionValues").to_pylist()):
        place = _texts(dict(values), partition_columns), tier_of(rows[number] or 0)
        alike.setdefault(place, []).append(number)
    sizes = small.column("size").to_pylist()
    chosen = [
        (group, texts)
        for (texts, _), numbers in alike.items()
        for group in _filled(numbers, sizes, limits)
        if len(group) >= least
    ]
    chosen.sort(key=lambda item: item[0][0])
    return [
        Group(dict(zip(partition_columns, texts, strict=True)), small.take(array_of(group, pa.int64())))
        for group, texts in chosen[: limits.max_results]
    ]


def _largest(limits: Limits) -> int:
    """The size of the largest split that is merged: a whole number, because a log may have sizes that no double holds."""
    return min(math.ceil(limits.target_size * limits.skip_threshold) - 1, 2**63 - 1)


def _filled(numbers: Sequence[int], sizes: Sequence[int], limits: Limits) -> Iterator[list[int]]:
    """Cut a row of files where the next one would be too much."""
    group: list[int] = []
    total = 0
    for number in numbers:
        if group and (total + sizes[number] > limits.target_size or len(group) == limits.max_sources):
            yield group
            group, total = [], 0
        group.append(number)
        total += sizes[number]
    if group:
        yield group


def _texts(values: dict[str, Any], columns: Sequence[str]) -> tuple[str | None, ...]:
    """The texts of a file's partition, which may be written in other letter case than the table has it."""
    if values.keys() <= set(columns):
        return tuple(values.get(column) for column in columns)
    lowered = {key.lower(): text for key, text in values.items()}
    return tuple(lowered.get(column.lower()) for column in columns)
