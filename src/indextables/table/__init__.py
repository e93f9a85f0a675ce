"""`Table`: a thin façade with one module per verb.

    Table ──▶ TableHandle (which table, which version) + the verb's own arguments ──▶ a verb of read/, write/ or maintain/
    spark/ ──▶ distributed/ ──▶ the same verbs in tasks

table.py                `Table`: what callers use, and the methods that change rows
table_questions.py      the methods of `Table` that ask
upkeep.py               the methods of `Table` that keep a table fast and small
at_version.py           where a `Table` stands, and how it moves
handle.py               `TableHandle`: the log and the snapshot that every verb takes
loading.py              the door for programs that load files into tables, such as the command line
open_table.py           open a table at a version; versions that several processes share
open_log.py             the only place where a URL and options become a `TableLog`
table_mapping.py        facts that follow from a table's metadata: the mapping of its splits, bound queries
write_plan.py           `WritePlan`: what a write of rows must know of its table
split_entry.py          `SplitEntry`: what the log says of a split
partition_predicate.py  `where` of the verbs that work on whole partitions
format_gate.py          whether a table's splits are of our format
arguments.py            arguments of callers, checked
progress.py             totals of a verb that moves rows, for a callback
read/                   verbs that ask a table something
changes/                which rows commits inserted and deleted
stream/                 new rows in the order of their commits, from an offset on
build/                  rows on their way into splits in the store
write/                  verbs that change a table
inspect/                figures of this process and of splits, as tables
maintain/               merges, purges, and what a table says of itself
distributed/            reads, writes and maintenance as tasks of other processes
"""

from indextables.table.table import Table
from indextables.table.write.result import Commit

__all__ = ["Commit", "Table"]
