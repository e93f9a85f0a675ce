"""Pruning never drops a file with a matching row, whoever wrote the statistics: by random tables, and by all short ones."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from effort import EFFORT, examples
from indextables.core.bound_texts import column_stats
from indextables.core.options import Options
from indextables.core.predicate import (
    And,
    ColumnBounds,
    IsNotNull,
    IsNull,
    Not,
    Or,
    Predicate,
    compare,
    like,
    may_match,
    member,
)
from indextables.core.values import to_text
from indextables.log.bound_limits import limit_stats
from indextables.log.pruning.file_pruning import manifest_bounds, prune_files
from log.file_tables import files_table
from predicate_data import OPS, POOLS, SCHEMA, column, meaning, predicates, rows, seen_literals, to_table

TIMES = {"day", "at", "local"}
EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - UTC, and faster without a zone
Row = dict[str, Any]


class OurWriter:
    """Statistics as our writers make them, cut or not."""

    def __init__(self, length: int | None) -> None:
        self.length = length

    def bounds(self, data: list[Row]) -> tuple[dict[str, Any], dict[str, Any]]:
        low, high, _ = column_stats(to_table(data, list(data[0])), SCHEMA)
        cut = {"stats.truncation.enabled": self.length is not None, "stats.truncation.maxLength": self.length or 1}
        options = Options(cut | {"dataSkippingNumIndexedCols": -1})
        limited = limit_stats(low, high, schema=SCHEMA, partition_columns=(), options=options)
        return limited[0] or {}, limited[1] or {}


class ForeignWriter:
    """Statistics as others make them: by UTF-16 order, cut without rounding, with coarse times and poisoned by NaN."""

    def __init__(self, length: int, utf16: bool, digits: int, native: bool) -> None:
        self.length, self.utf16, self.digits, self.native = length, utf16, digits, native

    def bounds(self, data: list[Row]) -> tuple[dict[str, Any], dict[str, Any]]:
        low: dict[str, Any] = {}
        high: dict[str, Any] = {}
        for name in data[0]:
            values = [row[name] for row in data if row[name] is not None]
            if not values or name == "raw":
                continue
            if name in {"ratio", "score"} and any(math.isnan(value) for value in values):
                values = [math.nan]
            if name in TIMES and self.native and self.digits != 9:  # found by comparing texts
                texts = [self.time(name, value) for value in values]
                if not any(text.startswith("+") for text in texts):
                    low[name], high[name] = min(texts), max(texts)
                continue
            key = (lambda v: v.encode("utf-16-be")) if name == "text" and self.utf16 else None
            low[name] = self.text(name, min(values, key=key))
            high[name] = self.text(name, max(values, key=key))
        return low, high

    def text(self, name: str, value: Any) -> Any:
        if name == "text":
            return self.cut(value)
        if name in TIMES:
            return self.time(name, value)
        if name in {"ratio", "score"}:
            text = to_text(value, SCHEMA.field(name).type, keep_nan=True)
            assert text is not None
            if self.native and math.isfinite(value):
                return value
            return text.replace("e+", "E").replace("e", "E")
        if self.native and not isinstance(value, Decimal):
            return value
        text = to_text(value, SCHEMA.field(name).type)
        assert text is not None
        return text[:32]

    def cut(self, text: str) -> str:
        units = text.encode("utf-16-be")[: 2 * self.length]
        return units.decode("utf-16-be", "replace").replace("\ufffd", "?")

    def time(self, name: str, value: int) -> str:
        micros = value * 86_400_000_000 if name == "day" else value
        if name != "day" and self.digits == 9:
            return str(micros // 1_000_000)  # seconds since 1970
        try:
            moment = EPOCH + dt.timedelta(microseconds=micros)
        except OverflowError:
            return "+10000-01-01T00:00:00Z"
        if name == "day":
            return moment.date().isoformat()
        fraction = f".{moment.microsecond:06d}"[: self.digits + 1] if self.digits else ""
        fraction = fraction.rstrip("0").rstrip(".") if self.native else fraction
        return moment.isoformat(timespec="seconds") + fraction + ("Z" if name == "at" else "")


@st.composite
def snapshots(draw: st.DrawFn) -> tuple[list[list[Row]], pa.Table, tuple[str, ...]]:
    """Files of rows, their log entries by a random writer, and the partition columns."""
    names = draw(st.lists(st.sampled_from(SCHEMA.names), min_size=1, max_size=3, unique=True))
    partitions = tuple(draw(st.lists(st.sampled_from(names), max_size=2, unique=True).map(lambda p: set(p) - {"raw"})))
    writer = draw(
        st.builds(OurWriter, st.none() | st.integers(1, 8))
        | st.builds(
            ForeignWriter, st.integers(1, 6) | st.just(32), st.booleans(), st.sampled_from([0, 3, 6, 9]), st.booleans()
        )
    )
    groups: list[list[Row]] = []
    entries = []
    for number, data in enumerate(draw(st.lists(rows(names, min_size=1, max_size=4), min_size=1, max_size=3))):
        data = [row | {name: data[0][name] for name in partitions} for row in data]
        groups.append(data)
        low, high = writer.bounds(data)
        where = draw(st.sampled_from(["maps", "json", "both"]))
        lost = draw(st.sets(st.sampled_from(names), max_size=1))
        low = {name: value for name, value in low.items() if name not in lost}
        stats: dict[str, Any] = {}
        if draw(st.booleans()):
            stats["numRecords"] = len(data)
        if draw(st.booleans()):
            stats["nullCount"] = {name: sum(row[name] is None for row in data) for name in names}
        if where != "maps":
            stats |= {"minValues": low, "maxValues": high}
        texts = [{name: as_text(value) for name, value in side.items()} for side in (low, high)]
        entries.append(
            {
                "path": str(number),
                "partitionValues": partition_values(data[0], partitions, draw(st.booleans())),
                "minValues": texts[0] if where != "json" else None,
                "maxValues": texts[1] if where != "json" else None,
                "stats": json.dumps(stats) if draw(st.booleans()) or where == "json" else None,
                "numRecords": draw(st.none() | st.just(len(data))),
            }
        )
    table = files_table(entries)
    if draw(st.booleans()):
        table = pa.concat_tables([table.slice(0, 1), table.slice(1)])
    return groups, table, partitions


def as_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else repr(value)


def partition_values(row: Row, names: tuple[str, ...], absent: bool) -> dict[str, str | None]:
    values: dict[str, str | None] = {}
    for name in names:
        value = row[name]
        arrow_type = SCHEMA.field(name).type
        text: str | None
        if value is None:
            text = None
        elif name in TIMES:
            try:
                moment = EPOCH + dt.timedelta(days=value) if name == "day" else EPOCH + dt.timedelta(microseconds=value)
                text = to_text(moment.date() if name == "day" else moment, arrow_type)
            except OverflowError:
                text = "not a time"
        else:
            text = to_text(value, arrow_type, keep_nan=True)
        if text is not None or not absent:
            values[name] = text
    return values


WRITERS: list[OurWriter | ForeignWriter] = [
    OurWriter(None),
    OurWriter(1),
    OurWriter(2),
    OurWriter(3),
    *(ForeignWriter(length, utf16, 6, False) for length in (1, 2, 3, 32) for utf16 in (False, True)),
    *(ForeignWriter(32, False, digits, native) for digits in (0, 3, 6, 9) for native in (False, True)),
]


def every_leaf(name: str) -> list[Predicate]:
    """Comparisons with everything in the pool and between its values, lists, patterns and null tests, and their negations."""
    target = column(name)
    seen = seen_literals([{name: value} for value in POOLS[name]])[name]
    near: list[Any] = [Decimal("0.5"), Decimal("1.001"), 10**30] if name in {"tiny", "id", "price", "big"} else []
    found: list[Predicate] = [compare(target, op, literal) for op in OPS for literal in [*seen, *near]]
    found += [member(target, [a, b]) for a, b in itertools.pairwise([*seen, *seen[::3]])]
    found += [member(target, [seen[0], None]), member(target, seen), IsNull(target), IsNotNull(target)]
    if name == "text":
        patterns = itertools.product(["a", "ab", "😀", "?", "\uffff", ""], ["%", "", "_", "%c"])
        found += [like(target, start + end) for start, end in patterns]
    return found + [Not(predicate) for predicate in found]


@pytest.mark.parametrize("name", POOLS)
def test_no_writer_and_no_comparison_lose_a_row(name: str) -> None:
    """Every pair of values is a file, described by every writer, in the maps and inside `stats`."""
    groups = [[{name: a}, {name: b}] for a, b in itertools.combinations_with_replacement([None, *POOLS[name]], 2)]
    described = [(group, entry) for group in groups for entry in every_entry(group)]
    files = files_table([entry | {"path": str(i)} for i, (_, entry) in enumerate(described)])
    effective = 0
    leaves = [*every_leaf(name), *(every_range(name) if name == "score" else [])]
    for predicate in leaves if EFFORT > 1 else leaves[len(name) % 3 :: 3]:
        matching = {id(group) for group in groups if any(meaning(predicate, row) is True for row in group)}
        kept = set(prune_files(files, predicate, SCHEMA, ())["path"].to_pylist())
        lost = [entry for i, (group, entry) in enumerate(described) if id(group) in matching and str(i) not in kept]
        assert not lost, (predicate, lost[0])
        effective += len(described) - len(kept)
    assert effective > 0


def every_entry(group: list[Row]) -> list[dict[str, Any]]:
    """All the ways in which the writers describe one file, each once."""
    nulls = {name: sum(row[name] is None for row in group) for name in group[0]}
    counts = {"numRecords": len(group), "nullCount": nulls}
    found: list[dict[str, Any]] = [{"stats": json.dumps({"nullCount": nulls}), "numRecords": len(group)}]
    for writer in WRITERS:
        low, high = writer.bounds(group)
        low_texts, high_texts = ({k: as_text(v) for k, v in side.items()} for side in (low, high))
        found += [
            {"minValues": low_texts, "maxValues": high_texts, "stats": json.dumps(counts)},
            {"minValues": {}, "maxValues": high_texts},
            {"minValues": low_texts, "maxValues": None},
            {"stats": json.dumps({"minValues": low, "maxValues": high})},
        ]
    return list({json.dumps(entry): entry for entry in found}.values())


def every_range(name: str) -> list[Predicate]:
    """Two comparisons of one column, joined: what one says about NaN may be used for the other in an AND only."""
    target = column(name)
    seen = seen_literals([{name: value} for value in POOLS[name]])[name]
    sides = itertools.product((">", "<>"), seen[1::2], ("<", "=", ">"), seen[::2])
    pairs = [(compare(target, a, x), compare(target, b, y)) for a, x, b, y in sides]  # type: ignore[arg-type]
    return [kind(pair) for pair in pairs for kind in (And, Or)] + [Not(And(pair)) for pair in pairs]


@pytest.mark.slow
@settings(
    max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(st.data())
def test_no_file_with_a_matching_row_is_dropped(data: st.DataObject) -> None:
    groups, files, partitions = data.draw(snapshots())
    flat = [row for group in groups for row in group]
    predicate = data.draw(predicates(list(flat[0]), flat))
    kept = prune_files(files, predicate, SCHEMA, partitions)["path"].to_pylist()
    for number, group in enumerate(groups):
        if any(meaning(predicate, row) is True for row in group):
            assert str(number) in kept, (predicate, files.slice(number, 1).to_pylist())
    assert kept == [path for path in files["path"].to_pylist() if path in kept]


@pytest.mark.slow
@settings(max_examples=examples(75), deadline=None)
@given(st.data())
def test_no_manifest_with_a_matching_row_is_dropped(data: st.DataObject) -> None:
    names = data.draw(st.lists(st.sampled_from(SCHEMA.names), min_size=1, max_size=3, unique=True))
    group = data.draw(rows(names, min_size=1, max_size=4))
    low, high, nulls = column_stats(to_table(group, names), SCHEMA)
    bounds = manifest_bounds({n: (low.get(n), high.get(n)) for n in {*low, *high}}, SCHEMA, typed=True)
    if data.draw(st.booleans()):
        for name, found in bounds.items():
            count = nulls[name]
            bounds[name] = ColumnBounds(found.min, found.max, has_nulls=count > 0, all_null=count == len(group))
    predicate = data.draw(predicates(names, group))
    if any(meaning(predicate, row) is True for row in group):
        assert may_match(predicate, bounds)
