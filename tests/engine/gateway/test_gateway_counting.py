"""Tokens are counted from every API's answers, whole and streamed, however they are cut."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import model_speech as speech
import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_server import _encoded, tokens_of

from engine.gateway.counting import Counter, Tokens
from engine.gateway.interface import Api, Budget, Stopped
from engine.gateway.ledger import Ledger

TurnOf = Callable[[Mapping[str, Any], speech.Turn], Iterator[speech.Event]]
WholeOf = Callable[[Mapping[str, Any], speech.Turn], dict[str, Any]]
SPEECH: dict[Api, tuple[TurnOf, WholeOf]] = {
    "responses": (speech.responses_turn, speech.responses_whole),
    "messages": (speech.messages_turn, speech.messages_whole),
    "chat": (speech.chat_turn, speech.chat_whole),
    "generate": (speech.generate_turn, speech.generate_whole),
}
BODY = {"model": "m", "stream_options": {"include_usage": True}}


def turn(number: int = 3, *, usage: bool = True) -> speech.Turn:
    tokens = tokens_of(number) if usage else None
    return speech.Turn(
        number=number, say="some words", tool="bash", arguments={"a": 1}, tokens=tokens
    )


def expected(number: int = 3) -> Tokens:
    told = tokens_of(number)
    return Tokens(input=told.input, cached=told.cached, output=told.output)


@given(
    api=st.sampled_from(list(SPEECH)),
    cuts=st.lists(st.integers(0, 3000), max_size=6),
    crlf=st.booleans(),
)
def test_a_stream_however_it_is_cut(api: Api, cuts: list[int], crlf: bool) -> None:
    data = b"".join(_encoded(event) for event in SPEECH[api][0](BODY, turn()))
    if crlf:
        data = data.replace(b"\n", b"\r\n")
    counter = Counter(api, streamed=True)
    places = [0, *sorted(cuts), len(data)]
    for start, end in itertools.pairwise(places):
        counter.feed(data[start:end])
    assert counter.result() == expected()


@pytest.mark.parametrize("api", SPEECH)
def test_whole_answers_and_answers_without_counts(api: Api) -> None:
    counter = Counter(api, streamed=False)
    counter.feed(json.dumps(SPEECH[api][1](BODY, turn())).encode())
    assert counter.result() == expected()
    for streamed in (True, False):
        silent = Counter(api, streamed=streamed)
        for event in SPEECH[api][0](BODY, turn(usage=False)):
            silent.feed(_encoded(event))
        assert silent.result() is None


def test_a_stream_that_is_cut_still_tells_what_was_said_first() -> None:
    counter = Counter("messages", streamed=True)
    event = next(iter(speech.messages_turn(BODY, turn())))
    counter.feed(_encoded(event))
    found = counter.result()
    assert found is not None
    assert (found.input, found.output) == (tokens_of(3).input, 1)


def test_tokens_written_to_the_cache_are_tokens_in() -> None:
    counter = Counter("messages", streamed=False)
    usage = {
        "input_tokens": 5,
        "cache_creation_input_tokens": 70,
        "cache_read_input_tokens": 900,
        "output_tokens": 3,
    }
    counter.feed(json.dumps({"usage": usage}).encode())
    assert counter.result() == Tokens(input=975, cached=900, output=3)


def test_thoughts_are_tokens_out_and_an_unasked_list_of_chunks_is_read() -> None:
    counter = Counter("generate", streamed=False)
    usage = {"promptTokenCount": 5, "candidatesTokenCount": 2, "thoughtsTokenCount": 40}
    counter.feed(json.dumps([{}, {"usageMetadata": usage}]).encode())
    assert counter.result() == Tokens(input=5, cached=0, output=42)


@given(
    st.sampled_from(list(SPEECH)),
    st.booleans(),
    st.one_of(
        st.binary(max_size=200),
        st.dictionaries(
            st.sampled_from(["usage", "response", "message", "usageMetadata"]),
            st.one_of(
                st.none(),
                st.integers(),
                st.dictionaries(
                    st.sampled_from(
                        ["input_tokens", "output_tokens", "prompt_tokens", "promptTokenCount"]
                    ),
                    st.one_of(st.integers(), st.text(max_size=3), st.booleans(), st.floats()),
                ),
            ),
        ).map(lambda document: b"data: " + json.dumps(document).encode() + b"\n\n"),
    ),
)
def test_a_server_that_lies_breaks_nothing(api: Api, streamed: bool, data: bytes) -> None:
    counter = Counter(api, streamed=streamed)
    counter.feed(data)
    found = counter.result()
    assert found is None or 0 <= found.cached <= found.input <= 3 * 10**9


def test_a_line_without_an_end_is_not_kept_for_ever() -> None:
    counter = Counter("chat", streamed=True)
    for _ in range(40):
        counter.feed(b"x" * (1 << 20))
    assert len(counter._rest) <= 16 << 20


@pytest.mark.parametrize(
    ("budget", "kind"),
    [
        (Budget(requests=2), "requests"),
        (Budget(input_tokens=2000), "input_tokens"),
        (Budget(output_tokens=100), "output_tokens"),
        (Budget(bytes_out=25), "bytes_out"),
    ],
)
def test_each_budget_ends_a_run_by_its_name(budget: Budget, kind: str) -> None:
    ledger = Ledger(budget)
    ended: Stopped | None = None
    for number in range(10):  # noqa: B007
        ended = ledger.begin("m", 10) or ledger.end(
            Tokens(input=1001, cached=0, output=60), counted=True
        )
        if ended is not None:
            break
    assert ended is not None
    assert (ended.kind, ended.budget) == ("budget", kind)
    assert number <= 2


def test_a_used_up_budget_refuses_the_next_request_but_keeps_the_last_answer() -> None:
    ledger = Ledger(Budget(output_tokens=60))
    assert ledger.begin("m", 1) is None
    assert ledger.end(Tokens(input=1, cached=0, output=60), counted=True) is None
    ended = ledger.begin("m", 1)
    assert ended is not None
    assert ended.budget == "output_tokens"


def test_what_tells_no_count_is_counted_as_such() -> None:
    ledger = Ledger(Budget())
    for model in ("a", "b", "a"):
        ledger.begin(model, 1)
        ledger.end(None, counted=model == "a")
    assert (ledger.usage.requests, ledger.usage.uncounted) == (3, 2)
    assert ledger.usage.models == ("a", "b")


def test_who_tries_doors_for_ever_is_stopped() -> None:
    ledger = Ledger(Budget())
    ends = [ledger.refuse() for _ in range(501)]
    assert ends[:500] == [None] * 500
    assert ends[500] is not None
    assert ends[500].kind == "refused"


@pytest.mark.parametrize(
    ("api", "event", "status"),
    [
        ("messages", {"type": "error", "error": {"type": "overloaded_error"}}, 529),
        ("messages", {"type": "error", "error": {"type": "api_error"}}, 500),
        ("responses", {"type": "error", "code": "rate_limit_exceeded"}, 429),
        ("responses", {"type": "response.failed", "response": {"error": {"code": "x"}}}, 500),
        ("responses", {"type": "response.created", "response": {"error": None}}, None),
        ("chat", {"error": {"message": "no", "code": 503}}, 503),
        ("chat", {"choices": [{"delta": {"content": '{"error": {"code": 429}}'}}]}, None),
        ("generate", {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED"}}, 429),
        ("generate", {"error": {"code": True, "status": "UNAVAILABLE"}}, 500),
    ],
)
def test_an_error_within_a_stream_is_seen(api: Api, event: dict[str, Any], status: int | None):
    counter = Counter(api, streamed=True)
    counter.feed(b"data: " + json.dumps(event).encode() + b"\n\n")
    assert counter.failed == status
    whole = Counter(api, streamed=False)
    whole.feed(json.dumps(event).encode())
    whole.result()
    assert whole.failed is None  # a whole answer has its status
