"""Gemini CLI: Google's agent; speaks generateContent.

Needs a settings file: from a base URL in the environment alone it concludes a kind of login that
it then refuses itself.
"""

from __future__ import annotations

from typing import Any, ClassVar

from engine.agents.interface import AgentRequest, Launch
from engine.agents.models import gemini_thinking
from engine.agents.program import RETRIES, TOKEN, ProgramAgent, environment, json_file
from engine.base.errors import UsageError
from engine.gateway.interface import Api

_TOOLS = (
    *("run_shell_command", "read_file", "write_file", "replace"),
    *("list_directory", "glob", "grep_search", "activate_skill"),
)
"""No sub-agents, no web, no memory of its own."""

_OWN_SKILLS = ("skill-creator", "antigravity-support")
"""Those that it brings along."""
_ALIASES = ("auto", "pro", "flash", "flash-lite", "auto-gemini-3", "auto-gemini-2.5")
_REPLACED = {
    "gemini-3-pro-preview": "gemini-3.1-pro-preview",
    "gemini-3-flash": "gemini-3.8-flash",
    "gemini-3.5-flash": "gemini-3.8-flash",
    "gemini-3.1-flash-lite": "gemini-3.5-flash-lite",
}
"""Names in whose place the program sends another one, whatever its settings say."""


class GeminiAgent(ProgramAgent):
    """See the module."""

    name: ClassVar[str] = "gemini"
    title: ClassVar[str] = "Gemini CLI"
    skills_folder: ClassVar[str] = ".gemini/skills"
    apis: ClassVar[tuple[Api, ...]] = ("generate",)

    def launch(self, request: AgentRequest) -> Launch:
        """See `Agent.launch`."""
        model, gateway, _ = self.checked(request)
        if model in _ALIASES:
            raise UsageError(
                f"{model} is no model's own name: {self.title} would choose a model by itself.",
                todo="Name the model as the endpoint calls it, e.g. gemini-2.5-pro.",
            )
        if model in _REPLACED:
            raise UsageError(
                f"{self.title} cannot ask for {model}: it asks for {_REPLACED[model]} instead.",
                todo=f"Name {_REPLACED[model]}, or choose the agent pi for {model}.",
            )
        thinking = gemini_thinking(model)
        effort = self.effort(request, tuple(thinking))
        arguments = ["-m", model, "--output-format", "stream-json", "--approval-mode", "yolo"]
        arguments += ["--skip-trust", "-p", request.instruction]
        return Launch(
            argv=self.argv(*arguments),
            env=environment(
                GOOGLE_GEMINI_BASE_URL=gateway,
                GEMINI_API_KEY=TOKEN,
                # Else it starts itself a second time, and that one outlives it.
                GEMINI_CLI_NO_RELAUNCH="true",
                GEMINI_TELEMETRY_ENABLED="false",
            ),
            home_files={
                ".gemini/settings.json": json_file(
                    _settings(model, dict(thinking[effort]) if effort else None)
                )
            },
            model=model,
            reasoning_effort=effort,
        )


def _settings(model: str, thinking: dict[str, Any] | None) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "general": {
            "enableAutoUpdate": False,
            "enableAutoUpdateNotification": False,
            "maxAttempts": RETRIES + 1,
        },
        "tools": {"core": list(_TOOLS)},
        "experimental": {"enableAgents": False, "extensionManagement": False},
        "hooksConfig": {"enabled": False},
        "skills": {"disabled": list(_OWN_SKILLS)},
    }
    if thinking:
        config = {"generateContentConfig": {"thinkingConfig": thinking}}
        override = {"match": {"model": model}, "modelConfig": config}
        settings["modelConfigs"] = {"customOverrides": [override]}
    return settings
