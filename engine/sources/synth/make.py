"""Puts the areas together: one chunk of stays after the other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from engine.base.errors import UsageError
from engine.base.jobs import Job
from engine.sources.schema import Kind
from engine.sources.synth.airway import chart_support
from engine.sources.synth.awkward import add_awkward
from engine.sources.synth.chart import Chart
from engine.sources.synth.cohort import CHUNK
from engine.sources.synth.comorbidity import write_diagnoses
from engine.sources.synth.dictionaries import write_dictionaries
from engine.sources.synth.drugs import INPUT_ROWS, add_others, add_vasoactives
from engine.sources.synth.eicu import eicu_chunk
from engine.sources.synth.events import (
    write_cultures,
    write_inputs,
    write_outputs,
    write_prescriptions,
    write_procedures,
)
from engine.sources.synth.infection import (
    CULTURE_ROWS,
    PRESCRIPTION_ROWS,
    add_infections,
    add_other_orders,
)
from engine.sources.synth.labs import Labs, add_labs
from engine.sources.synth.lines import PROCEDURE_ROWS, add_lines
from engine.sources.synth.neuro import chart_consciousness
from engine.sources.synth.people import write_people
from engine.sources.synth.picks import Tables
from engine.sources.synth.renal import add_replacement, add_urine, chart_replacement, make_kidneys
from engine.sources.synth.rows import Rows
from engine.sources.synth.seeds import Streams
from engine.sources.synth.tables import layout
from engine.sources.synth.vitals import chart_vitals
from engine.sources.synth.world import make_world
from engine.sources.synth.writer import TableWriter

FEWEST, MOST = 1, 100_000
"""Bounds of the number of stays; from 200 on every awkward row of the specifications occurs."""


def make(kind: Kind, stays: int, seed: int, folder: Path, job: Job) -> None:
    """Write a synthetic source as a PhysioNet-style folder of Parquet files.

    The same kind, stays and seed give the same values on every machine. Nobody's data went into it:
    distributions are general medical knowledge, only labels of items and codes are real.

    Args:
        kind: ``mimic-iv`` (folders ``hosp`` and ``icu``) or ``eicu`` (flat).
        stays: ICU stays, 1 to 100,000; eICU's unit stays.
        seed: any integer from 0 to 2**64 - 1.
        folder: made if need be; its files of the same names are overwritten.
        job: progress in stays; a cancelled job leaves an incomplete folder.

    Raises:
        UsageError: kind, stays or seed out of bounds.
        StorageFull, MissingPrerequisite: the folder cannot be written.
        Cancelled: as asked.
    """
    if not FEWEST <= stays <= MOST:
        raise UsageError(
            f"A synthetic source has {FEWEST} to {MOST:,} stays, not {stays:,}.",
            todo="Choose a number in between with --stays.",
        )
    if not 0 <= seed < 1 << 64:
        raise UsageError("The seed is out of range.", todo="Choose 0 to 2**64 - 1 with --seed.")
    if kind == "mimic-iv":
        one_chunk = _mimic_chunk
    elif kind == "eicu":
        one_chunk = eicu_chunk
    else:
        raise UsageError(f"There is no synthetic kind {kind!r}.", todo="Use mimic-iv or eicu.")
    stage = f"synth:{kind}"
    with TableWriter(folder, layout(kind)) as writer:
        if kind == "mimic-iv":
            write_dictionaries(writer)
        for number, first in enumerate(range(0, stays, CHUNK)):
            job.check()
            job.progress(stage, first, stays, "making stays")
            one_chunk(Streams(kind, seed, number), min(CHUNK, stays - first), writer, job)
    job.progress(stage, stays, stays, "stays are made")


def _mimic_chunk(streams: Streams, stays: int, writer: TableWriter, job: Job) -> None:
    world = make_world(streams, stays)
    cohort = world.cohort
    kidneys = make_kidneys(world)
    chart = Chart(cohort, streams.of("chart"))
    labs = Labs(world, kidneys)
    inputs, outputs = Rows(**INPUT_ROWS), Rows(integers="stay time item", numbers="value")
    procedures, orders = Rows(**PROCEDURE_ROWS), Rows(**PRESCRIPTION_ROWS)
    cultures = Rows(**CULTURE_ROWS)
    steps: tuple[Callable[[], None], ...] = (
        lambda: chart_vitals(world, chart),
        lambda: chart_consciousness(world, chart),
        lambda: chart_support(world, chart),
        lambda: chart_replacement(world, kidneys, chart),
        lambda: add_labs(world, labs),
        lambda: add_vasoactives(world, inputs),
        lambda: add_others(world, inputs),
        lambda: add_replacement(world, kidneys, procedures, inputs),
        lambda: add_urine(world, kidneys, outputs),
        lambda: add_lines(world, kidneys, procedures),
        lambda: add_infections(world, cultures, orders),
        lambda: add_other_orders(world, orders),
        lambda: add_awkward(
            world, Tables(chart, labs, inputs, outputs, procedures, cultures, orders)
        ),
        lambda: write_people(streams, cohort, writer),
        lambda: write_diagnoses(streams, cohort, writer),
        lambda: chart.write(writer),
        lambda: labs.write(writer),
        lambda: write_inputs(streams, cohort, inputs, writer),
        lambda: write_outputs(streams, cohort, outputs, writer),
        lambda: write_procedures(streams, cohort, procedures, writer),
        lambda: write_cultures(streams, cohort, cultures, writer),
        lambda: write_prescriptions(cohort, orders, writer),
    )
    for step in steps:
        job.check()
        step()


__all__ = ["FEWEST", "MOST", "make"]
