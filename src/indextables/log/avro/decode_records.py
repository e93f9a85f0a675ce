"""Avro records → Python values, by the schema in the file.

Slow next to a native reader, and always there: a state is one record, and most manifests are small. The schema is turned
into nested functions once, so that decoding does not look at it again.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from indextables.core.errors import CorruptLog
from indextables.log.avro.avro_file import Container, read_long
from indextables.log.avro.column_reader import texts_at
from indextables.log.avro.record_lengths import Irregular
from indextables.log.avro.text_spans import text_spans

Reader = Callable[[bytes, int], tuple[Any, int]]


def decode_records(container: Container, *, columnar: bool = False) -> list[Any]:
    """Every record of the file: dicts by field name. Lists of texts are Arrow arrays if they are to be `columnar`."""
    try:
        read = _Compiler(container.name, columnar=columnar).compile(container.schema)
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CorruptLog(
            f"{container.name} is damaged: its schema is broken ({error!r})", object=container.name
        ) from error
    records: list[Any] = []
    for count, data in container.records():
        position = 0
        for _ in range(count):
            try:
                record, position = read(data, position)
            except (IndexError, TypeError, struct.error, UnicodeDecodeError, RecursionError) as error:
                raise CorruptLog(
                    f"{container.name} is damaged: a record cannot be read ({error})", object=container.name
                ) from error
            records.append(record)
        if position != len(data):
            raise CorruptLog(
                f"{container.name} is damaged: {count} records take {position} of a block's {len(data)} bytes",
                object=container.name,
            )
    return records


class _Compiler:
    """Readers for a schema, with its named types."""

    def __init__(self, name: str, *, columnar: bool) -> None:
        self._name = name
        self._columnar = columnar
        self._named: dict[str, Reader] = {}

    def compile(self, schema: Any, namespace: str = "") -> Reader:
        if isinstance(schema, list):
            return self._union([self.compile(branch, namespace) for branch in schema])
        if isinstance(schema, dict):
            return self._complex(schema, namespace)
        reader = self._primitive(schema) or self._named.get(schema) or self._named.get(f"{namespace}.{schema}")
        if reader is None:
            raise CorruptLog(f"{self._name}: its schema has an unknown type {schema!r}", object=self._name)
        return reader

    def _complex(self, schema: dict[str, Any], namespace: str) -> Reader:
        kind = schema.get("type")
        match kind:
            case "record" | "error":
                return self._record(schema, schema.get("namespace", namespace))
            case "array" if schema.get("items") == "string":
                return self._columnar_texts if self._columnar else self._texts
            case "array":
                return self._array(self.compile(schema.get("items"), namespace))
            case "map":
                return self._map(self.compile(schema.get("values"), namespace))
            case "enum":
                return self._name_it(schema, namespace, self._enum(schema.get("symbols", [])))
            case "fixed":
                return self._name_it(schema, namespace, self._fixed(schema.get("size", 0)))
            case _:
                return self.compile(kind, namespace)

    def _name_it(self, schema: dict[str, Any], namespace: str, reader: Reader) -> Reader:
        name = schema.get("name", "")
        self._named[name] = self._named[f"{namespace}.{name}"] = reader
        return reader

    def _record(self, schema: dict[str, Any], namespace: str) -> Reader:
        fields: list[tuple[str, Reader]] = []

        def read(data: bytes, position: int) -> tuple[Any, int]:
            record = {}
            for name, field in fields:
                record[name], position = field(data, position)
            return record, position

        self._name_it(schema, namespace, read)
        fields += [(field["name"], self.compile(field["type"], namespace)) for field in schema.get("fields", [])]
        return read

    def _union(self, branches: list[Reader]) -> Reader:
        def read(data: bytes, position: int) -> tuple[Any, int]:
            index, position = self._long(data, position)
            if not 0 <= index < len(branches):
                raise CorruptLog(f"{self._name} is damaged: a union has no branch {index}", object=self._name)
            return branches[index](data, position)

        return read

    def _array(self, item: Reader) -> Reader:
        def read(data: bytes, position: int) -> tuple[Any, int]:
            items: list[Any] = []
            while True:
                count, position = self._count(data, position)
                if count == 0:
                    return items, position
                for _ in range(count):
                    value, position = item(data, position)
                    items.append(value)

        return read

    def _columnar_texts(self, data: bytes, position: int) -> tuple[pa.StringArray, int]:
        """A list of texts as an array, most of them without a look at each: tombstones come by the ten thousand."""
        starts, lengths = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        while True:
            count, position = self._count(data, position)
            if count == 0:
                break
            found, sizes, position = text_spans(self._name, data, position, count)
            starts.append(found)
            lengths.append(sizes)
        try:
            texts = texts_at(np.frombuffer(data, np.uint8), np.concatenate(starts), np.concatenate(lengths))
        except (Irregular, pa.ArrowException) as error:
            raise CorruptLog(
                f"{self._name} is damaged: a list of texts cannot be read ({error})", object=self._name
            ) from error
        return texts, position

    def _texts(self, data: bytes, position: int) -> tuple[list[str], int]:
        """A list of texts, without a call for each."""
        items: list[str] = []
        while True:
            count, position = self._count(data, position)
            if count == 0:
                return items, position
            for _ in range(count):
                length = data[position]
                if length < 0x80:
                    position += 1
                elif data[position + 1] < 0x80:
                    length = length & 0x7F | data[position + 1] << 7
                    position += 2
                else:
                    text, position = self._string(data, position)
                    items.append(text)
                    continue
                end = position + (length >> 1)
                if length & 1 or end > len(data):
                    raise CorruptLog(f"{self._name} is damaged: a text is cut off", object=self._name)
                items.append(data[position:end].decode())
                position = end

    def _map(self, item: Reader) -> Reader:
        def read(data: bytes, position: int) -> tuple[Any, int]:
            items: dict[str, Any] = {}
            while True:
                count, position = self._count(data, position)
                if count == 0:
                    return items, position
                for _ in range(count):
                    key, position = self._string(data, position)
                    items[key], position = item(data, position)

        return read

    def _count(self, data: bytes, position: int) -> tuple[int, int]:
        count, position = self._long(data, position)
        if count < 0:
            count = -count
            _, position = self._long(data, position)
        if count > len(data):
            raise CorruptLog(f"{self._name} is damaged: {count} items in {len(data)} bytes", object=self._name)
        return count, position

    def _long(self, data: bytes, position: int) -> tuple[int, int]:
        byte = data[position]
        if byte < 0x80:  # nearly all of them
            return (byte >> 1) ^ -(byte & 1), position + 1
        return read_long(self._name, data, position)

    def _bytes(self, data: bytes, position: int) -> tuple[bytes, int]:
        length, position = self._long(data, position)
        end = position + length
        if length < 0 or end > len(data):
            raise CorruptLog(f"{self._name} is damaged: a text of {length} bytes is cut off", object=self._name)
        return data[position:end], end

    def _string(self, data: bytes, position: int) -> tuple[str, int]:
        raw, position = self._bytes(data, position)
        return raw.decode(), position

    def _primitive(self, kind: Any) -> Reader | None:
        match kind:
            case "null":
                return lambda _, position: (None, position)
            case "boolean":
                return lambda data, position: (data[position] != 0, position + 1)
            case "int" | "long":
                return self._long
            case "float":
                return lambda data, position: (struct.unpack_from("<f", data, position)[0], position + 4)
            case "double":
                return lambda data, position: (struct.unpack_from("<d", data, position)[0], position + 8)
            case "string":
                return self._string
            case "bytes":
                return self._bytes
            case _:
                return None

    def _enum(self, symbols: list[str]) -> Reader:
        def read(data: bytes, position: int) -> tuple[Any, int]:
            index, position = self._long(data, position)
            return symbols[index], position

        return read

    def _fixed(self, size: int) -> Reader:
        return lambda data, position: (data[position : position + size], position + size)
