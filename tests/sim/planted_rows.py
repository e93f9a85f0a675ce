"""Bugs of the verbs that write rows: in what becomes of uploads, and in what a merge commits. See `planted`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import indextables.log.conflicts as conflicts_module
import indextables.table.build.ingest as ingest_module
import indextables.table.build.uploads as uploads_module
import indextables.table.maintain.merge as merge_module
from indextables.core.errors import CommitOutcomeUnknown, StorageError
from indextables.log.actions import AddAction, RemoveAction
from indextables.log.commit import Committed
from indextables.log.conflicts import Change, Rewrite
from indextables.log.deciding.unchanged_rows import selected_paths
from indextables.log.file_entries import paths_in
from indextables.log.snapshot import Snapshot
from indextables.split.bundle.upload import upload
from indextables.table.build.uploads import Uploads
from indextables.table.handle import TableHandle
from sim.planting import Patch, planted


@planted(25, "unknown-taken-back", "silent", "data-gone")
def _unknown_taken_back() -> list[Patch]:
    """A verb that does not know what became of its commit takes its uploads back."""

    class Never(Exception):
        pass

    return [mock.patch.object(uploads_module, "CommitOutcomeUnknown", Never)]


@planted(26, "overtaken-anyway", "merges", "row-back", "row-twice")
def _overtaken_anyway() -> list[Patch]:
    """A merge commits the results whose sources are not all live any more, and removes those that are."""

    def live_rewrites(change: Change, current: Snapshot) -> list[Rewrite]:
        live = paths_in(current.files, [source for rewrite in change.rewrites for source in rewrite.sources])
        return [
            replace(rewrite, sources=tuple(path for path in rewrite.sources if path in live))
            for rewrite in change.rewrites
        ]

    return [mock.patch.object(conflicts_module, "_live_rewrites", live_rewrites)]


@planted(27, "sources-not-looked-at", "merges", "removed-dead")
def _sources_not_looked_at() -> list[Patch]:
    """A merge removes its sources, whether they are live or not."""

    def remove_actions(removes: list[tuple[str, bool]], current: Snapshot, now_ms: int) -> list[RemoveAction]:
        return [RemoveAction(path=path, deletion_timestamp=now_ms, data_change=changes) for path, changes in removes]

    return [
        mock.patch.object(conflicts_module, "_live_rewrites", lambda change, current: list(change.rewrites)),
        mock.patch.object(conflicts_module, "_remove_actions", remove_actions),
    ]


@planted(28, "nothing-kept", "rows", "data-gone")
def _nothing_kept() -> list[Patch]:
    """After its commit a verb takes back what it uploaded, all of it."""
    real = Uploads.discard

    def discard(self: Uploads, keep: Collection[str] = ()) -> None:
        real(self)

    return [mock.patch.object(Uploads, "discard", discard)]


@planted(29, "nothing-taken-back", "rows", "orphan")
def _nothing_taken_back() -> list[Patch]:
    """A verb that certainly failed leaves its uploads where they are."""
    return [mock.patch.object(Uploads, "discard")]


@planted(30, "name-used-again", "silent", "data-gone")
def _name_used_again() -> list[Patch]:
    """An upload that failed is taken back, and made again under the same name."""

    def put(self: Uploads, path: Path, directory: str) -> str:
        key = self._new_key(directory)
        for _ in range(3):
            try:
                upload(self._log.store, key, path)
            except StorageError:
                self._log.store.delete([key])
            else:
                return key
        raise StorageError(f"{key} cannot be uploaded")

    return [mock.patch.object(Uploads, "put", put)]


@planted(31, "upload-believed", "rows", "data-gone")
def _upload_believed() -> list[Patch]:
    """An upload without an answer is taken for a success."""

    def believed(store: Any, key: str, path: Path) -> None:
        try:
            upload(store, key, path)
        except StorageError:
            return

    return [mock.patch.object(uploads_module, "upload", believed)]


@planted(32, "unknown-tried-again", "silent", "added-twice", "row-twice")
def _unknown_tried_again() -> list[Patch]:
    """A verb that does not know what became of its commit commits once more."""
    real = uploads_module.commit

    def commit(*what: Any, **more: Any) -> Committed:
        try:
            return real(*what, **more)
        except CommitOutcomeUnknown:
            return real(*what, **more)

    return [mock.patch.object(uploads_module, "commit", commit)]


@planted(33, "uploads-of-all-commits", "merges", "data-gone")
def _uploads_of_all_commits() -> list[Patch]:
    """A merge that fails takes back what it uploaded, and with it what its earlier commits named."""
    real = merge_module.Merge.commit

    def commit(self: Any, finished: Sequence[Any]) -> None:
        uploads = self.uploads
        real(self, finished)
        self.uploads = uploads

    return [mock.patch.object(merge_module.Merge, "commit", commit)]


@planted(34, "broken-removed", "merges", "row-lost")
def _broken_removed() -> list[Patch]:
    """A source that could not be merged is removed with the others."""
    real = merge_module.Merge.build

    def build(self: Any, *what: Any) -> Any:
        done = real(self, *what)
        if done.result is not None:
            done.sources += done.broken
        return done

    return [mock.patch.object(merge_module.Merge, "build", build)]


@planted(35, "merge-as-a-change", "merges", "wrong-change")
def _merge_as_a_change() -> list[Patch]:
    """A merge says that its rows are new."""

    def changing(sources: tuple[str, ...], results: tuple[AddAction, ...], *, data_change: bool) -> Rewrite:
        assert not data_change
        return Rewrite(sources, results, data_change=True)

    return [mock.patch.object(merge_module, "Rewrite", changing)]


@planted(36, "overwrites-what-it-read", "rows", "overwrite-kept")
def _overwrites_what_it_read() -> list[Patch]:
    """An overwrite removes what was live when it began to write its rows."""
    real = ingest_module.commit_uploads

    def commit_uploads(handle: TableHandle, change: Change, *what: Any, **more: Any) -> Committed:
        if change.replace is not None:
            removes = tuple(selected_paths(change.replace.where, handle.snapshot))
            change = replace(change, replace=None, removes=removes)
        return real(handle, change, *what, **more)

    return [mock.patch.object(ingest_module, "commit_uploads", commit_uploads)]
