"""Tasks that run in the driver, as on a local master: this process reads them itself, and no worker of Python is started.

    DriverReader.java ── the place of a socket ──▶ send_rows ──▶ connects
                      ── function, task ─────────▶ ReadPartition.batches
                      ◀── an Arrow stream ──────────┘

Starting a worker takes seconds, and a worker that runs already takes 20 ms or more for each task before it reads. This process
has the table open, with the footers, indexes and rows that earlier questions left in memory.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping
from contextlib import closing
from io import IOBase
from typing import Any, BinaryIO, Final

import pyarrow as pa
from pyspark.serializers import CloudPickleSerializer

from indextables.core.errors import WorkCancelled
from indextables.core.runtime.cancellation import checked
from indextables.spark.connector.planning.worker import ReadPartition

_BUFFER: Final = 1 << 17
"""Bytes of small writes that go to Java together: headers of batches and short columns. Longer columns are not copied."""


def send_rows(asked: Mapping[str, Any]) -> list[bytes]:
    """Read one task, and send its batches to Java. Answers with the number of rows, by which Java knows that none is missing.

    Raises what reading raises, and WorkCancelled for a task that Spark ends early.
    """
    with closing(socket.socket(socket.AF_UNIX)) as line:
        read, task = _task(line, asked["place"])
        try:
            with closing(line.makefile("wb", _BUFFER)) as out:
                rows = _send(read, task, out)
        except (BrokenPipeError, ConnectionResetError) as error:
            raise WorkCancelled("the task was ended before all of its rows were read") from error
    return [str(rows).encode()]


def _task(line: socket.socket, place: str) -> tuple[ReadPartition, bytes]:
    """What Java wants to be read. The socket is in a directory of this user's alone, so what it says is Spark's."""
    try:
        line.connect(place)
        with closing(line.makefile("rb")) as said:
            function, task = _block(said), _block(said)
    except (OSError, struct.error) as error:
        raise WorkCancelled(f"the task was ended before it was read, or {place} cannot be reached: {error}") from error
    read, _ = CloudPickleSerializer().loads(function)
    return read, task


def _send(read: ReadPartition, task: bytes, out: IOBase) -> int:
    rows = 0
    with pa.ipc.new_stream(out, read.target) as stream:
        for batch in checked(read.batches(task)):
            stream.write_batch(batch)
            out.flush()
            rows += batch.num_rows
    return rows


def _block(said: BinaryIO) -> bytes:
    (length,) = struct.unpack(">i", said.read(4))
    return said.read(length)
