"""Which model a run may talk to, decided before anything is started."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from engine.agents import find_agent
from engine.base.errors import BadInput, MissingPrerequisite, UsageError
from engine.base.paths import Home, open_home
from engine.gateway.endpoints import add_endpoint, make_endpoint, remove_endpoint
from engine.isolation.bubblewrap import Bubblewrap
from engine.isolation.docker import Docker
from engine.runs.records import RunRequest
from engine.runs.store import RunStore
from engine.sources.seal import seal
from engine.sources.state import source_rows
from engine.workbench import ways
from engine.workbench.care import allow_endpoint
from engine.workbench.ways import means_of, way_of

LOCAL = "http://127.0.0.1:9"


@pytest.fixture
def home(home_dir: Path) -> Home:
    """A home with a free and a credentialed source, as the state file knows them."""
    home = open_home(home_dir)
    for name, access in (("free", "synthetic"), ("closed", "credentialed")):
        path = home.sources / name / "source.duckdb"
        path.parent.mkdir(parents=True)
        duckdb.connect(str(path)).close()
        seal(path)
        with source_rows(home) as rows:
            rows.begin(name, "mimic-iv", access, "mark")  # type: ignore[arg-type]
            rows.finish(name, access, 1, "digest", [])  # type: ignore[arg-type]
    return home


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Names of the keys that the keyring is said to hold."""
    held: set[str] = set()
    monkeypatch.setattr(ways, "has_key", held.__contains__)
    return held


def request(agent: str, source: str = "free", **fields: object) -> RunRequest:
    return replace(RunRequest(task="t", source=source, agent=agent, model="m"), **fields)  # type: ignore[arg-type]


def test_the_usual_endpoint_is_that_of_the_api_s_makers(home: Home, keys: set[str]):
    for agent, name in (("codex", "openai"), ("claude", "anthropic"), ("gemini", "google")):
        with pytest.raises(MissingPrerequisite, match="key of the endpoint") as caught:
            way_of(home, request(agent), find_agent(agent))
        assert f"m4bench endpoint key {name}" in str(caught.value.todo)
        keys.add(name)
        way = way_of(home, request(agent), find_agent(agent))
        assert way is not None
        assert (way.endpoint.name, way.permit_remote, way.local) == (name, True, False)


def test_the_only_local_endpoint_is_used_where_there_is_no_usual_one(home: Home):
    with pytest.raises(UsageError, match="no usual endpoint"):
        way_of(home, request("pi"), find_agent("pi"))
    add_endpoint(home, make_endpoint("mine", api="chat", url=LOCAL))
    way = way_of(home, request("pi", "closed"), find_agent("pi"))
    assert way is not None
    # Nothing of closed data may leave this machine, whatever the endpoint becomes.
    assert (way.endpoint.name, way.permit_remote, way.local) == ("mine", False, True)
    add_endpoint(home, make_endpoint("other", api="messages", url=LOCAL))
    with pytest.raises(UsageError):
        way_of(home, request("pi"), find_agent("pi"))


def test_closed_data_goes_nowhere_until_somebody_allows_it(home: Home, keys: set[str]):
    keys.add("openai")
    codex = find_agent("codex")
    with pytest.raises(MissingPrerequisite, match="nobody has allowed openai"):
        way_of(home, request("codex", "closed"), codex)
    with pytest.raises(MissingPrerequisite, match="nobody has allowed openai"):
        way_of(home, request("codex", "closed", endpoint="openai"), codex)
    add_endpoint(home, make_endpoint("mine", api="responses", url=LOCAL))
    way = way_of(home, request("codex", "closed"), codex)
    assert way is not None
    assert way.endpoint.name == "mine"
    allow_endpoint(home, "closed", "openai", by="Ada", why="agreed")
    way = way_of(home, request("codex", "closed"), codex)
    assert way is not None
    assert (way.endpoint.name, way.permit_remote) == ("openai", True)
    assert "Ada allowed openai at https://api.openai.com" in way.why


def test_an_endpoint_that_is_pointed_elsewhere_is_not_allowed_any_more(home: Home, keys: set[str]):
    keys.add("openai")
    codex = find_agent("codex")
    allow_endpoint(home, "closed", "OpenAI", by="Ada", why="agreed")
    add_endpoint(home, make_endpoint("openai", api="responses", url="https://192.0.2.1"))
    for asked in (request("codex", "closed", endpoint="openai"), request("codex", "closed")):
        with pytest.raises(MissingPrerequisite, match=r"is at https://192\.0\.2\.1 now"):
            way_of(home, asked, codex)
    # ... nor is another name at the same host.
    with pytest.raises(MissingPrerequisite, match="nobody has allowed openai-chat"):
        way_of(home, request("pi", "closed", endpoint="openai-chat"), find_agent("pi"))
    remove_endpoint(home, "openai")
    assert way_of(home, request("codex", "closed"), codex) is not None
    with pytest.raises(UsageError, match="no endpoint"):
        allow_endpoint(home, "closed", "nobody", by="Ada", why="agreed")


def test_what_does_not_fit_is_told(home: Home, tmp_path: Path):
    store = RunStore(home.state)
    with pytest.raises(UsageError, match="speaks"):
        way_of(home, request("codex", endpoint="ollama"), find_agent("codex"))
    for wrong in (
        request("codex", endpoint="nobody"),
        request("codex", model=None),
        request("codex", reasoning_effort="boundless"),
        request("script", script=tmp_path / "x.sql", endpoint="openai"),
        request("script", script=tmp_path / "x.sql", record="r"),
        request("replay"),
        request("replay", record="nobody"),
        request("nobody"),
    ):
        with pytest.raises((UsageError, BadInput)) as caught:
            means_of(home, store, wrong)
        assert caught.value.todo


@pytest.mark.parametrize(
    ("sandbox", "words"),
    [(Bubblewrap, "sandbox agents install codex"), (Docker, "image build --agents codex")],
)
def test_a_program_that_is_missing_is_told_with_the_way_to_get_it(
    home: Home, monkeypatch: pytest.MonkeyPatch, sandbox: type[Bubblewrap], words: str
):
    monkeypatch.setattr(sandbox, "programs", lambda _self: {"pi": "1"})
    ways.check_program(sandbox(home), find_agent("pi"))
    ways.check_program(sandbox(home), find_agent("script"))
    with pytest.raises(MissingPrerequisite) as caught:
        ways.check_program(sandbox(home), find_agent("codex"))
    assert words in str(caught.value.todo)


def test_an_effort_is_held_against_the_api_that_the_endpoint_speaks(home: Home):
    """Pi speaks four APIs, and each takes other efforts for the same model."""
    store = RunStore(home.state)
    for name, api in (("talk", "chat"), ("mail", "messages")):
        add_endpoint(home, make_endpoint(name, api=api, url=LOCAL))
    asked = request("pi", model="claude-opus-4-1", reasoning_effort="xhigh")
    assert means_of(home, store, replace(asked, endpoint="talk")).way is not None
    with pytest.raises(UsageError, match="cannot ask the model"):
        means_of(home, store, replace(asked, endpoint="mail"))
    with pytest.raises(UsageError, match="speaks"):
        means_of(home, store, request("codex", endpoint="mail"))
