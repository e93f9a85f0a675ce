"""Errors are one line and an exit code. No traceback, no noise, whoever goes away."""

from __future__ import annotations

import errno
import inspect
import io
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.support import Stream, log_rows, ok, program, run, write_csv
from indextables import errors
from indextables.cli import reading
from indextables.cli.errors import (
    BUG,
    CONFLICT,
    FAILED,
    NOT_FOUND,
    OUTCOME_UNKNOWN,
    PIPE_CLOSED,
    USAGE,
    exit_code,
)
from indextables.cli.render.screen import Screen

CODES = {
    USAGE: {"OptionError", "SchemaError", "PredicateError", "QueryError", "StatementError"},
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
        (("count", "xx://what"), FAILED, "xx"),
        (("count", "{logs}", "--option", "checkpoint.intervall=3"), USAGE, "checkpoint.interval"),
        (("aggregate", "{logs}", "-b", "nope"), USAGE, "nope"),
        (
            ("aggregate", "{logs}", "-m", "n="),
            USAGE,
            "--metric is 'n=', which says nothing: write such as --metric 'n=count'",
        ),
        (
            ("aggregate", "{logs}", "-m", ""),
            USAGE,
            "--metric is '', which says nothing: write such as --metric 'n=count'",
        ),
        (
            ("aggregate", "{logs}", "-b", "k = "),
            USAGE,
            "--by is 'k = ', which says nothing: write such as --by 'k=level'",
        ),
        (
            ("create", "{logs}", "-s", "n long"),
            CONFLICT,
            "there is a table at {logs} already; with --if-missing that is fine",
        ),
        (("count", "{logs}-not"), NOT_FOUND, "{logs}-not; make one with indextables create or import"),
    ],
)
def test_errors_are_one_line(logs: Path, arguments: tuple[str, ...], code: int, message: str) -> None:
    typed = [argument.replace("{logs}", str(logs)) for argument in arguments]
    message = message.replace("{logs}", str(logs))
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


def test_a_bug_is_one_line_too(logs: Path, counting_is: Callable[..., None]) -> None:
    def broken(*_: object) -> None:
        raise KeyError("a key")

    counting_is(broken)
    result = run("count", logs)
    assert result.code == BUG
    assert result.err == "error: internal error, KeyError: 'a key' (set INDEXTABLES_TRACEBACK=1 to see where)\n"
    with pytest.raises(KeyError):
        run("count", logs, INDEXTABLES_TRACEBACK="1")


def test_warnings_about_a_log_are_lines(logs: Path, counting_is: Callable[..., None]) -> None:
    def warned(*_: object) -> object:
        warnings.warn("version 3 is missing", errors.LogWarning, stacklevel=1)
        return reading.Number("count", 5)

    counting_is(warned)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert run("count", logs).err == "warning: version 3 is missing\n"
        assert run("count", logs, "--json").err == '{"warning":{"message":"version 3 is missing"}}\n'


def test_a_reader_that_goes_away_is_no_error(logs: Path, discarded: list[Screen]) -> None:
    class Closed(Stream):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    result = run("scan", logs, stdout=Closed())
    assert (result.code, result.err) == (PIPE_CLOSED, "")
    assert len(discarded) == 1


@pytest.mark.usefixtures("discarded")
def test_an_answer_that_cannot_be_written(t: str, tmp_path: Path) -> None:
    class Full(Stream):
        def write(self, text: str) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    sentence = "the answer cannot be written to standard output (No space left on device)"
    path = write_csv(tmp_path / "a.csv", log_rows(3))
    for arguments, message in (
        (("import", t, str(path), "--schema", "ms long", "-o", "table"), f"it is done, but {sentence}"),
        (("scan", t), sentence),
    ):
        result = run(*arguments, stdout=Full())
        assert result.code == FAILED
        assert result.err.splitlines()[-1] == f"error: {message}"


@pytest.mark.slow
def test_a_real_pipe_that_closes(tmp_path: Path) -> None:
    """In a real program, which does not load pandas either."""
    ok("import", tmp_path / "t", write_csv(tmp_path / "a.csv", log_rows(20_000)))
    (tmp_path / "pandas.py").write_text("raise RuntimeError('pandas takes a second to load')")
    paths = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    with program("scan", tmp_path / "t", env={**os.environ, "PYTHONPATH": paths}) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"ts\t")
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
        assert process.wait(60) == PIPE_CLOSED


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
    assert found.isdisjoint({"datafusion", "tantivy", "vortex", "pydantic", "rich"}), found


def test_streams_of_other_encodings(logs: Path) -> None:
    assert isinstance(Stream(), io.TextIOWrapper)
    result = run("search", logs, "timeout", "-n", 1, terminal=True, encoding="ascii")
    assert result.code == 0
    assert result.out.isascii()
