"""Tables as an engine's catalog sees them: made, described, emptied by partitions and dropped."""

from indextables.table.at_version import handle_of
from indextables.table.maintain.describe_rows import described_columns, described_rows, partition_values
from indextables.table.maintain.purge_on_write import purge_after_write
from indextables.table.table import table_at
from indextables.table.write.drop_partitions import drop_partitions
from indextables.table.write.drop_table import drop_table

__all__ = [
    "described_columns",
    "described_rows",
    "drop_partitions",
    "drop_table",
    "handle_of",
    "partition_values",
    "purge_after_write",
    "table_at",
]
