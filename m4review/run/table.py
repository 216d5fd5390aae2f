"""The list of runs, as it stands on several screens."""

from __future__ import annotations

from collections.abc import Callable

from engine.workbench import RunSummary
from m4review.app.records import Column, RecordModel
from m4review.app.theme import Theme
from m4review.run.words import (
    CONDITIONS,
    REWARD,
    STRICT,
    reward_words,
    state_tone,
    state_words,
    strict_tone,
    strict_words,
    took,
    when,
)


def runs_model(theme: Callable[[], Theme], *, with_task: bool) -> RecordModel[RunSummary]:
    """A model of runs, with or without the task's name."""
    task = [Column[RunSummary]("Task", lambda run: run.task)] if with_task else []
    return RecordModel(
        [
            Column("Started", lambda run: when(run.started_at), order=lambda run: run.started_at),
            *task,
            Column("Agent", lambda run: f"{run.agent} · {run.model}"),
            Column("Source", lambda run: run.source),
            Column(
                "Condition",
                lambda run: run.condition,
                tip=lambda run: CONDITIONS.get(run.condition, run.condition),
                about="What the agent was given beside the instruction",
            ),
            Column("State", state_words, tone=state_tone),
            Column(
                "Reward",
                lambda run: reward_words(run.reward),
                numeric=True,
                order=lambda run: run.reward,
                about=REWARD,
            ),
            Column(
                "Strict pass",
                lambda run: strict_words(run.strict_pass),
                tone=lambda run: strict_tone(run.strict_pass),
                about=STRICT,
            ),
            Column("Took", took),
        ],
        theme,
    )
