"""Claude Code: Anthropic's agent; speaks the Messages API.

Everything is said on the command line and in the environment; there is no settings file.
"""

from __future__ import annotations

import json
from typing import ClassVar

from engine.agents.interface import AgentRequest, Launch
from engine.agents.models import claude_efforts
from engine.agents.program import RETRIES, TOKEN, ProgramAgent, environment
from engine.base.errors import UsageError
from engine.gateway.interface import Api

_TOOLS = "Bash,Read,Edit,Write,Skill"
"""No sub-agents, no web, no workflows."""

_ALIASES = ("opus", "sonnet", "haiku", "fable", "mythos", "best", "default", "opusplan", "inherit")
"""Names that the program turns into that of the newest model which it knows."""

_SWITCHES = (
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",  # telemetry, updates, flags, the greeting
    "DISABLE_AUTOUPDATER",
    "DISABLE_TELEMETRY",
    "DISABLE_ERROR_REPORTING",
    "CLAUDE_CODE_DISABLE_BUNDLED_SKILLS",
    "CLAUDE_CODE_DISABLE_CLAUDE_CODE_SKILL",
    "DISABLE_DOCTOR_COMMAND",  # offered as a skill
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY",
    # The model asked for, or none: no newer one for an old name, no other one when it is refused.
    "CLAUDE_CODE_DISABLE_LEGACY_MODEL_REMAP",
    "CLAUDE_CODE_DISABLE_MODEL_ACCESS_FALLBACK",
    "CLAUDE_CODE_DISABLE_REFUSAL_FALLBACK",
    "CLAUDE_ENABLE_BYTE_WATCHDOG",  # a stream that stalls has an end
    "IS_SANDBOX",
)
_STALL_SECONDS = 300
_SETTINGS = {"enabledPlugins": {"cc-plugin-plugin-authoring@builtin": False}}
"""A plugin of its own that offers a skill."""


class ClaudeAgent(ProgramAgent):
    """See the module."""

    name: ClassVar[str] = "claude"
    title: ClassVar[str] = "Claude Code"
    skills_folder: ClassVar[str] = ".claude/skills"
    apis: ClassVar[tuple[Api, ...]] = ("messages",)

    def launch(self, request: AgentRequest) -> Launch:
        """See `Agent.launch`."""
        model, gateway, _ = self.checked(request)
        if model.lower() in _ALIASES or "[" in model:
            raise UsageError(
                f"{model} is no model's own name: {self.title} would choose a model by itself.",
                todo="Name the model as the endpoint calls it, e.g. claude-opus-5-5.",
            )
        effort = self.effort(request, claude_efforts(model))
        arguments = ["-p", "--output-format", "stream-json", "--verbose", "--model", model]
        arguments += ["--dangerously-skip-permissions", "--tools", _TOOLS]
        arguments += ["--strict-mcp-config", "--no-session-persistence"]
        arguments += ["--settings", json.dumps(_SETTINGS)]
        if effort:
            arguments += ["--effort", effort]
        env = environment(
            ANTHROPIC_BASE_URL=gateway,
            ANTHROPIC_API_KEY=TOKEN,
            CLAUDE_CODE_MAX_RETRIES=str(RETRIES),
            CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS=str(_STALL_SECONDS * 1000),
            **dict.fromkeys(_SWITCHES, "1"),
        )
        return Launch(
            argv=self.argv(*arguments, "--", request.instruction),
            env=env,
            model=model,
            reasoning_effort=effort,
        )
