"""Formats of files, and the endings that tell them."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Literal

Packing = Literal["gzip", "zstd", "bz2"]
"""How the bytes of a file are compressed."""


class Format(StrEnum):
    """What is in a file."""

    CSV = "csv"
    TSV = "tsv"
    JSON = "jsonl"
    PARQUET = "parquet"
    LOG = "log"


ENDINGS: Final = {
    ".csv": Format.CSV,
    ".tsv": Format.TSV,
    ".tab": Format.TSV,
    ".json": Format.JSON,
    ".jsonl": Format.JSON,
    ".ndjson": Format.JSON,
    ".parquet": Format.PARQUET,
    ".pq": Format.PARQUET,
    ".log": Format.LOG,
}
"""What a file holds, by the ending of its name."""

PACKED: Final[dict[str, Packing]] = {".gz": "gzip", ".gzip": "gzip", ".zst": "zstd", ".zstd": "zstd", ".bz2": "bz2"}
"""How a file is compressed, by the last ending of its name. Files that are read are known by their first bytes instead."""
