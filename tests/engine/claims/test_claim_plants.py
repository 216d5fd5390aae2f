"""Planted defects are found without a hand-typed query, and sound texts raise few alarms.

``make proofs`` tries all of them, ``make test`` some.
"""

from __future__ import annotations

import pytest
from finding import Finder
from plants import BY_HAND, HELD_OUT, Plant, generated
from proofs import WHOLE

from engine.catalogue.task import list_tasks

SHARE = 0.9
FALSE_ALARMS = 2


@pytest.mark.slow
@pytest.mark.shared_data
@pytest.mark.parametrize(
    ("plants", "least"),
    [(BY_HAND, 30), (HELD_OUT, 20), (tuple(generated(seed=23, number=18)), 18)],
    ids=["by hand", "held out", "generated"],
)
def test_nine_of_ten_defects_are_found(
    evidence: Finder, plants: tuple[Plant, ...], least: int
) -> None:
    assert len(set(plants)) >= least
    plants = plants if WHOLE else plants[::8]  # then too few to miss a single one
    missed = [plant for plant in plants if not evidence.finds(plant)]
    assert len(missed) <= (1 - SHARE) * len(plants), missed


@pytest.mark.slow
@pytest.mark.shared_data
def test_sound_texts_raise_at_most_two_alarms_per_task(evidence: Finder) -> None:
    tasks = list_tasks()
    assert len(tasks) == 28
    alarms: dict[tuple[str, ...], set[tuple[str, str]]] = {}
    for task in tasks if WHOLE else tasks[::6]:  # a raw task mostly has the texts of the other one
        texts = (
            task.target,
            task.instruction,
            task.operational_spec.read_text("utf-8") if task.operational_spec else "",
        )
        if texts not in alarms:
            alarms[texts] = evidence.alarms(task)
        assert len(alarms[texts]) <= FALSE_ALARMS, (task.name, alarms[texts])


def test_the_generator_gives_the_same_for_the_same_seed() -> None:
    assert generated(seed=5, number=6) == generated(seed=5, number=6)
    assert generated(seed=5, number=6) != generated(seed=6, number=6)
