"""Commands that ask a table something."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from indextables.cli.answers import Facts, Number, Rows
from indextables.cli.errors import UsageError
from indextables.cli.targets import Target
from indextables.cli.writing import columns_of

if TYPE_CHECKING:
    from indextables.cli.render.progress import Stage
    from indextables.table.progress import Progress

_NAMED: Final = re.compile(r"\s*([^\W\d]\w*)\s*=\s*(.*)", re.DOTALL)


def listed(texts: Sequence[str] | None) -> list[str] | None:
    """Names given one by one, or with commas between them. A name with a comma stands in backquotes."""
    if not texts:
        return None
    names = []
    for text in texts:
        for quoted, plain in re.findall(r"\s*(?:`((?:[^`]|``)*)`|([^,]+))\s*(?:,|$)", text):
            names.append(quoted.replace("``", "`") if quoted else plain.strip())
    return names


def search(
    target: Target,
    query: str,
    columns: list[str] | None,
    where: str | None,
    limit: int,
    snippets: list[str] | None,
    *,
    highlight: bool,
) -> Rows:
    """The best rows. With `highlight` the words are looked for in all text columns that are shown."""
    table = target.open()
    if highlight and snippets is None:
        known = {column["name"] for column in columns_of(table) if column["index"] == "words"}
        snippets = [name for name in columns or table.schema.names if name in known] or None
    found = table.search(query, columns, where=where, limit=limit, snippets=snippets)
    return Rows(found.schema, found.to_batches(), found=True, snippets=highlight and snippets is not None, title="hit")


def scan(target: Target, columns: list[str] | None, where: str | None, query: str | None, limit: int | None) -> Rows:
    """All rows."""
    reader = target.open().scan(columns, where=where, query=query, limit=limit)
    return Rows(reader.schema, reader, found=True)


def count(target: Target, where: str | None, query: str | None) -> Number:
    """How many rows."""
    return Number("count", target.open().count(where, query))


def aggregate(target: Target, by: Sequence[str], metrics: Sequence[str], where: str | None, query: str | None) -> Rows:
    """Rows summed up by keys."""
    keys = _named(by, "--by", "level")
    wanted = _named(metrics, "--metric", "count") or {"n": "count"}
    found = target.open().aggregate(by=keys, metrics=wanted, where=where, query=query)
    first = next(iter(wanted))
    return Rows(found.schema, found.to_batches(), bars=first if keys else None, title="group")


def _named(texts: Sequence[str], option: str, such: str) -> dict[str, str]:
    """Expressions with the names that they get: `n=count`, or their own text."""
    named: dict[str, str] = {}
    for text in texts:
        match = _NAMED.fullmatch(text)
        name, expression = match.groups() if match else (text.strip(), text.strip())
        if not expression:
            raise UsageError(f"{option} is {text!r}, which says nothing: write such as {option} '{name or 'n'}={such}'")
        if name in named:
            raise UsageError(f"{option} has {name} twice: give one of them another name, such as other={expression}")
        named[name] = expression
    return named


def explain(target: Target, where: str | None, query: str | None) -> Facts:
    """What a question asks, and how each file would answer. Files of one access are shown in one line."""
    from indextables.table.loading import explained_files

    table = target.open()
    read = explained_files(table, where, query)
    ways: dict[str, list[int]] = {}
    for file in read:
        ways.setdefault(file.access, []).append(file.rows)
    values: dict[str, Any] = {
        "query": None if query is None else table.explain(query),
        "where": where,
        "files": table.files().num_rows,
        "filesRuledOutByTheLog": table.files().num_rows - len(read),
    }
    access = [{"access": access, "files": len(rows), "rows": sum(rows)} for access, rows in ways.items()]
    return Facts(values, {"accesses": access})


def describe(target: Target) -> Facts:
    """What the table is."""
    from indextables.table.loading import described

    found = described(target.open())
    return Facts(found.values, {"columns": [asdict(column) for column in found.columns]})


def partitions(target: Target) -> Rows:
    """Partitions that have files, in the order of their values."""
    found = target.open().partitions()
    return Rows(found.schema, found.to_batches(), title="partition")


def history(target: Target, limit: int | None) -> Rows:
    """Commits, newest first."""
    found = target.open().history(limit)
    shown = ("version", "timestamp", "operation", "metrics", "engine")
    return Rows(found.schema, found.to_batches(), shown=shown, title="version")


_FILES_SHOWN: Final = ("path", "numRecords", "size", "addedAtVersion", "partitionValues")


def files(target: Target, where: str | None) -> Rows:
    """Live files, but for the mapping of their index, which is the table's."""
    found = target.open().files(where).drop_columns(["docMappingJson"])
    return Rows(found.schema, found.to_batches(), shown=_FILES_SHOWN, title="file")


_CHANGES: Final = pa.schema(
    [
        pa.field("change", pa.string(), nullable=False),
        pa.field("version", pa.int64()),
        pa.field("path", pa.string(), nullable=False),
        pa.field("rows", pa.int64()),
        pa.field("size", pa.int64()),
        pa.field("partitionValues", pa.map_(pa.string(), pa.string())),
    ]
)


def changes(target: Target, since: str, **of_rows: Any) -> Rows:
    """What came and went after a version or a time, version by version. `of_rows` are options that only rows have."""
    given = next((name for name, value in of_rows.items() if value), None)
    if given is not None:
        raise UsageError(f"--{given} is about rows, and changes lists files unless --rows is given: add --rows")
    found = target.open().changes(_moment(since))
    added = _changed("added", found.adds, {"version": "addedAtVersion", "rows": "numRecords"})
    removed = _changed("removed", found.removes, {"version": "removedAtVersion"})
    table = pa.concat_tables([removed, added])
    return Rows(_CHANGES, _sorted(table), title="change")


def changed_rows(
    target: Target,
    since: str,
    until: str | None,
    columns: list[str] | None,
    where: str | None,
    query: str | None,
) -> Rows:
    """The rows that were inserted and deleted after a version or a time, version by version."""
    end = None if until is None else _moment(until)
    reader = target.open().changes_rows(_moment(since), end, columns=columns, where=where, query=query)
    return Rows(reader.schema, reader, title="change")


def _moment(text: str) -> int | str:
    """A version, or a time that the table reads."""
    return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else text


def _changed(change: str, table: pa.Table, names: Mapping[str, str]) -> pa.Table:
    columns = [pa.repeat(change, table.num_rows)]
    for field in list(_CHANGES)[1:]:
        name = names.get(field.name, field.name)
        known = name in table.column_names
        columns.append(table.column(name).cast(field.type) if known else pa.nulls(table.num_rows, field.type))
    return pa.table(columns, schema=_CHANGES)


def _sorted(table: pa.Table) -> Iterator[pa.RecordBatch]:
    """By version, and what was removed before what was added."""
    order = pc.sort_indices(table.select(["version", "change"]), [("version", "ascending"), ("change", "descending")])
    yield from table.take(order).to_batches()


def fsck(target: Target, *, repair: bool, data_only: bool, stage: Stage) -> Rows:
    """Everything that is wrong, also with a table that cannot be opened. Errors are worth an exit code."""
    from indextables.table.maintain.fsck import check_table

    with stage.rows("checking", 0, 0) as (watcher, _):

        def watch(progress: Progress) -> None:
            """A row that was read is done: nothing is indexed or written."""
            watcher(replace(progress, rows_indexed=progress.rows_read, rows_written=progress.rows_read))

        found = check_table(target.url, target.options, repair=repair, data_only=data_only, progress=watch)
    damaged = "error" in found.column("severity").to_pylist()
    return Rows(found.schema, found.to_batches(), damaged=damaged, title="finding")
