"""Runs command lines in this process, with streams that are pipes or pretend to be a terminal."""

from __future__ import annotations

import csv
import io
import json
import os
import random
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TextIO

from indextables import Table
from indextables.cli import main
from indextables.cli.errors import NOT_FOUND

HEADER = ["ts", "day", "level", "host", "status", "ms", "message"]
MESSAGES = (
    "connection to db-{} timed out after a timeout of 5000 ms",
    "disk full on /var/lib/data-{}",
    "connection refused by upstream-{}",
    "request {} served in time",
    "user {} logged in",
)


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def json(self) -> dict[str, Any]:
        assert self.out.count("\n") == 1, self.out
        return json.loads(self.out)

    @property
    def cells(self) -> list[list[str]]:
        return [line.split("\t") for line in self.out.splitlines()]

    @property
    def error(self) -> dict[str, Any]:
        assert self.err.count("\n") == 1, self.err
        return json.loads(self.err)["error"]


class Stream(io.TextIOWrapper):
    """A stream into memory."""

    def __init__(self, terminal: bool = False, encoding: str = "utf-8", data: bytes = b"") -> None:
        super().__init__(io.BytesIO(data), encoding=encoding, newline="")
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal

    @property
    def text(self) -> str:
        self.flush()
        return self.buffer.getvalue().decode(self.encoding)


@contextmanager
def environment(**values: str | None):
    before = {name: os.environ.get(name) for name in values}
    for name, value in values.items():
        os.environ.pop(name, None) if value is None else os.environ.__setitem__(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.__setitem__(name, value)


def run(
    *arguments: object,
    stdin: bytes | TextIO = b"",
    stdout: Stream | None = None,
    terminal: bool = False,
    width: int = 100,
    encoding: str = "utf-8",
    **env: str,
) -> Result:
    """Run one command line. A terminal has colours unless `NO_COLOR` is given."""
    given = Stream(data=stdin) if isinstance(stdin, bytes) else stdin
    streams = (given, stdout or Stream(terminal, encoding), Stream(terminal, encoding))
    old = (sys.stdin, sys.stdout, sys.stderr)
    settings = {"COLUMNS": str(width), "TERM": "xterm-256color", "NO_COLOR": None, "FORCE_COLOR": None, **env}
    with environment(**settings):
        sys.stdin, sys.stdout, sys.stderr = streams
        try:
            code = main([str(argument) for argument in arguments])
        finally:
            sys.stdin, sys.stdout, sys.stderr = old
    return Result(code, streams[1].text, streams[2].text)


def program(*arguments: object, **more: Any) -> subprocess.Popen[bytes]:
    """The same in a process of its own, with pipes."""
    command = [sys.executable, "-m", "indextables.cli", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)


def ok(*arguments: object, **more: Any) -> Result:
    """Run one that must succeed."""
    result = run(*arguments, **more)
    assert result.code == 0, result
    return result


def log_rows(count: int, seed: int = 1) -> list[list[str]]:
    """Rows of a log, the same each time."""
    chance = random.Random(seed)
    moment = datetime(2026, 3, 1, tzinfo=UTC)
    rows = []
    for number in range(count):
        moment += timedelta(seconds=chance.randrange(1, 120))
        text = moment.isoformat(timespec="seconds").replace("+00:00", "Z")
        message = MESSAGES[number % len(MESSAGES)].format(number % 7)
        level = "ERROR" if number % 5 < 3 and number % 2 else "INFO"
        status = "503" if number % 10 == 0 else "200"
        rows.append([text, text[:10], level, f"node-{number % 4}", status, str(number * 7 % 1000), message])
    return rows


def write_csv(path: Path, rows: list[list[str]], header: list[str] = HEADER) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])
    return path


def write_jsonl(path: Path, rows: list[list[str]]) -> Path:
    objects = [{**dict(zip(HEADER, row, strict=True)), "status": int(row[4]), "ms": int(row[5])} for row in rows]
    path.write_text("".join(json.dumps(row) + "\n" for row in objects), encoding="utf-8")
    return path


def exists(url: str) -> bool:
    return run("count", url).code != NOT_FOUND


def rows_of(url: str) -> list[dict[str, Any]]:
    return Table.open(url).scan().read_all().to_pylist()


def types_of(url: str) -> dict[str, str]:
    return {column["name"]: column["type"] for column in ok("describe", url, "--json").json["columns"]}


def indexes_of(url: str) -> dict[str, str]:
    return {column["name"]: column["index"] for column in ok("describe", url, "--json").json["columns"]}
