"""Why an agent did not come to a proper end, from what it, the sandbox and the gateway say.

The program's closing event is judged first and its exit status second: exit statuses lie (one
program gives the HTTP status modulo 256, another 0 after every model error, and all of them may
give 0 when they are killed). What the endpoint answered is taken from the gateway's log, which
the agent cannot write.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any

from engine.agents.interface import Failure, FailureReason, Outcome

_DETAIL_LENGTH = 500
_AUTH = (HTTPStatus.UNAUTHORIZED, HTTPStatus.PAYMENT_REQUIRED, HTTPStatus.FORBIDDEN)


@dataclass(frozen=True, kw_only=True)
class Closing:
    """The last word of a program's event stream."""

    ok: bool
    """It said that it came to a proper end."""
    status: int | None = None
    """The HTTP status that it gave up on, as far as it said."""
    message: str = ""
    """Its words."""


def script_failure(outcome: Outcome) -> Failure | None:
    """The judgement of a program that needs no model and has no closing event."""
    early = _stopped(outcome)
    if early is not None:
        return early
    if outcome.returncode != 0:
        return Failure(reason="agent_nonzero_exit", detail=outcome.in_words or _exit(outcome))
    return None


def model_failure(
    outcome: Outcome, closing: Closing | None, egress: Sequence[Mapping[str, Any]]
) -> Failure | None:
    """The judgement of an agent that talks to a model.

    Args:
        outcome: how the program ended.
        closing: its closing event; None when it gave none.
        egress: see `engine.agents.interface.Agent.failure`.
    """
    asked = [line for line in egress if line.get("allowed", True)]
    answered = any(_good(line.get("status")) for line in asked)
    if outcome.ended_by == "timeout" and outcome.stopped is None and asked and not answered:
        # It waited in vain for its first answer: the time is not what was wrong.
        return _endpoint(asked, Closing(ok=False, message=outcome.in_words), answered=False)
    early = _stopped(outcome)
    if early is not None:
        return early
    if closing is None:
        if asked and not _good(asked[-1].get("status")):
            return _endpoint(asked, Closing(ok=False, message=_exit(outcome)), answered=answered)
        words = f"It ended without its closing event ({_exit(outcome)})."
        last = _last_line(outcome.stderr)
        return Failure(
            reason="agent_nonzero_exit",
            detail=_short(f"{words} It said: {last}" if last else words),
        )
    if not closing.ok:
        return _endpoint(asked, closing, answered=answered)
    if outcome.returncode != 0:
        return Failure(
            reason="agent_nonzero_exit",
            detail=f"It said that it was done, but ended with {_exit(outcome)}.",
        )
    return None


def _stopped(outcome: Outcome) -> Failure | None:
    """What the gateway, or else the sandbox, ended."""
    stopped = outcome.stopped
    if stopped is not None:
        reasons: dict[str, FailureReason] = {
            "budget": "budget",
            "refused": "disallowed_egress",
            "fault": "exception",
        }
        return Failure(reason=reasons[stopped.kind], detail=_short(stopped.detail))
    if outcome.ended_by in ("exited", "cancelled"):
        return None
    reason: FailureReason = "timeout" if outcome.ended_by == "timeout" else "agent_nonzero_exit"
    return Failure(reason=reason, detail=outcome.in_words or f"Stopped: {outcome.ended_by}.")


def _endpoint(asked: Sequence[Mapping[str, Any]], closing: Closing, *, answered: bool) -> Failure:
    """The reason of an end that the program itself calls bad.

    Args:
        asked: requests that were let through, in order.
        closing: what the program said.
        answered: some request was answered well.
    """
    last = asked[-1] if asked else {}
    status = last.get("status") if asked else closing.status
    if asked and _good(status):
        status = closing.status  # the end of a stream may be bad after a good status
    words = closing.message.strip()
    if status in _AUTH:
        reason: FailureReason = "auth"
        said = f"The endpoint refused the key (HTTP {status})."
    elif status == HTTPStatus.TOO_MANY_REQUESTS:
        reset = _retry_at(last)
        said = "The endpoint's rate limit was reached (HTTP 429)."
        return Failure(reason="rate_limit", detail=_join(said, words), retry_at=reset)
    elif status is None and asked and last.get("status") is None:
        reason, said = "model_error", "The endpoint did not answer."
    elif status is not None and status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        reason, said = "model_error", f"The endpoint failed (HTTP {status})."
    elif status is not None and status >= HTTPStatus.BAD_REQUEST and not answered:
        # Refused from the very first request on: the model's name or the settings are wrong.
        reason, said = "model_error", f"The endpoint took no request at all (HTTP {status})."
    elif status is not None and status >= HTTPStatus.BAD_REQUEST:
        reason, said = "agent_nonzero_exit", f"The endpoint refused a request (HTTP {status})."
    else:
        reason, said = "agent_nonzero_exit", "It gave up."
    return Failure(reason=reason, detail=_join(said, words))


def _retry_at(line: Mapping[str, Any]) -> datetime | None:
    """When the endpoint takes requests again, in UTC."""
    wait = line.get("retry_after")
    try:
        at = datetime.fromisoformat(str(line.get("ts")))
        seconds = timedelta(seconds=float(wait)) if wait is not None else None
    except (ValueError, OverflowError):
        return None
    if seconds is None:
        return None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC) + seconds


def _good(status: object) -> bool:
    return isinstance(status, int) and status < HTTPStatus.BAD_REQUEST


def _exit(outcome: Outcome) -> str:
    return f"exit status {outcome.returncode}"


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def _join(said: str, words: str) -> str:
    return _short(f"{said} The program said: {words}" if words else said)


def _short(text: str) -> str:
    return text if len(text) <= _DETAIL_LENGTH else text[: _DETAIL_LENGTH - 1] + "…"
