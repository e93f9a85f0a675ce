"""The README's snippets run, and say what their comments say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"


def snippets() -> list[str]:
    """Those that need no Spark: tests/spark runs the others."""
    found = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    return [code for code in found if "spark" not in code.replace("spark.indextables.", "")]


def test_snippets_run(tmp_path: Path) -> None:
    code = snippets()
    assert len(code) == 4
    program = "from indextables import Table\n" + "\n".join(code).replace("/tmp/logs", str(tmp_path / "logs"))
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert lines[0] == "300"
    assert lines[1].count("'id': 7") == 2
    assert "'message': 'disk 7 is full'" in lines[1]
    assert lines[2] == str(["disk 7 is full"] * 3)
    assert lines[3:5] == ["0", "1000"]
    assert "pyarrow.Table" in lines[5]
    assert "10 files became 1" in lines
    assert "Prewarmed(fetched=1, present=2, left_out=0)" in lines
    assert "did you mean spark.indextables.cache.disk.maxBytes?" in lines[-1]
    assert lines[-5:-1] == ["0", "the table needs nothing", "would delete nothing", "1"]


def test_the_example_is_about_twenty_lines() -> None:
    assert len([line for line in snippets()[0].splitlines() if line.strip()]) <= 20


def test_links_lead_somewhere() -> None:
    for page in [README, *README.parent.glob("docs/**/*.md"), README.parent / "CONTRIBUTING.md"]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), (page.name, target)
