"""Traces in the logs of Inspect (`.eval`): written and read with its own library.

That library is the extra ``inspect`` of this program, since it brings eighty packages with it. A
trace goes by way of its ATIF form: one log holds one sample, whose messages are the
trajectory's; what messages have no place for stands under our own name in the sample's metadata.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from engine.agents.traces.atif import from_atif
from engine.agents.traces.lines import listing, mapping, string
from engine.agents.traces.open import Trace
from engine.base.errors import MissingPrerequisite, UsageError, bad_file
from engine.base.files import writing

_OURS = "m4review"
_LARGEST = 1 << 30


def write_inspect(
    document: Mapping[str, Any], to: Path, *, task: str, reward: float | None = None
) -> None:
    """Write a trajectory as an Inspect log.

    Args:
        document: of `to_atif`.
        to: the file; its name ends in ``.eval``.
        task: the task's name.
        reward: the run's reward, as the sample's score.

    Raises:
        MissingPrerequisite: Inspect's library is not installed.
        UsageError: `to` is called otherwise.
        StorageFull: no room.
    """
    if to.suffix != ".eval":
        raise UsageError("An Inspect log's name ends in .eval.", todo="Name the file so.")
    log, model, scorer = (_library(name) for name in ("log", "model", "scorer"))
    agent = mapping(document.get("agent"))
    name = string(agent.get("model_name")) or "unknown"
    created = datetime.now(UTC).isoformat(timespec="seconds")
    steps = [mapping(step) for step in listing(document.get("steps"))]
    asked = next((string(s.get("message")) for s in steps if s.get("source") == "user"), "")
    sample = log.EvalSample(
        id=string(document.get("session_id")),
        epoch=1,
        input=asked,
        target="",
        messages=list(_messages(model, steps)),
        scores=None if reward is None else {"reward": scorer.Score(value=reward)},
        metadata={_OURS: dict(document)},
    )
    spec = log.EvalSpec(
        created=created,
        task=task,
        model=name,
        dataset=log.EvalDataset(name=task, samples=1),
        config=log.EvalConfig(),
        metadata={"agent": string(agent.get("name")), "version": string(agent.get("version"))},
    )
    with writing(to, "writing the trace") as part:
        # The library chooses the format by the name.
        named = part.with_name(f"{part.name}.eval")
        try:
            log.write_eval_log(
                log.EvalLog(status="success", eval=spec, samples=[sample]), str(named), "eval"
            )
            named.replace(part)
        finally:
            named.unlink(missing_ok=True)


def read_inspect(path: Path) -> tuple[Trace, ...]:
    """The samples of an Inspect log, ours or another program's, in order.

    Raises:
        MissingPrerequisite: Inspect's library is not installed.
        BadInput: it is no such log.
    """
    log = _library("log")
    if not path.is_file():
        raise bad_file(path, "There is no such file.", todo="Check the path.")
    if path.stat().st_size > _LARGEST:
        raise bad_file(path, "The log is larger than 1 GiB.", todo="Use a part of it.")
    try:
        found = log.read_eval_log(str(path))
    except Exception as error:  # the library raises what its parts raise
        raise bad_file(path, "This is no Inspect log that can be read.") from error
    return tuple(from_atif(_document(found, sample)) for sample in found.samples or ())


def _library(part: str) -> Any:
    try:
        return importlib.import_module(f"inspect_ai.{part}")
    except ImportError as error:
        raise MissingPrerequisite(
            "The library for Inspect's logs is not installed.",
            todo="Install it: pip install 'm4review[inspect]'.",
        ) from error


def _messages(model: Any, steps: list[Mapping[str, Any]]) -> Iterator[Any]:
    """The trajectory's steps as chat messages; what the harness said is told as the system."""
    tool = importlib.import_module("inspect_ai.tool")
    for step in steps:
        text = string(step.get("message"))
        source = step.get("source")
        if source == "user":
            yield model.ChatMessageUser(content=text)
        elif source == "system":
            yield model.ChatMessageSystem(content=text)
        else:
            thoughts = string(step.get("reasoning_content"))
            content = [model.ContentText(text=text)]
            if thoughts:
                content.insert(0, model.ContentReasoning(reasoning=thoughts))
            calls = [mapping(call) for call in listing(step.get("tool_calls"))]
            yield model.ChatMessageAssistant(
                content=content,
                tool_calls=[
                    tool.ToolCall(
                        id=string(call.get("tool_call_id")),
                        function=string(call.get("function_name")),
                        arguments=dict(mapping(call.get("arguments"))),
                    )
                    for call in calls
                ]
                or None,
            )
            names = {string(c.get("tool_call_id")): string(c.get("function_name")) for c in calls}
            for result in listing(mapping(step.get("observation")).get("results")):
                given = mapping(result)
                call_id = string(given.get("source_call_id"))
                yield model.ChatMessageTool(
                    content=string(given.get("content")),
                    tool_call_id=call_id,
                    function=names.get(call_id),
                )


def _document(found: Any, sample: Any) -> dict[str, Any]:
    """A sample as an ATIF document: our own where we wrote it, else made of its messages."""
    ours = mapping(mapping(sample.metadata).get(_OURS))
    if ours:
        return dict(ours)
    steps: list[dict[str, Any]] = []
    for message in sample.messages:
        if message.role == "tool":
            if steps and steps[-1]["source"] == "agent":
                results = steps[-1].setdefault("observation", {"results": []})["results"]
                results.append(
                    {"source_call_id": message.tool_call_id or "", "content": message.text}
                )
            continue
        source = {"assistant": "agent", "user": "user"}.get(message.role, "system")
        step: dict[str, Any] = {"source": source, "message": message.text}
        if message.role == "assistant":
            parts = message.content if isinstance(message.content, list) else []
            thoughts = [part.reasoning for part in parts if part.type == "reasoning"]
            step["reasoning_content"] = "\n".join(thoughts) or None
            if message.tool_calls:
                step["tool_calls"] = [
                    {
                        "tool_call_id": call.id,
                        "function_name": call.function,
                        "arguments": dict(call.arguments),
                    }
                    for call in message.tool_calls
                ]
        steps.append(step)
    for number, step in enumerate(steps, 1):
        step["step_id"] = number
    usage = list((sample.model_usage or {}).values())
    total = {
        "total_prompt_tokens": sum(one.input_tokens for one in usage),
        "total_completion_tokens": sum(one.output_tokens for one in usage),
    }
    return {
        "schema_version": "ATIF-v1.8",
        "session_id": str(sample.id),
        "agent": {"name": found.eval.task, "version": "unknown", "model_name": found.eval.model},
        "steps": steps,
        "final_metrics": total if usage else None,
    }
