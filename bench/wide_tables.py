"""Tables of many columns: ours, and lance's, both as they are without options.

indextables  strings as terms, numbers and times by column
lance        no index; what a BITMAP index of each column of words would cost is told beside

A fourth of the columns each are whole numbers, doubles, words and times. The first has the numbers of the rows. All functions but
`schema` are run by workers; a handle lives in its worker's `_open`.
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from growth_tables import repeated
from measure import timed
from report import OURS
from split_tables import LANCE, Written, peak_mb, size_of

APPEND, EVERYTHING = "append", "everything"
"""What `time_answers` is asked for: to add the rows once more, and to read all rows."""
_SEED = 11
_TYPES = [pa.int64(), pa.float64(), pa.string(), pa.timestamp("us", "UTC")]
_NUMBERS = 1_000_000
"""Whole numbers are below this, and times so many seconds after the first."""
_FIRST_MOMENT_US = 1_772_323_200_000_000
_WORDS = pa.array([f"value-{number:02}" for number in range(100)])
_open: dict[str, Any] = {}


def schema(columns: int) -> pa.Schema:
    return pa.schema([(f"c{number:04}", _TYPES[number % len(_TYPES)]) for number in range(columns)])


def _rows(rows: int, columns: int) -> pa.Table:
    """The same rows for everybody."""
    random = np.random.default_rng([_SEED, columns])
    others = [_column(number % len(_TYPES), random, rows) for number in range(1, columns)]
    return pa.table([pa.array(np.arange(rows)), *others], schema=schema(columns))


def _column(kind: int, random: Any, rows: int) -> pa.Array:
    if kind == 1:
        return pa.array(np.round(random.lognormal(3, 1.2, rows), 3))
    numbers = random.integers(0, _NUMBERS, rows)
    if kind == 2:
        return _WORDS.take(pa.array(numbers % len(_WORDS)))
    return pa.array(numbers if kind == 0 else _FIRST_MOMENT_US + numbers * 1_000_000).cast(_TYPES[kind])


class Ours:
    def __init__(self, where: Path, wanted: pa.Schema) -> None:
        import tantivy  # noqa: F401 - loaded when it is first used
        import vortex  # noqa: F401

        from indextables import Table
        from indextables.table.write import append  # noqa: F401

        self._table = Table.create(where, wanted)

    def append(self, rows: pa.Table) -> None:
        self._table.append(rows)

    def everything(self) -> pa.Table:
        return self._table.scan().read_all()


class Lance:
    def __init__(self, where: Path, _wanted: pa.Schema) -> None:
        import lance

        self._write = lance.write_dataset
        self._dataset: Any = None
        self._where = where

    def append(self, rows: pa.Table) -> None:
        if self._dataset is None:
            self._dataset = self._write(rows, str(self._where))
        else:
            self._dataset = self._write(rows, self._dataset, mode="append")

    def index(self) -> None:
        """Give each column of words an index. Ours has one."""
        for field in self._dataset.schema:
            if pa.types.is_string(field.type):
                self._dataset.create_scalar_index(field.name, "BITMAP")

    def everything(self) -> pa.Table:
        return self._dataset.to_table()


_HANDLES: dict[str, Any] = {OURS: Ours, LANCE: Lance}


def write(subject: str, where: Path, rows: int, columns: int, more: bool = False) -> Written:
    """Write a table that is not there yet. `more` measures also what indexes of the words would cost lance."""
    shutil.rmtree(where, ignore_errors=True)
    written = _rows(rows, columns)
    handle = _open["handle"] = _HANDLES[subject](where, schema(columns))
    seconds, _ = timed(handle.append, written)
    size, peak = size_of(where), peak_mb()
    if subject == OURS or not more:
        return Written(seconds, size, peak)
    more_s, _ = timed(handle.index)
    return Written(seconds, size, peak, more_s, size_of(where) - size)


def open_handle(subject: str, where: Path, rows: int, columns: int) -> None:
    """Write a table and keep it open, with the rows that are added later."""
    write(subject, where, rows, columns)
    _open["rows"] = _rows(rows, columns)


def write_and_read(subject: str, where: Path, rows: int, columns: int) -> tuple[int, str]:
    """What can be read of a table that was just written."""
    write(subject, where, rows, columns)
    return answer(EVERYTHING, None)


def answer(_verb: str, _search: None) -> tuple[int, str]:
    """How many rows there are, and a digest of all values."""
    found = _open["handle"].everything()
    wanted = schema(found.num_columns)
    ordered = found.select(wanted.names).cast(wanted).sort_by("c0000")
    digest = hashlib.sha256()
    for column in ordered.columns:
        digest.update(repr(column.type).encode())
        digest.update(_bytes_of(column))
    return found.num_rows, digest.hexdigest()


def _bytes_of(values: pa.ChunkedArray) -> bytes:
    """All values of a column, which has no nulls."""
    assert not values.null_count
    if pa.types.is_string(values.type):
        return "\0".join(values.to_pylist()).encode()
    numbers = values.cast(pa.int64()) if pa.types.is_timestamp(values.type) else values
    return numbers.to_numpy().tobytes()


def time_answers(verb: str, _search: None) -> float:
    """The median of some answers, or of appends."""
    handle = _open["handle"]
    return repeated(handle.everything if verb == EVERYTHING else lambda: handle.append(_open["rows"]))
