"""The examples of `--help` and of the reference page run, and print what the page says."""

from __future__ import annotations

import gzip
import re
import shlex
from pathlib import Path

import pyarrow as pa
import pytest

from cli.support import Result, environment, log_rows, run, write_csv, write_jsonl
from indextables.cli.app import app
from indextables.cli.examples import EXAMPLES

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with the files that the examples speak of."""
    rows = log_rows(540)
    write_csv(tmp_path / "app.csv", rows[:500])
    (tmp_path / "app.csv.gz").write_bytes(gzip.compress((tmp_path / "app.csv").read_bytes()))
    (tmp_path / "more").mkdir()
    late = write_jsonl(tmp_path / "late.jsonl", rows[500:520]).read_bytes()
    (tmp_path / "late.jsonl.gz").write_bytes(gzip.compress(late))
    (tmp_path / "more" / "a.jsonl.gz").write_bytes(gzip.compress(late))
    with pa.CompressedOutputStream(str(tmp_path / "server.log.zst"), "zstd") as log:
        log.write(b"server started\ndisk full on node-1\nserver stopped\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shell(line: str) -> Result:
    """A line as a shell would run it. Only `indextables` is run here; small stand-ins do what is before and after it."""
    line, _, otherwise = line.partition(" || ")
    before, after, arguments = _parts(line)
    result = run(*arguments, stdin=_fed(before))
    text = result.out
    for command in after:
        text = _piped(command, text)
    if otherwise and result.code:
        return Result(0, text + otherwise.removeprefix("echo ") + "\n", result.err)
    return Result(result.code, text, result.err)


def _parts(line: str) -> tuple[list[str], list[list[str]], list[str]]:
    words = shlex.shlex(line, posix=True, punctuation_chars="|")
    words.whitespace_split = True
    pieces: list[list[str]] = [[]]
    for word in words:
        pieces.append([]) if word == "|" else pieces[-1].append(word)
    place = next(number for number, piece in enumerate(pieces) if piece[0] == "indextables")
    return (pieces[0] if place else []), pieces[place + 1 :], pieces[place][1:]


def _fed(command: list[str]) -> bytes:
    match command:
        case []:
            return b""
        case ["zcat", name]:
            return gzip.decompress(Path(name).read_bytes())
        case ["printf", text]:
            return text.replace("\\n", "\n").encode()
    raise AssertionError(command)


def _piped(command: list[str], text: str) -> str:
    import json

    lines = text.splitlines()
    match command:
        case ["sort"]:
            return "".join(f"{line}\n" for line in sorted(lines))
        case ["sort", "-rn"]:
            return "".join(f"{line}\n" for line in sorted(lines, reverse=True))
        case ["uniq", "-c"]:
            return "".join(f"{lines.count(line):7} {line}\n" for line in dict.fromkeys(lines))
        case ["head", "-n", count]:
            return "".join(f"{line}\n" for line in lines[: int(count)])
        case ["jq", *_, path]:
            names = re.findall(r"\.(\w+)", path)
            rows = [[json.loads(line)[name] for name in names] for line in lines]
            shown = [row if path.startswith("[") else row[0] for row in rows]
            return "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in shown)
    raise AssertionError(command)


def test_every_command_has_examples() -> None:
    names = {command.name or command.callback.__name__ for command in app.registered_commands}
    assert set(EXAMPLES) == names


@pytest.mark.slow
def test_the_examples_of_help_run(shop: Path) -> None:
    lines = [line for command in ("import", *EXAMPLES) for line in EXAMPLES[command]]
    for line in dict.fromkeys(lines):
        result = shell(line.replace("/tmp/", f"{shop}/made-"))
        if line == EXAMPLES["changes"][1]:
            assert (result.code, "ask for a later time" in result.err) == (3, True), "the table is younger than that"
        else:
            assert result.code == 0, (line, result)


def test_help_shows_the_examples() -> None:
    with environment(COLUMNS="200"):
        for command, lines in EXAMPLES.items():
            text = run(command, "--help", width=200).out
            assert all(line in text for line in lines), text


def blocks() -> list[str]:
    return re.findall(r"```console\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)


@pytest.mark.slow
def test_the_page_prints_what_it_says(shop: Path) -> None:
    ran = 0
    for block in blocks():
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, expected = part.partition("\n")
            result = shell(line)
            code = re.search(r"\[exit code (\d+)\]\n", expected)
            expected = re.sub(r"\[exit code \d+\]\n", "", expected)
            assert result.code == (int(code[1]) if code else 0), (line, result)
            found = "".join(f"{text.rstrip()}\n" for text in (result.err + result.out).splitlines())
            pattern = ".*".join(map(re.escape, expected.split("[...]")))
            assert re.fullmatch(pattern, found, re.DOTALL), (line, found, expected)
            ran += 1
    assert ran >= 15


def test_the_page_names_every_command_and_every_exit_code() -> None:
    from indextables.cli import errors

    text = PAGE.read_text("utf-8")
    assert all(f"| `{name} " in text for name in EXAMPLES)
    codes = re.findall(r"^ *(\d+)  ", errors.__doc__ or "", re.MULTILINE)
    assert len(codes) == 13
    assert all(re.search(rf"^\| .*\b{code}\b.* \|", text, re.MULTILINE) for code in codes)
