"""Working on the queue: how many at once, in which order, and what every end leads to."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from queue_bench import NEEDS, Bench, asked, end, summary_of

from engine.base.errors import BadInput, Busy, Cancelled, HarnessFault, StorageFull, UsageError
from engine.base.jobs import SimpleJob
from engine.queue import ItemState, Needs, Policy, Room, ticket_of
from engine.queue.office import Office
from engine.runs.states import Reason, State

SOON = Policy(first_wait=timedelta(milliseconds=20), busy_wait=timedelta(milliseconds=20), tries=3)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def states(bench: Bench) -> list[str]:
    return [item.state.value for item in sorted(bench.queue.state().items, key=lambda i: i.item)]


def test_everything_is_run_once_and_keeps_its_run(bench: Bench):
    bench.add(asked(6))
    told: list[str] = []
    job = SimpleJob(on_progress=lambda *words: told.append(words[3]))
    state = bench.worker().work(job)
    assert {item.state for item in state.items} == {ItemState.DONE}
    assert {item.reward for item in state.items} == {1.0}
    for item in state.items:
        run = bench.runs.by_ticket(ticket_of(item.item, 1))
        assert run is not None
        assert run.summary.run_id == item.run_id
        way = [state for _, state, *_ in bench.queue.events(item.item)]
        assert way == ["waiting", "starting", "running", "done"]
    assert len(bench.runs.list()) == 6
    assert told[-1] == "6 of 6 runs ended, 0 at work"
    assert bench.queue.state().owner is None


@pytest.mark.parametrize(
    ("needs", "at_once", "most"),
    [
        (NEEDS, None, 4),  # by the cores
        (Needs(memory_bytes=5 << 30, cpus=1), None, 2),  # by the memory
        (NEEDS, 3, 3),  # by the user
        (Needs(memory_bytes=1 << 40, cpus=99), None, 1),  # larger than the machine: alone
    ],
)
def test_no_more_at_once_than_fit(bench: Bench, needs: Needs, at_once: int | None, most: int):
    together = threading.Barrier(most)
    bench.during = lambda *_: together.wait(20)
    bench.queue.add(asked(most * 2), lambda _: needs)
    bench.queue.limit(at_once)
    bench.worker(room=Room(memory_bytes=10 << 30, cpus=4)).work(SimpleJob())
    assert bench.most == most
    assert states(bench) == ["done"] * most * 2


def test_a_large_batch_does_not_starve_a_small_one(bench: Bench):
    bench.add(asked(6, task="large"), "large")
    bench.add(asked(2, task="small"), "small")
    bench.queue.limit(1)
    bench.worker().work(SimpleJob())
    tasks = [str(request.task) for request in bench.order]
    assert tasks == ["large", "small", "large", "small", "large", "large", "large", "large"]


def test_what_is_at_the_top_comes_first(bench: Bench):
    bench.add(asked(4), "a")
    bench.add(asked(2, task="late"), "b")
    bench.queue.limit(1)
    assert bench.queue.move("4", "top") == 1
    assert bench.queue.move("2", "up") == 1
    assert bench.queue.move("b", "bottom") == 2
    shown = [item.item for item in bench.queue.state().items]
    bench.worker().work(SimpleJob())
    assert [(str(r.task), r.trial) for r in bench.order] == [
        ("mimic-x", 4), ("mimic-x", 2), ("mimic-x", 1), ("mimic-x", 3), ("late", 1), ("late", 2),
    ]  # fmt: skip
    assert shown == [4, 2, 1, 3, 5, 6]


def test_a_rate_limit_holds_back_its_endpoint_alone_until_the_time_it_named(bench: Bench):
    until = datetime.now(UTC) + timedelta(seconds=1.2)
    seen: list[tuple[str | None, datetime]] = []

    def during(request, run_id, job):
        seen.append((request.endpoint, datetime.now(UTC)))
        if request.endpoint == "busy" and len([1 for name, _ in seen if name == "busy"]) == 1:
            bench.fail(run_id, Reason.RATE_LIMIT, agent_result={"retry_at": until.isoformat()})

    bench.during = during
    bench.queue.limit(1)
    bench.add(asked(2, endpoint="busy"), "a")
    bench.add(asked(3, endpoint="idle"), "b")
    state = bench.worker(policy=Policy()).work(SimpleJob())
    assert [name for name, _ in seen] == ["busy", "idle", "idle", "idle", "busy", "busy"]
    assert all(at >= until - timedelta(milliseconds=1) for _, at in seen[4:])
    assert {item.state for item in state.items} == {ItemState.DONE}
    tries = {item.item: (item.attempt, item.tries) for item in state.items}
    assert tries == {1: (2, 1), 2: (1, 0), 3: (1, 0), 4: (1, 0), 5: (1, 0)}


def test_enough_rate_limits_are_enough(bench: Bench):
    bench.during = lambda request, run_id, job: bench.fail(run_id, Reason.RATE_LIMIT)
    bench.add(asked(1, endpoint="busy"))
    (item,) = bench.worker(policy=SOON).work(SimpleJob()).items
    assert (item.state, item.attempt, item.reward) == (ItemState.FAILED, 3, None)
    assert "3 times" in item.why
    assert bench.ends() == {1: ["failed"]}


def test_a_fault_of_ours_is_no_score_and_stops_nobody_else(bench: Bench):
    def during(request, run_id, job):
        if request.trial == 1:
            bench.fail(run_id, Reason.EXCEPTION)
            raise BadInput("The reference vanished.")
        if request.trial == 2:
            bench.fail(run_id, Reason.EXCEPTION)
            raise ZeroDivisionError
        if request.trial == 3:
            bench.runs.enter(run_id, State.FAILED, reason=Reason.NO_OUTPUT, reward=0.0)

    bench.during = during
    bench.add(asked(4))
    state = bench.worker().work(SimpleJob())
    assert states(bench) == ["failed", "failed", "done", "done"]
    assert [item.reward for item in state.items] == [None, None, 0.0, 1.0]
    assert state.items[0].why == "The reference vanished."
    assert bench.queue.retry(None) == 2
    bench.during = lambda *_: None
    bench.worker().work(SimpleJob())
    assert states(bench) == ["done"] * 4


def test_what_cannot_be_run_at_all_says_why(bench: Bench):
    def refuse(request, **_):
        raise UsageError("There is no such task.", todo="Choose another.")

    bench.add(asked(2))
    state = bench.worker(carry_out=refuse).work(SimpleJob())
    assert [item.why for item in state.items] == ["There is no such task. Choose another."] * 2
    assert states(bench) == ["failed", "failed"]


def test_another_programs_lock_is_waited_for(bench: Bench):
    calls = []

    def busy(request, **more):
        calls.append(request.ticket)
        if len(calls) == 1:
            raise Busy("Another program builds it.")
        bench.carry_out(request, **more)

    bench.add(asked(1))
    bench.worker(carry_out=busy, policy=SOON).work(SimpleJob())
    assert (states(bench), calls) == (["done"], ["queue/1/1", "queue/1/2"])


def test_a_full_disk_pauses_and_loses_nothing(bench: Bench):
    def full(request, **_):
        raise StorageFull("There is no room.")

    bench.add(asked(3))
    bench.queue.limit(1)
    with pytest.raises(StorageFull):
        bench.worker(carry_out=full).work(SimpleJob())
    state = bench.queue.state()
    assert (state.paused, state.why) == (True, "There is no room.")
    assert states(bench) == ["waiting"] * 3
    with pytest.raises(UsageError, match=r"paused. There is no room"):
        bench.worker().work(SimpleJob())
    bench.queue.resume()
    bench.worker().work(SimpleJob())
    assert states(bench) == ["done"] * 3


def test_paused_lets_run_what_runs_and_goes_on_when_resumed(bench: Bench):
    paused = threading.Event()

    def during(request, run_id, job):
        if request.trial == 1:
            bench.queue.pause()
            paused.set()

    bench.during = during
    bench.add(asked(3))
    bench.queue.limit(1)
    worker = threading.Thread(target=lambda: bench.worker().work(SimpleJob()))
    worker.start()
    assert paused.wait(20)
    while bench.queue.item(1).state != ItemState.DONE:
        assert worker.is_alive()
    assert states(bench) == ["done", "waiting", "waiting"]
    bench.queue.resume()
    worker.join(20)
    assert states(bench) == ["done"] * 3


def test_what_is_on_hold_is_neither_run_nor_waited_for(bench: Bench):
    bench.add(asked(3))
    assert bench.queue.hold("2") == 1
    bench.worker().work(SimpleJob())
    assert states(bench) == ["done", "waiting", "done"]
    assert bench.queue.hold("2", held=False) == 1
    bench.worker().work(SimpleJob())
    assert states(bench) == ["done"] * 3


def stopped_by_its_job(bench: Bench, begun: threading.Semaphore):
    """What a run does that only its job can stop."""

    def during(request, run_id, job):
        stop = threading.Event()
        job.on_cancel(stop.set)
        begun.release()
        assert stop.wait(20)
        bench.fail(run_id, Reason.CANCELLED)
        raise Cancelled

    return during


def test_cancelled_items_are_stopped_and_stay_out(bench: Bench):
    begun = threading.Semaphore(0)
    bench.during = stopped_by_its_job(bench, begun)
    bench.add(asked(3), "a")
    bench.queue.limit(2)
    worker = threading.Thread(target=lambda: bench.worker().work(SimpleJob()))
    worker.start()
    assert begun.acquire(timeout=20)
    assert begun.acquire(timeout=20)
    assert bench.queue.cancel("a") == 3
    worker.join(20)
    assert states(bench) == ["cancelled"] * 3
    assert bench.ends() == {number: ["cancelled"] for number in (1, 2, 3)}
    assert bench.queue.cancel(None) == 0
    assert bench.queue.clear() == 1
    assert bench.queue.state().items == ()


def test_stopping_the_program_takes_nothing_out(bench: Bench):
    begun = threading.Semaphore(0)
    bench.during = stopped_by_its_job(bench, begun)
    bench.add(asked(3))
    bench.queue.limit(2)
    job = SimpleJob()
    raised: list[BaseException] = []

    def work():
        try:
            bench.worker().work(job)
        except Cancelled as error:
            raised.append(error)

    worker = threading.Thread(target=work)
    worker.start()
    assert begun.acquire(timeout=20)
    assert begun.acquire(timeout=20)
    job.cancel()
    worker.join(20)
    assert len(raised) == 1
    assert states(bench) == ["waiting"] * 3
    assert all(run.failure_reason == "cancelled" for run in bench.runs.list())
    bench.during = lambda *_: None
    bench.worker().work(SimpleJob())
    assert states(bench) == ["done"] * 3


def test_one_batch_is_waited_for_while_others_have_their_turns(bench: Bench):
    bench.add(asked(4, task="large"), "large")
    bench.add(asked(2, task="small"), "small")
    bench.queue.limit(1)
    state = bench.worker().work(SimpleJob(), batch="small")
    assert state.count(ItemState.DONE, batch="small") == 2
    assert 1 <= state.count(ItemState.DONE, batch="large") <= 3
    with pytest.raises(UsageError):
        bench.worker().work(SimpleJob(), batch="no-such")


def test_the_second_program_watches_and_takes_over(bench: Bench):
    """The owner leaves after its own batch; who watched goes on with the rest."""
    go, begun = threading.Event(), threading.Event()

    def during(request, run_id, job):
        begun.set()
        assert go.wait(20)

    bench.during = during
    bench.add(asked(1), "first")
    bench.queue.limit(1)
    first = threading.Thread(target=lambda: bench.worker().work(SimpleJob(), batch="first"))
    first.start()
    assert begun.wait(20)
    bench.add(asked(2, task="later"), "second")
    said: list[str] = []
    watching = threading.Event()
    job = SimpleJob(on_message=lambda text: (said.append(text), watching.set()))
    second = threading.Thread(target=lambda: bench.worker().work(job))
    second.start()
    assert watching.wait(20)
    assert "works on the queue; watching it" in said[0]
    go.set()
    first.join(20)
    second.join(20)
    assert states(bench) == ["done"] * 3
    assert len(bench.order) == 3


def test_one_that_was_believed_dead_can_change_nothing(bench: Bench):
    bench.add(asked(1))
    old, new = Office(bench.queue.file), Office(bench.queue.file)
    for call in (lambda: old.take(1), old.beat, lambda: old.begun(1, 1, "x"), old.leave):
        with pytest.raises(HarnessFault, match="taken over"):
            call()
    assert new.take(1) is not None
    assert new.take(1) is None


def test_a_ticket_without_a_run_was_never_begun(bench: Bench):
    bench.add(asked(2))
    office = Office(bench.queue.file)  # and dies at once: with tickets, and one run
    first, second = office.take(1), office.take(2)
    assert first is not None
    assert second is not None
    ended = summary_of(second.request)
    bench.runs.add(ended, {}, ticket=ticket_of(2, 1))
    end(bench.runs, ended.run_id)
    bench.worker().work(SimpleJob())
    assert states(bench) == ["done", "done"]
    assert [r.trial for r in bench.order] == [1]
    assert bench.queue.item(1).attempt == 2
    assert bench.queue.item(2).run_id == ended.run_id
