"""Inspect's logs: there and back with its own library, and logs that it made itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from absence import absent

from engine.agents.traces import read_trace
from engine.agents.traces.atif import to_atif
from engine.agents.traces.inspect_log import read_inspect, write_inspect
from engine.base.errors import BadInput, MissingPrerequisite, UsageError

SAMPLES = Path(__file__).parents[3] / "material" / "traces"
STREAMS = sorted(SAMPLES.glob("*-tools.jsonl"))


@pytest.fixture(scope="module")
def library():
    try:
        import inspect_ai.log  # noqa: PLC0415 - thirteen seconds, here only
    except ImportError:
        absent("Inspect's library (the extra `inspect`)")
    return inspect_ai.log


@pytest.mark.slow
@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.stem)
def test_there_and_back(library, tmp_path: Path, path: Path):
    trace = read_trace(path, path.stem.split("-")[0])
    document = to_atif(trace, agent="tested", instruction="Do it.", file=path)
    write_inspect(document, tmp_path / "run.eval", task="some-task", reward=0.5)
    log = library.read_eval_log(str(tmp_path / "run.eval"))
    (sample,) = log.samples
    assert sample.scores["reward"].value == 0.5
    assert sample.input == "Do it."
    roles = [message.role for message in sample.messages]
    assert {"user", "assistant", "tool"} <= set(roles)
    (back,) = read_inspect(tmp_path / "run.eval")
    commands = [(s.command, s.exit_code, s.output) for s in trace.steps if s.kind == "command"]
    assert [
        (s.command, s.exit_code, s.output) for s in back.steps if s.kind == "command"
    ] == commands
    assert back.summary.tokens == trace.summary.tokens
    assert back.summary.skills_read == trace.summary.skills_read


@pytest.mark.slow
def test_a_log_of_another_program(library, tmp_path: Path):
    from inspect_ai.model import (  # noqa: PLC0415
        ChatMessageAssistant,
        ChatMessageTool,
        ChatMessageUser,
        ModelUsage,
    )
    from inspect_ai.tool import ToolCall  # noqa: PLC0415

    call = ToolCall(id="c1", function="bash", arguments={"command": "ls \x1b[2J/job"})
    sample = library.EvalSample(
        id=7, epoch=1, input="look", target="",
        messages=[
            ChatMessageUser(content="look"),
            ChatMessageAssistant(content="I look.", tool_calls=[call]),
            ChatMessageTool(content="output.csv", tool_call_id="c1", function="bash"),
            ChatMessageAssistant(content="Done."),
        ],
        model_usage={"m": ModelUsage(input_tokens=10, output_tokens=5, total_tokens=15)},
    )  # fmt: skip
    spec = library.EvalSpec(
        created="2026-01-01T00:00:00+00:00", task="t", model="m",
        dataset=library.EvalDataset(), config=library.EvalConfig(),
    )  # fmt: skip
    log = library.EvalLog(status="success", eval=spec, samples=[sample])
    library.write_eval_log(log, str(tmp_path / "other.eval"))
    (trace,) = read_inspect(tmp_path / "other.eval")
    (command,) = [step for step in trace.steps if step.kind == "command"]
    assert command.command.endswith("/job")
    assert "\x1b" not in command.text
    assert command.output == "output.csv"
    assert trace.summary.last_message == "Done."
    assert (trace.summary.tokens.input, trace.summary.tokens.output) == (10, 5)
    assert trace.summary.closing == "missing"


def test_what_is_no_log_is_refused(library, tmp_path: Path):
    (tmp_path / "no.eval").write_bytes(b"PK\x03\x04 nothing")
    with pytest.raises(BadInput, match="no Inspect log"):
        read_inspect(tmp_path / "no.eval")
    with pytest.raises(BadInput, match="no such file"):
        read_inspect(tmp_path / "absent.eval")
    with pytest.raises(UsageError, match=r"\.eval"):
        write_inspect({}, tmp_path / "run.json", task="t")


def test_without_the_library_it_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setitem(__import__("sys").modules, "inspect_ai.log", None)
    with pytest.raises(MissingPrerequisite, match="not installed") as error:
        read_inspect(tmp_path / "run.eval")
    assert "m4review[inspect]" in error.value.todo
