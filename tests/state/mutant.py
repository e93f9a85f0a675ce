"""What a mutant is, and the names of the modules whose tests kill them."""

from __future__ import annotations

from dataclasses import dataclass

READER = "test_01_manifest_reader.py::"
WRITER = "test_02_manifest_writer.py::"
STATE = "test_03_state_manifest.py::"
INCREMENTAL = "test_04_incremental_write.py::"
COMPACTION = "test_05_compaction.py::"
PRUNING = "test_06_partition_pruning.py::"
MIGRATION = "test_07_migration.py::"
STREAMING = "test_08_streaming.py::"
EVOLUTION = "test_09_schema_evolution.py::"
ERRORS = "test_11_error_handling.py::"
GARBAGE = "test_13_garbage_collection.py::"


@dataclass(frozen=True)
class Mutant:
    """One planted bug. `old` stands in `file` exactly once. `kills` are tests of this folder that must fail."""

    id: str
    file: str
    old: str
    new: str
    kills: tuple[str, ...]


def tests(module: str, *names: str) -> tuple[str, ...]:
    return tuple(module + name for name in names)
