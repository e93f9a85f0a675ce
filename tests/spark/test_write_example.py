"""`examples/spark_pipeline.py` runs and finds what is there to be found, and so do the examples of the reference page."""

from __future__ import annotations

import importlib.util
import re
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pyspark.sql import SparkSession

from indextables import Table

PIPELINE = Path(__file__).parents[2] / "examples" / "spark_pipeline.py"

pytestmark = pytest.mark.spark


@pytest.fixture
def pipeline(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setenv("PIPELINE_LINES", "3000")
    found = importlib.util.spec_from_file_location("spark_pipeline", PIPELINE)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_the_pipeline_finds_every_timeout(
    spark: SparkSession, pipeline: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pipeline.run(spark, tmp_path)
    said = capsys.readouterr().out
    rows = [
        row for name in ("first", "late") for row in pipeline.read_logs(spark, tmp_path / name).toArrow().to_pylist()
    ]
    timeouts = [row for row in rows if "timed out" in row["message"] and str(row["day"]) >= "2026-03-03"]
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in said.splitlines() if line.startswith("|")]
    shown = {key: int(value) for key, value in cells if value.isdigit()}
    team = dict(pipeline.SERVICES)
    assert "version 1: 3,000 rows in" in said
    assert "3,000 lines at version 1" in said
    assert shown == {
        **Counter(team[row["service"]] for row in timeouts),
        **Counter(row["level"] for row in rows),
    }


def test_the_examples_of_the_page(spark: SparkSession, url: str) -> None:
    page = (PIPELINE.parents[1] / "docs" / "reference" / "spark-writing.md").read_text()
    examples = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {
        "spark": spark,
        "url": url,
        "df": spark.sql("SELECT id, '2026-02-03' AS day FROM range(9)"),
    }
    for example in examples:
        exec(example.replace("s3://bucket/logs", url), names)
    assert len(examples) == 2
    assert (names["done"].version, names["done"].metrics["numAddedRecords"]) == (2, 9)
    table = Table.open(url)
    assert (table.count(), table.partition_columns, table.files().num_rows) == (18, ("day",), 1)
    assert table.state().to_pylist()[0] == {"property": "format", "value": "avro-state"}
