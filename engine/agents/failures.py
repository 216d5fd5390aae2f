"""Why an agent did not come to a proper end, from what it, the sandbox and the gateway say.

The program's closing event is judged first and its exit status second: exit statuses lie (one
program gives the HTTP status modulo 256, another 0 after every model error, and all of them may
give 0 when they are killed). What the endpoint answered is taken from the gateway's log, which
the agent cannot write.

Some reasons excuse a run: it then counts for nothing instead of 0. An agent that has failed must
not be able to make one. Until the first answer nothing of the model's has acted, and whatever is
seen is believed. Afterwards only what the gateway saw of the endpoint in the last request excuses,
and only a program that lived to say so: what the program tells by itself, its death, a request
that its client left, and a refusal of a model that never answered are the agent's to arrange.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

from engine.agents.interface import Failure, FailureReason, Outcome
from engine.agents.traces.model import TraceSummary

_DETAIL_LENGTH = 500
_AUTH = (HTTPStatus.UNAUTHORIZED, HTTPStatus.PAYMENT_REQUIRED, HTTPStatus.FORBIDDEN)
_BUSY = (HTTPStatus.TOO_MANY_REQUESTS, 529)
"""529: one provider's "overloaded", to be waited for as well."""
_BROKE = ("unreachable", "untrusted", "silent", "broken", "redirect", "not_local")
"""What the gateway says of an endpoint that gave no whole answer."""
_STATUS_OF: Mapping[str, int] = {"auth": 401, "rate_limit": 429, "network": 502}
"""What a program means that tells no status."""
_EPOCH_FROM, _MILLIS_FROM = 1e9, 1e11
"""Numbers above these are seconds, or milliseconds, since 1970."""
_DURATION = re.compile(
    r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?"
)


def script_failure(outcome: Outcome) -> Failure | None:
    """The judgement of a program that needs no model and has no closing event."""
    early = _stopped(outcome)
    if early is not None:
        return early
    if outcome.returncode != 0:
        return Failure(reason="agent_nonzero_exit", detail=outcome.in_words or _exit(outcome))
    return None


def model_failure(
    outcome: Outcome, trace: TraceSummary | None, egress: Sequence[Mapping[str, Any]]
) -> Failure | None:
    """The judgement of an agent that talks to a model.

    Args:
        outcome: how the program ended.
        trace: what its trace comes to; None when there is none.
        egress: see `engine.agents.interface.Agent.failure`.
    """
    asked = [
        # The status of a request that the gateway ended is its own, not the endpoint's.
        {**line, "status": None} if line.get("why") == "ended" else line
        for line in egress
        if line.get("allowed", True) and line.get("why") != "local"
    ]
    answered = any(_good(line.get("status")) for line in asked)
    if _time_was_up(outcome) and asked and not answered:
        # It waited in vain for its first answer: the time is not what was wrong.
        words = outcome.in_words if outcome.stopped is None else outcome.stopped.detail
        return _given_up(asked, None, words, answered=False)
    early = _stopped(outcome, egress)
    if early is not None:
        return early
    closing = trace.closing if trace else "missing"
    if closing == "missing":
        words = f"It ended without its closing event ({_exit(outcome)})."
        last = _last_line(outcome.stderr)
        words = f"{words} It said: {last}" if last else words
        if asked and not answered:
            return _given_up(asked, None, words, answered=False)
        return Failure(reason="agent_nonzero_exit", detail=_short(words))
    error = trace.error if trace else None
    if closing == "error":
        status = (error.status or _STATUS_OF.get(error.kind)) if error else None
        words = f"The program said: {error.message}" if error and error.message.strip() else ""
        return _given_up(asked, status, words, answered=answered)
    if outcome.returncode != 0:
        return Failure(
            reason="agent_nonzero_exit",
            detail=f"It said that it was done, but ended with {_exit(outcome)}.",
        )
    return None


def _stopped(outcome: Outcome, egress: Sequence[Mapping[str, Any]] = ()) -> Failure | None:
    """What the gateway, or else the sandbox, ended."""
    stopped = outcome.stopped
    if stopped is not None:
        reason: FailureReason = "exception"
        if stopped.kind == "budget":
            reason = "budget"
        elif stopped.kind == "refused":
            tool = any(line.get("why") == "provider_tool" for line in egress)
            reason = "external_tool_use" if tool else "disallowed_egress"
        return Failure(reason=reason, detail=_short(stopped.detail))
    if outcome.ended_by in ("exited", "cancelled"):
        return None
    reason = "timeout" if outcome.ended_by == "timeout" else "agent_nonzero_exit"
    return Failure(reason=reason, detail=outcome.in_words or f"Stopped: {outcome.ended_by}.")


def _time_was_up(outcome: Outcome) -> bool:
    """The sandbox's limit of time, or the model's budget of it."""
    if outcome.stopped is not None:
        return outcome.stopped.budget == "seconds"
    return outcome.ended_by == "timeout"


def _given_up(
    asked: Sequence[Mapping[str, Any]], told: int | None, words: str, *, answered: bool
) -> Failure:
    """The reason of an end that the program itself calls bad, or that it did not live to tell.

    Args:
        asked: requests that were let through, in order.
        told: the HTTP status that the program says it gave up on; only where nothing was asked.
        words: what else is to be said.
        answered: some request was answered well.
    """
    last = asked[-1] if asked else {}
    status = _seen(last)
    silent = False
    if not answered:
        status = told if not asked else status
        silent = bool(asked) and status is None
    another = answered and not _ever_answered(asked, last.get("model"))
    retry_at: datetime | None = None
    reason: FailureReason = "agent_nonzero_exit"
    said = "It gave up."
    if status in _AUTH and not another:
        reason, said = "auth", f"The endpoint refused the key (HTTP {status})."
    elif status in _BUSY:
        reason, said = "rate_limit", f"The endpoint's rate limit was reached (HTTP {status})."
        retry_at = _retry_at(last)
    elif silent:
        reason, said = "model_error", "The endpoint did not answer."
    elif status is not None and status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        reason, said = "model_error", f"The endpoint failed (HTTP {status})."
    elif status is not None and status >= HTTPStatus.BAD_REQUEST:
        # Refused from the very first request on: the model's name or the settings are wrong.
        reason = "agent_nonzero_exit" if answered else "model_error"
        said = f"The endpoint refused {'a' if answered else 'every'} request (HTTP {status})."
    return Failure(reason=reason, detail=_short(f"{said} {words}".strip()), retry_at=retry_at)


def _retry_at(line: Mapping[str, Any]) -> datetime | None:
    """When the endpoint takes requests again, in UTC; None when it did not say."""
    try:
        at = _in_utc(datetime.fromisoformat(str(line.get("ts"))))
        wait = line.get("retry_after")
        if wait is not None:
            return at + timedelta(seconds=float(wait))
        return _reset(str(line.get("reset") or ""), at)
    except (ValueError, TypeError, OverflowError, OSError):
        return None


def _reset(text: str, at: datetime) -> datetime | None:
    """A time in one of the ways that endpoints say it, seen at `at`."""
    number = re.fullmatch(r"\d+(?:\.\d+)?", text)
    if number is not None:
        seconds = float(text)
        if seconds > _EPOCH_FROM:
            return datetime.fromtimestamp(
                seconds if seconds < _MILLIS_FROM else seconds / 1000, UTC
            )
        return at + timedelta(seconds=seconds)
    parts = _DURATION.fullmatch(text)
    if text and parts is not None:
        names = ("days", "hours", "minutes", "seconds", "milliseconds")
        values = zip(names, parts.groups(), strict=True)
        return at + timedelta(**{name: float(value) for name, value in values if value})
    if re.match(r"\d{4}-", text):
        return _in_utc(datetime.fromisoformat(text))
    return _in_utc(parsedate_to_datetime(text)) if text else None


def _in_utc(at: datetime) -> datetime:
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)


def _seen(line: Mapping[str, Any]) -> int | None:
    """The failure of a request as an HTTP status, as the gateway saw it; None without one."""
    failed, status = line.get("failed"), line.get("status")
    if isinstance(failed, int):
        return failed  # told within a stream
    if _good(status):
        return HTTPStatus.BAD_GATEWAY if line.get("why") in _BROKE else None
    return status if isinstance(status, int) else None


def _ever_answered(asked: Sequence[Mapping[str, Any]], model: object) -> bool:
    return any(_good(line.get("status")) and line.get("model") == model for line in asked)


def _good(status: object) -> bool:
    return isinstance(status, int) and status < HTTPStatus.BAD_REQUEST


def _exit(outcome: Outcome) -> str:
    return f"exit status {outcome.returncode}"


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def _short(text: str) -> str:
    return text if len(text) <= _DETAIL_LENGTH else text[: _DETAIL_LENGTH - 1] + "…"
