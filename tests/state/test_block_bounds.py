"""Blocks of a manifest that are passed over by their partition bounds: the same files as without, and less to decode."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any
from unittest import mock
from urllib.parse import quote

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from effort import examples
from indextables.core.predicate import Predicate, parse_predicate
from indextables.core.types import arrow_to_spark_json
from indextables.log.actions import AddAction
from indextables.log.avro import encode_columns, manifest_readers, reader_choice
from indextables.log.avro.avro_file import read_container
from indextables.log.pruning.file_pruning import prune_files
from indextables.log.snapshot import Snapshot
from indextables.log.state import block_bounds
from indextables.log.state.block_bounds import BLOCK_BOUNDS_KEY, BlockBounds, block_bounds_note, paths_name_partitions
from indextables.log.state.load_manifest import get_manifest
from indextables.storage.testing.counting import Counting
from log.support import MemoryStore, make_log, new_table
from predicate_data import predicates
from state.support import add, as_entries, committed, entry, files_of, fresh, grown, many_files, state_of, stated, table
from state.test_pruning_properties import NAMES, SCHEMA, text_of
from state.test_pruning_properties import VALUES as ANY

QUICK = settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.too_slow])


@contextmanager
def tiny_blocks() -> Iterator[None]:
    """Manifests of a few entries are written and read as those of many thousands are."""
    with ExitStack() as stack:
        for module, name, value in (
            (encode_columns, "_BLOCK_BYTES", 250),
            (block_bounds, "ENTRIES_WORTH_A_NOTE", 0),
            (reader_choice, "FEW_ENTRIES", 0),
        ):
            stack.enter_context(mock.patch.object(module, name, value))
        yield


def matching(snapshot: Snapshot, where: Predicate) -> list[dict[str, Any]]:
    columns = tuple(snapshot.metadata.partition_columns)
    found = snapshot.file_set.matching(where, snapshot.schema, columns)
    return sorted(as_entries(found), key=lambda file: str(file["path"]))


def without_passing_over(snapshot: Snapshot, where: Predicate) -> list[dict[str, Any]]:
    found = prune_files(snapshot.files, where, snapshot.schema, snapshot.metadata.partition_columns)
    return sorted(as_entries(found), key=lambda file: str(file["path"]))


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[str], list[list[AddAction]], Predicate]:
    """Partition columns, the files of some commits, and a predicate. Some paths spell their partition, some are added again,
    in the same partition or in another.
    """
    columns = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=2, unique=True))
    value = {name: st.none() | ANY[name] for name in columns}
    few = {name: draw(st.lists(value[name], min_size=1, max_size=4)) for name in columns}
    row = st.fixed_dictionaries({name: st.sampled_from(few[name]) for name in columns})
    seen: list[str] = []
    rows: list[dict[str, Any]] = []
    commits: list[list[AddAction]] = []
    number = 0
    for _ in range(draw(st.integers(1, 3))):
        adds: dict[str, AddAction] = {}
        for values in draw(st.lists(row, min_size=1, max_size=8)):
            rows.append(values)
            texts = {name: text for name, v in values.items() if (text := text_of(name, v)) is not None}
            if draw(st.integers(0, 9)) == 0:  # as another implementation may spell the columns
                texts = {name.upper(): text for name, text in texts.items()}
            if draw(st.integers(0, 5)) == 0:
                texts = dict.fromkeys(texts, draw(st.sampled_from(["", "?"])))
            number += 1
            directories = [f"{name}={quote(text, safe='')}" for name, text in texts.items()]
            path = "/".join([*directories, f"part-{uuid.UUID(int=number)}.split"])
            if draw(st.integers(0, 4)) == 0:
                path = f"part-{uuid.UUID(int=number)}.split"
            if seen and draw(st.integers(0, 4)) == 0:
                path = draw(st.sampled_from(seen))
            seen.append(path)
            adds[path] = AddAction(path, dict(texts), size=number, modification_time=1, num_records=1)
        commits.append(list(adds.values()))
    return columns, commits, draw(predicates(columns, rows))


@QUICK
@given(history=histories())
def test_the_same_files_as_without_passing_over_blocks(history: tuple[Any, Any, Any]) -> None:
    columns, commits, where = history
    store = MemoryStore()
    log = make_log(store)
    with tiny_blocks():
        snapshot = new_table(log, schema_string=arrow_to_spark_json(SCHEMA), partition_columns=tuple(columns))
        for adds in commits:
            snapshot = stated(log, committed(log, snapshot, adds))
        assert matching(fresh(store), where) == without_passing_over(fresh(store), where)
        snapshot = stated(log, committed(log, snapshot), compact=True)
        assert matching(fresh(store), where) == without_passing_over(fresh(store), where)


def test_every_partition_of_a_block_is_found() -> None:
    """Several partitions share a block, and each of them is asked for."""
    store = MemoryStore()
    log = make_log(store)
    days = [f"2024-01-{day:02}" for day in range(1, 31)]
    adds = [add(f"day={day}/part-{uuid.UUID(int=number)}.split", day=day) for number, day in enumerate(days)]
    with tiny_blocks():
        snapshot = stated(log, committed(log, table(log, "day"), adds), compact=True)
        (item,) = state_of(snapshot).manifests
        blocks = read_container("m", store.objects[f"_transaction_log/{item.path}"].data).blocks
        assert 1 < len(blocks) < len(days)
        for day, expected in zip(days, adds, strict=True):
            where = parse_predicate(f"day = DATE '{day}'", snapshot.schema)
            assert [file["path"] for file in matching(fresh(store), where)] == [expected.path]


def test_one_partition_decodes_few_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    log = make_log(store)
    stated(log, grown(log, many_files(30_000, days=300), "day"), compact=True)
    snapshot = fresh(store)
    (item,) = state_of(snapshot).manifests
    container = read_container("m", store.objects[f"_transaction_log/{item.path}"].data)
    assert len(container.blocks) >= 4
    decoded: list[int] = []
    decompress = manifest_readers.decompress

    def spy(name: str, codec: str, data: memoryview) -> Any:
        decoded.append(len(data))
        return decompress(name, codec, data)

    monkeypatch.setattr(manifest_readers, "decompress", spy)
    day = dict(snapshot.files["partitionValues"][7].as_py())["day"]
    decoded.clear()
    where = parse_predicate(f"day = DATE '{day}'", snapshot.schema)
    found = matching(fresh(store), where)
    assert len(found) == 100
    assert 1 <= len(decoded) <= 2


def test_one_partition_of_many_commits_decodes_few_blocks() -> None:
    """Each commit adds a file to every partition, and the states are incremental: a manifest may repeat older paths."""
    store = MemoryStore()
    log = make_log(store)
    days = [f"2024-{month:02}-{day:02}" for month in range(1, 11) for day in range(1, 29)]
    decoded: list[int] = []
    decompress = manifest_readers.decompress

    def spy(name: str, codec: str, data: memoryview) -> Any:
        decoded.append(len(data))
        return decompress(name, codec, data)

    with (
        mock.patch.object(encode_columns, "_BLOCK_BYTES", 10_000),
        mock.patch.object(block_bounds, "ENTRIES_WORTH_A_NOTE", 0),
    ):
        snapshot = table(log, "day")
        for commit in range(3):
            ids = [(day, uuid.UUID(int=commit << 32 | number)) for number, day in enumerate(days)]
            snapshot = stated(
                log, committed(log, snapshot, [add(f"day={day}/part-{name}.split", day=day) for day, name in ids])
            )
        manifests = state_of(snapshot).manifests
        assert sum(item.may_repeat for item in manifests) >= 2
        blocks = [
            len(read_container("m", store.objects[f"_transaction_log/{item.path}"].data).blocks) for item in manifests
        ]
        assert min(blocks) >= 4
        where = parse_predicate(f"day = DATE '{days[100]}'", snapshot.schema)
        with mock.patch.object(manifest_readers, "decompress", spy):
            assert len(matching(fresh(store), where)) == 3
    assert len(manifests) <= len(decoded) <= 2 * len(manifests), f"decoded {len(decoded)} of {sum(blocks)} blocks"


@pytest.mark.parametrize("spelt", [True, False])
def test_a_newer_entry_in_another_partition_is_never_passed_over(spelt: bool) -> None:
    """A path that was added again, with other partition values: its old entry is not live, whatever is asked for."""
    store = MemoryStore()
    log = make_log(store)
    name = f"part-{uuid.UUID(int=1)}.split"
    path = f"day=2024-01-01/{name}" if spelt else name
    with tiny_blocks():
        snapshot = stated(log, committed(log, table(log, "day"), [add(path, day="2024-01-01", size=1)]))
        others = [add(f"day=2024-01-09/part-{uuid.UUID(int=n)}.split", day="2024-01-09") for n in range(2, 9)]
        again = add(path, day="2024-01-09", size=2)
        snapshot = stated(log, committed(log, snapshot, [*others, again]))
        assert state_of(snapshot).manifests[-1].may_repeat
        old = parse_predicate("day = DATE '2024-01-01'", snapshot.schema)
        assert matching(fresh(store), old) == []
        new = parse_predicate("day = DATE '2024-01-09'", snapshot.schema)
        assert [file["size"] for file in matching(fresh(store), new) if file["path"] == path] == [2]


def test_what_was_found_must_spell_its_partition_too() -> None:
    """The older entry lies about its partition, the newer one does not: only a look at what was found shows it."""
    store = MemoryStore()
    log = make_log(store)
    path = f"day=2024-01-09/part-{uuid.UUID(int=1)}.split"
    with tiny_blocks():
        snapshot = stated(log, committed(log, table(log, "day"), [add(path, day="2024-01-01", size=1)]))
        others = [add(f"day=2024-01-09/part-{uuid.UUID(int=n)}.split", day="2024-01-09") for n in range(2, 9)]
        snapshot = stated(log, committed(log, snapshot, [*others, add(path, day="2024-01-09", size=2)]))
        assert state_of(snapshot).manifests[-1].may_repeat
        old = parse_predicate("day = DATE '2024-01-01'", snapshot.schema)
        assert matching(fresh(store), old) == []


class TestNote:
    FILES = files_of([entry(n, path=f"id={n}/f", partitionValues={"id": str(n)}) for n in range(6)])

    def note(self, schema: pa.Schema = SCHEMA) -> bytes:
        with tiny_blocks():
            return block_bounds_note(self.FILES, schema, ["id"], [2, 3, 1])[BLOCK_BOUNDS_KEY]

    def test_bounds_of_each_block(self) -> None:
        bounds = BlockBounds.of({BLOCK_BOUNDS_KEY: self.note()}, 3)
        assert bounds is not None
        assert bounds.blocks == ({"id": ("0", "1")}, {"id": ("2", "4")}, {"id": ("5", "5")})
        assert bounds.paths_name_partitions
        assert bounds.fits(SCHEMA, ["id"])
        assert bounds.that_may_hold(parse_predicate("id = 3 OR id > 4", SCHEMA), SCHEMA) == {1, 2}

    @pytest.mark.parametrize("text", ["?", "", None])
    def test_a_value_that_cannot_be_read_takes_the_bounds_of_its_block(self, text: str | None) -> None:
        values = [{"id": "1"}, {"id": "2"}, {} if text is None else {"id": text}, {"id": "4"}]
        files = files_of([entry(n, partitionValues=value) for n, value in enumerate(values)])
        with tiny_blocks():
            note = block_bounds_note(files, SCHEMA, ["id"], [2, 2])
        bounds = BlockBounds.of(note, 2)
        assert bounds is not None
        assert bounds.blocks == ({"id": ("1", "2")}, {})
        assert bounds.that_may_hold(parse_predicate("id = 9", SCHEMA), SCHEMA) == {1}

    def test_a_column_of_another_type_fits_no_more(self) -> None:
        bounds = BlockBounds.of({BLOCK_BOUNDS_KEY: self.note()}, 3)
        assert bounds is not None
        texts = SCHEMA.set(SCHEMA.get_field_index("id"), pa.field("id", pa.string()))
        assert not bounds.fits(texts, ["id"])
        assert not bounds.fits(SCHEMA, ["text"])
        assert not bounds.fits(SCHEMA, ["id", "text"])

    @pytest.mark.parametrize("text", [b"", b"{}", b"[1]", b"\xff", b'{"types":{"id":"int64"},"bounds":[[1]]}'])
    def test_what_is_no_note_says_nothing(self, text: bytes) -> None:
        assert BlockBounds.of({BLOCK_BOUNDS_KEY: text}, 1) is None
        assert BlockBounds.of({}, 1) is None
        assert BlockBounds.of({BLOCK_BOUNDS_KEY: self.note()}, 2) is None, "as many bounds as blocks"

    def test_small_manifests_and_tables_without_partitions_have_none(self) -> None:
        assert block_bounds_note(self.FILES, SCHEMA, ["id"], [6]) == {}
        with tiny_blocks():
            assert block_bounds_note(self.FILES, SCHEMA, [], [6]) == {}

    def test_a_note_without_a_checksum_is_not_believed(self) -> None:
        store = MemoryStore()
        log = make_log(store)
        with tiny_blocks():
            snapshot = stated(log, committed(log, table(log, "day"), [add("a", day="2024-01-01")]), compact=True)
            (item,) = state_of(snapshot).manifests

            assert get_manifest(log, snapshot.version, item).block_bounds is not None
            assert get_manifest(log, snapshot.version, replace(item, checksum=None)).block_bounds is None


class TestKept:
    """What one question read, the next one on the same handle does not read again."""

    def test_a_second_question_asks_the_store_for_nothing(self) -> None:
        store = Counting(MemoryStore())
        stated(make_log(store), grown(make_log(store), many_files(3_000, days=30), "day"), compact=True)
        snapshot = fresh(store)
        days = sorted({dict(values)["day"] for values in snapshot.files["partitionValues"].to_pylist()})
        snapshot = fresh(store)
        first, second = (parse_predicate(f"day = DATE '{day}'", snapshot.schema) for day in (days[3], days[20]))
        found = matching(snapshot, first)
        assert len(found) == 100
        before = store.counts
        assert matching(snapshot, first) == found
        assert len(matching(snapshot, second)) == 100
        assert store.counts == before

    def test_nothing_is_kept_where_the_cache_is_off(self) -> None:
        store = Counting(MemoryStore())
        log = make_log(store, {"transaction.cache.enabled": False})
        stated(log, grown(log, many_files(3_000, days=30), "day"), compact=True)
        snapshot = fresh(store, {"transaction.cache.enabled": False})
        where = parse_predicate("day = DATE '2024-01-05'", snapshot.schema)
        found = matching(snapshot, where)
        before = store.counts
        assert matching(snapshot, where) == found
        assert store.counts["get"] == before["get"] + 1

    def test_two_states_of_one_table_have_answers_of_their_own(self) -> None:
        store = MemoryStore()
        log = make_log(store)
        old = stated(log, committed(log, table(log, "day"), [add("a", day="2024-01-05")]), compact=True)
        where = parse_predicate("day = DATE '2024-01-05'", old.schema)
        assert len(matching(old, where)) == 1
        new = stated(log, committed(log, old, [add("b", day="2024-01-05")]), compact=True)
        assert len(matching(new, where)) == 2
        assert len(matching(old, where)) == 1


@pytest.mark.parametrize(
    ("path", "values", "spelt"),
    [
        ("day=1/f", {"day": "1"}, True),
        ("x/day=1/splits/f", {"day": "1"}, True),
        ("day=a%2Fb/f", {"day": "a/b"}, True),
        ("day=1/f", {"day": "2"}, False),
        ("day=1/f", {}, False),
        ("day=1/f", {"DAY": "1"}, False),
        ("day=__HIVE_DEFAULT_PARTITION__/f", {"day": ""}, False),
        ("f", {"day": "1"}, False),
        ("day=1", {"day": "1"}, False),
        ("DAY=1/f", {"day": "1"}, False),
        ("day=1/day=2/f", {"day": "1"}, True),
        ("day=1/day=2/f", {"day": "2"}, False),
        ("day=%31/f", {"day": "1"}, True),
        ("day=%31/f", {"day": "%31"}, False),
        ("day=12/f", {"day": "1"}, False),
    ],
)
def test_paths_that_spell_their_partition(path: str, values: dict[str, str], spelt: bool) -> None:
    files = files_of(
        [entry(0, path="day=0/f", partitionValues={"day": "0"}), entry(1, path=path, partitionValues=values)]
    )
    assert paths_name_partitions(files, ["day"]) is spelt
    assert paths_name_partitions(files.slice(0, 0), ["day"])
