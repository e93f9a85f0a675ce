"""The gate before rows: splits of other implementations are of another kind."""

from __future__ import annotations

from typing import Final

from indextables.core.errors import ForeignTable
from indextables.log.actions import ProtocolAction

FEATURE: Final = "bundleSplits"
"""The protocol feature of tables whose splits are bundles of this format."""


def holds_bundles(protocol: ProtocolAction) -> bool:
    """True if the protocol says that the table's splits are of our format."""
    return FEATURE in (protocol.reader_features or ())


def foreign_table(url: str, doing: str) -> ForeignTable:
    """The error for a table whose splits are not ours. `doing` completes "… rows": reading, writing."""
    return ForeignTable(
        f"table {url} was written by another implementation: its protocol lacks the feature {FEATURE}, and its splits "
        f"have a term dictionary that this engine cannot search, so {doing} rows is not possible; everything that needs "
        "only its log works (files, history, changes, checkpoint)",
        url=url,
    )
