"""The writer of the data source: `df.write.format("indextables").mode("append").save(url)`.

Spark runs its methods in three kinds of processes, and pickles the writer on its way from one to the next:

    __init__        a planner process beside the driver: opens the table, checks what can be checked
    write           Python workers of the executors, once for each task, and again for a retry or a speculative twin
    commit, abort   another process beside the driver, which knows only the writer and the messages of the tasks

`commit` is called once, with one message of each task, and makes one version of them. `abort` is called after a task failed, and
also after `commit` itself raised, by then in a process that cannot know how far that came. What tells the two apart is the
messages: before the commit at least one is missing, because a task failed, and `commit` refuses to begin with one missing. Only
then may `abort` delete. A commit that fails for certain takes its files back itself; one whose outcome is unknown leaves them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from indextables.core import options as opt
from indextables.core.errors import CommitError, OptionError
from indextables.spark.errors import one_line
from indextables.spark.maintenance.merge_on_write import after_source_write
from indextables.spark.reading.month_intervals import refuse_month_intervals
from indextables.spark.writing.write_options import WriteRequest, parse_request
from indextables.table.distributed.write_job import Built, WriteJob


@dataclass
class TaskMessage(WriterCommitMessage):
    """What one task built."""

    built: Built


class BatchWriter(DataSourceArrowWriter):
    """Writes one DataFrame. Created in the planner process, pickled to the tasks and to the committing process."""

    ignores = False
    """Whether a table that somebody else made meanwhile is no error: the mode `ignore`."""
    lives_on = False
    """Whether the process that commits lives on, as the driver does where the connector commits: only there may purges follow."""

    def __init__(
        self,
        schema: StructType,
        options: Mapping[str, Any],
        overwrite: bool,
        begin: Callable[[WriteRequest, str], WriteJob] = WriteRequest.begin,
    ) -> None:
        with one_line():
            request = parse_request(options, overwrite=overwrite)
            refuse_month_intervals(schema)
            if request.options[opt.WRITE_OPTIMIZE_WRITE_ENABLED]:
                raise OptionError(
                    f"{opt.WRITE_OPTIMIZE_WRITE_ENABLED.key} moves rows between tasks, which Spark does not let a Python source "
                    "do: write with indextables.spark.write(df, url), or what indextables.spark.optimize(df, columns) returns"
                )
            self.job: WriteJob = begin(request, schema.json())

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskMessage:
        """Turn the rows of one task into splits."""
        with one_line():
            return TaskMessage(self.job.build(iterator))

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Make one version of what the tasks built."""
        built = _built(messages)
        with one_line():
            if built and len(built) < len(messages):
                self.job.discard(built)
                raise CommitError(
                    f"table {self.job.log.url}: {len(messages) - len(built)} of {len(messages)} tasks did not say what they "
                    "wrote, so nothing is committed; write again"
                )
            done = self.job.commit(built, lives_on=self.lives_on)
        after_source_write(self.job, done, lives_on=self.lives_on)

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Take back what the tasks built, if it is certain that no commit began."""
        built = _built(messages)
        if len(built) < len(messages):
            self.job.discard(built)


def _built(messages: Sequence[WriterCommitMessage | None]) -> list[Built]:
    return [message.built for message in messages if isinstance(message, TaskMessage)]
