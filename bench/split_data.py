"""Log rows to write: generated once, the same for everybody, and the questions that are asked about them.

Rows come in the order of time, ten days of as many rows each, and are numbered in that order. So bounds tell which file holds
an id, for all subjects alike. A message has the words of a log line: a phrase of its service, some words out of a large
vocabulary of which few are common, a path, and the id of a request that several lines share.

They lie on disk as Arrow streams, a file a day, and are read batch by batch: what a writer holds in memory is its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

DAYS = 10
BATCHES_A_DAY = 10
PARTITION = "day"
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("ts", pa.timestamp("us", "UTC")),
        ("level", pa.string()),
        ("service", pa.string()),
        ("host", pa.string()),
        ("status", pa.int32()),
        ("latency", pa.float64()),
        ("message", pa.string()),
        (PARTITION, pa.string()),
    ]
)
_FIRST_DAY = datetime(2026, 3, 1, tzinfo=UTC)
_DAY_US = 86_400_000_000
_SEED = 5
_VOCABULARY = 50_000
_MOST_WORDS = 9
_LINES_A_REQUEST = 8
_LEVELS = ["INFO", "DEBUG", "WARN", "ERROR", "FATAL"]
_STATUS = np.array([200, 204, 301, 400, 404, 429, 500, 503], np.int32)
_PHRASES = [
    "request completed",
    "connection refused by upstream",
    "connection timed out after retry",
    "cache miss for key",
    "cache entry evicted",
    "query finished",
    "query cancelled by user",
    "payment authorised",
    "payment declined by issuer",
    "user logged in",
    "user session expired",
    "token refreshed",
    "permission denied for resource",
    "disk usage above threshold on volume",
    "heartbeat received from node",
    "leader election started",
    "job scheduled",
    "job failed with exception",
    "message published to topic",
    "consumer lag is growing on partition",
]
_SYLLABLES = ["ka", "lo", "mi", "ter", "ron", "sel", "va", "du", "pex", "ni", "or", "stra", "qu", "bel", "ti", "gan"]


def day_name(number: int) -> str:
    return (_FIRST_DAY + timedelta(days=number)).date().isoformat()


def generate(folder: Path, rows: int) -> None:
    """Write `rows` rows, a file a day."""
    folder.mkdir(parents=True)
    random = np.random.default_rng(_SEED)
    words = Words(random)
    a_day = rows // DAYS
    for day in range(DAYS):
        table = _rows_of(day, a_day, words, random)
        with pa.ipc.new_stream(folder / f"{day_name(day)}.arrows", SCHEMA) as out:
            out.write_table(table, max_chunksize=a_day // BATCHES_A_DAY)


class Words:
    """What messages are made of. A word's rank decides how often it occurs."""

    def __init__(self, random: Any) -> None:
        syllables = np.array(_SYLLABLES)
        self.vocabulary = pa.array(_distinct(random, syllables))
        self._phrases = pa.array(_PHRASES)
        chances = 1 / np.arange(1, _VOCABULARY + 1) ** 1.05
        self._steps = np.cumsum(chances / chances.sum())

    def ranks(self, random: Any, count: int) -> Any:
        """Places in the vocabulary of some words, frequent ones more often."""
        return np.searchsorted(self._steps, random.random(count)).clip(max=_VOCABULARY - 1)

    def some(self, random: Any, rows: int) -> Any:
        return self.vocabulary.take(pa.array(self.ranks(random, rows)))

    def messages(self, random: Any, first: int, rows: int) -> Any:
        phrases = self._phrases.take(pa.array(random.integers(0, len(_PHRASES), rows)))
        lengths = random.integers(2, _MOST_WORDS + 1, rows)
        words = [
            pc.if_else(pa.array(lengths > place), self.some(random, rows), pa.scalar(None, pa.string()))
            for place in range(_MOST_WORDS)
        ]
        path = pc.binary_join_element_wise("path=/api", self.some(random, rows), self.some(random, rows), "/")
        near = (first + np.arange(rows) + random.integers(0, 64, rows)) // _LINES_A_REQUEST
        request = pa.array([f"request={number * 0x9E3779B97F4A7C15 % 2**64:016x}" for number in near.tolist()])
        spent = pc.binary_join_element_wise(
            "took", pa.array(random.integers(1, 5_000, rows)).cast(pa.string()), "ms", " "
        )
        return pc.binary_join_element_wise(phrases, *words, path, request, spent, " ", null_handling="skip")


def _distinct(random: Any, syllables: Any) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < _VOCABULARY:
        parts = random.integers(0, len(syllables), random.integers(2, 6))
        found["".join(syllables[parts])] = None
    return list(found)


def _rows_of(day: int, rows: int, words: Words, random: Any) -> pa.Table:
    midnight = int((_FIRST_DAY + timedelta(days=day)).timestamp()) * 1_000_000
    moments = midnight + np.sort(random.integers(0, _DAY_US, rows))
    levels = random.choice(len(_LEVELS), rows, p=[0.7, 0.18, 0.08, 0.035, 0.005])
    services = pa.array([f"{kind}-{number}" for kind in ("api", "auth", "billing", "search") for number in range(10)])
    hosts = pa.array([f"ip-10-{number // 256}-{number % 256}.eu-west.internal" for number in range(500)])
    columns = [
        pa.array(np.arange(day * rows, (day + 1) * rows)),
        pa.array(moments).cast(pa.timestamp("us", "UTC")),
        pa.array(_LEVELS).take(pa.array(levels)),
        services.take(pa.array(random.zipf(1.3, rows) % len(services))),
        hosts.take(pa.array(random.integers(0, len(hosts), rows))),
        pa.array(_STATUS[random.choice(len(_STATUS), rows, p=[0.8, 0.05, 0.03, 0.03, 0.04, 0.02, 0.02, 0.01])]),
        pa.array(np.round(random.lognormal(3, 1.2, rows), 3)),
        words.messages(random, day * rows, rows),
        pa.repeat(day_name(day), rows),
    ]
    return pa.table(columns, schema=SCHEMA)


def read(folder: Path) -> pa.RecordBatchReader:
    """All rows, as a stream."""
    return pa.RecordBatchReader.from_batches(SCHEMA, batches(folder))


def batches(folder: Path) -> Iterator[pa.RecordBatch]:
    for path in sorted(folder.glob("*.arrows")):
        yield from of_day(path)


def of_day(path: Path) -> Iterator[pa.RecordBatch]:
    with pa.OSFile(str(path)) as source, pa.ipc.open_stream(source) as stream:
        yield from stream


@dataclass(frozen=True)
class Question:
    """Which rows and columns are wanted: all, a day, some ids, or a span of time in microseconds."""

    columns: tuple[str, ...] = tuple(SCHEMA.names)
    day: str | None = None
    ids: tuple[int, ...] = ()
    span: tuple[int, int] | None = None


FULL = Question()
TWO_COLUMNS = Question(("service", "latency"))
ONE_DAY = Question(day=day_name(DAYS // 2))


def points(seed: int, count: int, rows: int) -> list[Question]:
    """Single rows by their id."""
    found = np.random.default_rng([_SEED, seed]).integers(0, rows, count)
    return [Question(ids=(number,)) for number in found.tolist()]


def spans(seed: int, count: int, share: float) -> list[Question]:
    """Spans of time that hold about this share of all rows."""
    length = int(DAYS * _DAY_US * share)
    first = int(_FIRST_DAY.timestamp()) * 1_000_000
    starts = first + np.random.default_rng([_SEED, seed]).integers(0, DAYS * _DAY_US - length, count)
    return [Question(span=(start, start + length)) for start in starts.tolist()]


def sets(seed: int, count: int, rows: int, size: int = 100) -> list[Question]:
    """Rows from anywhere in the table, by a list of ids."""
    random = np.random.default_rng([_SEED, seed])
    return [Question(ids=tuple(random.choice(rows, size, replace=False).tolist())) for _ in range(count)]
