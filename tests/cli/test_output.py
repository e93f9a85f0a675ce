"""How answers look: for people on wide and narrow terminals, for programs in pipes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from rich.cells import cell_len

from cli.support import Stream, log_rows, ok, run, write_csv
from indextables import Table
from indextables.cli.answers import Facts, Rows
from indextables.cli.render import grid
from indextables.cli.render.progress import Stage
from indextables.cli.render.renderer import Renderer
from indextables.cli.render.screen import Output, Screen
from indextables.cli.render.values import json_values
from indextables.split.build import spool
from indextables.table.progress import Progress

STYLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def plain(text: str) -> str:
    return STYLE.sub("", text)


def shown(rows: list[dict[str, object]], width: int = 80, encoding: str = "utf-8", **more: object) -> str:
    """Rows as a terminal of so many columns has them, without colours."""
    table = pa.Table.from_pylist(rows)
    screen = Screen(Stream(True, encoding), Stream(False))
    screen.console.width = width
    Renderer(screen, Output.TABLE).show(Rows(table.schema, table.to_batches(), **more))
    return plain(screen.out.text)


VALUES: list[tuple[pa.Array, list[object]]] = [
    (pa.array([1, None, 2**63 - 1]), [1, None, 2**63 - 1]),
    (pa.array([0.5, float("nan"), float("inf"), -float("inf"), None]), [0.5, "NaN", "Infinity", "-Infinity", None]),
    (pa.array([True, None]), [True, None]),
    (pa.array([Decimal("1.50"), Decimal("0.00")]), ["1.50", "0.00"]),
    (pa.array([Decimal("0.0000001"), None], pa.decimal128(38, 7)), ["0.0000001", None]),
    (pa.array([b"\x00\xff", None]), ["AP8=", None]),
    (pa.array([date(2026, 1, 31), None]), ["2026-01-31", None]),
    (pa.array([0, 1_500_000, -1, 253402300800000000], pa.timestamp("us", "UTC")), [
        "1970-01-01T00:00:00Z", "1970-01-01T00:00:01.5Z", "1969-12-31T23:59:59.999999Z", "10000-01-01T00:00:00Z"]),
    (pa.array([0, 10**9 + 1], pa.timestamp("ns")), ["1970-01-01T00:00:00", "1970-01-01T00:00:01.000000001"]),
    (pa.array([3_600_000_000_000], pa.time64("ns")), ["01:00:00"]),
    (pa.array([timedelta(seconds=90), timedelta(milliseconds=-500)]), ["PT90S", "PT-0.5S"]),
    (pa.array([(1, 2, 500_000_000)], pa.month_day_nano_interval()), ["P1M2DT0.5S"]),
    (pa.array([[1.0, float("nan")], [], None]), [[1.0, "NaN"], [], None]),
    (pa.array([{"a": b"x", "b": [date(2026, 1, 1)]}, None]), [{"a": "eA==", "b": ["2026-01-01"]}, None]),
    (pa.array([[("k", 1)], [], None], pa.map_(pa.string(), pa.int64())), [{"k": 1}, {}, None]),
    (pa.array([[(1, "x")]], pa.map_(pa.int64(), pa.string())), [[{"key": 1, "value": "x"}]]),
    (pa.array(["a", "b", "a"]).dictionary_encode(), ["a", "b", "a"]),
    (pa.array([{"a": 1}, {"a": 2}, {"a": 3}]).slice(1, 2), [{"a": 2}, {"a": 3}]),
    (pa.array([[1], [2, 3], [4]]).slice(1, 1), [[2, 3]]),
    (pa.array([[("a", 1)], [("b", 2)]], pa.map_(pa.string(), pa.int64())).slice(1), [{"b": 2}]),
    (pa.nulls(2), [None, None]),
]  # fmt: skip


@pytest.mark.parametrize(("array", "expected"), VALUES, ids=[str(array.type) for array, _ in VALUES])
def test_values_in_json(array: pa.Array, expected: list[object]) -> None:
    assert json_values(array) == expected
    assert json_values(pa.chunked_array([array, array])) == expected * 2
    json.dumps(json_values(array), allow_nan=False)


def test_tab_separated_lines_are_lines(t: str) -> None:
    table = pa.table({"a\tb": ["x\ty", "line\nline\r", "back\\slash", None, "", "\\N"], "n": [1, None, 3, 4, 5, 6]})
    Table.create(t, table.schema).append(table)
    assert ok("scan", t).out == ("a\\tb\tn\nx\\ty\t1\nline\\nline\\r\t\\N\nback\\\\slash\t3\n\\N\t4\n\t5\n\\\\N\t6\n")
    assert [row["a\tb"] for row in ok("scan", t, "--json").rows] == table["a\tb"].to_pylist()


def test_lines_on_a_terminal_cannot_play_with_it(t: str) -> None:
    """Programs get what is there; people see what a terminal would have obeyed."""
    hostile = "\x1b]0;owned\x07 \x9b31m \u202e \x7f\r\t\n"
    table = pa.table({"a\x1b": [hostile]})
    Table.create(t, table.schema).append(table)
    piped = ok("scan", t, "-o", "tsv").out
    assert piped == "a\x1b\n" + hostile.replace("\r\t\n", "\\r\\t\\n") + "\n"
    lines = ok("scan", t, "-o", "tsv", terminal=True).out
    assert lines == "a\\x1b\n\\x1b]0;owned\\x07 \\x9b31m \\u202e \\x7f\\r\\t\\n\n"
    objects = ok("scan", t, "--json", terminal=True)
    assert objects.out.rstrip("\n").isprintable()
    assert objects.rows == ok("scan", t, "--json").rows == table.to_pylist()
    error = run("count", t, "-w", "x\x9b = 1", "--json", terminal=True).err
    assert error.rstrip("\n").isprintable()


def test_pipes_have_no_colours(logs: Path) -> None:
    for output in ("tsv", "json", "table"):
        for command in (("search", logs, "timeout"), ("describe", logs), ("aggregate", logs, "-b", "level")):
            result = ok(*command, "-o", output, FORCE_COLOR="") if output != "table" else ok(*command, "-o", output)
            assert "\x1b" not in result.out + result.err


def test_hits_are_highlighted(logs: Path) -> None:
    result = ok("search", logs, "timeout", "-n", 1, "-c", "host,message", terminal=True)
    assert re.search(r"\x1b\[1;33mtimeout\x1b\[0m", result.out)
    assert re.search(r"1 hit, \d+ ms|1 hit, \d", plain(result.err))
    assert "*timeout*" in ok("search", logs, "timeout", "-n", 1, "-o", "table").out
    without = ok("search", logs, "timeout", "-n", 1, terminal=True, NO_COLOR="1").out
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]", without)


def test_hits_in_long_texts_are_cut_out() -> None:
    text = "word " * 100 + "needle" + " word" * 100
    part = text[480:530]
    snippet = {"text": part, "highlights": [{"start": 20, "end": 26}]}
    found = grid.highlighted(text, snippet, grid.Look())
    assert found is not None
    assert (found.plain[0], found.plain[-1]) == ("…", "…")
    assert [found.plain[span.start : span.end] for span in found.spans] == ["needle"]
    assert grid.highlighted(text, snippet, grid.Look(blocks=False)).plain.startswith("...")
    assert grid.highlighted(None, None, grid.Look()) is None


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120, 200])
def test_no_line_is_wider_than_the_terminal(logs: Path, width: int) -> None:
    for command in (
        ("search", logs, "timeout", "-n", 3),
        ("scan", logs, "-n", 5),
        ("aggregate", logs, "-b", "host", "-b", "level", "-m", "n=count", "-m", "avg(ms)"),
        ("describe", logs),
        ("files", logs),
        ("history", logs),
    ):
        lines = plain(ok(*command, terminal=True, width=width).out).splitlines()
        assert lines
        assert max(map(cell_len, lines)) <= width, (command, lines)


def test_narrow_terminals_get_a_record_after_the_other() -> None:
    rows = [{"name": f"n{n}", **{f"c{m}": "x" * 20 for m in range(5)}} for n in range(2)]
    wide, narrow = shown(rows, 140), shown(rows, 40)
    assert wide.splitlines()[0].split() == ["name", "c0", "c1", "c2", "c3", "c4"]
    assert [line.split() for line in narrow.splitlines()][:3] == [["--", "1", "--"], ["name", "n0"], ["c0", "x" * 20]]
    assert "-- 2 --" in narrow


def test_wide_characters_are_aligned() -> None:
    rows = [{"name": "日本語", "n": 1}, {"name": "é", "n": 22}, {"name": "🎈🎈", "n": 333}, {"name": "plain", "n": 4}]
    lines = shown(rows).splitlines()
    assert {cell_len(line.rstrip()) for line in lines} == {11}
    assert all(line.rstrip().endswith(end) for line, end in zip(lines, ("n", "1", "22", "333", "4"), strict=True))


def test_what_would_move_the_cursor_is_shown_instead() -> None:
    text = shown([{"a": "x\x1b[2Jy\nz\u202e\x07", "b\x1b": None}])
    assert "x\\x1b[2Jy\\nz\\u202e\\x07" in text
    assert "null" in text
    assert "\x07" not in text


def test_long_cells_are_cut_and_later_rows_keep_the_columns() -> None:
    rows = [{"id": n, "text": "y" * (3 if n < 300 else 500)} for n in range(450)]
    lines = shown(rows, 60).splitlines()
    assert len(lines) == 451
    assert lines[440].split() == ["439", "yyy…"]
    first = shown([{"id": 1, "text": "y" * 500}], 30).splitlines()[1]
    assert first.endswith("…")
    assert cell_len(first) == 30


def test_numbers_and_times_are_never_cut() -> None:
    moment = datetime(2026, 1, 31, 12, 30, 15, 250_000, tzinfo=UTC)
    rows = [{"id": 1234567890123, "at": moment, "text": "y" * 60, "more": "z" * 60, "share": Decimal("0.123456789")}]
    line = shown(rows, 80).splitlines()[1]
    assert cell_len(line) <= 80
    assert {"1234567890123", "0.123456789"} < set(line.split())
    assert "2026-01-31 12:30:15.25" in line
    assert line.count("…") == 2, "texts give way"
    assert shown(rows, 60).startswith("-- 1 --"), "no room for texts beside them: records"
    named = [{"a_number_with_a_long_name_that_goes_on": 1, "another_number_with_a_name_as_long": 22}]
    assert shown(named, 60).splitlines()[1].split() == ["1", "22"], "names are cut"


def test_bars() -> None:
    rows = [{"k": "a", "n": 10}, {"k": "b", "n": 5}, {"k": "c", "n": 0}, {"k": None, "n": 1}]
    lines = shown(rows, 60, bars="n").splitlines()
    assert [line.count("█") for line in lines[1:4]] == [40, 20, 0]
    assert lines[4].rstrip().endswith("█" * 4)
    text = shown(rows, 60, "ascii", bars="n")
    assert text.isascii()
    assert text.splitlines()[1].count("#") == 40
    assert shown(rows, 24, bars="n").splitlines()[1].count("█") == 14
    assert shown(rows, 16, bars="n").splitlines()[1].split() == ["a", "10"]


def test_ascii_terminals(logs: Path) -> None:
    for command in (
        ("search", logs, "timeout"),
        ("scan", logs),
        ("aggregate", logs, "-b", "level"),
        ("describe", logs),
    ):
        assert ok(*command, terminal=True, encoding="ascii", width=70).out.isascii()


def test_pipes_are_utf8_whatever_the_locale(t: str) -> None:
    table = pa.table({"a": ["é🎈"]})
    Table.create(t, table.schema).append(table)
    assert ok("scan", t, "--json", encoding="latin-1").rows == [{"a": "é🎈"}]
    assert ok("scan", t, "--no-header", encoding="ascii").out == "é🎈\n"


def test_times_for_people() -> None:
    text = shown([{"at": datetime(2026, 1, 31, 12, tzinfo=UTC), "x": 1 / 3, "big": 123456789.25}])
    assert text.splitlines()[1].split() == ["2026-01-31", "12:00:00Z", "0.333333", "123456789.25"]


def test_facts_without_values() -> None:
    screen = Screen(Stream(True), Stream(False))
    Renderer(screen, Output.TABLE).show(Facts({"a": None, "b": [], "c": True, "d": 1234567}, {"none": []}))
    assert [line.split() for line in plain(screen.out.text).splitlines()] == [
        ["b", "-"],
        ["c", "true"],
        ["d", "1,234,567"],
    ]


def test_progress_is_for_terminals_only(tmp_path: Path, t: str) -> None:
    path = write_csv(tmp_path / "a.csv", log_rows(50))
    watched = ok("import", t, path, terminal=True)
    assert "importing" in watched.err
    assert "50 of 50 rows" in watched.err
    assert "\r" not in watched.out
    assert "importing" not in ok("import", t, path).err
    assert ok("import", t, path, "--json").err == ""


def test_progress_while_a_split_is_indexed(
    t: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blocks_of: Callable[[int], None]
) -> None:
    blocks_of(1 << 12)
    monkeypatch.setattr(spool, "JOINED_ROWS", 100)
    seen: list[tuple[float, str]] = []

    @contextmanager
    def bar(self: Stage, label: str) -> Iterator[Callable[[float | None, str], None]]:
        yield lambda fraction, text: seen.append((fraction or 0.0, text)) if label == "importing" else None

    monkeypatch.setattr(Stage, "_bar", bar)
    ok("import", t, write_csv(tmp_path / "a.csv", log_rows(300)))
    shares, texts = zip(*seen, strict=True)
    assert list(shares) == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)
    assert texts[0].endswith(" of 300 rows read")
    indexed = [text for text in texts if not text.endswith("read")]
    assert len(indexed) > 3
    assert indexed[-1] == "300 of 300 rows"


@pytest.mark.parametrize(("rows", "size"), [(100, 0), (0, 1000), (0, 0)])
def test_progress_never_goes_beyond_the_end(rows: int, size: int) -> None:
    stage = Stage(Screen(Stream(), Stream(True)), notes=True)
    with stage.rows("importing", rows, size) as (watch, told):
        assert watch is not None
        for step in range(1, 6):
            told(400)
            watch(Progress(rows_read=step * 20, rows_written=step * 20))
    with stage.bytes("reading", size) as told:
        told(5000)


def test_nothing_is_printed_for_nothing(logs: Path) -> None:
    result = run("search", logs, "zebra", terminal=True)
    assert (result.code, result.out) == (1, "")
    assert plain(result.err).startswith("0 hits")
