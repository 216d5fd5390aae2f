"""Where other people's programs run: a sandbox, or nowhere.

`interface` says what a sandbox is, `backends` picks one, `canary` proves before a run that
nothing private can be reached, `promises` holds what every backend must keep.
"""
