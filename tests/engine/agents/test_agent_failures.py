"""Why an agent failed: its closing event first, its exit status second, the gateway's log."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from engine.agents import Failure, Outcome, find_agent
from engine.agents.traces import StepError, TraceSummary
from engine.agents.traces.open import read_trace
from engine.gateway.interface import Stopped

ANSWERED = {"ts": "2026-01-02T03:04:05Z", "allowed": True, "status": 200, "retry_after": None}


def asked(status: int | None, retry_after: float | None = None) -> dict[str, Any]:
    return ANSWERED | {"status": status, "retry_after": retry_after}


def ended(closing: str = "success", status: int | None = None, said: str = "It broke."):
    error = None
    if closing == "error":
        error = StepError(kind="other", message=said, status=status)
    return TraceSummary(form="claude", closing=closing, error=error)  # type: ignore[arg-type]


def judge(returncode=0, trace=None, egress=(ANSWERED,), **fields: Any) -> Failure | None:
    outcome = Outcome(returncode=returncode, **fields)
    return find_agent("claude").failure(outcome, trace, egress)


def reason(*arguments: Any, **fields: Any) -> str:
    failure = judge(*arguments, **fields)
    assert failure is not None
    assert failure.detail
    return failure.reason


def test_a_proper_end_is_no_failure():
    assert judge(0, ended()) is None


def test_exit_status_0_after_a_bad_end_is_a_failure():
    assert reason(0, ended("error")) == "agent_nonzero_exit"
    assert reason(0, ended("error"), egress=(ANSWERED, asked(500))) == "model_error"


def test_exit_status_0_without_a_closing_event_means_killed():
    failure = judge(0, ended("missing"))
    assert failure is not None
    assert failure.reason == "agent_nonzero_exit"
    assert "closing event" in failure.detail


def test_a_bad_exit_status_after_a_proper_end_is_a_failure():
    assert reason(3, ended()) == "agent_nonzero_exit"


def test_the_last_words_of_a_program_that_never_began_are_told():
    failure = judge(1, None, egress=(), stderr="Warning\nconfig error: no such key\n\n")
    assert failure is not None
    assert failure.reason == "agent_nonzero_exit"
    assert "config error: no such key" in failure.detail


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (401, "auth"),
        (403, "auth"),
        (402, "auth"),
        (429, "rate_limit"),
        (529, "rate_limit"),
        (500, "model_error"),
        (503, "model_error"),
        (None, "model_error"),
        (404, "model_error"),
        (400, "model_error"),
    ],
)
@pytest.mark.parametrize(
    "trace", [ended("error"), ended("missing"), None], ids=["said so", "no word", "no trace"]
)
def test_the_gateways_log_says_what_the_endpoint_answered(status, expected, trace):
    # An exit status that looks like a signal says nothing.
    assert reason(145, trace, egress=(asked(status),)) == expected


def test_a_request_refused_in_the_middle_is_the_agents_doing():
    assert reason(1, ended("error"), egress=(ANSWERED, asked(400))) == "agent_nonzero_exit"


@pytest.mark.parametrize(("status", "expected"), [(401, "auth"), (429, "rate_limit")])
def test_without_a_log_the_closing_event_tells_the_status(status, expected):
    assert reason(1, ended("error", status), egress=()) == expected


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("auth", "auth"),
        ("rate_limit", "rate_limit"),
        ("network", "model_error"),
        ("limit", "agent_nonzero_exit"),
        ("other", "agent_nonzero_exit"),
    ],
)
def test_without_log_and_status_the_kind_of_the_error_tells(kind, expected):
    error = StepError(kind=kind, message="Said in words.")
    assert reason(1, TraceSummary(form="claude", closing="error", error=error), ()) == expected


TRACES = Path(__file__).parents[2] / "material" / "traces"
BAD_ENDS = {
    "claude-error-401": "auth",
    "codex-error-401": "auth",
    "gemini-error-401": "auth",
    "pi-error-401": "auth",
    "claude-killed-sigterm": "agent_nonzero_exit",
}


@pytest.mark.parametrize(
    "path",
    [p for p in sorted(TRACES.glob("*.jsonl")) if "rollout" not in p.stem],
    ids=lambda p: p.stem,
)
def test_recorded_traces_are_judged_by_their_closing_event(path: Path):
    agent = find_agent(path.stem.split("-")[0])
    summary = read_trace(path, agent.name).summary
    failure = agent.failure(Outcome(returncode=0), summary)
    assert (failure.reason if failure else None) == BAD_ENDS.get(path.stem)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"failed": 529}, "rate_limit"),
        ({"failed": 500}, "model_error"),
        ({"why": "broken"}, "model_error"),
        ({"why": "silent"}, "model_error"),
    ],
)
def test_a_stream_that_broke_after_a_good_status_is_seen_by_the_gateway(more, expected):
    assert reason(1, ended("error", 401), egress=(ANSWERED, ANSWERED | more)) == expected


FORGED = {
    "a closing event that nobody saw upstream": (ended("error", 429), (ANSWERED,)),
    "the same without an answer in between": (ended("error", 500), (ANSWERED, ANSWERED)),
    "its own bad request, then the program killed": (ended("missing"), (ANSWERED, asked(500))),
    "its own flood of requests, then killed": (None, (ANSWERED, asked(429), asked(429))),
    "a request that it left": (ended("missing"), (ANSWERED, asked(None) | {"why": "left"})),
    "one that was pending at the end": (
        ended("error"),
        (ANSWERED, asked(None) | {"why": "closed"}),
    ),
    "a failure that was overcome": (ended("error", 500), (ANSWERED, asked(500), ANSWERED)),
    "a model that it may not use": (
        ended("error", 403),
        (ANSWERED | {"model": "m"}, asked(403) | {"model": "other"}),
    ),
    "an answer of the gateway itself": (
        ended("error", 429),
        (ANSWERED, asked(429) | {"allowed": False, "why": "path"}),
    ),
}


@pytest.mark.parametrize(("trace", "egress"), FORGED.values(), ids=FORGED)
def test_an_agent_cannot_arrange_an_excuse(trace, egress):
    assert reason(137, trace, egress=egress) == "agent_nonzero_exit"


def test_an_honest_failure_after_answers_still_excuses():
    first = ANSWERED | {"model": "m"}
    assert reason(1, ended("error"), (first, asked(401) | {"model": "m"})) == "auth"
    assert reason(1, ended("error"), (first, asked(429) | {"model": "m"})) == "rate_limit"
    assert reason(1, ended("error"), (first, asked(504) | {"why": "silent"})) == "model_error"


def test_errors_that_were_overcome_do_not_count():
    assert judge(0, ended(), egress=(asked(429), asked(500), ANSWERED)) is None


def test_a_rate_limit_tells_when_it_is_reset():
    failure = judge(1, ended("error", 429), egress=(asked(429, 90),))
    assert failure is not None
    assert failure.retry_at == datetime(2026, 1, 2, 3, 5, 35, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("90", 90),
        ("1m30s", 90),
        ("1.5s", 1.5),
        ("1d2h", 93600),
        ("250ms", 0.25),
        ("2026-01-02T03:05:35Z", 90),
        ("2026-01-02T04:05:35+01:00", 90),
        ("Fri, 02 Jan 2026 03:05:35 GMT", 90),
        ("1767323135", 90),
        ("1767323135000", 90),
    ],
)
def test_a_reset_is_understood_as_endpoints_say_it(said, seconds):
    failure = judge(1, ended("error", 429), egress=(asked(429) | {"reset": said},))
    assert failure is not None
    assert failure.retry_at == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC) + timedelta(
        seconds=seconds
    )


@pytest.mark.parametrize("said", ["", "soon", "m", "2026-13-45T", "9" * 400, "1x"])
def test_a_reset_that_is_none_is_passed_over(said):
    failure = judge(1, ended("error", 429), egress=(asked(429) | {"reset": said},))
    assert failure is not None
    assert failure.retry_at is None


def test_what_the_gateway_answers_itself_is_no_answer_of_the_endpoint():
    greeting = ANSWERED | {"why": "local"}
    log = (greeting, asked(None))
    assert reason(137, None, log, ended_by="timeout", in_words="Too long.") == "model_error"


def test_a_tool_of_the_providers_is_told_from_another_host():
    stopped = Stopped("refused", "The agent asked for something forbidden.")
    tool = asked(400) | {"allowed": False, "why": "provider_tool"}
    assert reason(1, ended("error"), (ANSWERED, tool), stopped=stopped) == "external_tool_use"


@pytest.mark.parametrize("wait", [None, "soon", float("nan"), 1e300, float("inf")])
def test_a_rate_limit_that_does_not_tell_has_no_reset(wait):
    failure = judge(1, ended("error", 429), egress=(asked(429, wait),))
    assert failure is not None
    assert (failure.reason, failure.retry_at) == ("rate_limit", None)


def test_the_time_limit():
    assert reason(137, ended("missing"), ended_by="timeout", in_words="Too long.") == "timeout"


def test_waiting_in_vain_for_the_first_answer_is_not_the_agents_time():
    log = (asked(None),)
    assert reason(137, None, log, ended_by="timeout", in_words="Too long.") == "model_error"
    log = (asked(429, 5), asked(429, 5))
    assert reason(137, None, log, ended_by="timeout", in_words="Too long.") == "rate_limit"


@pytest.mark.parametrize("limit", ["memory", "processes", "disk"])
def test_the_sandboxes_limits(limit):
    assert reason(137, ended("missing"), ended_by=limit) == "agent_nonzero_exit"


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("budget", "budget"), ("refused", "disallowed_egress"), ("fault", "exception")],
)
def test_what_the_gateway_ended(kind, expected):
    stopped = Stopped(kind, "The gateway says why.")
    failure = judge(1, ended("error", 403), (asked(403),), stopped=stopped)
    assert failure == Failure(reason=expected, detail="The gateway says why.")  # type: ignore[arg-type]
    # Even when the program makes the best of it, or the sandbox was ended for it.
    assert reason(0, ended(), stopped=stopped) == expected
    assert reason(137, None, (), ended_by="timeout", stopped=stopped) == expected


def test_a_cancelled_run_is_no_failure_of_the_agent():
    assert find_agent("script").failure(Outcome(returncode=0, ended_by="cancelled")) is None


def test_a_script_is_judged_by_its_exit_status():
    agent = find_agent("script")
    assert agent.failure(Outcome(returncode=0)) is None
    failure = agent.failure(Outcome(returncode=2, in_words="It ended with exit status 2."))
    assert failure == Failure(reason="agent_nonzero_exit", detail="It ended with exit status 2.")
    failure = agent.failure(Outcome(returncode=137, ended_by="timeout"))
    assert failure is not None
    assert failure.reason == "timeout"


def test_endless_words_are_cut():
    failure = judge(1, ended("error", said="x" * 9999))
    assert failure is not None
    assert len(failure.detail) <= 500
