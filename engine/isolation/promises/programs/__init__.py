"""The attempts themselves: each function is one small program that runs inside a sandbox.

Standard library only. A function returns words on what it tried and found refused, raises
`Broken` when it got what it must not get, or (where the promise says so) is killed.
"""
