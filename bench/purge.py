"""Purge beside deltalake's vacuum: orphans among live files, on an S3 server of this machine (`object_server.py`).

The server lists a page in the time of the page, whatever lies beside it, so that a million objects take seconds. Files are four
bytes: neither subject reads one.
"""

from __future__ import annotations

import json
import multiprocessing
import re
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any

import measure
from measure import once
from object_server import Objects, Stored, start
from report import OURS, TIMES, Goal, Row

DELTA = "deltalake"
SUBJECTS = [OURS, DELTA]
VERSIONS = {DELTA: "deltalake"}
_BUCKET = "purge"
_ORPHANS = 10
"""One file of so many is an orphan, as in 100,000 among 1,000,000."""
_COMMITTED = 10_000
"""Files that a commit of ours adds."""
_OLD_DAYS = 60
"""The age of all files in days: older than every retention."""


@dataclass(frozen=True)
class Sizes:
    """How many files the tables have, orphans included, and how often each is purged."""

    files: tuple[int, ...]
    rounds: int

    @classmethod
    def of(cls, quick: bool) -> Sizes:
        return cls((2_000, 20_000), 3) if quick else cls((100_000, 1_000_000), 3)


def measured(sizes: Sizes, say: Callable[[str], None]) -> dict[int, Row]:
    """A row for each size. Every round purges tables that were made for it."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    server = context.Process(target=_serve, args=(there,), daemon=True)
    server.start()
    try:
        endpoint: str = here.recv()
        rows = {}
        for files in sizes.files:
            turns = {
                name: lambda number, name=name, files=files: _turn(here, endpoint, name, files, number)
                for name in SUBJECTS
            }
            results = measure.rounds(sizes.rounds, turns)
            seconds = {name: [seconds for seconds, _ in found] for name, found in results.items()}
            peaks = {name: max(peak for _, peak in found) for name, found in results.items()}
            rows[files] = Row(f"purge {files // _ORPHANS:,} orphans among {files:,} objects", seconds, peaks)
            say(f"purged tables of {files:,} objects")
        return rows
    finally:
        here.close()
        server.join(10)


def notes() -> list[str]:
    """What belongs to the figures."""
    return [
        "purge: memory is what the purge took beyond a process that has imported the library and opened the table",
        "purge: deltalake's is vacuum(full=True), which looks at all files, as ours does",
    ]


def goals(rows: dict[int, Row]) -> list[Goal]:
    """At the larger size: not slower, and at most half of the memory."""
    row = rows[max(rows)]
    faster = row.ratio(DELTA).middle
    share = row.peaks_mb[OURS] / max(row.peaks_mb[DELTA], 0.1)
    return [
        Goal(f"{row.what}, not slower than deltalake", f"{faster:.2f}{TIMES} as fast", faster >= 1),
        Goal(f"{row.what}, at most half of deltalake's memory", f"{share:.2f}{TIMES} the memory", share <= 0.5),
    ]


class _Peak:
    """The most memory that this process has from now on. Opening a table may have taken more before, which does not count."""

    def __init__(self) -> None:
        Path("/proc/self/clear_refs").write_text("5")
        self._before = self._kilobytes("VmRSS")

    def more_mb(self) -> float:
        """Megabytes beyond what the process had at first."""
        return (self._kilobytes("VmHWM") - self._before) / 1000

    def _kilobytes(self, name: str) -> int:
        found = re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text())
        assert found is not None, "the system does not tell"
        return int(found[1])


def _turn(server: Any, endpoint: str, name: str, files: int, number: int) -> tuple[float, float]:
    place = f"{name}-{files}-{number}"
    paths = [
        f"splits/split-{uuid.uuid4()}.split" if name == OURS else f"part-{uuid.uuid4()}.parquet" for _ in range(files)
    ]
    once(_create_ours if name == OURS else _create_delta, endpoint, place, paths[files // _ORPHANS :])
    server.send((place, paths))
    server.recv()
    found: tuple[float, float, int] = once(_purge_ours if name == OURS else _purge_delta, endpoint, place)
    seconds, peak, deleted = found
    if deleted != files // _ORPHANS:
        raise AssertionError(f"{name} deleted {deleted:,} files, not {files // _ORPHANS:,}")
    server.send((place, None))
    server.recv()
    return seconds, peak


def _serve(connection: Any) -> None:
    """The server, which also makes old objects: by requests that would take longer than the purge."""
    objects = Objects()
    server, endpoint = start(objects)
    Thread(target=server.serve_forever, daemon=True).start()
    connection.send(endpoint)
    old = Stored(b"data", time.time() - _OLD_DAYS * 86_400)
    while True:
        try:
            place, paths = connection.recv()
        except EOFError:
            return
        if paths is None:
            objects.delete([key for key in objects.found if key.startswith(f"{place}/")])
        else:
            objects.put_many([f"{place}/{path}" for path in paths], old)
        connection.send(True)


def _create_ours(endpoint: str, place: str, live: list[str]) -> None:
    import pyarrow as pa

    from indextables import AddAction, Table

    table = Table.create(f"s3://{_BUCKET}/{place}", pa.schema([("id", pa.int64())]), options=_options(endpoint))
    for first in range(0, len(live), _COMMITTED):
        some = live[first : first + _COMMITTED]
        table.commit_files(AddAction(path, {}, size=4, modification_time=1, num_records=1) for path in some)
    table.checkpoint()


def _purge_ours(endpoint: str, place: str) -> tuple[float, float, int]:
    from indextables import Table
    from indextables.table.maintain.purge import purge as _loaded

    del _loaded
    table = Table.open(f"s3://{_BUCKET}/{place}", options=_options(endpoint))
    peak = _Peak()
    seconds, done = measure.timed(table.purge)
    return seconds, peak.more_mb(), done.orphaned_files_deleted


def _options(endpoint: str) -> dict[str, Any]:
    return {"aws.endpoint": endpoint, "aws.allowHttp": True, "aws.accessKey": "key", "aws.secretKey": "secret"}


def _create_delta(endpoint: str, place: str, live: list[str]) -> None:
    import obstore
    from obstore.store import S3Store

    schema = {"type": "struct", "fields": [{"name": "id", "type": "long", "nullable": True, "metadata": {}}]}
    lines: list[dict[str, Any]] = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {
            "metaData": {
                "id": str(uuid.uuid4()),
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps(schema),
                "partitionColumns": [],
                "configuration": {},
                "createdTime": 1,
            }
        },
    ]
    lines += [
        {"add": {"path": path, "partitionValues": {}, "size": 4, "modificationTime": 1, "dataChange": True}}
        for path in live
    ]
    store = S3Store(
        _BUCKET,
        endpoint=endpoint,
        access_key_id="key",
        secret_access_key="secret",
        region="us-east-1",
        client_options={"allow_http": True},
    )
    obstore.put(store, f"{place}/_delta_log/{0:020d}.json", "\n".join(map(json.dumps, lines)).encode())
    _delta(endpoint, place).create_checkpoint()


def _purge_delta(endpoint: str, place: str) -> tuple[float, float, int]:
    table = _delta(endpoint, place)
    peak = _Peak()
    seconds, deleted = measure.timed(lambda: table.vacuum(retention_hours=168, dry_run=False, full=True))
    return seconds, peak.more_mb(), len(deleted)


def _delta(endpoint: str, place: str) -> Any:
    from deltalake import DeltaTable

    options = {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
        "AWS_S3_ALLOW_UNSAFE_RENAME": "true",
    }
    return DeltaTable(f"s3://{_BUCKET}/{place}", storage_options=options)
