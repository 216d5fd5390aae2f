"""Attempts to abuse the one way out: the gateway's socket, and to get at the key that it holds.

The model server behind it gives everything back that reaches it. Whatever an attempt receives is
printed, so that the host looks for the key in it.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import socket
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from .attempt import Broken, ground

SOCKET = "/run/m4/gateway.sock"
HOST = "127.0.0.1:18080"
MESSAGE = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}
MIB = 1 << 20


def _connect(seconds: float = 20.0) -> socket.socket:
    one = socket.socket(socket.AF_UNIX)
    one.settimeout(seconds)
    one.connect(SOCKET)
    return one


def _answer(one: socket.socket) -> bytes:
    """All that comes until the other side closes, shown for the host to look at."""
    got = bytearray()
    with contextlib.suppress(OSError):
        while part := one.recv(1 << 16):
            got += part
    os.write(1, b"\n" + bytes(got[:200_000]).replace(b"\n", b" ") + b"\n")
    return bytes(got)


def _send(raw: bytes, seconds: float = 20.0) -> bytes:
    with _connect(seconds) as one:
        with contextlib.suppress(OSError):  # it may close in the middle
            one.sendall(raw)
        return _answer(one)


def _request(
    path: str = "/v1/messages",
    body: object = MESSAGE,
    *,
    method: str = "POST",
    host: str | None = HOST,
    more: Iterable[str] = (),
) -> bytes:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/1.1", *([f"Host: {host}"] if host is not None else [])]
    lines += ["Content-Type: application/json", f"Content-Length: {len(content)}"]
    lines += ["Connection: close", *more]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + content


def _status(answer: bytes) -> int:
    """The status of an answer; 0 when the connection was closed without one."""
    words = answer.split(b" ", 2)
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else 0


def _refused(what: str, raw: bytes, seconds: float = 20.0) -> str:
    """The words for a refusal; `Broken` when it was answered as if it were allowed."""
    status = _status(_send(raw, seconds))
    if 200 <= status < 400:  # noqa: PLR2004
        raise Broken(f"{what}: status {status}")
    return f"{what}: {status or 'closed'}"


def answers() -> str:
    answer = _send(_request())
    if _status(answer) != 200 or b"echo" not in answer:  # noqa: PLR2004
        raise Broken(f"the model is not reached: status {_status(answer)}")
    return "the model answers"


def other_paths() -> str:
    paths = ["/", "/v1/files", "/v1/models/../files", "/v1/messages/../files", "//v1/files"]
    paths += ["/v1/%6dessages", "/v1/messages%2f..%2ffiles", "/v1/messages/batches", "/v1/MESSAGES"]
    paths += ["/v1/messages;x=/v1/files", "/v1/messages\\..\\files", "/.env", "/v1/organizations"]
    paths += ["/v1/messages%00", "/v1/%2e%2e/v1/files", "/v1/responses/x/../../files", "*"]
    return ", ".join(_refused(path, _request(path)) for path in paths)


def other_methods() -> str:
    methods = ("GET", "PUT", "DELETE", "PATCH", "TRACE", "OPTIONS", "HEAD", "PROPFIND", "post")
    return ", ".join(_refused(method, _request(method=method)) for method in methods)


def absolute_address() -> str:
    return _refused("absolute form", _request("http://example.org/v1/messages"))


def connect_method() -> str:
    raw = b"CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n"
    return _refused("CONNECT", raw)


def foreign_host() -> str:
    return _refused("Host: example.org", _request(host="example.org"))


def ambiguous_host() -> str:
    hosts = (f"{HOST}@example.org", "127.0.0.1.example.org", "example.org:18080")
    said = [_refused(host, _request(host=host)) for host in hosts]
    twice = _request(more=["Host: example.org"])
    said += [_refused("two hosts", twice), _refused("no host", _request(host=None))]
    return ", ".join(said)


def smuggled_headers() -> str:
    word = ground()["token"]
    names = ["X-Evil", "Cookie", "Authorization", "X-Api-Key", "X-Goog-Api-Key", "Forwarded"]
    names += ["X-Forwarded-Host", "X-Forwarded-For", "Proxy-Authorization", "X-Original-URL", "Via"]
    names += ["Referer", "Origin", "OpenAI-Organization", "X-HTTP-Method-Override", "Te", "Trailer"]
    answer = _send(_request(more=[f"{name}: {word}" for name in names]))
    if word.encode() in answer:
        raise Broken("a header of the sandbox's reached the model server")
    listed = [f"Connection: close, {names[0]}", f"{names[0]}: {word}"]
    if word.encode() in _send(_request(more=listed)):
        raise Broken("a header listed in Connection reached the model server")
    return f"{len(names)} headers held back (status {_status(answer)})"


def smuggled_requests() -> str:
    inner = b"GET /v1/files HTTP/1.1\r\nHost: 127.0.0.1:18080\r\n\r\n"
    head = "POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1:18080\r\nConnection: close\r\n"
    chunked = b"0\r\n\r\n" + inner
    tries = {
        "length and chunks": "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        "chunks and length": "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "two lengths": f"Content-Length: 5\r\nContent-Length: {len(chunked)}\r\n",
        "two lengths in one": f"Content-Length: 5, {len(chunked)}\r\n",
        "a signed length": "Content-Length: +5\r\n",
        "a hexadecimal length": "Content-Length: 0x5\r\n",
        "a negative length": "Content-Length: -5\r\n",
        "hidden chunks": "Transfer-Encoding: xchunked\r\nContent-Length: 5\r\n",
        "folded chunks": "Transfer-Encoding:\r\n chunked\r\nContent-Length: 5\r\n",
        "a blank before the colon": "Transfer-Encoding : chunked\r\nContent-Length: 5\r\n",
        "a NUL": "X: a\0b\r\nContent-Length: 5\r\n",
        "a lone CR": "X: a\rTransfer-Encoding: chunked\r\nContent-Length: 5\r\n",
    }
    said = [
        _refused(what, f"{head}{lines}\r\n".encode("latin-1") + chunked)
        for what, lines in tries.items()
    ]
    bad = b"zz\r\n" + inner
    said.append(_refused("bad chunk", f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + bad))
    injected = "/v1/messages HTTP/1.1\r\nX: y\r\n\r\nGET /v1/files"
    said.append(_refused("line ends in the path", _request(injected)))
    said.append(_refused("no HTTP at all", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 20, 1))
    said.append(_refused("HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9), 1))
    said.append(_refused("HTTP/0.9", b"GET /v1/files\r\n", 1))
    return ", ".join(said)


def pipelined() -> str:
    body = json.dumps(MESSAGE).encode()
    first = (
        f"POST /v1/messages HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode() + body
    answer = _send(first + _request("/v1/files", method="GET", body=b""))
    if answer.count(b"HTTP/1.1 200") > 1:
        raise Broken("the second request of a row passed unchecked")
    return f"{answer.count(b'HTTP/1.1 ')} answers to two requests in a row"


def huge_body() -> str:
    said = []
    with _connect() as one:
        head = _request(body=b"").replace(b"Content-Length: 0", b"Content-Length: 10000000000")
        with contextlib.suppress(OSError):
            one.sendall(head)
            for _ in range(64):
                one.sendall(b" " * MIB)
        said.append(_status(_answer(one)))
    with _connect() as one:
        head = _request(body=b"").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
        with contextlib.suppress(OSError):
            one.sendall(head)
            for _ in range(64):
                one.sendall(f"{MIB:x}\r\n".encode() + b" " * MIB + b"\r\n")
        said.append(_status(_answer(one)))
    nested = b'{"model":"m","messages":' + b"[" * 2_000_000 + b"]" * 2_000_000 + b"}"
    said.append(_status(_send(_request(body=nested))))
    if any(200 <= status < 400 for status in said):  # noqa: PLR2004
        raise Broken(f"a huge body was taken: {said}")
    if _status(_send(_request())) != 200:  # noqa: PLR2004
        raise Broken("after huge bodies nothing is answered any more")
    return f"statuses {said}"


def huge_head() -> str:
    said = [_refused("a head of 8 MiB", _request(more=["X: " + "a" * 8 * MIB]))]
    said.append(_refused("a path of 1 MiB", _request("/v1/" + "a" * MIB)))
    said.append(_refused("10,000 headers", _request(more=[f"X-{n}: y" for n in range(10_000)])))
    return ", ".join(said)


def slow_body() -> str:
    """The gateway is told to wait a second for a body."""
    begun = time.monotonic()
    with _connect(30) as one:
        with contextlib.suppress(OSError):
            one.sendall(_request(body=b"").replace(b"Content-Length: 0", b"Content-Length: 1000"))
            one.sendall(b"{")
        status = _status(_answer(one))
    if 200 <= status < 400 or time.monotonic() - begun > 25:  # noqa: PLR2004
        raise Broken(f"a body that never comes was waited for: status {status}")
    return f"status {status}"


def many_connections() -> str:
    """Hundreds of connections with half a head; when they are gone, the gateway goes on."""
    held = []
    try:
        for _ in range(200):
            one = _connect(5)
            held.append(one)
            one.sendall(b"POST /v1/messages HTTP/1.1\r\nHost: ")
    except OSError:
        pass
    for one in held:
        one.close()
    for _ in range(100):  # it has to see first that they are gone
        with contextlib.suppress(OSError):
            if _status(_send(_request())) == 200:  # noqa: PLR2004
                return f"{len(held)} slow connections, and then an answer"
        time.sleep(0.1)
    raise Broken(f"after {len(held)} slow connections nothing is answered any more")


def compressed_body() -> str:
    body = gzip.compress(b'{"model":"m","padding":"' + b" " * (100 * MIB) + b'"}')
    said = []
    for coding in ("gzip", "deflate", "br", "zstd", "identity, gzip"):
        request = _request(body=body, more=[f"Content-Encoding: {coding}"])
        said.append(_refused(coding, request))
    return ", ".join(said)


def switched_protocol() -> str:
    more = ["Upgrade: websocket", "Sec-WebSocket-Key: eA==", "Sec-WebSocket-Version: 13"]
    raw = _request("/v1/responses", b"", method="GET", more=more).replace(b"close", b"Upgrade")
    more = ["Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"]
    other = _request(more=more).replace(b"Connection: close", b"Connection: Upgrade")
    status = _status(_send(other))
    if status == 101:  # noqa: PLR2004
        raise Broken("the protocol was switched")
    return _refused("websocket", raw)


def provider_search() -> str:
    tools = [{"type": "web_search_20250305", "name": "web_search"}]
    return _refused("web search", _request(body={**MESSAGE, "tools": tools}))


def provider_code() -> str:
    tools = [{"type": "code_execution_20250522", "name": "code_execution"}]
    return _refused("code execution", _request(body={**MESSAGE, "tools": tools}))


def provider_servers() -> str:
    servers = [{"type": "url", "url": "https://example.org/mcp", "name": "x"}]
    return _refused("MCP servers", _request(body={**MESSAGE, "mcp_servers": servers}))


def provider_fetches() -> str:
    """A picture by its address: the provider would fetch it, and carry what stands in it."""
    source = {"type": "url", "url": "https://example.org/?patient=1"}
    content = [{"type": "image", "source": source}, {"type": "text", "text": "hi"}]
    message = {**MESSAGE, "messages": [{"role": "user", "content": content}]}
    return _refused("a picture by its address", _request(body=message))


def provider_files() -> str:
    content = [{"type": "document", "source": {"type": "file", "file_id": "file_1"}}]
    message = {**MESSAGE, "messages": [{"role": "user", "content": content}]}
    return _refused("a file of the provider's", _request(body=message))


def hidden_tool() -> str:
    """The tool's list twice: who takes the first sees nothing, the provider may take the last."""
    text = json.dumps(MESSAGE)[:-1]
    text += ', "tools": [], "tools": [{"type": "web_search_20250305", "name": "web_search"}]}'
    return _refused("a tool under a name that stands twice", _request(body=text.encode()))


def budget() -> str:
    statuses = [_status(_send(_request())) for _ in range(8)]
    if statuses.count(200) > 3:  # noqa: PLR2004 - the budget of this attempt
        raise Broken(f"{statuses.count(200)} requests were answered, three were allowed")
    return f"statuses {statuses}"


def log_lines() -> str:
    """Words that would make lines of their own, or escapes, in the gateway's log."""
    model = 'm\n{"allowed":true,"forged":1}\r\n\x1b[31m\u2028'
    said = [_status(_send(_request(body={**MESSAGE, "model": model})))]
    paths = ('/v1/x"},{"forged":1', "/v1/\x1b[31m", "/v1/%0a%7b%22forged%22%3a1%7d")
    said += [_status(_send(_request(path))) for path in paths]
    said.append(_status(_send(_request(method='POST{"forged":1}'))))
    return f"statuses {said}"


def files_of_the_gateway() -> str:
    folder = Path("/run/m4")
    found = sorted(entry.name for entry in folder.iterdir())
    if found != ["gateway.sock"]:
        raise Broken(f"the gateway's folder holds {found}")
    attempts: dict[str, Callable[[], object]] = {
        "removed": (folder / "gateway.sock").unlink,
        "moved": lambda: (folder / "gateway.sock").rename("/job/gateway.sock"),
        "joined": (folder / "mine").touch,
        "changed": lambda: (folder / "gateway.sock").chmod(0o600),
        "linked": lambda: os.link(folder / "gateway.sock", "/job/linked"),
    }
    for what, attempt in attempts.items():
        with contextlib.suppress(OSError):
            attempt()
            raise Broken(f"the gateway's socket can be {what}")
    return f"one socket, {len(attempts)} changes refused"


def key_in_answers() -> str:
    """Every kind of trouble, asked for to see what is said about it."""
    raws = [_request(), _request("/v1/files"), _request(body=b"{"), _request(body=b"[]")]
    raws += [b"\r\n\r\n", b"GET", _request(body={"model": "x" * 5000, "messages": 1})]
    raws += [_request("/v1/models", b"", method="GET"), _request("/v1/models/../../x")]
    raws += [_request(more=["X-Api-Key: a", "Authorization: Bearer b", "Expect: 100-continue"])]
    raws += [_request(more=["Accept-Encoding: gzip, br, zstd"]), _request(more=["Range: bytes=0-"])]
    wanted = bytes(reversed(ground()["key_reversed"].encode()))
    statuses = []
    for raw in raws:
        answer = _send(raw, 20.0 if b"HTTP/1.1" in raw else 1.0)  # half a head gets none
        statuses.append(_status(answer))
        if wanted in answer:
            raise Broken(f"the key stands in an answer with status {statuses[-1]}")
    return f"not in {len(raws)} answers: {statuses}"


def key_anywhere() -> str:
    """In environments, arguments, memory and every small file that can be read."""
    wanted = bytes(reversed(ground()["key_reversed"].encode()))
    looked = 0
    for pid in [name for name in os.listdir("/proc") if name.isdigit()]:  # noqa: PTH208
        for name in ("environ", "cmdline", "comm", "auxv"):
            with contextlib.suppress(OSError):
                looked += 1
                if wanted in Path(f"/proc/{pid}/{name}").read_bytes():
                    raise Broken(f"/proc/{pid}/{name} has the key")
    for top in ("/run", "/etc", "/job", "/tmp", "/dev", "/home", "/root", "/var", "/opt"):  # noqa: S108
        for folder, _folders, files in os.walk(top):
            for name in files:
                with contextlib.suppress(OSError):
                    path = Path(folder, name)
                    if path.is_file() and path.stat().st_size < MIB:
                        looked += 1
                        if wanted in path.read_bytes():
                            raise Broken(f"{path} has the key")
    return f"not in {looked} files, environments and argument lists"
