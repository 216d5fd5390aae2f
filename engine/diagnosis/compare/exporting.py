"""A comparison for outside: no small count, and none that could be worked out from the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.base.disclosure import SMALL, Ledger, fraction
from engine.base.jobs import Job
from engine.diagnosis.compare.model import CHANGES, Change, Comparison, RunChanges

_WRONG: tuple[Change, ...] = ("mended", "wrong", "wrong_otherwise")
"""What the first run has wrong."""


def exported(comparison: Comparison) -> dict[str, object]:
    """See `Comparison.as_dict`."""
    return told_comparison(comparison)[0]


def told_comparison(
    comparison: Comparison, rewards: Sequence[float | None] = (), job: Job | None = None
) -> tuple[dict[str, object], list[float | str | None]]:
    """The counts and, where they are given, the rewards of the runs, as they may be told together.

    Args:
        comparison: the comparison.
        rewards: of its runs, in their order.
        job: progress and cancel: with eight runs it takes a while.
    """
    ledger = Ledger()
    ledger.count("rows", comparison.reference_rows, public=True)
    ledger.count("first_wrong", comparison.first_wrong, keep=3)
    ledger.count("always_wrong", comparison.always_wrong, keep=1)
    ledger.total("rows", ["first_wrong"], rest="first_right")
    ledger.total("first_wrong", ["always_wrong"], rest="once_right")
    ledger.count("first:extra", comparison.first_extra, keep=4)
    ledger.count("first:duplicates", comparison.first_duplicates, keep=4)
    for number, other in enumerate(comparison.others):
        _enter_run(ledger, f"{number}", other)
    wholes = _enter_rewards(ledger, comparison, rewards) if rewards else {}
    if job is None:
        ledger.settle()
    else:
        job.progress("report", 0, 0, "Deciding which counts may be told together")
        ledger.settle(job.check)
    tell = ledger.told
    told = [
        fraction(ledger, f"reward:{number}", wholes[number], reward)
        if number in wholes and reward is not None
        else reward
        for number, reward in enumerate(rewards)
    ]
    few = 0 < comparison.reference_rows < SMALL
    return {
        "runs": list(comparison.runs),
        "reference_rows": f"<{SMALL}" if few else comparison.reference_rows,
        "columns": list(comparison.columns),
        "first_wrong": tell("first_wrong"),
        "always_wrong": tell("always_wrong"),
        "first_extra": tell("first:extra"),
        "first_duplicates": tell("first:duplicates"),
        "others": [
            {
                "run": other.run,
                "rows": {change: tell(f"{number}:row:{change}") for change in CHANGES},
                "columns": [
                    {
                        "column": c.column,
                        **{change: tell(f"{number}:{at}:{change}") for change in CHANGES},
                    }
                    for at, c in enumerate(other.columns)
                ],
                **{
                    what: tell(f"{number}:{what}")
                    for what in ("extra", "duplicates", "new_extra", "gone_extra")
                },
            }
            for number, other in enumerate(comparison.others)
        ],
    }, told


def _enter_run(ledger: Ledger, name: str, other: RunChanges) -> None:
    _enter_changes(ledger, f"{name}:row", other.rows)
    ledger.total("first_wrong", [f"{name}:row:{change}" for change in _WRONG])
    both = other.rows["wrong"] + other.rows["wrong_otherwise"]
    ledger.count(f"{name}:both_wrong", both, told=False)
    ledger.total(f"{name}:both_wrong", [f"{name}:row:wrong", f"{name}:row:wrong_otherwise"])
    ledger.total(f"{name}:both_wrong", ["always_wrong"], rest=f"{name}:right_elsewhere")
    for at, column in enumerate(other.columns):
        cells = f"{name}:{at}"
        _enter_changes(ledger, cells, column.cells)
        # What the first run has right in a column is the same beside every other run.
        first = ledger.count(
            f"first:{at}:right", column.cells["right"] + column.cells["broken"], told=False
        )
        ledger.total(first, [f"{cells}:right", f"{cells}:broken"])
        ledger.total(f"{cells}:right", [f"{name}:row:right"], rest=f"{cells}:else_wrong")
        mine = ledger.count(
            f"{cells}:mine", column.cells["right"] + column.cells["mended"], told=False
        )
        ledger.total(mine, [f"{cells}:right", f"{cells}:mended"])
    extra = ledger.count(f"{name}:extra", other.extra, keep=4)
    new = ledger.count(f"{name}:new_extra", other.new_extra)
    gone = ledger.count(f"{name}:gone_extra", other.gone_extra)
    ledger.count(f"{name}:duplicates", other.duplicates, keep=4)
    ledger.total(extra, [new], rest=f"{name}:kept_extra")
    ledger.total("first:extra", [gone, f"{name}:kept_extra"])


def _enter_changes(ledger: Ledger, name: str, counts: Mapping[Change, int]) -> None:
    keep = {"right": 0, "wrong": 1, "wrong_otherwise": 1, "mended": 2, "broken": 2}
    cells = [ledger.count(f"{name}:{c}", counts[c], keep=keep[c]) for c in CHANGES]
    ledger.total("rows", cells)


def _enter_rewards(
    ledger: Ledger, comparison: Comparison, rewards: Sequence[float | None]
) -> dict[int, float]:
    """The cells that each run has right, which its reward tells; returns what they are divided by.

    A reward is divided by rows that may be more than the reference's: with few more it would tell
    how many.
    """
    wholes: dict[int, float] = {}
    columns = range(len(comparison.columns))
    for number, reward in enumerate(rewards):
        if not reward or not comparison.others:
            continue
        if number == 0:
            parts = [f"first:{at}:right" for at in columns]
            cells = comparison.others[0].columns
            right = sum(c.cells["right"] + c.cells["broken"] for c in cells)
            further = (comparison.first_extra, comparison.first_duplicates)
        else:
            other = comparison.others[number - 1]
            parts = [f"{number - 1}:{at}:mine" for at in columns]
            right = sum(c.cells["right"] + c.cells["mended"] for c in other.columns)
            further = (other.extra, other.duplicates)
        whole = right / reward
        coarse = any(0 < n < SMALL for n in (*further, sum(further)))
        ledger.count(f"reward:{number}", right, keep=7, coarse=coarse)
        ledger.total(f"reward:{number}", parts)
        wholes[number] = whole
    return wholes
