"""The queue of runs: several at once, in a fair order, each ended once whatever dies between."""

from __future__ import annotations

from engine.queue.lease import Lease
from engine.queue.records import (
    ACTIVE,
    ENDED,
    Batch,
    Item,
    ItemState,
    Lane,
    Needs,
    QueueState,
    Room,
    lane_of,
    ticket_of,
)
from engine.queue.settle import Policy
from engine.queue.store import Move, QueueStore, QueueWatch
from engine.queue.worker import Worker

__all__ = [
    "ACTIVE",
    "ENDED",
    "Batch",
    "Item",
    "ItemState",
    "Lane",
    "Lease",
    "Move",
    "Needs",
    "Policy",
    "QueueState",
    "QueueStore",
    "QueueWatch",
    "Room",
    "Worker",
    "lane_of",
    "ticket_of",
]
