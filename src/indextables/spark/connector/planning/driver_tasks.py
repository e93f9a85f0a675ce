"""Tasks that run in the driver, as on a local master: this process reads them itself, and no worker of Python is started.

    DriverReader.java ── port, secret ──▶ send_rows ──▶ connects to 127.0.0.1, says the secret
                      ── function, task ─────────────▶ ReadPartition.batches
                      ◀── an Arrow stream ─────────────┘

Starting a worker takes seconds, and a worker that runs already takes 20 ms or more for each task before it reads. This process
has the table open, with the footers, indexes and rows that earlier questions left in memory.
"""

from __future__ import annotations

import socket
import struct
from base64 import b64decode
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
_PATIENCE_S: Final = 30
"""Seconds in which Java, which listens already, takes the connection and says the task."""


def send_rows(asked: Mapping[str, Any]) -> list[bytes]:
    """Read one task, and send its batches to Java. Answers with the number of rows, by which Java knows that none is missing.

    Raises what reading raises, and WorkCancelled for a task that Spark ends early.
    """
    with closing(socket.create_connection(("127.0.0.1", asked["port"]), _PATIENCE_S)) as line:
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        line.sendall(b64decode(asked["secret"]))
        with closing(line.makefile("rb")) as said:
            read, _ = CloudPickleSerializer().loads(_block(said))
            task = _block(said)
        line.settimeout(None)  # Spark takes batches when it wants them; when the task ends, Java closes the line
        try:
            with closing(line.makefile("wb", _BUFFER)) as out:
                rows = _send(read, task, out)
        except (BrokenPipeError, ConnectionResetError) as error:
            raise WorkCancelled("the task was ended before all of its rows were read") from error
    return [str(rows).encode()]


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
