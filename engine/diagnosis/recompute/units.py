"""Changes of units: a measured value taken in the other unit that is in use for it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp

from engine.diagnosis.recompute.conditions import Change
from engine.diagnosis.recompute.context import SORTS, literal, number
from engine.diagnosis.signatures.numbers import UNITS

_MEASURED = tuple(
    (re.compile(rf"(^|_)({names})(_|$)"), said)
    for names, said in (
        ("creatinine|creat|scr", "mg/dL creatinine as µmol/L"),
        ("bilirubin", "mg/dL bilirubin as µmol/L"),
        ("glucose", "mg/dL glucose as mmol/L"),
        ("bun", "mg/dL urea nitrogen as mmol/L"),
        ("albumin", "albumin g/dL as g/L"),
        ("weight", "kg as lb"),
        ("height", "cm as in"),
        ("po2|pco2|pao2|paco2|mbp|sbp|dbp", "mmHg as kPa"),
        ("fio2", "fraction as percent"),
    )
)
_WORKED = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Ln, exp.Log, exp.Pow, exp.Max, exp.Min, exp.Avg)


def unit_changes(node: exp.Expr) -> Iterator[Change]:
    """A column that is computed with or compared, in its other unit."""
    if not isinstance(node, exp.Column) or not _is_worked(node):
        return
    for name, said in _MEASURED:
        if not name.search(node.name):
            continue
        factor = UNITS[said]
        for by, way in ((factor, said), (1 / factor, f"the inverse of {said}")):
            yield (
                "unit-factor",
                exp.Paren(this=exp.Mul(this=node.copy(), expression=literal(by))),
                f"{node.name} off by a factor of {by:.6g} ({way})",
                {"factor": by, "of": node.name},
            )
        return


def _is_worked(node: exp.Column) -> bool:
    parent = node.parent
    if isinstance(parent, SORTS):
        return number(parent.right) is not None
    return isinstance(parent, _WORKED)
