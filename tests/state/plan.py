"""The test plan of the state format's design, section by section, as data.

Each name has a test of that name in the module of its section (`testReadEmptyManifest` is `test_read_empty_manifest` in
`test_manifest_reader.py`), or a reason in `EXCEPTIONS` why there is none.
"""

from __future__ import annotations

import re

MODULES: dict[int, str] = {
    1: "test_manifest_reader.py",
    2: "test_manifest_writer.py",
    3: "test_state_manifest.py",
    4: "test_incremental_write.py",
    5: "test_compaction.py",
    6: "test_partition_pruning.py",
    7: "test_migration.py",
    8: "test_streaming.py",
    9: "test_schema_evolution.py",
    11: "test_error_handling.py",
    13: "test_garbage_collection.py",
}

PLAN: dict[int, tuple[str, ...]] = {
    1: (
        "testReadEmptyManifest",
        "testReadSingleEntry",
        "testReadMultipleEntries",
        "testReadAllFields",
        "testReadNullableFields",
        "testReadWithPartitionValues",
        "testReadWithEmptyPartitionValues",
        "testReadLargeManifest",
        "testReadCorruptedManifest",
        "testReadTruncatedManifest",
        "testReadManifestFromS3",
        "testReadManifestFromAzure",
        "testParallelManifestRead",
        "testFilterByAddedAtVersion",
        "testFilterByAddedAtTimestamp",
        "testFilterByPartition",
    ),
    2: (
        "testWriteEmptyManifest",
        "testWriteSingleEntry",
        "testWriteMultipleEntries",
        "testWriteAllFields",
        "testWriteNullableFields",
        "testWriteWithZstdCompression",
        "testWriteWithSnappyCompression",
        "testWriteWithNoCompression",
        "testWriteToS3",
        "testWriteToAzure",
        "testWriteLargeManifest",
        "testWriteStreamingAppend",
        "testManifestFileSizeEstimation",
        "testConcurrentWrites",
    ),
    3: (
        "testReadStateManifest",
        "testWriteStateManifest",
        "testStateManifestWithTombstones",
        "testStateManifestWithSchemaRegistry",
        "testStateManifestVersionBounds",
        "testStateManifestNumFiles",
        "testStateManifestTotalBytes",
        "testApplyTombstones",
        "testEmptyTombstones",
        "testLargeTombstoneList",
    ),
    4: (
        "testIncrementalAddFiles",
        "testIncrementalRemoveFiles",
        "testIncrementalMixedAddRemove",
        "testManifestReuse",
        "testManifestReuseWithPartialOverlap",
        "testStateVersionIncrement",
        "testMultipleIncrementalWrites",
        "testIncrementalWriteToS3",
    ),
    5: (
        "testCompactionTriggerByTombstoneRatio",
        "testCompactionTriggerByManifestCount",
        "testCompactionTriggerAfterMerge",
        "testCompactionProducesCleanState",
        "testCompactionPreservesAllFiles",
        "testCompactionSplitsLargeManifests",
        "testCompactionMergesSmallManifests",
        "testCompactionWithPartitionedData",
        "testCompactionSkipsCleanState",
        "testConcurrentCompaction",
        "testCompactionPerformance70K",
        "testCompactionMemoryEfficiency",
        "testCompactionPreservesPartitionLocality",
        "testCompactionComputesPartitionBounds",
    ),
    6: (
        "testPartitionBoundsComputation",
        "testPartitionBoundsWithNulls",
        "testPartitionBoundsMultipleColumns",
        "testPruneByEqualityFilter",
        "testPruneByRangeFilter",
        "testPruneByInFilter",
        "testPruneByAndFilter",
        "testPruneByOrFilter",
        "testNoPruningWithoutBounds",
        "testNoPruningForUnknownColumn",
        "testPartitionPruningEffectiveness",
        "testPartitionPruningPerformance1M",
        "testPartitionLocalitySorting",
        "testIncrementalWritePartitionBounds",
        "testMixedBoundsAndNoBounds",
        "testPartitionPruningWithTombstones",
    ),
    7: (
        "testReadLegacyJsonCheckpoint",
        "testAutoUpgradeOnRead",
        "testCheckpointSqlUpgrade",
        "testUpgradePreservesAllFiles",
        "testUpgradePreservesPartitionValues",
        "testUpgradePreservesStatistics",
        "testUpgradePreservesSchemaRegistry",
        "testWriteAfterUpgrade",
        "testMixedFormatRollback",
        "testUpgradeFromV2ToV4",
        "testUpgradeLargeTable",
        "testUpgradeWithActiveTombstones",
    ),
    8: (
        "testGetChangesSinceVersion",
        "testGetChangesSinceTimestamp",
        "testChangeSetIncludesRemoves",
        "testStreamingReadEmptyDelta",
        "testStreamingReadAllChanges",
        "testManifestVersionFiltering",
        "testStreamingWithCompaction",
        "testStreamingPerformance",
    ),
    9: (
        "testAddNewField",
        "testFieldIdPreservation",
        "testReadOldSchemaWithNewReader",
        "testReadNewSchemaWithOldReader",
        "testRenameField",
        "testPromoteFieldType",
    ),
    11: (
        "testReadMissingManifest",
        "testReadMissingStateDir",
        "testPartialManifestWrite",
        "testConcurrentStateUpdate",
        "testCommitStateUnknown",
        "testCorruptedAvroHeader",
        "testInvalidSchemaVersion",
        "testStorageException",
    ),
    13: (
        "testCleanupOldStateDirs",
        "testRetentionByVersionCount",
        "testRetentionByAge",
        "testCleanupPreservesCurrentState",
        "testCleanupWithPurgeIntegration",
        "testCleanupOrphanedManifests",
        "testConcurrentCleanup",
    ),
}

_STORES = "needs the store; the contract suite of tests/storage covers every store, and states use nothing beyond it"

EXCEPTIONS: dict[str, str] = {
    "testReadManifestFromS3": _STORES,
    "testReadManifestFromAzure": _STORES,
    "testWriteToS3": _STORES,
    "testWriteToAzure": _STORES,
    "testIncrementalWriteToS3": _STORES,
    "testPartitionPruningPerformance1M": "a latency limit, kept by the benchmarks; its functional half is "
    "testPartitionPruningEffectiveness",
    "testRenameField": "fields are resolved by name, because the ids of the format's documents clash",
}
"""Names of the plan that have no test here, each with the reason."""


def function_name(name: str) -> str:
    """`testPruneByInFilter` → `test_prune_by_in_filter`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[0-9])(?=[A-Z][a-z])", "_", name).lower()
