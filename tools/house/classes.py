"""Methods of classes, and functions that take a table's log and snapshot as two arguments."""

from __future__ import annotations

import ast

from tools.house.source import Result, Tree, functions


def _method_counts(tree: Tree) -> list[tuple[int, str, str]]:
    """Number of methods, name and place of every class, the largest first."""
    found = []
    for module in tree.modules.values():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                methods = sum(isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) for item in node.body)
                found.append((methods, node.name, module.place(node.lineno)))
    return sorted(found, reverse=True)


def split_reader(tree: Tree) -> Result:
    """Methods of `SplitReader`."""
    return next(
        (Result(count, (place,)) for count, name, place in _method_counts(tree) if name == "SplitReader"), Result(0)
    )


def largest_class(tree: Tree) -> Result:
    """Methods of the largest class."""
    counts = _method_counts(tree)
    return Result(counts[0][0], tuple(f"{name} {count}  {place}" for count, name, place in counts if count > 15))


def pairs(tree: Tree) -> Result:
    """Functions with a parameter of type TableLog and one of type Snapshot."""
    found = []
    for module in tree.modules.values():
        for function in functions(module.tree):
            arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
            types = [ast.unparse(argument.annotation) for argument in arguments if argument.annotation]
            if any("TableLog" in text for text in types) and any("Snapshot" in text for text in types):
                found.append(f"{module.place(function.lineno)} {function.name}")
    return Result(len(found), tuple(found))


def snapshot_tuples(tree: Tree) -> Result:
    """Functions of table/ that return a tuple with a snapshot in it."""
    found = []
    for module in tree.modules.values():
        for function in functions(module.tree) if ".table." in module.name else ():
            text = ast.unparse(function.returns) if function.returns else ""
            if "tuple[" in text and "Snapshot" in text:
                found.append(f"{module.place(function.lineno)} {function.name} -> {text}")
    return Result(len(found), tuple(found))
