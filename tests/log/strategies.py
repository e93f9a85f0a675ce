"""Hypothesis strategies for what may stand in a log."""

from __future__ import annotations

import types
import typing
from typing import Any

import msgspec
from hypothesis import strategies as st

from indextables.log.actions import (
    AddAction,
    CommitInfo,
    FileFormat,
    MetadataAction,
    ProtocolAction,
    RemoveAction,
    SkipAction,
    TxnAction,
)

INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
NASTY = (
    "\u2028",
    "\u2029",
    "\u0085",
    "\x00",
    "\x1f",
    "\x7f",
    "\r",
    "\n",
    '"',
    "\\",
    "/",
    "😀",
    "\uffff",
    "\ufeff",
    "é",
)


def texts() -> st.SearchStrategy[str]:
    """Any text, with what breaks parsers more often than chance would have it."""
    return st.one_of(
        st.just(""),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
        st.lists(st.sampled_from(NASTY), max_size=5).map("".join),
    )


def paths() -> st.SearchStrategy[str]:
    """Texts that can be a path inside a table: no NUL, no empty component, nothing absolute."""
    return texts().map(lambda text: "p" + "".join(c for c in text if c not in "/:\0").replace("..", "") + ".split")


def maps(nulls: bool) -> st.SearchStrategy[dict[str, str | None]]:
    return st.dictionaries(texts(), st.none() | texts() if nulls else texts(), max_size=3)


def json_values() -> st.SearchStrategy[Any]:
    leaves = st.none() | st.booleans() | INT64 | st.floats(allow_nan=False, allow_infinity=False) | texts()
    return st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts(), inner, max_size=2), max_leaves=5
    )


def _field(kind: Any, name: str) -> st.SearchStrategy[Any]:
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        inner = [part for part in args if part is not type(None)]
        return st.none() | _field(inner[0], name)
    if kind is str:
        return paths() if name == "path" else texts()
    if origin is typing.Annotated:
        (limits,) = kind.__metadata__
        return st.integers(limits.ge, limits.le)
    if kind is int:
        return INT64
    if kind is bool:
        return st.booleans()
    if kind is FileFormat:
        return st.builds(FileFormat, texts(), maps(nulls=False))
    if origin is tuple:
        return st.lists(texts(), max_size=3).map(tuple)
    if origin is dict:
        if args[1] is Any:
            return st.dictionaries(texts(), json_values(), max_size=3)
        return maps(nulls=args[1] is not str and name != "partition_values")
    raise AssertionError(f"{name} has a type that nobody thought of: {kind}")


def structs(kind: type[msgspec.Struct], **given: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Values with every field drawn, whatever fields there are."""
    hints = typing.get_type_hints(kind, include_extras=True)
    fields = {field.name: _field(hints[field.name], field.name) for field in msgspec.structs.fields(kind)}
    return st.builds(kind, **fields | given)


def adds() -> st.SearchStrategy[AddAction]:
    return structs(AddAction)


ACTIONS: dict[str, st.SearchStrategy[Any]] = {
    "adds": adds(),
    "removes": structs(RemoveAction),
    "protocol": structs(ProtocolAction),
    "metadata": structs(MetadataAction),
    "skips": structs(SkipAction),
    "txns": structs(TxnAction),
    "commit_info": structs(CommitInfo, num_actions=st.none()),
}
"""One strategy for each field of `Actions`."""
