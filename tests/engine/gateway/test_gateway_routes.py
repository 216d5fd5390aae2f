"""Which first lines and headers pass, and which never do."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.gateway.interface import Api
from engine.gateway.routes import (
    Forbidden,
    check_framing,
    check_target,
    passed_answer_headers,
    passed_headers,
)

APIS: list[Api] = ["responses", "messages", "chat", "generate"]
HOST = [(b"Host", b"127.0.0.1:18080")]


@pytest.mark.parametrize(
    ("api", "method", "target", "path", "query"),
    [
        ("responses", "POST", "/v1/responses", "/v1/responses", ""),
        ("responses", "GET", "/v1/models?client_version=1.2", "/v1/models", ""),
        ("messages", "POST", "/v1/messages?beta=true", "/v1/messages", "beta=true"),
        ("messages", "POST", "/v1/messages/count_tokens?beta=true&x=1", None, "beta=true"),
        ("messages", "HEAD", "/api/hello", "/api/hello", ""),
        ("messages", "GET", "/v1/models/claude-x:1", "/v1/models/claude-x:1", ""),
        ("chat", "POST", "/v1/chat/completions", "/v1/chat/completions", ""),
        ("generate", "POST", "/v1beta/models/g-3:streamGenerateContent?alt=sse", None, "alt=sse"),
        ("generate", "POST", "/v1beta/models/g-3:generateContent?key=abc&alt=sse", None, "alt=sse"),
        ("generate", "POST", "/v1beta/models/g-3:countTokens", None, ""),
        ("generate", "GET", "/v1beta/models", "/v1beta/models", ""),
    ],
)
def test_what_the_agents_ask_passes(
    api: Api, method: str, target: str, path: str | None, query: str
) -> None:
    passed = check_target(api, method, target, HOST)
    assert passed.path == (path or target.split("?", maxsplit=1)[0])
    assert passed.query == query


@pytest.mark.parametrize(
    ("api", "method", "target", "refusal"),
    [
        ("messages", "GET", "/v1/messages", (403, "path", False)),
        ("messages", "POST", "/v1/messages/", (403, "path", False)),
        ("messages", "POST", "//v1/messages", (403, "path", False)),
        ("messages", "POST", "/v1/./messages", (403, "path", False)),
        ("messages", "POST", "/v1/x/../messages", (403, "path", False)),
        ("messages", "POST", "/v1/%6dessages", (403, "path", False)),
        ("messages", "POST", "/v1/messages%2f..", (403, "path", False)),
        ("messages", "POST", "/v1/messages#x", (403, "path", False)),
        ("messages", "POST", "/v1/messages;x=1", (403, "path", False)),
        ("messages", "POST", "/V1/messages", (403, "path", False)),
        ("messages", "POST", "/v1/messages/batches", (403, "path", False)),
        ("messages", "POST", "/v1/files", (403, "path", False)),
        ("responses", "POST", "/v1/messages", (403, "path", False)),
        ("responses", "POST", "/v1/responses/compact", (403, "path", False)),
        ("responses", "GET", "/v1/responses", (426, "upgrade", False)),
        ("responses", "GET", "/v1/models/..", (403, "path", False)),
        ("generate", "POST", "/v1beta/models/g:batchGenerateContent", (403, "path", False)),
        ("generate", "POST", "/v1beta/models/a/b:generateContent", (403, "path", False)),
        ("generate", "POST", "/upload/v1beta/files", (403, "path", False)),
        ("chat", "OPTIONS", "*", (403, "path", False)),
        ("chat", "POST", "v1/chat/completions", (403, "path", False)),
        ("chat", "POST", "/v1/chat/completions\x00", (403, "path", False)),
        ("chat", "DELETE", "/v1/models/m", (403, "path", False)),
        ("chat", "CONNECT", "example.org:443", (403, "other_host", True)),
        ("chat", "POST", "http://example.org/v1/chat/completions", (403, "other_host", True)),
        ("chat", "POST", "https://127.0.0.1:18080/v1/chat/completions", (403, "other_host", True)),
    ],
)
def test_what_nobody_needs_does_not(
    api: Api, method: str, target: str, refusal: tuple[int, str, bool]
) -> None:
    with pytest.raises(Forbidden) as refused:
        check_target(api, method, target, HOST)
    assert (refused.value.status, refused.value.why, refused.value.ends) == refusal


@pytest.mark.parametrize(
    ("headers", "why", "ends"),
    [
        ([(b"Host", b"example.org")], "other_host", True),
        ([(b"Host", b"127.0.0.1"), (b"Host", b"example.org")], "other_host", True),
        ([(b"Host", b"127.0.0.1@example.org")], "other_host", True),
        ([(b"Host", b"127.0.0.1"), (b"host", b"127.0.0.1")], "framing", False),
        ([], "framing", False),
        ([*HOST, (b"Upgrade", b"websocket")], "upgrade", False),
    ],
)
def test_hosts_and_upgrades(headers: list[tuple[bytes, bytes]], why: str, ends: bool) -> None:
    with pytest.raises(Forbidden) as refused:
        check_target("messages", "POST", "/v1/messages", headers)
    assert (refused.value.why, refused.value.ends) == (why, ends)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([(b"Content-Length", b"1"), (b"Transfer-Encoding", b"chunked")], 400),
        ([(b"Content-Length", b"1"), (b"content-length", b"1")], 400),
        ([(b"Content-Length", b"+1")], 400),
        ([(b"Content-Length", b"0x1")], 400),
        ([(b"Transfer-Encoding", b"chunked, identity")], 400),
        ([(b"Transfer-Encoding", b"xchunked")], 400),
        ([(b"Transfer-Encoding", b"chunked"), (b"Transfer-Encoding", b"chunked")], 400),
        ([(b"Content-Encoding", b"gzip")], 415),
    ],
)
def test_ambiguous_lengths(headers: list[tuple[bytes, bytes]], status: int) -> None:
    with pytest.raises(Forbidden) as refused:
        check_framing(headers)
    assert refused.value.status == status
    check_framing([(b"Content-Length", b"12")])
    check_framing([(b"Transfer-Encoding", b"chunked"), (b"Content-Encoding", b"identity")])


@given(
    api=st.sampled_from(APIS),
    method=st.sampled_from(["GET", "POST", "HEAD", "PUT", "CONNECT", "OPTIONS"]),
    target=st.one_of(
        st.text(max_size=40),
        st.builds(
            "/{}{}{}".format,
            st.sampled_from(["v1/messages", "v1/responses", "v1beta/models/", "v1/models/"]),
            st.text(alphabet="/.%2eE:?#@\\;a=&\r\n \t", max_size=12),
            st.sampled_from(["", ":generateContent", "?beta=true", "?alt=sse"]),
        ),
    ),
)
def test_whatever_passes_is_a_plain_path_with_known_parameters(
    api: Api, method: str, target: str
) -> None:
    try:
        passed = check_target(api, method, target, HOST)
    except Forbidden:
        return
    assert re.fullmatch(r"/(v1|v1beta|api)(/[A-Za-z0-9_][A-Za-z0-9._:@-]*)+", passed.path)
    assert passed.query in ("", "beta=true", "alt=sse")
    assert target.startswith(passed.path)


ODD = st.text(alphabet=st.characters(codec="latin-1"), max_size=60).map(
    lambda text: text.encode("latin1")
)


@given(
    api=st.sampled_from(APIS),
    headers=st.lists(
        st.tuples(
            st.sampled_from(
                [b"Authorization", b"X-Api-Key", b"Cookie", b"X-Goog-Api-Key", b"X-Forwarded-For",
                 b"Accept", b"anthropic-beta", b"Anthropic-Version", b"OpenAI-Beta", b"Connection",
                 b"X-Stainless-OS", b"Proxy-Authorization"]
            ),
            st.one_of(ODD, st.sampled_from([b"mcp-client-2025", b"text/event-stream", b"a,b"])),
        ),
        max_size=12,
    ),
)  # fmt: skip
def test_headers_that_are_passed_are_few_and_plain(
    api: Api, headers: list[tuple[bytes, bytes]]
) -> None:
    kept = passed_headers(api, headers)
    assert set(kept) <= {"Accept", "anthropic-version", "anthropic-beta", "openai-beta"}
    for value in kept.values():
        assert re.fullmatch(r"[ -~]+", value)
    assert "mcp" not in kept.get("anthropic-beta", "")


def test_answers_tell_limits_but_no_cookies_or_accounts() -> None:
    kept = passed_answer_headers(
        [
            ("Content-Type", "text/event-stream"),
            ("Retry-After", "3"),
            ("anthropic-ratelimit-requests-reset", "2026-01-01T00:00:00Z"),
            ("x-ratelimit-remaining-tokens", "5"),
            ("Set-Cookie", "a=b"),
            ("anthropic-organization-id", "who"),
            ("openai-organization", "who"),
            ("Location", "http://example.org"),
            ("x-evil", "1"),
            ("request-id", "r\x00"),
        ]
    )
    assert [name.lower() for name, _ in kept] == [
        "content-type",
        "retry-after",
        "anthropic-ratelimit-requests-reset",
        "x-ratelimit-remaining-tokens",
    ]
