"""Rows of the golden splits, and how these were written.

    PYTHONPATH=src:tests python -m split.golden_support     writes them anew: only with a new format, beside the old ones

The files in `golden/` were written by the first release of their format. Whoever changes the format must still read them.
"""

from __future__ import annotations

import datetime as dt
import math
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from indextables.core.runtime.threads import Inline
from indextables.split.build.split_form import SplitForm
from indextables.split.build.split_merge import Target, merge
from indextables.split.cache.index_cache import IndexCache
from indextables.split.index.doc_mapping import plan_mapping
from split.reader_support import HEAP, reader, write

FOLDER = Path(__file__).parent / "golden"
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("small", pa.int16()),
        ("flag", pa.bool_()),
        ("single", pa.float32()),
        ("double", pa.float64()),
        ("price", pa.decimal128(12, 2)),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("local", pa.timestamp("us")),
        ("name", pa.string()),
        ("text", pa.string()),
        ("raw", pa.binary()),
        ("tags", pa.list_(pa.string())),
        ("counts", pa.map_(pa.string(), pa.int32())),
        ("place", pa.struct([("x", pa.float64()), ("label", pa.string())])),
    ]
)
PROPERTIES = {"spark.indextables.indexing.typemap.text": "text"}
_DOUBLES = [0.0, -0.0, math.inf, -math.inf, math.nan, 5e-324, 1.7976931348623157e308, 0.1]
_WORDS = ["disk", "full", "Ärger", "日本語", "", "don't", "a" * 300, "naïve café"]


def rows(first: int, count: int) -> pa.Table:
    """Rows of every type, with nulls in every column that may have them."""
    return pa.Table.from_pylist([_row(number) for number in range(first, first + count)], schema=SCHEMA)


def _row(n: int) -> dict[str, Any]:
    full = {
        "id": n,
        "small": n % 7 - 3,
        "flag": n % 2 == 0,
        "single": float(n) / 3,
        "double": _DOUBLES[n % len(_DOUBLES)],
        "price": Decimal(n * 125) / 100,
        "day": dt.date(2024, 2, 27) + dt.timedelta(days=n),
        "at": dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, dt.UTC) + dt.timedelta(microseconds=n),
        "local": dt.datetime(2024, 3, 31, 2, 30) + dt.timedelta(hours=n),  # noqa: DTZ001 - a time without a zone
        "name": _WORDS[n % len(_WORDS)],
        "text": f"{_WORDS[n % len(_WORDS)]} {_WORDS[(n + 1) % len(_WORDS)]} number {n}",
        "raw": bytes([n % 256, 0, 255]),
        "tags": [f"t{number}" for number in range(n % 3)],
        "counts": [(f"k{number}", number) for number in range(n % 4)],
        "place": {"x": n / 2, "label": f"p{n}"},
    }
    names = [name for name in full if name != "id"]
    empty = {names[n % len(names)]} if n % 5 == 0 else set()
    return {name: None if name in empty else value for name, value in full.items()}


GOLDEN = {"format-1.split": (0, 40), "format-1-merged.split": (0, 60)}
"""Name → first row and number of rows. The merged one has three sources."""


def _write() -> None:
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        key, _ = write(directory, rows(*GOLDEN["format-1.split"]), PROPERTIES)
        (FOLDER / "format-1.split").write_bytes((directory / key).read_bytes())
        cache = IndexCache(None, 0)
        parts = [write(directory, rows(first, 20), PROPERTIES) for first in (0, 20, 40)]
        sources = [reader(directory, key, sealed, SCHEMA, cache) for key, sealed in parts]
        target = Target(
            form=SplitForm(SCHEMA, plan_mapping(SCHEMA, (), PROPERTIES), HEAP, SCHEMA.names, 8),
            partition_values={},
            created_ms=0,
            source=99,
        )
        merged = merge(directory / "merged", sources, target, Inline())
        (FOLDER / "format-1-merged.split").write_bytes(merged.path.read_bytes())


if __name__ == "__main__":
    _write()
