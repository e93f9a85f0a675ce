"""Statistics of a stream of batches are those of all rows at once, and never exclude a row."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from indextables.core.bound_texts import column_stats, truncated_maximum, truncated_minimum
from indextables.core.values import is_text
from indextables.split.build.statistics import Statistics, Summary, merged_summary
from indextables.split.bundle.footer import Facts
from predicate_data import SCHEMA, rows, to_table


def summary(table: pa.Table, batch_rows: int | None = None, **options: object) -> Summary:
    statistics = Statistics(table.schema, **options)  # type: ignore[arg-type]
    for batch in table.to_batches(batch_rows):
        statistics.add(batch)
    return statistics.finish()


@settings(max_examples=examples(75), deadline=None)
@given(rows(max_size=12), st.integers(1, 12), st.none() | st.integers(1, 40))
def test_batches_add_up(data: list[dict[str, object]], batch_rows: int, length: int | None) -> None:
    table = to_table(data)
    found = summary(table, batch_rows, length=length)
    low, high, nulls = column_stats(table, SCHEMA)
    if length is not None:
        texts = {field.name for field in SCHEMA if is_text(field.type)}
        low = {name: truncated_minimum(text, length) if name in texts else text for name, text in low.items()}
        cut = {name: truncated_maximum(text, length) if name in texts else text for name, text in high.items()}
        high = {name: text for name, text in cut.items() if text is not None}
    assert found.min_values == low
    assert found.max_values == high
    assert found.null_counts == nulls
    assert found.rows == len(data)
    times = (low.get("at"), high.get("at"))
    assert found.time_range == (None if None in times else times)


def test_what_is_written() -> None:
    table = pa.table(
        {
            "n": pa.array([3, None, -7]),
            "f": pa.array([float("nan"), 0.0, float("inf")]),
            "s": pa.array(["b", "", None]),
            "d": pa.array([dt.date(2024, 1, 31), None, dt.date(1, 1, 1)]),
            "p": pa.array([Decimal("1.50"), Decimal("-0.05"), None], pa.decimal128(5, 2)),
            "at": pa.array([dt.datetime(2024, 1, 31, 12, tzinfo=dt.UTC), None, None], pa.timestamp("us", "UTC")),
            "b": pa.array([True, None, True]),
            "l": pa.array([[1], None, None]),
        }
    )
    found = summary(table, 1)
    assert found.min_values == {
        "n": "-7", "f": "0.0", "s": "", "d": "0001-01-01", "p": "-0.05", "at": "2024-01-31T12:00:00.000000Z", "b": "true",
    }  # fmt: skip
    assert found.max_values == {
        "n": "3", "f": "Infinity", "s": "b", "d": "2024-01-31", "p": "1.50", "at": "2024-01-31T12:00:00.000000Z", "b": "true",
    }  # fmt: skip
    assert found.null_counts == {"n": 1, "f": 0, "s": 1, "d": 1, "p": 1, "at": 2, "b": 1, "l": 2}
    assert found.time_range == ("2024-01-31T12:00:00.000000Z", "2024-01-31T12:00:00.000000Z")
    assert found.uncompressed_bytes > 0


@pytest.mark.parametrize("batches", [[0.0, -0.0], [-0.0, 0.0], [1.0, -0.0], [-0.0, 1.0]])
def test_the_zeros(batches: list[float]) -> None:
    for values in (batches, [*batches, 0.0]):
        found = summary(pa.table({"x": values}), 1)
        assert found.min_values == {"x": "-0.0"}
        assert found.max_values == {"x": repr(max(0.0, *values))}


def test_only_nan() -> None:
    found = summary(pa.table({"x": [float("nan")] * 3}))
    assert found.min_values == found.max_values == {}
    assert found.null_counts == {"x": 0}


def test_chosen_columns() -> None:
    table = pa.table({"a": [1], "b": [2], "t": pa.array([0], pa.timestamp("us", "UTC"))})
    found = summary(table, columns={"b"})
    assert found.min_values == {"b": "2"}
    assert found.null_counts == {"a": 0, "b": 0, "t": 0}
    assert found.time_range == ("1970-01-01T00:00:00.000000Z",) * 2


def test_the_time_column() -> None:
    one, two = pa.array([0], pa.timestamp("us", "UTC")), pa.array([1], pa.timestamp("us"))
    table = pa.table({"one": one, "two": two, "n": [1]})
    assert summary(table).time_range == ("1970-01-01T00:00:00.000000Z",) * 2
    assert summary(table, time_column="two").time_range == ("1970-01-01T00:00:00.000001",) * 2
    assert summary(table.select(["n"])).time_range is None
    assert summary(table.slice(0, 0)).time_range is None
    beyond = pa.table({"t": pa.array([2**62, 0], pa.timestamp("us"))})
    assert summary(beyond, 1).time_range is None
    assert summary(beyond, 1).min_values == {"t": "1970-01-01T00:00:00.000000"}


def test_a_column_that_a_batch_lacks_is_null() -> None:
    statistics = Statistics(pa.schema([("a", pa.int64()), ("b", pa.string())]))
    statistics.add(pa.record_batch({"a": [1, 2]}))
    statistics.add(pa.record_batch({"b": ["x"], "a": [None]}, pa.schema([("b", pa.string()), ("a", pa.int64())])))
    found = statistics.finish()
    assert found.null_counts == {"a": 1, "b": 2}
    assert found.max_values == {"a": "2", "b": "x"}


def test_slices_count_their_own_bytes() -> None:
    batch = pa.record_batch({"s": ["x" * 1000] * 100})
    statistics = Statistics(batch.schema)
    statistics.add(batch.slice(0, 1))
    assert 1000 <= statistics.finish().uncompressed_bytes < 1100


class TestDistinct:
    """Few different values are counted, many are not."""

    SCHEMA = pa.schema([("few", pa.string()), ("many", pa.string()), ("number", pa.int64())])

    def summary(self, batches: int, rows: int = 2_000) -> Summary:
        statistics = Statistics(self.SCHEMA)
        for batch in range(batches):
            numbers = range(batch * rows, (batch + 1) * rows)
            few = [None if number % 3 == 0 else f"v{number % 7}" for number in numbers]
            columns = {"few": few, "many": [f"m{number // 3}" for number in numbers], "number": list(numbers)}
            statistics.add(pa.record_batch(columns, schema=self.SCHEMA))
        return statistics.finish()

    def test_of_several_batches(self) -> None:
        assert self.summary(1).distinct == {"few": 7, "many": 667}
        assert self.summary(3).distinct == {"few": 7}

    def test_of_nothing(self) -> None:
        assert self.summary(0).distinct == {"few": 0, "many": 0}

    def test_of_several_splits_it_is_a_bound(self) -> None:
        footers = [Facts(rows=2_000, schema="", doc_mapping="", distinct=self.summary(1).distinct) for _ in range(2)]
        assert merged_summary(footers, self.SCHEMA).distinct == {"few": 14}
        assert merged_summary([*footers, Facts(rows=1, schema="", doc_mapping="")], self.SCHEMA).distinct == {}
