"""The workbench's answers about texts that are being written: lint, users, effect of a change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from engine.base.errors import BadInput, UsageError
from engine.base.jobs import Job
from engine.base.paths import Home
from engine.catalogue.task import Task
from engine.claims import Evidence, check_evidence, kept_evidence
from engine.claims.live import TextFinding, kind_of, live_findings
from engine.preflight.finding import Kind
from engine.reviews import Desk
from engine.reviews.canonical import sha256
from engine.reviews.outcome import outcome_of
from engine.reviews.state import State
from engine.reviews.texts import Content, Now, normalise, now_of, since, tasks_in


@dataclass(frozen=True)
class TextUser:
    """One task that a text belongs to."""

    task: str
    """Its name."""
    kind: Kind
    """What the text is to it."""


@dataclass(frozen=True)
class StaleSignature:
    """A signature that would no longer hold."""

    task: str
    """What was reviewed."""
    author: str
    """Fingerprint of who signed."""
    name: str
    """Their name, as the ledger has it."""
    adjudicator: bool
    """Did they decide, rather than review?"""
    signed_at: str
    """ISO 8601, by their clock."""
    items: tuple[str, ...]
    """Titles of the checklist's items that rest on the text and would be asked again."""


@dataclass(frozen=True)
class TextEffect:
    """What a change of a text does to one task."""

    task: str
    """Its name."""
    appear: tuple[TextFinding, ...]
    """Findings of the new text that the old one does not have; places are the new text's."""
    go: tuple[TextFinding, ...]
    """Findings of the old text that the new one does not have; places are the old text's."""
    stale: tuple[StaleSignature, ...]
    """Signatures that hold for the old text and would not for the new one."""


def text_name(path: Path) -> str:
    """What a signature calls the text, e.g. ``instruction`` or ``skill:NAME``.

    Raises:
        UsageError: the file is no text of a task.
    """
    kind = kind_of(path)
    return {"skill": f"skill:{path.parent.name}", "task": "task.toml"}.get(kind, kind)


class Texts:
    """Part of `Workbench`. Every method may be called from any thread."""

    home: Home
    """The home folder."""
    content: Path | None
    """A folder with `tasks/` and `skills/`; None for the shipped content."""

    @property
    def _content(self) -> Content:
        return Content(self.content)

    def lint_text(
        self, task: str, path: Path, text: str, *, others: Mapping[Path, str] | None = None
    ) -> tuple[TextFinding, ...]:
        """The rules of `tasks lint` and the checks of texts over one text, saved or not.

        Quick enough to be called a moment after each keystroke. The first call for a task takes
        some seconds: its reference's SQL is read then.

        Args:
            task: name of the task that the text is looked at for.
            path: the text's file: SKILL.md, instruction.md, operational-spec.md, task.toml or
                PROVENANCE.yaml.
            text: all of it.
            others: what an editor holds of the task's other texts instead of what is on disk.

        Returns:
            The findings by place; those whose place is in another text are not among them.

        Raises:
            UsageError: there is no such task, or the file is no text of a task.
        """
        return live_findings(self._content.task(task), path, text, others)

    def text_users(self, path: Path) -> tuple[TextUser, ...]:
        """The tasks that a text belongs to, by name: all that use a skill; none for a new one.

        Raises:
            UsageError: the file is no text of a task.
        """
        return tuple(TextUser(task.name, kind_of(path)) for task in self._users(path))

    def effect_of(
        self, path: Path, text: str, *, others: Mapping[Path, str] | None = None
    ) -> tuple[TextEffect, ...]:
        """What saving `text` would do to every task that the text belongs to, by task.

        Args:
            path: the text's file; compared with what it holds now.
            text: the text that would be saved.
            others: as of `lint_text`.

        Raises:
            UsageError: the file is no text of a task.
            BadInput: the ledger or the file cannot be read.
        """
        kind, before = kind_of(path), _text(path)
        state = Desk(self.home, self._content).state()
        effects = []
        for task in self._users(path):
            old = live_findings(task, path, before, others)
            new = live_findings(task, path, text, others)
            effects.append(
                TextEffect(
                    task.name,
                    _without(new, old),
                    _without(old, new),
                    tuple(self._stale(state, task, kind, path, text)),
                )
            )
        return tuple(effects)

    def check_evidence(
        self,
        task: str,
        source: str,
        *,
        job: Job,
        texts: Mapping[Path, str] | None = None,
        fresh: bool = False,
    ) -> Evidence:
        """Hold every claim of a task's skills against texts, reference and source.

        See `engine.claims.check_evidence`.

        Raises:
            UsageError: no such task or source, or a source of another kind.
            BadInput, Busy, StorageFull, Cancelled.
        """
        found = self._content.task(task)
        return check_evidence(self.home, found, source, job=job, texts=texts, fresh=fresh)

    def kept_evidence(self, task: str, source: str) -> tuple[Evidence, tuple[str, ...]] | None:
        """The newest evidence that is kept of a task and source, and what has changed since.

        Returns:
            The evidence and the reasons, in words, why it is out of date (none: it holds); None
            where nothing is kept.

        Raises:
            UsageError: no such task or source.
            BadInput: a text cannot be read.
        """
        return kept_evidence(self.home, self._content.task(task), source)

    def _users(self, path: Path) -> Iterator[Task]:
        kind, place = kind_of(path), path.absolute()
        for _, task in sorted(tasks_in(self._content).items()):
            files = {
                "skill": [p.absolute() for p in self._content.skill_files(task)],
                "provenance": [task.folder.absolute().parent / "PROVENANCE.yaml"],
            }.get(kind, [task.folder.absolute() / path.name])
            if place in files:
                yield task

    def _stale(
        self, state: State, task: Task, kind: Kind, path: Path, text: str
    ) -> Iterator[StaleSignature]:
        name = text_name(path)
        outcome = outcome_of(state, task.name, None)
        if kind == "provenance" or outcome is None:
            return  # it is written from the signatures, and none rests on it
        now = now_of(self.home, task, self._content)
        changed = {**now.texts, name: sha256(normalise(text, skill=kind == "skill").encode())}
        after = Now(changed, now.manifests)
        for asked in outcome.rounds:
            items = tuple(
                item.title
                for item in asked.checklist.items
                if item.id in asked.body.items and item.rests_on(name)
            )
            signed = [(author, r.entry, r.body.texts, False) for author, r in asked.reviews.items()]
            if (decided := asked.adjudication) is not None:
                signed.append((decided.entry.author, decided.entry, dict(decided.texts), True))
            for author, entry, texts, adjudicator in signed:
                held = name not in {change.text for change in since(texts, now)}
                if items and held and name in {change.text for change in since(texts, after)}:
                    who = state.name(author)
                    yield StaleSignature(task.name, author, who, adjudicator, entry.at, items)


def _without(
    these: tuple[TextFinding, ...], those: tuple[TextFinding, ...]
) -> tuple[TextFinding, ...]:
    """Findings that the others lack; an edit above moves a finding and makes no other of it."""
    left = [(f.rule, f.message) for f in those]
    found = []
    for finding in these:
        if (key := (finding.rule, finding.message)) in left:
            left.remove(key)
        else:
            found.append(finding)
    return tuple(found)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        raise BadInput(f"{path.name} is not UTF-8 text.", todo="Save it as UTF-8.") from error
    except OSError as error:
        raise UsageError(f"{path.name} cannot be read.") from error
