"""Names of fields in a query → columns of the table, fields inside structs, and paths into JSON."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from indextables.core.errors import QueryError
from indextables.core.predicate import Column
from indextables.split.index.doc_mapping import DocMapping
from indextables.split.query.binding.refusals import Refusals
from indextables.split.query.json_paths import spelled
from indextables.split.query.tree import FieldName


@dataclass(frozen=True)
class FieldNames:
    """The names that a query may use for the columns of one table."""

    schema: pa.Schema
    mapping: DocMapping
    refusals: Refusals
    hint: str = ""
    """What the error for an unknown field says besides the names that are known."""

    def places(self, field: FieldName) -> list[tuple[Column, tuple[str, ...]]]:
        """The columns that a name may mean, in any letter case, or the fields of structs; and the path that leads on into JSON.

        A dot is a step or belongs to a name. There are several places only where a struct has fields of both spellings.
        """
        names = list(self.schema.names)
        found = spelled(field.name, names)
        if len(found) == 1:
            return [(Column((found[0],), self.schema.field(found[0]).type), ())]
        start, path = self._split(field, names)
        column = Column((start,), self.schema.field(start).type)
        places = list(dict.fromkeys(self._inside(column, path, tuple(path))))
        if not places:
            raise self._nowhere(field, column, path)
        return places

    def _inside(
        self, column: Column, rest: Sequence[str], path: tuple[str, ...]
    ) -> Iterator[tuple[Column, tuple[str, ...]]]:
        if not rest:
            yield column, ()
        elif pa.types.is_struct(column.type):
            for taken in range(1, len(rest) + 1):
                found = spelled(".".join(rest[:taken]), [each.name for each in column.type])
                if len(found) == 1:
                    inner = Column((*column.path, found[0]), column.type.field(found[0]).type)
                    yield from self._inside(inner, rest[taken:], path)
        else:
            mapped = self.mapping.field(column.name)
            if mapped is not None and mapped.kind == "json" and mapped.indexed:
                yield Column((column.name,), self.schema.field(column.name).type), path

    def _nowhere(self, field: FieldName, column: Column, path: Sequence[str]) -> QueryError:
        """Why a path that begins with a column leads nowhere."""
        for name in path:
            if not pa.types.is_struct(column.type):
                return self.refusals.error(field.span, f"{column} is {column.type} and has no field {name}")
            inner = [each.name for each in column.type]
            found = spelled(name, inner)
            if len(found) != 1:
                break
            column = Column((*column.path, found[0]), column.type.field(found[0]).type)
        return self._unknown(field, [".".join((*column.path, each.name)) for each in column.type])

    def _split(self, field: FieldName, names: Sequence[str]) -> tuple[str, list[str]]:
        """The column that a path begins with, and the rest of the path. The longest name wins: names of columns may have dots."""
        parts = field.name.split(".")
        for taken in range(len(parts) - 1, 0, -1):
            found = spelled(".".join(parts[:taken]), names)
            if len(found) == 1:
                return found[0], parts[taken:]
        raise self._unknown(field, names)

    def _unknown(self, field: FieldName, names: Sequence[str]) -> QueryError:
        lower = {name.lower(): name for name in names}
        near = difflib.get_close_matches(field.name.lower(), lower, 1, 0.5)
        hint = f"did you mean {lower[near[0]]}?" if near else f"the fields are {', '.join(names[:20])}"
        return self.refusals.error(field.span, f"there is no field {field.name}; {hint}{self.hint}", field=field.name)
