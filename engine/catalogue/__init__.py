"""The benchmark's content as it stands on disk: tasks and skills.

Reads `tasks/` and `skills/` (ours, or a published folder of the same format). Nothing in
here opens a database or knows a run.
"""
