"""Manifests and answers that this process keeps, so that questions on an open handle do not read manifests again.

    MANIFESTS   checked manifests as bytes: another question about the same table decodes blocks, and fetches nothing
    ANSWERS     the files that a question to a state found: the same question decodes nothing

Only what was compared with a checksum is kept, under that checksum: a manifest never changes, and its name is never used again.
Nothing is kept where `transaction.cache.enabled` is off. A listing of all files is not kept here: `StateFiles` has it.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from indextables.core import options as opt
from indextables.core.runtime.process_state import Lru
from indextables.log.pruning.skipping_counts import Skipped
from indextables.log.state.load_manifest import CheckedManifest, FileQuestion, get_manifest
from indextables.log.state.model import ManifestItem, manifest_key
from indextables.log.table_log import TableLog

MANIFEST_BYTES = 64 << 20
"""Bytes of manifests to keep: those of about 1,700,000 files."""
ANSWER_BYTES = 16 << 20
"""Bytes of answers to keep: about 50,000 files."""

MANIFESTS: Final[Lru[tuple[str, str, str], CheckedManifest]] = Lru(MANIFEST_BYTES, lambda manifest: len(manifest.data))
"""By the table's URL, the manifest's key and its checksum."""
ANSWERS: Final[Lru[tuple[object, FileQuestion], tuple[pa.Table, Skipped]]] = Lru(
    ANSWER_BYTES, lambda answer: int(answer[0].nbytes) + 1
)
"""By an object that stands for the state, and by the question: the files, and how many others were ruled out."""


def keeps(log: TableLog) -> bool:
    """Whether anything of this table may be kept."""
    return bool(log.options[opt.TRANSACTION_CACHE_ENABLED])


def cached_manifest(log: TableLog, version: int, item: ManifestItem) -> CheckedManifest:
    """A manifest of state `version`: the one that is kept, or fetched, checked and kept."""
    if item.checksum is None or not keeps(log):
        return get_manifest(log, version, item)
    key = (log.url, manifest_key(item.path, version), item.checksum)
    return MANIFESTS.get_or_load(key, lambda: get_manifest(log, version, item))


def forget_answers() -> int:
    """Forget which files questions found. Returns how many answers there were."""
    return ANSWERS.clear()


def forget_manifests(url: str | None = None) -> int:
    """Forget the manifests of the table at a URL, or of all tables. Returns how many there were."""
    if url is None:
        return MANIFESTS.clear()
    return sum(MANIFESTS.pop(key) for key in MANIFESTS.listed() if key[0] == url)
