"""`indextables import --follow`: every file of a directory goes in exactly once, whatever happens meanwhile."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.support import ok, program, rows_of, run
from indextables import Table
from indextables.cli.arriving.arrivals import Arrivals, Arrived, Place, is_left_alone
from indextables.cli.arriving.follow_directory import STATE, Follow, follow_directory
from indextables.cli.arriving.ledger import Ledger
from indextables.cli.arriving.take_batch import Reading, StillWritten, take_batch
from indextables.cli.errors import BAD_INPUT, NOT_FOUND, OK, USAGE, InputError
from indextables.cli.render.progress import Stage
from indextables.cli.render.screen import Screen
from indextables.cli.stop import STOP, Stop, Stopped
from indextables.cli.targets import target
from indextables.cli.writing import Import
from indextables.table.loading import drop_table_at

Steps = Callable[..., None]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory that files arrive in."""
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


@pytest.fixture
def meanwhile(waiting_is: Callable[..., None]) -> Steps:
    """`meanwhile(step, …)`: what happens each time the command waits. After the last step Ctrl-C is pressed."""

    def do(*steps: Callable[[], object]) -> None:
        left = iter(steps)

        def wait(stop: Stop, _: float) -> None:
            step = next(left, None)
            if step is None:
                STOP.ask(signal.SIGINT)
            else:
                step()
            stop.check()

        waiting_is(wait)

    return do


def nothing() -> None:
    """A look that finds what is there already."""


def write(place: Path, name: str, *numbers: int) -> Path:
    """A file of JSON lines."""
    path = place / name
    path.write_text("".join(f'{{"n": {number}}}\n' for number in numbers))
    return path


def in_table(url: object) -> list[int]:
    return sorted(row["n"] for row in rows_of(str(url)))


def follow(url: object, place: Path, *more: object) -> Any:
    return run("import", url, place, "--follow", "--settle", 0, *more)


def test_files_as_they_arrive(t: str, place: Path, meanwhile: Steps) -> None:
    write(place, "a.jsonl", 1, 2)
    meanwhile(
        lambda: write(place, "b.jsonl", 3),
        nothing,
        lambda: (write(place, "c.jsonl", 4), write(place, "d.jsonl", 5)),
        nothing,
    )
    result = follow(t, place, "--json")
    assert (result.code, result.err) == (OK, "")
    shown = [(row["files"], row["rows"], row["names"]) for row in result.rows]
    assert shown == [(1, 2, ["a.jsonl"]), (1, 1, ["b.jsonl"]), (2, 2, ["c.jsonl", "d.jsonl"])]
    assert in_table(t) == [1, 2, 3, 4, 5]
    meanwhile(nothing, lambda: write(place, "e.jsonl", 6), nothing)
    again = follow(t, place, "--json")
    assert [row["names"] for row in again.rows] == [["e.jsonl"]]
    assert in_table(t) == [1, 2, 3, 4, 5, 6]


def test_an_older_copy_of_the_ledger_is_refused(t: str, place: Path, meanwhile: Steps) -> None:
    """Its next batch would have a number that the table has already, and the files of that batch would be left out."""
    write(place, "a.jsonl", 1)
    meanwhile(nothing)
    follow(t, place)
    (ledger,) = (place / STATE).glob("*.ledger")
    copy = ledger.read_bytes()
    write(place, "b.jsonl", 2)
    meanwhile(nothing)
    follow(t, place)
    ledger.write_bytes(copy)
    write(place, "c.jsonl", 3)
    meanwhile(nothing)
    result = follow(t, place)
    assert result.code not in (OK, 130)
    assert "is older than the table: it ends with batch 1, and the table has batch 2" in result.err
    assert in_table(t) == [1, 2]


def test_all_formats_go_into_one_table(t: str, place: Path, meanwhile: Steps) -> None:
    write(place, "a.jsonl", 1)
    (place / "b.csv").write_text("n\n2\n")
    (place / "c.tsv").write_text("n\n3\n")
    pq.write_table(pa.table({"n": [4]}), place / "d.parquet")
    (place / "e.json").write_text('[{"n": 5}]')
    subprocess.run(["gzip", write(place, "f.jsonl", 6)], check=True)
    meanwhile(nothing)
    assert follow(t, place).code == OK
    assert in_table(t) == [1, 2, 3, 4, 5, 6]


def test_what_is_left_alone(t: str, place: Path, meanwhile: Steps) -> None:
    for name in (".hidden.jsonl", "_SUCCESS", "_part.jsonl", "a.jsonl.tmp", "a.jsonl.PART", "b.unknown"):
        write(place, name, 100)
        assert is_left_alone(name) or name == "b.unknown"
    (place / "sub.jsonl").mkdir()
    (place / "dangling.jsonl").symlink_to(place / "nowhere")
    write(place, "good.jsonl", 1)
    meanwhile(lambda: (place / "a.jsonl.tmp").rename(place / "a.jsonl"), nothing, nothing)
    result = run("import", t, place, "--follow", "--settle", 0, "-o", "table", terminal=True, NO_COLOR="1")
    assert result.code == OK
    assert in_table(t) == [1, 100]
    assert result.err.count("b.unknown has no ending that tells its format, and is left alone") == 1


def test_a_file_is_whole_when_it_has_not_changed_for_a_while(place: Path) -> None:
    now = [0.0]
    arrivals = Arrivals(place, 5, clock=lambda: now[0])

    def whole() -> list[str]:
        return [name for name, file in sorted(arrivals.look().items()) if arrivals.is_whole(file)]

    path = write(place, "a.jsonl", 1)
    assert whole() == []
    now[0] = 4.9
    assert whole() == []
    with path.open("a") as file:
        file.write("\n")
    assert whole() == []
    now[0] = 9
    os.utime(path, ns=(1, 1))
    assert whole() == []
    now[0] = 13.9
    assert whole() == []
    now[0] = 14
    assert whole() == ["a.jsonl"]
    path.unlink()
    assert whole() == []
    write(place, "a.jsonl", 1)
    assert whole() == [], "another file of the name"
    with pytest.raises(InputError, match="cannot be read"):
        Arrivals(place / "not", 0).look()
    (place / os.fsdecode(b"\xff.jsonl")).write_text("")
    with pytest.raises(InputError, match="not UTF-8"):
        arrivals.look()


class Growing(Arrivals):
    """A directory whose file grows after it was looked at so many times."""

    def __init__(self, place: Path, looks: int) -> None:
        super().__init__(place, 0)
        self.looks = looks

    def state(self, name: str) -> Arrived | None:
        self.looks -= 1
        if self.looks == 0:
            with self.path(name).open("a") as file:
                file.write('{"n": 2}\n')
        return super().state(name)


@pytest.mark.parametrize("looks", [1, 2])
def test_a_file_that_changes_before_or_while_it_is_read(t: str, place: Path, meanwhile: Steps, looks: int) -> None:
    path = write(place, "a.jsonl", 1)
    table = Table.create(t, "n long")
    ledger = Ledger(place / STATE, table.id)
    ledger.begin([Arrived(path.stat().st_mtime_ns, path.name, path.stat().st_size)])
    reading, stage = Reading(None, None, ()), Stage(Screen.standard(), notes=False)
    with pytest.raises(StillWritten):
        take_batch(table, ledger, Growing(place, looks), reading, stage)
    assert table.refresh().version == 0
    ledger.close()
    meanwhile(nothing)
    assert follow(t, place).code == OK
    assert in_table(t) == [1, 2]


def test_a_file_that_changes_after_it_was_taken_is_told(t: str, place: Path, meanwhile: Steps) -> None:
    path = write(place, "a.jsonl", 1)

    def grow() -> None:
        with path.open("a") as file:
            file.write('{"n": 2}\n')

    meanwhile(grow, nothing, nothing)
    result = run("import", t, place, "--follow", "--settle", 0, "-o", "table", terminal=True, NO_COLOR="1")
    assert result.err.count("a.jsonl changed after it was imported: what came is not imported, give it a new name") == 1
    assert in_table(t) == [1]


def test_a_name_that_is_used_again_is_a_new_file(t: str, place: Path, meanwhile: Steps) -> None:
    path = write(place, "a.jsonl", 1)
    meanwhile(path.unlink, nothing, lambda: write(place, "a.jsonl", 2), nothing)
    assert follow(t, place).code == OK
    assert in_table(t) == [1, 2]
    meanwhile(nothing)
    assert follow(t, place).code == OK
    assert in_table(t) == [1, 2]


@pytest.mark.parametrize("begins_mounted", [False, True])
def test_a_directory_that_is_mounted(
    t: str, place: Path, meanwhile: Steps, tmp_path: Path, begins_mounted: bool
) -> None:
    """An empty mount point is no directory whose files were removed: nothing is taken twice. What is removed is forgotten."""
    state = ("--state", tmp_path / "state", "--json")
    mount_point, disk = tmp_path / "mount point", tmp_path / "disk"
    mount_point.mkdir()

    def unmount() -> None:
        place.rename(disk)
        mount_point.rename(place)

    def mount() -> None:
        place.rename(mount_point)
        disk.rename(place)

    write(place, "a.jsonl", 1)
    write(place, "b.jsonl", 2)
    meanwhile(nothing)
    assert [row["names"] for row in follow(t, place, *state).rows] == [["a.jsonl", "b.jsonl"]]
    if not begins_mounted:
        unmount()
    away = (unmount, nothing) if begins_mounted else (nothing,)
    meanwhile(
        *away,
        lambda: (mount(), write(place, "c.jsonl", 3)),
        nothing,
        (place / "b.jsonl").unlink,
        lambda: write(place, "b.jsonl", 4, 5),
        nothing,
    )
    result = follow(t, place, *state)
    assert [row["names"] for row in result.rows] == [["c.jsonl"], ["b.jsonl"]]
    assert in_table(t) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("state", ["in the directory", "elsewhere"])
def test_a_name_that_is_used_again_after_a_restart(
    t: str, place: Path, meanwhile: Steps, tmp_path: Path, state: str
) -> None:
    """All files were removed while nothing followed the directory, and it is still known to be the one they lay in."""
    more = ("--state", tmp_path / "state") if state == "elsewhere" else ()
    path = write(place, "current.jsonl", 1)
    meanwhile(nothing)
    assert follow(t, place, *more).code == OK
    path.unlink()
    meanwhile(nothing, lambda: write(place, "current.jsonl", 2, 3), nothing, nothing)
    assert follow(t, place, *more).code == OK
    assert in_table(t) == [1, 2, 3]
    meanwhile(nothing, nothing)
    assert follow(t, place, *more, "--json").rows == []


def test_a_directory_that_moved_has_its_ledger_inside(t: str, place: Path, meanwhile: Steps) -> None:
    """The directory is another one, as after a mount on another machine: the ledger in it says whose files were taken."""
    write(place, "current.jsonl", 1)
    meanwhile(nothing)
    assert follow(t, place).code == OK
    moved = place.with_name("moved")
    moved.mkdir()
    (place / STATE).rename(moved / STATE)
    meanwhile(nothing, lambda: write(moved, "current.jsonl", 2), nothing, nothing)
    assert follow(t, moved).code == OK
    assert in_table(t) == [1, 2]


@pytest.mark.parametrize("linked", [False, True])
def test_a_directory_that_is_unmounted_with_its_ledger(
    t: str, place: Path, meanwhile: Steps, tmp_path: Path, linked: bool
) -> None:
    """A ledger proves nothing about a directory in which it does not lie, or lies by a link alone."""
    mount_point, disk = tmp_path / "mount point", tmp_path / "disk"
    mount_point.mkdir()
    if linked:
        (tmp_path / "state").mkdir()
        for each in (place, mount_point):
            (each / STATE).symlink_to(tmp_path / "state")

    def unmount() -> None:
        place.rename(disk)
        mount_point.rename(place)

    def mount() -> None:
        place.rename(mount_point)
        disk.rename(place)

    write(place, "a.jsonl", 1)
    meanwhile(nothing, unmount, nothing, mount, nothing, nothing)
    assert follow(t, place).code == OK
    assert in_table(t) == [1]


@pytest.mark.parametrize("differs", ["device", "file system"])
@pytest.mark.parametrize("restarted", [False, True])
def test_another_disk_is_mounted_there(
    t: str,
    place: Path,
    meanwhile: Steps,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    differs: str,
    restarted: bool,
) -> None:
    """Roots of file systems share their inode numbers, and disks that take turns share a device number."""
    disk, other, real, real_system = tmp_path / "disk", [False], os.stat, os.statvfs

    def stat(path: Any, **more: Any) -> os.stat_result:
        found = real(path, **more)
        if path != place:
            return found
        device = 8 if differs == "device" and other[0] else 7
        return os.stat_result((found.st_mode, 2, device, *tuple(found)[3:]))

    def statvfs(path: Any) -> Any:
        found = real_system(path)
        if path != place:
            return found
        return SimpleNamespace(f_fsid=8 if differs == "file system" and other[0] else 7)

    for call in (stat, statvfs):
        monkeypatch.setattr(os, call.__name__, call)

    def swap() -> None:
        place.rename(disk)
        place.mkdir()
        other[0] = True

    def swap_back() -> None:
        place.rmdir()
        disk.rename(place)
        other[0] = False

    state = ("--state", tmp_path / "state")
    write(place, "a.jsonl", 1)
    if restarted:
        meanwhile(nothing)
        assert follow(t, place, *state).code == OK
        swap()
        meanwhile(nothing, swap_back, nothing, nothing)
    else:
        meanwhile(nothing, swap, nothing, swap_back, nothing, nothing)
    assert follow(t, place, *state).code == OK
    assert in_table(t) == [1]
    (place / "a.jsonl").unlink()
    meanwhile(nothing, lambda: write(place, "a.jsonl", 2), nothing, nothing)
    assert follow(t, place, *state).code == OK
    assert in_table(t) == [1, 2]


def test_a_disk_that_got_another_number(t: str, place: Path, meanwhile: Steps, tmp_path: Path) -> None:
    """The first look that sees a file that was taken recognises the directory, and the ledger remembers it as it is now."""
    state = ("--state", tmp_path / "state")
    write(place, "a.jsonl", 1)
    write(place, "b.jsonl", 2)
    meanwhile(nothing)
    assert follow(t, place, *state).code == OK
    (ledger,) = (tmp_path / "state").glob("*.ledger")
    remembered = [line for line in ledger.read_text().splitlines(keepends=True) if '"place"' in line]
    assert len(remembered) == 1
    place.rename(place.with_name("old"))
    place.mkdir()
    for name in ("a.jsonl", "b.jsonl"):
        place.with_name("old").joinpath(name).rename(place / name)
    meanwhile(nothing)
    assert follow(t, place, *state).code == OK
    for name in ("a.jsonl", "b.jsonl"):
        (place / name).unlink()
    meanwhile(nothing, lambda: write(place, "b.jsonl", 3), nothing, nothing)
    assert follow(t, place, *state).code == OK
    assert in_table(t) == [1, 2, 3]


def test_a_file_that_cannot_be_imported_stops_and_loses_nothing(t: str, place: Path, meanwhile: Steps) -> None:
    write(place, "a.jsonl", 1)
    meanwhile(nothing)
    assert follow(t, place).code == OK
    write(place, "b.jsonl", 2)
    bad = place / "c.jsonl"
    bad.write_text('{"n": "word"}\n')
    for _ in range(2):
        meanwhile(nothing)
        result = follow(t, place, "--json")
        assert result.code == BAD_INPUT
        assert "c.jsonl" in result.error["message"]
        assert in_table(t) == [1]
    write(place, "c.jsonl", 3)
    meanwhile(nothing)
    assert follow(t, place).code == OK
    assert in_table(t) == [1, 2, 3]


def test_a_file_that_goes_before_it_is_committed(t: str, place: Path, meanwhile: Steps) -> None:
    write(place, "a.jsonl", 1)
    meanwhile(nothing)
    assert follow(t, place).code == OK
    (place / "b.jsonl").write_text('{"n": "word"}\n')
    meanwhile(nothing)
    assert follow(t, place).code == BAD_INPUT
    (place / "b.jsonl").unlink()
    write(place, "c.jsonl", 3)
    meanwhile(nothing, nothing)
    assert follow(t, place).code == OK
    assert in_table(t) == [1, 3]


def test_files_without_rows(t: str, place: Path, meanwhile: Steps) -> None:
    ok("create", t, "--schema", "n long")
    write(place, "a.jsonl")
    meanwhile(lambda: write(place, "b.jsonl", 1), nothing)
    result = follow(t, place, "--json")
    assert [(row["rows"], row["version"]) for row in result.rows] == [(0, 0), (1, 1)]
    meanwhile(nothing)
    assert follow(t, place, "--json").rows == []


def test_many_files_make_several_commits(t: str, place: Path, meanwhile: Steps) -> None:
    for number in range(8):
        os.utime(write(place, f"{9 - number}.jsonl", number), ns=(number, number))

    def names(**most: int) -> list[list[str]]:
        stage = Stage(Screen.standard(), notes=False)
        rows = follow_directory(target(t), Import([str(place)]), Follow(1, 0, **most), stage)
        found: list[list[str]] = []
        meanwhile()
        with suppress(Stopped):
            for batch in rows.batches:
                found += batch.column("names").to_pylist()
        return found

    assert names(most_files=3) == [
        ["9.jsonl", "8.jsonl", "7.jsonl"],
        ["6.jsonl", "5.jsonl", "4.jsonl"],
        ["3.jsonl", "2.jsonl"],
    ]
    for number in range(10, 12):
        write(place, f"{number}.jsonl", number)
    assert [len(files) for files in names(most_bytes=1)] == [1, 1]


def test_each_table_has_a_ledger_of_its_own(t: str, place: Path, meanwhile: Steps, tmp_path: Path) -> None:
    write(place, "a.jsonl", 1)
    for url in (t, f"{t}-other"):
        meanwhile(nothing)
        assert follow(url, place, "--state", tmp_path / "state").code == OK
        assert in_table(url) == [1]
    assert not (place / STATE).exists()
    drop_table_at(t, {})
    meanwhile(nothing)
    assert follow(t, place, "--state", tmp_path / "state").code == OK
    assert in_table(t) == [1], "another table at the same place"


def test_the_table_says_which_batch_it_has(t: str, place: Path, meanwhile: Steps) -> None:
    write(place, "a.jsonl", 1)
    meanwhile(lambda: write(place, "b.jsonl", 2), nothing)
    assert follow(t, place).code == OK
    txns = [
        json.loads(row["json"]) for row in Table.open(t).log(include_all=True).to_pylist() if row["action"] == "txn"
    ]
    assert [txn["version"] for txn in txns] == [1, 2]
    assert len({txn["appId"] for txn in txns}) == 1


def test_what_is_wrong_with_the_command_line(t: str, place: Path, tmp_path: Path) -> None:
    write(place, "a.jsonl", 1)
    for arguments in (
        ("import", t, place / "a.jsonl", "--follow"),
        ("import", t, place, place, "--follow"),
        ("import", t, tmp_path / "not", "--follow"),
        ("import", t, place, "--follow", "--interval", 0),
        ("import", t, place, "--follow", "--settle", -1),
    ):
        assert run(*arguments).code == USAGE, arguments
    assert run("import", t, place, "--follow", "--no-create").code == NOT_FOUND
    assert not list(place.glob(f"{STATE}/*"))


# The ledger.


FILES = [Arrived(10, "a", 1), Arrived(20, "b ü", 2)]


def test_a_ledger_remembers(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "state", "t1")
    app = ledger.app_id
    batch = ledger.begin(FILES)
    assert (batch.number, ledger.open_batch) == (1, batch)
    ledger.close()
    again = Ledger(tmp_path / "state", "t1")
    assert (again.app_id, again.open_batch) == (app, batch)
    again.done()
    assert again.begin([Arrived(30, "c", 3)]).number == 2
    assert again.amend([]).files == ()
    again.done()
    again.forget(["a", "zzz"])
    again.close()
    last = Ledger(tmp_path / "state", "t1")
    assert (last.taken, last.open_batch) == ({"b ü": FILES[1]}, None)
    assert last.begin([]).number == 3
    other = Ledger(tmp_path / "state", "t2")
    assert other.app_id != app
    last.close()
    other.close()


def test_a_ledger_cut_off_at_any_byte(tmp_path: Path) -> None:
    """A killed program leaves the beginning of a ledger. What was begun or done is known from the lines that are whole."""
    ledger = Ledger(tmp_path, "t")
    ledger.begin(FILES[:1])
    ledger.done()
    ledger.begin(FILES[1:])
    ledger.close()
    path = ledger.path
    raw = path.read_bytes()
    ends = [place + 1 for place, byte in enumerate(raw) if byte == ord("\n")]
    for length in range(ends[0], len(raw) + 1):
        path.write_bytes(raw[:length])
        cut = Ledger(tmp_path, "t")
        whole = sum(end <= length for end in ends)
        assert (cut.open_batch is not None, set(cut.taken)) == {
            1: (False, set()),
            2: (True, {"a"}),
            3: (False, {"a"}),
            4: (True, {"a", "b ü"}),
        }[whole]
        number = cut.begin([Arrived(1, "z", 1)]).number
        assert number == {1: 1, 2: 2, 3: 2, 4: 3}[whole]
        cut.close()
        again = Ledger(tmp_path, "t")
        assert again.taken == cut.taken
        again.close()
    for length in range(ends[0]):
        path.write_bytes(raw[:length])
        new = Ledger(tmp_path, "t")
        assert (new.taken, new.app_id != ledger.app_id) == ({}, True)
        new.close()


def test_a_long_ledger_is_written_anew(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, "t")
    for number in range(20):
        ledger.begin([Arrived(number, f"f{number}", number)])
        ledger.done()
    ledger.forget([f"f{number}" for number in range(15)])
    batch = ledger.begin([Arrived(99, "open", 1)])
    ledger.close()
    before = ledger.path.stat().st_size
    again = Ledger(tmp_path, "t", most_lines=10)
    assert (again.app_id, again.taken, again.open_batch) == (ledger.app_id, ledger.taken, batch)
    assert again.path.stat().st_size < before
    again.done()
    assert again.begin([]).number == batch.number + 1
    again.close()


def test_a_ledger_remembers_the_place(tmp_path: Path) -> None:
    place: Place = (1 << 63, 2, (1 << 64) - 1)
    ledger = Ledger(tmp_path, "t")
    assert ledger.place is None
    ledger.begin(FILES)
    ledger.remember((1, 2, 3))
    ledger.remember(place)
    length = ledger.path.stat().st_size
    ledger.remember(place)
    assert ledger.path.stat().st_size == length, "what is known is not written again"
    ledger.close()
    for most_lines in (1_000, 2):
        again = Ledger(tmp_path, "t", most_lines)
        assert (again.place, again.taken) == (place, {file.name: file for file in FILES})
        again.close()
    text = ledger.path.read_text()
    assert '"format":1' in text, "releases before this one read the ledger, and overlook the place"
    ledger.path.write_text("".join(line for line in text.splitlines(keepends=True) if '"place"' not in line))
    older = Ledger(tmp_path, "t")
    assert (older.place, set(older.taken)) == (None, {file.name for file in FILES})
    older.close()


def test_where_a_ledger_lies(tmp_path: Path) -> None:
    for name in ("a", "ab"):
        (tmp_path / name).mkdir()
    ledger = Ledger(tmp_path / "a" / STATE, "t")
    assert [ledger.lies_in(tmp_path / name) for name in ("", "a", "ab", "not")] == [True, True, False, False]
    (tmp_path / "link").symlink_to("a")
    assert ledger.lies_in(tmp_path / "link")
    ledger.path.rename(ledger.path.with_name("old"))
    assert not ledger.lies_in(tmp_path / "a")
    ledger.path.write_bytes(ledger.path.with_name("old").read_bytes())
    assert not ledger.lies_in(tmp_path / "a"), "a copy"
    ledger.close()


def test_ledgers_that_cannot_be_used(tmp_path: Path) -> None:
    held = Ledger(tmp_path, "t")
    with pytest.raises(InputError, match="another import follows this directory"):
        Ledger(tmp_path, "t")
    held.begin(FILES)
    held.close()
    head, rest = held.path.read_text().split("\n", 1)
    held.path.write_text(f"{head}\n{{broken}}\n{rest}")
    with pytest.raises(InputError, match="is damaged"):
        Ledger(tmp_path, "t")
    held.path.write_text(head.replace('"format":1', '"format":2') + "\n")
    with pytest.raises(InputError, match="a later release"):
        Ledger(tmp_path, "t")
    held.path.write_text(head.replace('"table":"t"', '"table":"u"') + "\n")
    with pytest.raises(InputError, match="belongs to table u"):
        Ledger(tmp_path, "t")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="give another directory with --state"):
        Ledger(tmp_path / "file", "t")


def test_a_batch_that_is_older_than_what_the_table_remembers(tmp_path: Path, place: Path, meanwhile: Steps) -> None:
    url = tmp_path / "t"
    table = Table.create(url, "n long")
    ledger = Ledger(place / STATE, table.id)
    path = write(place, "a.jsonl", 1)
    ledger.begin([Arrived(path.stat().st_mtime_ns, "a.jsonl", path.stat().st_size)])
    ledger.close()
    text = ledger.path.read_text()
    began = json.loads(text.splitlines()[1])["time"]
    ledger.path.write_text(text.replace(str(began), str(began - 31 * 86_400_000)))
    meanwhile(nothing)
    result = follow(url, place, "--json")
    assert result.code == BAD_INPUT
    assert "batch 1 began 744 hours ago" in result.error["message"]
    assert 'add the line {"done":1}' in result.error["message"]
    ledger.path.write_text(ledger.path.read_text() + '{"done":1}\n')
    meanwhile(nothing)
    assert follow(url, place).code == OK
    assert in_table(url) == []


# Programs that are killed.


def test_killed_between_the_commit_and_the_ledger(tmp_path: Path, place: Path, meanwhile: Steps) -> None:
    """The commit happened, and the program did not live to write it down: the next one knows it from the table."""
    url = tmp_path / "t"
    for number, name in enumerate(("a.jsonl", "b.jsonl"), start=1):
        write(place, name, number)
        meanwhile(nothing)
        assert follow(url, place).code == OK
        (ledger,) = (place / STATE).glob("*.ledger")
        lines = ledger.read_text().splitlines()
        assert lines.pop() == f'{{"done":{number}}}'
        ledger.write_text("\n".join(lines) + "\n")
    write(place, "c.jsonl", 3)
    meanwhile(nothing)
    assert follow(url, place).code == OK
    assert in_table(url) == [1, 2, 3]


@pytest.mark.slow
def test_killed_again_and_again_while_files_arrive(tmp_path: Path, place: Path) -> None:
    """kill -9 at random moments, at least eight times while commits are made: every row is there once."""
    url = tmp_path / "t"
    Table.create(url, "n long", options={"checkpoint.interval": 3})
    chance = random.Random(11)
    over = threading.Event()
    written: list[int] = []

    def arrive() -> None:
        number = 0
        while not over.wait(chance.random() * 0.1):
            numbers = range(number, number + chance.randrange(0, 40))
            number += len(numbers)
            if chance.random() < 0.5:
                write(place, f"{number}.jsonl.tmp", *numbers).rename(place / f"{number}-{len(written)}.jsonl")
            else:
                path = place / f"{number}-{len(written)}.csv"
                path.write_text("n\n" + "".join(f"{each}\n" for each in numbers))
            written.extend(numbers)

    writer = threading.Thread(target=arrive)
    writer.start()
    arguments = ("import", url, place, "--follow", "--settle", 0.2, "--interval", 0.05, "--json")
    kills, before = 0, 0
    until = time.monotonic() + 200
    try:
        while kills < 8 and time.monotonic() < until:
            process = program(*arguments, stdin=subprocess.DEVNULL)
            watchdog = threading.Timer(60, process.kill)
            watchdog.start()
            assert process.stdout is not None
            if process.stdout.readline():  # it lives, and commits
                time.sleep(chance.random() * 0.5)
                process.send_signal(signal.SIGKILL)
                kills += 1
            process.kill()
            out, err = process.communicate()
            watchdog.cancel()
            assert process.returncode == -signal.SIGKILL, (out, err)
            now = len(in_table(url))
            assert now >= before
            before = now
    finally:
        over.set()
        writer.join()
    assert kills == 8
    process = program(*arguments, stdin=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while len(in_table(url)) < len(written) and time.monotonic() < until:
        time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (OK, b"")
    assert in_table(url) == written
