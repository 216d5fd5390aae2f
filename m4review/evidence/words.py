"""The evidence in a clinician's words: outcomes, checks, kinds of claim."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from engine.claims import Check, Evidence, Verdict
from m4review.app.theme import Theme
from m4review.app.widgets import Tone

Outcome = Literal["disagrees", "look", "cannot tell", "agrees", "read"]
"""``read``: understood, and there is nothing that it could be held against."""


class Sign(NamedTuple):
    """How an outcome is shown."""

    word: str
    """One or two words."""
    icon: str
    """Name of an icon; told apart by shape."""
    tone: Tone
    """Its colour."""
    tip: str
    """What it means."""


OUTCOMES: Mapping[Outcome, Sign] = {
    "disagrees": Sign("disagrees", "circle-x", "bad", "Two things that must be equal are not"),
    "look": Sign("look", "triangle-alert", "warn", "Not wrong by itself; worth a look"),
    "cannot tell": Sign("cannot tell", "circle-help", "plain", "There is nothing to compare with"),
    "agrees": Sign("agrees", "circle-check", "good", "What was compared is the same"),
    "read": Sign("not checked", "circle-dot", "plain", "Understood; no check exists for it"),
}
"""From what needs attention most to what needs none."""
_FIGURES = Sign("figures", "chart-bar", "plain", "For the eye: nothing is compared here")
ORDER: tuple[Outcome, ...] = tuple(OUTCOMES)

TITLES: Mapping[str, str] = {
    "item-known": "Item in the data",
    "item-label": "Label of the item",
    "item-read": "Item in the reference",
    "item-siblings": "Similar items that are left out",
    "unit": "Unit",
    "range": "Values outside the range",
    "distribution": "Distribution",
    "bands": "Points by band",
    "factor": "Factor",
    "missing-value": "In place of a missing value",
    "count": "Stated number",
    "code-unknown": "Diagnosis code",
    "code-coverage": "Diagnosis codes, all of them",
    "code-group": "Diagnosis codes of a condition",
    "text-unknown": "Text of the data",
    "text-missing": "List of texts",
    "text-group": "Text and its group",
    "spellings": "Spellings in the data",
    "spelling-missing": "Spellings that are not named",
    "row-agrees": "The same row in another text",
    "number-agrees": "The same words in another text",
    "window": "Window",
    "grain-key": "What names a row",
    "grain-columns": "Columns of the output",
    "grain-rows": "Rows of the reference",
    "missing-share": "Missing values of the reference",
}
KINDS: Mapping[str, str] = {
    "item": "Items",
    "unit": "Units",
    "range": "Ranges and thresholds",
    "band": "Bands",
    "window": "Windows",
    "missing": "Missing values",
    "code": "Diagnosis codes",
    "text": "Texts of the data",
    "formula": "Formulas",
    "grain": "Rows and columns",
    "count": "Stated numbers",
}
"""Kinds of claim."""
_KIND_OF = {
    "item": "item", "unit": "unit", "range": "range", "distribution": "item", "bands": "band",
    "factor": "formula", "missing": "missing", "count": "count", "code": "code", "text": "text",
    "spellings": "text", "spelling": "text", "window": "window", "grain": "grain", "row": "band",
    "number": "window",
}  # fmt: skip
TABLES = {
    "mimiciv_icu.chartevents": "charted events",
    "mimiciv_icu.outputevents": "charted outputs",
    "mimiciv_icu.inputevents": "infusions and boluses",
    "mimiciv_icu.procedureevents": "procedures",
    "mimiciv_icu.datetimeevents": "charted times",
    "mimiciv_icu.ingredientevents": "ingredients of infusions",
    "mimiciv_hosp.labevents": "laboratory",
}
AGAINST = {
    "source": "against the data",
    "reference": "against the reference's SQL",
    "instruction": "against the instruction",
    "operational-spec": "against the operational specification",
    "skill": "against the skill",
}


def title_of(check: Check) -> str:
    """What was checked."""
    return TITLES.get(check.name, check.name)


def sign_of(check: Check) -> Sign:
    """How a check's outcome is shown."""
    return _FIGURES if check.name == "distribution" else OUTCOMES[check.verdict]


def kind_of(check: Check) -> str:
    """The kind of claim that a check belongs to."""
    if check.name == "missing-share":
        return "grain"
    return _KIND_OF.get(check.name.partition("-")[0], "item")


def text_title(name: str) -> str:
    """A text's name for people, from ``skill/NAME``, ``operational-spec``, ``instruction``."""
    if name.startswith("skill/"):
        return f"Skill: {name.partition('/')[2]}"
    return {"operational-spec": "Operational spec", "instruction": "Instruction"}.get(name, name)


def text_of(check: Check) -> str:
    """The name of the text that a check has its place in."""
    return f"skill/{check.skill}" if check.text == "skill" else check.text


def colour(sign: Sign, theme: Theme) -> str:
    """The colour of an outcome."""
    return {"good": theme.good, "bad": theme.bad, "warn": theme.warn}.get(sign.tone, theme.muted)


def when(evidence: Evidence) -> str:
    """Date and time of evidence, in UTC."""
    return evidence.made_at[:16].replace("T", " ") + " UTC"


def provenance(evidence: Evidence) -> str:
    """What the evidence rests on, in a line."""
    source, sql = evidence.source_digest[:12], evidence.sql_sha256[:12]
    return f"Checked {when(evidence)} · data {evidence.source} {source} · reference SQL {sql}"


def count_words(evidence: Evidence) -> str:
    """How many claims and numbers."""
    unread = len(evidence.unread)
    rest = f"{unread} number{'' if unread == 1 else 's'} could not be read"
    return f"{len(evidence.claims)} claims, {len(evidence.checks)} checks; {rest}"


def rank(verdict: Verdict | Outcome) -> int:
    """Place in `ORDER`."""
    return ORDER.index(verdict)
