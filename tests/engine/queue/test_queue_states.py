"""Any order of wishes, ends and crashes: no item ends twice, is scored twice or is forgotten."""

from __future__ import annotations

import shutil
import tempfile
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule
from queue_bench import Bench, asked, end, summary_of

from engine.base.errors import BadInput, Busy, StorageFull
from engine.queue import ACTIVE, ENDED, Item, ItemState, Policy, ticket_of
from engine.queue.office import Office
from engine.queue.order import next_turn
from engine.runs.states import Reason, State
from engine.runs.store import now

MEMORY = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
POLICY = Policy(tries=3, first_wait=timedelta(0), busy_wait=timedelta(0))


class Queue(RuleBasedStateMachine):
    """One queue, its owner, and a world in which everything may happen."""

    batches = Bundle("batches")

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(dir=MEMORY))
        self.bench = Bench(self.root)
        self.queue, self.runs = self.bench.queue, self.bench.runs
        self.worker = self.bench.worker(policy=POLICY)
        self.office = Office(self.queue.file)
        self.ended: dict[int, tuple[ItemState, str | None]] = {}

    def teardown(self) -> None:
        shutil.rmtree(self.root)

    # --- wishes

    @rule(target=batches, count=st.integers(1, 3), endpoint=st.sampled_from([None, "a", "b"]))
    def add(self, count: int, endpoint: str | None) -> str:
        return self.bench.add(asked(count, endpoint=endpoint))

    @rule(pause=st.booleans())
    def pause_or_resume(self, pause: bool) -> None:
        self.queue.pause() if pause else self.queue.resume()

    @rule(batch=batches, held=st.booleans())
    def hold(self, batch: str, held: bool) -> None:
        self.queue.hold(batch, held)

    @rule(batch=batches, where=st.sampled_from(["up", "down", "top", "bottom"]))
    def move_batch(self, batch: str, where) -> None:
        self.queue.move(batch, where)

    @rule(batch=batches)
    def cancel(self, batch: str) -> None:
        self.queue.cancel(batch)

    @rule(batch=batches)
    def retry(self, batch: str) -> None:
        self.queue.retry(batch)
        for item in self.queue.state().of(batch):
            if item.state == ItemState.WAITING:
                self.ended.pop(item.item, None)

    @rule(data=st.data())
    def move_one(self, data: st.DataObject) -> None:
        waiting = [i for i in self.queue.state().items if i.state == ItemState.WAITING]
        if waiting:
            item = data.draw(st.sampled_from(waiting))
            where = data.draw(st.sampled_from(["up", "down", "top", "bottom"]))
            self.queue.move(str(item.item), where)

    # --- the owner

    @rule(begin=st.sampled_from([True, True, False]))
    def start(self, begin: bool) -> None:
        state = self.queue.state()
        turn = next_turn(state, now())
        if turn is None:
            return
        assert not state.paused
        assert not turn.held
        assert turn.state == ItemState.WAITING
        taken = self.office.take(turn.item)
        assert taken is not None
        assert taken.attempt == turn.attempt + 1
        if begin:
            self._begin(taken, told=True)

    def _active(self, data: st.DataObject, *, with_run: bool):
        fit = [
            item
            for item in self.office.active()
            if (self.runs.by_ticket(ticket_of(item.item, item.attempt)) is not None) == with_run
        ]
        return data.draw(st.sampled_from(fit)) if fit else None

    @rule(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        if item := self._active(data, with_run=False):
            self._begin(item, told=data.draw(st.booleans()))

    def _begin(self, item: Item, *, told: bool) -> None:
        run = summary_of(item.request)
        assert self.runs.add(run, {}, ticket=ticket_of(item.item, item.attempt))
        if told:
            self.office.begun(item.item, item.attempt, run.run_id)

    @rule(data=st.data())
    def cancel_at_work(self, data: st.DataObject) -> None:
        active = self.office.active()
        if active:
            assert self.queue.cancel(str(data.draw(st.sampled_from(active)).item)) in (0, 1)

    @rule(data=st.data(), error=st.sampled_from([BadInput("x"), Busy("x"), StorageFull("x")]))
    def refuse(self, data: st.DataObject, error: Exception) -> None:
        if item := self._active(data, with_run=False):
            self.worker._settle(self.office, item, error)

    @rule(
        data=st.data(),
        outcome=st.sampled_from(["done", "zero", "rate_limit", "exception", "cancelled"]),
    )
    def finish(self, data: st.DataObject, outcome: str) -> None:
        if item := self._active(data, with_run=True):
            run = self.runs.by_ticket(ticket_of(item.item, item.attempt))
            self._end(run.summary.run_id, outcome)
            self.worker._settle(self.office, item, None)

    def _end(self, run_id: str, outcome: str) -> None:
        if outcome == "done":
            end(self.runs, run_id)
        elif outcome == "zero":
            self.runs.enter(run_id, State.FAILED, reason=Reason.NO_OUTPUT, reward=0.0)
        else:
            self.runs.enter(run_id, State.FAILED, reason=Reason(outcome))

    @rule(data=st.data())
    def crash(self, data: st.DataObject) -> None:
        """Everything dies; the next owner finds what the recovery of runs has made of them."""
        for item in self.office.active():
            run = self.runs.by_ticket(ticket_of(item.item, item.attempt))
            if run is not None:
                outcome = data.draw(st.sampled_from(["done", "zero", "interrupted"]))
                self._end(run.summary.run_id, outcome)
        self.office = Office(self.queue.file)
        self.worker._look_after(self.office)
        assert self.office.active() == ()

    # --- what always holds

    @invariant()
    def what_has_ended_stays(self) -> None:
        for item in self.queue.state().items:
            if item.item in self.ended:
                assert (item.state, item.run_id) == self.ended[item.item]
            elif item.state in ENDED:
                self.ended[item.item] = (item.state, item.run_id)

    @invariant()
    def every_item_has_at_most_one_score_and_one_live_run(self) -> None:
        for item in self.queue.state().items:
            runs = [
                run.summary
                for attempt in range(1, item.attempt + 1)
                if (run := self.runs.by_ticket(ticket_of(item.item, attempt))) is not None
            ]
            scored = [run.run_id for run in runs if run.reward is not None]
            live = [run.run_id for run in runs if run.live]
            assert scored == ([item.run_id] if item.state == ItemState.DONE else [])
            assert len(live) <= 1
            assert not live or item.state in ACTIVE
            assert item.tries <= POLICY.tries
            assert (item.ended_at is not None) == (item.state in ENDED)
            ends = [s for _, s, *_ in self.queue.events(item.item) if s == "done"]
            assert len(ends) == (item.state == ItemState.DONE)


TestQueue = pytest.mark.slow(Queue.TestCase)
TestQueue.settings = settings(
    max_examples=20,
    stateful_step_count=25,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
