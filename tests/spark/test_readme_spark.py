"""The README's lines for Spark run, and do what they say."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from indextables import Table

pytestmark = pytest.mark.spark
README = Path(__file__).parent.parent.parent / "README.md"


def test_the_snippet_for_spark_runs(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = [
        code for code in re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL) if "install(spark)" in code
    ]
    assert len(code) == 1
    days = pa.array([20454 + n % 3 for n in range(30)], pa.int32()).cast(pa.date32())
    levels = ["ERROR" if n % 10 == 0 else "INFO" for n in range(30)]
    rows = pa.table(
        {"day": days, "id": range(501, 531), "level": levels, "message": [f"disk {n} is full" for n in range(30)]}
    )
    options = {"spark.indextables.indexing.typemap.message": "text"}
    Table.create(str(tmp_path / "logs"), rows.schema, partition_by=["day"], options=options).append(rows)
    exec(code[0].replace("/tmp/", f"{tmp_path}/"), {"spark": spark})
    errors = Table.open(str(tmp_path / "errors"))
    wanted = [501 + n for n in range(0, 30, 10) if n % 3 > 0]
    assert sorted(errors.scan(columns=["id"]).read_all()["id"].to_pylist()) == wanted
    shown = capsys.readouterr().out
    assert re.search(r"ERROR\|\s+3\|", shown)
    assert re.search(r"INFO\|\s+27\|", shown)
