"""A purge on a local disk, in memory and on S3: real listings in pages, real deletes in batches, real times."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import pyarrow as pa

from indextables import Table
from indextables.core.options import Options
from indextables.log.log_paths import PROBE
from indextables.log.table_log import TableLog
from indextables.storage.resolve import StoreSpec
from indextables.storage.store import ObjectMeta, Store
from indextables.table.handle import TableHandle
from indextables.table.write.create import create_table
from log.support import Hooked
from storage.helpers import MakeSpec
from tables import on_store

ORPHANS = 1_200
"""More than S3 lists, or deletes, with one request."""


def table_at(spec: StoreSpec) -> Table:
    log = TableLog(spec.open(), Options())
    created = create_table(log, pa.schema([("id", pa.int64()), ("day", pa.string())]), ["day"])
    return Table(TableHandle(log, created))


def later(store: Store, days: int = 20) -> Any:
    """The store, some days later by its own clock: the probe that asks for the time is younger than everything else."""

    def head(key: str) -> ObjectMeta:
        found = store.head(key)
        moved = found.last_modified_ms + days * 86_400_000
        return msgspec.structs.replace(found, last_modified_ms=moved) if key == PROBE else found

    return Hooked(store, head=head)


def test_a_thousand_orphans_and_a_table_that_stays_whole(make_spec: MakeSpec) -> None:
    spec = make_spec("table")
    table = table_at(spec)
    table.append(pa.table({"id": [1, 2], "day": ["a", "ü/b"]}))
    table.overwrite(pa.table({"id": [3], "day": ["a"]}), where="day = 'a'")
    store = spec.open()
    keys = [f"day=a/splits/split-{number:06d}.split" for number in range(ORPHANS)] + ["day=ü/splits/split-1.split"]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda key: store.put(key, b"orphan"), keys))
    store.put("day=a/notes.txt", b"mine")
    assert table.purge().status == "no_action", "all of them are young"
    table = on_store(table, later(store))
    planned = table.purge(dry_run=True)
    done = table.purge()
    assert done.status == "success"
    assert sorted(planned.paths) == sorted(done.paths) == sorted(keys)
    assert done.bytes_deleted == 6 * len(keys)
    left = {found.key for found in store.list("")}
    assert "day=a/notes.txt" in left
    assert len([key for key in left if key.endswith(".split")]) == 3, "two are live, and version 2 names the third"
    assert table.scan().read_all().sort_by("id").to_pydict() == {"id": [2, 3], "day": ["ü/b", "a"]}
    assert table.purge().status == "no_action"
