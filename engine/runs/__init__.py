"""One run of one agent on one task: states, folder, record, recovery.

Starts what an agent asks for inside the sandbox, collects what it left, and hands it to a
`Judge`. Knows no scorer, no window, no model provider.
"""
