"""Laboratory values of a moment: what blood shows of the hidden course.

One function per panel. Values that belong together are computed together: the gases obey
Henderson and Hasselbalch, the anion gap closes, haemoglobin and haematocrit agree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.sources.synth.renal import Kidneys
from engine.sources.synth.seeds import Array
from engine.sources.synth.world import Points, World

Panel = dict[int, Array]
"""Results by itemid; NaN is not measured."""


def _clip(values: Array, low: float | None, high: float | None) -> Array:
    return np.clip(values, low, high)


def _round(values: Array, digits: int = 0) -> Array:
    return np.round(values, digits)


@dataclass
class Blood:
    """Draws values for one chunk; each stay keeps its own offsets."""

    world: World
    kidneys: Kidneys
    rng: np.random.Generator

    def __post_init__(self) -> None:
        self._own: dict[str, Array] = {}

    def own(self, name: str, spread: float) -> Array:
        """Stays: this patient's lasting offset of a quantity."""
        if name not in self._own:
            offsets = self.rng.standard_normal(self.world.cohort.stays)
            # Stays of one admission belong to one body.
            first = np.searchsorted(self.world.cohort.stay_adm, self.world.cohort.stay_adm)
            self._own[name] = offsets[first]
        return spread * self._own[name]

    def organ(self, name: str, points: Points) -> Array:
        """Course of an organ; before the ICU it was a little better."""
        early = points.time < self.world.cohort.intime[points.stay]
        return points.of(self.world.course.organ[name]) * np.where(early, 0.85, 1)

    def shift(self, quantity: str, points: Points, hours: float) -> Array:
        """The picture's offset, wearing off with a time constant in hours."""
        since = _clip((points.time - self.world.cohort.intime[points.stay]) / 3600, 0, None)
        shift: Array = self.world.cohort.shift(quantity)[points.stay] * np.exp(-since / hours)
        return shift

    def noise(self, points: Points, spread: float) -> Array:
        """A fresh error per draw."""
        return self.rng.normal(0, spread, len(points))

    def bicarbonate(self, points: Points) -> Array:
        """mEq/L before rounding."""
        acid = 7.2 * _clip(self.organ("shock", points) - 0.35, 0, None)
        acid += 5.5 * _clip(points.of(self.kidneys.injury) - 0.25, 0, None)
        value = 25.2 - acid + self.shift("bicarbonate", points, 40)
        value += self.own("bicarbonate", 1.9)[points.stay] + self.noise(points, 1.1)
        return _clip(value, 3, 48)

    def sodium(self, points: Points) -> Array:
        """mEq/L before rounding."""
        value = 138.7 + self.own("sodium", 3.0)[points.stay] + self.shift("sodium", points, 60)
        return _clip(value + self.noise(points, 1.3), 101, 182)

    def potassium(self, points: Points) -> Array:
        """mEq/L before rounding."""
        value = 4.05 + 0.95 * _clip(points.of(self.kidneys.injury) - 0.3, 0, None)
        value += self.shift("potassium", points, 24) + self.own("potassium", 0.38)[points.stay]
        return _clip(value + self.noise(points, 0.28), 1.8, 8.4)

    def glucose(self, points: Points) -> Array:
        """mg/dL before rounding."""
        return _clip(points.of(self.world.body.glucose) + self.noise(points, 8), 15, 1300)

    def hemoglobin(self, points: Points) -> Array:
        """g/dL before rounding."""
        man = ~self.world.cohort.female[points.stay]
        loss = 1.9 * self.organ("clotting", points) + 1.1 * points.of(self.kidneys.injury)
        value = 11.9 + 0.9 * man - loss + self.shift("hemoglobin", points, 90)
        value += self.own("hemoglobin", 1.4)[points.stay] + self.noise(points, 0.35)
        return _clip(value, 3.5, 21)

    def chemistry(self, points: Points) -> Panel:
        """Basic metabolic panel with calcium."""
        sodium, bicarbonate = _round(self.sodium(points)), _round(self.bicarbonate(points))
        gap = 12.2 + 5 * _clip(self.organ("shock", points) - 0.35, 0, None)
        gap += 3 * points.of(self.kidneys.injury) + self.shift("gap", points, 16)
        gap = _round(_clip(gap + self.noise(points, 1.5), 2, 42))
        hour = (points.time - self.world.course.first[points.stay]) // 3600
        creatinine = self.kidneys.at(points.stay, hour) * np.exp(self.noise(points, 0.045))
        nitrogen = 15.5 * (creatinine / 0.95) ** 0.82 + self.shift("bun", points, 60)
        nitrogen *= np.exp(self.own("bun", 0.32)[points.stay] + self.noise(points, 0.06))
        calcium = 8.5 + self.own("calcium", 0.5)[points.stay] + self.noise(points, 0.25)
        return {
            50983: sodium,
            50971: _round(self.potassium(points), 1),
            50902: sodium - bicarbonate - gap,
            50882: bicarbonate,
            50868: gap,
            51006: _round(_clip(nitrogen, 2, 240)),
            50912: _round(_clip(creatinine, 0.1, 22), 1),
            50931: _round(self.glucose(points)),
            50893: _round(_clip(calcium, 5, 13), 1),
        }

    def proteins(self, points: Points) -> Panel:
        """Albumin, now and then with total protein and globulin."""
        sick = 0.75 * self.organ("infection", points) + 0.7 * self.organ("liver", points)
        albumin = 3.72 - sick + self.shift("albumin", points, 400)
        albumin = _clip(albumin + self.own("albumin", 0.45)[points.stay], 0.9, 5.6)
        seldom = self.rng.random(len(points)) < 0.12
        globulin = _round(_clip(2.9 + self.noise(points, 0.6), 1, 7), 1)
        albumin = _round(albumin, 1)
        return {
            50862: albumin,
            50976: np.where(seldom, _round(albumin + globulin, 1), np.nan),
            50930: np.where(seldom, globulin, np.nan),
        }

    def white_cells(self, points: Points) -> Array:
        """K/uL before rounding."""
        infection = self.organ("infection", points)
        value = 8.6 * np.exp(0.55 * infection + self.own("wbc", 0.36)[points.stay])
        value = value + self.shift("wbc", points, 90) * np.exp(self.own("cells", 0.45)[points.stay])
        value *= np.exp(self.noise(points, 0.09))
        starved = self.world.cohort.shift("wbc")[points.stay] < -5
        low = np.exp(self.own("aplasia", 0.9)[points.stay] - 0.25 + self.noise(points, 0.15))
        return _clip(np.where(starved, low, value), 0.1, 260)

    def blood_count(self, points: Points) -> Panel:
        """Complete blood count."""
        hemoglobin = _round(self.hemoglobin(points), 1)
        volume = _clip(90 + self.own("mcv", 5.5)[points.stay] + self.noise(points, 0.6), 60, 125)
        concentration = _clip(33 + self.noise(points, 0.8), 28, 37)
        hematocrit = hemoglobin / concentration * 100
        platelet = 232 - 128 * self.organ("clotting", points) + self.shift("platelet", points, 300)
        platelet = _clip(platelet, 14, None) * np.exp(self.own("platelet", 0.42)[points.stay])
        platelet *= np.exp(self.noise(points, 0.07))
        return {
            51221: _round(hematocrit, 1),
            51222: hemoglobin,
            51248: _round(volume * concentration / 100, 1),
            51249: _round(concentration, 1),
            51250: _round(volume),
            51265: _round(_clip(platelet, 3, 1400)),
            51279: _round(hematocrit / volume * 10, 2),
            51277: _round(_clip(15 + self.own("rdw", 1.8)[points.stay], 11.5, 30), 1),
            52159: np.where(points.stay % 3 == 0, _round(volume * 0.155 * 3.45, 1), np.nan),
            51301: _round(self.white_cells(points), 1),
        }

    def differential(self, points: Points) -> Panel:
        """White cell differential in percent, for half of the draws with counts."""
        infection = self.organ("infection", points)
        count = len(points)
        bands = np.where(
            self.rng.random(count) < 0.35, _round(self.rng.gamma(1.2, 1 + 7 * infection)), np.nan
        )
        neutrophils = _clip(66 + 16 * infection + self.noise(points, 9), 0, 97)
        rest = _clip(100 - neutrophils - np.nan_to_num(bands), 1, None)
        parts = self.rng.dirichlet([9, 4, 0.9, 0.25], count)
        lymphocytes, monocytes, eosinophils, basophils = (_round(rest * p, 1) for p in parts.T)
        white = self.white_cells(points)
        style = points.stay % 5

        def absolute(percent: Array, only: Array, scale: float = 1, digits: int = 2) -> Array:
            return np.where(only, _round(percent * white / 100 * scale, digits), np.nan)

        some = self.rng.random(count)
        return {
            51256: _round(neutrophils, 1),
            51244: np.where(style == 4, np.nan, lymphocytes),
            51245: np.where(style == 4, lymphocytes, np.nan),
            51254: monocytes,
            51200: eosinophils,
            51146: basophils,
            51144: bands,
            51143: np.where(some < 0.1, _round(10 * some * 20) / 10, np.nan),
            51251: np.where(some > 0.85, _round((some - 0.85) * 20), np.nan),
            51257: np.where(some > 0.9, _round((some - 0.9) * 60), np.nan),
            52135: np.where((some > 0.3) & (some < 0.55), _round((some - 0.3) * 6, 1), np.nan),
            52075: absolute(neutrophils, style == 0),
            51133: absolute(lymphocytes, style == 0),
            52074: absolute(monocytes, style == 0),
            52073: absolute(eosinophils, style == 0),
            52069: absolute(basophils, style == 0),
            51199: absolute(eosinophils, (style == 1) & (some < 0.3), 1000, 0),
            51253: absolute(monocytes, (style == 1) & (some < 0.3), 1000, 0),
            52769: absolute(lymphocytes, (style == 1) & (some < 0.3), 1000, 0),
            51218: absolute(neutrophils, (style == 1) & (some < 0.2), 1000, 0),
        }

    def coagulation(self, points: Points) -> Panel:
        """Clotting times, now and then fibrinogen, D-dimer and thrombin time."""
        liver, clotting = self.organ("liver", points), self.organ("clotting", points)
        ratio = 1.08 + 1.5 * _clip(liver, 0, None) ** 1.8 + 0.35 * clotting
        ratio = ratio + self.shift("inr", points, 300)
        treated = self.own("warfarin", 1.0)[points.stay] > 1.35
        ratio = np.where(treated, ratio + 1.2, ratio)
        ratio *= np.exp(self.own("inr", 0.09)[points.stay] + self.noise(points, 0.04))
        ratio = _round(_clip(ratio, 0.8, 14), 1)
        partial = 29.5 + 17 * clotting**1.3 + 8 * (ratio - 1)
        partial = partial * np.exp(self.own("ptt", 0.2)[points.stay] + self.noise(points, 0.08))
        draw = self.rng.random(len(points))
        fibrinogen = 330 + 160 * self.organ("infection", points) - 190 * clotting
        dimer = np.exp(6.6 + 1.4 * clotting + self.noise(points, 0.6))
        return {
            51237: ratio,
            51274: _round(11.7 * ratio**0.96 + self.noise(points, 0.3), 1),
            51275: _round(_clip(partial, 19, 150), 1),
            51214: np.where(draw < 0.2, _round(_clip(fibrinogen, 40, 900)), np.nan),
            51196: np.where(draw > 0.95, _round(dimer), np.nan),
            51297: np.where((draw > 0.2) & (draw < 0.22), _round(15 + 9 * clotting, 1), np.nan),
        }

    def liver(self, points: Points) -> Panel:
        """Enzymes and bilirubin."""
        liver, shock = self.organ("liver", points), self.organ("shock", points)
        hurt = np.exp(2.2 * liver + 1.0 * _clip(shock - 0.6, 0, None) * 2)
        first = 26 * hurt * np.exp(self.own("alt", 0.55)[points.stay] + self.noise(points, 0.1))
        second = 31 * hurt * np.exp(self.own("ast", 0.55)[points.stay] + self.noise(points, 0.1))
        total = 0.55 * np.exp(3.3 * liver + self.own("bilirubin", 0.5)[points.stay])
        total = _round(_clip(total * np.exp(self.noise(points, 0.07)), 0.1, 52), 1)
        draw = self.rng.random(len(points))
        split = (draw < 0.15) & (total > 1.5)
        direct = _round(total * 0.62, 1)
        other = np.exp(self.noise(points, 0.5))
        return {
            50861: _round(_clip(first, 4, 12_000)),
            50878: _round(_clip(second, 7, 15_000)),
            50863: _round(_clip(82 * np.exp(0.7 * liver) * other, 20, 1500)),
            50885: total,
            50883: np.where(split, direct, np.nan),
            50884: np.where(split, _round(total - direct, 1), np.nan),
            50954: np.where(draw < 0.5, _round(_clip(215 * hurt**0.6 * other, 90, 9000)), np.nan),
            50867: np.where(draw > 0.8, _round(_clip(58 * other, 8, 2000)), np.nan),
            50927: np.where(draw > 0.96, _round(_clip(45 * hurt * other, 5, 1500)), np.nan),
        }

    def heart(self, points: Points) -> Panel:
        """Cardiac markers."""
        hurt = self.own("heart", 1.1)[points.stay] + self.noise(points, 0.3)
        ischemic = self.world.cohort.named("cardiogenic shock", "cardiac arrest", "cardiac surgery")
        hurt = hurt + np.where(ischemic[points.stay], 2.3, 0)
        draw = self.rng.random(len(points))
        failing = self.world.cohort.named("heart failure", "cardiogenic shock")[points.stay]
        peptide = np.exp(7.1 + 1.4 * failing + self.noise(points, 0.8))
        return {
            51003: _round(_clip(0.03 * np.exp(1.2 * hurt), 0.01, 25), 2),
            50911: _round(_clip(3.2 * np.exp(0.8 * hurt), 1, 600)),
            50910: _round(_clip(120 * np.exp(0.9 * hurt), 12, 40_000)),
            50963: np.where(draw < 0.2, _round(_clip(peptide, 5, 70_000)), np.nan),
        }

    def inflammation(self, points: Points) -> Panel:
        """C-reactive protein; the sensitive test is another item."""
        protein = np.exp(1.7 + 3.0 * self.organ("infection", points) + self.noise(points, 0.6))
        sensitive = points.stay % 11 == 0
        value = _round(_clip(protein, 0.2, 480), 1)
        return {
            50889: np.where(sensitive, np.nan, value),
            51652: np.where(sensitive, value, np.nan),
        }

    def lactate(self, points: Points) -> Array:
        """mmol/L, rounded."""
        value = 1.15 + 5.8 * _clip(self.organ("shock", points) - 0.35, 0, None) ** 1.2
        value = value * np.exp(self.own("lactate", 0.3)[points.stay] + self.noise(points, 0.14))
        return _round(_clip(value, 0.4, 24), 1)

    def gas(self, points: Points, arterial: Array) -> Panel:
        """Blood gas; a venous one has less oxygen and a little more carbon dioxide."""
        count = len(points)
        lung = self.organ("lung", points)
        fio2 = points.of(self.world.support.fio2)
        carbon = 38.6 + self.shift("pco2", points, 70) + 6.5 * _clip(lung - 0.55, 0, None) * 2
        bicarbonate = self.bicarbonate(points)
        # Breathing follows bicarbonate half of the way.
        carbon += (
            0.8 * (bicarbonate - 24) + self.own("pco2", 4.2)[points.stay] + self.noise(points, 3)
        )
        carbon -= 7.5 * (self.rng.random(count) < 0.06)
        carbon = _round(_clip(carbon + np.where(arterial, 0, 5), 11, 130))
        acidity = 6.1 + np.log10(bicarbonate / (0.0307 * carbon)) + self.shift("ph", points, 12)
        acidity = _clip(acidity, 6.75, 7.72)
        bicarbonate = 0.0307 * carbon * 10 ** (acidity - 6.1)
        ratio = 490 * np.exp(-1.92 * lung) * np.exp(self.noise(points, 0.16))
        oxygen = _clip(ratio * np.maximum(fio2, 21) / 100, 34, 560)
        oxygen = np.where(arterial, oxygen, _clip(self.rng.normal(41, 8, count), 18, 80))
        oxygen = _round(oxygen)
        saturation = 100 / (1 + (26.8 / oxygen) ** 2.75)
        told = (self.rng.random(count) < 0.5) & (fio2 > 21)
        draw = self.rng.random(count)
        gradient = _round(fio2 / 100 * 713 - carbon / 0.8 - oxygen)
        wide = arterial & (draw < 0.75) & (fio2 >= 50) & (gradient > 0)
        deficit = 0.93 * (bicarbonate - 24.4 + 14.8 * (acidity - 7.4))
        temperature = _round(points.of(self.world.body.temperature), 1)
        salts = draw < 0.4
        return {
            50821: oxygen,
            50818: carbon,
            50820: _round(acidity, 2),
            50804: _round(bicarbonate + 0.0307 * carbon),
            50802: _round(deficit),
            50803: np.where(draw < 0.08, _round(bicarbonate), np.nan),
            50816: np.where(told, fio2, np.nan),
            50801: np.where(wide, gradient, np.nan),
            50823: np.where(wide & (draw < 0.2), _round(fio2), np.nan),
            50817: np.where(draw < 0.3, _round(_clip(saturation, 10, 100)), np.nan),
            50813: np.where(draw > 0.3, self.lactate(points), np.nan),
            50825: np.where(draw > 0.8, temperature, np.nan),
            50819: np.where(draw > 0.75, points.of(self.world.support.peep), np.nan),
            50815: np.where(
                (draw > 0.7) & (fio2 == 21), np.nan, np.where(draw > 0.97, 4.0, np.nan)
            ),
            50824: np.where(salts, _round(self.sodium(points)), np.nan),
            50822: np.where(salts, _round(self.potassium(points), 1), np.nan),
            50806: np.where(salts & (draw < 0.2), _round(self.sodium(points) - 35), np.nan),
            50809: np.where(salts, _round(self.glucose(points)), np.nan),
            50808: np.where(salts, _round(1.14 + self.noise(points, 0.07), 2), np.nan),
            50811: np.where(salts, _round(self.hemoglobin(points), 1), np.nan),
            50810: np.where(salts, _round(3 * self.hemoglobin(points)), np.nan),
            50805: np.where(draw < 0.05, _round(1 + draw * 30), np.nan),
            50814: np.where(draw < 0.05, _round(draw * 20, 1), np.nan),
        }
