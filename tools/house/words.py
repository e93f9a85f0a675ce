"""Words: docstrings that lean on a neighbour, numbers without a sentence, modules that no package docstring lists."""

from __future__ import annotations

import ast
import re

from tools.house.source import Module, Result, Tree

_LEANING = re.compile(
    r"The same\b|The way back|As it|Those\b|These\b|What (it|they)\b|Them\b|Note that|Where (it|they)|Whether (it|they)"
    r"|It\b|They\b|More\b|Of\b|Some\b|One\b|All of them|Any of them|Nothing\b|And\b",
    re.IGNORECASE,
)
"""First words of a docstring that can hardly be understood without the line above it."""


def leaning_docstrings(tree: Tree) -> Result:
    """Docstrings of functions and classes that begin with a word that points elsewhere."""
    found = []
    for module in tree.modules.values():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                text = ast.get_docstring(node) or ""
                if _LEANING.match(text):
                    found.append(f"{module.place(node.lineno)} {node.name}: {text.splitlines()[0]}")
    return Result(len(found), tuple(found))


def bare_numbers(tree: Tree) -> Result:
    """Numeric constants of modules with neither a sentence below them nor a comment beside them."""
    found = []
    for module in tree.modules.values():
        lines = module.text.splitlines()
        for node, following in zip(module.tree.body, [*module.tree.body[1:], None], strict=True):
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and _is_number(node.value):
                last = node.end_lineno or node.lineno
                if not _is_text(following) and "#" not in lines[last - 1]:
                    found.append(f"{module.place(node.lineno)} {lines[node.lineno - 1]}")
    return Result(len(found), tuple(found))


def _is_number(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=value):
            return type(value) in (int, float)
        case ast.BinOp(left=left, right=right):
            return _is_number(left) and _is_number(right)
        case ast.UnaryOp(operand=operand):
            return _is_number(operand)
        case _:
            return False


def _is_text(node: ast.stmt | None) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def unlisted_modules(tree: Tree) -> Result:
    """Modules that the docstring of their package does not name as `module.py`."""
    found = [
        module.place(1)
        for package in tree.modules.values()
        for module in _inside(package, tree)
        if not re.search(rf"\b{module.path.stem}\.py\b", ast.get_docstring(package.tree) or "")
    ]
    return Result(len(found), tuple(found))


def listed_but_missing(tree: Tree) -> Result:
    """Modules that a package docstring lists at the beginning of a line, but that are not in the package."""
    found: list[str] = []
    for package in tree.modules.values():
        if package.is_package:
            text = ast.get_docstring(package.tree) or ""
            lines = [line for line in text.splitlines() if re.match(r"\s*\w+\.py\b", line)]
            names = re.findall(r"(?<!/)\b(\w+\.py)\b", "\n".join(lines))
            present = {path.name for path in package.path.parent.rglob("*.py")}
            found.extend(f"{package.place(1)} {name}" for name in names if name not in present)
    return Result(len(found), tuple(found))


def _inside(package: Module, tree: Tree) -> list[Module]:
    """The modules directly in a package; none for a module that is not one."""
    if not package.is_package:
        return []
    folder = package.path.parent
    modules = tree.modules.values()
    return [item for item in modules if item.path.parent == folder and not (item.is_package or item.is_program)]
