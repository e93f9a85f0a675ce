"""The demo is an executed example: it runs without a terminal, in plain text, and what it claims is so."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SECONDS = 120


def run_demo(**environment: str) -> str:
    inherited = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "demo.py")],
        env={**inherited, **environment},
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    assert not done.stderr
    return done.stdout.decode(environment.get("PYTHONIOENCODING", "utf-8"))


def check_race(text: str, *, won: str, lost: str, none: str) -> None:
    """Each version was won by one of the two writers, and each writer won half of them."""
    assert "18 commits, 18 versions, 18 files: none lost, none twice." in text
    lanes = [line.split()[1:] for line in text.splitlines() if line.split()[:1] in (["ada"], ["bob"]) and won in line]
    assert [lane.count(won) for lane in lanes] == [9, 9]
    assert all({mine, other} in ({won, lost}, {won, none}) for mine, other in zip(*lanes, strict=True))
    assert f"{sum(lane.count(lost) for lane in lanes)} lost a race" in text


@pytest.mark.slow
def test_the_demo_tells_what_happens():
    text = run_demo(PYTHONIOENCODING="utf-8")
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 100
    check_race(text, won="██", lost="✗", none="·")
    for error in ("FilesChanged", "MetadataChanged", "PredicateError", "UnsafePath", "SchemaError", "VersionNotFound"):
        assert error in text
    assert re.search(r"day = DATE '2026-03-14' +12 .* 99\.7%", text)
    assert re.search(r"level = 'FATAL' +22 ", text)
    assert re.search(r"version=9\) +9 +9 *$", text, re.MULTILINE)
    assert re.search(r'timestamp="[^"]+"\) +18 +18 *$', text, re.MULTILINE)
    assert re.search(r"sent again +not written, batch 42 of nightly-load is in the table already", text)
    assert "README.md" in text.splitlines()[-3]
    assert "make bench" in text.splitlines()[-2]


@pytest.mark.slow
def test_the_demo_gets_by_with_ascii():
    text = run_demo(PYTHONIOENCODING="ascii")
    check_race(text, won="##", lost="x", none=".")
    assert re.search(r"day = DATE '2026-03-14' +12 +# ", text)
