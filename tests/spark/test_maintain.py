"""Merging, prewarming and compacting by executors."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from indextables import Table, errors
from indextables.core.options import Options
from indextables.spark import compact, merge_splits, prewarm, write
from indextables.spark.tasks import parallelism, run_on_executors
from indextables.table.distributed.merge_job import begin_merge
from indextables.table.maintain.merge_plan import merge_limits
from spark.write_support import ids, logs, splits_on_disk

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def written(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty rows in thirty splits, ten of each day."""
    place = tmp_path_factory.mktemp("crumbs") / "table"
    for start in range(0, 60, 30):
        write(logs(spark, 30, start=start, parts=5), str(place), "append", partition_by="day")
    return place


@pytest.fixture
def crumbs(written: Path, url: str) -> str:
    """A copy of it."""
    shutil.copytree(written, url)
    return url


def paths(url: str) -> set[str]:
    return set(Table.open(url).files().column("path").to_pylist())


def test_merge_splits_makes_few_of_many(spark: SparkSession, crumbs: str) -> None:
    merged = merge_splits(spark, crumbs)
    assert (merged.sources, merged.results, merged.rows, merged.written) == (30, 3, 60, True)
    assert ids(crumbs) == list(range(60))
    table = Table.open(crumbs)
    assert table.files().num_rows == 3
    assert table.history(1).column("operation").to_pylist() == ["MERGE SPLITS"]
    assert table.count(where="day = '2024-01-02'") == 20
    assert not merge_splits(spark, crumbs).written
    assert merged.version == table.version


def test_merge_splits_of_some_partitions_and_to_some_results(spark: SparkSession, crumbs: str) -> None:
    assert merge_splits(spark, crumbs, where="day = '2024-01-02'").sources == 10
    assert merge_splits(spark, crumbs, max_dest_splits=1, max_source_splits_per_merge=4).sources == 4
    assert ids(crumbs) == list(range(60))
    with pytest.raises(errors.PredicateError, match="only whole partitions are merged"):
        merge_splits(spark, crumbs, where="id = 2")
    with pytest.raises(errors.OptionError, match="max_source_splits_per_merge is 1, but must be 2 or more"):
        merge_splits(spark, crumbs, max_source_splits_per_merge=1)
    with pytest.raises(errors.TableNotFound):
        merge_splits(spark, crumbs + "-not-there")


def test_each_batch_of_a_merge_is_a_commit(spark: SparkSession, crumbs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("indextables.spark.maintenance.maintain._TASKS_PER_PROCESSOR", 1)
    monkeypatch.setattr("indextables.spark.maintenance.maintain._BATCH_SECONDS", 0.0)
    monkeypatch.setattr("indextables.spark.maintenance.maintain.parallelism", lambda spark: 1)
    before = Table.open(crumbs).version
    merged = merge_splits(spark, crumbs)
    assert (merged.results, merged.version) == (3, before + 3)
    assert ids(crumbs) == list(range(60))


def test_a_broken_source_is_left_out_and_noted(spark: SparkSession, crumbs: str) -> None:
    broken = min(path for path in paths(crumbs) if "2024-01-01" in path)
    file = Path(crumbs, broken)
    file.write_bytes(file.read_bytes()[:-200] + b"\0" * 200)
    merged = merge_splits(spark, crumbs)
    assert list(merged.skipped) == [broken]
    assert (merged.sources, merged.results) == (29, 3)
    assert broken in paths(crumbs)
    assert Table.open(crumbs).skips().column("path").to_pylist() == [broken]


def test_what_was_replaced_meanwhile_is_not_brought_back(spark: SparkSession, crumbs: str) -> None:
    job = begin_merge(crumbs, Options(), merge_limits(Options()))
    began = job.begin()
    answers = run_on_executors(spark, [task.run for task in job.tasks])
    write(logs(spark, 3, start=90).where("day = '2024-01-02'"), crumbs, "overwrite", replace_where="day = '2024-01-02'")
    job.commit(answers, began)
    merged = job.finish()
    assert (merged.results, merged.overtaken) == (2, 1)
    assert ids(crumbs, where="day = '2024-01-02'") == [91]
    assert len(ids(crumbs)) == 41
    assert splits_on_disk(crumbs) >= paths(crumbs)


def test_an_error_of_one_task_keeps_what_others_merged(spark: SparkSession, crumbs: str) -> None:
    from indextables.table.distributed.merge_job import MergeAnswer

    job = begin_merge(crumbs, Options(), merge_limits(Options()))
    answers = [task.run() for task in job.tasks[:2]]
    failed = MergeAnswer(error=errors.SchemaError("column x is another now"))
    with pytest.raises(errors.SchemaError, match="column x is another now"):
        job.commit([answers[0], failed, answers[1]], job.begin())
    assert Table.open(crumbs).files().num_rows == 12
    assert ids(crumbs) == list(range(60))


def test_prewarm_fetches_every_index_once(spark: SparkSession, crumbs: str, tmp_path: Path) -> None:
    options = {"cache.disk.directory": str(tmp_path / "cache")}
    some = prewarm(spark, crumbs, where="day = '2024-01-02'", options=options)
    assert [(done.fetched, done.present, done.left_out) for done in some.values()] == [(10, 0, 0)]
    everything = prewarm(spark, crumbs, options=options)
    assert [(done.fetched, done.present, done.left_out) for done in everything.values()] == [(20, 10, 0)]
    with pytest.raises(errors.PredicateError, match="unknown column nothing"):
        prewarm(spark, crumbs, where="nothing = 1")


def test_prewarm_leaves_out_what_the_cache_cannot_hold(spark: SparkSession, crumbs: str, tmp_path: Path) -> None:
    options = {"cache.disk.directory": str(tmp_path / "cache"), "cache.disk.maxBytes": "40K"}
    done = prewarm(spark, crumbs, options=options)
    assert sum(machine.fetched for machine in done.values()) < 30
    assert sum(machine.fetched + machine.left_out for machine in done.values()) == 30


def test_calls_answer_in_order_and_their_errors_are_ours(spark: SparkSession) -> None:
    from functools import partial

    assert run_on_executors(spark, [partial(pow, 2, n) for n in range(5)]) == [1, 2, 4, 8, 16]
    assert run_on_executors(spark, []) == []
    with pytest.raises(errors.OptionError, match=r"^unknown option nonsense") as caught:
        run_on_executors(spark, [partial(Options, {"nonsense": "1"})])
    assert "\n" not in str(caught.value)
    assert parallelism(spark) == 2


def test_what_compacting_answers_fits_on_a_line(spark: SparkSession, crumbs: str) -> None:
    said = "Checkpointed(version=2, format='avro-state', kind='compacted', written=True)"
    assert repr(compact(spark, crumbs)) == said
