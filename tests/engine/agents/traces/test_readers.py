"""Real traces of every program in one form: steps, tokens, skills, failures, and hostile input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.agents.traces import (
    TIMES,
    Tokens,
    read_output,
    read_trace,
    sniff,
    trace_reader,
)

TRACES = Path(__file__).parents[3] / "material" / "traces"
SAMPLES = sorted(path for path in TRACES.iterdir() if path.suffix != ".md")
STREAMS = [path for path in SAMPLES if path.suffix == ".jsonl"]
BASIC = Tokens(input=2500, cached_input=300, output=41, reasoning=11)
EXPECTED = {
    # Name: form, tokens, turns; all of these are counted and end well.
    "claude-basic": ("claude", Tokens(input=2500, cached_input=300, output=41, reasoning=0), 2),
    "claude-permission-denied": (
        "claude",
        Tokens(input=2500, cached_input=300, output=41, reasoning=0),
        2,
    ),
    "claude-retry-429": ("claude", Tokens(input=2500, cached_input=300, output=41, reasoning=0), 2),
    "claude-tools": ("claude", Tokens(input=13500, cached_input=2100, output=135, reasoning=0), 6),
    "codex-basic": ("codex", BASIC, 2),
    "codex-unknown-model-retry-429": ("codex", BASIC, 2),
    "codex-tools": ("codex", Tokens(input=10000, cached_input=1500, output=110, reasoning=35), 5),
    "codex-rollout-excerpt": ("codex-rollout", BASIC, 1),
    "gemini-basic": ("gemini", Tokens(input=2500, cached_input=300, output=52, reasoning=11), 2),
    "gemini-basic-json": (
        "gemini",
        Tokens(input=2500, cached_input=300, output=52, reasoning=11),
        2,
    ),
    "gemini-tools": ("gemini", Tokens(input=13500, cached_input=2100, output=180, reasoning=45), 6),
    "pi-basic": ("pi", BASIC, 2),
    "pi-retry-429": ("pi", BASIC, 2),
    "pi-tools": ("pi", Tokens(input=10000, cached_input=1500, output=110, reasoning=35), 5),
}
NOT_COUNTED = {
    "claude-error-401": ("The model gave no answer.", "error"),
    "codex-error-401": ("The model gave no answer.", "error"),
    "gemini-error-401": ("The model gave no answer.", "error"),
    "pi-error-401": ("The model gave no answer.", "error"),
    "claude-killed-sigterm": (
        "The trace has no closing event: what was used last is not in it.",
        "missing",
    ),
}


def test_every_sample_is_expected():
    assert {path.stem for path in SAMPLES} == set(EXPECTED) | set(NOT_COUNTED)


def test_what_each_sample_comes_to():
    for path in SAMPLES:
        trace = read_trace(path)
        summary = trace.summary
        assert summary.unknown_events == {}, path.name
        assert summary.unreadable_lines == 0, path.name
        if path.stem in EXPECTED:
            form, tokens, turns = EXPECTED[path.stem]
            told = (summary.form, summary.tokens, summary.turns, summary.counted, summary.closing)
            assert told == (form, tokens, turns, True, "success"), path.name
            assert summary.last_message == "Done: output.csv is written.", path.name
            published = summary.published()
            assert published is not None
            assert published["input_tokens"] == tokens.input
        else:
            why, closing = NOT_COUNTED[path.stem]
            assert (summary.counted, summary.why_not, summary.closing) == (False, why, closing)
            assert summary.published() is None
        if "401" in path.stem:
            assert summary.error is not None
            assert (summary.error.kind, summary.error.status) == ("auth", 401), path.name
            assert summary.tokens is None, path.name
        if "429" in path.stem:
            assert any(
                step.kind in ("retry", "error") and step.error and step.error.kind == "rate_limit"
                for step in trace.steps
            ), path.name
        if path.suffix == ".jsonl" and "401" not in path.stem and "killed" not in path.stem:
            assert "output.csv" in summary.files_written, path.name


@pytest.mark.parametrize("name", ["claude", "codex", "gemini", "pi"])
def test_the_sample_with_tools(name: str):
    path = TRACES / f"{name}-tools.jsonl"
    trace = read_trace(path)
    assert trace.summary.skills_read == ("csv-writer",)
    assert trace.summary.files_written in (
        ("/job/notes.txt", "output.csv"),
        ("notes.txt", "output.csv"),
    )
    failing = next(step for step in trace.steps if step.command == "echo out; echo err >&2; exit 3")
    # Gemini's stream does not tell how a command ended.
    assert (failing.exit_code, failing.failed) == ((None, False) if name == "gemini" else (3, True))
    assert failing.output_ref is not None
    assert "out\nerr" in read_output(path, failing.output_ref)
    assert not any(step.running for step in trace.steps)
    assert [step.number for step in trace.steps] == list(range(1, len(trace.steps) + 1))
    if name == "claude":
        assert "csv-writer" in (trace.summary.skills_offered or ())
        assert trace.summary.version == "2.1.332"


def test_whose_trace_it_is_is_told_by_its_content():
    for path in SAMPLES:
        assert sniff(path.read_bytes()) == path.stem.split("-")[0] + (
            "-rollout" if "rollout" in path.stem else ""
        )
    assert sniff(b'{"at": "2026-01-01T00:00:00Z", "kind": "output"}') == "script"
    assert sniff(b"hello\n") is None


def test_arrival_times_are_taken_from_beside_the_trace(tmp_path: Path):
    source = TRACES / "codex-basic.jsonl"
    lines = source.read_bytes().splitlines()
    (tmp_path / "trace.jsonl").write_bytes(source.read_bytes())
    times = [f"2026-01-01T00:00:{second:02}.000Z" for second in range(len(lines))]
    (tmp_path / TIMES).write_text("\n".join(times) + "\n")
    trace = read_trace(tmp_path / "trace.jsonl", "codex")
    command = next(step for step in trace.steps if step.kind == "command")
    assert (command.at, command.seconds) == ("2026-01-01T00:00:03.000Z", 1.0)


def test_arrival_times_of_a_living_run():
    reader = trace_reader("codex")
    line = (TRACES / "codex-basic.jsonl").read_bytes().splitlines(keepends=True)[0]
    reader.feed(line[:20], at="2026-01-01T00:00:00Z")
    (step,) = reader.feed(line[20:], at="2026-01-01T02:00:01+02:00")
    assert step.at == "2026-01-01T00:00:01.000Z"


def test_a_command_is_told_when_it_begins_and_again_when_it_ends():
    reader = trace_reader("codex")
    told = [
        (step.number, step.running, step.exit_code)
        for line in (TRACES / "codex-basic.jsonl").read_bytes().splitlines(keepends=True)
        for step in reader.feed(line)
        if step.kind == "command"
    ]
    assert told == [(3, True, None), (3, False, 0)]


def test_counters_that_run_on_are_told_as_differences():
    reader = trace_reader("codex")
    for read, written in ((100, 10), (250, 30)):
        usage = {"input_tokens": read, "output_tokens": written}
        reader.feed(json.dumps({"type": "turn.completed", "usage": usage}).encode() + b"\n")
    usages = [step.tokens for step in reader.steps if step.kind == "usage"]
    assert [(one.input, one.output) for one in usages if one] == [(100, 10), (150, 20)]
    tokens = reader.summary().tokens
    assert tokens is not None
    assert (tokens.input, tokens.output) == (250, 30)


def test_zeros_are_not_shown_as_counts():
    for name in ("claude-basic", "codex-basic", "gemini-basic", "pi-basic"):
        text = (TRACES / f"{name}.jsonl").read_text()
        zeroed = [json.loads(line, parse_int=lambda _: 0) for line in text.splitlines()]
        reader = trace_reader(name.split("-")[0])
        reader.feed("".join(json.dumps(line) + "\n" for line in zeroed).encode())
        summary = reader.summary()
        assert (summary.counted, summary.tokens) == (False, None), name
        assert summary.why_not, name


def test_a_stream_of_an_unknown_version_is_not_counted():
    for name, version in (("codex", "2.0.1"), ("claude", "9.0"), ("gemini", "1.0.0"), ("pi", "7")):
        content = (TRACES / f"{name}-basic.jsonl").read_bytes().replace(b"2.1.332", b"9.0.1")
        reader = trace_reader(name, version=version)
        reader.feed(content)
        assert reader.summary().counted is False
        assert "not known" in (reader.summary().why_not or "")


def test_unknown_events_are_counted_and_kept():
    reader = trace_reader("codex")
    reader.feed(b'{"type":"thread.exploded"}\n' * 3 + b"no json\n[1]\n")
    summary = reader.summary()
    assert (summary.unknown_events, summary.unreadable_lines) == ({"thread.exploded": 3}, 2)
    assert [step.kind for step in reader.steps] == ["other"] * 3


def test_long_lines_and_control_characters():
    reader = trace_reader("codex")
    item = {
        "id": "a",
        "type": "command_execution",
        "command": "/bin/bash -lc 'echo \x1b[31m'",
        "aggregated_output": "\x1b[2J" + "x" * 300_000,
        "exit_code": 0,
    }
    reader.feed(json.dumps({"type": "item.completed", "item": item}).encode() + b"\n")
    (step,) = reader.steps
    assert step.command == "echo \x1b[31m"
    assert "\x1b" not in step.text + step.output
    assert len(step.output) < 5000


def test_prompted_skills_and_lists_of_pi():
    reader = trace_reader("pi")
    system = {"role": "system", "sections": {"skills": "<name>a</name> <name> b-c </name>"}}
    user = {"role": "user", "content": [{"type": "text", "text": '<skill name="a" x="y">…'}]}
    for message in (system, user):
        reader.feed(json.dumps({"type": "message_end", "message": message}).encode() + b"\n")
    summary = reader.summary()
    assert (summary.skills_offered, summary.skills_read) == (("a", "b-c"), ("a",))


def test_skills_on_offer_of_claude_are_those_listed_and_those_installed_as_commands():
    start = {"type": "system", "subtype": "init", "skills": ["a"], "slash_commands": ["b", "init"]}
    reader = trace_reader("claude", skills=("a", "b", "c"))
    reader.feed(json.dumps(start).encode() + b"\n")
    assert reader.summary().skills_offered == ("a", "b")


def test_a_skill_among_several_files_read_at_once():
    event = {
        "type": "tool_use",
        "tool_name": "read_many_files",
        "parameters": {"include": ["x.md", ".gemini/skills/a/SKILL.md"]},
    }
    reader = trace_reader("gemini")
    reader.feed(json.dumps(event).encode() + b"\n")
    assert reader.summary().skills_read == ("a",)


@pytest.mark.parametrize(
    ("command", "skills"),
    [
        ("cat .agents/skills/a/SKILL.md | head", ("a",)),
        ("cd .agents/skills/a && cat SKILL.md", ("a",)),
        ("cat .agents/skills/*/SKILL.md", ("a", "b")),
        ("for s in a b; do sed -n 1,9p /job/.codex/skills/a/SKILL.md; done", ("a",)),
        ("python3 -c \"print(open('.agents/skills/b/SKILL.md').read())\"", ("b",)),
        ("ls .agents/skills/a/SKILL.md; find . -name SKILL.md", ()),
        ("echo .agents/skills/a/SKILL.md", ()),
    ],
)
def test_skills_that_commands_read(command: str, skills: tuple[str, ...]):
    reader = trace_reader("codex", skills=("a", "b"))
    item = {"id": "i", "type": "command_execution", "command": command}
    reader.feed(json.dumps({"type": "item.started", "item": item}).encode() + b"\n")
    assert reader.summary().skills_read == skills


def test_the_trace_of_a_script():
    reader = trace_reader("script")
    lines = [
        {"at": "2026-01-01T00:00:00.000Z", "kind": "start", "text": "python3 script.py"},
        {"at": "2026-01-01T00:00:01.000Z", "kind": "output", "stream": "stdout", "text": "\x1bx"},
        {"at": "2026-01-01T00:00:02.000Z", "kind": "exit", "returncode": 3, "reason": "exited"},
    ]
    reader.feed(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    assert [(s.kind, s.output, s.data.get("stream")) for s in reader.steps] == [
        ("start", "", None),
        ("output", "␛x", "stdout"),
        ("end", "", None),
    ]
    summary = reader.summary()
    assert (summary.closing, summary.counted, summary.why_not) == (
        "error",
        False,
        "This agent asks no model.",
    )


# --- whatever comes


def fed(agent: str, data: bytes, cuts: list[int]):
    reader = trace_reader(agent)
    start = 0
    for cut in sorted(cuts):
        reader.feed(data[start:cut])
        start = max(start, cut)
    reader.feed(data[start:])
    reader.close()
    return reader


@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_any_cut_gives_the_same(data: st.DataObject):
    path = data.draw(st.sampled_from(STREAMS))
    content = path.read_bytes()
    cuts = data.draw(st.lists(st.integers(0, len(content)), max_size=8))
    agent = sniff(content) or "script"
    whole, pieces = fed(agent, content, []), fed(agent, content, cuts)
    assert (whole.steps, whole.summary()) == (pieces.steps, pieces.summary())


@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_a_cut_stream_never_counts_more(data: st.DataObject):
    path = data.draw(st.sampled_from(STREAMS))
    content = path.read_bytes()
    agent = sniff(content) or "script"
    whole = fed(agent, content, []).summary()
    cut = fed(agent, content[: data.draw(st.integers(0, len(content)))], []).summary()
    assert cut.turns <= whole.turns
    assert cut.steps <= whole.steps
    assert cut.closing in ("missing", whole.closing)
    if cut.tokens is not None:
        assert whole.tokens is not None
        assert (cut.tokens.input or 0) <= (whole.tokens.input or 0)
        assert (cut.tokens.output or 0) <= (whole.tokens.output or 0)


JUNK = st.one_of(
    st.binary(max_size=60).map(lambda raw: raw.replace(b"\n", b" ")),
    st.sampled_from([b"{", b"null", b"[1,2]", b"\xff\xfe", b"x" * 300_000, b"[" * 5000, b"{}"]),
)


@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_junk_between_the_lines_changes_no_count(data: st.DataObject):
    path = data.draw(st.sampled_from(STREAMS))
    lines = path.read_bytes().splitlines()
    agent = sniff(path.read_bytes()) or "script"
    whole = fed(agent, path.read_bytes(), []).summary()
    for junk in data.draw(st.lists(JUNK, max_size=4)):
        lines.insert(data.draw(st.integers(0, len(lines))), junk)
    summary = fed(agent, b"\n".join(lines) + b"\n", []).summary()
    assert (summary.tokens, summary.turns) == (whole.tokens, whole.turns)
    assert (summary.commands, summary.closing) == (whole.commands, whole.closing)


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=6,
)


def spoiled(value: object, draw, depth: int = 0) -> object:
    """A document in which some values are of another kind than they should be."""
    if depth > 1 and draw(st.integers(0, 5)) == 0:
        return draw(ANY)
    if isinstance(value, dict):
        return {key: spoiled(inner, draw, depth + 1) for key, inner in value.items()}
    if isinstance(value, list):
        return [spoiled(inner, draw, depth + 1) for inner in value]
    return value


@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_values_of_the_wrong_kind_never_raise(data: st.DataObject):
    path = data.draw(st.sampled_from(STREAMS))
    agent = sniff(path.read_bytes()) or "script"
    lines = data.draw(st.lists(st.sampled_from(path.read_bytes().splitlines()), max_size=4))
    reader = trace_reader(agent)
    for line in lines:
        document = spoiled(json.loads(line), data.draw)
        reader.feed(json.dumps(document).encode() + b"\n")
    reader.close()
    json.dumps(reader.summary().published())
    for step in reader.steps:
        step.text.encode()
        step.output.encode()
