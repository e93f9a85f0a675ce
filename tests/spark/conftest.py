"""One Spark for each process of the run that takes tests from here: Java takes seconds to start, a question tenths of one."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

collect_ignore_glob = [] if find_spec("pyspark") else ["test_*.py"]
"""Without the spark extra there is nothing to run here; `make test` installs it."""

MASTER = os.environ.get("SPARK_MASTER", "local[2]")
"""Where the tests' session runs its tasks: `local-cluster[2,1,1024]` is two executors as processes of their own."""
JAVA = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto"
"""A Java that lives for seconds: collecting in parallel and compiling a second time, for speed, costs more than both give."""
os.environ.setdefault("SPARK_SUBMIT_OPTS", JAVA)  # of every driver that a test starts in a process of its own
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.ui.showConsoleProgress": "false",
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.log.level": "OFF",
    "spark.driver.extraJavaOptions": f"{JAVA} -Dlog4j2.level=OFF",
    "spark.executor.extraJavaOptions": f"{JAVA} -Dlog4j2.level=OFF",
}


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session on this machine alone, with the source installed."""
    from pyspark.sql import SparkSession

    from indextables.spark import install, status

    home = tmp_path_factory.mktemp("spark")
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["XDG_CACHE_HOME"] = str(home / "cache")
    builder = SparkSession.builder.master(MASTER).appName("tests")
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    builder = builder.config("spark.connect.grpc.binding.port", str(_free_port()))
    builder = builder.config("spark.sql.warehouse.dir", str(home / "warehouse"))
    builder = builder.config("spark.local.dir", str(home / "local"))
    session = builder.getOrCreate()
    install(session)
    assert status(session).serving == "connector", status(session)
    _STARTED.append(session)
    yield session
    _STARTED.remove(session)
    session.stop()


_STARTED: list[SparkSession] = []
"""The session of this process, once a test has needed one."""


@pytest.fixture(scope="module", autouse=True)
def nothing_left() -> Iterator[None]:
    """After each module its views and cached rows go: a view `logs` would hide a table of that name."""
    yield
    for session in _STARTED:
        for table in session.catalog.listTables():
            if table.isTemporary:
                session.catalog.dropTempView(table.name)
        session.catalog.clearCache()


@pytest.fixture(scope="session")
def python_source(spark: SparkSession) -> str:
    """The name of the pure Python source. Under `indextables` Spark finds the connector as soon as a JVM has its classes."""
    from indextables.spark.source import IndexTablesSource

    class PythonSource(IndexTablesSource):
        @classmethod
        def name(cls) -> str:
            return "indextables_python"

    spark.dataSource.register(PythonSource)
    return PythonSource.name()


@pytest.fixture(params=["connector", "python source"])
def format_name(request: pytest.FixtureRequest) -> str:
    """Each of the two ways to read a table."""
    return "indextables" if request.param == "connector" else str(request.getfixturevalue("python_source"))


@pytest.fixture(scope="session")
def remote(spark: SparkSession) -> Iterator[SparkSession]:
    """A Connect session: a client of the same Spark, which knows nothing of the classic session beside it."""
    from pyspark.sql.connect.session import SparkSession as ConnectSession

    from indextables.spark import install

    port = spark.conf.get("spark.connect.grpc.binding.port")
    session = ConnectSession.builder.remote(f"sc://127.0.0.1:{port}").create()
    install(session)
    yield session
    session.stop()


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@pytest.fixture
def setting(spark: SparkSession) -> Iterator[Callable[[str, str], None]]:
    """`setting(key, value)` changes the session for one test."""
    before: dict[str, str | None] = {}

    def change(key: str, value: str) -> None:
        before.setdefault(key, spark.conf.get(key, None))
        spark.conf.set(key, value)

    yield change
    for key, value in before.items():
        spark.conf.unset(key) if value is None else spark.conf.set(key, value)


@pytest.fixture
def in_zone(spark: SparkSession) -> Callable[..., object]:
    """`with in_zone("America/New_York"):` for sessions elsewhere."""

    @contextmanager
    def zone(name: str) -> Iterator[None]:
        before = spark.conf.get("spark.sql.session.timeZone")
        spark.conf.set("spark.sql.session.timeZone", name)
        try:
            yield
        finally:
            spark.conf.set("spark.sql.session.timeZone", before)

    return zone


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A place for a table."""
    return str(tmp_path / "table")


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the planner says of its scans, also of those that the driver answers and `explain` does not show."""
    from indextables.spark.connector.planning import planner

    said: list[str] = []
    describe = planner.describe

    def telling(*what: Any) -> str:
        text = describe(*what)
        said.append(text)
        return text

    monkeypatch.setattr(planner, "describe", telling)
    return said
