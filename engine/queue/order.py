"""Whose turn it is: by priority, then in turns between batches, then between a batch's agents.

Pure: no file, no clock.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator

from engine.queue.records import Item, ItemState, QueueState

_Turns = dict[tuple[str, ...], int]


def in_order(waiting: Iterable[Item], everything: Iterable[Item]) -> Iterator[Item]:
    """The waiting items in the order of their turns, were nothing added and nothing failed.

    A batch that was served longest ago comes first, and within it the agent that was; so a batch
    of a thousand runs and one of three take turns.

    Args:
        waiting: items that may have their turn.
        everything: all items that count for who was served when (these included).
    """
    turns: _Turns = defaultdict(int)
    for item in everything:
        for key in ((item.batch,), (item.batch, item.agent)):
            turns[key] = max(turns[key], item.served)
    count = max(turns.values(), default=0)
    by_priority: dict[int, list[Item]] = defaultdict(list)
    for item in waiting:
        by_priority[item.priority].append(item)
    for priority in sorted(by_priority, reverse=True):
        for item in _in_turns(by_priority[priority], turns, count):
            count += 1
            yield item


def next_turn(state: QueueState, at: str) -> Item | None:
    """The item that is to be started next; None when nothing may be started.

    Args:
        state: the queue.
        at: the time, ISO 8601 in UTC with milliseconds.
    """
    if state.paused:
        return None
    closed = {lane.lane for lane in state.lanes if lane.until > at}
    may = [
        item
        for item in state.items
        if item.state == ItemState.WAITING
        and not item.held
        and item.lane not in closed
        and (item.not_before is None or item.not_before <= at)
    ]
    return next(in_order(may, state.items), None)


def _in_turns(items: list[Item], turns: _Turns, count: int) -> Iterator[Item]:
    """Items of one priority; `turns` is kept."""
    lines: dict[str, dict[str, deque[Item]]] = {}
    for item in sorted(items, key=lambda one: (one.place, one.item)):
        lines.setdefault(item.batch, {}).setdefault(item.agent, deque()).append(item)
    # Who was never served goes by who came first.
    came = {batch: min(line[0].item for line in lines[batch].values()) for batch in lines}
    while lines:
        batch = min(lines, key=lambda name: (turns[name,], came[name]))
        agents = lines[batch]
        agent = min(agents, key=lambda name: (turns[batch, name], agents[name][0].item))
        item = agents[agent].popleft()
        if not agents[agent]:
            del agents[agent]
        if not agents:
            del lines[batch]
        count += 1
        turns[batch,] = turns[batch, agent] = count
        yield item
