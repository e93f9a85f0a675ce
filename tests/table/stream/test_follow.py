"""`Table.follow` and `Table.follow_async`: rows as commits add them."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

from indextables import Table
from indextables.core.errors import (
    ChangesGone,
    CorruptLog,
    OptionError,
    PredicateError,
    QueryError,
    SchemaError,
    SplitError,
    TableNotFound,
    TableReplaced,
    VersionNotFound,
)
from indextables.core.types import arrow_to_spark_json
from indextables.log.commit import commit
from indextables.log.conflicts import Change, MetadataUpdate
from indextables.log.log_paths import version_key
from indextables.table.handle import TableHandle
from indextables.table.open_table import same_table
from indextables.table.read.request import ReadRequest
from indextables.table.read.scan import scan
from indextables.table.write.drop_table import _base, _own_keys, _steps, drop_table
from log.support import Hooked
from tables import handle_of, on_store, store_of

SCHEMA = "p string, n long, m text"


def rows(*numbers: int, p: str = "a") -> pa.Table:
    texts = [f"row number{number % 3}" for number in numbers]
    return pa.table({"p": [p] * len(numbers), "n": pa.array(numbers, pa.int64()), "m": texts})


@pytest.fixture
def table() -> Table:
    return Table.create(f"memory://{uuid4().hex}/t", SCHEMA, ["p"])


def numbers(batches: Iterator[pa.RecordBatch], count: int) -> list[int]:
    """The numbers of the next rows."""
    found: list[int] = []
    while len(found) < count:
        found += next(batches).column("n").to_pylist()
    return found


def test_rows_that_come_later(table: Table) -> None:
    table.append(rows(1, 2))
    followed = table.follow(interval=0.01)
    table.append(rows(3))
    table.merge_splits()
    assert numbers(followed, 1) == [3]
    table.append(rows(4, 5))
    table.append(rows(6))
    assert numbers(followed, 3) == [4, 5, 6]
    table.append(rows(8, p="c"))
    table.overwrite(rows(9, p="c"), where="p = 'c'")
    table.drop_partitions("p = 'c'")
    table.append(rows(10))
    assert numbers(followed, 3) == [8, 9, 10], "each commit gives the rows that it added"


def test_the_table_stays_where_it_is(table: Table) -> None:
    url = table.url
    reader = Table.open(url)
    followed = reader.follow(interval=0.01)
    table.append(rows(1))
    assert numbers(followed, 1) == [1]
    assert reader.version == 0
    assert reader.refresh().version == 1


def test_rows_since_a_version_and_since_a_time(table: Table) -> None:
    def since(start: Any, count: int, **selection: Any) -> list[int]:
        return numbers(table.follow(start, interval=0.01, **selection), count)

    for number in range(1, 6):
        table.append(rows(number))
        time.sleep(0.002)
    times = table.history().column("timestamp").to_pylist()[::-1]
    assert since(2, 3) == [3, 4, 5]
    assert since(-1, 5) == since(0, 5) == [1, 2, 3, 4, 5]
    assert since(times[3], 2) == [4, 5], "later than the commit of that time"
    assert since(times[3].isoformat(), 2) == [4, 5]
    assert since(times[0] - timedelta(days=1), 5) == [1, 2, 3, 4, 5]
    assert since(2, 1, where="n > 4") == [5]
    assert since(0, 2, query="m:number1") == [1, 4]
    assert since(0, 1, query="m:number1", where="n > 1") == [4]
    batch = next(table.follow(0, columns=["M", "p"]))
    assert batch.schema.names == ["m", "p"]
    later = table.follow(datetime.now(UTC) + timedelta(hours=1), interval=0.01)
    table.append(rows(7))
    assert numbers(later, 1) == [7]


def test_an_older_version_is_followed_to_the_newest(table: Table) -> None:
    for number in range(1, 5):
        table.append(rows(number))
    older = Table.open(table.url, version=2)
    assert numbers(older.follow(), 2) == [3, 4]
    assert older.version == 2


def test_arguments_are_checked_at_once(table: Table) -> None:
    table.append(rows(1))
    with pytest.raises(VersionNotFound, match="at version 1, so nothing can be followed since 2"):
        table.follow(2)
    with pytest.raises(OptionError, match="since is -2"):
        table.follow(-2)
    with pytest.raises(OptionError, match=r"since is 1\.5"):
        table.follow(1.5)  # type: ignore[arg-type]
    with pytest.raises(PredicateError):
        table.follow(where="nothing = 1")
    with pytest.raises(QueryError):
        table.follow(query='m:"')
    for columns in (["x"], "n", 3):
        with pytest.raises(SchemaError):
            table.follow_async(columns=columns)  # type: ignore[arg-type]
    for interval in (0, -1, float("inf"), float("nan"), "1s", True):
        with pytest.raises(OptionError, match="interval is"):
            table.follow(interval=interval)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="stop is 'now'"):
        table.follow(stop="now")  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["event", "function"])
def test_a_stream_ends_when_it_is_told_to(table: Table, kind: str) -> None:
    table.append(rows(1, 2))
    event = threading.Event()
    stop = event if kind == "event" else event.is_set
    found: list[int] = []

    def follow() -> None:
        for batch in table.follow(0, interval=60, stop=stop):
            found.extend(batch.column("n").to_pylist())

    thread = threading.Thread(target=follow)
    thread.start()
    until = time.monotonic() + 30
    while not found and time.monotonic() < until:
        time.sleep(0.01)
    event.set()
    thread.join(10)
    assert not thread.is_alive(), "a stream that waits for a minute ends at once"
    assert found == [1, 2]
    assert list(table.follow(0, stop=stop)) == []


def test_a_stream_ends_between_two_batches(table: Table) -> None:
    for number in range(5):
        table.append(rows(number))
    event = threading.Event()
    followed = table.follow(0, stop=event)
    assert numbers(followed, 1)[0] == 0
    event.set()
    assert list(followed) == []


def test_a_stream_can_be_closed(table: Table) -> None:
    table.append(rows(*range(10)))
    followed = table.follow(0)
    next(followed)
    followed.close()
    assert list(followed) == []


def test_what_ends_a_stream(tmp_path: Path) -> None:
    options = {"transaction.cache.enabled": False}
    table = Table.create(tmp_path / "t", SCHEMA, ["p"], options=options)
    for number in range(5):
        table.append(rows(number))
    table.checkpoint()
    (tmp_path / "t" / version_key(2)).unlink()
    with pytest.raises(ChangesGone) as error:
        next(table.follow(0))
    assert error.value.oldest == 3
    assert numbers(table.follow(2), 3) == [2, 3, 4]
    followed = table.follow(interval=0.01)
    for path in sorted((tmp_path / "t").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    Table.create(tmp_path / "t", SCHEMA)
    with pytest.raises(TableReplaced, match="dropped and created again"):
        next(followed)


@pytest.mark.parametrize("with_state", [False, True])
@pytest.mark.parametrize("steps", range(3, 7))
def test_a_drop_that_is_under_way_or_done(tmp_path: Path, steps: int, with_state: bool) -> None:
    """Whatever a drop has deleted so far, from the step on after which nothing can be opened."""
    table = Table.create(tmp_path / "t", SCHEMA, ["p"])
    table.append(rows(1))
    if with_state:
        table.checkpoint()
    followed = table.follow(interval=0.01)
    Table.open(table.url).append(rows(2))
    log = handle_of(table).log
    for keys in _steps(_own_keys(log), _base(log))[:steps]:
        assert not log.store.delete(keys)
    over = steps == 6
    error, says = (
        (TableNotFound, "was dropped since it was opened") if over else (CorruptLog, "or drop the table again")
    )
    with pytest.raises(error, match=says):
        next(followed)
    with pytest.raises(error, match=says):
        table.refresh()
    with pytest.raises(error, match=says), same_table(handle_of(table)):
        raise SplitError("it is gone", split="s")


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_drop_between_plan_and_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asynchronous: bool) -> None:
    table = Table.create(tmp_path / "t", SCHEMA, ["p"])

    def scan_after_drop(head: TableHandle, request: ReadRequest) -> pa.RecordBatchReader:
        drop_table(head.log)
        return scan(head, request)

    monkeypatch.setattr("indextables.table.stream.follow_rows.scan", scan_after_drop)
    follow = table.follow_async if asynchronous else table.follow
    followed: Any = follow(interval=0.01)
    Table.open(table.url).append(rows(1))
    with pytest.raises(TableNotFound, match="was dropped since it was opened"):
        asyncio.run(next_numbers(followed, 1)) if asynchronous else next(followed)


def test_a_split_that_is_gone_from_a_table_that_is_there(tmp_path: Path) -> None:
    table = Table.create(tmp_path / "t", SCHEMA, ["p"])
    followed = table.follow(interval=0.01)
    Table.open(table.url).append(rows(1))
    for split in (tmp_path / "t").rglob("*.split"):
        split.unlink()
    with pytest.raises(SplitError):
        next(followed)


def test_a_column_that_is_added_meanwhile(table: Table) -> None:
    """The rows of a stream keep the columns that it began with; the next stream has all of them."""
    followed = table.follow(interval=0.01)
    table.append(rows(1))
    handle = handle_of(table)
    wider = pa.schema([*handle.schema, pa.field("x", pa.int64())])
    commit(handle, Change(metadata=MetadataUpdate(schema_string=arrow_to_spark_json(wider))), operation="WRITE")
    newer = Table.open(table.url)
    newer.append(rows(2).append_column("x", pa.array([7])))
    assert numbers(followed, 2) == [1, 2]
    newer.append(rows(3).append_column("x", pa.array([8])))
    assert next(followed).to_pydict() == {"p": ["a"], "n": [3], "m": ["row number0"]}
    assert [batch["x"].to_pylist() for batch in islice(newer.follow(0), 3)] == [[None], [7], [8]]


async def next_numbers(batches: AsyncIterator[pa.RecordBatch], count: int) -> list[int]:
    found: list[int] = []
    while len(found) < count:
        found += (await anext(batches)).column("n").to_pylist()
    return found


def test_an_event_loop_goes_on_meanwhile(table: Table) -> None:
    async def work() -> tuple[list[int], int]:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.005)

        async def write() -> None:
            for number in range(1, 6):
                await asyncio.to_thread(table.append, rows(number))
                await asyncio.sleep(0.02)

        ticking, writing = asyncio.create_task(tick()), asyncio.create_task(write())
        found = await next_numbers(table.follow_async(interval=0.01), 5)
        await writing
        ticking.cancel()
        return found, ticks

    found, ticks = asyncio.run(work())
    assert found == [1, 2, 3, 4, 5]
    assert ticks > 10


def test_a_task_that_follows_can_be_cancelled(table: Table) -> None:
    table.append(rows(1))

    async def work() -> list[int]:
        found: list[int] = []

        async def follow() -> None:
            async for batch in table.follow_async(0, interval=60):
                found.extend(batch.column("n").to_pylist())

        task = asyncio.create_task(follow())
        while not found:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        began = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.monotonic() - began < 5
        return found

    assert asyncio.run(work()) == [1]


def test_a_task_that_is_cancelled_while_it_reads(table: Table) -> None:
    """The read under way ends in its thread, and nobody closes its reader meanwhile."""
    table.append(rows(1))
    entered, leave = threading.Event(), threading.Event()
    real = store_of(table)

    def slowly(key: str, *arguments: Any) -> Any:
        if key.endswith(".split"):
            entered.set()
            assert leave.wait(30)
        return real.get_range(key, *arguments)

    slow = on_store(table, Hooked(real, get_range=slowly))

    async def work() -> None:
        task = asyncio.create_task(anext(slow.follow_async(0)))  # type: ignore[arg-type]
        assert await asyncio.to_thread(entered.wait, 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        leave.set()

    asyncio.run(work())


def test_async_streams_end_when_they_are_told_to(table: Table) -> None:
    table.append(rows(1))

    async def work(stop: Any, end: Any) -> list[int]:
        found: list[int] = []
        asyncio.get_running_loop().call_later(0.2, end)
        async for batch in table.follow_async(0, interval=60, stop=stop):
            found += batch.column("n").to_pylist()
        return found

    event = threading.Event()
    assert asyncio.run(work(event, event.set)) == [1]
    flag: list[bool] = []
    assert asyncio.run(work(lambda: bool(flag), lambda: flag.append(True))) == [1]

    async def of_the_loop() -> list[int]:
        own = asyncio.Event()
        return await work(own, own.set)

    assert asyncio.run(of_the_loop()) == [1]


def test_the_same_rows_with_and_without_an_event_loop(table: Table) -> None:
    for number in range(20):
        table.append(rows(number, p="ab"[number % 2]))
        if number % 7 == 6:
            table.merge_splits()
    plain = numbers(table.follow(0, where="n <> 3"), 19)

    async def work() -> list[int]:
        return await next_numbers(table.follow_async(0, where="n <> 3"), 19)

    assert asyncio.run(work()) == plain == [number for number in range(20) if number != 3]
