"""The connector is put into a session's driver: classes loaded, the Python side connected, all of it once for each JVM.

    classic session     the session itself gets the rules, the functions and the words of searches
    Connect session     the session of the server that answers this client gets them

`connect` raises IndexTablesError where a driver cannot have the connector; the caller then lets the pure Python source serve.
"""

from __future__ import annotations

import os
from typing import Any, Final

from indextables.core import options as opt
from indextables.core.errors import IndexTablesError
from indextables.core.options import Options
from indextables.core.runtime.process_state import ProcessLocal
from indextables.spark.connector import classes
from indextables.spark.connector.tables.names import set_catalogs

_SOURCE: Final = "org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource"


class _Answering:
    """The object that Java calls, kept for as long as the process lives."""

    def __init__(self) -> None:
        self.kept: Any = None


_KEPT: Final[ProcessLocal[_Answering]] = ProcessLocal(_Answering)


def connect(session: Any) -> str:
    """Put the connector into the driver of a session. Returns what the session lacks all the same, as text.

    Raises IndexTablesError with the reason where the connector cannot be there.
    """
    try:
        return _connect(driver_context(session), session)
    except IndexTablesError:
        raise
    except Exception as error:
        first = (str(error).strip().splitlines() or [""])[0]
        raise IndexTablesError(f"the driver does not take the connector: {type(error).__name__}: {first}") from error


def unwanted(session: Any) -> str:
    """Why the connector is not even tried in a session: somebody switched it off, or the driver is elsewhere. Else empty."""
    try:
        driver_context(session)
    except IndexTablesError as error:
        return str(error)
    switch = opt.CONNECTOR_ENABLED.key
    wanted = Options({switch: str(session.conf.get(switch, "true"))})[opt.CONNECTOR_ENABLED]
    return "" if wanted else f"{switch} is false in this session"


def driver_context(session: Any) -> Any:
    """The SparkContext of a driver that runs under this process. Raises IndexTablesError where there is none."""
    if not is_remote(session):
        return session.sparkContext
    elsewhere = "the Connect server of this session was not started by this process"
    try:
        from pyspark import SparkContext
    except ImportError:  # pyspark-client: it has no driver, no py4j and no such name
        raise IndexTablesError(f"{elsewhere}, whose PySpark is a client alone") from None
    context = SparkContext._active_spark_context  # noqa: SLF001 - pyspark has no public name for it
    if context is None or "SPARK_LOCAL_REMOTE" not in os.environ:
        raise IndexTablesError(elsewhere)
    return context


def _connect(context: Any, session: Any) -> str:
    from pyspark.java_gateway import ensure_callback_server_started
    from pyspark.sql.udf import _wrap_function

    from indextables.spark.connector.bridge import Answering
    from indextables.spark.connector.tables.statements import keep_session
    from indextables.spark.source import IndexTablesSource

    jvm, gateway = context._jvm, context._gateway  # noqa: SLF001 - pyspark's own modules use these names
    version, remote = session.version, is_remote(session)
    own = _java_session(context, session)
    ensure_callback_server_started(gateway)
    loader = classes.load(jvm, gateway, version)
    state = _KEPT.value
    if state.kept is None:
        state.kept = Answering()
    source = getattr(jvm, _SOURCE)(_wrap_function(context, IndexTablesSource))
    classes.new(jvm, gateway, loader, "indextables.Python").connect(state.kept, source)
    if not remote:
        keep_session(str(own.sessionUUID()), session)
    statements = not remote  # a client takes them itself
    classes.new(jvm, gateway, loader, "indextables.Setup").session(own, statements)
    return set_catalogs(session, own)


def is_remote(session: Any) -> bool:
    """Whether a session is a client of a Connect server."""
    return type(session).__module__.startswith("pyspark.sql.connect.")


def _java_session(context: Any, session: Any) -> Any:
    """The session in the driver: the session's own, or for a Connect client the one by which its server answers.

    A server that this process started works in an isolated session for each client, not in the driver's own. The key of that
    session is a user and a session id; ids are unique, so a user that the server found out by itself does no harm.
    """
    if not is_remote(session):
        return session._jsparkSession  # noqa: SLF001 - pyspark has no public name for it
    service = context._jvm.org.apache.spark.sql.connect.service  # noqa: SLF001 - as above
    sessions = getattr(getattr(service, "SparkConnectService$"), "MODULE$").sessionManager()
    active = sessions.listActiveSessions()
    for number in range(active.length()):
        found = active.apply(number)
        if found.sessionId() == session.session_id:
            key = service.SessionKey(found.userId(), found.sessionId())
            return sessions.getIsolatedSessionIfPresent(key).get().session()
    raise IndexTablesError(f"the Connect server in this process does not know the session {session.session_id}")
