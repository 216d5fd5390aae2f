"""Raw bytes at the gateway: whatever a client sends, the endpoint sees plain requests only."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from gateway_bench import HOST, InThread, body_of, raw_ask
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.gateway.ground import Recorded, model_server
from engine.gateway.keys import Secret

KEY = "sk-the-gateways-own-key-0123"
MARK = b"SMUGGLED"
BODY = json.dumps(body_of("messages")).encode()
PLAIN = json.dumps(body_of("messages"), separators=(",", ":")).encode()
KNOWN = {
    b"host", b"accept", b"accept-encoding", b"user-agent", b"content-type", b"content-length",
    b"x-api-key", b"anthropic-version", b"anthropic-beta",
}  # fmt: skip


LAST = b"HEAD /api/hello HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"


class Target:
    """A gateway in a thread before a recording server."""

    def __init__(self, gateway: InThread, recorded: Recorded) -> None:
        self.gateway, self.recorded = gateway, recorded

    def send(self, data: bytes) -> tuple[bytes, list[bytes]]:
        """What came back, and what reached the endpoint."""
        self.gateway.renew()
        self.recorded.requests.clear()
        # A last request after which the gateway closes, if it has not done so before.
        answer = raw_ask(self.gateway.folder, data + LAST, 5.0)
        return answer, list(self.recorded.requests)


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    recorded = Recorded()
    with model_server(recorded) as port:
        folder = tmp_path_factory.mktemp("gateway")
        gateway = InThread(folder, f"http://127.0.0.1:{port}", "messages", Secret(KEY))
        with contextlib.closing(gateway):
            yield Target(gateway, recorded)


def check_reached(request: bytes) -> None:
    """One request at the endpoint: made by us from first to last byte."""
    head, _, body = request.partition(b"\r\n\r\n")
    first, *fields = head.split(b"\r\n")
    assert first in (
        b"POST /v1/messages HTTP/1.1",
        b"POST /v1/messages?beta=true HTTP/1.1",
        b"GET /v1/models HTTP/1.1",
    )
    names = [field.partition(b":")[0].lower() for field in fields]
    assert set(names) <= KNOWN
    assert len(names) == len(set(names))
    assert b"x-api-key: " + KEY.encode() in fields
    assert MARK not in request
    if first.startswith(b"POST"):
        assert body == PLAIN


def post(*more: bytes, target: bytes = b"/v1/messages", body: bytes = BODY) -> bytes:
    fields = [b"Host: " + HOST.encode(), b"Content-Length: %d" % len(body), *more]
    return b"POST " + target + b" HTTP/1.1\r\n" + b"\r\n".join(fields) + b"\r\n\r\n" + body


def test_a_plain_request_passes_and_the_key_does_not_come_back(target: Target) -> None:
    answer, reached = target.send(post(b"x-api-key: dummy"))
    assert answer.startswith(b"HTTP/1.1 200")
    assert len(reached) == 1
    check_reached(reached[0])
    assert KEY.encode() not in answer
    assert b"[key]" in answer


SECOND = b"POST /v1/messages?x=" + MARK + b" HTTP/1.1\r\nHost: x\r\nX-" + MARK + b": 1\r\n\r\n"


@pytest.mark.parametrize(
    "data",
    [
        b"POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SECOND,
        b"POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: xchunked\r\n\r\n"
        b"0\r\n\r\n" + SECOND,
        b"POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n"
        b"Content-Length: 900\r\n\r\n" + SECOND,
        b"POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length : 5\r\n\r\n" + SECOND,
        b"POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nX: a\n\r\n" + SECOND,
        b"POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\n folded: " + MARK + b"\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"ffffffffffffffff1\r\n" + SECOND,
        b"POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"-1\r\n" + SECOND,
        b"POST http://example.org/v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\nHost: example.org\r\nContent-Length: 2\r\n\r\n{}",
        b"CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n" + SECOND,
        b"GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: h2c\r\n"
        b"Connection: Upgrade\r\n\r\n" + SECOND,
        b"GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 8\r\n\r\nSMUGGLED",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + SECOND,
        b"\x16\x03\x01\x02\x00\x01\x00" + MARK,
        b"GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"a" * 20_000 + b"\r\n\r\n",
        b"GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"A: b\r\n" * 500 + b"\r\n",
        b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    ],
)
def test_known_tricks_reach_nothing(target: Target, data: bytes) -> None:
    answer, reached = target.send(data)
    assert reached == []
    assert not answer or answer.split()[1] in (b"400", b"403", b"408", b"413", b"426")
    assert KEY.encode() not in answer


words = st.text(alphabet=st.characters(min_codepoint=33, max_codepoint=255), max_size=20).map(
    lambda text: text.encode("latin1")
)
FIELDS = st.one_of(
    st.builds(
        lambda name, value: name + b": " + value + MARK,
        st.sampled_from(
            [b"X-Evil", b"Cookie", b"Authorization", b"x-goog-api-key", b"Connection", b"TE",
             b"Trailer", b"Forwarded", b"X-Forwarded-Host", b"X-HTTP-Method-Override", b"Expect",
             b"Proxy-Authorization", b"Transfer-Encoding", b"Content-Encoding", b"Content-Length",
             b"Host", b"Upgrade", b"Content-Type", b"User-Agent", b"Accept", b"Keep-Alive"]
        ),
        words,
    ),
    st.sampled_from(
        [b"Transfer-Encoding: chunked", b"Content-Length: 3", b"Connection: keep-alive, x-api-key",
         b"anthropic-version: 2023-06-01", b"x-api-key: dummy", b"Expect: 100-continue",
         b" obs-fold", b"NoColon", b"X:\x00", b"X: a\rb", b"X: a\nX-" + MARK + b": 1"]
    ),
)  # fmt: skip
TARGETS = st.one_of(
    st.sampled_from(
        [b"/v1/messages", b"/v1/messages?beta=true", b"/v1/messages?beta=true&x=" + MARK,
         b"/v1/messages?" + MARK, b"//v1/messages", b"/v1/messages/../" + MARK,
         b"/v1/messages%0d%0aX:" + MARK, b"http://" + MARK + b"/v1/messages",
         b"/v1/messages#" + MARK]
    ),
    words.map(lambda word: b"/v1/messages" + word + MARK),
)  # fmt: skip
AFTER = st.sampled_from([b"", SECOND, MARK, b"\r\n" + SECOND, b"0\r\n\r\n" + SECOND])


@pytest.mark.parametrize("chunked", [True, False])
def test_what_stands_beside_a_good_request_is_left_behind(target: Target, chunked: bool) -> None:
    fields = [name + b": " + MARK for name in (b"X-Evil", b"Cookie", b"Authorization", b"X-Api-Key",
              b"X-Forwarded-For", b"Anthropic-Beta-X", b"Referer", b"Origin")]  # fmt: skip
    sent = post(*fields, target=b"/v1/messages?beta=true&x=" + MARK)
    if chunked:
        head, _, _ = sent.partition(b"\r\n\r\n")
        head = head.replace(b"Content-Length: %d" % len(BODY), b"Transfer-Encoding: chunked")
        sent = head + b"\r\n\r\n%x;%s\r\n" % (len(BODY), MARK) + BODY + b"\r\n0\r\n\r\n"
    answer, reached = target.send(sent + SECOND)
    assert answer.startswith(b"HTTP/1.1 200")
    assert len(reached) == 1
    check_reached(reached[0])


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(where=TARGETS, fields=st.lists(FIELDS, max_size=4), after=AFTER, chunked=st.booleans())
def test_nothing_of_the_clients_own_reaches_the_endpoint(
    target: Target, where: bytes, fields: list[bytes], after: bytes, chunked: bool
) -> None:
    if chunked:
        head = [b"Host: " + HOST.encode(), b"Transfer-Encoding: chunked", *fields]
        sent = b"POST " + where + b" HTTP/1.1\r\n" + b"\r\n".join(head) + b"\r\n\r\n"
        sent += b"%x;%s\r\n" % (len(BODY), MARK) + BODY + b"\r\n0\r\nX-" + MARK + b": 1\r\n\r\n"
    else:
        sent = post(*fields, target=where)
    answer, reached = target.send(sent + after)
    assert KEY.encode() not in answer
    assert len(reached) <= 1
    for request in reached:
        check_reached(request)


def test_a_body_that_never_ends_is_cut(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.gateway.proxy.BODY_MOST", 100_000)
    head = b"POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    target.gateway.renew()
    chunks = (b"4000\r\n" + b"x" * 0x4000 + b"\r\n") * 10
    assert raw_ask(target.gateway.folder, head + chunks).split()[1] == b"413"
    assert target.gateway._proxy._held == 0


def test_the_log_has_a_harmless_line_for_everything(target: Target, tmp_path: Path) -> None:
    target.send(b"POST /\x1b[31m HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    target.send(b"GET /v1/" + b"x" * 3000 + b"?secret=1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    hostile = json.dumps(body_of("messages", model="m" * 150)).encode()
    target.send(post(body=hostile))
    text = (target.gateway.folder / "egress.jsonl").read_text(encoding="ascii")
    lines = [json.loads(line) for line in text.splitlines()]
    assert lines
    assert all(line.isprintable() for line in text.splitlines())
    assert max(len(line) for line in text.splitlines()) < 1000
    assert "secret" not in text
    assert KEY not in text
    assert {line["allowed"] for line in lines} == {True, False}
    assert {"ts", "method", "host", "port", "path", "allowed", "status", "why"} <= set(lines[0])


def test_many_bodies_at_once_do_not_fill_the_memory(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.gateway.proxy.HELD_MOST", len(BODY) - 1)
    answer, reached = target.send(post())
    assert answer.split()[1] == b"503"
    assert reached == []
    monkeypatch.undo()
    answer, reached = target.send(post())
    assert answer.split()[1] == b"200"
    assert target.gateway._proxy._held == 0


def test_questions_that_cost_nothing_are_not_answered_for_ever(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.gateway.proxy._HELLOS", target.gateway._proxy._hellos)
    answer, _ = target.send(b"")
    assert answer.split()[1] == b"403"
