"""Where an export goes: a file or a directory, its format, and the temporary name that it has until it is whole."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from indextables.cli.errors import UsageError
from indextables.cli.load.formats import ENDINGS, PACKED, Format, Packing
from indextables.storage.error_translation import translate
from indextables.storage.location import parse_url

_WRITTEN = (Format.CSV, Format.TSV, Format.JSON, Format.PARQUET)
"""The formats that rows can be exported in. Lines of text have no columns."""


@dataclass(frozen=True)
class Place:
    """A file, or a directory of files, that is to be written."""

    path: Path
    format: Format
    packing: Packing | None
    is_directory: bool

    @contextmanager
    def filled(self) -> Iterator[Path]:
        """A temporary place beside the one that is meant, which gets the name when the block ends, and is gone otherwise."""
        temporary = self.path.with_name(f".{self.path.name}.{uuid.uuid4().hex}.tmp")
        try:
            if self.is_directory:
                temporary.mkdir()
            yield temporary
            if self.is_directory:
                temporary.rename(self.path)  # in place of an empty directory, too
            else:
                _durable(temporary)
                temporary.replace(self.path)
        except OSError as error:
            raise translate(error, str(self.path.parent), self.path.name, "put") from error
        finally:
            _removed(temporary)

    def part_name(self, number: int) -> str:
        """The name of a file of a directory."""
        packed = next((ending for ending, packing in PACKED.items() if packing == self.packing), "")
        return f"part-{number:05d}.{self.format.value}{packed}"


def find_place(name: str, wanted: Format | None, *, replace: bool) -> Place:
    """The place that was typed. Raises UsageError where nothing can be written there."""
    if "://" in name and not name.lower().startswith("file:"):
        raise UsageError(f"{name} is no local file: export to one, and copy it there", file=name)
    path = Path(parse_url(name).path)
    if name.endswith("/") or path.is_dir():
        return _directory(path, wanted)
    if not path.parent.is_dir():
        raise UsageError(f"{path} cannot be written: there is no directory {path.parent}", file=str(path))
    if path.exists() and not replace:
        raise UsageError(f"{path} exists: give another name, or --replace to put the new file in its place", file=name)
    endings = [ending.lower() for ending in path.suffixes]
    packing = PACKED.get(endings[-1]) if endings else None
    if packing is not None:
        endings.pop()
    kind = wanted or (ENDINGS.get(endings[-1]) if endings else None)
    if kind not in _WRITTEN:
        known = ", ".join(ending for ending, known in ENDINGS.items() if known in _WRITTEN)
        raise UsageError(f"{path} has no ending that tells a format ({known}): give --format", file=name)
    if kind is Format.PARQUET and packing is not None:
        raise UsageError(f"{path}: Parquet is packed inside, leave {path.suffix} out", file=name)
    return Place(path, kind, packing, is_directory=False)


def _directory(path: Path, wanted: Format | None) -> Place:
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise UsageError(f"{path} is not empty: give a file, or a directory that is new or empty", file=str(path))
    if not path.parent.is_dir():
        raise UsageError(f"{path} cannot be written: there is no directory {path.parent}", file=str(path))
    kind = wanted or Format.PARQUET
    if kind not in _WRITTEN:
        raise UsageError(f"rows cannot be exported as {kind.value}: take csv, tsv, jsonl or parquet")
    return Place(path, kind, None, is_directory=True)


def _durable(path: Path) -> None:
    number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _removed(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
