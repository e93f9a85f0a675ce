"""Mutants: small bugs planted one at a time, each with the tests that must fail on it.

    python tests/state/mutants.py                 all of them
    python tests/state/mutants.py id [id …]       some of them
    python tests/state/mutants.py --list          what there is

`src` is copied to a temporary folder, one mutant is put into the copy, and the named tests run against it. A mutant is killed
when every test that it names fails; a test that passes has not seen the bug that it is there for.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
PACKAGE = SOURCE / "indextables"

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


@dataclass
class Verdict:
    """What became of a mutant: the tests that failed on it, those that did not notice, and how long that took."""

    mutant: Mutant
    failed: list[str] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)
    seconds: float = 0.0
    output: str = ""

    @property
    def killed(self) -> bool:
        return not self.passed and len(self.failed) == len(self.mutant.kills)


def _all(module: str, *names: str) -> tuple[str, ...]:
    return tuple(module + name for name in names)


MUTANTS: tuple[Mutant, ...] = (
    # Reading Avro
    Mutant(
        "empty-manifest-has-no-first-record",
        "log/avro/manifest.py",
        "if records and field.name not in records[0]:",
        "if field.name not in records[0]:",
        _all(READER, "test_read_empty_manifest"),
    ),
    Mutant(
        "varint-groups-of-eight-bits",
        "log/avro/container.py",
        "        shift += 7\n    raise CorruptLog",
        "        shift += 8\n    raise CorruptLog",
        _all(READER, "test_read_single_entry"),
    ),
    Mutant(
        "records-in-reverse",
        "log/avro/decode.py",
        "            records.append(record)\n",
        "            records.insert(0, record)\n",
        _all(READER, "test_read_multiple_entries"),
    ),
    Mutant(
        "lists-keep-their-last-item",
        "log/avro/decode.py",
        "                    items.append(value)\n",
        "                    items[:] = [value]\n",
        _all(READER, "test_read_all_fields"),
    ),
    Mutant(
        "unions-are-never-null",
        "log/avro/decode.py",
        "            return branches[index](data, position)\n",
        "            return branches[-1](data, position)\n",
        _all(READER, "test_read_nullable_fields"),
    ),
    Mutant(
        "maps-keep-one-entry",
        "log/avro/manifest.py",
        "[list(value.items()) if isinstance",
        "[list(value.items())[:1] if isinstance",
        _all(READER, "test_read_with_partition_values"),
    ),
    Mutant(
        "maps-are-never-empty",
        "log/avro/decode.py",
        "            items: dict[str, Any] = {}\n",
        '            items: dict[str, Any] = {"": ""}\n',
        _all(READER, "test_read_with_empty_partition_values"),
    ),
    Mutant(
        "checksum-not-compared",
        "log/state/files.py",
        "if item.checksum is not None and item.checksum != checksum(data):",
        "if False:",
        _all(READER, "test_read_corrupted_manifest"),
    ),
    Mutant(
        "fewer-entries-are-fine",
        "log/state/files.py",
        "if table.num_rows != item.num_entries:",
        "if table.num_rows > item.num_entries:",
        _all(READER, "test_read_truncated_manifest"),
    ),
    Mutant(
        "manifests-one-after-the-other",
        "log/state/files.py",
        "log.side_by_side([partial(load_manifest, log, self._state.version, item, wanted) for item in items])",
        "[load_manifest(log, self._state.version, item, wanted) for item in items]",
        _all(READER, "test_parallel_manifest_read"),
    ),
    Mutant(
        "added-at-the-states-version",
        "log/state/write.py",
        "[v for _, v, _ in added]",
        "[snapshot.version for _ in added]",
        (*_all(READER, "test_filter_by_added_at_version"), *_all(STATE, "test_state_manifest_version_bounds")),
    ),
    Mutant(
        "added-at-the-states-time",
        "log/state/write.py",
        "[t for _, _, t in added]",
        "[snapshot.timestamp for _ in added]",
        _all(READER, "test_filter_by_added_at_timestamp"),
    ),
    Mutant(
        "every-manifest-may-hold-everything",
        "log/state/files.py",
        "    return may_match(where, manifest_bounds(item.bounds, schema, typed=item.typed))",
        "    return True",
        (
            *_all(READER, "test_filter_by_partition"),
            *_all(
                PRUNING,
                "test_prune_by_equality_filter",
                "test_partition_pruning_effectiveness",
                "test_incremental_write_partition_bounds",
                "test_partition_pruning_with_tombstones",
            ),
        ),
    ),
    # Writing Avro
    Mutant(
        "header-without-an-end",
        "log/avro/container.py",
        "parts = [*header, encode_long(0), sync]",
        "parts = [*header, sync]",
        _all(WRITER, "test_write_empty_manifest"),
    ),
    Mutant(
        "varint-without-continuation",
        "log/avro/encode.py",
        "np.where(lengths[there] > k + 1, 0x80, 0)",
        "np.where(lengths[there] > k + 2, 0x80, 0)",
        _all(WRITER, "test_write_single_entry"),
    ),
    Mutant(
        "a-row-lost-between-slices",
        "log/avro/encode.py",
        "rows = table.slice(start, _ROWS_AT_ONCE)",
        "rows = table.slice(start, _ROWS_AT_ONCE - 1)",
        (
            *_all(WRITER, "test_write_multiple_entries", "test_write_large_manifest", "test_write_streaming_append"),
            *_all(READER, "test_read_large_manifest"),
        ),
    ),
    Mutant(
        "lengths-in-characters",
        "log/avro/encode.py",
        "_join([varints(_numbers(pc.binary_length(raw))), raw])",
        "_join([varints(_numbers(pc.utf8_length(values))), raw])",
        _all(WRITER, "test_write_all_fields"),
    ),
    Mutant(
        "values-where-the-nulls-are",
        "log/avro/encode.py",
        "pc.replace_with_mask(pa.repeat(nothing, len(values)), values.is_valid(), encoded",
        "pc.replace_with_mask(pa.repeat(nothing, len(values)), values.is_null(), encoded",
        _all(WRITER, "test_write_nullable_fields"),
    ),
    Mutant(
        "zstd-level-ignored",
        "log/avro/container.py",
        'pa.Codec("zstd", compression_level=level)',
        'pa.Codec("zstd")',
        _all(WRITER, "test_write_with_zstd_compression"),
    ),
    Mutant(
        "snappy-without-checksum",
        "log/avro/container.py",
        'return body + struct.pack(">I", zlib.crc32(data))',
        "return body",
        _all(WRITER, "test_write_with_snappy_compression"),
    ),
    Mutant(
        "no-compression-garbles",
        "log/avro/container.py",
        '            return bytes(data)\n        case "snappy":\n            body',
        '            return bytes(data)[::-1]\n        case "snappy":\n            body',
        _all(WRITER, "test_write_with_no_compression"),
    ),
    Mutant(
        "everything-encoded-at-once",
        "log/avro/encode.py",
        "_ROWS_AT_ONCE = 8192",
        "_ROWS_AT_ONCE = 1 << 30",
        (
            *_all(WRITER, "test_write_large_manifest", "test_write_streaming_append"),
            *_all(COMPACTION, "test_compaction_memory_efficiency"),
        ),
    ),
    Mutant(
        "huge-blocks",
        "log/avro/encode.py",
        "_BLOCK_BYTES = 1 << 20",
        "_BLOCK_BYTES = 1 << 24",
        _all(WRITER, "test_write_streaming_append"),
    ),
    Mutant(
        "length-of-something-else",
        "log/state/write.py",
        "        length=len(data),\n",
        "        length=entries.nbytes,\n",
        _all(WRITER, "test_manifest_file_size_estimation"),
    ),
    Mutant(
        "manifests-share-a-name",
        "log/state/write.py",
        'f"manifests/manifest-{log.clock.uuid()}.avro"',
        'f"manifests/manifest-{snapshot.version}-{entries.num_rows}.avro"',
        (*_all(WRITER, "test_concurrent_writes"), *_all(ERRORS, "test_partial_manifest_write")),
    ),
    # What a state says
    Mutant(
        "newest-version-is-the-oldest",
        "log/state/read.py",
        'item.get("maxAddedAtVersion")',
        'item.get("minAddedAtVersion")',
        _all(STATE, "test_read_state_manifest"),
    ),
    Mutant(
        "floor-not-written",
        "log/state/write.py",
        '"timeTravelFloor": state.floor or None',
        '"timeTravelFloor": None',
        _all(STATE, "test_write_state_manifest"),
    ),
    Mutant(
        "one-tombstone-is-enough",
        "log/state/write.py",
        '"tombstones": sorted(state.tombstones),',
        '"tombstones": sorted(state.tombstones)[:1],',
        _all(STATE, "test_state_manifest_with_tombstones"),
    ),
    Mutant(
        "schemas-only-in-the-registry",
        "log/state/open.py",
        "registry={**registered_schemas(metadata.configuration), **state.registry},",
        "registry=dict(state.registry),",
        _all(STATE, "test_state_manifest_with_schema_registry"),
    ),
    Mutant(
        "oldest-version-is-the-newest",
        "log/state/write.py",
        'min_added_at_version=versions["min"].as_py(),',
        'min_added_at_version=versions["max"].as_py(),',
        _all(STATE, "test_state_manifest_version_bounds"),
    ),
    Mutant(
        "newest-version-of-a-manifest-is-its-oldest",
        "log/state/write.py",
        'max_added_at_version=versions["max"].as_py(),',
        'max_added_at_version=versions["min"].as_py(),',
        _all(STREAMING, "test_manifest_version_filtering"),
    ),
    Mutant(
        "dead-files-are-counted",
        "log/state/write.py",
        "num_files=sum(item.live_entry_count for item in items),",
        "num_files=sum(item.num_entries for item in items),",
        _all(STATE, "test_state_manifest_num_files"),
    ),
    Mutant(
        "replaced-bytes-are-counted-twice",
        "log/state/write.py",
        "total_bytes=base.total_bytes - removed_bytes - replaced +",
        "total_bytes=base.total_bytes - removed_bytes +",
        _all(STATE, "test_state_manifest_total_bytes"),
    ),
    Mutant(
        "tombstones-hide-nothing",
        "log/state/files.py",
        "        if self._state.tombstones:\n",
        "        if False:\n",
        (*_all(STATE, "test_apply_tombstones"), *_all(PRUNING, "test_partition_pruning_with_tombstones")),
    ),
    Mutant(
        "what-is-added-is-dead",
        "log/state/write.py",
        "tombstones = frozenset(dead) - dropped - delta.added.keys()",
        "tombstones = frozenset(dead) - dropped | delta.added.keys()",
        _all(STATE, "test_empty_tombstones"),
    ),
    Mutant(
        "ten-thousand-tombstones-at-most",
        "log/state/files.py",
        "dead = pa.array(sorted(self._state.tombstones), pa.string())",
        "dead = pa.array(sorted(self._state.tombstones)[:10_000], pa.string())",
        _all(STATE, "test_large_tombstone_list"),
    ),
    # Incremental states
    Mutant(
        "every-manifest-is-read-for-skips",
        "log/checkpoint.py",
        "    if not snapshot.skips:\n        return ()",
        "    if False:\n        return ()",
        _all(INCREMENTAL, "test_incremental_add_files"),
    ),
    Mutant(
        "removals-leave-no-tombstone",
        "log/state/write.py",
        "dead = base.tombstones | (delta.removed & present)",
        "dead = base.tombstones",
        (
            *_all(INCREMENTAL, "test_incremental_remove_files", "test_incremental_mixed_add_remove"),
            *_all(COMPACTION, "test_compaction_performance_70k"),
        ),
    ),
    Mutant(
        "what-came-and-went-stays",
        "log/state/plan.py",
        "            delta.added.pop(remove.path, None)\n",
        "",
        _all(INCREMENTAL, "test_incremental_mixed_add_remove"),
    ),
    Mutant(
        "every-manifest-is-rewritten",
        "log/state/write.py",
        "        if number in rewrite:\n",
        "        if True:\n",
        _all(INCREMENTAL, "test_manifest_reuse"),
    ),
    Mutant(
        "old-entries-of-what-is-added-again-stay",
        "log/state/write.py",
        "rewrite = {number for number, paths in located.items() if not delta.added.keys().isdisjoint(paths)}",
        "rewrite: set[int] = set()",
        _all(INCREMENTAL, "test_manifest_reuse_with_partial_overlap"),
    ),
    Mutant(
        "a-state-with-the-number-before",
        "log/state/write.py",
        "        version=snapshot.version,\n        created_at",
        "        version=snapshot.version - 1,\n        created_at",
        _all(INCREMENTAL, "test_state_version_increment"),
    ),
    Mutant(
        "a-state-that-skips-a-version",
        "log/state/plan.py",
        "for version, timestamp, actions in versions:",
        "for version, timestamp, actions in list(versions)[1:]:",
        _all(INCREMENTAL, "test_multiple_incremental_writes"),
    ),
    Mutant(
        "a-state-that-skips-the-newest-version",
        "log/fileset.py",
        "return self._since(stop_at_folded=False)[1]",
        "return self._since(stop_at_folded=False)[1][:-1]",
        _all(INCREMENTAL, "test_multiple_incremental_writes"),
    ),
    # Compaction
    Mutant(
        "compaction-at-the-threshold",
        "log/state/write.py",
        "if len(dead) / files_before > log.options[opt.STATE_COMPACTION_TOMBSTONE_THRESHOLD]:",
        "if len(dead) / files_before >= log.options[opt.STATE_COMPACTION_TOMBSTONE_THRESHOLD]:",
        _all(COMPACTION, "test_compaction_trigger_by_tombstone_ratio"),
    ),
    Mutant(
        "compaction-one-manifest-early",
        "log/state/write.py",
        "or fragments(base, log.options) > log.options[opt.STATE_COMPACTION_MAX_MANIFESTS]",
        "or fragments(base, log.options) >= log.options[opt.STATE_COMPACTION_MAX_MANIFESTS]",
        _all(COMPACTION, "test_compaction_trigger_by_manifest_count"),
    ),
    Mutant(
        "full-manifests-are-fragments",
        "log/state/write.py",
        "item.num_entries < options[opt.STATE_ENTRIES_PER_MANIFEST] / 2",
        "item.num_entries <= options[opt.STATE_ENTRIES_PER_MANIFEST] / 2",
        _all(COMPACTION, "test_compaction_trigger_by_manifest_count"),
    ),
    Mutant(
        "many-removes-change-nothing",
        "log/state/write.py",
        "        or many_removes\n",
        "",
        _all(COMPACTION, "test_compaction_trigger_after_merge"),
    ),
    Mutant(
        "compaction-keeps-tombstones",
        "log/state/write.py",
        "        frozenset(),\n        num_files=files.num_rows,",
        '        getattr(getattr(snapshot.file_set.base, "state", None), "tombstones", frozenset()),\n'
        "        num_files=files.num_rows,",
        _all(COMPACTION, "test_compaction_produces_clean_state"),
    ),
    Mutant(
        "a-field-is-forgotten",
        "log/avro/schemas.py",
        '    ("hotcacheLength", _optional("long"), 166),\n',
        "",
        _all(COMPACTION, "test_compaction_preserves_all_files"),
    ),
    Mutant(
        "manifests-twice-as-large",
        "log/state/compact.py",
        "        end = begin + most\n",
        "        end = begin + 2 * most\n",
        _all(COMPACTION, "test_compaction_splits_large_manifests"),
    ),
    Mutant(
        "one-file-a-manifest",
        "log/state/write.py",
        "cut_at_partitions(ordered, starts, log.options[opt.STATE_ENTRIES_PER_MANIFEST])",
        "cut_at_partitions(ordered, starts, 1)",
        _all(COMPACTION, "test_compaction_merges_small_manifests"),
    ),
    Mutant(
        "cuts-anywhere",
        "log/state/compact.py",
        "if border - begin >= (most + 1) // 2:",
        "if False:",
        ("test_bounds_properties.py::test_pieces_are_cut_at_borders",),
    ),
    Mutant(
        "cuts-at-any-border",
        "log/state/compact.py",
        "if border - begin >= (most + 1) // 2:",
        "if border > begin:",
        ("test_bounds_properties.py::test_pieces_are_cut_at_borders",),
    ),
    Mutant(
        "partitions-in-the-order-of-their-texts",
        "log/state/bounds.py",
        "typed = texts if is_text(kind) else column_from_text(texts, kind)",
        "typed = texts",
        _all(COMPACTION, "test_compaction_with_partitioned_data"),
    ),
    Mutant(
        "always-compacted",
        "log/state/write.py",
        "if compact or _too_fragmented(log, base, delta):",
        "if True:",
        (*_all(COMPACTION, "test_compaction_skips_clean_state"), *_all(MIGRATION, "test_write_after_upgrade")),
    ),
    Mutant(
        "the-loser-believes-it-won",
        "log/state/write.py",
        "return StateWritten(found, kind, ours=found == state)",
        "return StateWritten(state, kind)",
        _all(COMPACTION, "test_concurrent_compaction"),
    ),
    Mutant(
        "files-are-not-sorted",
        "log/state/bounds.py",
        "return files.take(order), np.flatnonzero(starts)",
        "return files, np.flatnonzero(starts)",
        (
            *_all(COMPACTION, "test_compaction_preserves_partition_locality"),
            *_all(PRUNING, "test_partition_locality_sorting"),
        ),
    ),
    Mutant(
        "no-bounds-are-written",
        "log/state/write.py",
        "bounds=partition_bounds(entries, snapshot.schema, snapshot.metadata.partition_columns),",
        "bounds=None,",
        (
            *_all(COMPACTION, "test_compaction_computes_partition_bounds"),
            *_all(PRUNING, "test_incremental_write_partition_bounds"),
        ),
    ),
    Mutant(
        "selective-compaction-clears-all-tombstones",
        "log/state/write.py",
        "tombstones = frozenset(dead) - dropped - delta.added.keys()",
        "tombstones = frozenset() if rewrite else frozenset(dead) - delta.added.keys()",
        _all(
            COMPACTION,
            "TestSelective::test_only_the_tombstones_of_what_was_rewritten_are_dropped",
            "TestSelective::test_tombstones_of_an_older_state_are_dropped_too_where_their_manifest_is_rewritten",
            "TestSelective::test_any_removal_means_the_same",
        ),
    ),
    Mutant(
        "selective-compaction-keeps-all-tombstones",
        "log/state/write.py",
        "tombstones = frozenset(dead) - dropped - delta.added.keys()",
        "tombstones = frozenset(dead) - delta.added.keys()",
        _all(COMPACTION, "TestSelective::test_only_the_tombstones_of_what_was_rewritten_are_dropped"),
    ),
    # Pruning
    Mutant(
        "bounds-in-the-order-of-texts",
        "log/state/bounds.py",
        "        values = texts if is_text(kind) else column_from_text(texts, kind)\n        if not",
        "        values = texts\n        if not",
        (
            *_all(PRUNING, "test_partition_bounds_computation"),
            "test_bounds_properties.py::test_bounds_cover_every_value",
        ),
    ),
    Mutant(
        "nulls-do-not-matter",
        "log/state/bounds.py",
        "if not len(texts) or values.null_count:",
        "if not len(texts) or values.null_count == len(values):",
        _all(PRUNING, "test_partition_bounds_with_nulls"),
    ),
    Mutant(
        "bounds-of-the-first-column-only",
        "log/state/bounds.py",
        "    for column in columns:\n",
        "    for column in columns[:1]:\n",
        _all(PRUNING, "test_partition_bounds_multiple_columns"),
    ),
    Mutant(
        "equal-means-at-least",
        "core/predicate/bounds.py",
        "return _and(_perhaps(pc.less_equal(self.low, value)), _perhaps(pc.greater_equal(self.high, value)))",
        "return _perhaps(pc.less_equal(self.low, value))",
        _all(PRUNING, "test_prune_by_equality_filter"),
    ),
    Mutant(
        "less-prunes-nothing",
        "core/predicate/bounds.py",
        "return _perhaps(pc.less(self.low, value))",
        "return True",
        _all(PRUNING, "test_prune_by_range_filter"),
    ),
    Mutant(
        "in-looks-at-minima-only",
        "core/predicate/bounds.py",
        "(index < len(values)) & (candidates <= high)",
        "(index < len(values))",
        _all(PRUNING, "test_prune_by_in_filter"),
    ),
    Mutant(
        "and-takes-its-last-part",
        "core/predicate/bounds.py",
        "return functools.reduce(pc.and_, parts, self._all(True))",
        "return list(parts)[-1]",
        _all(PRUNING, "test_prune_by_and_filter"),
    ),
    Mutant(
        "or-takes-its-first-part",
        "core/predicate/bounds.py",
        "return functools.reduce(pc.or_, parts, self._all(False))",
        "return next(parts)",
        _all(PRUNING, "test_prune_by_or_filter"),
    ),
    Mutant(
        "no-bounds-no-files",
        "log/state/files.py",
        "    return may_match(where, manifest_bounds(item.bounds, schema, typed=item.typed))",
        "    return bool(item.bounds) and may_match(where, manifest_bounds(item.bounds, schema, typed=item.typed))",
        _all(PRUNING, "test_no_pruning_without_bounds", "test_mixed_bounds_and_no_bounds"),
    ),
    Mutant(
        "an-unknown-column-matches-nothing",
        "core/predicate/bounds.py",
        "        if source is None:\n            return self._all(True)\n",
        "        if source is None:\n            return self._all(False)\n",
        _all(PRUNING, "test_no_pruning_for_unknown_column"),
    ),
    Mutant(
        "foreign-bounds-of-texts-are-used",
        "log/skipping.py",
        "if column is None or not (typed or _ordered_alike(column.type)):",
        "if column is None:",
        ("test_pruning_properties.py::test_foreign_bounds_that_do_not_cover_their_values",),
    ),
    # Upgrades
    Mutant(
        "only-the-first-part-is-read",
        "log/checkpoint.py",
        "adds=tuple(add for piece in pieces for add in piece.adds),",
        "adds=tuple(add for piece in pieces[:1] for add in piece.adds),",
        _all(
            MIGRATION,
            "test_read_legacy_json_checkpoint",
            "test_upgrade_large_table",
        ),
    ),
    Mutant(
        "registered-schemas-are-forgotten",
        "log/snapshot.py",
        'changes["registry"] = {**snapshot.registry, **registered_schemas(actions.metadata.configuration)}',
        'changes["registry"] = dict(snapshot.registry)',
        _all(MIGRATION, "test_auto_upgrade_on_read"),
    ),
    Mutant(
        "the-pointer-does-not-say-avro",
        "log/state/write.py",
        '            format="avro-state",\n',
        "",
        (*_all(MIGRATION, "test_checkpoint_sql_upgrade"), *_all(INCREMENTAL, "test_state_version_increment")),
    ),
    Mutant(
        "the-first-piece-is-all",
        "log/state/write.py",
        "items = _write_all(log, snapshot, _sorted_pieces(log, snapshot, files))\n    state",
        "items = _write_all(log, snapshot, [p.slice(1) for p in _sorted_pieces(log, snapshot, files)])\n    state",
        _all(MIGRATION, "test_upgrade_preserves_all_files"),
    ),
    Mutant(
        "keys-and-values-swapped",
        "log/avro/encode.py",
        "_counted(_join([_texts(keys), _texts(items)]), lengths)",
        "_counted(_join([_texts(items), _texts(keys)]), lengths)",
        _all(MIGRATION, "test_upgrade_preserves_partition_values", "test_upgrade_preserves_statistics"),
    ),
    Mutant(
        "schemas-below-the-checkpoint-are-lost",
        "log/open.py",
        "while used - registry.keys() and number >= 0:",
        "while False:",
        _all(MIGRATION, "test_upgrade_preserves_schema_registry"),
    ),
    Mutant(
        "no-way-back-to-json",
        "log/state/checkpoint.py",
        'if log.options[opt.STATE_FORMAT] == "json":',
        "if False:",
        _all(MIGRATION, "test_mixed_format_rollback"),
    ),
    Mutant(
        "the-protocol-is-not-committed",
        "log/state/checkpoint.py",
        'snapshot = commit(log, snapshot, change, operation="UPGRADE PROTOCOL").snapshot',
        "snapshot = replace(snapshot, protocol=_upgraded(snapshot.protocol))",
        _all(MIGRATION, "test_upgrade_from_v2_to_v4"),
    ),
    Mutant(
        "removes-are-not-replayed",
        "log/files.py",
        "            latest[remove.path] = _REMOVED\n",
        "            latest.get(remove.path)\n",
        _all(MIGRATION, "test_upgrade_with_active_tombstones"),
    ),
    # Change sets
    Mutant(
        "rearranged-rows-are-new",
        "log/history.py",
        "for add in version.actions.adds if add.data_change]",
        "for add in version.actions.adds]",
        _all(STREAMING, "test_get_changes_since_version"),
    ),
    Mutant(
        "a-moment-is-before-itself",
        "log/history.py",
        "bisect_right(times, timestamp_ms) - 1",
        "bisect_right(times, timestamp_ms - 1) - 1",
        _all(STREAMING, "test_get_changes_since_timestamp"),
    ),
    Mutant(
        "rearranged-rows-are-gone",
        "log/history.py",
        "for remove in version.actions.removes if remove.data_change]",
        "for remove in version.actions.removes]",
        _all(STREAMING, "test_change_set_includes_removes"),
    ),
    Mutant(
        "since-includes-the-version-itself",
        "log/history.py",
        "range(max(since, -1) + 1, snapshot.version + 1)",
        "range(max(since, 0), snapshot.version + 1)",
        _all(STREAMING, "test_streaming_read_empty_delta"),
    ),
    Mutant(
        "the-first-version-is-left-out",
        "log/history.py",
        "range(max(since, -1) + 1, snapshot.version + 1)",
        "range(max(since, 0) + 2, snapshot.version + 1)",
        _all(STREAMING, "test_streaming_read_all_changes"),
    ),
    Mutant(
        "missing-versions-changed-nothing",
        "log/history.py",
        "    if gone:\n        raise ChangesGone(",
        "    if False:\n        raise ChangesGone(",
        _all(STREAMING, "test_streaming_with_compaction"),
    ),
    Mutant(
        "changes-look-at-all-files",
        "log/history.py",
        "    found = log.read_versions(wanted, snapshot.table_id)\n    gone",
        "    found = log.read_versions(wanted, snapshot.table_id)\n    snapshot.files  # noqa: B018\n    gone",
        _all(STREAMING, "test_streaming_performance", "test_manifest_version_filtering"),
    ),
    # Other writers' schemas
    Mutant(
        "fields-of-later-writers-are-refused",
        "log/avro/manifest.py",
        '    if "path" not in fields:\n',
        '    if "path" not in fields or not fields <= set(FILE_SCHEMA.names):\n',
        _all(EVOLUTION, "test_add_new_field"),
    ),
    Mutant(
        "another-field-id",
        "log/avro/schemas.py",
        '("deleteOpstamp", _optional("long"), 164)',
        '("deleteOpstamp", _optional("long"), 167)',
        _all(EVOLUTION, "test_field_id_preservation"),
    ),
    Mutant(
        "absent-fields-are-errors",
        "log/avro/manifest.py",
        "    if field.nullable:\n        return pa.nulls",
        "    if False:\n        return pa.nulls",
        _all(EVOLUTION, "test_read_old_schema_with_new_reader"),
    ),
    Mutant(
        "a-wider-type",
        "log/avro/schemas.py",
        '("numMergeOps", _optional("int"), 134)',
        '("numMergeOps", _optional("long"), 134)',
        _all(EVOLUTION, "test_read_new_schema_with_old_reader"),
    ),
    Mutant(
        "an-int-is-unheard-of",
        "log/avro/decode.py",
        '            case "int" | "long":\n',
        '            case "long":\n',
        _all(EVOLUTION, "test_promote_field_type"),
    ),
    # Errors
    Mutant(
        "a-manifest-that-vanished-is-fatal",
        "log/refresh.py",
        "except (ObjectNotFound, CorruptLog) as error:",
        "except CorruptLog as error:",
        (*_all(ERRORS, "test_read_missing_manifest"), "test_fallback.py::test_a_manifest_that_vanishes_after_opening"),
    ),
    Mutant(
        "the-pointer-is-believed",
        "log/open.py",
        "if base is None and found.start > 0:",
        "if False:",
        _all(ERRORS, "test_read_missing_state_dir"),
    ),
    Mutant(
        "another-tables-state-is-as-good",
        "log/state/write.py",
        "if found.metadata is not None and found.metadata.id != snapshot.table_id:",
        "if False:",
        _all(ERRORS, "test_concurrent_state_update"),
    ),
    Mutant(
        "our-own-state-is-not-recognised",
        "log/state/write.py",
        "return StateWritten(found, kind, ours=found == state)",
        "return StateWritten(found, kind, ours=False)",
        _all(ERRORS, "test_commit_state_unknown"),
    ),
    Mutant(
        "any-magic-will-do",
        "log/avro/container.py",
        "if bytes(view[:4]) != MAGIC:",
        "if not data:",
        _all(ERRORS, "test_corrupted_avro_header"),
    ),
    Mutant(
        "later-formats-are-guessed-at",
        "log/state/read.py",
        'if record.get("formatVersion", 1) != 1:',
        "if False:",
        _all(ERRORS, "test_invalid_schema_version"),
    ),
    Mutant(
        "waits-do-not-grow",
        "log/state/write.py",
        "log.options[opt.STATE_RETRY_BASE_DELAY_MS] * 2**attempt",
        "log.options[opt.STATE_RETRY_BASE_DELAY_MS]",
        _all(ERRORS, "test_storage_exception"),
    ),
    # Garbage
    Mutant(
        "states-never-go",
        "log/cleanup.py",
        "    keys += _states_to_go(log, listing, floor, now, retention_ms, safety_ms)\n",
        "",
        _all(GARBAGE, "test_cleanup_old_state_dirs"),
    ),
    Mutant(
        "one-state-is-kept",
        "log/cleanup.py",
        "kept = log.options[opt.STATE_RETENTION_VERSIONS]",
        "kept = 1",
        _all(GARBAGE, "test_retention_by_version_count"),
    ),
    Mutant(
        "ages-count-from-creation",
        "log/cleanup.py",
        "for meta in bases[versions[index + 1]])",
        "for meta in bases[number])",
        _all(GARBAGE, "test_retention_by_age"),
    ),
    Mutant(
        "version-0-goes",
        "log/cleanup.py",
        "protected = {0, listing.newest_version, max(listing.bases)}",
        "protected = {listing.newest_version, max(listing.bases)}",
        _all(GARBAGE, "test_cleanup_preserves_current_state"),
    ),
    Mutant(
        "young-manifests-go",
        "log/state/collect.py",
        "if m.key not in reachable and now - m.last_modified_ms >= young]",
        "if m.key not in reachable]",
        _all(GARBAGE, "test_cleanup_orphaned_manifests"),
    ),
    Mutant(
        "collection-gives-up-when-a-state-vanishes",
        "log/state/collect.py",
        "        except ObjectNotFound as gone:\n",
        "        except ZeroDivisionError as gone:\n",
        _all(GARBAGE, "test_concurrent_cleanup"),
    ),
    Mutant(
        "collection-forgets-shared-paths",
        "log/state/collect.py",
        "return {manifest_key(item.path, version) for item in state.manifests}",
        'return {manifest_key(m.path, version) for m in state.manifests if not m.path.startswith("manifests/")}',
        _all(
            GARBAGE,
            "TestEveryFormOfAPath::test_none_of_them_is_collected_while_a_state_names_it",
            "TestEveryFormOfAPath::test_each_form_alone_keeps_its_manifest",
            "test_cleanup_orphaned_manifests",
        ),
    ),
    Mutant(
        "collection-forgets-paths-with-a-directory",
        "log/state/collect.py",
        "return {manifest_key(item.path, version) for item in state.manifests}",
        'return {manifest_key(m.path, version) for m in state.manifests if not m.path.startswith("state-v")}',
        _all(GARBAGE, "TestEveryFormOfAPath::test_each_form_alone_keeps_its_manifest"),
    ),
    Mutant(
        "collection-forgets-bare-names",
        "log/state/collect.py",
        "return {manifest_key(item.path, version) for item in state.manifests}",
        'return {manifest_key(m.path, version) for m in state.manifests if "/" in m.path}',
        _all(
            GARBAGE,
            "TestEveryFormOfAPath::test_none_of_them_is_collected_while_a_state_names_it",
            "TestEveryFormOfAPath::test_each_form_alone_keeps_its_manifest",
        ),
    ),
    Mutant(
        "collection-goes-on-after-a-state-it-could-not-read",
        "log/state/collect.py",
        '        return Plan([], stopped=f"a state cannot be read, and might name any manifest: {error}")\n',
        '        logger.warning("%s", error)\n        named = []\n',
        _all(GARBAGE, "TestCollectionStops::test_at_a_state_that_cannot_be_read"),
    ),
    Mutant(
        "collection-reads-states-first",
        "log/state/collect.py",
        "    manifests, states = _list(log)\n",
        "    states = _list(log)[1]\n    manifests = _list(log)[0]\n",
        _all(GARBAGE, "TestCollectionStops::test_a_state_that_is_written_meanwhile_loses_nothing"),
    ),
    Mutant(
        "collection-in-other-peoples-tables",
        "log/state/collect.py",
        "    if snapshot.state_committed:\n",
        "    if False:\n",
        _all(GARBAGE, "TestCollectionStops::test_at_a_table_that_another_implementation_commits_to"),
    ),
    # Other people's tables
    Mutant(
        "foreign-tables-get-checkpoints",
        "log/state/checkpoint.py",
        "    if snapshot.state_committed:\n",
        "    if False:\n",
        ("test_adoption.py::test_a_checkpoint_is_refused_and_changes_nothing",),
    ),
    Mutant(
        "foreign-tables-are-written-unasked",
        "log/commit.py",
        "if current.state_committed and not log.options[opt.TRANSACTION_ADOPT_FOREIGN]:",
        "if False:",
        ("test_adoption.py::test_writing_is_refused_unless_it_was_asked_for",),
    ),
)


@contextmanager
def workshop() -> Iterator[Path]:
    """A copy of the sources that may be broken."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Path(folder) / "src"
        shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
        command = [sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "checked-hash", str(copy)]
        subprocess.run(command, check=True)
        yield copy


def mutate(mutant: Mutant, text: str) -> str:
    """The text with the bug in it."""
    if text.count(mutant.old) != 1:
        raise ValueError(f"{mutant.id}: {mutant.file} has its text {text.count(mutant.old)} times, not once")
    return text.replace(mutant.old, mutant.new)


def run(mutant: Mutant, copy: Path) -> Verdict:
    """Put the bug in, run the tests that must fail, and take it out again."""
    target = copy / "indextables" / mutant.file
    original = target.read_text()
    began = time.monotonic()
    target.write_text(mutate(mutant, original))
    try:
        failed, passed, output = _pytest(mutant.kills, copy)
    finally:
        target.write_text(original)
    return Verdict(mutant, failed, passed, time.monotonic() - began, output)


def _pytest(tests: tuple[str, ...], copy: Path) -> tuple[list[str], list[str], str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST")} | {
        "PYTHONPATH": str(copy),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "MUTANT_SOURCE": str(copy),
    }
    options = ["-q", "-rA", "--tb=line", "-p", "pytest_timeout", "-p", "no:cacheprovider", "--timeout=120"]
    nodes = [f"tests/state/{test}" for test in tests]
    command = [sys.executable, "-m", "pytest", *options, *nodes]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"pytest could not run {nodes}:\n{done.stdout}\n{done.stderr}")
    outcomes: dict[str, set[str]] = {}
    for outcome, node in re.findall(r"^(PASSED|FAILED) tests/state/([^\s\[]+)", done.stdout, re.MULTILINE):
        outcomes.setdefault(node, set()).add(outcome)
    failed = [test for test in tests if "FAILED" in outcomes.get(test, ())]
    passed = [test for test in tests if "FAILED" not in outcomes.get(test, ())]
    return failed, passed, done.stdout


def main(arguments: list[str]) -> int:
    """Run mutants and say what became of each."""
    chosen = [mutant for mutant in MUTANTS if not arguments or mutant.id in arguments]
    if "--list" in arguments:
        for mutant in MUTANTS:
            print(f"{mutant.id:52} {mutant.file:28} {', '.join(test.rpartition('::')[2] for test in mutant.kills)}")
        return 0
    if unknown := set(arguments) - {mutant.id for mutant in MUTANTS}:
        print(f"there is no mutant {', '.join(sorted(unknown))}; --list shows all")
        return 2
    survivors = 0
    with workshop() as copy:
        for mutant in chosen:
            verdict = run(mutant, copy)
            survivors += not verdict.killed
            word = "killed  " if verdict.killed else "SURVIVED"
            print(f"{word} {mutant.id:52} {len(verdict.failed)}/{len(mutant.kills)} tests, {verdict.seconds:.1f} s", flush=True)
            for test in verdict.passed:
                print(f"         {test} did not notice")
    print(f"{len(chosen) - survivors} of {len(chosen)} mutants killed")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
