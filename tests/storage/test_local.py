"""What only a local disk does: durability, temporary files, links, and the errors of the operating system."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from effort import examples
from indextables.core.errors import (
    AccessDenied,
    InvalidKey,
    ObjectExists,
    ObjectNotFound,
    StorageError,
    StoreMisconfigured,
    StoreUnavailable,
)
from indextables.storage import durable
from indextables.storage.local import LocalStore, sweep
from indextables.storage.remote import ObstoreStore
from indextables.storage.retrying import Retrying
from indextables.storage.testing.counting import Counting
from indextables.storage.testing.faulty import Died


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "table"


@pytest.fixture
def store(root: Path) -> LocalStore:
    return LocalStore(root)


class Disk:
    """A file system that lacks something, or whose system calls fail or do something else."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch

    def has_no_unnamed_files(self) -> None:
        self._patch.setattr(durable, "_unnamed_files", lambda: False)

    def renames_by(self, rename: Callable[..., int] | None) -> None:
        """What it has for a rename that replaces nothing."""
        self._patch.setattr(durable, "_renameat2", lambda: rename)

    def does(self, call: str, instead: Callable[..., object]) -> None:
        self._patch.setattr(os, call, instead)

    def fails(self, call: str, code: int) -> None:
        self.does(call, failing(code))


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


@contextmanager
def changed_disk() -> Iterator[Disk]:
    with pytest.MonkeyPatch.context() as patch:
        yield Disk(patch)


@pytest.fixture(params=["unnamed", "named", "renamed"])
def way(request: pytest.FixtureRequest, disk: Disk) -> str:
    """The three ways to write a new object: O_TMPFILE, a named temporary file, and a file system without hard links."""
    if request.param != "unnamed":
        disk.has_no_unnamed_files()
    if request.param == "renamed":
        disk.fails("link", errno.EPERM)
    return str(request.param)


def failing(code: int) -> Callable[..., None]:
    def fail(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    return fail


def files(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


class Calls:
    """The system calls that make a write durable, in order, with the file that each is about."""

    def __init__(self, disk: Disk, root: Path) -> None:
        self.seen: list[str] = []
        self._root = root
        for name in ("fsync", "link", "rename", "mkdir", "unlink", "utime", "write"):
            disk.does(name, self._recording(name, getattr(os, name)))

    def _recording(self, name: str, real: Callable[..., object]) -> Callable[..., object]:
        def call(target: int | str, *args: object, **kwargs: object) -> object:
            named = args[0] if name in ("link", "rename") else target
            self.seen.append(f"{name} {self._name(named)}")
            return real(target, *args, **kwargs)

        return call

    def _name(self, target: object) -> str:
        path = Path(f"/proc/self/fd/{target}").readlink() if isinstance(target, int) else Path(str(target))
        return "temporary" if path.name.startswith((".indextables-", "#")) else os.path.relpath(path, self._root)


def test_a_create_is_durable_before_it_is_seen(root: Path, disk: Disk) -> None:
    calls = Calls(disk, root)
    store = LocalStore(root)
    store.create("log/a/1", b"x")
    write = ["write temporary", "utime temporary", "fsync temporary"]
    assert calls.seen == [
        *("mkdir .", "fsync .."),
        *("mkdir log", "fsync ."),
        *("mkdir log/a", "fsync log"),
        *write,
        *("link log/a/1", "fsync log/a"),
    ]
    calls.seen.clear()
    store.create("log/a/2", b"x")
    assert calls.seen == [*write, "link log/a/2", "fsync log/a"]


def test_a_create_by_a_named_temporary_file(root: Path, disk: Disk) -> None:
    root.mkdir()
    disk.has_no_unnamed_files()
    calls = Calls(disk, root)
    LocalStore(root).create("1", b"x")
    write = ["write temporary", "utime temporary", "fsync temporary"]
    assert calls.seen == ["mkdir .", *write, "link 1", "unlink temporary", "fsync ."]


def test_a_put_is_durable_before_it_is_seen(root: Path, disk: Disk) -> None:
    root.mkdir()
    calls = Calls(disk, root)
    LocalStore(root).put("1", b"x")
    assert calls.seen == ["mkdir .", "write temporary", "utime temporary", "fsync temporary", "rename 1", "fsync ."]


def test_a_delete_is_durable_with_one_sync_for_a_directory(store: LocalStore, root: Path, disk: Disk) -> None:
    for key in ("a/1", "a/2", "b/1"):
        store.create(key, b"")
    calls = Calls(disk, root)
    assert store.delete(["a/1", "b/1", "a/2", "b/absent"]) == {}
    assert sorted(call for call in calls.seen if call.startswith("fsync")) == ["fsync a", "fsync b"]


def test_every_way_writes_whole_objects_and_leaves_nothing_else(store: LocalStore, root: Path, way: str) -> None:
    assert way
    store.create("d/a", b"1")
    with pytest.raises(ObjectExists):
        store.create("d/a", b"2")
    store.put("d/a", b"3")
    store.put("d/b", b"4")
    assert store.get("d/a").data == b"3"
    assert files(root) == ["d/a", "d/b"]


def test_without_links_and_without_such_a_rename_the_store_is_refused(
    store: LocalStore, root: Path, disk: Disk
) -> None:
    disk.fails("link", errno.ENOTSUP)
    disk.renames_by(None)
    with pytest.raises(StoreMisconfigured, match="neither hard links"):
        store.create("a", b"")
    assert files(root) == []


def test_a_file_system_that_refuses_the_flag_of_the_rename(store: LocalStore, disk: Disk) -> None:
    import ctypes

    def refuse(*_: object) -> int:
        ctypes.set_errno(errno.EINVAL)
        return -1

    disk.fails("link", errno.EPERM)
    disk.renames_by(refuse)
    with pytest.raises(StoreMisconfigured):
        store.create("a", b"")


def test_a_crash_between_link_and_unlink_leaves_a_good_object(store: LocalStore, root: Path, disk: Disk) -> None:
    disk.has_no_unnamed_files()

    def die(*_: object) -> None:
        raise Died("before unlink")

    with changed_disk() as dying:
        dying.does("unlink", die)
        with pytest.raises(Died):
            store.create("log/1", b"whole")
    assert len(files(root)) == 2
    assert [meta.key for meta in store.list("")] == ["log/1"]
    assert store.get("log/1").data == b"whole"
    later = int(time.time() * 1000) + 10_000
    assert store.sweep("log/", later) == 1
    assert files(root) == ["log/1"]
    assert store.get("log/1").data == b"whole"


def test_a_killed_writer_leaves_whole_objects_only(tmp_path: Path) -> None:
    script = (
        "import sys, itertools; from indextables.storage.local import LocalStore\n"
        "store = LocalStore(sys.argv[1])\n"
        "for number in itertools.count():\n"
        "    store.create(f'c/{number:06d}', bytes([number % 256]) * 50_000)\n"
        "    store.put(f'p/{number % 7}', bytes([number % 256]) * 50_000)\n"
        "    print(number, flush=True)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        acknowledged = [int(writer.stdout.readline()) for _ in range(25)]
        writer.kill()
        acknowledged += [int(line) for line in writer.stdout.read().split()]
    store = LocalStore(tmp_path)
    created = [meta.key for meta in store.list("c/")]
    assert created[: len(acknowledged)] == [f"c/{number:06d}" for number in acknowledged]
    for meta in store.list(""):
        assert meta.size == 50_000
        assert len(set(store.get(meta.key).data)) == 1


def test_temporary_files_are_hidden_and_swept_when_old(store: LocalStore, root: Path) -> None:
    store.create("a/x", b"")
    old = [".indextables-0123456789abcdef.tmp", "a/.indextables-ffffffffffffffff.tmp", "a/x#1", "a/b/y.json#12"]
    (root / "a/b").mkdir()
    for name in old:
        (root / name).write_bytes(b"")
        os.utime(root / name, (1000, 1000))
    (root / "a/young#2").write_bytes(b"")
    assert [meta.key for meta in store.list("")] == ["a/x"]
    assert store.sweep("a/", 1_000_000) == 0
    assert store.sweep("a/", 1_000_001) == 3
    assert files(root) == [old[0], "a/x", "a/young#2"]
    assert sweep(Retrying(Counting(store)), "", 1_000_001) == 1
    assert files(root) == ["a/x", "a/young#2"]


def test_other_stores_have_nothing_to_sweep() -> None:
    from obstore.store import MemoryStore

    assert sweep(Retrying(ObstoreStore(MemoryStore(), "memory://x")), "", 2**60) == 0


@pytest.mark.parametrize("name", [".indextables-0123456789abcdef.tmp", "a#1", "d/version.json#12"])
def test_names_of_temporary_files_are_not_keys_to_write(store: LocalStore, name: str) -> None:
    for write in (store.create, store.put):
        with pytest.raises(InvalidKey, match="temporary"):
            write(name, b"")


@pytest.mark.parametrize(
    "name", ["#1", "a#", "a#b", "a#1b", ".indextables-0.tmp", ".indextables-0123456789abcdef.tmp2"]
)
def test_names_that_only_look_temporary(store: LocalStore, name: str) -> None:
    store.create(name, b"")
    assert [meta.key for meta in store.list("")] == [name]


def test_no_two_objects_share_an_etag(store: LocalStore) -> None:
    """Deleted and created again at once, the inode and the kernel's tick are the same."""
    seen = set()
    for _ in range(200):
        store.create("v0", b"same size")
        seen.add(store.head("v0").etag)
        store.delete(["v0"])
    assert len(seen) == 200


def test_the_time_is_the_file_systems(store: LocalStore, root: Path) -> None:
    store.create("a", b"")
    (root / "b").touch()
    times = {meta.key: meta.last_modified_ms for meta in store.list("")}
    assert 0 <= times["b"] - times["a"] < 1000


def test_directories_that_were_removed_are_made_again(store: LocalStore, root: Path) -> None:
    store.create("a/b/x", b"1")
    store.delete(["a/b/x"])
    (root / "a/b").rmdir()
    (root / "a").rmdir()
    store.create("a/b/x", b"2")
    assert store.get("a/b/x").data == b"2"


def test_the_root_is_made_with_its_parents(tmp_path: Path) -> None:
    LocalStore(tmp_path / "x/y/z").create("k", b"")
    assert files(tmp_path) == ["x/y/z/k"]


def test_an_object_and_a_directory_of_one_name(store: LocalStore) -> None:
    store.create("a/b", b"")
    for write in (store.create, store.put):
        with pytest.raises(InvalidKey, match="directory"):
            write("a", b"")
        with pytest.raises(InvalidKey):
            write("a/b/c", b"")
        with pytest.raises(InvalidKey):
            write("a/b/c/d", b"")
    assert [meta.key for meta in store.list("")] == ["a/b"]


def test_a_listing_reads_only_directories_that_can_match(store: LocalStore, disk: Disk) -> None:
    for key in ("log/0", "log/manifests/m", "log/state-v1/m", "log/state-v2/m", "splits/s"):
        store.create(key, b"")
    read: list[str] = []
    scandir = os.scandir

    def recording(path: str) -> object:
        read.append(os.path.relpath(path, store.root))
        return scandir(path)

    disk.does("scandir", recording)
    for prefix, after, directories in [
        ("log/0", None, ["log"]),
        ("log/state-v2", None, ["log", "log/state-v2"]),
        ("log/state-v", "log/state-v1/m", ["log", "log/state-v1", "log/state-v2"]),
        ("log/state-v", "log/state-v1/z", ["log", "log/state-v1", "log/state-v2"]),
        ("log/state-v", "log/state-v1~", ["log", "log/state-v2"]),
        ("log/", "splits", []),
        ("splits/", "log/x", ["splits"]),
    ]:
        read.clear()
        list(store.list(prefix, after))
        assert read == directories, (prefix, after)
    read.clear()
    next(store.list(""))
    assert read == [".", "log"]


def test_files_may_vanish_during_a_listing(store: LocalStore) -> None:
    for key in ("a", "b", "c/d", "e"):
        store.create(key, b"")
    listing = store.list("")
    assert next(listing).key == "a"
    store.delete(["b", "c/d"])
    (Path(store.root) / "c").rmdir()
    assert [meta.key for meta in listing] == ["e"]


def test_names_that_are_not_utf8_are_no_objects(store: LocalStore) -> None:
    store.create("a", b"")
    Path(os.fsdecode(os.fsencode(store.root) + b"/\xff")).touch()
    assert [meta.key for meta in store.list("")] == ["a"]


def test_what_is_no_file_is_no_object(store: LocalStore, root: Path) -> None:
    store.create("a", b"")
    os.mkfifo(root / "fifo")
    (root / "dangling").symlink_to(root / "nowhere")
    assert [meta.key for meta in store.list("")] == ["a"]
    with pytest.raises(ObjectNotFound):
        store.head("fifo")
    with pytest.raises(ObjectNotFound):
        store.get("dangling")


def test_links_are_followed_but_not_by_deletes(store: LocalStore, root: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/x").write_bytes(b"precious")
    store.create("real/y", b"1")
    (root / "out").symlink_to(tmp_path / "elsewhere")
    (root / "twin").symlink_to(root / "real")
    (root / "real/loop").symlink_to(root)
    (root / "self").symlink_to(root / "self")
    assert [meta.key for meta in store.list("")] == ["out/x", "real/y", "twin/y"]
    assert store.get("out/x").data == b"precious"
    failed = store.delete(["out/x", "twin/y", "real/loop/real/y"])
    assert {key: type(error) for key, error in failed.items()} == dict.fromkeys(failed, InvalidKey)
    assert len(failed) == 3
    assert store.get("out/x").data == b"precious"
    assert store.get("real/y").data == b"1"


def test_the_root_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    store = LocalStore(tmp_path / "link")
    store.create("d/a", b"")
    assert store.delete(["d/a"]) == {}
    assert files(tmp_path / "real") == []


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (errno.ENOSPC, StorageError),
        (errno.EDQUOT, StorageError),
        (errno.EIO, StorageError),
        (errno.EROFS, AccessDenied),
        (errno.EACCES, AccessDenied),
        (errno.ESTALE, StoreUnavailable),
        (errno.EMFILE, StoreUnavailable),
        (errno.ENAMETOOLONG, InvalidKey),
    ],
)
def test_errors_of_a_write(store: LocalStore, root: Path, way: str, code: int, expected: type[StorageError]) -> None:
    assert way
    store.create("d/before", b"")
    with changed_disk() as broken:
        broken.fails("fsync", code)
        for write in (store.create, store.put):
            with pytest.raises(StorageError) as caught:
                write("d/a", b"x")
            assert type(caught.value) is expected
            assert os.strerror(code) in str(caught.value)
    assert files(root) == ["d/before"]


def test_errors_of_reads_lists_and_deletes(store: LocalStore) -> None:
    store.create("d/a", b"x")
    asks: list[Callable[[], object]] = [
        lambda: store.get("d/a"),
        lambda: store.get_range("d/a", 0, 1),
        lambda: store.head("d/a"),
        lambda: list(store.list("")),
    ]
    with changed_disk() as closed:
        for name in ("open", "stat", "scandir", "unlink"):
            closed.fails(name, errno.EACCES)
        for ask in asks:
            with pytest.raises(AccessDenied):
                ask()
    with changed_disk() as read_only:
        read_only.fails("unlink", errno.EROFS)
        assert type(store.delete(["d/a"])["d/a"]) is AccessDenied
    with changed_disk() as broken:
        broken.fails("fsync", errno.EIO)
        assert type(store.delete(["d/a"])["d/a"]) is StorageError


def test_a_component_that_is_too_long(store: LocalStore) -> None:
    store.create("short", b"")
    for ask in (store.get, store.head, lambda key: store.create(key, b"")):
        with pytest.raises(InvalidKey):
            ask("x" * 300)


def test_directories_without_sync_are_taken_as_they_are(store: LocalStore, disk: Disk) -> None:
    real = os.fsync

    def fsync(fd: int) -> None:
        if Path(f"/proc/self/fd/{fd}").is_dir():
            raise OSError(errno.EINVAL, "not for directories")
        real(fd)

    disk.does("fsync", fsync)
    store.create("a/b", b"x")
    assert store.get("a/b").data == b"x"


def test_short_reads_and_writes_are_continued(store: LocalStore, disk: Disk) -> None:
    data = bytes(range(256)) * 4
    write, pread = os.write, os.pread
    disk.does("write", lambda fd, view: write(fd, view[:100]))
    disk.does("pread", lambda fd, size, start: pread(fd, min(size, 70), start))
    store.create("a", data)
    assert store.get("a").data == data
    assert store.get_range("a", 3, 900) == data[3:900]


def test_a_store_works_in_a_forked_child(tmp_path: Path) -> None:
    script = (
        "import os, sys; from indextables.storage.local import LocalStore\n"
        "store = LocalStore(sys.argv[1]); store.create('a', b'1')\n"
        "if os.fork() == 0:\n"
        "    store.create('b', store.get('a').data); os._exit(0)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.wait()[1]) or store.get('b').data != b'1')\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True, timeout=60)


names = st.text(alphabet="ab-.0~é ", min_size=1, max_size=3).filter(lambda name: name not in (".", ".."))
paths = st.lists(names, min_size=1, max_size=3).map("/".join)


@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(made=st.sets(paths, max_size=8), data=st.data())
def test_listings_match_a_naive_one(
    tmp_path_factory: pytest.TempPathFactory, made: set[str], data: st.DataObject
) -> None:
    root = tmp_path_factory.mktemp("listing")
    made = {key for key in made if not any(other.startswith(key + "/") for other in made)}
    for key in made:
        (root / key).parent.mkdir(parents=True, exist_ok=True)
        (root / key).touch()
    store = LocalStore(root)
    for _ in range(5):
        whole = data.draw(st.sampled_from(sorted(made)) if made else paths)
        prefix = whole[: data.draw(st.integers(0, len(whole)))]
        after = data.draw(st.none() | paths | st.sampled_from([*sorted(made), "a/"]))
        expected = sorted(key for key in made if key.startswith(prefix) and key > (after or ""))
        assert [meta.key for meta in store.list(prefix, after)] == expected, (prefix, after)
