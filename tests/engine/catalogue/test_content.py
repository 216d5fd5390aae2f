"""The shipped tasks and skills keep the benchmark's own rules, and agree with the references."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest
from ruamel.yaml import YAML

from engine.base.content import content_folder
from engine.catalogue.skill import list_skills, load_skill
from engine.catalogue.task import Task, list_tasks
from engine.cli.main import run
from engine.concepts import concept_graph
from engine.sources import KINDS, facts

TASKS = list_tasks()
FAMILIES = sorted({task.folder.parent for task in TASKS})
TABLES = {t.name for kind in KINDS for t in facts(kind).tables.values()} - {
    # Words of the language besides.
    "admissions", "allergy", "diagnosis", "hospital", "lab", "medication", "note", "patient",
    "patients", "pharmacy", "provider", "services", "transfers", "treatment",
}  # fmt: skip
DERIVED = set(concept_graph().concepts)
SQL = re.compile(r"\b(SELECT\s.+\sFROM|CREATE\s+TABLE|LEFT\s+JOIN|GROUP\s+BY)\b", re.DOTALL)
QUALIFIED = re.compile(r"\b(mimiciv_\w+|eicu_crd)\b")


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_instruction(task: Task) -> None:
    text = task.instruction
    assert "{output_path}" in text
    assert "{db_path}" in text
    for column in task.evaluation.required:
        assert column in text
    assert not QUALIFIED.search(text)
    assert not SQL.search(text)
    assert not re.search(r"\b\d{5,}\b", text)
    assert not [name for name in TABLES if re.search(rf"\b{name}\b", text)]
    places = [text.index(f"| {column} |") for column in task.evaluation.required]
    assert places == sorted(places)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_operational_spec(task: Task) -> None:
    path = task.operational_spec
    assert path is not None
    text = path.read_text(encoding="utf-8")
    assert not QUALIFIED.search(text)
    assert not SQL.search(text)
    assert not re.search(r"\d{5,}", text)
    assert not [name for name in TABLES if re.search(rf"\b{name}\b", text)]


def test_tasks_of_one_target_share_the_operational_spec() -> None:
    texts: dict[str, set[str]] = {}
    for task in TASKS:
        if task.operational_spec is not None:
            texts.setdefault(task.target, set()).add(task.operational_spec.read_text("utf-8"))
    assert all(len(found) == 1 for found in texts.values())


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_skills_of_a_task(task: Task) -> None:
    assert task.skill_folders
    for folder in task.skill_folders:
        skill = load_skill(folder)
        assert skill.tier == "community"
        text = skill.path.read_text(encoding="utf-8")
        assert not QUALIFIED.search(text)
        assert not SQL.search(text)
        # A derived table's name with an underscore is no word of the language.
        dropped = {name.split(".")[1] for name in task.drop_tables}
        assert not [name for name in dropped if "_" in name and name in text]
        assert "http" not in text


def test_every_skill_is_used() -> None:
    used = {folder.name for task in TASKS for folder in task.skill_folders}
    assert {skill.folder.name for skill in list_skills()} == used


@pytest.mark.parametrize("family", FAMILIES, ids=lambda path: path.name)
def test_provenance(family: Path) -> None:
    data = YAML(typ="safe", pure=True).load(family / "PROVENANCE.yaml")
    assert set(data["applies_to"]) == {t.name for t in TASKS if t.folder.parent == family}
    assert data["reviews"] == []
    assert all({"url", "description", "licence"} == set(source) for source in data["sources"])
    assert {"by", "role", "date"} == set(data["created"])
    assert data["references"]
    assert all({"version", "date", "summary"} == set(entry) for entry in data["changelog"])
    assert (family / "reference-notes.md").is_file()


def _skill(name: str) -> str:
    return (content_folder("skills") / name / "SKILL.md").read_text(encoding="utf-8")


def _spec(path: str) -> str:
    return (content_folder("tasks") / path / "operational-spec.md").read_text(encoding="utf-8")


def _sql(name: str) -> str:
    return concept_graph().concepts[name].sql


def _codes_of_sql() -> dict[tuple[str, int, int], set[str]]:
    found: dict[tuple[str, int, int], set[str]] = {}
    for name, version, digits, codes in re.findall(
        r"\('(\w+)', (\d+), (\d), '([^']+)'\)", _sql("charlson")
    ):
        found.setdefault((name, int(version), int(digits)), set()).update(codes.split())
    return found


def _codes_of_skill() -> dict[tuple[str, int, int], set[str]]:
    found: dict[tuple[str, int, int], set[str]] = {}
    condition = ""
    for line in _skill("charlson").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != 5 or cells[1] not in ("9", "10"):
            continue
        condition = cells[0] or condition
        for digits, cell in zip((3, 4, 5), cells[2:], strict=True):
            if match := re.fullmatch(r"(E1\d), .* or E14 followed by ([\d, ]+) or (\d)", cell):
                last = [*match.group(2).split(", "), match.group(3)]
                codes = {f"E1{a}{b}" for a in range(5) for b in last}
            else:
                codes = set(cell.split(", ")) - {""}
            if codes:
                found[condition, int(cells[1]), digits] = codes
    return found


def test_charlson_skill_lists_the_codes_of_the_reference() -> None:
    assert _codes_of_skill() == _codes_of_sql()
    assert len({name for name, _, _ in _codes_of_sql()}) == 17


def _expand(text: str) -> set[str]:
    """Codes of a cell of the operational specification, ranges kept as ``a..b``."""
    if match := re.fullmatch(r"E10 to E14, each with ([.\d, ]+) or (\.\d)", text):
        last = [*match.group(1).split(", "), match.group(2)]
        return {f"E1{a}{b}".replace(".", "") for a in range(5) for b in last}
    found = set()
    for part in re.split(r"[,;]| and ", text):
        ends = [end.replace(".", "").strip() for end in part.split(" to ")]
        if ends[0]:
            found.add("..".join(ends))
    return found


def _starts(codes: set[str]) -> set[str]:
    """Ranges written out where that is exact, so that both spellings compare."""
    out = set()
    for code in codes:
        first, _, last = code.partition("..")
        same_head = last and first[:-1] == last[:-1] and (first[-1] + last[-1]).isdigit()
        if same_head:
            out |= {f"{first[:-1]}{n}" for n in range(int(first[-1]), int(last[-1]) + 1)}
        else:
            out.add(code)
    return out


def test_charlson_operational_spec_lists_the_codes_of_the_reference() -> None:
    rows = re.findall(
        r"^\| (\w+) \| ([^|]+) \| ([^|]+) \|$", _spec("charlson/mimic-charlson-raw"), re.MULTILINE
    )
    told = {
        (name, version): _starts(_expand(cell.strip()))
        for name, nine, ten in rows
        for version, cell in ((9, nine), (10, ten))
        if name != "flag" and "-" not in name and not name.isdigit()
    }
    wanted: dict[tuple[str, int], set[str]] = {}
    for (name, version, _), codes in _codes_of_sql().items():
        wanted.setdefault((name, version), set()).update(_starts(codes))
    assert told == wanted


def test_ventilation_texts_list_the_strings_of_the_reference() -> None:
    strings = set(re.findall(r"'([^']+)'", _sql("ventilation")))
    skill = {s.replace("␠", " ") for s in re.findall(r"`([^`]+)`", _skill("ventilation"))}
    assert strings <= skill
    spec = _spec("ventilation/mimic-ventilation").replace("·", " ")
    assert all(text in spec for text in strings)
    assert "14 HOUR" in _sql("ventilation")
    assert "14 hours or more" in _skill("ventilation")
    assert "14 hours or more" in spec
    items = set(re.findall(r"\b22\d{4}\b", _sql("oxygen_delivery") + _sql("ventilator_setting")))
    assert items == set(re.findall(r"\b22\d{4}\b", _skill("ventilation")))


def test_gcs_texts_agree_with_the_reference() -> None:
    from engine.references import find_target  # noqa: PLC0415 - only here

    sql = find_target("eicu-gcs").sql
    skill = _skill("glasgow-coma-scale-eicu")
    for text in re.findall(r"'([A-Z][^']+)'", sql):
        assert f"`{text}`" in skill
    for low, high in re.findall(r"BETWEEN -(\d+) AND (\d+)", sql):
        for told in (skill, _spec("gcs/eicu-gcs")):
            assert f"{low} minutes" in told
            assert f"{high} minutes" in told


def test_worked_examples_of_the_charlson_skill() -> None:
    """The examples that a reader will check by hand hold in the reference."""
    from concept_cases import run_query  # noqa: PLC0415 - only here

    query = concept_graph().concepts["charlson"]
    for codes, index in (
        (("9:25000", "9:25040"), 2),
        (("10:K7030", "10:K7290"), 3),
        (("10:C50911", "10:C787"), 6),
    ):
        inputs = {
            "mimiciv_hosp.patients": [
                {"subject_id": "1", "anchor_age": "40", "anchor_year": "2150"}
            ],
            "mimiciv_hosp.admissions": [
                {"subject_id": "1", "hadm_id": "1", "admittime": "2150-01-01"}
            ],
            "mimiciv_hosp.diagnoses_icd": [
                {"hadm_id": "1", "icd_version": c.split(":")[0], "icd_code": c.split(":")[1]}
                for c in codes
            ],
        }
        types, rows = run_query(query, inputs)
        assert dict(zip(types, rows[0], strict=True))["charlson_comorbidity_index"] == index


def test_command_line(capsys: pytest.CaptureFixture[str], home_dir: Path) -> None:
    assert run(["tasks", "list"]) == 0
    listed = capsys.readouterr().out
    for task in TASKS:
        assert task.name in listed
    assert run(["tasks", "show", "mimic-ventilation", "--json"]) == 0
    assert '"scored_columns": [\n      "ventilation_status",' in capsys.readouterr().out
    assert run(["tasks", "show", "eicu-gcs"]) == 0
    assert "glasgow-coma-scale-eicu" in capsys.readouterr().out
    assert run(["tasks", "show", "eicu-gc"]) == 2
    assert not home_dir.exists()


def test_the_database_engine_reads_numbers_as_the_gcs_texts_say() -> None:
    con = duckdb.connect()
    for text, number in (
        (" 14.5 ", 14.5), ("5.", 5), (".5", 0.5), ("+1e0", 1), ("8.0005", 8.001),
        (">15", None), ("1 T", None), ("-", None), ("1,2", None), ("nan", None),
    ):  # fmt: skip
        row = con.execute("SELECT try_cast(? AS DECIMAL(18, 3))::DOUBLE", [text]).fetchone()
        assert row == (number,)
    con.close()
