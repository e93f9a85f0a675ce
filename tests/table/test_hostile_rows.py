"""Schemas, callbacks and machines that would end badly later are refused, or blamed on the right thing."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from indextables import Table
from indextables.core.errors import OptionError, SchemaError, SplitError, StorageError
from indextables.split.bundle.native_errors import translated
from indextables.split.index import index_files as index_module
from table.written_support import left_in

SCHEMA = pa.schema([("id", pa.int64()), ("text", pa.string())])


def some(first: int, count: int = 5) -> pa.Table:
    numbers = range(first, first + count)
    return pa.table({"id": numbers, "text": [f"text {number}" for number in numbers]}, schema=SCHEMA)


def memory() -> str:
    return f"memory://{uuid.uuid4().hex}/table"


def test_a_zero_in_a_column_name() -> None:
    """Vortex writes such a column and does not find it again."""
    with pytest.raises(SchemaError, match=r"column 'a\\x00b' has a zero character"):
        Table.create(memory(), pa.schema([("a\0b", pa.int64())]))


def lists(levels: int) -> pa.DataType:
    kind: pa.DataType = pa.int64()
    for _ in range(levels):
        kind = pa.list_(kind)
    return kind


def test_lists_in_lists_have_a_limit() -> None:
    """Writing them takes twice the memory with each level, and ends the process where there is no more."""
    deep = pa.schema([("id", pa.int64()), ("deep", lists(12))])
    table = Table.create(memory(), deep)
    value: object = 7
    for _ in range(12):
        value = [value]
    rows = pa.Table.from_pylist([{"id": 1, "deep": value}, {"id": 2, "deep": None}], schema=deep)
    table.append(rows)
    assert table.scan().read_all().to_pylist() == rows.to_pylist()
    inside = pa.struct([("a", pa.map_(pa.string(), lists(12)))])
    for kind in (lists(13), pa.map_(pa.string(), lists(12)), inside):
        with pytest.raises(SchemaError, match="column deep has lists or maps inside each other, more than 12 levels"):
            Table.create(memory(), pa.schema([("id", pa.int64()), ("deep", kind)]))


@pytest.mark.parametrize("verb", ["append", "overwrite", "merge_splits"])
def test_a_progress_that_cannot_be_called(verb: str) -> None:
    table = Table.create(memory(), SCHEMA)
    table.append(some(0))
    table.append(some(5))
    ask: dict[str, Callable[[], object]] = {
        "append": lambda: table.append(some(10), progress=5),  # type: ignore[arg-type]
        "overwrite": lambda: table.overwrite(some(10), progress=5),  # type: ignore[arg-type]
        "merge_splits": lambda: table.merge_splits(progress=5),  # type: ignore[arg-type]
    }
    with pytest.raises(OptionError, match="progress is called with what is done so far, 5 cannot be"):
        ask[verb]()
    assert table.refresh().version == 2


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ('IoError(Os { code: 24, kind: Uncategorized, message: "Too many open files" })', StorageError),
        ("No space left on device (os error 28)", StorageError),
        ("Cannot allocate memory (os error 12)", StorageError),
        ("No such file or directory (os error 2)", SplitError),
        ("Data corrupted: code: 240", SplitError),
    ],
)
def test_what_the_machine_lacks_is_no_fault_of_a_split(said: str, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=r"a\.split: reading failed"), translated("a.split", "reading"):
        raise RuntimeError(said)


def test_a_merge_on_a_machine_without_file_handles_blames_no_split(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, temporary_files_in: Callable[[Path], None]
) -> None:
    temporary_files_in(tmp_path)
    table = Table.create(memory(), SCHEMA)
    for first in range(0, 50, 5):
        table.append(some(first))

    def full(directory: Path, mapping: object) -> object:
        with translated(str(directory), "opening the index"):
            raise RuntimeError('IoError(Os { code: 24, kind: Uncategorized, message: "Too many open files" })')

    with monkeypatch.context() as patch:
        patch.setattr(index_module, "open_index", full)
        with pytest.raises(StorageError, match="Too many open files"):
            table.merge_splits()
    assert table.refresh().skips().num_rows == 0
    assert left_in(tmp_path) == []
    assert table.merge_splits().sources == 10
    assert table.count() == 50
