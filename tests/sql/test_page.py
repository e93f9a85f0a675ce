"""The reference page of statements says what the grammar and the executors say."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import indextables
from indextables import Table, inspect
from indextables.core.errors import StatementError
from indextables.sql.commands import Command
from indextables.sql.executor import answer_schema
from indextables.sql.grammar import FORMS, parse_script, parse_statement

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "statements.md"


@dataclass(frozen=True)
class Section:
    title: str
    syntax: list[str]
    columns: list[str]
    methods: list[str]
    examples: list[Command]

    @property
    def commands(self) -> set[type]:
        return {form.command for form in FORMS if form.syntax in self.syntax and form.command is not None}


def sections() -> list[Section]:
    found = []
    for part in re.split(r"^### ", PAGE.read_text("utf-8"), flags=re.MULTILINE)[1:]:
        title, _, text = part.partition("\n")
        syntax, examples = re.findall(r"```sql\n(.*?)```", text, re.DOTALL)
        columns = re.search(r"^Columns: (.*?)\.$", text, re.MULTILINE | re.DOTALL)
        assert columns is not None, title
        methods = re.findall(r"In\s+Python:\s+`([^`]+)`", text)
        names = re.findall(r"`(\w+)`", columns[1])
        found.append(Section(title, syntax.splitlines(), names, methods, parse_script(examples)))
    return found


SECTIONS = sections()


def test_every_form_of_every_statement_is_on_the_page() -> None:
    listed = [line for section in SECTIONS for line in section.syntax]
    assert sorted(listed) == sorted(form.syntax for form in FORMS if form.command is not None)


def test_the_columns_are_those_of_the_answers() -> None:
    for section in SECTIONS:
        for command in section.commands:
            schema = answer_schema(command)
            if schema is None:
                assert section.columns == ["files", "rows", "bytes", "oldest_file", "newest_file", "version"]
            else:
                assert section.columns == schema.names, section.title


def test_the_examples_are_those_of_their_section() -> None:
    for section in SECTIONS:
        assert {type(command) for command in section.examples} == section.commands, section.title


def test_the_methods_exist() -> None:
    for section in SECTIONS:
        assert section.methods, section.title
        for method in section.methods:
            owner, name = method.split("(", 1)[0].rsplit(".", 1)
            assert hasattr({"Table": Table, "indextables.inspect": inspect}[owner], name), method


def test_what_is_refused_is_said() -> None:
    text = PAGE.read_text("utf-8")
    for form in FORMS:
        if form.command is None:
            words = [piece for piece in form.pattern if isinstance(piece, str)]
            assert words[-1] in text
            assert words[0] in text


def test_the_slip_on_the_page_is_answered_as_it_says() -> None:
    said = re.search(r"`(PURGE INDEXTABLE logs OLDER 7 DAYS)` is answered with\s+`([^`]+)`", PAGE.read_text("utf-8"))
    assert said is not None
    try:
        parse_statement(said[1])
    except StatementError as error:
        message = error.message
    assert message == said[2]
    assert callable(indextables.sql)
