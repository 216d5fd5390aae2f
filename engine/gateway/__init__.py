"""The only way out of a sandbox: one process per run that talks to one model endpoint."""
