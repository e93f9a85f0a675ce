"""Completing what is typed with what the table has."""

from __future__ import annotations

from typing import Any


def complete_columns(ctx: Any, incomplete: str) -> list[str]:
    """Names of columns, after those that are there already."""
    done, comma, last = incomplete.rpartition(",")
    taken = done.split(",")
    return [f"{done}{comma}{name}" for name in _columns(ctx) if name.startswith(last) and name not in taken]


def complete_column(ctx: Any, incomplete: str) -> list[str]:
    """Names of columns."""
    return [name for name in _columns(ctx) if name.startswith(incomplete)]


def _columns(ctx: Any) -> list[str]:
    from indextables.cli.targets import target
    from indextables.core.errors import IndexTablesError

    rest = [
        *getattr(ctx, "args", ()),
        None,
    ]  # an option without its value yet ends the reading before the table got its name
    url = ctx.params.get("table") or rest[0]
    if not url:
        return []
    try:
        names: list[str] = target(url).open().schema.names
    except IndexTablesError:  # there is nothing to complete with, and a shell is no place for an error
        return []
    return names
