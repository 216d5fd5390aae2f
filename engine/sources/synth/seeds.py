"""Random streams that do not depend on the machine, on each other or on the order of the work."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import PCG64, Generator, SeedSequence
from numpy.typing import NDArray

Array = NDArray[Any]
"""Any numpy array; shapes and units are told where one is declared."""


NOTHING: Array = np.array(None, dtype=object)
"""A null text for `numpy.where`."""


@dataclass(frozen=True)
class Streams:
    """The random streams of one chunk of stays of one source."""

    kind: str
    """Kind of source."""
    seed: int
    """Seed of the source, 0 to 2**64 - 1."""
    chunk: int
    """Running number of the chunk."""

    def of(self, area: str) -> Generator:
        """The generator of one area ("vitals").

        An area that draws more or less does not shift the values of any other.
        """
        words = [self.seed & 0xFFFFFFFF, self.seed >> 32, zlib.crc32(self.kind.encode())]
        return Generator(PCG64(SeedSequence([*words, self.chunk, zlib.crc32(area.encode())])))


def scattered(first: int, count: int, base: int, seed: int) -> Array:
    """Make `count` different identifiers above `base`, for running numbers from `first` on.

    They look random (as the published identifiers do) and never repeat: multiplication
    by a constant modulo a prime just below ten million is one to one.
    """
    prime = 9_999_991
    step = 7_654_321 + 2 * (seed % 1_000_003)
    return (
        base + 1 + (np.arange(first, first + count, dtype=np.int64) * step + seed % prime) % prime
    )


def choose(rng: Generator, options: list[str], weights: list[float], count: int) -> Array:
    """Draw `count` texts by weight (weights need not sum to one); an object array."""
    share = np.cumsum(weights)
    place = np.searchsorted(share / share[-1], rng.random(count), side="right")
    return np.array(options, dtype=object)[np.minimum(place, len(options) - 1)]
