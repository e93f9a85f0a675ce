"""The demo is an executed example: it runs without a terminal, in plain text, and what it claims is so."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SECONDS = 280


def run_demo(**environment: str) -> str:
    inherited = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "demo.py")],
        env={**inherited, "DEMO_ROWS": "15000", **environment},
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    notes = done.stderr.decode().splitlines()
    assert notes[0] == "logs is new, with this schema:"
    assert notes[-1].split() == ["message", "text"]
    assert len(notes) == 8
    return done.stdout.decode(environment.get("PYTHONIOENCODING", "utf-8"))


def check(text: str, *, block: str, width: int) -> None:
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= width
    assert "15,000 rows imported into" in text
    hits = [line for line in text.splitlines() if "*payment*" in line]
    assert len(hits) == 3
    hours = re.findall(rf"^2026-03-04 (\d\d):00:00Z +(\d+)  ({block}+)?", text, re.MULTILINE)
    assert len(hours) > 5, "an hour without any is not shown"
    assert [hour for hour, _, _ in hours] == sorted({hour for hour, _, _ in hours})
    counts = {hour: int(count) for hour, count, _ in hours}
    assert max(counts, key=counts.__getitem__) == "14"
    assert len({hour: drawn for hour, _, drawn in hours}["14"]) >= 12
    assert len(re.findall(r"\*circuit\* +\*breaker\*", text)) == 2
    now, before = map(int, re.findall(r"^(\d+)$", text, re.MULTILINE))
    assert now > before > 30
    assert "17,000 rows in" in text
    assert len(re.findall(r"\d ms ", text)) >= 7
    assert "the table is gone again" in text
    assert "README.md" in text.splitlines()[-2]


@pytest.mark.slow
def test_the_demo_tells_what_happens() -> None:
    check(run_demo(PYTHONIOENCODING="utf-8"), block="█", width=100)


@pytest.mark.slow
def test_the_demo_gets_by_with_ascii_on_a_narrow_screen() -> None:
    text = run_demo(PYTHONIOENCODING="ascii", COLUMNS="80")
    check(text, block="#", width=80)
