"""Texts of the data near those that the skill names: how often each is there, what is left out."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from engine.claims.asking import Asker
from engine.claims.material import Material, checked
from engine.claims.model import Check

_STAYS = ("stay_id", "patientunitstayid", "hadm_id", "subject_id")
_MANY = 20_000
"""Different texts of one column that are read, the most frequent first."""
_FUZZY = 800
"""Different texts up to which likeness is looked for letter by letter."""
_NEAR = 0.88
_LISTED = 20
_FRAGMENT = 4
"""Letters that a fragment has at least."""
_WORD = re.compile(r"[a-z]{6,}")


@dataclass(frozen=True)
class _Column:
    """The texts of one column."""

    name: str
    """``schema.table.column``."""
    rows: dict[str, tuple[int, int]]
    """Text to rows and stays."""
    query: str
    """What was asked."""


def spelling_checks(material: Material, asker: Asker) -> Iterator[Check]:
    """One check for each column of the source in which texts of the reference occur."""
    texts = material.rules.texts
    if not texts:
        return
    named = {str((c.facts or {})["text"]) for s in material.skills for c in s.of("text")}
    for table, columns in sorted(material.rules.reads.items()):
        for column in columns:
            if asker.columns.get(table, {}).get(column) == "VARCHAR":
                found = _read(asker, table, column, material)
                if found is not None:
                    yield from _column(material, found, named, texts)


def _read(asker: Asker, table: str, column: str, material: Material) -> _Column | None:
    stay = next((s for s in _STAYS if s in asker.columns[table]), None)
    counted = f"count(DISTINCT {stay})" if stay else "0"
    where = ""
    if "itemid" in asker.columns[table] and material.rules.facts.items:
        listed = ", ".join(map(str, sorted(material.rules.facts.items)))
        where = f"AND itemid IN ({listed}) "
    sql = (
        f"SELECT {column}, count(*), {counted} FROM {table} WHERE {column} IS NOT NULL {where}"  # noqa: S608 - names of ours
        f"GROUP BY {column} ORDER BY count(*) DESC, {column} LIMIT {_MANY}"
    )
    rows = {str(text): (int(n), int(stays)) for text, n, stays in asker.ask(sql)}
    return _Column(f"{table}.{column}", rows, sql) if rows else None


def _column(
    material: Material, column: _Column, named: Collection[str], texts: frozenset[str]
) -> Iterator[Check]:
    known = {end: text for text in column.rows for end in (text, text.rpartition("|")[2])}
    exact = texts & known.keys()
    fragments = {t for t in texts if len(t) >= _FRAGMENT and t == t.lower()}
    contained = {t: f for t in column.rows for f in fragments if f in t.lower()}
    by_fragment = len(contained) > len(exact) and len(set(contained.values())) > _FRAGMENT
    if not exact and not by_fragment:
        return
    if by_fragment:
        near = _near_fragments(column, fragments, contained)
    else:
        near = _near_texts(known, exact | (texts & set(named)))
    counts = {
        t: {"rows": column.rows[known[t]][0], "stays": column.rows[known[t]][1]}
        for t in sorted(exact)
    }
    unnamed = sorted(t for t in near if t not in named)[:_LISTED]
    told = ", ".join(f"“{t}” (like “{near[t]}”)" for t in unnamed)
    yield checked(
        material.skills[0],
        "spellings",
        "look" if unnamed else "agrees",
        f"In {column.name} there are texts that neither skill nor reference name: {told}."
        if unnamed
        else f"In {column.name} no text is near a named one without being named.",
        "source",
        query=column.query,
        result={
            "column": column.name,
            "texts": counts,
            "near": {t: column.rows[known[t]][0] if t in known else 0 for t in unnamed},
        },
    )
    lost = sorted(t for t in exact - set(named) if len(exact & set(named)) > 1)
    if lost:
        rows = sum(column.rows[known[t]][0] for t in lost)
        yield checked(
            material.skills[0],
            "spelling-missing",
            "disagrees" if _listed(material, lost, named) else "look",
            "The reference accepts texts of the data that the skill does not name: "
            + ", ".join(f"“{t}”" for t in lost)
            + ".",
            "source",
            query=column.query,
            result={"missing": lost, "rows": rows},
        )


def _listed(material: Material, lost: list[str], named: Collection[str]) -> bool:
    """Are the lost ones in a list of which others are named?"""
    return any(
        set(lost) & texts and len(texts & set(named)) > len(texts) / 3
        for texts in material.rules.lists
    )


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", " ", text.casefold()).strip()


def _near_texts(known: dict[str, str], wanted: Collection[str]) -> dict[str, str]:
    """Texts of the data that differ from a wanted one by case, blanks, signs or a few letters."""
    plain = {_plain(text): text for text in wanted}
    fuzzy = len(known) <= _FUZZY
    found: dict[str, str] = {}
    for text in known:
        lower = text.lower()
        if text in wanted or any(f in lower for f in wanted if f == f.lower()):
            continue  # named, or with a fragment that is
        words = _plain(text)
        if words in plain:
            found[text] = plain[words]
        elif fuzzy and len(words) > _FRAGMENT:
            close = difflib.get_close_matches(words, plain, n=1, cutoff=_NEAR)
            if close:
                found[text] = plain[close[0]]
    return found


def _near_fragments(
    column: _Column, fragments: set[str], contained: dict[str, str]
) -> dict[str, str]:
    """Texts without a fragment that have a word much like one."""
    found: dict[str, str] = {}
    for text in column.rows:
        if text in contained:
            continue
        for word in _WORD.findall(text.lower()):
            close = difflib.get_close_matches(word, fragments, n=1, cutoff=_NEAR - 0.05)
            if close:
                found[text] = close[0]
                break
    return found
