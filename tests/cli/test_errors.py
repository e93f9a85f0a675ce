"""Errors are one line and an exit code. No traceback, no noise, whoever goes away."""

from __future__ import annotations

import inspect
import io
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from cli.support import Stream, log_rows, ok, run, write_csv
from indextables import errors
from indextables.cli import reading
from indextables.cli.errors import (
    BUG,
    CONFLICT,
    FAILED,
    INTERRUPTED,
    NOT_FOUND,
    OUTCOME_UNKNOWN,
    PIPE_CLOSED,
    USAGE,
    exit_code,
)
from indextables.cli.render.screen import Screen

CODES = {
    USAGE: {"OptionError", "SchemaError", "PredicateError", "QueryError"},
    NOT_FOUND: {"TableNotFound", "VersionNotFound", "ChangesGone"},
    CONFLICT: {
        *("TableExists", "CommitError", "MetadataChanged", "FilesChanged", "TableReplaced", "TooManyConflicts"),
        "UploadTooOld",
    },
    OUTCOME_UNKNOWN: {"CommitOutcomeUnknown"},
}


def test_every_error_has_its_exit_code() -> None:
    kinds = [
        kind for kind in vars(errors).values() if inspect.isclass(kind) and issubclass(kind, errors.IndexTablesError)
    ]
    assert len(kinds) > 30
    for kind in kinds:
        expected = next((code for code, names in CODES.items() if kind.__name__ in names), FAILED)
        assert exit_code(kind("no")) == expected, kind


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("nope",), USAGE, "no such command 'nope'"),
        (("scan",), USAGE, "missing argument 'TABLE' (see indextables scan --help)"),
        (("scan", "{logs}", "--lmit", "3"), USAGE, "no such option: --lmit"),
        (("scan", "{logs}", "--limit", "three"), USAGE, "three"),
        (("scan", "{logs}", "--limit", "-1"), USAGE, "-1"),
        (("scan", "{logs}", "-o", "xml"), USAGE, "xml"),
        (("scan", "{logs}", "-c", "mesage"), USAGE, "mesage"),
        (("scan", "{logs}", "-w", "ms >"), USAGE, "the filter ends too early"),
        (("search", "{logs}", "mesage:x"), USAGE, "did you mean message"),
        (("search", "{logs}", '"open'), USAGE, "character 1"),
        (("search", "{logs}", "timeout", "--snippets", "ms"), USAGE, "ms is not indexed as text"),
        (("count", "{logs}-not"), NOT_FOUND, "there is no table at"),
        (("count", "xx://what"), FAILED, "xx"),
        (("count", "{logs}", "--option", "checkpoint.intervall=3"), USAGE, "checkpoint.interval"),
        (("aggregate", "{logs}", "-b", "nope"), USAGE, "nope"),
    ],
)
def test_errors_are_one_line(logs: Path, arguments: tuple[str, ...], code: int, message: str) -> None:
    typed = [argument.replace("{logs}", str(logs)) for argument in arguments]
    result = run(*typed)
    assert result.code == code, result
    assert result.out == ""
    assert result.err.startswith("error: ")
    assert message in result.err
    assert result.err.count("\n") == 1
    error = run(*typed, "--json").error
    assert error["exitCode"] == code
    assert message in error["message"]


def test_an_error_has_its_facts_in_json(logs: Path) -> None:
    error = run("search", logs, "level:x AND mesage:x", "--json").error
    assert (error["type"], error["position"]) == ("QueryError", 12)


def test_an_error_cannot_play_with_the_terminal(tmp_path: Path) -> None:
    result = run("count", tmp_path / "a\x1b[31m\nb", terminal=True)
    assert "\x1b[31m" not in result.err
    assert "a\\x1b[31m\\nb" in result.err
    assert result.err.count("\n") == 1


def test_a_bug_is_one_line_too(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError("a key")

    monkeypatch.setattr(reading, "count", broken)
    result = run("count", logs)
    assert result.code == BUG
    assert result.err == "error: internal error, KeyError: 'a key' (set INDEXTABLES_TRACEBACK=1 to see where)\n"
    with pytest.raises(KeyError):
        run("count", logs, INDEXTABLES_TRACEBACK="1")


def test_warnings_about_a_log_are_lines(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def warned(*_: object) -> object:
        warnings.warn("version 3 is missing", errors.LogWarning, stacklevel=1)
        return reading.Number("count", 5)

    monkeypatch.setattr(reading, "count", warned)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert run("count", logs).err == "warning: version 3 is missing\n"
        assert run("count", logs, "--json").err == '{"warning":{"message":"version 3 is missing"}}\n'


def test_ctrl_c_says_nothing(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(reading, "count", interrupted)
    result = run("count", logs)
    assert (result.code, result.out, result.err) == (INTERRUPTED, "", "")


def test_a_reader_that_goes_away_is_no_error(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed(Stream):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    discarded = []
    monkeypatch.setattr(Screen, "discard", lambda self: discarded.append(self))
    monkeypatch.setattr(sys, "stdout", Closed())
    monkeypatch.setattr(sys, "stderr", Stream())
    from indextables.cli import main

    assert main(["scan", str(logs)]) == PIPE_CLOSED
    assert len(discarded) == 1
    assert sys.stderr.text == ""


def program(*arguments: object, **more: object) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "indextables.cli", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)


@pytest.mark.slow
def test_a_real_pipe_that_closes(tmp_path: Path) -> None:
    ok("import", tmp_path / "t", write_csv(tmp_path / "a.csv", log_rows(20_000)))
    with program("scan", tmp_path / "t") as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"ts\t")
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
        assert process.wait(60) == PIPE_CLOSED


@pytest.mark.slow
def test_a_real_ctrl_c_during_an_import(tmp_path: Path) -> None:
    """Rows that are still coming in when it is interrupted are not committed, and no file stays."""
    ok("create", tmp_path / "t", "-s", "n long, message text")
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    (tmp_path / "tmp").mkdir()
    process = program("import", tmp_path / "t", "-", "-f", "jsonl", stdin=subprocess.PIPE, env=environment)
    assert process.stdin is not None
    process.stdin.write(b'{"n": 1, "message": "a b c"}\n' * 200_000)
    process.stdin.flush()
    deadline = time.monotonic() + 30
    while not list((tmp_path / "tmp").iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (INTERRUPTED, b"", b"")
    assert ok("count", tmp_path / "t").out == "0\n"
    assert not list((tmp_path / "t").rglob("*.split"))
    assert not list((tmp_path / "tmp").iterdir())


@pytest.mark.slow
def test_the_program_starts_without_what_it_does_not_need() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "indextables.cli", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("indextables ")
    lines = [line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines() if line.startswith("import time:")]
    found = {line.split(".")[0] for line in lines}
    assert "typer" in found, "or this measures nothing"
    assert found.isdisjoint({"datafusion", "sqlglot", "tantivy", "vortex", "pydantic", "rich"}), found


def test_streams_of_other_encodings(logs: Path) -> None:
    assert isinstance(Stream(), io.TextIOWrapper)
    result = run("search", logs, "timeout", "-n", 1, terminal=True, encoding="ascii")
    assert result.code == 0
    assert result.out.isascii()
