"""A run's states, reasons and figures in words."""

from __future__ import annotations

import datetime as dt

from engine.workbench import RunSummary

STATES = {
    "prepared": "preparing",
    "canary": "checking the sandbox",
    "running": "agent at work",
    "collecting": "taking over what the agent left",
    "linting": "looking for contamination",
    "scoring": "scoring",
    "done": "done",
    "failed": "failed",
}
"""States as the user reads them."""

MODES = {
    "standard": "standard: the agent's database holds derived tables, without those that would "
    "give the answer away",
    "raw": "raw: the agent gets only the tables as they were recorded, nothing derived",
}
"""What a task's mode means."""

CONDITIONS = {
    "no-skill": "no-skill: the agent was given the instruction only",
    "with-skill": "with-skill: the agent was also given the task's skill",
    "operational-spec": "operational-spec: the agent was also given the rules written out, "
    "instead of the skill",
}
"""What the usual conditions mean."""

SCHEMAS = {
    "native": "native: tables and columns are named as in the public database",
    "obfuscated": "obfuscated: tables and columns have other names, so that nothing can be known "
    "by heart",
    "restructured": "restructured: the same facts lie in other tables than in the public database",
}
"""What the names of the agent's database mean."""

TRIAL = "trial: number of the attempt of the same agent at the same task"
ORDERED_NMAE = (
    "Mean normalised absolute error over the columns whose values have an order: how far the "
    "agent's values lie from the reference's; 0 is exact, larger is worse"
)
REWARD = (
    "Reward: the mean over the scored columns of their share of matching rows, from 0 to 1; "
    "missing, extra and duplicate rows count as not matching"
)
STRICT = "Strict pass: enough of the reference's keys, and enough matches in every scored column"


def setting_words(condition: str, schema: str) -> str:
    """What a run was done under, in sentences for a tool tip."""
    lines = (CONDITIONS.get(condition, condition), SCHEMAS.get(schema, schema), TRIAL)
    return "\n".join(lines)


REASONS = {
    "filesystem_canary": "The sandbox was not closed: a private path could be read inside it, so "
    "the agent was not started.",
    "disallowed_egress": "The agent reached, or tried to reach, an address that is not allowed.",
    "external_tool_use": "The agent used a tool from outside, which is not allowed.",
    "claude_memory_escape": "The agent reached for its memory outside the run.",
    "auth": "The model's provider refused the key. This is not the agent's fault; no reward.",
    "rate_limit": "The model's provider limited the requests. Not the agent's fault; no reward.",
    "timeout": "The time limit was reached before the agent was done.",
    "agent_nonzero_exit": "The agent's program ended with an error.",
    "contamination_lint": "The agent's files hold something that it must not have had.",
    "no_output": "The agent left no output.csv.",
    "model_error": "The model's server failed. This is not the agent's fault; no reward.",
    "budget": "The run's budget was used up before the agent was done.",
    "exception": "The harness failed. This is not the agent's fault; the run has no reward.",
    "interrupted": "The program or the machine stopped while the run was at work; no reward.",
    "cancelled": "The run was stopped by the user; it has no reward.",
}
"""Reasons as sentences."""

_SHORT = {
    "filesystem_canary": "sandbox not closed",
    "disallowed_egress": "forbidden address",
    "external_tool_use": "forbidden tool",
    "claude_memory_escape": "outside memory",
    "auth": "key refused",
    "rate_limit": "rate limit",
    "timeout": "time limit",
    "agent_nonzero_exit": "agent error",
    "contamination_lint": "contaminated",
    "no_output": "no output",
    "model_error": "model failed",
    "budget": "budget used up",
    "exception": "harness fault",
    "interrupted": "interrupted",
    "cancelled": "stopped",
}


def state_words(run: RunSummary) -> str:
    """Where a run stands, in a few words."""
    if run.state == "failed" and run.failure_reason:
        return "failed: " + _SHORT.get(run.failure_reason, run.failure_reason.replace("_", " "))
    return STATES.get(run.state, run.state)


def state_tone(run: RunSummary) -> str:
    """The colour of the state."""
    if run.live:
        return "accent"
    return "bad" if run.state == "failed" else ""


def reward_words(reward: float | None) -> str:
    """A reward as people read it; never rounded up to 1."""
    if reward is None:
        return "–"
    if reward in (0, 1):
        return str(int(reward))
    return f"{min(reward, 0.9999):.4f}"


def two_shares(more: int) -> str:
    """Why the match rate of a score is not the share that the diff shows."""
    return (
        f"Matching cells of the reference's rows and of {more:,} extra or duplicate "
        f"{'row' if more == 1 else 'rows'}; the diff shows the share of the reference's rows alone."
    )


def strict_words(strict: bool | None) -> str:
    """Strict pass in words."""
    if strict is None:
        return "–"
    return "✓ passed" if strict else "✗ not passed"


def strict_tone(strict: bool | None) -> str:
    """Its colour."""
    return "" if strict is None else "good" if strict else "bad"


def when(text: str | None) -> str:
    """A moment in local time, to the minute; the date of today is left out."""
    if not text:
        return "–"
    try:
        moment = dt.datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone()
    except ValueError:
        return text
    today = dt.datetime.now().astimezone().date()
    if moment.date() == today:
        return f"today {moment:%H:%M}"
    return f"{moment:%Y-%m-%d %H:%M}"


def took(run: RunSummary) -> str:
    """How long a run took, in words."""
    from m4review.app.jobs import duration  # noqa: PLC0415 - Qt only where it is asked for

    if not run.ended_at:
        return "–"
    try:
        start = dt.datetime.fromisoformat(run.started_at.replace("Z", "+00:00"))
        end = dt.datetime.fromisoformat(run.ended_at.replace("Z", "+00:00"))
    except ValueError:
        return "–"
    seconds = (end - start).total_seconds()
    return duration(seconds) if seconds >= 1 else "under 1 s"
