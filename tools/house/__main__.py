"""`python -m tools.house`: measure a tree and print the table."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tools.house.measures import MEASURES
from tools.house.report import is_met, places, table
from tools.house.source import Tree


def main() -> int:
    """Exit code 1 if `--check` is given and a goal is not met; else 0."""
    keys = [measure.key for measure in MEASURES]
    parser = argparse.ArgumentParser(
        prog="python -m tools.house", description="how easily a stranger finds a way through the code"
    )
    parser.add_argument(
        "--root", type=Path, default=Path(__file__).parents[2], help="the tree to measure (default: this one)"
    )
    parser.add_argument("--only", metavar="KEYS", help=f"some measures, by commas: {','.join(keys)}")
    parser.add_argument("--static", action="store_true", help="only what is read from the source, in a second")
    parser.add_argument("--list", metavar="KEYS", help="also print the places that these measures counted")
    parser.add_argument("--check", action="store_true", help="fail if a goal is not met")
    arguments = parser.parse_args()
    listed = arguments.list.split(",") if arguments.list else []
    wanted = arguments.only.split(",") if arguments.only else listed or keys
    unknown = {*wanted, *listed} - set(keys)
    if unknown:
        parser.error(f"no such measure: {', '.join(sorted(unknown))}")
    tree = Tree(arguments.root.resolve())
    chosen = [measure for measure in MEASURES if measure.key in wanted and not (arguments.static and measure.runs_code)]
    taken = [(measure, measure.take(tree)) for measure in chosen]
    sys.stdout.write(table(taken) + "\n")
    failed = [key for key, result in taken if not is_met(key, result)] if arguments.check else []
    for measure, result in taken:
        if measure.key in listed or measure in failed:
            sys.stdout.write("\n" + places(measure, result) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
