"""`describe_environment`: what a process runs on and with, and nothing of its secrets."""

from __future__ import annotations

import os
import platform
from typing import Any

import numpy as np
import pytest

from indextables import __version__, inspect
from indextables.core.errors import OptionError
from indextables.core.options import OPTIONS, Options
from indextables.core.redaction import REDACTED

HOSTILE = {
    "AWS_SECRET_ACCESS_KEY": "s3cret-1",
    "aws_session_token": "s3cret-2",
    "AWS_ENDPOINT_URL": "https://user:s3cret-3@minio:9000",
    "AZURE_STORAGE_CONNECTION_STRING": "AccountName=a;AccountKey=s3cret-4",
    "AZURE_SOMETHING": "https://a.blob.core.windows.net/c?sv=2&sig=s3cret-5",
    "GOOGLE_APPLICATION_CREDENTIALS": "/home/me/s3cret-6.json",
    "SPARK_SUBMIT_OPTS": "-Dspark.ssl.keyPassword=s3cret-7 -Xmx1g",
    "INDEXTABLES_TOKEN\n": "s3cret-8",
    "INDEXTABLES_": "a\x00b",
    "HTTPS_PROXY": "http://me:s3cret-9@proxy:3128",
    "AWS_\udcff": "bytes that are no text \udcfe",
    "MY_OWN_SETTING": "s3cret-10",
    "AWS_REGION": "eu-central-1",
    "AWS_EMPTY_TOKEN": "",
}


def properties(found: Any) -> dict[tuple[str, str], str]:
    return {(row["property_type"], row["property_name"]): row["property_value"] for row in found.to_pylist()}


def test_columns_and_whose_they_are() -> None:
    found = inspect.describe_environment()
    assert found.column_names == ["host", "role", "property_type", "property_name", "property_value"]
    assert set(found.column("host").to_pylist()) == {platform.node()}
    assert set(found.column("role").to_pylist()) == {"driver"}
    assert set(inspect.describe_environment(role="executor").column("role").to_pylist()) == {"executor"}
    assert found.column("property_value").null_count == 0


def test_python_packages_and_machine() -> None:
    found = properties(inspect.describe_environment())
    assert found["python", "version"] == platform.python_version()
    assert found["python", "process"] == str(os.getpid())
    assert found["package", "indextables"] == __version__
    assert found["package", "numpy"] == np.__version__
    assert int(found["machine", "processors"]) == os.cpu_count()
    assert int(found["machine", "usableMemoryBytes"]) <= int(found["machine", "memoryBytes"])


def test_options_in_force() -> None:
    found = properties(inspect.describe_environment({"checkpoint.interval": 7, "indexing.typemap.m": "text"}))
    assert found["option", "spark.indextables.checkpoint.interval"] == "7"
    assert found["option", "spark.indextables.indexing.typemap.m"] == "text"
    assert found["option", "spark.indextables.cache.disk.enabled"] == "true", "a default is in force, too"
    shown = {name for kind, name in found if kind == "option"}
    without_value = {option.key for option in OPTIONS.values() if not option.show(option.default)}
    assert shown >= {option.key for option in OPTIONS.values()} - without_value


def test_secret_options_are_hidden() -> None:
    secrets = {option.key: "s3cret" for option in OPTIONS.values() if option.secret}
    assert len(secrets) >= 3
    table = inspect.describe_environment(Options(secrets))
    found = properties(table)
    assert {found["option", key] for key in secrets} == {REDACTED}
    assert "s3cret" not in str(table.to_pylist())


def test_an_option_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(OptionError):
        inspect.describe_environment({"no.such.option": 1})


def test_hostile_variables() -> None:
    table = inspect.describe_environment(environ=HOSTILE)
    found = {name: value for (kind, name), value in properties(table).items() if kind == "environment"}
    assert "s3cret" not in str(table.to_pylist())
    assert found["AWS_SECRET_ACCESS_KEY"] == found["GOOGLE_APPLICATION_CREDENTIALS"] == REDACTED
    assert found["AWS_ENDPOINT_URL"] == f"https://{REDACTED}@minio:9000"
    assert found["SPARK_SUBMIT_OPTS"] == f"-Dspark.ssl.keyPassword={REDACTED} -Xmx1g"
    assert found["AWS_REGION"] == "eu-central-1"
    assert found["AWS_EMPTY_TOKEN"] == ""
    assert "MY_OWN_SETTING" not in found, "what has nothing to do with us is not shown"


def test_variables_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INDEXTABLES_SOME_PASSWORD", "s3cret")
    monkeypatch.setenv("INDEXTABLES_SOME_PLACE", "/data")
    table = inspect.describe_environment()
    found = properties(table)
    assert found["environment", "INDEXTABLES_SOME_PASSWORD"] == REDACTED
    assert found["environment", "INDEXTABLES_SOME_PLACE"] == "/data"
    assert "s3cret" not in str(table.to_pylist())
