"""Files that questions of this process did not have to look at, and what is remembered so that they are found fast."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from indextables.log.pruning.few_files import forget_bounds
from indextables.log.pruning.skipping_counts import SKIPPING, SkippingTotals
from indextables.log.state.manifest_cache import forget_answers, forget_manifests
from indextables.table.inspect.this_process import answer

DATA_SKIPPING: Final = pa.schema([("metric", pa.string()), ("value", pa.float64())])
"""Columns of all answers of this module."""


def describe_data_skipping() -> pa.Table:
    """Questions with a filter, the files that they were about, and what ruled out how many of the files."""
    return _figures(SKIPPING.value.totals())


def flush_data_skipping() -> pa.Table:
    """Begin to count anew. The answer has the figures that there were."""
    return _figures(SKIPPING.value.reset())


def invalidate_data_skipping_cache() -> pa.Table:
    """Forget the bounds, manifests and chosen files that this process remembers. The answer says how many there were."""
    rows = [
        ("answers_cleared", forget_answers()),
        ("manifests_cleared", forget_manifests()),
        ("file_lists_cleared", forget_bounds()),
    ]
    return answer(DATA_SKIPPING, rows)


def _figures(totals: SkippingTotals) -> pa.Table:
    skipped = totals.skipped
    rows = [
        ("questions", totals.questions),
        ("files_considered", totals.considered),
        ("files_pruned_by_partition", skipped.by_partition),
        ("files_pruned_by_bounds", skipped.by_bounds),
        ("files_pruned_by_block_bounds", skipped.by_block),
        ("files_pruned_by_manifest", skipped.by_manifest),
        ("files_pruned", skipped.files),
        ("files_kept", totals.kept),
        ("pruned_share", totals.share),
    ]
    return answer(DATA_SKIPPING, rows)


__all__ = ["describe_data_skipping", "flush_data_skipping", "invalidate_data_skipping_cache"]
