"""`Searcher`: what the package asks of an open index. Tantivy's searcher is the one implementation.

The contract below is for implementers: an index that is read by ranges from a store must answer the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import tantivy


class Searcher(Protocol):
    """An unchanging view of an index. Every method may be called from many threads at once.

    A method raises whatever its library raises; callers translate errors (`bundle.native_errors.translated`). A document is
    named by a `tantivy.DocAddress`, which is only valid for the searcher that returned it.
    """

    @property
    def num_docs(self) -> int:
        """The number of documents, which is the number of rows of the split."""

    @property
    def num_segments(self) -> int:
        """The number of segments. In one segment documents of equal score come in the order in which they were indexed."""

    def search(
        self,
        query: tantivy.Query,
        limit: int = ...,
        count: bool = ...,
        order_by_field: str | None = ...,
        *,
        order: tantivy.Order = ...,
    ) -> tantivy.SearchResult:
        """The best `limit` documents, at least 1, as `(score, address)` in `hits`, best first.

        With `order_by_field`, which names a fast field, documents come in the order of that field and a hit is
        `(value, address)`. With `count` the result has the number of all documents that match, beyond `limit`, too.
        """

    def doc_freq(self, field_name: str, field_value: Any) -> int:
        """The number of documents that have this term. `field_name` may be a path into a JSON field."""

    def terms_with_prefix(
        self, field_name: str, prefix: str, filter_query: tantivy.Query | None = ...
    ) -> list[tuple[str, int]]:
        """All terms of a string field that begin with `prefix`, in order, each with the number of documents that have the term.

        With `filter_query` only documents that match the query are counted.
        """

    def fast_field_values(self, field_name: str, doc_addresses: list[tantivy.DocAddress]) -> list[Any]:
        """The value of a fast field in each of the documents, in their order; None where a document has no value."""

    def aggregate(self, query: tantivy.Query, agg: dict[str, Any]) -> Mapping[str, Any]:
        """Tantivy's aggregations over the documents that match the query. Sums are sums of doubles."""


__all__ = ["Searcher"]
