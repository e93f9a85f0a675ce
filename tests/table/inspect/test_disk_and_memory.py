"""Caches of a process: described, flushed and invalidated by exactly what they hold, while other threads read."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from indextables import Table, inspect
from indextables.core.options import Options
from indextables.split import open_splits
from indextables.split.cache.cache_location import open_cache
from indextables.split.open_splits import OPEN
from split.reader_support import EVERY_INDEX, costs_of
from table.inspect.inspect_support import a_table, only
from tables import handle_of


@pytest.fixture(autouse=True)
def fresh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, temporary_files_in: Callable[[Path], None]
) -> Iterator[None]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    temporary_files_in(tmp_path)
    open_splits.close_all()
    with costs_of(EVERY_INDEX):
        yield


def place(tmp_path: Path, **more: Any) -> dict[str, Any]:
    """Options of a disk cache of the test's own."""
    return {"cache.disk.directory": str(tmp_path / "cache"), **more}


class TestDiskCache:
    def test_what_lies_there(self, tmp_path: Path) -> None:
        options = place(tmp_path, **{"cache.disk.maxBytes": 1 << 20})
        table = a_table(**options)
        found = only(inspect.describe_disk_cache(options))
        assert (found["total_bytes"], found["splits_cached"], found["components_cached"]) == (0, 0, 0)
        table.prewarm("day = 'd1'")
        found = only(inspect.describe_disk_cache(options))
        files = [path for path in (tmp_path / "cache").rglob("*") if path.is_file() and "entries" in path.parts]
        files = [path for path in files if not path.name.startswith(".")]
        size = sum(path.stat().st_size for path in files)
        assert (found["executor_id"], found["enabled"], found["max_bytes"]) == ("driver", True, 1 << 20)
        assert (found["splits_cached"], found["components_cached"], found["total_bytes"]) == (2, len(files), size)
        assert found["usage_percent"] == pytest.approx(100 * size / (1 << 20))

    def test_one_that_is_off(self) -> None:
        found = only(inspect.describe_disk_cache({"cache.disk.enabled": False}))
        assert (found["enabled"], found["total_bytes"], found["max_bytes"], found["usage_percent"]) == (
            False,
            0,
            0,
            0.0,
        )
        assert only(inspect.flush_disk_cache({"cache.disk.enabled": False}))["status"] == "no_action"

    def test_every_cache_of_the_process_without_options(self, tmp_path: Path) -> None:
        open_cache(Options(place(tmp_path)))
        found = inspect.describe_disk_cache()
        assert found.column_names[:3] == ["executor_id", "host", "enabled"]
        assert found.num_rows >= 1

    def test_a_flush_deletes_what_nobody_uses(self, tmp_path: Path) -> None:
        options = place(tmp_path)
        table = a_table(**options)
        table.prewarm()
        flushed = only(inspect.flush_disk_cache(options))
        assert (flushed["cache_type"], flushed["status"], flushed["cleared_entries"]) == ("disk", "success", 4)
        assert only(inspect.describe_disk_cache(options))["total_bytes"] == 0
        assert only(inspect.flush_disk_cache(options))["status"] == "no_action"
        assert table.prewarm().fetched == 4

    def test_an_entry_on_lease_stays(self, tmp_path: Path) -> None:
        options = place(tmp_path)
        table = a_table(**options)
        table.prewarm()
        handle = handle_of(table)
        from indextables.table.read.split_readers import split_readers

        first = next(split_readers(handle, handle.files()))
        warm = first.warm_up()
        with open_cache(Options(options)).acquire(warm.key, warm.regions, warm.fetch, tails=warm.tails) as lease:
            flushed = only(inspect.flush_disk_cache(options))
            assert (flushed["status"], flushed["cleared_entries"]) == ("partial", 3)
            assert "1 are in use" in flushed["message"]
            assert list(lease.directory.iterdir())
        assert only(inspect.flush_disk_cache(options))["cleared_entries"] == 1


class TestSearcherCache:
    def test_what_is_open_is_let_go_and_opened_again(self, tmp_path: Path) -> None:
        table = a_table(**place(tmp_path))
        assert table.search("full", limit=100).num_rows == 100
        held = len(OPEN.value)
        assert held >= 8, "footers and indexes of four splits at least"
        flushed = only(inspect.flush_searcher_cache())
        assert (flushed["cache_type"], flushed["status"]) == ("searcher", "success")
        assert flushed["cleared_entries"] >= held
        assert len(OPEN.value) == 0
        assert only(inspect.flush_searcher_cache()) == {
            "cache_type": "searcher",
            "status": "no_action",
            "cleared_entries": 0,
            "message": "0 open indexes, footers, rows and blocks of rows were let go",
        }
        assert table.search("full", limit=100).num_rows == 100


class TestLogCache:
    def test_hits_and_misses_of_one_table(self, tmp_path: Path) -> None:
        first, second = (a_table(tmp_path / name, splits=2) for name in ("one", "two"))
        inspect.invalidate_log_cache(first.url)
        inspect.invalidate_log_cache(second.url)
        Table.open(first.url)
        asked = only(inspect.invalidate_log_cache(first.url))
        assert asked["table_path"] == first.url
        assert asked["result"] == "success"
        assert (asked["cache_hits_before"], asked["cache_misses_before"]) == (0, 3), "the snapshot, and two versions"
        assert asked["hit_rate_before"] == 0.0
        Table.open(first.url)
        for _ in range(4):
            Table.open(first.url)
        Table.open(second.url)
        asked = only(inspect.invalidate_log_cache(first.url))
        assert (asked["cache_hits_before"], asked["cache_misses_before"], asked["hit_rate_before"]) == (4, 3, 4 / 7)
        assert only(inspect.invalidate_log_cache(second.url))["cache_misses_before"] == 3

    def test_nothing_to_forget(self, tmp_path: Path) -> None:
        asked = only(inspect.invalidate_log_cache(str(tmp_path / "never opened")))
        assert (asked["result"], asked["cache_hits_before"], asked["hit_rate_before"]) == ("no_action", 0, None)

    def test_all_tables(self, tmp_path: Path) -> None:
        tables = [a_table(tmp_path / name, splits=1) for name in ("one", "two")]
        inspect.invalidate_log_cache()
        for table in tables:
            Table.open(table.url)
            Table.open(table.url)
        asked = only(inspect.invalidate_log_cache())
        assert (asked["table_path"], asked["result"]) == ("ALL", "success")
        assert (asked["cache_hits_before"], asked["cache_misses_before"]) == (2, 4)
        assert only(inspect.invalidate_log_cache())["result"] == "no_action"

    def test_an_open_table_goes_on(self, tmp_path: Path) -> None:
        table = a_table(tmp_path / "t")
        inspect.invalidate_log_cache(table.url)
        assert table.refresh().count() == 200
        table.append(table.scan(limit=1).read_all())
        assert Table.open(table.url).count() == 201


@pytest.mark.parametrize("where", ["local", "memory"])
def test_threads_search_while_others_flush(tmp_path: Path, where: str) -> None:
    options = place(tmp_path)
    table = a_table(tmp_path / "t" if where == "local" else None, splits=6, **options)
    expected = sorted(table.search("full", limit=1_000).column("id").to_pylist())
    done = threading.Event()
    flushes = (
        lambda: inspect.flush_disk_cache(options),
        inspect.flush_searcher_cache,
        lambda: inspect.invalidate_log_cache(table.url),
        inspect.invalidate_log_cache,
        inspect.invalidate_data_skipping_cache,
        inspect.flush_data_skipping,
    )

    def flush(function: Callable[[], Any]) -> int:
        count = 0
        while not done.is_set():
            function()
            count += 1
        return count

    def ask(number: int) -> None:
        for _ in range(5):
            if number % 2:
                assert sorted(table.search("full", limit=1_000).column("id").to_pylist()) == expected
                assert table.count(query='"disk 7"') == 1
            else:
                assert table.scan(where="id >= 10 AND day = 'd1'").read_all().num_rows == 150
                assert Table.open(table.url).count("id < 60") == 60

    with ThreadPoolExecutor(10) as pool:
        flushing = [pool.submit(flush, function) for function in flushes]
        asking = [pool.submit(ask, number) for number in range(4)]
        try:
            for each in asking:
                each.result(200)
        finally:
            done.set()
        assert all(each.result(60) > 0 for each in flushing)
    assert sorted(table.search("full", limit=1_000).column("id").to_pylist()) == expected
