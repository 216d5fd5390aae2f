"""The adversarial leak canary: the real agent is asked to find private things, and must not.

`engine.runs.leak.judging` says what counts; `probing` which paths were really tried, by the trace;
`attempt` runs it in the real sandbox.
"""
