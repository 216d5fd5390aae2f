"""Lineage: the spans of time in a cell's picture.

The expected bounds are looked up in the open demo by SQL of their own.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from lineage_made import made

from engine.base.jobs import SimpleJob
from engine.base.paths import Home
from engine.diagnosis.lineage import CellLineage, trace_cell
from engine.diagnosis.lineage.blocks import blocks_of
from engine.diagnosis.lineage.leaves import leaves
from engine.diagnosis.lineage.model import Window
from engine.diagnosis.lineage.windows import pictured, windows
from engine.sources import find_source, open_source

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def traced(home: Home, target: str, key: Mapping[str, object], column: str) -> CellLineage:
    return trace_cell(home, "mimic-demo", target, key, column, job=SimpleJob())


def asked(home: Home, sql: str, *values: object) -> list[tuple[object, ...]]:
    con = open_source(find_source(home, "mimic-demo"))
    try:
        return con.execute(sql, list(values)).fetchall()
    finally:
        con.close()


def spans(cell: CellLineage, word: str) -> list[tuple[datetime | None, datetime | None]]:
    return [(w.start, w.end) for w in cell.windows if word in w.rule]


# The antibiotics that these stays were given; a culture makes each of them a suspicion.
SUSPICIONS = """
WITH taken AS (
    SELECT DISTINCT rx.subject_id, rx.starttime AS given
    FROM mimiciv_icu.icustays AS stay
    INNER JOIN mimiciv_hosp.prescriptions AS rx ON stay.hadm_id = rx.hadm_id
    WHERE
        stay.stay_id = ?
        AND rx.starttime BETWEEN stay.intime AND stay.outtime
        AND regexp_matches(
            lower(rx.drug), 'mycin|cef|penem|floxacin|aztreonam|metronidazole|cillin'
        )
        AND (rx.route LIKE 'IV%' OR rx.route LIKE 'PO%')
),

culture AS (
    SELECT
        subject_id,
        micro_specimen_id,
        max(charttime) AS timed,
        max(chartdate) AS dated,
        max(spec_type_desc) AS specimen
    FROM mimiciv_hosp.microbiologyevents
    GROUP BY ALL
),

first_before AS (
    SELECT
        given,
        arg_min(coalesce(timed, dated), (dated, coalesce(timed, dated))) AS at
    FROM taken INNER JOIN culture USING (subject_id)
    WHERE if(
        timed IS NULL,
        date_diff('day', dated, given::DATE) BETWEEN 0 AND 3,
        timed < given AND timed >= given - INTERVAL 72 HOURS
    )
    GROUP BY given
)

SELECT DISTINCT coalesce(first_before.at, taken.given)
FROM taken
LEFT JOIN first_before ON taken.given = first_before.given
WHERE
    first_before.at IS NOT NULL
    OR EXISTS (
        SELECT 1
        FROM culture
        WHERE
            culture.subject_id = taken.subject_id
            AND if(
                timed IS NULL,
                date_diff('day', taken.given::DATE, dated) BETWEEN 0 AND 1,
                timed > taken.given AND timed <= taken.given + INTERVAL 24 HOURS
            )
    )
"""


@pytest.mark.shared_data
@pytest.mark.parametrize("stay", [35044342, 35026312, 31077365])
def test_each_suspicion_of_a_stay_has_its_window(mimic_built: Home, stay: int):
    """Once only the month around the stay that heart rates are looked for in was pictured."""
    suspected = [at for (at,) in asked(mimic_built, SUSPICIONS, stay)]
    cell = traced(mimic_built, "sepsis3", {"stay_id": stay}, "sofa_time")
    assert len(suspected) >= 1
    found = spans(cell, "sofa.endtime")
    assert sorted(found) == sorted((at - 48 * HOUR, at + 24 * HOUR) for at in suspected)
    assert any(start <= cell.value <= end for start, end in found)


@pytest.mark.shared_data
def test_many_suspicions_are_pictured_as_the_time_that_they_make_together(mimic_built: Home):
    suspected = sorted(at for (at,) in asked(mimic_built, SUSPICIONS, 32359580))
    assert len(suspected) == 12
    # Less than three days from one to the next: no time between the first and the last is outside.
    assert all(b - a < 72 * HOUR for a, b in itertools.pairwise(suspected))
    cell = traced(mimic_built, "sepsis3", {"stay_id": 32359580}, "sofa_time")
    whole = (suspected[0] - 48 * HOUR, suspected[-1] + 24 * HOUR)
    assert spans(cell, "sofa.endtime") == [whole]
    assert all(w.start is not None and w.end is not None for w in cell.windows)


@pytest.mark.shared_data
@pytest.mark.parametrize("order", [28, 29])
def test_cultures_by_date_lie_in_whole_days_around_the_antibiotic(mimic_built: Home, order: int):
    key = {"subject_id": 10003400, "ab_id": order}
    ordered = traced(mimic_built, "suspicion-infection", key, "antibiotic_time").value
    assert isinstance(ordered, datetime)
    ((day,),) = asked(
        mimic_built,
        "SELECT DISTINCT date_trunc('day', starttime)::TIMESTAMP FROM mimiciv_hosp.prescriptions "
        "WHERE subject_id = ? AND starttime = ?",
        *(10003400, ordered),
    )
    cell = traced(mimic_built, "suspicion-infection", key, "culture_time")
    assert {(w.start, w.end) for w in cell.windows} == {
        (ordered - 72 * HOUR, ordered),
        (day - 3 * DAY, day),
        (ordered, ordered + 24 * HOUR),
        (day, day + DAY),
    }


@pytest.mark.shared_data
def test_an_infusion_has_to_cover_the_piece_that_its_rate_is_read_for(mimic_built: Home):
    drugs = "(221662, 221289, 221906, 221749, 222315, 221653, 221986)"
    # From a start of norepinephrine, while dopamine runs, to the next start or end of any.
    stay, start, end = asked(
        mimic_built,
        "WITH given AS (SELECT stay_id, itemid, starttime, endtime FROM mimiciv_icu.inputevents "
        f"WHERE itemid IN {drugs}), bound AS (SELECT stay_id, starttime AS at FROM given UNION "
        "SELECT stay_id, endtime FROM given) "
        "SELECT nor.stay_id, nor.starttime, (SELECT min(bound.at) FROM bound WHERE "
        "bound.stay_id = nor.stay_id AND bound.at > nor.starttime) "
        "FROM given AS nor INNER JOIN given AS dopa ON nor.stay_id = dopa.stay_id "
        "AND nor.starttime > dopa.starttime AND nor.starttime < dopa.endtime "
        "WHERE nor.itemid = 221906 AND dopa.itemid = 221662 ORDER BY ALL LIMIT 1",
    )[0]
    key = {"stay_id": stay, "starttime": start}
    cell = traced(mimic_built, "vasopressor-equivalents", key, "norepinephrine_equivalent_dose")
    assert spans(cell, "norepinephrine.starttime") == [(start, end)]
    assert spans(cell, "dopamine.starttime") == [(start, end)]
    for event in cell.events:
        if event.role == "decisive" and event.item in ("Norepinephrine", "Dopamine"):
            assert event.start <= start < end <= event.end


# --- without data

T0 = datetime(2100, 1, 1)  # noqa: DTZ001 - source times have no zone
SPELLS = """
SELECT lab.stay_id, max(lab.valuenum) AS value
FROM mimiciv_hosp.labevents AS lab
INNER JOIN mimiciv_icu.procedureevents AS spell ON
    lab.stay_id = spell.stay_id
    AND {met}
WHERE lab.itemid = 50821
GROUP BY lab.stay_id
"""


def both(
    home: Path, met: str, spells: list[tuple[object, object]]
) -> tuple[set[Window], set[Window]]:
    """`windows` and `pictured` of a stay with these starts and ends."""
    rows = [
        {"stay_id": 1, "starttime": start, "endtime": end, "value": "on"} for start, end in spells
    ]
    labs = [{"stay_id": 1, "itemid": 50821, "charttime": T0, "valuenum": 1.0}]
    tables = {"mimiciv_hosp.labevents": labs, "mimiciv_icu.procedureevents": rows}
    query, part = made(SPELLS.format(met=met), tables)
    with part.database(Home(home)) as con:
        part.build(con, mode="all")
        block = blocks_of(query, part.columns)[0]
        trails = [t for each in leaves(block, "value", part.columns).values() for t in each]
        return (
            {w for trail in trails for w in windows(con, trail, {"stay_id": 1})},
            {w for trail in trails for w in pictured(con, trail, {"stay_id": 1})},
        )


WITHIN = "lab.charttime >= spell.starttime AND lab.charttime <= spell.endtime"


def test_start_and_end_of_a_window_are_of_one_row(home_dir: Path):
    deciding, shown = both(
        home_dir, WITHIN, [(T0, T0 + DAY), (T0 + 2 * DAY, T0 + 3 * DAY), (T0 + 9 * DAY, None)]
    )
    assert deciding == set()
    assert {(w.start, w.end) for w in shown} == {
        (T0, T0 + DAY),
        (T0 + 2 * DAY, T0 + 3 * DAY),
    }


@pytest.mark.parametrize(("spells", "shown"), [(8, 8), (9, 0)])
def test_more_than_eight_windows_far_apart_are_not_pictured(
    home_dir: Path, spells: int, shown: int
):
    days = [(T0 + n * DAY, T0 + n * DAY + HOUR) for n in range(spells)]
    assert len(both(home_dir, WITHIN, [*days, days[0], (T0, None)])[1]) == shown


def test_more_than_eight_windows_are_one_where_they_overlap(home_dir: Path):
    days = [(T0 + n * HOUR, T0 + (n + 2) * HOUR) for n in range(10)]
    away = (T0 + 9 * DAY, T0 + 10 * DAY)
    inner = (T0, T0 + HOUR)
    deciding, shown = both(home_dir, WITHIN, [*days, inner, away])
    assert deciding == set()
    assert {(w.start, w.end) for w in shown} == {(T0, T0 + 11 * HOUR), away}
    assert both(home_dir, "lab.charttime >= spell.starttime", [*days, away])[1] == set()


def test_what_else_is_asked_of_the_other_rows_leaves_some_out(home_dir: Path):
    met = f"{WITHIN} AND spell.endtime < TIMESTAMP '2100-01-03'"
    _, shown = both(home_dir, met, [(T0, T0 + DAY), (T0 + 2 * DAY, T0 + 3 * DAY)])
    assert {(w.start, w.end) for w in shown} == {(T0, T0 + DAY)}


def test_a_window_is_half_open_only_where_nothing_bounds_it(home_dir: Path):
    spells: list[tuple[object, object]] = [(T0, T0 + DAY)]
    # The end is of two relations: it is there, but not known.
    met = WITHIN.replace("spell.endtime", "greatest(spell.endtime, lab.charttime)")
    _, shown = both(home_dir, met, spells)
    assert shown == set()
    _, shown = both(home_dir, "lab.charttime >= spell.starttime", spells)
    assert {(w.start, w.end) for w in shown} == {(T0, None)}


def test_the_bounds_around_a_choice_are_part_of_each_window(home_dir: Path):
    met = (
        "lab.charttime >= spell.starttime AND "
        "(lab.charttime < spell.endtime OR (spell.endtime IS NULL AND lab.valuenum > 0) "
        "OR lab.charttime <= spell.starttime::DATE + INTERVAL 2 DAYS)"
    )
    _, shown = both(home_dir, met, [(T0 + HOUR, T0 + DAY)])
    assert {(w.start, w.end, w.without) for w in shown} == {
        (T0 + HOUR, T0 + DAY, (False, True)),
        (T0 + HOUR, T0 + 2 * DAY, (False, False)),
    }


@pytest.mark.shared_data
def test_that_a_setting_was_read_for_many_gases_is_no_window(mimic_built: Home):
    """Each later gas would be an open side, each minute of one a window of its own."""
    cell = traced(mimic_built, "sepsis3", {"stay_id": 30057454}, "sofa_time")
    assert all(w.start and w.end and w.start < w.end for w in cell.windows)
    assert not spans(cell, "usable.charttime")
    ((begin, end),) = spans(cell, "suspected_infection_time")
    assert begin is not None
    assert end == begin + 3 * DAY
