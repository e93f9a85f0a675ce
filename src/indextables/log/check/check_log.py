"""Everything that is wrong with a log, and the newest version as far as it can be known."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

from indextables.core.errors import LogError, LogReadTimeout, LogWarning, UnsupportedProtocol
from indextables.log.check.check_bases import check_bases
from indextables.log.check.check_pointer import check_pointer
from indextables.log.check.check_versions import check_versions
from indextables.log.check.findings import REPAIR, Finding, error
from indextables.log.check.remains import Remains, read_remains
from indextables.log.check.replay import Replayed, replay
from indextables.log.check.version_order import misplaced_versions
from indextables.log.log_paths import LOG_DIR
from indextables.log.open_snapshot import open_log
from indextables.log.protocol import check_readable
from indextables.log.snapshot import Snapshot
from indextables.log.table_log import TableLog


@dataclass(frozen=True)
class CheckedLog:
    """A log that was looked at."""

    remains: Remains
    replayed: Replayed
    findings: tuple[Finding, ...]
    opened: Snapshot | None
    """The table as readers open it, with all its files; None where they cannot."""

    @property
    def is_sound(self) -> bool:
        """True if readers open the table, and nothing that they depend on is damaged."""
        return self.opened is not None and not any(found.severity == "error" for found in self.findings)


def check_log(log: TableLog, told: Callable[[int], None] | None = None) -> CheckedLog:
    """Read every object of the log. Raises StorageError, LogReadTimeout, UnsupportedProtocol.

    `told` is called with how many objects of the log were read, some at a time.
    """
    remains = read_remains(log, told)
    misplaced = misplaced_versions(remains)
    replayed = replay(remains, misplaced)
    if replayed.snapshot is not None:
        check_readable(log.url, replayed.snapshot.protocol)
    findings = [
        *check_versions(remains, misplaced),
        *check_bases(remains, replayed.differences),
        *check_pointer(remains),
    ]
    opened = None if remains.is_empty else _opened(log, findings)
    return CheckedLog(remains, replayed, tuple(findings), opened)


def _opened(log: TableLog, findings: list[Finding]) -> Snapshot | None:
    """The table as readers open it. A refusal that no finding explains becomes a finding."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LogWarning)
        try:
            snapshot = open_log(log, whole=True)
            snapshot.file_set.table()
        except (LogReadTimeout, UnsupportedProtocol):
            raise
        except LogError as refused:
            if not any(found.severity == "error" for found in findings):
                findings.append(error("table_unreadable", LOG_DIR, f"{refused}; {REPAIR}"))
            return None
    return snapshot


__all__ = ["CheckedLog", "check_log"]
