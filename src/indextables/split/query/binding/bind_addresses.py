"""What is asked of a column of IP addresses, checked: addresses, networks, and ranges of addresses."""

from __future__ import annotations

import ipaddress
from typing import Final, assert_never

from indextables.split.index.doc_mapping import FieldMapping
from indextables.split.query.binding.refusals import Refusals
from indextables.split.query.bound import Addresses
from indextables.split.query.tree import OneOf, Phrase, Range, Span, Term

_LAST_ADDRESS: Final = 2**128 - 1
"""The last IPv6 address."""


def bind_addresses(leaf: Term | Phrase | OneOf | Range, field: FieldMapping, refusals: Refusals) -> Addresses:
    """The runs of addresses that a leaf asks for. Raises QueryError with a position."""
    match leaf:
        case Range():
            low = 0 if leaf.low is None else _network(leaf.low, leaf.span, refusals)[0 if leaf.with_low else 1]
            high = _LAST_ADDRESS if leaf.high is None else _network(leaf.high, leaf.span, refusals)[leaf.with_high]
            low += leaf.low is not None and not leaf.with_low
            high -= leaf.high is not None and not leaf.with_high
            runs = [(low, high)]
        case OneOf():
            runs = [_network(text, leaf.span, refusals) for text in leaf.values]
        case Term() | Phrase():
            runs = [_network(leaf.text, leaf.span, refusals)]
        case _:
            assert_never(leaf)
    texts = ((str(ipaddress.IPv6Address(low)), str(ipaddress.IPv6Address(high))) for low, high in runs if low <= high)
    return Addresses(field, tuple(texts), leaf.span)


def _network(text: str, span: Span, refusals: Refusals) -> tuple[int, int]:
    """The first and the last address of a network, or one address twice; those of IPv4 as they lie inside IPv6."""
    try:
        network = ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise refusals.error(span, f"{text} is no IP address and no network such as 10.0.0.0/8") from None
    inside = 0xFFFF << 32 if network.version == 4 else 0
    return int(network.network_address) + inside, int(network.broadcast_address) + inside
