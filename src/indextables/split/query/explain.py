"""A query in words: what will be asked of which column, and how texts were cut into words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from indextables.core.predicate import to_sql
from indextables.split.query.bind import Addresses, AtPath, Boosted, Bound, Elements, Group, Near, Pattern, Typed, Words
from indextables.split.query.tree import All


def explain(bound: Bound, text: str) -> str:
    """One line for each thing that is asked, indented as it is nested."""
    return "\n".join(_lines(bound, text, 0))


def _lines(bound: Bound, text: str, depth: int) -> Iterator[str]:
    indent = "  " * depth
    match bound:
        case Group():
            yield from _group(bound, text, depth)
        case Boosted():
            yield f"{indent}with {bound.factor:g} times the score"
            yield from _lines(bound.child, text, depth + 1)
        case All():
            yield f"{indent}every row"
        case Typed():
            yield f"{indent}{to_sql(bound.predicate)}"
        case Elements():
            yield f"{indent}an element of {bound.column} has {to_sql(bound.predicate)}"
        case Addresses():
            runs = (low if low == high else f"{low} to {high}" for low, high in bound.runs)
            yield f"{indent}{bound.field.column} is an address of {', '.join(runs) or 'nothing'}"
        case AtPath():
            yield f"{indent}{_at_path(bound)}"
        case Words() | Pattern() | Near():
            written = text[bound.span.start : bound.span.end]
            yield f"{indent}{_words(bound)}" + (f", from {written}" if _differs(bound, written) else "")


def _group(group: Group, text: str, depth: int) -> Iterator[str]:
    parts: list[tuple[str, Sequence[Bound]]] = []
    if group.must:
        parts.append(("all of", group.must))
        parts.append(("a higher score for any of", group.should))
    else:
        parts.append(("any of", group.should))
    parts.append(("none of", group.must_not))
    named = [(name, children) for name, children in parts if children]
    indent = "  " * depth
    if len(named) > 1:
        yield f"{indent}together"
    inner = depth + (len(named) > 1)
    for name, children in named:
        yield f"{'  ' * inner}{name}"
        for child in children:
            yield from _lines(child, text, inner + 1)


def _at_path(leaf: AtPath) -> str:
    words = [
        f"the words {' '.join(leaf.words)} in a row" if len(leaf.words) > 1 else f"the word {word}"
        for word in leaf.words[:1]
    ]
    values = [f"the value {value}" for value in leaf.values]
    return f"{'.'.join((leaf.field.column, *leaf.path))} has {' or '.join(words + values)}"


def _words(leaf: Words | Pattern | Near) -> str:
    column = leaf.field.column
    match leaf:
        case Words(words=(word,)):
            return f"{column} has the word {word}"
        case Words():
            near = f", up to {leaf.slop} moves apart" if leaf.slop else ""
            return f"{column} has the words {' '.join(leaf.words)} in a row{near}"
        case Pattern():
            return f"{column} has a word that matches /{leaf.regex}/"
        case Near():
            return f"{column} has a word at most {leaf.distance} letters from {leaf.word}"


def _differs(leaf: Words | Pattern | Near, written: str) -> bool:
    return isinstance(leaf, Words) and written != " ".join(leaf.words)
