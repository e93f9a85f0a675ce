"""The catalogs of the connector are set in a running session, and in every session that begins after it.

    spark.sql.catalog.indextables      indextables.PathCatalog      tables by their places
    spark.sql.catalog.spark_catalog    indextables.SessionTables    tables USING indextables in Spark's own catalog

There is one `spark_catalog`. Where another format has it, it stays, and `status` says what is missing.
"""

from __future__ import annotations

from typing import Any, Final

PATHS: Final = ("spark.sql.catalog.indextables", "indextables.PathCatalog")
"""The setting of the catalog that names tables by their places, and its class."""
TABLES: Final = ("spark.sql.catalog.spark_catalog", "indextables.SessionTables")
"""The setting of Spark's own catalog, and the class that adds our tables to it."""


def set_catalogs(session: Any, java_session: Any) -> str:
    """Set both catalogs where nobody else has them. Returns what is missing, as text; empty where nothing is."""
    later = java_session.sharedState().conf()
    missing = []
    for key, name in (PATHS, TABLES):
        other = session.conf.get(key, None)
        if other in (None, "builtin", name):
            session.conf.set(key, name)
            later.setIfMissing(key, name)
        else:
            missing.append(f"{key} is {other}")
    if not missing:
        return ""
    return f"{', '.join(missing)}, so tables have no names there: name a table by its place, or read it with load"
