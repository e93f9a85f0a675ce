"""Mutants: small bugs planted one at a time, each with the tests that must fail on it.

    python tests/state/mutants.py                 all of them
    python tests/state/mutants.py id [id …]       some of them
    python tests/state/mutants.py --list          what there is

`src` is copied to a temporary folder, one mutant is put into the copy, and the named tests run against it. A mutant is killed
when every test that it names fails; a test that passes has not seen the bug that it is there for.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # as a script

from state import mutants_of_avro, mutants_of_states, mutants_of_the_log
from state.mutant import Mutant

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
PACKAGE = SOURCE / "indextables"

MUTANTS: tuple[Mutant, ...] = mutants_of_avro.MUTANTS + mutants_of_states.MUTANTS + mutants_of_the_log.MUTANTS


@dataclass
class Verdict:
    """What became of a mutant: the tests that failed on it, those that did not notice, and how long that took."""

    mutant: Mutant
    failed: list[str] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)
    seconds: float = 0.0
    output: str = ""

    @property
    def killed(self) -> bool:
        return not self.passed and len(self.failed) == len(self.mutant.kills)


@contextmanager
def workshop() -> Iterator[Path]:
    """A copy of the sources that may be broken."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Path(folder) / "src"
        shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
        command = [sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "checked-hash", str(copy)]
        subprocess.run(command, check=True)
        yield copy


def mutate(mutant: Mutant, text: str) -> str:
    """The text with the bug in it."""
    if text.count(mutant.old) != 1:
        raise ValueError(f"{mutant.id}: {mutant.file} has its text {text.count(mutant.old)} times, not once")
    return text.replace(mutant.old, mutant.new)


def run(mutant: Mutant, copy: Path) -> Verdict:
    """Put the bug in, run the tests that must fail, and take it out again."""
    target = copy / "indextables" / mutant.file
    original = target.read_text()
    began = time.monotonic()
    target.write_text(mutate(mutant, original))
    try:
        failed, passed, output = _pytest(mutant.kills, copy)
    finally:
        target.write_text(original)
    return Verdict(mutant, failed, passed, time.monotonic() - began, output)


def _pytest(tests: tuple[str, ...], copy: Path) -> tuple[list[str], list[str], str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST")} | {
        "PYTHONPATH": str(copy),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "MUTANT_SOURCE": str(copy),
    }
    options = ["-q", "-rA", "--tb=line", "-p", "pytest_timeout", "-p", "no:cacheprovider", "--timeout=120"]
    nodes = [f"tests/state/{test}" for test in tests]
    command = [sys.executable, "-m", "pytest", *options, *nodes]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"pytest could not run {nodes}:\n{done.stdout}\n{done.stderr}")
    outcomes: dict[str, set[str]] = {}
    for outcome, node in re.findall(r"^(PASSED|FAILED) tests/state/([^\s\[]+)", done.stdout, re.MULTILINE):
        outcomes.setdefault(node, set()).add(outcome)
    failed = [test for test in tests if "FAILED" in outcomes.get(test, ())]
    passed = [test for test in tests if "FAILED" not in outcomes.get(test, ())]
    return failed, passed, done.stdout


def main(arguments: list[str]) -> int:
    """Run mutants and say what became of each."""
    chosen = [mutant for mutant in MUTANTS if not arguments or mutant.id in arguments]
    if "--list" in arguments:
        for mutant in MUTANTS:
            print(f"{mutant.id:52} {mutant.file:28} {', '.join(test.rpartition('::')[2] for test in mutant.kills)}")
        return 0
    if unknown := set(arguments) - {mutant.id for mutant in MUTANTS}:
        print(f"there is no mutant {', '.join(sorted(unknown))}; --list shows all")
        return 2
    survivors = 0
    with workshop() as copy:
        for mutant in chosen:
            verdict = run(mutant, copy)
            survivors += not verdict.killed
            word = "killed  " if verdict.killed else "SURVIVED"
            print(
                f"{word} {mutant.id:52} {len(verdict.failed)}/{len(mutant.kills)} tests, {verdict.seconds:.1f} s",
                flush=True,
            )
            for test in verdict.passed:
                print(f"         {test} did not notice")
    print(f"{len(chosen) - survivors} of {len(chosen)} mutants killed")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
