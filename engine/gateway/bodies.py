"""What of a request's body may pass: the agent's own tools, and nothing that the provider would do.

A provider's tools (web search, code execution, files, connectors, fetching a URL) reach the world
around the sandbox. A body that offers one is refused and ends the run, also when the model never
called it: what it did afterwards could not be known. Fields that are not known here are left out
and named in the log; the body is written anew, so that no second reading of the same bytes is
possible (twice the same key, odd numbers).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from engine.gateway.interface import Api
from engine.gateway.routes import Forbidden, Kind


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


FIELDS: dict[Api, frozenset[str]] = {
    "responses": _names(
        "model input instructions tools tool_choice parallel_tool_calls max_tool_calls reasoning "
        "text temperature top_p top_logprobs max_output_tokens truncation stream stream_options "
        "store include metadata client_metadata user safety_identifier prompt_cache_key "
        "prompt_cache_retention service_tier context_management verbosity"
    ),
    "messages": _names(
        "model messages system max_tokens tools tool_choice metadata stop_sequences stream "
        "temperature top_p top_k thinking output_config output_format context_management "
        "cache_control service_tier inference_geo speed"
    ),
    "chat": _names(
        "model messages tools tool_choice parallel_tool_calls stream stream_options temperature "
        "top_p top_k min_p n stop max_tokens max_completion_tokens presence_penalty "
        "frequency_penalty repetition_penalty logit_bias logprobs top_logprobs seed "
        "response_format reasoning reasoning_effort verbosity user safety_identifier metadata "
        "store prompt_cache_key prompt_cache_retention service_tier prediction "
        "chat_template_kwargs enable_thinking thinking functions function_call"
    ),
    "generate": _names(
        "contents systemInstruction system_instruction tools toolConfig tool_config "
        "safetySettings safety_settings generationConfig generation_config labels "
        "generateContentRequest generate_content_request"
    ),
}
"""Top-level fields that are passed on."""

REFUSED: dict[Api, Mapping[str, str]] = {
    "responses": {
        "background": "answers in the background",
        "prompt": "prompts stored at the provider",
        "conversation": "conversations stored at the provider",
        "previous_response_id": "answers stored at the provider",
    },
    "messages": {
        "mcp_servers": "connectors of the provider",
        "container": "the provider's code execution",
    },
    "chat": {
        "web_search_options": "the provider's web search",
        "plugins": "the provider's plug-ins",
        "mcp_servers": "connectors of the provider",
        "search_parameters": "the provider's web search",
        "web_search": "the provider's web search",
        "compound_custom": "the provider's own tools",
    },
    "generate": {
        "cachedContent": "content stored at the provider",
        "cached_content": "content stored at the provider",
    },
}
"""Fields that would have the provider do or keep more than an answer; empty ones are left out."""

_LOCAL_TOOLS: dict[Api, frozenset[str]] = {
    "responses": frozenset({"function", "custom", "local_shell", "apply_patch"}),
    # A tool without a type is the agent's own.
    "messages": frozenset({"", "custom", "tool_search_tool_regex", "tool_search_tool_bm25"}),
    "chat": frozenset({"function", "custom"}),
    "generate": frozenset({"functionDeclarations", "function_declarations"}),
}
_LOCAL_DATED = re.compile(
    r"(bash|text_editor|memory|tool_search_tool_regex|tool_search_tool_bm25)_[0-9]{8}"
)
"""Tools of the Messages API that the agent runs itself."""

_WEB_MODELS = re.compile(r":online$|search-(preview|api)|deep-research|^(groq/)?compound|sonar")
"""Models that search the web by themselves."""
_CLOUD_MODELS = re.compile(r"[:-]cloud$")
"""Models that a server on this machine hands on to its maker's machines."""
_MODEL = re.compile(r"[!-~]{1,200}")

_REMOTE_BLOCKS = ("container_upload", "mcp_approval_response", "item_reference")
_DATA = re.compile(r"data:[a-z]+/[A-Za-z0-9.+-]+(;[A-Za-z0-9=.-]+)*;base64,", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Body:
    """A body that may pass."""

    data: bytes
    """What is sent."""
    model: str | None
    """The model asked for."""
    streams: bool
    """The answer is asked for as a stream."""
    dropped: tuple[str, ...]
    """Fields that were left out, at most ten."""


def _refuse(what: str) -> Forbidden:
    return Forbidden(
        400, "provider_tool", f"Not available here: {what}. Use the local tools.", ends=True
    )


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


def _no_constant(_: str) -> Any:
    raise ValueError


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError
    return value


def parse(raw: bytes) -> dict[str, Any]:
    """A JSON object that can be read in one way only.

    Raises:
        Forbidden: it is none.
    """
    try:
        document = json.loads(
            raw.decode("utf-8"),
            object_pairs_hook=_no_duplicates,
            parse_constant=_no_constant,
            parse_float=_finite,
        )
    except (ValueError, RecursionError):
        raise Forbidden(400, "body", "The request's body is no plain JSON.") from None
    if not isinstance(document, dict):
        raise Forbidden(400, "body", "The request's body is no JSON object.")
    return document


def check_body(
    api: Api, kind: Kind, raw: bytes, *, path_model: str | None, local_only: bool
) -> Body:
    """The body to send for the one that came.

    Args:
        api: what is spoken.
        kind: `model` or `count`.
        raw: as it came.
        path_model: the model that the path names.
        local_only: nothing may leave this machine.

    Raises:
        Forbidden: it asks for something of the provider's, or is malformed.
    """
    document = parse(raw)
    try:
        passed, dropped = _checked(api, document)
        model = path_model if api == "generate" else passed.get("model")
        _check_model(model, local_only=local_only)
        streams = passed.get("stream") is True
        if kind == "model":
            _complete(api, passed, streams=streams)
        data = json.dumps(passed, separators=(",", ":")).encode()
    except Forbidden:
        raise
    except Exception:
        # Whatever odd thing is in it, it is the agent's doing and no fault of ours.
        raise Forbidden(400, "body", "The request's body cannot be understood.") from None
    return Body(data=data, model=model, streams=streams, dropped=tuple(sorted(dropped)[:10]))


def _checked(api: Api, document: dict[str, Any]) -> tuple[dict[str, Any], set[str]]:
    for name, what in REFUSED[api].items():
        if document.get(name) not in (None, False, "", [], {}):
            raise _refuse(what)
    _check_tools(api, document.get("tools"))
    _check_choice(api, document.get("tool_choice"))
    _CONTENT[api](document)
    passed = {name: value for name, value in document.items() if name in FIELDS[api]}
    dropped = {name for name in document if name not in FIELDS[api]}
    for name in ("generateContentRequest", "generate_content_request"):
        if name in passed:
            inner = passed[name]
            if not isinstance(inner, dict):
                raise Forbidden(400, "body", "A request to count tokens holds no request.")
            _check_model(str(inner.get("model", "")).removeprefix("models/") or None)
            kept, more = _checked(api, {k: v for k, v in inner.items() if k != "model"})
            passed[name] = {**kept, **({"model": inner["model"]} if "model" in inner else {})}
            dropped |= more
    return passed, dropped


def _complete(api: Api, passed: dict[str, Any], *, streams: bool) -> None:
    """Nothing is kept at the provider; the tokens of a stream are told."""
    if api == "responses":
        passed["store"] = False
    if api == "chat":
        passed.pop("store", None)
        if streams:
            options = passed.get("stream_options")
            kept = options if isinstance(options, dict) else {}
            passed["stream_options"] = {**kept, "include_usage": True}


def _check_model(model: Any, *, local_only: bool = False) -> None:
    if model is None:
        return
    if not isinstance(model, str) or not _MODEL.fullmatch(model):
        raise Forbidden(400, "body", "The model's name cannot be used.")
    if _WEB_MODELS.search(model.lower()):
        raise _refuse("a model that searches the web")
    if local_only and _CLOUD_MODELS.search(model.lower()):
        raise Forbidden(400, "remote_model", "This model does not run on this machine.", ends=True)


# -- tools -----------------------------------------------------------------------------------


def _dicts(value: Any) -> Iterator[dict[str, Any]]:
    """The objects of a list; what is something else has no meaning in any of the APIs.

    Raises:
        Forbidden: there is something else.
    """
    if value is None:
        return
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise Forbidden(400, "body", "A list of objects is expected in this request.")
    yield from value


def _word(value: Any) -> str:
    """A short name for people: what is odd in it is left out."""
    return re.sub(r"[^A-Za-z0-9_.-]", "", str(value))[:60] or "a tool without a name"


def _check_tools(api: Api, tools: Any) -> None:
    for tool in _dicts(tools):
        if api == "generate":
            for name, value in tool.items():
                if name not in _LOCAL_TOOLS[api] and value is not None:
                    raise _refuse(f"the tool {_word(name)}")
            continue
        kind = tool.get("type") or ("" if api == "messages" else None)
        if api == "responses" and kind in ("namespace", "tool_search", "shell"):
            _check_wrapping_tool(tool, str(kind))
        elif not isinstance(kind, str) or (
            kind not in _LOCAL_TOOLS[api]
            and not (api == "messages" and _LOCAL_DATED.fullmatch(kind))
        ):
            raise _refuse(f"the tool {_word(kind or tool.get('name'))}")


def _check_wrapping_tool(tool: dict[str, Any], kind: str) -> None:
    if kind == "namespace":
        _check_tools("responses", tool.get("tools"))
    elif kind == "tool_search" and tool.get("execution") != "client":
        raise _refuse("the provider's tool search")
    elif kind == "shell":
        environment = tool.get("environment")
        if not isinstance(environment, dict) or environment.get("type") != "local":
            raise _refuse("the provider's shell")


def _check_choice(api: Api, choice: Any) -> None:
    """A choice may name the agent's tools only."""
    if not isinstance(choice, dict) or api in ("generate", "messages"):
        return
    allowed = choice.get("allowed_tools")
    inner = allowed.get("tools") if isinstance(allowed, dict) else None
    for each in (choice, *_dicts(choice.get("tools")), *_dicts(inner)):
        kind = each.get("type", "function")
        if not isinstance(kind, str) or kind not in _LOCAL_TOOLS[api] | {"allowed_tools", "shell"}:
            raise _refuse(f"the tool {_word(kind)}")


# -- content ---------------------------------------------------------------------------------


def _check_url(value: Any) -> None:
    url = value.get("url") if isinstance(value, dict) else value
    if url is not None and not (isinstance(url, str) and _DATA.match(url)):
        raise _refuse("content that the provider fetches from a URL")


def _check_parts(parts: Any) -> None:
    """Blocks of Responses, Messages and chat: nothing that is fetched or stored elsewhere."""
    if not isinstance(parts, list):
        return
    for part in parts:
        if not isinstance(part, dict):
            continue
        kind = part.get("type")
        if kind in _REMOTE_BLOCKS or part.get("file_id") or part.get("file_url"):
            raise _refuse("files stored at the provider or fetched from a URL")
        if kind in ("input_image", "image_url", "input_file", "file", "video_url", "audio_url"):
            for name in ("image_url", "file_url", "video_url", "audio_url"):
                _check_url(part.get(name))
            inner = part.get("file")
            if isinstance(inner, dict) and not inner.get("file_data"):
                raise _refuse("files stored at the provider")
        source = part.get("source")
        if isinstance(source, dict) and source.get("type") not in ("base64", "text", "content"):
            raise _refuse("content that the provider fetches from a URL")
        if isinstance(source, dict):
            _check_parts(source.get("content"))
        _check_parts(part.get("content"))
        _check_parts(part.get("output"))


def _check_responses(document: Mapping[str, Any]) -> None:
    items = document.get("input")
    if isinstance(items, str) or items is None:
        return
    for item in _dicts(items):
        if item.get("type") in ("additional_tools", "tool_search_output"):
            _check_tools("responses", item.get("tools"))
    _check_parts(items)
    _check_parts(document.get("instructions"))


def _check_messages(document: Mapping[str, Any]) -> None:
    _check_parts(document.get("system"))
    for message in _dicts(document.get("messages")):
        _check_parts([message])
    for tool in _dicts(document.get("tools")):
        if tool.get("type") == "mcp_toolset":
            raise _refuse("connectors of the provider")


def _check_chat(document: Mapping[str, Any]) -> None:
    for message in _dicts(document.get("messages")):
        _check_parts([message])


def _check_generate(document: Mapping[str, Any]) -> None:
    systems = [document.get("systemInstruction"), document.get("system_instruction")]
    contents: Iterable[Any] = [*_dicts(document.get("contents")), *systems]
    for content in contents:
        parts = content.get("parts") if isinstance(content, dict) else None
        for part in _dicts([parts] if isinstance(parts, dict) else parts):
            _check_generate_part(part)


def _check_generate_part(part: Mapping[str, Any]) -> None:
    for name in ("fileData", "file_data"):
        if part.get(name) is not None:
            raise _refuse("files stored at the provider or fetched from a URL")
    for name in ("functionResponse", "function_response"):
        response = part.get(name)
        if isinstance(response, dict):
            for inner in _dicts(response.get("parts")):
                _check_generate_part(inner)


_CONTENT = {
    "responses": _check_responses,
    "messages": _check_messages,
    "chat": _check_chat,
    "generate": _check_generate,
}
