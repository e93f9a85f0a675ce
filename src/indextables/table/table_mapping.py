"""How a table's splits are indexed: as its properties say. Options of the caller may say the same, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa

from indextables.core import options as opt
from indextables.core.errors import OptionError
from indextables.log.actions import MetadataAction
from indextables.log.snapshot import Snapshot
from indextables.split.index.doc_mapping import DocMapping, FieldMapping, plan_mapping

_MOST_KNOWN: Final = 64
_KNOWN: Final[dict[int, tuple[MetadataAction, DocMapping]]] = {}


def table_mapping(snapshot: Snapshot, options: opt.Options) -> DocMapping:
    """The mapping of every new split. Raises OptionError where the options ask for another one."""
    mapping = mapping_of(snapshot)
    for key, column, wanted, found in _claims(mapping, snapshot.schema, options):
        if wanted != found:
            about = f"column {column}" if column else "the table"
            raise OptionError(
                f"{opt.PREFIX}{key} asks for {wanted}, but {about} of {snapshot.url} was created with {found}, and all "
                "splits of a table are indexed alike: leave the option out, or create another table",
                key=key,
                column=column,
            )
    return mapping


def mapping_of(snapshot: Snapshot) -> DocMapping:
    """The mapping that the table's properties ask for. Remembered, because every query asks, and metadata rarely changes."""
    metadata = snapshot.metadata
    known = _KNOWN.get(id(metadata))
    if known is not None and known[0] is metadata:
        return known[1]
    mapping = plan_mapping(snapshot.schema, metadata.partition_columns, metadata.configuration)
    if len(_KNOWN) >= _MOST_KNOWN:
        _KNOWN.clear()
    _KNOWN[id(metadata)] = metadata, mapping
    return mapping


def _claims(mapping: DocMapping, schema: pa.Schema, options: opt.Options) -> Iterator[tuple[str, str, Any, Any]]:
    """What each option says of a column, and what holds: key, column, wanted, found."""
    for column, kind in opt.parse_typemap(options).items():
        yield f"indexing.typemap.{column}", column, kind, _of(mapping, schema, column, "kind")
    for family, attribute in (("indexing.tokenizer", "tokenizer"), ("indexing.indexrecordoption", "record")):
        for member, text in options.family(family).items():
            for column in opt.split_list(text):
                yield f"{family}.{member}", column, member.lower(), _of(mapping, schema, column, attribute)
    for option, attribute, name in (
        (opt.INDEXING_FASTFIELDS, "fast", "a fast field"),
        (opt.INDEXING_LOOKUPFIELDS, "indexed", "a look-up field"),
    ):
        for column in options[option] or ():
            holds = _of(mapping, schema, column, attribute) is True
            yield option.short, column, name, name if holds else f"none ({attribute} is off)"
    if options.is_set(opt.INDEXING_TEXT_MAX_TOKEN_LENGTH):
        longest = opt.INDEXING_TEXT_MAX_TOKEN_LENGTH
        yield longest.short, "", options[longest], mapping.max_token_length


def _of(mapping: DocMapping, schema: pa.Schema, column: str, attribute: str) -> Any:
    name = next((name for name in schema.names if name.lower() == column.lower()), None)
    if name is None:
        return "no such column"
    field: FieldMapping | None = mapping.field(name)
    return "no index" if field is None else getattr(field, attribute)
