"""How a scripted model says one turn in each of the four model APIs, whole and as a stream.

Each ``*_turn`` gets the parsed request and a `Turn` and gives the events of a stream; each
``*_whole`` the one document of an answer that is not streamed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Event = tuple[str | None, Any]
"""Name of the server-sent event (None: only data) and what its data is (JSON-ready or a word)."""

SHELLS = (
    "exec_command",
    "shell_command",
    "bash",
    "Bash",
    "run_shell_command",
    "shell",
    "local_shell",
)
"""Names under which agents offer a shell, best first."""


@dataclass(frozen=True, kw_only=True)
class Tokens:
    """What one answer counts as."""

    input: int
    """Cached ones included."""
    cached: int
    output: int
    """Reasoning included."""
    reasoning: int


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One answer of the model, the API left aside."""

    number: int
    """Tool results that the request already held."""
    say: str = ""
    think: str = ""
    tool: str | None = None
    """The function it calls."""
    arguments: Mapping[str, Any] | str | None = None
    """Its arguments; plain text for a custom tool."""
    web: bool = False
    """It searched the web at the provider's."""
    refusal: bool = False
    """It ends as refused by the model."""
    tokens: Tokens | None = None

    @property
    def words(self) -> list[str]:
        """What it says, piece by piece."""
        return re.findall(r"\S+\s*", self.say)

    @property
    def arguments_text(self) -> str:
        """The arguments as the APIs carry them."""
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


def pieces(text: str, size: int = 20) -> list[str]:
    """`text` cut into pieces, as arguments are streamed."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def shell_call(name: str, command: str) -> Mapping[str, Any]:
    """The arguments with which the shell of that name runs `command`."""
    if name == "exec_command":
        return {"cmd": command}
    if name in ("shell", "local_shell"):
        return {"command": ["bash", "-lc", command]}
    if name in ("run_shell_command", "Bash"):
        return {"command": command, "description": "Run it"}
    return {"command": command}


# -- Responses -------------------------------------------------------------------------------


def responses_results(body: Mapping[str, Any]) -> int:
    """Tool results in the request."""
    items = body.get("input")
    kinds = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")
    return sum(item.get("type") in kinds for item in items) if isinstance(items, list) else 0


def responses_tools(body: Mapping[str, Any]) -> dict[str, Any]:
    """The tools on offer by name, those in `additional_tools` and namespaces included."""
    found: dict[str, Any] = {}

    def take(tools: list[Any]) -> None:
        for tool in tools:
            found[tool.get("name") or tool.get("type")] = tool
            take(tool.get("tools") or [])

    take(body.get("tools") or [])
    items = body.get("input")
    for item in items if isinstance(items, list) else []:
        if item.get("type") == "additional_tools":
            take(item.get("tools") or [])
    return found


def _responses_output(turn: Turn, custom: bool) -> list[dict[str, Any]]:
    n = turn.number
    out: list[dict[str, Any]] = []
    if turn.think:
        summary = [{"type": "summary_text", "text": turn.think}]
        out.append({"type": "reasoning", "id": f"rs_{n}", "summary": summary})
    if turn.web:
        query = {"type": "search", "query": "something"}
        call = {"type": "web_search_call", "id": f"ws_{n}", "status": "completed", "action": query}
        out.append(call)
    if turn.say:
        part = (
            {"type": "refusal", "refusal": turn.say}
            if turn.refusal
            else {"type": "output_text", "text": turn.say, "annotations": []}
        )
        message = {"type": "message", "id": f"msg_{n}", "role": "assistant"}
        out.append({**message, "status": "completed", "content": [part]})
    if turn.tool is not None:
        call = {"call_id": f"call_{n}", "name": turn.tool, "status": "completed"}
        if custom:
            given = {"type": "custom_tool_call", "id": f"ctc_{n}", "input": turn.arguments_text}
        else:
            given = {"type": "function_call", "id": f"fc_{n}", "arguments": turn.arguments_text}
        out.append({**given, **call})
    return out


def responses_whole(body: Mapping[str, Any], turn: Turn) -> dict[str, Any]:
    """The answer as one document."""
    custom = responses_tools(body).get(turn.tool or "", {}).get("type") == "custom"
    t = turn.tokens
    usage = t and {
        "input_tokens": t.input,
        "input_tokens_details": {"cached_tokens": t.cached},
        "output_tokens": t.output,
        "output_tokens_details": {"reasoning_tokens": t.reasoning},
        "total_tokens": t.input + t.output,
    }
    return {
        "id": f"resp_{turn.number}",
        "object": "response",
        "created_at": 1,
        "model": body.get("model"),
        "status": "completed",
        "output": _responses_output(turn, custom),
        "usage": usage,
    }


def responses_turn(body: Mapping[str, Any], turn: Turn) -> Iterator[Event]:
    """The answer as events."""
    whole = responses_whole(body, turn)

    def event(kind: str, **more: Any) -> Event:
        return kind, {"type": kind, **more}

    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    yield event("response.created", response=begun)
    for at, item in enumerate(whole["output"]):
        bare = {**item, "content": []} if item["type"] == "message" else item
        yield event("response.output_item.added", output_index=at, item=bare)
        if item["type"] == "message" and not turn.refusal:
            place = {"item_id": item["id"], "output_index": at, "content_index": 0}
            for word in turn.words:
                yield event("response.output_text.delta", delta=word, **place)
        yield event("response.output_item.done", output_index=at, item=item)
    yield event("response.completed", response=whole)


# -- Messages --------------------------------------------------------------------------------


def messages_results(body: Mapping[str, Any]) -> int:
    """Tool results in the request."""
    return sum(
        block.get("type") == "tool_result"
        for message in body["messages"]
        if message["role"] == "user" and isinstance(message["content"], list)
        for block in message["content"]
    )


def messages_tools(body: Mapping[str, Any]) -> dict[str, Any]:
    """The tools on offer by name."""
    return {tool["name"]: tool for tool in body.get("tools") or []}


def messages_whole(body: Mapping[str, Any], turn: Turn) -> dict[str, Any]:
    """The answer as one document."""
    n = turn.number
    content: list[dict[str, Any]] = []
    if turn.think:
        content.append({"type": "thinking", "thinking": turn.think, "signature": "AAAA"})
    if turn.web:
        asked = {"id": f"srvtoolu_{n}", "name": "web_search", "input": {"query": "something"}}
        content.append({"type": "server_tool_use", **asked})
    if turn.say:
        content.append({"type": "text", "text": turn.say})
    if turn.tool is not None:
        call = {"id": f"toolu_{n:024d}", "name": turn.tool, "input": turn.arguments}
        content.append({"type": "tool_use", **call})
    t = turn.tokens
    usage = t and {
        "input_tokens": t.input - t.cached,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": t.cached,
        "output_tokens": t.output,
    }
    reason = "refusal" if turn.refusal else "tool_use" if turn.tool is not None else "end_turn"
    return {
        "id": f"msg_{n:024d}",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": content,
        "stop_reason": reason,
        "stop_sequence": None,
        **({"usage": usage} if usage else {}),
    }


def messages_turn(body: Mapping[str, Any], turn: Turn) -> Iterator[Event]:
    """The answer as events."""
    whole = messages_whole(body, turn)

    def event(kind: str, **more: Any) -> Event:
        return kind, {"type": kind, **more}

    begun = {**whole, "content": [], "stop_reason": None}
    if "usage" in whole:
        begun["usage"] = {**whole["usage"], "output_tokens": 1}
    yield event("message_start", message=begun)
    for at, block in enumerate(whole["content"]):
        kind = block["type"]
        empty = {"text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}}
        bare = {**block, **empty.get(kind, {"input": {}})}
        yield event("content_block_start", index=at, content_block=bare)
        deltas: list[dict[str, Any]]
        if kind == "text":
            deltas = [{"type": "text_delta", "text": word} for word in turn.words]
        elif kind == "thinking":
            deltas = [
                {"type": "thinking_delta", "thinking": turn.think},
                {"type": "signature_delta", "signature": "AAAA"},
            ]
        else:
            parts = pieces(json.dumps(block["input"]))
            deltas = [{"type": "input_json_delta", "partial_json": part} for part in parts]
        for delta in deltas:
            yield event("content_block_delta", index=at, delta=delta)
        yield event("content_block_stop", index=at)
    end = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    counted = {"usage": {"output_tokens": turn.tokens.output}} if turn.tokens else {}
    yield event("message_delta", delta=end, **counted)
    yield event("message_stop")


# -- chat completions ------------------------------------------------------------------------


def chat_results(body: Mapping[str, Any]) -> int:
    """Tool results in the request."""
    return sum(message["role"] == "tool" for message in body["messages"])


def chat_tools(body: Mapping[str, Any]) -> dict[str, Any]:
    """The tools on offer by name."""
    return {tool["function"]["name"]: tool for tool in body.get("tools") or []}


def _chat_usage(turn: Turn) -> dict[str, Any] | None:
    t = turn.tokens
    return t and {
        "prompt_tokens": t.input,
        "completion_tokens": t.output,
        "total_tokens": t.input + t.output,
        "prompt_tokens_details": {"cached_tokens": t.cached},
        "completion_tokens_details": {"reasoning_tokens": t.reasoning},
    }


def _chat_reason(turn: Turn) -> str:
    return "content_filter" if turn.refusal else "tool_calls" if turn.tool is not None else "stop"


def chat_whole(body: Mapping[str, Any], turn: Turn) -> dict[str, Any]:
    """The answer as one document."""
    message: dict[str, Any] = {"role": "assistant", "content": turn.say}
    if turn.tool is not None:
        function = {"name": turn.tool, "arguments": turn.arguments_text}
        call = {"id": f"call_{turn.number}", "type": "function", "function": function}
        message["tool_calls"] = [call]
    choice = {"index": 0, "message": message, "finish_reason": _chat_reason(turn)}
    usage = _chat_usage(turn)
    return {
        "id": f"chatcmpl-{turn.number}",
        "object": "chat.completion",
        "created": 1,
        "model": body["model"],
        "choices": [choice],
        **({"usage": usage} if usage else {}),
    }


def chat_turn(body: Mapping[str, Any], turn: Turn) -> Iterator[Event]:
    """The answer as events; the usage only if it was asked for."""
    head = {
        "id": f"chatcmpl-{turn.number}",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": body["model"],
    }

    def chunk(delta: Mapping[str, Any], reason: str | None = None) -> Event:
        return None, {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}

    yield chunk({"role": "assistant", "content": ""})
    for word in turn.words:
        yield chunk({"content": word})
    if turn.tool is not None:
        named = {"name": turn.tool, "arguments": ""}
        call = {"index": 0, "id": f"call_{turn.number}", "type": "function", "function": named}
        yield chunk({"tool_calls": [call]})
        for piece in pieces(turn.arguments_text):
            yield chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
    yield chunk({}, _chat_reason(turn))
    usage = _chat_usage(turn)
    if usage and (body.get("stream_options") or {}).get("include_usage"):
        yield None, {**head, "choices": [], "usage": usage}
    yield None, "[DONE]"


# -- generateContent -------------------------------------------------------------------------


def generate_results(body: Mapping[str, Any]) -> int:
    """Tool results in the request."""
    return sum("functionResponse" in part for c in body["contents"] for part in c.get("parts", []))


def generate_tools(body: Mapping[str, Any]) -> dict[str, Any]:
    """The tools on offer by name."""
    return {
        function["name"]: function
        for tool in body.get("tools") or []
        for function in tool.get("functionDeclarations", [])
    }


def generate_turn(body: Mapping[str, Any], turn: Turn) -> Iterator[Event]:
    """The answer as events."""
    t = turn.tokens
    usage = t and {
        "promptTokenCount": t.input,
        "cachedContentTokenCount": t.cached,
        "candidatesTokenCount": t.output - t.reasoning,
        "thoughtsTokenCount": t.reasoning,
        "totalTokenCount": t.input + t.output,
    }

    def chunk(parts: list[dict[str, Any]], reason: str | None = None) -> Event:
        candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
        if reason:
            candidate["finishReason"] = reason
        if reason and turn.web:
            candidate["groundingMetadata"] = {"webSearchQueries": ["something"]}
        document = {"candidates": [candidate], "responseId": f"r{turn.number}"}
        return None, {**document, **({"usageMetadata": usage} if usage else {})}

    if turn.think:
        yield chunk([{"text": turn.think, "thought": True}])
    for word in turn.words:
        yield chunk([{"text": word}])
    if turn.tool is not None:
        call = {"name": turn.tool, "args": turn.arguments, "id": f"call_{turn.number}"}
        yield chunk([{"functionCall": call, "thoughtSignature": "AAAA"}], "STOP")
    else:
        yield chunk([{"text": ""}], "SAFETY" if turn.refusal else "STOP")


def generate_whole(body: Mapping[str, Any], turn: Turn) -> dict[str, Any]:
    """The answer as one document."""
    chunks = [data for _, data in generate_turn(body, turn)]
    last: dict[str, Any] = chunks[-1]
    parts = [part for c in chunks for part in c["candidates"][0]["content"]["parts"]]
    last["candidates"][0]["content"]["parts"] = parts
    return last
