"""How a picture looks to those who lack one kind of cone.

Machado, Oliveira, Fernandes: A Physiologically-based Model for Simulation of Color Vision
Deficiency (2009), severity 1.0, in linear RGB.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Pixels = npt.NDArray[np.uint8]
"""Height × width × 3: red, green, blue in sRGB."""

DEFICIENCIES: Mapping[str, npt.NDArray[np.float32]] = {
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868],
         [0.114503, 0.786281, 0.099216],
         [-0.003882, -0.048116, 1.051998]], np.float32),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968],
         [0.280085, 0.672501, 0.047413],
         [-0.011820, 0.042940, 0.968881]], np.float32),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779],
         [-0.078411, 0.930809, 0.147602],
         [0.004733, 0.691367, 0.303900]], np.float32),
}  # fmt: skip
_STEPS = 65_535


def _linear() -> npt.NDArray[np.float32]:
    shade = np.arange(256) / 255
    return np.where(shade <= 0.04045, shade / 12.92, ((shade + 0.055) / 1.055) ** 2.4).astype(
        np.float32
    )


def _encoded() -> Pixels:
    light = np.arange(_STEPS + 1) / _STEPS
    shade = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)
    return np.rint(shade * 255).astype(np.uint8)


_LINEAR, _ENCODED = _linear(), _encoded()


def simulate(pixels: Pixels, deficiency: str) -> Pixels:
    """The same picture as seen with one of the `DEFICIENCIES`."""
    light = np.clip(_LINEAR[pixels] @ DEFICIENCIES[deficiency].T, 0, 1)
    return _ENCODED[np.rint(light * _STEPS).astype(np.uint16)]
