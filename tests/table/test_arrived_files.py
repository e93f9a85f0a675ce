"""`Table.commit_files` with `check_files`: what is missing, or so old that a purge may take it, is not committed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from indextables import Table
from indextables.core.errors import CommitError, FilesChanged, OptionError, UploadTooOld
from indextables.log.actions import AddAction
from indextables.log.open_snapshot import open_log
from indextables.storage.testing.counting import Counting
from indextables.table.handle import TableHandle
from log.support import DAY, HOUR, Hooked, make_log
from table.purge_support import old_table, purged, split, splits, upload


def opened(store: Any) -> Table:
    log = make_log(store)
    return Table(TableHandle(log, open_log(log)))


def entry(name: object, **fields: Any) -> AddAction:
    return AddAction(split(name), size=10, num_records=1, **fields)


def live(store: Any) -> set[str]:
    return set(opened(store).files().column("path").to_pylist())


class TestFilesOfOthers:
    def test_an_old_file_is_not_committed_while_a_purge_takes_it(self) -> None:
        store = old_table()
        refused: list[str] = []

        def delete(keys: Sequence[str]) -> Any:
            if split("o1") in keys and not refused:
                with pytest.raises(UploadTooOld, match=r"o1.*copy it to a new name") as error:
                    opened(store).commit_files([entry("o1")], check_files=True)
                refused.append(str(error.value))
            return store.delete(keys)

        purged(Hooked(store, delete=delete))
        assert refused
        assert live(store) <= set(store.objects)
        assert splits(store) == {"s1", "s2"}

    def test_a_missing_file_is_not_committed(self) -> None:
        store = old_table()
        with pytest.raises(
            CommitError, match=r"never.* cannot be committed, because there is no such file; upload it first"
        ):
            opened(store).commit_files([entry("never")], check_files=True)
        assert opened(store).version == 2

    @pytest.mark.parametrize(("hours", "is_young"), [(0, True), (35.9, True), (36.1, False), (71, False)])
    def test_half_the_safety_age_is_the_limit(self, hours: float, is_young: bool) -> None:
        store = old_table()
        upload(store, "new")
        store.clock.advance(hours * HOUR)
        upload(store, "newer")
        table = opened(store)
        if is_young:
            assert table.commit_files([entry("new"), entry("newer")], check_files=True).version == 3
            assert {split("new"), split("newer")} < live(store)
        else:
            with pytest.raises(UploadTooOld):
                table.commit_files([entry("new"), entry("newer")], check_files=True)
            assert opened(store).version == 2

    def test_a_file_that_grows_too_old_between_attempts_is_not_committed(self) -> None:
        store = old_table()
        upload(store, "new")
        store.clock.advance(35 * HOUR)
        attempts: list[str] = []

        def create(key: str, data: bytes) -> None:
            if not attempts:
                attempts.append(key)
                opened(store).commit_files(properties={"other": "1"}, operation="OTHER")
                store.clock.advance(2 * HOUR)
            store.create(key, data)

        with pytest.raises(UploadTooOld):
            opened(Hooked(store, create=create)).commit_files([entry("new")], check_files=True)
        assert attempts
        assert split("new") not in live(store)

    def test_a_file_of_the_table_is_added_again_at_any_age(self) -> None:
        store = old_table()
        done = opened(store).commit_files([entry("s1", tags={"checked": "yes"})], check_files=True)
        assert done.version == 3
        assert live(store) == {split("s1"), split("s2")}

    def test_but_not_if_somebody_removes_it_meanwhile(self) -> None:
        store = old_table()
        attempts: list[str] = []

        def create(key: str, data: bytes) -> None:
            if not attempts:
                attempts.append(key)
                opened(store).commit_files(removes=[split("s1")])
            store.create(key, data)

        with pytest.raises(FilesChanged):
            opened(Hooked(store, create=create)).commit_files([entry("s1")], check_files=True)
        assert live(store) == {split("s2")}

    def test_a_batch_that_is_there_already_may_have_lost_its_files(self) -> None:
        store = old_table()
        upload(store, "new")
        assert opened(store).commit_files([entry("new")], txn=("app", 5), check_files=True).written
        opened(store).commit_files(removes=[split("new")])
        store.clock.advance(3 * DAY)
        again = opened(store).commit_files([entry("new")], txn=("app", 5), check_files=True)
        assert (again.written, again.reason) == (False, "batch 5 of app is in the table already")
        with pytest.raises(UploadTooOld):
            opened(store).commit_files([entry("new")], txn=("app", 6), check_files=True)


class TestVouchedFor:
    def test_without_a_word_nothing_is_asked_and_nothing_is_too_old(self) -> None:
        store = Counting(old_table())
        table = opened(store)
        store.reset()
        assert table.commit_files([entry("o1"), entry("elsewhere")]).version == 3
        assert not [request for request in store.requests if split("elsewhere") in str(request)]

    def test_nothing_is_asked(self) -> None:
        store = Counting(old_table())
        table = opened(store)
        store.reset()
        assert table.commit_files([entry("elsewhere")], uploaded_hours_ago=0).version == 3
        assert not [request for request in store.requests if split("elsewhere") in str(request)]

    def test_but_the_age_counts(self) -> None:
        table = opened(old_table())
        assert table.commit_files([entry("a")], uploaded_hours_ago=35.9).written
        with pytest.raises(UploadTooOld):
            table.commit_files([entry("b")], uploaded_hours_ago=36.1)
        assert table.commit_files(removes=[split("a")], uploaded_hours_ago=99).written

    @pytest.mark.parametrize("hours", [-1, float("nan"), "1", True])
    def test_what_is_no_age(self, hours: Any) -> None:
        with pytest.raises(OptionError, match="uploaded_hours_ago is a number of hours from 0 on"):
            opened(old_table()).commit_files([entry("a")], uploaded_hours_ago=hours)
