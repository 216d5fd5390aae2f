"""What stands in the queue, as plain frozen values."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal

from pydantic import TypeAdapter

from engine.agents import find_agent
from engine.catalogue.task import Task
from engine.runs.records import RunRequest
from engine.runs.store import Owner

_REQUEST = TypeAdapter(RunRequest)


class ItemState(StrEnum):
    """Where an item of the queue stands."""

    WAITING = "waiting"
    """Its turn has not come, or has to come again."""
    STARTING = "starting"
    """Its ticket is issued; there may or may not be a run of it yet."""
    RUNNING = "running"
    """It has a run."""
    DONE = "done"
    """Its run was judged (a reward of 0 counts as well)."""
    FAILED = "failed"
    """It ended without a reward, through no doing of the agent's."""
    CANCELLED = "cancelled"
    """The user took it out."""


ACTIVE = frozenset({ItemState.STARTING, ItemState.RUNNING})
"""Somebody works (or worked, before a crash) on it."""
ENDED = frozenset({ItemState.DONE, ItemState.FAILED, ItemState.CANCELLED})
"""Nothing happens to it any more, unless the user asks for it again."""

Kind = Literal["runs", "campaign"]


@dataclass(frozen=True, kw_only=True)
class Needs:
    """What a run may use of the machine while it lives."""

    memory_bytes: int
    """The sandbox's memory limit."""
    cpus: int = 2
    """Processors that it may use at the same time."""


@dataclass(frozen=True, kw_only=True)
class Room:
    """What all runs together may use of the machine."""

    memory_bytes: int
    """Memory."""
    cpus: int
    """Processors."""

    def fits(self, needs: Needs, running: tuple[Needs, ...], at_once: int | None) -> bool:
        """May one more run start? The first always may: else nothing would ever go on."""
        if not running:
            return True
        if at_once is not None and len(running) >= at_once:
            return False
        memory = needs.memory_bytes + sum(other.memory_bytes for other in running)
        cpus = needs.cpus + sum(other.cpus for other in running)
        return memory <= self.memory_bytes and cpus <= self.cpus


@dataclass(frozen=True, kw_only=True)
class Item:
    """One run that is to be made."""

    item: int
    """Its number; never used again."""
    batch: str
    """Name of its batch."""
    task: str
    """Name or folder of the task."""
    source: str
    """Name of the source."""
    agent: str
    """Name of the adapter."""
    model: str | None
    """As asked for."""
    condition: str
    """As asked for."""
    schema: str
    """As asked for."""
    trial: int
    """Counted from 1."""
    lane: str
    """What a rate limit holds back together: the endpoint; empty for agents without a model."""
    needs: Needs
    """What it takes of the machine."""
    priority: int
    """Higher ones come first, whatever their batch."""
    place: int
    """Order among those of the same batch, agent and priority."""
    state: ItemState
    """Where it stands."""
    held: bool
    """Put on hold by the user: stays where it is."""
    cancelling: bool
    """The user wants it stopped; its run has not ended yet."""
    attempt: int
    """How many tickets were issued for it."""
    tries: int
    """How many of its runs ended through a rate limit, a crash or the like."""
    served: int
    """When its last ticket was issued, in a count over the whole queue; 0 for never."""
    run_id: str | None
    """Its last run."""
    not_before: str | None
    """ISO 8601 in UTC: it waits at least until then."""
    why: str
    """Why it waits again, failed or was taken out; no data."""
    reward: float | None
    """Of the run that ended it."""
    strict_pass: bool | None
    """Of the run that ended it."""
    added_at: str
    """ISO 8601 in UTC."""
    ended_at: str | None
    """ISO 8601 in UTC."""
    stored: str = field(repr=False)
    """The request as JSON."""

    @property
    def request(self) -> RunRequest:
        """What was asked for."""
        return _REQUEST.validate_json(self.stored)


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Items that were added together."""

    name: str
    """Unique."""
    kind: Kind
    """A campaign cannot be added to."""
    added_at: str
    """ISO 8601 in UTC."""
    plan: str | None
    """A campaign's file, as it was."""


@dataclass(frozen=True, kw_only=True)
class Lane:
    """An endpoint that takes no requests for a while."""

    lane: str
    """Its name."""
    until: str
    """ISO 8601 in UTC."""
    why: str
    """In words."""


@dataclass(frozen=True, kw_only=True)
class QueueState:
    """The whole queue at one moment."""

    paused: bool
    """Nothing new is started."""
    why: str
    """Why it is paused, where it was not the user's wish; else empty."""
    at_once: int | None
    """The user's limit on runs at the same time; None leaves it to the machine."""
    owner: Owner | None
    """The process that works on it; None when none does."""
    beat: str | None
    """When the owner was last heard of, ISO 8601 in UTC."""
    batches: tuple[Batch, ...]
    """In the order in which they were added."""
    items: tuple[Item, ...]
    """Ended and active ones by number, then waiting ones in the order of their turns."""
    lanes: tuple[Lane, ...]
    """Those that are held back now."""

    def of(self, batch: str | None) -> tuple[Item, ...]:
        """The items of a batch; all when None."""
        return tuple(item for item in self.items if batch in (None, item.batch))

    def count(self, *states: ItemState, batch: str | None = None) -> int:
        """How many items (of a batch) stand so."""
        return sum(item.state in states for item in self.of(batch))


def stored(request: RunRequest) -> str:
    """A request as JSON; the task by its name where the catalogue has it, else by its folder."""
    task = request.task
    if isinstance(task, Task):
        task = str(task.folder)
    return _REQUEST.dump_json(replace(request, task=task)).decode()


def lane_of(request: RunRequest) -> str:
    """What a rate limit of this request's model holds back; empty where there is no model."""
    if request.endpoint is not None:
        return request.endpoint
    return request.agent if find_agent(request.agent).apis else ""


def ticket_of(item: int, attempt: int) -> str:
    """What the run of an attempt is known by in the state file, from before it begins."""
    return f"queue/{item}/{attempt}"
