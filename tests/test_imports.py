"""Importing the package and opening a table stays light."""

from __future__ import annotations

import datetime as dt
import shutil
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from indextables import AddAction, Table
from indextables.log.avro.schemas import FILE_ENTRY
from state.support import as_entries, avro_bytes, many_files

HEAVY = ("pyspark", "datafusion", "pandas", "tantivy", "vortex")
_OPEN = """
import indextables
table = indextables.Table.open({url!r})
assert table.files().num_rows == {files}
{more}
"""


def imported(code: str) -> set[str]:
    """The packages that Python imports while it runs, by its own account, and those that are there in the end."""
    code += "\nimport sys\nprint(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-X", "importtime", "-c", code], capture_output=True, text=True, check=True)
    lines = [line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.split(".")[0] for line in [*lines, *done.stdout.splitlines()]}


def a_table(where: Path, files: int) -> Path:
    table = Table.create(where, pa.schema([("id", pa.int64()), ("day", pa.string())]), partition_by=["day"])
    table.commit_files(adds=[AddAction(f"day=1/f{number}.split", {"day": "1"}, size=1) for number in range(files)])
    table.checkpoint()
    return where


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    schema = pa.schema([("day", pa.date32()), ("id", pa.int64()), ("level", pa.string()), ("message", pa.string())])
    schema = schema.append(pa.field("at", pa.timestamp("us", "UTC"))).append(pa.field("price", pa.decimal128(9, 2)))
    options = {"spark.indextables.indexing.typemap.message": "text"}
    where = tmp_path_factory.mktemp("rows") / "t"
    table = Table.create(where, schema, partition_by=["day"], options=options)
    for day in range(3):
        numbers = range(1_000 * day, 1_000 * day + 1_000)
        levels = ["ERROR" if number % 10 == 0 else "INFO" for number in numbers]
        messages = [f"disk {number} is full" for number in numbers]
        days = pa.array([dt.date(2026, 1, 1 + day)] * 1_000)
        moments = [dt.datetime(2026, 1, 1 + day, tzinfo=dt.UTC)] * 1_000
        prices = pa.array([Decimal(number) / 4 for number in numbers], pa.decimal128(9, 2))
        table.append(pa.table([days, list(numbers), levels, messages, moments, prices], schema))
    return where


def test_opening_and_listing_a_table_loads_nothing_heavy(tmp_path: Path) -> None:
    url = str(a_table(tmp_path / "t", 20_000))
    found = imported(_OPEN.format(url=url, files=20_000, more=""))
    assert "pyarrow" in found, "or this measures nothing"
    assert found.isdisjoint(HEAVY), found & set(HEAVY)


def test_a_filter_loads_nothing_heavy(tmp_path: Path) -> None:
    url = str(a_table(tmp_path / "t", 10))
    more = "assert table.files(\"day = '2'\").num_rows == 0"
    found = imported(_OPEN.format(url=url, files=10, more=more))
    assert found.isdisjoint(HEAVY), found & set(HEAVY)


@pytest.mark.parametrize(
    "question",
    [
        "assert table.search('disk 7', limit=3).num_rows == 3",
        "assert table.search('disk 7', limit=3, snippets=['message']).num_rows == 3",
        "assert table.count() == 3_000",
        "assert table.count(query='disk') == 3_000",
        "assert table.count(\"level = 'ERROR'\") == 300",
        "assert table.count(\"message INDEXQUERY 'disk' OR id > 2\") == 3_000",
        "assert table.scan(where='id = 7').read_all().num_rows == 1",
        "assert table.scan(where='id IN (7, 9, 2000)').read_all().num_rows == 3",
        "assert table.scan(where=\"day = DATE '2026-01-02'\", columns=['id']).read_all().num_rows == 1_000",
        "assert table.scan(where=\"at >= TIMESTAMP '2026-01-03 00:00:00Z'\").read_all().num_rows == 1_000",
        "assert table.scan(where='price > 500 AND price < 500.5').read_all().num_rows == 1",
        "assert table.scan(query='disk').read_all().num_rows == 3_000",
        "assert table.scan(limit=3).read_all().num_rows == 3",
        "assert table.aggregate(by=['level']).num_rows == 2",
        "assert table.aggregate(metrics={'s': 'sum(id)', 'a': 'avg(id)'}).num_rows == 1",
        "assert table.aggregate(by=['day'], metrics={'s': 'sum(price)', 'm': 'max(at)', 'd': 'distinct(level)'}).num_rows == 3",
        "assert table.changes(0).adds.num_rows == 3",
        "assert table.refresh().version == 3",
        "assert table.history().num_rows == 4",
    ],
)
def test_no_question_loads_pandas(rows: Path, question: str) -> None:
    """Where pandas is installed, pyarrow loads it for some ways to make an array: a third of the time of a first answer."""
    found = imported(f"from indextables import Table\ntable = Table.open({str(rows)!r})\n{question}")
    assert "pandas" not in found
    assert "pyarrow" in found, "or this measures nothing"


@pytest.mark.parametrize(
    "verb",
    [
        "assert table.checkpoint().written",
        "assert table.restore(version=1).files_removed == 2",
        "assert table.purge().status == 'no_action'",
        "assert table.fsck().num_rows == 0",
        "assert table.describe().num_rows",
        "assert table.state().num_rows",
        "assert table.skips().num_rows == 0",
        "assert table.truncate_time_travel().status",
        "assert table.component_sizes().num_rows",
        "assert table.log_actions().num_rows",
        "assert table.files().num_rows == 3",
    ],
)
def test_commits_and_states_load_no_pandas(rows: Path, tmp_path: Path, verb: str) -> None:
    shutil.copytree(rows, tmp_path / "copy")
    found = imported(f"from indextables import Table\ntable = Table.open({str(tmp_path / 'copy')!r})\n{verb}")
    assert "pandas" not in found
    assert "pyarrow" in found, "or this measures nothing"


def test_a_count_by_the_index_loads_no_vortex(rows: Path) -> None:
    found = imported(f"from indextables import Table\nassert Table.open({str(rows)!r}).count(query='disk') == 3_000")
    assert "tantivy" in found, "or this measures nothing"
    assert "vortex" not in found


def test_datafusion_is_loaded_for_manifests_of_others_only(tmp_path: Path) -> None:
    manifest = tmp_path / "manifest.avro"
    manifest.write_bytes(avro_bytes(FILE_ENTRY, as_entries(many_files(2_000))))
    found = imported(f"""
import pathlib
from indextables.log.avro.manifest import read_manifest
assert read_manifest("m", pathlib.Path({str(manifest)!r}).read_bytes()).num_rows == 2_000
""")
    assert "datafusion" in found
    assert "pyspark" not in found
