"""`indextables import`: what files hold comes out again, or nothing at all goes in."""

from __future__ import annotations

import base64
import gzip
import json
import os
import threading
import time
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli.support import HEADER, indexes_of, log_rows, ok, rows_of, types_of, write_csv, write_jsonl
from indextables import Table
from indextables.cli.load import csv_file

# What is guessed.


def test_types_of_csv(t: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(
        "id,big,huge,x,day,at,clock,zip,ok,mixed,nano,long,nothing,sign,far\n"
        "1,9223372036854775807,99999999999999999999,1.5,2026-01-31,2026-01-31T10:00:00Z,2026-01-31 10:00,01234,true,1,"
        "2026-01-31T10:00:00.123456789Z,0.12345678901234567890,,+5,1e400\n"
        "-2,-9223372036854775808,-1,2e3,1999-12-31,2026-01-31T10:00:00.5+02:00,2026-01-31T10:00:01.25,5,false,x,"
        "2026-01-31T10:00:00Z,1,,6,1\n"
    )
    ok("import", t, path)
    assert types_of(t) == {
        "id": "long",
        "big": "long",
        "huge": "decimal(38,0)",
        "x": "double",
        "day": "date",
        "at": "timestamp",
        "clock": "timestamp_ntz",
        "zip": "string",
        "ok": "boolean",
        "mixed": "string",
        "nano": "string",
        "long": "string",
        "nothing": "string",
        "sign": "string",
        "far": "string",
    }
    first, second = rows_of(t)
    assert first["big"] == 2**63 - 1
    assert second["big"] == -(2**63)
    assert first["huge"] == Decimal(99999999999999999999)
    assert (first["day"], second["x"]) == (date(2026, 1, 31), 2000.0)
    assert second["at"] == datetime(2026, 1, 31, 8, 0, 0, 500_000, tzinfo=UTC)
    assert first["clock"] == datetime(2026, 1, 31, 10)  # noqa: DTZ001 - a clock without a zone
    assert [row["zip"] for row in (first, second)] == ["01234", "5"]
    assert first["nano"] == "2026-01-31T10:00:00.123456789Z"
    assert (first["nothing"], first["far"]) == (None, "1e400")


def test_types_of_json(t: str, tmp_path: Path) -> None:
    lines = [
        {
            "id": 1,
            "big": 2**63,
            "x": 1,
            "at": "2026-01-31T10:00:00Z",
            "ok": True,
            "tags": ["a"],
            "user": {"name": "ann"},
        },
        {"id": None, "big": 1, "x": 2.5, "at": None, "tags": [], "user": {"age": 7}, "empty": {}, "text": "3"},
        {"deep": [{"a": [1]}, {"b": "2026-01-31"}], "nothing": None, "huge": 10**40},
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, lines)))
    ok("import", t, tmp_path / "a.jsonl")
    assert types_of(t) == {
        "id": "long",
        "big": "decimal(38,0)",
        "x": "double",
        "at": "timestamp",
        "ok": "boolean",
        "tags": "array<string>",
        "user": "struct<name:string,age:long>",
        "empty": "string",
        "text": "string",
        "deep": "array<struct<a:array<long>,b:date>>",
        "nothing": "string",
        "huge": "string",
    }
    one, two, three = rows_of(t)
    assert (one["big"], one["x"], one["user"]) == (Decimal(2**63), 1.0, {"name": "ann", "age": None})
    assert (two["tags"], two["empty"], two["text"], two["ok"]) == ([], "{}", "3", None)
    assert three["deep"] == [{"a": [1], "b": None}, {"a": None, "b": date(2026, 1, 31)}]
    assert (three["huge"], three["tags"]) == (str(10**40), None)


def test_texts_that_people_wrote_are_indexed_by_words(t: str, tmp_path: Path) -> None:
    ok("import", t, write_csv(tmp_path / "a.csv", log_rows(20)))
    assert indexes_of(t) == {
        **dict.fromkeys(("ts", "day", "status", "ms"), "values"),
        "level": "exact",
        "host": "exact",
        "message": "words",
    }


def test_the_guess_looks_at_every_row(t: str, tmp_path: Path, blocks_of: Callable[[int], None]) -> None:
    blocks_of(4096)
    path = tmp_path / "a.csv"
    path.write_text("a,b\n" + "1,2\n" * 5000 + "x,2.5\n")
    ok("import", t, path)
    assert types_of(t) == {"a": "string", "b": "double"}
    rows = rows_of(t)
    assert len(rows) == 5001
    assert rows[-1] == {"a": "x", "b": 2.5}


def test_the_guessed_schema_is_shown_and_can_be_typed_back(t: str, tmp_path: Path) -> None:
    path = write_csv(tmp_path / "a.csv", [["1", "a b c", "x"]], ["id", "some words", "third"])
    shown = ok("import", t, path).err.splitlines()
    assert shown[0] == f"{t} is new, with this schema:"
    typed = ", ".join(line.strip() for line in shown[1:])
    assert typed.split() == ["id", "long,", "`some", "words`", "text,", "third", "string"]
    ok("import", t + "-again", path, "--schema", typed)
    assert types_of(t + "-again") == types_of(t)
    assert indexes_of(t + "-again") == indexes_of(t)


# What goes in.


@pytest.mark.parametrize(
    ("kind", "packed", "way"),
    [
        ("csv", False, "file"),
        ("csv", True, "stdin"),
        ("jsonl", True, "file"),
        ("jsonl", False, "stdin"),
        ("parquet", False, "file"),
        ("parquet", True, "file"),
        ("parquet", False, "stdin"),
    ],
)
def test_formats(t: str, tmp_path: Path, kind: str, packed: bool, way: str) -> None:
    rows = log_rows(30)
    path = tmp_path / f"a.{kind}"
    if kind == "csv":
        write_csv(path, rows)
    elif kind == "jsonl":
        write_jsonl(path, rows)
    else:
        pq.write_table(pa.table({name: [row[n] for row in rows] for n, name in enumerate(HEADER)}), path)
    if packed:
        packed_path = path.with_suffix(path.suffix + ".gz")
        packed_path.write_bytes(gzip.compress(path.read_bytes()))
        path = packed_path
    for _ in range(2):  # the second time the table exists
        if way == "file":
            result = ok("import", t, path, "--json")
        else:
            result = ok("import", t, "-", "--format", kind, "--json", stdin=path.read_bytes())
        assert result.json["rows"] == 30
        assert not result.err
    found = rows_of(t)
    assert [row["message"] for row in found] == [row[-1] for row in rows] * 2
    assert ok("count", t, "-q", "timeout").out == "12\n"


def test_several_files_and_patterns(t: str, tmp_path: Path) -> None:
    write_csv(tmp_path / "a1.csv", [["1", "x"]], ["id", "name"])
    write_csv(tmp_path / "a2.csv", [["y", "2.5"]], ["name", "id"])
    write_csv(tmp_path / "a[3].csv", [["3", "z", "new"]], ["id", "name", "more"])
    ok("import", t, tmp_path / "a?.csv", tmp_path / "a[3].csv")
    assert rows_of(t) == [
        {"id": 1.0, "name": "x", "more": None},
        {"id": 2.5, "name": "y", "more": None},
        {"id": 3.0, "name": "z", "more": "new"},
    ]


def test_a_pipe_with_a_name(t: str, tmp_path: Path) -> None:
    """As shells make them for <(...): it is read once, and waited for."""
    os.mkfifo(tmp_path / "pipe")

    def write() -> None:
        with (tmp_path / "pipe").open("w") as file:
            file.write("a,b\n1,x\n")
            file.flush()
            time.sleep(0.2)
            file.write("2,y\n")

    for count in (2, 4):  # the second time the table exists
        writer = threading.Thread(target=write)
        writer.start()
        ok("import", t, tmp_path / "pipe", "--format", "csv")
        writer.join()
        assert len(rows_of(t)) == count


def test_cells_of_csv(t: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(
        b'\xef\xbb\xbfid,"a ""b"", c"\r\n1,"two\r\nlines, and a comma"\r\n\r\n2,""\r\n3,\r\n4,NA\r\n5,"'
        + "é€🎈".encode()
        + b'"'
    )
    ok("import", t, tmp_path / "a.csv")
    texts = [row['a "b", c'] for row in rows_of(t)]
    assert texts == ["two\r\nlines, and a comma", "", None, "NA", "é€🎈"]
    ok("import", t + "-n", tmp_path / "a.csv", "--null", "NA")
    assert [row['a "b", c'] for row in rows_of(t + "-n")][3] is None


def test_blank_lines_are_no_rows_whatever_the_columns(t: str, tmp_path: Path) -> None:
    for name, content, expected in (
        ("one", 'a\n\n1\n\n\r\n2\n-\n""\n\n', ["1", "2", None, ""]),
        ("two", "a,b\n\n1,x\n\n\r\n2,\n\n", [1, 2]),
    ):
        (tmp_path / "a.csv").write_text(content)
        ok("import", t + name, tmp_path / "a.csv", "--null", "-")
        assert [row["a"] for row in rows_of(t + name)] == expected


def test_objects_without_fields_are_rows_wherever_they_stand(
    t: str, tmp_path: Path, blocks_of: Callable[[int], None]
) -> None:
    blocks_of(8)
    (tmp_path / "a.jsonl").write_text('{}\n{}\n{}\n{}\n{"a": 1}\n{"b": "x"}\n{}\n{}\n{}\n{}\n')
    ok("import", t, tmp_path / "a.jsonl")
    some = [{"a": 1, "b": None}, {"a": None, "b": "x"}]
    nothing = [{"a": None, "b": None}] * 4
    assert rows_of(t) == [*nothing, *some, *nothing]


@pytest.mark.parametrize(("ending", "delimiter", "options"), [(".tsv", "\t", []), (".csv", ";", ["-d", ";"])])
def test_delimiters(t: str, tmp_path: Path, ending: str, delimiter: str, options: list[str]) -> None:
    path = tmp_path / f"a{ending}"
    path.write_text(f"a{delimiter}b\n1{delimiter}x,y\n")
    ok("import", t, path, *options)
    assert rows_of(t) == [{"a": 1, "b": "x,y"}]


def test_what_somebody_says_outranks_the_guess(t: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('zip,at,n,x,tags,raw\n007,2026-01-31T10:00:00,5,1,"[1,2]",aGk=\n')
    schema = "zip integer, at timestamp, n decimal(5,2), tags array<long>, raw binary, later string"
    ok("import", t, tmp_path / "a.csv", "--schema", schema)
    assert rows_of(t) == [
        {
            "zip": 7,
            "at": datetime(2026, 1, 31, 10, tzinfo=UTC),
            "n": Decimal("5.00"),
            "x": 1,
            "tags": [1, 2],
            "raw": b"hi",
            "later": None,
        }
    ]


def test_json_keeps_the_digits_of_decimals(t: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"d": 0.1234567890123456789, "f": "NaN", "m": {"k": 1}}\n{"d": "1.5", "f": 2}\n')
    schema = "d decimal(38,19), f double, m map<string,long>"
    ok("import", t, tmp_path / "a.jsonl", "--schema", schema)
    one, two = rows_of(t)
    assert (one["d"], two["d"]) == (Decimal("0.1234567890123456789"), Decimal("1.5"))
    assert one["f"] != one["f"]
    assert (two["f"], one["m"], two["m"]) == (2.0, [("k", 1)], None)


def test_an_existing_table_says_what_columns_are(t: str, tmp_path: Path) -> None:
    ok("create", t, "--schema", "Id int, name string, at timestamp, score double")
    (tmp_path / "a.csv").write_text("name,ID,at\n5,007,2026-01-31 10:00:00\n")
    (tmp_path / "b.jsonl").write_text('{"id": 8, "name": 6, "score": 1}\n{"name": {"a": 1}}\n')
    ok("import", t, tmp_path / "a.csv", "--no-create")
    ok("import", t, tmp_path / "b.jsonl", "--no-create")
    rows = rows_of(t)
    assert [(row["Id"], row["name"]) for row in rows] == [(7, "5"), (8, "6"), (None, '{"a":1}')]


def test_partitions_and_options(t: str, tmp_path: Path) -> None:
    path = write_csv(tmp_path / "a.csv", log_rows(200))
    ok("import", t, path, "--partition-by", "level,host", "--option", "indexing.tokenizer.en_stem=message")
    result = ok("describe", t, "--json").json
    assert result["partitionBy"] == ["level", "host"]
    assert result["properties"]["spark.indextables.indexing.tokenizer.en_stem"] == "message"
    assert ok("count", t, "-q", "connections").out == "80\n"


def test_a_column_can_be_kept_from_the_guess_of_words(t: str, tmp_path: Path) -> None:
    path = write_csv(tmp_path / "a.csv", log_rows(20))
    ok("import", t, path, "--option", "indexing.typemap.message=string")
    assert indexes_of(t)["message"] == "exact"


def test_no_rows_are_no_commit(t: str, tmp_path: Path) -> None:
    ok("create", t, "--schema", "a long, b string")
    for content in ("", "a,b\n"):
        (tmp_path / "a.csv").write_text(content)
        result = ok("import", t, tmp_path / "a.csv", "--json").json
        assert (result["rows"], result["version"], result["files"]) == (0, 0, 0)
    (tmp_path / "a.csv").write_text("a,b\n")
    ok("import", t + "-new", tmp_path / "a.csv", "--schema", "a long, b string")
    assert Table.open(t + "-new").version == 0


def test_bytes_go_in_as_they_come_out(t: str, tmp_path: Path) -> None:
    data = {"raw": bytes(range(256))}
    Table.create(t, pa.schema([("raw", pa.binary())])).append(pa.Table.from_pylist([data]))
    line = ok("scan", t, "--json").out
    assert json.loads(line)["raw"] == base64.b64encode(data["raw"]).decode()
    ok("import", t + "-copy", "-", "-f", "jsonl", "-s", "raw binary", stdin=line.encode())
    assert rows_of(t + "-copy") == [data]


def test_a_string_column_of_json_keeps_what_was_written(t: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"a":1.50,"b":1,"c":[1.5],"d":{"k":2.50}}\n{"a":12345678901234567890.123456,"b":2.25,"c":"x","d":null}\n'
    )
    ok("import", t, path, "--schema", "a string, b decimal(10,2), c string, d string")
    assert rows_of(t) == [
        {"a": "1.50", "b": Decimal("1.00"), "c": "[1.5]", "d": '{"k":2.50}'},
        {"a": "12345678901234567890.123456", "b": Decimal("2.25"), "c": "x", "d": None},
    ]


_cell = st.one_of(
    st.none(),
    st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=8),
    st.sampled_from(
        [
            "",
            "1",
            "01",
            "true",
            "2026-01-31",
            "1e5",
            "0.1",
            "123456789012345678",
            "0.1000000000000000055",
            "NaN",
            "-0",
            "1.50",
            "null",
            '"',
            "a,b",
            "x\ny",
            "\r\n",
        ]
    ),
)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(_cell, _cell), min_size=1, max_size=12))
def test_whatever_csv_holds_comes_out_again(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[Any, Any]]
) -> None:
    """Each text is the same text again, or a value of a type whose text it was."""
    directory = tmp_path_factory.mktemp("csv")
    quoted = ["" if cell is None else '"' + cell.replace('"', '""') + '"' for row in rows for cell in row]
    lines = [",".join(quoted[place : place + 2]) for place in range(0, len(quoted), 2)]
    (directory / "a.csv").write_text("a,b\n" + "\n".join(lines) + "\n", encoding="utf-8", newline="")
    guess = csv_file.CsvFiles().look([csv_file.Source("a.csv", directory / "a.csv")], None, lambda _: None)
    assert guess.rows == len(rows)
    batches = list(
        csv_file.CsvFiles().batches([csv_file.Source("a.csv", directory / "a.csv")], guess.schema, lambda _: None)
    )
    found = pa.Table.from_batches(batches).to_pylist()
    for row, (a, b) in zip(found, rows, strict=True):
        assert same(row["a"], a), (row, a)
        assert same(row["b"], b), (row, b)


def same(value: Any, text: str | None) -> bool:
    if value is None or text is None:
        return value is text
    if isinstance(value, bool):
        return text.lower() == str(value).lower()
    if isinstance(value, int | Decimal):
        return str(value) == text
    if isinstance(value, float):
        return text == "NaN" if value != value else Decimal(repr(value)) == Decimal(text)
    return str(value) == text
