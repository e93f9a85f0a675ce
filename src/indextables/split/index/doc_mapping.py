"""Which columns of a table are indexed, and how: Arrow types and the table's options become Tantivy fields.

    kind     Spark types                            what the index holds                       default
    string   string, char, varchar                  the value, one term                        indexed
    text     the same, by option                    its words, as the tokenizer cuts them      indexed, with positions
    i64      byte … long, date, timestamp(_ntz)     the number; days or microseconds           fast
    bool     boolean                                0 or 1, in an i64 field                    fast
    f64      float, double                          the number, -0.0 as 0.0                    fast
    ip       string, by option                      the address, IPv4 inside IPv6              indexed and fast
    json     struct, map, array of those;           words and numbers by path                  indexed, with positions
             string, by option

*Indexed* means terms and postings, *fast* means a column beside them, which answers ranges (a point is a range of one) and
whether a row has a value at all. Arrays of a scalar type are `many`: several values per row. Everything else (decimals, binary,
variants, times, intervals, collated strings, arrays of arrays) is not in the index. Partition columns are not either: they are
the same in all rows of a split, and the log knows them. A null, and an empty array, leave the field out.

What a search must know:

- bool fields are i64 fields for Tantivy, because its Python side has no ranges over booleans.
- Values that the index cannot hold are left out, and the split notes the column as *inexact*: strings over `LONGEST_TERM` bytes,
  NaN and the infinities, `ip` columns with other texts, `json` columns with texts that are no JSON objects. Such a column is
  filtered on the rows. (A text column that lost overlong words is not inexact: they are no words to it, in queries as in rows.)
- A query for -0.0 asks for 0.0.
- In `json`, Tantivy keeps a string that reads as an RFC 3339 time as a date, cut to seconds, and not as words. A double without
  a fraction is kept as a whole number, so that 1.0 is 1; 2^63 and 2^64 as doubles are kept as 2^63-1 and 2^64-1.
- `ip` finds too much for `=`, because one address has many texts. So does `json`, and `text` does not answer `=` at all.
- Only fast fields know which rows are null. Without one, the null counts of the split say it, or the rows.

A field is named after its column, so that the indexes of two splits agree wherever their columns do: ASCII letters, digits and
underscores stand for themselves, every other byte of the UTF-8 name (and an underscore in front, which is ours) is `$` and two
hexadecimal digits: `user.id` is `user$2eid`. Tantivy would take a dot for a path into a JSON field.
"""

from __future__ import annotations

import difflib
import ipaddress
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias, cast, get_args

import pyarrow as pa

from indextables.core.errors import OptionError, SplitError
from indextables.core.options import (
    INDEXING_FASTFIELDS,
    INDEXING_LOOKUPFIELDS,
    INDEXING_TEXT_MAX_TOKEN_LENGTH,
    PREFIX,
    Options,
    parse_typemap,
    split_list,
    table_family,
    table_value,
)
from indextables.core.types import spark_type

FieldKind: TypeAlias = Literal["string", "text", "i64", "bool", "f64", "json", "ip"]
Record: TypeAlias = Literal["basic", "freq", "position"]

FORMAT: Final = 1
"""The version of the mapping's JSON that this release writes and reads."""
LONGEST_TERM: Final = 65_530
"""Bytes. Tantivy drops longer terms without a word."""

ROW: Final = "_row"
"""The fast i64 field with the number of the row in the split that the document was indexed for."""
SOURCE: Final = "_source"
"""The fast i64 field with the number of that split, so that rows are found again after indexes were merged."""

STEMMERS: Final = (
    "arabic",
    "danish",
    "dutch",
    "english",
    "finnish",
    "french",
    "german",
    "greek",
    "hungarian",
    "italian",
    "norwegian",
    "portuguese",
    "romanian",
    "russian",
    "spanish",
    "swedish",
    "tamil",
    "turkish",
)
TOKENIZERS: Final = ("default", "raw", "whitespace", "en_stem", *STEMMERS)
"""`default` cuts at everything that is no letter or digit and lower-cases, a stemmer takes endings off after that;
`whitespace` and `raw` (one word: the value) change nothing."""


@dataclass(frozen=True)
class FieldMapping:
    """How one column is indexed."""

    column: str
    kind: FieldKind
    indexed: bool = False
    fast: bool = False
    many: bool = False
    tokenizer: str | None = None
    record: Record | None = None
    name: str = field(init=False, repr=False, compare=False)
    """The name of the Tantivy field. It follows from the column's."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", field_name(self.column))


@dataclass(frozen=True)
class DocMapping:
    """How the columns of a split are indexed, in the order of its schema. Equal mappings make indexes that can be merged."""

    fields: tuple[FieldMapping, ...]
    max_token_length: int = 255

    def to_json(self) -> str:
        """The one text of this mapping."""
        fields = [
            {key: value for key, value in vars(each).items() if key != "name" and value not in (False, None)}
            for each in self.fields
        ]
        form = {"format": FORMAT, "maxTokenLength": self.max_token_length, "fields": fields}
        return json.dumps(form, ensure_ascii=False, separators=(",", ":"))

    @staticmethod
    @lru_cache(maxsize=256)
    def from_json(text: str) -> DocMapping:
        """The mapping that `to_json` wrote. Raises SplitError."""
        try:
            form = json.loads(text)
            found = form["format"]
            if found == FORMAT:
                return DocMapping(
                    tuple(_read_field(field) for field in form["fields"]), _natural(form["maxTokenLength"])
                )
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise SplitError(f"a doc mapping cannot be read ({type(error).__name__}: {error}): {text[:200]}") from None
        raise SplitError(f"a doc mapping has format {found!r}, this release reads format {FORMAT}: use a newer one")

    def field(self, column: str) -> FieldMapping | None:
        """How a column is indexed. None: it is not."""
        return next((field for field in self.fields if field.column == column), None)


@lru_cache(maxsize=4096)
def field_name(column: str) -> str:
    """The name of the Tantivy field of a column."""
    return "".join(
        chr(byte) if _PLAIN.match(chr(byte)) and (number or byte != ord("_")) else f"${byte:02x}"
        for number, byte in enumerate(column.encode())
    )


def plan_mapping(schema: pa.Schema, partition_by: Sequence[str], properties: Mapping[str, str]) -> DocMapping:
    """The mapping of a table's splits, as its schema and the properties stored with it want it. Raises OptionError."""
    columns = _Columns(schema, partition_by)
    options = _indexing_options(properties)
    kinds = {columns.find(column, "indexing.typemap"): wanted for column, wanted in parse_typemap(options).items()}
    planned = (_planned(column, kinds.get(column.name)) for column in schema if column.name not in partition_by)
    fields = {field.column: field for field in planned if field is not None}
    for column, word in _listed(columns, options, "indexing.tokenizer", TOKENIZERS).items():
        key = f"indexing.tokenizer.{word}"
        fields[column] = replace(_with_words(fields, column, key, ("text", "json")), tokenizer=word)
    for column, word in _listed(columns, options, "indexing.indexrecordoption", get_args(Record)).items():
        key = f"indexing.indexrecordoption.{word}"
        fields[column] = replace(_with_words(fields, column, key, ("text", "json", "string")), record=word)  # type: ignore[arg-type]
    for column in columns.unpartitioned(table_value(properties, INDEXING_FASTFIELDS), "indexing.fastfields"):
        fields[column] = replace(_known(fields, column, "indexing.fastfields"), fast=True)
    for column in columns.unpartitioned(table_value(properties, INDEXING_LOOKUPFIELDS), "indexing.lookupfields"):
        fields[column] = _looked_up(_known(fields, column, "indexing.lookupfields"))
    ordered = tuple(fields[name] for name in schema.names if name in fields)
    return DocMapping(ordered, table_value(properties, INDEXING_TEXT_MAX_TOKEN_LENGTH))


class _Columns:
    """The columns that options may name, in any letter case."""

    def __init__(self, schema: pa.Schema, partition_by: Sequence[str]) -> None:
        self._names: dict[str, str] = {name.lower(): name for name in schema.names}
        self._partition_by = partition_by

    def find(self, column: str, option: str) -> str:
        """A column of the index as the schema spells it."""
        name = self._spelled(column, option)
        if name in self._partition_by:
            raise OptionError(
                f"{PREFIX}{option} names column {name}, which is a partition column and therefore not in the index: "
                "leave it out of this option or of the partitioning",
                column=name,
            )
        return name

    def unpartitioned(self, listed: Iterable[str] | None, option: str) -> list[str]:
        """The columns of a list that are in the index. Partition columns need no help: the log answers for them."""
        names = [self._spelled(column, option) for column in listed or ()]
        return [name for name in names if name not in self._partition_by]

    def _spelled(self, column: str, option: str) -> str:
        name = self._names.get(column.lower())
        if name is None:
            near = difflib.get_close_matches(column.lower(), self._names, n=1, cutoff=0.5)
            known = ", ".join(list(self._names.values())[:20])
            hint = f"did you mean {self._names[near[0]]}?" if near else f"the columns are {known}"
            raise OptionError(f"{PREFIX}{option} names column {column}, which does not exist, {hint}", column=column)
        return name


def _indexing_options(properties: Mapping[str, str]) -> Options:
    """What the properties of a table say about indexing, checked."""
    families = ("indexing.typemap", "indexing.tokenizer", "indexing.indexrecordoption")
    return Options(
        {f"{family}.{member}": text for family in families for member, text in table_family(properties, family).items()}
    )


def _listed(columns: _Columns, options: Options, family: str, words: Sequence[str]) -> dict[str, str]:
    """The word of a family of lists that each column is listed under."""
    chosen: dict[str, str] = {}
    for member, text in options.family(family).items():
        word = member.lower()
        if word not in words:
            near = difflib.get_close_matches(word, words, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(words)}"
            raise OptionError(f"{PREFIX}{family}.{member} is not an option, {hint}", member=member)
        for column in split_list(text):
            name = columns.find(column, f"{family}.{word}")
            if chosen.setdefault(name, word) != word:
                raise OptionError(
                    f"column {name} is listed under both {chosen[name]} and {word} by {PREFIX}{family}, keep one",
                    column=name,
                )
    return chosen


def _planned(column: pa.Field, wanted: str | None) -> FieldMapping | None:
    """The field of a column before the options about words and fast fields."""
    many = _is_list(column.type)
    kind = _kind(column.type.value_field if many else column)
    if b"__COLLATIONS" in b"".join((column.metadata or {}).values()):
        kind = None
    shown = spark_type(column)
    if wanted is not None and wanted != kind:
        if kind != "string":
            named = shown if isinstance(shown, str) else shown["type"]
            raise OptionError(
                f"column {column.name} of type {named} cannot be indexed as {wanted}, "
                f"take it out of {PREFIX}indexing.typemap",
                column=column.name,
            )
        kind = cast("FieldKind", wanted)
    match kind:
        case None:
            return None
        case "string":
            return FieldMapping(column.name, kind, indexed=True, many=many, tokenizer="raw", record="basic")
        case "text" | "json":
            return FieldMapping(column.name, kind, indexed=True, many=many, tokenizer="default", record="position")
        case "ip":
            return FieldMapping(column.name, kind, indexed=True, fast=True, many=many)
        case _:
            return FieldMapping(column.name, kind, fast=True, many=many)


def _kind(field: pa.Field) -> FieldKind | None:
    """How values of a column, or the elements of an array, are indexed by default. None: not at all."""
    spark, arrow = spark_type(field), field.type
    if not isinstance(spark, str):
        return "json" if spark["type"] in ("struct", "map") else None
    if (pa.types.is_timestamp(arrow) and arrow.unit != "us") or pa.types.is_date64(arrow):
        return None
    return _KINDS.get(_PARAMETER.sub("", spark))


def _with_words(fields: Mapping[str, FieldMapping], column: str, option: str, kinds: Sequence[str]) -> FieldMapping:
    field = _known(fields, column, option)
    if field.kind not in kinds:
        way_out = f"set {PREFIX}indexing.typemap.{column}=text" if field.kind in ("string", "ip") else "take it out"
        raise OptionError(
            f"{PREFIX}{option} names column {column}, which is indexed as {field.kind} and has no words: {way_out}",
            column=column,
        )
    return field


def _looked_up(field: FieldMapping) -> FieldMapping:
    if field.kind in ("text", "json"):
        raise OptionError(
            f"{PREFIX}indexing.lookupfields names column {field.column}, which is indexed as {field.kind} and has words, "
            "not values: take it out",
            column=field.column,
        )
    return replace(field, indexed=True)


def _known(fields: Mapping[str, FieldMapping], column: str, option: str) -> FieldMapping:
    if column not in fields:
        raise OptionError(
            f"{PREFIX}{option} names column {column}, whose type cannot be indexed: take it out", column=column
        )
    return fields[column]


def _read_field(form: Any) -> FieldMapping:
    field = FieldMapping(**form)
    if not (
        isinstance(field.column, str)
        and field.kind in get_args(FieldKind)
        and all(isinstance(flag, bool) for flag in (field.indexed, field.fast, field.many))
        and field.tokenizer in (None, *TOKENIZERS)
        and field.record in (None, *get_args(Record))
        and (field.tokenizer is not None) == (field.record is not None) == (field.kind in ("string", "text", "json"))
    ):
        raise ValueError(f"the field {form}")
    return field


def _natural(value: Any) -> int:
    if type(value) is not int or not 1 <= value <= LONGEST_TERM:
        raise ValueError(f"the token length {value!r}")
    return value


def _is_list(arrow: pa.DataType) -> bool:
    return bool(pa.types.is_list(arrow) or pa.types.is_large_list(arrow) or pa.types.is_fixed_size_list(arrow))


_PLAIN = re.compile(r"[A-Za-z0-9_]")
_PARAMETER = re.compile(r"\([0-9 ]+\)$")
_KINDS: dict[str, FieldKind] = {
    **dict.fromkeys(("string", "char", "varchar"), "string"),
    "boolean": "bool",
    "float": "f64",
    "double": "f64",
    **dict.fromkeys(("byte", "short", "integer", "long", "date", "timestamp", "timestamp_ltz", "timestamp_ntz"), "i64"),
}


def normalised_ip(text: str) -> str | None:
    """The usual text of an IP address, under which the index has the address; None if `text` is no IP address."""
    try:
        return None if "%" in text else str(ipaddress.ip_address(text))
    except ValueError:
        return None
