"""Which of several changes that explain the very same cells is named."""

from __future__ import annotations

import numpy as np

from engine.diagnosis.model import Change, Parameter
from engine.diagnosis.signatures.candidate import Candidate
from engine.diagnosis.signatures.cover import greedy

ROWS = np.arange(6, dtype=np.int64)
BOUND = "charttime + INTERVAL '14' HOUR"
RULE = f"CASE WHEN later < {BOUND} THEN later ELSE charttime END"


def computed(name: str, before: str, parameters: dict[str, Parameter], rows: int = 6) -> Candidate:
    return Candidate(
        id=name,
        words=f"Consistent with {name}.",
        predicts="",
        evidence="source",
        parameters=parameters,
        cells={0: ROWS[:rows]},
        tested={0: 6},
        broken=0,
        counter_example=None,
        change=Change("ventilation", before, ""),
    )


def first(*candidates: Candidate) -> str:
    return greedy(list(candidates), {0: ROWS})[0][0].candidate.id


def test_a_length_without_which_a_rule_never_holds_is_the_rule_left_out() -> None:
    rule = computed("rule-dropped", RULE, {})
    assert first(computed("window", BOUND, {"length": 0}), rule) == "rule-dropped"
    assert first(computed("window", BOUND, {"length": 7}), rule) == "window"


def test_a_rule_elsewhere_or_of_other_cells_does_not_speak_for_a_length() -> None:
    length = computed("window", BOUND, {"length": 0})
    assert first(length, computed("rule-dropped", "CASE WHEN a THEN b END", {})) == "window"
    assert first(length, computed("rule-dropped", RULE, {}, rows=5)) == "window"
