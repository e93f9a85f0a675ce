"""Every `spark.indextables.*` key, declared once.

A constant is named after its key: `transaction.retry.maxAttempts` is `TRANSACTION_RETRY_MAX_ATTEMPTS`. The reference page is
generated from these lines, and a test holds names, keys and page together.
"""

from __future__ import annotations

from typing import Any

from indextables.core.options.kinds import split_list
from indextables.core.options.option import Family, Option, Section

TYPE_NAMES = ("text", "string", "json", "ip")
"""How a column can be indexed; as the last part of an `indexing.typemap` key, the list form."""


def _check_typemap(member: str, value: str) -> str | None:
    if member.lower() in TYPE_NAMES:
        return _check_columns(member, value)
    return None if value.lower() in TYPE_NAMES else f"expected one of {', '.join(TYPE_NAMES)}"


def _check_columns(_member: str, value: str) -> str | None:
    try:
        split_list(value)
    except ValueError:
        return "expected names with commas between them"
    return None


def _check_record_option(member: str, value: str) -> str | None:
    if member.lower() not in ("basic", "freq", "position"):
        return "the last part of the key is one of basic, freq, position"
    return _check_columns(member, value)


_commits = Section("Commits", "How a change becomes a version of the table, and what happens when two writers meet.")
TRANSACTION_RETRY_MAX_ATTEMPTS = _commits.whole(
    "transaction.retry.maxAttempts",
    10,
    "How often a commit that lost a race is tried again at the next version before it gives up.",
    minimum=1,
    unit="attempts",
)
TRANSACTION_RETRY_BASE_DELAY_MS = _commits.milliseconds(
    "transaction.retry.baseDelayMs",
    100,
    "Upper end of the random wait before the second attempt; it doubles with every further one.",
)
TRANSACTION_RETRY_MAX_DELAY_MS = _commits.milliseconds(
    "transaction.retry.maxDelayMs", 5_000, "The longest wait between two attempts."
)
TRANSACTION_COMPRESSION_ENABLED = _commits.flag(
    "transaction.compression.enabled", True, "Write version files as gzip streams. Reading takes either form."
)
TRANSACTION_MAX_VERSION_FILE_BYTES = _commits.size(
    "transaction.maxVersionFileBytes",
    1 << 30,
    "The largest version file, once unpacked, that is read or written. A protection against damaged or hostile logs.",
)
TRANSACTION_ADOPT_FOREIGN = _commits.flag(
    "transaction.adoptForeign",
    False,
    "Allow writing to a table that another implementation commits by states alone. Its own writers cannot follow then.",
)
TRANSACTION_USE_OPTIMIZED = _commits.flag(
    "transaction.useOptimized", True, "Accepted for compatibility, without effect: there is only one kind of log."
)

_reading = Section("Reading the log", "How a table is opened and refreshed.")
TRANSACTION_MAX_STALENESS = _reading.seconds(
    "transaction.maxStaleness",
    0,
    "A snapshot checked within this time is served again without asking the store. 0: every open and refresh asks.",
)
TRANSACTION_CACHE_ENABLED = _reading.flag(
    "transaction.cache.enabled", True, "Keep the parsed log of the tables this process has opened."
)
TRANSACTION_CACHE_EXPIRATION_SECONDS = _reading.seconds(
    "transaction.cache.expirationSeconds",
    300,
    "How long an unused table stays in the cache. It bounds memory, not freshness: see `transaction.maxStaleness`.",
)
CHECKPOINT_PARALLELISM = _reading.whole(
    "checkpoint.parallelism",
    4,
    "Log objects read at the same time. Where `state.read.parallelism` is set too, the larger one holds.",
    minimum=1,
    unit="reads",
)
STATE_READ_PARALLELISM = _reading.whole(
    "state.read.parallelism",
    8,
    "Manifests read at the same time. Where `checkpoint.parallelism` is set too, the larger one holds.",
    minimum=1,
    unit="reads",
)
CHECKPOINT_READ_TIMEOUT_SECONDS = _reading.seconds(
    "checkpoint.read.timeoutSeconds", 30, "How long reading the log may take before it fails with `LogReadTimeout`."
)

_tasks = Section("Tasks", "How a read is divided among the tasks of a cluster.")
READ_SPLITS_PER_TASK = _tasks.whole(
    "read.splitsPerTask",
    0,
    "Splits that one task reads. 0: as many as have 128 MB together, fewer where processors would have nothing to do, and up to "
    "512 MB where there would be more than 2,000 tasks.",
    unit="splits",
)
READ_MAX_SPLITS_PER_TASK = _tasks.whole(
    "read.maxSplitsPerTask",
    256,
    "The most splits of one task where `read.splitsPerTask` does not fix their number.",
    minimum=1,
    unit="splits",
)
CONNECTOR_ENABLED = _tasks.flag(
    "connector.enabled",
    True,
    "Whether `install` puts the connector into the driver of a Spark session. Looked at by the first `install` of a process.",
)
READ_LOCAL_ENABLED = _tasks.flag(
    "read.local.enabled",
    True,
    "Whether the driver answers small questions itself while Spark plans, without a job. See `read.local.maxRows`.",
)
READ_LOCAL_MAX_ROWS = _tasks.whole(
    "read.local.maxRows",
    4_096,
    "The most rows, or groups of an aggregate, of an answer that the driver computes itself.",
    unit="rows",
)
READ_LOCAL_MAX_BYTES = _tasks.size(
    "read.local.maxBytes",
    1 << 29,
    "The most bytes of splits, after pruning, that the driver looks into for an answer of its own. Larger questions run as "
    "tasks.",
)
READ_FOLLOWING_ENABLED = _tasks.flag(
    "read.following.enabled",
    False,
    "Whether every question to a DataFrame reads the newest version of its table. Without it a DataFrame stays at the version "
    "that was the newest when it was loaded. Needs the connector.",
)
READ_COLUMNAR_ENABLED = _tasks.flag(
    "read.columnar.enabled",
    True,
    "Whether tasks that run in the driver, as on a local master, are read by the driver's own Python process, which hands "
    "columns over to Spark, where all columns have flat types. Workers of Python read other tasks, and hand rows over.",
)

_state = Section(
    "Checkpoints and state", "How the log is summed up, so that opening a table does not replay all of it."
)
CHECKPOINT_ENABLED = _state.flag(
    "checkpoint.enabled", True, "Write a checkpoint after every `checkpoint.interval` versions."
)
CHECKPOINT_INTERVAL = _state.whole(
    "checkpoint.interval", 10, "Versions between two checkpoints.", minimum=1, unit="versions"
)
CHECKPOINT_MULTIPART_MAX_ACTIONS_PER_PART = _state.whole(
    "checkpoint.multipart.maxActionsPerPart",
    50_000,
    "A JSON checkpoint with more actions than this is written in several parts.",
    minimum=1,
    unit="actions",
)
STATE_FORMAT = _state.choice(
    "state.format",
    "avro",
    "The form of checkpoints: `avro` states, or `json` for readers that know nothing newer.",
    ("avro", "json"),
)
STATE_COMPRESSION = _state.choice(
    "state.compression", "zstd", "The compression inside Avro states and manifests.", ("zstd", "snappy", "none")
)
STATE_COMPRESSION_LEVEL = _state.whole(
    "state.compressionLevel", 3, "The zstd level; higher is smaller and slower.", minimum=1, maximum=22
)
STATE_ENTRIES_PER_MANIFEST = _state.whole(
    "state.entriesPerManifest",
    50_000,
    "The most files one manifest describes. Fewer where that makes one partition cheaper to read.",
    minimum=1,
    unit="files",
)
STATE_RETRY_MAX_ATTEMPTS = _state.whole(
    "state.retry.maxAttempts", 10, "How often writing a state is tried.", minimum=1, unit="attempts"
)
STATE_RETRY_BASE_DELAY_MS = _state.milliseconds(
    "state.retry.baseDelayMs",
    100,
    "Upper end of the random wait before a state is tried again; it doubles with every further attempt.",
)
STATE_RETRY_MAX_DELAY_MS = _state.milliseconds(
    "state.retry.maxDelayMs", 5_000, "The longest wait between two attempts to write a state."
)
STATE_SCHEMA_RENORMALIZE_THRESHOLD = _state.whole(
    "state.schema.renormalizeThreshold",
    5,
    "References to index schemas are brought into one form when a state names more different ones than this.",
    unit="schemas",
)
STATE_COMPACTION_TOMBSTONE_THRESHOLD = _state.ratio(
    "state.compaction.tombstoneThreshold",
    0.10,
    "A state with more tombstones than this share of its files is compacted.",
)
STATE_COMPACTION_MAX_MANIFESTS = _state.whole(
    "state.compaction.maxManifests",
    20,
    "A state with more manifests than this that are less than half full is compacted.",
    minimum=1,
    unit="manifests",
)
STATE_COMPACTION_LARGE_REMOVE_THRESHOLD = _state.whole(
    "state.compaction.largeRemoveThreshold",
    2**31 - 1,
    "A commit that removes more files than this is followed by a compaction. The default, also spelled `MAX_INT`: never.",
    minimum=1,
    unit="files",
)
STATE_COMPACTION_AFTER_MERGE = _state.flag(
    "state.compaction.afterMerge", True, "Compact the state after splits were merged."
)

_retention = Section(
    "Retention and clean-up",
    "How long the past stays readable. Nothing that a current reader or writer may need is deleted, whatever these say.",
)
SAFETY_AGE_HOURS = _retention.hours(
    "safetyAge.hours",
    72,
    "No file younger than this is ever deleted, and a commit whose upload began more than half of it ago is refused. "
    "It must be longer than the longest write; less than an hour is for tests only.",
    scope="table",
)
TXN_RETENTION_HOURS = _retention.hours(
    "txn.retention.hours",
    720,
    "How long the table remembers the last batch of an exactly-once writer that went silent.",
    scope="table",
)
LOG_RETENTION_DURATION = _retention.milliseconds(
    "logRetention.duration",
    30 * 86_400_000,
    "How far back time travel reaches. Where `purge.txLogRetentionHours` is set too, the longer one holds.",
)
PURGE_TX_LOG_RETENTION_HOURS = _retention.hours(
    "purge.txLogRetentionHours",
    720,
    "The same as `logRetention.duration`, in hours. Where both are set, the longer one holds.",
)
CHECKPOINT_RETENTION_DURATION = _retention.milliseconds(
    "checkpointRetention.duration",
    2 * 3_600_000,
    "How long an old checkpoint or state is kept. Where `state.retention.hours` is set too, the longer one holds.",
)
STATE_RETENTION_VERSIONS = _retention.whole(
    "state.retention.versions", 2, "How many states are kept, however old they are.", minimum=1, unit="states"
)
STATE_RETENTION_HOURS = _retention.hours(
    "state.retention.hours",
    168,
    "How long an old state is kept. Where `checkpointRetention.duration` is set too, the longer one holds.",
)
STATE_GC_MIN_MANIFEST_AGE_HOURS = _retention.hours(
    "state.gc.minManifestAgeHours",
    1,
    "Manifests that no state names are kept for this long at least. A shorter time than `safetyAge.hours` has no effect.",
)
CLEANUP_ENABLED = _retention.flag("cleanup.enabled", True, "Clean the log up after an automatic checkpoint.")
CLEANUP_FAILURE_POLICY = _retention.choice(
    "cleanup.failurePolicy",
    "continue",
    "What clean-up does when a delete fails: `continue` with the others and report it, or `fail`.",
    ("continue", "fail"),
)
CLEANUP_DRY_RUN = _retention.flag("cleanup.dryRun", False, "Report what clean-up would delete, and delete nothing.")
PURGE_DEFAULT_RETENTION_HOURS = _retention.hours(
    "purge.defaultRetentionHours",
    168,
    "The age that a split which no version names must have before purge deletes it. A shorter time than `safetyAge.hours` has "
    "no effect.",
)
PURGE_MIN_RETENTION_HOURS = _retention.hours(
    "purge.minRetentionHours", 24, "Purge refuses to be asked for a shorter retention than this."
)
PURGE_RETENTION_CHECK_ENABLED = _retention.flag(
    "purge.retentionCheckEnabled",
    True,
    "Whether `purge.minRetentionHours` holds. Without it, `safetyAge.hours` still does.",
)
PURGE_PARALLELISM = _retention.whole_or_auto(
    "purge.parallelism",
    "Delete requests that purge has on their way at the same time, each for at most 1,000 objects. `auto`: 8.",
    unit="requests",
)
PURGE_MAX_FILES_TO_DELETE = _retention.whole(
    "purge.maxFilesToDelete",
    1_000_000,
    "The most splits that one purge deletes. What is left over goes with the next purge.",
    minimum=1,
    unit="splits",
)
PURGE_DELETE_RETRIES = _retention.whole(
    "purge.deleteRetries",
    3,
    "How often purge asks again for a delete that failed, beside the repeats of `storage.retry.maxAttempts`.",
    unit="attempts",
)
PURGE_ON_WRITE_ENABLED = _retention.flag(
    "purgeOnWrite.enabled",
    False,
    "Purge after writes of this process, in the background: see the triggers. A purge that fails never fails the write.",
)
PURGE_ON_WRITE_TRIGGER_AFTER_WRITES = _retention.whole(
    "purgeOnWrite.triggerAfterWrites",
    0,
    "Purge after every so many writes of this process to the table. 0: not because of writes.",
    unit="writes",
)
PURGE_ON_WRITE_TRIGGER_AFTER_MERGE = _retention.flag(
    "purgeOnWrite.triggerAfterMerge", True, "Purge after splits were merged."
)
PURGE_ON_WRITE_SPLIT_RETENTION_HOURS = _retention.hours(
    "purgeOnWrite.splitRetentionHours", 168, "`purge.defaultRetentionHours` of purges that follow writes."
)
PURGE_ON_WRITE_TX_LOG_RETENTION_HOURS = _retention.hours(
    "purgeOnWrite.txLogRetentionHours",
    720,
    "How far back time travel reaches after a purge that follows a write.",
)
MERGE_TARGET_SIZE = _retention.size(
    "merge.targetSize", 1 << 30, "The size of splits that merging small ones makes.", minimum=1
)
MERGE_SKIP_SPLIT_THRESHOLD = _retention.ratio(
    "merge.skipSplitThreshold", 0.45, "Splits that have this share of the target size are not merged any more."
)
MERGE_ON_WRITE_ENABLED = _retention.flag(
    "mergeOnWrite.enabled",
    False,
    "Merge small splits after a write that leaves too many of them, from Spark or from Python.",
)
MERGE_ON_WRITE_ASYNC_ENABLED = _retention.flag(
    "mergeOnWrite.async.enabled", True, "Let that merge run in the background instead of making the write wait."
)
MERGE_ON_WRITE_MIN_SPLITS = _retention.whole(
    "mergeOnWrite.minSplits",
    10,
    "How many splits such a merge must be able to replace before it begins.",
    minimum=2,
    unit="splits",
)

_stats = Section("Statistics", "The bounds per file that let a query skip files it cannot match.")
STATS_TRUNCATION_ENABLED = _stats.flag(
    "stats.truncation.enabled", True, "Shorten long texts in the bounds. Skipping stays correct, only less sharp."
)
STATS_TRUNCATION_MAX_LENGTH = _stats.whole(
    "stats.truncation.maxLength", 32, "The length that bounds are shortened to.", minimum=1, unit="characters"
)
DATA_SKIPPING_STATS_COLUMNS = _stats.columns(
    "dataSkippingStatsColumns",
    "The columns to keep bounds for. Not set: the first `dataSkippingNumIndexedCols` columns.",
)
DATA_SKIPPING_NUM_INDEXED_COLS = _stats.whole(
    "dataSkippingNumIndexedCols",
    32,
    "Bounds are kept for this many columns, counted from the first. -1: for all of them.",
    minimum=-1,
    unit="columns",
)

_indexing = Section("Indexing", "How columns are indexed. What is stored with the table is fixed when it is created.")
INDEXING_TYPEMAP = _indexing.family(
    "indexing.typemap",
    "column or type",
    "`text`, `string`, `json` or `ip` after a column; a list of columns after a type",
    "How a column is indexed: `indexing.typemap.message=text`, or for several columns at once "
    "`indexing.typemap.text=message,title`.",
    check=_check_typemap,
)
INDEXING_FASTFIELDS = _indexing.columns(
    "indexing.fastfields",
    "Columns to keep in columnar form beside the index, for sorting and aggregates.",
    scope="table",
)
INDEXING_LOOKUPFIELDS = _indexing.columns(
    "indexing.lookupfields",
    "Number, boolean, date and timestamp columns to index value by value, for fast look-ups of single values.",
    scope="table",
)
INDEXING_TOKENIZER = _indexing.family(
    "indexing.tokenizer",
    "tokenizer",
    "a list of columns",
    "The tokenizer of `text` columns, such as `indexing.tokenizer.en_stem=message`.",
    check=_check_columns,
)
INDEXING_INDEXRECORDOPTION = _indexing.family(
    "indexing.indexrecordoption",
    "basic, freq or position",
    "a list of columns",
    "What the index remembers of each word: `basic` (that it occurs), `freq` (how often), `position` (where: phrases).",
    check=_check_record_option,
)
INDEXING_TEXT_MAX_TOKEN_LENGTH = _indexing.whole(
    "indexing.text.maxTokenLength",
    255,
    "Words longer than this are not indexed.",
    minimum=1,
    maximum=65_530,
    unit="bytes",
    scope="table",
)
INDEX_WRITER_HEAP_SIZE = _indexing.size(
    "indexWriter.heapSize",
    100_000_000,
    "Memory of one index writer. Less makes more segments and slower writes, more gains nothing.",
    minimum=15_000_000,
    maximum=4_293_967_295,
)
INDEX_WRITER_THREADS = _indexing.whole(
    "indexWriter.threads", 2, "Splits built at the same time by one process.", minimum=1, unit="splits"
)
INDEX_WRITER_SPLIT_SIZE = _indexing.size(
    "indexWriter.splitSize",
    512 << 20,
    "A write begins another split of a partition after this many bytes of rows, counted as they are in memory.",
)

_optimize = Section(
    "Optimised writes",
    "How `indextables.spark.write` distributes rows before they are indexed, so that each partition gets few large splits.",
)
WRITE_OPTIMIZE_WRITE_ENABLED = _optimize.flag(
    "write.optimizeWrite.enabled",
    False,
    "Move the rows of one partition together before they are written. Costs a shuffle, saves many small splits.",
)
WRITE_OPTIMIZE_WRITE_TARGET_SPLIT_SIZE = _optimize.size(
    "write.optimizeWrite.targetSplitSize",
    256 << 20,
    "How many bytes of rows, as Spark shuffles them, one task should get: small partitions are put together, large ones cut.",
)
WRITE_OPTIMIZE_WRITE_DISTRIBUTION_MODE = _optimize.choice(
    "write.optimizeWrite.distributionMode",
    "balanced",
    "How rows are moved: `balanced` cuts large partitions and puts small ones together (with Spark's adaptive execution), "
    "`hash` gives all rows of a partition to one task, `none` leaves them where they are.",
    ("balanced", "hash", "none"),
)

_cache = Section(
    "Disk cache",
    "Indexes of splits are kept on local disk, shared by all processes of a user that name the same directory.",
)
CACHE_DISK_ENABLED = _cache.flag(
    "cache.disk.enabled",
    True,
    "Keep the indexes of splits on local disk. Without it each one is fetched again whenever it is opened.",
)
CACHE_DISK_DIRECTORY = _cache.text(
    "cache.disk.directory",
    "Where the cache is. Not set: `indextables` in `$XDG_CACHE_HOME` or `~/.cache`, or in the temporary directory "
    "where those cannot be written.",
)
CACHE_DISK_MAX_BYTES = _cache.size(
    "cache.disk.maxBytes",
    10 << 30,
    "The most bytes the cache keeps. What is in use stays, even if that is more; the least recently used leaves first.",
)
PREWARM_FAIL_ON_MISSING_FIELD = _cache.flag(
    "prewarm.failOnMissingField",
    True,
    "Refuse to prewarm columns that the table does not have. Otherwise they are left out, and the answer names them.",
)

_storage = Section(
    "Object stores",
    "How stores are reached. Credentials that are not set here are looked for where the store's own tools look for them.",
)
STORAGE_RETRY_MAX_ATTEMPTS = _storage.whole(
    "storage.retry.maxAttempts", 8, "How often a request that may be repeated is tried.", minimum=1, unit="attempts"
)
STORAGE_RETRY_BASE_DELAY_MS = _storage.milliseconds(
    "storage.retry.baseDelayMs",
    50,
    "Upper end of the random wait before a request is repeated; it doubles with every further one.",
)
STORAGE_RETRY_MAX_DELAY_MS = _storage.milliseconds(
    "storage.retry.maxDelayMs", 5_000, "The longest wait between two tries of a request."
)
STORAGE_TIMEOUT_SECONDS = _storage.seconds("storage.timeoutSeconds", 30, "How long one request may take.")
STORAGE_CONNECT_TIMEOUT_SECONDS = _storage.seconds(
    "storage.connectTimeoutSeconds", 5, "How long connecting to the store may take."
)
AWS_ACCESS_KEY = _storage.text("aws.accessKey", "S3 access key id.", secret=True)
AWS_SECRET_KEY = _storage.text("aws.secretKey", "S3 secret access key.", secret=True)
AWS_SESSION_TOKEN = _storage.text("aws.sessionToken", "Token of temporary S3 credentials.", secret=True)
AWS_REGION = _storage.text("aws.region", "Region of the bucket.")
AWS_ENDPOINT = _storage.text("aws.endpoint", "URL of an S3-compatible service.")
AWS_PATH_STYLE_ACCESS = _storage.flag(
    "aws.pathStyleAccess",
    False,
    "Put the bucket into the path instead of the host name, as most S3-compatible services want.",
)
AWS_ALLOW_HTTP = _storage.flag("aws.allowHttp", False, "Allow an endpoint without TLS.")
AZURE_ACCOUNT_NAME = _storage.text("azure.accountName", "Storage account.")
AZURE_ACCOUNT_KEY = _storage.text("azure.accountKey", "Key of the storage account.", secret=True)
AZURE_SAS_TOKEN = _storage.text("azure.sasToken", "Shared access signature.", secret=True)
AZURE_ENDPOINT = _storage.text("azure.endpoint", "URL of the blob service, where it is not Azure's own.")
AZURE_ALLOW_HTTP = _storage.flag("azure.allowHttp", False, "Allow an endpoint without TLS.")
GCP_SERVICE_ACCOUNT_KEY = _storage.text(
    "gcp.serviceAccountKey", "Service account key, as the JSON text that Google hands out.", secret=True
)
GCP_ENDPOINT = _storage.text("gcp.endpoint", "URL of a service that speaks Google's protocol.")

SECTIONS: tuple[Section, ...] = (
    _commits,
    _reading,
    _tasks,
    _state,
    _retention,
    _stats,
    _indexing,
    _optimize,
    _cache,
    _storage,
)

OPTIONS: dict[str, Option[Any]] = {
    entry.key.lower(): entry for section in SECTIONS for entry in section.entries if isinstance(entry, Option)
}
"""Every option by its full key in lower case."""

FAMILIES: dict[str, Family] = {
    entry.key.lower(): entry for section in SECTIONS for entry in section.entries if isinstance(entry, Family)
}
"""Every family by its full key in lower case."""
