"""Query text → tree: what people write means what they expect, and what cannot be read says where."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from indextables.core.errors import QueryError
from indextables.split.query.parse import DEEPEST, LONGEST, parse_query
from indextables.split.query.tree import (
    All,
    And,
    Boost,
    Clauses,
    Exists,
    FieldName,
    Fuzzy,
    Node,
    Not,
    OneOf,
    Or,
    Phrase,
    Range,
    Regex,
    Span,
    Term,
    Wildcard,
    children_of,
    leaves_of,
)
from split.query_text import to_text


def outcome(text: str) -> Node | QueryError:
    try:
        return parse_query(text)
    except QueryError as error:
        return error


def term(text: str, field: str | None = None) -> Term:
    return Term(None if field is None else FieldName(field), text)


A, B, C = (term(letter) for letter in "abc")
F = FieldName("f")

MEANINGS: list[tuple[str, Node]] = [
    ("a", A),
    ("  a\t", A),
    ("a b", Or((A, B))),
    ("a OR b", Or((A, B))),
    ("a || b", Or((A, B))),
    ("a AND b", And((A, B))),
    ("a && b", And((A, B))),
    ("a AND b OR c", Or((And((A, B)), C))),
    ("a OR b AND c", Or((A, And((B, C))))),
    ("(a OR b) AND c", And((Or((A, B)), C))),
    ("a b AND c", Or((A, And((B, C))))),
    ("NOT a", Not(A)),
    ("-a", Not(A)),
    ("!a", Not(A)),
    ("+a", A),
    ("NOT NOT a", Not(Not(A))),
    ("a AND NOT b", And((A, Not(B)))),
    ("a OR NOT b", Or((A, Not(B)))),
    ("NOT a AND b", And((Not(A), B))),
    ("a NOT b", Clauses((), (A,), (B,))),
    ("+a -b c", Clauses((A,), (C,), (B,))),
    ("+a +b", Clauses((A, B))),
    ("-a -b", Clauses((), (), (A, B))),
    ("a -b AND c", Or((A, And((Not(B), C))))),
    ("f:a", term("a", "f")),
    ("f: a", term("a", "f")),
    ("f:(a b)", Or((term("a", "f"), term("b", "f")))),
    ("f:(a AND NOT b)", And((term("a", "f"), Not(term("b", "f"))))),
    ("user.name:alice", term("alice", "user.name")),
    ("`a field`:a", term("a", "a field")),
    ("a\\ field:a", term("a", "a field")),
    ("f:a:b", term("a:b", "f")),
    ("a\\:b", term("a:b")),
    ("ts:2024-01-31T12:00:00Z", term("2024-01-31T12:00:00Z", "ts")),
    ("don't", term("don't")),
    ("foo-bar/baz+x!", term("foo-bar/baz+x!")),
    ("ANDROID ORacle NOTE", Or((term("ANDROID"), term("ORacle"), term("NOTE")))),
    ("and or not", Or((term("and"), term("or"), term("not")))),
    ("\\AND", term("AND")),
    ('"AND"', Phrase(None, "AND")),
    ("IN", term("IN")),
    ('"a b"', Phrase(None, "a b")),
    ("'a \"b'", Phrase(None, 'a "b')),
    ('f:"a \\" b"~3', Phrase(F, 'a " b', 3)),
    ('""', Phrase(None, "")),
    ("pre*", Wildcard(None, ("pre", None))),
    ("f:w?ld**card", Wildcard(F, ("w", True, "ld", None, "card"))),
    ("a\\*b", term("a*b")),
    ("a??", Wildcard(None, ("a", True, True))),
    ("/a.*b/", Regex(None, "a.*b")),
    ("f:/a\\/b\\d/", Regex(F, "a/b\\d")),
    ("word~", Fuzzy(None, "word", 1)),
    ("word~2", Fuzzy(None, "word", 2)),
    ("f:[1 TO 5]", Range(F, "1", "5")),
    ("f:{1 TO 5]", Range(F, "1", "5", with_low=False)),
    ("f:[* TO 5}", Range(F, None, "5", with_high=False)),
    ('f:["a b" TO *]', Range(F, "a b", None)),
    ("f:[2024-01-01T00:00:00Z TO *]", Range(F, "2024-01-01T00:00:00Z", None)),
    ("f:>5", Range(F, "5", None, with_low=False)),
    ("f:>= 5", Range(F, "5", None)),
    ("f:<-5", Range(F, None, "-5", with_high=False)),
    ("f:<=5 AND a", And((Range(F, None, "5"), A))),
    ('f:IN [a "b c" d]', OneOf(F, ("a", "b c", "d"))),
    ("f: IN []", OneOf(F, ())),
    ("*", All()),
    ("*:*", All()),
    ("f:*", Exists(F)),
    ("a^2", Boost(A, 2.0)),
    ("(a b)^0.5", Boost(Or((A, B)), 0.5)),
    ("f:a^2 b", Or((Boost(term("a", "f"), 2.0), B))),
    ("日本語 Ärger", Or((term("日本語"), term("Ärger")))),
]


@pytest.mark.parametrize(("text", "meaning"), MEANINGS, ids=[text for text, _ in MEANINGS])
def test_meaning(text: str, meaning: Node) -> None:
    assert parse_query(text) == meaning
    assert parse_query(to_text(meaning)) == meaning


ERRORS = [
    ("", 0, "a word, a phrase or a field is expected"),
    ("   ", 3, "a word, a phrase or a field is expected"),
    ("()", 1, "a word, a phrase or a field is expected"),
    ("(a", 0, "not closed"),
    ("a)", 1, "nothing that this parenthesis closes"),
    ("a AND", 5, "AND needs something after it"),
    ("a OR )", 5, "OR needs something after it"),
    ("AND a", 0, "AND stands where a word is expected"),
    ("a AND OR b", 6, "OR stands where a word is expected"),
    ("a AND +", 6, "a sign needs something after it"),
    ("NOT", 0, "a sign needs something after it|stands where a word"),
    ("f:", 2, "a value is expected after the colon"),
    ("f:(a", 2, "not closed"),
    ("f:(g:a)", 3, "field g is named inside the parentheses of field f"),
    ('a "b', 2, "quote is not closed"),
    ("a /b", 2, "no end"),
    ("[1 TO 2]", 0, "needs a field"),
    (">5", 0, "needs a field"),
    ("IN [a]", 0, "needs a field"),
    ("f:[1 2]", 5, "TO is expected"),
    ("f:[1 TO 2", 2, "ends with ] or }"),
    ("f:[ TO 2]", 4, "a bound is expected before TO"),
    ("f:[1 TO ]", 8, "a bound is expected before ] or }"),
    ("f:[a* TO b]", 3, "a wildcard cannot be a bound"),
    ("f:IN [a", 5, "not closed"),
    ("f:IN [a*]", 6, "a wildcard cannot be a bound or a value"),
    ("a~3", 2, "at most 2"),
    ("a*~1", 2, "cannot be fuzzy"),
    ('"a b"~x', 6, "a whole number is expected"),
    ("a^x", 2, "a boost is a number"),
    ("a^1e9", 2, "a boost is a number"),
    ("a^9999999", 2, "at most 1000000"),
    ("a\\", 1, "a backslash needs a character"),
    ("`a", 0, "no partner"),
    ("`a` b", 0, "a colon follows"),
    ("a ] b", 2, "no meaning here"),
    ("a*b:c", 3, "no field name"),
]


@pytest.mark.parametrize(("text", "position", "what"), ERRORS, ids=[text for text, _, _ in ERRORS])
def test_what_cannot_be_read_says_where_and_why(text: str, position: int, what: str) -> None:
    with pytest.raises(QueryError, match=what) as caught:
        parse_query(text)
    assert caught.value.position == position
    assert "\n" not in str(caught.value)
    assert f"character {position + 1}," in str(caught.value)


def test_what_is_no_text() -> None:
    with pytest.raises(QueryError, match=r"a query is text, such as .*, not int"):
        parse_query(5)  # type: ignore[arg-type]


def test_length_and_depth_have_limits() -> None:
    assert parse_query("a" * LONGEST) == term("a" * LONGEST)
    with pytest.raises(QueryError, match=r"10,001 characters, at most 10,000"):
        parse_query("a" * (LONGEST + 1))
    assert parse_query("(" * DEEPEST + "a" + ")" * DEEPEST) == A
    for deep in ("(" * 5000, "(" * (DEEPEST + 1) + "a" + ")" * (DEEPEST + 1), "-" * 9000 + "a", "NOT " * 2000 + "a"):
        with pytest.raises(QueryError, match="more than 64 levels"):
            parse_query(deep)


def test_spans_show_the_text_of_their_nodes() -> None:
    text = 'level:ERROR AND (disk* OR "is full"~2) NOT host:IN [a b]'
    node = parse_query(text)
    seen = [text[leaf.span.start : leaf.span.end] for leaf in leaves_of(node)]
    assert seen == ["ERROR", "disk*", '"is full"~2', "IN [a b]"]
    fields = [leaf.field.span for leaf in leaves_of(node) if getattr(leaf, "field", None) is not None]
    assert [text[span.start : span.end] for span in fields] == ["level", "host"]
    assert node.span == Span(0, len(text))
    negated = parse_query("a AND NOT (b c)")
    assert [child.span for child in children_of(negated)] == [Span(0, 1), Span(6, 15)]


letters = st.characters(exclude_categories=["Cs"])
words = st.text(letters, min_size=1, max_size=8)
fields = st.none() | words.map(FieldName)
named = words.map(FieldName)
wildcards = st.lists(words | st.sampled_from([None, True]), min_size=1, max_size=5).map(tuple)


def _is_wildcard(parts: tuple[str | bool | None, ...]) -> bool:
    """As the parser makes them: no two texts and no two stars side by side, and a sign somewhere; one star alone is another."""
    pairs = itertools.pairwise(parts)
    mixed = all(not (isinstance(a, str) and isinstance(b, str)) and not (a is None and b is None) for a, b in pairs)
    return mixed and any(not isinstance(part, str) for part in parts) and parts != (None,)


leaves = st.one_of(
    st.just(All()),
    st.builds(Exists, named),
    st.builds(Term, fields, words),
    st.builds(Phrase, fields, st.text(letters, max_size=12), st.integers(0, 9)),
    st.builds(Wildcard, fields, wildcards.filter(_is_wildcard)),
    st.builds(Fuzzy, fields, words, st.integers(0, 2)),
    st.builds(Range, named, st.none() | words, st.none() | words, st.booleans(), st.booleans()),
    st.builds(OneOf, named, st.lists(words, max_size=3).map(tuple)),
)
trees: st.SearchStrategy[Node] = st.recursive(
    leaves,
    lambda nodes: st.one_of(
        st.builds(And, st.lists(nodes, min_size=2, max_size=3).map(tuple)),
        st.builds(Or, st.lists(nodes, min_size=2, max_size=3).map(tuple)),
        st.builds(Not, nodes),
        st.builds(Boost, nodes, st.sampled_from([0.5, 1.0, 2.0, 17.25])),
        st.builds(
            Clauses,
            st.lists(nodes, min_size=1, max_size=2).map(tuple),
            st.lists(nodes, max_size=2).map(tuple),
            st.lists(nodes, min_size=1, max_size=2).map(tuple),
        ),
    ),
    max_leaves=8,
)


@settings(max_examples=examples(50), deadline=None)
@given(trees)
def test_a_tree_as_text_reads_back_as_the_same_tree(node: Node) -> None:
    assert parse_query(to_text(node)) == node


@settings(max_examples=examples(75), deadline=None)
@given(st.text(st.sampled_from("ab \\()[]{}\"'^~:*?/+-!<>=`&|ANDORNTI.1\n\x00é") | letters, max_size=60))
def test_any_text_is_a_tree_or_an_error_with_a_position(text: str) -> None:
    found = outcome(text)
    if isinstance(found, QueryError):
        assert 0 <= found.position <= len(text)
        assert "\n" not in str(found)
    else:
        assert parse_query(to_text(found)) == found


@pytest.mark.parametrize(
    "text",
    [
        "a" * 9999,
        "IN " * 3333,
        "a AND " * 1666 + "a",
        "+" * 10_000,
        '"' * 10_000,
        "a:" * 5000,
        "*?" * 5000,
        "(a)" * 3333,
    ],
)
@pytest.mark.timeout(20)
def test_long_texts_take_no_time(text: str) -> None:
    """None of them makes the parser look at what it has seen again and again."""
    assert isinstance(outcome(text), Node | QueryError)
