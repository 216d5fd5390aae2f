"""Traces go to ATIF and back; documents of other programs are read, bad ones refused in words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.agents.traces import Trace, read_trace
from engine.agents.traces.atif import VERSION, dumps, from_atif, to_atif
from engine.base.errors import BadInput

TRACES = Path(__file__).parents[3] / "material" / "traces"
STREAMS = sorted(TRACES.glob("*.jsonl"))


def calls(trace: Trace) -> list[tuple[object, ...]]:
    return [
        (
            *(s.kind, s.tool or "-", s.command, s.exit_code, s.failed, s.seconds, s.at),
            *(s.skill, s.output, *((file.path, file.how) for file in s.writes)),
        )
        for s in trace.steps
        if s.kind in ("command", "file", "skill", "tool", "web")
    ]


def said(trace: Trace, kind: str) -> str:
    return "\n".join(step.text for step in trace.steps if step.kind == kind)


def test_there_and_back():
    for path in STREAMS:
        there_and_back(path)


def there_and_back(path: Path):
    trace = read_trace(path)
    document = to_atif(trace, agent="x", instruction="Write output.csv", run_id="r")
    back = from_atif(json.loads(dumps(document)))
    assert document["schema_version"] == VERSION
    assert document["steps"][0] == {"step_id": 1, "source": "user", "message": "Write output.csv"}
    assert calls(back) == calls(trace)
    for kind in ("message", "reasoning", "error", "retry", "end"):
        assert said(back, kind) == said(trace, kind)
    one, other = trace.summary, back.summary
    for name in (
        "counted",
        "turns",
        "models",
        "closing",
        "error",
        "last_message",
        "skills_offered",
        "skills_read",
        "commands",
        "failed_commands",
        "files_written",
    ):
        assert getattr(other, name) == getattr(one, name), name
    assert other.tokens == (one.tokens if one.counted else None)


def test_whole_outputs_come_from_the_raw_trace(tmp_path: Path):
    item = {"id": "a", "type": "command_execution", "command": "cat x", "exit_code": 0}
    item["aggregated_output"] = "y" * 20_000
    path = tmp_path / "trace.jsonl"
    path.write_text(json.dumps({"type": "item.completed", "item": item}) + "\n")
    trace = read_trace(path, "codex")
    short = to_atif(trace, agent="codex")["steps"][0]["observation"]["results"][0]["content"]
    whole = to_atif(trace, agent="codex", file=path)["steps"][0]["observation"]["results"][0]
    assert len(short) < 5000
    assert whole["content"] == "y" * 20_000


def test_a_document_of_another_program():
    trace = from_atif(
        {
            "schema_version": "ATIF-v1.4",
            "session_id": "s",
            "agent": {"name": "other", "version": "3", "model_name": "m"},
            "steps": [
                {"step_id": 1, "source": "user", "message": "Do it."},
                {
                    "step_id": 2,
                    "source": "agent",
                    "timestamp": "2026-01-01T00:00:00Z",
                    "message": "I look.",
                    "tool_calls": [
                        {
                            "tool_call_id": "c",
                            "function_name": "bash",
                            "arguments": {"command": "duckdb x.db -c 'SELECT 1' > out.csv"},
                        }
                    ],
                    "observation": {"results": [{"source_call_id": "c", "content": "1\x1b"}]},
                    "metrics": {"prompt_tokens": 10, "completion_tokens": 2},
                },
            ],
        }
    )
    command = trace.steps[-1]
    assert (command.kind, command.sql, command.output) == ("command", ("SELECT 1",), "1␛")
    assert [file.path for file in command.writes] == ["out.csv"]
    assert (trace.summary.turns, trace.summary.counted) == (1, False)


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ([], "no ATIF document"),
        ({"schema_version": "ATIF-v2.0"}, "no ATIF document"),
        ({"schema_version": VERSION}, "agent"),
        (
            {
                "schema_version": VERSION,
                "agent": {"name": "a", "version": "1"},
                "steps": [{"step_id": 5, "source": "user", "message": "secret words"}],
            },
            "sequential",
        ),
    ],
)
def test_bad_documents(document: object, words: str):
    with pytest.raises(BadInput, match=words) as caught:
        from_atif(document)
    assert "secret words" not in str(caught.value)
