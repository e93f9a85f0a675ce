"""What `--help` shows as examples. The tests run every one of them, and the reference page has the same."""

from __future__ import annotations

from typing import Final

EXAMPLES: Final[dict[str, tuple[str, ...]]] = {
    "create": (
        "indextables create /tmp/events --schema 'ts timestamp, level string, message text'",
        "indextables create /tmp/days --schema 'day date, n long' --partition-by day",
    ),
    "import": (
        "indextables import logs app.csv",
        "indextables import logs 'more/*.jsonl.gz' --no-create",
        "indextables import days app.csv --partition-by day --schema 'status string'",
        "zcat app.csv.gz | indextables import piped - --format csv",
        "indextables import lines server.log.zst",
    ),
    "search": (
        "indextables search logs timeout",
        "indextables search logs '\"disk full\" OR level:ERROR' --limit 3 --columns ts,message",
        "indextables search logs 'message:(connection AND timeout)' --where 'status >= 500' --json",
    ),
    "scan": (
        "indextables scan logs --query timeout --columns ts,host,message",
        "indextables scan logs --where \"level = 'ERROR'\" --limit 5 --output table",
        "indextables scan logs --columns host --no-header | sort | uniq -c",
    ),
    "count": ("indextables count logs", "indextables count logs --query 'time*' --where 'status >= 500'"),
    "aggregate": (
        "indextables aggregate logs --by level",
        "indextables aggregate logs --by \"date_histogram(ts, '1 hour')\" --query timeout",
        "indextables aggregate logs --by host --metric n=count --metric 'slowest=max(ms)' --where 'status >= 500'",
    ),
    "explain": (
        "indextables explain logs --query 'message:(connection AND timeout)' --where 'status >= 500'",
        "indextables explain logs --where \"level = 'ERROR'\" --json",
    ),
    "describe": ("indextables describe logs", "indextables describe logs --version 0 --json"),
    "history": ("indextables history logs", "indextables history logs --limit 1 --json"),
    "files": ("indextables files logs", "indextables files logs --where \"level = 'ERROR'\""),
    "changes": (
        "indextables changes logs --since 0",
        "indextables changes logs --since 2026-01-01 --json",
        "indextables changes logs --since 0 --rows --query timeout --columns ts,message",
    ),
    "checkpoint": ("indextables checkpoint logs",),
    "tail": (
        "indextables tail logs",
        "indextables tail logs -n 5 --query timeout --columns ts,message",
        "indextables tail logs --where \"level = 'ERROR'\" --json",
    ),
    "partitions": ("indextables partitions days", "indextables partitions days --json"),
    "ls": ("indextables ls .", "indextables ls . --json"),
    "export": (
        "indextables export logs logs.parquet",
        "indextables export logs errors.csv.gz --where \"level = 'ERROR'\" --columns ts,message",
        "indextables export logs parts/ --format jsonl --rows-per-file 200",
    ),
    "prewarm": (
        "indextables prewarm logs",
        "indextables prewarm days --where \"day >= '2026-03-01'\"",
        "indextables prewarm logs --segments term_dict,positions --fields message --parallelism 2",
    ),
    "purge": ("indextables purge logs --dry-run", "indextables purge logs --older-than 14d --json"),
    "optimize": ("indextables optimize logs --dry-run", "indextables optimize logs --json"),
    "drop": ("indextables drop piped --yes",),
    "state": ("indextables state logs",),
    "log": ("indextables log logs", "indextables log logs --all --json"),
    "components": ("indextables components logs",),
    "set": ("indextables set logs owner=ops",),
    "unset": ("indextables unset logs owner",),
    "upgrade": ("indextables upgrade logs",),
    "cache": ("indextables cache", "indextables cache flush", "indextables cache invalidate-log logs"),
    "stats": ("indextables stats storage", "indextables stats skipping --json"),
    "profiler": ("indextables profiler show", "indextables profiler caches --json"),
    "jobs": ("indextables jobs merge", "indextables jobs wait --timeout 5 --json"),
    "environment": ("indextables environment --json",),
    "sql": (
        "indextables sql 'DESCRIBE INDEXTABLES STATE logs'",
        "indextables sql \"MERGE SPLITS logs TARGET SIZE 100M; DESCRIBE INDEXTABLES HISTORY 'logs' LIMIT 1\" --json",
        "indextables sql 'DESCRIBE INDEXTABLES HISTORY events LIMIT 1' --table events=logs",
    ),
    "restore": (
        "indextables restore logs --version 1",
        "indextables restore logs --timestamp 2100-01-01 --json",
    ),
    "drop-partitions": ("indextables drop-partitions days --where \"day < '2020-01-01'\"",),
    "clone": ("indextables clone logs /tmp/copy-of-logs", "indextables clone logs backup --version 1 --json"),
    "fsck": ("indextables fsck logs", "indextables fsck logs --repair --json"),
    "verify": ("indextables verify logs",),
    "repair": ("indextables repair logs --json", "indextables repair logs/_transaction_log --to logs-new-log"),
    "merge": ("indextables merge logs", "indextables merge logs --target-size 1G --max-sources 100 --json"),
    "truncate-time-travel": (
        "indextables truncate-time-travel logs --dry-run",
        "indextables truncate-time-travel logs",
    ),
}


def epilog(command: str) -> str:
    """The examples of a command, one a line."""
    return "\n\n".join(("Examples:", *(f"$ {line}" for line in EXAMPLES[command])))
