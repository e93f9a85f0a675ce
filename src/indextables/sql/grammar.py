"""The statements, one form a line, and the door: text → command.

    text ──first words──▶ ours? ──no──▶ None
                           └─yes──▶ words ──forms──▶ command, or StatementError with the position of the slip

A text that Spark understands is left alone, also where it begins like one of ours: `MERGE INTO`, `DESCRIBE EXTENDED t`,
`DROP TABLE`, and a table that is called `indextables`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import Final

from indextables.core.errors import StatementError
from indextables.core.sql_tokens import Word, first_words, split
from indextables.sql import commands as c
from indextables.sql.forms import Form, form, keywords, read_form, refused
from indextables.sql.statement_cursor import STATEMENT, SYNONYMS, StatementCursor

_NO_COLUMNS: Final = "create a table with the new schema, and append the rows of this one to it"
_WHERE: Final = "WHERE {where}"
_DRY: Final = "DRY RUN {dry_run:flag}"

FORMS: Final[tuple[Form, ...]] = (
    form(
        c.MergeSplits,
        "MERGE SPLITS {table}",
        _WHERE,
        "TARGET SIZE {target_size:size}",
        "MAX DEST SPLITS {max_dest_splits:positive}",
        "MAX SOURCE SPLITS PER MERGE {max_source_splits_per_merge:positive}",
        "PRECOMMIT {precommit:flag}",
    ),
    form(
        c.Purge,
        "PURGE INDEXTABLES {table}",
        "OLDER THAN {older_than_hours:hours}",
        "TRANSACTION LOG RETENTION {log_retention_hours:hours}",
        _DRY,
    ),
    form(c.DropPartitions, "DROP INDEXTABLES PARTITIONS FROM {table} WHERE {where}"),
    form(c.Checkpoint, "CHECKPOINT INDEXTABLES {table}"),
    form(c.Compact, "COMPACT INDEXTABLES {table}"),
    form(c.TruncateTimeTravel, "TRUNCATE INDEXTABLES TIME TRAVEL {table}", _DRY),
    form(c.Optimize, "OPTIMIZE INDEXTABLES {table}", _DRY, "PREWARM {prewarm:flag}"),
    form(c.RepairLog, "REPAIR INDEXTABLES TRANSACTION LOG {source:path}", "AT LOCATION {target:path}"),
    form(c.Fsck, "FSCK INDEXTABLES {table}", "REPAIR {repair:flag}"),
    form(c.Restore, "RESTORE INDEXTABLES {table} TO VERSION {version:whole}"),
    form(c.Restore, "RESTORE INDEXTABLES {table} TO TIMESTAMP {timestamp:time}"),
    form(c.Clone, "CLONE INDEXTABLES {table} TO {target:path}", "VERSION {version:whole}"),
    form(c.SetProperties, "ALTER INDEXTABLES {table} SET PROPERTIES {properties}"),
    form(c.UnsetProperties, "ALTER INDEXTABLES {table} UNSET PROPERTIES {names}"),
    form(c.UpgradeProtocol, "ALTER INDEXTABLES {table} UPGRADE PROTOCOL"),
    refused("ALTER INDEXTABLES {table} ADD COLUMNS", _NO_COLUMNS),
    refused("ALTER INDEXTABLES {table} ADD COLUMN", _NO_COLUMNS),
    refused("ALTER INDEXTABLES {table} ALTER COLUMN", _NO_COLUMNS),
    refused(
        "DELETE FROM INDEXTABLES",
        "read the rows to keep and write them back with Table.overwrite(rows, where=…), or DROP INDEXTABLES PARTITIONS",
    ),
    form(c.DescribeState, "DESCRIBE INDEXTABLES STATE {table}"),
    form(c.DescribeLog, "DESCRIBE INDEXTABLES TRANSACTION LOG {table}", "INCLUDE ALL {include_all:flag}"),
    form(c.DescribeHistory, "DESCRIBE INDEXTABLES HISTORY {table}", "LIMIT {limit:whole}"),
    form(c.DescribeHistory, "DESCRIBE HISTORY {table}", "LIMIT {limit:whole}"),
    form(c.DescribePartitions, "DESCRIBE INDEXTABLES PARTITIONS {table}"),
    form(c.DescribeComponentSizes, "DESCRIBE INDEXTABLES COMPONENT SIZES {table}", _WHERE),
    form(c.DescribeDiskCache, "DESCRIBE INDEXTABLES DISK CACHE"),
    form(c.DescribeStorageStats, "DESCRIBE INDEXTABLES STORAGE STATS"),
    form(c.DescribeDataSkipping, "DESCRIBE INDEXTABLES DATA SKIPPING STATS"),
    form(c.DescribeEnvironment, "DESCRIBE INDEXTABLES ENVIRONMENT"),
    form(c.DescribeMergeJobs, "DESCRIBE INDEXTABLES MERGE JOBS"),
    form(c.DescribePrewarmJobs, "DESCRIBE INDEXTABLES PREWARM JOBS"),
    form(c.DescribeProfiler, "DESCRIBE INDEXTABLES PROFILER"),
    form(c.DescribeProfilerCache, "DESCRIBE INDEXTABLES PROFILER CACHE"),
    form(c.EnableProfiler, "ENABLE INDEXTABLES PROFILER"),
    form(c.DisableProfiler, "DISABLE INDEXTABLES PROFILER"),
    form(c.ResetProfiler, "RESET INDEXTABLES PROFILER"),
    form(c.ResetProfilerCache, "RESET INDEXTABLES PROFILER CACHE"),
    form(c.FlushDiskCache, "FLUSH INDEXTABLES DISK CACHE"),
    form(c.FlushSearcherCache, "FLUSH INDEXTABLES SEARCHER CACHE"),
    form(c.FlushDataSkipping, "FLUSH INDEXTABLES DATA SKIPPING STATS"),
    form(c.InvalidateDataSkipping, "INVALIDATE INDEXTABLES DATA SKIPPING CACHE"),
    form(c.InvalidateLogCache, "INVALIDATE INDEXTABLES TRANSACTION LOG CACHE", "FOR {table}"),
    form(
        c.Prewarm,
        "PREWARM INDEXTABLES CACHE {table}",
        "FOR SEGMENTS {segments}",
        "ON FIELDS {fields}",
        "WITH PERWORKER PARALLELISM OF {parallelism:positive}",
        _WHERE,
        "ASYNC MODE {in_background:flag}",
    ),
    form(c.WaitForPrewarm, "WAIT FOR INDEXTABLES PREWARM JOBS", "JOB {job}", "TIMEOUT {timeout:seconds}"),
    form(c.WaitForPrewarm, "WAIT FOR INDEXTABLES PREWARM JOBS {table}", "JOB {job}", "TIMEOUT {timeout:seconds}"),
)
"""Every way to write every statement. A new statement is a line here."""


def _opening(of: Form) -> tuple[str, ...]:
    """The keywords by which a statement is known to be ours: up to INDEXTABLES, or all of them where that word is missing."""
    begin = keywords(of.pattern)
    return begin[: begin.index("INDEXTABLES") + 1] if "INDEXTABLES" in begin else begin


_OPENINGS: Final = frozenset(_opening(each) for each in FORMS)
_LONGEST_OPENING: Final = max(map(len, _OPENINGS))
_SPARK_GOES_ON: Final = {
    "DESCRIBE": frozenset({"", ";", ".", "AS", "PARTITION"}),
    "DELETE": frozenset({"", ";", ".", "AS", "WHERE"}),
    "RESET": frozenset({"", ";", "."}),
}
"""Words that follow in Spark's statements about a table, a schema or a setting that is named like our keyword; "" is the end."""


def parse_statement(text: str) -> c.Command | None:
    """The command that a text is; None for a text that is none of our statements. StatementError says what is wrong, and where.

    The text holds one statement, perhaps with a semicolon at its end. A text of Spark's is not read beyond its first words.
    """
    if not is_ours(first_words(text, _LONGEST_OPENING + 1)):
        return None
    first, *more = statements_of(text)
    if more:
        place = more[0][0].start + 1
        raise StatementError(
            f"a second statement begins at position {place}: run one statement after the other", position=place
        )
    return read_form(StatementCursor(text, first), FORMS)


def parse_script(text: str) -> list[c.Command]:
    """The commands of a text with several statements, semicolons between them. Positions are those in the whole text.

    Raises StatementError, also where a statement is none of ours.
    """
    if not isinstance(text, str):
        raise StatementError(f"a statement is text, not {type(text).__name__}", expected=())
    found = []
    for words in statements_of(text):
        if not is_ours(words):
            raise _not_ours(text, words)
        found.append(read_form(StatementCursor(text, words), FORMS))
    if not found:
        raise StatementError(
            "the text holds no statement: write such as DESCRIBE INDEXTABLES STATE 'table'", position=1
        )
    return found


def is_ours(words: Sequence[Word]) -> bool:
    """Whether a statement that begins with these words is one of ours."""
    said = [SYNONYMS.get(word.upper, word.upper) for word in words[: _LONGEST_OPENING + 1]]
    for length in range(1, len(said) + 1):
        if tuple(said[:length]) in _OPENINGS:
            following = words[length] if length < len(words) else None
            follows = "" if following is None or following.kind == "end" else following.upper or "a value"
            return follows not in _SPARK_GOES_ON.get(said[0], ())
    return False


def statements_of(text: str) -> Iterator[list[Word]]:
    """The words of each statement, ended by one of kind `end` where the semicolon is."""
    begun: list[Word] = []
    for word in split(text, STATEMENT):
        if word.kind != "end" and word.upper != ";":
            begun.append(word)
        elif begun:
            yield [*begun, Word("end", "", word.start, word.start)]
            begun = []


def _not_ours(text: str, words: list[Word]) -> StatementError:
    place = words[0].start + 1
    said = " ".join(word.upper for word in words[:_LONGEST_OPENING] if word.kind == "word")
    if words[0].upper in {"SELECT", "WITH"}:
        return StatementError(
            f"{words[0].upper} at position {place} is a query, and only statements about tables run here: "
            "ask with Table.scan, Table.search or Table.aggregate, or in Spark",
            position=place,
            expected=(),
        )
    known = [" ".join(opening) for opening in _OPENINGS]
    near = difflib.get_close_matches(said, known, n=1)
    shown = text[words[0].start : words[-1].start].split("\n", 1)[0][:40].strip()
    hint = (
        f"did you mean {near[0]}?"
        if near
        else f"statements begin with {', '.join(sorted({k.split()[0] for k in known}))}"
    )
    return StatementError(
        f"{shown} at position {place} is no statement of IndexTables: {hint}", position=place, expected=tuple(near)
    )
