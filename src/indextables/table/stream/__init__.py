"""Streams: the files of a table in the order in which commits added them, from an offset on. Spark is not known here.

    StreamOptions ──▶ StreamPlanner ── initial, latest ──▶ Offset ──▶ JSON text of a checkpoint
                          │ files(start, end): the log's entries of the files between two offsets, always the same
                          └ request(start, end) ──▶ scan here, or tasks of other processes

    Table.follow ──▶ planner, and waiting between two looks ──▶ batches of new rows

The snapshot comes first, then one version after the other. A commit that only rearranges rows gives nothing.

stream_planner.py   `StreamPlanner`: where a stream begins, how far it may go, and which files lie between
streamed_table.py   the newest version of the table, and the files of the snapshot that comes first
stream_offset.py    `Offset`: a place in a stream, and its JSON
stream_options.py   `StreamOptions` and `Limits`, checked once
stream_files.py     files in an order that never changes, and how many of them a limit admits
version_window.py   version files on their way through the planner, each read once
stream_start.py     the first offset: by version, by time, or with a snapshot
stream_schema.py    whether a table whose metadata changed can still be streamed
follow_rows.py      rows of a stream as they come, for a loop and for an event loop
follow_methods.py   `Table.follow` and `Table.follow_async`
"""

from indextables.table.stream.stream_offset import Offset
from indextables.table.stream.stream_options import Limits, StreamOptions
from indextables.table.stream.stream_planner import Lag, StreamPlanner

__all__ = ["Lag", "Limits", "Offset", "StreamOptions", "StreamPlanner"]
