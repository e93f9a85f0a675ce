"""What an engine asks of a table, as values: requests, plans, snippets, and the arguments that callers give."""

from indextables.table.arguments import Moment, parse_where
from indextables.table.read.request import ByColumns, ReadPlan, ReadRequest, plan_read
from indextables.table.read.snippets import Snippets, wanted_words

__all__ = ["ByColumns", "Moment", "ReadPlan", "ReadRequest", "Snippets", "parse_where", "plan_read", "wanted_words"]
