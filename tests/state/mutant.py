"""What a mutant is, and the names of the modules whose tests kill them."""

from __future__ import annotations

from dataclasses import dataclass

READER = "test_manifest_reader.py::"
WRITER = "test_manifest_writer.py::"
STATE = "test_state_manifest.py::"
INCREMENTAL = "test_incremental_write.py::"
COMPACTION = "test_compaction.py::"
PRUNING = "test_partition_pruning.py::"
MIGRATION = "test_migration.py::"
STREAMING = "test_streaming.py::"
EVOLUTION = "test_schema_evolution.py::"
ERRORS = "test_error_handling.py::"
GARBAGE = "test_garbage_collection.py::"


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
