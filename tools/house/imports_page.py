"""The page of imports between packages, drawn from the code: docs/design/imports.md."""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from tools.house.graph import imports
from tools.house.source import PACKAGE, Tree

Graph = Mapping[str, set[str]]

_HEAD = """\
# Imports between packages

Written by `make docs` from the code; `make check` fails where the page and the code differ. An arrow means "imports", and
arrows that follow from others are left out. The layers that keep arrows pointing one way are in `pyproject.toml`, under
`tool.importlinter`.
"""


def _between(tree: Tree, depth: int, inside: str) -> dict[str, set[str]]:
    """Edges between the packages at a depth of the module tree, for modules below `inside`."""
    edges: dict[str, set[str]] = defaultdict(set)
    for name, targets in imports(tree).items():
        for target in targets:
            if name.startswith(f"{inside}.") and target.startswith(f"{inside}."):
                source, goal = ".".join(name.split(".")[:depth]), ".".join(target.split(".")[:depth])
                edges[source].update({goal} - {source})
    return dict(edges)


def _reduced(graph: Graph) -> dict[str, list[str]]:
    """The arrows that do not follow from two or more others. Arrows of a circle stay."""
    below = {name: _reachable(graph, name) for name in graph}

    def follows(name: str, target: str) -> bool:
        between = graph[name] - {target}
        return any(
            target in below.get(via, ()) and name not in below.get(via, ()) and via not in below.get(target, ())
            for via in between
        )

    return {name: sorted(target for target in targets if not follows(name, target)) for name, targets in graph.items()}


def _reachable(graph: Graph, start: str) -> set[str]:
    """All ends of ways that begin at a node."""
    visited: set[str] = set()
    waiting = list(graph.get(start, ()))
    while waiting:
        name = waiting.pop()
        if name not in visited:
            visited.add(name)
            waiting.extend(graph.get(name, ()))
    return visited


def _drawn(graph: Graph) -> str:
    """A graph in Mermaid's language. Nodes have their last names."""
    arrows = [(name, target) for name, targets in sorted(_reduced(graph).items()) for target in targets]
    lines = [f"    {_last(name)} --> {_last(target)}" for name, target in arrows]
    return "\n".join(["```mermaid", "graph TD", *lines, "```"])


def _last(name: str) -> str:
    return name.rsplit(".", 1)[-1]


def _rooms(tree: Tree) -> str:
    packages = {module.name for module in tree.modules.values() if module.is_package}
    graph = {name: targets & packages for name, targets in _between(tree, 2, PACKAGE).items() if name in packages}
    lines = ["| package | imports |", "|---|---|"]
    for name, targets in sorted(graph.items()):
        lines.append(
            f"| `{_last(name)}` | {', '.join(f'`{_last(target)}`' for target in sorted(targets)) or 'no other'} |"
        )
    return "\n".join(["## Rooms", "", _drawn(graph), "", *lines, ""])


def _inside(tree: Tree, name: str) -> str:
    """The graph of the packages and modules directly in a room. A package may stand above and below another one."""
    graph = _between(tree, 3, f"{PACKAGE}.{name}")
    lines = [f"## Inside `{name}/`", "", _drawn(graph), ""]
    return "\n".join(lines)


def page(tree: Tree) -> str:
    """The whole page."""
    return "\n".join([_HEAD, _rooms(tree), *(_inside(tree, name) for name in ("split", "table", "spark"))])


def main() -> int:
    """Write the page, or compare a file with it."""
    parser = argparse.ArgumentParser(prog="python -m tools.house.imports_page")
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--write", type=Path)
    action.add_argument("--check", type=Path)
    arguments = parser.parse_args()
    text = page(Tree(Path(__file__).parents[2]))
    if arguments.write:
        arguments.write.write_text(text)
        return 0
    if arguments.check.read_text() != text:
        sys.stderr.write(f"{arguments.check} is not what the code says; run `make docs`\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
