"""Which reader a manifest is read by."""

from __future__ import annotations

import pytest

from indextables.log.avro.reader_choice import FEW_ENTRIES, SMALL_MANIFEST, Reader, choose_reader


@pytest.mark.parametrize(
    ("entries", "by_length", "datafusion", "reader"),
    [
        (1, True, True, Reader.ONE_BY_ONE),
        (FEW_ENTRIES, True, True, Reader.ONE_BY_ONE),
        (FEW_ENTRIES + 1, True, True, Reader.COLUMNS),
        (FEW_ENTRIES + 1, True, False, Reader.COLUMNS),
        (1_000_000, True, True, Reader.COLUMNS),
        (FEW_ENTRIES + 1, False, True, Reader.ONE_BY_ONE),
        (SMALL_MANIFEST, False, True, Reader.ONE_BY_ONE),
        (SMALL_MANIFEST + 1, False, True, Reader.DATAFUSION),
        (1_000_000, False, False, Reader.ONE_BY_ONE),
    ],
)
def test_the_reader_of_a_manifest(entries: int, by_length: bool, datafusion: bool, reader: Reader) -> None:
    assert choose_reader(entries, by_length=by_length, datafusion=datafusion) is reader
