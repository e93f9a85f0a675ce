"""A search engine in fifteen seconds: 200,000 lines of log go in, an incident comes out.

Run it with `make demo`. Everything is done by the `indextables` command line itself; each command is shown before it runs, so
that it can be tried by hand.
"""

from __future__ import annotations

import csv
import math
import os
import random
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.rule import Rule
from rich.table import Table as Grid
from rich.text import Text

from indextables import Table
from indextables.cli import main as indextables
from indextables.cli.errors import INTERRUPTED
from indextables.cli.render.bars import bar

ROWS = int(os.environ.get("DEMO_ROWS", "200000"))
DAYS = 4
FIRST_DAY = datetime(2026, 3, 2, tzinfo=UTC)
INCIDENT = (FIRST_DAY + timedelta(days=2, hours=14), timedelta(minutes=50))
HEADER = ("ts", "day", "level", "service", "host", "ms", "message")
SERVICES = ("checkout", "search", "cart", "login", "images")
CALM = (
    ("INFO", "GET /{path} served in {ms} ms"),
    ("INFO", "user {user} logged in from 10.0.{a}.{b}"),
    ("INFO", "cache hit for {path} on shard {shard}"),
    ("INFO", "payment of order {user} accepted"),
    ("DEBUG", "garbage collection took {ms} ms, {shard} regions freed"),
    ("WARN", "slow query on db-{shard}: {ms} ms for {path}"),
    ("WARN", "retrying connection to db-{shard} after reset by peer"),
    ("ERROR", "connection to db-{shard} timed out after {slow} ms"),
    ("ERROR", "disk almost full on node {host}, {shard} percent left"),
)
WEIGHTS = (40, 14, 20, 8, 9, 5, 2, 0.4, 0.3)
BROKEN = (
    ("ERROR", "connection to db-3 timed out after {slow} ms"),
    ("ERROR", "payment of order {user} failed: connection to db-3 timed out"),
    ("WARN", "retrying connection to db-3 after reset by peer"),
    ("ERROR", "circuit breaker for db-3 opened after {shard} timeouts in a row"),
)
PATHS = ("cart", "checkout", "search?q=lamp", "images/4711.webp", "basket", "orders", "health", "login")


def log_rows(count: int, seed: int) -> list[list[str]]:
    """Lines of a shop's log, the same each time: busy by day, quiet by night, and one bad hour."""
    chance = random.Random(seed)
    seconds = DAYS * 86_400
    weights = [1.5 - math.cos(2 * math.pi * (hour - 3) / 24) for hour in range(24 * DAYS)]
    hours = chance.choices(range(24 * DAYS), weights, k=count)
    places = sorted(min(hour * 3600 + chance.random() * 3600, seconds - 1) for hour in hours)
    calm = chance.choices(CALM, WEIGHTS, k=count)
    rows = []
    for number, place in enumerate(places):
        moment = FIRST_DAY + timedelta(seconds=place)
        service = SERVICES[number % 7 % 5]
        level, text = calm[number]
        if INCIDENT[0] <= moment < INCIDENT[0] + INCIDENT[1] and chance.random() < 0.4:
            level, text = BROKEN[number % 4]
            service = "checkout"
        host = f"node-{number % 12:02d}"
        ms = 3 + number * 7919 % 480
        message = text.format(
            path=PATHS[number % 8],
            user=10_000 + number * 31 % 9_000,
            ms=ms,
            slow=5_000 + ms,
            shard=number % 9,
            host=host,
            a=number % 250,
            b=number // 250 % 250,
        )
        stamp = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        rows.append(
            [stamp, stamp[:10], level, service, host, str(ms + (5_000 if "timed out" in message else 0)), message]
        )
    return rows


def write(path: Path, rows: list[list[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([HEADER, *rows])


def chapter_import() -> None:
    title(f"{ROWS:,} lines of a shop's log, as CSV")
    write(Path("shop.csv"), log_rows(ROWS, seed=7))
    size = Path("shop.csv").stat().st_size
    say(
        f"{DAYS} days, {size / 1e6:.0f} MB. One command makes a table of it; it looks at every line to guess the types."
    )
    began = time.perf_counter()
    command("import", "logs", "shop.csv", "--partition-by", "day")
    seconds = time.perf_counter() - began
    say(f"That was {ROWS / seconds:,.0f} lines a second, on {os.cpu_count()} cores, indexed word by word.")


def chapter_search() -> None:
    title("Customers complain. What do the logs say?")
    command("search", "logs", 'payment AND "timed out"', "--limit", "3", "--columns", "ts,service,message")
    title("Since when?")
    when = "day = DATE '2026-03-04'"
    command("aggregate", "logs", "--by", "hour=date_histogram(ts, '1 hour')", "--query", '"timed out"', "--where", when)
    title("And what else happened in that hour?")
    hour = "ts >= TIMESTAMP '2026-03-04 14:00:00Z' AND ts < TIMESTAMP '2026-03-04 15:00:00Z'"
    command(
        *("aggregate", "logs", "--by", "service", "--metric", "errors=count", "--metric", "avg_ms=avg(ms)"),
        *("--where", f"level = 'ERROR' AND {hour}"),
    )
    command(
        "search", "logs", "circuit breaker tmeouts~1", "--where", hour, "--limit", "2", "--columns", "ts,host,message"
    )


def chapter_writers() -> None:
    title("Two late files, two writers, at the same moment")
    rows = log_rows(2_000, seed=8)
    write(Path("late-a.csv"), rows[:1_000])
    write(Path("late-b.csv"), rows[1_000:])
    names = ("late-a.csv", "late-b.csv")
    for name in names:
        show_command("import", "logs", name, "&")
    arguments = [[sys.executable, "-m", "indextables.cli", "import", "logs", name, "--json"] for name in names]
    writers = [subprocess.Popen(each, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for each in arguments]
    for writer in writers:
        _, errors = writer.communicate(timeout=300)
        if writer.returncode:
            raise SystemExit(f"a writer failed: {errors.decode(errors='replace')}")
    say("Both are in: each commit is atomic, and the one that lost the race for a version took the next.")
    title("Nothing is ever gone")
    for more in ((), ("--version", "1")):
        command("count", "logs", "--query", '"timed out"', *more)


def chapter_timings() -> None:
    title("How fast was that?")
    table = Table.open("logs")
    questions: list[tuple[str, Callable[[], Any]]] = [
        ("open the table", lambda: Table.open("logs")),
        ("count one word", lambda: table.count(query="timeouts")),
        ("count a phrase and a filter", lambda: table.count("level = 'ERROR'", '"timed out"')),
        ("the 10 best, with their rows", lambda: table.search('payment AND "timed out"')),
        ("hourly histogram of a query", lambda: table.aggregate(["date_histogram(ts, '1 hour')"], query="connection")),
        ("count by level, all rows", lambda: table.aggregate(["level"])),
        ("fetch every matching row", lambda: table.scan(query='"timed out"').read_all()),
    ]
    taken = {}
    for name, question in questions:
        question()
        times = []
        for _ in range(5):
            began = time.perf_counter()
            question()
            times.append(time.perf_counter() - began)
        taken[name] = statistics.median(times) * 1e3
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column()
    grid.add_column(justify="right")
    grid.add_column()
    slowest = max(taken.values())
    for name, milliseconds in taken.items():
        grid.add_row(Text(f" {name}"), f"{milliseconds:.1f} ms", bar(milliseconds, slowest, 24, blocks=BLOCKS))
    console.print(grid)
    console.print()
    say(
        f"{table.count():,} rows in {table.files().num_rows} files; no server, no cluster, one Python process.",
        last=True,
    )


# How it looks.

console = Console(highlight=False, emoji=False)
if not console.is_terminal:
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    console = Console(highlight=False, emoji=False, width=min(int(os.environ.get("COLUMNS", "100")), 100))
BLOCKS = console.encoding.lower().startswith("utf")


def title(text: str) -> None:
    console.print(
        Rule(Text(f" {text} ", "bold"), align="left", style="bright_black", characters="\u2500" if BLOCKS else "-")
    )


def say(text: str, *, last: bool = False) -> None:
    console.print(Text(f"{text}{'' if last else chr(10)}", "dim" if not last else ""))


def quoted(argument: str) -> str:
    """As people would type it."""
    if argument == "&" or "'" not in argument or set(argument) & set('"$`\\!'):
        return argument if argument == "&" else shlex.quote(argument)
    return f'"{argument}"'


def show_command(*arguments: str) -> None:
    typed = " ".join(map(quoted, arguments))
    console.print(Text.assemble(("$ ", "green"), ("indextables ", "bold"), (typed, "bold")))


def command(*arguments: str) -> None:
    """Show a command, and run it."""
    show_command(*arguments)
    sys.stdout.flush()
    code = indextables([*arguments, "--output", "table"])
    if code == INTERRUPTED:
        raise KeyboardInterrupt
    if code != 0:
        raise SystemExit(f"{arguments[0]} ended with {code}")
    console.print()


def main() -> None:
    began = time.perf_counter()
    console.print()
    with tempfile.TemporaryDirectory(prefix="indextables-demo-") as directory:
        home = Path.cwd()
        os.chdir(directory)
        try:
            chapter_import()
            chapter_search()
            chapter_writers()
            chapter_timings()
        finally:
            os.chdir(home)
    say(f"All of it took {time.perf_counter() - began:.1f} s, and the table is gone again.")
    console.print(Text.assemble(("Next: ", "bold"), "indextables --help, or the twenty lines of Python in README.md\n"))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
