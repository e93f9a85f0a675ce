"""Commands that are statements about one process: its caches, figures, jobs and times. As in `app`, annotations are not texts.

A command is a process of its own. What a statement counts or switches in it ends with it, so that most of these statements are
of use in a text of several statements, or at the prompt: `indextables sql`.
"""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from indextables.cli import params as p
from indextables.cli.errors import UsageError
from indextables.cli.examples import epilog

if TYPE_CHECKING:
    from indextables.sql.commands import Command


class CacheAction(StrEnum):
    """What can be done to caches."""

    SHOW = "show"
    FLUSH = "flush"
    FLUSH_SEARCHER = "flush-searcher"
    INVALIDATE_LOG = "invalidate-log"
    INVALIDATE_SKIPPING = "invalidate-skipping"


class Figures(StrEnum):
    """Figures that are counted."""

    STORAGE = "storage"
    SKIPPING = "skipping"
    RESET_SKIPPING = "reset-skipping"


class ProfilerAction(StrEnum):
    """What can be done to the profiler."""

    SHOW = "show"
    CACHES = "caches"
    ON = "on"
    OFF = "off"
    RESET = "reset"
    RESET_CACHES = "reset-caches"


class Jobs(StrEnum):
    """Jobs that are listed, or waited for."""

    MERGE = "merge"
    PREWARM = "prewarm"
    WAIT = "wait"


def declare(app: typer.Typer) -> None:
    """Declare the commands `cache`, `stats`, `profiler`, `jobs` and `environment`."""
    app.command("cache", epilog=epilog("cache"))(_cache)
    app.command("stats", epilog=epilog("stats"))(_stats)
    app.command("profiler", epilog=epilog("profiler"))(_profiler)
    app.command("jobs", epilog=epilog("jobs"))(_jobs)
    app.command("environment", epilog=epilog("environment"))(_environment)


def _cache(
    action: Annotated[
        CacheAction,
        typer.Argument(
            help="`flush` removes the indexes that are kept on local disk; the other actions are about one process."
        ),
    ] = CacheAction.SHOW,
    table: Annotated[
        str | None, typer.Argument(metavar="[TABLE]", help="Of invalidate-log; all tables unless given.")
    ] = None,
    option: p.StoreOptions = None,
    output: p.Out = None,
    json: p.Json = False,
    no_header: p.NoHeader = False,
) -> int:
    """The indexes that this machine keeps on its local disk, and how much room they take."""
    from indextables.cli.sql.run_command import Asked, fail, run_command
    from indextables.sql import commands as c
    from indextables.sql.table_ref import TablePath

    asked = Asked((), option or (), output, json, not no_header)
    if table is not None and action is not CacheAction.INVALIDATE_LOG:
        return fail(UsageError(f"cache {action} is about no table: leave {table} out"), asked)
    of: dict[CacheAction, Command] = {
        CacheAction.SHOW: c.DescribeDiskCache(),
        CacheAction.FLUSH: c.FlushDiskCache(),
        CacheAction.FLUSH_SEARCHER: c.FlushSearcherCache(),
        CacheAction.INVALIDATE_LOG: c.InvalidateLogCache(None if table is None else TablePath(table)),
        CacheAction.INVALIDATE_SKIPPING: c.InvalidateDataSkipping(),
    }
    return run_command(of[action], asked)


def _stats(
    figures: Annotated[Figures, typer.Argument(help="Which figures.", show_default=False)],
    option: p.StoreOptions = None,
    output: p.Out = None,
    json: p.Json = False,
    no_header: p.NoHeader = False,
) -> int:
    """Requests to stores and bytes that came back, or files that conditions did not have to look at, of one process."""
    from indextables.cli.sql.run_command import Asked, run_command
    from indextables.sql import commands as c

    of: dict[Figures, Command] = {
        Figures.STORAGE: c.DescribeStorageStats(),
        Figures.SKIPPING: c.DescribeDataSkipping(),
        Figures.RESET_SKIPPING: c.FlushDataSkipping(),
    }
    return run_command(of[figures], Asked((), option or (), output, json, not no_header))


def _profiler(
    action: Annotated[
        ProfilerAction, typer.Argument(help="`caches` is how often each cache could answer.")
    ] = ProfilerAction.SHOW,
    option: p.StoreOptions = None,
    output: p.Out = None,
    json: p.Json = False,
    no_header: p.NoHeader = False,
) -> int:
    """Where the time of one process went: to be switched on and shown between statements of `indextables sql`."""
    from indextables.cli.sql import sentences
    from indextables.cli.sql.run_command import Asked, Manner, run_command
    from indextables.sql import commands as c

    of: dict[ProfilerAction, Command] = {
        ProfilerAction.SHOW: c.DescribeProfiler(),
        ProfilerAction.CACHES: c.DescribeProfilerCache(),
        ProfilerAction.ON: c.EnableProfiler(),
        ProfilerAction.OFF: c.DisableProfiler(),
        ProfilerAction.RESET: c.ResetProfiler(),
        ProfilerAction.RESET_CACHES: c.ResetProfilerCache(),
    }
    shows = action in (ProfilerAction.SHOW, ProfilerAction.CACHES)
    manner = None if shows else Manner(told=sentences.for_this_process)
    return run_command(of[action], Asked((), option or (), output, json, not no_header), manner)


def _jobs(
    what: Annotated[Jobs, typer.Argument(help="`wait` is for prewarms.", show_default=False)],
    table: Annotated[
        str | None, typer.Option("--table", "-t", metavar="TABLE", help="Wait for those of this table.")
    ] = None,
    job: Annotated[str | None, typer.Option("--job", metavar="ID", help="Wait for this one.")] = None,
    timeout: Annotated[
        int | None, typer.Option("--timeout", metavar="SECONDS", min=0, help="Wait at most so long.")
    ] = None,
    option: p.StoreOptions = None,
    output: p.Out = None,
    json: p.Json = False,
    no_header: p.NoHeader = False,
) -> int:
    """Merges and prewarms of one process, those that run and those that ended last."""
    from indextables.cli.sql.run_command import Asked, fail, run_command
    from indextables.sql import commands as c
    from indextables.sql.table_ref import TablePath

    asked = Asked((), option or (), output, json, not no_header)
    if what is not Jobs.WAIT and (table, job, timeout) != (None, None, None):
        return fail(UsageError(f"--table, --job and --timeout are for jobs wait: leave them out of jobs {what}"), asked)
    of: dict[Jobs, Command] = {
        Jobs.MERGE: c.DescribeMergeJobs(),
        Jobs.PREWARM: c.DescribePrewarmJobs(),
        Jobs.WAIT: c.WaitForPrewarm(None if table is None else TablePath(table), job, timeout),
    }
    return run_command(of[what], asked)


def _environment(
    option: p.StoreOptions = None, output: p.Out = None, json: p.Json = False, no_header: p.NoHeader = False
) -> int:
    """What the program runs on and with: versions, processors, memory, options and variables. Secrets are left out."""
    from indextables.cli.sql.run_command import Asked, run_command
    from indextables.sql.commands import DescribeEnvironment

    return run_command(DescribeEnvironment(), Asked((), option or (), output, json, not no_header))
