"""Editing the texts of the benchmark without losing a letter.

What a file held is kept byte for byte where nobody changed it; what was typed is on disk within a
moment; what somebody else wrote is merged, never overwritten. Nothing in here knows a window.
"""
