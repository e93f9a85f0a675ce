"""`WriteSettings`: the options that every write of a table asks for, read once for each log that is opened."""

from __future__ import annotations

from dataclasses import dataclass

from indextables.core.clock import BackOff
from indextables.core.options import keys
from indextables.core.options.bag import Options


@dataclass(frozen=True, slots=True)
class WriteSettings:
    """Values of options, as the code that writes uses them."""

    caching: bool
    """Whether the process may remember what it read or wrote."""
    commit_attempts: int
    """Version numbers that a commit tries."""
    version_file_bytes: int
    """Bytes of a version file's text, at most."""
    compress: bool
    """Whether version files are compressed."""
    upload_attempts: int
    """Names that an upload tries."""
    upload_back_off: BackOff
    """The waits between two attempts of an upload."""
    checkpoint_every: int | None
    """Versions from one checkpoint to the next; None where commits write no checkpoints."""
    merge_every: int | None
    """Versions after which small splits are merged; None where merges do not follow writes."""
    purges: bool
    """Whether purges follow writes and merges."""


def write_settings(options: Options) -> WriteSettings:
    """The settings that a caller's options make."""
    return WriteSettings(
        caching=options[keys.TRANSACTION_CACHE_ENABLED],
        commit_attempts=options[keys.TRANSACTION_RETRY_MAX_ATTEMPTS],
        version_file_bytes=options[keys.TRANSACTION_MAX_VERSION_FILE_BYTES],
        compress=options[keys.TRANSACTION_COMPRESSION_ENABLED],
        upload_attempts=options[keys.STORAGE_RETRY_MAX_ATTEMPTS],
        upload_back_off=BackOff(options[keys.STORAGE_RETRY_BASE_DELAY_MS], options[keys.STORAGE_RETRY_MAX_DELAY_MS]),
        checkpoint_every=options[keys.CHECKPOINT_INTERVAL] if options[keys.CHECKPOINT_ENABLED] else None,
        merge_every=options[keys.MERGE_ON_WRITE_MIN_SPLITS] if options[keys.MERGE_ON_WRITE_ENABLED] else None,
        purges=options[keys.PURGE_ON_WRITE_ENABLED],
    )
