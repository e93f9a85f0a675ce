"""Statements that ask about one table: its state, log, history, partitions and the parts of its splits."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from indextables.log.history import HISTORY_SCHEMA
from indextables.sql.answer import PAIRS, TEXT, WHOLE, Executor, Setting, columns
from indextables.sql.commands import (
    DescribeComponentSizes,
    DescribeHistory,
    DescribeLog,
    DescribePartitions,
    DescribeState,
)
from indextables.table.inspect.log_actions import LOG_ACTIONS_SCHEMA

STATE: Final = columns(property=TEXT, value=TEXT)
COMPONENT_SIZES: Final = columns(
    split_path=TEXT,
    partition_values=PAIRS,
    component_key=TEXT,
    size_bytes=WHOLE,
    component_type=TEXT,
    field_name=TEXT,
)


def describe_state(command: DescribeState, at: Setting) -> pa.Table:
    """The state that a table was opened from."""
    return at.tables(command.table).state()


def describe_log(command: DescribeLog, at: Setting) -> pa.Table:
    """The actions of the log."""
    return at.tables(command.table).log_actions(include_all=command.include_all)


def describe_history(command: DescribeHistory, at: Setting) -> pa.Table:
    """Commits, newest first."""
    return at.tables(command.table).history(command.limit)


def describe_partitions(command: DescribePartitions, at: Setting) -> pa.Table:
    """The partitions, in columns that are named like the partition columns, with rows and bytes."""
    return at.tables(command.table).partitions()


def describe_component_sizes(command: DescribeComponentSizes, at: Setting) -> pa.Table:
    """The bytes of every part of every split."""
    return at.tables(command.table).component_sizes(command.where)


EXECUTORS: Final[dict[type, Executor]] = {
    DescribeState: Executor(STATE, describe_state),
    DescribeLog: Executor(LOG_ACTIONS_SCHEMA, describe_log),
    DescribeHistory: Executor(HISTORY_SCHEMA, describe_history),
    DescribePartitions: Executor(None, describe_partitions),
    DescribeComponentSizes: Executor(COMPONENT_SIZES, describe_component_sizes),
}
