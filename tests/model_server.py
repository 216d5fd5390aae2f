"""A scripted model on 127.0.0.1 that speaks the four model APIs to real agents and gateways.

::

    with ModelServer([
        Step(say="I look first.", command="ls"),              # calls the shell tool on offer
        Step(trouble=Trouble(status=429, retry_after=1, times=1), command="printf … > output.csv"),
        Step(say="Done."),                                     # no tool: the turn ends
    ]) as model:
        …  # model.url is the base URL; model.asked what came in

It keeps no conversation: the step is the number of tool results in the request (the last step for
ever after), so that retries and further conversations work. The shell is called by the name under
which the agent offers it. `tokens_of(n)` are the tokens that step n counts as.

A `gate` lets a test decide when each event goes out: the server waits for one ``release()`` per
event. What waits or hangs ends with the server.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import model_speech as speech
from aiohttp import web
from model_speech import Event, Tokens, Turn

Trick = Literal["hang", "cut", "stall", "drop", "garbage"]
"""Never answer; end the connection in the middle of the stream; stop in the middle and keep it
open; end the connection without an answer; answer what is no JSON."""


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """What goes wrong before a step is answered."""

    status: int | None = None
    """Answer with this error status."""
    trick: Trick | None = None
    """Or do this."""
    retry_after: int | None = None
    """Seconds, as ``Retry-After``."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """More headers of the error, e.g. when the limit is reset."""
    message: str = "The scripted model fails."
    """Words of the error."""
    times: int | None = None
    """How often, then the step is answered; None: always."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One answer of the model."""

    say: str = ""
    """Text."""
    think: str = ""
    """Reasoning."""
    command: str | None = None
    """Call the shell on offer with this command."""
    tool: str | None = None
    """Call this tool instead."""
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    """Its arguments."""
    web: bool = False
    """Say that the web was searched at the provider's."""
    refusal: bool = False
    """End as a refusal of the model."""
    trouble: Trouble | None = None
    """What goes wrong first."""
    usage: bool = True
    """Tell token counts."""
    gap: float = 0.0
    """Seconds between events."""
    gate: threading.Semaphore | None = None
    """Wait for a release before each event."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One request as it came."""

    method: str
    target: str
    """Path and query, raw."""
    headers: tuple[tuple[str, str], ...]
    """In order, names as sent."""
    body: Any
    """Parsed JSON, or bytes when it is none."""

    def header(self, name: str) -> str | None:
        """The value of the first header of that name."""
        found = [value for key, value in self.headers if key.lower() == name.lower()]
        return found[0] if found else None


def tokens_of(number: int) -> Tokens:
    """The tokens that step `number` (from 0) counts as."""
    return Tokens(
        input=1000 + 500 * number,
        cached=100 * (number + 1),
        output=25 + 2 * number,
        reasoning=5 + number,
    )


_API = {
    "responses": (
        speech.responses_results,
        speech.responses_tools,
        speech.responses_turn,
        speech.responses_whole,
    ),
    "messages": (
        speech.messages_results,
        speech.messages_tools,
        speech.messages_turn,
        speech.messages_whole,
    ),
    "chat": (speech.chat_results, speech.chat_tools, speech.chat_turn, speech.chat_whole),
    "generate": (
        speech.generate_results,
        speech.generate_tools,
        speech.generate_turn,
        speech.generate_whole,
    ),
}


def _api_of(path: str) -> str | None:
    if path.endswith((":generateContent", ":streamGenerateContent")):
        return "generate"
    ends = {"/responses": "responses", "/messages": "messages", "/chat/completions": "chat"}
    return next((api for end, api in ends.items() if path.endswith(end)), None)


class ModelServer:
    """See the module."""

    def __init__(self, steps: Sequence[Step] = (Step(say="Done."),)) -> None:
        self.steps = tuple(steps)
        self.asked: list[Asked] = []
        """All requests, in order of arrival."""
        self.url = ""
        """Base URL, once entered."""
        self.port = 0
        self._failed: dict[int, int] = {}
        self._came = threading.Condition()
        self._started: Future[None] = Future()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name="model")

    @property
    def bodies(self) -> list[Any]:
        """The JSON bodies of the requests to a model."""
        return [one.body for one in self.asked if isinstance(one.body, dict)]

    def wait_for(self, number: int, seconds: float = 30.0) -> None:
        """Wait until so many requests have come."""
        with self._came:
            assert self._came.wait_for(lambda: len(self.asked) >= number, seconds)

    def __enter__(self) -> Self:
        self._thread.start()
        self._started.result()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._loop is not None
        assert self._ended is not None
        self._loop.call_soon_threadsafe(self._ended.set)
        for step in self.steps:
            if step.gate is not None:
                step.gate.release(10_000)
        self._thread.join()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            if self._started.done():
                raise
            self._started.set_exception(error)

    async def _serve(self) -> None:
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        runner = web.ServerRunner(web.Server(self._answer), shutdown_timeout=0.1)  # type: ignore[arg-type]
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.port = runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._started.set_result(None)
        await self._ended.wait()
        await runner.cleanup()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        raw = b"".join([chunk async for chunk in request.content.iter_any()])
        try:
            body = json.loads(raw)
        except ValueError:
            body = raw
        headers = tuple((k.decode("latin1"), v.decode("latin1")) for k, v in request.raw_headers)
        target = request.raw_path
        with self._came:
            self.asked.append(
                Asked(method=request.method, target=target, headers=headers, body=body)
            )
            self._came.notify_all()
        path = target.split("?")[0]
        api = _api_of(path)
        if request.method == "POST" and api is not None and isinstance(body, dict):
            return await self._model(request, api, path, body)
        if path.endswith(("/messages/count_tokens", ":countTokens")):
            return web.json_response({"input_tokens": 123, "totalTokens": 123})
        if request.method == "GET" and path.endswith("/models"):
            model = {"id": "scripted", "object": "model", "created": 1, "owned_by": "nobody"}
            return web.json_response({"object": "list", "data": [model], "models": []})
        return web.json_response({"error": {"message": "not here"}}, status=404)

    async def _model(
        self, request: web.BaseRequest, api: str, path: str, body: dict[str, Any]
    ) -> web.StreamResponse:
        results, tools, turn_of, whole_of = _API[api]
        number = results(body)
        step = self.steps[min(number, len(self.steps) - 1)]
        trick = None
        if step.trouble is not None and self._goes_wrong(number, step.trouble):
            trick = step.trouble.trick
            if step.trouble.status is not None:
                return _error(api, step.trouble)
            if trick == "hang":
                assert self._ended is not None
                await self._ended.wait()
            if trick in ("drop", "hang"):
                if request.transport is not None:
                    request.transport.abort()
                return web.Response()
            if trick == "garbage":
                return web.Response(text="<html>no JSON</html>", content_type="text/html")
        turn = _turn(step, number, tools(body))
        streamed = ":streamGenerateContent" in path if api == "generate" else body.get("stream")
        if not streamed:
            return web.json_response(whole_of(body, turn))
        return await self._stream(request, step, list(turn_of(body, turn)), trick)

    def _goes_wrong(self, number: int, trouble: Trouble) -> bool:
        so_far = self._failed.get(number, 0)
        self._failed[number] = so_far + 1
        return trouble.times is None or so_far < trouble.times

    async def _stream(
        self, request: web.BaseRequest, step: Step, events: list[Event], trick: Trick | None
    ) -> web.StreamResponse:
        assert self._loop is not None
        assert self._ended is not None
        answer = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await answer.prepare(request)
        with contextlib.suppress(ConnectionError):  # some clients leave after the last event
            for at, event in enumerate(events):
                if step.gate is not None:
                    await self._loop.run_in_executor(None, step.gate.acquire)
                if step.gap:
                    await asyncio.sleep(step.gap)
                if trick in ("cut", "stall") and at == len(events) // 2:
                    if trick == "stall":
                        await self._ended.wait()
                    if request.transport is not None:
                        request.transport.abort()
                    return answer
                await answer.write(_encoded(event))
            await answer.write_eof()
        return answer


def _encoded(event: Event) -> bytes:
    name, data = event
    head = f"event: {name}\n" if name else ""
    text = data if isinstance(data, str) else json.dumps(data)
    return f"{head}data: {text}\n\n".encode()


def _turn(step: Step, number: int, tools: Mapping[str, Any]) -> Turn:
    tool, arguments = step.tool, step.arguments
    if step.command is not None and tool is None:
        offered = next((name for name in speech.SHELLS if name in tools), None)
        if offered is not None:
            tool, arguments = offered, speech.shell_call(offered, step.command)
        elif "exec" in tools:  # a tool that takes a program in JavaScript
            call = json.dumps({"cmd": step.command})
            tool = "exec"
            arguments = f"const r = await tools.exec_command({call}); text(r.output);"
    return Turn(
        number=number,
        # Without tools it is a question beside the work (a title, which model to take).
        say=step.say if tool or step.command is None else '{"title": "scripted"}',
        think=step.think,
        tool=tool,
        arguments=arguments if tool else None,
        web=step.web,
        refusal=step.refusal,
        tokens=tokens_of(number) if step.usage else None,
    )


_WORDS = {
    "messages": {
        400: "invalid_request_error",
        401: "authentication_error",
        403: "permission_error",
        429: "rate_limit_error",
        529: "overloaded_error",
    },
    "generate": {
        400: "INVALID_ARGUMENT",
        401: "UNAUTHENTICATED",
        403: "PERMISSION_DENIED",
        429: "RESOURCE_EXHAUSTED",
    },
}


def _error(api: str, trouble: Trouble) -> web.Response:
    status = trouble.status or 500
    word = _WORDS.get(api, {}).get(status)
    error: dict[str, Any]
    if api == "messages":
        inner = {"type": word or "api_error", "message": trouble.message}
        error = {"type": "error", "error": inner}
    elif api == "generate":
        error = {
            "error": {"code": status, "message": trouble.message, "status": word or "INTERNAL"}
        }
    else:
        error = {"error": {"message": trouble.message, "type": "error", "code": f"e{status}"}}
    headers = dict(trouble.headers)
    if trouble.retry_after is not None:
        headers["Retry-After"] = str(trouble.retry_after)
    return web.json_response(error, status=status, headers=headers)


@contextlib.contextmanager
def scripted(*steps: Step) -> Iterator[ModelServer]:
    """A `ModelServer` with these steps; without any it says one word."""
    with ModelServer(steps or (Step(say="Done."),)) as server:
        yield server
