"""State of the process: fork hooks, and the functions that open a table's log."""

from __future__ import annotations

import ast

from tools.house.source import Result, Tree, functions


def _called(node: ast.AST) -> set[str]:
    """Last names of everything that is called below a node."""
    calls = [child.func for child in ast.walk(node) if isinstance(child, ast.Call)]
    return {ast.unparse(function).rsplit(".", 1)[-1] for function in calls}


def fork_hooks(tree: Tree) -> Result:
    """Calls of `os.register_at_fork`."""
    found = [
        module.place(node.lineno)
        for module in tree.modules.values()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("register_at_fork")
    ]
    return Result(len(found), tuple(found))


def log_openings(tree: Tree) -> Result:
    """Functions that resolve a URL and make a `TableLog` of it."""
    found = [
        f"{module.place(function.lineno)} {function.name}"
        for module in tree.modules.values()
        for function in functions(module.tree)
        if {"TableLog", "resolve"} <= _called(function)
    ]
    return Result(len(found), tuple(found))
