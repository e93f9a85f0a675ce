"""The simulation on the command line.

PYTHONPATH=src:tests python -m sim list
PYTHONPATH=src:tests python -m sim run general --seeds 0:300
PYTHONPATH=src:tests python -m sim run race --planted no-read-back
PYTHONPATH=src:tests python -m sim replay general 17 [--cut '{"actors": ["B"]}']
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from sim.planted import PLANTED
from sim.report import line
from sim.runner import run
from sim.scenarios import SCENARIOS
from sim.shrink import explain, from_text
from sim.weather import Cut


def main() -> int:
    parser = argparse.ArgumentParser(prog="sim", description="deterministic simulation of processes on one table")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("list", help="scenarios and planted bugs")
    many = verbs.add_parser("run", help="schedules until one breaks a rule, which is shrunk")
    many.add_argument("scenario", choices=SCENARIOS)
    many.add_argument("--seeds", default="0:300", help="first:end")
    many.add_argument("--planted", choices=PLANTED)
    many.add_argument("--all", action="store_true", help="go on after a violation, and do not shrink")
    one = verbs.add_parser("replay", help="one schedule, with its trace")
    one.add_argument("scenario", choices=SCENARIOS)
    one.add_argument("seed", type=int)
    one.add_argument("--cut", default="{}")
    one.add_argument("--planted", choices=PLANTED)
    arguments = parser.parse_args()
    match arguments.verb:
        case "list":
            return _list()
        case "run":
            return _run(arguments)
        case _:
            return _replay(arguments.scenario, arguments.seed, from_text(arguments.cut), arguments.planted)


def _list() -> int:
    for name, build in SCENARIOS.items():
        print(f"{name:12s} {build.__doc__}")
    for bug in sorted(PLANTED.values(), key=lambda bug: bug.number):
        print(f"{bug.number:2d} {bug.name:18s} in {bug.scenario:11s} {bug.about}")
    return 0


def _run(arguments: argparse.Namespace) -> int:
    first, _, end = arguments.seeds.partition(":")
    totals: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    for seed in range(int(first), int(end)):
        outcome = run(arguments.scenario, seed, planted=arguments.planted)
        totals += outcome.counts
        if outcome.violation is None:
            continue
        kinds[outcome.violation.kind] += 1
        print(f"seed {seed}: {outcome.violation}", flush=True)
        if not arguments.all:
            print(explain(outcome, arguments.planted))
            break
    print(line(totals))
    if kinds:
        print(", ".join(f"{kind} x{count}" for kind, count in kinds.most_common()))
    return 1 if kinds else 0


def _replay(scenario: str, seed: int, cut: Cut, planted: str | None) -> int:
    outcome = run(scenario, seed, cut, planted)
    print("\n".join(outcome.lines()))
    print(f"=> {outcome.violation or 'no violation'}")
    print(line(outcome.counts))
    return 1 if outcome.violation else 0


if __name__ == "__main__":
    sys.exit(main())
