"""Commands that change a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from indextables.cli.answers import Facts
from indextables.cli.errors import UsageError
from indextables.cli.load.schema_file import schema_argument
from indextables.cli.targets import Target
from indextables.core.errors import SchemaError, TableExists, TableNotFound
from indextables.core.schema_text import Declared, quoted, read_schema, type_text

if TYPE_CHECKING:
    import pyarrow as pa

    from indextables.cli.load.columns import Guessed
    from indextables.cli.load.load import Load
    from indextables.cli.render.progress import Stage
    from indextables.table import Commit, Table
    from indextables.table.loading import Plan
    from indextables.table.progress import Watcher


def create(target: Target, schema: str, partition_by: Sequence[str], *, if_missing: bool) -> Facts:
    """Make an empty table."""
    from indextables.table import Table

    text = schema_argument(schema)
    declared = read_schema(text)
    try:
        table, new = Table.create(target.url, text, partition_by, target.options), True
    except TableExists:
        if not if_missing:
            raise
        table, new = target.open(), False
        check_same(table, declared, partition_by)
    summary = f"{'created' if new else 'found'} {table.url} with {len(table.schema)} columns"
    return Facts({"url": table.url, "version": table.version, "created": new}, {"columns": columns_of(table)}, summary)


@dataclass(frozen=True)
class Import:
    """What to import, and how."""

    files: Sequence[str]
    format: str | None = None
    schema: str | None = None
    partition_by: Sequence[str] = ()
    create: bool = True
    delimiter: str | None = None
    nulls: Sequence[str] = ()


def import_files(target: Target, wanted: Import, stage: Stage) -> Facts:
    """Add the rows of files; a table that does not exist is created with the schema that they have.

    A new table is made only when all its rows are indexed, so that an import that fails, or is stopped, leaves nothing behind.
    """
    from indextables.cli.load.formats import Format
    from indextables.cli.load.load import Load, reader_of
    from indextables.cli.load.sources import find_sources

    sources, kind = find_sources(wanted.files, Format(wanted.format) if wanted.format else None, target.options)
    reader = reader_of(kind, wanted.delimiter, wanted.nulls)
    declared = read_schema(schema_argument(wanted.schema)) if wanted.schema else None
    table = existing_table(target, wanted.create)
    if table is None:
        return _import_new(target, wanted, Load(sources, reader), declared, stage)
    check_same(table, declared, wanted.partition_by)
    load = Load(sources, reader)
    with stage.rows("importing", 0, load.size) as (watcher, bytes_read), about_files():
        done = table.append(load.batches(table.schema, bytes_read), progress=watcher)
    return _imported(table, load, done, new=False)


def _import_new(target: Target, wanted: Import, load: Load, declared: Declared | None, stage: Stage) -> Facts:
    from indextables.cli.load.sources import readable_twice

    with readable_twice(load.sources) as sources:
        load = replace(load, sources=sources)
        with stage.bytes("reading", load.size) as bytes_read:
            guessed = load.look(declared, bytes_read)
        plan = plan_of(target, guessed, wanted.partition_by)
        title, lines = f"{target.url} is new, with this schema:", schema_lines(guessed)
        if stage.watched:  # whoever sees a wrong guess now need not wait for the end
            stage.note(title, lines)
        with stage.rows("importing", guessed.rows, load.size) as (watcher, bytes_read), about_files():
            table, done = _filled(plan, load.batches(plan.schema, bytes_read), watcher)
        if not stage.watched:
            stage.note(title, lines)
    return _imported(table, load, done, new=True)


def _filled(plan: Plan, batches: Iterator[pa.RecordBatch], watcher: Watcher) -> tuple[Table, Commit]:
    from indextables.table.loading import create_table_with_rows

    try:
        return create_table_with_rows(plan, batches, watcher)
    except TableExists as error:
        url = plan.log.url
        raise TableExists(
            f"{url} was made by somebody else meanwhile: import again to add to it", **error.details
        ) from error


@contextmanager
def about_files() -> Iterator[None]:
    """What does not fit the table is in the files, even where the table finds it."""
    from indextables.cli.errors import InputError

    try:
        yield
    except SchemaError as error:
        raise error if isinstance(error, InputError) else InputError(error.message, **error.details) from error


def _imported(table: Table, load: Load, done: Commit, *, new: bool) -> Facts:
    files = done.metrics.get("numAddedFiles", 0)
    values = {
        "url": table.url,
        "version": done.version,
        "created": new,
        "rows": load.rows,
        "files": files,
        "bytes": done.metrics.get("numAddedBytes", 0),
    }
    summary = f"{load.rows:,} row{'' if load.rows == 1 else 's'} imported into {table.url}, version {done.version}"
    if not done.written:
        summary = f"no rows to import: {table.url} stays at version {done.version}"
    return Facts(values, {"columns": columns_of(table)}, summary)


def existing_table(target: Target, create_missing: bool) -> Table | None:
    """The table; None where there is none and one may be made. Raises TableNotFound."""
    try:
        return target.open()
    except TableNotFound:
        if not create_missing:
            raise
        return None


def plan_of(target: Target, guessed: Guessed, partition_by: Sequence[str]) -> Plan:
    """A table for what is in the files. Raises InputError where they cannot be in one."""
    from indextables.core.types import validate_schema
    from indextables.table.loading import plan_new

    text = [name for name in guessed.text if name not in partition_by]
    options = {**_typemap([name for name in text if not _is_mapped(name, target.options)]), **target.options}
    with about_files():
        validate_schema(guessed.schema, ())  # what is wrong without --partition-by is wrong with the files
    return plan_new(target.url, guessed.schema, partition_by, options)


def _is_mapped(name: str, options: dict[str, str]) -> bool:
    """Whether the caller says how to index a column."""
    from indextables.core.options import Options, parse_typemap

    return name.lower() in {column.lower() for column in parse_typemap(Options(options))}


def _typemap(text: Sequence[str]) -> dict[str, str]:
    if not text:
        return {}
    listed = ",".join("`" + name.replace("`", "``") + "`" if set(name) & set(",` ") else name for name in text)
    return {"indexing.typemap.text": listed}


def check_same(table: Table, declared: Declared | None, partition_by: Sequence[str]) -> None:
    """What was typed must say the same as the table that is there."""
    if partition_by and tuple(partition_by) != table.partition_columns:
        found = (
            f"is partitioned by {', '.join(table.partition_columns)}"
            if table.partition_columns
            else "is not partitioned"
        )
        raise UsageError(f"{table.url} exists and {found}: leave --partition-by out")
    for column in declared.schema if declared else ():
        place = table.schema.get_field_index(column.name)
        if place < 0:
            raise UsageError(f"{table.url} exists and has no column {column.name}: leave it out of --schema")
        found = type_text(table.schema.field(place))
        if found != type_text(column):
            raise UsageError(f"{table.url} exists and its column {column.name} is {found}, not {type_text(column)}")


def columns_of(table: Table) -> list[dict[str, Any]]:
    """The columns of a table, with what the index makes of them."""
    from indextables.table.loading import columns_of as columns

    return [asdict(column) for column in columns(table)]


def schema_lines(guessed: Guessed) -> list[tuple[str, str]]:
    """A guessed schema as `--schema` takes it, a column a line."""
    return [
        (quoted(field.name), "text" if field.name in guessed.text else type_text(field)) for field in guessed.schema
    ]
