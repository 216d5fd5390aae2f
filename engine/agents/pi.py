"""Pi: an open agent for any endpoint; speaks all four APIs.

The one for local servers (Ollama, llama.cpp, vLLM), which speak chat completions. The endpoint is
described as a provider of our own: for its built-in ones it silently changes efforts and limits of
models that it does not know.
"""

from __future__ import annotations

from typing import Any, ClassVar

from engine.agents.interface import AgentRequest, Launch
from engine.agents.models import ADAPTIVE, claude_version, gemini_thinking
from engine.agents.program import EFFORTS, RETRIES, TOKEN, ProgramAgent, environment, json_file
from engine.gateway.interface import Api

_PROVIDERS: dict[Api, tuple[str, str]] = {
    "chat": ("openai-completions", "/v1"),
    "responses": ("openai-responses", "/v1"),
    "messages": ("anthropic-messages", ""),
    "generate": ("google-generative-ai", "/v1beta"),
}
"""API -> Pi's name of it, and what it has to be given of the API's path."""

_LONGEST_ANSWER: dict[Api, int] = {
    "chat": 8192,  # local servers reckon it against a small context
    "responses": 32_000,
    "messages": 32_000,
    "generate": 65_536,
}
"""Tokens."""
_IDLE_SECONDS = 600


class PiAgent(ProgramAgent):
    """See the module."""

    name: ClassVar[str] = "pi"
    title: ClassVar[str] = "Pi"
    skills_folder: ClassVar[str] = ".pi/skills"
    apis: ClassVar[tuple[Api, ...]] = ("chat", "responses", "messages", "generate")

    def launch(self, request: AgentRequest) -> Launch:
        """See `Agent.launch`."""
        model, gateway, api = self.checked(request)
        effort = self.effort(request, _efforts(model, api))
        kind, path = _PROVIDERS[api]
        provider = {
            "baseUrl": f"{gateway}{path}",
            "api": kind,
            "apiKey": TOKEN,
            "models": [_described(model, api, effort)],
        }
        settings = {
            "retry": {"enabled": True, "maxRetries": RETRIES},
            "httpIdleTimeoutMs": _IDLE_SECONDS * 1000,
            "enableInstallTelemetry": False,
            "enableAnalytics": False,
            "cacheWarming": "off",
        }
        arguments = ["-p", "--mode", "json", "--no-session", "--approve", "--offline"]
        arguments += ["--no-extensions", "--no-mcp", "--no-prompt-templates", "--no-themes"]
        arguments += ["--tools", "read,bash,edit,write"]
        arguments += ["--provider", "gateway", "--model", model, "--thinking", effort or "off"]
        return Launch(
            argv=self.argv(*arguments, "--", request.instruction),
            env=environment(PI_OFFLINE="1", PI_TELEMETRY="0"),
            home_files={
                ".pi/agent/models.json": json_file({"providers": {"gateway": provider}}),
                ".pi/agent/settings.json": json_file(settings),
            },
            model=model,
            reasoning_effort=effort,
        )


def _efforts(model: str, api: Api) -> tuple[str, ...]:
    """Efforts that reach the endpoint for this model."""
    if api == "generate":
        return tuple(gemini_thinking(model))
    if api == "messages":
        version = claude_version(model)
        if version is None or version > ADAPTIVE:
            return ("low", "medium", "high", "xhigh")
        if version == ADAPTIVE:
            return ("low", "medium", "high")
        return ("minimal", "low", "medium", "high")  # thinking tokens
    return EFFORTS


def _described(model: str, api: Api, effort: str | None) -> dict[str, Any]:
    """The model's entry in ``models.json``."""
    described: dict[str, Any] = {"id": model, "maxTokens": _LONGEST_ANSWER[api]}
    if effort is None:
        return described
    described["reasoning"] = True
    if api == "messages":
        version = claude_version(model)
        described["compat"] = {"forceAdaptiveThinking": version is None or version >= ADAPTIVE}
    if api != "generate":
        described["thinkingLevelMap"] = {effort: effort}
    if api == "chat":
        # Else it decides by the URL, which is the gateway's.
        described["compat"] = {"supportsReasoningEffort": True, "thinkingFormat": "openai"}
    return described
