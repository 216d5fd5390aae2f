"""The adapters of the installed programs: what they start, and what they refuse in words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.agents import AgentRequest, Launch, find_agent
from engine.base.errors import UsageError

GATEWAY = "http://127.0.0.1:18080"
PROGRAMS = ("codex", "claude", "gemini", "pi")
MODELS = {
    "codex": "gpt-5.5",
    "claude": "claude-opus-5-5",
    "gemini": "gemini-2.5-pro",
    "pi": "qwen3:8b",
}
INSTRUCTION = "# Task\n\nWrite `/job/output.csv`; $HOME, @file and 'quotes' stay as they are."


def launch(name: str, **fields: Any) -> Launch:
    asked = {"instruction": INSTRUCTION, "model": MODELS[name], "gateway": GATEWAY} | fields
    return find_agent(name).launch(AgentRequest(**asked))


def settings(made: Launch, path: str) -> Any:
    return json.loads(made.home_files[path])


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_is_called_in_its_place_and_knows_only_the_gateway(name):
    made = launch(name)
    assert made.argv[0] == f"/opt/agents/{name}/run"
    assert made.argv[-1] == INSTRUCTION
    everything = " ".join(
        [*made.argv[:-1], *made.env.values(), *(b.decode() for b in made.home_files.values())]
    )
    assert GATEWAY in everything
    assert [word for word in everything.split() if "://" in word and GATEWAY not in word] == []
    assert made.env["HOME"] == "/tmp/home"
    assert made.model == MODELS[name]
    assert made.reasoning_effort is None
    assert made.files == {}


@pytest.mark.parametrize("name", PROGRAMS)
def test_skills_lie_where_the_program_looks_for_them(name):
    folders = {
        "codex": ".agents/skills",
        "claude": ".claude/skills",
        "gemini": ".gemini/skills",
        "pi": ".pi/skills",
    }
    assert find_agent(name).skills_folder == folders[name]
    assert find_agent(name).program == name


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"model": None}, "name of a model"),
        ({"model": "-c"}, "cannot be a model's name"),
        ({"model": "a\nb"}, "cannot be a model's name"),
        ({"gateway": None}, "--endpoint"),
        ({"instruction": "x" * 200_000}, "longer than"),
        ({"reasoning_effort": "most"}, "no reasoning effort called most"),
    ],
)
def test_what_is_missing_or_wrong_is_said(name, fields, words):
    with pytest.raises(UsageError, match=words):
        launch(name, **fields)


@pytest.mark.parametrize(
    ("name", "wrong"), [("codex", "chat"), ("claude", "responses"), ("gemini", "messages")]
)
def test_an_endpoint_that_speaks_otherwise_is_refused(name, wrong):
    with pytest.raises(UsageError, match="cannot talk to this endpoint"):
        launch(name, api=wrong)


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("claude", "opus"),
        ("claude", "claude-opus-5-5[1m]"),
        ("gemini", "auto"),
        ("gemini", "gemini-3-pro-preview"),
    ],
)
def test_names_that_the_program_would_replace_are_refused(name, model):
    with pytest.raises(UsageError) as caught:
        launch(name, model=model)
    assert model in str(caught.value)
    assert caught.value.todo


@pytest.mark.parametrize(
    ("name", "model", "efforts"),
    [
        ("codex", "gpt-6.1-sol", "low medium high xhigh"),
        ("codex", "anything", "low medium high xhigh"),
        ("claude", "claude-3-5-haiku-latest", ""),
        ("claude", "claude-sonnet-4-5-20250929", ""),
        ("claude", "claude-sonnet-4-20250514", ""),
        ("claude", "claude-opus-4-1", ""),
        ("claude", "claude-opus-4-5-20251101", "low medium high"),
        ("claude", "claude-sonnet-4-6", "low medium high"),
        ("claude", "claude-opus-4-7", "low medium high xhigh"),
        ("claude", "claude-opus-5-5", "low medium high xhigh"),
        ("claude", "other", "low medium high xhigh"),
        ("gemini", "gemini-2.5-pro", "low medium high"),
        ("gemini", "gemini-3.1-pro-preview", "low medium high"),
        ("gemini", "gemini-3.8-flash", "minimal low medium high"),
        ("gemini", "gemma-4", ""),
        ("pi", "qwen3:8b", "minimal low medium high xhigh"),
    ],
)
def test_efforts_that_reach_the_model(name, model, efforts):
    for effort in ("minimal", "low", "medium", "high", "xhigh"):
        if effort in efforts.split():
            assert launch(name, model=model, reasoning_effort=effort).reasoning_effort == effort
        else:
            with pytest.raises(UsageError, match=f"reasoning effort {effort}"):
                launch(name, model=model, reasoning_effort=effort)


def test_codex_is_told_the_effort():
    argv = launch("codex", reasoning_effort="xhigh").argv
    assert argv[argv.index("model_reasoning_effort=xhigh") - 1] == "-c"


def test_claude_is_told_the_effort():
    argv = launch("claude", reasoning_effort="low").argv
    assert argv[argv.index("--effort") + 1] == "low"


@pytest.mark.parametrize(
    ("model", "thinking"),
    [
        ("gemini-2.5-flash", {"thinkingBudget": 24576}),
        ("gemini-3.1-pro-preview", {"thinkingLevel": "HIGH"}),
    ],
)
def test_gemini_is_told_the_effort_of_the_model(model, thinking):
    made = launch("gemini", model=model, reasoning_effort="high")
    [override] = settings(made, ".gemini/settings.json")["modelConfigs"]["customOverrides"]
    assert override["match"] == {"model": model}
    assert override["modelConfig"]["generateContentConfig"]["thinkingConfig"] == thinking
    assert "modelConfigs" not in settings(launch("gemini"), ".gemini/settings.json")


@pytest.mark.parametrize(
    ("api", "kind", "base"),
    [
        ("chat", "openai-completions", f"{GATEWAY}/v1"),
        ("responses", "openai-responses", f"{GATEWAY}/v1"),
        ("messages", "anthropic-messages", GATEWAY),
        ("generate", "google-generative-ai", f"{GATEWAY}/v1beta"),
    ],
)
def test_pi_speaks_every_api(api, kind, base):
    provider = settings(launch("pi", api=api), ".pi/agent/models.json")["providers"]["gateway"]
    assert (provider["api"], provider["baseUrl"]) == (kind, base)
    [model] = provider["models"]
    assert model["id"] == MODELS["pi"]
    assert "reasoning" not in model


def test_pi_thinks_only_when_asked_to():
    plain = launch("pi")
    assert plain.argv[plain.argv.index("--thinking") + 1] == "off"
    made = launch("pi", reasoning_effort="high")
    assert made.argv[made.argv.index("--thinking") + 1] == "high"
    [model] = settings(made, ".pi/agent/models.json")["providers"]["gateway"]["models"]
    assert model["reasoning"] is True
    assert model["thinkingLevelMap"] == {"high": "high"}


@pytest.mark.parametrize(
    ("model", "adaptive"), [("claude-sonnet-4-5", False), ("claude-opus-5-5", True)]
)
def test_pi_asks_old_claude_models_for_thinking_tokens(model, adaptive):
    made = launch("pi", api="messages", model=model, reasoning_effort="high")
    [entry] = settings(made, ".pi/agent/models.json")["providers"]["gateway"]["models"]
    assert entry["compat"]["forceAdaptiveThinking"] is adaptive


def test_a_gateways_slash_does_not_double():
    assert "//v1" not in " ".join(launch("codex", gateway=GATEWAY + "/").argv).replace("://", ":")
