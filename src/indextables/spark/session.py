"""`install(spark)`: a session learns the format `indextables`.

    classic session, or a Connect session whose server this process started     the connector serves: spark/connector/
    any other session                                                           the pure Python source serves: source.py

`status(spark)` says which one serves, and why.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal
from weakref import WeakKeyDictionary

from indextables.core.errors import IndexTablesError
from indextables.core.runtime.process_state import ProcessLocal
from indextables.spark.worker_python import choose_worker_python

_log: Final = logging.getLogger(__name__)
_SERVER_TRACE: Final = "spark.sql.connect.serverStacktrace.enabled"
"""Whether a Connect client prints a hundred lines of Java below each error. A classic session does not, unless it is asked to."""
_LEAST_JAVA: Final = 17
"""The oldest Java that Spark 4 runs on."""


def install(spark: Any = None) -> Any:
    """Teach a session, classic or Connect, the format `indextables`. Twice is the same as once.

    The session's workers run a Python that has indextables, or an error says what to set: see worker_python.py.
    Without a session, the active one is taken or one is started on this machine, if there is a Java for it. Returns the session.
    """
    session = _session() if spark is None else spark
    if not hasattr(session, "dataSource"):
        raise IndexTablesError(f"install takes a SparkSession of PySpark 4.2 or newer, not {type(session).__name__}")
    choose_worker_python(session)
    found = _connected(session)
    if found.serving == "python source":
        found = _registered(session, found)
    _STATUS.value[session] = found
    _log.info("indextables: %s", found)
    if type(session).__module__.startswith("pyspark.sql.connect."):
        from indextables.spark.statements.wrapped_sql import wrap_sql

        session.conf.set(_SERVER_TRACE, "false")
        wrap_sql(session)
    return session


def configure(builder: Any) -> Any:
    """Give a builder of sessions the settings that every session of the application then begins with. Returns the builder.

    Nothing has to be set before a session begins: `install(spark)` sets all of it in a running one. Settings that are here from
    the beginning are also in the configuration that Spark shows and writes into its event log.
    """
    from indextables.spark.connector.tables.names import PATHS

    return builder.config(*PATHS)


def builder() -> Any:
    """A `SparkSession.Builder` whose `getOrCreate()` returns a session with the format installed."""
    from pyspark.sql import SparkSession

    class Builder(SparkSession.Builder):
        """PySpark's own builder, and `install` after it."""

        def getOrCreate(self) -> Any:  # noqa: N802 - PySpark's name
            """The session, installed."""
            return install(super().getOrCreate())

    return configure(Builder())


@dataclass(frozen=True)
class Status:
    """Which of the two ways to read and write tables serves a session, and why."""

    serving: Literal["connector", "python source", "nothing"]
    because: str

    def __str__(self) -> str:
        return f"{self.serving}, because {self.because}"


def status(spark: Any) -> Status:
    """Which way to read and write tables serves a session: the connector, the pure Python source, or nothing before `install`."""
    return _STATUS.value.get(spark, Status("nothing", "install(spark) was not called with this session"))


_STATUS: Final[ProcessLocal[WeakKeyDictionary[Any, Status]]] = ProcessLocal(WeakKeyDictionary)


def _connected(session: Any) -> Status:
    """Put the connector into the session's driver, if the driver takes it. A warning says where it should and does not."""
    from indextables.spark.connector.connect import connect, unwanted

    reason = unwanted(session)
    if reason:
        return Status("python source", reason)
    try:
        missing = connect(session)
        took = f"the driver of Spark {session.version} took it"
        return Status("connector", f"{took}; {missing}" if missing else took)
    except IndexTablesError as error:
        _log.warning("indextables: filters and searches in SQL are not handed to tables in this session: %s", error)
        return Status("python source", str(error))


def _registered(session: Any, found: Status) -> Status:
    """Register the Python source. A driver that has the connector refuses the source: there the connector serves all sessions."""
    from pyspark.errors import AnalysisException

    from indextables.spark.source import IndexTablesSource

    try:
        session.dataSource.register(IndexTablesSource)
    except AnalysisException as error:
        if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
            raise
        return Status("connector", f"another session of this driver has it, though {found.because}")
    return found


def find_java() -> str:
    """The `java` that Spark will start. Raises IndexTablesError where there is none, or one that is too old."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    way_out = f"install Java {_LEAST_JAVA} or newer (such as openjdk-17-jre-headless), or set JAVA_HOME to where it is"
    if java is None or not Path(java).is_file():
        where = f"JAVA_HOME is {home}, which has no bin/java" if home else "there is no java in PATH"
        raise IndexTablesError(f"Spark needs Java, and {where}: {way_out}")
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False, timeout=60)  # noqa: S603 - the user's own
    version = re.search(r'version "(?:1\.)?([0-9]+)', said.stderr)
    if version is None or int(version[1]) < _LEAST_JAVA:
        found = version[1] if version else "of an unknown version"
        raise IndexTablesError(f"Spark needs Java {_LEAST_JAVA} or newer, and {java} is Java {found}: {way_out}")
    return java


def _session() -> Any:
    from pyspark.sql import SparkSession
    from pyspark.util import is_remote_only

    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    if "SPARK_REMOTE" not in os.environ and not is_remote_only():
        find_java()
    return SparkSession.builder.getOrCreate()
