"""Changes of what stands for a missing measurement: a value that a person may put in for it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp

from engine.diagnosis.recompute.conditions import Change
from engine.diagnosis.recompute.context import is_time, literal
from engine.diagnosis.recompute.mutation import short

_USUAL = tuple(
    (re.compile(names), values)
    for names, values in (
        (r"(?<!o2)fio2(_|$)", (21.0, 100.0)),
        (r"gcs(_min)?$", (15.0,)),
        (r"motor", (6.0,)),
        (r"verbal", (5.0,)),
        (r"eyes", (4.0,)),
        (r"^weight", (70.0, 80.0)),
        (r"^temperature", (37.0,)),
        (r"^pco2", (40.0,)),
        (r"^ph(_|$)", (7.4,)),
        (r"^sodium", (140.0,)),
        (r"^potassium|^albumin", (4.0,)),
        (r"^creatinine|^bilirubin|^inr", (1.0,)),
    )
)
"""Names of measurements, and what is put in for a missing one."""


def usual_changes(node: exp.Expr) -> Iterator[Change]:
    """Every usual value put in for a missing one at `node`."""
    if isinstance(node, exp.Coalesce):
        yield from _for_good(node)
    elif isinstance(node, exp.Column):
        yield from _assumed(node)


def _for_good(node: exp.Coalesce) -> Iterator[Change]:
    """What is missing everywhere taken as a usual value."""
    if not node.expressions:
        return
    for value in _usual(node.expressions[-1]):
        new = node.copy()
        new.append("expressions", literal(value))
        yield (
            "missing-as-value",
            new,
            f"a missing {short(node, 60)} taken as {value:g}",
            {"taken": value},
        )


def _usual(node: exp.Expr) -> tuple[float, ...]:
    """What a person may put in for a missing measurement: room air, a weight of 70 kg."""
    if not isinstance(node, exp.Column):
        return ()
    return next((values for names, values in _USUAL if names.search(node.name)), ())


def _assumed(node: exp.Column) -> Iterator[Change]:
    """A missing measurement that is computed with, taken as a usual value."""
    if not isinstance(node.parent, exp.Mul | exp.Div) or is_time(node):
        return
    for value in _usual(node):
        yield (
            "missing-as-value",
            exp.func("coalesce", node.copy(), literal(value)),
            f"a missing {short(node)} taken as {value:g}",
            {"taken": value},
        )
