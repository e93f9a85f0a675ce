"""`Table`: a thin façade with one module per verb."""

from indextables.table.table import Commit, Table

__all__ = ["Commit", "Table"]
