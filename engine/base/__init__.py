"""What every other engine package stands on: errors, paths, jobs, files, databases.

Nothing in here knows a clinical concept, a task, a run or a score.
"""
