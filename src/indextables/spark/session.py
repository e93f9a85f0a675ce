"""`install(spark)`: what a session has to know of us."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

from indextables.core.errors import IndexTablesError

PUSH_DOWN: Final = "spark.sql.python.filterPushdown.enabled"
_SERVER_TRACE: Final = "spark.sql.connect.serverStacktrace.enabled"
"""Whether a Connect client prints a hundred lines of Java below each error. A classic session does not, unless it is asked to."""
_LEAST_JAVA: Final = 17


def install(spark: Any = None) -> Any:
    """Teach a session, classic or Connect, the format `indextables`, and turn filter push-down on. Twice is the same as once.

    Without a session, the active one is taken or one is started on this machine, if there is a Java for it. Returns the session.
    """
    from indextables.spark.source import IndexTablesSource

    session = _session() if spark is None else spark
    if not hasattr(session, "dataSource"):
        raise IndexTablesError(f"install takes a SparkSession of PySpark 4.2 or newer, not {type(session).__name__}")
    session.dataSource.register(IndexTablesSource)
    session.conf.set(PUSH_DOWN, "true")
    if type(session).__module__.startswith("pyspark.sql.connect."):
        session.conf.set(_SERVER_TRACE, "false")
    return session


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

    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    if "SPARK_REMOTE" not in os.environ:
        find_java()
    return SparkSession.builder.getOrCreate()
