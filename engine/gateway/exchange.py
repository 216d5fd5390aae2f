"""One request that is passed on, and its answer on the way back, byte by byte."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable

import aiohttp
from aiohttp import web

from engine.gateway.answers import error_document, last_event
from engine.gateway.bodies import Body
from engine.gateway.counting import Counter
from engine.gateway.egress import Line
from engine.gateway.interface import Api
from engine.gateway.redact import Redactor
from engine.gateway.routes import Passed, passed_answer_headers, passed_headers
from engine.gateway.upstream import NotThisMachine, Upstream

_DRAIN_SECONDS = 120.0
"""For how long an answer is still counted after the agent has left."""
_BAD_GATEWAY, _TIMEOUT, _UNAUTHORISED, _TOO_MANY, _OK = 502, 504, 401, 429, 200
_REDIRECTS = range(300, 400)


class Broken(Exception):
    """The endpoint did not answer as it should; `why` is for the log, `words` for the agent."""

    def __init__(self, status: int, why: str, words: str) -> None:
        super().__init__(words)
        self.status, self.why, self.words = status, why, words


def error_response(api: Api, status: int, words: str, *, final: bool) -> web.Response:
    """An error in the API's form; `final` ones say that asking again is of no use."""
    headers = {"Server": "gateway", **({"x-should-retry": "false"} if final else {})}
    document = error_document(api, status, words)
    response = web.json_response(document, status=status, headers=headers)
    response.force_close()
    return response


class Exchange:
    """One request that is passed on, and its answer."""

    def __init__(
        self,
        api: Api,
        upstream: Upstream,
        redactor: Callable[[], Redactor],
        *,
        request: web.BaseRequest,
        passed: Passed,
        body: Body | None,
        line: Line,
    ) -> None:
        self._api = api
        self._upstream = upstream
        self._redactor = redactor
        self._request = request
        self._passed = passed
        self._body = body
        self._line = line
        self._out: web.StreamResponse | None = None
        self._streams = False
        self._left = False
        self.asked = False
        """The endpoint got the request, as far as is known."""
        self.answered: int | None = None
        """The endpoint's status."""
        self.counter: Counter | None = None

    async def run(self) -> web.StreamResponse:
        """Pass it on.

        Raises:
            Broken: the endpoint cannot be reached, is silent, or ends in the middle.
        """
        passed, request = self._passed, self._request
        headers = passed_headers(self._api, request.raw_headers)
        data = self._body.data if self._body else None
        asking = self._upstream.ask(request.method, passed.path, passed.query, headers, data)
        try:
            async with asking as answer:
                self.asked = True
                return await self._pass_back(answer)
        except NotThisMachine:
            raise _elsewhere() from None
        except aiohttp.ClientSSLError:
            words = "The model's server has no certificate that is trusted here."
            raise Broken(_BAD_GATEWAY, "untrusted", words) from None
        except aiohttp.ClientConnectorError as error:
            if isinstance(error.os_error, NotThisMachine):
                raise _elsewhere() from None
            words = "The model's server cannot be reached."
            raise Broken(_BAD_GATEWAY, "unreachable", words) from None
        except (aiohttp.ConnectionTimeoutError, aiohttp.SocketTimeoutError, TimeoutError):
            self.asked = True
            raise Broken(_TIMEOUT, "silent", "The model's server does not answer.") from None
        except (aiohttp.ClientError, ConnectionError, ValueError):
            self.asked = True
            words = "The model's server broke the connection."
            raise Broken(_BAD_GATEWAY, "broken", words) from None

    async def _pass_back(self, answer: aiohttp.ClientResponse) -> web.StreamResponse:
        line = self._line
        self.answered = answer.status
        _note_limits(line, answer)
        if answer.status in _REDIRECTS or answer.status < _OK:
            raise Broken(_BAD_GATEWAY, "redirect", "The model's server sent a redirect.")
        if answer.status == _UNAUTHORISED:
            # Its own words may hold a part of the key.
            line.why = "key_refused"
            words = "The model's server refused the key."
            return await self.give_up(_UNAUTHORISED, words, final=True)
        self._streams = answer.content_type == "text/event-stream"
        if self._passed.kind == "model":
            self.counter = Counter(self._api, streamed=self._streams)
        self._out = out = web.StreamResponse(status=answer.status, headers={"Server": "gateway"})
        for name, value in passed_answer_headers(list(answer.headers.items())):
            out.headers.add(name, self._redacted(value))
        line.status = answer.status
        await self._write(None)
        redactor = self._redactor()
        drain_until: float | None = None
        async for data in answer.content.iter_any():
            line.bytes_in += len(data)
            if self.counter is not None:
                self.counter.feed(data)
            await self._write(redactor.feed(data))
            if self._left:
                now = asyncio.get_running_loop().time()
                drain_until = drain_until or now + _DRAIN_SECONDS
                if now > drain_until:
                    break
        await self._write(redactor.end())
        if not self._left:
            await self._end()
        return out

    def _redacted(self, text: str) -> str:
        redactor = self._redactor()
        return (redactor.feed(text.encode()) + redactor.end()).decode()

    async def _write(self, data: bytes | None) -> None:
        """To the agent (None: only the head); once it has left, the answer is only counted."""
        assert self._out is not None  # noqa: S101
        if self._left:
            return
        try:
            if data is None:
                await self._out.prepare(self._request)
            elif data:
                await self._out.write(data)
        except ConnectionError:
            self._left = True
            self._line.why = "left"

    async def _end(self) -> None:
        assert self._out is not None  # noqa: S101
        try:
            await self._out.write_eof()
        except ConnectionError:
            self._left = True

    async def give_up(self, status: int, words: str, *, final: bool) -> web.StreamResponse:
        """Answer with an error; in the middle of a stream, end it with one."""
        if self._out is None:
            self._line.status = status
            return error_response(self._api, status, words, final=final)
        if self._streams:
            await self._write(last_event(self._api, status, words, final=final))
            await self._end()
        transport = self._request.transport
        if transport is not None:
            transport.close()
        return self._out


def _elsewhere() -> Broken:
    words = "The model's server is not on this machine, and nothing else may be reached."
    return Broken(_BAD_GATEWAY, "not_local", words)


def _note_limits(line: Line, answer: aiohttp.ClientResponse) -> None:
    """What the endpoint says of its limits."""
    after = answer.headers.get("retry-after", "")
    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", after):
        line.retry_after = float(after)
    else:
        line.reset = after or None
    if answer.status == _TOO_MANY:
        for name, value in answer.headers.items():
            if "reset" in name.lower():
                line.reset = line.reset or value
