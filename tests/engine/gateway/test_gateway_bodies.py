"""Which bodies pass: the agent's own tools, and nothing that the provider would do."""

from __future__ import annotations

import json
from typing import Any

import pytest
from gateway_bench import body_of
from hypothesis import given
from hypothesis import strategies as st

from engine.gateway.bodies import Body, _checked, check_body
from engine.gateway.interface import Api
from engine.gateway.routes import Forbidden, Kind

APIS: list[Api] = ["responses", "messages", "chat", "generate"]
PIXEL = "data:image/png;base64,iVBORw0KGgo="


def check(api: Api, body: Any, kind: Kind = "model", *, local_only: bool = False) -> Body:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return check_body(api, kind, raw, path_model="m", local_only=local_only)


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


LOCAL: list[tuple[Api, dict[str, Any]]] = [
    ("responses", {"tools": [{"type": "function", "name": "exec_command", "parameters": {}}]}),
    ("responses", {"tools": [{"type": "custom", "name": "apply_patch"}, {"type": "local_shell"}]}),
    ("responses", {"tools": [{"type": "shell", "environment": {"type": "local"}}]}),
    ("responses", {"tools": [{"type": "tool_search", "execution": "client"}]}),
    ("responses", {"tools": [{"type": "namespace", "tools": [{"type": "function"}]}]}),
    ("responses", {"input": [{"type": "additional_tools", "tools": [{"type": "custom"}]}]}),
    ("responses", {"tool_choice": {"type": "function", "name": "x"}}),
    ("responses", {"tool_choice": "auto", "background": False, "prompt": None}),
    ("responses", {"input": [user([{"type": "input_image", "image_url": PIXEL}])]}),
    ("responses", {"input": [{"type": "function_call", "arguments": '{"type":"web_search"}'}]}),
    ("messages", {"tools": [{"name": "Bash", "input_schema": {}}, {"type": "custom"}]}),
    ("messages", {"tools": [{"type": "bash_20250124", "name": "bash"}], "mcp_servers": []}),
    ("messages", {"tools": [{"type": "text_editor_20250728", "name": "x"}]}),
    ("messages", {"messages": [user([{"type": "image", "source": {"type": "base64"}}])]}),
    ("messages", {"messages": [{"role": "assistant", "content": [
        {"type": "tool_use", "input": {"source": {"type": "url"}, "file_id": "x"}}]}]}),
    ("chat", {"tools": [{"type": "function", "function": {"name": "bash"}}]}),
    ("chat", {"messages": [user([{"type": "image_url", "image_url": {"url": PIXEL}}])]}),
    ("generate", {"tools": [{"functionDeclarations": [{"name": "x"}]}]}),
    ("generate", {"contents": [{"parts": [{"inlineData": {"data": "AA"}}]}]}),
]  # fmt: skip

REMOTE: list[tuple[Api, dict[str, Any]]] = [
    *[
        ("responses", {"tools": [{"type": "function", "name": "x"}, {"type": kind}]})
        for kind in (
            "web_search", "web_search_preview", "web_search_2025_08_26", "code_interpreter", "mcp",
            "file_search", "computer_use_preview", "image_generation", "tool_search", "shell",
            "something_new", "Web_Search",
        )
    ],
    ("responses", {"tools": [{"name": "no type"}]}),
    ("responses", {"tools": [{"type": ["function"]}]}),
    ("responses", {"tools": [{"type": "shell", "environment": {"type": "container_auto"}}]}),
    ("responses", {"tools": [{"type": "namespace", "tools": [{"type": "mcp"}]}]}),
    ("responses", {"input": [{"type": "additional_tools", "tools": [{"type": "web_search"}]}]}),
    ("responses", {"input": [{"type": "additional_tools",
                              "tools": [{"type": "namespace", "tools": [{"type": "mcp"}]}]}]}),
    ("responses", {"input": [{"type": "tool_search_output", "tools": [{"type": "web_search"}]}]}),
    ("responses", {"tool_choice": {"type": "web_search"}}),
    ("responses", {"tool_choice": {"type": []}}),
    ("responses", {"tool_choice": {"type": "allowed_tools", "tools": [{"type": "mcp"}]}}),
    ("responses", {"background": True}),
    ("responses", {"prompt": {"id": "pmpt_1"}}),
    ("responses", {"previous_response_id": "resp_1"}),
    ("responses", {"conversation": "conv_1"}),
    ("responses", {"input": [user([{"type": "input_image", "image_url": "https://x.org/a"}])]}),
    ("responses", {"input": [user([{"type": "input_file", "file_url": "https://x.org/a"}])]}),
    ("responses", {"input": [user([{"type": "input_file", "file_id": "file-1"}])]}),
    ("responses", {"input": [{"type": "item_reference", "id": "x"}]}),
    ("responses", {"input": [{"type": "function_call_output", "output": [
        {"type": "input_image", "image_url": "http://127.0.0.1/x"}]}]}),
    *[
        ("messages", {"tools": [{"name": "x", "input_schema": {}}, {"type": kind, "name": "y"}]})
        for kind in (
            "web_search_20250305", "web_fetch_20250910", "code_execution_20250825", "mcp_toolset",
            "computer_20250124", "bash_20250124x", "something_new",
        )
    ],
    ("messages", {"mcp_servers": [{"type": "url", "url": "https://x.org"}]}),
    ("messages", {"container": {"skills": []}}),
    ("messages", {"messages": [user([{"type": "container_upload", "file_id": "x"}])]}),
    ("messages", {"messages": [user([{"type": "image", "source": {"type": "url"}}])]}),
    ("messages", {"messages": [user([{"type": "document",
                                      "source": {"type": "file", "file_id": "x"}}])]}),
    ("messages", {"messages": [user([{"type": "tool_result", "content": [
        {"type": "image", "source": {"type": "url", "url": "https://x.org"}}]}])]}),
    ("messages", {"system": [{"type": "document", "source": {"type": "url"}}]}),
    ("chat", {"web_search_options": {"search_context_size": "low"}}),
    ("chat", {"plugins": [{"id": "web"}]}),
    ("chat", {"tools": [{"type": "web_search"}]}),
    ("chat", {"tools": [{"type": "mcp", "server_url": "https://x.org"}]}),
    ("chat", {"messages": [user([{"type": "image_url", "image_url": {"url": "https://x.org"}}])]}),
    ("chat", {"messages": [user([{"type": "image_url", "image_url": {"url": "file:///etc"}}])]}),
    ("chat", {"messages": [user([{"type": "file", "file": {"file_id": "file-1"}}])]}),
    ("chat", {"model": "gpt-4o-search-preview"}),
    ("chat", {"model": "some/model:online"}),
    *[
        ("generate", {"tools": [{"functionDeclarations": []}, {kind: {}}]})
        for kind in ("googleSearch", "google_search", "urlContext", "url_context", "codeExecution",
                     "code_execution", "googleMaps", "fileSearch", "computerUse", "mcpServers",
                     "googleSearchRetrieval", "somethingNew")
    ],
    ("generate", {"cachedContent": "cachedContents/x"}),
    ("generate", {"contents": [{"parts": [{"fileData": {"fileUri": "https://x.org"}}]}]}),
    ("generate", {"contents": [{"parts": {"file_data": {"file_uri": "https://x.org"}}}]}),
    ("generate", {"contents": [{"parts": [{"functionResponse": {"parts": [
        {"fileData": {"fileUri": "gs://x"}}]}}]}]}),
    ("generate", {"generateContentRequest": {"tools": [{"googleSearch": {}}]}}),
]  # fmt: skip


@pytest.mark.parametrize(("api", "more"), LOCAL)
def test_the_agents_own_tools_pass(api: Api, more: dict[str, Any]) -> None:
    assert check(api, body_of(api, **more)).data


@pytest.mark.parametrize(("api", "more"), REMOTE)
def test_what_the_provider_would_do_ends_the_run(api: Api, more: dict[str, Any]) -> None:
    with pytest.raises(Forbidden) as refused:
        check(api, body_of(api, **more))
    assert (refused.value.status, refused.value.why, refused.value.ends) == (
        400,
        "provider_tool",
        True,
    )


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[]",
        b"\xff{}",
        b"{",
        b'{"a":NaN}',
        b'{"a":1e999}',
        b'{"tools":[],"tools":[]}',
        b'{"a":{"b":1,"b":2}}',
        b"[" * 100_000,
        b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"tools":"x"}',
        b'{"tools":[1]}',
        b'{"model":5,"messages":[],"input":"x"}',
    ],
)
def test_bodies_that_can_be_read_in_two_ways_or_none(api: Api, raw: bytes) -> None:
    if api == "generate" and b'"model":5' in raw:
        return  # there the path names the model
    with pytest.raises(Forbidden) as refused:
        check(api, raw)
    assert (refused.value.status, refused.value.why) == (400, "body")


def test_nothing_is_kept_at_the_provider_and_tokens_are_told() -> None:
    assert json.loads(check("responses", body_of("responses", store=True)).data)["store"] is False
    assert json.loads(check("responses", body_of("responses")).data)["store"] is False
    chat = json.loads(check("chat", body_of("chat", store=True, stream=True)).data)
    assert "store" not in chat
    assert chat["stream_options"] == {"include_usage": True}
    assert "stream_options" not in json.loads(check("chat", body_of("chat")).data)


def test_unknown_fields_are_left_out_and_named() -> None:
    body = check("messages", body_of("messages", new_feature={"x": 1}, **{"ev\nil": 1}))
    assert set(json.loads(body.data)) == {"model", "max_tokens", "messages"}
    assert body.dropped == ("ev\nil", "new_feature")


def test_a_model_that_a_local_server_hands_on_is_refused_where_nothing_may_leave() -> None:
    for name in ("gpt-oss:120b-cloud", "qwen3-coder:cloud"):
        assert check("chat", body_of("chat", model=name)).model == name
        with pytest.raises(Forbidden) as refused:
            check("chat", body_of("chat", model=name), local_only=True)
        assert (refused.value.why, refused.value.ends) == ("remote_model", True)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["type", "tools", "content", "source", "url", "parts", "allowed_tools", "environment",
             "file", "image_url", "output", "functionResponse", "role", "x"]
        ),
        inner,
        max_size=3,
    ),
    max_leaves=12,
)  # fmt: skip


@given(
    api=st.sampled_from(APIS),
    extra=st.dictionaries(
        st.sampled_from(
            ["tools", "messages", "input", "contents", "system", "tool_choice", "instructions",
             "stream_options", "systemInstruction", "generateContentRequest", "model", "x"]
        ),
        json_values,
        max_size=4,
    ),
)  # fmt: skip
def test_odd_shapes_are_passed_or_refused_but_never_break(api: Api, extra: dict[str, Any]) -> None:
    try:
        passed, _ = _checked(api, body_of(api, **extra))  # nothing but a refusal is caught here
    except Forbidden:
        return
    for tool in passed.get("tools") or []:
        assert api in ("messages", "generate") or tool.get("type") in ("function", "custom")
