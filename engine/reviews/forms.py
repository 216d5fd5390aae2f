"""Forms that people fill in: written as YAML with the questions, read as YAML or TOML."""

from __future__ import annotations

import io
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.scalarstring import LiteralScalarString

from engine.base.errors import BadInput, bad_file
from engine.reviews.checklist import Checklist, Item
from engine.reviews.verdicts import ANSWERS, SEVERITIES, Decision, Verdict, anchor

_LONGEST = 4 << 20
_LINES = re.compile(r"(\d{1,6})(?:\s*[-–]\s*(\d{1,6}))?")
_HEAD = f"""\
Fill in `verdict` for each item: {", ".join(ANSWERS)}. Nothing is answered for you.
  severity   with concern and disagree: {", ".join(SEVERITIES)}
  text       in your words; needed for everything but agree
  anchors    lines that are meant:  - {{text: instruction, lines: 3-5}}
  evidence   checks from the evidence panel, as they are (query, source_sha256, date, …)
  places     addresses of runs (m4review://run/…)
  rows       addresses of rows by key; they stay on this machine unless the source's policy
             allows them to leave
What you write here can be read by whoever reads this file, until it is submitted or saved: then it
is sealed (or kept encrypted), and taken out of this file.
"""
_OWN = ("verdict", "severity", "text", "anchors")
_LISTS = ("evidence", "places", "rows")
FIELDS = (*_OWN, *_LISTS, "decision", "reason")
"""What of an entry is filled in."""
_KEPT = "Your answer is kept, encrypted: it stays if this is left empty, else this replaces it."
_DECIDE = """\
Decide each item: `decision` is agree (the texts stand) or disagree (they must be changed).
`reason` must be given. What the reviewers said stands under `said`; it is not read back.
"""


def review_form(
    *,
    assignment: str,
    task: str,
    checklist: Checklist,
    items: Sequence[str],
    texts: Mapping[str, str],
    source: str | None,
    before: Sequence[Mapping[str, Any]] = (),
    kept: Collection[str] = (),
) -> str:
    """The form of one review as YAML.

    Args:
        assignment: its hash.
        task: its name.
        checklist: what is asked.
        items: which of its items.
        texts: hash of each text as it is now; what will be signed.
        source: the source that is looked at.
        before: data of earlier forms, the newest last; answers that rest on unchanged texts
            are kept.
        kept: items whose answer is in the encrypted draft; it is said, and no more.
    """
    form = CommentedMap(
        {"assignment": assignment, "task": task, "source": source, "texts": CommentedMap(texts)}
    )
    form.yaml_set_start_comment(_HEAD)
    entries = CommentedSeq()
    for item, values, again in kept_answers(checklist, items, texts, before):
        entry = CommentedMap({**values, "text": _block(values["text"])})
        told = "\nA text was changed since you answered: answer again." if again else ""
        told += f"\n{_KEPT}" if item.id in kept and not says(values) else ""
        entry.yaml_set_comment_before_after_key(
            "verdict", before=f"{item.title}: {item.question}{told}", indent=4
        )
        entries.append(entry)
    form["items"] = entries
    return _dumped(form)


def kept_answers(
    checklist: Checklist,
    items: Sequence[str],
    texts: Mapping[str, str],
    before: Sequence[Mapping[str, Any]],
) -> list[tuple[Item, dict[str, Any], bool]]:
    """The items that are asked, each with its answer as far as it can be kept.

    Args:
        checklist: what is asked.
        items: which of its items.
        texts: hash of each text as it is now.
        before: data of earlier forms, the newest last.

    Returns:
        Item, entry of the form, and whether it must be answered again since a text that it rests
        on was changed (words, evidence, places and rows stay then; verdict and anchors go).
    """
    each = [_kept(checklist, items, texts, data) for data in before or [{}]]
    found = each[0]
    for newer in each[1:]:
        found = [
            (item, entry, (older_again or again) and not entry["verdict"])
            for (item, old, older_again), (_, new, again) in zip(found, newer, strict=True)
            for entry in [over(old, new)]
        ]
    return found


def _kept(
    checklist: Checklist, items: Sequence[str], texts: Mapping[str, str], before: Mapping[str, Any]
) -> list[tuple[Item, dict[str, Any], bool]]:
    old = {str(e.get("item")): e for e in before.get("items") or [] if _is_map(e)}
    old_texts = before.get("texts") or {}
    found = []
    for item in checklist.items:
        if item.id not in items:
            continue
        kept = old.get(item.id, {})
        same = all(
            old_texts.get(name) == texts.get(name)
            for name in {*texts, *old_texts}
            if item.rests_on(name)
        )
        entry = {
            "item": item.id,
            "verdict": kept.get("verdict") if same else None,
            "severity": kept.get("severity") if same else None,
            "text": str(kept.get("text") or ""),
            "anchors": (kept.get("anchors") if same else None) or [],
            **{name: kept.get(name) or [] for name in _LISTS},
        }
        found.append((item, entry, bool(kept.get("verdict")) and not same))
    return found


def says(entry: Any) -> bool:
    """Was anything filled into this entry of a form?"""
    return _is_map(entry) and any(entry.get(name) for name in FIELDS)


def over(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """An entry of a form laid over an older one of the same item.

    A new answer replaces the old one; where none is given, what is empty stays as it was. What was
    attached is added.
    """
    found = {**old, **new}
    for given, names in (("verdict", _OWN), ("decision", ("decision", "reason"))):
        answered = bool(new.get(given))
        found |= {n: new.get(n) if answered else new.get(n) or old[n] for n in names if n in old}
    for name in _LISTS:
        mine, theirs = old.get(name) or [], new.get(name) or []
        if mine and isinstance(theirs, list):
            found[name] = [*mine, *(each for each in theirs if each not in mine)]
    return found


def laid_over(old: Mapping[str, Any], form: Mapping[str, Any]) -> dict[str, Any]:
    """A form's data with what only an older one says about its items."""
    before = {str(entry["item"]): entry for entry in old["items"]}
    items = [
        over(before.get(str(entry.get("item")), {}), entry) if _is_map(entry) else entry
        for entry in form["items"]
    ]
    named = {str(entry.get("item")) for entry in items if _is_map(entry)}
    return {**form, "items": [*items, *(e for n, e in before.items() if n not in named)]}


def decision_form(
    *,
    assignment: str,
    task: str,
    checklist: Checklist,
    said: Mapping[str, Sequence[Mapping[str, Any]]],
    before: Sequence[Mapping[str, Any]] = (),
) -> str:
    """The adjudicator's form: open items, with what each reviewer said.

    Args:
        assignment: its hash.
        task: its name.
        checklist: what was asked.
        said: by item.
        before: data of earlier forms, the newest last; decisions in them are kept.
    """
    decided = decisions_so_far(said, before)
    form = CommentedMap({"assignment": assignment, "task": task, "adjudication": True})
    form.yaml_set_start_comment(_DECIDE)
    entries = CommentedSeq()
    for name, voices in said.items():
        item = checklist.item(name)
        entry = CommentedMap(
            {
                "item": name,
                "said": [
                    {k: _block(v) if isinstance(v, str) else v for k, v in voice.items()}
                    for voice in voices
                ],
                "decision": decided[name]["decision"],
                "reason": _block(decided[name]["reason"]),
            }
        )
        entry.yaml_set_comment_before_after_key(
            "said", before=f"{item.title}: {item.question}", indent=4
        )
        entries.append(entry)
    form["items"] = entries
    return _dumped(form)


def decisions_so_far(
    items: Collection[str], before: Sequence[Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    """An entry (item, decision, reason) per item from the data of forms, the newest last."""
    found: dict[str, dict[str, Any]] = {
        item: {"item": item, "decision": None, "reason": ""} for item in items
    }
    for entry in [e for data in before for e in data.get("items") or [] if _is_map(e)]:
        if (item := str(entry.get("item"))) in found:
            own = {name: entry.get(name) or found[item][name] for name in ("decision", "reason")}
            found[item] |= {**own, "reason": str(own["reason"])}
    return found


def read_form(path: Path) -> dict[str, Any]:
    """A form's data, from YAML or (by its ending) TOML.

    Raises:
        BadInput: names file and line.
    """
    try:
        if path.stat().st_size > _LONGEST:
            raise bad_file(path, "The form is too long.")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise bad_file(path, "The form cannot be read.") from error
    except UnicodeDecodeError as error:
        raise bad_file(path, "The form is not UTF-8 text.") from error
    try:
        if path.suffix == ".toml":
            value: Any = tomllib.loads(text)
        else:
            value = YAML(typ="safe", pure=True).load(io.StringIO(text))
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise bad_file(path, "This is not valid YAML.", line=line) from error
    except (YAMLError, RecursionError, ValueError) as error:
        raise bad_file(path, f"This is not a valid form: {type(error).__name__}.") from error
    if not _is_map(value) or not isinstance(value.get("items"), list):
        raise bad_file(
            path, "This is no form of a review.", todo="Make one: m4bench review open TASK"
        )
    return dict(value)


def check_items(form: Mapping[str, Any], items: Collection[str]) -> None:
    """What is kept is kept by item: one that is not asked, or named twice, would be lost.

    Raises:
        BadInput: names it.
    """
    seen: set[str] = set()
    for entry in form["items"]:
        name = _item(entry)
        if name in seen:
            raise BadInput(f"{name} stands twice in the form.", todo="Leave one of the two.")
        if name not in items and says(entry):
            raise BadInput(f"{name} is not asked.", todo=f"Items are {', '.join(items)}.")
        for listed in ("anchors", *_LISTS):
            if not isinstance(entry.get(listed) or [], list):
                raise BadInput(f"{name}: {listed} is a list, each line of it with a hyphen.")
        seen.add(name)


def verdicts_in(
    form: Mapping[str, Any], texts: Mapping[str, str]
) -> tuple[dict[str, Verdict], dict[str, list[str]]]:
    """What a form says, and the rows by item; unanswered items are left out.

    Args:
        form: from `read_form`.
        texts: the (normalised) texts themselves, for the anchors.

    Raises:
        BadInput: names the item and what is wrong.
    """
    given: dict[str, Verdict] = {}
    rows: dict[str, list[str]] = {}
    for entry in form["items"]:
        name, said = _item(entry), entry.get("verdict")
        if name in given:
            raise BadInput(f"{name} stands twice in the form.")
        if said is None or not str(said).strip():
            continue
        given[name] = verdict_in(entry, texts)
        if entry.get("rows"):
            rows[name] = [str(each) for each in entry["rows"]]
    return given, rows


def verdict_in(entry: Mapping[str, Any], texts: Mapping[str, str]) -> Verdict:
    """What one entry of a form says; it has a verdict.

    Raises:
        BadInput: names the item and what is wrong.
    """
    name = _item(entry)
    value = {
        "item": name,
        "verdict": " ".join(str(entry.get("verdict")).split()),
        "severity": entry.get("severity") or None,
        "text": str(entry.get("text") or "").strip(),
        "anchors": [_anchor(name, each, texts) for each in entry.get("anchors") or []],
        "evidence": entry.get("evidence") or [],
        "places": entry.get("places") or [],
    }
    found: Verdict = _checked(name, value, Verdict)
    return found


def decisions_in(form: Mapping[str, Any], items: Sequence[str]) -> list[Decision]:
    """What an adjudicator's form decides, in the order of `items`.

    Raises:
        BadInput: names every item without a decision or reason.
    """
    given: dict[str, Decision] = {}
    problems = []
    for entry in form["items"]:
        name = _item(entry)
        said, reason = entry.get("decision"), str(entry.get("reason") or "").strip()
        if said is None or not reason:
            problems.append(f"{name} has no {'decision' if said is None else 'reason'}")
            continue
        value = {"item": name, "verdict": said, "reason": reason}
        given[name] = _checked(name, value, Decision)
    known = {_item(entry) for entry in form["items"]}
    problems += [f"{name} is not decided" for name in items if name not in known]
    problems += [f"{name} is not open" for name in sorted(known - set(items))]
    if problems:
        raise BadInput(
            f"The adjudication is not complete: {'; '.join(problems)}.",
            todo="Give each item agree or disagree, and a reason.",
        )
    return [given[name] for name in items]


def _checked(name: str, value: dict[str, Any], model: type[Any]) -> Any:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        told = "; ".join(
            f"{'.'.join(str(part) for part in each['loc'])}: {each['msg']}"
            for each in error.errors()
        )
        raise BadInput(f"{name}: {told}.") from error


def _anchor(item: str, said: Any, texts: Mapping[str, str]) -> dict[str, Any]:
    """An anchor as the form has it, made exact."""
    match = _LINES.fullmatch(str(said.get("lines", "")).strip()) if _is_map(said) else None
    if match is None:
        raise BadInput(f"{item}: an anchor is written {{text: instruction, lines: 3-5}}.")
    name = str(said.get("text"))
    if name not in texts:
        raise BadInput(f"{item}: there is no text {name}.", todo=f"There are {', '.join(texts)}.")
    first = int(match.group(1))
    return anchor(name, texts[name], first, int(match.group(2) or first)).model_dump()


def _item(entry: Any) -> str:
    if not _is_map(entry) or not isinstance(entry.get("item"), str):
        raise BadInput("An entry of the form's items names no item.")
    return str(entry["item"])


def _is_map(value: Any) -> bool:
    return isinstance(value, Mapping)


def _block(text: str) -> str:
    return LiteralScalarString(text) if "\n" in text else text


def _dumped(form: CommentedMap) -> str:
    yaml = YAML()
    yaml.width = 4096
    yaml.indent(mapping=2, sequence=4, offset=2)
    out = io.StringIO()
    yaml.dump(form, out)
    return out.getvalue()
