"""The editor of tasks and skills: plain text, kept as it is typed, linted, previewed, merged."""
