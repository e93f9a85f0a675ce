"""`Table.upgrade_protocol`: the protocol of an older table raised to the one that this release writes."""

from __future__ import annotations

from indextables.core.metrics import METRICS
from indextables.log.commit import Committed, commit
from indextables.log.conflicts import Change
from indextables.log.state.checkpoint import upgraded_protocol
from indextables.table.handle import TableHandle

OPERATION = "UPGRADE PROTOCOL"


@METRICS.measured("upgrade_protocol", written=lambda done: float(done.written))
def upgrade_protocol(handle: TableHandle) -> Committed:
    """Commit the newest protocol with the features that states need. Where the table has them all, nothing is written."""
    now = handle.refreshed()
    wanted = upgraded_protocol(now.snapshot.protocol)
    if wanted == now.snapshot.protocol:
        version = f"version {wanted.min_reader_version} with all features"
        return Committed(now.snapshot, "", written=False, reason=f"the protocol is {version} already")
    return commit(now, Change(protocol=wanted, data_change=False), operation=OPERATION)
