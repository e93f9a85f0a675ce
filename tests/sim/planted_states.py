"""Bugs of Avro states: in how one is built on another, and in how manifests are collected. See `planted`."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from dataclasses import replace
from unittest import mock

import msgspec

import indextables.log.cleanup as cleanup_module
import indextables.log.reachability as reachability_module
import indextables.log.state.checkpoint as checkpoint_module
import indextables.log.state.collect as collect_module
import indextables.log.state.write as write_module
from indextables.log.cleanup import Plan
from indextables.log.file_entries import Version
from indextables.log.listing import Listing
from indextables.log.snapshot import LogAtVersion
from indextables.log.state.model import State, manifest_key
from indextables.log.state.read import decode_state
from indextables.log.state.writing.delta import Delta
from indextables.log.state.writing.write_incremental import Rewriting
from indextables.log.table_log import TableLog
from indextables.storage.store import ObjectMeta
from sim.planting import Patch, planted


@planted(18, "young-manifests", "collected", "broken-state", "broken", "unreadable", "snatched")
def _young_manifests() -> list[Patch]:
    """Manifests that no state names are collected, however young they are."""
    real = collect_module._plan

    def plan(at: LogAtVersion, without: Container[str], *, preview: bool) -> Plan:
        with mock.patch.object(collect_module, "max", create=True, return_value=0):
            return real(at, without, preview=preview)

    return [mock.patch.object(collect_module, "_plan", plan)]


@planted(19, "state-on-any-state", "poisoned", "broken-state", "unreadable", "broken")
def _state_on_any_state() -> list[Patch]:
    """A state goes on from the one that its writer stands on, without a look whether that has all its manifests."""

    def grounded(at: LogAtVersion) -> tuple[LogAtVersion, bool]:
        return at, True

    return [mock.patch.object(checkpoint_module, "_grounded", grounded)]


@planted(20, "selective-clears-all", "states", "wrong-read")
def _selective_clears_all() -> list[Patch]:
    """A compaction of some manifests drops the tombstones of all."""
    real = write_module.incremental_state

    def incremental_state(at: LogAtVersion, rewriting: Rewriting) -> State:
        made = real(at, rewriting)
        return replace(made, tombstones=frozenset()) if rewriting.manifests_to_rewrite else made

    return [mock.patch.object(write_module, "incremental_state", incremental_state)]


@planted(21, "state-skips-a-version", "states", "wrong-read")
def _state_skips_a_version() -> list[Patch]:
    """A state leaves out the first version after the state that it goes on from."""
    real = write_module.delta_since

    def delta_since(state: State, versions: Iterable[Version]) -> Delta:
        return real(state, list(versions)[1:])

    return [mock.patch.object(write_module, "delta_since", delta_since)]


def _forgets(is_forgotten: Callable[[str], bool]) -> list[Patch]:
    def named_by(log: TableLog, version: int, meta: ObjectMeta) -> set[str]:
        state = decode_state(meta.key, log.store.get(meta.key).data, version)
        return {manifest_key(item.path, version) for item in state.manifests if not is_forgotten(item.path)}

    return [mock.patch.object(reachability_module, "_manifests_named_by", named_by)]


@planted(22, "forgets-shared-paths", "forms", "unreadable", "broken", "broken-state", "snatched")
def _forgets_shared_paths() -> list[Patch]:
    """Manifests that states name as `manifests/…` are collected."""
    return _forgets(lambda path: path.startswith("manifests/"))


@planted(22, "forgets-paths-with-a-directory", "forms", "unreadable", "broken", "broken-state", "snatched")
def _forgets_paths_with_a_directory() -> list[Patch]:
    """Manifests that states name as `state-v…/…` are collected."""
    return _forgets(lambda path: path.startswith("state-v"))


@planted(22, "forgets-bare-names", "forms", "unreadable", "broken", "broken-state", "snatched")
def _forgets_bare_names() -> list[Patch]:
    """Manifests that a state names without a directory are collected."""
    return _forgets(lambda path: "/" not in path)


@planted(23, "goes-on-after-damage", "rotten", "unreadable", "broken", "broken-state", "snatched")
def _goes_on_after_damage() -> list[Patch]:
    """A state that cannot be read does not stop the collection, which then knows of no names at all."""
    real = collect_module._plan

    def plan(at: LogAtVersion, without: Container[str], *, preview: bool) -> Plan:
        made = real(at, without, preview=preview)
        if made.stopped is None or "cannot be read" not in made.stopped:
            return made
        with mock.patch.object(collect_module, "reachable_manifests", return_value=set()):
            return real(at, without, preview=preview)

    return [mock.patch.object(collect_module, "_plan", plan)]


@planted(24, "states-aged-from-creation", "slow", "snatched")
def _states_aged_from_creation() -> list[Patch]:
    """A state goes a safety age after it was written, not after it was succeeded: under those who have just opened it."""
    real = cleanup_module._states_to_go

    class Shifted(dict[int, list[ObjectMeta]]):
        """States, each with the time of the one before it, so that a successor's time is that of the state itself."""

        def __getitem__(self, number: int) -> list[ObjectMeta]:
            before = max((each for each in self if each < number), default=number)
            stamp = min(meta.last_modified_ms for meta in self.get(before, []))
            return [msgspec.structs.replace(meta, last_modified_ms=stamp) for meta in self.get(number, [])]

    class Misdated(Listing):
        @property
        def bases(self) -> dict[int, list[ObjectMeta]]:
            return Shifted(super().bases)

    def states_to_go(at: LogAtVersion, listing: Listing, *more: int) -> list[str]:
        return real(at, Misdated(listing.versions, listing.checkpoints, listing.parts, listing.states), *more)

    return [mock.patch.object(cleanup_module, "_states_to_go", states_to_go)]
