"""State → bytes: the newest entries in a manifest of their own, or everything anew.

    incremental   the manifests of the state before, one more for what was added since, tombstones for what was removed
    selective     the same, but manifests with many dead entries are written again without them
    compacted     all live files, sorted by partition, in manifests with tight bounds; no tombstones

What is written is a pure function of the log up to the state's version: who writes it, and from which older state, makes no
difference to a reader. A tombstone hides every entry of its path, so a path that is live never has one: adding such a path
again rewrites the manifests that hold its old entry.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.core import options as opt
from indextables.core.errors import ObjectNotFound, StorageError, VersionGap
from indextables.log.actions import AddAction
from indextables.log.avro.container import encode_bytes, encode_long, write_container
from indextables.log.avro.manifest import write_manifest
from indextables.log.avro.schemas import STATE_MANIFEST_JSON
from indextables.log.checkpoint import useful_skips, with_registry
from indextables.log.codec import to_json_object
from indextables.log.files import FILE_SCHEMA, files_table
from indextables.log.layout import LOG_DIR
from indextables.log.pointer import Pointer, write_pointer
from indextables.log.protocol import check_writable
from indextables.log.snapshot import Snapshot
from indextables.log.state.bounds import partition_bounds, partition_order
from indextables.log.state.files import StateFiles, checksum, load_manifest
from indextables.log.state.model import TYPED, ManifestItem, State, shared_path, state_dir, state_key
from indextables.log.state.read import decode_state
from indextables.log.tablelog import TableLog

logger = logging.getLogger("indextables")

Kind = Literal["incremental", "selective", "compacted"]
_CODECS = {"zstd": "zstandard", "snappy": "snappy", "none": "null"}
_SMALL_PARTITION_CUT = 4


@dataclass(frozen=True)
class StateWritten:
    """A state that is there now: ours, or the one that somebody else wrote for the same version."""

    version: int
    kind: Kind
    state: State
    ours: bool = True
