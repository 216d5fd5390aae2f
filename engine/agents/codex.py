"""Codex: OpenAI's agent; speaks the Responses API.

Everything is said on the command line; there is no settings file. A provider of our own is named,
since the built-in one ignores base URLs and tries a WebSocket first.
"""

from __future__ import annotations

from typing import ClassVar

from engine.agents.interface import AgentRequest, Launch
from engine.agents.program import RETRIES, TOKEN, ProgramAgent, environment
from engine.gateway.interface import Api

_OFF = (
    "analytics.enabled=false",
    "web_search=disabled",
    "skills.bundled.enabled=false",
    "agents.enabled=false",  # sub-agents, whatever the model's own entry says
)
_FEATURES_OFF = (
    "plugins",  # asks github.com
    "apps",  # asks chatgpt.com
    "goals",
    "image_generation",  # made at the provider's
    "skill_mcp_dependency_install",
    "unbounded_connection_retries",  # else it waits for ever when it cannot connect
)
_EFFORTS = ("low", "medium", "high", "xhigh")
"""Those of every model that it knows. None of them takes `minimal`."""


class CodexAgent(ProgramAgent):
    """See the module."""

    name: ClassVar[str] = "codex"
    title: ClassVar[str] = "Codex"
    skills_folder: ClassVar[str] = ".agents/skills"
    apis: ClassVar[tuple[Api, ...]] = ("responses",)

    def launch(self, request: AgentRequest) -> Launch:
        """See `Agent.launch`."""
        model, gateway, _ = self.checked(request)
        effort = self.effort(request, _EFFORTS)
        settings = [
            "model_provider=gateway",
            "model_providers.gateway.name=gateway",
            f"model_providers.gateway.base_url={gateway}/v1",
            "model_providers.gateway.wire_api=responses",
            "model_providers.gateway.env_key=M4_RUN_TOKEN",
            f"model_providers.gateway.request_max_retries={RETRIES}",
            f"model_providers.gateway.stream_max_retries={RETRIES}",
            *_OFF,
        ]
        if effort:
            settings.append(f"model_reasoning_effort={effort}")
        arguments = ["exec", "--json", "--skip-git-repo-check", "-s", "danger-full-access"]
        arguments += ["--ephemeral", "--strict-config", "-m", model]
        for setting in settings:
            arguments += ["-c", setting]
        for feature in _FEATURES_OFF:
            arguments += ["--disable", feature]
        return Launch(
            argv=self.argv(*arguments, "--", request.instruction),
            env=environment(M4_RUN_TOKEN=TOKEN),
            model=model,
            reasoning_effort=effort,
        )
