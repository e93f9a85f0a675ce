"""How an engine comes to a table: its log, a handle at a version, and versions that several processes share."""

from indextables.table.handle import TableHandle
from indextables.table.open_log import full_url, open_log
from indextables.table.open_table import open_pinned, open_table_of, pin_version

__all__ = ["TableHandle", "full_url", "open_log", "open_pinned", "open_table_of", "pin_version"]
