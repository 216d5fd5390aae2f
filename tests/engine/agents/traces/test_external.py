"""What leaves the sandbox is found with its place; words alone are no find."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from engine.agents.traces import TraceSummary, trace_reader
from engine.agents.traces.external import (
    RULES,
    egress_finds,
    external_use,
    in_words,
    read_egress,
)

CASES = tomllib.loads((Path(__file__).parent / "commands.toml").read_text())["case"]


def claude(*calls: tuple[str, dict[str, object]]) -> list[bytes]:
    """A trace in which tools are called."""
    lines: list[dict[str, object]] = [{"type": "system", "subtype": "init", "session_id": "s-1"}]
    for number, (name, given) in enumerate(calls):
        block = {"type": "tool_use", "id": f"t{number}", "name": name, "input": given}
        lines.append({"type": "assistant", "message": {"id": f"m{number}", "content": [block]}})
    return [json.dumps(line).encode() + b"\n" for line in lines]


def finds(*calls: tuple[str, dict[str, object]], **more):
    reader = trace_reader("claude")
    reader.feed(b"".join(claude(*calls)))
    return external_use(reader.steps, reader.summary(), **more)


def test_commands():
    wrong = []
    for case in CASES:
        found = finds(("Bash", {"command": case["command"]}))
        if {finding.rule for finding in found} != ({case["rule"]} if "rule" in case else set()):
            wrong.append((case["command"], [finding.rule for finding in found]))
        for finding in found:
            assert finding.reason == "external_tool_use"
            assert finding.step is not None
            assert RULES[finding.rule] in in_words(finding)
    assert wrong == []


def test_the_list_is_long_enough():
    innocent = {case["command"] for case in CASES if "rule" not in case}
    guilty = {case["command"] for case in CASES if "rule" in case}
    assert len(innocent) >= 35
    assert len(guilty) >= 50


def test_places():
    found = finds(
        ("Bash", {"command": "ls"}),
        ("Write", {"file_path": "/job/get.py", "content": "import requests\n\nrequests.get(x)\n"}),
        ("Bash", {"command": "echo a\ncurl https://example.org"}),
        ("Bash", {"command": "python3 get.py"}),
    )
    places = [(f.rule, f.file, f.line, f.step) for f in found]
    assert places == [
        ("http_client", "get.py", 3, 3),
        ("http_client", "trace.jsonl", 4, 4),
        ("http_client", "get.py", 3, 5),
    ]


@pytest.mark.parametrize(
    ("agent", "line"),
    [
        ("claude", claude(("WebFetch", {"url": "https://example.org"}))[1]),
        ("claude", claude(("WebSearch", {"query": "sepsis"}))[1]),
        (
            "gemini",
            b'{"type":"tool_use","tool_name":"google_web_search","parameters":{"query":"x"}}',
        ),
        (
            "gemini",
            b'{"type":"tool_use","tool_name":"web_fetch","tool_id":"a","parameters":{"prompt":"x"}}',
        ),
        (
            "codex",
            b'{"type":"item.completed","item":{"id":"i","type":"web_search","query":"sepsis"}}',
        ),
    ],
)
def test_web_tools(agent: str, line: bytes):
    reader = trace_reader(agent)
    reader.feed(line + b"\n")
    assert [f.rule for f in external_use(reader.steps, reader.summary())] == ["web_tool"]


def test_what_a_command_gave_back_is_no_find():
    reader = trace_reader("codex")
    item = {
        "id": "i",
        "type": "command_execution",
        "command": "/bin/bash -lc 'cat notes.md'",
        "aggregated_output": "curl https://example.org\nimport requests; requests.get('x')\n",
        "exit_code": 0,
    }
    message = {"id": "j", "type": "agent_message", "text": "I could run curl https://example.org"}
    for one in (item, message):
        reader.feed(json.dumps({"type": "item.completed", "item": one}).encode() + b"\n")
    assert external_use(reader.steps, reader.summary()) == ()


def test_scripts_that_the_trace_does_not_show():
    found = finds(("Bash", {"command": "ls"}), files={"a/get.py": "import httpx\nhttpx.get(1)\n"})
    assert [(f.file, f.line, f.step) for f in found] == [("a/get.py", 2, None)]


@pytest.mark.parametrize(
    ("tool", "given", "found"),
    [
        ("Bash", {"command": "ls ~/.claude/projects"}, True),
        ("Bash", {"command": "cat ~/.claude/projects/*/*.jsonl"}, True),
        ("Read", {"file_path": "/tmp/home/.claude/projects/-job/other.jsonl"}, True),
        ("Read", {"file_path": "/root/.claude/CLAUDE.md"}, True),
        ("Read", {"file_path": "/home/ann/.claude/history.jsonl"}, True),
        ("Glob", {"pattern": "**/*.md", "path": "/tmp/home/.claude/projects/"}, True),
        ("Write", {"file_path": "/tmp/home/.claude/memory/x.md", "content": "x"}, True),
        ("Read", {"file_path": "/tmp/home/.claude/projects/-job/s-1/tool-results/a.txt"}, False),
        ("Write", {"file_path": "/tmp/home/.claude/projects/-job/memory/a.md"}, False),
        ("Read", {"file_path": "/root/.claude/projects/-job/memory/a.md"}, True),
        ("Read", {"file_path": "/job/.claude/skills/csv-writer/SKILL.md"}, False),
        ("Bash", {"command": "ls .claude/skills; cat CLAUDE.md"}, False),
        ("Bash", {"command": "echo claude projects memory"}, False),
    ],
)
def test_memory_of_other_claude_runs(tool: str, given: dict[str, object], found: bool):
    assert [f.reason for f in finds((tool, given))] == ["claude_memory_escape"] * found


def test_egress_log():
    log = (
        b'{"allowed": true, "host": "api"}\n{"allowed": false, "why": "path"}\n'
        b'{"allowed": false, "why": "other_host"}\nhalf a li\n'
        b'{"allowed": false, "why": "provider_tool"}\n{"allowed": false, "host": "x"}\n'
    )
    found = [(f.reason, f.line) for f in egress_finds(read_egress(log))]
    assert found == [
        ("disallowed_egress", 3),
        ("external_tool_use", 5),
        ("disallowed_egress", 6),
    ]


def test_steps_beyond_the_bound_are_told():
    summary = TraceSummary(form="claude", steps=3)
    assert [f.rule for f in external_use((), summary)] == ["unchecked"]
