"""`indextables export`: files that `import` reads back with the same values, all of them or none."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cli.support import log_rows, ok, rows_of, run, write_csv
from cli.test_stop import stopped_at
from indextables import Table
from indextables.cli.errors import FAILED, NOT_FOUND, OK, TERMINATED, USAGE
from indextables.cli.export import export as export_module
from indextables.core.schema_text import schema_text

FORMATS = ("csv", "tsv", "jsonl", "parquet", "csv.gz", "csv.zst", "jsonl.bz2", "jsonl.zst", "tsv.bz2")


@pytest.mark.parametrize("ending", FORMATS)
def test_round_trip_of_a_log(logs: Path, tmp_path: Path, t: str, ending: str) -> None:
    file = tmp_path / f"logs.{ending}"
    told = ok("export", logs, file, "--json").json
    assert (told["rows"], told["files"], told["version"], told["file"]) == (500, 1, 2, str(file))
    assert told["bytes"] == file.stat().st_size
    assert [path.name for path in tmp_path.iterdir()] == [file.name]
    ok("import", t, file)  # types are guessed again
    assert rows_of(t) == rows_of(str(logs))
    assert Table.open(t).schema.types == Table.open(logs).schema.types


def test_which_rows(logs: Path, tmp_path: Path) -> None:
    arguments = ("--where", "ms > 500", "--query", "timeout", "--columns", "ms,host", "--limit", 7)
    told = ok("export", logs, tmp_path / "few.jsonl", *arguments, "--json").json
    rows = [json.loads(line) for line in (tmp_path / "few.jsonl").read_text().splitlines()]
    assert told["rows"] == len(rows) == 7
    assert told["schema"] == "ms long, host string"
    assert all(list(row) == ["ms", "host"] and row["ms"] > 500 for row in rows)
    assert ok("export", logs, tmp_path / "old.csv", "--version", 1, "--json").json["rows"] == 400
    nothing = ok("export", logs, tmp_path / "none.csv", "--where", "ms < 0", "--columns", "ms", "--json").json
    assert (nothing["rows"], (tmp_path / "none.csv").read_text()) == (0, "ms\n")
    assert ok("export", logs, tmp_path / "a.csv", "-o", "table").out.startswith(
        f"500 rows of {logs}, version 2, exported to"
    )


def test_a_directory_of_files(logs: Path, tmp_path: Path, t: str) -> None:
    told = ok("export", logs, f"{tmp_path}/parts/", "--rows-per-file", 180, "--json").json
    assert told["files"] == 3
    files = sorted((tmp_path / "parts").iterdir())
    assert [file.name for file in files] == [f"part-0000{number}.parquet" for number in range(3)]
    assert [pq.read_metadata(file).num_rows for file in files] == [180, 180, 140]
    ok("import", t, tmp_path / "parts" / "*.parquet")
    assert rows_of(t) == rows_of(str(logs))
    (tmp_path / "empty").mkdir()
    assert ok("export", logs, tmp_path / "empty", "--format", "csv", "--limit", 0, "--json").json["files"] == 1
    again = run("export", logs, tmp_path / "empty")
    assert (again.code, "is not empty" in again.err) == (USAGE, True)


def test_what_cannot_be_exported(logs: Path, tmp_path: Path) -> None:
    (tmp_path / "there.csv").write_text("mine")
    for arguments, code, message in (
        ((logs, tmp_path / "there.csv"), USAGE, "there.csv exists: give another name, or --replace"),
        ((logs, tmp_path / "no" / "a.csv"), USAGE, f"there is no directory {tmp_path}/no"),
        ((logs, tmp_path / "a.xyz"), USAGE, "a.xyz has no ending that tells a format"),
        ((logs, tmp_path / "a.log"), USAGE, "a.log has no ending that tells a format"),
        ((logs, tmp_path / "a.parquet.gz"), USAGE, "Parquet is packed inside, leave .gz out"),
        ((logs, "s3://bucket/a.csv"), USAGE, "is no local file: export to one, and copy it there"),
        ((logs, tmp_path / "a.jsonl", "--null", "NA"), USAGE, "--delimiter and --null are for CSV"),
        ((logs, tmp_path / "a.csv", "-d", "ab"), USAGE, "must be one ASCII character"),
        ((logs, tmp_path / "a.csv", "--null", "a\nb"), USAGE, "must have no quotes and no line breaks"),
        ((logs, tmp_path / "a.csv", "--columns", "nope"), USAGE, "no column nope"),
        ((tmp_path / "nowhere", tmp_path / "a.csv"), NOT_FOUND, "there is no table"),
    ):
        result = run("export", *arguments)
        assert (result.code, message in result.err, result.err.count("\n")) == (code, True, 1), result
    assert [path.name for path in tmp_path.iterdir()] == ["there.csv"]
    assert (tmp_path / "there.csv").read_text() == "mine"
    ok("export", logs, tmp_path / "there.csv", "--replace", "--limit", 1)
    assert (tmp_path / "there.csv").read_text().startswith("ts,day")


def test_nulls_of_a_single_column(t: str, tmp_path: Path) -> None:
    Table.create(t, "a string").append(pa.table({"a": ["x", None, "", "NA", " "]}))
    refused = run("export", t, tmp_path / "a.csv")
    assert (refused.code, "blank lines are no rows: give --null NA" in refused.err) == (USAGE, True)
    assert not list(tmp_path.iterdir())
    ok("export", t, tmp_path / "a.csv", "--null", "NA")
    assert (tmp_path / "a.csv").read_text() == 'a\nx\nNA\n""\n"NA"\n" "\n'
    ok("import", f"{t}2", tmp_path / "a.csv", "--null", "NA")
    assert rows_of(f"{t}2") == rows_of(t)


def test_an_export_that_is_stopped_leaves_nothing(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blocks_of: Callable[[int], None]
) -> None:
    blocks_of(100 << 6)
    for name in ("a.csv", "a.parquet", "parts/"):
        for place in range(1, 30):
            result = stopped_at(place, monkeypatch, "export", logs, f"{tmp_path}/{name}")
            if result.code == OK:
                break
            assert (result.code, result.err) == (TERMINATED, "error: terminated: nothing was exported\n")
            assert not [path for path in tmp_path.iterdir() if name.strip("/") in path.name], place
        assert 3 < place < 29


def test_a_full_disk_is_an_error_and_leaves_nothing(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(export_module, "_written", full)
    result = run("export", logs, tmp_path / "a.csv")
    assert (result.code, "No space left" in result.err) == (FAILED, True), result
    assert not list(tmp_path.iterdir())


# Any values of any type.

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8) | st.sampled_from(
    ["", " ", '"', ",", "\n", "\r\n", "\t", "NA", "null", "007", "1e5", "true", "é\u2028"]
)
MOMENTS = st.datetimes(dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30))  # noqa: DTZ001 - Hypothesis wants them so
SCALARS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "boolean": (pa.bool_(), st.booleans()),
    "byte": (pa.int8(), st.integers(-128, 127)),
    "int": (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    "long": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "float": (pa.float32(), st.floats(width=32)),
    "double": (pa.float64(), st.floats()),
    "decimal": (pa.decimal128(20, 4), st.decimals(-(10**15), 10**15, places=4)),
    "string": (pa.string(), TEXTS),
    "binary": (pa.binary(), st.binary(max_size=6)),
    "date": (pa.date32(), st.dates()),
    "timestamp": (pa.timestamp("us", "UTC"), MOMENTS.map(lambda moment: moment.replace(tzinfo=dt.UTC))),
    "timestamp_ntz": (pa.timestamp("us"), MOMENTS),
}


def nested(inner: tuple[pa.DataType, st.SearchStrategy[Any]]) -> list[tuple[pa.DataType, st.SearchStrategy[Any]]]:
    arrow, values = inner
    optional = st.none() | values
    return [
        (pa.list_(pa.field("element", arrow)), st.lists(optional, max_size=3)),
        (
            pa.struct([("a", arrow), ("b c", pa.string())]),
            st.fixed_dictionaries({"a": optional, "b c": st.none() | TEXTS}),
        ),
        (pa.map_(pa.string(), arrow), st.dictionaries(TEXTS, optional, max_size=3).map(lambda d: list(d.items()))),
        (
            pa.map_(pa.int64(), arrow),
            st.dictionaries(st.integers(-9, 9), optional, max_size=3).map(lambda d: list(d.items())),
        ),
    ]


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    fields, columns = [], []
    count = draw(st.integers(1, 4))
    for number in range(draw(st.integers(2, 4))):
        kind = SCALARS[draw(st.sampled_from(sorted(SCALARS)))]
        for _ in range(draw(st.sampled_from([0, 0, 1, 2]))):
            kind = draw(st.sampled_from(nested(kind)))
        fields.append(pa.field(f"c{number} x" if number == 1 else f"c{number}", kind[0]))
        columns.append(draw(st.lists(st.none() | kind[1], min_size=count, max_size=count)))
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, fields, strict=True)], pa.schema(fields)
    )


def same(value: Any) -> Any:
    """A value that is equal to itself, NaN included, and tells 0.0 from -0.0."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else (value, math.copysign(1, value))
    if isinstance(value, list | tuple):
        return [same(item) for item in value]
    if isinstance(value, dict):
        return {key: same(item) for key, item in value.items()}
    return value


@pytest.mark.parametrize("ending", ["csv", "tsv.zst", "jsonl", "jsonl.gz", "parquet"])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=tables())
def test_any_values_come_back(tmp_path: Path, ending: str, rows: pa.Table) -> None:
    place = tmp_path / uuid4().hex
    place.mkdir()
    first, second = (f"memory://{uuid4().hex}/t" for _ in range(2))
    Table.create(first, rows.schema).append(rows)
    told = ok("export", first, place / f"a.{ending}", "--json").json
    assert told["schema"] == schema_text(Table.open(first).schema)
    ok("import", second, place / f"a.{ending}", "--schema", told["schema"])
    assert Table.open(second).schema.types == Table.open(first).schema.types
    assert same(rows_of(second)) == same(rows_of(first))


def test_progress_on_a_terminal_and_lines_elsewhere(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from indextables.cli.render import progress

    shown = run("export", logs, tmp_path / "a.csv", terminal=True)
    assert "exporting" in shown.err
    assert run("export", logs, tmp_path / "b.csv").err == ""
    monkeypatch.setattr(progress, "_LINE_EVERY", 0.0)
    lines = run("export", logs, tmp_path / "c.csv").err.splitlines()
    assert lines[-1] == "exporting: 500 of 500 rows, 100%"
    assert run("export", logs, tmp_path / "d.csv", "--json").err == "", "JSON has no lines for people"
    path = write_csv(tmp_path / "more.csv", log_rows(50))
    assert "importing: " in run("import", tmp_path / "t", path).err
