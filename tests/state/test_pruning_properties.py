"""No manifest with a matching file is ever left out: for every type of partition column, and whoever wrote the bounds."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from effort import examples
from indextables.core.predicate import Predicate, parse_predicate
from indextables.core.values import to_text
from indextables.log.pruning.file_pruning import prune_files
from indextables.log.state.load_manifest import FileQuestion
from indextables.log.state.model import TYPED, ManifestItem
from indextables.log.state.partition_bounds import partition_bounds, partition_order
from indextables.log.state.writing.compact import cut_evenly
from predicate_data import SCHEMA as ALL
from predicate_data import VALUES, meaning, predicates
from state.support import entry, files_of

NAMES = [name for name in ALL.names if name != "raw"]
SCHEMA = pa.schema([ALL.field(name) for name in NAMES])
QUICK = settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.too_slow])


def text_of(name: str, value: Any) -> str | None:
    """The text of a value that is a plain Python one; None for dates and times that have none."""
    if value is None:
        return None
    kind = SCHEMA.field(name).type
    if name in ("day", "at", "local"):
        try:
            value = pa.scalar(value, pa.int32() if name == "day" else pa.int64()).cast(kind).as_py()
        except (ValueError, OverflowError, pa.ArrowInvalid):
            return None
    return to_text(value, kind, keep_nan=True)


def foreign_order(text: str) -> tuple[int, Any]:
    """How the original compares two texts: as doubles where both are numbers, else as UTF-16. Not an order at all."""
    try:
        return (0, float(text))
    except ValueError:
        return (1, text.encode("utf-16-be"))


def foreign_less(a: str, b: str) -> bool:
    left, right = foreign_order(a), foreign_order(b)
    if left[0] == right[0] == 0:
        return bool(left[1] < right[1])
    return a.encode("utf-16-be") < b.encode("utf-16-be")


def foreign_bounds(files: pa.Table, columns: list[str]) -> dict[str, tuple[str | None, str | None]]:
    """Bounds as the original finds them: in one pass, by that comparison, without empty values."""
    found: dict[str, tuple[str | None, str | None]] = {}
    for column in columns:
        texts = [text for values in files["partitionValues"].to_pylist() if (text := dict(values).get(column))]
        low = high = texts[0] if texts else None
        for text in texts[1:]:
            if foreign_less(text, low or ""):
                low = text
            if foreign_less(high or "", text):
                high = text
        found[column] = (low, high)
    return found


def item(files: pa.Table, columns: list[str], writer: str) -> ManifestItem:
    bounds = foreign_bounds(files, columns) if writer == "original" else partition_bounds(files, SCHEMA, columns)
    order = TYPED if writer == "ours" else None
    return ManifestItem("manifests/m.avro", files.num_rows, bounds=bounds, bounds_order=order)


@pytest.mark.parametrize("writer", ["ours", "original"])
@QUICK
@given(data=st.data())
def test_no_manifest_with_a_matching_file_is_left_out(writer: str, data: st.DataObject) -> None:
    columns = data.draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=2, unique=True))
    rows = data.draw(
        st.lists(
            st.fixed_dictionaries({c: st.none() | VALUES[c] | VALUES[c] for c in columns}), min_size=1, max_size=10
        )
    )
    for row in rows:
        for name, value in row.items():
            if value is not None and text_of(name, value) is None:
                row[name] = None
    predicate: Predicate = data.draw(predicates(columns, rows))
    entries = []
    for number, row in enumerate(rows):
        values = {name: text for name, value in row.items() if (text := text_of(name, value)) is not None}
        entries.append(entry(number, path=f"f{number}", partitionValues=values))
    files = files_of(entries)
    ordered, starts = partition_order(files, SCHEMA, columns)
    pieces = cut_evenly(ordered, starts, data.draw(st.integers(1, 4)))
    read = [piece for piece in pieces if FileQuestion(predicate, SCHEMA, ()).lets_in(item(piece, columns, writer))]
    found = {path for piece in read for path in piece["path"].to_pylist()}
    whole = set(prune_files(files, predicate, SCHEMA, columns)["path"].to_pylist())
    matching = {f"f{number}" for number, row in enumerate(rows) if meaning(predicate, row) is True}
    assert matching <= found
    if writer == "ours":
        assert whole <= found, "what a look at every file keeps, manifests keep"


def test_foreign_bounds_that_do_not_cover_their_values() -> None:
    """Numbers among texts make the original's comparison cyclic, and fractions make its timestamps look inverted."""

    def kept(column: str, values: list[str], where: str) -> bool:
        files = files_of([entry(n, partitionValues={column: value}) for n, value in enumerate(values)])
        foreign = item(files, [column], "original")
        return FileQuestion(parse_predicate(where, SCHEMA), SCHEMA, ()).lets_in(foreign)

    def bounds(column: str, values: list[str]) -> tuple[str | None, str | None]:
        files = files_of([entry(n, partitionValues={column: value}) for n, value in enumerate(values)])
        return foreign_bounds(files, [column])[column]

    assert bounds("text", ["9", "10"]) == ("9", "10")
    assert kept("text", ["9", "10"], "text = '9'")
    assert kept("text", ["9", "10"], "text = '5'")
    assert bounds("text", ["10", "1a", "9"]) == ("9", "9"), "9 < 10 < 1a < 9"
    for order in (["9", "10", "1a"], ["10", "1a", "9"], ["1a", "9", "10"], ["\uffff", "😀"], ["😀", "\uffff"]):
        for value in order:
            assert kept("text", order, f"text = '{value}'"), (order, value)
    times = ["2024-01-01T00:00:00Z", "2024-01-01T00:00:00.500Z"]
    assert bounds("at", times) == (times[1], times[0]), "'.' sorts below 'Z'"
    for when in ("2024-01-01T00:00:00", "2024-01-01T00:00:00.5", "2024-01-01T00:00:00.25"):
        assert kept("at", times, f"at = TIMESTAMP '{when}Z'")
    assert not kept("id", ["9", "10"], "id = 11"), "integers the original orders as we do"
    assert not kept("day", ["2024-01-01", "2024-01-02"], "day = DATE '2024-01-03'")
    huge = [str(2**53), str(2**53 + 1)]
    for value in huge:
        assert kept("id", huge, f"id = {value}"), "doubles cannot tell these two apart"
        assert kept("id", huge[::-1], f"id = {value}")


@pytest.mark.parametrize(
    "bounds", [{"id": (None, None)}, {"id": ("1", None)}, {"id": (None, "5")}, {"id": ("x", "y")}, {}, None]
)
def test_bounds_that_say_nothing_keep_everything_they_must(bounds: Any) -> None:
    foreign = ManifestItem("m", 1, bounds=bounds)
    for where in ("id = 3", "id > 2", "id IS NULL", "id IS NOT NULL", "NOT id = 3"):
        assert FileQuestion(parse_predicate(where, SCHEMA), SCHEMA, ()).lets_in(foreign)
