"""The gates: which tables this release may read, and which it may write."""

from __future__ import annotations

from functools import lru_cache

from indextables.core.errors import UnsupportedProtocol
from indextables.log.actions import KNOWN_FEATURES, NEW_TABLE_FEATURES, PROTOCOL_VERSION, ProtocolAction

NEW_TABLE_PROTOCOL = ProtocolAction(PROTOCOL_VERSION, PROTOCOL_VERSION, NEW_TABLE_FEATURES, NEW_TABLE_FEATURES)


def check_readable(url: str, protocol: ProtocolAction) -> None:
    """Refuse a table that needs a newer reader."""
    _check(url, "read", protocol.min_reader_version, protocol.reader_features)


@lru_cache(maxsize=64)
def check_writable(url: str, protocol: ProtocolAction) -> None:
    """Refuse a table that needs a newer writer, or a newer reader: who writes also reads.

    A table that passed passes again without being looked at, as long as its protocol is the same. A refusal is not kept.
    """
    check_readable(url, protocol)
    _check(url, "write", protocol.min_writer_version, protocol.writer_features)


def _check(url: str, verb: str, needed: int, features: tuple[str, ...] | None) -> None:
    if needed > PROTOCOL_VERSION:
        raise UnsupportedProtocol(
            f"table {url} needs protocol version {needed} to {verb}, this release has {PROTOCOL_VERSION}; upgrade indextables",
            url=url,
            needed=needed,
            supported=PROTOCOL_VERSION,
        )
    unknown = sorted(set(features or ()) - KNOWN_FEATURES)
    if unknown:
        raise UnsupportedProtocol(
            f"table {url} needs features that this release does not have to {verb}: {', '.join(unknown)}; upgrade indextables",
            url=url,
            features=unknown,
        )


def has_feature(protocol: ProtocolAction, feature: str) -> bool:
    """Whether writers must honour the feature."""
    return feature in (protocol.writer_features or ())
