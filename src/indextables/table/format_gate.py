"""The gate before rows: splits of other implementations are of another kind."""

from __future__ import annotations

from indextables.core.errors import ForeignTable
from indextables.log.snapshot import Snapshot

FEATURE = "bundleSplits"


def check_bundles(snapshot: Snapshot, doing: str) -> None:
    """Refuse a table whose splits are not ours. `doing` completes "… rows": reading, writing."""
    if FEATURE in (snapshot.protocol.reader_features or ()):
        return
    raise ForeignTable(
        f"table {snapshot.url} was written by another implementation: its protocol lacks the feature {FEATURE}, and its splits "
        f"have a term dictionary that this engine cannot search, so {doing} rows is not possible; everything that needs "
        "only its log works (files, history, changes, checkpoint)",
        url=snapshot.url,
    )
