"""Where things lie under `_transaction_log/`, and how their names are read back.

Version numbers have 20 digits and never reach 10^19, so every version file and JSON checkpoint starts with `0`: a listing of
that prefix sees them and nothing else, whatever else the directory holds.
"""

from __future__ import annotations

import re
from typing import NamedTuple

LOG_DIR = "_transaction_log"
POINTER = f"{LOG_DIR}/_last_checkpoint"
PROBE = f"{LOG_DIR}/_probe"
"""Written by clean-up to learn the store's time."""
REPAIRED = f"{LOG_DIR}_repaired"
"""How the names of logs begin that a repair wrote beside a table's log. They may name splits that the table's log does not."""
DAMAGED = f"{LOG_DIR}_damaged"
"""How the names of logs begin that a repair's commands move aside."""
MOVED_LOGS = (DAMAGED, REPAIRED)
VERSIONS_PREFIX = f"{LOG_DIR}/0"
STATES_PREFIX = f"{LOG_DIR}/state-v"

_NAME = re.compile(r"(\d{20})(?:\.(checkpoint)(?:\.([0-9A-Za-z-]+)\.(\d{5,}))?)?\.json")
_STATE = re.compile(r"state-v(\d{20})/_manifest\.(?:avro|json)")


class LogName(NamedTuple):
    """What the name of a version file, checkpoint or checkpoint part says."""

    version: int
    is_checkpoint: bool
    checkpoint_id: str | None
    part: int | None

    @property
    def is_version(self) -> bool:
        """A version file, not a checkpoint nor a part of one."""
        return not self.is_checkpoint


def version_key(version: int) -> str:
    """Key of a version file."""
    return f"{LOG_DIR}/{version:020d}.json"


def checkpoint_key(version: int) -> str:
    """Key of a JSON checkpoint, or of the list of its parts."""
    return f"{LOG_DIR}/{version:020d}.checkpoint.json"


def part_name(version: int, checkpoint_id: str, part: int) -> str:
    """Name (not key) of one part of a multi-part JSON checkpoint."""
    return f"{version:020d}.checkpoint.{checkpoint_id}.{part:05d}.json"


def before_version(version: int) -> str:
    """A key that sorts before everything that belongs to `version` and after all that belongs to the one before."""
    return f"{LOG_DIR}/{version:020d}"


def before_state(version: int) -> str:
    """A key that sorts before the state of `version` and after those of smaller numbers."""
    return f"{LOG_DIR}/state-v{version:020d}"


def parse_log_key(key: str) -> LogName | None:
    """Read a key of the versions listing; None for what is none of ours."""
    match = _NAME.fullmatch(key.removeprefix(f"{LOG_DIR}/"))
    if match is None:
        return None
    number, checkpoint, checkpoint_id, part = match.groups()
    return LogName(int(number), checkpoint is not None, checkpoint_id, int(part) if part else None)


def parse_state_key(key: str) -> int | None:
    """The version of a state manifest's key; None for anything else below a state directory."""
    match = _STATE.fullmatch(key.removeprefix(f"{LOG_DIR}/"))
    return int(match.group(1)) if match else None


def is_hidden(key: str) -> bool:
    """Whether a data file was put away by somebody: a directory of its key, or its name, begins with `_` or `.`.

    Directories of partition columns, whose names have a `=`, are not hidden.
    """
    *directories, name = key.split("/")
    return name[0] in "_." or any(part[0] in "_." and "=" not in part for part in directories)


def inner_table(key: str) -> str | None:
    """The directory of a table inside of this one, where a key lies in that table's log; with a slash at its end.

    A log that a repair moved aside, or is about to put in place, counts too. The directory of a partition column does not, whose
    name may begin as a log's does: it has a `=`.
    """
    start = key.find(f"/{LOG_DIR}")
    while start >= 0:
        if "=" not in key[start + 1 :].partition("/")[0]:
            return key[: start + 1]
        start = key.find(f"/{LOG_DIR}", start + 1)
    return None
