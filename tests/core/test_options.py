"""Options: declarations, parsing, problems reported at once, the rules of precedence, the reference page."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indextables.core import options as opt
from indextables.core.errors import OptionError
from indextables.core.options import Option, Options, keys, kinds
from indextables.core.options.__main__ import main
from indextables.core.options.page import render

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "options.md"
ALL = list(keys.OPTIONS.values())


def upper_snake(key: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key.replace(".", "_")).upper()


def test_every_constant_is_named_after_its_key() -> None:
    declared = {name: value.short for name, value in vars(keys).items() if isinstance(value, Option | opt.Family)}
    assert {name: upper_snake(key) for name, key in declared.items()} == {name: name for name in declared}
    assert len(declared) == len(keys.OPTIONS) + len(keys.FAMILIES) == sum(len(s.entries) for s in keys.SECTIONS)
    assert all(getattr(opt, name) is getattr(keys, name) for name in declared)


@pytest.mark.parametrize("option", ALL, ids=lambda option: option.short)
def test_every_default_is_a_value_that_could_be_set(option: Option[Any]) -> None:
    assert option.key.startswith(opt.PREFIX)
    assert option.doc.endswith(".")
    if option.default is not None:
        assert option.parse(option.show(option.default)) == option.default
        assert Options()[option] == option.default
    assert not Options().is_set(option)


DOCUMENTED_DEFAULTS = {
    "checkpoint.enabled": True,
    "checkpoint.interval": 10,
    "checkpoint.parallelism": 4,
    "checkpoint.read.timeoutSeconds": 30,
    "checkpoint.multipart.maxActionsPerPart": 50_000,
    "checkpointRetention.duration": 7_200_000,
    "cleanup.enabled": True,
    "cleanup.failurePolicy": "continue",
    "cleanup.dryRun": False,
    "dataSkippingNumIndexedCols": 32,
    "dataSkippingStatsColumns": None,
    "indexing.text.maxTokenLength": 255,
    "logRetention.duration": 2_592_000_000,
    "mergeOnWrite.enabled": False,
    "mergeOnWrite.async.enabled": True,
    "purge.defaultRetentionHours": 168,
    "purge.deleteRetries": 3,
    "purge.maxFilesToDelete": 1_000_000,
    "purge.minRetentionHours": 24,
    "purge.parallelism": 0,
    "purge.retentionCheckEnabled": True,
    "purge.txLogRetentionHours": 720,
    "purgeOnWrite.enabled": False,
    "purgeOnWrite.splitRetentionHours": 168,
    "purgeOnWrite.triggerAfterMerge": True,
    "purgeOnWrite.triggerAfterWrites": 0,
    "purgeOnWrite.txLogRetentionHours": 720,
    "safetyAge.hours": 72,
    "state.compaction.afterMerge": True,
    "state.compaction.largeRemoveThreshold": 2_147_483_647,
    "state.compaction.maxManifests": 20,
    "state.compaction.tombstoneThreshold": 0.10,
    "state.compression": "zstd",
    "state.compressionLevel": 3,
    "state.entriesPerManifest": 50_000,
    "state.format": "avro",
    "state.gc.minManifestAgeHours": 1,
    "state.read.parallelism": 8,
    "state.retention.hours": 168,
    "state.retention.versions": 2,
    "state.retry.baseDelayMs": 100,
    "state.retry.maxAttempts": 10,
    "state.retry.maxDelayMs": 5_000,
    "state.schema.renormalizeThreshold": 5,
    "stats.truncation.enabled": True,
    "stats.truncation.maxLength": 32,
    "storage.connectTimeoutSeconds": 5,
    "storage.retry.baseDelayMs": 50,
    "storage.retry.maxAttempts": 8,
    "storage.retry.maxDelayMs": 5_000,
    "storage.timeoutSeconds": 30,
    "transaction.adoptForeign": False,
    "transaction.cache.enabled": True,
    "transaction.cache.expirationSeconds": 300,
    "transaction.compression.enabled": True,
    "transaction.maxStaleness": 0,
    "transaction.maxVersionFileBytes": 1 << 30,
    "transaction.retry.baseDelayMs": 100,
    "transaction.retry.maxAttempts": 10,
    "transaction.retry.maxDelayMs": 5_000,
    "transaction.useOptimized": True,
    "txn.retention.hours": 720,
}


def test_the_documented_keys_have_the_documented_defaults() -> None:
    assert {key: keys.OPTIONS[(opt.PREFIX + key).lower()].default for key in DOCUMENTED_DEFAULTS} == DOCUMENTED_DEFAULTS


@pytest.mark.parametrize(("text", "number"), [("auto", 0), ("AUTO", 0), ("0", 0), ("12", 12), (3, 3)])
def test_a_number_or_auto(text: object, number: int) -> None:
    options = Options({"purge.parallelism": text})
    assert options[opt.PURGE_PARALLELISM] == number
    assert opt.PURGE_PARALLELISM.parse(opt.PURGE_PARALLELISM.show(number)) == number
    with pytest.raises(OptionError, match="expected a whole number, or auto"):
        Options({"purge.parallelism": "some"})


def test_keys_in_any_letter_case_with_or_without_the_prefix() -> None:
    for key in (
        "checkpoint.interval",
        "CHECKPOINT.Interval",
        "spark.indextables.checkpoint.interval",
        "SPARK.INDEXTABLES.CHECKPOINT.INTERVAL",
    ):
        options = Options({key: "5"})
        assert options[opt.CHECKPOINT_INTERVAL] == 5
        assert options.explicit() == {"spark.indextables.checkpoint.interval": "5"}


def test_all_problems_are_reported_at_once() -> None:
    with pytest.raises(OptionError) as caught:
        Options(
            {
                "checkpoint.intervall": 5,
                "checkpoint.interval": 0,
                "state.format": "parquet",
                "spark.indextables.indexing.typemap.a": "texts",
                "zzz": 1,
                "state.read.parallelism": 4,
            }
        )
    assert caught.value.problems == [
        "unknown option checkpoint.intervall, did you mean spark.indextables.checkpoint.interval?",
        "spark.indextables.checkpoint.interval is 0, expected a whole number, at least 1",
        "spark.indextables.state.format is 'parquet', expected avro or json",
        "spark.indextables.indexing.typemap.a is 'texts', expected one of text, string, json, ip",
        "unknown option zzz, docs/reference/options.md lists all of them",
    ]
    assert str(caught.value) == "; ".join(caught.value.problems)


@pytest.mark.parametrize(
    ("option", "given", "value", "text"),
    [
        (opt.CHECKPOINT_ENABLED, "FALSE", False, "false"),
        (opt.CHECKPOINT_ENABLED, True, True, "true"),
        (opt.CHECKPOINT_ENABLED, "off", False, "false"),
        (opt.CHECKPOINT_INTERVAL, " 7 ", 7, "7"),
        (opt.CHECKPOINT_INTERVAL, 7, 7, "7"),
        (opt.STATE_COMPACTION_LARGE_REMOVE_THRESHOLD, "MAX_INT", 2**31 - 1, "2147483647"),
        (opt.DATA_SKIPPING_NUM_INDEXED_COLS, "-1", -1, "-1"),
        (opt.STATE_COMPACTION_TOMBSTONE_THRESHOLD, "0.10", 0.1, "0.1"),
        (opt.STATE_COMPACTION_TOMBSTONE_THRESHOLD, 1, 1.0, "1"),
        (opt.STATE_COMPACTION_TOMBSTONE_THRESHOLD, "1e-2", 0.01, "0.01"),
        (opt.STATE_FORMAT, "JSON", "json", "json"),
        (opt.AWS_REGION, "eu-central-1", "eu-central-1", "eu-central-1"),
        (opt.LOG_RETENTION_DURATION, "2592000000", 2_592_000_000, "2592000000"),
        (opt.LOG_RETENTION_DURATION, "30 days", 2_592_000_000, "2592000000"),
        (opt.LOG_RETENTION_DURATION, "12h", 43_200_000, "43200000"),
        (opt.LOG_RETENTION_DURATION, "90m", 5_400_000, "5400000"),
        (opt.LOG_RETENTION_DURATION, "500ms", 500, "500"),
        (opt.LOG_RETENTION_DURATION, "1.5 Hours", 5_400_000, "5400000"),
        (opt.LOG_RETENTION_DURATION, timedelta(weeks=2), 1_209_600_000, "1209600000"),
        (opt.MERGE_TARGET_SIZE, np.int64(1 << 30), 1 << 30, str(1 << 30)),
        (opt.SAFETY_AGE_HOURS, 72, 72.0, "72"),
        (opt.SAFETY_AGE_HOURS, "3 days", 72.0, "72"),
        (opt.SAFETY_AGE_HOURS, "90m", 1.5, "1.5"),
        (opt.TRANSACTION_MAX_STALENESS, "250ms", 0.25, "0.25"),
        (opt.TRANSACTION_MAX_STALENESS, 0.5, 0.5, "0.5"),
        (opt.TRANSACTION_MAX_STALENESS, 60, 60.0, "60"),
        (opt.TRANSACTION_MAX_VERSION_FILE_BYTES, "1G", 1 << 30, "1073741824"),
        (opt.TRANSACTION_MAX_VERSION_FILE_BYTES, "512MB", 512 << 20, "536870912"),
        (opt.TRANSACTION_MAX_VERSION_FILE_BYTES, "1.5 KiB", 1536, "1536"),
        (opt.TRANSACTION_MAX_VERSION_FILE_BYTES, "1073741824", 1 << 30, "1073741824"),
        (opt.DATA_SKIPPING_STATS_COLUMNS, " a , b,", ("a", "b"), "a,b"),
        (opt.DATA_SKIPPING_STATS_COLUMNS, ["a,b", "c`d"], ("a,b", "c`d"), "`a,b`,`c``d`"),
        (opt.DATA_SKIPPING_STATS_COLUMNS, "", (), ""),
    ],
)
def test_values(option: Option[Any], given: Any, value: Any, text: str) -> None:
    options = Options({option.short: given})
    assert options[option] == value
    assert type(options[option]) is type(value)
    assert options.explicit() == {option.key: text}
    assert options.is_set(option)
    assert Options(options.explicit()) == options


@pytest.mark.parametrize(
    ("option", "given"),
    [
        (opt.CHECKPOINT_ENABLED, "maybe"),
        (opt.CHECKPOINT_INTERVAL, "ten"),
        (opt.CHECKPOINT_INTERVAL, "1.0"),
        (opt.CHECKPOINT_INTERVAL, 1.0),
        (opt.CHECKPOINT_INTERVAL, True),
        (opt.CHECKPOINT_INTERVAL, ""),
        (opt.CHECKPOINT_INTERVAL, "\u0661"),
        (opt.CHECKPOINT_INTERVAL, "1_000"),
        (opt.CHECKPOINT_INTERVAL, object()),
        (opt.DATA_SKIPPING_NUM_INDEXED_COLS, -2),
        (opt.STATE_COMPRESSION_LEVEL, 23),
        (opt.STATE_COMPACTION_TOMBSTONE_THRESHOLD, "nan"),
        (opt.STATE_COMPACTION_TOMBSTONE_THRESHOLD, float("inf")),
        (opt.STATE_COMPACTION_TOMBSTONE_THRESHOLD, "1e999"),
        (opt.STATE_COMPACTION_TOMBSTONE_THRESHOLD, 1.1),
        (opt.LOG_RETENTION_DURATION, "30 fortnights"),
        (opt.LOG_RETENTION_DURATION, "-1h"),
        (opt.LOG_RETENTION_DURATION, "h"),
        (opt.TRANSACTION_MAX_VERSION_FILE_BYTES, "1 XB"),
        (opt.TRANSACTION_MAX_VERSION_FILE_BYTES, "0.3B"),
        (opt.TRANSACTION_MAX_VERSION_FILE_BYTES, 0),
        (opt.AWS_REGION, ""),
        (opt.DATA_SKIPPING_STATS_COLUMNS, "a,,b"),
        (opt.DATA_SKIPPING_STATS_COLUMNS, "`a"),
        (opt.DATA_SKIPPING_STATS_COLUMNS, ["a", 1]),
    ],
)
def test_values_that_do_not_fit(option: Option[Any], given: Any) -> None:
    with pytest.raises(OptionError, match=re.escape(f"{option.key} is {given!r}, expected {option.expected}")):
        Options({option.short: given})


@settings(deadline=None)
@given(st.lists(st.text(min_size=1)))
def test_lists_survive_being_written(names: list[str]) -> None:
    assert kinds.split_list(kinds.join_list(names)) == tuple(names)


def test_secrets_are_shown_nowhere_but_in_explicit() -> None:
    options = Options({"aws.secretKey": "hunter2", "aws.region": "eu"})
    assert "hunter2" not in repr(options)
    assert "eu" in repr(options)
    assert options.explicit()["spark.indextables.aws.secretKey"] == "hunter2"
    with pytest.raises(OptionError) as caught:
        Options({"aws.secretKey": b"hunter2"})
    assert "hunter2" not in str(caught.value)
    assert {option.short for option in ALL if option.secret} == {
        "aws.accessKey",
        "aws.secretKey",
        "aws.sessionToken",
        "azure.accountKey",
        "azure.sasToken",
        "gcp.serviceAccountKey",
    }


def test_one_option_under_two_spellings() -> None:
    same = Options({"checkpoint.interval": 5, "spark.indextables.checkpoint.interval": "5"})
    assert same[opt.CHECKPOINT_INTERVAL] == 5
    with pytest.raises(OptionError, match=r"checkpoint\.interval is set twice, to different values"):
        Options({"checkpoint.interval": 5, "spark.indextables.checkpoint.interval": "6"})
    with pytest.raises(OptionError, match=r"typemap\.MSG is set twice, to different values"):
        Options({"indexing.typemap.msg": "text", "indexing.typemap.MSG": "string"})


def test_keys_that_are_not_texts() -> None:
    with pytest.raises(OptionError, match="5 is not an option, expected the name of one"):
        Options({5: 1})  # type: ignore[dict-item]


def test_a_family_without_its_last_part_is_unknown() -> None:
    for key in ("indexing.typemap", "indexing.typemap."):
        with pytest.raises(OptionError, match=r"did you mean spark\.indextables\.indexing\.typemap\.<column or type>"):
            Options({key: "text"})


def test_none_means_not_set() -> None:
    assert not Options({"checkpoint.interval": None}).is_set(opt.CHECKPOINT_INTERVAL)
    with pytest.raises(OptionError, match="unknown option"):
        Options({"nonsense": None})


def test_merged() -> None:
    base = Options({"checkpoint.interval": 5, "state.format": "json", "indexing.typemap.msg": "text"})
    over = base.merged(
        {"SPARK.indextables.checkpoint.INTERVAL": 6, "indexing.typemap.Msg": "string", "aws.region": "eu"}
    )
    assert over.explicit() == {
        "spark.indextables.aws.region": "eu",
        "spark.indextables.checkpoint.interval": "6",
        "spark.indextables.indexing.typemap.Msg": "string",
        "spark.indextables.state.format": "json",
    }
    assert base[opt.CHECKPOINT_INTERVAL] == 5
    assert base.merged(None) == base == base.merged({}) == base.merged(Options())
    assert Options().merged(base) == base
    assert not base.merged({"state.format": None}).is_set(opt.STATE_FORMAT)
    with pytest.raises(OptionError, match="unknown option nonsense"):
        base.merged({"nonsense": 1})


def test_options_and_declarations_survive_pickling() -> None:
    options = Options({"aws.secretKey": "s", "logRetention.duration": "1 day", "indexing.tokenizer.raw": "a,b"})
    assert pickle.loads(pickle.dumps(options)) == options
    assert copy.deepcopy(options) == options
    assert hash(pickle.loads(pickle.dumps(options))) == hash(options)
    assert options != Options()
    for entry in (*ALL, *keys.FAMILIES.values()):
        assert pickle.loads(pickle.dumps(entry)) == entry


def test_families() -> None:
    options = Options(
        {
            "indexing.typemap.Message": "text",
            "spark.indextables.INDEXING.TYPEMAP.user.name": "string",
            "indexing.tokenizer.en_stem": ["title", "body"],
            "indexing.indexrecordoption.basic": "title",
        }
    )
    assert options.family("indexing.typemap") == {"Message": "text", "user.name": "string"}
    assert options.family("spark.indextables.indexing.tokenizer") == {"en_stem": "title,body"}
    assert options.family("indexing.indexrecordoption") == {"basic": "title"}
    assert Options().family("indexing.typemap") == {}


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("indexing.indexrecordoption.often", "a", "the last part of the key is one of basic, freq, position"),
        ("indexing.indexrecordoption.freq", "a,,b", "expected names with commas between them"),
        ("indexing.tokenizer.raw", "`a", "expected names with commas between them"),
        ("indexing.typemap.text", ",a", "expected names with commas between them"),
        ("indexing.typemap.message", "a,b", "expected one of text, string, json, ip"),
        ("indexing.typemap.message", object(), "expected `text`, `string`, `json` or `ip` after a column"),
    ],
)
def test_members_of_families_that_do_not_fit(key: str, value: Any, problem: str) -> None:
    with pytest.raises(OptionError, match=re.escape(problem)):
        Options({key: value})


def test_typemap() -> None:
    options = Options(
        {
            "indexing.typemap.text": "message, title",
            "indexing.typemap.JSON": "payload",
            "indexing.typemap.client": "IP",
            "indexing.typemap.a.text": "string",
            "indexing.typemap.TITLE": "text",
        }
    )
    assert opt.parse_typemap(options) == {
        "message": "text",
        "title": "text",
        "payload": "json",
        "client": "ip",
        "a.text": "string",
    }
    with pytest.raises(OptionError, match="column Title is mapped to both text and string"):
        opt.parse_typemap(options.merged({"indexing.typemap.string": "Title", "indexing.typemap.title": None}))


HOUR = 3_600_000


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, 720 * HOUR),
        ({"logRetention.duration": "1h"}, HOUR),
        ({"purge.txLogRetentionHours": 2}, 2 * HOUR),
        ({"purge.txLogRetentionHours": 0.5}, HOUR // 2),
        ({"logRetention.duration": "1h", "purge.txLogRetentionHours": 2}, 2 * HOUR),
        ({"logRetention.duration": "3h", "purge.txLogRetentionHours": 2}, 3 * HOUR),
        ({"logRetention.duration": 0}, 0),
    ],
)
def test_log_retention(given: dict[str, Any], expected: int) -> None:
    assert opt.log_retention_ms(Options(given)) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, 168 * HOUR),
        ({"checkpointRetention.duration": "2h"}, 2 * HOUR),
        ({"state.retention.hours": 1}, HOUR),
        ({"checkpointRetention.duration": "2h", "state.retention.hours": 1}, 2 * HOUR),
        ({"checkpointRetention.duration": "2h", "state.retention.hours": 5}, 5 * HOUR),
    ],
)
def test_state_retention(given: dict[str, Any], expected: int) -> None:
    assert opt.state_retention_ms(Options(given)) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, 8),
        ({"checkpoint.parallelism": 2}, 2),
        ({"state.read.parallelism": 3}, 3),
        ({"checkpoint.parallelism": 2, "state.read.parallelism": 3}, 3),
        ({"checkpoint.parallelism": 9, "state.read.parallelism": 3}, 9),
    ],
)
def test_read_parallelism(given: dict[str, Any], expected: int) -> None:
    assert opt.read_parallelism(Options(given)) == expected


def test_table_options_are_the_explicit_ones_of_table_scope() -> None:
    options = Options(
        {
            "safetyAge.hours": "3 days",
            "checkpoint.interval": 5,
            "indexing.fastfields": "a,b",
            "indexing.typemap.Message": "text",
            "aws.secretKey": "s",
        }
    )
    stored = opt.table_options(options)
    assert stored == {
        "spark.indextables.indexing.fastfields": "a,b",
        "spark.indextables.indexing.typemap.Message": "text",
        "spark.indextables.safetyAge.hours": "72",
    }
    assert opt.table_value(stored, opt.SAFETY_AGE_HOURS) == 72
    assert opt.table_value(stored, opt.INDEXING_FASTFIELDS) == ("a", "b")
    assert opt.table_value(stored, opt.TXN_RETENTION_HOURS) == 720
    assert opt.table_family(stored, "indexing.typemap") == {"Message": "text"}


def test_table_values_under_any_spelling() -> None:
    for key in (
        "safetyAge.hours",
        "safetyage.HOURS",
        "spark.indextables.safetyAge.hours",
        "SPARK.indextables.safetyage.hours",
    ):
        assert opt.table_value({"other": "x", key: "5"}, opt.SAFETY_AGE_HOURS) == 5
    both = {"safetyAge.hours": "5", "spark.indextables.safetyage.hours": "6"}
    assert opt.table_value(both, opt.SAFETY_AGE_HOURS) == 6
    assert opt.table_value(both | {"spark.indextables.safetyAge.hours": "7"}, opt.SAFETY_AGE_HOURS) == 7
    assert opt.table_family({"Indexing.TypeMap.msg": "text", "indexing.typemap": "x"}, "indexing.typemap") == {
        "msg": "text"
    }
    with pytest.raises(
        OptionError, match=r"spark\.indextables\.safetyAge\.hours is 'soon', expected a number of hours"
    ):
        opt.table_value({"safetyAge.hours": "soon"}, opt.SAFETY_AGE_HOURS)


def test_the_reference_page_is_up_to_date_and_complete() -> None:
    page = render()
    assert PAGE.read_text(encoding="utf-8") == page
    for entry in (*ALL, *keys.FAMILIES.values()):
        assert f"| `{entry.short}" in page


def test_the_command_writes_and_checks_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "new" / "options.md"
    assert main(["--check", str(page)]) == 1
    assert "is not up to date, run `make docs`" in capsys.readouterr().err
    assert main(["--write", str(page)]) == 0
    assert main(["--check", str(page)]) == 0
    page.write_text(page.read_text() + "\n")
    assert main(["--check", str(page)]) == 1


def test_the_module_runs_as_a_command() -> None:
    command = [sys.executable, "-m", "indextables.core.options", "--check", str(PAGE)]
    assert subprocess.run(command, check=False).returncode == 0
