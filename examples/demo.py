"""A table in ten seconds: two writers race for it, it is pruned, travelled in time, and says no where it should.

Run it with `make demo`. Data files are only described here, not written: the subject is the transaction log.
"""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, timedelta
from itertools import count
from queue import Empty
from typing import Any

import pyarrow as pa
from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.rule import Rule
from rich.table import Table as Grid
from rich.text import Text

from indextables import AddAction, Table

SCHEMA = pa.schema(
    [
        pa.field("day", pa.date32()),
        pa.field("id", pa.int64()),
        pa.field("latency_ms", pa.int64()),
        pa.field("level", pa.string()),
        pa.field("message", pa.string()),
    ]
)
WRITERS = {"ada": "cyan", "bob": "magenta"}
ROUNDS = 9
DAYS = 360
FILES_A_DAY = 12
ROWS_A_FILE = 1_000
IMPATIENT = {"spark.indextables.transaction.retry.baseDelayMs": 40}
FIRST_DAY = date(2026, 1, 1)
NUMBERS = count(90_001)


def data_file(name: str, day: date, number: int) -> AddAction:
    """What an engine would tell of a file that it wrote: where it is, and what is inside."""
    slowest = 1_800 if number % 97 == 0 else 90
    worst = "FATAL" if number % 200 == 0 else "ERROR"
    return AddAction(
        path=f"day={day}/{name}-{number:05d}.split",
        partition_values={"day": str(day)},
        size=4_000_000 + number,
        num_records=ROWS_A_FILE,
        min_values={"id": str(number * ROWS_A_FILE), "latency_ms": "2", "level": "DEBUG"},
        max_values={"id": str(number * ROWS_A_FILE + 999), "latency_ms": str(slowest), "level": worst},
    )


def new(name: str) -> AddAction:
    """A file nobody has added yet."""
    return data_file(name, FIRST_DAY, next(NUMBERS))


def create(url: str) -> None:
    title("A table")
    table = Table.create(url, SCHEMA, partition_by=["day"])
    columns = ", ".join(f"{field.name} [dim]{escape(str(field.type))}[/]" for field in SCHEMA)
    say(f"[green]{table.url}[/] is at version {table.version}, partitioned by [bold]day[/]\n {columns}")


def write_in_rounds(url: str, name: str, start: Any, results: Any) -> None:
    """Commit one file a round, at the same moment as the other writer."""
    try:
        table = Table.open(url, options=IMPATIENT)
        for number in range(ROUNDS):
            start.wait(30)
            done = table.commit_files([data_file(name, FIRST_DAY, number)])
            results.put((name, done.version, done.metrics["numAttempts"]))
    except BaseException as error:
        start.abort()
        results.put((name, repr(error), 0))
        raise


class Lanes:
    """Who won which version, and who had wanted it too."""

    def __init__(self) -> None:
        self.winner: dict[int, str] = {}
        self.loser: dict[int, str] = {}

    def note(self, name: str, version: int, attempts: int) -> None:
        self.winner[version] = name
        for lost in range(version - attempts + 1, version):
            self.loser[lost] = name

    def __rich__(self) -> Group:
        grid = Grid.grid(padding=(0, 1))
        grid.add_column(justify="right", width=8)
        for _ in range(2 * ROUNDS):
            grid.add_column(justify="center", width=2)
        numbers = range(1, 2 * ROUNDS + 1)
        grid.add_row(Text("version", "dim"), *(Text(str(number), "dim") for number in numbers))
        for name, colour in WRITERS.items():
            grid.add_row(Text(name, f"bold {colour}"), *(self._cell(name, number) for number in numbers))
        legend = Text.assemble(
            " " * 9, (mark("won") * 2, "bold"), " won it    ", (mark("lost"), "red"),
            " wanted it too: looked at what had won, and took the next",
            style="dim",
        )  # fmt: skip
        return Group(grid, legend)

    def _cell(self, name: str, number: int) -> Text:
        if self.winner.get(number) == name:
            return Text(mark("won") * 2, WRITERS[name])
        return Text(mark("lost"), "bold red") if self.loser.get(number) == name else Text(mark("none"), "dim")


def race(url: str) -> None:
    title("Two processes write at the same moment, again and again")
    spawn = multiprocessing.get_context("spawn")
    start, results, lanes = spawn.Barrier(len(WRITERS)), spawn.Queue(), Lanes()
    processes = [spawn.Process(target=write_in_rounds, args=(url, name, start, results)) for name in WRITERS]
    for process in processes:
        process.start()
    with Live(lanes, console=console, refresh_per_second=30, transient=True):
        for _ in range(ROUNDS * len(WRITERS)):
            try:
                name, version, attempts = results.get(timeout=60)
            except Empty:
                raise SystemExit("the writers did not answer for a minute") from None
            if attempts == 0:
                raise SystemExit(f"{name} failed: {version}")
            lanes.note(name, version, attempts)
    console.print(lanes)
    for process in processes:
        process.join()
    table = Table.open(url)
    wanted = ROUNDS * len(WRITERS)
    verdict = "none lost, none twice" if table.files().num_rows == table.version == wanted else "SOMETHING IS MISSING"
    say(
        f"[bold]{wanted} commits, {table.version} versions, {table.files().num_rows} files: {verdict}.[/] "
        f"{len(lanes.loser)} lost a race, and won the next."
    )


def conflicts(url: str) -> None:
    title("What counts as a conflict")
    grid = table_grid("ada committed", "bob, who had not seen it, tried to", "and it became", "because")
    first, second = data_file("ada", FIRST_DAY, 0).path, data_file("bob", FIRST_DAY, 0).path
    cases: list[tuple[str, dict[str, Any], str, dict[str, Any], str]] = [
        ("a file", {"adds": [new("ada")]}, "add a file", {"adds": [new("bob")]}, "additions do not disturb"),
        ("a removal", {"removes": [first]}, "remove the same file", {"removes": [first]}, "it is gone: plan anew"),
        ("a property", {"properties": {"a": "1"}}, "set another one", {"properties": {"b": "2"}}, "look at it first"),
        ("a property", {"properties": {"c": "3"}}, "remove a file", {"removes": [second]}, "data does not hang on it"),
    ]
    for hers, her_change, his, his_change, why in cases:
        ada, bob = Table.open(url), Table.open(url)
        ada.commit_files(**her_change)
        refused, done = outcome(lambda bob=bob, change=his_change: bob.commit_files(**change))
        became = f"[bold red]{type(refused).__name__}[/]" if refused else f"[green]version {done.version}[/]"
        grid.add_row(f"[cyan]{hers}[/]", f"[magenta]{his}[/]", became, f"[dim]{why}[/]")
    console.print(grid, "")


def prune(url: str) -> None:
    title("Reading only what can match")
    days = [FIRST_DAY + timedelta(days=number) for number in range(DAYS)]
    adds = [
        data_file("load", day, 1_000 + index * FILES_A_DAY + part)
        for index, day in enumerate(days)
        for part in range(FILES_A_DAY)
    ]
    table = Table.open(url)
    with clock() as loading:
        done = table.commit_files(adds)
    everything = table.files().num_rows
    table.files("id = 0")  # the first `where` of a process loads the parser
    say(f"One commit adds {len(adds):,} files in {loading()} (fsync included): version {done.version}.")
    grid = table_grid("where", "files", "of the table", "skipped", "time")
    for column in (1, 3, 4):
        grid.columns[column].justify = "right"
    for where in (
        "day < DATE '2026-06-01'",
        "day = DATE '2026-03-14'",
        "day >= DATE '2026-12-01' AND level < 'INFO'",
        "id BETWEEN 2000000 AND 2004999",
        "latency_ms > 1000",
        "level = 'FATAL'",
        "id = 4321 OR day = DATE '2026-07-04'",
    ):
        with clock() as looking:
            kept = table.files(where).num_rows
        share = kept / everything
        grid.add_row(f"[yellow]{where}[/]", f"{kept:,}", bar(share), f"{1 - share:.1%}", looking())
    console.print(grid, "")


def travel(url: str) -> None:
    title("Travelling in time")
    now = Table.open(url)
    grid = table_grid("opened", "version", "files")
    grid.columns[1].justify = grid.columns[2].justify = "right"
    grid.add_row("Table.open(url)", str(now.version), f"{now.files().num_rows:,}")
    for version in (0, ROUNDS):
        old = Table.open(url, version=version)
        grid.add_row(f"Table.open(url, version={version})", str(old.version), f"{old.files().num_rows:,}")
    moment = now.history().filter(pa.compute.field("version") == 2 * ROUNDS)["timestamp"][0].as_py()
    old = Table.open(url, timestamp=moment)
    stamp = moment.isoformat(timespec="milliseconds")
    grid.add_row(f'Table.open(url, timestamp="{stamp}")', str(old.version), f"{old.files().num_rows:,}")
    console.print(grid)
    changes = now.changes(since=now.version - 1)
    say(f"table.changes(since={now.version - 1}) tells what came after: {changes.adds.num_rows:,} files added, "
        f"{changes.removes.num_rows} removed.")  # fmt: skip


def retry(url: str) -> None:
    title("A batch that is sent twice lands once")
    batch = {"adds": [new("nightly")], "txn": ("nightly-load", 42)}
    console.print(' commit_files(adds, txn=[yellow]("nightly-load", 42)[/])', highlight=False)
    for attempt in ("sent", "sent again"):
        done = Table.open(url).commit_files(**batch)
        answer = f"[green]version {done.version}[/]" if done.written else f"[yellow]not written[/], {done.reason}"
        console.print(f" {attempt:<12}{answer}", highlight=False)
    console.print()


def refusals(url: str) -> None:
    title("What is refused, and how it says so")
    past = Table.open(url, version=1)
    table = Table.open(url)
    attempts: list[tuple[str, Callable[[], Any]]] = [
        ("files(\"dya = DATE '2026-03-14'\")", lambda: table.files("dya = DATE '2026-03-14'")),
        ('path="../elsewhere.split"', lambda: table.commit_files([AddAction(path="../elsewhere.split")])),
        (
            'partition_values={"level": "INFO"}',
            lambda: table.commit_files([AddAction(path="a", partition_values={"level": "INFO"})]),
        ),
        ("a write to version 1", lambda: past.commit_files([new("late")])),
        (
            'options={"…transaction.retries": 3}',
            lambda: Table.open(url, options={"spark.indextables.transaction.retries": 3}),
        ),
        ("version=1000", lambda: Table.open(url, version=1_000)),
    ]
    grid = table_grid("tried", "answer")
    for tried, attempt in attempts:
        error, _ = outcome(attempt)
        answer = Text.assemble((type(error).__name__, "bold red"), " ", shortened(str(error), url))
        grid.add_row(Text(tried, "yellow"), answer)
    console.print(grid, "")


def history(url: str) -> None:
    title("Everything is on record")
    table = Table.open(url)
    grid = table_grid("version", "when", "operation", "read at", "added", "removed", "attempts")
    for column in (0, 3, 4, 5, 6):
        grid.columns[column].justify = "right"
    for row in table.history(limit=9).to_pylist():
        metrics = dict(row["metrics"] or ())
        grid.add_row(
            str(row["version"]),
            row["timestamp"].astimezone(UTC).strftime("%H:%M:%S.%f")[:-3],
            row["operation"],
            str(row["read_version"]),
            *(metrics.get(name, "") for name in ("numAddedFiles", "numRemovedFiles", "numAttempts")),
        )
    console.print(grid)
    say(f"[dim]The newest 9 of {table.version + 1} versions. Each is one gzip'd JSON file that zcat shows.[/]")


# How it looks.


console = Console()
if not console.is_terminal:
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    console = Console(width=100)
BLOCKS = console.encoding.lower().startswith("utf")


def mark(what: str) -> str:
    return (
        {"won": "\u2588", "lost": "\u2717", "none": "\u00b7"}[what]
        if BLOCKS
        else {"won": "#", "lost": "x", "none": "."}[what]
    )


def bar(share: float, width: int = 20) -> Text:
    """A share of the whole, to an eighth of a character."""
    if not BLOCKS:
        return Text("#" * max(round(share * width), 1 if share else 0))
    full, eighths = divmod(max(round(share * width * 8), 1 if share else 0), 8)
    filled = "\u2588" * full + (chr(0x2590 - eighths) if eighths else "")
    return Text.assemble((filled, "green"), ("\u2591" * (width - len(filled)), "bright_black"))


def title(text: str) -> None:
    console.print(Rule(Text(text, "bold"), align="left", style="bright_black"))


def say(text: str) -> None:
    console.print(f" {text}\n", highlight=False)


def table_grid(*headers: str) -> Grid:
    grid = Grid(box=None, padding=(0, 1), header_style="dim", pad_edge=True)
    for header in headers:
        grid.add_column(header)
    return grid


def shortened(text: str, url: str) -> str:
    return text.replace(url, "/tmp/…/logs" if BLOCKS else "/tmp/.../logs")


@contextmanager
def clock() -> Iterator[Callable[[], str]]:
    """A stopwatch: what it yields tells the time once the block has ended."""
    start = time.perf_counter()
    end = start
    yield lambda: f"{(end - start) * 1e3:.1f} ms"
    end = time.perf_counter()


def outcome(attempt: Callable[[], Any]) -> tuple[Exception | None, Any]:
    """The error, or the result."""
    try:
        return None, attempt()
    except Exception as error:  # noqa: BLE001 - the demo shows whatever is refused
        return error, None


def main() -> None:
    began = time.perf_counter()
    console.print()
    with tempfile.TemporaryDirectory(prefix="indextables-demo-") as directory:
        url = f"{directory}/logs"
        create(url)
        for chapter in (race, conflicts, prune, travel, retry, refusals, history):
            chapter(url)
    say(f"[dim]{time.perf_counter() - began:.1f} s; the table is gone again.[/]")
    console.print(
        " [bold]Next:[/] README.md has twenty lines to try yourself, and what you can rely on;", highlight=False
    )
    say("      [bold]make bench[/] measures this log beside those of deltalake and pyiceberg.")


if __name__ == "__main__":
    main()
