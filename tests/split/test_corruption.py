"""Flip or cut any byte of a split: an error that names it, or the right answer. Never a wrong one, never a crash.

These run inside the test's own process on purpose: if a damaged byte reached Vortex, some of them would end it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from indextables.core.errors import CorruptSplit, StorageError
from indextables.core.predicate import Column, compare
from indextables.split.bundle.bundle_reader import Pages, read_footer, verify_bundle
from indextables.split.bundle.bundle_writer import Sealed
from indextables.split.rows import block_cache
from indextables.split.rows.row_reader import Rows
from indextables.split.rows.segment_cache import segment_cache
from indextables.storage.local import LocalStore
from split.bundle_support import SettledStore, make

COUNT = 12_000
WHERE = compare(Column(("id",), pa.int64()), ">=", COUNT - 100)
PICKED = np.arange(0, COUNT, 37)
SOME = PICKED[::150]
INDEX = {"meta.json": b'{"segments":[]}', "00.term": random.Random(5).randbytes(5000), "00.idx": b""}


def table() -> pa.Table:
    generator = random.Random(3)
    return pa.table(
        {
            "id": pa.array(range(COUNT), pa.int64()),
            "text": pa.array([generator.randbytes(generator.randrange(40)).hex() for _ in range(COUNT)]),
            "score": pa.array([generator.choice([None, 0.5, generator.random()]) for _ in range(COUNT)], pa.float64()),
            "level": pa.array([generator.choice(["INFO", "WARN", None]) for _ in range(COUNT)]),
            "tags": pa.array([[generator.random()] * (number % 3) for number in range(COUNT)], pa.list_(pa.float64())),
        }
    )


TABLE = table()


FEW = ["id", "score", "level"]
"""Columns of which a few rows are read from blocks that are kept."""


def forget() -> None:
    """What was read before the damage, and would hide it."""
    for mapped in (False, True):
        segment_cache(mapped=mapped).clear()
    block_cache.BLOCKS.renew()


def answers(store: LocalStore, key: str, known: dict[str, int]) -> list[pa.Table]:
    """What a reader can ask: a few rows, everything, rows by number, rows by filter."""
    forget()
    footer = read_footer(store, key, **known)
    rows = Rows(Pages(store, key, footer), footer, key)
    names = TABLE.schema.names
    found = [
        rows.take(SOME, FEW),
        pa.Table.from_batches(rows.scan(names), rows.schema),
        rows.take(PICKED, names),
        pa.Table.from_batches(rows.scan(names, predicate=WHERE), rows.schema),
    ]
    verify_bundle(store, key, footer)
    return found


EXPECTED = [TABLE.select(FEW).take(pa.array(SOME)), TABLE, TABLE.take(pa.array(PICKED)), TABLE.slice(COUNT - 100)]


class Damage:
    """One split, damaged again and again."""

    def __init__(self, directory: Path, *, settled: bool) -> None:
        self.directory = directory
        self.store = SettledStore(directory) if settled else LocalStore(directory)
        self.key, self.sealed = make(directory, TABLE, index=INDEX, min_values={"id": "0"})
        self.data = (directory / self.key).read_bytes()
        self.fine = self.refused = 0

    @property
    def path(self) -> Path:
        return self.directory / self.key

    def write(self, data: bytes) -> None:
        """Put another file in the place of the split. Who has the file before open keeps it."""
        self.path.with_name("new").write_bytes(data)
        self.path.with_name("new").replace(self.path)

    def try_all(self, data: bytes) -> None:
        """Ask with and without what the log knows of the split's size and footer."""
        self.write(data)
        known = {"size": self.sealed.size, "footer_start": self.sealed.footer_start}
        for given in (known, {}):
            found: list[pa.Table] | CorruptSplit
            try:
                found = answers(self.store, self.key, given)
            except CorruptSplit as error:
                found = error
            if isinstance(found, CorruptSplit):
                assert self.key in str(found)
                assert found.split.endswith(self.key)
                self.refused += 1
            else:
                assert all(got.equals(right) for got, right in zip(found, EXPECTED, strict=True))
                self.fine += 1

    def flipped(self, place: int, bit: int) -> bytes:
        data = bytearray(self.data)
        data[place] ^= 1 << bit
        return bytes(data)


@pytest.fixture(params=["mapped", "read"])
def damage(tmp_path: Path, request: pytest.FixtureRequest) -> Damage:
    """A split in a file that is mapped, or that was just written, which is read."""
    damage = Damage(tmp_path, settled=request.param == "mapped")
    damage.try_all(damage.data)
    assert (damage.fine, damage.refused) == (2, 0)
    damage.fine = 0
    return damage


def areas(sealed: Sealed) -> dict[str, tuple[int, int]]:
    footer = sealed.footer
    return {
        "rows": (0, footer.rows_length),
        "end of the rows": (footer.rows_length - 300, footer.rows_length),
        "index": (footer.rows_length, sealed.footer_start),
        "footer": (sealed.footer_start, sealed.size - 24),
        "trailer": (sealed.size - 24, sealed.size),
    }


@pytest.mark.parametrize("area", ["rows", "end of the rows", "index", "footer", "trailer"])
def test_a_flipped_bit(area: str, damage: Damage) -> None:
    start, end = areas(damage.sealed)[area]
    generator = random.Random(area)
    places = range(start, end) if area == "trailer" else [generator.randrange(start, end) for _ in range(60)]
    for place in places:
        damage.try_all(damage.flipped(place, generator.randrange(8)))
    assert damage.refused == 2 * len(places)  # every byte of a bundle is under a checksum, or is one


@pytest.mark.parametrize("area", ["rows", "index", "footer", "trailer"])
def test_a_split_cut_short(area: str, damage: Damage) -> None:
    start, end = areas(damage.sealed)[area]
    generator = random.Random(area)
    lengths = range(start, end) if area == "trailer" else [start, *(generator.randrange(start, end) for _ in range(30))]
    for length in lengths:
        damage.try_all(damage.data[:length])
    assert damage.refused == 2 * len(lengths)


def mangled(damage: Damage, generator: random.Random) -> bytes:
    """Any damage at all."""
    data = bytearray(damage.data)
    for _ in range(generator.choice([1, 1, 2, 5])):
        place = generator.randrange(len(data)) if data else 0
        match generator.choice(["flip", "byte", "zeros", "cut", "insert", "remove", "swap", "append", "repeat"]):
            case "flip":
                data[place : place + 1] = bytes(
                    byte ^ (1 << generator.randrange(8)) for byte in data[place : place + 1]
                )
            case "byte":
                data[place : place + 1] = generator.randbytes(1)
            case "zeros":
                length = generator.choice([1, 512, 4096])
                data[place : place + length] = bytes(min(length, len(data) - place))
            case "cut":
                del data[place:]
            case "insert":
                data[place:place] = generator.randbytes(generator.randrange(1, 9))
            case "remove":
                del data[place : place + generator.randrange(1, 9)]
            case "swap":
                half = data[place : place + 512]
                data[place : place + 512] = half[len(half) // 2 :] + half[: len(half) // 2]
            case "append":
                data += generator.randbytes(generator.randrange(1, 50))
            case "repeat":
                data += data[-generator.randrange(1, 200) :]
    return bytes(data)


def trials(damage: Damage, seed: int, count: int) -> None:
    for number in range(count):
        data = mangled(damage, random.Random(f"{seed} {number}"))
        damage.try_all(data)
    assert damage.refused > count


def test_any_damage(damage: Damage) -> None:
    trials(damage, 0, 200)


@pytest.mark.stress
@pytest.mark.parametrize("seed", range(1, 11))
def test_any_damage_at_length(damage: Damage, seed: int) -> None:
    trials(damage, seed, 1000)


def test_the_rows_of_another_split(damage: Damage) -> None:
    """A footer is tied to its rows: those of a split written alike, from other values, are refused."""
    other = TABLE.set_column(0, "id", pa.array(range(1, COUNT + 1), pa.int64()))
    key, sealed = make(damage.directory, other, index=INDEX, min_values={"id": "0"})
    rows: Any = (damage.directory / key).read_bytes()[: sealed.footer.rows_length]
    length = damage.sealed.footer.rows_length
    damage.try_all(rows[:length].ljust(length, b"\0") + damage.data[length:])
    assert damage.refused == 2


def check_damage_while_open(damage: Damage, write: Callable[[bytes], object]) -> int:
    """Damage a split again and again between two questions. Returns how often the second one was refused."""
    footer, refused = damage.sealed.footer, 0
    for number in range(30):
        forget()
        write(damage.data)
        rows = Rows(Pages(damage.store, damage.key, footer), footer, damage.key)
        assert rows.take([5], ["id"]).column(0).to_pylist() == [5]
        forget()
        place = random.Random(number).randrange(footer.rows_length)
        write(damage.data[:place] if number % 3 == 0 else damage.flipped(place, number % 8))
        found: pa.Table | str
        try:
            found = pa.Table.from_batches(rows.scan(TABLE.schema.names), rows.schema)
        except (CorruptSplit, StorageError) as error:  # a range that is gone is the store's error, which names it too
            found = str(error)
        assert damage.key in found if isinstance(found, str) else found.equals(TABLE)
        refused += isinstance(found, str)
    return refused


def test_damage_that_comes_while_a_split_is_open(damage: Damage) -> None:
    refused = check_damage_while_open(damage, damage.write)
    assert refused > 10 or type(damage.store) is LocalStore  # whose pages are kept for a while


def test_damage_to_a_file_that_was_just_written(tmp_path: Path) -> None:
    """Such a file is not mapped, so that it may even be cut short where it lies."""
    damage = Damage(tmp_path, settled=False)
    check_damage_while_open(damage, damage.path.write_bytes)
