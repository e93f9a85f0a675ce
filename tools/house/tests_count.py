"""Tests that reach into the code: private attributes, and `monkeypatch.setattr`."""

from __future__ import annotations

import ast

from tools.house.source import Result, Tree


def private_attributes(tree: Tree) -> Result:
    """Attributes with a leading underscore of anything but `self` and `cls`."""
    found = [
        f"{path.relative_to(tree.root)}:{node.lineno} {ast.unparse(node)}"
        for path, parsed in tree.tests.items()
        for node in ast.walk(parsed)
        if isinstance(node, ast.Attribute) and _is_private(node)
    ]
    return Result(len(found), tuple(found))


def _is_private(node: ast.Attribute) -> bool:
    own = isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}
    return node.attr.startswith("_") and not node.attr.startswith("__") and not own


def patches(tree: Tree) -> Result:
    """Calls of `monkeypatch.setattr`. Patches within a context of their own (`patch.setattr`) are not among them."""
    found = [
        f"{path.relative_to(tree.root)}:{node.lineno} {', '.join(map(ast.unparse, node.args[:2]))}"
        for path, parsed in tree.tests.items()
        for node in ast.walk(parsed)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "monkeypatch.setattr"
    ]
    return Result(len(found), tuple(found))
