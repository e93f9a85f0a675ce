"""A split with a real index, damaged anywhere, and asked all that a table can be asked: right answers, or errors that name it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from indextables import Table
from indextables.core.errors import SplitError, StorageError
from indextables.split import open_splits
from indextables.split.rows.segment_cache import segment_cache
from split.reader_support import costs_of

ROWS = 1_500
SCHEMA = pa.schema([("id", pa.int64()), ("level", pa.string()), ("cost", pa.float64()), ("body", pa.string())])
OPTIONS = {"indexing.typemap.body": "text", "indexing.lookupfields": "id"}
Ask = Callable[[Table], Any]
ASKED: dict[str, Ask] = {
    "scan": lambda t: t.scan().read_all().to_pylist(),
    "columns": lambda t: t.scan(["level"], where="id >= 1490").read_all().to_pylist(),
    "lookup": lambda t: t.scan(where="id = 777").read_all().to_pylist(),
    "filter": lambda t: t.count("level = 'WARN' AND cost < 100"),
    "word": lambda t: t.count(query="disk"),
    "phrase": lambda t: t.scan(["id"], query='"disk 7 full"').read_all().to_pylist(),
    "pattern": lambda t: t.count(query="dis* AND NOT node AND level:WARN"),
    "best": lambda t: t.search("disk full", ["id"], limit=5, snippets=["body"]).to_pylist(),
    "groups": lambda t: t.aggregate(by=["level"], metrics=["count", "sum(cost)", "max(id)"], query="full").to_pylist(),
    "extremes": lambda t: t.aggregate(metrics=["min(cost)", "count(distinct body)"]).to_pylist(),
}


def rows() -> pa.Table:
    return pa.table(
        {
            "id": range(ROWS),
            "level": [["INFO", "WARN", None][number % 3] for number in range(ROWS)],
            "cost": [number / 8 for number in range(ROWS)],
            "body": [
                f"{'disk' if number % 2 else 'node'} {number % 20} {'full' * (number % 5)}" for number in range(ROWS)
            ],
        },
        schema=SCHEMA,
    )


class Broken:
    """One table of one split, damaged again and again."""

    def __init__(self, folder: Path, *, merged: bool) -> None:
        table = Table.create(folder / "table", SCHEMA, options=OPTIONS)
        if merged:
            table.append(rows().slice(0, 700))
            table.append(rows().slice(700))
            table.merge_splits()
        else:
            table.append(rows())
        (self.name,) = table.files().column("path").to_pylist()
        self.folder = folder
        self.path = folder / "table" / self.name
        self.whole = self.path.read_bytes()
        self.right = {name: ask(self.fresh(None)) for name, ask in ASKED.items()}
        self.outcomes: Counter[tuple[str, bool]] = Counter()

    def fresh(self, cache: Path | None) -> Table:
        """Nothing of what was read before is remembered."""
        open_splits.close_all()
        for mapped in (False, True):
            segment_cache(mapped=mapped).clear()
        place = {"cache.disk.enabled": False} if cache is None else {"cache.disk.directory": str(cache)}
        return Table.open(self.folder / "table", options=place)

    def write(self, data: bytes) -> None:
        """Put another file in the place of the split: a file that may be mapped is never written to."""
        self.path.with_name("new").write_bytes(data)
        self.path.with_name("new").replace(self.path)

    def damage(self, data: bytes, number: int) -> None:
        self.write(data)
        table = self.fresh(self.folder / f"cache{number}" if number % 2 else None)
        for name in random.Random(number).sample(sorted(ASKED), 4):
            try:
                found = ASKED[name](table)
            except (SplitError, StorageError) as error:
                said = str(error)
                self.outcomes[name, False] += 1
            else:
                said = self.name
                self.outcomes[name, True] += 1
                assert found == self.right[name], name
            assert self.name in said
            assert "\n" not in said

    def any_damage(self, seed: int) -> bytes:
        """Every region as often as the others, though the rows are most of it."""
        rng = random.Random(seed)
        data, size = bytearray(self.whole), len(self.whole)
        place = rng.choice([rng.randrange(size), size - 1 - rng.randrange(min(size, 3000))])
        match rng.randrange(6):
            case 0:
                del data[place:]
            case 1:
                length = rng.choice([1, 64, 4096])
                data[place : place + length] = bytes(len(data[place : place + length]))
            case 2:
                data[place : place + 9] = rng.randbytes(len(data[place : place + 9]))
            case _:
                data[place] ^= 1 << rng.randrange(8)
        return bytes(data)


@pytest.fixture(params=[False, True], ids=["as written", "merged"])
def broken(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Broken]:
    with costs_of(small_split_rows=-1):  # a split of this size would be read and not searched
        yield Broken(tmp_path, merged=request.param)


def trials(broken: Broken, seeds: range) -> None:
    for seed in seeds:
        broken.damage(broken.any_damage(seed), seed)
    assert {name for name, right in broken.outcomes if not right} == set(ASKED), "each of them has met damage"
    assert sum(count for (_, right), count in broken.outcomes.items() if right) > 0, (
        "what is damaged is not always needed"
    )
    broken.write(broken.whole)
    assert {name: ask(broken.fresh(None)) for name, ask in ASKED.items()} == broken.right


@pytest.mark.slow
def test_any_damage(broken: Broken) -> None:
    trials(broken, range(150))


@pytest.mark.stress
@pytest.mark.timeout(3600)
def test_any_damage_at_length(broken: Broken) -> None:
    trials(broken, range(1_000, 6_000))
