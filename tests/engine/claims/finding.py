"""What evidence and lint say of a task, with some of its texts changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from plants import Plant, path_of

from engine.base.jobs import SimpleJob
from engine.base.paths import Home
from engine.catalogue.task import Task, find_task
from engine.claims.asking import Asker, asking
from engine.claims.evidence import run_checks
from engine.claims.live import live_findings
from engine.claims.material import read_material
from engine.preflight.finding import Kind
from engine.sources import find_source

Alarm = tuple[str, str]
"""Name of a check or a rule, and its words."""
KINDS: tuple[Kind, ...] = ("skill", "operational-spec", "instruction")


class Finder:
    """Asks each source once for what several plants need."""

    def __init__(self, homes: Mapping[str, Home], askers: Mapping[str, Asker]) -> None:
        self._homes, self._askers = homes, askers
        self._before: dict[str, set[Alarm]] = {}

    def alarms(self, task: Task, texts: Mapping[Path, str] | None = None) -> set[Alarm]:
        """What disagrees on the panel, and what the lint finds while somebody writes."""
        source = f"{task.source_kind.partition('-')[0]}-demo"
        material = read_material(task, texts)
        checks = run_checks(material, self._askers[source], self._homes[source], source)
        found = {(check.name, check.words) for check in checks if check.verdict == "disagrees"}
        return found | self.live(task, texts)

    def live(self, task: Task, texts: Mapping[Path, str] | None = None) -> set[Alarm]:
        """What the lint finds while somebody writes, in all texts of the task."""
        found: set[Alarm] = set()
        for kind in KINDS:
            path = path_of(task, kind)
            text = (texts or {}).get(path) or path.read_text(encoding="utf-8")
            found |= {
                (f.rule, f.message)
                for f in live_findings(task, path, text, texts)
                if f.severity != "info"
            }
        return found

    def finds(self, plant: Plant) -> set[Alarm]:
        """The alarms that a defect raises and that were not there before."""
        task, texts = planted(plant)
        if task.name not in self._before:
            self._before[task.name] = self.alarms(task)
        return self.alarms(task, texts) - self._before[task.name]


def planted(plant: Plant) -> tuple[Task, dict[Path, str]]:
    """The task, and its text with the defect."""
    task = find_task(plant.task)
    path = path_of(task, plant.kind)
    text = path.read_text(encoding="utf-8")
    assert plant.old in text, plant
    return task, {path: text.replace(plant.old, plant.new, 1)}


@contextmanager
def finder(homes: Mapping[str, Home]) -> Iterator[Finder]:
    """Opens the sources; `homes` by the name of the source."""
    with ExitStack() as stack:
        askers = {
            name: stack.enter_context(asking(find_source(home, name), SimpleJob(), None))
            for name, home in homes.items()
        }
        yield Finder(homes, askers)
