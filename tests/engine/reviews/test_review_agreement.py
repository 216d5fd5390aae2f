"""Agreement figures against the definitions written out, and against published examples."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.reviews.agreement import Figure, Pair, agreements, gwet, kappa, linear_weights, raw

Answers = list[tuple[str, str]]
ABC = ("a", "b", "c")


def table(counts: Sequence[Sequence[int]]) -> Answers:
    names = ABC[: len(counts)]
    return [
        (names[i], names[j])
        for i, row in enumerate(counts)
        for j, count in enumerate(row)
        for _ in range(count)
    ]


def test_kappa_of_fleiss_cohen_and_everitt() -> None:
    """Fleiss' table of 100 subjects in three diagnoses: kappa 0.68 with standard error 0.087."""
    answers = table([[75, 1, 4], [5, 4, 1], [0, 0, 10]])
    found = kappa(answers, ABC)
    assert found.value == pytest.approx(0.6765, abs=5e-5)
    assert found.standard_error == pytest.approx(0.088, abs=1e-3)


def test_the_paradox_of_kappa() -> None:
    """Nine in ten agree, nearly all on one category: kappa says little, AC1 does not."""
    answers = table([[118, 5], [2, 0]])
    assert raw(answers).value == pytest.approx(0.944)
    assert kappa(answers, ABC[:2]).value == pytest.approx(-0.0234, abs=5e-5)
    assert gwet(answers, ABC[:2]).value == pytest.approx(0.9408, abs=5e-5)


def test_a_two_by_two_table() -> None:
    answers = table([[20, 5], [10, 15]])
    assert kappa(answers, ABC[:2]).value == pytest.approx(0.4)
    assert raw(answers).value == pytest.approx(0.7)


def naive(answers: Answers, weights: np.ndarray, categories: Sequence[str]) -> tuple[float, float]:
    """Kappa and AC as their definitions are written."""
    n = len(answers)
    observed = chance_k = 0.0
    for one, two in answers:
        observed += weights[categories.index(one), categories.index(two)] / n
    for k, first in enumerate(categories):
        for m, second in enumerate(categories):
            share = (
                sum(a == first for a, _ in answers) / n * sum(b == second for _, b in answers) / n
            )
            chance_k += weights[k, m] * share
    spread = 0.0
    for name in categories:
        share = sum((a == name) + (b == name) for a, b in answers) / (2 * n)
        spread += share * (1 - share)
    chance_g = weights.sum() / (len(categories) * (len(categories) - 1)) * spread

    def corrected(chance: float) -> float:
        return math.nan if math.isclose(chance, 1) else (observed - chance) / (1 - chance)

    return corrected(chance_k), corrected(chance_g)


@given(
    st.lists(st.tuples(st.sampled_from(ABC), st.sampled_from(ABC)), min_size=1, max_size=30),
    st.booleans(),
)
def test_the_figures_are_their_definitions(answers: Answers, linear: bool) -> None:
    weights = linear_weights(3) if linear else np.eye(3)
    expected = naive(answers, weights, ABC)
    found = kappa(answers, ABC, weights=weights), gwet(answers, ABC, weights=weights)
    for figure, value in zip(found, expected, strict=True):
        assert (figure.value is None) == math.isnan(value)
        if figure.value is not None:
            assert figure.value == pytest.approx(value)
            if figure.low is not None and figure.high is not None:
                assert figure.low <= figure.value <= figure.high


@settings(max_examples=15)
@given(st.lists(st.tuples(st.sampled_from(ABC), st.sampled_from(ABC)), min_size=3, max_size=8))
def test_standard_errors_are_those_of_the_derivative(answers: Answers) -> None:
    """Each item's part, found by giving it a little more weight."""
    for measure in (kappa, gwet):
        figure = measure(answers, ABC)
        if figure.value is None or figure.standard_error is None:
            continue
        n, times = len(answers), 400
        parts = []
        for answer in answers:
            heavier = measure(answers * times + [answer], ABC)
            assert heavier.value is not None
            parts.append((heavier.value - figure.value) * (n * times + 1))
        error = math.sqrt(sum(part**2 for part in parts) / (n * (n - 1)))
        assert figure.standard_error == pytest.approx(error, rel=2e-2, abs=2e-3)


def test_items_of_one_task_are_no_independent_items() -> None:
    answers = table([[10, 5], [5, 10]])
    tasks = ["one"] * 10 + ["two"] * 10 + ["three"] * 10
    alone, together = gwet(answers, ABC[:2]), gwet(answers, ABC[:2], clusters=tasks)
    assert alone.value == together.value
    assert together.standard_error is not None
    assert alone.standard_error is not None
    assert together.standard_error > alone.standard_error
    each = gwet(answers, ABC[:2], clusters=[str(n) for n in range(30)])
    assert each == alone


def test_what_is_not_defined_is_said() -> None:
    nothing = Figure(None, None, None, None, 0)
    assert raw([]) == kappa([], ABC) == gwet([], ABC) == nothing
    assert kappa([("a", "a")] * 5, ABC) == Figure(None, None, None, None, 5)
    same = gwet([("a", "a")] * 5, ABC)
    assert (same.value, same.low, same.high) == (1.0, None, None)
    sure = raw([("a", "a")] * 5)
    assert sure.low == pytest.approx(0.5655, abs=1e-4)  # Wilson: five of five is not certainty
    assert sure.high == pytest.approx(1.0)


def test_pairs_are_told_apart_and_cannot_judge_is_on_no_scale() -> None:
    answers = [("agree", "agree"), ("agree", "concern"), ("cannot judge", "agree")]
    pairs = [Pair(("x", "y"), "t", str(n), each) for n, each in enumerate(answers)]
    pairs += [Pair(("x", "z"), "u", "0", ("agree", "disagree"))]
    everybody, first, second = agreements(pairs)
    assert (everybody.reviewers, everybody.tasks, everybody.raw.items) == ((), 2, 4)
    assert (first.reviewers, first.raw.items, first.ac2.items) == (("x", "y"), 3, 2)
    assert second.raw.value == 0
    assert agreements([])[0].raw.value is None
