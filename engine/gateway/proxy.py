"""Answers the agent's requests: checks them, passes them on, counts, logs, ends the run.

Every request is answered, whatever happens to the endpoint: some agents wait for ever otherwise.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

from aiohttp import web

from engine.gateway.answers import FINAL
from engine.gateway.bodies import Body, check_body
from engine.gateway.egress import EgressLog, Line
from engine.gateway.exchange import Broken, Exchange, error_response
from engine.gateway.interface import Endpoint, Stopped
from engine.gateway.ledger import Ledger, spent
from engine.gateway.redact import Redactor
from engine.gateway.routes import Forbidden, Passed, check_framing, check_target, header
from engine.gateway.upstream import Upstream

BODY_MOST = 32 << 20
"""Bytes of a request's body."""
BODY_SECONDS = 60.0
"""In which a request's body has to be here."""
HELD_MOST = 128 << 20
"""Bytes of all bodies that are here at the same time."""
_HELLOS, _LAST_LINES = 1000, 100
"""Requests that are answered here; lines that are still logged once the run has ended."""
_OK, _FAULT = 200, 500


class Proxy:
    """The requests of one run.

    Args:
        endpoint: the only one.
        upstream: the connection to it.
        ledger: counts what is used.
        log: gets a line per request.
        on_stop: called once, when the run has to end.
        on_usage: called after each request.
        seconds: budget of time from the first request, or None.
        local_only: nothing may leave this machine.
        redactor: makes what takes the key out of an answer.
        body_seconds: in which a body has to be here.
        planted: secrets that no body may hold.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        upstream: Upstream,
        *,
        ledger: Ledger,
        log: EgressLog,
        on_stop: Callable[[Stopped], object],
        on_usage: Callable[[], object],
        seconds: float | None,
        local_only: bool,
        redactor: Callable[[], Redactor],
        body_seconds: float = BODY_SECONDS,
        planted: Sequence[str] = (),
    ) -> None:
        self._endpoint = endpoint
        self._api = endpoint.api
        self._upstream = upstream
        self._ledger = ledger
        self._log = log
        self._on_stop = on_stop
        self._on_usage = on_usage
        self._seconds = seconds
        self._local_only = local_only
        self._redactor = redactor
        self._body_seconds = body_seconds
        self._planted = tuple(word.encode() for word in planted)
        self._held = self._hellos = self._lines_after = 0
        self._timer: asyncio.TimerHandle | None = None
        self._stop_seen = asyncio.Event()
        self.stopped: Stopped | None = None
        """Why the run ends, once it does."""
        self.busy = 0
        """Requests that are being answered."""

    def stop(self, stopped: Stopped) -> None:
        """End the run: running requests are ended, later ones refused."""
        if self.stopped is None:
            self.stopped = stopped
            self._stop_seen.set()
            self._on_stop(stopped)

    def close(self) -> None:
        """Forget the clock."""
        if self._timer is not None:
            self._timer.cancel()

    def new_line(self, method: str, path: str) -> Line:
        """A line of the log for a request that begins."""
        return Line(method=method, host=self._upstream.host, port=self._upstream.port, path=path)

    def refused(self, line: Line, error: Forbidden) -> None:
        """A request is not passed on: count and log it."""
        line.status, line.why = error.status, error.why
        stopped = self._ledger.refuse()
        if error.ends:
            stopped = Stopped("refused", f"The agent asked for something forbidden: {error.words}")
        self._write(line)
        if stopped is not None:
            self.stop(stopped)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        begun = time.monotonic()
        line = self.new_line(request.method, request.raw_path)
        self.busy += 1
        try:
            return await self._handle(request, line, begun)
        except Forbidden as error:
            if error.why == "other_host":
                hosts = header(request.raw_headers, b"host")
                line.host = hosts[0].decode("latin1") if hosts else ""
            line.seconds = time.monotonic() - begun
            self.refused(line, error)
            final = self.stopped is not None
            return error_response(self._api, error.status, error.words, final=final)
        except asyncio.CancelledError:  # the gateway is closed
            line.why, line.seconds = "closed", time.monotonic() - begun
            self._write(line)
            raise
        except Exception as error:  # ours: never the agent's fault
            self.stop(Stopped("fault", f"The gateway failed ({type(error).__name__})."))
            line.why, line.seconds = "fault", time.monotonic() - begun
            self._write(line)
            return error_response(self._api, _FAULT, "The gateway failed.", final=True)
        finally:
            self.busy -= 1

    async def _handle(
        self, request: web.BaseRequest, line: Line, begun: float
    ) -> web.StreamResponse:
        headers = request.raw_headers
        if self.stopped is not None:
            raise Forbidden(FINAL[self._api], "ended", self.stopped.detail)
        check_framing(headers)
        passed = check_target(self._api, request.method, request.raw_path, headers)
        line.model = passed.model
        if request.method != "POST" and request.body_exists:
            raise Forbidden(400, "framing", "This request must not have a body.")
        if passed.kind == "hello":
            self._hellos += 1
            if self._hellos > _HELLOS:
                raise Forbidden(403, "path", "This was asked often enough.")
            line.allowed, line.status, line.why = True, _OK, "local"
            line.seconds = time.monotonic() - begun
            self._write(line)
            return web.Response()
        raw = await self._body(request) if request.method == "POST" else None
        try:
            body = None if raw is None else self._checked(passed, raw)
            if body is not None:
                line.model, line.dropped = body.model, body.dropped
            size = len(body.data) if body else 0
            if (end := self._ledger.begin(line.model, size)) is not None:
                self.stop(end)
                raise Forbidden(FINAL[self._api], "budget", end.detail)
            line.allowed, line.bytes_out = True, size
            self._start_clock()
            return await self._forward(request, passed, body, line, begun)
        finally:
            self._held -= len(raw or b"")

    def _checked(self, passed: Passed, raw: bytes) -> Body:
        self._check_planted(raw)
        only = self._local_only
        kind, model = passed.kind, passed.model
        body = check_body(self._api, kind, raw, path_model=model, local_only=only)
        self._check_planted(body.data)  # written anew: no escapes hide a letter
        return body

    def _check_planted(self, data: bytes) -> None:
        if any(word in data for word in self._planted):
            words = "A secret that was planted out of the agent's reach."
            raise Forbidden(403, "planted", words, ends=True)

    def _start_clock(self) -> None:
        if self._seconds is not None and self._timer is None:
            end = spent("seconds", self._seconds)
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._seconds, self.stop, end)

    async def _body(self, request: web.BaseRequest) -> bytes:
        """The whole body, in time and of a bearable size."""
        self._check_size(request.content_length or 0)
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self._body_seconds):
                async for part in request.content.iter_any():
                    size += len(part)
                    self._held += len(part)
                    self._check_size(size)
                    parts.append(part)
        except BaseException as error:
            self._held -= size
            if isinstance(error, TimeoutError):
                words = "The request's body did not come in time."
                raise Forbidden(408, "too_slow", words) from None
            if isinstance(error, Forbidden) or not isinstance(error, Exception):
                raise
            raise Forbidden(400, "framing", "The request's body cannot be read.") from None
        return b"".join(parts)

    def _check_size(self, size: int) -> None:
        if size > BODY_MOST:
            raise Forbidden(413, "too_long", "This request is longer than may be passed on.")
        if self._held > HELD_MOST:
            raise Forbidden(503, "too_much", "Too much was sent at the same time.")

    # -- passing on --------------------------------------------------------------------------

    async def _forward(
        self,
        request: web.BaseRequest,
        passed: Passed,
        body: Body | None,
        line: Line,
        begun: float,
    ) -> web.StreamResponse:
        exchange = Exchange(
            self._api,
            self._upstream,
            self._redactor,
            request=request,
            passed=passed,
            body=body,
            line=line,
        )
        work = asyncio.create_task(exchange.run())
        ending = asyncio.create_task(self._stop_seen.wait())
        try:
            await asyncio.wait((work, ending), return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                work.cancel()
                await asyncio.wait((work,))
            if work.cancelled():
                line.why = "ended"
                words = self.stopped.detail if self.stopped else "The run has ended."
                return await exchange.give_up(FINAL[self._api], words, final=True)
            try:
                return work.result()
            except Broken as error:
                line.why = error.why
                return await exchange.give_up(error.status, error.words, final=False)
        finally:
            for task in (work, ending):
                task.cancel()
            line.seconds = time.monotonic() - begun
            self._settle(exchange, passed, line)

    def _settle(self, exchange: Exchange, passed: Passed, line: Line) -> None:
        tokens = exchange.counter.result() if exchange.counter is not None else None
        line.failed = exchange.counter.failed if exchange.counter is not None else None
        if tokens is not None:
            line.input_tokens, line.output_tokens = tokens.input, tokens.output
            line.cached_input_tokens = tokens.cached
        counted = passed.kind == "model" and exchange.answered in (None, _OK)
        end = self._ledger.end(tokens, counted=counted and exchange.asked)
        self._write(line)
        if end is not None:
            self.stop(end)

    def _write(self, line: Line) -> None:
        self._lines_after += self.stopped is not None
        if self._lines_after > _LAST_LINES:
            return
        try:
            self._log.write(line)
        except OSError:
            self.stop(Stopped("fault", "The gateway's log cannot be written."))
        self._on_usage()
