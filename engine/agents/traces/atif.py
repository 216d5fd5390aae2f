"""Traces in the Agent Trajectory Interchange Format (ATIF), version 1.8: written and read.

One model response is one ATIF step: its words, thoughts and calls, with what came back. What ATIF
has no place for (exit codes, files, kinds of steps) stands under ``extra`` in our own name, so
that nothing of the shared form is lost on the way there and back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import atif
from pydantic import ValidationError

from engine.agents.traces.lines import (
    count,
    error_of,
    flat,
    iso,
    listing,
    mapping,
    preview,
    read_output,
    shown,
    skill_of,
    string,
)
from engine.agents.traces.model import StepError, Tokens, TraceStep, TraceSummary, WrittenFile
from engine.agents.traces.open import Trace
from engine.agents.traces.programs import Known
from engine.agents.traces.tools import call_values
from engine.base.errors import BadInput

VERSION = "ATIF-v1.8"
_READABLE = re.compile(r"ATIF-v1\.[0-8]")
_OURS = "m4review"
_CALLS = ("command", "file", "skill", "tool", "web")
_TOOLS = {"command": "bash", "file": "file", "skill": "skill", "web": "web", "tool": "tool"}
_HOWS = ("add", "edit", "delete", "redirect", "copy", "call")


def to_atif(
    trace: Trace,
    *,
    agent: str,
    version: str | None = None,
    instruction: str = "",
    run_id: str | None = None,
    file: Path | None = None,
) -> dict[str, Any]:
    """A trace as an ATIF document, JSON-ready.

    Args:
        trace: the trace.
        agent: the agent's name.
        version: of its program; the trace's own when None.
        instruction: what it was asked; the first step when not empty.
        run_id: the run's name.
        file: the raw trace; with it outputs are written whole, else their begin and end.

    Raises:
        OSError: `file` cannot be read.
        LookupError: `file` is not the trace that was read.
    """
    summary = trace.summary
    steps: list[dict[str, Any]] = []
    if instruction:
        steps.append({"source": "user", "message": instruction})
    for turn, group in groupby(trace.steps, key=lambda step: (step.turn, _is_apart(step))):
        members = list(group)
        if turn[1] or not turn[0]:
            steps += [_apart(step) for step in members]
        else:
            steps.append(_response(members, file))
    for number, step in enumerate(steps, 1):
        step["step_id"] = number
    document = atif.Trajectory.model_validate(
        {
            "schema_version": VERSION,
            "session_id": run_id or summary.session or "run",
            "agent": {
                "name": agent,
                "version": version or summary.version or "unknown",
                "model_name": summary.models[0] if summary.models else None,
            },
            "steps": steps,
            "final_metrics": _final(summary, len(steps)),
            "extra": {_OURS: _told(summary)},
        }
    )
    return dict(document.to_json_dict())


def from_atif(document: object) -> Trace:
    """Read an ATIF document, ours or another program's.

    Raises:
        BadInput: it is none, or of a version that is not known.
    """
    version = string(mapping(document).get("schema_version"))
    if not _READABLE.fullmatch(version):
        raise BadInput(
            "This is no ATIF document of a version that can be read.",
            todo="Use a file that says ATIF-v1.0 to ATIF-v1.8 under schema_version.",
        )
    try:
        trajectory = atif.Trajectory.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the document"
        raise BadInput(
            f"This ATIF document is not valid at {shown(place, 100)}: {shown(first['msg'], 200)}."
        ) from error
    reading = _Reading()
    for step in trajectory.steps:
        reading.take(step)
    return Trace(tuple(reading.steps), reading.summary(trajectory))


# --- writing


def _is_apart(step: TraceStep) -> bool:
    return step.kind in ("start", "retry", "error", "end", "output", "other")


def _apart(step: TraceStep) -> dict[str, Any]:
    """A step that is no response of the model's."""
    return {
        "source": "system",
        "timestamp": step.at,
        "message": step.text or step.output,
        "extra": {_OURS: _more(step)},
    }


def _response(members: list[TraceStep], file: Path | None) -> dict[str, Any]:
    calls = [step for step in members if step.kind in _CALLS]
    words = [step for step in members if step.kind == "message"]
    thoughts = [step.text for step in members if step.kind == "reasoning"]
    usage = [step.tokens for step in members if step.kind == "usage" and step.tokens]
    first = next((step.at for step in members if step.at), None)
    told: dict[str, Any] = {
        "source": "agent",
        "timestamp": first,
        "message": "\n".join(step.text for step in words),
        "reasoning_content": "\n".join(thoughts) or None,
        "extra": {_OURS: {"turn": members[0].turn}},
    }
    if usage:
        told["metrics"] = _metrics(usage[-1])
    if calls:
        told["tool_calls"] = [_call(step) for step in calls]
        results = [
            {"source_call_id": _id(step), "content": _output(step, file)}
            for step in calls
            if not step.running
        ]
        told["observation"] = {"results": results} if results else None
    return told


def _call(step: TraceStep) -> dict[str, Any]:
    return {
        "tool_call_id": _id(step),
        "function_name": step.tool or _TOOLS[step.kind],
        "arguments": _arguments(step),
        "extra": {_OURS: _more(step)},
    }


def _id(step: TraceStep) -> str:
    return f"call_{step.number}"


def _arguments(step: TraceStep) -> dict[str, Any]:
    if step.command is not None:
        return {"command": step.command}
    if isinstance(given := step.data.get("arguments"), Mapping) and given:
        return dict(given)
    if step.writes and step.writes[0].content is not None:
        return {"file_path": step.writes[0].path, "content": step.writes[0].content}
    if step.reads:
        return {"file_path": step.reads[0]}
    return {"skill": step.skill} if step.skill else {"text": step.text}


def _output(step: TraceStep, file: Path | None) -> str:
    if file is not None and step.output_ref is not None:
        return read_output(file, step.output_ref)
    return step.output


def _more(step: TraceStep) -> dict[str, Any]:
    more: dict[str, Any] = {"kind": step.kind, "line": step.line}
    for name in ("exit_code", "seconds", "at", "skill"):
        if (value := getattr(step, name)) is not None:
            more[name] = value
    if step.failed:
        more["failed"] = True
    if step.running:
        more["running"] = True
    if step.writes:
        more["writes"] = [{"path": one.path, "how": one.how} for one in step.writes]
    if step.error is not None:
        more["error"] = asdict(step.error)
    return more


def _metrics(tokens: Tokens) -> dict[str, Any]:
    more = {} if tokens.reasoning is None else {"reasoning_tokens": tokens.reasoning}
    return {
        "prompt_tokens": tokens.input,
        "cached_tokens": tokens.cached_input,
        "completion_tokens": tokens.output,
        "extra": more or None,
    }


def _final(summary: TraceSummary, steps: int) -> dict[str, Any]:
    tokens = summary.tokens if summary.counted and summary.tokens else Tokens()
    more = {} if tokens.reasoning is None else {"reasoning_tokens": tokens.reasoning}
    return {
        "total_prompt_tokens": tokens.input,
        "total_cached_tokens": tokens.cached_input,
        "total_completion_tokens": tokens.output,
        "total_steps": steps,
        "extra": more or None,
    }


def _told(summary: TraceSummary) -> dict[str, Any]:
    return {
        "form": summary.form,
        "counted": summary.counted,
        "why_not": summary.why_not,
        "turns": summary.turns,
        "models": list(summary.models),
        "closing": summary.closing,
        "last_message": summary.last_message,
        "skills_offered": (
            None if summary.skills_offered is None else list(summary.skills_offered)
        ),
        "skills_read": list(summary.skills_read),
    }


# --- reading


class _Reading:
    def __init__(self) -> None:
        self.steps: list[TraceStep] = []
        self._known = Known()
        self._turn = 0
        self._skills: dict[str, None] = {}
        self._words = ""

    def take(self, step: atif.Step) -> None:
        """Take one ATIF step."""
        at, text = iso(step.timestamp), _text(step.message)
        ours = mapping(mapping(step.extra).get(_OURS))
        if step.source == "user":
            return
        if step.source == "system":
            self._add(at, text, ours)
            return
        self._turn += 1
        if step.reasoning_content:
            self._append(kind="reasoning", at=at, text=shown(step.reasoning_content))
        if text.strip():
            self._words = shown(text)
            self._append(kind="message", at=at, text=shown(text))
        if step.metrics is not None and (tokens := _tokens(step.metrics)):
            self._append(kind="usage", at=at, tokens=tokens)
        results = step.observation.results if step.observation else []
        given = {one.source_call_id: _text(one.content) for one in results}
        for call in step.tool_calls or ():
            self._call(call, at, given.get(call.tool_call_id))

    def summary(self, trajectory: atif.Trajectory) -> TraceSummary:
        """What the document comes to."""
        ours = mapping(mapping(trajectory.extra).get(_OURS))
        final = trajectory.final_metrics
        tokens = None if final is None else _totals(final)
        whole = tokens is not None and bool(tokens.input) and bool(tokens.output)
        commands = [step for step in self.steps if step.kind == "command"]
        model = trajectory.agent.model_name
        models = [string(one) for one in listing(ours.get("models"))] or [model or ""]
        closing = ours.get("closing")
        last = self.steps[-1].error if self.steps else None
        offered = ours.get("skills_offered")
        return TraceSummary(
            form="atif",
            version=shown(trajectory.agent.version, 40),
            session=shown(trajectory.session_id or "", 200) or None,
            counted=whole,
            why_not=None if whole else "The document tells no token counts.",
            tokens=tokens if whole else None,
            turns=count(ours.get("turns")) or self._turn,
            models=tuple(shown(one, 100) for one in models if one),
            closing=closing if closing in ("success", "error") else "missing",
            error=last if closing == "error" else None,
            last_message=self._words or shown(ours.get("last_message")),
            skills_offered=_names(offered) if isinstance(offered, list) else None,
            skills_read=tuple(self._skills) or _names(ours.get("skills_read")),
            commands=len(commands),
            failed_commands=sum(step.failed for step in commands),
            files_written=tuple({one.path: None for step in self.steps for one in step.writes}),
            steps=len(self.steps),
            lines=len(trajectory.steps),
        )

    def _add(self, at: str | None, text: str, ours: Mapping[str, Any]) -> None:
        kind = ours.get("kind")
        apart = kind if kind in ("start", "retry", "error", "end", "output") else "other"
        error = _error(ours.get("error"))
        failed = ours.get("failed") is True
        if apart == "output":
            self._append(kind=apart, at=at, output=preview(text))
        else:
            self._append(kind=apart, at=at, text=shown(text), error=error, failed=failed)

    def _call(self, call: atif.ToolCall, at: str | None, output: str | None) -> None:
        ours = mapping(mapping(call.extra).get(_OURS))
        values = call_values(call.function_name, call.arguments, self._known)
        if not values.get("writes"):
            values["writes"] = tuple(_files(ours.get("writes")))
        if (kind := ours.get("kind")) in _CALLS:
            values["kind"] = kind
        code = count(ours.get("exit_code"))
        self._append(
            **values | {"skill": values.get("skill") or shown(ours.get("skill"), 200) or None},
            at=iso(ours.get("at")) if ours else at,
            exit_code=code,
            failed=ours.get("failed") is True or code not in (0, None),
            running=ours.get("running") is True,
            seconds=_seconds(ours.get("seconds")),
            output="" if output is None else preview(output),
            error=_error(ours.get("error")),
        )

    def _append(self, **values: Any) -> None:
        step = TraceStep(number=len(self.steps) + 1, line=1, turn=self._turn, **values)
        names = [step.skill, *(skill_of(path) for path in step.reads)]
        self._skills |= {name: None for name in names if name}
        self.steps.append(step)


def _text(content: str | Iterable[atif.ContentPart] | None) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return flat([part.text or f"[{part.type}]" for part in content])


def _tokens(metrics: atif.Metrics) -> Tokens | None:
    tokens = Tokens(
        input=count(metrics.prompt_tokens),
        cached_input=count(metrics.cached_tokens),
        output=count(metrics.completion_tokens),
        reasoning=count(mapping(metrics.extra).get("reasoning_tokens")),
    )
    return None if tokens == Tokens() else tokens


def _totals(final: atif.FinalMetrics) -> Tokens:
    return Tokens(
        input=count(final.total_prompt_tokens),
        cached_input=count(final.total_cached_tokens),
        output=count(final.total_completion_tokens),
        reasoning=count(mapping(final.extra).get("reasoning_tokens")),
    )


def _files(value: object) -> Iterable[WrittenFile]:
    for item in listing(value):
        one = mapping(item)
        if one.get("how") in _HOWS and isinstance(one.get("path"), str):
            yield WrittenFile(path=shown(one["path"], 1000), how=one["how"])


def _error(value: object) -> StepError | None:
    given = mapping(value)
    if not isinstance(given.get("message"), str):
        return None
    error = error_of(given["message"], status=given.get("status"))
    kinds = ("auth", "rate_limit", "model", "network", "limit", "denied", "other")
    kind = given.get("kind")
    return replace(
        error,
        kind=kind if kind in kinds else error.kind,
        retry_seconds=_seconds(given.get("retry_seconds")),
    )


def _seconds(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < float("inf") else None


def _names(value: object) -> tuple[str, ...]:
    return tuple(shown(name, 200) for name in listing(value) if isinstance(name, str))


def dumps(document: Mapping[str, Any]) -> bytes:
    """The document as a file's content."""
    return json.dumps(document, ensure_ascii=False, indent=1).encode("utf-8", "replace") + b"\n"
