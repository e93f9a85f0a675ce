"""How many files questions did not have to look at, counted for the process, by what ruled the files out.

    a question ──▶ manifests ──▶ blocks of manifests ──▶ partition values ──▶ bounds of columns ──▶ files that are looked at
                   (by_manifest)      (by_block)           (by_partition)        (by_bounds)            (kept)

Files of a manifest or a block that was passed over are counted as the manifest counts its entries. What was considered is the
sum: each file is counted once, where it was ruled out or where it stayed. A question without a filter is not counted.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Final

from indextables.core.metrics import METRICS
from indextables.core.runtime.process_state import ProcessLocal


@dataclass(frozen=True, slots=True)
class Skipped:
    """Files that one question did not have to look at."""

    by_partition: int = 0
    by_bounds: int = 0
    by_block: int = 0
    by_manifest: int = 0

    def __add__(self, other: Skipped) -> Skipped:
        return Skipped(
            self.by_partition + other.by_partition,
            self.by_bounds + other.by_bounds,
            self.by_block + other.by_block,
            self.by_manifest + other.by_manifest,
        )

    @property
    def files(self) -> int:
        """All of the files."""
        return self.by_partition + self.by_bounds + self.by_block + self.by_manifest


NOTHING_SKIPPED: Final = Skipped()


@dataclass(frozen=True)
class SkippingTotals:
    """All questions since the process began, or since the counts were reset."""

    questions: int = 0
    kept: int = 0
    skipped: Skipped = NOTHING_SKIPPED

    @property
    def considered(self) -> int:
        """Files that the questions were about."""
        return self.kept + self.skipped.files

    @property
    def share(self) -> float:
        """The part of these files that nobody had to look at, from 0 to 1."""
        return self.skipped.files / self.considered if self.considered else 0.0


class SkippingCounts:
    """Adds questions up. Safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._totals = SkippingTotals()

    def add(self, kept: int, skipped: Skipped) -> None:
        """Add a question that left so many files to look at."""
        with self._lock:
            now = self._totals
            self._totals = SkippingTotals(now.questions + 1, now.kept + kept, now.skipped + skipped)

    def totals(self) -> SkippingTotals:
        """All questions so far."""
        with self._lock:
            return self._totals

    def reset(self) -> SkippingTotals:
        """Begin to count anew. Returns what there was."""
        with self._lock:
            totals, self._totals = self._totals, SkippingTotals()
            return totals


SKIPPING: Final[ProcessLocal[SkippingCounts]] = ProcessLocal(SkippingCounts)
"""The counts of this process. A forked child counts its own questions."""

METRICS.show("indextables.data_skipping.questions", lambda: SKIPPING.value.totals().questions)
METRICS.show("indextables.data_skipping.files_considered", lambda: SKIPPING.value.totals().considered)
METRICS.show("indextables.data_skipping.files_skipped", lambda: SKIPPING.value.totals().skipped.files)
