"""Invasive lines as procedures, and a few other procedures of intensive care."""

from __future__ import annotations

from typing import Final

import numpy as np

from engine.sources.synth.cohort import HOUR
from engine.sources.synth.renal import Kidneys
from engine.sources.synth.rows import Rows
from engine.sources.synth.seeds import NOTHING, Array, choose
from engine.sources.synth.world import World

PROCEDURE_ROWS: Final = {
    "integers": "stay item start stop",
    "numbers": "value",
    "texts": "location",
}
_NECK: Final = ["RIJ", "LIJ", "Right Subclavian", "Left Subclavian", "Right Femoral",
                "Right Femoral.", "Left Femoral", "Left Femoral."]  # fmt: skip
_ARM: Final = ["Right Radial", "Left Radial", "Right Brachial", "Right Brachial.", "Left Brachial",
               "Left Brachial.", "Right Antecub", "Left Antecube", "Right Axilla",
               "Left Axilla."]  # fmt: skip
RARE_LINES: Final = (
    227719, 224269, 224267, 224272, 226124, 228169, 225202, 228286, 225204, 224560, 224264, 225203,
    224273,
    225789, 225761, 228201, 228202, 224268, 225199, 225315, 225205,
)  # fmt: skip
"""Lines besides the arterial, central and dialysis ones."""


def add_lines(world: World, kidneys: Kidneys, out: Rows) -> None:
    """Lines with site, start and end for `procedureevents`."""
    rng = world.streams.of("lines")
    cohort, stays = world.cohort, world.cohort.stays
    sick = 1.6 * cohort.organs[:, 0] + 0.4 * world.support.tube.any(1)

    def add(item: Array, stay: Array, sites: list[str], weights: list[float]) -> None:
        length = cohort.hours[stay] * HOUR
        start = cohort.intime[stay] + (rng.random(len(stay)) ** 3 * 0.7 * length).astype(np.int64)
        stop = start + np.maximum((rng.random(len(stay)) * length).astype(np.int64), HOUR)
        stop = np.minimum(stop, np.maximum(cohort.outtime[stay], start + 60)) // 60 * 60
        start = start // 60 * 60
        site = choose(rng, sites, weights, len(stay))
        site = np.where(rng.random(len(stay)) < 0.08, NOTHING, site)
        out.add(
            stay=stay, item=item, start=start, stop=stop, value=(stop - start) / 60.0, location=site
        )

    arterial = np.flatnonzero(sick + rng.normal(0, 0.25, stays) > 1.0)
    add(np.full(len(arterial), 225752), arterial, _ARM, [40, 30, 4, 3, 3, 3, 1, 1, 1, 1])
    central = np.flatnonzero(sick + rng.normal(0, 0.3, stays) > 1.1)
    add(np.full(len(central), 224263), central, _NECK, [50, 14, 8, 6, 8, 5, 5, 4])
    dialysis = np.flatnonzero(kidneys.continuous.any(1))
    add(np.full(len(dialysis), 224270), dialysis, _NECK, [45, 12, 2, 2, 14, 9, 9, 7])
    few = np.flatnonzero(rng.random(stays) < 0.16)
    add(rng.choice(RARE_LINES, len(few)), few, _NECK + _ARM, [4.0] * 8 + [1.0] * 10)
