"""Imports between modules: cycles, flat packages, and the modules that one room takes from another."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from tools.house.source import PACKAGE, Module, Result, Tree


def imports(tree: Tree) -> dict[str, set[str]]:
    """Module → the modules of the package that it imports anywhere, functions included."""
    return {name: set(_imported(module, tree.modules)) - {name} for name, module in tree.modules.items()}


def _imported(module: Module, known: Mapping[str, Module]) -> Iterator[str]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            base = _base(node, module)
            for alias in node.names if base.split(".")[0] == PACKAGE else ():
                yield f"{base}.{alias.name}" if f"{base}.{alias.name}" in known else base


def _base(node: ast.ImportFrom, module: Module) -> str:
    """The absolute name of the package or module after `from`."""
    if not node.level:
        return node.module or ""
    package = module.name.split(".") if module.is_package else module.name.split(".")[:-1]
    above = package[: len(package) - node.level + 1]
    return ".".join([*above, node.module] if node.module else above)


def cycles(tree: Tree) -> Result:
    """Groups of modules that import each other in a circle (Tarjan's strongly connected components)."""
    graph = imports(tree)
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    groups: list[list[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for target in graph.get(name, ()):
            if target not in index:
                visit(target)
                low[name] = min(low[name], low[target])
            elif target in stack:
                low[name] = min(low[name], index[target])
        if low[name] == index[name]:
            at = stack.index(name)
            group = stack[at:]
            del stack[at:]
            if len(group) > 1:
                groups.append(sorted(group))

    for name in graph:
        if name not in index:
            visit(name)
    return Result(len(groups), tuple(" ⇄ ".join(group) for group in sorted(groups)))


def room(name: str) -> str:
    """The first package below the root: `log` for `indextables.log.avro.manifest`."""
    return name.split(".")[1] if "." in name else ""


def taken_by_spark(tree: Tree) -> Result:
    """Modules of log, split and storage that modules of spark import."""
    users: dict[str, list[str]] = defaultdict(list)
    for name, targets in imports(tree).items():
        if room(name) == "spark":
            for target in targets:
                if room(target) in {"log", "split", "storage"}:
                    users[target].append(name)
    return Result(len(users), tuple(f"{target} ◀── {', '.join(sorted(by))}" for target, by in sorted(users.items())))


def package_sizes(tree: Tree) -> Counter[str]:
    """Package → modules directly in it, without `__init__` and `__main__`."""
    plain = [module for module in tree.modules.values() if not (module.is_package or module.is_program)]
    return Counter(module.name.rpartition(".")[0] for module in plain)


def largest_package(tree: Tree) -> Result:
    """Modules in the largest package other than log."""
    sizes = package_sizes(tree)
    del sizes[f"{PACKAGE}.log"]
    return Result(max(sizes.values()), tuple(f"{name} {count}" for name, count in sizes.most_common(5)))


def log_package(tree: Tree) -> Result:
    """Modules directly in log."""
    return Result(package_sizes(tree)[f"{PACKAGE}.log"])


def repeated_names(tree: Tree) -> Result:
    """File names that several packages use. They are to mean the same role everywhere."""
    by_name: dict[str, list[str]] = defaultdict(list)
    for module in tree.modules.values():
        if not (module.is_package or module.is_program):
            by_name[module.path.name].append(module.name.removeprefix(f"{PACKAGE}."))
    repeated = {name: found for name, found in by_name.items() if len(found) > 1}
    return Result(len(repeated), tuple(f"{name}: {', '.join(found)}" for name, found in sorted(repeated.items())))
