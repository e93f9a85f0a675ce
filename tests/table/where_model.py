"""What a condition with searches means, worked out in plain Python on plain rows, and its SQL text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import predicate_data as data
from indextables.core.predicate import Predicate, to_sql
from indextables.split.query.tree import All, And, Boost, Clauses, FieldName, Node, Not, Or
from split.query_text import to_text
from table.query_model import finds


@dataclass(frozen=True)
class Compared:
    """A predicate without searches."""

    predicate: Predicate


@dataclass(frozen=True)
class Searched:
    """A search of a column (None: of all), with the operator as it is spelled, or as a function."""

    column: str | None
    node: Node
    spelling: str
    """`operator`, `negated` (NOT between column and operator) or `function`."""
    operator: str = "INDEXQUERY"


@dataclass(frozen=True)
class Joined:
    """AND or OR."""

    word: str
    children: tuple[Condition, ...]


@dataclass(frozen=True)
class Negated:
    """NOT."""

    child: Condition


Condition = Compared | Searched | Joined | Negated


def meaning(condition: Condition, row: Mapping[str, Any]) -> bool | None:
    """What a condition is for one row: true, false or null, by Kleene's rules."""
    match condition:
        case Compared():
            return data.meaning(condition.predicate, dict(row))
        case Negated():
            return _not(meaning(condition.child, row))
        case Joined():
            decisive = condition.word.upper() == "OR"
            parts = [meaning(child, row) for child in condition.children]
            return decisive if decisive in parts else None if None in parts else not decisive
        case Searched():
            if condition.column is not None and row[condition.column] is None:
                return None
            found = finds(_asked_of(condition.node, condition.column), row)
            return not found if condition.spelling == "negated" else found


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value


def _asked_of(node: Node, column: str | None) -> Node:
    """The query with the column wherever it names no field."""
    match node:
        case And() | Or():
            return replace(node, children=tuple(_asked_of(child, column) for child in node.children))
        case Not() | Boost():
            return replace(node, child=_asked_of(node.child, column))
        case Clauses():
            parts = (
                tuple(_asked_of(child, column) for child in part) for part in (node.must, node.should, node.must_not)
            )
            return Clauses(*parts)
        case All():
            return node
    return replace(node, field=FieldName(column)) if node.field is None and column is not None else node


def sql(condition: Condition) -> str:
    """The condition as a user would write it."""
    match condition:
        case Compared():
            return to_sql(condition.predicate)
        case Negated():
            return f"not ({sql(condition.child)})"
        case Joined():
            return f" {condition.word} ".join(f"({sql(child)})" for child in condition.children)
        case Searched():
            text = "'" + to_text(condition.node).replace("\\", "\\\\").replace("'", "\\'") + "'"
            column, operator = condition.column, condition.operator
            match condition.spelling:
                case "operator":
                    return f"{column or '_indexall'} {operator} /* a word */ {text}"
                case "negated":
                    return f"{column or '_IndexAll'} NOT {operator.lower()} {text}"
                case _:
                    return f"IndexQueryAll({text})" if column is None else f"{operator.lower()}(`{column}`, {text})"
