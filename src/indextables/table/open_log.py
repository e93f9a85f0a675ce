"""Opening a table's log: the only place where a URL and options become a `TableLog`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

from indextables.core.options import Options
from indextables.core.runtime.process_state import Lru, ProcessLocal
from indextables.core.runtime.threads import Workers
from indextables.log.log_cache import LogCache
from indextables.log.rebuild.log_elsewhere import LogElsewhere
from indextables.log.table_log import TableLog
from indextables.storage.resolve import resolve

_MOST_LOGS: Final = 256
"""At most so many logs are kept open in a process for tasks. A log is a store's recipe, its client, and no rows."""
_LOGS: Final[ProcessLocal[Lru[tuple[str, Options], TableLog]]] = ProcessLocal(lambda: Lru(_MOST_LOGS))
"""The logs that tasks of this process opened. A forked child opens its own: clients belong to the parent's threads."""


def open_log(
    url: str | os.PathLike[str],
    options: Mapping[str, Any] | Options | None = None,
    workers: Workers | None = None,
    log_url: str | None = None,
) -> TableLog:
    """The log of the table at `url`, which need not exist. Raises OptionError.

    `log_url` is where the log lies if readers use another one. Such a log has a memory of its own, so that nothing of it
    is taken for the table's.
    """
    checked = options if isinstance(options, Options) else Options(options)
    store = resolve(url, checked).open()
    if log_url is not None:
        return TableLog(LogElsewhere(store, resolve(log_url, checked).open()), checked, cache=LogCache())
    return TableLog(store, checked) if workers is None else TableLog(store, checked, workers=workers)


def process_log(url: str, options: Options) -> TableLog:
    """The log at a URL, one for each process, URL and options: a second task finds open what the first one opened."""
    return _LOGS.value.get_or_load((url, options), lambda: open_log(url, options))


def full_url(url: str) -> str:
    """The URL of a table in its one spelling: relative paths and short forms are resolved."""
    return resolve(url, Options()).url
