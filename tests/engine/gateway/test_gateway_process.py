"""A gateway in its own process: streaming, budgets, troubles of the endpoint, its death."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest
from gateway_bench import HOST, PATHS, Opened, ask, body_of, opened, raw_ask
from model_server import Step, Trouble, scripted, tokens_of

from engine.base.errors import Cancelled, MissingPrerequisite, UsageError
from engine.base.jobs import SimpleJob
from engine.gateway.gateway import FOLDER, connected, open_gateway, remove_leftovers
from engine.gateway.inside import start
from engine.gateway.interface import Api, Budget, Endpoint, Stopped
from engine.gateway.keys import Secret

APIS: list[Api] = ["responses", "messages", "chat", "generate"]


def stream_path(api: Api) -> str:
    return "/v1beta/models/m:streamGenerateContent?alt=sse" if api == "generate" else PATHS[api]


@pytest.mark.parametrize("api", APIS)
def test_requests_pass_and_are_counted_and_logged(api: Api, tmp_path: Path) -> None:
    with scripted(Step(say="Two words.")) as model:
        with opened(tmp_path, model.url, api, secret=Secret("sk-a-key-for-this")) as run:
            whole = ask(run.folder, PATHS[api], body_of(api), headers={"Authorization": "dummy"})
            streamed = ask(run.folder, stream_path(api), body_of(api, stream=True))
            assert ask(run.folder, "/v1/secrets").status == 403
        names = {"messages": "x-api-key", "generate": "x-goog-api-key"}
        key = model.asked[0].header(names.get(api, "authorization"))
        assert (key or "").removeprefix("Bearer ") == "sk-a-key-for-this"
        assert not [one for one in model.asked if "dummy" in str(one)]
    assert "Two words." in json.dumps(whole.document) or api == "generate"
    assert "Two " in streamed.text
    told = tokens_of(0)
    usage = run.gateway.usage()
    assert (usage.requests, usage.refused, usage.uncounted) == (2, 1, 0)
    assert (usage.input_tokens, usage.cached_input_tokens) == (2 * told.input, 2 * told.cached)
    assert usage.output_tokens == 2 * told.output
    assert usage.models == ("m",)
    assert [line["allowed"] for line in run.lines()] == [True, True, False]
    assert [line["output_tokens"] for line in run.lines()] == [told.output, told.output, None]
    assert run.stops == []
    assert not run.folder.exists()


def test_every_event_of_a_stream_comes_as_it_is_said(tmp_path: Path) -> None:
    gate = threading.Semaphore(0)
    with (
        scripted(Step(say="one two three", gate=gate)) as model,
        opened(tmp_path, model.url, "messages") as run,
        connected(run.folder) as stream,
    ):
        stream.settimeout(30)
        connection = http.client.HTTPConnection(HOST)
        connection.sock = stream
        connection.request("POST", "/v1/messages", json.dumps(body_of("messages", stream=True)))
        gate.release()
        answer = connection.getresponse()
        seen = []
        # The next event is let go only after the last one has arrived: nothing may be held back.
        while line := answer.readline():
            if line.startswith(b"data:"):
                seen.append(json.loads(line[5:])["type"])
                gate.release()
    assert seen[0] == "message_start"
    assert seen.count("content_block_delta") == 3
    assert seen[-1] == "message_stop"


@pytest.mark.parametrize("api", APIS)
def test_a_provider_tool_ends_the_run(api: Api, tmp_path: Path) -> None:
    tool = {"googleSearch": {}} if api == "generate" else {"type": "web_search", "name": "x"}
    with scripted() as model, opened(tmp_path, model.url, api) as run:
        refused = ask(run.folder, PATHS[api], body_of(api, tools=[tool]))
        assert refused.status == 400
        stopped = run.wait_stopped()
        assert ask(run.folder, PATHS[api], body_of(api)).status in (400, 403)
        assert model.asked == []
    assert (stopped.kind, run.gateway.stopped) == ("refused", stopped)
    assert [line["why"] for line in run.lines()] == ["provider_tool", "ended"]
    assert len(run.stops) == 1


@pytest.mark.slow
def test_budgets_end_a_run_each_by_its_name(tmp_path: Path) -> None:
    with scripted() as model:
        budgets = {
            "requests": Budget(requests=1),
            "output_tokens": Budget(output_tokens=10),
            "bytes_out": Budget(bytes_out=10),
        }
        for name, budget in budgets.items():
            folder = tmp_path / name
            folder.mkdir()
            with opened(folder, model.url, "chat", budget=budget) as run:
                ask(run.folder, PATHS["chat"], body_of("chat"))
                last = ask(run.folder, PATHS["chat"], body_of("chat"))
                assert last.status == 400
                assert last.headers["x-should-retry"] == "false"
                stopped = run.wait_stopped()
            assert (stopped.kind, stopped.budget) == ("budget", name)


def test_time_that_is_up_ends_a_running_answer(tmp_path: Path) -> None:
    with scripted(Step(say="a b c d", trouble=Trouble(trick="stall"))) as model:
        with opened(tmp_path, model.url, "responses", budget=Budget(seconds=0.5)) as run:
            body = body_of("responses", stream=True)
            answer = ask(run.folder, PATHS["responses"], body)
            stopped = run.wait_stopped()
        assert answer.status == 200
        assert "response.created" in answer.text
        assert "response.failed" in answer.text
        assert "insufficient_quota" in answer.text
    assert (stopped.kind, stopped.budget) == ("budget", "seconds")
    assert run.gateway.usage().uncounted == 1


@pytest.mark.parametrize("api", APIS)
def test_limits_of_the_endpoint_are_passed_on_and_logged(api: Api, tmp_path: Path) -> None:
    reset = {"x-ratelimit-reset-requests": "6m0s", "Set-Cookie": "a=b"}
    trouble = Trouble(status=429, retry_after=7, headers=reset, times=1)
    step = Step(say="Done.", trouble=trouble)
    with scripted(step) as model, opened(tmp_path, model.url, api) as run:
        limited = ask(run.folder, PATHS[api], body_of(api))
        assert ask(run.folder, PATHS[api], body_of(api)).status == 200
    assert (limited.status, limited.headers["retry-after"]) == (429, "7")
    assert "set-cookie" not in limited.headers
    first = run.lines()[0]
    assert (first["status"], first["retry_after"], first["reset"]) == (429, 7.0, "6m0s")
    assert run.gateway.usage().uncounted == 0


def test_a_refused_key_is_told_without_the_endpoints_own_words(tmp_path: Path) -> None:
    trouble = Trouble(status=401, message="Incorrect key: sk-a***his")
    with scripted(Step(trouble=trouble)) as model, opened(tmp_path, model.url) as run:
        answer = ask(run.folder, PATHS["messages"], body_of("messages"))
    assert answer.status == 401
    assert "sk-a" not in answer.text
    assert run.lines()[0]["why"] == "key_refused"


@pytest.mark.parametrize(
    ("trouble", "status", "why"),
    [
        (Trouble(trick="hang"), 504, "silent"),
        (Trouble(trick="drop"), 502, "broken"),
        (Trouble(status=302, headers={"Location": "http://example.org"}), 502, "redirect"),
        (Trouble(status=500), 500, None),
        (Trouble(trick="garbage"), 200, None),
    ],
)
def test_whatever_the_endpoint_does_the_agent_gets_an_answer(
    trouble: Trouble, status: int, why: str | None, tmp_path: Path
) -> None:
    step = Step(trouble=trouble)
    with scripted(step) as model, opened(tmp_path, model.url, idle_seconds=0.5) as run:
        answer = ask(run.folder, PATHS["messages"], body_of("messages"))
    assert answer.status == status
    assert "location" not in answer.headers
    assert run.lines()[0]["why"] == why
    assert run.stops == []


@pytest.mark.parametrize("trick", ["cut", "stall"])
@pytest.mark.parametrize("api", APIS)
def test_a_stream_that_breaks_ends_with_an_error_event(
    api: Api, trick: str, tmp_path: Path
) -> None:
    step = Step(say="a b c", trouble=Trouble(trick=trick))  # type: ignore[arg-type]
    with scripted(step) as model, opened(tmp_path, model.url, api, idle_seconds=0.5) as run:
        answer = ask(run.folder, stream_path(api), body_of(api, stream=True))
    assert "model's server" in answer.text.rsplit("data:", 1)[1]
    assert run.lines()[0]["why"] == ("broken" if trick == "cut" else "silent")


def test_no_server_there(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with opened(tmp_path, f"http://127.0.0.1:{port}") as run:
        assert ask(run.folder, PATHS["messages"], body_of("messages")).status == 502
        assert ask(run.folder, "/api/hello", method="HEAD").status == 200
    assert [line["why"] for line in run.lines()] == ["unreachable", "local"]


def test_long_and_slow_bodies(tmp_path: Path) -> None:
    with scripted() as model, opened(tmp_path, model.url, body_seconds=0.3) as run:
        head = b"POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n"
        with connected(run.folder) as stream:
            stream.settimeout(30)
            stream.sendall(head % 1000 + b'{"model"')
            assert stream.recv(100).split()[1] == b"408"
        assert raw_ask(run.folder, head % (40 << 20)).split()[1] == b"413"
        assert model.asked == []
    assert [line["why"] for line in run.lines()] == ["too_slow", "too_long"]


def test_an_agent_that_leaves_before_the_count_is_still_counted(tmp_path: Path) -> None:
    gate = threading.Semaphore(0)
    few = Budget(output_tokens=5)
    with (
        scripted(Step(say="one two", gate=gate)) as model,
        opened(tmp_path, model.url, "chat", budget=few) as run,
    ):
        with connected(run.folder) as stream:
            stream.settimeout(30)
            body = json.dumps(body_of("chat", stream=True)).encode()
            head = f"POST {PATHS['chat']} HTTP/1.1\r\nHost: {HOST}\r\n"
            stream.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            gate.release()
            assert stream.recv(10)
        gate.release(100)
        assert run.wait_stopped().budget == "output_tokens"
    assert run.lines()[0]["output_tokens"] == tokens_of(0).output


def test_elsewhere_is_refused_before_anything_starts(tmp_path: Path) -> None:
    def begin(url: str, *, permit_remote: bool) -> None:
        with opened(tmp_path, url, permit_remote=permit_remote):
            pytest.fail("it was opened")

    with pytest.raises(UsageError, match="not on this machine"):
        begin("https://192.0.2.1", permit_remote=False)
    with pytest.raises(UsageError, match="not https"):
        begin("http://192.0.2.1", permit_remote=True)
    for url in ("ftp://127.0.0.1", "http://u:p@127.0.0.1", "http://127.0.0.1/?a", "http://", "x"):
        with pytest.raises(UsageError, match="URL"):
            begin(url, permit_remote=True)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_key_is_told_before_anything_starts(tmp_path: Path) -> None:
    endpoint = Endpoint(name="x", api="chat", url="http://127.0.0.1:9", key="no-such-key")
    with (
        pytest.raises(MissingPrerequisite),
        open_gateway(
            endpoint,
            budget=Budget(),
            folder=tmp_path / FOLDER,
            egress=tmp_path / "egress.jsonl",
            permit_remote=False,
            on_stop=lambda _: None,
        ),
    ):
        pytest.fail("it was opened")
    assert list(tmp_path.iterdir()) == []


def test_a_cancelled_start(tmp_path: Path) -> None:
    job = SimpleJob()
    job.cancel()
    with pytest.raises(Cancelled), opened(tmp_path, "http://127.0.0.1:9", job=job):
        pytest.fail("it was opened")
    assert not (tmp_path / "gateway").exists()


def test_a_gateway_that_dies_is_a_fault_and_never_the_agents(tmp_path: Path) -> None:
    with scripted() as model, opened(tmp_path, model.url) as run:
        os.kill(run.gateway.pid, signal.SIGKILL)
        stopped = run.wait_stopped()
    assert stopped == Stopped("fault", "The gateway's process ended.")


def test_a_full_disk_is_a_fault(small_disk: Path, tmp_path: Path) -> None:
    with scripted() as model:
        egress = small_disk / "egress.jsonl"
        seen: list[Stopped] = []
        told = threading.Event()

        def on_stop(stopped: Stopped) -> None:
            seen.append(stopped)
            told.set()

        with open_gateway(
            Endpoint(name="x", api="chat", url=model.url),
            budget=Budget(),
            folder=tmp_path / FOLDER,
            egress=egress,
            permit_remote=False,
            on_stop=on_stop,
        ) as gateway:
            with (small_disk / "filler").open("wb", buffering=0) as file:
                try:
                    while file.write(b"x" * 4096):
                        pass
                except OSError:
                    pass
            while not told.is_set():
                ask(gateway.folder, "/v1/models")
    assert seen[0].kind == "fault"


PARENT = """
import sys, time
from pathlib import Path
from engine.gateway.ground import open_ground
with open_ground(Path(sys.argv[1])) as ground:
    print(ground.gateway.pid, flush=True)
    sys.stdin.read()
"""


@pytest.mark.slow
def test_nothing_outlives_a_killed_program_but_a_socket_that_is_removed(tmp_path: Path) -> None:
    run = tmp_path / "runs" / "one"
    run.mkdir(parents=True)
    live = tmp_path / "runs" / "two"
    live.mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, str(run)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdout is not None
        gateway = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
        parent.wait()
        psutil.wait_procs([gateway], 30)
    assert not gateway.is_running()
    assert (run / FOLDER / "gateway.sock").exists()
    with scripted() as model, opened(live, model.url) as other:
        assert remove_leftovers(tmp_path / "runs") == 1
        assert not (run / FOLDER).exists()
        assert ask(other.folder, "/v1/models").status == 200


def test_an_agent_reaches_the_model_through_start_and_bridge(tmp_path: Path) -> None:
    """The whole way of a run, but for the sandbox around it."""
    place = tmp_path / "job" / ".m4"
    place.mkdir(parents=True)
    (place / "start.py").write_bytes(Path(start.__file__).read_bytes())
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    body = json.dumps(body_of("chat", stream=True))
    agent = (
        "import urllib.request as u\n"
        f"r = u.Request('http://127.0.0.1:{port}/v1/chat/completions', {body.encode()!r})\n"
        "print(u.urlopen(r).read().decode())"
    )
    with scripted(Step(say="Hello there.")) as model, opened(tmp_path, model.url, "chat") as run:
        done = subprocess.run(
            [sys.executable, ".m4/start.py", "--socket", "../gateway/gateway.sock",
             "--port", str(port), "--", sys.executable, "-c", agent],
            cwd=tmp_path / "job", capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "there." in done.stdout
    assert _usage_of(run) == (1, tokens_of(0).output)


def _usage_of(run: Opened) -> tuple[int, int]:
    usage = run.gateway.usage()
    return usage.requests, usage.output_tokens
