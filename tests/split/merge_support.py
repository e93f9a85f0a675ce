"""Splits for tests of merging: written, opened, and forged so that every checksum holds and something else does not."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from indextables.core.runtime.threads import Inline, Workers
from indextables.split.build.split_form import SplitForm
from indextables.split.build.split_merge import PartSizes, Target, merge
from indextables.split.build.split_writer import LocalSplit
from indextables.split.bundle.bundle_writer import RowsFile, write_bundle
from indextables.split.bundle.footer import Facts, Footer
from indextables.split.cache.cache_entry import CacheKey, Wanted, write_files
from indextables.split.cache.index_cache import IndexCache
from indextables.split.index.doc_mapping import plan_mapping
from indextables.split.index.index_files import META
from indextables.split.reader import SplitReader
from indextables.storage.local import LocalStore
from split.reader_support import HEAP, _numbers, write
from split.reader_support import reader as open_reader

NO_CACHE = IndexCache(None, 0)
WORDS = {"spark.indextables.indexing.typemap.text": "text"}
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("text", pa.string()),
        ("score", pa.float64()),
        ("at", pa.timestamp("us", "UTC")),
        ("tags", pa.list_(pa.field("element", pa.string()))),
    ]
)


def some(rows: int, first: int = 0) -> pa.Table:
    numbers = range(first, first + rows)
    columns = {
        "id": pa.array(numbers, pa.int64()),
        "text": pa.array([None if n % 7 == 3 else f"row number {n} of {n % 3}" for n in numbers], pa.string()),
        "score": pa.array([math.nan if n % 5 == 4 else n / 4 for n in numbers], pa.float64()),
        "at": pa.array([n * 1_000_000 for n in numbers], pa.timestamp("us", "UTC")),
        "tags": pa.array([[f"t{n % 2}", None][: n % 3] for n in numbers], SCHEMA.field("tags").type),
    }
    return pa.table(columns, SCHEMA)


def split_of(
    directory: Path, data: pa.Table, properties: dict[str, str] | None = None, *, schema: pa.Schema | None = None
) -> SplitReader:
    """A source of these rows, as a table of `schema` sees it."""
    key, sealed = write(directory, data, properties)
    return open_reader(directory, key, sealed, schema or data.schema, NO_CACHE)


def splits_of(directory: Path, data: pa.Table, pieces: int) -> list[SplitReader]:
    ends = [number * data.num_rows // pieces for number in range(pieces + 1)]
    return [split_of(directory, data.slice(start, end - start)) for start, end in itertools.pairwise(ends)]


def target_of(schema: pa.Schema = SCHEMA, properties: dict[str, str] | None = None, **more: Any) -> Target:
    bounds = {"stats_columns": set(schema.names), "stats_length": 8}
    bounds |= {name: more.pop(name) for name in tuple(bounds) if name in more}
    form = SplitForm(schema, plan_mapping(schema, (), properties or {}), HEAP, **bounds)
    return Target(
        **{
            "form": form,
            "partition_values": {},
            "created_ms": 1_750_000_000_000,
            "source": next(_numbers),
            "part_sizes": sizes(),
            **more,
        }
    )


def sizes(**more: int) -> PartSizes:
    """Sizes under which indexes are joined however few rows they have, unless the test says otherwise."""
    return PartSizes(**{"indexed": 0, **more})


def merged_of(
    directory: Path, sources: Sequence[SplitReader], target: Target | None = None, workers: Workers | None = None
) -> LocalSplit:
    return merge(directory, sources, target or target_of(), workers or Inline())


def opened_split(split: LocalSplit, schema: pa.Schema = SCHEMA, cache: IndexCache = NO_CACHE) -> SplitReader:
    return open_reader(split.path.parent, split.path.name, split.sealed, schema, cache)


def path_of(source: SplitReader) -> Path:
    store: Any = source.parts.store
    while not isinstance(store, LocalStore):
        store = store.inner
    return Path(store.root.removeprefix("file://")) / source.key


def again(source: SplitReader, store: Any = None, **more: Any) -> SplitReader:
    """Another reader of the same file, with other ideas about it or through another store."""
    known = {
        "size": source.parts.size,
        "footer_start": source.parts.footer_start,
        "rows": source.parts.logged_rows,
        **more,
    }
    return open_reader(store or source.parts.store, source.key, None, source.parts.table_schema, NO_CACHE, **known)


def forged(
    source: SplitReader,
    *,
    facts: Callable[[Facts], Facts] = lambda facts: facts,
    index: Callable[[Path], None] = lambda directory: None,
    rows: Callable[[bytes], bytes] = lambda data: data,
) -> SplitReader:
    """The split once more with other facts, index files or rows, and checksums that fit them."""
    footer = source.footer
    path = path_of(source).with_name(f"forged-{source.key}")
    work = path.with_suffix(".forge")
    (work / "index").mkdir(parents=True)
    write_files(work / "index", Wanted.full(CacheKey("", source.key, 0), footer.index), source.warm_up().fetch)
    index(work / "index")
    (work / "rows").write_bytes(rows(bytes(source.pages().read(0, footer.rows_length))))
    known = {field.name: getattr(footer, field.name) for field in msgspec.structs.fields(Facts)}
    changed = facts(Facts(**known))
    files = sorted((work / "index").iterdir())
    sealed = write_bundle(path, [RowsFile(work / "rows", changed.rows)], files, changed)
    return open_reader(path.parent, path.name, sealed, source.parts.table_schema, NO_CACHE)


def meta_changed(change: Callable[[dict[str, Any]], None]) -> Callable[[Path], None]:
    def edit(directory: Path) -> None:
        meta = json.loads((directory / META).read_text())
        change(meta)
        (directory / META).write_text(json.dumps(meta))

    return edit


def regions(footer: Footer) -> dict[str, tuple[int, int]]:
    """Where a split's parts lie, for damaging each of them."""
    found = {"rows": (0, footer.rows_length)}
    found |= {region.name.rpartition(".")[2]: (region.offset, region.length) for region in footer.index}
    return {name: place for name, place in found.items() if place[1]}
