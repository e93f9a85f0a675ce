"""The tables that states are measured on: the same files in each format.

They differ from those of the commit benchmark in two ways. There are 1,000 partitions, as goals speak of one in a thousand.
And every name holds a random number, as the names of real data files do, so that no format can squeeze them to nothing.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from datetime import date, timedelta
from hashlib import blake2b
from pathlib import Path

from workload import PARTITION, SCHEMA, Facts

PARTITIONS = 1_000
PIECE = 100_000
APPEND = 10_000
COMMITS = 100
"""Commits of the tables that were never compacted, each over all partitions."""
COMMITS_PER_STATE = 10
"""Commits after which our table writes an incremental state: the default of `checkpoint.interval`."""
_FIRST_DAY = date(2024, 1, 1)
_DAYS = [(_FIRST_DAY + timedelta(days=number)).isoformat() for number in range(PARTITIONS)]


@dataclass(frozen=True)
class Named(Facts):
    """A file with a name of its own, in one of a thousand partitions."""

    @property
    def date(self) -> str:
        return _DAYS[self.number % PARTITIONS]

    @property
    def path(self) -> str:
        name = blake2b(self.number.to_bytes(8, "little"), digest_size=16).hexdigest()
        return f"date={self.date}/part-{self.number:08d}-{name}.split"


def named(first: int, count: int) -> list[Named]:
    """`count` files, numbered from `first`."""
    return [Named(number) for number in range(first, first + count)]


def some_day() -> str:
    """A partition in the middle."""
    return _DAYS[PARTITIONS // 2]


def build_ours(where: Path, files: int, per_manifest: int | None = None) -> None:
    """A table whose newest version is a compacted state."""
    from ours import PLAIN, action

    from indextables import Table

    options = PLAIN if per_manifest is None else {**PLAIN, "spark.indextables.state.entriesPerManifest": per_manifest}
    table = Table.create(where, SCHEMA, partition_by=[PARTITION], options=options)
    for first in range(0, files, PIECE):
        table.commit_files(adds=[action(fact) for fact in named(first, min(PIECE, files - first))])
    done = table.checkpoint()
    if not done.written or done.kind != "compacted":
        raise AssertionError(f"{where}: no compacted state was written, but {done.kind}")


def build_ours_by_commits(where: Path, files: int) -> None:
    """A table that came in many commits, with incremental states and no compaction."""
    from ours import PLAIN, action

    from indextables import Table
    from indextables.log.state.checkpoint import checkpoint

    table = Table.create(where, SCHEMA, partition_by=[PARTITION], options=PLAIN)
    each = files // COMMITS
    for number in range(COMMITS):
        table.commit_files(adds=[action(fact) for fact in named(number * each, each)])
        if number % COMMITS_PER_STATE == COMMITS_PER_STATE - 1:
            done = checkpoint(table._handle, compact=False)
            table._handle = table._handle.moved(done.snapshot)


def build_delta_by_commits(where: Path, files: int) -> None:
    """The same commits as a deltalake table, summed up by a Parquet checkpoint at the end."""
    import delta
    from deltalake import DeltaTable

    DeltaTable.create(
        str(where), SCHEMA, partition_by=[PARTITION], configuration={"delta.checkpointInterval": "1000000"}
    )
    each = files // COMMITS
    for number in range(COMMITS):
        add_delta_version(where, number + 1, named(number * each, each))
    delta.write_checkpoint(where)


def bury(source: Path, where: Path, files: int, dead: int) -> None:
    """A copy of a table of which every tenth file or so is dead, by tombstones in the newest state."""
    from ours import PLAIN

    from indextables import Table
    from indextables.log.state.checkpoint import checkpoint

    shutil.copytree(source, where)
    table = Table.open(where, options={**PLAIN, "spark.indextables.state.compaction.tombstoneThreshold": 0.5})
    gone = [fact.path for fact in named(0, files)][:: files // dead]
    table.commit_files(removes=gone[:dead])
    done = checkpoint(table._handle, compact=False)
    if done.kind != "incremental":
        raise AssertionError(f"{where}: tombstones were to be written, but the state is {done.kind}")


def build_delta(where: Path, files: int) -> None:
    """A table of one big commit, summed up by a Parquet checkpoint."""
    import delta
    from deltalake import DeltaTable

    DeltaTable.create(
        str(where), SCHEMA, partition_by=[PARTITION], configuration={"delta.checkpointInterval": "1000000"}
    )
    with (where / "_delta_log" / f"{1:020d}.json").open("w") as log:
        log.write(delta._info(Named(0)))
        for first in range(0, files, PIECE):
            log.writelines(map(delta._add, named(first, min(PIECE, files - first))))
    delta.write_checkpoint(where)


def add_delta_version(where: Path, version: int, files: list[Named]) -> None:
    """Commit a version to a deltalake table."""
    import delta

    text = delta._info(files[0]) + "".join(map(delta._add, files))
    (where / "_delta_log" / f"{version:020d}.json").write_text(text)


def build_iceberg(where: Path, files: int) -> None:
    """A table of a few big appends."""
    import iceberg

    where.mkdir(parents=True)
    catalog = iceberg._catalog(where)
    catalog.create_namespace("bench")
    table = catalog.create_table(iceberg._NAME, iceberg._SCHEMA, partition_spec=iceberg._SPEC)
    for first in range(0, files, APPEND):
        facts = named(first, min(APPEND, files - first))
        iceberg._append(table, [iceberg.data_file(fact, table.location()) for fact in facts])
