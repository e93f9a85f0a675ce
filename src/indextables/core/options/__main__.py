"""`python -m indextables.core.options --write FILE` or `--check FILE`: the reference page of all options."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from indextables.core.options.page import render


def main(arguments: list[str] | None = None) -> int:
    """Write the page, or say whether it is up to date."""
    parser = argparse.ArgumentParser(prog="python -m indextables.core.options", description=__doc__)
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--write", type=Path, metavar="FILE", help="generate the page")
    mode.add_argument("--check", type=Path, metavar="FILE", help="fail when the page differs from the declarations")
    parsed = parser.parse_args(arguments)
    if parsed.write is not None:
        parsed.write.parent.mkdir(parents=True, exist_ok=True)
        parsed.write.write_text(render(), encoding="utf-8", newline="\n")
        return 0
    if parsed.check.is_file() and parsed.check.read_text(encoding="utf-8") == render():
        return 0
    sys.stderr.write(f"{parsed.check} is not up to date, run `make docs`\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
