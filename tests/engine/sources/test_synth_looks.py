"""Synthetic stays look like intensive care: plausible rates, and quantities that move together."""

from __future__ import annotations

import duckdb
import pytest
from synth_sources import synth_base, tables  # noqa: F401 (fixture)

STAYS = 500


@pytest.fixture(scope="module")
def mimic() -> duckdb.DuckDBPyConnection:
    return tables("mimic-iv", STAYS)


@pytest.fixture(scope="module")
def eicu() -> duckdb.DuckDBPyConnection:
    return tables("eicu", STAYS)


def one(con: duckdb.DuckDBPyConnection, sql: str) -> float:
    row = con.execute(sql).fetchone()
    assert row is not None
    assert row[0] is not None, sql
    return float(row[0])


CHARTED = "SELECT median(valuenum) FROM chartevents WHERE itemid = "
LAB = "SELECT median(valuenum) FROM labevents WHERE itemid = "
STAY_SHARE = "SELECT count(DISTINCT stay_id) / (SELECT count(*) FROM icustays) FROM "


@pytest.mark.parametrize(
    ("sql", "low", "high"),
    [
        (f"{CHARTED} 220045", 70, 100),
        (f"{CHARTED} 220179", 100, 135),
        (f"{CHARTED} 220052", 62, 90),
        (f"{CHARTED} 220210", 14, 22),
        (f"{CHARTED} 220277", 94, 99),
        (f"{CHARTED} 223761", 97, 99.5),
        (f"{CHARTED} 225664", 105, 165),
        (f"{CHARTED} 226512", 60, 100),
        (f"{LAB} 50912", 0.7, 1.5),
        (f"{LAB} 51006", 12, 28),
        (f"{LAB} 50983", 136, 142),
        (f"{LAB} 50971", 3.7, 4.5),
        (f"{LAB} 50882", 21, 27),
        (f"{LAB} 51222", 9, 13),
        (f"{LAB} 51265", 150, 260),
        (f"{LAB} 51301", 6.5, 13),
        (f"{LAB} 50820", 7.3, 7.45),
        (f"{LAB} 50818", 34, 48),
        ("SELECT median(los) FROM icustays", 1, 4),
        ("SELECT avg(hospital_expire_flag) FROM admissions", 0.04, 0.16),
        ("SELECT median(anchor_age) FROM patients", 52, 72),
        (f"{STAY_SHARE} chartevents WHERE itemid IN (223849, 229314)", 0.3, 0.65),
        (f"{STAY_SHARE} inputevents WHERE itemid IN (221906, 221749)", 0.15, 0.45),
        (f"{STAY_SHARE} chartevents WHERE itemid = 227290", 0.01, 0.08),
        ("SELECT count(hadm_id) / count(*) FROM labevents", 0.6, 0.97),
        (
            "SELECT avg(rows) FROM (SELECT count(*) AS rows FROM chartevents GROUP BY stay_id)",
            300,
            1500,
        ),
    ],
)
def test_rates_are_plausible(
    mimic: duckdb.DuckDBPyConnection, sql: str, low: float, high: float
) -> None:
    assert low <= one(mimic, sql) <= high


def test_sicker_stays_differ_in_every_organ(mimic: duckdb.DuckDBPyConnection) -> None:
    mimic.execute(
        """
        CREATE OR REPLACE TEMP TABLE ill AS
        SELECT s.stay_id, s.subject_id, s.intime, s.outtime,
            s.stay_id IN (SELECT stay_id FROM inputevents WHERE itemid = 221906) AS shocked
        FROM icustays AS s
        """
    )

    def mean(what: str, shocked: bool) -> float:
        return one(mimic, f"SELECT avg(v) FROM ({what}) WHERE shocked = {shocked}")

    charted = """SELECT shocked, valuenum AS v FROM chartevents JOIN ill USING (stay_id)
        WHERE valuenum BETWEEN 1 AND 300 AND itemid = """
    lab = """SELECT shocked, valuenum AS v FROM labevents AS l JOIN ill USING (subject_id)
        WHERE charttime BETWEEN intime AND outtime AND valuenum > 0 AND valuenum < 500 AND itemid
        = """
    assert mean(charted + "220045", True) > mean(charted + "220045", False) + 6
    assert mean(charted + "220181", True) < mean(charted + "220181", False) - 4
    assert mean(charted + "220210", True) > mean(charted + "220210", False)
    assert mean(lab + "50813", True) > mean(lab + "50813", False) + 0.3
    assert mean(lab + "51265", True) < mean(lab + "51265", False)
    died = """SELECT stay_id IN (SELECT stay_id FROM inputevents WHERE itemid = 221906) AS shocked,
        hospital_expire_flag AS v FROM icustays JOIN admissions USING (hadm_id)"""
    assert mean(died, True) > 2 * mean(died, False)


def test_pressures_belong_together(mimic: duckdb.DuckDBPyConnection) -> None:
    share = one(
        mimic,
        """
        WITH p AS (
            SELECT stay_id, charttime,
                max(valuenum) FILTER (itemid = 220050) AS sys,
                max(valuenum) FILTER (itemid = 220051) AS dia,
                max(valuenum) FILTER (itemid = 220052) AS mid
            FROM chartevents WHERE itemid IN (220050, 220051, 220052) GROUP BY ALL
        )
        SELECT avg((dia < mid AND mid < sys)::INT) FROM p WHERE sys + dia + mid IS NOT NULL
        """,
    )
    assert share > 0.99


def test_results_of_one_specimen_agree(mimic: duckdb.DuckDBPyConnection) -> None:
    pivot = """
        WITH l AS (
            SELECT specimen_id, {} FROM labevents WHERE valuenum IS NOT NULL GROUP BY specimen_id
        )
    """

    def columns(**items: int) -> str:
        parts = [
            f"max(valuenum) FILTER (itemid = {item}) AS {name}" for name, item in items.items()
        ]
        return pivot.format(", ".join(parts))

    gap = columns(na=50983, cl=50902, bicarbonate=50882, gap=50868)
    closes = "avg((abs(na - cl - bicarbonate - gap) < 0.01)::INT)"
    assert one(mimic, f"{gap} SELECT {closes} FROM l WHERE na + cl + bicarbonate > 0") > 0.99
    acid = columns(ph=50820, carbon=50818, total=50804)
    off = "abs(6.1 + log10(greatest(total - 0.0307 * carbon, 1) / (0.0307 * carbon)) - ph)"
    assert one(mimic, f"{acid} SELECT median({off}) FROM l WHERE ph + carbon + total > 0") < 0.03
    blood = columns(hemoglobin=51222, hematocrit=51221)
    ratio = f"{blood} SELECT median(hematocrit / hemoglobin) FROM l WHERE hemoglobin > 0"
    assert 2.7 < one(mimic, ratio) < 3.4


def test_kidney_injury_shows_in_creatinine_and_urine(mimic: duckdb.DuckDBPyConnection) -> None:
    # Creatinine that doubled within the stay, against one that stayed.
    sql = """
        WITH c AS (
            SELECT i.stay_id, max(valuenum) / min(valuenum) AS rise
            FROM icustays AS i JOIN labevents AS l USING (subject_id)
            WHERE itemid = 50912 AND valuenum BETWEEN 0.3 AND 20
                AND charttime BETWEEN intime AND outtime GROUP BY ALL
        ), u AS (
            SELECT stay_id, sum(value) / any_value(los) AS urine
            FROM icustays JOIN outputevents USING (stay_id)
            WHERE itemid IN (226559, 226560) AND charttime BETWEEN intime AND outtime GROUP BY ALL
        )
        SELECT median(urine) FILTER (rise >= 2) / median(urine) FILTER (rise < 1.2)
        FROM c JOIN u USING (stay_id)
    """
    assert one(mimic, sql) < 0.75


def test_times_and_identifiers_are_like_the_published_ones(
    mimic: duckdb.DuckDBPyConnection,
) -> None:
    row = mimic.execute(
        """
        SELECT min(subject_id), max(subject_id), min(hadm_id), max(hadm_id), min(stay_id),
        max(stay_id),
            min(year(intime)), max(year(intime)), count(DISTINCT stay_id), count(*)
        FROM icustays
        """
    ).fetchone()
    assert row is not None
    assert row[0] > 10_000_000
    assert row[1] < 20_000_000 < row[2]
    assert row[3] < 30_000_000 < row[4]
    assert row[5] < 40_000_000
    assert row[6] >= 2110
    assert row[7] < 2200
    assert row[8] == row[9] == STAYS
    sane = "SELECT count(*) FROM icustays WHERE outtime <= intime"
    assert one(mimic, sane) == 0
    assert one(mimic, "SELECT count(*) FROM admissions WHERE dischtime <= admittime") == 0
    assert one(mimic, "SELECT count(*) - count(DISTINCT hadm_id) FROM admissions") == 0
    assert one(mimic, "SELECT count(*) - count(DISTINCT labevent_id) FROM labevents") == 0
    assert one(mimic, "SELECT count(*) - count(DISTINCT orderid) FROM procedureevents") == 0


def test_patients_come_back(mimic: duckdb.DuckDBPyConnection) -> None:
    again = "SELECT count(*) FROM (SELECT {0} FROM icustays GROUP BY {0} HAVING count(*) > 1)"
    assert one(mimic, again.format("subject_id")) > 20
    assert one(mimic, again.format("hadm_id")) > 10
    idle = (
        "SELECT count(*) FROM patients WHERE subject_id NOT IN (SELECT subject_id FROM admissions)"
    )
    assert one(mimic, idle) > 3
    home = "SELECT count(*) FROM admissions WHERE hadm_id NOT IN (SELECT hadm_id FROM icustays)"
    assert one(mimic, home) > 50


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("Heart Rate", 70, 100),
        ("Respiratory Rate", 14, 22),
        ("Temperature (C)", 36.2, 37.6),
        ("Non-Invasive BP Mean", 70, 92),
        ("GCS Total", 12, 15),
    ],
)
def test_eicu_charts_are_plausible(
    eicu: duckdb.DuckDBPyConnection, name: str, low: float, high: float
) -> None:
    sql = f"""SELECT median(TRY_CAST(nursingchartvalue AS DOUBLE)) FROM nurseCharting
        WHERE nursingchartcelltypevalname = '{name}'"""
    assert low <= one(eicu, sql) <= high


def test_eicu_writes_urine_in_all_known_ways(eicu: duckdb.DuckDBPyConnection) -> None:
    assert one(eicu, "SELECT count(DISTINCT cellpath) FROM intakeOutput") > 125


def test_eicu_laboratory_and_apache_speak_of_the_same_blood(
    eicu: duckdb.DuckDBPyConnection,
) -> None:
    sql = """
        WITH l AS (
            SELECT patientunitstayid, avg(labresult) AS creatinine FROM lab
            WHERE labname = 'creatinine' AND labresultoffset < 1440 GROUP BY ALL
        )
        SELECT corr(l.creatinine, a.creatinine) FROM l JOIN apacheApsVar AS a
        USING (patientunitstayid) WHERE a.creatinine > 0
    """
    assert one(eicu, sql) > 0.9
    assert one(eicu, "SELECT count(DISTINCT labname) FROM lab") == 22
