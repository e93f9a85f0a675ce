"""`Table.prewarm`: indexes lie on local disk, and whoever asks afterwards downloads none."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from indextables import AddAction, Table
from indextables.core.errors import CorruptSplit, ForeignTable, PredicateError, SplitError, StoreUnavailable
from indextables.core.runtime.threads import IO, Inline, Workers
from indextables.log.actions import ProtocolAction
from indextables.split import open_splits
from indextables.split.cache.index_cache import Prewarmed
from indextables.storage.testing.counting import Counting
from log.support import Hooked
from split.bundle_support import make
from split.reader_support import EVERY_INDEX, costs_of
from table.merge_support import SCHEMA, check, grown, live, some, store_with
from table.written_support import footers, left_in
from tables import at_snapshot, handle_of, on_store, store_of


@pytest.fixture(autouse=True)
def fresh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, temporary_files_in: Callable[[Path], None]
) -> Iterator[None]:
    """Nothing is open, every index is worth asking, and the cache is one of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    temporary_files_in(tmp_path)
    with costs_of(EVERY_INDEX):
        yield
    assert not list(tmp_path.glob("indextables-*/private-1/*/*")), "no private directory is left"


@pytest.fixture(scope="module", params=["local", "memory"])
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A table of nine splits in three partitions, to be read only."""
    local = request.param == "local"
    url = str(tmp_path_factory.mktemp("t") / "table") if local else f"memory://{uuid.uuid4().hex}/table"
    grown(Table.create(url, SCHEMA, partition_by=["day"]), 3)
    return url


def counted(table: Table, options: dict[str, Any] | None = None, workers: Workers = IO) -> tuple[Table, Counting]:
    """The table through a store that counts, as a process sees it that opened nothing yet."""
    open_splits.close_all()
    store = Counting(store_of(table))
    return on_store(table, store, options or {}, workers=workers), store


def downloads(store: Counting) -> list[str]:
    """The splits whose index was fetched: only that reads several ranges at once."""
    return [key for request in store.requests if request.verb == "get_ranges" for key in request.keys]


class TestFetched:
    def test_once(self, url: str) -> None:
        table, store = counted(Table.open(url))
        assert table.prewarm() == Prewarmed(9, 0, 0)
        assert sorted(downloads(store)) == sorted(live(table))
        again, store = counted(table)
        assert again.prewarm() == Prewarmed(0, 9, 0)
        assert downloads(store) == []

    @pytest.mark.parametrize("options", [{}, {"cache.disk.enabled": False}])
    def test_without_it_questions_download(self, url: str, options: dict[str, Any]) -> None:
        table, store = counted(Table.open(url), options)
        assert table.count("level = 'ERROR'") == 6
        assert sorted(downloads(store)) == sorted(live(table, "level = 'ERROR'")) != []

    def test_with_it_they_do_not(self, url: str) -> None:
        Table.open(url).prewarm()
        table, store = counted(Table.open(url))
        assert table.count("level = 'ERROR'") == 6
        assert table.scan(where="id IN (3, 4, 17)").read_all().sort_by("id").column("id").to_pylist() == [3, 4, 17]
        assert table.scan(where="level IS NULL").read_all().num_rows == 6
        assert downloads(store) == []

    @pytest.mark.parametrize(
        ("where", "fetched"),
        [
            ("day IS NULL", 3),
            ("day = '2024-01-30'", 3),
            ("id < 6", 3),
            ("id < 6 AND day IS NULL", 1),
            ("id > 1000", 0),
            ("day = '1999-01-01'", 0),
            ("level = 'ERROR' OR id = 2", 7),
            ("false", 0),
        ],
    )
    def test_where_rows_may_be(self, url: str, where: str, fetched: int) -> None:
        table, store = counted(Table.open(url))
        assert table.prewarm(where) == Prewarmed(fetched, 0, 0)
        assert sorted(downloads(store)) == sorted(live(table, where))
        assert table.prewarm() == Prewarmed(9 - fetched, fetched, 0)

    def test_of_an_older_version(self, url: str) -> None:
        table = Table.open(url, version=1)
        assert table.prewarm() == Prewarmed(3, 0, 0)
        assert Table.open(url).prewarm() == Prewarmed(6, 3, 0)
        assert table.version == 1

    def test_without_threads(self, url: str) -> None:
        table, _ = counted(Table.open(url), workers=Inline())
        assert table.prewarm() == Prewarmed(9, 0, 0)

    def test_of_a_table_without_rows(self, tmp_path: Path) -> None:
        assert Table.create(tmp_path / "t", SCHEMA).prewarm() == Prewarmed(0, 0, 0)

    def test_after_a_merge(self) -> None:
        store = store_with(3, ["day"])
        table = check(store, some(18))
        assert table.prewarm() == Prewarmed(9, 0, 0)
        table.merge_splits()
        assert table.prewarm() == Prewarmed(3, 0, 0), "the new ones have indexes of their own"
        assert table.count("level = 'ERROR'") == 6


class TestLeftOut:
    def test_all_without_a_cache(self, url: str, tmp_path: Path) -> None:
        table, store = counted(Table.open(url), {"cache.disk.enabled": False})
        assert table.prewarm() == Prewarmed(0, 0, 9)
        assert downloads(store) == []
        assert not (tmp_path / "xdg").exists()

    def test_what_does_not_fit(self, url: str, tmp_path: Path) -> None:
        sizes = [sum(region.length for region in footer.index) for footer in footers(Table.open(url)).values()]
        options = {"cache.disk.maxBytes": int(sum(sizes) / 9 * 4.5), "cache.disk.directory": str(tmp_path / "small")}
        table, store = counted(Table.open(url), options)
        assert table.prewarm() == Prewarmed(4, 0, 5)
        assert len(downloads(store)) == 4
        again, store = counted(table, options)
        assert again.prewarm() == Prewarmed(0, 4, 5)
        assert downloads(store) == []

    def test_everything_where_nothing_fits(self, url: str, tmp_path: Path) -> None:
        options = {"cache.disk.maxBytes": 10, "cache.disk.directory": str(tmp_path / "tiny")}
        table, store = counted(Table.open(url), options)
        assert table.prewarm() == Prewarmed(0, 0, 9)
        assert downloads(store) == []

    def test_a_split_without_an_index(self, tmp_path: Path) -> None:
        table = Table.create(tmp_path / "t", pa.schema([("id", pa.int64())]))
        table.append(pa.table({"id": [1, 2]}))
        key, sealed = make(tmp_path / "t", pa.table({"id": [3]}))
        known = {"footer_start_offset": sealed.footer_start, "footer_end_offset": sealed.size, "num_records": 1}
        table.commit_files([AddAction(key, size=sealed.size, has_footer_offsets=True, **known)])
        assert table.prewarm() == Prewarmed(1, 0, 0)
        assert table.count("id > 1") == 2, "it can be read"


class TestWhatIsWrong:
    def test_a_foreign_table(self, url: str) -> None:
        table = Table.open(url)
        table = at_snapshot(table, replace(handle_of(table).snapshot, protocol=ProtocolAction(2, 2)))
        with pytest.raises(ForeignTable, match="prewarming rows is not possible"):
            table.prewarm()

    @pytest.mark.parametrize("where", [5, "lvel = 'x'", "id = "])
    def test_a_question(self, url: str, where: Any) -> None:
        with pytest.raises(PredicateError):
            Table.open(url).prewarm(where)

    def test_a_split_that_is_missing(self) -> None:
        store = store_with(3)
        table = check(store, some(18))
        gone = live(table)[1]
        store.delete([gone])
        open_splits.close_all()
        with pytest.raises(SplitError, match=rf"{gone} is missing"):
            table.prewarm()

    def test_a_split_that_is_damaged(self, tmp_path: Path) -> None:
        store = store_with(2)
        table = check(store, some(12))
        file = table.files().to_pylist()[0]
        content = bytearray(store.objects[file["path"]].data)
        content[file["footerStartOffset"] - 20] ^= 1
        store.put(file["path"], bytes(content))
        with pytest.raises(CorruptSplit, match=file["path"]):
            table.prewarm()
        assert len(list((tmp_path / "xdg").rglob("meta.json"))) <= 1, "what is damaged is not kept"

    def test_a_store_that_is_away(self, tmp_path: Path) -> None:
        store = store_with(2)
        table = check(store, some(12))

        def fail(*_: Any) -> Any:
            raise StoreUnavailable("no answer")

        away = on_store(table, Hooked(store, get_ranges=fail), {})
        with pytest.raises(StoreUnavailable, match="no answer"):
            away.prewarm()
        assert [name for name in left_in(tmp_path / "xdg") if name.endswith("meta.json")] == []
        assert table.prewarm() == Prewarmed(2, 0, 0)
