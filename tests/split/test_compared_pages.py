"""Pages of a local file are compared with their checksums once, and again whenever the file is not the one that was compared."""

from __future__ import annotations

import itertools
import mmap
import os
import random
import resource
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from effort import examples
from forked import true_in_child
from indextables.core.errors import CorruptSplit, ObjectNotFound, StorageError
from indextables.split.bundle.bundle_reader import Pages
from indextables.split.bundle.bundle_writer import RowsFile, Sealed
from indextables.split.bundle.footer import PAGE_SIZE
from indextables.storage.local import LocalStore
from indextables.storage.open_file import OpenFile
from indextables.storage.testing.counting import Counting
from split.bundle_support import SettledStore, seal
from split.test_bundle import SCHEMA

COUNT = 6
BYTES = random.Random(8).randbytes(COUNT * PAGE_SIZE - 1000)
_moments = itertools.count(1)


class Split:
    """A bundle whose rows are any bytes, in a file that counts as settled."""

    def __init__(self, directory: Path, mapped: bool) -> None:
        self.path = directory / "a.split"
        self.mapped = mapped
        (directory / "rows").write_bytes(BYTES)
        self.sealed: Sealed = seal(self.path, SCHEMA, [RowsFile(directory / "rows", 7)])
        self.store = Counting(SettledStore(directory, mapped=mapped))

    def pages(self) -> Pages:
        return Pages(self.store, self.path.name, self.sealed.footer)

    @property
    def compared(self) -> int:
        """Bytes that were read from the store: those of pages that are compared."""
        return self.store.bytes_moved["get_range"]

    def change(self, place: int) -> None:
        """Flip a bit of the file, as it is."""
        with self.path.open("r+b") as file:
            file.seek(place)
            byte = file.read(1)[0]
            file.seek(place)
            file.write(bytes([byte ^ 1]))
        self.touch()

    def touch(self) -> None:
        """Give the file a time that it never had: two writes in one step of the clock have the same time."""
        moment = 1_000_000_000 * next(_moments)
        os.utime(self.path, ns=(moment, moment))


@pytest.fixture(params=["mapped", "read"])
def split(tmp_path: Path, request: pytest.FixtureRequest) -> Split:
    return Split(tmp_path, request.param == "mapped")


PLACES = st.tuples(
    st.integers(0, len(BYTES) - 1),
    st.sampled_from([1, PAGE_SIZE - 1, PAGE_SIZE, PAGE_SIZE + 1]) | st.integers(1, len(BYTES)),
)


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(PLACES, min_size=1))
def test_each_page_is_compared_once(split: Split, reads: list[tuple[int, int]]) -> None:
    pages, before, touched = split.pages(), split.compared, set()
    for offset, length in reads:
        end = min(offset + length, len(BYTES))
        assert bytes(pages.read(offset, end - offset)) == BYTES[offset:end]
        touched |= set(range(offset // PAGE_SIZE, (end - 1) // PAGE_SIZE + 1))
    sizes = [min(PAGE_SIZE, len(BYTES) - page * PAGE_SIZE) for page in touched]
    assert split.compared - before == sum(sizes)
    for _ in range(3):
        assert bytes(pages.read(0, len(BYTES))) == BYTES
    assert split.compared - before == len(BYTES)


def test_what_stays_in_memory(split: Split) -> None:
    pages = split.pages()
    assert pages.is_mapped is split.mapped
    view = pages.read(PAGE_SIZE + 5, 10)
    assert view.readonly
    if split.mapped:
        assert isinstance(view.obj, mmap.mmap)
    else:
        assert len(view.obj) == 10
    del pages
    split.path.unlink()
    assert bytes(view) == BYTES[PAGE_SIZE + 5 : PAGE_SIZE + 15], "bytes stay for as long as somebody has them"


def test_damage_before_the_first_read(split: Split) -> None:
    split.change(2 * PAGE_SIZE + 5)
    pages = split.pages()
    assert bytes(pages.read(0, 2 * PAGE_SIZE)) == BYTES[: 2 * PAGE_SIZE]
    for offset, length in ((2 * PAGE_SIZE, 1), (0, len(BYTES)), (3 * PAGE_SIZE - 1, 2), (2 * PAGE_SIZE, 1)):
        with pytest.raises(CorruptSplit, match=rf"bytes {2 * PAGE_SIZE} to {3 * PAGE_SIZE} does not match"):
            pages.read(offset, length)
    assert bytes(pages.read(3 * PAGE_SIZE, 10)) == BYTES[3 * PAGE_SIZE : 3 * PAGE_SIZE + 10]


def test_damage_after_the_first_read(split: Split) -> None:
    pages = split.pages()
    pages.read(0, len(BYTES))
    split.change(PAGE_SIZE + 5)
    with pytest.raises(CorruptSplit, match=rf"bytes {PAGE_SIZE} to {2 * PAGE_SIZE} does not match"):
        pages.read(PAGE_SIZE + 100, 10)
    assert bytes(pages.read(0, 10)) == BYTES[:10]
    split.change(PAGE_SIZE + 5)
    assert bytes(pages.read(0, len(BYTES))) == BYTES


def test_damage_between_pages_that_are_known(split: Split) -> None:
    """A read of a known page and an unknown one relies on the file as it was: both are compared if it is not."""
    pages = split.pages()
    pages.read(0, 10)
    split.change(5)
    with pytest.raises(CorruptSplit, match=rf"bytes 0 to {PAGE_SIZE} does not match"):
        pages.read(0, PAGE_SIZE + 1)


def _by_rename(path: Path, data: bytes) -> None:
    path.with_name("other").write_bytes(data)
    path.with_name("other").rename(path)


def _in_place(path: Path, data: bytes) -> None:
    path.write_bytes(data)


@pytest.mark.parametrize("replace", [_by_rename, _in_place])
def test_a_file_that_is_replaced(split: Split, replace: Callable[[Path, bytes], None]) -> None:
    pages = split.pages()
    whole = split.path.read_bytes()
    pages.read(0, len(BYTES))
    before = split.compared
    replace(split.path, whole)
    split.touch()
    assert bytes(pages.read(0, len(BYTES))) == BYTES
    assert split.compared - before == len(BYTES)
    replace(split.path, bytes(len(whole)))
    split.touch()
    with pytest.raises(CorruptSplit, match=r"a\.split is damaged: the checksum"):
        pages.read(5, 10)
    replace(split.path, whole[: PAGE_SIZE // 2])
    split.touch()
    with pytest.raises(StorageError, match=r"a\.split"):
        pages.read(5, 10)
    split.path.unlink()
    with pytest.raises(ObjectNotFound, match=r"a\.split"):
        pages.read(5, 10)
    replace(split.path, whole)
    assert bytes(pages.read(5, 10)) == BYTES[5:15]


def test_a_file_that_changes_while_it_is_read(split: Split) -> None:
    """The bytes may be those before or after the change, so they are compared again."""

    class Slow(OpenFile):
        def read(self, start: int, end: int) -> memoryview:
            if split.compared == len(BYTES):
                split.change(20)
            return super().read(start, end)

    class Store(SettledStore):
        file_type = Slow

    pages = Pages(Store(split.path.parent, mapped=split.mapped), split.path.name, split.sealed.footer)
    assert bytes(pages.read(5, 30)) == BYTES[5:35]
    split.pages().read(0, len(BYTES))
    with pytest.raises(CorruptSplit):
        pages.read(5, 30)


def test_a_file_that_was_just_written_is_compared_every_time(split: Split) -> None:
    """Two writes in one step of the file system's clock give the same time, so that the second one would not be seen."""
    store = Counting(LocalStore(split.path.parent))
    pages, before = Pages(store, split.path.name, split.sealed.footer), split.path.stat()
    assert not pages.is_mapped
    pages.read(0, len(BYTES))
    with split.path.open("r+b") as file:
        file.seek(2 * PAGE_SIZE)
        file.write(bytes([BYTES[2 * PAGE_SIZE] ^ 1]))
    os.utime(split.path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(CorruptSplit):
        pages.read(0, len(BYTES))


def test_a_forked_child_reads_on(split: Split) -> None:
    pages = split.pages()
    pages.read(0, 10)

    def right() -> bool:
        return bytes(pages.read(0, len(BYTES))) == BYTES and bytes(pages.read(7, 9)) == BYTES[7:16]

    assert true_in_child(right)
    assert right()


def test_many_threads(split: Split) -> None:
    pages, wrong = split.pages(), []

    def work(seed: int) -> None:
        generator = random.Random(seed)
        for _ in range(60):
            offset = generator.randrange(len(BYTES))
            length = min(generator.choice([10, 1000, 2 * PAGE_SIZE]), len(BYTES) - offset)
            if bytes(pages.read(offset, length)) != BYTES[offset : offset + length]:
                wrong.append((offset, length))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(BYTES) <= split.compared <= 6 * len(BYTES)


@pytest.fixture
def open_files() -> Callable[[], int]:
    where = Path("/proc/self/fd")
    if not where.is_dir():
        pytest.skip("only Linux lists the open files of a process")
    return lambda: len(list(where.iterdir()))


def test_files_are_closed(split: Split, open_files: Callable[[], int]) -> None:
    before = open_files()
    for _ in range(5):
        pages = split.pages()
        pages.read(0, 10)
        assert open_files() == before + 1
        split.touch()
        pages.read(0, 10)
        assert open_files() == before, "the file before the change is closed"
        pages.read(0, 10)
        assert open_files() == before + 1
        del pages
    assert open_files() == before


@pytest.mark.own_process
@pytest.mark.parametrize("mapped", [True, False])
def test_files_that_are_held_leave_room_for_others(tmp_path: Path, mapped: bool) -> None:
    split = Split(tmp_path, mapped)

    def holds_few() -> bool:
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, most))
        before = len(list(Path("/dev/fd").iterdir()))
        held = [split.pages() for _ in range(300)]
        right = all(pages.read(5, 1000) == BYTES[5:1005] for pages in (*held, *held))
        opened = len(list(Path("/dev/fd").iterdir())) - before
        held.clear()
        last = split.pages()
        return right and 0 < opened <= 64 and last.read(5, 1000) == BYTES[5:1005] and last.is_mapped == mapped

    assert true_in_child(holds_few)
