"""How a table's splits are indexed: as its properties say. Options of the caller may say the same, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from indextables.core import options as opt
from indextables.core.errors import OptionError, PredicateError
from indextables.core.predicate import TRUE, In, Predicate, Search, all_of, leaves_of
from indextables.core.runtime.cached_property import cached_property
from indextables.core.runtime.process_state import Lru
from indextables.log.actions import MetadataAction
from indextables.log.snapshot import Snapshot
from indextables.split.index.doc_mapping import DocMapping, FieldMapping, plan_mapping

if TYPE_CHECKING:
    from indextables.split.query.bound import Bound
    from indextables.split.query.condition import Condition

_MOST_TABLES: Final = 64
"""At most so many tables have their facts kept in a process: a mapping takes some kilobytes."""
_MOST_QUERIES: Final = 256
"""At most so many bound queries are kept for a table: the same questions come again, and binding is half of a count's work."""


_MOST_SEARCHES: Final = 256
"""At most so many searches in one condition: each of them may have a hundred patterns, and each is asked of every split."""

_MOST_KEPT_VALUES: Final = 1_000
"""Values in the lists (IN) of a condition up to which the condition is kept: longer lists would take megabytes each."""


@dataclass(frozen=True)
class BoundQuery:
    """A query of one table, checked against its columns."""

    bound: Bound
    implied: Predicate | None
    """What is true for every row that the query finds, as far as predicates can say it; None where that is nothing."""


@dataclass(frozen=True)
class BoundCondition:
    """A condition with searches (`where`) of one table, and perhaps a query beside it, checked against its columns."""

    condition: Condition
    implied: Predicate | None
    """What is true for every row of the answer, as far as predicates without searches can say it; None where that is nothing."""


class TableFacts:
    """What follows from a table's metadata, computed once: every question asks for it, and metadata rarely changes."""

    def __init__(self, metadata: MetadataAction, schema: pa.Schema) -> None:
        self.metadata = metadata
        self._schema = schema
        self.queries: dict[str, BoundQuery] = {}
        """Queries that were bound already, at most `_MOST_QUERIES`. Without a lock: a query that is bound twice is the same."""
        self._conditions: dict[tuple[Predicate, str | None], BoundCondition] = {}
        """Conditions with searches that were bound already, each with the query beside it; kept as `queries` are."""

    @cached_property
    def mapping(self) -> DocMapping:
        """The mapping of every split, as the table's properties ask for."""
        return plan_mapping(self._schema, self.metadata.partition_columns, self.metadata.configuration)

    def bind(self, text: str) -> BoundQuery:
        """A query, bound to the table's columns and kept. Raises QueryError, with the position of what is wrong."""
        from indextables.split.query.bind import bind_query
        from indextables.split.query.bound import implied
        from indextables.split.query.parse import parse_query

        bound = bind_query(parse_query(text), text, self._schema, self.mapping)
        known = implied(bound)
        if len(self.queries) >= _MOST_QUERIES:
            self.queries.clear()
        query = self.queries[text] = BoundQuery(bound, None if known == TRUE else known)
        return query

    def bind_condition(self, where: Predicate, query: str | None) -> BoundCondition:
        """A condition with searches, beside a query, bound to the table's columns and kept.

        Raises QueryError and PredicateError, with the position of what is wrong.
        """
        kept = self._conditions.get((where, query))
        if kept is not None:
            return kept
        from indextables.split.query.bind_search import bind_search
        from indextables.split.query.bound import implied
        from indextables.split.query.condition import bind_condition

        if sum(isinstance(leaf, Search) for leaf in leaves_of(where)) > _MOST_SEARCHES:
            raise PredicateError(
                f"the filter has more than {_MOST_SEARCHES} searches: join texts, as in 'disk OR node', or ask several times"
            )
        asked = None if query is None else (self.queries.get(query) or self.bind(query)).bound
        condition = bind_condition(where, partial(bind_search, schema=self._schema, mapping=self.mapping), asked)
        known = TRUE if condition.query is None else implied(condition.query)
        parts = [part for part in (condition.predicate, known) if part is not None and part != TRUE]
        bound = BoundCondition(condition, all_of(parts) if parts else None)
        if sum(len(leaf.values) for leaf in leaves_of(where) if isinstance(leaf, In)) <= _MOST_KEPT_VALUES:
            if len(self._conditions) >= _MOST_QUERIES:
                self._conditions.clear()
            self._conditions[where, query] = bound
        return bound


_FACTS: Final[Lru[tuple[str, str], TableFacts]] = Lru(_MOST_TABLES)
"""Facts by a table's id and schema: versions with the same metadata share them, and so do the tasks that another process sent."""


def facts_of(snapshot: Snapshot) -> TableFacts:
    """The facts of the table at a version."""
    metadata = snapshot.metadata
    key = (metadata.id, metadata.schema_string)
    facts = _FACTS.get(key)
    if facts is None or (facts.metadata is not metadata and facts.metadata != metadata):
        facts = TableFacts(metadata, snapshot.schema)
        _FACTS.put(key, facts)
    return facts


def table_mapping(snapshot: Snapshot, options: opt.Options) -> DocMapping:
    """The mapping of every new split. Raises OptionError where the options ask for another one."""
    mapping = facts_of(snapshot).mapping
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
