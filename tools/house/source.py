"""The modules of a source tree, parsed once."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

PACKAGE = "indextables"


@dataclass(frozen=True)
class Result:
    """A figure, and the places that were counted."""

    value: int
    places: tuple[str, ...] = ()


@dataclass(frozen=True)
class Module:
    """A module of the package. `name` begins with the package, `room` is the name without it."""

    name: str
    path: Path
    text: str
    tree: ast.Module

    @property
    def is_package(self) -> bool:
        """True for an `__init__.py`."""
        return self.path.name == "__init__.py"

    @property
    def is_program(self) -> bool:
        """True for a `__main__.py`."""
        return self.path.name == "__main__.py"

    def place(self, line: int) -> str:
        """Path inside the package and line, as editors take them."""
        return f"{self.name.replace('.', '/')}{'/__init__' if self.is_package else ''}.py:{line}"


@dataclass(frozen=True)
class Tree:
    """A checkout of the project."""

    root: Path

    @cached_property
    def modules(self) -> dict[str, Module]:
        """All modules of the package by their dotted names."""
        source = self.root / "src"
        found = {}
        for path in sorted((source / PACKAGE).rglob("*.py")):
            parts = path.relative_to(source).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            text = path.read_text()
            found[name] = Module(name, path, text, ast.parse(text))
        return found

    @cached_property
    def tests(self) -> dict[Path, ast.Module]:
        """All parsed files below tests/."""
        return {path: ast.parse(path.read_text()) for path in sorted((self.root / "tests").rglob("*.py"))}


def functions(tree: ast.AST) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """All functions and methods below a node."""
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
