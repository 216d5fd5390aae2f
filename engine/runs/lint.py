"""The contamination lint: did the agent see or leave what it must not?

Looks through every file of the agent's folder, its output and its trace for traces of the answers,
of other runs and of secrets. A find names rule, file, line and step, never the text that was found.
What the run itself had put there and the agent did not change is not looked at, and words of the
instruction are no find where the agent repeats them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from engine.agents.interface import DATABASE, INSTRUCTION, OUTPUT
from engine.base.files import sha256_of
from engine.base.jobs import Job
from engine.runs import hostile
from engine.runs.folder import WORK
from engine.runs.lint_trace import TRACE, trace_texts
from engine.runs.records import LintResult, Violation

_BLOCK = 1 << 20
_OVERLAP = 4096
_PER_RULE_AND_FILE = 20


@dataclass(frozen=True)
class _Pattern:
    """What to look for: cheap words first, the expression only where one of them stands.

    Every repetition is bounded: the text is hostile, and must not make the search slow.
    """

    rule: str
    words: tuple[bytes, ...]
    expression: re.Pattern[bytes]


_SECRETS = (
    (b"sk-", rb"\bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{32}"),
    (b"AIza", rb"\bAIza[0-9A-Za-z_-]{35}\b"),
    (b"gh", rb"\bgh[pousr]_[A-Za-z0-9]{36}"),
    (b"github_pat_", rb"\bgithub_pat_[A-Za-z0-9_]{40}"),
    (b"xox", rb"\bxox[abprs]-[A-Za-z0-9-]{20}"),
    (b"AKIA", rb"\bAKIA[0-9A-Z]{16}\b"),
    (b"hf_", rb"\bhf_[A-Za-z0-9]{30}"),
    (b"PRIVATE KEY-----", rb"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----"),
)
_ANSWERS = (
    (b"truth", rb"\bground[_-]?truths?/[\w.-]"),
    (b"answer", rb"\banswer[_-]?keys?/[\w.-]"),
    (b"reference", rb"\breferences?/[\w./-]{1,200}\.(?:parquet|csv(?:\.gz)?)\b"),
    (b".manifest.json", rb"[\w-]\.manifest\.json\b"),
    (b"reference-notes.md", rb"\breference-notes\.md\b"),
    (b"PROVENANCE.yaml", rb"\bPROVENANCE\.yaml\b"),
)
_RUN_ID = (
    rb"[a-z0-9]_(?:no-skill|with-skill(?:-all|-decoy|-rawsql)?|operational-spec)"
    rb"_[\w.-]{3,150}_t\d{1,4}_\d{8}_\d{6}\b"
)
_FIXED = (
    *(_Pattern("secret", (word,), re.compile(text)) for word, text in _SECRETS),
    *(_Pattern("answer_file", (word,), re.compile(text)) for word, text in _ANSWERS),
    _Pattern(
        "other_run", (b"_no-skill_", b"_with-skill", b"_operational-spec_"), re.compile(_RUN_ID)
    ),
)
RULES = {
    "private_path": "a path of this machine's private folders",
    "answer_file": "the name of a file or folder that holds answers",
    "secret": "something of the shape of an access key",
    "other_run": "the name of another run",
    "database_copy": "a database file other than the given one",
    "reference_copy": "a copy of the reference",
    "unchecked": "more files than can be checked, or one that cannot be read",
}
"""Rule to what it finds, in words."""


@dataclass(frozen=True)
class Given:
    """What a lint has to know of the run."""

    run_id: str
    """The run's own name, which is no find."""
    private: tuple[str, ...]
    """Host folders whose paths no agent can know."""
    files: Mapping[str, str]
    """SHA-256 of what was put into the work folder, by name."""
    database_sha256: str
    """Of the given database."""
    reference: Path | None
    """The reference file."""
    reference_csv_sha256: str = ""
    """Of the reference's canonical CSV form."""
    agent: str = "script"
    """The adapter's name: whose trace it is."""
    shown: tuple[str, ...] = ()
    """Host paths that the sandbox itself shows (in its list of mounts): naming them is no find."""


def lint(folder: Path, given: Given, *, job: Job) -> LintResult:
    """Look through `folder/work` and the raw output of the run in `folder`.

    Where the work folder is gone already, what was collected from it is looked through.

    Raises:
        Cancelled: the user stopped it.
    """
    rules = _text_rules(given)
    found: list[Violation] = []
    reference = _Reference(given.reference)
    roots = [folder / WORK] if (folder / WORK).is_dir() else [folder / "agent"]
    for root in roots:
        if not root.is_dir():
            continue
        try:
            for entry in hostile.walk(root):
                job.check()
                if entry.name != DATABASE or entry.size:
                    found += _entry(entry, given, rules, reference, job)
        except (hostile.TooMany, hostile.Refused):
            found.append(Violation("unchecked", root.name, None))
    for name in ("stdout.log", "stderr.log", *(("output.csv",) if roots[0].name != WORK else ())):
        path = folder / name
        if path.is_file():
            with path.open("rb") as file:
                found += _scan(name, file, rules, _innocent(given), job)
    # The trace of a script holds what the two logs hold.
    if given.agent not in ("script", "replay") and (folder / TRACE).is_file():
        found += _trace(folder, given, rules, job)
    output = folder / OUTPUT
    return LintResult(
        passed=not found,
        violations=tuple(found),
        patterns=tuple(RULES),
        identical_output=output.is_file() and sha256_of(output) == given.reference_csv_sha256,
    )


def _entry(
    entry: hostile.Entry,
    given: Given,
    rules: tuple[_Pattern, ...],
    reference: _Reference,
    job: Job,
) -> Iterator[Violation]:
    name = entry.name.encode("utf-8", "replace").decode()
    if entry.refusal is not None:
        return
    try:
        with entry.open() as file:
            head = file.read(8192)
            file.seek(0)
            if head[8:12] == b"DUCK":
                if _digest(file) != given.database_sha256:
                    yield Violation("database_copy", name, None)
                return
            put = given.files.get(entry.name)
            if put is not None and _digest(file) == put:
                return
            file.seek(0)
            if reference.is_copied_in(file, entry.size):
                yield Violation("reference_copy", name, None)
            file.seek(0)
            if b"\0" not in head:
                yield from _scan(name, file, rules, _innocent(given), job)
    except (hostile.Refused, OSError):
        yield Violation("unchecked", name, None)


def _trace(
    folder: Path, given: Given, rules: tuple[_Pattern, ...], job: Job
) -> Iterator[Violation]:
    counts = dict.fromkeys(RULES, 0)
    innocent = _innocent(given)
    instruction = folder / INSTRUCTION
    said = instruction.read_bytes() if instruction.is_file() else b""
    known = {match[0] for rule in rules for match in rule.expression.finditer(said)}
    try:
        for piece in trace_texts(folder / TRACE, given.agent, job):
            for rule in _rules_in(piece.text, rules, innocent, known):
                counts[rule] += 1
                if counts[rule] <= _PER_RULE_AND_FILE:
                    yield Violation(rule, TRACE, piece.line, piece.step)
    except OSError:
        yield Violation("unchecked", TRACE, None)


def _rules_in(
    text: bytes, rules: tuple[_Pattern, ...], innocent: tuple[bytes, ...], known: set[bytes]
) -> Iterator[str]:
    """The rules that a text breaks, each once."""
    for word in innocent:
        text = text.replace(word, b"?" * len(word))
    found = (
        pattern.rule
        for pattern in rules
        if any(word in text for word in pattern.words)
        and any(match[0] not in known for match in pattern.expression.finditer(text))
    )
    yield from dict.fromkeys(found)


class _Reference:
    """Knows a copy of the reference file by its bytes."""

    def __init__(self, path: Path | None) -> None:
        self._path = path if path is not None and path.is_file() else None
        self._size = self._path.stat().st_size if self._path else -1
        self._sha256 = ""

    def is_copied_in(self, file: BinaryIO, size: int) -> bool:
        """Is it this very file? Hashes only where the sizes agree."""
        if self._path is None or size != self._size:
            return False
        self._sha256 = self._sha256 or sha256_of(self._path)
        return _digest(file) == self._sha256


def _text_rules(given: Given) -> tuple[_Pattern, ...]:
    paths = tuple(path.encode() for path in given.private if len(path) > 1)
    private = (
        _Pattern("private_path", (path,), re.compile(re.escape(path) + rb"(?![\w.-])"))
        for path in paths
    )
    return (*_FIXED, *private)


def _innocent(given: Given) -> tuple[bytes, ...]:
    """What may be named: the run itself, and what its sandbox shows; longest first."""
    words = {given.run_id, *given.shown} - {""}
    return tuple(word.encode() for word in sorted(words, key=len, reverse=True))


def _scan(
    name: str,
    file: BinaryIO,
    rules: tuple[_Pattern, ...],
    innocent: tuple[bytes, ...],
    job: Job,
) -> Iterator[Violation]:
    """The finds in one file, read in blocks that overlap so that none is cut in two."""
    seen: set[tuple[str, int]] = set()
    counts = dict.fromkeys(RULES, 0)
    tail, lines = b"", 1
    while block := file.read(_BLOCK):
        job.check()
        text = tail + block
        for word in innocent:
            text = text.replace(word, b"?" * len(word))
        for pattern in rules:
            if not any(word in text for word in pattern.words):
                continue
            for match in pattern.expression.finditer(text):
                # What lies wholly in the tail was found with the block before.
                if match.end() <= len(tail) or counts[pattern.rule] >= _PER_RULE_AND_FILE:
                    continue
                line = lines + text.count(b"\n", 0, match.start())
                if (pattern.rule, line) not in seen:
                    seen.add((pattern.rule, line))
                    counts[pattern.rule] += 1
                    yield Violation(pattern.rule, name, line)
        keep = text[-_OVERLAP:]
        lines += text.count(b"\n", 0, len(text) - len(keep))
        tail = keep


def _digest(file: BinaryIO) -> str:
    digest = hashlib.sha256()
    while block := file.read(_BLOCK):
        digest.update(block)
    return digest.hexdigest()
