"""Tree → query text that reads back as the same tree."""

from __future__ import annotations

from indextables.split.query.tree import (
    All,
    And,
    Boost,
    Clauses,
    Exists,
    FieldName,
    Fuzzy,
    Node,
    Not,
    OneOf,
    Or,
    Phrase,
    Range,
    Regex,
    Term,
    Wildcard,
)

_SPECIAL = frozenset("()[]{}\"'^~:*?/\\+-!<>`&|")
_KEYWORDS = frozenset({"AND", "OR", "NOT", "TO", "IN"})


def to_text(node: Node) -> str:
    """One text of a tree. Groups stand in parentheses, whether they need them or not."""
    match node:
        case And(children):
            return " AND ".join(map(_operand, children))
        case Or(children):
            return " OR ".join(map(_operand, children))
        case Not(child):
            return f"NOT {_operand(child)}"
        case Clauses(must, should, must_not):
            signed = [("+", must), ("", should), ("-", must_not)]
            return " ".join(f"{sign}{_operand(child)}" for sign, children in signed for child in children)
        case Boost(child, factor):
            return f"{_operand(child)}^{factor:f}"
        case All():
            return "*"
        case _:
            return _leaf(node)


def _operand(node: Node) -> str:
    text = to_text(node)
    return f"({text})" if isinstance(node, And | Or | Not | Clauses | Boost) else text


def _leaf(node: Node) -> str:
    match node:
        case Exists(field):
            return f"{_named(field)}*"
        case Term(field, text):
            return f"{_named(field)}{_word(text)}"
        case Phrase(field, text, slop):
            return f"{_named(field)}{_quoted(text)}" + (f"~{slop}" if slop else "")
        case Wildcard(field, parts):
            signs = {None: "*", True: "?"}
            return _named(field) + "".join(_word(p) if isinstance(p, str) else signs[p] for p in parts)
        case Regex(field, pattern):
            return f"{_named(field)}/{_regex(pattern)}/"
        case Fuzzy(field, text, distance):
            return f"{_named(field)}{_word(text)}~{distance}"
        case Range(field, low, high, with_low, with_high):
            bounds = " TO ".join("*" if bound is None else _quoted(bound) for bound in (low, high))
            return f"{_named(field)}{'[' if with_low else '{'}{bounds}{']' if with_high else '}'}"
        case OneOf(field, values):
            return f"{_named(field)}IN [{' '.join(map(_quoted, values))}]"
    raise AssertionError(f"{node!r} is no leaf")


def _named(field: FieldName | None) -> str:
    return "" if field is None else f"{_word(field.name)}:"


def _word(text: str) -> str:
    if text in _KEYWORDS:
        return "\\" + text
    return "".join(f"\\{letter}" if letter in _SPECIAL or letter.isspace() else letter for letter in text)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _regex(pattern: str) -> str:
    """A slash is escaped, unless it is already: a backslash stands for itself and what follows it."""
    out: list[str] = []
    letters = iter(pattern)
    for letter in letters:
        if letter == "\\":
            out.append(letter + next(letters, ""))
        else:
            out.append("\\/" if letter == "/" else letter)
    return "".join(out)
