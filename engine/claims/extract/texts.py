"""Claims about texts of the data (drugs, devices, modes), diagnosis codes, and stated counts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.claims.model import Claim
from engine.claims.reading import Cell, Document, Row, sentences, spans
from engine.claims.reference import CODE

_DENIED = re.compile(
    r"\b(?:not?|never|nothing|ignored?|none of|neither|nor|without|rejected?)\b", re.IGNORECASE
)
_ABOUT_CODES = re.compile(r"\b(?:ICD|codes?|diagnos[ei]s)\b", re.IGNORECASE)
_HEAD = re.compile(r"first \d|icd-|version")
_CODE_WORD = re.compile(
    rf"(?<![\w.:−-])(?:(?P<stem>(?:[A-Z]\d\d, )*[A-Z]\d\d (?:or|to) [A-Z]\d\d)"
    r",? (?:followed by|each with) "
    rf"(?P<ends>\.?\d(?:(?:, | or )\.?\d)*)|(?P<low>{CODE.pattern}(?:\.\d+)?)"
    rf"(?:(?:\.\.| to )(?P<high>{CODE.pattern}(?:\.\d+)?))?)(?![\w:/%])(?!\.\d)"
)
_COUNTS = {
    word: number
    for number, word in enumerate(
        (
            *("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
            *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen"),
            *("eighteen", "nineteen", "twenty"),
        ),
        1,
    )
}
_LONG = 9
"""Texts that a paragraph lists more than, for a count to speak of it."""
_NEAR = 4
"""Lines between a count and the table that it speaks of."""
_STATED = re.compile(
    r"\b(?:the|these|of|all)\s+(?:of these\s+)?\*{0,2}"
    rf"(?P<number>\d{{1,3}}|{'|'.join(_COUNTS)})\*{{0,2}}"
    r"\s+(?:(?:standard|of|different)\s+)?(?P<what>items|modes|texts|below|fragments|devices|drugs)\b",
    re.IGNORECASE,
)


def text_claims(document: Document) -> Iterator[Claim]:
    """Texts in code spans of the sections that state rules."""
    for cell, subject in _with_subject(document):
        for at, sentence in sentences(cell.text):
            found = list(spans(Cell(sentence, cell.line, cell.column + at)))
            denied = bool(_DENIED.search(re.sub(r"`[^`]*`", "", sentence)))
            for span in found:
                facts = {"text": span.text, "denied": denied, "listed": len(found)}
                yield Claim(
                    document.kind, "text", span.line, span.column, span.text, subject, facts
                )


def _with_subject(document: Document) -> Iterator[tuple[Cell, str]]:
    for line in document.lines:
        if not line.aside:
            yield line.cell, line.section
    for row in document.rows:
        if not row.aside:
            words = [s.text for c in row.cells[:2] for s in spans(c)][:1]
            for cell in row.cells:
                yield cell, words[0] if words else row.cells[0].text


def code_claims(document: Document) -> Iterator[Claim]:
    """Diagnosis codes and ranges of them, dots left out."""
    subject = ""
    for row in document.rows:
        if row.aside or not any(_HEAD.search(head) for head in row.header):
            continue
        subject = row.cells[0].text or subject
        for head, cell in zip(row.header, row.cells, strict=False):
            if head.startswith("first ") or "icd-" in head:
                yield from _codes(document, cell, subject)
    for line in document.lines:
        if not line.aside and _ABOUT_CODES.search(line.cell.text):
            for claim in _codes(document, line.cell, line.section, prose=True):
                code = str(claim.facts["code"]) if claim.facts else ""
                if re.match(r"[A-Z]|\d{4}", code):
                    yield claim


def _codes(document: Document, cell: Cell, subject: str, *, prose: bool = False) -> Iterator[Claim]:
    for match in _CODE_WORD.finditer(cell.text):
        if match["stem"]:
            stems = re.findall(r"[A-Z]\d\d", match["stem"])
            if " to " in match["stem"]:
                letter, low, high = stems[0][0], int(stems[0][1:]), int(stems[-1][1:])
                stems = [f"{letter}{number:02}" for number in range(low, high + 1)]
            codes = [s + e for s in stems for e in re.findall(r"\d", match["ends"])]
        else:
            ends = [match["low"], match["high"]]
            codes = ["..".join(code.replace(".", "") for code in ends if code)]
        for code in codes:
            place = cell.column + match.start()
            facts = {"code": code, "prose": prose}
            yield Claim(document.kind, "code", cell.line, place, match.group(), subject, facts)


def count_claims(document: Document) -> Iterator[Claim]:
    """Stated counts ("The 37 standard modes", "these 48 items") with what is really listed."""
    lists = {
        line.cell.line: len(list(spans(line.cell)))
        for line in document.lines
        if len(list(spans(line.cell))) > _LONG
    }
    for line in document.lines:
        if line.aside:
            continue
        for match in _STATED.finditer(line.cell.text):
            stated = int(_COUNTS.get(match["number"].lower()) or match["number"])
            counted = _counted(document, lists, line.cell.line, match["what"].lower())
            if counted:
                yield _count(document, line.cell, match, stated, counted)
    for row in document.rows:
        for cell in () if row.aside else row.cells:
            for match in _STATED.finditer(cell.text):
                if match["what"] == "below" and lists:
                    stated = int(_COUNTS.get(match["number"].lower()) or match["number"])
                    yield _count(document, cell, match, stated, sorted(lists.values()))


def _count(
    document: Document, cell: Cell, match: re.Match[str], stated: int, counted: list[int]
) -> Claim:
    place = cell.column + match.start("number")
    facts = {"stated": stated, "counted": counted}
    return Claim(document.kind, "count", cell.line, place, match.group(), cell.text, facts)


def _counted(document: Document, lists: dict[int, int], line: int, what: str) -> list[int]:
    """How many are listed nearby: in this paragraph or the next, or in the nearest table."""
    if what in ("modes", "texts", "below", "fragments", "devices"):
        near = [n for at, n in lists.items() if line <= at <= line + 2]
        return near or (sorted(lists.values()) if what in ("below", "texts") else [])
    tables: dict[int, list[Row]] = {}
    for row in document.rows:
        if "item" in row.header and not row.aside:
            tables.setdefault(row.table, []).append(row)
    near = [
        sum(
            cell.text.isdigit()
            for row in rows
            for head, cell in zip(row.header, row.cells, strict=False)
            if head == "item"
        )
        for rows in tables.values()
        if abs(rows[0].cells[0].line - line) <= _NEAR or 0 < line - rows[-1].cells[0].line <= _NEAR
    ]
    return near if what == "items" else []
