"""`m4bench`: the headless front end. Parsing, stdout, stderr and exit codes; no logic."""
