"""What `m4bench doctor` tells of agents' programs and of the endpoints that models stand behind."""

from __future__ import annotations

from collections.abc import Iterator

from engine.agents import agent_names, find_agent
from engine.base.errors import Cancelled, M4Error, MissingPrerequisite
from engine.base.jobs import Job
from engine.base.paths import Home
from engine.gateway.endpoints import list_endpoints, looks_local, own_names
from engine.gateway.interface import Endpoint
from engine.gateway.keys import has_key
from engine.gateway.trial import try_endpoint
from engine.isolation.backends import available_backends, make_backend
from engine.isolation.machine import Finding
from engine.workbench.ways import check_program


def agent_programs(home: Home) -> Iterator[Finding]:
    """Which agents' programs each sandbox that works here has; nothing is started."""
    agents = {a.program: a for name in agent_names() if (a := find_agent(name)).program is not None}
    for info in available_backends(home):
        if not info.works:
            continue
        sandbox = make_backend(home, info.name)
        there = sandbox.programs()
        have = [
            f"{agents[name].name} {version}" for name, version in there.items() if name in agents
        ]
        lacking = [agent for program, agent in agents.items() if program not in there]
        words = f"In {info.name}: {', '.join(have) or 'none'}"
        todo = None
        if lacking:
            words += f"; not there: {', '.join(agent.name for agent in lacking)}"
            try:
                check_program(sandbox, lacking[0])
            except MissingPrerequisite as error:
                todo = error.todo
        yield Finding("agents", "limited" if lacking else "works", words, todo)


def endpoints(home: Home, *, ask: bool, job: Job) -> Iterator[Finding]:
    """The endpoints that somebody set up: their own, and those whose key is in the keyring.

    Args:
        home: whose.
        ask: really ask each for its models (with its key, over the network where it is elsewhere);
            else nothing is sent to anybody.
        job: stops the asking.

    Raises:
        BadInput: the user's file is broken.
        Cancelled: the user asked to stop.
    """
    own = own_names(home)
    found = [(each, _key(each)) for each in list_endpoints(home)]
    found = [(each, key) for each, key in found if each.name in own or key == "stored"]
    if not found:
        yield Finding(
            "endpoints",
            "limited",
            "None is set up: agents with a model cannot be run.",
            "m4bench endpoint list shows the known ones; m4bench endpoint key NAME stores a key.",
        )
    for endpoint, key in found:
        job.check()
        where = "on this machine" if looks_local(endpoint) else "elsewhere"
        words = f"{endpoint.name} ({endpoint.api}, {where})"
        if key not in ("", "stored"):
            todo = f"m4bench endpoint key {endpoint.name}"
            yield Finding("endpoints", "limited", f"{words}: its key is {key}", todo)
        elif ask:
            yield _asked(endpoint, words, job)
        else:
            yield Finding("endpoints", "works", f"{words}: not asked (doctor --endpoints asks)")


def _key(endpoint: Endpoint) -> str:
    if endpoint.key is None:
        return ""
    try:
        return "stored" if has_key(endpoint.key) else "missing"
    except MissingPrerequisite:
        return "in no keyring"


def _asked(endpoint: Endpoint, words: str, job: Job) -> Finding:
    try:
        models = try_endpoint(endpoint, job=job)
    except Cancelled:
        raise
    except M4Error as error:
        return Finding("endpoints", "limited", f"{words}: {error.text}", error.todo)
    return Finding("endpoints", "works", f"{words}: it answers, with {len(models)} models")
