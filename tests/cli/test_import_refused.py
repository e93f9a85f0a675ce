"""`indextables import` of what does not fit: one line says where, and nothing is there afterwards."""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.support import exists, log_rows, ok, rows_of, run, write_csv
from indextables import Table
from indextables.cli.errors import BAD_INPUT, CONFLICT, NOT_FOUND, USAGE
from indextables.errors import CommitError
from indextables.log.snapshot import Snapshot
from indextables.table.write import create, create_with_rows

BAD: list[tuple[str, bytes, str]] = [
    ("a.csv", b"a,b\n1,2\n3\n", "a.csv, row 3: 1 cell, but the header has 2"),
    ("a.csv", b"a,b\n1,2\n3,4,5\n", "a.csv, row 3: 3 cells, but the header has 2"),
    ("a.csv", b"a,b\n1,x\n2,\xff\n", "a.csv, row 3, column b: not UTF-8"),
    ("a.csv", b"a,\xff\n1,x\n", "a.csv, row 1: the header is not UTF-8"),
    ("a.csv", b'a,b\n1,x\n2,"open\n3,y\n4,z\n', "a.csv: a quote is opened in row 3 and never closed"),
    ("a.csv", b'a,"b\n1,x\n', "a.csv, row 1: the header cannot be read"),
    ("a.csv", b"a,b\n\n1,2\n\n3\n", "a.csv, row 3: 1 cell, but the header has 2"),
    ("a.csv", b"a,b\r1,2\r", "a.csv, row 1: its lines end with carriage returns only: convert them first"),
    ("a.csv", b"a,a\n1,2\n", "a.csv has column a twice"),
    ("a.csv", b"a,A\n1,2\n", "a.csv has column A and a, which differ in letter case only"),
    ("a.csv", b"a,\n1,2\n", "a.csv: column 2 has no name"),
    ("a.csv", b"", "a.csv: there is nothing to guess a schema from"),
    ("a.csv", b"a,b\n", "a.csv: there are no rows to guess types from"),
    ("a.csv", b"a;b\n1;2\n", "seems to have ';' between cells: give --delimiter"),
    ("a.csv", "a,b\n1,2\n".encode("utf-16"), "a.csv is UTF-16"),
    ("a.csv.gz", gzip.compress(b"a,b\n" + b"1,2\n" * 99)[:-9], "a.csv.gz: the gzip data is cut off or damaged"),
    ("a.jsonl", b'{"a": 1}\n{"a": \n', "a.jsonl, line 2: not a JSON object in one line (input data was trunc"),
    ("a.jsonl", b'{"a": 1}\n[1]\n', "a.jsonl, line 2: an array, but JSON lines have an object in each line"),
    ("a.json", b'[\n{"a": 1},\n{"a": }\n]\n', "a.json, line 3: not a JSON object (JSON is malformed"),
    ("a.json", b'[\n{"a": 1},\n 7]\n', "a.json, line 3: not a JSON array of objects (an element is no object)"),
    ("a.json", b'[{"a": 1}\n,[1]]', "a.json, line 2: an array, but a JSON array has an object in each place"),
    ("a.json", b'[{"a": 1}\n{"a": 2}]', "line 2: not a JSON array of objects (a comma is missing between elements)"),
    ("a.json", b'[{"a": 1},\n]', "line 2: not a JSON array of objects (an element is missing before ])"),
    ("a.json", b'[{"a": 1}', "line 1: not a JSON array of objects (the array is not closed)"),
    ("a.json", b'[{"a": "}]', "line 1: not a JSON array of objects (an element is not closed)"),
    ("a.json", b'[{"a": 1}]\n{"a": 2}', "not a JSON array of objects (something follows the end of the array)"),
    ("a.json", b'[\n{"a": 1},\n{"a": "x"}]', "a is a number in line 2 and a text in line 3"),
    ("a.json", b"[]", "a.json: there is nothing to guess a schema from"),
    ("a.jsonl", b"{]\n", "a.jsonl, line 1: not a JSON object in one line (JSON is malformed"),
    ("a.jsonl", b'{"a": 1}\n\n{"a": "x"}\n', "a is a number in line 1 and a text in line 3: say what it is"),
    ("a.jsonl", b'{"a": [1]}\n{"a": [1, {"b": 2}]}\n', "a.element is a number in line 1 and an object in line 2"),
    ("a.jsonl", b'{"a": 9007199254740993}\n{"a": 0.5}\n', "a is a whole number in line 1 and a fraction in line 2"),
    ("a.jsonl", b'{"a": NaN}\n', "a.jsonl, line 1: not a JSON object"),
    ("a.jsonl", b'{"a": "\xff"}\n', "a.jsonl, line 1: not UTF-8"),
    ("a.jsonl", b'{"a": 1, "A": 2}\n', "which differ in letter case only"),
    ("a.jsonl", b"", "a.jsonl: there is nothing to guess a schema from"),
    ("a.jsonl", b"[" * 5000 + b"\n", "a.jsonl, line 1: not a JSON array of objects (an element is not closed)"),
    ("a.jsonl", b"[" * 5000 + b"]" * 5000, "a.jsonl, line 1: not a JSON object"),
    ("a.jsonl", b'{"a": 1}\n{"a": 2.5}\n{"a": "x"}\n', "a is a number in line 1 and a text in line 3: say what"),
    ("a.jsonl", b'{"a": 2.5}\n{"a": 1}\n{"a": true}\n', "a is a number in line 1 and true or false in line 3"),
    ("a.jsonl", b'{"a": "x"}\n{"a": 1}\n{"a": 2.5}\n', "a is a text in line 1 and a number in line 2"),
    ("a.csv.zst", pa.compress(b"a,b\n" + b"1,2\n" * 9999, "zstd", asbytes=True)[:-9], "the zstd data is cut off"),
    ("a.csv.bz2", bz2.compress(b"a,b\n" + b"1,2\n" * 99)[:-9], "a.csv.bz2: the bz2 data is cut off or damaged"),
    ("a.log", b"one\ntw\xff\n", "a.log, line 2: not UTF-8: convert it first"),
    ("a.log", b"\n\n", "a.log: there are no rows to guess types from"),
    ("a.parquet", b"PAR1 no", "a.parquet is not a Parquet file that can be read"),
]


@pytest.mark.parametrize(("name", "content", "message"), BAD, ids=[message[:40] for *_, message in BAD])
def test_bad_files_leave_nothing_behind(t: str, tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    result = run("import", t, tmp_path / name)
    assert result.code == BAD_INPUT
    assert message in result.err
    assert result.err.count("\n") == 1
    assert not result.out
    assert not exists(t)


DECLARED: list[tuple[str, str, str, str]] = [
    ("a.csv", "a,b\n1,x\n2,y\n", "b long", "row 2, column b: 'x' is not a whole number of 64 bits"),
    ("a.csv", "a\n\n7\n0x1F\n", "a long", "row 3, column a: '0x1F' is not a whole number of 64 bits"),
    ("a.csv", "a\n1\n300\n", "a byte", "row 3, column a: '300' is not a whole number of 8 bits"),
    ("a.csv", "a\n1\n2026-02-30\n", "a date", "row 2, column a: '1' is not a date such as 2026-01-31"),
    ("a.csv", "a\n1.555\n", "a decimal(5,2)", "'1.555' is not a number with 3 digits before the point and 2 after"),
    ("a.csv", "a\n1e999\n", "a double", "'1e999' is not a number"),
    ("a.csv", "a\n!\n", "a binary", "'!' is not base64"),
    ("a.csv", "a,b\n1,[1\n", "b array<long>", "row 2, column b: '[1' is not JSON"),
    ("a.jsonl", '{"a": 1}\n{"a": 1.5}\n', "a long", "line 2, column a: 1.5 is not a whole number of 64 bits"),
    ("a.jsonl", '{"a": true}\n', "a long", "line 1, column a: true is not a whole number"),
    ("a.jsonl", '{"a": 3000000000}\n', "a int", "line 1, column a: 3000000000 is not a whole number of 32 bits"),
    ("a.jsonl", '{"a": [1, "x"]}\n', "a array<long>", "line 1, column a.element: 'x' is not a whole number"),
    (
        "a.jsonl",
        '{"a": {}}\n{"a": {"c": 1}}\n',
        "a struct<b:long>",
        "line 2, column a.c: 1 is not one of its fields (b)",
    ),
    ("a.jsonl", '{"a": {"b": "x"}}\n', "a struct<b:long>", "column a.b: 'x' is not a whole number"),
    ("a.jsonl", '{"a": 9007199254740993}\n', "a double", "9007199254740993 is not a number that is kept exactly"),
    ("a.jsonl", '{"a": 1.555}\n', "a decimal(5,2)", "is not a number with 3 digits"),
    ("a.jsonl", '{"a": "yesterday"}\n', "a timestamp", "'yesterday' is not a time such as 2026-01-31T12:00:00Z"),
]


@pytest.mark.parametrize("existing", [False, True])
@pytest.mark.parametrize(("name", "content", "schema", "message"), DECLARED)
def test_values_that_do_not_fit(
    t: str, tmp_path: Path, name: str, content: str, schema: str, message: str, existing: bool
) -> None:
    (tmp_path / name).write_text(content)
    if existing:
        whole = schema if schema.startswith("a ") else f"a long, {schema}"
        ok("create", t, "--schema", whole)
        result = run("import", t, tmp_path / name)
        assert Table.open(t).version == 0
    else:
        result = run("import", t, tmp_path / name, "--schema", schema)
        assert not exists(t)
    assert result.code == BAD_INPUT
    assert f"{name}, " in result.err
    assert message in result.err
    assert result.err.count("\n") == 1


def test_a_late_misfit_says_which_row_and_commits_nothing(tmp_path: Path, blocks_of: Callable[[int], None]) -> None:
    blocks_of(4096)
    ok("create", tmp_path / "t", "--schema", "a long, b string")
    (tmp_path / "a.csv").write_text("a,b\n" + "1,x\n" * 7000 + "oops,x\n" + "1,x\n" * 7000)
    (tmp_path / "a.jsonl").write_text('{"a":1}\n' * 7000 + '{"a":"oops"}\n' + '{"a":1}\n')
    result = run("import", tmp_path / "t", tmp_path / "a.csv")
    assert (result.code, "row 7002, column a: 'oops'" in result.err) == (BAD_INPUT, True), result
    result = run("import", tmp_path / "t", tmp_path / "a.jsonl")
    assert (result.code, "line 7001, column a: 'oops'" in result.err) == (BAD_INPUT, True), result
    (tmp_path / "b.csv").write_text("a,b\n" + "1,x\n" * 7000 + "1\n")
    assert "row 7002: 1 cell" in run("import", tmp_path / "t", tmp_path / "b.csv").err
    assert Table.open(tmp_path / "t").version == 0
    assert not list((tmp_path / "t").rglob("*.split"))


def test_columns_that_the_table_does_not_have(t: str, tmp_path: Path) -> None:
    ok("create", t, "--schema", "level string, n long not null")
    (tmp_path / "a.csv").write_text("levle,n\nx,1\n")
    (tmp_path / "a.jsonl").write_text('{"n": 1}\n{"n": 2, "extra": 1}\n')
    (tmp_path / "b.csv").write_text("level,n\nx,\n")
    pq.write_table(pa.table({"n": ["x"]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"n": [1.5]}), tmp_path / "b.parquet")
    for name, message in (
        ("a.csv", "a.csv has a column levle, which the table does not have: did you mean level?"),
        ("a.jsonl", "a.jsonl, line 2, has a column extra, which the table does not have"),
        ("b.csv", "b.csv, rows 1 to 1: column n is required"),
        ("a.parquet", "a.parquet, row 1, column n: 'x' is not a whole number"),
        ("b.parquet", "b.parquet, rows 1 to 1: column n is long (int64), the data has double"),
    ):
        result = run("import", t, tmp_path / name)
        assert result.code == BAD_INPUT
        assert message in result.err


def test_what_cannot_be_asked_for(t: str, tmp_path: Path, logs: Path) -> None:
    path = write_csv(tmp_path / "a.csv", log_rows(3))
    (tmp_path / "a.jsonl").write_text("{}\n")
    (tmp_path / "a.txt").write_text("hello")
    (tmp_path / "d").mkdir()
    (tmp_path / "link.csv").symlink_to(path)
    for arguments, code, message in (
        ((t, tmp_path / "nothing.csv"), BAD_INPUT, "nothing.csv does not exist"),
        ((t, tmp_path / "*.parquet"), BAD_INPUT, "*.parquet matches no file"),
        ((t, tmp_path / "d"), BAD_INPUT, "d is a directory"),
        ((t, tmp_path / "a.txt"), USAGE, "a.txt has no ending that tells its format"),
        ((t, "ftp://host/a.csv"), USAGE, "is in no store that can be read: download it"),
        ((t, "memory://nothing/a.csv"), BAD_INPUT, "memory://nothing/a.csv does not exist"),
        ((t, "memory://nothing/*.csv"), BAD_INPUT, "memory://nothing/*.csv matches no file"),
        ((t, "memory://nothing/dir/"), USAGE, "memory://nothing/dir/ is no file: give its files"),
        ((t, f"file://{tmp_path}/nothing.csv"), BAD_INPUT, "nothing.csv does not exist"),
        ((t, "-"), USAGE, "give --format"),
        ((t, "-", path), USAGE, "imported alone"),
        ((t, path, tmp_path / "a.jsonl"), USAGE, "import files of one format at a time"),
        ((t, path, path), USAGE, "a.csv is given twice: leave one out"),
        ((t, path, tmp_path / "d" / ".." / "a.csv"), USAGE, f"a.csv is given as {path} too: leave one out"),
        ((t, path, tmp_path / "link.csv"), USAGE, f"link.csv is given as {path} too: leave one out"),
        ((t, tmp_path / "a.jsonl", "-d", ";"), USAGE, "--delimiter and --null are for CSV"),
        ((t, path, "-d", "ab"), USAGE, "one ASCII character"),
        ((t, path, "-d", ""), USAGE, "--delimiter is '', but must be one ASCII character"),
        ((t, path, "--format", "xml"), USAGE, "xml"),
        ((t, path, "--no-create"), NOT_FOUND, "there is no table"),
        ((t, path, "-p", "nope"), USAGE, "partition column nope does not exist"),
        ((t, path, "--schema", "ts tmie"), USAGE, "unknown type 'tmie'"),
        ((t, path, "--schema", "x " + "array<" * 90 + "long" + ">" * 90), USAGE, "column x has lists or maps inside"),
        ((t, path, "--option", "novalue"), USAGE, "key=value"),
        ((logs, path, "-p", "level"), USAGE, "is not partitioned: leave --partition-by out"),
        ((logs, path, "--schema", "ms string"), USAGE, "column ms is long, not string"),
        ((logs, path, "--schema", "more string"), USAGE, "has no column more"),
    ):
        result = run("import", *arguments)
        assert (result.code, message in result.err, result.err.count("\n")) == (code, True, 1), result
        assert not exists(t)


def test_a_number_that_a_float_does_not_reach_is_an_error(t: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"a":1.5}\n{"a":1e39}\n')
    answer = run("import", t, tmp_path / "a.jsonl", "--schema", "a float")
    assert answer.code == BAD_INPUT
    assert "line 2" in answer.err
    assert not exists(t)


def test_what_is_nested_too_deeply_is_an_error(t: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"a":' * 900 + "1" + "}" * 900 + "\n")
    assert run("import", t, tmp_path / "a.jsonl").code in (BAD_INPUT, USAGE)
    assert not exists(t)


# A new table.


def test_what_only_the_table_refuses_leaves_nothing(tmp_path: Path, disk: Path) -> None:
    path = write_csv(tmp_path / "a.csv", [["1", "x"], ["", "y"]], ["n", "day"])
    (tmp_path / "there").mkdir()
    here = {*tmp_path.rglob("*")}
    for home in ("there", "deep/er"):
        arguments = ("--schema", "n long not null", "--partition-by", "day")
        result = run("import", tmp_path / home / "t", path, *arguments)
        assert (result.code, "a.csv, rows 1 to 2: column n is required" in result.err) == (BAD_INPUT, True), result
        assert {*tmp_path.rglob("*")} == here


def test_a_table_that_somebody_else_made_meanwhile_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = create.Plan.carry_out
    ours: list[Path] = []

    def late(plan: create.Plan) -> Snapshot:
        monkeypatch.undo()
        ours.extend((tmp_path / "t").rglob("*.split"))
        Table.create(tmp_path / "t", pa.schema([("their", pa.int64())])).append(pa.table({"their": [1, 2]}))
        return usual(plan)

    monkeypatch.setattr(create.Plan, "carry_out", late)
    result = run("import", tmp_path / "t", write_csv(tmp_path / "a.csv", log_rows(30)))
    assert result.code == CONFLICT
    assert result.err == f"error: {tmp_path}/t was made by somebody else meanwhile: import again to add to it\n"
    assert [path.exists() for path in ours] == [False]
    assert rows_of(str(tmp_path / "t")) == [{"their": 1}, {"their": 2}]


def test_a_table_whose_rows_lost_is_said_to_be_empty(t: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(*_: object, **__: object) -> None:
        raise CommitError("no luck", version=1)

    monkeypatch.setattr(create_with_rows, "commit_uploads", lost)
    result = run("import", t, write_csv(tmp_path / "a.csv", log_rows(3)), "--json")
    assert (result.error["message"], result.error["version"]) == (f"no luck; the table {t} was made, and is empty", 1)
    assert (result.code, Table.open(t).count()) == (CONFLICT, 0)
