"""The disk cache in one process: what it keeps, what it checks, what leaves, and what happens when the disk says no."""

from __future__ import annotations

import errno
import fcntl
import os
import random
import shutil
import stat
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import tantivy  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from indextables.core.errors import CorruptSplit, OptionError, SplitError, StoreUnavailable
from indextables.core.options import Options
from indextables.core.runtime.threads import Inline
from indextables.split.bundle.footer import Region
from indextables.split.cache import cache_directory, cache_entry
from indextables.split.cache import gate as gate_module
from indextables.split.cache.cache_entry import Wanted, parse_name
from indextables.split.cache.cache_location import open_cache
from indextables.split.cache.file_lock import try_lock
from indextables.split.cache.index_cache import CacheKey, IndexCache, WarmUp
from split.cache_support import TABLE, Split, bundle, phrase, plain, real_split, term


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    return tmp_path / "scratch"


def open_at(place: Path | None, max_bytes: int = 1 << 20, **options: Any) -> IndexCache:
    options.setdefault("sparse_from", 1)
    if place is not None:
        options.setdefault("scratch", place.parent / "scratch")
    return IndexCache(place, max_bytes, **options)


def names(place: Path) -> set[str]:
    return {path.name for path in (place / "splits-1" / "entries").iterdir()}


def leftovers(root: Path) -> list[str]:
    """What should not be there when nobody is at work."""
    return [str(path) for part in ("rooms", "fetching") for path in root.glob(f"*/{part}/*")]


def name_of(split: Split) -> str:
    return Wanted.full(split.key, split.regions).name


def test_a_split_is_fetched_once_and_opens(place: Path, tmp_path: Path) -> None:
    split = real_split(tmp_path / "index")
    cache = open_at(place)
    expected = term(tantivy.Index.open(str(tmp_path / "index")), "word7")
    for _ in range(3):
        with split.lease(cache) as lease:
            assert lease.cached
            assert lease.positions
            assert term(tantivy.Index.open(str(lease.directory)), "word7") == expected
    with split.lease(open_at(place)) as lease:
        assert term(tantivy.Index.open(str(lease.directory)), "word7") == expected
    assert len(split.fetched) == 1
    assert split.fetched[0] == sorted(split.regions, key=lambda region: region.offset)
    counts = cache.statistics()
    assert (counts.hits, counts.misses, counts.entries, counts.bytes) == (2, 1, 1, split.bytes)
    assert counts.fetched_bytes == split.bytes
    assert not leftovers(place)


def test_an_open_index_goes_on_when_its_entry_leaves(place: Path, tmp_path: Path) -> None:
    split = real_split(tmp_path / "index")
    cache = open_at(place)
    lease = split.lease(cache)
    index = tantivy.Index.open(str(lease.directory))
    expected = term(index, "word3")
    lease.release()
    assert cache.flush() == (1, 0)
    assert not lease.directory.exists()
    assert term(index, "word3") == expected
    assert phrase(index, ["word1", "word2"]) == phrase(tantivy.Index.open(str(tmp_path / "index")), ["word1", "word2"])


def test_the_least_recently_used_leaves_first(place: Path) -> None:
    cache = open_at(place, 3000)
    splits = [plain(number) for number in range(4)]
    for split in splits[:3]:
        split.lease(cache).release()
    splits[0].lease(cache).release()
    splits[3].lease(cache).release()
    assert names(place) == {name_of(splits[number]) for number in (0, 2, 3)}
    assert cache.statistics().evictions == 1
    assert cache.statistics().evicted_bytes == 1000


def test_a_use_lasts_until_its_lease_ends(place: Path) -> None:
    cache = open_at(place, 2000)
    splits = [plain(number) for number in range(3)]
    long = splits[0].lease(cache)
    splits[1].lease(cache).release()
    long.release()
    splits[2].lease(cache).release()
    assert names(place) == {name_of(splits[0]), name_of(splits[2])}


def test_what_is_on_lease_stays_and_the_bound_comes_back(place: Path) -> None:
    cache = open_at(place, 2000)
    splits = [plain(number) for number in range(5)]
    leases = [split.lease(cache) for split in splits]
    assert all(split.is_in(lease.directory) for split, lease in zip(splits, leases, strict=True))
    assert cache.statistics().bytes == 5000
    for lease in leases:
        lease.release()
        lease.release()
    assert cache.statistics().bytes == 2000
    assert not leftovers(place)


def test_leases_of_another_holder_count_too(place: Path) -> None:
    mine, other = open_at(place, 2000), open_at(place, 2000)
    splits = [plain(number) for number in range(4)]
    leases = [split.lease(other) for split in splits[:2]]
    splits[2].lease(mine).release()
    assert names(place) == {name_of(split) for split in splits[:2]}, "the only one not on lease had to leave"
    assert mine.flush() == (0, 2)
    for lease in leases:
        lease.release()
    splits[3].lease(mine).release()
    assert mine.statistics().bytes == 2000


def test_a_split_larger_than_the_cache_is_there_while_it_is_used(place: Path) -> None:
    cache = open_at(place, 500)
    split = plain(1, 5000)
    first, second = split.lease(cache), split.lease(cache)
    assert len(split.fetched) == 1
    first.release()
    assert split.is_in(second.directory)
    second.release()
    assert names(place) == set()


def test_one_download_for_many_threads(place: Path) -> None:
    split = plain(1)
    started = threading.Barrier(8)
    seen: list[bool] = []

    def slow(regions: Sequence[Region]) -> list[bytes]:
        time.sleep(0.1)
        return split.fetch(regions)

    caches = [open_at(place) for _ in range(2)]

    def ask(number: int) -> None:
        started.wait()
        with caches[number % 2].acquire(split.key, split.regions, slow) as lease:
            seen.append(split.is_in(lease.directory))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [True] * 8
    assert len(split.fetched) == 1
    assert sum(cache.statistics().misses for cache in caches) == 1
    assert sum(cache.statistics().hits for cache in caches) == 7


def test_when_the_download_fails_the_next_one_tries(place: Path) -> None:
    split = plain(1)
    cache = open_at(place)

    def unavailable(regions: Sequence[Region]) -> list[bytes]:
        raise StoreUnavailable("no answer")

    def reset(regions: Sequence[Region]) -> list[bytes]:
        raise ConnectionResetError("gone")

    for fetch, error in ((unavailable, StoreUnavailable), (reset, ConnectionResetError)):
        with pytest.raises(error):
            cache.acquire(split.key, split.regions, fetch)
        assert names(place) == set()
        assert not leftovers(place)
    assert not (place.parent / "scratch").exists(), "an error of the store is no reason to try another disk"
    with split.lease(cache) as lease:
        assert split.is_in(lease.directory)


def test_whoever_holds_the_download_and_does_not_move_is_passed(place: Path) -> None:
    split = plain(1)
    cache = open_at(place, patience_seconds=0.1)
    lock = try_lock(place / "splits-1" / "fetching" / name_of(split), exclusive=True, create=True)
    assert lock is not None
    with split.lease(cache) as lease:
        assert split.is_in(lease.directory)
    os.close(lock)


def test_a_stuck_gate_costs_a_private_directory(place: Path, scratch: Path) -> None:
    split, cached = plain(1), plain(2)
    cache = open_at(place, gate_patience_seconds=0.05)
    cached.lease(cache).release()
    gate = try_lock(place / "splits-1" / "gate", exclusive=True, create=True)
    assert gate is not None
    with split.lease(cache) as lease:
        assert not lease.cached
        assert lease.directory.is_relative_to(scratch)
        assert split.is_in(lease.directory)
        assert open_at(place, gate_patience_seconds=0.05).statistics().entries == 1, (
            "and a new process can still open the cache"
        )
    with cached.lease(cache) as lease:
        assert lease.cached
    os.close(gate)
    assert not leftovers(scratch)


@pytest.mark.parametrize("damage", ["flip", "short", "long", "few"])
def test_nothing_unverified_is_written(place: Path, damage: str) -> None:
    split = plain(1)

    def fetch(regions: Sequence[Region]) -> list[bytes]:
        good = split.fetch(regions)
        bad = {"flip": bytes([good[1][0] ^ 1]) + good[1][1:], "short": good[1][:-1], "long": good[1] + b"x"}
        return good[:1] if damage == "few" else [good[0], bad[damage]]

    cache = open_at(place)
    with pytest.raises(CorruptSplit, match=r"split-1\.split of s3://bucket/table"):
        cache.acquire(split.key, split.regions, fetch)
    assert names(place) == set()
    assert not leftovers(place)
    assert not (place.parent / "scratch").exists()


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../lease", ".indextables-lease", "a\0b", "x" * 256, "\ud800"])
def test_names_of_files_cannot_lead_out_of_the_entry(place: Path, name: str) -> None:
    with pytest.raises(CorruptSplit, match="plain file name"):
        open_at(place).acquire(plain(1).key, [Region(name, 0, 0, 0)], lambda regions: [b""])


def test_regions_that_contradict_each_other(place: Path) -> None:
    cache = open_at(place)
    region = Region("a", 10, 20, 0)
    key = plain(1).key
    for regions in ([], [region, region]):
        with pytest.raises(CorruptSplit, match="twice, or none"):
            cache.acquire(key, regions, lambda regions: [])
    for tail in (Region("b", 28, 2, 0), Region("a", 27, 2, 0), Region("a", 5, 25, 0), Region("a", 30, 0, 0)):
        with pytest.raises(CorruptSplit, match="not the end"):
            cache.acquire(key, [region], lambda regions: [], tails=[tail])


TEXT = st.text(st.characters(), max_size=30)


@settings(max_examples=examples(50), deadline=None)
@given(table=TEXT, path=TEXT, fingerprint=st.one_of(st.integers(0, 2**64 - 1), TEXT))
def test_any_text_makes_a_safe_name_of_its_own(table: str, path: str, fingerprint: int | str) -> None:
    regions = plain(1).regions
    key = CacheKey(table, path, fingerprint)
    name = Wanted.full(key, regions).name
    assert parse_name(name) is not None
    assert name.isascii()
    assert len(name) < 100
    for other in (
        CacheKey(table + "x", path, fingerprint),
        CacheKey(table, path + "/", fingerprint),
        CacheKey(table, path, f"{fingerprint}0"),
        CacheKey(path + "a", table, fingerprint),
    ):
        assert Wanted.full(other, regions).name != name
    assert Wanted.full(key, plain(2).regions).name != name


def test_only_the_user_can_read_it(place: Path, tmp_path: Path) -> None:
    mask = os.umask(0)
    try:
        split = real_split(tmp_path / "index")
        with split.lease(open_at(place)) as lease:
            tantivy.Index.open(str(lease.directory))
    finally:
        os.umask(mask)
    for path in (place, *place.rglob("*")):
        if path.name != ".tantivy-meta.lock":
            assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_directories_of_others_are_refused(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_at(place)
    own = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    with pytest.raises(OptionError, match=r"cache\.disk\.directory"):
        open_at(place)


def test_a_directory_inside_somebody_elses_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stranger = tmp_path / "theirs"
    stranger.mkdir()
    real = Path.stat

    def pretend(path: Path, **named: Any) -> os.stat_result:
        found = real(path, **named)
        fields = [*found]
        fields[4] = os.geteuid() + 1
        return os.stat_result(fields) if path == stranger else found

    monkeypatch.setattr(Path, "stat", pretend)
    with pytest.raises(OptionError, match="belongs to somebody else"):
        open_at(stranger)


def test_open_permissions_are_closed(place: Path) -> None:
    open_at(place)
    (place / "splits-1" / "entries").chmod(0o777)
    open_at(place)
    assert stat.S_IMODE((place / "splits-1" / "entries").stat().st_mode) == 0o700


def test_a_place_that_cannot_be_a_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OptionError, match=r"the disk cache cannot use .*cache\.disk\.enabled"):
        open_at(tmp_path / "file")


def damage_file(path: Path, how: str, chance: random.Random) -> None:
    size = path.stat().st_size
    match how:
        case "gone":
            path.unlink()
        case "empty":
            path.write_bytes(b"")
        case "zeros":
            path.write_bytes(bytes(size))
        case "short":
            os.truncate(path, chance.randrange(size) if size else 0)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("seed", range(25))
def test_after_a_power_cut_every_entry_is_right_or_fetched_again(place: Path, seed: int, sparse: bool) -> None:
    chance = random.Random(seed)
    splits = [
        bundle({"a.idx": chance.randbytes(300), "b.pos": chance.randbytes(900)}, f"{n}", ends={"b.pos": 40})
        for n in range(4)
    ]
    before = open_at(place, 6000, boot="before")
    for split in splits:
        split.lease(before, without_positions=sparse).release()
    files = sorted(path for path in place.rglob("*") if path.is_file())
    for path in chance.sample(files, chance.randrange(1, len(files))):
        damage_file(path, chance.choice(["gone", "empty", "zeros", "short"]), chance)
    after = open_at(place, 6000, boot="after")
    for split in splits:
        with split.lease(after, without_positions=sparse) as lease:
            for region in split.regions:
                found, real = (lease.directory / region.name).read_bytes(), split.content(region)
                assert found == (real if lease.positions or region.name == "a.idx" else bytes(860) + real[-40:])
    fetched = sum(len(split.fetched) for split in splits)
    for split in splits:
        split.lease(open_at(place, 6000, boot="after"), without_positions=sparse).release()
    assert sum(len(split.fetched) for split in splits) == fetched
    assert not leftovers(place)
    assert sum(path.stat().st_size for path in place.rglob("*.idx")) == 4 * 300, "what was broken is gone"


def test_an_intact_entry_of_another_boot_is_verified_once(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    split = plain(1)
    split.lease(open_at(place, boot="before")).release()
    verified: list[Path] = []

    def verify(directory: Path, wanted: Wanted) -> bool:
        verified.append(directory)
        return cache_entry.verify_files(directory, wanted)

    monkeypatch.setattr("indextables.split.cache.index_cache.verify_files", verify)
    for _ in range(3):
        split.lease(open_at(place, boot="after")).release()
    assert len(verified) == 1
    assert len(split.fetched) == 1
    for boot in ("x", "y"):
        split.lease(open_at(place, boot=boot)).release()
    assert len(verified) == 3


def test_a_hole_that_is_none_is_noticed(place: Path) -> None:
    split = bundle({"a.idx": b"index", "b.pos": bytes(range(200))}, "a", ends={"b.pos": 10})
    with split.lease(open_at(place, boot="before"), without_positions=True) as lease:
        path = lease.directory / "b.pos"
        path.write_bytes(b"\0\1" + path.read_bytes()[2:])
    with split.lease(open_at(place, boot="after"), without_positions=True) as lease:
        assert (lease.directory / "b.pos").read_bytes() == bytes(190) + bytes(range(190, 200))
    assert len(split.fetched) == 2


def test_a_lock_on_a_file_that_was_deleted_meanwhile_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lock"
    flock = fcntl.flock
    replaced: list[int] = []

    def replace_first(fd: int, kind: int) -> None:
        if not replaced:
            replaced.append(fd)
            path.unlink()
            path.write_text("another")
        flock(fd, kind)

    monkeypatch.setattr(fcntl, "flock", replace_first)
    lock = try_lock(path, exclusive=True, create=True)
    assert lock is not None
    assert os.pread(lock, 10, 0) == b"another"
    assert try_lock(path, exclusive=False) is None
    os.close(lock)


def test_only_the_entry_that_was_found_damaged_is_thrown_away(place: Path) -> None:
    split = plain(1)
    disk = cache_directory.CacheDisk(place, 1 << 20, boot="a")
    split.lease(open_at(place)).release()
    damaged = disk.lease(name_of(split))
    assert damaged is not None
    disk.discard(name_of(split), damaged)
    assert names(place) == set()
    split.lease(open_at(place)).release()
    disk.discard(name_of(split), damaged)
    disk.discard(name_of(split), None)
    assert names(place) == {name_of(split)}, "this one is new"
    os.close(damaged)


@pytest.mark.parametrize("how", ["gone", "empty", "short"])
def test_files_lost_in_this_boot_are_noticed(place: Path, how: str) -> None:
    split = plain(1)
    cache = open_at(place)
    with split.lease(cache) as lease:
        damage_file(lease.directory / "a.idx", how, random.Random(0))
    with split.lease(cache) as lease:
        assert split.is_in(lease.directory)
    assert len(split.fetched) == 2
    assert cache.statistics().damaged == 1
    assert not leftovers(place)


def test_somebody_deletes_the_whole_cache(place: Path) -> None:
    split, other = plain(1), plain(2)
    cache = open_at(place)
    held = split.lease(cache)
    shutil.rmtree(place)
    with split.lease(cache) as again, other.lease(cache) as more:
        assert split.is_in(again.directory)
        assert other.is_in(more.directory)
    held.release()
    shutil.rmtree(place)
    assert cache.statistics().entries == 0
    assert cache.flush() == (0, 0)
    with split.lease(cache) as again:
        assert split.is_in(again.directory)
    assert not leftovers(place)


def test_flush_of_one_table(place: Path) -> None:
    cache = open_at(place)
    for number in range(3):
        plain(number).lease(cache).release()
        plain(number, table="file:///other").lease(cache).release()
    in_use = plain(7).lease(cache)
    assert cache.flush(TABLE) == (3, 1)
    assert cache.statistics().entries == 4
    in_use.release()
    assert cache.flush() == (4, 0)
    assert cache.statistics().bytes == 0


def test_prewarm_fetches_what_fits_and_is_missing(place: Path) -> None:
    cache = open_at(place, 3000)
    splits = [plain(number) for number in range(5)]
    splits[1].lease(cache).release()
    ups = [WarmUp(split.key, split.regions, split.fetch) for split in splits]
    done = cache.prewarm(ups, workers=Inline())
    assert (done.fetched, done.present, done.left_out) == (2, 1, 2)
    assert names(place) == {name_of(split) for split in splits[:3]}
    done = cache.prewarm(ups, limit=2)
    assert (done.fetched, done.present, done.left_out) == (0, 3, 2)
    assert [len(split.fetched) for split in splits] == [1, 1, 1, 0, 0]
    assert open_at(None, scratch=place.parent / "s").prewarm(ups).left_out == 5


def test_without_a_cache_leases_share_a_private_directory(scratch: Path) -> None:
    cache = open_at(None, 0, scratch=scratch)
    split = plain(1)
    first, second = split.lease(cache), split.lease(cache)
    assert first.directory == second.directory
    assert not first.cached
    first.release()
    assert split.is_in(second.directory)
    second.release()
    assert not second.directory.exists()
    assert not leftovers(scratch)
    split.lease(cache).release()
    assert len(split.fetched) == 2
    assert cache.statistics().uncached == 2
    assert cache.flush() == (0, 0)


def test_a_count_from_a_crash_is_put_right(place: Path) -> None:
    splits = [plain(number) for number in range(3)]
    for split in splits[:2]:
        split.lease(open_at(place, 3000)).release()
    gate = place / "splits-1" / "gate"
    gate.write_bytes(gate_module.COUNT.pack(2999, gate.read_bytes()[8:]))
    splits[2].lease(open_at(place, 3000)).release()
    assert names(place) == {name_of(split) for split in splits}
    assert gate_module.COUNT.unpack(gate.read_bytes())[0] == 3000


class FullDisk:
    """Writes fail with ENOSPC, half-way, when the files under `root` would have more than `capacity` bytes."""

    def __init__(self, root: Path, capacity: int) -> None:
        self.root, self.capacity, self.write = root, capacity, cache_entry._write

    def __call__(self, path: Path, data: bytes | memoryview, length: int) -> None:
        used = sum(file.stat().st_size for file in self.root.rglob("*") if file.suffix in (".idx", ".json"))
        if path.is_relative_to(self.root) and used + len(data) > self.capacity:
            path.write_bytes(data[: len(data) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        self.write(path, data, length)


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path, int], None]:
    """`full_disk(root, capacity)`: from now on there is no more room than this under `root`."""

    def fill(root: Path, capacity: int) -> None:
        monkeypatch.setattr(cache_entry, "_write", FullDisk(root, capacity))

    return fill


def test_a_full_disk_is_freed_of_older_entries(place: Path, full_disk: Callable[[Path, int], None]) -> None:
    cache = open_at(place, 100_000)
    splits = [plain(number) for number in range(6)]
    full_disk(place, 3000)
    for split in splits:
        with split.lease(cache) as lease:
            assert lease.cached
            assert split.is_in(lease.directory)
    assert names(place) == {name_of(split) for split in splits[3:]}
    assert not leftovers(place)


def test_a_full_disk_leads_to_the_temporary_directory(
    place: Path, scratch: Path, full_disk: Callable[[Path, int], None]
) -> None:
    cache = open_at(place, 100_000)
    split = plain(1)
    full_disk(place, 500)
    with split.lease(cache) as lease:
        assert not lease.cached
        assert lease.directory.is_relative_to(scratch)
        assert split.is_in(lease.directory)
    assert not leftovers(place)
    assert not leftovers(scratch)
    assert names(place) == set()


def test_no_space_anywhere_is_an_error_that_leaves_nothing(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, full_disk: Callable[[Path, int], None]
) -> None:
    cache = open_at(place, 100_000)
    split = plain(1)
    full_disk(tmp_path, 500)
    with pytest.raises(SplitError, match=r"split-1\.split of s3://bucket/table needs 1,000 bytes .*No space left"):
        split.lease(cache)
    assert not leftovers(place)
    assert not leftovers(tmp_path / "scratch")
    assert list(tmp_path.rglob("*.idx")) == []
    monkeypatch.undo()
    with split.lease(cache) as lease:
        assert split.is_in(lease.directory)


CALLS = (
    "open",
    "write",
    "pwrite",
    "pread",
    "mkdir",
    "rename",
    "link",
    "unlink",
    "utime",
    "ftruncate",
    "scandir",
    "stat",
)


def fail_at(monkeypatch: pytest.MonkeyPatch, nth: int, root: Path) -> list[str]:
    """Let the n-th call to the file system fail. Returns a list that gets the name of the call."""
    failed: list[str] = []
    count = 0

    def wrap(name: str) -> Callable[..., Any]:
        call = getattr(os, name)

        def wrapped(*args: Any, **named: Any) -> Any:
            nonlocal count
            if isinstance(args[0], int) or str(args[0]).startswith(str(root)):
                count += 1
                if count == nth:
                    failed.append(name)
                    raise OSError(errno.EIO, os.strerror(errno.EIO))
            return call(*args, **named)

        return wrapped

    for name in CALLS:
        monkeypatch.setattr(os, name, wrap(name))
    return failed


def test_any_failing_call_gives_the_right_files_or_an_error(tmp_path: Path) -> None:
    """A call fails while a split enters a full cache whose oldest entry has to leave, sparse first, then whole."""
    reached = set()
    for nth in range(1, 400):
        place = tmp_path / f"cache-{nth}"
        cache = open_at(place, 2000, scratch=tmp_path / f"scratch-{nth}")
        old = plain(1, 1500)
        old.lease(cache).release()
        new = bundle({"a.idx": bytes(range(200)) * 4, "b.pos": bytes(900)}, "new", ends={"b.pos": 10})
        with pytest.MonkeyPatch.context() as patch:
            failed = fail_at(patch, nth, tmp_path)
            for sparse in (True, False):
                try:
                    with new.lease(cache, without_positions=sparse) as lease:
                        assert (lease.directory / "a.idx").read_bytes() == bytes(range(200)) * 4
                        assert sparse or new.is_in(lease.directory)
                except SplitError:
                    assert failed
        if not failed:
            break
        reached.add(failed[0])
        for again in (new, old):
            with again.lease(open_at(place, 2000)) as lease:
                assert again.is_in(lease.directory)
        assert not leftovers(place)
        assert open_at(place, 2000).statistics().bytes <= 2000
        shutil.rmtree(place)
    else:
        pytest.fail("there was no end to the calls")
    assert reached >= {"open", "write", "pwrite", "mkdir", "rename", "utime", "ftruncate", "link"}


def test_the_options_lead_to_one_cache_per_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, temporary_files_in: Callable[[Path], None]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    cache = open_cache(Options({}))
    assert open_cache(Options({"cache.disk.maxBytes": "10G"})) is cache
    assert cache.statistics().max_bytes == 10 << 30
    assert (tmp_path / "xdg" / "indextables" / "splits-1" / "entries").is_dir()
    other = open_cache(Options({"cache.disk.directory": str(tmp_path / "mine"), "cache.disk.maxBytes": "1M"}))
    assert other is not cache
    assert other.statistics().max_bytes == 1 << 20
    assert open_cache(Options({"cache.disk.enabled": "false"})).statistics().max_bytes == 0
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/no")
    temporary_files_in(tmp_path / "temporary")
    open_cache(Options({}))
    assert list((tmp_path / "temporary").glob("indextables-*/splits-1"))
