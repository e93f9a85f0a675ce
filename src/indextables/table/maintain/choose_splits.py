"""Which splits belong to a table whose log does not say everything any more. No row may be lost, and none counted twice.

    named by the log as live ──▶ kept, larger ones first ─┐
    not named by anything    ──▶ kept where their rows are not there yet, or where they hold more than those that are there

What decides are the numbers of rows' sources (`row_identity.py`): a merge result names those of its sources.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from indextables.table.maintain.row_identity import RowIdentity


@dataclass
class Chosen:
    """The splits of the table, and why others were left out."""

    kept: dict[str, RowIdentity] = field(default_factory=dict)
    superseded: dict[str, str] = field(default_factory=dict)
    """Splits whose rows another one has: path, and the path of one that has them."""
    deleted: list[str] = field(default_factory=list)
    """Splits that hold rows that the log says were deleted."""
    conflicting: dict[str, str] = field(default_factory=dict)
    """Splits that share some rows with a kept one, and have others beside: path, and the path of the kept one."""
    _holders: dict[int, str] = field(default_factory=dict)
    """The kept split that has the rows of a number."""

    def keep(self, identity: RowIdentity) -> None:
        """Take a split into the table."""
        self.kept[identity.path] = identity
        self._holders.update(dict.fromkeys(identity.numbers, identity.path))

    def meets(self, identity: RowIdentity) -> list[str]:
        """Kept splits with which a split shares rows."""
        found = dict.fromkeys(self._holders[number] for number in identity.numbers if number in self._holders)
        return sorted(path for path in found if path in self.kept)

    @property
    def unclear(self) -> list[str]:
        """Merge results that do not name their sources: splits that they were made of may have been kept beside them."""
        return [path for path, identity in self.kept.items() if not identity.names_sources]


def choose_splits(
    known: Iterable[RowIdentity], others: Iterable[RowIdentity], deleted_numbers: AbstractSet[int] = frozenset()
) -> Chosen:
    """Choose among splits that the log has as live (`known`), and splits that it says nothing about (`others`)."""
    chosen = Chosen()
    for identity in sorted(known, key=_largest_first):
        met = chosen.meets(identity)
        cover = next((path for path in met if identity.numbers <= chosen.kept[path].numbers), None)
        if cover is not None:
            chosen.superseded[identity.path] = cover
            continue
        if met:
            chosen.conflicting[identity.path] = met[0]
        chosen.keep(identity)
    for identity in sorted(others, key=_largest_first):
        _take(chosen, identity, deleted_numbers)
    return chosen


def _take(chosen: Chosen, identity: RowIdentity, deleted_numbers: AbstractSet[int]) -> None:
    """Keep a split that the log says nothing about, if its rows are missing."""
    if identity.numbers & deleted_numbers:
        chosen.deleted.append(identity.path)
        return
    met = chosen.meets(identity)
    smaller = [path for path in met if chosen.kept[path].numbers <= identity.numbers]
    cover = next((path for path in met if identity.numbers <= chosen.kept[path].numbers), None)
    if cover is not None:
        chosen.superseded[identity.path] = cover
    elif len(smaller) < len(met):
        chosen.conflicting[identity.path] = next(path for path in met if path not in smaller)
    elif met and sum(chosen.kept[path].rows for path in smaller) >= identity.rows:
        chosen.superseded[identity.path] = met[0]
    else:
        for path in smaller:
            del chosen.kept[path]
            chosen.superseded[path] = identity.path
        chosen.keep(identity)


def _largest_first(identity: RowIdentity) -> tuple[int, int, int, str]:
    return -len(identity.numbers), -identity.rows, -identity.created_ms, identity.path
