"""What else `indextables import` reads: packed files, logs, JSON arrays, files in stores, and home directories."""

from __future__ import annotations

import bz2
import gzip
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli.support import indexes_of, log_rows, ok, rows_of, run, types_of, write_csv
from indextables import Table
from indextables.cli.errors import BAD_INPUT
from indextables.cli.load import json_array
from indextables.cli.load.json_array import array_elements
from indextables.core.options import Options
from indextables.storage.resolve import resolve


def zstd(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


PACKERS: dict[str, Callable[[bytes], bytes]] = {"gz": gzip.compress, "zst": zstd, "bz2": bz2.compress}


@pytest.mark.parametrize("ending", PACKERS)
@pytest.mark.parametrize("name", ["a.csv.{}", "b.csv"])
def test_packed_files(t: str, tmp_path: Path, ending: str, name: str) -> None:
    """By name or by their first bytes; two packed parts behind each other are one file."""
    data = write_csv(tmp_path / "plain.csv", log_rows(3000)).read_bytes()
    pack = PACKERS[ending]
    path = tmp_path / name.format(ending)
    path.write_bytes(pack(data[:70_000]) + pack(data[70_000:]))
    ok("import", t, path)
    ok("import", f"{t}2", tmp_path / "plain.csv")
    assert rows_of(t) == rows_of(f"{t}2")


@pytest.mark.parametrize("ending", PACKERS)
def test_packed_pipes_and_packed_parquet(t: str, tmp_path: Path, ending: str) -> None:
    pq.write_table(pa.table({"n": [1, 2]}), tmp_path / "a.parquet")
    (tmp_path / f"a.parquet.{ending}").write_bytes(PACKERS[ending]((tmp_path / "a.parquet").read_bytes()))
    ok("import", t, tmp_path / f"a.parquet.{ending}")
    ok("import", t, "-", "--format", "jsonl", stdin=PACKERS[ending](b'{"n": 3}\n'))
    assert [row["n"] for row in rows_of(t)] == [1, 2, 3]


def test_a_text_that_begins_like_a_packed_file(t: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"BZh9 not packed,n\n1,2\n")
    ok("import", t, tmp_path / "a.csv")
    assert rows_of(t) == [{"BZh9 not packed": 1, "n": 2}]


def test_lines_of_a_log(t: str, tmp_path: Path) -> None:
    first, second = tmp_path / "app.log", tmp_path / "app.log.1.gz"
    first.write_bytes('\ufeffstart of day\r\n\n  indented, "quoted"\tx\nlast line without an end'.encode())
    second.write_bytes(gzip.compress(b"disk full on node-1\n"))
    ok("import", t, first, second)
    assert types_of(t) == {"file": "string", "line": "long", "message": "string"}
    assert indexes_of(t) == {"file": "exact", "line": "values", "message": "words"}
    assert [(row["file"], row["line"], row["message"]) for row in rows_of(t)] == [
        (str(first), 1, "start of day"),
        (str(first), 3, '  indented, "quoted"\tx'),
        (str(first), 4, "last line without an end"),
        (str(second), 1, "disk full on node-1"),
    ]
    assert ok("search", t, '"disk full"', "--json").rows[0]["line"] == 1


def test_lines_for_a_table_that_is_there(t: str, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("one\ntwo\n")
    ok("create", t, "--schema", "Message text, line int, host string")
    ok("import", t, tmp_path / "a.log")
    assert rows_of(t) == [{"Message": text, "line": n, "host": None} for n, text in ((1, "one"), (2, "two"))]
    ok("create", f"{t}2", "--schema", "text string")
    refused = run("import", f"{t}2", tmp_path / "a.log")
    assert (refused.code, "has a column message, which the table does not have" in refused.err) == (BAD_INPUT, True)
    ok("import", f"{t}3", tmp_path / "a.log", "--schema", "message string, more long")
    assert types_of(f"{t}3") == {"file": "string", "line": "long", "message": "string", "more": "long"}
    assert indexes_of(f"{t}3")["message"] == "exact"


def test_json_arrays(t: str, tmp_path: Path) -> None:
    rows = [{"n": n, "m": f'[{n}] {{ " \\ }}', "deep": {"a": [n, {"b": "]"}]}} for n in range(50)]
    rows = [{**row, "deep": {"a": [n], "b": [{"c": "]}"}]}} for n, row in enumerate(rows)]
    (tmp_path / "a.json").write_text(json.dumps(rows, indent=2))
    (tmp_path / "b.json").write_text("\ufeff \n" + json.dumps(rows))
    ok("import", t, tmp_path / "a.json", tmp_path / "b.json")
    assert rows_of(t) == [*rows, *rows]
    (tmp_path / "c.json").write_text("[]")
    ok("import", t, tmp_path / "c.json")
    assert Table.open(t).count() == 100


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6) | st.sampled_from(['"', "\\", "]}", "[{", "\n"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.dictionaries(st.text(max_size=3), JSON, max_size=4), max_size=6), st.sampled_from([None, 1]), st.data()
)
def test_an_array_is_cut_into_its_elements(rows: list[object], indent: int | None, data: st.DataObject) -> None:
    """However few bytes are read at a time, and however the array is written."""
    import io

    text = json.dumps(rows, indent=indent, ensure_ascii=data.draw(st.booleans())).encode()
    found = list(array_elements(io.BytesIO(b" \n" * 3 + text), at_once=data.draw(st.integers(1, 9))))
    assert [json.loads(part) for _, part in found] == rows
    places = [text.count(b"\n", 0, place) + 1 for place in _places(text, [part for _, part in found])]
    assert [line - 3 for line, _ in found] == places


def _places(text: bytes, parts: list[bytes]) -> list[int]:
    places, start = [], 0
    for part in parts:
        start = text.index(part, start)
        places.append(start)
        start += len(part)
    return places


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=30) | st.text('[]{},:"1a\\ \n', max_size=30).map(str.encode))
def test_garbage_is_an_error_of_ours(data: bytes) -> None:
    import io

    with suppress(json_array.NoArray):
        list(array_elements(io.BytesIO(data)))


def test_lines_of_several_files_are_told_apart(t: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"a": 1}\n{"a": 2}\n')
    (tmp_path / "b.jsonl").write_text('{"a": 2.5}\n\n{"a": "x"}\n')
    result = run("import", t, tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    expected = f"a is a number in {tmp_path}/a.jsonl, line 1 and a text in {tmp_path}/b.jsonl, line 3: say what it is"
    assert (result.code, expected in result.err) == (BAD_INPUT, True), result


def test_fractions_stay_fractions_where_another_column_is_text(t: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"a": 1.5, "b": "x", "c": {"d": 0.25}}\n{"a": 2, "b": 7.10}\n')
    ok("import", t, tmp_path / "a.jsonl", "--schema", "b string")
    assert types_of(t) == {"a": "double", "b": "string", "c": "struct<d:double>"}
    assert rows_of(t) == [{"a": 1.5, "b": "x", "c": {"d": 0.25}}, {"a": 2.0, "b": "7.10", "c": None}]


def test_maps_as_lists_of_entries(t: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"m": [{"key": 1, "value": "x"}, {"key": 2}]}\n{"m": {"3": "y"}}\n{"m": []}\n')
    ok("import", t, tmp_path / "a.jsonl", "--schema", "m map<long,string>")
    assert [row["m"] for row in rows_of(t)] == [[(1, "x"), (2, None)], [(3, "y")], []]
    (tmp_path / "b.jsonl").write_text('{"m": [{"k": 1}]}\n')
    refused = run("import", t, tmp_path / "b.jsonl")
    assert (refused.code, "line 1, column m: {'k': 1} is not an entry of a map" in refused.err) == (BAD_INPUT, True)


# Files in stores.


@pytest.fixture
def bucket() -> str:
    return f"memory://{uuid4().hex}"


def test_files_in_a_store(t: str, tmp_path: Path, bucket: str) -> None:
    store = resolve(bucket, Options()).open()
    rows = log_rows(300)
    for number, key in enumerate(("logs/a.csv", "logs/b.csv", "logs/deep/c.csv")):
        part = rows[number * 100 : number * 100 + 100]
        store.put(key, write_csv(tmp_path / "part.csv", part).read_bytes())
    store.put("logs/notes.txt", b"nothing")
    ok("import", t, f"{bucket}/logs/a.csv")
    assert Table.open(t).count() == 100
    ok("import", f"{t}2", f"{bucket}/logs/*.csv")
    assert Table.open(f"{t}2").count() == 200
    ok("import", f"{t}3", f"{bucket}/logs/**/*.csv")
    assert [row["ts"] for row in rows_of(f"{t}3")] == [row["ts"] for row in rows_of(f"{t}2")] + [
        row["ts"] for row in rows_of(f"{t}3")
    ][200:]
    assert Table.open(f"{t}3").count() == 300
    ok("import", f"{t}4", f"{bucket}/logs/[!b].csv")
    assert Table.open(f"{t}4").count() == 100
    twice = run("import", t, f"{bucket}/logs/a.csv", f"{bucket}/logs/?.csv")
    assert "a.csv is given twice" in twice.err


def test_parquet_and_packed_files_in_a_store(t: str, tmp_path: Path, bucket: str) -> None:
    store = resolve(bucket, Options()).open()
    table = pa.table({"n": list(range(1000)), "m": [f"text number {n}" for n in range(1000)]})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=100)
    store.put("a.parquet", (tmp_path / "a.parquet").read_bytes())
    store.put("a.jsonl.zst", zstd(b"".join(json.dumps({"n": n, "m": "x"}).encode() + b"\n" for n in range(1000, 1010))))
    ok("import", t, f"{bucket}/a.parquet")
    ok("import", t, f"{bucket}/a.jsonl.zst")
    assert [row["n"] for row in rows_of(t)] == list(range(1010))


def test_a_file_that_is_replaced_while_it_is_read(t: str, bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from indextables.cli.load import remote_file

    store = resolve(bucket, Options()).open()
    store.put("a.csv", b"n\n" + b"1\n" * 100)
    usual = remote_file.RemoteFile.readinto

    def late(self: remote_file.RemoteFile, buffer: object) -> int:
        store.put("a.csv", b"n\n" + b"2\n" * 100)
        return usual(self, buffer)

    monkeypatch.setattr(remote_file.RemoteFile, "readinto", late)
    result = run("import", t, f"{bucket}/a.csv")
    assert (result.code, "was replaced while it was read: import it again" in result.err) == (BAD_INPUT, True), result


def test_home_directories_and_file_urls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write_csv(tmp_path / "a b.csv", log_rows(5))
    ok("import", "~/t", "~/a b.csv")
    ok("import", "~/t", f"file://{tmp_path}/a%20b.csv")
    assert Table.open(tmp_path / "t").count() == 10
    assert Table.open("~/t").url == str(tmp_path / "t")
    assert Table.open(Path("~/t")).count() == 10
    ok("export", "~/t", "~/out.csv")
    assert (tmp_path / "out.csv").exists()
    (tmp_path / "schema").write_text("n long")
    ok("create", "~/u", "--schema", "@~/schema")
    monkeypatch.chdir(tmp_path)
    Table.create("./~", "n long")
    assert (tmp_path / "~" / "_transaction_log").is_dir()


def test_a_schema_in_a_file(t: str, tmp_path: Path) -> None:
    (tmp_path / "schema").write_text("a long,\n b text\n")
    ok("create", t, "--schema", f"@{tmp_path / 'schema'}")
    assert indexes_of(t) == {"a": "values", "b": "words"}
    missing = run("create", f"{t}2", "--schema", f"@{tmp_path / 'nothing'}")
    assert (missing.code, "cannot be read" in missing.err) == (2, True)
