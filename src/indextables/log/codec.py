"""Bytes of a log object ⇄ `Actions`.

Reading is liberal: plain text, gzip, or gzip behind the two bytes `01 01` that an older implementation puts in front;
unknown actions and unknown fields are ignored; numbers where text belongs are taken as text. Writing is strict. The fast way
in is one typed decode of the whole file; whatever it does not like is decoded again line by line, leniently, and only what
cannot be read that way either is an error, with the object's name and the line.

Strings that no UTF-8 can hold (half a surrogate pair, left by others when they cut a value) become `?`, as they do when
the same writers produce Avro. In a path that would be another path, so there it is an error.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

import msgspec

from indextables.core.errors import CorruptLog
from indextables.log.actions import (
    Actions,
    AddAction,
    CommitInfo,
    Count64,
    MetadataAction,
    ProtocolAction,
    RemoveAction,
    SkipAction,
    TxnAction,
)

_GZIP = b"\x1f\x8b"
_FRAME = b"\x01\x01"
_PLAIN_START = b"{ \t\r\n"
_GZIP_LEVEL = 4
"""zlib's level for version files: below its default of 6, because a commit waits for it."""
_PIECE = 256 << 10
"""Bytes of a version file that are decoded at a time where its paths alone are wanted: about 1,000 files."""
_MAPS_OF_TEXT = frozenset({"partitionValues", "minValues", "maxValues", "tags", "configuration", "options"})
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class _Line(msgspec.Struct, gc=False):
    """A line on disk: an object whose key says which action it is."""

    add: AddAction | None = None
    remove: RemoveAction | None = None
    protocol: ProtocolAction | None = None
    metaData: MetadataAction | None = None  # noqa: N815 - the name on disk
    mergeskip: SkipAction | None = None
    txn: TxnAction | None = None
    commitInfo: CommitInfo | None = None  # noqa: N815 - the name on disk


_decoder = msgspec.json.Decoder(_Line)
_encoder = msgspec.json.Encoder()


def unpack(name: str, raw: bytes, max_bytes: int) -> bytes:
    """Undo gzip and frame. `name` is for messages; more than `max_bytes` of text is an error before it is in memory."""
    if not raw:
        raise CorruptLog(f"{name} is empty: restore it from a backup, or repair the log", object=name)
    if raw.startswith(_FRAME):
        raw = raw[len(_FRAME) :]
        if not raw.startswith(_GZIP):
            raise CorruptLog(
                f"{name} starts with 01 01, but no gzip stream follows: it is cut off or damaged", object=name
            )
    if raw.startswith(_GZIP):
        return _gunzip(name, raw, max_bytes)
    if raw[:1] not in _PLAIN_START or not raw[:1]:
        raise CorruptLog(
            f"{name} starts with byte {raw[0]:#04x}, which is neither JSON nor gzip: it is not a log file of this format",
            object=name,
        )
    if len(raw) > max_bytes:
        _too_large(name, max_bytes)
    return raw


def _gunzip(name: str, raw: bytes, max_bytes: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    rest = raw
    while rest:
        stream = zlib.decompressobj(wbits=31)
        try:
            part = stream.decompress(rest, max_bytes - size + 1)
        except zlib.error as error:
            raise CorruptLog(f"{name} is damaged: {error}", object=name) from error
        size += len(part)
        if size > max_bytes:
            _too_large(name, max_bytes)
        if not stream.eof:
            raise CorruptLog(f"{name} is cut off: its gzip stream has no end", object=name)
        parts.append(part)
        rest = stream.unused_data
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _too_large(name: str, max_bytes: int) -> NoReturn:
    raise CorruptLog(
        f"{name} holds more than {max_bytes} bytes of text; raise spark.indextables.transaction.maxVersionFileBytes "
        "if that is meant to be",
        object=name,
    )


def pack(text: bytes, *, compress: bool, framed: bool = False) -> bytes:
    """The bytes to store: a gzip stream that `zcat` shows, the framed form of the downgrade path, or plain text."""
    if not compress:
        return text
    stream = zlib.compressobj(_GZIP_LEVEL, wbits=31)
    packed = stream.compress(text) + stream.flush()
    return _FRAME + packed if framed else packed


def decode_actions(name: str, text: bytes) -> Actions:
    """The actions in the text of a version file or checkpoint."""
    try:
        lines = _decoder.decode_lines(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        lines = _decode_leniently(name, text)
    actions = _by_kind(lines)
    info = actions.commit_info
    _check_whole(name, len(lines), None if info is None else info.num_actions)
    return actions


def decode_paths(name: str, text: bytes) -> list[str]:
    """The paths that the adds and removes in the text of a version file name, in a tenth of the memory of its actions.

    The text is decoded as `decode_actions` does, a piece at a time. Raises what that raises.
    """
    paths: list[str] = []
    count, info = 0, None
    try:
        for piece in _pieces(text):
            lines = _decoder.decode_lines(piece)
            actions = _by_kind(lines)
            count += len(lines)
            info = info or actions.commit_info
            paths += _paths_of(actions)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _paths_of(decode_actions(name, text))
    _check_whole(name, count, None if info is None else info.num_actions)
    return paths


def _pieces(text: bytes) -> Iterator[bytes]:
    """The text in pieces of whole lines."""
    start = 0
    while start < len(text):
        end = text.find(b"\n", start + _PIECE) + 1 or len(text)
        yield text[start:end]
        start = end


def _paths_of(actions: Actions) -> list[str]:
    return [*(add.path for add in actions.adds), *(remove.path for remove in actions.removes)]


def _check_whole(name: str, lines: int, said: int | None) -> None:
    """Raise CorruptLog where a file has not as many lines as it says itself."""
    if not lines:
        raise CorruptLog(f"{name} holds no actions: it is cut off, or not a version file", object=name)
    if said is not None and said != lines - 1:
        raise CorruptLog(f"{name} is cut off: it has {lines - 1} of its {said} actions", object=name)


def _by_kind(lines: Iterable[_Line]) -> Actions:
    info: CommitInfo | None = None
    protocol: ProtocolAction | None = None
    metadata: MetadataAction | None = None
    adds: list[AddAction] = []
    removes: list[RemoveAction] = []
    skips: list[SkipAction] = []
    txns: list[TxnAction] = []
    for line in lines:
        if line.add is not None:
            adds.append(line.add)
        elif line.remove is not None:
            removes.append(line.remove)
        else:
            protocol = line.protocol or protocol
            metadata = line.metaData or metadata
            info = info or line.commitInfo
            if line.mergeskip is not None:
                skips.append(line.mergeskip)
            if line.txn is not None:
                txns.append(line.txn)
    return Actions(info, protocol, metadata, tuple(txns), tuple(removes), tuple(adds), tuple(skips))


def _decode_leniently(name: str, text: bytes) -> list[_Line]:
    lines = []
    for number, raw in enumerate(text.split(b"\n"), start=1):
        if not raw.strip():
            continue
        try:
            value = json.loads(raw.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise CorruptLog(f"{name}, line {number}: not UTF-8 ({error.reason})", object=name) from error
        except (ValueError, RecursionError) as error:
            raise CorruptLog(
                f"{name}, line {number}: not JSON ({error}); the file is cut off or damaged", object=name
            ) from error
        if not isinstance(value, dict):
            raise CorruptLog(
                f"{name}, line {number}: a JSON {type(value).__name__} where an action, an object, belongs", object=name
            )
        lines.append(_lenient_line(f"{name}, line {number}", value))
    return lines


def _lenient_line(where: str, value: dict[str, Any]) -> _Line:
    known = {key: item for key, item in value.items() if key in _Line.__struct_fields__ and item is not None}
    for kind, action in known.items():
        if not isinstance(action, dict):
            raise CorruptLog(f"{where}: {kind} is not an object", object=where)
        path = action.get("path")
        if isinstance(path, str) and _LONE_SURROGATE.search(path):
            raise CorruptLog(f"{where}: path {path!r} holds half a surrogate pair, which no key can", object=where)
    cleaned = {kind: _clean_action(action) for kind, action in known.items()}
    if "commitInfo" in cleaned:
        cleaned["commitInfo"] = _usable_info(cleaned["commitInfo"])
    try:
        return msgspec.convert(cleaned, _Line, strict=False)
    except msgspec.ValidationError as error:
        raise CorruptLog(f"{where}: {_negative_count(cleaned) or error}", object=where) from error


def _negative_count(actions: dict[str, dict[str, Any]]) -> str | None:
    """The first size or number of things that is less than 0, with its value; None where all are right."""
    for kind, names in _COUNTS.items():
        for name in names:
            value = actions.get(kind, {}).get(name)
            if isinstance(value, int | float | str) and str(value).startswith("-"):
                return f"{kind} says that {name} is {value}, which cannot be less than 0"
    return None


def _count_names(action: type[msgspec.Struct]) -> tuple[str, ...]:
    counts = (Count64, Count64 | None)
    return tuple(field.encode_name for field in msgspec.structs.fields(action) if field.type in counts)


_COUNTS = {"add": _count_names(AddAction)}
"""Fields of actions, by their names on disk, that hold a size or a number of things."""


def _usable_info(info: dict[str, Any]) -> dict[str, Any]:
    """CommitInfo tells, it decides nothing but whose version this is: what others put there in another form is left out."""
    kept = {}
    for field in msgspec.structs.fields(CommitInfo):
        if field.encode_name in info:
            try:
                kept[field.encode_name] = msgspec.convert(info[field.encode_name], field.type, strict=False)
            except msgspec.ValidationError:
                continue
    return kept


def _clean_action(action: dict[str, Any]) -> dict[str, Any]:
    cleaned: dict[str, Any] = {}
    for key, item in action.items():
        if item is None:
            continue
        if key == "stats" and not isinstance(item, str):
            cleaned[key] = json.dumps(item, separators=(",", ":"), ensure_ascii=True)
        elif key == "configuration" and isinstance(item, dict):
            cleaned[key] = {_clean_text(k): _as_text(v) for k, v in item.items() if v is not None}
        elif key == "format" and isinstance(item, dict):
            cleaned[key] = _clean_action(item)
        elif key in _MAPS_OF_TEXT and isinstance(item, dict):
            cleaned[key] = {_clean_text(k): _as_text(v) for k, v in item.items()}
        elif key == "configuration" or not isinstance(item, str):
            cleaned[key] = _clean_value(item)
        else:
            cleaned[key] = _clean_text(item)
    return cleaned


def _clean_value(value: Any) -> Any:
    match value:
        case str():
            return _clean_text(value)
        case list():
            return [_clean_value(item) for item in value]
        case dict():
            return {_clean_text(key): _clean_value(item) for key, item in value.items()}
        case float() if value.is_integer() and abs(value) < 2**63:
            return int(value)
        case _:
            return value


def _as_text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value if value is None else _clean_text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _clean_text(text: str) -> str:
    return _LONE_SURROGATE.sub("?", text)


_ALWAYS_WRITTEN = frozenset(
    {"path", "partition_values", "size", "modification_time", "data_change", "has_footer_offsets", "format"}
    | {"partition_columns", "configuration", "operation", "reason", "skip_count"}
)


def _field_plan(kind: type[msgspec.Struct]) -> list[tuple[str, bool]]:
    """The names of the fields on disk, in order, and which of them are written even when they are null."""
    return [
        (field.encode_name, (field.required or field.name in _ALWAYS_WRITTEN) and field.name not in _OPTIONAL_IN_REMOVE)
        for field in msgspec.structs.fields(kind)
    ]


_OPTIONAL_IN_REMOVE = {"partition_values", "size"}
_PLANS: dict[type[msgspec.Struct], list[tuple[str, bool]]] = {
    kind: _field_plan(kind)
    for kind in (AddAction, RemoveAction, ProtocolAction, MetadataAction, SkipAction, TxnAction, CommitInfo)
}


def to_json_object(action: msgspec.Struct) -> dict[str, Any]:
    """An action as the object written to disk: absent fields are left out, null partition values too."""
    fields = zip(_PLANS[type(action)], msgspec.structs.astuple(action), strict=True)
    written = {name: value for (name, always), value in fields if value is not None or always}
    values = written.get("partitionValues")
    if values and None in values.values():
        written["partitionValues"] = {key: item for key, item in values.items() if item is not None}
    return written


def encode_actions(actions: Actions) -> bytes:
    """The text of a version file: commitInfo first, then removes before adds, one object a line, LF at the end."""
    lines: list[dict[str, Any]] = []
    if actions.protocol is not None:
        lines.append({"protocol": to_json_object(actions.protocol)})
    if actions.metadata is not None:
        lines.append({"metaData": to_json_object(actions.metadata)})
    lines.extend({"txn": to_json_object(action)} for action in actions.txns)
    lines.extend({"remove": to_json_object(action)} for action in actions.removes)
    lines.extend({"add": to_json_object(action)} for action in actions.adds)
    lines.extend({"mergeskip": to_json_object(action)} for action in actions.skips)
    if actions.commit_info is not None:
        info = msgspec.structs.replace(actions.commit_info, num_actions=len(lines))
        lines.insert(0, {"commitInfo": to_json_object(info)})
    return _encoder.encode_lines(lines)
