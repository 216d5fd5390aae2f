"""Evidence as a whole: kept, asked again when something changes, told as JSON, never a write."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from engine.base.errors import Cancelled, UsageError
from engine.base.jobs import SimpleJob
from engine.base.paths import Home
from engine.catalogue.task import find_task
from engine.claims import (
    Check,
    Evidence,
    attachment,
    check_evidence,
    evidence_document,
    kept_evidence,
)
from engine.claims.across import across
from engine.claims.exporting import SUPPRESSED
from engine.claims.material import read_material
from engine.cli.main import run
from engine.reviews.canonical import canonical
from engine.reviews.checklist import newest
from engine.reviews.verdicts import Verdict, complete
from engine.sources import find_source

pytestmark = pytest.mark.shared_data


def test_evidence_is_kept_until_a_text_changes(
    small_built_copy: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    home, task = small_built_copy, find_task("mimic-vasopressor-equivalents")
    before = find_source(home, "mimic-demo")
    first = check_evidence(home, task, "mimic-demo", job=SimpleJob())
    assert first.source_digest == before.digest
    assert find_source(home, "mimic-demo") == before
    assert all(check.query for check in first.checks if check.against == "source")

    kept = sorted((before.path.parent / "claims").rglob("*.json"))
    assert len(kept) == 1
    again = check_evidence(home, task, "mimic-demo", job=SimpleJob())
    assert again.made_at == first.made_at
    assert [c.words for c in again.checks] == [c.words for c in first.checks]

    path = task.skill_folders[0] / "SKILL.md"
    text = path.read_text(encoding="utf-8").replace("rate / 100 |", "rate / 10 |")
    changed = check_evidence(home, task, "mimic-demo", job=SimpleJob(), texts={path: text})
    assert len(list((before.path.parent / "claims").rglob("*.json"))) == 2
    wrong = [check for check in changed.of("disagrees") if check.name == "factor"]
    assert len(wrong) == 1
    assert text.split("\n")[wrong[0].line - 1].startswith("| 221662 | Dopamine")

    assert kept_evidence(home, task, "mimic-demo", {path: text}) == (changed, ())
    found = kept_evidence(home, task, "mimic-demo")
    assert found is not None
    assert found[1] == ("skill vasopressor-equivalents was changed",)
    assert kept_evidence(home, find_task("mimic-meld-24h"), "mimic-demo") is None

    kept[0].write_text("not JSON", encoding="utf-8")
    assert check_evidence(home, task, "mimic-demo", job=SimpleJob()).checks == first.checks

    assert run(["--json", "--home", str(home.root), "evidence-check", task.name, "mimic-demo"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["verdicts"]["agrees"] == len(first.of("agrees"))
    assert document["claims"][0]["id"] == first.claims[0].id


def test_small_counts_stay_here() -> None:
    result = {
        "item": 7, "rows": 2000, "stays": 40, "missing": 3, "missing_share": 0.0015, "low": 1.0,
        "high": 9.0, "quantiles": {"0.01": 1.5, "0.05": 2.0, "0.5": 5.0},
        "units": {"mL": 5, "L": 90},
        "histogram": {"from": 1, "to": 9, "rows": {"0": 4, "1": 90}},
    }  # fmt: skip
    check = Check("c", "agrees", "", "source", "skill", 1, 1, result=result)
    found = Evidence("t", "s", "d", "h", {}, "now", (), (), (check,))
    assert evidence_document(found, local=True)["checks"][0]["result"] == result
    told = evidence_document(found)["checks"][0]["result"]
    assert told == {
        "item": 7, "rows": 2000, "stays": 40, "missing": SUPPRESSED, "missing_share": SUPPRESSED,
        "quantiles": {"0.01": 1.5, "0.05": 2.0, "0.5": 5.0}, "units": {"mL": SUPPRESSED, "L": 90},
        "histogram": {"from": 1, "to": 9, "rows": {"0": SUPPRESSED, "1": 90}},
    }  # fmt: skip
    few = Evidence(
        "t", "s", "d", "h", {}, "now", (), (), (replace(check, result={**result, "rows": 100}),)
    )
    told = evidence_document(few)["checks"][0]["result"]
    assert told["quantiles"] == {"0.5": 5.0}
    assert told["histogram"] is None


def test_an_attachment_can_be_signed_and_names_what_it_rests_on(small_built_copy: Home) -> None:
    task = find_task("mimic-vasopressor-equivalents")
    evidence = check_evidence(small_built_copy, task, "mimic-demo", job=SimpleJob())
    spread = {"rows": 2000, "missing_share": 0.25, "quantiles": {"0.5": 5.0}, "missing": 3}
    lone = Check("distribution", "agrees", "", "source", "skill", 1, 1, result=spread)
    assert attachment(evidence, lone)["result"] == {
        "rows": 2000, "missing_share": SUPPRESSED, "quantiles": {"0.5": "5"},
        "missing": SUPPRESSED,
    }  # fmt: skip
    for check in (lone, *evidence.checks):
        piece = attachment(evidence, check)
        canonical(piece)
        verdict = Verdict(
            item="units", verdict="agree", severity=None, text="", anchors=[], evidence=[piece],
            places=[],
        )  # fmt: skip
        checklist = newest("table")
        assert complete(checklist, ["units"], {"units": verdict}) == [verdict]


def test_windows_and_thresholds_stand_beside_each_other() -> None:
    task = find_task("mimic-sofa-24h")
    path = task.skill_folders[0] / "SKILL.md"
    text = path.read_text(encoding="utf-8").replace("6 hours before", "5 hours before")
    material = read_material(task, {path: text})
    rows = {row.shown: row for row in across(material)}
    assert "skill/sofa" not in rows["6 hours before admission"].places
    assert rows["6 hours before admission"].places["operational-spec"]
    assert rows["6 hours before admission"].reference
    lone = rows["5 hours before admission"]
    assert (set(lone.places), lone.reference) == ({"skill/sofa"}, False)


def test_an_item_with_rows_that_the_dictionary_lacks_is_told(small_built_copy: Home) -> None:
    evidence = check_evidence(
        small_built_copy, find_task("mimic-sapsii-24h"), "mimic-demo", job=SimpleJob()
    )
    lost = [c for c in evidence.of("disagrees") if c.name == "item-known"]
    assert any("51301" in check.words for check in lost)


def test_another_kind_of_source_is_refused(small_built: Home) -> None:
    with pytest.raises(UsageError, match="is not"):
        check_evidence(small_built, find_task("eicu-gcs"), "mimic-demo", job=SimpleJob())


def test_it_can_be_cancelled(small_built_copy: Home) -> None:
    job = SimpleJob()
    job.on_progress = lambda *_: job.cancel()
    with pytest.raises(Cancelled):
        check_evidence(small_built_copy, find_task("mimic-meld-24h"), "mimic-demo", job=job)
    kept = find_source(small_built_copy, "mimic-demo").path.parent / "claims"
    assert not kept.exists()
