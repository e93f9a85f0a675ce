"""Formats of files, and the endings that tell them."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Format(StrEnum):
    """What is in a file."""

    CSV = "csv"
    TSV = "tsv"
    JSON = "jsonl"
    PARQUET = "parquet"


ENDINGS: Final = {
    ".csv": Format.CSV,
    ".tsv": Format.TSV,
    ".tab": Format.TSV,
    ".json": Format.JSON,
    ".jsonl": Format.JSON,
    ".ndjson": Format.JSON,
    ".parquet": Format.PARQUET,
    ".pq": Format.PARQUET,
}
