"""Synthetic sources, shaped like MIMIC-IV and eICU; see README.md."""

from engine.sources.synth.make import FEWEST, MOST, make

__all__ = ["FEWEST", "MOST", "make"]
