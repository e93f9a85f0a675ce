"""Decoding the same bytes once: pure functions, remembered by what they are given, so that a schedule takes a third less.

What is there, and what is missing, is never remembered: every request still reaches the simulated store.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any
from unittest import mock

import pyarrow as pa

import indextables.log.cleanup as cleanup_module
import indextables.log.reachability as reachability_module
import indextables.log.state.live_files as live_module
import indextables.log.state.load_manifest as files_module
import indextables.log.state.load_state as open_module
import indextables.log.state.manifest_cache as cache_module
import indextables.log.state.write as write_module
from indextables.log.avro.avro_file import Container, read_container
from indextables.log.avro.manifest import read_entries
from indextables.log.avro.manifest_readers import sift
from indextables.log.avro.record_lengths import Sieve
from indextables.log.state.model import State
from indextables.log.state.read import decode_state

_KEPT = 4000
_states: dict[tuple[bytes, int], State] = {}
_containers: dict[bytes, Container] = {}
_manifests: dict[tuple[bytes, tuple[str, ...]], pa.Table] = {}


def _decode_state(name: str, data: bytes, version: int) -> State:
    return _remembered(_states, (data, version), lambda: decode_state(name, data, version))


def _read_container(name: str, data: bytes) -> Container:
    return _remembered(_containers, data, lambda: read_container(name, data))


def _read_entries(
    container: Container, data: bytes, columns: Sequence[str], sieve: Sieve, *, checked: bool, blocks: object = None
) -> pa.Table:
    key = (data, tuple(columns))
    whole = _remembered(_manifests, key, lambda: read_entries(container, data, columns, None, checked=checked))
    return sift(whole, sieve)


def _remembered(known: dict[Any, Any], key: Any, make: Any) -> Any:
    if key not in known:
        if len(known) > _KEPT:
            known.clear()
        known[key] = make()
    return known[key]


@contextlib.contextmanager
def decoded_once() -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for module in (cleanup_module, reachability_module, open_module, write_module):
            stack.enter_context(mock.patch.object(module, "decode_state", _decode_state))
        stack.enter_context(mock.patch.object(files_module, "read_container", _read_container))
        stack.enter_context(mock.patch.object(files_module, "read_entries", _read_entries))
        for module in (cache_module, live_module):
            stack.enter_context(mock.patch.object(module, "keeps", return_value=False))
        yield
