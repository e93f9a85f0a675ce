"""Files that are kept open: ranges, and whether the name still leads to the file as it was."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from forked import true_in_child
from indextables.core.errors import InvalidKey, ObjectNotFound
from indextables.storage.local import LocalStore
from indextables.storage.open_file import SETTLED_MS, OpenFile, file_system, on_local_disk

DATA = bytes(range(256)) * 40
AT_ONCE = -1_000_000
"""Milliseconds: files settle before they are written."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "object"
    file.write_bytes(DATA)
    os.utime(file, ns=(10**18, 10**18))
    return file


@pytest.mark.parametrize("mapped", [True, False])
def test_ranges(path: Path, mapped: bool) -> None:
    file = OpenFile(str(path), settled_ms=AT_ONCE, is_local_disk=lambda *_: mapped)
    assert file.is_mapped is mapped
    assert file.read(0, len(DATA)) == DATA
    assert file.read(5, 300) == DATA[5:300]
    assert file.read(7, 7) == b""
    assert file.read(len(DATA) - 3, len(DATA) + 10) == DATA[-3:], "the file ends there"
    assert file.read(5, 300).readonly


def test_a_process_whose_addresses_are_limited(path: Path) -> None:
    def is_read() -> bool:
        resource.setrlimit(resource.RLIMIT_AS, (1 << 45, resource.getrlimit(resource.RLIMIT_AS)[1]))
        file = OpenFile(str(path), settled_ms=AT_ONCE, is_local_disk=lambda *_: True)
        return not file.is_mapped and file.read(3, 9) == DATA[3:9]

    assert true_in_child(is_read)


def test_an_empty_file(path: Path) -> None:
    path.write_bytes(b"")
    file = OpenFile(str(path), settled_ms=AT_ONCE, is_local_disk=lambda *_: True)
    assert not file.is_mapped
    assert file.read(0, 10) == b""


def test_a_system_that_reads_less_than_asked_for(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pread = os.pread
    monkeypatch.setattr(os, "pread", lambda fd, length, start: pread(fd, min(length, 1000), start))
    assert OpenFile(str(path)).read(5, len(DATA)) == DATA[5:]


def test_an_object_of_a_store(path: Path) -> None:
    store = LocalStore(path.parent)
    assert store.open_file("object").read(1, 4) == DATA[1:4]
    with pytest.raises(ObjectNotFound, match=r"there is no object .*/absent"):
        store.open_file("absent")
    with pytest.raises(InvalidKey):
        store.open_file("../object")


@pytest.mark.parametrize("mapped", [True, False])
def test_changes_are_seen(path: Path, mapped: bool) -> None:
    def written() -> None:
        path.write_bytes(DATA)
        os.utime(path, ns=(10**18, 10**18 + 1))

    def replaced() -> None:
        path.with_name("new").write_bytes(DATA)
        path.with_name("new").rename(path)

    def longer() -> None:
        with path.open("ab") as more:
            more.write(b"x")

    for change in (written, replaced, longer, path.unlink):
        file = OpenFile(str(path), settled_ms=AT_ONCE, is_local_disk=lambda *_: mapped)
        assert file.is_current
        change()
        assert not file.is_current, change
    assert file.read(0, 3) == DATA[:3], "who has a file open can read on"


def test_a_file_settles(path: Path) -> None:
    fresh = OpenFile(str(path), is_local_disk=lambda *_: True)
    assert SETTLED_MS > 2_000
    assert not fresh.is_settled, "the time of writing can be set, the time of the last change cannot"
    assert not fresh.is_mapped, "a file that may still be written to"
    assert OpenFile(str(path), settled_ms=AT_ONCE).is_settled


MOUNTS = r"""21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
22 21 0:20 / /proc rw shared:2 - proc proc rw
30 21 0:50 / /data rw shared:3 - nfs4 server:/data rw
31 30 0:51 /x /data/with\040space/disk rw - xfs /dev/sdb1 rw
32 21 0:52 / /twice rw - ext4 /dev/sdc1 rw
33 32 0:53 / /twice rw master:1 - fuse.s3 bucket rw
"""


@pytest.mark.parametrize(
    ("where", "kind"),
    [
        ("/a/b", "ext4"),
        ("/database/x", "ext4"),
        ("/data/x", "nfs4"),
        ("/data", "nfs4"),
        ("/data/with space/disk/file", "xfs"),
        ("/data/with space/other", "nfs4"),
        ("/twice/x", "fuse.s3"),
    ],
)
def test_file_systems(where: str, kind: str) -> None:
    assert file_system(where, MOUNTS) == kind
    assert file_system(where, "") == ""


def test_this_machine(path: Path) -> None:
    if not Path("/proc/self/mountinfo").exists():
        pytest.skip("only Linux lists its file systems")
    assert file_system("/proc/self") == "proc"
    assert not on_local_disk("/proc/self", Path("/proc/self").stat().st_dev)
    assert file_system(str(path))
