"""A grammar as a table: each form is a pattern of keywords and holes, and clauses that may follow in any order.

    "PURGE INDEXTABLES {table}", "OLDER THAN {older_than_hours:hours}", "DRY RUN {dry_run:flag}"

Words are read along all patterns at once. Where no pattern goes on with the next word, the words that could stand there are the
error's hint. A hole reads a value into the field of the command that has its name. INDEXTABLES stands for all of its synonyms.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

from indextables.core.errors import StatementError
from indextables.sql.commands import Command
from indextables.sql.statement_cursor import StatementCursor


@dataclass(frozen=True)
class Kind:
    """What may stand in a hole: how the value is read, and how a page of documentation writes the hole."""

    read: Callable[[StatementCursor], Any]
    shown: str


KINDS: Final[dict[str, Kind]] = {
    "table": Kind(StatementCursor.table, "t"),
    "where": Kind(StatementCursor.where, "p"),
    "path": Kind(StatementCursor.path, "'url'"),
    "whole": Kind(StatementCursor.whole, "n"),
    "positive": Kind(partial(StatementCursor.whole, least=1), "n"),
    "seconds": Kind(partial(StatementCursor.whole, what="a whole number of seconds"), "s"),
    "size": Kind(StatementCursor.size, "s"),
    "hours": Kind(StatementCursor.hours, "n DAYS|HOURS"),
    "time": Kind(partial(StatementCursor.text, what="a time such as 2026-01-31T12:00:00Z"), "'time'"),
    "job": Kind(partial(StatementCursor.text, what="the id of a job"), "'id'"),
    "fields": Kind(lambda cursor: cursor.listed(cursor.name), "(f, …)"),
    "segments": Kind(lambda cursor: cursor.listed(cursor.segment), "(s, …)"),
    "properties": Kind(lambda cursor: cursor.listed(cursor.property), "(k = v, …)"),
    "names": Kind(lambda cursor: cursor.listed(cursor.name), "(k, …)"),
    "flag": Kind(lambda _: True, ""),
}
"""The kinds of holes by the word after the colon; a hole without one has the kind of its name."""


@dataclass(frozen=True)
class Hole:
    """A place for a value in a pattern."""

    field: str
    kind: Kind


Pattern: TypeAlias = tuple[str | Hole, ...]
_PIECE: Final = re.compile(r"\{(\w+)(?::(\w+))?\}|(\S+)")


def pattern(text: str) -> Pattern:
    """Keywords, and holes in braces: `{field}` or `{field:kind}`."""
    pieces: list[str | Hole] = []
    for field, kind, keyword in _PIECE.findall(text):
        pieces.append(keyword or Hole(field, KINDS[kind or field]))
    return tuple(pieces)


def keywords(of: Pattern) -> tuple[str, ...]:
    """The keywords that a pattern begins with."""
    found: list[str] = []
    for piece in of:
        if isinstance(piece, Hole):
            break
        found.append(piece)
    return tuple(found)


def shown(of: Pattern) -> str:
    """A pattern as a page of documentation writes it."""
    return " ".join(filter(None, (piece if isinstance(piece, str) else piece.kind.shown for piece in of)))


@dataclass(frozen=True)
class Form:
    """A way to write a statement. A form that is refused is known, and not available."""

    pattern: Pattern
    command: type[Command] | None
    clauses: tuple[Pattern, ...] = ()
    refused: str = ""

    @property
    def syntax(self) -> str:
        """The form as a page of documentation writes it."""
        return " ".join([shown(self.pattern), *(f"[{shown(clause)}]" for clause in self.clauses)])


def form(command: type[Command], text: str, *clauses: str) -> Form:
    """A way to write the statement of a command."""
    return Form(pattern(text), command, tuple(pattern(clause) for clause in clauses))


def refused(text: str, reason: str) -> Form:
    """A statement that is known and not available. `reason` says what to do instead."""
    return Form(pattern(text), None, refused=reason)


def read_form(cursor: StatementCursor, forms: Sequence[Form]) -> Command:
    """Read one whole statement. Raises StatementError."""
    start = cursor.word
    values: dict[str, Any] = {}
    found = _read_pattern(cursor, forms, values)
    if found.command is None:
        raise StatementError(
            f"{shown(found.pattern)} is not available in this release: {found.refused}",
            position=start.start + 1,
            expected=(),
        )
    _read_clauses(cursor, found.clauses, values)
    return found.command(**values)


def _read_pattern(cursor: StatementCursor, forms: Sequence[Form], values: dict[str, Any]) -> Form:
    candidates = list(forms)
    depth = 0
    while True:
        done = next((form for form in candidates if len(form.pattern) == depth), None)
        longer = [form for form in candidates if len(form.pattern) > depth]
        said = [form for form in longer if form.pattern[depth] == cursor.keyword]
        holes = [form for form in longer if isinstance(form.pattern[depth], Hole)]
        if said:
            cursor.next()
            candidates = said
        elif done is not None and (not holes or _ends_here(cursor, done)):
            return done
        elif holes:
            _fill(cursor, holes[0], depth, values)
            candidates = holes
        else:
            raise cursor.expected(*_ways_on(longer, depth))
        depth += 1


def _fill(cursor: StatementCursor, form: Form, depth: int, values: dict[str, Any]) -> None:
    hole = form.pattern[depth]
    assert isinstance(hole, Hole), "the caller looked"
    cursor.clause_starts = tuple(keywords(clause) for clause in form.clauses)
    values[hole.field] = hole.kind.read(cursor)


def _ends_here(cursor: StatementCursor, form: Form) -> bool:
    """Whether a pattern that could go on with a value ends: no word follows, or a clause with its own value."""
    starts = {keywords(clause)[0] for clause in form.clauses}
    return cursor.at_end() or (cursor.word.upper in starts and cursor.following.kind in {"text", "number"})


def _ways_on(forms: Sequence[Form], depth: int) -> list[str]:
    """The keywords that patterns go on with, each once, up to the next hole. What is refused is not proposed."""
    proposed = [form for form in forms if form.command is not None] or forms
    return list(dict.fromkeys(" ".join(keywords(form.pattern[depth:])) for form in proposed))


def _read_clauses(cursor: StatementCursor, clauses: tuple[Pattern, ...], values: dict[str, Any]) -> None:
    left = list(clauses)
    cursor.clause_starts = tuple(keywords(clause) for clause in clauses)
    while not cursor.at_end():
        found = _read_start(cursor, left, clauses)
        left.remove(found)
        hole = found[-1]
        assert isinstance(hole, Hole), "every clause ends with a hole"
        values[hole.field] = hole.kind.read(cursor)


def _read_start(cursor: StatementCursor, left: list[Pattern], clauses: tuple[Pattern, ...]) -> Pattern:
    """Go past the keywords of a clause."""
    candidates, depth = left, 0
    while True:
        said = [clause for clause in candidates if depth < len(clause) - 1 and clause[depth] == cursor.word.upper]
        if not said:
            raise _not_a_clause(cursor, candidates, clauses, depth)
        cursor.next()
        depth += 1
        if len(said) == 1 and depth == len(said[0]) - 1:
            return said[0]
        candidates = said


def _not_a_clause(
    cursor: StatementCursor, candidates: list[Pattern], clauses: tuple[Pattern, ...], depth: int
) -> StatementError:
    if depth:
        return cursor.expected(*dict.fromkeys(" ".join(keywords(clause[depth:])) for clause in candidates))
    twice = next((clause for clause in clauses if clause[0] == cursor.word.upper), None)
    if twice is not None:
        place = cursor.word.start + 1
        return StatementError(
            f"{' '.join(keywords(twice))} at position {place} of the statement is there twice: leave one out",
            position=place,
            expected=(),
        )
    return cursor.expected(*(" ".join(keywords(clause)) for clause in candidates), "the end of the statement")
