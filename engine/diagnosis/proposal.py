"""Whose fault a signature may be: what the skill, the instruction, the agent and the reference say.

The texts are searched for lines about the column and for the figures of the change that was
tried. A text that the run was not given cannot have led the agent: what it says is shown, and
counts only where what was given is silent. Nothing here judges: each proposal lists what was found,
and the reviewer decides.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from engine.catalogue.task import Task
from engine.concepts import concept_graph
from engine.diagnosis.judged import LACKING, NO_OUTPUT, asking, reason
from engine.diagnosis.model import Change, Clue, Fault, Judged, Proposal, Signature
from engine.references import find_target

_Said = dict[str, list[tuple[str, str]]]
"""By whom texts are about: the name of the text, and a line of it."""
_NOT_GIVEN = " (not given to this run, or not as it is now)"
MOST = 3
"""Signatures that get a proposal."""
_LINES = 2
"""Lines quoted per text."""
_LONG = 400

_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w])")
_WORD = re.compile(r"[a-z]{3,}")
_LABEL = re.compile(r"'([^']*[A-Za-z]{3}[^']*)'")
_COMMON = {"score", "min", "max", "mean", "first", "day", "the", "and", "for", "with", "time"}
_TOPICS = {
    "null-versus-zero": ("missing", "null", "without", "absent", "zero", "scores 0"),
    "null-versus-normal": ("missing", "null", "normal", "absent"),
    "missing-as-value": ("missing", "null", "absent", "without"),
    "missing-left-null": ("missing", "null", "absent", "without"),
    "window": ("hours", "hour", "window", "before", "after", "included", "until"),
    "min-max": ("lowest", "highest", "minimum", "maximum", "largest", "smallest", "worst"),
    "mean-worst": ("mean", "average", "lowest", "highest", "worst"),
    "first-last": ("first", "last", "earliest", "latest"),
    "tie-break": ("tie", "several", "same time", "equal", "earliest"),
    "rounding": ("round", "decimal", "decimals"),
    "unit-factor": ("unit", "convert", "kg", "mg", "µmol", "fahrenheit", "celsius"),
    "unit-conversion": ("unit", "convert", "percent", "fraction", "fahrenheit", "celsius"),
    "inner-join": ("all", "every", "missing", "without"),
    "filtered-cohort": ("all", "every", "only", "adult", "rows"),
    "one-to-many-join": ("one row per", "row per"),
    "grain": ("one row per", "row per"),
    "threshold-edge": ("strict", "inclusive", "included", "or more", "at least", "bound", "<", ">"),
}
_TURNED = ", the other way"
_WRITTEN = {
    "kg": ("kg", "kilogram", "kilograms"),
    "lb": ("lb", "lbs", "pound", "pounds"),
    "mg/dl": ("mg/dl",),
    "µmol/l": ("µmol/l", "μmol/l", "umol/l", "micromol/l"),
    "mmol/l": ("mmol/l",),
    "g/dl": ("g/dl",),
    "g/l": ("g/l",),
    "mmhg": ("mmhg",),
    "kpa": ("kpa",),
    "mg": ("mg",),
    "mcg": ("mcg", "µg", "microgram", "micrograms"),
    "per minute": ("/min", "per minute"),
    "per hour": ("/h", "/hr", "/hour", "per hour"),
}
"""Units as signatures call them, and as texts write them."""
_MARKS = re.compile(r"\*\*|__|`")
_OF_ALL = {
    "grain": r"(one|a) row per",
    "one-to-many-join": r"(one|a) row per",
    "inner-join": r"\b(all|every|each)\b|one row per",
    "filtered-cohort": r"\b(all|every|each)\b|one row per",
}
"""What a text says where every row of the reference is to be there once."""
_STRICT = re.compile(r"strict|above|below|more than|less than|(?<![<>=≤≥])[<>](?![=])")
_INCLUSIVE = re.compile(r"inclusive|included|at least|at most|or more|or less|≥|≤|>=|<=")


@dataclass(frozen=True)
class _Text:
    about: Literal["instruction", "skill"]
    name: str
    lines: tuple[str, ...]
    given: bool
    """The run had it before it."""

    def where(self, number: int) -> str:
        """The place of a line."""
        return f"{self.name}:{number}{'' if self.given else _NOT_GIVEN}"


def propose(
    task: Task,
    signatures: Sequence[Signature],
    agent_sql: Sequence[str] = (),
    given: Container[str] | None = None,
    *,
    judged: Sequence[Judged] = (),
) -> tuple[Proposal, ...]:
    """A proposal for each leading signature.

    Args:
        task: the task, with its texts and skills.
        signatures: over the whole table, best first.
        agent_sql: statements of the agent's trace, where there is one.
        given: the texts that the run was given as they are now, e.g. ``instruction.md``,
            ``sofa/SKILL.md``; None where that is not known: then all are taken as given.
        judged: why the output could not be read, or lacks columns.
    """
    texts = _texts(task, given)
    found = [
        _not_there(task, s, texts, judged)
        if s.id in (NO_OUTPUT, LACKING)
        else _one(task, s, texts, agent_sql)
        for s in signatures[:MOST]
    ]
    return tuple(_if_given(p) if given is None else p for p in found)


def _if_given(proposal: Proposal) -> Proposal:
    """Where what a run had is not known: only the instruction is given to each."""
    rests = proposal.words.startswith(("The operational specification says", "The skill says"))
    more = " Whether the run was given it is not known here."
    return replace(proposal, words=proposal.words + more) if rests else proposal


def _texts(task: Task, given: Container[str] | None) -> list[_Text]:
    paths: list[tuple[Literal["instruction", "skill"], Path]] = [
        ("instruction", task.folder / "instruction.md")
    ]
    if task.operational_spec is not None:
        paths.append(("instruction", task.operational_spec))
    for folder in task.skill_folders:
        paths += [("skill", path) for path in sorted(folder.rglob("*.md"))]
    found = []
    for about, path in paths:
        if path.is_file():
            name = f"{path.parent.name}/{path.name}" if about == "skill" else path.name
            lines = tuple(path.read_text(encoding="utf-8", errors="replace").splitlines())
            found.append(_Text(about, name, lines, given is None or name in given))
    return found


def _not_there(
    task: Task, signature: Signature, texts: Sequence[_Text], judged: Sequence[Judged]
) -> Proposal:
    """Of what is not there the agent's file is to blame, unless no text asks for it."""
    said = reason(judged)
    columns: Sequence[str] = signature.columns
    words = f"The agent's file lacks {', '.join(columns)}."
    if signature.id == NO_OUTPUT:
        unread = any(item.name != "required_columns" for item in judged)
        columns = () if unread else _missing_keys(task, said)
        words = f"No row of the agent's file can be compared. {said}".strip()
    clues: list[Clue] = []
    asked = False
    for text in texts:
        if text.about != "instruction":
            continue
        lines = asking(text.lines, columns)
        asked = asked or (bool(lines) and text.given)
        clues += [Clue(text.about, _cut(_plain(line)), text.where(n)) for n, line in lines[:_LINES]]
    is_unsaid = bool(columns) and not asked
    if is_unsaid:
        words += " Nothing that this run was given was found to ask for it."
    return _proposal(signature, "instruction" if is_unsaid else "agent", words, clues)


def _missing_keys(task: Task, said: str) -> tuple[str, ...]:
    """The key columns that the judge's reason names; none where it names every column."""
    if all(_is_of(name).search(said) for name in task.evaluation.required):
        return ()  # the file is no table with columns at all
    return tuple(n for n in task.evaluation.key_columns if _is_of(n).search(said))


def _one(
    task: Task, signature: Signature, texts: Sequence[_Text], agent_sql: Sequence[str]
) -> Proposal:
    clues: list[Clue] = []
    said: _Said = {"instruction": [], "skill": []}
    unseen: _Said = {"instruction": [], "skill": []}
    for text in texts:
        for number, line in _lines(task, signature, text.lines):
            clue = Clue(text.about, _cut(_plain(line)), text.where(number))
            clues.append(clue)
            (said if text.given else unseen)[text.about].append((clue.whose, line))
    agent = _agent(signature, agent_sql)
    clues += [Clue("agent", _cut(line), "its SQL or script") for line in agent]
    if signature.change is not None:
        clues.append(Clue("reference", _cut(signature.change.before), signature.change.query))
    undefined = _undefined(task, signature)
    clues += undefined
    fault, words = _decide(signature, said, unseen, bool(undefined), bool(agent))
    return _proposal(signature, fault, words, clues)


def _proposal(signature: Signature, fault: Fault, words: str, clues: Iterable[Clue]) -> Proposal:
    return Proposal(
        fault=fault,
        words=words,
        columns=signature.columns,
        signature=signature.id,
        clues=tuple(clues),
        rows=signature.rows,
        title=signature.title,
    )


def _decide(
    signature: Signature,
    said: _Said,
    unseen: _Said,
    undefined: bool,
    agent: bool,
) -> tuple[Fault, str]:
    if signature.id == "tie-break":
        return "reference", (
            "Rows differ only in how ties are decided"
            + (", and the reference's own choice is one of several" if undefined else "")
            + ": perhaps undefined in the reference."
        )
    for about in ("skill", "instruction"):
        if (whose := _whose(signature, said[about], "agent")) is not None:
            fault: Fault = "skill" if about == "skill" else "instruction"
            return fault, (
                f"The {whose} says what the agent did, and the reference does otherwise."
            )
    for about in ("instruction", "skill"):
        if (whose := _whose(signature, said[about], "reference")) is not None:
            return "agent", (
                f"The {whose} says what the reference does, and the agent departs from it"
                f"{' (see its SQL)' if agent else ''}."
            )
    if (unread := _by_unseen(signature, unseen)) is not None:
        return unread
    if not said["instruction"] and not said["skill"]:
        if unseen["instruction"] or unseen["skill"]:
            return "instruction", (
                "Nothing that this run was given was found to speak of it; texts that it was not "
                "given, or not as they are now, do."
            )
        return "instruction", (
            "Neither the instruction nor the skill was found to speak of it: perhaps it is not "
            "said at all."
        )
    return "undecided", "The texts speak of it, but which side they take is for a person to read."


def _whose(
    signature: Signature, said: Sequence[tuple[str, str]], side: Literal["agent", "reference"]
) -> str | None:
    """Which text takes a side, by its name; None where none of them does."""
    if _stands_for(signature, [line for _, line in said]) != side:
        return None
    names = list(dict.fromkeys(whose for whose, _ in said))
    for name in names:
        if _stands_for(signature, [line for whose, line in said if whose == name]) == side:
            return name
    return " with the ".join(names)


def _by_unseen(signature: Signature, unseen: _Said) -> tuple[Fault, str] | None:
    """What the texts say that the run was not given."""
    for about in ("instruction", "skill"):
        if (whose := _whose(signature, unseen[about], "reference")) is not None:
            return "instruction", (
                f"Only the {whose} was found to say what the reference does, and this run was not "
                "given it, or not as it is now: perhaps the agent could not know."
            )
        if about == "skill" and _whose(signature, unseen[about], "agent") is not None:
            return "skill", (
                "The skill, which this run was not given or not as it is now, says what the agent "
                "did, and the reference does otherwise."
            )
    return None


def _stands_for(signature: Signature, lines: Iterable[str]) -> Literal["agent", "reference", ""]:
    """Whose way the lines describe, by the figures of the change or the sense of a bound."""
    change = signature.change
    joined = " ".join(lines).lower()
    if not joined:
        return ""
    if change is not None and signature.id == "threshold-edge":
        strict = "=" not in re.sub(r"<>|!=", "", change.before)
        has_strict, has_inclusive = bool(_STRICT.search(joined)), bool(_INCLUSIVE.search(joined))
        if has_strict != has_inclusive:
            return "reference" if has_strict == strict else "agent"
        return ""
    if change is not None:
        before, after = set(_NUMBER.findall(change.before)), set(_NUMBER.findall(change.after))
        there = set(_NUMBER.findall(joined))
        only_before, only_after = (before - after) & there, (after - before) & there
        if only_before and not only_after:
            return "reference"
        if only_after and not only_before:
            return "agent"
    if signature.id == "unit-factor":
        return _stands_by_unit(signature, joined)
    if signature.id == "null-versus-zero" and re.search(r"missing.{0,60}\b0\b|scores? 0", joined):
        return "reference" if signature.parameters.get("reference") == "zero" else "agent"
    said = _OF_ALL.get(signature.id)
    return "reference" if said and re.search(said, joined) else ""


def _stands_by_unit(signature: Signature, text: str) -> Literal["agent", "reference", ""]:
    """Whose unit alone a text names."""
    reference, agent = (any(_names(unit, text) for unit in each) for each in _units(signature))
    return "" if reference == agent else "reference" if reference else "agent"


def _units(signature: Signature) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The unit of the reference and that of the agent, as texts may write them."""
    told = str(signature.parameters.get("unit", "")).lower()
    pair = told.removesuffix(_TURNED).partition(" as ")
    sides = [tuple(w for unit, ways in _WRITTEN.items() if unit in _said_units(side) for w in ways)
             for side in (pair[0], pair[2])]  # fmt: skip
    return (sides[1], sides[0]) if told.endswith(_TURNED) else (sides[0], sides[1])


def _said_units(side: str) -> set[str]:
    return {side, *side.split()}


def _names(unit: str, text: str) -> bool:
    """Does a text name a unit, and not only as a part of another one?"""
    before = "" if unit.startswith(("/", "per ")) else r"(?<![\w/])"
    return re.search(rf"{before}{re.escape(unit)}(?![\w/])", text) is not None


def _lines(task: Task, signature: Signature, lines: Sequence[str]) -> list[tuple[int, str]]:
    """The lines about a signature; of several mistakes those about each of them."""
    changes = signature.changes
    if len(changes) > 1:
        each = [
            (_about(replace(signature, change=change), lines) or _naming(change, lines))[:1]
            for change in changes
        ]
        found = [*_about(signature, lines), *(line for part in each for line in part)]
        return list(dict.fromkeys(found))
    if changes:
        return _about(signature, lines)
    # A line about another column, and not about this one, tells nothing of it.
    others = set(task.evaluation.required) - set(signature.columns)
    mine = [_is_of(name) for name in signature.columns]
    theirs = [_is_of(name) for name in others]
    kept = [
        line
        if any(own.search(line) for own in mine) or not any(other.search(line) for other in theirs)
        else ""
        for line in lines
    ]
    return _about(signature, kept if mine else lines)


def _naming(change: Change, lines: Sequence[str]) -> list[tuple[int, str]]:
    """The lines that name a label of a change."""
    labels = {text.strip().lower() for text in _LABEL.findall(f"{change.before} {change.after}")}
    return [
        (number, line)
        for number, line in enumerate(lines, start=1)
        if any(label in line.lower() for label in labels)
    ]


def _is_of(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")


def _about(signature: Signature, lines: Sequence[str]) -> list[tuple[int, str]]:
    """The lines that speak most of the columns, the topic and the figures of a signature."""
    names = {w for column in signature.columns[:3] for w in _WORD.findall(column)} - _COMMON
    topics = _TOPICS.get(signature.id, ())
    numbers: set[str] = set()
    if signature.change is not None:
        pieces = f"{signature.change.before} {signature.change.after}"
        numbers = set(_NUMBER.findall(pieces)) - {"0", "1"}
        names |= set(_WORD.findall(pieces.lower())) - _COMMON - {"null", "interval", "then", "when"}
    scored = []
    for number, line in enumerate(lines, start=1):
        low = line.lower()
        if not low.strip():
            continue
        words = set(_WORD.findall(low))
        hit_names = len(names & words)
        hit_numbers = len(numbers & set(_NUMBER.findall(low)))
        hit_topics = sum(topic in low for topic in topics)
        score = 2 * hit_numbers + hit_names + hit_topics
        if score >= 2 and (hit_numbers or hit_topics):  # noqa: PLR2004 - one word is chance
            scored.append((-score, number, line))
    return [(number, line) for _, number, line in sorted(scored)[:_LINES]]


def _agent(signature: Signature, statements: Sequence[str]) -> list[str]:
    """The lines of the agent's SQL that write the column, or hold the figures of the change."""
    wanted = [re.compile(rf"\b{re.escape(c)}\b", re.IGNORECASE) for c in signature.columns[:3]]
    numbers: set[str] = set()
    if signature.change is not None:
        numbers = set(_NUMBER.findall(signature.change.after)) - {"0", "1"}
    scored = []
    for statement in statements:
        for number, line in enumerate(statement.splitlines()):
            hits = sum(bool(w.search(line)) for w in wanted)
            hits += 2 * len(numbers & set(_NUMBER.findall(line)))
            if hits:
                scored.append((-hits, number, line.strip()))
    return [line for _, _, line in sorted(scored)[:_LINES]]


def _undefined(task: Task, signature: Signature) -> list[Clue]:
    """Where the reference's own header says that a choice is not determined."""
    if signature.id not in ("tie-break", "first-last") or signature.change is None:
        return []
    graph = concept_graph()
    found = []
    for name in signature.change.query.split(", "):
        query = graph.concepts.get(name) or find_target(task.target)
        if not query.deviations.startswith("none"):
            found.append(Clue("audit", _cut(query.deviations), f"{query.name}.sql"))
    return found


def _plain(line: str) -> str:
    """A line of Markdown without its marks; the cells of a table's row beside each other."""
    text = line.strip()
    if text.startswith("|"):
        cells = (cell.strip() for cell in re.split(r"(?<!\\)\|", text.strip("|")))
        text = " · ".join(cell for cell in cells if cell)
    text = _MARKS.sub("", re.sub(r"^(#+|[-*+]|\d+\.)\s+", "", text))
    return text.replace("\\|", "|")


def _cut(line: str) -> str:
    text = " ".join(line.split())
    return text if len(text) <= _LONG else f"{text[:_LONG].rpartition(' ')[0] or text[:_LONG]} …"
