"""Building the Tantivy index of a split, and what an index of a mapping looks like.

    IndexBuilder ──add(batch)──▶ one document per row ──finish()──▶ segment files + meta.json

A writer has one Tantivy thread. Documents then keep the order of the rows, and one segment comes out as long as the heap holds
the terms of all of them; with less there are several, which costs a few per cent of space. A hit is a row by its `_row` value,
never by its place in a segment. But Tantivy orders hits of equal score by their places, so `meta.json` lists segments in the
order of their rows, and a split says whether documents come in the order of rows (`BuiltIndex.in_row_order`).

The directory is prepared by writing `meta.json`, because that says two things that Tantivy's Python side cannot: strings carry no
lengths for scoring (they are one term each), and fast texts are kept whole. It also makes one function the source of what an
index of a mapping looks like: `open_index` and `merge_indexes` refuse one that looks different.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import tantivy

from indextables.core.errors import CorruptSplit, SchemaError, SplitError
from indextables.split.bundle.footer import Source
from indextables.split.bundle.native_errors import translated
from indextables.split.index.doc_mapping import ROW, SOURCE, STEMMERS, DocMapping, FieldMapping
from indextables.split.index.json_documents import Feed
from indextables.split.index.row_numbers import segments_in_row_order
from indextables.storage.error_translation import translate

META: Final = "meta.json"
SMALLEST_HEAP: Final = 15_000_000
"""Bytes. Tantivy takes no less."""
_LEFTOVERS: Final = (".managed.json", ".tantivy-meta.lock", ".tantivy-writer.lock")
_SEGMENT_FILE: Final = re.compile(r"[0-9a-f]{32}\.[a-z0-9.]+")


@dataclass(frozen=True)
class BuiltIndex:
    """An index on disk. `files` are all of it, `meta.json` first.

    `inexact` names the columns some of whose values the index could not hold: they are filtered on the rows.
    """

    files: tuple[Path, ...]
    rows: int
    inexact: frozenset[str]
    segments: int
    in_row_order: bool = False
    """Whether documents come in the order of rows, from segment to segment and inside each."""


class IndexBuilder:
    """Indexes the rows of one split, in the order they are added. `finish` or `abandon` ends it."""

    def __init__(self, directory: Path, mapping: DocMapping, schema: pa.Schema, *, source: int, heap: int) -> None:
        self._directory = directory
        self._mapping = mapping
        self._schema = schema
        self._feed = Feed(mapping, source=source)
        directory.mkdir(parents=True, exist_ok=True)
        write_meta(directory, mapping, [])
        self._index: Any = open_index(directory, mapping)
        with translated(str(directory), "opening an index writer"):
            self._writer: Any = self._index.writer(max(heap, SMALLEST_HEAP), 1)

    @property
    def rows(self) -> int:
        """How many rows were added."""
        return self._feed.rows

    def add(self, batch: pa.RecordBatch) -> None:
        """Index the next rows."""
        for field in self._mapping.fields:
            _check_type(field.column, self._schema, batch.schema)
        with translated(str(self._directory), "indexing rows"):
            add_json, schema = self._writer.add_json, self._index.schema
            for line in self._feed.lines(batch):
                if isinstance(line, str):
                    add_json(line)
                else:
                    self._writer.add_document(tantivy.Document.from_dict(line, schema))

    def finish(self) -> BuiltIndex:
        """Write everything down. The index has one document per row, and nobody writes to it any more."""
        with translated(str(self._directory), "writing the index"):
            self._writer.commit()
            self._writer.wait_merging_threads()
        self._writer = self._index = None
        sources = (Source(self._feed.source, 0, self._feed.rows),)
        in_order = order_segments(self._directory, self._mapping, sources)
        built = checked_index(self._directory, self._mapping, self._feed.rows, frozenset(self._feed.inexact))
        return replace(built, in_row_order=in_order)

    def abandon(self) -> None:
        """Stop, and remove what was written."""
        writer, self._writer, self._index = self._writer, None, None
        if writer is not None:
            with contextlib.suppress(SplitError), translated(str(self._directory), "abandoning the index"):
                writer.rollback()
        shutil.rmtree(self._directory, ignore_errors=True)


def open_index(directory: Path, mapping: DocMapping) -> tantivy.Index:
    """The index in a directory, ready to be searched. Raises CorruptSplit when it is not one of this mapping."""
    read_meta(directory, mapping)
    with translated(str(directory), "opening the index"):
        index = tantivy.Index.open(str(directory))
        index.config_reader("manual")  # nothing changes any more, and a reload would leave a lock file behind
        for field in mapping.fields:
            if field.kind in ("text", "json"):
                index.register_tokenizer(
                    _tokenizer_name(field), analyzer(field.tokenizer or "raw", mapping.max_token_length)
                )
        return index


def analyzer(tokenizer: str, max_token_length: int) -> tantivy.TextAnalyzer:
    """What cuts the values of a text or json column, and what is searched in it, into words."""
    builder, filters = tantivy.TextAnalyzerBuilder, tantivy.Filter
    short = filters.remove_long(max_token_length + 1)
    if tokenizer in ("raw", "whitespace"):
        return builder(getattr(tantivy.Tokenizer, tokenizer)()).filter(short).build()
    words = builder(tantivy.Tokenizer.simple()).filter(filters.lowercase()).filter(short)
    language = "english" if tokenizer == "en_stem" else tokenizer
    return (words.filter(filters.stemmer(language)) if language in STEMMERS else words).build()


def segment_rows(directory: Path, mapping: DocMapping) -> int:
    """How many documents an index has by its `meta.json`. Raises CorruptSplit when it is not one of this mapping."""
    return sum(segment["max_doc"] for segment in read_meta(directory, mapping)["segments"])


def order_segments(directory: Path, mapping: DocMapping, sources: Sequence[Source]) -> bool:
    """List the segments in `meta.json` in the order of their first rows. Returns whether documents come in the order of rows."""
    segments = read_meta(directory, mapping)["segments"]
    searcher = open_index(directory, mapping).searcher()
    sizes = [segment["max_doc"] for segment in segments]
    order, in_order = segments_in_row_order(searcher, sizes, sources, split=str(directory))
    if order != sorted(order):
        write_meta(directory, mapping, [segments[place] for place in order])
    return in_order


def checked_index(directory: Path, mapping: DocMapping, rows: int, inexact: frozenset[str]) -> BuiltIndex:
    """What is on disk, looked at before anybody relies on it: it has this many rows, and no file too many."""
    segments = read_meta(directory, mapping)["segments"]
    documents = open_index(directory, mapping).searcher().num_docs
    found = sum(segment["max_doc"] for segment in segments)
    if not documents == found == rows:
        raise SplitError(
            f"the index in {directory} has {documents} documents ({found} by its {META}) for {rows} rows",
            path=str(directory),
        )
    found_files = segment_files(directory)
    files = [directory / META]
    for segment in segments:
        files += found_files.pop(stem_of(segment), [])
    for leftover in (*(path for paths in found_files.values() for path in paths), *map(directory.joinpath, _LEFTOVERS)):
        leftover.unlink(missing_ok=True)
    return BuiltIndex(tuple(files), rows, inexact, len(segments))


def write_meta(directory: Path, mapping: DocMapping, segments: list[dict[str, Any]]) -> None:
    """Make the directory an index of these segments."""
    form = {"index_settings": _SETTINGS, "segments": segments, "schema": tantivy_schema(mapping), "opstamp": 0}
    (directory / META).write_text(json.dumps(form, ensure_ascii=False), encoding="utf-8")


def read_meta(directory: Path, mapping: DocMapping) -> dict[str, Any]:
    """What `meta.json` says. Raises CorruptSplit when it is not one of this mapping."""
    path = directory / META
    try:
        meta: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        looks = meta["schema"], meta["index_settings"]
        for segment in meta["segments"]:
            uuid.UUID(segment["segment_id"])
            if segment["max_doc"] < 0:
                raise ValueError(segment)
    except (FileNotFoundError, ValueError, KeyError, TypeError) as error:
        raise CorruptSplit(f"{path} cannot be read ({type(error).__name__}: {error})", path=str(path)) from None
    except OSError as error:  # too many open files, say: nothing is wrong with the split
        raise translate(error, str(directory), META, "get") from error
    if looks != (tantivy_schema(mapping), _SETTINGS):
        raise CorruptSplit(f"the index in {directory} is not one of the doc mapping it should have", path=str(path))
    return meta


def tantivy_schema(mapping: DocMapping) -> list[dict[str, Any]]:
    """The fields of an index of this mapping, as Tantivy's `meta.json` has them."""
    reserved = [_field(name, "i64", _column(fast=True, indexed=False)) for name in (SOURCE, ROW)]
    return reserved + [_field(field.name, _TYPES[field.kind], _options(field)) for field in mapping.fields]


def _field(name: str, kind: str, options: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "type": kind, "options": options}


def _options(field: FieldMapping) -> dict[str, Any]:
    if field.kind not in ("string", "text", "json"):
        return _column(fast=field.fast, indexed=field.indexed)
    scored = field.kind != "string"
    words = {"record": field.record, "fieldnorms": scored, "tokenizer": _tokenizer_name(field)}
    options = {"indexing": words, "stored": False, "fast": field.fast}
    return options | {"expand_dots_enabled": False} if field.kind == "json" else options


def _column(*, fast: bool, indexed: bool) -> dict[str, Any]:
    return {"indexed": indexed, "fieldnorms": False, "fast": fast, "stored": False}


def _tokenizer_name(field: FieldMapping) -> str:
    """A name of our own, so that nobody takes Tantivy's tokenizers for ours. Tantivy's `raw` is what strings need."""
    return "raw" if field.kind == "string" else f"{field.kind}_{field.tokenizer}"


def stem_of(segment: dict[str, Any]) -> str:
    """What the names of a segment's files begin with."""
    return uuid.UUID(segment["segment_id"]).hex


def segment_files(directory: Path) -> dict[str, list[Path]]:
    """The files of each segment in a directory, by what their names begin with."""
    found: dict[str, list[Path]] = {}
    for path in sorted(directory.iterdir()):
        if _SEGMENT_FILE.fullmatch(path.name):
            found.setdefault(path.name[:32], []).append(path)
    return found


def _check_type(column: str, wanted: pa.Schema, given: pa.Schema) -> None:
    number = given.get_field_index(column)
    if number < 0 or given.field(number).type != wanted.field(column).type:
        found = "nothing" if number < 0 else given.field(number).type
        raise SchemaError(
            f"column {column} is {found} in a batch, the split needs {wanted.field(column).type}", column=column
        )


_SETTINGS: Final = {"docstore_compression": "lz4", "docstore_blocksize": 16384}
_TYPES: Final = {
    "string": "text",
    "text": "text",
    "json": "json_object",
    "i64": "i64",
    "bool": "i64",
    "f64": "f64",
    "ip": "ip_addr",
}
