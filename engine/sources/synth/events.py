"""Turns collected rows of a chunk into the event tables: what remains to be filled in."""

from __future__ import annotations

import numpy as np

from engine.sources.synth.cohort import Cohort
from engine.sources.synth.rows import Rows
from engine.sources.synth.seeds import NOTHING, Array, Streams
from engine.sources.synth.writer import NO_TIME, TableWriter

_CATEGORIES = ("08-Antibiotics (IV)", "01-Drips", "03-IV Fluid Bolus")


def _sorted(cohort: Cohort, rows: Rows, *by: str) -> dict[str, Array]:
    """Rows by column in order, without those of blank stays."""
    columns = rows.columns()
    order = np.lexsort([columns[name] for name in reversed(by)])
    if "stay" in columns:
        order = order[~cohort.blank[columns["stay"][order]]]
    return {name: part[order] for name, part in columns.items()}


def _of_stay(cohort: Cohort, stay: Array) -> dict[str, Array]:
    return {
        "subject_id": cohort.stay_subject[stay],
        "hadm_id": cohort.stay_hadm[stay],
        "stay_id": cohort.stay_id[stay],
        "caregiver_id": 1000 + cohort.stay_id[stay] % 8999,
    }


def write_inputs(streams: Streams, cohort: Cohort, rows: Rows, writer: TableWriter) -> None:
    """Append `inputevents`; orders are numbered, the rows of an infusion share the first."""
    if not rows.count:
        return
    rng = streams.of("inputs")
    raw = rows.columns()
    order_id = 1 + streams.chunk * 1_000_000 + np.arange(rows.count)
    # `link` is the position, among all rows as added, of the first row of the infusion.
    link = np.where(raw["link"] == NO_TIME, order_id, order_id[0] + raw["link"])
    order = np.lexsort((raw["item"], raw["start"], raw["stay"]))
    order = order[~cohort.blank[raw["stay"][order]]]
    row = {name: part[order] for name, part in raw.items()}
    stay = row["stay"]
    weight = np.where(np.isnan(row["weight"]), cohort.weight[stay], row["weight"])
    weight = np.where(np.isinf(weight), np.nan, weight)
    category = np.array(_CATEGORIES, dtype=object)[np.maximum(row["category"], 0)]
    has_rate = ~np.isnan(row["rate"])
    writer.write(
        "inputevents",
        _of_stay(cohort, stay)
        | {
            "starttime": row["start"],
            "endtime": row["stop"],
            "storetime": row["start"] + rng.integers(1, 40, len(stay)) * 60,
            "itemid": row["item"],
            "amount": row["amount"],
            "amountuom": row["amountuom"],
            "rate": row["rate"],
            "rateuom": row["rateuom"],
            "orderid": order_id[order],
            "linkorderid": link[order],
            "ordercategoryname": category,
            "ordercomponenttypedescription": np.full(
                len(stay), "Main order parameter", dtype=object
            ),
            "ordercategorydescription": np.where(has_rate, "Continuous Med", "Drug Push"),
            "patientweight": weight,
            "totalamount": row["amount"],
            "totalamountuom": row["amountuom"],
            "isopenbag": np.zeros(len(stay), dtype=np.int64),
            "continueinnextdept": np.zeros(len(stay), dtype=np.int64),
            "statusdescription": row["status"],
            "originalamount": row["amount"],
            "originalrate": row["rate"],
        },
    )


def write_outputs(streams: Streams, cohort: Cohort, rows: Rows, writer: TableWriter) -> None:
    """Append `outputevents`: one value per stay, time and item."""
    if not rows.count:
        return
    rng = streams.of("outputs")
    row = _sorted(cohort, rows, "stay", "time", "item")
    stay, time, item = row["stay"], row["time"], row["item"]
    fresh = np.ones(len(stay), dtype=bool)
    fresh[1:] = (stay[1:] != stay[:-1]) | (time[1:] != time[:-1]) | (item[1:] != item[:-1])
    stay, time, item, value = (part[fresh] for part in (stay, time, item, row["value"]))
    writer.write(
        "outputevents",
        _of_stay(cohort, stay)
        | {
            "charttime": time,
            "storetime": time + rng.integers(1, 70, len(stay)) * 60,
            "itemid": item,
            "value": value,
            "valueuom": np.full(len(stay), "mL", dtype=object),
        },
    )


def write_procedures(streams: Streams, cohort: Cohort, rows: Rows, writer: TableWriter) -> None:
    """Append `procedureevents`."""
    if not rows.count:
        return
    rng = streams.of("procedures")
    row = _sorted(cohort, rows, "stay", "start", "item")
    stay = row["stay"]
    order_id = 1 + writer.rows["procedureevents"] + np.arange(len(stay))
    named = np.array([site is not None for site in row["location"]])
    writer.write(
        "procedureevents",
        _of_stay(cohort, stay)
        | {
            "starttime": row["start"],
            "endtime": row["stop"],
            "storetime": row["start"] + rng.integers(1, 90, len(stay)) * 60,
            "itemid": row["item"],
            "value": row["value"],
            "valueuom": np.full(len(stay), "min", dtype=object),
            "location": row["location"],
            "locationcategory": np.where(named, "Invasive Venous", NOTHING),
            "orderid": order_id,
            "linkorderid": order_id,
            "ordercategoryname": np.full(len(stay), "Invasive Lines", dtype=object),
            "ordercategorydescription": np.full(len(stay), "Task", dtype=object),
            "patientweight": cohort.weight[stay],
            "isopenbag": np.ones(len(stay), dtype=np.int64),
            "continueinnextdept": np.zeros(len(stay), dtype=np.int64),
            "statusdescription": np.full(len(stay), "FinishedRunning", dtype=object),
            "originalamount": row["value"],
            "originalrate": np.ones(len(stay)),
        },
    )


def write_cultures(streams: Streams, cohort: Cohort, rows: Rows, writer: TableWriter) -> None:
    """Append `microbiologyevents`."""
    if not rows.count:
        return
    row = _sorted(cohort, rows, "patient", "date", "specimen")
    count = len(row["patient"])
    admission = row["admission"]
    date = row["date"]
    writer.write(
        "microbiologyevents",
        {
            "microevent_id": 1 + writer.rows["microbiologyevents"] + np.arange(count),
            "subject_id": cohort.subject_id[row["patient"]],
            "hadm_id": np.where(admission < 0, NO_TIME, cohort.hadm_id[np.maximum(admission, 0)]),
            "micro_specimen_id": streams.chunk * 100_000 + 1 + row["specimen"],
            "chartdate": date,
            "charttime": row["time"],
            "spec_itemid": row["spec_item"],
            "spec_type_desc": row["spec_text"],
            "test_seq": np.ones(count, dtype=np.int64),
            "storedate": date + 3 * 24 * 3600,
            "storetime": date + 3 * 24 * 3600 + 11 * 3600,
            "test_itemid": np.full(count, 90201),
            "test_name": np.full(count, "ROUTINE CULTURE", dtype=object),
            "org_itemid": row["org_item"],
            "org_name": row["org_text"],
            "isolate_num": row["isolate"],
            "ab_itemid": row["ab_item"],
            "ab_name": row["ab_text"],
            "interpretation": row["verdict"],
        },
    )


def write_prescriptions(cohort: Cohort, rows: Rows, writer: TableWriter) -> None:
    """Append `prescriptions`."""
    if not rows.count:
        return
    row = _sorted(cohort, rows, "patient", "admission", "start")
    count = len(row["patient"])
    writer.write(
        "prescriptions",
        {
            "subject_id": cohort.subject_id[row["patient"]],
            "hadm_id": cohort.hadm_id[row["admission"]],
            "pharmacy_id": 10_000_000 + writer.rows["prescriptions"] + np.arange(count),
            "starttime": row["start"],
            "stoptime": row["stop"],
            "drug_type": row["kind"],
            "drug": row["drug"],
            "dose_val_rx": row["dose"],
            "dose_unit_rx": row["unit"],
            "form_val_disp": row["dose"],
            "form_unit_disp": row["unit"],
            "doses_per_24_hrs": np.ones(count),
            "route": row["route"],
        },
    )
