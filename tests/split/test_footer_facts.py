"""The quick answers about bounds are those of the thorough ones, and right."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import predicate_data as data
from effort import examples
from indextables.core.predicate import ColumnBounds, Constant, evaluate, may_match, parse_predicate
from indextables.split.plan import bounds_check as facts_module
from indextables.split.plan.bounds_check import always_true, may_hold
from indextables.split.plan.predicate_plan import fold

NAMES = ["tiny", "id", "flag", "text", "day", "at", "local", "price", "score"]


def bounds_of(table: pa.Table) -> dict[str, ColumnBounds]:
    found = {}
    for name in NAMES:
        values = table.column(name).drop_null()
        try:
            low, high = (pc.min_max(values)[side].as_py() if len(values) else None for side in ("min", "max"))
        except (OverflowError, ValueError):  # a year that Python does not have
            continue
        nulls = table.column(name).null_count
        found[name] = ColumnBounds(low, high, has_nulls=nulls > 0, all_null=nulls == table.num_rows)
    return found


@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_quick_is_thorough(draw: st.DataObject) -> None:
    rows = draw.draw(
        st.lists(st.fixed_dictionaries({n: st.none() | data.VALUES[n] for n in data.SCHEMA.names}), max_size=4)
    )
    table = data.to_table(rows)
    facts = bounds_of(table)
    for _ in range(6):
        predicate = fold(draw.draw(data.predicates(NAMES, [{name: row[name] for name in NAMES} for row in rows])), {})
        if isinstance(predicate, Constant):
            continue
        assert may_hold(predicate, facts) == may_match(predicate, facts), predicate
        true: Any = pc.fill_null(evaluate(predicate, table), False)
        if pc.any(true).as_py():
            assert may_hold(predicate, facts), predicate
        if rows and always_true(predicate, facts):
            assert pc.all(true).as_py(), predicate


def test_comparisons_are_quick(monkeypatch: Any) -> None:
    def slow(*_: Any) -> bool:
        raise AssertionError("thorough")

    monkeypatch.setattr(facts_module, "may_match", slow)
    known = {"id": ColumnBounds(1, 5, has_nulls=False, all_null=False)}
    schema = pa.schema([("id", pa.int64())])
    answers = {
        "id = 3": (True, False),
        "id = 7": (False, False),
        "id > 0": (True, True),
        "id >= 1 AND id < 6": (True, None),
        "id > 5": (False, False),
        "id <= 5": (True, True),
        "id < 1 OR id = 2": (True, None),
        "id IN (0, 3)": (True, False),
        "id IN (0, 7)": (False, False),
    }
    for text, (hold, always) in answers.items():
        predicate = parse_predicate(text, schema)
        assert may_hold(predicate, known) is hold, text
        if always is not None:
            assert always_true(predicate, known) is always, text
    same = {"id": ColumnBounds(3, 3, has_nulls=False, all_null=False)}
    assert always_true(parse_predicate("id IN (1, 3)", schema), same)
    assert not always_true(parse_predicate("id IN (1, 3, NULL)", schema), same)
