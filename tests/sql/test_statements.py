"""Each statement answers with what the method of `Table` answers with, in exactly its columns."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
import pytest

import indextables
from indextables import Table, inspect
from indextables.core.errors import (
    LogWarning,
    OptionError,
    PredicateError,
    StatementError,
    TableNotFound,
    VersionNotFound,
)
from indextables.core.options import PREFIX
from indextables.sql.commands import Command
from indextables.sql.executor import EXECUTORS, answer_schema, execute
from indextables.sql.grammar import parse_statement
from indextables.sql.run_text import GivenTables
from indextables.table.read.prewarm_choice import SEGMENT_NAMES
from sql.conftest import rows

COLUMNS = {  # a promise: other programs know these names and their order
    "MergeSplits": "table_path status sources results rows bytes_before bytes_after skipped version duration_ms message",
    "Purge": "table_path status orphaned_files_found orphaned_files_deleted size_mb_deleted retention_hours "
    "transaction_logs_found transaction_logs_deleted states_deleted manifests_deleted temporary_files_deleted "
    "dry_run duration_ms message",
    "DropPartitions": "table_path status partitions_dropped splits_removed total_size_bytes version message",
    "Checkpoint": "table_path status checkpoint_version num_actions num_files protocol_version is_multi_part",
    "Compact": "table_path status checkpoint_version num_actions num_files protocol_version is_multi_part",
    "TruncateTimeTravel": "table_path status checkpoint_version versions_deleted checkpoints_deleted files_preserved message",
    "RepairLog": "source_path target_path source_version total_splits valid_splits missing_splits status",
    "DescribeState": "property value",
    "DescribeLog": "version log_file_path action_type path partition_values size data_change tags modification_time stats "
    "min_values max_values num_records footer_start_offset footer_end_offset hotcache_start_offset "
    "hotcache_length has_footer_offsets time_range_start time_range_end split_tags delete_opstamp "
    "num_merge_ops doc_mapping_json doc_mapping_ref uncompressed_size_bytes deletion_timestamp "
    "extended_file_metadata skip_timestamp skip_reason skip_operation skip_retry_after skip_count "
    "protocol_min_reader_version protocol_min_writer_version protocol_reader_features protocol_writer_features "
    "metadata_id metadata_name metadata_description metadata_format_provider metadata_format_options "
    "metadata_schema_string metadata_partition_columns metadata_configuration metadata_created_time "
    "is_checkpoint",
    "DescribeHistory": "version timestamp operation parameters metrics txn_id read_version engine",
    "DescribeComponentSizes": "split_path partition_values component_key size_bytes component_type field_name",
    "DescribeDiskCache": "executor_id host enabled total_bytes max_bytes usage_percent splits_cached components_cached",
    "DescribeStorageStats": "executor_id host bytes_fetched requests",
    "DescribeDataSkipping": "metric value",
    "FlushDataSkipping": "metric value",
    "InvalidateDataSkipping": "metric value",
    "DescribeEnvironment": "host role property_type property_name property_value",
    "DescribeMergeJobs": "job_id table_path status total_groups completed_groups total_batches completed_batches progress_pct "
    "duration_ms error_message",
    "Prewarm": "host splits_prewarmed segments fields duration_ms status skipped_fields",
    "DescribePrewarmJobs": "executor_id host job_id table_path status total_splits completed_splits progress_pct duration_ms "
    "error_message",
    "WaitForPrewarm": "executor_id host job_id table_path status total_splits splits_prewarmed duration_ms error_message",
    "FlushDiskCache": "cache_type status cleared_entries message",
    "FlushSearcherCache": "cache_type status cleared_entries message",
    "InvalidateLogCache": "table_path result cache_hits_before cache_misses_before hit_rate_before",
    "EnableProfiler": "status host_count message",
    "DisableProfiler": "status host_count message",
    "ResetProfiler": "status host_count message",
    "ResetProfilerCache": "status host_count message",
    "DescribeProfiler": "section category calls total_ms avg_us min_us max_us",
    "DescribeProfilerCache": "cache hits misses hit_rate",
    "Restore": "table_path status version restored_version files_added files_removed message",
    "Fsck": "severity kind path message",
    "SetProperties": "table_path status version message",
    "UnsetProperties": "table_path status version message",
    "UpgradeProtocol": "table_path status version message",
    "Clone": "table_path status version source_path source_version files total_size_bytes message",
    "Optimize": "step reason status before after duration_ms message",
}
NUMBERS = {
    "size",
    "rows",
    "version",
    "duration_ms",
    "bytes_before",
    "skipped",
    "num_files",
    "total_bytes",
    "hits",
    "requests",
}


def one(table: pa.Table) -> dict[str, Any]:
    (row,) = table.to_pylist()
    return row


def test_every_command_has_an_executor_with_the_columns_of_its_statement() -> None:
    commands = set(get_args(Command))
    assert set(EXECUTORS) == commands
    for command in commands:
        schema = answer_schema(command)
        if command.__name__ == "DescribePartitions":
            assert schema is None
        else:
            assert schema is not None
            assert all(pa.types.is_integer(schema.field(name).type) for name in NUMBERS & set(schema.names))
    by_name = {command.__name__: command for command in commands}
    assert {name: " ".join(answer_schema(by_name[name]).names) for name in COLUMNS} == COLUMNS
    assert len(COLUMNS["DescribeLog"].split()) == 47


def test_the_segments_of_the_grammar_are_those_of_prewarming() -> None:
    for name, first in SEGMENT_NAMES.items():
        command = parse_statement(f"PREWARM INDEXTABLES CACHE t FOR SEGMENTS ({name})")
        assert command is not None
        assert command.segments == (first,)


def test_merge_splits(logs: Table) -> None:
    expected = logs.files().num_rows
    done = one(indextables.sql("MERGE SPLITS logs TARGET SIZE 100M", logs=logs))
    assert (done["table_path"], done["status"], done["sources"], done["results"], done["rows"]) == (
        logs.url,
        "success",
        2,
        1,
        25,
    )
    assert (done["version"], done["skipped"], done["message"]) == (logs.version, 0, "2 splits became 1")
    assert 0 < done["bytes_after"] < done["bytes_before"]
    assert logs.files().num_rows == expected - 1
    again = one(indextables.sql("MERGE SPLITS logs", logs=logs))
    assert (again["status"], again["message"], again["version"]) == ("no_action", "nothing to merge", logs.version)


def test_merge_splits_of_one_partition(logs: Table) -> None:
    other = one(indextables.sql("MERGE SPLITS logs WHERE day = '2026-01-02' MAX DEST SPLITS 1 PRECOMMIT", logs=logs))
    assert other["status"] == "no_action"
    mine = one(indextables.sql("MERGE SPLITS logs WHERE day = '2026-01-01' MAX SOURCE SPLITS PER MERGE 2", logs=logs))
    assert mine["sources"] == 2
    with pytest.raises(PredicateError, match="only whole partitions are merged"):
        indextables.sql("MERGE SPLITS logs WHERE id = 1", logs=logs)


def test_an_unknown_column_has_its_place_in_the_statement(logs: Table) -> None:
    text = "CHECKPOINT INDEXTABLES logs; DROP INDEXTABLES PARTITIONS FROM logs WHERE day IS NULL OR dya = 1"
    with pytest.raises(PredicateError, match="of the statement, did you mean day") as caught:
        indextables.sql(text, logs=logs)
    assert caught.value.position == text.index("dya") + 1
    assert (caught.value.column, caught.value.nearest) == ("dya", "day")
    command = parse_statement("MERGE SPLITS logs WHERE dya = 1")
    assert command is not None
    again = pickle.loads(pickle.dumps(command))
    assert (again, again.where.position) == (command, 25)
    with pytest.raises(PredicateError, match="position 25 of the statement"):
        execute(again, lambda _: logs)


def test_a_merge_that_leaves_a_split_alone_is_partial(logs: Table) -> None:
    logs.append(rows(1, 3))
    path = Path(logs.url.removeprefix("file://")) / logs.files("day = '2026-01-01'").column("path")[0].as_py()
    path.write_bytes(b"damaged")
    done = one(indextables.sql("MERGE SPLITS logs", logs=logs))
    assert (done["status"], done["skipped"]) == ("partial", 1)
    assert path.name in done["message"]


@pytest.mark.parametrize("verb", ["CHECKPOINT", "COMPACT"])
def test_checkpoint(logs: Table, verb: str) -> None:
    done = one(indextables.sql(f"{verb} INDEXTABLES logs", logs=logs))
    assert done == {
        "table_path": logs.url,
        "status": "success",
        "checkpoint_version": logs.version,
        "num_actions": 5,
        "num_files": 3,
        "protocol_version": 4,
        "is_multi_part": False,
    }
    assert one(indextables.sql(f"{verb} INDEXTABLES logs", logs=logs))["status"] == "no_action"


def test_a_json_checkpoint_in_parts(tmp_path: Path) -> None:
    options = {PREFIX + "state.format": "json", PREFIX + "checkpoint.multipart.maxActionsPerPart": "1"}
    table = Table.create(tmp_path / "t", pa.schema([("id", pa.int64())]), options=options)
    for number in range(3):
        table.append(pa.table({"id": [number]}))
    done = one(indextables.sql("CHECKPOINT INDEXTABLES t", t=table))
    assert (done["num_files"], done["is_multi_part"]) == (3, True)


def test_truncate_time_travel(logs: Table) -> None:
    dry = one(indextables.sql("TRUNCATE INDEXTABLES TIME TRAVEL logs DRY RUN", logs=logs))
    assert (dry["table_path"], dry["status"]) == (logs.url, "dry_run")
    before = logs.version
    done = one(indextables.sql("TRUNCATE INDEXTABLES TIME TRAVEL logs", logs=logs))
    assert done["checkpoint_version"] == logs.version > before
    assert (done["status"], done["files_preserved"]) == ("success", 3)


def test_drop_partitions(logs: Table) -> None:
    size = logs.files("day = '2026-01-01'").column("size").to_pylist()
    done = one(indextables.sql("DROP INDEXTABLES PARTITIONS FROM logs WHERE day = '2026-01-01'", logs=logs))
    assert (done["status"], done["partitions_dropped"], done["splits_removed"]) == ("success", 1, 2)
    assert (done["total_size_bytes"], done["version"]) == (sum(size), logs.version)
    assert logs.count() == 20
    nothing = one(indextables.sql("DROP INDEXTABLES PARTITIONS FROM logs WHERE day = '2030-01-01'", logs=logs))
    assert nothing["status"] == "no_action"


def test_restore(logs: Table) -> None:
    done = one(indextables.sql("RESTORE INDEXTABLES logs TO VERSION 1", logs=logs))
    assert (done["status"], done["version"], done["restored_version"]) == ("success", logs.version, 1)
    assert (done["files_added"], done["files_removed"], logs.count()) == (0, 2, 20)
    with pytest.raises(VersionNotFound):
        indextables.sql("RESTORE INDEXTABLES logs TO TIMESTAMP '1999-01-01'", logs=logs)
    late = one(indextables.sql("RESTORE INDEXTABLES logs TO TIMESTAMP '2099-01-01T00:00:00Z'", logs=logs))
    assert late["restored_version"] == done["version"]


def test_clone(logs: Table, tmp_path: Path) -> None:
    done = one(indextables.sql(f"CLONE INDEXTABLES logs TO '{tmp_path}/copy' VERSION 1", logs=logs))
    copy = Table.open(tmp_path / "copy")
    assert (done["table_path"], done["version"], done["source_path"]) == (copy.url, copy.version, logs.url)
    assert (done["status"], done["source_version"], done["files"]) == ("success", 1, 1)
    assert copy.scan().read_all().sort_by("id") == Table.open(logs.url, version=1).scan().read_all().sort_by("id")
    assert copy.id != logs.id


def test_properties(logs: Table) -> None:
    done = one(
        indextables.sql("ALTER INDEXTABLES logs SET PROPERTIES (owner = 'me', 'safetyAge.hours' = '96')", logs=logs)
    )
    assert done == {
        "table_path": logs.url,
        "status": "success",
        "version": logs.version,
        "message": "set owner, safetyAge.hours",
    }
    assert logs.properties["owner"] == "me"
    assert logs.history(1).column("operation")[0].as_py() == "SET PROPERTIES"
    gone = one(indextables.sql("ALTER INDEXTABLES logs UNSET PROPERTIES (owner, missing)", logs=logs))
    assert (gone["status"], "owner" in logs.properties) == ("success", False)
    before = logs.version
    nothing = one(indextables.sql("ALTER INDEXTABLES logs UNSET PROPERTIES (owner)", logs=logs))
    assert (nothing["status"], nothing["version"]) == ("no_action", before)
    assert nothing["message"] == "the table has no property owner"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("merge.targetSize", "cannot be a property of a table: set it where the table is opened"),
        ("merge.tragetSize", "did you mean spark.indextables.merge.targetSize"),
        ("safetyAge.hour", "did you mean spark.indextables.safetyAge.hours"),
        ("spark.indextables.merge.tragetSize", "did you mean spark.indextables.merge.targetSize"),
    ],
)
def test_a_property_that_would_have_no_effect(logs: Table, name: str, says: str) -> None:
    before = logs.version
    with pytest.raises(OptionError, match=re.escape(says)):
        indextables.sql(f"ALTER INDEXTABLES logs SET PROPERTIES ('{name}' = '96')", logs=logs)
    assert logs.refresh().version == before


def test_a_property_that_is_given_twice(logs: Table) -> None:
    with pytest.raises(OptionError, match=r"property 'spark\.indextables\.safetyAge\.hours' is given twice"):
        indextables.sql(
            "ALTER INDEXTABLES logs SET PROPERTIES (safetyAge.hours = 96, 'spark.indextables.safetyAge.hours' = 97)",
            logs=logs,
        )


def test_upgrade_protocol(logs: Table) -> None:
    nothing = one(indextables.sql("ALTER INDEXTABLES logs UPGRADE PROTOCOL", logs=logs))
    assert (nothing["status"], nothing["version"]) == ("no_action", 3)
    assert nothing["message"] == "the protocol is version 4 with all features already"


def test_questions_about_a_table(logs: Table) -> None:
    asked = {
        "DESCRIBE INDEXTABLES STATE logs": logs.state(),
        "DESCRIBE INDEXTABLES HISTORY logs": logs.history(),
        "DESCRIBE HISTORY logs LIMIT 2": logs.history(2),
        "DESCRIBE INDEXTABLES PARTITIONS logs": logs.partitions(),
        "DESCRIBE INDEXTABLES COMPONENT SIZES logs": logs.component_sizes(),
        "DESCRIBE INDEXTABLES COMPONENT SIZES logs WHERE day = '2026-01-02'": logs.component_sizes(
            "day = '2026-01-02'"
        ),
        "DESCRIBE INDEXTABLES TRANSACTION LOG logs": logs.log_actions(),
        "DESCRIBE INDEXTABLES TRANSACTION LOG logs INCLUDE ALL": logs.log_actions(include_all=True),
    }
    for text, expected in asked.items():
        found = indextables.sql(text, logs=logs)
        assert found.num_rows > 0, text
        assert found.equals(expected), text
        by_path = indextables.sql(text.replace("logs", f"'{logs.url}'"))
        assert by_path.schema.names == expected.schema.names, text


def test_prewarming(logs: Table) -> None:
    done = one(indextables.sql("PREWARM INDEXTABLES CACHE logs FOR SEGMENTS (TERM) ON FIELDS (message)", logs=logs))
    assert (done["splits_prewarmed"], done["segments"], done["fields"]) == (3, "TERM_DICT", "message")
    assert done["status"] == "success"
    begun = one(indextables.sql("PREWARM INDEXTABLES CACHE logs WHERE day = '2026-01-02' ASYNC MODE", logs=logs))
    assert begun["status"] == "running"
    waited = indextables.sql("WAIT FOR INDEXTABLES PREWARM JOBS logs TIMEOUT 60", logs=logs).to_pylist()
    assert [(job["status"], job["table_path"]) for job in waited] == [("COMPLETED", logs.url)] * 2
    mine = indextables.sql(f"WAIT FOR INDEXTABLES PREWARM JOBS JOB '{waited[0]['job_id']}'")
    assert mine.num_rows == 1
    assert indextables.sql("DESCRIBE INDEXTABLES PREWARM JOBS").num_rows >= 2


def test_the_log_cache(logs: Table) -> None:
    Table.open(logs.url)
    done = one(indextables.sql("INVALIDATE INDEXTABLES TRANSACTION LOG CACHE FOR logs", logs=logs))
    assert (done["table_path"], done["result"]) == (logs.url, "success")
    nowhere = one(indextables.sql("INVALIDATE INDEXTABLES TRANSACTION LOG CACHE FOR '/no/where'"))
    assert (nowhere["table_path"], nowhere["result"]) == ("/no/where", "no_action")
    assert one(indextables.sql("INVALIDATE INDEXTABLES TRANSACTION LOG CACHE"))["table_path"] == "ALL"


def test_figures_of_the_process(logs: Table) -> None:
    same = {
        "DESCRIBE INDEXTABLES DISK CACHE": inspect.describe_disk_cache,
        "DESCRIBE INDEXTABLES DATA SKIPPING STATS": inspect.describe_data_skipping,
        "DESCRIBE INDEXTABLES MERGE JOBS": inspect.describe_merge_jobs,
        "DESCRIBE INDEXTABLES PREWARM JOBS": inspect.describe_prewarm_jobs,
        "DESCRIBE INDEXTABLES STORAGE STATS": inspect.describe_storage_stats,
        "DESCRIBE INDEXTABLES ENVIRONMENT": inspect.describe_environment,
        "DESCRIBE INDEXTABLES PROFILER CACHE": inspect.describe_profiler_cache,
    }
    logs.merge_splits()
    for text, function in same.items():
        found = indextables.sql(text)
        assert found.num_rows > 0 or "JOBS" in text, text
        # other processes of a test run fill the same disk cache between the two answers
        assert any(indextables.sql(text).equals(function()) for _ in range(20)), text


def test_the_profiler(logs: Table) -> None:
    indextables.sql("RESET INDEXTABLES PROFILER")
    assert one(indextables.sql("ENABLE INDEXTABLES PROFILER"))["status"] == "success"
    logs.search("disk")
    sections = indextables.sql("DESCRIBE INDEXTABLES PROFILER")
    assert one(indextables.sql("DISABLE INDEXTABLES PROFILER"))["status"] == "success"
    assert sections.num_rows > 0
    assert one(indextables.sql("DISABLE INDEXTABLES PROFILER"))["status"] == "no_action"
    indextables.sql("RESET INDEXTABLES PROFILER; RESET INDEXTABLES PROFILER CACHE")
    assert indextables.sql("DESCRIBE INDEXTABLES PROFILER").num_rows == 0


def test_caches_are_emptied(logs: Table) -> None:
    logs.search("disk")
    assert one(indextables.sql("FLUSH INDEXTABLES SEARCHER CACHE"))["cleared_entries"] > 0
    assert one(indextables.sql("FLUSH INDEXTABLES DISK CACHE"))["cache_type"] == "disk"
    logs.scan(where="day = '2026-01-01'").read_all()
    counted = indextables.sql("FLUSH INDEXTABLES DATA SKIPPING STATS").to_pylist()
    assert {row["metric"]: row["value"] for row in counted}["questions"] > 0
    again = indextables.sql("DESCRIBE INDEXTABLES DATA SKIPPING STATS").to_pylist()
    assert {row["metric"]: row["value"] for row in again}["questions"] == 0
    assert indextables.sql("INVALIDATE INDEXTABLES DATA SKIPPING CACHE").num_rows == 3


def test_several_statements_answer_with_the_last(logs: Table) -> None:
    answer = indextables.sql("CHECKPOINT INDEXTABLES logs; DESC HISTORY logs LIMIT 1;", logs=logs)
    assert answer.column("version").to_pylist() == [logs.version]


def test_nothing_runs_where_one_statement_is_wrong(logs: Table) -> None:
    before = logs.version
    with pytest.raises(StatementError):
        indextables.sql("ALTER INDEXTABLES logs SET PROPERTIES (a = 1); MERGE SPLITS", logs=logs)
    assert logs.refresh().version == before


def test_names_of_tables(logs: Table) -> None:
    by_path = indextables.sql("DESC HISTORY Logs LIMIT 1", logs=logs.url)
    assert by_path.num_rows == 1
    dotted = {"a.b": logs}
    assert indextables.sql("DESC HISTORY a.b LIMIT 1", **dotted).num_rows == 1
    with pytest.raises(
        TableNotFound, match=r"no table is called c, there are logs: write its path between quotes, .*c=table"
    ):
        indextables.sql("DESC HISTORY c", logs=logs)
    with pytest.raises(TableNotFound, match="no names were given"):
        indextables.sql("DESC HISTORY c")
    with pytest.raises(StatementError, match="logs is a int, but must be a Table, a path or a URL"):
        indextables.sql("DESC HISTORY logs", logs=5)  # type: ignore[arg-type]


def test_progress_is_told(logs: Table) -> None:
    told: list[Any] = []
    indextables.sql("MERGE SPLITS logs", logs=logs, progress=told.append)
    assert told


def test_a_command_runs_with_any_resolver(logs: Table) -> None:
    command = parse_statement("DESCRIBE INDEXTABLES HISTORY x.y LIMIT 1")
    assert command is not None
    result = execute(command, lambda table: logs)
    assert result.command is command
    assert result.table.equals(logs.history(1))
    assert GivenTables({"logs": logs})(command.table.__class__(("logs",))) is logs


def test_the_package_is_a_function_and_a_package(logs: Table) -> None:
    import indextables.sql.grammar

    assert callable(indextables.sql)
    assert indextables.sql.grammar.parse_statement("SELECT 1") is None


def test_queries_are_refused(logs: Table) -> None:
    with pytest.raises(StatementError, match=r"ask with Table\.scan, Table\.search or Table\.aggregate, or in Spark"):
        indextables.sql("SELECT * FROM logs", logs=logs)


def test_purge(logs: Table) -> None:
    dry = one(
        indextables.sql("PURGE INDEXTABLE logs OLDER THAN 7 DAYS TRANSACTION LOG RETENTION 60 DAYS DRY RUN", logs=logs)
    )
    same = logs.purge(older_than="7 days", log_retention="60 days", dry_run=True)
    assert (dry["table_path"], dry["status"], dry["dry_run"]) == (logs.url, "dry_run", True)
    left_out = {"table_path", "size_mb_deleted", "duration_ms"}
    assert {name: value for name, value in dry.items() if name not in left_out} == {
        name: getattr(same, name) for name in dry.keys() - left_out
    }
    assert (dry["retention_hours"], dry["size_mb_deleted"]) == (168, 0.0)
    done = one(indextables.sql("PURGE INDEXTABLE logs", logs=logs))
    assert (done["dry_run"], done["orphaned_files_deleted"]) == (False, 0)
    with pytest.raises(OptionError, match="minRetentionHours"):
        indextables.sql("PURGE INDEXTABLE logs OLDER THAN 1 HOURS", logs=logs)


def test_fsck(logs: Table) -> None:
    assert indextables.sql("FSCK INDEXTABLES logs", logs=logs).num_rows == 0
    gone = Path(logs.url.removeprefix("file://")) / logs.files().column("path")[0].as_py()
    gone.unlink()
    found = indextables.sql("FSCK INDEXTABLES logs", logs=logs)
    assert found.num_rows > 0
    assert found.equals(logs.fsck())
    by_path = indextables.sql(f"FSCK INDEXTABLES '{logs.url}' REPAIR")
    assert by_path.column("path").to_pylist() == found.column("path").to_pylist()


def test_fsck_of_a_table_that_cannot_be_opened(logs: Table) -> None:
    (Path(logs.url.removeprefix("file://")) / "_transaction_log" / f"{0:020d}.json").write_bytes(b"?")
    indextables.sql("INVALIDATE INDEXTABLES TRANSACTION LOG CACHE")
    assert indextables.sql(f"FSCK INDEXTABLES '{logs.url}'").num_rows > 0


def test_repair(logs: Table) -> None:
    root = Path(logs.url.removeprefix("file://"))
    with pytest.warns(LogWarning):
        done = one(indextables.sql(f"REPAIR INDEXFILES TRANSACTION LOG '{root}/_transaction_log'"))
    assert (done["total_splits"], done["valid_splits"], done["missing_splits"], done["source_version"]) == (3, 3, 0, 3)
    assert "_transaction_log_repaired_" in done["target_path"]
    with pytest.warns(LogWarning):
        other = one(
            indextables.sql(
                f"REPAIR INDEXFILES TRANSACTION LOG '{root}/_transaction_log' AT LOCATION '{root}/_new_log'"
            )
        )
    assert other["target_path"].endswith("_new_log")


def test_optimize(logs: Table) -> None:
    for _ in range(12):
        logs.append(rows(2, 3))
    dry = indextables.sql("OPTIMIZE INDEXTABLES logs DRY RUN", logs=logs)
    same = logs.optimize(dry_run=True).table()
    assert dry.drop_columns(["duration_ms"]).equals(same.drop_columns(["duration_ms"]))
    before = logs.files().num_rows
    indextables.sql("OPTIMIZE INDEXTABLES logs", logs=logs)
    assert logs.files().num_rows < before
    steps = indextables.sql("OPTIMIZE INDEXTABLES logs PREWARM", logs=logs).to_pylist()
    assert [step["step"] for step in steps] == ["merge", "compact", "purge", "prewarm"]
    assert steps[-1]["status"] in ("success", "no_action"), steps[-1]
    assert logs.prewarm().fetched == 0, "the statement brought all of it"
