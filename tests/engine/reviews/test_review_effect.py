"""What saving a text would do to signatures, and signed versions to compare with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from review_people import TASK, Person

from engine.base.errors import BadInput
from engine.base.paths import open_home
from engine.reviews.canonical import sha256
from engine.workbench import SAVED, TextVersion, Workbench


@pytest.mark.slow
def test_a_change_names_the_signatures_that_it_makes_stale(
    person: Callable[[str], Person], content: Path
) -> None:
    a, b, c = (person(name).begins() for name in ("Anna", "Berta", "Clara"))
    a.gives(c)
    b.gives(c)
    c.does("assign", TASK, "--reviewer", "Anna", "--reviewer", "Berta", "--adjudicator", "Clara")
    c.gives(a, b)
    skill = content / "skills" / "sirs" / "SKILL.md"
    workbench = Workbench(open_home(a.home), content=content)
    text = skill.read_text(encoding="utf-8")
    changed = text.replace("24 hours", "48 hours", 1)
    assert text != changed
    (before,) = workbench.effect_of(skill, changed)
    assert (before.task, before.stale) == (TASK, ())
    assert workbench.text_versions(skill) == (SAVED,)

    a.reviews()
    (effect,) = workbench.effect_of(skill, changed)
    (stale,) = effect.stale
    assert (stale.name, stale.adjudicator, stale.task) == ("Anna", False, TASK)
    assert "Windows" in " ".join(stale.items)
    assert effect.appear
    # What a signature does not bind makes nothing stale: blanks, line ends, the tier.
    same = text.replace("tier: community", "tier: validated").replace("\n", "  \r\n")
    assert workbench.effect_of(skill, same)[0].stale == ()
    provenance = content / "tasks" / "sirs" / "PROVENANCE.yaml"
    assert workbench.effect_of(provenance, "family: other\n")[0].stale == ()

    saved, signed = workbench.text_versions(skill)
    assert (saved, signed.kind, signed.who, signed.note) == (SAVED, "signed", "Anna", TASK)
    assert workbench.compare_version(skill, signed, same).changes == ()
    (change, *_) = workbench.compare_version(skill, signed, changed).changes
    assert {p.text for p in change.pieces if p.kind != "same"} == {"24", "48"}

    skill.write_text(changed, encoding="utf-8")
    assert workbench.effect_of(skill, changed.replace("48 hours", "72 hours"))[0].stale == ()
    kept = next((a.home / "reviews" / "texts").glob(f"{signed.id}*"))
    kept.write_text("touched", encoding="utf-8")
    assert workbench.text_versions(skill) == (SAVED,)
    with pytest.raises(BadInput, match="touched"):
        workbench.version_text(skill, signed)
    with pytest.raises(BadInput):
        workbench.version_text(skill, TextVersion("signed", sha256(b"nothing")))
