"""Texts are the commands that `statements.txt` says, or errors with the position of the slip."""

from __future__ import annotations

import pickle
import re

import pytest

from indextables.core.errors import IndexTablesError, StatementError
from indextables.core.sql_tokens import MAX_LENGTH
from indextables.sql.commands import Checkpoint, DescribeHistory, MergeSplits, Prewarm, Purge
from indextables.sql.forms import Form, Hole
from indextables.sql.grammar import FORMS, parse_script, parse_statement
from indextables.sql.next_words import next_keywords
from indextables.sql.table_ref import TableName, TablePath
from sql.support import Pair, brief, pairs, parsed

PAIRS = pairs()
VERBS = (
    "ALTER CHECKPOINT CLONE COMPACT DELETE DESCRIBE DISABLE DROP ENABLE FLUSH FSCK INVALIDATE MERGE OPTIMIZE PREWARM PURGE "
    "REPAIR RESET RESTORE TRUNCATE WAIT"
)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"line {pair.line}")
def test_a_statement_is_its_command(pair: Pair) -> None:
    assert parsed(pair.statement) == pair.expected


def test_there_are_enough_statements() -> None:
    assert len(PAIRS) >= 250
    assert len({pair.statement for pair in PAIRS}) == len(PAIRS)
    assert sum(pair.is_error for pair in PAIRS) >= 60
    assert sum(not pair.is_ours for pair in PAIRS) >= 40


def test_every_form_has_a_statement_that_is_read_and_one_with_a_slip() -> None:
    read = {pair.expected.split("(", 1)[0] for pair in PAIRS}
    assert {form.command.__name__ for form in FORMS if form.command} <= read
    for form in FORMS:
        first = form.pattern[0]
        slips = [pair for pair in PAIRS if pair.is_error and pair.statement.split()[0].upper() == first]
        assert slips, first


def test_positions_are_those_of_the_word_that_is_wrong() -> None:
    for pair in PAIRS:
        match = re.fullmatch(r"! (\d+): (.*)", pair.expected)
        if match is None:
            continue
        position, message = int(match[1]), match[2]
        assert 1 <= position <= len(pair.statement) + 1, pair
        assert f"position {position}" in message or "is not available" in message or "is not a condition" in message, (
            pair
        )
        quoted = re.match(r"(\S+) at position", message)
        if quoted is not None and "…" not in quoted[1]:
            shown = quoted[1].strip("'")
            assert shown in pair.statement[position - 1 : position + len(shown) + 1], pair


def test_keywords_may_be_written_in_any_case_and_with_comments() -> None:
    for pair in PAIRS:
        if pair.is_error or not pair.is_ours or "--" in pair.statement:
            continue
        with_comment = re.sub(r"\s+", " /* a -- comment */ ", pair.statement, count=1)
        assert parsed(with_comment) == pair.expected
        assert parsed(f"-- first\n  {pair.statement}\n") == pair.expected


def test_every_word_for_our_tables_means_the_same() -> None:
    words = ("INDEXTABLE", "indextables", "IndexFiles", "TANTIVY4SPARK")
    assert {parsed(f"PURGE {word} logs") for word in words} == {"Purge(table=name logs)"}


def test_a_where_is_cut_out_of_the_statement() -> None:
    text = "MERGE SPLITS t WHERE day = 'x' /* mine */ AND\n  hour>7 TARGET SIZE 5M"
    assert parse_statement(text) == MergeSplits(
        TableName(("t",)), where="day = 'x' /* mine */ AND\n  hour>7", target_size=5 << 20
    )


def test_commands_are_values() -> None:
    first = parse_statement("PREWARM INDEXTABLES CACHE 's3://b/t' FOR SEGMENTS (TERM) ON FIELDS (a) WHERE a = 1")
    assert first == Prewarm(TablePath("s3://b/t"), ("TERM_DICT",), ("a",), None, "a = 1")
    assert pickle.loads(pickle.dumps(first)) == first
    assert len({first, parse_statement("CHECKPOINT INDEXTABLES t"), Checkpoint(TableName(("t",)))}) == 2


def test_a_slip_is_an_error_of_the_tree_that_can_travel() -> None:
    with pytest.raises(StatementError) as caught:
        parse_statement("PURGE INDEXTABLE t OLDER 7 DAYS")
    again = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(again, IndexTablesError)
    assert isinstance(again, ValueError)
    assert (again.position, again.expected) == (26, ("THAN",))


def test_a_script_is_read_before_it_runs() -> None:
    text = "PURGE INDEXTABLE a DRY RUN;\n\n-- then\nDESC HISTORY b LIMIT 1;;"
    assert parse_script(text) == [Purge(TableName(("a",)), dry_run=True), DescribeHistory(TableName(("b",)), 1)]
    with pytest.raises(StatementError) as caught:
        parse_script("CHECKPOINT INDEXTABLES a; PURGE INDEXTABLES")
    assert caught.value.position == len("CHECKPOINT INDEXTABLES a; PURGE INDEXTABLES") + 1


@pytest.mark.parametrize(
    ("text", "position", "said"),
    [
        ("", 1, "holds no statement"),
        (" ; -- nothing", 1, "holds no statement"),
        ("SELECT 1", 1, "Table.scan"),
        ("CHECKPOINT INDEXTABLES a; with x as (select 1) select 2", 27, "Table.search"),
        ("PURG INDEXTABLES a", 1, "did you mean PURGE INDEXTABLES?"),
        ("MERGE SPLIT a", 1, "did you mean MERGE SPLITS?"),
        ("DROP TABLE a", 1, "no statement of IndexTables"),
        ("hello", 1, "statements begin with ALTER, CHECKPOINT, CLONE"),
        ("DESCRIBE INDEXTABLES", 1, "no statement of IndexTables"),
    ],
)
def test_a_script_of_others_is_refused(text: str, position: int, said: str) -> None:
    with pytest.raises(StatementError, match=re.escape(said)) as caught:
        parse_script(text)
    assert caught.value.position == position
    assert "\n" not in str(caught.value)


def test_a_script_is_text() -> None:
    with pytest.raises(StatementError, match="a statement is text, not int"):
        parse_script(5)  # type: ignore[arg-type]


def test_a_long_text_of_sparks_is_not_read() -> None:
    assert parse_statement("SELECT '" + "x" * 3 * MAX_LENGTH) is None
    with pytest.raises(StatementError, match="at most 1,000,000 are possible: use several statements"):
        parse_statement("MERGE SPLITS t WHERE a = '" + "x" * MAX_LENGTH + "'")


def test_a_form_says_how_it_is_written() -> None:
    purge = next(form for form in FORMS if form.command is Purge)
    assert purge.syntax == (
        "PURGE INDEXTABLES t [OLDER THAN n DAYS|HOURS] [TRANSACTION LOG RETENTION n DAYS|HOURS] [DRY RUN]"
    )


def test_every_hole_is_a_field_of_its_command() -> None:
    def holes(form: Form) -> set[str]:
        pieces = [*form.pattern, *(piece for clause in form.clauses for piece in clause)]
        return {piece.field for piece in pieces if isinstance(piece, Hole)}

    for form in FORMS:
        if form.command is not None:
            assert holes(form) <= set(form.command.__dataclass_fields__), form.syntax
            assert all(isinstance(clause[-1], Hole) for clause in form.clauses), form.syntax


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("", VERBS),
        ("WAIT ", "FOR"),
        ("desc ", "HISTORY INDEXTABLES"),
        ("FLUSH INDEXTABLES ", "DATA DISK SEARCHER"),
        ("FLUSH INDEXTABLES DATA ", "SKIPPING"),
        ("PURGE INDEXTABLE ", ""),
        ("PURGE INDEXTABLE logs ", "DRY OLDER TRANSACTION"),
        ("PURGE INDEXTABLE logs DRY RUN ", "OLDER TRANSACTION"),
        ("PURGE INDEXTABLE logs OLDER THAN 7 ", "DAYS HOURS"),
        ("CHECKPOINT INDEXTABLES a; RESTORE INDEXTABLES b ", "TO"),
        ("RESTORE INDEXTABLES b TO ", "TIMESTAMP VERSION"),
        ("MERGE SPLITS 'never closed ", ""),
        ("SELECT ", ""),
    ],
)
def test_keywords_that_may_come_next(typed: str, expected: str) -> None:
    assert next_keywords(typed) == expected.split()


def test_a_command_in_few_words() -> None:
    assert brief(Purge(TablePath("a'b"), dry_run=True)) == 'Purge(table=path "a\'b", dry_run=True)'
