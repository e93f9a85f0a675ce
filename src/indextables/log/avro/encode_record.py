"""Python values → Avro, by a schema: for the one record that a state is."""

from __future__ import annotations

from typing import Any

from indextables.log.avro.avro_file import encode_bytes, encode_long


def encode_record(schema: Any, value: Any) -> bytes:
    """The bytes of a value. Fields that are not given take their schema's default."""
    match schema:
        case list():
            branch = 0 if value is None else 1
            return encode_long(branch) + encode_record(schema[branch], value)
        case {"type": "record", "fields": fields}:
            return b"".join(
                encode_record(field["type"], value.get(field["name"], field.get("default"))) for field in fields
            )
        case {"type": "array", "items": items}:
            return _counted([encode_record(items, item) for item in value])
        case {"type": "map", "values": values}:
            return _counted([encode_bytes(key.encode()) + encode_record(values, item) for key, item in value.items()])
        case "null":
            return b""
        case "boolean":
            return b"\x01" if value else b"\x00"
        case "int" | "long":
            if not -(2**63) <= value < 2**63:
                raise ValueError(f"{value} is no 64-bit number")
            return encode_long(value)
        case "string":
            return encode_bytes(value.encode())
        case _:
            raise ValueError(f"type {schema!r} is not written")


def _counted(items: list[bytes]) -> bytes:
    return encode_long(len(items)) + b"".join(items) + b"\x00" if items else b"\x00"
