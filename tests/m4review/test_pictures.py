"""The tool that takes pictures: one scene in one setting, and what the colour-blind see."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pictures.colour import DEFICIENCIES, simulate
from pictures.images import pixels_of
from pictures.process import photograph
from pictures.scenes import SCENES, chosen
from pictures.settings import SETTINGS
from PySide6.QtGui import QImage


@pytest.mark.slow
@pytest.mark.gui
def test_a_scene_is_photographed_in_its_size_and_a_lacking_run_is_told(tmp_path: Path) -> None:
    said: list[str] = []
    setting = SETTINGS["dark-dpr2"]
    outcome = photograph(
        setting, ["diff-damaged", "diff-top"],
        folder=tmp_path, home=tmp_path / "home", blind=False, say=said.append,
    )  # fmt: skip
    assert outcome.failed == {}, said
    assert outcome.pictures == ["diff-damaged"]
    assert outcome.left == {"diff-top": "everything: it is not in the home"}
    image = QImage(str(tmp_path / "dark-dpr2" / "diff-damaged.png"))
    assert (image.width(), image.height()) == setting.pixels == (2732, 1800)
    pixels = pixels_of(image)
    assert len(np.unique(pixels @ np.array([1, 256, 65_536]))) > 100  # letters have edges
    assert np.median(pixels) < 64  # it is dark


def test_grey_stays_grey_and_red_and_green_come_together() -> None:
    greys = np.repeat(np.arange(256, dtype=np.uint8), 3).reshape(1, 256, 3)
    red_and_green = np.array([[[200, 60, 60], [60, 140, 60]]], np.uint8)
    apart = {}
    for name in DEFICIENCIES:
        assert np.array_equal(simulate(greys, name), greys)
        red, green = simulate(red_and_green, name)[0].astype(int)
        apart[name] = abs(red - green).max()
    assert apart["deuteranopia"] < apart["protanopia"] < 50  # of 140
    assert apart["tritanopia"] > 140  # blue is what that one lacks


def test_scenes_are_chosen_by_beginning_or_pattern() -> None:
    assert chosen(()) == list(SCENES)
    assert chosen(("timeline",)) == [name for name in SCENES if name.startswith("timeline-")]
    assert chosen(("diff-top", "*-top")) == ["diff-top"]
    with pytest.raises(ValueError, match="No scene is called nowhere"):
        chosen(("nowhere",))
