"""Which splits are merged into which: packed by a pure function, so every promise of it is a property."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from indextables.log.file_entries import FILE_SCHEMA
from indextables.table.maintain.merge_plan import PLAN_COLUMNS, Group, Limits, plan_merges, plan_tiers

SCHEMA = pa.schema([FILE_SCHEMA.field(name) for name in PLAN_COLUMNS])
File = dict[str, Any]


def file(path: str, size: int, values: dict[str, str | None] | None = None, time: int = 0, **more: Any) -> File:
    given_fields = {"path": path, "size": size, "partitionValues": list((values or {}).items())}
    return {**given_fields, "modificationTime": time, "footerStartOffset": 0, "numRecords": 10, **more}


def files(rows: Sequence[File], chunk: int = 3) -> pa.Table:
    """In chunks, as a log that grew version by version has them."""
    table = pa.Table.from_pylist(list(rows), SCHEMA)
    parts = [table.slice(start, chunk) for start in range(0, len(table), chunk)]
    return pa.concat_tables(parts) if parts else table


def planned(rows: Sequence[File], limits: Limits, columns: Sequence[str] = ("day",)) -> list[Group]:
    return plan_merges(files(rows), columns, limits)


def paths(groups: Sequence[Group]) -> list[list[str]]:
    return [group.files.column("path").to_pylist() for group in groups]


VALUES: st.SearchStrategy[dict[str, str | None]] = st.sampled_from(
    [{}, {"day": None}, {"day": ""}, {"day": "a"}, {"DAY": "a"}, {"day": "b"}, {"day": "a", "host": "x"}, {"Host": "x"}]
)
SIZES = st.integers(0, 120) | st.sampled_from([0, 1, 44, 45, 46, 49, 50, 51, 100])


@st.composite
def logs(draw: st.DrawFn) -> list[File]:
    drawn = draw(st.lists(st.tuples(SIZES, VALUES, st.integers(0, 5)), max_size=40))
    names = draw(st.permutations(range(len(drawn))))
    return [file(f"{name:02}", size, values, time) for name, (size, values, time) in zip(names, drawn, strict=True)]


def partition(row: File) -> tuple[str | None, str | None]:
    """The plainest reading: by lower case, absent is null."""
    values = {key.lower(): text for key, text in dict(row["partitionValues"]).items()}
    return values.get("day"), values.get("host")


@settings(max_examples=examples(100), deadline=None)
@given(
    logs(),
    st.sampled_from([1, 2, 10, 50, 100, 1000]),
    st.sampled_from([0.0, 0.1, 0.45, 0.5, 0.9, 1.0]),
    st.integers(2, 8),
    st.none() | st.integers(1, 4),
)
def test_properties(rows: list[File], target: int, threshold: float, most: int, results: int | None) -> None:
    limits = Limits(target, threshold, most, results)
    groups = planned(rows, limits, ("day", "host"))
    known = {row["path"]: row for row in rows}
    every = planned(rows, Limits(target, threshold, most), ("day", "host"))
    assert paths(groups) == paths(every)[:results], "a limit takes the first of all groups"
    used = list(itertools.chain.from_iterable(paths(every)))
    assert len(used) == len(set(used)), "no file is in two groups"
    for group in every:
        members = [known[path] for path in group.files.column("path").to_pylist()]
        assert group.files.schema == SCHEMA
        assert {partition(member) for member in members} == {tuple(group.partition_values.values())}
        assert list(group.partition_values) == ["day", "host"]
        assert 2 <= len(members) <= most
        assert sum(member["size"] for member in members) == group.size <= target
        assert all(member["size"] < threshold * target for member in members)
        assert group.rows == 10 * len(members)
        assert ages(members) == sorted(ages(members)), "oldest first"
    oldest = [ages([known[path] for path in group])[0] for group in paths(every)]
    assert oldest == sorted(oldest), "the group with the oldest file first"
    check_nothing_was_left(rows, every, limits)


def ages(members: Sequence[File]) -> list[tuple[int, str]]:
    return [(member["modificationTime"], member["path"]) for member in members]


def check_nothing_was_left(rows: list[File], groups: list[Group], limits: Limits) -> None:
    """Two groups of a partition that follow one another are too much for one, and so are a group and a file that was left
    out right before or after it. Where single files may be more than half of the target, one may stand between two groups.
    """
    taken = {path: number for number, group in enumerate(paths(groups)) for path in group}
    small = [row for row in rows if row["size"] < limits.skip_threshold * limits.target_size]
    for _, members in itertools.groupby(sorted(small, key=lambda row: repr(partition(row))), partition):
        ordered = sorted(members, key=lambda row: (row["modificationTime"], row["path"]))
        runs = [
            list(run)
            for _, run in itertools.groupby(ordered, lambda row: taken.get(row["path"], f"alone: {row['path']}"))
        ]
        for first, second in itertools.pairwise(runs):
            size = sum(row["size"] for row in [*first, *second])
            assert size > limits.target_size or len(first) + len(second) > limits.max_sources
        singles = [run for run in runs if run[0]["path"] not in taken]
        if limits.skip_threshold <= 0.5:
            assert not singles or singles == [runs[-1]], "at most the newest file is left alone"


def test_the_order_of_the_log_does_not_matter() -> None:
    rows = [file(f"{number}", 20, time=number % 4) for number in range(12)]
    expected = paths(planned(rows, Limits(100)))
    assert expected == [["0", "4", "8", "1", "5"], ["9", "10", "2", "6", "11"], ["3", "7"]]
    for order in (rows[::-1], rows[6:] + rows[:6]):
        assert paths(planned(order, Limits(100))) == expected


class TestNothing:
    def test_of_no_files(self) -> None:
        assert planned([], Limits(100)) == []
        assert plan_merges(FILE_SCHEMA.empty_table(), (), Limits(100)) == []

    @pytest.mark.parametrize(
        "rows",
        [
            [file("a", 1)],
            [file("a", 45), file("b", 46)],
            [file("a", 1, {"day": "1"}), file("b", 1, {"day": "2"})],
            [file("a", 1, {"day": None}), file("b", 1, {"day": ""})],
            [file("a", 44), file("b", 450)],
        ],
    )
    def test_to_do(self, rows: list[File]) -> None:
        assert planned(rows, Limits(100)) == []


class TestSizes:
    @pytest.mark.parametrize(("size", "merged"), [(449, True), (450, False), (451, False)])
    def test_at_the_threshold(self, size: int, merged: bool) -> None:
        found = paths(planned([file("a", size), file("b", size)], Limits(1000)))
        assert found == ([["a", "b"]] if merged else [])

    def test_at_the_target(self) -> None:
        rows = [file(name, 25) for name in "abcde"]
        assert paths(planned(rows, Limits(100))) == [["a", "b", "c", "d"]]
        assert paths(planned(rows, Limits(99))) == [["a", "b", "c"], ["d", "e"]]

    def test_of_nothing_at_all(self) -> None:
        rows = [file(f"{number:04}", 0) for number in range(2500)]
        assert list(map(len, paths(planned(rows, Limits(1))))) == [1000, 1000, 500]

    @pytest.mark.parametrize("size", [2**53 + 1, 2**62, 2**63 - 1])
    def test_that_no_double_can_hold(self, size: int) -> None:
        rows = [file("huge", size), file("a", 1), file("b", 1)]
        assert paths(planned(rows, Limits(100))) == [["a", "b"]]

    def test_of_a_target_beyond_every_number(self) -> None:
        rows = [file("a", 2**62), file("b", 2**62), file("c", 2**62)]
        assert paths(planned(rows, Limits(2**80))) == [["a", "b", "c"]]

    def test_add_up_beyond_64_bits(self) -> None:
        rows = [file(name, 2**63 - 1) for name in "ab"]
        [group] = planned(rows, Limits(2**70))
        assert group.size == 2**64 - 2


class TestPartitions:
    def test_null_and_absent_are_one(self) -> None:
        rows = [file("a", 1, {"day": None}), file("b", 1), file("c", 1, {"day": ""}), file("d", 1, {"day": ""})]
        groups = planned(rows, Limits(100))
        assert paths(groups) == [["a", "b"], ["c", "d"]]
        assert [group.partition_values for group in groups] == [{"day": None}, {"day": ""}]

    def test_in_any_letter_case(self) -> None:
        rows = [file("a", 1, {"Day": "x"}), file("b", 1, {"day": "x"}), file("c", 1, {"DAY": "X"})]
        [group] = planned(rows, Limits(100))
        assert paths([group]) == [["a", "b"]], "names may differ in case, values may not"
        assert group.partition_values == {"day": "x"}

    def test_values_that_are_no_partition_column(self) -> None:
        rows = [file("a", 1, {"host": "1"}), file("b", 1, {"host": "2"})]
        assert paths(planned(rows, Limits(100), ())) == [["a", "b"]]

    def test_that_look_alike_when_joined(self) -> None:
        rows = [file("a", 1, {"a": "x/y", "b": "z"}), file("b", 1, {"a": "x", "b": "y/z"})]
        assert planned(rows, Limits(100), ("a", "b")) == []

    def test_take_turns_by_age(self) -> None:
        rows = [file(f"{day}{number}", 40, {"day": day}, time=number) for day in "ab" for number in range(4)]
        assert paths(planned(rows, Limits(100))) == [["a0", "a1"], ["b0", "b1"], ["a2", "a3"], ["b2", "b3"]]
        assert paths(planned(rows, Limits(100, max_results=3))) == [["a0", "a1"], ["b0", "b1"], ["a2", "a3"]]


def test_rows_that_the_log_does_not_know() -> None:
    rows = [file("a", 1, numRecords=None), file("b", 1), file("c", 1, numRecords=None)]
    [group] = planned(rows, Limits(100))
    assert group.rows == 10
    [unknown] = planned(rows[::2], Limits(100))
    assert unknown.rows == 0


@pytest.mark.parametrize(
    ("rows", "least", "expected"),
    [
        ([5] * 9, 10, []),
        ([5] * 10, 10, [list(range(10))]),
        ([5] * 23, 10, [list(range(23))]),
        ([3, 50] * 4, 4, [[0, 2, 4, 6], [1, 3, 5, 7]]),
        ([100] * 9 + [1000], 10, []),
        ([100] * 10 + [1000], 10, [list(range(10))]),
        ([0, 1, 3, 2], 4, [[0, 1, 2, 3]]),
    ],
)
def test_splits_of_like_size_are_merged(rows: list[int], least: int, expected: list[list[int]]) -> None:
    table = files([file(f"{number:02}", 10, numRecords=each) for number, each in enumerate(rows)])
    found = plan_tiers(table, [], Limits(1 << 30), least)
    assert paths(found) == [[f"{number:02}" for number in group] for group in expected]


def test_splits_of_like_size_in_other_partitions_are_not_merged() -> None:
    rows = [file(f"{number:02}", 10, {"day": str(number % 3)}) for number in range(12)]
    assert plan_tiers(files(rows), ["day"], Limits(1 << 30), 5) == []
    groups = plan_tiers(files(rows), ["day"], Limits(1 << 30), 4)
    assert [group.partition_values for group in groups] == [{"day": "0"}, {"day": "1"}, {"day": "2"}]
