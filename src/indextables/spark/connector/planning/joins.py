"""Keys of a join: `JoinKeys.java` hands a table the values of the other side's rows, where the plan has these rows already.

    Join(LocalRelation, TaskScan) ── {"joins": [column IN (…)]} ──▶ answer_join ──▶ the rows themselves, a smaller read, or no

The join stays in Spark's plan, so a table may give more rows than fit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from indextables.spark.connector.planning.planner import plan_parts
from indextables.spark.connector.planning.questions import Question, read_plan
from indextables.table.distributed.local_answers import Estimate, answer_here, known_rows, may_answer_here

_WORTH_IT: Final = 0.5
"""The part of the rows up to which keys are worth it: reading most rows by an index takes longer than reading all of them."""


def answer_join(asked: Mapping[str, Any]) -> list[bytes]:
    """The answer of `plan` with the keys of joins; nothing where the last keys leave most rows, or only Spark compares them."""
    question = Question(asked)
    if question.joins[-1].predicate is None:
        return []
    chosen = read_plan(question)
    found = answer_here(chosen)
    if isinstance(found, Estimate) and may_answer_here(chosen):
        before = Question({**asked, "joins": asked["joins"][:-1]})
        if found.rows > known_rows(read_plan(before).files) * _WORTH_IT:
            return []
    return plan_parts(question, chosen, found)
